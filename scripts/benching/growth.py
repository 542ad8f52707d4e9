"""What grows: turns with the log, inbox operations with what is pending."""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, Generic, TypeVar

from benching.measuring import Growth, block, compare
from benching.sides import Direct, Linked, Refused, Side

TURNS: Final = (50, 5_000)
PENDING: Final = (10, 1_000)
TURNS_IN_BLOCK: Final = 10
EDITS_IN_BLOCK: Final = 100

S = TypeVar("S", bound=Side)


def _nothing(_: Side) -> None:
    """Be no preparation."""


@dataclass(frozen=True, slots=True)
class Kind(Generic[S]):
    """A kind of turn that is measured.

    Args:
        what: How it is called.
        ready: Done once, at the turn where it is measured.
        again: Done before every block.
        checked: Whether its ratio is limited.
    """

    what: str
    ready: Callable[[S], None] = _nothing
    again: Callable[[S], None] = _nothing
    checked: bool = True


DIRECT: Final[Sequence[Kind[Direct]]] = (Kind("one-chunk turn"),)
LINKED: Final[Sequence[Kind[Linked]]] = (
    Kind("turn, silent"),
    Kind("one-chunk turn, told", Linked.tell, checked=False),
    Kind("one-chunk turn, compacted", Linked.tell, Linked.compact),
)


def growth_of_turns(small: S, large: S, kinds: Sequence[Kind[S]], blocks: int, limit: float | None) -> Iterator[Growth]:
    """Measure turns around the 50th of an agent, and around the 5,000th."""
    _age(large, TURNS[1])
    for kind in kinds:
        kind.ready(large)
        few, many, ratio = compare(blocks, partial(_early, small, kind), partial(_block_of_turns, large, kind))
        yield Growth(small.name, kind.what, *TURNS, few, many, ratio, limit if kind.checked else None)


def _age(side: Side, turns: int) -> None:
    side.open()
    for _ in range(turns - TURNS_IN_BLOCK // 2):
        side.turn()


def _early(side: S, kind: Kind[S]) -> float:
    _age(side, TURNS[0])
    kind.ready(side)
    return _block_of_turns(side, kind)


def _block_of_turns(side: S, kind: Kind[S]) -> float:
    kind.again(side)
    return block(side, side.turn, TURNS_IN_BLOCK)


class Waiting:
    """An inbox in which always the same number of messages waits.

    Args:
        side: Whose inbox; it is begun anew.
        size: How many wait.
    """

    def __init__(self, side: Side, size: int) -> None:
        self._side = side
        self._names = map("w{}".format, itertools.count())
        self.ids = list(itertools.islice(self._names, size))
        side.open()
        for identity in self.ids:
            side.insert("append", identity)

    def at_the_end(self) -> None:
        """Append a message, and remove the oldest."""
        self.ids.append(next(self._names))
        self._side.insert("append", self.ids[-1])
        self._side.remove(self.ids.pop(0))

    def at_the_front(self) -> None:
        """Prepend a message, and remove the newest."""
        self.ids.insert(0, next(self._names))
        self._side.insert("prepend", self.ids[0])
        self._side.remove(self.ids.pop())

    def by_id(self) -> None:
        """Replace the message in the middle."""
        middle = len(self.ids) // 2
        old, self.ids[middle] = self.ids[middle], next(self._names)
        self._side.replace(old, self.ids[middle])

    def by_place(self) -> None:
        """Splice a message in for the one in the middle."""
        middle = len(self.ids) // 2
        self.ids[middle] = next(self._names)
        self._side.swap(middle, self.ids[middle])

    def check(self) -> None:
        """Make sure that what was measured was done.

        Raises:
            Refused: Other messages wait than should.
        """
        if (found := self._side.waiting()) != self.ids:
            raise Refused(f"{self._side.name}: {len(self.ids)} messages should wait, in their order, not {found}")


EDITS: Final[Mapping[str, Callable[[Waiting], None]]] = {
    "append, remove the oldest": Waiting.at_the_end,
    "prepend, remove the newest": Waiting.at_the_front,
    "replace the middle": Waiting.by_id,
    "splice the middle": Waiting.by_place,
}


def growth_of_edits(small: Side, large: Side, blocks: int, limit: float | None) -> Iterator[Growth]:
    """Measure inbox operations while 10 messages wait, and while 1,000 do."""
    few, many = Waiting(small, PENDING[0]), Waiting(large, PENDING[1])
    for what, edit in EDITS.items():
        figures = compare(
            blocks,
            lambda edit=edit: block(small, partial(edit, few), EDITS_IN_BLOCK),  # type: ignore[misc]
            lambda edit=edit: block(large, partial(edit, many), EDITS_IN_BLOCK),  # type: ignore[misc]
        )
        few.check()
        many.check()
        yield Growth(small.name, what, *PENDING, *figures, limit)
