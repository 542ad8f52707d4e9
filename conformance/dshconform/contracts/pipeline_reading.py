"""Commands of the pipeline contract as they are read, and with less in them."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

import msgspec

from dshconform.contracts.inbox_commands import items_of, read_command
from dshconform.contracts.model import CommandError
from dshconform.contracts.pipeline_plan import (
    ANSWERS,
    KINDS,
    NO_ARGUMENTS,
    Acts,
    Plan,
    answer,
    open_call,
    provide,
    register,
)
from dshconform.protocol.json_value import Json, JsonMap


def alike(one: JsonMap, other: JsonMap) -> bool:
    """Whether two commands are the same; faster than `same` for what is as large as a plan.

    Args:
        one: A command as it was read.
        other: One that was written here.
    """
    return msgspec.json.encode(one, order="sorted") == msgspec.json.encode(other, order="sorted")


def plan_of(args: JsonMap) -> Plan:
    """Read the plan of a call.

    Args:
        args: The arguments of the burst that makes the call.

    Returns:
        The plan that writes the same burst.

    Raises:
        CommandError: It is no plan of the contract.
    """
    stages: dict[str, Acts] = {}
    call, arguments, scoped, aborted = "", None, False, False
    for op, given in map(read_command, items_of(args)):
        if op == "tool.register":
            registered = registered_by(given)
            stages |= {
                stage: acts for stage, acts in zip(("body", "final"), registered, strict=True) if acts is not None
            }
        elif op in {"listen", "tool.guard"}:
            stage, acts = _read_function(given.get("fn"))
            stages[stage] = acts
        elif op == "signal.abort":
            aborted = True
        elif op == "tool.execute":
            request = given.get("call")
            call = str(given.get("task"))
            arguments = request.get("arguments") if isinstance(request, Mapping) else None
            scoped = "scope" in given
    plan = Plan(call=call, stages=stages, arguments=arguments, scoped=scoped, aborted=aborted)
    if not call or not alike({"do": "burst", "args": args}, open_call(plan)):
        raise CommandError(
            "a burst of the pipeline contract makes one call, behind the stages of its plan in their order"
        )
    return plan


def registered_by(args: JsonMap) -> tuple[Acts, Acts | None]:
    """Read what the body of a tool does, and its finalizer if it has one.

    Args:
        args: The arguments of `tool.register`.

    Returns:
        What the body does, and what the finalizer does, none where there is none.

    Raises:
        CommandError: It is no tool of the contract.
    """
    given = args.get("definition")
    whole = given if isinstance(given, Mapping) else {}
    body = _read_function(whole.get("execute"))[1]
    final = _read_function(whole["finalizeContent"])[1] if "finalizeContent" in whole else None
    if not alike({"do": "tool.register", "args": args}, register(str(args.get("as")), body, final)):
        raise CommandError(f"the tool {args.get('as')!r} is not defined as the pipeline contract does")
    return body, final


def provided_by(args: JsonMap) -> Acts:
    """Read what the approval service does.

    Args:
        args: The arguments of `approval.provide`.

    Returns:
        What it does when it is asked.

    Raises:
        CommandError: It is none of the contract's.
    """
    acts = _read_function(args.get("fn"))[1]
    if not alike({"do": "approval.provide", "args": args}, provide(*acts)):
        raise CommandError("the approval service of the pipeline contract waits, answers an outcome, or fails")
    return acts


def answer_of(op: str, args: JsonMap) -> tuple[str, str, str]:
    """Read which stage of which call ends how.

    Args:
        op: The operation.
        args: Its arguments.

    Returns:
        The stage, the name of the call, and how it ends.

    Raises:
        CommandError: No function of the contract ends so.
    """
    named = args.get("gate")
    kind, call = (str(named.get("kind")), str(named.get("call"))) if isinstance(named, Mapping) else ("", "")
    stage = next((stage for stage in ANSWERS if KINDS[stage] == kind), None)
    for act in ANSWERS.get(stage or "", ()):
        if stage is not None and alike({"do": op, "args": args}, answer(stage, call, act)):
            return stage, call, act
    raise CommandError(f"nothing of the pipeline contract that waits ends with {op} {args!r}")


def _read_function(written: Json) -> tuple[str, Acts]:
    named = written.get("$fn") if isinstance(written, Mapping) else None
    name, colon, said = str(named).partition(": ")
    if not colon:
        raise CommandError(f"a function of the pipeline contract says in its name what it does, not {named!r}")
    stage = next((stage for stage in sorted(KINDS, key=len, reverse=True) if name.startswith(f"{stage} ")), None)
    if stage is None:
        raise CommandError(f"{name!r} stands at no stage: {', '.join(KINDS)}")
    return stage, tuple(said.split(", ")) if said else ()


# ---------------------------------------------------------------------- less


def simpler(written: JsonMap) -> list[JsonMap]:
    """Commands that say less than this one: a plan with a stage less, or with an act less.

    Args:
        written: As a scenario writes it.
    """
    op, args = read_command(written)
    if op != "burst":
        return []
    plan = plan_of(args)
    options: list[JsonMap] = []
    for stage, acts in plan.stages.items():
        others = {name: said for name, said in plan.stages.items() if name != stage}
        if stage != "body":
            options.append(open_call(replace(plan, stages=others)))
        elif acts != ("value",):
            options.append(open_call(replace(plan, stages={**plan.stages, stage: ("value",)})))
        options += [
            open_call(replace(plan, stages={**plan.stages, stage: (*acts[:at], *acts[at + 1 :])}))
            for at in range(len(acts))
            if stage != "body" or at < len(acts) - 1
        ]
    if plan.arguments != NO_ARGUMENTS:
        options.append(open_call(replace(plan, arguments=NO_ARGUMENTS)))
    options += [open_call(replace(plan, scoped=False))] if plan.scoped else []
    return options + ([open_call(replace(plan, aborted=False))] if plan.aborted else [])


def tidied(written: Sequence[JsonMap]) -> list[JsonMap]:
    """The same commands, their calls named `c1`, `c2`, … in order of appearance.

    Args:
        written: The commands of one example.
    """
    names: dict[str, str] = {}

    def renamed(value: Json) -> Json:
        if isinstance(value, str):
            return _CALL.sub(lambda found: names.setdefault(found[0], f"c{len(names) + 1}"), value)
        if isinstance(value, Mapping):
            return {key: renamed(item) for key, item in value.items()}
        return [renamed(item) for item in value] if isinstance(value, list | tuple) else value

    return [{"do": op, "args": renamed(args)} for op, args in map(read_command, written)]


_CALL: Final = re.compile(r"\b[cx]\d+\b")
