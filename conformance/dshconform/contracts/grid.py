"""The grid of a contract: prologues that visit each of its cells, whatever the seed.

A place is a state of the model that is reached on purpose: a phase, in a certain window of cancellation and latch. Its
cells are what can be done there. For each place there is one prologue, in which all of that is done: as long as the
place is not left, one act after the other, and otherwise by coming to rest and approaching it again.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Generic, TypeAlias, TypeVar

from dshconform.contracts.inbox_commands import read_command
from dshconform.contracts.model import Model
from dshconform.protocol.json_value import JsonMap

S = TypeVar("S")

Fresh: TypeAlias = Iterator[str]
"""Ids that nothing in the world has."""

Act: TypeAlias = Callable[[S, Fresh], JsonMap]
"""Makes a command that fits the state."""


@dataclass(frozen=True, slots=True)
class Place(Generic[S]):
    """A state that is reached on purpose, and what is done there.

    Args:
        approach: Commands that lead there from rest.
        acts: For each cell of the place, what visits it, in an order in which each prepares the next where one has to.
    """

    approach: Callable[[Fresh], Sequence[JsonMap]]
    acts: Mapping[str, Act[S]]


def spelled(*parts: str) -> str:
    """A cell as a text: `streaming / steer / live`.

    Args:
        *parts: The phase or place first, then the act, then the window.
    """
    return " / ".join(parts)


def tours(
    make: Callable[[], tuple[Model, S]], places: Sequence[Place[S]], rest: Callable[[S, Fresh], JsonMap | None]
) -> list[list[JsonMap]]:
    """Make the prologues that visit every cell of some places: one for each place.

    Args:
        make: Makes a model in its first state, and answers the state that acts look at.
        places: The places.
        rest: The next command on the way to rest; none at rest.
    """
    return [_tour(*make(), place, rest) for place in places]


def _tour(model: Model, state: S, place: Place[S], rest: Callable[[S, Fresh], JsonMap | None]) -> list[JsonMap]:
    fresh = (f"t{number}" for number in count(1))
    done: list[JsonMap] = []

    def perform(command: JsonMap) -> None:
        assert model.legal(command), (place, command)
        model.apply(command)
        done.append(command)

    def visit(cell: str, act: Act[S]) -> bool:
        command = act(state, fresh)
        if not model.legal(command) or model.cell(command) != cell:
            return False
        perform(command)
        return True

    for cell, act in place.acts.items():
        if visit(cell, act):
            continue
        while (command := rest(state, fresh)) is not None:
            perform(command)
        for command in place.approach(fresh):
            perform(command)
        assert visit(cell, act), f"the approach does not lead to {cell}"
    return done


class Tour:
    """A prologue in the making, whose commands are performed by an abstract state as they are added.

    Args:
        cell: The cell that a command visits in that state.
        perform: Does a command.
    """

    def __init__(self, cell: Callable[[str, JsonMap], str | None], perform: Callable[[str, JsonMap], object]) -> None:
        self.done: list[JsonMap] = []
        """The commands so far."""
        self._cell = cell
        self._perform = perform
        self._made = 0

    def do(self, command: JsonMap) -> None:
        """Go on with a command.

        Args:
            command: The command.
        """
        self._perform(*read_command(command))
        self.done.append(command)

    def visit(self, wanted: str, command: JsonMap) -> None:
        """Go on with a command that visits a cell.

        Args:
            wanted: The cell that it has to visit; an assertion holds it.
            command: A legal command.
        """
        visited = self._cell(*read_command(command))
        assert visited == wanted, (wanted, visited, command)
        self.do(command)

    def fresh(self, kind: str) -> str:
        """A name that nothing has.

        Args:
            kind: What it begins with.
        """
        self._made += 1
        return f"{kind}{self._made}"
