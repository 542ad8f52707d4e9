"""Rows without what the protocol leaves to an implementation: times, ids that it makes, when a call is told to go on.

Ids are called by the order in which they appear, so that two worlds that did the same show the same. A language with
one empty value shows it where others show none (`undefined`): both are nothing here.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from dshconform.protocol.commands import OPERATIONS
from dshconform.protocol.json_value import Json, JsonMap
from dshconform.protocol.messages import Row

_UUID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_CLOCK: Final = 10**12
"""Milliseconds since 1970 that no scenario writes by itself."""
_REPEATS: Final = frozenset({"burst", "gate.do"})
"""Operations of which the result says again what the `return` rows of their commands say."""
_TOLD_LATE: Final = frozenset({"task", "next"})
"""Rows that are written by a continuation, possibly some ticks late (lockstep, *What the order says*)."""


@dataclass(slots=True)
class Names:
    """What is called how in one world.

    Args:
        known: Places in events, as a ledger spells them: what stands there is known to differ, and left out wherever
            the event is shown.
        tasks: What each task was started by.
    """

    known: frozenset[str] = frozenset()
    tasks: dict[str, str] = field(default_factory=dict)
    _sent: set[str] = field(default_factory=set)
    _made: dict[str, str] = field(default_factory=dict)

    def send(self, op: str, args: Json) -> None:
        """A command is sent: what it names is the suite's.

        Args:
            op: The operation of the command.
            args: Its arguments: every text in them counts as the suite's.
        """
        for value in _inside({"op": op, "args": args}):
            if isinstance(value, str):
                self._sent.add(value)
            elif isinstance(value, Mapping):
                named, given = value.get("op", value.get("do")), value.get("args")
                task = given.get("task") if isinstance(given, Mapping) else None
                if isinstance(task, str):
                    self.tasks[task] = str(named)

    def normal(self, rows: Sequence[Row]) -> tuple[list[JsonMap], list[JsonMap]]:
        """The rows of the next reply, and apart from them those that may stand anywhere."""
        shown: tuple[list[JsonMap], list[JsonMap]] = [], []
        for row in rows:
            if not _goes_on(row):
                shown[row["on"] in _TOLD_LATE].append(self._row(row))
        return shown

    def _row(self, row: Row) -> JsonMap:
        on = row["on"]
        if on == "return" and row["op"] in _REPEATS:
            return {key: value for key, value in row.items() if key != "result"}
        normal = {key: self._id("gate", value) if key == "gate" else self._value(value) for key, value in row.items()}
        if on == "status":
            normal["id"] = self._id("fiber", row.get("id"))
        return normal

    def _value(self, value: Json) -> Json:
        if isinstance(value, str):
            return _UUID.sub(lambda found: str(self._id("id", found[0])), self._made.get(value, value))
        if isinstance(value, Mapping):
            return self._object(value)
        if isinstance(value, list | tuple):
            return [self._value(item) for item in value]
        if isinstance(value, int) and value > _CLOCK:
            return "<time>"
        return value

    def _object(self, value: JsonMap) -> Json:
        if value == {"$value": "undefined"}:
            return None
        identity = value.get("id")
        if "role" in value and isinstance(identity, str) and identity not in self._sent:
            self._id("message", identity)
        normal = {key: self._value(item) for key, item in value.items()}
        if "state" in value and "id" in value:  # as `owner.state` answers
            normal["id"] = self._id("fiber", identity)
        if "seq" in value and "data" in value:
            for place in self.known:
                _leave_out(normal, place.removeprefix(f"log {value.get('type')}.event.").split("."))
        return normal

    def _id(self, kind: str, value: Json) -> Json:
        """What an id is called; nothing for none."""
        if value is None:
            return None
        known = f"{kind} {value}" if kind in {"gate", "fiber"} else str(value)
        number = 1 + sum(name.startswith(f"<{kind} ") for name in self._made.values())
        return self._made.setdefault(known, f"<{kind} {number}>")


def _goes_on(row: Row) -> bool:
    """Whether a row only says that an asynchronous operation has answered its awaitable."""
    if row["on"] != "return" or row.get("result") is not None or "error" in row:
        return False
    operation = OPERATIONS.get(str(row["op"]))
    return operation is not None and (operation.asynchronous or operation.may_await)


def _leave_out(value: Json, path: Sequence[str]) -> None:
    """Take a member out of normal JSON, where it is there."""
    for name in path[:-1]:
        value = value.get(name) if isinstance(value, dict) else None
    if isinstance(value, dict):
        value.pop(path[-1], None)


def _inside(value: Json) -> Iterator[Json]:
    """A value and everything in it."""
    yield value
    if isinstance(value, Mapping):
        for item in value.values():
            yield from _inside(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _inside(item)
