"""A view of history that costs nothing to take."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TypeVar, cast, final, overload

T_co = TypeVar("T_co", covariant=True)


@final
class Prefix(Sequence[T_co]):
    """The first items of a list that only grows, as many as it had when the view was taken.

    Taking one is O(1), whatever the length, and what is appended later does not show. The owner of the list may
    append to it and nothing else; where history is rewritten, it starts a new list.

    Args:
        items: The list. The view holds the list itself, not a copy.
    """

    __slots__ = ("_items", "_length")

    def __init__(self, items: list[T_co]) -> None:
        self._items = items
        self._length = len(items)

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[T_co]:
        return islice(self._items, self._length)

    @overload
    def __getitem__(self, index: int) -> T_co: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[T_co, ...]: ...
    def __getitem__(self, index: int | slice) -> T_co | tuple[T_co, ...]:
        if isinstance(index, slice):
            return tuple(self._items[at] for at in range(*index.indices(self._length)))
        if not -self._length <= index < self._length:
            raise IndexError(f"index {index} is outside a prefix of {self._length} items")
        return self._items[index if index >= 0 else self._length + index]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or isinstance(other, (str, bytes)):
            return NotImplemented
        theirs = cast("Sequence[object]", other)
        return len(self) == len(theirs) and all(a == b for a, b in zip(self, theirs, strict=True))

    __hash__ = None  # type: ignore[assignment]  # compared by content, like a list

    def __repr__(self) -> str:
        return f"Prefix({list(self)!r})"
