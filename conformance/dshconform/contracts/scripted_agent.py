"""An abstract agent with callbacks that call back: whatever is told of it may run a script.

A script may do to the agent anything that can be done from outside. So what the agent does stands in the order in which
the clauses put it: the record before the list, the phase before its status.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from dshconform.contracts import inbox_rows as rows
from dshconform.contracts.callbacks import ABORT, Place, Script, place_of
from dshconform.contracts.inbox_agent import AbstractAgent
from dshconform.contracts.inbox_rows import Clauses
from dshconform.trace.rows import ExpectedRow


class LeftOpen(Exception):
    """What happens now is nowhere said: the contract does not go there."""


def _nobody(script: Script) -> None:
    raise AssertionError(f"{script.part} has nobody to run it")


@dataclass(slots=True)
class Run:
    """A script that runs.

    Args:
        place: Where.
        moment: When, as the grid says it.
        window: The window when it began.
        acts: What it has done so far.
    """

    place: str
    moment: str
    window: str
    acts: list[str] = field(default_factory=list)


@dataclass(slots=True)
class ScriptedAgent(AbstractAgent):
    """The state of one agent, and of its callbacks.

    Args:
        armed: The listeners that were not called yet, in order of registration.
        play: Does what a script says.
        running: The scripts that run, outermost first.
        visited: The moments, acts and windows of the command, in order.
        publishing: Whether an append is being published: no inbox mutation is possible.
        closing: Whether the end of a turn is being published.
        holders: The functions that were given the activity's signal and are told when it fires, the model's aside.
        on_abort: What runs inside that firing.
        shuffled: Whether a script ran inside the firing of a signal that more than one function holds: who of them is
            told first is not said.
        loose: Whether the driver has stopped inside a call before its claim; whether it settles before the call returns
            is not said.
        departed: The variants that scripts took.
    """

    places: ClassVar[Mapping[str, Place]] = {}
    """Where callbacks are called, by name; what is not in it is a place of its own."""

    armed: list[Script] = field(default_factory=list)
    play: Callable[[Script], None] = _nobody
    running: list[Run] = field(default_factory=list)
    visited: list[tuple[str, str, str]] = field(default_factory=list)
    publishing: bool = False
    closing: bool = False
    holders: list[str] = field(default_factory=list)
    on_abort: list[Script] = field(default_factory=list)
    shuffled: bool = False
    loose: bool = False
    departed: list[str] = field(default_factory=list)

    def begin(self) -> None:
        """A command comes: what it leads to is written down from here on."""
        AbstractAgent.begin(self)
        self.shuffled = self.loose = False
        self.visited, self.departed, self.apart = [], [], frozenset()

    def copy(self) -> "ScriptedAgent":
        """An agent to try calls on; its scripts are played by whoever tries."""
        other = AbstractAgent.copy(self)
        assert isinstance(other, ScriptedAgent)
        other.armed, other.holders, other.on_abort = list(self.armed), list(self.holders), list(self.on_abort)
        other.running = list(self.running)  # a trial that is left open does not end its scripts
        return other

    @property
    def window(self) -> str:
        """In which window something is done, as the grid says it."""
        return "live" if self.cause is None else "cancelled"

    @property
    def told(self) -> bool:
        """Whether something of the suite holds the signal, and is told when it fires."""
        return bool(self.holders) or self.gate_open

    def compared(self, whole: frozenset[str]) -> frozenset[str]:
        """What is compared of the rows that a command leads to, of all that the contract speaks about."""
        compared = AbstractAgent.compared(self, whole)
        return compared - {"abort"} if self.shuffled else compared

    def tell(self, row: ExpectedRow) -> None:
        """Something happens that must be observed, and its listeners are called."""
        self.rows.append(row)
        place = place_of(row.pattern) if self.armed else None
        if place is not None:
            closing, self.closing = self.closing, place == "turn end observer"
            self.call_back(place)
            self.closing = closing

    def call_back(self, *places: str) -> None:
        """The listeners of some places are called, each that was registered when the dispatch began."""
        for script in [one for one in self.armed if one.place in places and one.turn in {None, self.turn}]:
            if script not in self.armed:
                continue  # a nested dispatch has called it
            self.armed.remove(script)
            place = self.places[script.place]
            given = (place.hook or place.given) and self.cause is None
            if given:
                self.holders.append(script.part)
            if script.place != ABORT:
                self.run(script)
            elif given:
                self.on_abort.append(script)
            if place.hook or place.given:
                self.returned(script)

    def returned(self, script: Script) -> None:
        """The call of an awaited hook is over: of those that hold the signal, some go on watching it.

        Args:
            script: What the hook did.
        """
        del script
        self.holders = [one.part for one in self.on_abort]

    def run(self, script: Script) -> None:
        """A script runs.

        Raises:
            LeftOpen: When it runs, or what one of its calls does, is not said.
        """
        if self.loose:
            raise LeftOpen
        publishing, place = self.publishing, self.places.get(script.place)
        self.publishing = publishing or (place is not None and place.observes)
        self.running.append(Run(script.place, self.moment_of(script), self.window))
        self.play(script)
        self.running.pop()
        self.publishing = publishing

    def moment_of(self, script: Script) -> str:
        """When a script runs, as the grid says it."""
        place = self.places.get(script.place)
        return f"{script.place} in {self.phase}" if place is not None and place.inside else script.place

    def telling(self, part: str, clauses: Clauses) -> Clauses:
        """Who demands that a holder of the signal is told.

        Args:
            part: The holder.
            clauses: Demand it of every holder.
        """
        del part
        return clauses

    def aborted(self, clauses: Clauses) -> None:
        """The activity's signal fires: its holders are told, and what runs inside the firing runs."""
        assert self.cause is not None
        holders: dict[str, int | None] = dict.fromkeys(self.holders)
        if self.gate_open and self.phase == "streaming":
            holders[rows.MODEL] = self.calls
        for part, call in sorted(holders.items()):
            self.rows.append(rows.abort_row(call, self.cause, self.telling(part, clauses), part))
        scripts, self.on_abort = self.on_abort, []
        self.shuffled = self.shuffled or (bool(scripts) and len(holders) > 1)
        for script in scripts:
            self.run(script)
