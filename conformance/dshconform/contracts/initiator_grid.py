"""The grid of the initiator contract: every place, with whatever can be done there; and the closing of the registry."""

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from dshconform.contracts import initiator_commands as write
from dshconform.contracts.grid import Tour, spelled
from dshconform.contracts.initiator_calls import FAILING, cell
from dshconform.contracts.initiator_commands import BODIES, CURRENT, PRE_STEP, REQUIRE, TOOL
from dshconform.contracts.initiator_state import AbstractInitiators, Gate, Spec
from dshconform.protocol.json_value import JsonMap

DIRECT: Final = ("outside", "boundary", "clearing", "nested boundary", "nested clearing")
"""Places from which the registry may be closed."""

_PLACES: Final = (
    *DIRECT,
    *("work", "causeless work", "setup", "caused setup", "maintenance", "caused maintenance", "pre-step", "tool"),
)
_AT_CLOSING: Final = (*DIRECT, "work", "causeless work")

Write = Callable[[str], JsonMap]
"""Makes an act; it is given a name that nothing has."""


def _bounded(agent: str | None, body: str) -> Write:
    return lambda name: write.bounded(agent, name, body, f"{name}.t")


ACTS: Final[Mapping[str, Write]] = {
    "reads": lambda _: CURRENT,
    **{f"opens, {body}": _bounded("a", body) for body in BODIES},
    **{f"clears, {body}": _bounded(None, body) for body in BODIES},
    "opens, nests": lambda name: write.nesting("a", name, "b", "throws"),
    "clears, nests": lambda name: write.nesting(None, name, "a", "returns"),
    "opens, starts": lambda name: write.starting("a", name, f"{name}.t"),
    "clears, starts": lambda name: write.starting(None, name, f"{name}.t"),
    "starts work": write.work,
    "injects": lambda name: write.inject("b", name),
    "wakes": lambda name: write.wake("b", name),
    "creates": lambda name: write.create(f"{name}.c", name, f"{name}.t"),
    "creates, waits": lambda name: write.create(f"{name}.c", name, f"{name}.t", waits=True),
    "maintains": lambda name: write.maintain("b", name, f"{name}.t"),
    "maintains, waits": lambda name: write.maintain("b", name, f"{name}.t", waits=True),
    "cancels": lambda _: write.cancel("b"),
}
"""What can be done at a place."""

_ENDS: Final = (
    *("boundary / resolve", "boundary / reject", "run / resolve", "setup / resolve"),
    *("maintenance / resolve", "maintenance / reject"),
    *(f"{kind}{state} / resolve" for kind in (PRE_STEP, TOOL) for state in ("", ", cancelled", ", cancelled, woken")),
)

CELLS: Final[tuple[str, ...]] = (
    *(spelled(place, act) for place in _PLACES for act in ACTS),
    *(spelled(place, "closes") for place in DIRECT),
    *(spelled("closing", place, act) for place in _AT_CLOSING for act in ("reads", "opens", "clears")),
    *(spelled("closed", place, "reads") for place in _AT_CLOSING),
    *(spelled("ends", end) for end in _ENDS),
    spelled("cancelled", "wakes"),
)
"""What can be done at every place, and how calls end there."""


class _Tour(Tour):
    """A prologue in the making: what it does is performed by an abstract state."""

    def __init__(self) -> None:
        self.state = AbstractInitiators()
        super().__init__(lambda op, args: cell(self.state, op, args), self.state.perform)

    def act(self, where: Spec, act: JsonMap) -> None:
        """Do something at a place, and read there."""
        self.do(write.at(where, act, CURRENT))

    def open(self, where: Spec, agent: str | None) -> Spec:
        """Open a boundary at a place, and stay in it."""
        name = self.fresh("f")
        self.act(where, write.bounded(agent, name, "waits", f"{name}.t"))
        return write.of_call(name)

    def to(self, place: str) -> Spec:
        """Come to a place."""
        name = self.fresh("f")
        match place:
            case "outside":
                return None
            case "boundary" | "clearing":
                return self.open(None, "a" if place == "boundary" else None)
            case "nested boundary" | "nested clearing":
                return self.open(self.open(None, "b"), "a" if place == "nested boundary" else None)
            case "work":
                self.act(None, write.starting("a", name, f"{name}.w"))
                return write.of_call(f"{name}.w")
            case "causeless work":
                self.act(self.open(None, "b"), write.starting(None, name, f"{name}.w"))
                return write.of_call(f"{name}.w")
            case "setup" | "caused setup":
                where = self.open(None, "b") if place == "caused setup" else None
                self.act(where, write.create("c", name, f"{name}.t", waits=True))
                return write.of_call(name)
            case "maintenance" | "caused maintenance":
                where = self.open(None, "b") if place == "caused maintenance" else None
                self.act(where, write.maintain("a", name, f"{name}.t", waits=True))
                return write.of_call(name)
            case _:
                self.act(None, write.wake("a", name))
                if place == "tool":
                    self.do(write.go_on("a"))
                return write.of_driver(PRE_STEP if place == "pre-step" else TOOL, "a")

    def end(self, gate: Gate, *, failing: bool = False) -> None:
        """End a call that waits."""
        if gate.kind == PRE_STEP:
            assert gate.agent is not None
            self.do(write.go_on(gate.agent))
        elif failing:
            self.do(write.reject(gate.spec))
        else:
            self.do(write.resolve(gate.kind, gate.spec))

    def rest(self, gates: list[Gate], *, failing: bool = False) -> None:
        """End what waits, but for some."""
        while left := [gate for gate in self.state.gates if gate not in gates]:
            self.do(write.at(left[-1].spec, REQUIRE, CURRENT))
            self.end(left[-1], failing=failing and left[-1].kind in FAILING)


def _at(place: str) -> list[JsonMap]:
    """All that can be done at a place, with a look around behind each; what it leaves waiting is ended from outside."""
    tour = _Tour()
    where = tour.to(place)
    stays = list(tour.state.gates)
    for act, written in ACTS.items():
        if act == "cancels":
            tour.act(None, write.wake("b", tour.fresh("m")))
        trailing = (REQUIRE,) if act == "reads" else (CURRENT,)
        tour.visit(spelled(place, act), write.at(where, written(tour.fresh("n")), *trailing))
        tour.do(write.at(where, CURRENT, REQUIRE))
        tour.rest(stays, failing=_PLACES.index(place) % 2 == 0)
    tour.rest([])
    return tour.done


def _drivers() -> list[JsonMap]:
    """Turns beside each other, cancelled and woken again, at both places."""
    tour = _Tour()
    boundary = tour.open(None, "a")
    for kind in (PRE_STEP, TOOL):
        for again in (False, True):
            tour.act(boundary if again else None, write.wake("a", tour.fresh("m")))
            tour.act(write.of_driver(PRE_STEP, "a") if again else None, write.wake("b", tour.fresh("m")))
            if kind == TOOL:
                tour.do(write.go_on("b"))
            for agent, where in (("a", PRE_STEP), ("b", kind), ("a", PRE_STEP)):
                tour.do(write.at(write.of_driver(where, agent), CURRENT, REQUIRE))
            tour.act(None, write.cancel("b"))
            if again:
                tour.visit(spelled("cancelled", "wakes"), write.at(boundary, write.wake("b", tour.fresh("m")), CURRENT))
            state = ", cancelled, woken" if again else ", cancelled"
            ending = write.go_on("b") if kind == PRE_STEP else write.resolve(TOOL, write.of_driver(TOOL, "b"))
            tour.visit(spelled("ends", f"{kind}{state}", "resolve"), ending)
            tour.rest([gate for gate in tour.state.gates if gate.kind == "boundary"])
    return tour.done


def _closing(place: str, *, held: bool) -> list[JsonMap]:
    """The registry is closed from a place, while a boundary holds it that has nothing to do with the place, or none."""
    tour = _Tour()
    other = tour.open(None, "b") if held else None
    works: list[Spec] = []
    for agent in ("a", None):
        name = tour.fresh("f")
        tour.act(None, write.starting(agent, name, f"{name}.w"))
        works.append(write.of_call(f"{name}.w"))
    where = tour.to(place)
    refused = [write.bounded(agent, tour.fresh("f"), "returns", tour.fresh("t")) for agent in ("a", None)]
    items = (write.unload(tour.fresh("t")), *refused, *((CURRENT,) if held else ()))
    tour.visit(spelled(place, "closes"), write.at(where, *items))
    places: list[Spec] = [where, None, *works]
    if held:
        for one in [*places, other]:
            tour.do(write.at(one, CURRENT, REQUIRE))
            for agent in ("a", None):
                tour.do(write.at(one, write.bounded(agent, tour.fresh("f"), "waits", tour.fresh("t"))))
        tour.rest([gate for gate in tour.state.gates if gate.spec != other])
    for one in places:
        tour.do(write.at(one, CURRENT, REQUIRE))
    tour.rest([])
    return tour.done


def _held_by_two() -> list[JsonMap]:
    """The registry is closed while two boundaries hold it: the end of one is not enough."""
    tour = _Tour()
    for agent in ("a", "b"):
        tour.open(None, agent)
    tour.act(None, write.unload(tour.fresh("t")))
    tour.rest([])
    return tour.done


def _prologues() -> Iterator[list[JsonMap]]:
    for place in _PLACES:
        yield _at(place)
    yield _drivers()
    for place in DIRECT:
        for held in (True, False):
            yield _closing(place, held=held)
    yield _held_by_two()


PROLOGUES: Final[tuple[tuple[JsonMap, ...], ...]] = tuple(tuple(made) for made in _prologues())
"""Together they visit every cell."""
