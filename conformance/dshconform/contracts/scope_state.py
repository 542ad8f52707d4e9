"""What there is in a world of scopes: owners, what they own, contexts, links of keys, layers, listeners and tasks."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from dshconform.contracts.inbox_rows import Clauses
from dshconform.contracts.scope_commands import ADMITS, LINKS, PARENTS, TARGETS, Adopted
from dshconform.protocol.json_value import Json, JsonMap
from dshconform.running.step import UNCHECKED

Kind: TypeAlias = Literal["root", "plugin", "scope"]
"""What an owner is."""
State: TypeAlias = Literal["waiting", "loading", "active", "leaving", "ending", "gone"]
"""How an owner stands; one that is `leaving` was disposed of while its body runs."""

_REFUSING: Final[frozenset[State]] = frozenset({"leaving", "ending", "gone"})


@dataclass(slots=True, eq=False)
class Fiber:
    """An owner.

    Args:
        name: Its name.
        kind: What it is.
        parent: Who owns it.
        tag: The key of the nearest scope around what is registered through it.
        state: How it stands.
        owned: What it owns, in order of registration.
        begun: Whether the body of a plugin has begun, or will not.
        unwinding: Whether its undos were started.
        ended_by: Why it ends: its own disposer, that of an owner, or of the composite that holds it.
        raw: Whether its raw disposer was called by name.
        shared: Whether its shared disposal has started its end.
        gated: Whether its body waits.
        waited: Whether it never loaded before its end was asked for.
    """

    name: str
    kind: Kind
    parent: "Fiber | None" = None
    tag: str | None = None
    state: State = "active"
    owned: "list[Item]" = field(default_factory=list)
    begun: bool = True
    unwinding: bool = False
    ended_by: Literal["itself", "its owner"] | None = None
    raw: bool = False
    shared: bool = False
    gated: bool = False
    waited: bool = False

    @property
    def refuses(self) -> bool:
        """Whether nothing can be registered any more."""
        return self.state in _REFUSING

    @property
    def line(self) -> Iterator["Fiber"]:
        """It, and whoever it ends with, the nearest first."""
        fiber: Fiber | None = self
        while fiber is not None:
            yield fiber
            fiber = fiber.parent

    @property
    def reads(self) -> bool:
        """Whether the services can be found through it: a scope finds those of the context that minted it."""
        if self.kind == "scope":
            assert self.parent is not None
            return self.parent.kind != "root" and self.parent.reads
        return self.kind == "root" or (self.begun and not self.waited and self.state not in {"waiting", "gone"})


@dataclass(slots=True, eq=False)
class Context:
    """A context: its owner, and whether it was derived from another one.

    Args:
        name: Its name.
        fiber: The owner of what is registered through it.
        derived: Whether it has no owner of its own.
    """

    name: str
    fiber: Fiber
    derived: bool = False

    @property
    def tag(self) -> str | None:
        """The nearest tag."""
        return self.fiber.tag


@dataclass(slots=True, eq=False)
class Item:
    """Something that an owner owns.

    Args:
        name: Its name.
        via: The context through which it was registered.
        fiber: A child, if it is one.
        entry: The name under which it stands in a layer, if it does.
        listener: A listener, if it is one.
        gated: Whether its undo waits.
        adopted: What a composite holds; none for anything else.
        inner: The effect or scope that a composite has adopted.
        began: Whether its undo was started.
        done: Whether it is undone.
    """

    name: str
    via: Context
    fiber: Fiber | None = None
    entry: str | None = None
    listener: "Listener | None" = None
    gated: bool = False
    adopted: Adopted | None = None
    inner: "Item | None" = None
    began: bool = False
    done: bool = False


@dataclass(slots=True, eq=False)
class Listener:
    """A listener.

    Args:
        name: Its disposer.
        via: The context through which it was registered.
        part: Its function, which may be another listener's.
        doing: What it does each time.
        act: What it performs the first time, if it does.
        once: Whether it is heard once only.
        everywhere: Whether filters do not concern it.
        calls: How often it was called.
        gone: Why it is not heard any more, if so.
        fresh: Whether it was added by what a dispatch does that goes on.
    """

    name: str
    via: Context
    part: str
    doing: str
    act: JsonMap | None = None
    once: bool = False
    everywhere: bool = False
    calls: int = 0
    gone: Clauses | None = None
    fresh: bool = False

    @property
    def pending(self) -> JsonMap | None:
        """What it will perform when it is called next."""
        return self.act if self.calls == 0 and self.gone is None else None


@dataclass(slots=True)
class Keys:
    """The links of the keys.

    Args:
        parents: By key, its parent.
        bindings: By name, the key whose link a binding can move.
        moved: The keys whose links were moved.
    """

    parents: dict[str, str] = field(default_factory=lambda: dict(PARENTS))
    bindings: dict[str, str] = field(default_factory=lambda: dict(LINKS))
    moved: set[str] = field(default_factory=set)

    def chain(self, key: str | None) -> list[str]:
        """A key and its ancestors, nearest first."""
        found: list[str] = []
        while key is not None:
            found.append(key)
            key = self.parents.get(key)
        return found

    def closes_cycle(self, key: str, parent: str) -> bool:
        """Whether a link would make a key its own ancestor.

        Args:
            key: The key.
            parent: Its parent-to-be.
        """
        return key in self.chain(parent)


@dataclass(frozen=True, slots=True)
class Receiver:
    """What an event is sent to.

    Args:
        carries: Whether it is a carrier.
        key: The key that it carries, if any.
        admits: The only context that its filter accepts; none without a filter.
        base: Whom that filter is asked as.
    """

    carries: bool = False
    key: str | None = None
    admits: str | None = None
    base: str | None = None


def receiver(name: str | None) -> Receiver:
    """The receiver of a name; none is one that everybody hears."""
    if name is None:
        return Receiver()
    given = TARGETS[name]
    base = str(given["base"]) if "base" in given else name
    key = given.get("key")
    return Receiver("key" in given, str(key) if key is not None else None, ADMITS.get(base), base)


def relation(keys: Keys, listener: Listener, to: Receiver) -> str:
    """How a listener stands to what an event is sent to.

    Args:
        keys: The parents of the keys.
        listener: Its tag is what counts.
        to: The receiver of the event.
    """
    tag = listener.via.tag
    if listener.everywhere:
        return "global"
    if to.admits is not None and to.admits != listener.via.name:
        return "refused"
    if not to.carries:
        return "everybody" if tag is not None else "untagged everybody"
    if tag is None:
        return "untagged"
    if to.key is None:
        return "no key"
    chain = keys.chain(to.key)
    if tag in chain:
        return ("own", "parent", "far")[min(chain.index(tag), 2)]
    return "below" if to.key in keys.chain(tag) else "beside"


HEARING: Final = frozenset({"global", "everybody", "untagged everybody", "untagged", "own", "parent", "far"})
"""The relations of those who hear an event."""


@dataclass(slots=True)
class Layers:
    """The table of the world: by key, the entries of its layer in order of registration."""

    entries: dict[str | None, list[Item]] = field(default_factory=dict)

    def add(self, item: Item) -> None:
        """An entry is filed in the layer of its context.

        Args:
            item: The entry.
        """
        self.entries.setdefault(item.via.tag, []).append(item)

    def remove(self, item: Item) -> None:
        """An entry leaves.

        Args:
            item: The entry.
        """
        self.entries[item.via.tag].remove(item)

    def has(self, key: str | None, name: str) -> bool:
        """Whether a layer has an entry of a name.

        Args:
            key: That of the layer; none for the root's.
            name: What is filed.
        """
        return any(item.entry == name for item in self.entries.get(key, ()))

    def view(self, keys: Keys, key: str | None) -> list[Json]:
        """What a key sees: an entry that hides another one takes its place.

        Args:
            keys: The parents of the keys.
            key: Whose view it is; none for the root's.
        """
        seen: dict[str, None] = {}
        for layer in (None, *reversed(keys.chain(key))):
            seen |= {str(item.entry): None for item in self.entries.get(layer, ())}
        return list(seen)


_FINE: Final[Mapping[str, Json]] = {"error": {"$absent": True}}


@dataclass(frozen=True, slots=True)
class Done:
    """How a command ended, and who says so.

    Args:
        clauses: Who says so.
        result: What it answered, if that is said.
        error: How it failed, if it did.
        deaf: Who says that an event does not reach the others.
    """

    clauses: Clauses = ()
    result: Json = field(default_factory=lambda: UNCHECKED)
    error: JsonMap | None = None
    deaf: Clauses = ()

    @property
    def outcome(self) -> Mapping[str, Json]:
        """As a row of its return says it."""
        if self.error is not None:
            return {"error": self.error}
        return _FINE if self.result is UNCHECKED else {**_FINE, "result": self.result}


@dataclass(slots=True)
class Place:
    """Where a command stands that another one performs: in a burst, or in a function."""

    at: str | None = None
    """Its place in the burst, or in the script."""
    part: str | None = None
    """The name of the function, where it is one."""


@dataclass(slots=True)
class Task:
    """What an asynchronous command waits for.

    Args:
        name: The task.
        clauses: Who says when it settles.
        fiber: The owner whose end it is.
        item: Or the effect that it undoes.
    """

    name: str
    clauses: Clauses
    fiber: Fiber | None = None
    item: Item | None = None

    @property
    def settled(self) -> bool:
        """Whether that has come."""
        return self.fiber.state == "gone" if self.fiber is not None else self.item is None or self.item.done
