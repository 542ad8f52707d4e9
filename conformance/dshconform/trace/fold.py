"""What a trace invariant is: a small fold over the rows of one world, and the data that names it."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from dshconform.protocol.json_value import Json, JsonMap
from dshconform.protocol.messages import Row
from dshconform.trace.pattern import Difference, Matching
from dshconform.trace.rows import row_title


class Fold(Protocol):
    """The state of one invariant over one world."""

    def __call__(self, row: Row, matching: Matching) -> Difference | None:
        """Take in one row and answer what it violates."""
        ...


class SettlingFold(ABC):
    """A fold that also looks at the end of every reply, when the implementation has settled."""

    @abstractmethod
    def __call__(self, row: Row, matching: Matching) -> Difference | None:
        """Take in one row and answer what it violates."""

    @abstractmethod
    def settled(self, matching: Matching) -> Difference | None:
        """Answer what is still owed.

        Args:
            matching: Counts what was held against the trace.
        """


@dataclass(frozen=True, slots=True)
class Invariant:
    """One invariant as data.

    Args:
        name: Its name.
        clauses: The clauses that it holds or fails.
        kinds: The rows that it looks at: `log` for all of a kind, `log turn/end` for those that tell of one thing.
        begin: Begins its fold.
        driver: Whether it is about what a driver writes: then a log into which the suite has appended by itself, or of
            which it has refused an event, is no evidence.
        profile: The profile that binds an implementation to it; without it, nothing is watched.
    """

    name: str
    clauses: tuple[str, ...]
    kinds: frozenset[str]
    begin: Callable[[], Fold]
    driver: bool = True
    profile: str = "core"


_EMPTY: Final[JsonMap] = {}
_OBJECT: Final = (dict, Mapping)


def event_of(row: Row) -> JsonMap:
    """The event of a `log` row."""
    return members_of(row.get("event"))


def members_of(value: Json) -> JsonMap:
    """An object, or one without members in place of anything else.

    Args:
        value: What should be an object.
    """
    return value if isinstance(value, _OBJECT) else _EMPTY


def items_of(value: Json) -> list[Json]:
    """A list, or an empty one in place of anything else.

    Args:
        value: What should be a list.
    """
    return list(value) if isinstance(value, list | tuple) else []


def whole_number(value: Json) -> int | None:
    """An integer, or nothing in place of anything else.

    Args:
        value: What should be an integer; a boolean is none.
    """
    return value if isinstance(value, int) and not isinstance(value, bool) else None


@dataclass(frozen=True, slots=True)
class Place:
    """A member of a row, or the row itself, and who answers for it.

    Args:
        row: The row.
        path: The member, as a comparison spells its place: `event.data.reason`; empty for the row itself.
        clauses: Who is blamed for what is wrong there.
    """

    row: Row
    path: str
    clauses: tuple[str, ...]

    def violated(self, matching: Matching, sentence: str, *, expected: Json, found: Json) -> Difference | None:
        """What is wrong here, unless it is a listed deviation.

        Args:
            matching: Is asked whether it is.
            sentence: What is wrong, naming the rows that contradict each other.
            expected: What should be there.
            found: What is there.
        """
        at = f"{row_title(self.row)}.{self.path}" if self.path else row_title(self.row)
        difference = Difference(self.clauses, at, found, (), expected, found, sentence)
        return None if matching.tolerate(difference) else difference
