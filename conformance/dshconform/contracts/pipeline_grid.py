"""The grid of the pipeline contract: at which stage what is decided, and when the caller's signal had fired.

Of a plan the last stage counts that does anything: `review / block / fired around`. Of what comes in the middle of a
call, where it waits: `body waits / plain / fired`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from dshconform.contracts.grid import spelled
from dshconform.contracts.pipeline_plan import (
    ANSWERS,
    APPROVAL,
    ARGUMENTS,
    NO_ARGUMENTS,
    WAITING,
    Acts,
    Plan,
    abort,
    acts_of,
    answer,
    hide,
    open_call,
    own,
    provide,
    register,
    unregister,
)
from dshconform.protocol.json_value import JsonMap

_LIVE: Final = "live"
_ENTRY: Final = "fired at entry"
_FIRED: Final = "fired"

WAYS: Final[Mapping[str, Sequence[str]]] = {
    "scoped policy": ("", "deny", "plain"),
    "policy": (
        *("", "allow", "deny", "deny silently", "ask", "ask why", "plain", "coded"),
        *("next", "next, allow", "next, deny", "call", "listen", "unregister"),
    ),
    "guard": ("", "deny", "deny silently", "plain", "coded", "add", "lift"),
    "scoped guard": ("", "deny"),
    "body": (
        *("value", "invalid", "plain", "marked", "coded", "defer, value", "defer, invalid", "defer, plain"),
        *("conclude, value", "conclude, plain", "call, value", "unregister, value"),
    ),
    "around": (
        *("", "next", "next, next", "success", "success with context", "bad success", "failure", "plain", "coded"),
        *("next, success", "next, success with context", "next, bad success", "next, failure", "next, plain"),
        *("unregister", "unregister, success", "unregister, failure"),
        *("replace, next", "replace, abort own", "replace, next, restore, next"),
    ),
    "review": (
        *("accept", "content", "context", "value", "invalid", "both", "block", "block silently", "plain", "coded"),
        "unregister, value",
    ),
    "final": ("", "text", "lossy", "plain", "coded"),
    "told": ("", "plain"),
}
"""The stages in the order in which they count, and what each may do, an abort of the caller's signal aside."""

_FIRES: Final[Sequence[str]] = ("policy", "guard", "body", "around", "around after", "review", "final", "told")
"""Where the caller's signal may fire in a call, each no later than where the next stage counts."""

_REACHED: Final[Mapping[str, int]] = {
    "scoped policy": 0,
    "policy": 1,
    "guard": 2,
    "scoped guard": 2,
    "body": 3,
    "around": 5,
    "review": 6,
    "final": 7,
    "told": 8,
}
"""How many of these are behind or at a stage."""

_NAMED_ARGUMENTS: Final = {
    str(given): name for given, name in zip(ARGUMENTS, ("none", "object", "null", "list", "lossy"), strict=True)
}


def _moments(stage: str, said: str) -> list[str]:
    """When the caller's signal may have fired, where a stage counts.

    A body that a wrapper keeps out fires nothing; and what only passes does not count where another stage does more.
    """
    fires = [*_FIRES[: _REACHED[stage]]]
    passes = said in {"", "value"}
    if stage == "body" and passes:
        fires = ["body"]
    elif stage == "around" and "next" not in said.split(", "):
        fires = [one for one in fires if one != "around after" and (passes or one != "body")]
    elif passes and "around after" in fires and stage != "review":
        fires.remove("around after")
    return [_LIVE, _ENTRY, *(f"{_FIRED} {one}" for one in fires)]


# ---------------------------------------------------------------------- cells


def plan_cell(plan: Plan) -> str | None:
    """The cell that a plan visits; none where its last stage does what the grid does not list."""
    if "body" not in plan.stages:
        return spelled("no tool", _ENTRY if plan.aborted else _LIVE)
    if plan.arguments != NO_ARGUMENTS:
        return spelled("arguments", _NAMED_ARGUMENTS[str(plan.arguments)], _ENTRY if plan.aborted else _LIVE)
    there = [one for one in WAYS if one in plan.stages and (one != "body" or _quiet(plan, one) != "value")]
    doing = [one for one in there if _quiet(plan, one)]
    stage = (doing or there or ["body"])[-1]
    cell = spelled(stage, _quiet(plan, stage) or "nothing", _moment(plan))
    return cell if cell in _KNOWN else None


def waiting_cell(stage: str, said: str, *, fired: bool) -> str:
    """The cell of what comes while a stage waits.

    Args:
        stage: The stage that waits.
        said: What comes.
        fired: Whether the call's signal has fired.
    """
    return spelled(f"{stage} waits", said, _FIRED if fired else _LIVE)


def _quiet(plan: Plan, stage: str) -> str:
    return ", ".join(act for act in plan.stages[stage] if act != "abort")


def _moment(plan: Plan) -> str:
    if plan.aborted:
        return _ENTRY
    for stage in ("policy", "guard", "around", "body", "review", "final", "told"):
        acts = plan.stages.get(stage, ())
        if "abort" in acts:
            before = acts[: acts.index("abort")]
            if stage != "around" or "next" not in before:
                return f"{_FIRED} {stage}"
            return f"{_FIRED} body" if "abort" in plan.stages.get("body", ()) else f"{_FIRED} around after"
    return _LIVE


_BETWEEN: Final[Mapping[str, Callable[[str], JsonMap]]] = {
    "abort own": lambda call: abort(own(call)),
    "hide": hide,
    "unregister": unregister,
    "register": lambda call: register(call, ("value",), ("text",)),
}
"""What may come in the middle of a call besides its own abort, by name."""


def _planned() -> Iterator[tuple[str, str, str]]:
    for stage, ways in WAYS.items():
        for said in ways:
            for moment in _moments(stage, said):
                yield stage, said, moment


_KNOWN: Final = frozenset(spelled(stage, said or "nothing", moment) for stage, said, moment in _planned())

CELLS: Final = (
    *(spelled(stage, said or "nothing", moment) for stage, said, moment in _planned()),
    *(spelled("no tool", moment) for moment in (_LIVE, _ENTRY)),
    *(spelled("arguments", name, moment) for name in [*_NAMED_ARGUMENTS.values()][1:] for moment in (_LIVE, _ENTRY)),
    *(
        waiting_cell(stage, said, fired=fired)
        for stage in (*WAITING, APPROVAL)
        for fired in (False, True)
        for said in (*ANSWERS[stage], *_BETWEEN, *(() if fired else ("abort",)))
    ),
)
"""Every cell."""


# ---------------------------------------------------------------------- prologues


def _fitted(call: str, stage: str, said: str, moment: str) -> Plan:
    """The plan in which a stage counts, and the caller's signal fires at some moment."""
    stages: dict[str, Acts] = {"body": ("value",), stage: acts_of(said)}
    if said == "lift":
        stages["second guard"] = ("deny",)
    if said.startswith("next") and stage == "policy":
        stages["scoped policy"] = ("deny",)
    if said == "replace, next, restore, next":
        stages["body"] = ("abort own", "value", "|", "value")
    if said not in {"", "value"}:
        stages = {"review": (), "final": (), **stages}
    fires = moment.removeprefix(f"{_FIRED} ")
    match fires:
        case "around after":
            acts = stages.get("around", ("next",))
            at = acts.index("next") + 1
            stages["around"] = (*acts[:at], "abort", *acts[at:])
        case "live" | "at entry":
            pass
        case _:
            stages[fires] = ("abort", *stages.get(fires, ()))
    return Plan(call=call, stages=stages, arguments=NO_ARGUMENTS, scoped=True, aborted=moment == _ENTRY)


def tours() -> Iterator[list[JsonMap]]:
    """The prologues that together visit every cell."""
    for stage, ways in WAYS.items():
        for said in ways:
            yield [
                open_call(_fitted(f"c{at}", stage, said, moment)) for at, moment in enumerate(_moments(stage, said), 1)
            ]
    bare = [
        Plan(call=f"c{at}", stages={}, arguments=NO_ARGUMENTS, aborted=aborted)
        for at, aborted in enumerate((False, True), 1)
    ]
    yield [open_call(plan) for plan in bare]
    stages: Mapping[str, Acts] = {"policy": (), "guard": (), "body": ("value",), "final": ()}
    given = [(arguments, aborted) for arguments in ARGUMENTS[1:] for aborted in (False, True)]
    yield [
        open_call(Plan(call=f"c{at}", stages=stages, arguments=arguments, aborted=aborted))
        for at, (arguments, aborted) in enumerate(given, 1)
    ]
    for stage in (*WAITING, APPROVAL):
        for fired in (False, True):
            yield [*_waits(stage, fired=fired)]


def _waits(stage: str, *, fired: bool) -> Iterator[JsonMap]:
    """Whatever may come while a stage waits, each in a call of its own."""
    stages: dict[str, Acts] = {"body": ("value",), "final": ("text",), stage: ("gate",)}
    plain = "value" if stage == "body" else "kept" if stage == "around" else ANSWERS[stage][0]
    if stage == APPROVAL:
        yield provide("gate")
        stages.pop(APPROVAL)
        stages["policy"] = ("ask why",)
    for at, said in enumerate((*ANSWERS[stage], *_BETWEEN, *(() if fired else ("abort",))), 1):
        call = f"c{at}"
        yield open_call(Plan(call=call, stages=stages, arguments=NO_ARGUMENTS, scoped=True))
        if said == "kept":
            yield answer(stage, call, "next")
        if fired:
            yield abort(call)
        if said == "register":
            yield unregister(call)
        if said in ANSWERS[stage]:
            yield answer(stage, call, said)
        else:
            yield abort(call) if said == "abort" else _BETWEEN[said](call)
        if said not in ANSWERS[stage] or said == "next":
            if stage == "around" and said != "next":
                yield answer(stage, call, "next")
            yield answer(stage, call, plain)
