"""The grid of the tool cancellation contract: every place along the calls of an answer, every cause, what is pending.

As in the grid of the cancellation contract, the window is the signal where it is aborted, and otherwise what is
pending.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Final

from dshconform.contracts import cancellation_grid
from dshconform.contracts.cancellation_grid import ABORTED, AGAIN, CANCELS, PENDING, acts_in
from dshconform.contracts.inbox_commands import burst, end, followup
from dshconform.contracts.scheduling_commands import asks, returns, throws
from dshconform.contracts.scripted_grid import Commands, Here, Spot, cells_of, last_cell, toured
from dshconform.contracts.tool_cancellation_agent import ToolCancellationAgent
from dshconform.contracts.tool_cancellation_calls import ToolCancellationCalls
from dshconform.contracts.tool_cancellation_commands import listen
from dshconform.protocol.json_value import JsonMap


def _call(here: Here, number: int) -> str:
    """A call that no other visit makes."""
    return f"k{here.visit}.{number}"


def _calling(here: Here, *tools: str) -> Commands:
    """A turn begins, and its answer calls these tools."""
    calls = (f"{_call(here, number)}:{tool}" for number, tool in enumerate(tools, 1))
    return followup("a"), asks(*calls)


_RUNNING: Final[Mapping[str, Sequence[str]]] = {"calling": ("tell",), "queued": ("tell", "read")}
"""The moments at which a body waits, each with the tools that the answer calls."""


def _outside() -> Iterator[Spot]:
    for moment, tools in _RUNNING.items():
        for window, pending in PENDING.items():
            yield _running(moment, window, tools, pending, CANCELS)
        for window, leads in ABORTED.items():
            yield _running(moment, window, tools, leads, AGAIN)


def _running(moment: str, window: str, tools: Sequence[str], behind: Commands, acts: Mapping[str, Commands]) -> Spot:
    """A body waits, in a window; where the signal is aborted, it can end too."""

    def visit(act: str, here: Here) -> Commands:
        ends = {"return": (returns(_call(here, 1)),), "throw": (throws(_call(here, 1)),)}
        return (*_calling(here, *tools), *behind, *{**acts, **ends}[act])

    names = (*acts, "return", "throw") if window in ABORTED else tuple(acts)
    return Spot(moment, window, names, visit)


_PLACES: Final = (
    "answer observer of calls",
    "call observer",
    "policy listener",
    "review listener",
    "result listener",
    "result observer",
    "step end observer of calls",
)
"""The moments along the calls of an answer; the first two calls are there at each."""

_CONVERGING: Final = ("call observer", "review listener", "result listener", "result observer")
"""Those that come behind an abort while a body runs, too."""


def _inside() -> Iterator[Spot]:
    for moment in _PLACES:
        for window, pending in PENDING.items():
            yield _listening(moment, window, acts_in(window), pending)
    for moment in _CONVERGING:
        for window, leads in ABORTED.items():
            yield _listening(moment, window, AGAIN, (), cut=leads)


def _listening(moment: str, window: str, acts: Mapping[str, Commands], pending: Commands, cut: Commands = ()) -> Spot:
    """A listener does something when it is called.

    Args:
        moment: When.
        window: The window.
        acts: What it does.
        pending: What is pending by then.
        cut: What aborts the turn while the first body runs, in front of the listener.
    """
    place = moment.removesuffix(" of calls")

    def visit(act: str, here: Here) -> Commands:
        listener = listen(f"{place} {here.visit}", place, *acts[act])
        tools = ("read", "read") if place == "step end observer" else ("tell", "read")
        begins, answers = _calling(here, *tools)
        first, second = returns(_call(here, 1)), returns(_call(here, 2))
        if cut:
            return begins, answers, *cut, listener, first
        begins = burst(begins, *pending) if pending else begins
        if place in _BEFORE_BODIES:
            return begins, listener, answers
        if place == "step end observer":
            return begins, answers, listener, first, second
        return begins, answers, listener, first

    return Spot(moment, window, tuple(acts), visit)


_BEFORE_BODIES: Final = frozenset({"answer observer", "call observer", "policy listener"})

_SPOTS: Final = (*_outside(), *_inside())
CELLS: Final = cells_of(_SPOTS)
"""Every cell."""

_GRID: Final = frozenset(CELLS)


def cell_of(visits: Sequence[tuple[str, str, str]]) -> str | None:
    """The cell of a command that visited these moments, acts and windows.

    Args:
        visits: What it visited, in order.
    """
    return last_cell(visits, _GRID)


@cache
def tours(switches: frozenset[str]) -> tuple[tuple[JsonMap, ...], ...]:
    """For each spot the commands that visit its cells.

    Args:
        switches: The variants that are followed.
    """

    def made() -> tuple[ToolCancellationAgent, ToolCancellationCalls]:
        agent = ToolCancellationAgent()
        return agent, ToolCancellationCalls(agent, switches)

    return toured(_SPOTS, made, _to_rest)


def _to_rest(agent: ToolCancellationAgent) -> JsonMap | None:
    """The next command on the way to an idle agent with nothing pending, if it is not there."""
    if agent.phase == "calling":
        return returns(str(agent.call["id"]))
    return end() if agent.phase == "streaming" else cancellation_grid.to_rest(agent)
