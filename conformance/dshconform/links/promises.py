"""What an adapter promises of its replies beyond their types, checked the same way on every link.

The types of a reply say what it is made of. They cannot say that it answers the command that was sent, that it has
one outcome and one `return` row that agrees with it, or that its gates are the ones that were opened: a missing row,
a gate that disappears without an answer, or waits without ever having been announced, would otherwise look like a fault
of the implementation.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from msgspec import UNSET, UnsetType

from dshconform.links.link import Broken, brief
from dshconform.protocol.commands import OPERATIONS
from dshconform.protocol.json_value import Json, JsonMap, same
from dshconform.protocol.messages import Command, Reply

WITHOUT_RETURN: Final = frozenset(
    {"hello", "world.close", *(name for name, operation in OPERATIONS.items() if operation.answers_gate)}
)
"""The commands that have no `return` row."""
ENDING: Final = frozenset({"gate.resolve", "gate.reject", "stream.end", "stream.fail"})
"""The answers behind which a gate waits no more."""


@dataclass(slots=True)
class Promises:
    """The replies of one adapter so far, as much of them as the next reply is judged by."""

    _open: tuple[str, ...] = ()
    _ended: set[str] = field(default_factory=set)
    """Waiting gates that a command answers, or a script that stands ready: only these end without a `closed` row."""

    def broken_by(self, command: Command, reply: Reply) -> Broken | None:
        """Judges one reply and, where it is in order, remembers what it opened.

        Args:
            command: The command that was sent.
            reply: What came back for it.

        Returns:
            The first promise that it breaks, none if it keeps them all.
        """
        return _broken_form(command, reply) or _broken_return(command, reply) or self._broken_gates(command, reply)

    def _broken_gates(self, command: Command, reply: Reply) -> Broken | None:
        if command.op in {"world.open", "world.close"}:  # the world's gates end with it, unreported
            self._open, self._ended = (), set()
        if self._open:
            self._ended.update(_gates_ended(command.op, command.args))
        elif not reply.observed and not reply.open:
            return None
        opened, closed = _gate_rows(reply.observed)
        if not opened and not closed and not self._ended and tuple(reply.open) == self._open:
            return None
        order = [*self._open, *opened]
        promise, problem = "waiting", _waiting(reply.open, order)
        if problem is None and len(set(order)) != len(order):
            twice = next(gate for gate in order if order.count(gate) > 1)
            promise, problem = "gates", f"the gate {twice!r} was opened a second time"
        if problem is None:
            promise, problem = "answered", self._unanswered(command, reply, set(order) - closed)
        self._open = tuple(reply.open)
        self._ended.intersection_update(reply.open)
        if problem is None:
            return None
        return Broken(
            "malformed",
            f"at $.open of the reply to {_title(command)}: {problem}",
            "`open` lists every gate that waits, in order of opening, from its `gate` row to its answer or `closed`",
            promise,
        )

    def _unanswered(self, command: Command, reply: Reply, known: set[str]) -> str | None:
        """What is wrong with the gates that have ended, or have not."""
        ended = known - set(reply.open) - self._ended
        # A gate of this very reply may have been answered by an action that stood ready for it.
        silent = [gate for gate in self._open if gate in ended]
        if silent:
            return f"the gate {silent[0]!r} no longer waits, but nothing answered it and no `closed` row says why"
        if command.op in ENDING and command.args.get("gate") in reply.open:
            return f"the gate {command.args['gate']!r} was answered, and waits as before"
        return None


def _broken_form(command: Command, reply: Reply) -> Broken | None:
    one = (reply.result is UNSET) is not (reply.error is UNSET)
    if one and reply.id == command.id and reply.fault is UNSET and reply.late is UNSET:
        return None  # as nearly every reply
    title = _title(command)
    if reply.id != command.id:
        return Broken(
            "malformed",
            f"at $.id: the reply to {title} has the id {reply.id!r}",
            "a reply carries the id of the command that it answers",
            "id",
        )
    outcomes = [
        name
        for name, value in (("result", reply.result), ("error", reply.error), ("fault", reply.fault))
        if value is not UNSET
    ]
    if len(outcomes) != 1:
        found = " and ".join(f"`{name}`" for name in outcomes) or "none of them"
        return Broken(
            "malformed",
            f"at $: the reply to {title} has {found}",
            "a reply has exactly one of `result` (null for nothing), `error` and `fault`",
            "outcome",
        )
    if reply.late is not UNSET and reply.late:
        return Broken(
            "late",
            f"at $.late: {len(reply.late)} rows were made between the previous reply and {title}, "
            f"the first of them {brief(reply.late[0])}",
            "settle before replying: no tick, task, timer or I/O of the implementation may still be under way",
        )
    if reply.fault is not UNSET:
        return _broken_by_fault(title, reply.fault)
    return None


def _broken_return(command: Command, reply: Reply) -> Broken | None:
    if command.op in WITHOUT_RETURN:
        return None
    rows = [row for row in reply.observed if row["on"] == "return" and "at" not in row and "part" not in row]
    if len(rows) != 1:
        problem = f"{len(rows) or 'no'} `return` rows of the command itself"
    elif rows[0]["op"] != command.op:
        problem = f"its `return` row is of {rows[0]['op']!r}"
    elif all(same(rows[0].get(name), None if value is UNSET else value) for name, value in _outcome(reply)):
        return None
    else:
        told = {name: value for name, value in _outcome(reply) if value is not UNSET}
        problem = f"its `return` row does not tell what the reply does: {brief(rows[0])} beside {brief(told)}"
    return Broken(
        "malformed",
        f"at $.observed of the reply to {_title(command)}: {problem}",
        "every command has one `return` row with the reply's own result or error; "
        "answers to gates, `hello` and `world.close` have none",
        "return",
    )


def _outcome(reply: Reply) -> Iterator[tuple[str, Json | UnsetType]]:
    yield "result", reply.result
    yield "error", reply.error


def _broken_by_fault(title: str, fault: str) -> Broken:
    if fault == "unsettled" or fault.startswith("unsettled:"):
        return Broken(
            "unsettled",
            f"the implementation did not come to rest after {title} ({brief(fault)})",
            "look for a timer, a busy loop or I/O that goes on without a command",
        )
    return Broken(
        "fault",
        f"the adapter could not execute {title}: {brief(fault, 1000)}",
        "see docs/protocol/lockstep.md for the command; profiles and features of which it is a part stay undeclared in "
        "`hello` until then, and what does not need it can be judged by itself: `--contract`, `--check`",
    )


def _gate_rows(rows: Sequence[JsonMap]) -> tuple[list[str], set[str]]:
    opened: list[str] = []
    closed: set[str] = set()
    for row in rows:
        on, gate = row.get("on"), row.get("gate")
        if isinstance(gate, str):
            if on == "gate":
                opened.append(gate)
            elif on == "closed":
                closed.add(gate)
    return opened, closed


def _waiting(waiting: Sequence[str], order: Sequence[str]) -> str | None:
    rest = iter(order)
    for gate in waiting:
        if gate not in order:
            return f"the gate {gate!r} waits, but no `gate` row has opened it"
        if gate not in rest:  # consumes the iterator: what is found later must stand later
            return f"the gate {gate!r} does not stand in the order of opening ({', '.join(order)})"
    return None


def _gates_ended(op: Json, value: Json) -> Iterator[str]:
    """The gates that a command answers, or a command in its scripts; `value` is its arguments, or some part of them."""
    if isinstance(value, (dict, Mapping)):  # the first alone costs a fifth of asking an abstract class
        gate = value.get("gate")
        if isinstance(gate, str) and op in ENDING:
            yield gate
        inner = value.get("op")
        for key, member in value.items():
            if not isinstance(member, str):
                yield from _gates_ended(inner if key == "args" else None, member)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _gates_ended(None, item)


def _title(command: Command) -> str:
    return f"command {command.id} ({command.op})"
