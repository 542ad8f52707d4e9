"""Which command of the session contract comes next."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from dshconform.contracts import session_commands as write
from dshconform.contracts.script_calls import listen
from dshconform.contracts.session_commands import SEEDS
from dshconform.contracts.session_observers import DOINGS, Names
from dshconform.contracts.session_shapes import ACCEPTED, REFUSED
from dshconform.contracts.session_state import AbstractSession
from dshconform.contracts.session_store import AbstractStore
from dshconform.contracts.source import Source
from dshconform.protocol.json_value import Json, JsonMap

IDS: Final = ("x", "y", "é/ 1", "session-2")
"""Few, so that an id is taken; ids are opaque, and one looks like those that the store makes up."""

SESSIONS: Final = 6
"""Sessions of one example, about: more say nothing new."""

_HABITS: Final[Sequence[Mapping[str, int]]] = (
    {"make": 4, "live": 8, "append": 12, "refuse": 3, "observe": 5, "fork": 3, "look": 2, "flush": 3},
    {"make": 2, "live": 3, "append": 16, "refuse": 10, "observe": 3, "fork": 2, "look": 3, "flush": 1},
    {"make": 5, "live": 12, "append": 6, "refuse": 1, "observe": 10, "fork": 3, "look": 1, "flush": 2},
    {"make": 3, "live": 5, "append": 8, "refuse": 2, "observe": 6, "fork": 3, "look": 1, "flush": 10},
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

    def __call__(self, source: Source, store: AbstractStore) -> JsonMap:
        """Choose a command."""
        sessions = list(store.sessions.values())
        if not sessions:
            return self._make(source)
        theme = source.weighted([(weight, theme) for theme, weight in self.habit.items()])
        if theme == "make":
            return self._make(source) if len(sessions) < SESSIONS else write.LIST
        return _THEMES[theme](self, source, store, source.choose(sessions))

    def fresh(self, kind: str) -> str:
        """A name that nothing has.

        Args:
            kind: What it begins with.
        """
        self.made += 1
        return f"{kind}{self.made}"

    def _make(self, source: Source) -> JsonMap:
        identity = source.choose((*IDS, None))
        seed = source.choose(("talk", "fresh", *SEEDS))
        op = source.choose(("session.prepare", "session.prepare", "session.create"))
        return write.prepare(self.fresh("s"), identity, seed, meta=source.below(4) == 0, op=op)


def _live(standing: Standing, source: Source, store: AbstractStore, session: AbstractSession) -> JsonMap:
    """The next step of a life, or one that comes too early or too late."""
    leaves = [name for name, (one, life) in store.leaves.items() if one is session]
    likely = {"prepared": "enter", "detached": "enter", "entered": "announce"}.get(session.state, "leave")
    step = source.choose((likely, likely, "enter", "announce", "leave"))
    if step == "enter":
        return write.enter(session.name, standing.fresh("leave"))
    if step == "announce" or not leaves:
        return write.announce(session.name)
    return write.undo(leaves[-1] if source.below(4) else source.choose(leaves))


def _append(standing: Standing, source: Source, store: AbstractStore, session: AbstractSession) -> JsonMap:
    del store
    kind = ACCEPTED[source.choose(tuple(ACCEPTED))]
    return kind.write(session, standing.fresh("m")) or write.say(session.name, standing.fresh("m"))


def _refuse(standing: Standing, source: Source, store: AbstractStore, session: AbstractSession) -> JsonMap:
    del store
    kind = REFUSED[source.choose(tuple(REFUSED))]
    return kind.write(session, standing.fresh("m")) or write.say(session.name, standing.fresh("m"))


def _observe(standing: Standing, source: Source, store: AbstractStore, session: AbstractSession) -> JsonMap:
    event = source.choose((write.EVENT, *DOINGS))
    listeners = [listener.name for one in DOINGS for listener in store.of(one)]
    if listeners and source.below(3) == 0:
        return write.undo(source.choose(listeners))
    doing = source.choose(tuple(DOINGS[event]))
    names = Names(
        session=session.id if event == write.DISPOSED else session.name,
        leave=source.choose(tuple(store.leaves) or ("none",)),
        listener=source.choose(listeners or ["none"]),
        fresh=standing.fresh("f"),
    )
    return listen(standing.fresh("l"), event, DOINGS[event][doing](names), prepend=source.below(5) == 0)


def _fork(standing: Standing, source: Source, store: AbstractStore, session: AbstractSession) -> JsonMap:
    if len(store.sessions) > SESSIONS:
        return write.read(session.name)
    by_name: tuple[Json, ...] = (session.name, {"id": session.id})
    last = len(session.events) - 1
    boundary: Sequence[Json] = source.choose(((), (), (last,), (last // 2,), (last + 1,), (-1,)))
    identity = source.choose((None, None, *IDS))
    return write.fork(source.choose(by_name), standing.fresh("s"), identity, *boundary)


def _look(standing: Standing, source: Source, store: AbstractStore, session: AbstractSession) -> JsonMap:
    del standing, store
    return source.choose((write.read(session.name), write.get(session.id), write.LIST))


def _flush(standing: Standing, source: Source, store: AbstractStore, session: AbstractSession) -> JsonMap:
    waiting = [listener.name for listener in store.of(write.FLUSH) if listener.waits]
    if waiting:
        return write.settle(source.choose(waiting), failing=source.below(3) == 0)
    return write.flush(session.name, standing.fresh("t"))


_THEMES: Final[Mapping[str, Callable[[Standing, Source, AbstractStore, AbstractSession], JsonMap]]] = {
    "live": _live,
    "append": _append,
    "refuse": _refuse,
    "observe": _observe,
    "fork": _fork,
    "look": _look,
    "flush": _flush,
}
