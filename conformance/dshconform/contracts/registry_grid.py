"""The grid of the registry contract: the state of an agent, what is done, and what the first listener does then."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from dshconform.contracts import registry_commands as write
from dshconform.contracts.grid import Tour, spelled
from dshconform.contracts.registry_calls import NOBODY, STAGES, cell
from dshconform.contracts.registry_commands import CREATED, DISPOSED, DOINGS, ENDINGS, ODD, SAID, Names
from dshconform.contracts.registry_state import AbstractRegistry
from dshconform.contracts.script_calls import listen
from dshconform.protocol.json_value import JsonMap

STATES: Final = ("new", "entered", "announced", "vetoed", "gone", "taken")
"""`taken` says that another agent of the same id is there."""

_LIVE: Final = ("entered", "announced", "vetoed", "taken")
_PASTS: Final = (*_LIVE, "gone")
_THROUGH: Final[Mapping[str, str | None]] = {"root": None, "plugin": "o", "agent": "in p"}

_QUIET: Final[Mapping[str, Sequence[str]]] = {
    "enter": (*STATES, "odd"),
    "enter owned": ("new", "gone"),
    "register": (*_LIVE, "odd"),
    "register in plugin": ("new", "gone"),
    "register in agent": ("new", "gone"),
    "announce": ("new", "announced", "vetoed", "gone", "taken", "odd"),
    "detach": ("entered",),
    "detach again": _PASTS,
    "dispose again": _PASTS,
    "owns": ("nobody", "root", "owned", "owned by another"),
    "set": ("empty", "filled"),
    "clear": ("filled",),
    "clear again": ("empty", "filled"),
    "close": ("filled",),
    "create": ("empty",),
    "resume": ("empty",),
}
"""What is done where nobody hears of it, or where it is all the same what the listeners do, by state."""


def _staged() -> Iterator[str]:
    for name, (event, states) in STAGES.items():
        for state in states:
            for doing in (NOBODY, *DOINGS[event]):
                yield spelled(state, name, doing)


def _makings() -> Iterator[str]:
    for op in ("create", "resume"):
        for through in _THROUGH:
            for how in ENDINGS:
                yield spelled("filled", f"{op} through {through}", how)


CELLS: Final[tuple[str, ...]] = (
    *_staged(),
    *_makings(),
    *(spelled(state, name) for name, states in _QUIET.items() for state in states),
)
"""What can be done to an agent and to the slot of the factory, in each state of them."""


class _Tour(Tour):
    """A prologue in the making: what it does is performed by an abstract registry."""

    def __init__(self) -> None:
        self.registry = AbstractRegistry()
        super().__init__(lambda op, args: cell(self.registry, op, args), self.registry.perform)

    def bring(self, agent: str, state: str) -> None:
        """Bring an agent into a state; its id is free."""
        if state == "taken":
            self.do(write.enter(f"{agent}2", self.fresh("leave")))
        elif state != "new":
            leave = self.fresh("leave")
            self.do(write.enter(agent, leave))
            if state == "vetoed":
                veto = self.listen(CREATED, "throws")
                self.do(write.announce(agent))
                self.do(write.undo(veto))
            elif state != "entered":
                self.do(write.announce(agent))
            if state == "gone":
                self.do(write.undo(leave))

    def leave_of(self, agent: str) -> str:
        """The detach or disposer of an agent's present life, or of its last one."""
        life = self.registry.latest[agent]
        return next(name for name, leave in self.registry.leaves.items() if leave.life is life)

    def leave(self, *agents: str) -> None:
        """Let agents leave that are there."""
        for agent in agents:
            if self.registry.state(agent) in {"entered", "announced", "vetoed"}:
                self.do(write.undo(self.leave_of(agent)))

    def listen(self, event: str, doing: str, names: Names | None = None) -> str:
        """Add a listener."""
        name = self.fresh("l")
        self.do(listen(name, event, DOINGS[event][doing](names or _NO_NAMES)))
        return name

    def listeners(self, event: str, doing: str, names: Names, last: str = "hears") -> Sequence[str]:
        """Two listeners, the first and the last."""
        return () if doing == NOBODY else (self.listen(event, doing, names), self.listen(event, last, names))


_NO_NAMES: Final = Names("", "", "", "")


def _stage(name: str, state: str, doing: str, last: str = "hears") -> list[JsonMap]:
    """Something is done with listeners of which the first does something and the last only hears, or vetoes."""
    event = STAGES[name][0]
    tour = _Tour()
    tour.bring("y", "entered")
    if state == "gone":
        tour.bring("x", "gone")
    elif name in {"announce", "detach"}:
        tour.bring("x", "entered" if name == "announce" else state)
    elif name in {"dispose", "close"}:
        tour.do(write.opened("o"))
        tour.do(write.register("x", tour.fresh("leave"), "o"))
    other = "x2" if event == DISPOSED else "p"
    own = name in {"announce", "detach", "dispose"}
    names = Names(tour.leave_of("x" if own and event == CREATED else "y"), other, "x", tour.fresh("other"))
    listeners = tour.listeners(event, doing, names, last)
    commands: Mapping[str, JsonMap] = {
        "announce": write.announce("x"),
        "register": write.register("x", tour.fresh("leave")),
        "close": write.closed("o"),
    }
    tour.visit(spelled(state, name, doing), commands[name] if name in commands else write.undo(tour.leave_of("x")))
    for one in listeners:
        tour.do(write.undo(one))
    tour.leave("x", "x2")
    return tour.done


def _stages(name: str) -> Iterator[list[JsonMap]]:
    event, states = STAGES[name]
    for state in states:
        for doing in (NOBODY, *DOINGS[event]):
            yield _stage(name, state, doing)


def _states() -> Iterator[list[JsonMap]]:
    """What is done to an agent in a state where it is all the same what the listeners do; one of them hears."""
    for state in STATES:
        tour = _Tour()
        for event in (CREATED, DISPOSED):
            tour.listen(event, "hears")
        tour.bring("x", state)
        for name, command in (
            ("announce", write.announce("x")),
            ("register", write.register("x", tour.fresh("leave"))),
            ("enter", write.enter("x", tour.fresh("leave"))),
        ):
            if state in _QUIET[name] and tour.registry.state("x") == state:
                tour.visit(spelled(state, name), command)
        tour.leave("x")
        yield tour.done


def _pasts() -> Iterator[list[JsonMap]]:
    """What ends a life, called again in whatever has come after that life."""
    for what in ("detach", "dispose"):
        for state in _PASTS:
            tour = _Tour()
            tour.bring("y", "announced")
            old = tour.fresh("old")
            tour.do(write.enter("x", old) if what == "detach" else write.register("x", old))
            tour.do(write.undo(old))
            if state != "gone":
                tour.bring("x", state)
            tour.visit(spelled(state, f"{what} again"), write.undo(old))
            tour.visit(spelled(state, f"{what} again"), write.undo(old))
            yield tour.done


def _owners() -> list[JsonMap]:
    """Who owns an id, by who said so."""
    tour = _Tour()
    tour.visit(spelled("odd", "enter"), write.enter(ODD, tour.fresh("leave")))
    tour.visit(spelled("odd", "register"), write.register(ODD, tour.fresh("leave")))
    tour.visit(spelled("odd", "announce"), write.announce(ODD))
    tour.do(write.opened("o"))
    for agent in ("p", "q"):
        tour.bring(agent, "announced")
    for state in ("new", "gone"):
        tour.visit(spelled("nobody", "owns"), write.owns("x", "p"))
        tour.visit(spelled(state, "enter owned"), write.enter("x", tour.fresh("leave"), "p"))
        tour.visit(spelled("owned", "owns"), write.owns("x", "p"))
        tour.leave("x")
        tour.visit(spelled("nobody", "owns"), write.owns("x", "p"))
        tour.do(write.enter("x", tour.fresh("leave"), "q"))
        tour.visit(spelled("owned by another", "owns"), write.owns("x", "p"))
        tour.visit(spelled(state, "register in agent"), write.register("y", tour.fresh("leave"), "in q"))
        tour.leave("x", "y")
        tour.visit(spelled(state, "register in plugin"), write.register("y2", tour.fresh("leave"), "o"))
        tour.visit(spelled("root", "owns"), write.owns("y", "q"))
        tour.leave("y2")
    return tour.done


def _order() -> list[JsonMap]:
    """Agents come and go: who comes back stands last."""
    tour = _Tour()
    for agent in ("y", "x", "p"):
        tour.bring(agent, "announced")
    tour.leave("y")
    tour.do(write.enter("y2", tour.fresh("leave"), "p"))
    tour.leave("x")
    tour.bring("x", "entered")
    for command in (write.LIST, write.ROOTS, write.get("y"), write.get("q")):
        tour.do(command)
    return tour.done


def _vetoed_detach() -> list[JsonMap]:
    """A detach from inside an announcement that a later listener vetoes; the id is free then."""
    return _stage("announce", "entered", "detaches", "throws")


def _awaited_detach() -> list[JsonMap]:
    """A detach from inside an announcement, at which a later listener looks: it has not happened yet."""
    return _stage("announce", "entered", "detaches", "looks")


def _factories() -> list[JsonMap]:
    """The slot is filled, asked, cleared and filled anew, by disposers and by the end of a plugin."""
    tour = _Tour()
    tour.do(write.opened("o"))
    for op in ("create", "resume"):
        tour.visit(spelled("empty", op), write.make(tour.fresh("t"), op))
    for how in ENDINGS:
        name = tour.fresh("f")
        tour.visit(spelled("empty", "set"), write.fill(name, how, how))
        tour.visit(spelled("filled", "set"), write.fill(tour.fresh("f"), how, how))
        for op in ("create", "resume"):
            for place, through in _THROUGH.items():
                for said in SAID if op == "create" else ("nothing", "a route"):
                    making = write.make(tour.fresh("t"), op, said, through)
                    tour.visit(spelled("filled", f"{op} through {place}", how), making)
        tour.visit(spelled("filled", "clear"), write.undo(name))
        tour.visit(spelled("empty", "clear again"), write.undo(name))
        plugin = tour.fresh("o")
        tour.do(write.opened(plugin))
        tour.do(write.fill(tour.fresh("f"), through=plugin))
        tour.visit(spelled("filled", "clear again"), write.undo(name))
        tour.do(write.make(tour.fresh("t")))
        tour.visit(spelled("filled", "close"), write.closed(plugin))
        tour.do(write.make(tour.fresh("t")))
    return tour.done


PROLOGUES: Final[tuple[tuple[JsonMap, ...], ...]] = (
    *(tuple(made) for name in STAGES for made in _stages(name)),
    *(tuple(made) for made in (*_states(), *_pasts())),
    *(tuple(made()) for made in (_owners, _order, _vetoed_detach, _awaited_detach, _factories)),
)
"""Together they visit every cell."""
