"""The grids of contracts with callbacks: cells that a command visits from outside or from inside, and their tours.

A cell says when something is done, what, and in which window: `streaming / steer / cancelled keep`. The moment is a
phase, or a place of callbacks; the window is that of the agent; in a callback, when it begins.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from dshconform.contracts.grid import spelled
from dshconform.contracts.inbox_commands import read_command
from dshconform.contracts.wake_agent import WakeAgent
from dshconform.contracts.wake_calls import WakeCalls
from dshconform.protocol.json_value import JsonMap

Commands: TypeAlias = Sequence[JsonMap]
"""The commands of a prologue, or a part of them."""

A = TypeVar("A", bound=WakeAgent)


@dataclass(frozen=True, slots=True)
class Here:
    """Where a visit begins.

    Args:
        turn: The number of the next turn.
        visit: How many visits there were, this one included: listeners have names of their own.
    """

    turn: int
    visit: int


Approach: TypeAlias = Callable[[Commands, Here], Commands]
"""From rest to a callback: the commands by which a script comes to run."""


@dataclass(frozen=True, slots=True)
class Spot:
    """Cells that differ in what is done alone.

    Args:
        moment: When.
        window: The window.
        acts: What is done there.
        visit: The commands that do it, from rest; the last one visits the cell.
    """

    moment: str
    window: str
    acts: Sequence[str]
    visit: Callable[[str, Here], Commands]

    def cell(self, act: str) -> str:
        """`streaming / steer / cancelled keep`.

        Args:
            act: What is done there.
        """
        return spelled(self.moment, act, self.window)


def cells_of(spots: Sequence[Spot]) -> tuple[str, ...]:
    """Every cell.

    Args:
        spots: Where something is done, and what.
    """
    return tuple(spot.cell(act) for spot in spots for act in spot.acts)


def last_cell(visits: Sequence[tuple[str, str, str]], grid: frozenset[str]) -> str | None:
    """The cell of a command that visited these moments, acts and windows: the last one, where there are several.

    Args:
        visits: Moment, act and window of each.
        grid: Every cell.
    """
    cells = (spelled(*visited) for visited in reversed(visits))
    return next((cell for cell in cells if cell in grid), None)


def toured(
    spots: Sequence[Spot],
    make: Callable[[], tuple[A, WakeCalls]],
    rest: Callable[[A], JsonMap | None],
) -> tuple[tuple[JsonMap, ...], ...]:
    """For each spot the commands that visit its cells, one after the other, each from rest.

    Args:
        spots: The spots.
        make: Makes an agent in its first state, and its calls.
        rest: The next command on the way to rest; none at rest.
    """
    grid = frozenset(cells_of(spots))
    return tuple(tuple(_tour(spot, grid, *make(), rest)) for spot in spots)


def _tour(
    spot: Spot, grid: frozenset[str], agent: A, calls: WakeCalls, rest: Callable[[A], JsonMap | None]
) -> Iterator[JsonMap]:
    for visit, act in enumerate(spot.acts, 1):
        for command in spot.visit(act, Here(agent.turn + 1, visit)):
            _perform(agent, calls, command)
            yield command
        assert last_cell(agent.visited, grid) == spot.cell(act), (spot.cell(act), agent.visited)
        while (command_to_rest := rest(agent)) is not None:
            _perform(agent, calls, command_to_rest)
            yield command_to_rest


def _perform(agent: WakeAgent, calls: WakeCalls, command: JsonMap) -> None:
    op, args = read_command(command)
    assert calls.legal(op, args), command
    agent.begin()
    calls.call(op, args)
    agent.settle()
