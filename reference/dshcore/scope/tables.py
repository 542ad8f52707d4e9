"""Tables of a layer: entries in the order of registration, which can be walked while they change.

A walk is live: it reaches what is added behind it, and skips what is removed before its turn. It ends where the table
becomes empty; what is added after that belongs to a new generation.
"""

from collections.abc import Callable, Iterator
from typing import Generic, Protocol, TypeVar

T = TypeVar("T")


class Table(Protocol):
    """One kind of entries in a layer."""

    @property
    def is_empty(self) -> bool:
        """Whether it holds nothing."""
        ...


class _Node(Generic[T]):
    """A place in a row: its neighbours, and what stands there. The head of a row holds nothing, and never leaves."""

    __slots__ = ("content", "earlier", "later", "present")

    def __init__(self, content: T | None, earlier: "_Node[T] | None") -> None:
        self.content = content
        self.present = True
        self.earlier = earlier
        self.later: _Node[T] | None = None


class _Row(Generic[T]):
    """A linked row of entries. A removed node still knows what stood before it: a walk finds its way from there.

    Spec:
        LAYER-ITER-01, LAYER-ITER-02
    """

    __slots__ = ("_head", "_last")

    def __init__(self) -> None:
        self._renew()

    def _renew(self) -> None:
        self._head: _Node[T] = _Node(None, None)
        self._last = self._head

    @property
    def is_empty(self) -> bool:
        return self._last is self._head

    def append(self, content: T) -> Callable[[], None]:
        """Put an entry at the end, and answer what takes exactly this one out (LAYER-ENTRY-01, LAYER-ENTRY-02)."""
        node = _Node(content, self._last)
        self._last.later = node
        self._last = node

        def take_out() -> None:
            if node.present:
                node.present = False
                self._unlink(node)

        return take_out

    def _unlink(self, node: _Node[T]) -> None:
        earlier, later = node.earlier, node.later
        assert earlier is not None
        earlier.later = later
        if later is None:
            self._last = earlier
        else:
            later.earlier = earlier
        if self.is_empty:
            self._renew()  # LAYER-ITER-02: walks that stand in the old row find nothing more

    def __iter__(self) -> Iterator[T]:
        node = self._head
        while True:
            while not node.present:
                assert node.earlier is not None
                node = node.earlier
            if node.later is None:
                return
            node = node.later
            yield node.content  # type: ignore[misc]  # only a head has none


class NamedTable(Generic[T]):
    """Entries under names, in the order of registration.

    Attributes:
        is_empty: Whether it has no row.

    Spec:
        LAYER-DUP-02, LAYER-ENTRY-02, LAYER-ITER-01, LAYER-ITER-02
    """

    def __init__(self) -> None:
        self._row: _Row[tuple[str, T]] = _Row()
        self._entries: dict[str, T] = {}

    @property
    def is_empty(self) -> bool:
        return self._row.is_empty

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def __iter__(self) -> Iterator[str]:
        return (name for name, _ in self._row)

    def get(self, name: str) -> T | None:
        """Answer the entry of a name, if there is one."""
        return self._entries.get(name)

    def items(self) -> Iterator[tuple[str, T]]:
        """Walk names and entries, live.

        Returns:
            The names with their entries, in the order of registration.
        """
        return iter(self._row)

    def values(self) -> Iterator[T]:
        """Walk the entries, live.

        Returns:
            The entries, in the order of registration.
        """
        return (entry for _, entry in self._row)

    def insert(self, name: str, entry: T) -> Callable[[], None]:
        """Put an entry under a name that is free, and answer what takes exactly this one out again.

        Returns:
            Takes the row out again.

        Raises:
            ValueError: The name is taken; a registry refuses that in its own words before.
        """
        if name in self._entries:
            raise ValueError(f"the name {name!r} is taken: look before (`name in table`), and refuse it there")
        self._entries[name] = entry
        leave = self._row.append((name, entry))
        present = True

        def take_out() -> None:
            nonlocal present
            if present:  # LAYER-ENTRY-02: never one of the same name that came later
                present = False
                del self._entries[name]
                leave()

        return take_out


class ListTable(Generic[T]):
    """Entries without names; equal ones count separately.

    Attributes:
        is_empty: Whether it has no row.

    Spec:
        LAYER-ENTRY-01, LAYER-ITER-01, LAYER-ITER-02
    """

    def __init__(self) -> None:
        self._row: _Row[T] = _Row()

    @property
    def is_empty(self) -> bool:
        return self._row.is_empty

    def __iter__(self) -> Iterator[T]:
        return iter(self._row)

    def append(self, entry: T) -> Callable[[], None]:
        """Put an entry at the end, and answer what takes exactly this one out again."""
        return self._row.append(entry)
