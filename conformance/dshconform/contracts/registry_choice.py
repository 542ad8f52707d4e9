"""Which command of the registry contract comes next."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from dshconform.contracts import registry_commands as write
from dshconform.contracts.registry_commands import (
    ASKED,
    CREATED,
    DISPOSED,
    DOINGS,
    ENDINGS,
    HOSTS,
    IDS,
    ODD,
    OWNERS,
    SAID,
    STUBS,
    Names,
)
from dshconform.contracts.registry_state import AbstractRegistry
from dshconform.contracts.script_calls import listen
from dshconform.contracts.source import Source
from dshconform.protocol.json_value import JsonMap

_HABITS: Final[Sequence[Mapping[str, int]]] = (
    {"enter": 8, "register": 4, "announce": 6, "leave": 7, "observe": 5, "plugin": 2, "factory": 2, "look": 2},
    {"enter": 4, "register": 10, "announce": 2, "leave": 9, "observe": 6, "plugin": 6, "factory": 1, "look": 1},
    {"enter": 2, "register": 2, "announce": 1, "leave": 3, "observe": 1, "plugin": 4, "factory": 12, "look": 1},
    {"enter": 7, "register": 4, "announce": 7, "leave": 8, "observe": 10, "plugin": 1, "factory": 0, "look": 2},
)


@dataclass(slots=True)
class Standing:
    """What an example keeps from its beginning to its end; called, it chooses a command, which may not be legal.

    Args:
        source: The habit is the first choice read from it.
        made: How many names it has given.
    """

    source: Source
    made: int = 0
    habit: Mapping[str, int] = field(init=False)

    def __post_init__(self) -> None:
        self.habit = self.source.choose(_HABITS)

    def __call__(self, source: Source, registry: AbstractRegistry) -> JsonMap:
        """Choose a command.

        Args:
            source: Where choices come from.
            registry: The registry, as it is.
        """
        theme = source.weighted([(weight, theme) for theme, weight in self.habit.items() if weight])
        return _THEMES[theme](self, source, registry)

    def fresh(self, kind: str) -> str:
        """A name that nothing has.

        Args:
            kind: What it begins with.
        """
        self.made += 1
        return f"{kind}{self.made}"


def _agent(source: Source) -> str:
    return ODD if source.below(30) == 1 else source.choose(tuple(STUBS))


def _enter(standing: Standing, source: Source, registry: AbstractRegistry) -> JsonMap:
    del registry
    return write.enter(_agent(source), standing.fresh("d"), source.choose((None, None, *OWNERS)))


def _register(standing: Standing, source: Source, registry: AbstractRegistry) -> JsonMap:
    return write.register(_agent(source), standing.fresh("d"), _through(source, registry))


def _through(source: Source, registry: AbstractRegistry) -> str | None:
    return source.choose((None, *HOSTS, *registry.plugins))


def _announce(standing: Standing, source: Source, registry: AbstractRegistry) -> JsonMap:
    del standing
    silent = [life.agent for life in registry.live.values() if not life.announced]
    return write.announce(source.choose(silent) if silent and source.below(4) else _agent(source))


def _leave(standing: Standing, source: Source, registry: AbstractRegistry) -> JsonMap:
    del standing
    present = [name for name, leave in registry.leaves.items() if not leave.life.ended]
    if present and source.below(4):
        return write.undo(source.choose(present))
    return write.undo(source.choose(tuple(registry.leaves) or ("nothing",)))


def _observe(standing: Standing, source: Source, registry: AbstractRegistry) -> JsonMap:
    listening = [listener.name for listener in registry.listeners]
    if listening and source.below(3) == 0:
        return write.undo(source.choose(listening))
    event = source.choose((CREATED, DISPOSED))
    doing = source.choose(tuple(DOINGS[event]))
    names = Names(
        leave=source.choose(tuple(registry.leaves) or ("nothing",)),
        other=source.choose(tuple(STUBS)),
        identity=source.choose(IDS),
        fresh=standing.fresh("d"),
    )
    return listen(standing.fresh("l"), event, DOINGS[event][doing](names))


def _plugin(standing: Standing, source: Source, registry: AbstractRegistry) -> JsonMap:
    plugins = tuple(registry.plugins)
    if plugins and source.below(3):
        return write.closed(source.choose(plugins))
    return write.opened(standing.fresh("o"))


def _factory(standing: Standing, source: Source, registry: AbstractRegistry) -> JsonMap:
    if source.below(2):
        said = source.choose(tuple(SAID))
        op = "create" if said == "a header" else source.choose(("create", "resume"))
        return write.make(standing.fresh("t"), op, said, _through(source, registry))
    if registry.factories and source.below(3):
        return write.undo(source.choose(tuple(registry.factories)))
    create, resume = (source.choose(tuple(ENDINGS)) for _ in "12")
    return write.fill(standing.fresh("f"), create, resume, _through(source, registry))


def _look(standing: Standing, source: Source, registry: AbstractRegistry) -> JsonMap:
    del standing, registry
    identity = source.choose(IDS)
    return source.choose((write.LIST, write.ROOTS, write.get(identity), write.owns(identity, source.choose(ASKED))))


_THEMES: Final[Mapping[str, Callable[[Standing, Source, AbstractRegistry], JsonMap]]] = {
    "enter": _enter,
    "register": _register,
    "announce": _announce,
    "leave": _leave,
    "observe": _observe,
    "plugin": _plugin,
    "factory": _factory,
    "look": _look,
}
