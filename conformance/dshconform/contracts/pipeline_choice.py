"""Which command of the pipeline contract comes next: plans of which each stage does something or nothing."""

from collections.abc import Mapping
from typing import Final

from dshconform.contracts import pipeline_plan as write
from dshconform.contracts.pipeline_call import Call
from dshconform.contracts.pipeline_functions import Surroundings
from dshconform.contracts.pipeline_grid import WAYS
from dshconform.contracts.source import Source
from dshconform.protocol.json_value import JsonMap

_OPTIONAL: Final = (
    "policy",
    "scoped policy",
    "guard",
    "scoped guard",
    "around",
    "review",
    "final",
    "told",
    "also told",
)
_ABORTED: Final = ("policy", "guard", "around", "body", "review", "final", "told")
_AT_ONCE: Final = 2
"""Calls that wait at one time, at most."""


def choose(source: Source, around: Surroundings, calls: Mapping[str, Call]) -> JsonMap:
    """Choose a command; it may be one that is not legal.

    Args:
        source: Where choices come from.
        around: What calls share.
        calls: Every call so far.

    Returns:
        The command as a scenario writes it.
    """
    waiting = [call for call in calls.values() if call.waits is not None]
    if len(waiting) == _AT_ONCE or (waiting and source.below(3)):
        return _between(source, source.choose(waiting))
    if source.below(8) == 0:
        acts = ("gate", *write.OUTCOMES, "plain", "coded")
        return write.provide(source.choose(acts)) if around.approval is None else write.unregister(write.APPROVAL)
    return _plan(source, fresh(calls))


def fresh(calls: Mapping[str, Call]) -> str:
    """A name that no call has, nor any of a prologue.

    Args:
        calls: Every call so far, by name.
    """
    return f"x{len(calls) + 1}"


def _between(source: Source, call: Call) -> JsonMap:
    assert call.waits is not None
    name = call.plan.call
    how = source.weighted([(12, "answer"), (3, "abort"), (1, "own"), (1, "unregister"), (2, "register"), (1, "hide")])
    match how:
        case "abort":
            return write.abort(name)
        case "own":
            return write.abort(write.own(name))
        case "unregister":
            return write.unregister(name)
        case "register":
            return write.register(name, ("value",), ("text",))
        case "hide":
            return write.hide(name)
        case _:
            return write.answer(call.waits, name, source.choose(write.ANSWERS[call.waits]))


def _plan(source: Source, call: str) -> JsonMap:
    stages: dict[str, write.Acts] = {"body": _acts(source, "body") if source.below(2) else ("value",)}
    for stage in _OPTIONAL:
        if source.below(3) == 0:
            stages[stage] = _acts(source, {"also told": "told"}.get(stage, stage))
    if "lift" in stages.get("guard", ()):
        stages["second guard"] = ("deny",)
    if source.below(3) == 0:
        stage = source.choose([stage for stage in _ABORTED if stage in stages])
        acts = stages[stage]
        at = 1 + acts.index("next") if "next" in acts and source.below(2) else 0
        stages[stage] = (*acts[:at], "abort", *acts[at:])
    if source.below(3) == 0:
        stage = source.choose([stage for stage in write.WAITING if stage in stages])
        stages[stage] = _waiting(stage, stages[stage])
    if source.below(16) == 0:
        del stages["body"]
        stages = {stage: acts for stage, acts in stages.items() if stage != "final" and "unregister" not in acts}
    arguments = source.choose(write.ARGUMENTS) if source.below(8) == 0 else write.NO_ARGUMENTS
    plan = write.Plan(
        call=call,
        stages=stages,
        arguments=arguments,
        scoped=source.below(2) == 0,
        aborted=source.below(16) == 0,
    )
    return write.open_call(plan)


def _acts(source: Source, stage: str) -> write.Acts:
    return write.acts_of(source.choose(WAYS[stage]))


def _waiting(stage: str, acts: write.Acts) -> write.Acts:
    """The acts, of which the last waits for the suite if it says how the function ends."""
    kept = tuple(act for act in acts if act not in write.ERRORS and act not in write.VALUES[stage] and act != "|")
    return (*kept, "gate")
