"""What an adapter promises of a whole world: checked again over its transcript before an implementation is blamed.

A reply by itself can be in order and still contradict an earlier one: a call that was never counted is aborted, a gate
that nobody knows is pulled, a task that no command started has settled. Such rows are the adapter's own book-keeping,
so they say nothing about the implementation. It costs a walk through the world, and only where something differs.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from msgspec import UNSET

from dshconform.links.link import brief
from dshconform.links.promises import Broken
from dshconform.protocol.commands import OPERATIONS
from dshconform.protocol.json_value import Json, JsonMap
from dshconform.protocol.messages import Reply, Row

_REMEDY: Final = (
    "see `docs/protocol/lockstep.md`, Observations: parts, calls, gates and tasks are counted over the world"
)


def broken_in(transcript: Iterable[tuple[str, JsonMap, Reply]]) -> Broken | None:
    """The first promise that a transcript breaks, if any.

    Args:
        transcript: The commands of one world, each with its arguments and the reply to it.
    """
    world = _World()
    for op, args, reply in transcript:
        world.tasks.update(_named_tasks(args))
        problem = next(filter(None, map(world.problem, reply.observed)), None) or _problem_of_burst(op, args, reply)
        if problem is not None:
            return Broken("malformed", f"the replies contradict each other at {op}: {problem}", _REMEDY)
    return None


@dataclass(slots=True)
class _World:
    """What the rows of one world have told so far."""

    calls: dict[str, int] = field(default_factory=dict)
    """How often each function was called."""
    scripted: set[tuple[str, int]] = field(default_factory=set)
    """The calls that follow a script, and may come to a gate."""
    gates: set[str] = field(default_factory=set)
    closed: set[str] = field(default_factory=set)
    pulled: dict[str, int] = field(default_factory=dict)
    tasks: set[str] = field(default_factory=set)

    def problem(self, row: Row) -> str | None:
        """What is wrong with a row behind those before it, if anything."""
        match row["on"]:
            case "script" | "gate":
                return self._call(row)
            case "next" | "abort":
                known = _number(row) <= self.calls.get(str(row["part"]), 0)
                return None if known else f"there was no such call: {brief(row)}"
            case "pull":
                gate = str(row["gate"])
                if gate not in self.gates:
                    return f"there is no such gate: {brief(row)}"
                self.pulled[gate] = self.pulled.get(gate, 0) + 1
                counted = _number(row) == self.pulled[gate]
                return None if counted else f"the pulls of a gate are counted from 1: {brief(row)}"
            case "closed":
                gate = str(row["gate"])
                if gate not in self.gates or gate in self.closed:
                    return f"there is no such gate any more: {brief(row)}"
                self.closed.add(gate)
            case "task" if row["task"] not in self.tasks:
                return f"no command has named this task: {brief(row)}"
        return None

    def _call(self, row: Row) -> str | None:
        part, number = str(row["part"]), _number(row)
        behind_script = row["on"] == "gate" and (part, number) in self.scripted
        if row["on"] == "gate":
            self.gates.add(str(row["gate"]))
            self.scripted.discard((part, number))
        else:
            self.scripted.add((part, number))
        if behind_script:
            return None
        expected = self.calls.get(part, 0) + 1
        self.calls[part] = number
        if number in {1, expected}:  # a name that is given again means a newer function
            return None
        return f"call {expected} of {part!r} comes next: {brief(row)}"


def _number(row: Row) -> int:
    number = row["n"]
    assert isinstance(number, int)
    return number


def _named_tasks(value: Json) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, member in value.items():
            if key == "task" and isinstance(member, str):
                yield member
            yield from _named_tasks(member)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _named_tasks(item)


def _problem_of_burst(op: str, args: JsonMap, reply: Reply) -> str | None:
    """Every command of a burst returns once, in order; answers to gates give no row."""
    items = args.get("do")
    if op != "burst" or reply.error is not UNSET or not isinstance(items, list | tuple):
        return None
    wanted = [str(at) for at, item in enumerate(items) if not _answers_gate(item)]
    told = [
        str(row["at"])
        for row in reply.observed
        if row["on"] == "return" and "part" not in row and str(row.get("at", ".")).isdecimal()
    ]
    return None if told == wanted else f"the commands {', '.join(wanted)} have returned as {', '.join(told) or 'none'}"


def _answers_gate(item: Json) -> bool:
    operation = OPERATIONS.get(str(item.get("op"))) if isinstance(item, Mapping) else None
    return operation is not None and operation.answers_gate
