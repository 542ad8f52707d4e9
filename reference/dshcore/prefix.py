"""A view of history that costs nothing to take, and what is known of all of it without walking it."""

from collections.abc import Callable, Hashable, Iterator, Sequence
from itertools import islice
from typing import Any, TypeVar, cast, final, overload

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Growing(list[T]):
    """A list that only grows. What `distinct` and `mapped` have found out about its items stays with it."""

    __slots__ = ("_first_places", "_mapped")

    def __init__(self) -> None:
        super().__init__()
        self._mapped: dict[Callable[[T], T], Growing[T]] = {}
        self._first_places: dict[Callable[[T], Hashable], tuple[int, dict[Hashable, int]]] = {}

    def first_places(self, of: Callable[[T], Hashable]) -> dict[Hashable, int]:
        """Answer for every value that a function has on the items where the first item with it stands.

        Each item is looked at once, however often this is asked; a function that is made anew for each call would
        be a new one.

        Args:
            of: What is looked for.
        """
        looked_at, places = self._first_places.get(of, (0, {}))
        for place in range(looked_at, len(self)):
            places.setdefault(of(self[place]), place)
        self._first_places[of] = (len(self), places)
        return places

    def mapped(self, change: Callable[[T], T]) -> "Growing[T]":
        """Answer what a function makes of the items, each of them made once; functions that are equal are one.

        Args:
            change: Makes an item out of each.
        """
        made = self._mapped.setdefault(change, Growing())
        made.extend(change(self[place]) for place in range(len(made), len(self)))
        return made


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

    def distinct(self, of: Callable[[T_co], Hashable]) -> frozenset[Hashable]:
        """Answer the values that a function has on the items.

        Over a `Growing` list that costs as many steps as there are values, and items that are new since the last time.

        Args:
            of: The function; always the same one, of the module's level, and of the item alone.
        """
        items: list[Any] = self._items
        if not isinstance(items, Growing):
            return frozenset(map(of, self))
        return frozenset(value for value, place in items.first_places(of).items() if place < self._length)

    def mapped(self, change: Callable[[T_co], T_co]) -> "Prefix[T_co]":
        """Answer what a function makes of the items, as a view.

        Over a `Growing` list that costs as many steps as there are items that are new since the last time.

        Args:
            change: The function; hashable, equal to the one of the last time, and of the item alone.
        """
        items: list[Any] = self._items
        if not isinstance(items, Growing):
            return Prefix([change(item) for item in self])
        view = Prefix(items.mapped(change))
        view._length = self._length
        return view

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or isinstance(other, (str, bytes)):
            return NotImplemented
        theirs = cast("Sequence[object]", other)
        return len(self) == len(theirs) and all(a == b for a, b in zip(self, theirs, strict=True))

    __hash__ = None  # type: ignore[assignment]  # compared by content, like a list

    def __repr__(self) -> str:
        return f"Prefix({list(self)!r})"
