"""The parent relation of scope keys.

A key may have one parent. What a scope sees and whom its events reach follow from the chain *key, parent, grandparent*.
A key is any object, compared by identity. Links hold their keys weakly where the keys allow it: a link ends with its
key.
"""

from dataclasses import dataclass
from typing import Final
from weakref import ref

from dshcore.errors import DshError


class ScopeKeyBound(DshError):
    """A key has a parent already, and whoever bound it alone may move it.

    Spec:
        BIND-ONCE-01
    """

    default_code = "SCOPE_KEY_BOUND"

    def __init__(self) -> None:
        super().__init__(
            "dsh-scope: scope key is already bound to a parent; re-linking requires the binding returned by the "
            "original bind"
        )


class ScopeCycle(DshError):
    """A link would make a key its own ancestor.

    Spec:
        BIND-CYCLE-01
    """

    default_code = "SCOPE_CYCLE"

    def __init__(self) -> None:
        super().__init__("dsh-scope: scope parent link would form a cycle")


@dataclass(frozen=True, slots=True)
class ScopeParentBinding:
    """The right to move one key's link; the first bind answers it, and nothing else does.

    Spec:
        BIND-REBIND-01
    """

    key: object

    def rebind(self, parent: object) -> None:
        """Move the link, at once, for views and events of the key and of everything below it.

        Registrations stay where they are.

        Raises:
            ScopeCycle: The parent is the key, or below it; the link is as before.

        Spec:
            BIND-REBIND-01, BIND-REBIND-02, BIND-REBIND-03
        """
        _link(self.key, parent)


def bind_scope_parent(key: object, parent: object) -> ScopeParentBinding:
    """Let a key have a parent.

    Args:
        key: A key without a parent.
        parent: What is to be around it.

    Returns:
        The only way to move the link.

    Raises:
        ScopeKeyBound: It has a parent already, whichever; the link stays.
        ScopeCycle: The parent is the key, or below it; the key stays unbound.

    Spec:
        BIND-ONCE-01, BIND-CYCLE-01
    """
    if id(key) in _links:  # before the look for a cycle
        raise ScopeKeyBound
    _link(key, parent)
    return ScopeParentBinding(key)


def scope_parent_of(key: object) -> object | None:
    """Answer what is around a key, if anything."""
    link = _links.get(id(key))
    return None if link is None else link.parent


def scope_chain_of(key: object | None) -> tuple[object, ...]:
    """Answer a key and what is around it, nearest first; nothing for no key."""
    chain: list[object] = []
    while key is not None:
        chain.append(key)
        key = scope_parent_of(key)
    return tuple(chain)


@dataclass(frozen=True, slots=True)
class _Link:
    parent: object
    key: object
    """The key, or a weak reference to it: no other object can have its identity while the link stands."""


_links: Final[dict[int, _Link]] = {}
"""By the identity of the key: keys that are equal are two keys (SCOPE-MINT-04)."""


def _link(key: object, parent: object) -> None:
    if any(around is key for around in scope_chain_of(parent)):  # BIND-CYCLE-01, BIND-REBIND-02: nothing has changed
        raise ScopeCycle
    _links[id(key)] = _Link(parent, _hold(key, id(key)))


def _hold(key: object, identity: int) -> object:
    links = _links  # at the end of the program the module may go before its keys do

    def forget(_: object) -> None:
        links.pop(identity, None)

    try:
        return ref(key, forget)
    except TypeError:  # a text, a number, a tuple
        return key
