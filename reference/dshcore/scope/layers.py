"""Layered registries: one layer of entries that everybody sees, and one for every scope that registered something.

A registration is filed in the layer of the scope of its owner, and ends with its owner. What a scope sees is the
global layer, overlaid by the layers along its chain: the nearest entry of a name wins, in the place of the one that it
hides. A layer is a dataclass whose members are tables; it exists as long as one of them holds something.
"""

from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from typing import Any, Generic, Protocol, TypeVar

from dshcore.context import Context, Disposer

T = TypeVar("T")
L = TypeVar("L")


def scope_chain(key: object | None) -> tuple[object, ...]:
    """Answer a scope and the scopes around it, nearest first; nothing for no scope.

    Every scope stands alone: it has no parent.
    """
    return () if key is None else (key,)


class Table(Protocol):
    """One kind of entries in a layer."""

    @property
    def is_empty(self) -> bool:
        """Whether it holds nothing."""
        ...


class NamedTable(Generic[T]):
    """Entries under names, in the order of registration.

    Spec:
        LAYER-DUP-02
    """

    def __init__(self) -> None:
        self._entries: dict[str, T] = {}

    @property
    def is_empty(self) -> bool:
        return not self._entries

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(tuple(self._entries))

    def get(self, name: str) -> T | None:
        """Answer the entry of a name, if there is one."""
        return self._entries.get(name)

    def items(self) -> tuple[tuple[str, T], ...]:
        """Answer names and entries as they are now (LAYER-MERGE-03)."""
        return tuple(self._entries.items())

    def insert(self, name: str, entry: T) -> Callable[[], None]:
        """Put an entry under a name that is free, and answer what takes it out again."""
        assert name not in self._entries
        self._entries[name] = entry

        def take_out() -> None:
            del self._entries[name]

        return take_out


class ListTable(Generic[T]):
    """Entries without names; equal ones count separately."""

    def __init__(self) -> None:
        self._entries: dict[object, T] = {}

    @property
    def is_empty(self) -> bool:
        return not self._entries

    def entries(self) -> tuple[T, ...]:
        """Answer the entries as they are now."""
        return tuple(self._entries.values())

    def append(self, entry: T) -> Callable[[], None]:
        """Put an entry at the end, and answer what takes it out again."""
        mark = object()
        self._entries[mark] = entry

        def take_out() -> None:
            del self._entries[mark]

        return take_out


class Layers(Generic[L]):
    """The layers of one registry.

    Args:
        make: Makes an empty layer: a dataclass of tables.
        changed: Called after each registration and each removal, when lookups show the new state.

    Spec:
        LAYER-STORE-01, LAYER-STORE-02, LAYER-MERGE-01, LAYER-MERGE-02, LAYER-MERGE-03, LAYER-EFF-01, LAYER-EFF-02,
        LAYER-EFF-03
    """

    def __init__(self, make: Callable[[], L], changed: Callable[[], None]) -> None:
        self._make = make
        self._changed = changed
        self._global = make()
        self._scoped: dict[int, tuple[object, L]] = {}
        """By identity; the scope is held, so that no other one gets its identity."""

    def peek(self, key: object | None) -> L | None:
        """Answer the layer of exactly this scope, if it has one."""
        found = self._scoped.get(id(key))
        return None if found is None else found[1]

    def visible(self, key: object | None) -> tuple[L, ...]:
        """Answer the layers that a scope sees: the global one, then those of its chain, nearest last."""
        overlays = (self.peek(scope) for scope in reversed(scope_chain(key)))
        return (self._global, *(layer for layer in overlays if layer is not None))

    def merge(self, key: object | None, table: Callable[[L], NamedTable[T]]) -> dict[str, T]:
        """Answer the entries that a scope sees, by name, in order; a snapshot."""
        merged: dict[str, T] = {}
        for layer in self.visible(key):
            merged.update(table(layer).items())  # a name that is there keeps its place (LAYER-MERGE-02)
        return merged

    def register(self, owner: Context, file: Callable[[L], Callable[[], None]], *, label: str) -> Disposer:
        """File something in the layer of an owner's scope, until the owner ends.

        Args:
            owner: Whose registration it is.
            file: Puts the entry into the layer, and answers what takes it out; it may refuse by raising.
            label: What it is, for the log.

        Returns:
            Takes it out earlier.

        Raises:
            InactiveContext: The owner is inactive.
            Exception: What `file` raised, or a listener of the change. Nothing is registered then.
        """
        owner.assert_active()
        key = owner.scope
        layer = self._global if key is None else self.peek(key)
        if layer is None:
            layer = self._make()
        take_out = file(layer)
        if key is not None:
            self._scoped[id(key)] = (key, layer)

        def undo() -> None:
            take_out()
            if key is not None and _is_empty(layer):
                self._scoped.pop(id(key), None)
            self._changed()

        disposer = owner.effect(undo, label=label)
        try:
            self._changed()
        except BaseException:
            disposer()  # LAYER-EFF-02: where its notification fails too, that failure is the one
            raise
        return disposer


def _is_empty(layer: object) -> bool:
    assert is_dataclass(layer)
    tables: Iterator[Any] = (getattr(layer, member.name) for member in fields(layer))
    return all(table.is_empty for table in tables)
