"""Layered registries: one layer of entries that everybody sees, and one for every scope that registered something.

A registration is filed in the layer of the scope of its owner, and ends with its owner. What a scope sees is the
global layer, overlaid by the layers along its chain: the nearest entry of a name wins, in the place of the one that it
hides. A layer is a dataclass whose members are tables; it exists as long as one of them holds something.
"""

from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from typing import Final, Generic, TypeVar

from dshcore.context import Context, Disposer, Undo
from dshcore.scope.keys import scope_chain_of
from dshcore.scope.tables import NamedTable, Table

T = TypeVar("T")
L = TypeVar("L")


class Layers(Generic[L]):
    """The layers of one registry.

    Args:
        make: Makes an empty layer: a dataclass of tables.
        changed: Called after each registration and each removal, when lookups show the new state.

    Attributes:
        global_: The layer that everybody sees.

    Spec:
        LAYER-STORE-01, LAYER-STORE-02, LAYER-MERGE-01, LAYER-MERGE-02, LAYER-MERGE-03, LAYER-RECL-01, SCOPE-MINT-04,
        SCOPE-TAG-03
    """

    def __init__(self, make: Callable[[], L], changed: Callable[[], None]) -> None:
        self._make = make
        self._changed = changed
        self.global_: Final = make()  # LAYER-STORE-01, LAYER-RECL-01: from the start, for good
        self._scoped: dict[int, tuple[object, L]] = {}
        """By identity; the scope is held, so that no other one gets its identity."""
        self._in_use: list[L] = []
        """Where something is being filed: such a layer stays, although it may be empty by now."""

    def peek(self, key: object | None) -> L | None:
        """Answer the layer of exactly this scope, if it has one (LAYER-STORE-02).

        Args:
            key: The key of the scope.
        """
        found = self._scoped.get(id(key))
        return None if found is None else found[1]

    def chain_layers(self, key: object | None) -> tuple[L, ...]:
        """Answer the layers along the chain of a scope, the scope's own last.

        Args:
            key: The key of the scope.
        """
        overlays = (self.peek(scope) for scope in reversed(scope_chain_of(key)))
        return tuple(layer for layer in overlays if layer is not None)

    def visible(self, key: object | None) -> tuple[L, ...]:
        """Answer the layers that a scope sees: the global one, then those of its chain, nearest last.

        Args:
            key: The key of the scope; none for nobody's.
        """
        return (self.global_, *self.chain_layers(key))

    def merge(self, key: object | None, table: Callable[[L], NamedTable[T]]) -> dict[str, T]:
        """Answer the entries that a scope sees, by name, in order; a snapshot (LAYER-MERGE-03).

        Args:
            key: The key of the scope; none for nobody's.
            table: Answers the table of a layer.
        """
        merged: dict[str, T] = {}
        for layer in self.visible(key):
            merged.update(table(layer).items())  # a name that is there keeps its place (LAYER-MERGE-02)
        return merged

    def register(
        self, owner: Context, file: Callable[[L], Callable[[], None]], *, label: str, notify: bool = True
    ) -> Disposer:
        """File something in the layer of an owner's scope, until the owner ends.

        The owner is the context through which the caller came here: its scope decides where the entry is visible, its
        end is the entry's end.

        Args:
            owner: Whose registration it is.
            file: Puts the entry into the layer, as the last thing that it does, and answers what takes it out; it may
                refuse by raising.
            label: What it is, for the log.
            notify: Whether the change is told of, now and at the removal.

        Returns:
            The exact disposer of the registration, which takes it out earlier.

        Raises:
            InactiveContext: The owner is inactive.
            Exception: What `file` raised, or a listener of the change. Nothing is registered then.

        Spec:
            TRACE-OWNER-01, SCOPE-TAG-03, LAYER-EFF-01, LAYER-EFF-02, LAYER-EFF-03, LAYER-EFF-05, LAYER-RECL-01,
            LAYER-RECL-02
        """
        key = owner.scope

        def parts() -> Iterator[Undo]:
            layer = self._layer(key)
            self._in_use.append(layer)
            try:
                take_out = file(layer)
            except BaseException:
                self._leave(layer)
                self._reclaim(key, layer)
                raise
            self._leave(layer)

            def undo() -> None:
                take_out()
                self._reclaim(key, layer)
                if notify:
                    self._changed()

            yield undo
            if notify:
                self._changed()  # LAYER-EFF-02: where it fails, the entry is undone like any part of a composite

        return owner.composite(parts, label=label)

    def _layer(self, key: object | None) -> L:
        if key is None:
            return self.global_
        if id(key) not in self._scoped:
            self._scoped[id(key)] = (key, self._make())
        return self._scoped[id(key)][1]

    def _reclaim(self, key: object | None, layer: L) -> None:
        """Drop a scope's layer if that has nothing in any of its tables (LAYER-RECL-01, LAYER-RECL-02)."""
        if key is None or any(used is layer for used in self._in_use):
            return
        if self.peek(key) is layer and _is_empty(layer):
            del self._scoped[id(key)]

    def _leave(self, layer: L) -> None:
        """Let one filing be over. Layers are dataclasses, and may be equal: it goes by identity."""
        del self._in_use[next(place for place, used in enumerate(self._in_use) if used is layer)]


def _is_empty(layer: object) -> bool:
    assert is_dataclass(layer)
    tables: Iterator[Table] = (getattr(layer, member.name) for member in fields(layer))
    return all(table.is_empty for table in tables)
