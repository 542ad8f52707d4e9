"""Faults of the inbox."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from math import isnan
from typing import Final

from dshconform.faults.fault import Fault, replaced
from dshcore.agent import Inbox, Target
from dshcore.agent import inbox as module
from dshcore.json import JsonObject

Messages = Sequence[Mapping[str, object]]
"""Messages as an operation of the inbox is given them."""
Removed = tuple[JsonObject, ...]
"""Messages as an operation of the inbox answers them."""

_splice = Inbox._splice  # noqa: SLF001 - faults are planted inside
_commit = Inbox._commit  # noqa: SLF001
_clamp = module._clamp  # noqa: SLF001


class _Opened(Inbox):
    """What the faults see of an inbox's inside."""

    def claim(self, target: Target, turn: int) -> Removed:
        """Takes the prompt before the context."""
        batch: Removed = ()
        if target == "next-turn":
            batch += self._take("next-turn", min(1, len(self._lists["next-turn"])))
        batch += self._take("next-step", len(self._lists["next-step"]))
        for message in batch:
            self._listener.claimed(message, turn)
        return batch

    def clear(self) -> None:
        """Clears the prompts first."""
        for target in ("next-turn", "next-step"):
            self._splice(target, 0, len(self._lists[target]), ())

    def commit_counting(self, target: Target, data: Mapping[str, object]) -> Removed:
        """Logs how many messages were removed although none was."""
        return _commit(self, target, {"removedCount": 0, **data})

    def held_once(self, message_id: str) -> bool:
        """Forgets no id."""
        splices = (event["data"] for event in self._session.events if event["type"] == module.SPLICED)
        return any(message["id"] == message_id for splice in splices for message in splice["inserted"])

    def splice_looking_at_its_list(self, target: Target, start: int, count: int, inserted: Messages) -> Removed:
        """Looks for duplicates in the target list alone."""
        self.looking_at: Target = target
        return _splice(self, target, start, count, inserted)

    def held_there(self, message_id: str) -> bool:
        """Whether the list that is looked at holds an id."""
        return message_id in self._lists[self.looking_at]

    def splice_telling_of_insertions_first(self, target: Target, start: int, count: int, inserted: Messages) -> Removed:
        """Tells of what came before what went."""
        listener, told = self._listener, _Told()
        self._listener = told
        try:
            removed = _splice(self, target, start, count, inserted)
        finally:
            self._listener = listener
        for message in told.came:
            listener.inserted(message)
        for message in told.went:
            listener.discarded(message)
        return removed

    def take_as_canceled(self, target: Target, count: int) -> Removed:
        """Logs a claim as a cancellation."""
        taken = self._lists[target].part(0, count)
        if taken:
            deletion: dict[str, object] = {"target": target, "start": 0, "removedCount": count, "inserted": []}
            self._commit(target, {**deletion, "outcome": "canceled"})
        return taken


@dataclass
class _Told:
    """Keeps what it is told."""

    came: list[JsonObject] = field(default_factory=list)
    went: list[JsonObject] = field(default_factory=list)

    def inserted(self, message: JsonObject) -> None:
        self.came.append(message)

    def discarded(self, message: JsonObject) -> None:
        self.went.append(message)

    def claimed(self, message: JsonObject, turn: int) -> None:
        raise AssertionError(f"a splice claims nothing: {message!r} in turn {turn}")


def _clamp_from_the_front(value: float | None, low: int, high: int, *, from_end: bool = False) -> int:
    del from_end
    return _clamp(value, low, high)


def _clamp_nan_to_the_end(value: float | None, low: int, high: int, *, from_end: bool = False) -> int:
    return high if from_end and value is not None and isnan(value) else _clamp(value, low, high, from_end=from_end)


def _clamp_infinite_count_to_nothing(value: float | None, low: int, high: int, *, from_end: bool = False) -> int:
    return low if not from_end and value == float("inf") else _clamp(value, low, high, from_end=from_end)


def _of_inbox(**members: object) -> AbstractContextManager[None]:
    return replaced(Inbox, members)


def _of_module(**members: object) -> AbstractContextManager[None]:
    return replaced(module, members)


INBOX_FAULTS: Final[tuple[Fault, ...]] = (
    Fault(
        "claim-takes-the-prompt-first",
        "INBOX-CLAIM-01",
        "A claim at a turn boundary takes the first prompt and then the pending context.",
        lambda: _of_inbox(claim=_Opened.claim),
    ),
    Fault(
        "claim-logged-as-canceled",
        "INBOX-SHAPE-02",
        "The deletions of a claim carry the outcome of a cancellation.",
        lambda: _of_inbox(_take=_Opened.take_as_canceled),
    ),
    Fault(
        "insertion-counts-removals",
        "INBOX-SHAPE-01",
        "A splice that only inserts carries removedCount 0.",
        lambda: _of_inbox(_commit=_Opened.commit_counting),
    ),
    Fault(
        "clear-begins-with-next-turn",
        "INBOX-CLEAR-01",
        "Clearing cancels the prompts before the context.",
        lambda: _of_inbox(clear=_Opened.clear),
    ),
    Fault(
        "duplicates-within-one-list",
        "INBOX-DUP-01",
        "A pending id is refused only in the list in which it is pending.",
        lambda: _of_inbox(_splice=_Opened.splice_looking_at_its_list, _holds=_Opened.held_there),
    ),
    Fault(
        "ids-refused-for-ever",
        "INBOX-DUP-03",
        "An id that was pending once is refused after it was claimed or discarded.",
        lambda: _of_inbox(_holds=_Opened.held_once),
    ),
    Fault(
        "discarded-after-inserted",
        "INBOX-NOTE-01",
        "Of one mutation, the inserted messages are told of before the discarded ones.",
        lambda: _of_inbox(_splice=_Opened.splice_telling_of_insertions_first),
    ),
    Fault(
        "negative-start-means-the-front",
        "INBOX-NORM-01",
        "A negative start is floored at 0 and does not count from the end.",
        lambda: _of_module(_clamp=_clamp_from_the_front),
    ),
    Fault(
        "nan-start-means-the-end",
        "INBOX-NORM-02",
        "A start of NaN is taken for the end of the list.",
        lambda: _of_module(_clamp=_clamp_nan_to_the_end),
    ),
    Fault(
        "infinite-count-removes-nothing",
        "INBOX-NORM-03",
        "A deleteCount of Infinity removes no message.",
        lambda: _of_module(_clamp=_clamp_infinite_count_to_nothing),
    ),
)
"""Each is a wrong implementation that the *violation* of its clause describes."""
