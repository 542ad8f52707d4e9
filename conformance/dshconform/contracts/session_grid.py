"""The grid of the session contract: the state of a session, what is done, and what the first listener does then."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from dshconform.contracts import session_commands as write
from dshconform.contracts.grid import Tour, spelled
from dshconform.contracts.script_calls import listen
from dshconform.contracts.session_calls import NOBODY, STAGED, STAGES, cell
from dshconform.contracts.session_commands import FLUSH
from dshconform.contracts.session_observers import DOINGS, Names
from dshconform.contracts.session_shapes import ACCEPTED, REFUSED
from dshconform.contracts.session_state import AbstractSession
from dshconform.contracts.session_store import AbstractStore
from dshconform.protocol.json_value import JsonMap

_STATES: Final = ("prepared", "entered", "announced", "vetoed", "detached")

_QUIET: Final[Mapping[str, Sequence[str]]] = {
    "read": _STATES,
    "announce": ("prepared", "announced", "vetoed", "detached"),
    "enter": ("prepared", "detached"),
    "enter taken id": _STATES,
    "detach": ("entered", "vetoed"),
    "detach again": ("entered", "announced", "vetoed", "detached"),
    "flush": ("prepared", "vetoed", "detached"),
    "fork": ("entered", "vetoed"),
    "prepare": ("new",),
    "prepare taken id": ("new",),
    "create taken id": ("new",),
    "resolve": ("flushing",),
    "reject": ("flushing",),
    **{
        f"fork {name}": ("store",)
        for name in ("taken id", "not found", "not live", "no boundary", "beyond the end", "open turn")
    },
    **{f"append {name}": _STATES for name in (*REFUSED, *ACCEPTED) if name not in STAGED},
    **{f"append {name}": ("prepared", "vetoed", "detached") for name in STAGED},
}
"""What is done where nobody hears of it, or where it is all the same what the listeners do, by state."""


def _staged() -> Iterator[str]:
    for op, (event, states) in STAGES.items():
        names = [f"append {name}" for name in STAGED] if op == "append" else [op]
        for state in states:
            for name in names:
                for doing in (NOBODY, *DOINGS[event]):
                    yield spelled(state, name, doing)


CELLS: Final[tuple[str, ...]] = (
    *_staged(),
    *(spelled(state, name) for name, states in _QUIET.items() for state in states),
)
"""What can be done to a session, in each state of it."""


class _Tour(Tour):
    """A prologue in the making: what it does is performed by an abstract store."""

    def __init__(self) -> None:
        self._store = AbstractStore()
        super().__init__(lambda op, args: cell(self._store, op, args), self._store.perform)

    def session(self, state: str, identity: str | None = None) -> AbstractSession:
        """A new session in a state."""
        name = self.fresh("s")
        self.do(write.prepare(name, identity or name, "talk"))
        if state != "prepared":
            leave = self.fresh("leave")
            self.do(write.enter(name, leave))
            if state == "vetoed":
                veto = self.listen(write.CREATED, "throws")
                self.do(write.announce(name))
                self.do(write.undo(veto))
            elif state != "entered":
                self.do(write.announce(name))
            if state == "detached":
                self.do(write.undo(leave))
        return self._store.sessions[name]

    def leave_of(self, session: AbstractSession) -> str:
        """The detach of a session's present life, or of its last one."""
        return next(name for name, (one, life) in self._store.leaves.items() if one is session and life is one.life)

    def listen(self, event: str, doing: str, names: Names | None = None, *, prepend: bool = False) -> str:
        """Add a listener."""
        name = self.fresh("l")
        self.do(listen(name, event, DOINGS[event][doing](names or _NO_NAMES), prepend=prepend))
        return name

    def rest(self, listeners: Sequence[str]) -> None:
        """Remove the listeners that are there, what waits answered."""
        for name in listeners:
            listener = self._store.listener(name)
            if listener is not None and listener.waits:
                self.do(write.settle(name))
            if listener is not None:
                self.do(write.undo(name))


_NO_NAMES: Final = Names("", "", "", "")


def _stage(event: str, doing: str) -> list[JsonMap]:
    """All that an event comes from, with listeners of which the first does something and the last only hears."""
    tour = _Tour()
    elsewhere = tour.session("announced")
    for op, (heard, states) in STAGES.items():
        if heard != event:
            continue
        for state in states:
            for name in STAGED if op == "append" else (op,):
                session = elsewhere if state == "new" else tour.session(state)
                listeners = _listeners(tour, event, doing, session, elsewhere)
                command = _command(tour, op, name, session)
                tour.visit(spelled(state, f"append {name}" if op == "append" else op, doing), command)
                tour.rest(listeners)
    return tour.done


def _listeners(
    tour: _Tour, event: str, doing: str, session: AbstractSession, elsewhere: AbstractSession
) -> Sequence[str]:
    """Two listeners, the first and the last, and one that may be added."""
    if doing == NOBODY:
        return ()
    behind = tour.listen(event, "hears") if doing == "removes" else ""
    source = elsewhere.name if doing == "appends elsewhere" else session.name
    names = Names(source, tour.leave_of(session), behind, tour.fresh("f"))
    first = tour.listen(event, doing, names, prepend=bool(behind))
    return first, behind or tour.listen(event, "hears"), names.fresh


def _command(tour: _Tour, op: str, name: str, session: AbstractSession) -> JsonMap:
    match op:
        case "create":
            made = tour.fresh("s")
            return write.create(made, made)
        case "announce":
            return write.announce(session.name)
        case "fork":
            made = tour.fresh("s")
            return write.fork(session.name, made, made)
        case "append":
            command = ACCEPTED[name].write(session, tour.fresh("m"))
            assert command is not None
            return command
        case "detach":
            return write.undo(tour.leave_of(session))
        case _:
            return write.flush(session.name, tour.fresh("t"))


def _quiet(state: str) -> list[JsonMap]:
    """What is done to a session in a state where it is all the same what the listeners do; one of them hears."""
    tour = _Tour()
    for event in (write.CREATED, write.EVENT, write.DISPOSED):
        tour.listen(event, "hears")
    session = tour.session(state)
    tour.visit(spelled(state, "read"), write.read(session.name))
    for name, kind in (*REFUSED.items(), *ACCEPTED.items()):
        command = kind.write(session, tour.fresh("m"))
        assert command is not None, name
        if name not in STAGED or state not in STAGES["append"][1]:
            tour.visit(spelled(state, f"append {name}"), command)
    if state in _QUIET["announce"]:
        tour.visit(spelled(state, "announce"), write.announce(session.name))
    if state in _QUIET["flush"]:
        tour.visit(spelled(state, "flush"), write.flush(session.name, tour.fresh("t")))
    if state in _QUIET["fork"]:
        whole = tour.session(state)
        tour.visit(spelled(state, "fork"), write.fork(whole.name, tour.fresh("s"), None))
    tour.do(write.read(session.name))
    again = "enter" if state in _QUIET["enter"] else "enter taken id"
    tour.visit(spelled(state, again), write.enter(session.name, tour.fresh("leave")))
    return tour.done


def _lives() -> list[JsonMap]:
    """Several lives: detaches of one that is over, and ids that are taken."""
    tour = _Tour()
    for state in ("entered", "vetoed"):
        tour.visit(spelled(state, "detach"), write.undo(tour.leave_of(tour.session(state))))
    for state in _QUIET["detach again"]:
        session = tour.session("detached")
        old = tour.leave_of(session)
        if state != "detached":
            tour.do(write.enter(session.name, tour.fresh("leave")))
        if state == "vetoed":
            veto = tour.listen(write.CREATED, "throws")
            tour.do(write.announce(session.name))
            tour.do(write.undo(veto))
        elif state == "announced":
            tour.do(write.announce(session.name))
        tour.visit(spelled(state, "detach again"), write.undo(old))
        tour.do(write.read(session.name))
    gone = tour.session("detached")
    waiting = tour.session("prepared", gone.id)
    tour.do(write.create(tour.fresh("s"), gone.id))
    for session in (gone, waiting):
        tour.visit(spelled(session.state, "enter taken id"), write.enter(session.name, tour.fresh("leave")))
    for op in ("prepare", "create"):
        command = write.prepare(tour.fresh("s"), gone.id, op=f"session.{op}")
        tour.visit(spelled("new", f"{op} taken id"), command)
    tour.visit(spelled("new", "prepare"), write.prepare(tour.fresh("s"), None))
    return tour.done


def _forks() -> list[JsonMap]:
    """Forks that are refused, in the order in which what is wrong is looked for."""
    tour = _Tour()
    source, gone = tour.session("announced"), tour.session("detached")
    stale = tour.session("detached")
    waiting = tour.session("prepared", stale.id)
    tour.do(write.create(tour.fresh("s"), stale.id))
    tour.do(write.turn(source))
    last = len(source.events) - 1
    refused: Mapping[str, Callable[[str], JsonMap]] = {
        "taken id": lambda made: write.fork({"id": "nobody"}, made, source.id, -1),
        "not found": lambda made: write.fork(gone.name, made, made, -1),
        "not live": lambda made: write.fork(stale.name, made, made, -1),
        "no boundary": lambda made: write.fork(source.name, made, made, -1),
        "beyond the end": lambda made: write.fork(source.name, made, made, last + 1),
        "open turn": lambda made: write.fork(source.name, made, made),
    }
    for name, written in refused.items():
        tour.visit(spelled("store", f"fork {name}"), written(tour.fresh("s")))
    tour.visit(spelled("store", "fork not live"), write.fork(waiting.name, tour.fresh("s"), None))
    tour.visit(spelled("store", "fork not found"), write.fork(tour.session("prepared").name, tour.fresh("s"), None))
    tour.do(write.fork(source.name, tour.fresh("s"), None, last - 1))
    tour.do(write.turn(source))
    tour.do(write.fork({"id": source.id}, tour.fresh("s"), None))
    return tour.done


def _beginnings() -> list[JsonMap]:
    """Every seed, its session forked, and the fork forked: marks are put where none ends the log."""
    tour = _Tour()
    for seed in write.SEEDS:
        name, child, grandchild = (tour.fresh("s") for _ in "123")
        tour.do(write.prepare(name, None, seed, meta=True, op="session.create"))
        tour.do(write.fork(name, child, None))
        tour.do(write.fork(child, grandchild, None))
        for one in (name, child, grandchild):
            tour.do(write.note(one))
        tour.do(write.read(name))
    return tour.done


def _ranges() -> list[JsonMap]:
    """A replacement in front of older nodes: a range may begin with the greater number, and one may not."""
    tour = _Tour()
    session = tour.session("announced")
    for name in ("replacement", "result", "reversed", "replacement", "replacement", "message"):
        command = {**ACCEPTED, **REFUSED}[name].write(session, tour.fresh("m"))
        assert command is not None
        tour.do(command)
    tour.do(write.read(session.name))
    return tour.done


def _flushes() -> list[JsonMap]:
    """Flushes that wait, while the session goes on; the first failure in the order of listeners counts."""
    tour = _Tour()
    first, second = (tour.listen(FLUSH, "waits") for _ in "12")
    session = tour.session("announced")
    tour.do(write.flush(session.name, tour.fresh("t")))
    tour.do(write.note(session.name))
    tour.do(write.undo(tour.leave_of(session)))
    tour.visit(spelled("flushing", "resolve"), write.settle(second))
    tour.do(write.settle(first))
    tour.do(write.flush(tour.session("entered").name, tour.fresh("t")))
    tour.visit(spelled("flushing", "reject"), write.settle(second, failing=True))
    tour.do(write.settle(first, failing=True))
    return tour.done


PROLOGUES: Final[tuple[tuple[JsonMap, ...], ...]] = (
    *(tuple(_stage(event, doing)) for event, doings in DOINGS.items() for doing in (NOBODY, *doings)),
    *(tuple(_quiet(state)) for state in _STATES),
    *(tuple(made()) for made in (_lives, _forks, _beginnings, _ranges, _flushes)),
)
"""Together they visit every cell."""
