"""What an adapter promises of a whole world: looked at over its transcript before an implementation is blamed.

A reply by itself can be in order and still contradict an earlier one: a call is aborted that was never counted, a gate
is pulled that nobody knows, a task settles that no command has named. Such rows are the adapter's own book-keeping. It
costs a walk through the world, so it is done only where something differs.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from msgspec import UNSET

from dshconform.links.link import Broken, brief
from dshconform.protocol.commands import OPERATIONS
from dshconform.protocol.json_value import Json, JsonMap, same
from dshconform.protocol.messages import Reply, Row
from dshconform.protocol.observations import MALFORMED_REMEDY, MalformedReplyError, check_reply

_REMEDY: Final = "see docs/protocol/lockstep.md, What an adapter promises"

_Problem: TypeAlias = tuple[str, str]
"""A promise, and how it was broken."""


def broken_in(transcript: Iterable[tuple[str, JsonMap, Reply]]) -> Broken | None:
    """The first promise that a transcript breaks, if any.

    Args:
        transcript: The commands, each with its arguments and the reply to it; a world begins where one is opened.

    Returns:
        What was seen, with the promise that it breaks.
    """
    world = _World()
    for number, (op, args, reply) in enumerate(transcript, 1):
        if op == "world.open":
            world = _World()
        at = f"command {number} of the world ({op})"
        try:
            check_reply(reply)
        except MalformedReplyError as error:
            return Broken("malformed", f"the reply to {at}: {error}", MALFORMED_REMEDY)
        problem = world.problem(op, args, reply)
        if problem is not None:
            return Broken("malformed", f"at $.observed of the reply to {at}: {problem[1]}", _REMEDY, problem[0])
    return None


@dataclass(slots=True)
class _World:
    """What the commands and rows of one world have told so far."""

    functions: dict[str, int] = field(default_factory=dict)
    """How often each name of a function was given; more than once, it may stand for several functions."""
    tasks: set[str] = field(default_factory=set)
    calls: dict[str, int] = field(default_factory=dict)
    """How often each function was called."""
    scripted: set[tuple[str, int]] = field(default_factory=set)
    """The calls that follow a script, and may come to a gate."""
    gates: set[str] = field(default_factory=set)
    closed: set[str] = field(default_factory=set)
    pulled: dict[str, int] = field(default_factory=dict)

    def problem(self, op: str, args: JsonMap, reply: Reply) -> _Problem | None:
        """What is wrong with a reply behind those before it, if anything."""
        self._learn(args, 1)
        found = (self._row(row) for row in reply.observed)
        return next((problem for problem in found if problem is not None), None) or _problem_of_burst(op, args, reply)

    def _learn(self, value: Json, times: int) -> None:
        """Take in the names of functions and tasks, at any depth; what a script gives, it may give again and again."""
        if isinstance(value, Mapping):
            function, task = value.get("$fn"), value.get("task")
            if isinstance(task, str):
                self.tasks.add(task)
                if "do" in value:  # a run: its script is a function that is named after its task
                    function = task
            if isinstance(function, str):
                self.functions[function] = self.functions.get(function, 0) + times
                times = 2
            for member in value.values():
                self._learn(member, times)
        elif isinstance(value, list | tuple):
            for item in value:
                self._learn(item, times)

    def _row(self, row: Row) -> _Problem | None:
        part = row.get("part")
        if isinstance(part, str) and part not in self.functions:
            return "names", f"the suite has given no function {part!r}: {brief(row)}"
        look = _LOOKS.get(str(row["on"]))
        return None if look is None else look(self, row)

    def call(self, row: Row) -> _Problem | None:
        """A function was called, or its script came to a gate."""
        part, number = str(row["part"]), _number(row)
        if row["on"] == "gate":
            gate = str(row["gate"])
            if gate in self.gates:
                return "gates", f"there was a gate {gate!r} before: {brief(row)}"
            self.gates.add(gate)
            if (part, number) in self.scripted:
                self.scripted.discard((part, number))
                return None
        else:
            self.scripted.add((part, number))
        expected = self.calls.get(part, 0) + 1
        self.calls[part] = max(number, expected - 1)
        if number == expected or (number < expected and self.functions[part] > 1):  # a newer one begins anew
            return None
        return "calls", f"call {expected} of {part!r} comes next: {brief(row)}"

    def known(self, row: Row) -> _Problem | None:
        """Something is told of a call."""
        if "part" not in row or "n" not in row or _number(row) <= self.calls.get(str(row["part"]), 0):
            return None
        return "calls", f"there was no such call: {brief(row)}"

    def pull(self, row: Row) -> _Problem | None:
        """A stream was pulled."""
        gate = str(row["gate"])
        if gate not in self.gates:
            return "gates", f"there is no such gate: {brief(row)}"
        self.pulled[gate] = self.pulled.get(gate, 0) + 1
        counted = _number(row) == self.pulled[gate]
        return None if counted else ("gates", f"the pulls of a gate are counted from 1: {brief(row)}")

    def close(self, row: Row) -> _Problem | None:
        """A gate ended unanswered."""
        gate = str(row["gate"])
        if gate not in self.gates or gate in self.closed:
            return "gates", f"there is no such gate any more: {brief(row)}"
        self.closed.add(gate)
        return None

    def task(self, row: Row) -> _Problem | None:
        """A task has settled."""
        known = row["task"] in self.tasks
        return None if known else ("names", f"no command has named this task: {brief(row)}")


_LOOKS: Final[Mapping[str, Callable[[_World, Row], _Problem | None]]] = {
    **dict.fromkeys(("script", "gate"), _World.call),
    **dict.fromkeys(("next", "abort", "return"), _World.known),
    "pull": _World.pull,
    "closed": _World.close,
    "task": _World.task,
}
"""What is looked at, by the kind of the row."""


def _number(row: Row) -> int:
    number = row["n"]
    assert isinstance(number, int)
    return number


def _problem_of_burst(op: str, args: JsonMap, reply: Reply) -> _Problem | None:
    """Every command of a burst returns once, in order; answers to gates give no row."""
    items = args.get("do")
    if op != "burst" or reply.error is not UNSET or not isinstance(items, list | tuple):
        return None
    told = {
        str(row["at"]): row
        for row in reply.observed
        if row["on"] == "return" and "part" not in row and str(row.get("at", ".")).isdecimal()
    }
    wanted = [str(at) for at, item in enumerate(items) if not _answers_gate(item)]
    if list(told) != wanted:
        return "items", f"the commands {', '.join(wanted)} of the burst have returned as {', '.join(told) or 'none'}"
    result = None if reply.result is UNSET else reply.result
    if not isinstance(result, Sequence) or isinstance(result, str) or len(result) != len(items):
        return "items", f"the result of a burst of {len(items)} commands is {brief(result)}"
    for at, row in told.items():
        outcome: Json = {name: row[name] for name in ("result", "error") if name in row}
        if not same(result[int(at)], outcome):
            return "items", f"command {at} of the burst has returned {brief(outcome)}, not {brief(result[int(at)])}"
    return None


def _answers_gate(item: Json) -> bool:
    operation = OPERATIONS.get(str(item.get("op"))) if isinstance(item, Mapping) else None
    return operation is not None and operation.answers_gate
