"""Which command of the scope contract comes next: few keys and names, and owners in every state."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from dshconform.contracts import scope_commands as write
from dshconform.contracts.inbox_commands import burst
from dshconform.contracts.scope_state import Item
from dshconform.contracts.scope_world import ScopeWorld
from dshconform.contracts.source import Source
from dshconform.protocol.json_value import JsonMap

NOTHING: Final = write.tag("root")
"""A command that is always legal."""

_HABITS: Final[Sequence[Mapping[str, int]]] = (
    {"dispatch": 8, "listen": 8, "open": 4, "end": 4, "add": 4, "link": 2, "own": 2, "release": 3, "burst": 2},
    {"dispatch": 3, "listen": 3, "open": 5, "end": 6, "add": 9, "link": 3, "own": 3, "release": 4, "burst": 3},
    {"dispatch": 6, "listen": 6, "open": 3, "end": 3, "add": 3, "link": 8, "own": 1, "release": 2, "burst": 1},
    {"dispatch": 2, "listen": 2, "open": 5, "end": 8, "add": 3, "link": 1, "own": 8, "release": 6, "burst": 4},
)
_CONTEXTS: Final = 16
_LISTENERS: Final = 7
"""Contexts and listeners that there are, about; beyond that, others end first."""

_DOINGS: Final = (write.HEARS, write.HEARS, *write.ENDINGS, write.THROWS, write.REJECTS)


@dataclass(slots=True)
class Standing:
    """What an example keeps from its beginning to its end; called, it chooses a command.

    Args:
        source: The habit is the first choice read from it.
        made: How many names the suite has given so far.
    """

    source: Source
    made: int = 0
    habit: Mapping[str, int] = field(init=False)

    def __post_init__(self) -> None:
        self.habit = self.source.choose(_HABITS)

    def __call__(self, source: Source, world: ScopeWorld) -> JsonMap:
        """Choose a command; it may be one that is not legal."""
        match source.weighted([(weight, family) for family, weight in self.habit.items()]):
            case "dispatch":
                return _dispatch(source, world)
            case "listen" if len(world.listeners) < _LISTENERS:
                return self._listen(source, world)
            case "open" if len(world.contexts) < _CONTEXTS:
                return self._open(source, world)
            case "add":
                return self._add(source, _where(source, world), world)
            case "link":
                return self._link(source, world)
            case "own":
                return self._effect(source, _where(source, world))
            case "release" if world.waiting:
                return write.release(source.choose(tuple(world.waiting)))
            case "burst":
                return self._burst(source, world)
            case _:
                return self._end(source, world)

    def _name(self, letter: str) -> str:
        self.made += 1
        return f"{letter}{self.made}"

    def _open(self, source: Source, world: ScopeWorld) -> JsonMap:
        where = _where(source, world)
        match source.weighted([(5, "scope"), (2, "scope with a parent"), (5, "plugin"), (1, "derived")]):
            case "plugin":
                return write.mount(self._name("p"), where, source.choose(("plain", "plain", "waiting", "gated")))
            case "derived":
                return write.derive(self._name("x"), where)
            case "scope":
                return write.mint(self._name("s"), source.choose(write.KEYS), where)
            case _:
                return write.mint(self._name("s"), source.choose(write.KEYS), where, source.choose(write.KEYS))

    def _effect(self, source: Source, where: str) -> JsonMap:
        match source.weighted([(3, "plain"), (3, "gated"), (1, "scope"), (1, "wrapper"), (1, "entry")]):
            case "scope" | "wrapper" | "entry" as adopted:
                return write.composite(self._name("c"), where, adopted)
            case how:
                return write.effect(self._name("e"), where, gated=how == "gated")

    def _add(self, source: Source, where: str, world: ScopeWorld) -> JsonMap:
        if not source.below(4):
            entries = [item for item in world.items.values() if item.entry is not None]
            return self._undo(source, entries)
        service = write.OUTER if not source.below(4) else write.TABLE
        return write.add(self._name("n"), source.choose(write.NAMES), where, service)

    def _listen(self, source: Source, world: ScopeWorld) -> JsonMap:
        where, name = _where(source, world), self._name("l")
        if world.listeners and not source.below(10):
            return write.listen(name, where, twin=source.choose(world.listeners).part)
        doing = self._act(source, world) if not source.below(3) else source.choose(_DOINGS)
        once, everywhere, prepend = (not source.below(bound) for bound in (6, 6, 4))
        return write.listen(name, where, doing, once=once, everywhere=everywhere, prepend=prepend)

    def _act(self, source: Source, world: ScopeWorld) -> JsonMap:
        where = _where(source, world)
        match source.below(8):
            case 0:
                return write.listen(self._name("l"), where)
            case 1:
                return self._end(source, world)
            case 2:
                return write.rebind(source.choose(tuple(world.keys.bindings)), source.choose(write.KEYS))
            case 3:
                return write.dispatch("emit", source.choose((None, *write.TARGETS)), where, inner=True)
            case 4:
                name = self._name("n")
                return write.add(name, name, where)
            case 5:
                return write.mint(self._name("s"), source.choose(write.KEYS), where)
            case 6 if world.listeners:
                return self._undo(source, [world.items[one.name] for one in world.listeners])
            case _:
                return write.look(source.choose(write.KEYS))

    def _undo(self, source: Source, items: Sequence[Item]) -> JsonMap:
        return write.undo(source.choose(items).name, self._name("t")) if items else NOTHING

    def _end(self, source: Source, world: ScopeWorld) -> JsonMap:
        alive = [fiber for fiber in world.fibers[2:] if fiber.state != "gone" or not source.below(4)]
        which = source.weighted([(6, "owner"), (3, "own"), (1, "minter")])
        if which == "minter" and not source.below(4):
            return write.end(write.MINTER, self._name("t"))
        owned = [item for item in world.items.values() if item.fiber is None]
        if owned and (which == "own" or not alive):
            return self._undo(source, owned)
        fiber = source.choose(alive[-12:] or world.fibers[1:])
        if fiber.kind == "plugin":
            return write.end(fiber.name, self._name("t"))
        write_end = source.choose((write.close, write.close, write.undo))
        return write_end(fiber.name, self._name("t"))

    def _burst(self, source: Source, world: ScopeWorld) -> JsonMap:
        if source.below(2):
            opens = write.mint(self._name("s"), source.choose(write.KEYS), _where(source, world))
            where = f"s{self.made}"
        else:
            opens = self._end(source, world)
            args = opens["args"]
            assert isinstance(args, Mapping)
            where = str(args.get("scope", args.get("owner", args.get("of"))))
        match source.below(6):
            case 0:
                then = _dispatch(source, world)
            case 1:
                then = self._add(source, where, world)
            case 2:
                then = write.listen(self._name("l"), where)
            case 3:
                then = write.mint(self._name("s"), source.choose(write.KEYS), where)
            case 4:
                then = write.close(where, self._name("t"))
            case _:
                then = self._effect(source, where)
        return burst(opens, then)

    def _link(self, source: Source, world: ScopeWorld) -> JsonMap:
        parent = source.choose(write.KEYS)
        if source.below(4):
            return write.rebind(source.choose(tuple(world.keys.bindings)), parent)
        return write.bind(self._name("link"), source.choose(("e", *write.KEYS)), parent)


def _where(source: Source, world: ScopeWorld) -> str:
    """A context: one of the first ones, or one that is new."""
    names = tuple(world.contexts)
    return source.choose(names if source.below(2) else names[-5:])


def _dispatch(source: Source, world: ScopeWorld) -> JsonMap:
    mode = source.choose(("emit", "emit", *write.MODES))
    to = source.choose((None, "to-c", "to-c", "to-b", *write.TARGETS))
    where = _where(source, world) if not source.below(3) else "root"
    return write.dispatch(mode, to, where)
