"""The parent relation of scope keys."""

import gc

import pytest

from dshcore.context import Context
from dshcore.scope import (
    NoScopeKey,
    ScopeCycle,
    ScopeKeyBound,
    ScopeParentBinding,
    bind_scope_parent,
    create_scope,
    keys,
    scope_chain_of,
    scope_parent_of,
)


class Key:
    """A key that is equal to all others."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Key)

    def __hash__(self) -> int:
        return 0


def test_a_chain_is_the_key_and_what_is_around_it() -> None:
    a, b, c = Key(), Key(), Key()
    bind_scope_parent(b, a)
    bind_scope_parent(c, b)
    assert [around is key for around, key in zip(scope_chain_of(c), (c, b, a), strict=True)] == [True, True, True]
    assert scope_parent_of(c) is b
    assert (scope_parent_of(a), scope_chain_of(None)) == (None, ())


def test_a_key_is_bound_once() -> None:
    """BIND-ONCE-01: also to the same parent, and also where it would be a cycle; the link stays."""
    key, parent = Key(), Key()
    bind_scope_parent(key, parent)
    text = (
        "dsh-scope: scope key is already bound to a parent; re-linking requires the binding returned by the original "
        "bind"
    )
    for again in (parent, Key(), key):
        with pytest.raises(ScopeKeyBound, match=f"^{text}\n"):
            bind_scope_parent(key, again)
    assert scope_parent_of(key) is parent


def test_a_cycle_is_refused() -> None:
    """BIND-CYCLE-01: of any length; nothing has changed."""
    a, b, c = Key(), Key(), Key()
    bind_scope_parent(b, a)
    bind_scope_parent(c, b)
    for key, parent in ((a, c), (a, a)):
        with pytest.raises(ScopeCycle, match=r"^dsh-scope: scope parent link would form a cycle\n"):
            bind_scope_parent(key, parent)
    assert scope_parent_of(a) is None
    assert len(scope_chain_of(c)) == 3


def test_the_binding_moves_the_link() -> None:
    """BIND-REBIND-01, BIND-REBIND-02: with everything below it, again and again; a cycle leaves it where it is."""
    a, b, key, below = Key(), Key(), Key(), Key()
    binding = bind_scope_parent(key, a)
    bind_scope_parent(below, key)
    for parent in (b, b, a):
        binding.rebind(parent)
        assert scope_chain_of(below)[2] is parent
    for around in (below, key):
        with pytest.raises(ScopeCycle):
            binding.rebind(around)
        assert scope_parent_of(key) is a


def test_a_link_ends_with_its_key() -> None:
    """A dead key is not kept, nor is what was around it; a text, which cannot be watched, keeps its link."""
    gc.collect()
    before = len(keys._links)
    key = Key()
    bind_scope_parent(key, Key()).rebind(Key())
    del key
    gc.collect()
    assert len(keys._links) == before
    text = "a text of its own " + str(before)
    bind_scope_parent(text, Key())
    assert keys._links.pop(id(text)).key is text


def test_nobody_makes_a_binding_but_the_first_bind() -> None:
    """BIND-REBIND-01, BIND-MINT-01: there is nothing to call for it."""
    key = Key()
    with pytest.raises(TypeError):
        ScopeParentBinding(key)  # type: ignore[misc,call-arg]  # the point
    assert bind_scope_parent(key, Key()).key is key


def test_nothing_is_no_key() -> None:
    """It is refused by the place where it stands, and a link stays as it was."""
    key, parent = Key(), Key()
    for given, around, place in ((None, parent, "the key"), (key, None, "the parent of a scope key")):
        with pytest.raises(NoScopeKey, match=f"^{place} is None"):
            bind_scope_parent(given, around)
    binding = bind_scope_parent(key, parent)
    with pytest.raises(NoScopeKey):
        binding.rebind(None)
    assert scope_parent_of(key) is parent
    with pytest.raises(NoScopeKey, match="the key of a scope"):
        create_scope(Context(), None)
