"""Make a failing list of commands as short as possible: delta debugging over the list, then pairs, then simpler items.

It knows nothing of contracts. `fails` performs a candidate from the beginning and answers the items that were really
performed, up to and including the one that shows the failure: so what has become senseless and what comes after the
failure drops out by itself.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import combinations
from typing import Generic, TypeAlias, TypeVar

T = TypeVar("T")

Fails: TypeAlias = Callable[[Sequence[T]], Sequence[T] | None]
"""Performs a candidate; answers the items performed if it fails in the same way, and nothing if it does not."""


def minimise(
    items: Sequence[T], fails: Fails[T], *, limit: int, simpler: Callable[[T], Iterable[T]] = lambda _: ()
) -> list[T]:
    """Shorten a list that fails.

    Args:
        items: The list; it is known to fail.
        fails: Performs a candidate.
        limit: Candidates that may be performed.
        simpler: Items that may stand in one's place.

    Returns:
        The shortest list found. Within the limit, no item and no two items can be left out of it, and no item can
        be replaced by a simpler one.
    """
    search = _Search(list(items), fails, limit)
    size = len(search.items) // 2
    while size > 1:
        search.drop_chunks(size)
        size //= 2
    while search.drop_singles() or search.drop_pair() or search.simplify(simpler):
        pass
    return search.items


class _Search(Generic[T]):
    """The shortest failing list so far."""

    def __init__(self, items: list[T], fails: Fails[T], limit: int) -> None:
        self.items = items
        self._fails = fails
        self._left = limit

    def drop_chunks(self, size: int) -> None:
        at = 0
        while at < len(self.items):
            if not self._try([*self.items[:at], *self.items[at + size :]]):
                at += size

    def drop_singles(self) -> bool:
        before = len(self.items)
        self.drop_chunks(1)
        return len(self.items) < before

    def drop_pair(self) -> bool:
        return any(
            self._try([item for at, item in enumerate(self.items) if at not in pair])
            for pair in combinations(range(len(self.items)), 2)
        )

    def simplify(self, simpler: Callable[[T], Iterable[T]]) -> bool:
        return any(
            self._try([*self.items[:at], option, *self.items[at + 1 :]], as_long=True)
            for at, item in enumerate(self.items)
            for option in simpler(item)
        )

    def _try(self, candidate: list[T], *, as_long: bool = False) -> bool:
        """Perform a candidate, and keep what was performed of it if it fails and is shorter."""
        if not candidate or self._left == 0:
            return False
        self._left -= 1
        performed = self._fails(candidate)
        if performed is None or len(performed) >= len(self.items) + as_long:
            return False
        self.items = list(performed)
        return True
