"""The alphabet of the initiator contract: what is done at a place, and how what waits there is ended.

A command does one thing at one place and reads the initiator behind it: `burst` outside of everything, and `gate.do`
inside a call of a function that waits.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from dshconform.contracts.inbox_commands import read_command
from dshconform.contracts.inbox_rows import ROUTE
from dshconform.contracts.model import CommandError
from dshconform.contracts.script_calls import FAILURE, REJECT, THROW, actions_of
from dshconform.protocol.json_value import Json, JsonMap
from dshconform.scenarios.macros import message

CURRENT: Final[JsonMap] = {"op": "initiator.current", "args": {}}
"""Read the initiator, which may be none."""
REQUIRE: Final[JsonMap] = {"op": "initiator.require", "args": {}}
"""Read the initiator, which has to be there."""
GATE: Final[JsonMap] = {"do": "gate"}
"""Wait for the suite."""
_VALUE: Final[JsonMap] = {"x": [1]}

PRE_STEP: Final = "agent/pre-step"
"""The kind of the function that is asked before a step."""
TOOL: Final = "tool/execute"
"""The kind of the body of a tool."""
SETUP: Final = "setup"
"""The kind of the setup of an agent."""

AGENTS: Final = ("a", "b")
"""Those that are there from the beginning; others are created."""

BODIES: Final[Mapping[str, Sequence[JsonMap]]] = {
    "returns": (CURRENT, REQUIRE, {"do": "return", "value": _VALUE}),
    "throws": (CURRENT, THROW),
    "rejects": (CURRENT, REJECT),
    "waits": (CURRENT, GATE),
}
"""What a function does that is called inside a boundary; others nest a boundary, or start work of their own."""


def function(name: str, *script: JsonMap) -> JsonMap:
    """A function of the suite.

    Args:
        name: Its name.
        *script: What it does.
    """
    return {"$fn": name, "do": [*script]}


def bounded(agent: str | None, name: str, body: str, task: str) -> JsonMap:
    """Call a function inside a boundary.

    Args:
        agent: Whose the boundary is; nobody's hides every agent.
        name: The name of the function.
        body: What it does: a name of `BODIES`.
        task: What the suite calls what it answers, if that has to be awaited.

    Returns:
        The action.
    """
    return _run(agent, function(name, *BODIES[body]), task)


def nesting(agent: str | None, name: str, inner: str | None, body: str) -> JsonMap:
    """Call a function inside a boundary that opens another one, and reads when that is over.

    Args:
        agent: Whose the outer boundary is; nobody's hides every agent.
        name: The name of the outer function.
        inner: Whose the inner boundary is.
        body: What the inner function does: a name of `BODIES`.

    Returns:
        The action.
    """
    nested = _run(inner, function(f"{name}.inner", *BODIES[body]))
    return _run(agent, function(name, CURRENT, nested, CURRENT))


def starting(agent: str | None, name: str, task: str) -> JsonMap:
    """Call a function inside a boundary that starts work without returning it.

    Args:
        agent: Whose the boundary is; nobody's hides every agent.
        name: The name of the function.
        task: What the suite calls the work.

    Returns:
        The action.
    """
    return _run(agent, function(name, work(task)))


def _run(agent: str | None, called: JsonMap, task: str | None = None) -> JsonMap:
    args: JsonMap = {"agent": agent, "fn": called}
    return {"op": "initiator.run", "args": args if task is None else {**args, "task": task}}


def work(task: str) -> JsonMap:
    """Start work that nobody waits for.

    Args:
        task: What the suite calls it.

    Returns:
        The action.
    """
    return {"op": "run", "args": {"task": task, "do": [CURRENT, GATE]}}


def wake(agent: str, identity: str) -> JsonMap:
    """Send a message that wakes an agent.

    Args:
        agent: The name of the agent.
        identity: The message's id, which is its text too.

    Returns:
        The action.
    """
    return {"op": "agent.followup", "args": {"agent": agent, "message": message(identity)}}


def inject(agent: str, identity: str) -> JsonMap:
    """Send one that wakes nobody.

    Args:
        agent: The name of the agent.
        identity: The message's id, which is its text too.

    Returns:
        The action.
    """
    return {"op": "agent.inject", "args": {"agent": agent, "message": message(identity)}}


def cancel(agent: str) -> JsonMap:
    """Cancel the turn of an agent.

    Args:
        agent: The agent.

    Returns:
        The action.
    """
    return {"op": "agent.cancel", "args": {"agent": agent, "cause": {"kind": "user"}}}


def create(agent: str, name: str, task: str, *, waits: bool = False) -> JsonMap:
    """Create an agent with a setup.

    Args:
        agent: Its name, which is its id too.
        name: The name of the setup.
        task: What the suite calls the creation.
        waits: Whether the setup waits for the suite.
    """
    setup = function(name, CURRENT, *([GATE] if waits else []))
    return {"op": "agent.create", "args": {"task": task, "agent": agent, "options": ROUTE, "setup": setup}}


def maintain(agent: str, name: str, task: str, *, waits: bool = False) -> JsonMap:
    """Run a maintenance task.

    Args:
        agent: The name of the agent.
        name: The name of the task's function.
        task: What the suite calls the task.
        waits: Whether it waits for the suite.

    Returns:
        The action.
    """
    job = function(name, CURRENT, *([GATE] if waits else []))
    return {"op": "agent.maintain", "args": {"task": task, "agent": agent, "fn": job}}


def unload(task: str) -> JsonMap:
    """Close the registry.

    Args:
        task: What the suite calls the closing.

    Returns:
        The action.
    """
    return {"op": "world.unload", "args": {"task": task, "part": "agents"}}


# ---------------------------------------------------------------------- commands


def at(place: JsonMap | None, *items: JsonMap) -> JsonMap:
    """Do something at a place, and read the initiator.

    Args:
        place: The gate of the call in which it is done; none for outside of any.
        *items: Actions, as this module writes them.

    Returns:
        The command.
    """
    if place is None:
        return {"do": "burst", "args": {"do": [*items]}}
    return {"do": "gate.do", "args": {"gate": place, "do": [*items]}}


def of_call(part: str) -> JsonMap:
    """The place inside the call of a function that is called once.

    Args:
        part: The name of the function.
    """
    return {"part": part}


def of_driver(kind: str, agent: str) -> JsonMap:
    """The place inside a turn of an agent: before its first step, or in its tool.

    Args:
        kind: Which of the two: `PRE_STEP` or `TOOL`.
        agent: The name of the agent.
    """
    return {"kind": kind, "agent": agent}


def resolve(kind: str, place: JsonMap) -> JsonMap:
    """End a call that waits: a setup with nothing, everything else with a value.

    Args:
        kind: The kind of the function that waits.
        place: Its gate.

    Returns:
        The command.
    """
    args: JsonMap = {"gate": place}
    return {"do": "gate.resolve", "args": args if kind == SETUP else {**args, "value": _VALUE}}


def reject(place: JsonMap) -> JsonMap:
    """End a call that waits, by a failure.

    Args:
        place: Its gate.

    Returns:
        The command.
    """
    return {"do": "gate.reject", "args": {"gate": place, "error": FAILURE}}


def go_on(agent: str) -> JsonMap:
    """Let a turn go on that waits before its first step.

    Args:
        agent: The name of the agent.

    Returns:
        The command.
    """
    gate = of_driver(PRE_STEP, agent)
    items: list[Json] = [
        {"op": "gate.next", "args": {"gate": gate}},
        {"op": "gate.resolve", "args": {"gate": gate, "value": {"$next": 0}}},
    ]
    return {"do": "burst", "args": {"do": items}}


# ---------------------------------------------------------------------- reading them


def items_of(op: str, args: JsonMap) -> list[tuple[str, JsonMap]]:
    """What a command does one after the other.

    Args:
        op: The operation.
        args: Its arguments.
    """
    do = args.get("do") if op in {"burst", "gate.do"} else None
    if not isinstance(do, list | tuple):
        return [(op, args)]
    return [read_command(item) for item in do if isinstance(item, Mapping)]


def body_of(called: JsonMap) -> str:
    """What the grid calls what a function does inside a boundary.

    Args:
        called: As a command writes it.

    Raises:
        CommandError: It does what none of the contract's functions does.
    """
    script = actions_of(called)
    ops = [one.get("op") for one in script]
    if "initiator.run" in ops:
        return "nests"
    if "run" in ops:
        return "starts"
    for name, body in BODIES.items():
        if script == list(body):
            return name
    raise CommandError(f"inside a boundary a function does none of the contract's things: {called!r}")


def waits(called: JsonMap) -> bool:
    """Whether a function waits for the suite.

    Args:
        called: As a command writes it.
    """
    return actions_of(called)[-1:] == [GATE]


def names_in(op: str, args: JsonMap) -> list[str]:
    """The names that a command gives: to functions, tasks, agents and messages.

    Args:
        op: The operation.
        args: Its arguments.
    """
    found: list[str] = []
    if "task" in args:
        found.append(str(args["task"]))
    if op == "agent.create":
        found.append(str(args["agent"]))
    sent = args.get("message")
    if isinstance(sent, Mapping):
        found.append(str(sent["id"]))
    for member in ("fn", "setup"):
        called = args.get(member)
        if isinstance(called, Mapping):
            found.append(str(called["$fn"]))
            for one in actions_of(called):
                found += names_in(*read_command(one)) if "op" in one else []
    return found
