"""The parent relation of scope keys.

A key may have one parent. What a scope sees and whom its events reach follow from the chain *key, parent, grandparent*.
A key is any object but none, compared by identity. A link holds its key weakly, where the key allows that, and the
parent strongly: the link ends with its key, so that a parent that leads to its key keeps both for good.
"""

from dataclasses import dataclass
from typing import Final, Protocol
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
        self.add_note(
            "Keep what `bind_scope_parent` answered, and call its `rebind`; a scope's own parent is for good."
        )


class ScopeCycle(DshError):
    """A link would make a key its own ancestor.

    Spec:
        BIND-CYCLE-01
    """

    default_code = "SCOPE_CYCLE"

    def __init__(self) -> None:
        super().__init__("dsh-scope: scope parent link would form a cycle")
        self.add_note("The parent is the key itself or below it (`scope_chain_of` shows it): bind to something around.")


class NoScopeKey(DshError, TypeError):
    """Nothing was given where a key has to stand: nobody would ever find what is registered under it.

    Args:
        place: Where the key has to stand, as the message begins.
    """

    default_code = "NO_SCOPE_KEY"

    def __init__(self, place: str) -> None:
        super().__init__(f"{place} is None, which is no scope key")
        self.add_note("Give any other object; it is compared by identity.")


class ScopeParentBinding(Protocol):
    """The right to move one key's link; the first bind answers it, and nothing else does.

    Spec:
        BIND-REBIND-01
    """

    @property
    def key(self) -> object:
        """Whose link it is."""
        ...

    def rebind(self, parent: object) -> None:
        """Move the link, at once, for views and events of the key and of everything below it.

        Registrations stay where they are.

        Raises:
            ScopeCycle: The parent is the key, or below it; the link is as before.
            NoScopeKey: The parent is none; the link is as before.

        Spec:
            BIND-REBIND-01, BIND-REBIND-02, BIND-REBIND-03
        """
        ...


@dataclass(frozen=True, slots=True)
class _Binding:
    key: object

    def rebind(self, parent: object) -> None:
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
        NoScopeKey: One of them is none.

    Spec:
        BIND-ONCE-01, BIND-CYCLE-01
    """
    require_key(key, "the key")
    if id(key) in _links:  # before the look for a cycle
        raise ScopeKeyBound
    _link(key, parent)
    return _Binding(key)


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


def require_key(key: object, place: str) -> None:
    """Refuse nothing where a key has to stand.

    Args:
        place: Where it was given, for the error.
        key: Anything.

    Raises:
        NoScopeKey: It is none.
    """
    if key is None:
        raise NoScopeKey(place)


def _link(key: object, parent: object) -> None:
    require_key(parent, "the parent of a scope key")
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
