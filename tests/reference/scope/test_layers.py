"""Layered registries: what is seen, in which order, and what ends with whom."""

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
from tests.reference.world import World

from dshcore.context import Context, Disposer, InactiveContext
from dshcore.scope import Layers, ListTable, NamedTable, bind_scope_parent


@dataclass
class Layer:
    named: NamedTable[int] = field(default_factory=NamedTable[int])
    listed: ListTable[int] = field(default_factory=ListTable[int])


class Key:
    """A key by identity."""


class Registry:
    """Layers, how many were made, and the views at each change."""

    def __init__(self) -> None:
        self.made = 0
        self.changes: list[list[str]] = []
        self.refuse: Callable[[], None] = lambda: None
        self.layers = Layers(self._make, self._changed)
        self.notify = True

    def _make(self) -> Layer:
        self.made += 1
        return Layer()

    def _changed(self) -> None:
        self.changes.append(self.names())
        self.refuse()

    def names(self, key: object | None = None) -> list[str]:
        return list(self.layers.merge(key, lambda layer: layer.named))

    def add(self, owner: Context, name: str, value: int = 0) -> Disposer:
        return self.layers.register(
            owner, lambda layer: layer.named.insert(name, value), label=name, notify=self.notify
        )


@pytest.fixture
def registry() -> Registry:
    return Registry()


def scoped(world: World, key: object) -> Context:
    context: Context = world.run(lambda: world.root.open(scope=key))
    return context


def test_layers_come_and_go_with_their_entries(world: World, registry: Registry) -> None:
    """The first registration makes one, reading never does (LAYER-STORE-01); `peek` is exact (LAYER-STORE-02)."""
    key, below = Key(), Key()
    bind_scope_parent(below, key)
    owner = scoped(world, key)
    assert registry.names(key) == []
    assert registry.layers.chain_layers(below) == ()
    assert (registry.made, registry.layers.peek(key), registry.layers.peek(None)) == (1, None, None)
    first, second = registry.add(owner, "a"), registry.add(owner, "b")
    assert registry.made == 2
    world.run(first)
    assert registry.layers.peek(key) is not None
    assert (registry.layers.peek(below), len(registry.layers.chain_layers(below))) == (None, 1)
    world.run(second)
    assert registry.layers.peek(key) is None
    assert registry.made == 2


def test_a_layer_is_dropped_when_all_its_tables_are_empty(world: World, registry: Registry) -> None:
    """LAYER-RECL-01: and not before; the global one never is."""
    key = Key()
    owner = scoped(world, key)
    named = registry.add(owner, "a")
    listed = registry.layers.register(owner, lambda layer: layer.listed.append(1), label="one")
    layer = registry.layers.peek(key)
    world.run(named)
    assert registry.layers.peek(key) is layer
    world.run(listed)
    assert registry.layers.peek(key) is None
    everybodys = registry.layers.global_
    world.run(registry.add(world.root, "a"))
    assert registry.layers.global_ is everybodys


def test_the_nearest_entry_wins_in_the_place_of_the_one_it_hides(world: World, registry: Registry) -> None:
    """Global names first, new ones behind, names that were free again last (LAYER-MERGE-01, -02, LAYER-DUP-02)."""
    key = object()
    owner = scoped(world, key)
    a = registry.add(world.root, "a", 1)
    registry.add(world.root, "b", 1)
    registry.add(owner, "c", 2)
    own = registry.add(owner, "a", 2)
    assert list(registry.layers.merge(key, lambda layer: layer.named).items()) == [("a", 2), ("b", 1), ("c", 2)]
    world.run(own)
    assert registry.layers.merge(key, lambda layer: layer.named)["a"] == 1
    world.run(a)
    registry.add(world.root, "a", 3)
    assert registry.names() == ["b", "a"]


def test_the_nearest_of_a_chain_wins(world: World, registry: Registry) -> None:
    """LAYER-MERGE-01, LAYER-MERGE-02: a shadowing entry takes the place of the one it hides."""
    ancestor, key = Key(), Key()
    bind_scope_parent(key, ancestor)
    for name in ("a", "b"):
        registry.add(world.root, name, 1)
    for name in ("d", "a"):
        registry.add(scoped(world, ancestor), name, 2)
    registry.add(scoped(world, key), "c", 3)
    own = registry.add(scoped(world, key), "a", 3)
    merged = registry.layers.merge(key, lambda layer: layer.named)
    assert list(merged.items()) == [("a", 3), ("b", 1), ("d", 2), ("c", 3)]
    world.run(own)
    assert registry.layers.merge(key, lambda layer: layer.named)["a"] == 2
    assert merged["a"] == 3, "LAYER-MERGE-03: a view is a snapshot"
    assert registry.names(None) == ["a", "b"]


def test_scopes_are_told_apart_by_identity(world: World, registry: Registry) -> None:
    """Equal keys are two scopes."""
    one, other = ["same"], ["same"]
    registry.add(scoped(world, one), "a")
    assert (registry.names(one), registry.names(other)) == (["a"], [])


def test_equal_entries_of_a_list_count_separately(world: World, registry: Registry) -> None:
    """LAYER-ENTRY-01: each is lifted by its own disposer."""
    first, second = (
        registry.layers.register(world.root, lambda layer: layer.listed.append(1), label="one") for _ in range(2)
    )
    world.run(first)
    assert [tuple(layer.listed) for layer in registry.layers.visible(None)] == [(1,)]
    world.run(second)
    assert registry.layers.visible(None)[0].listed.is_empty


def test_a_change_is_told_when_it_shows(world: World, registry: Registry) -> None:
    """After the insertion and after the removal (LAYER-EFF-01); or not at all."""
    world.run(registry.add(world.root, "a"))
    assert registry.changes == [["a"], []]
    registry.notify = False
    world.run(registry.add(world.root, "b"))
    assert registry.changes == [["a"], []]


def test_a_registration_that_is_vetoed_is_undone(world: World, registry: Registry) -> None:
    """The caller gets the failure, that of the second notification if that fails too (LAYER-EFF-02)."""

    def refuse() -> None:
        raise ValueError(f"no {len(registry.changes)}")

    registry.refuse = refuse
    with pytest.raises(ValueError, match="no 2"):
        registry.add(world.root, "a")
    assert registry.changes == [["a"], []]


def test_a_removal_cannot_be_vetoed(world: World, registry: Registry) -> None:
    """The failure goes to the caller of the disposer, once (LAYER-EFF-03)."""
    dispose = registry.add(world.root, "a")

    def refuse() -> None:
        raise ValueError("no")

    registry.refuse = refuse
    with pytest.raises(ValueError, match="no"):
        world.run(dispose)
    assert (world.run(dispose), registry.names()) == (None, [])


def test_what_cannot_be_filed_leaves_nothing(world: World, registry: Registry) -> None:
    """LAYER-RECL-02: neither a layer nor a notification; an ended owner is refused before."""
    key = object()
    owner = scoped(world, key)

    def fail(_: Layer) -> Callable[[], None]:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        registry.layers.register(owner, fail, label="x")
    assert (registry.layers.peek(key), registry.changes) == (None, [])
    registry.add(owner, "a")
    layer = registry.layers.peek(key)
    with pytest.raises(ValueError, match="no"):
        registry.layers.register(owner, fail, label="x")
    assert (registry.layers.peek(key), registry.names(key)) == (layer, ["a"])
    world.run(owner.dispose)
    with pytest.raises(InactiveContext):
        registry.layers.register(owner, fail, label="x")


def test_entries_end_with_their_owner(world: World, registry: Registry) -> None:
    """Newest first."""
    key = object()
    owner = scoped(world, key)
    registry.add(owner, "a")
    registry.add(owner, "b")
    seen: list[list[str]] = []
    registry.refuse = lambda: seen.append(registry.names(key))
    world.run(owner.dispose)
    assert seen == [["a"], []]


def test_a_layer_that_empties_while_something_is_filed_stays(world: World, registry: Registry) -> None:
    """LAYER-RECL-01: what is being filed is in the layer that is seen."""
    key = Key()
    context = scoped(world, key)

    def file(layer: Layer) -> Callable[[], None]:
        registry.add(context, "other")()  # comes and goes: the layer is empty again
        return layer.named.insert("a", 1)

    disposer = registry.layers.register(context, file, label="a")
    assert (registry.names(key), registry.made) == (["a"], 2)
    disposer()
    assert registry.layers.peek(key) is None
