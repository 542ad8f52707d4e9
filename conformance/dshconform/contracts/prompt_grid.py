"""The grid of the prompt contract, and the prologues that visit each of its cells.

A cell says what changes, whose it is, how, and when: `section / far / hides / in tools`. All is seen from the agent's
own scope (`near`): it sees what is global (`root`) and what is in the scope around it (`far`), and nothing of the one
`beside`. What `hides` has a name that another layer in sight has too. Changes come at rest, in each kind of provider
that an assembly asks, and while a listener of its chain waits.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import count
from typing import Final

from dshconform.contracts.grid import spelled
from dshconform.contracts.inbox_commands import read_command
from dshconform.contracts.prompt_calls import PromptCalls
from dshconform.contracts.prompt_commands import (
    KINDS,
    RELEASE,
    SCOPES,
    TURN,
    Contribution,
    Kind,
    Scope,
    assemble,
    context,
    hold,
    offer,
    open_world,
    provider,
    section,
    suppress,
    tool,
    tools,
    undo,
    variable,
)
from dshconform.contracts.prompt_world import HELD, REST, SET_UP, PromptWorld
from dshconform.protocol.json_value import JsonMap

Act = str
"""What a command does to a contribution, in the words of this contract."""

_CHANGES: Final = ("added", "removed", "hides", "uncovers")
_MOMENTS: Final = (REST, HELD, "in variables", "in tools", "in sections", "in contexts")
_NAMED: Final[frozenset[Kind]] = frozenset({"section", "context", "variable"})


def _made(part: str, kind: Kind, scope: Scope, text: str) -> JsonMap:
    """A contribution."""
    match kind:
        case "section":
            return section(part, scope, "s", text, order=5)
        case "context":
            return context(part, scope, "c", text, order=5)
        case "variable":
            return variable(part, scope, "v", text)
        case "tools":
            return tools(part, scope, offer(tool("t1", text)))
        case "suppress":
            return suppress(part, scope)


def _asked(part: str, moment: str, command: JsonMap) -> JsonMap:
    """A provider that is asked at a moment, and then does something."""
    does = provider(f"f {part}", offer(tool("m")) if moment == "in tools" else "m", command)
    match moment:
        case "in variables":
            return variable(part, "root", "m", does)
        case "in tools":
            return tools(part, "root", does)
        case "in sections":
            return section(part, "root", "m", does)
        case _:
            return context(part, "root", "m", does)


@dataclass(frozen=True, slots=True)
class Spot:
    """What is contributed, and where."""

    kind: Kind
    """What is contributed."""
    scope: Scope
    """Where it is contributed."""

    @property
    def acts(self) -> Iterator[tuple[str, str]]:
        """How it changes, and when: the product, less what cannot be or is not said."""
        for change in _CHANGES:
            if change in {"hides", "uncovers"} and (self.kind not in _NAMED or self.scope not in {"far", "near"}):
                continue  # nothing of that kind hides anything; nor does what is global, or not in sight
            for moment in _MOMENTS:
                if self.kind == "variable" and moment == "in variables":
                    continue  # the walk over the variables is live (LAYER-ITER-01, LAYER-ITER-02)
                suppressed = self.kind == "suppress" and change == "removed" and self.scope != "beside"
                if not (suppressed and moment == "in contexts"):  # none is asked then (PROMPT-CTX-02)
                    yield change, moment

    def cell(self, change: str, moment: str) -> str:
        """`section / far / hides / in tools`.

        Args:
            change: What happens to the contribution.
            moment: When: at rest, or in which part of an assembly.
        """
        return spelled(self.kind, self.scope, change, moment)

    def visit(self, change: str, moment: str, number: int) -> list[JsonMap]:
        """The commands that visit a cell, from rest, and show it.

        Args:
            change: What happens to the contribution.
            moment: When: at rest, or in which part of an assembly.
            number: Keeps the names of its commands apart from those of other visits.
        """
        added, removes = _made(f"x{number}", self.kind, self.scope, "mine"), change in {"removed", "uncovers"}
        hidden = change in {"hides", "uncovers"}
        before = [_made(f"y{number}", self.kind, "root", "everybody's")] if hidden else []
        before += [added] if removes else []
        changes = undo(f"x{number}") if removes else added
        if moment == REST:
            return [*before, changes, assemble("near"), TURN]
        if moment == HELD:
            return [*before, hold(), changes, RELEASE, assemble("near")]
        return [*before, _asked(f"p{number}", moment, changes), assemble("near"), assemble("near")]


_SPOTS: Final = tuple(Spot(kind, scope) for kind in KINDS for scope in SCOPES)
CELLS: Final = tuple(spot.cell(*act) for spot in _SPOTS for act in spot.acts)
"""Every cell."""

_GRID: Final = frozenset(CELLS)


def cell_of(visits: Sequence[tuple[str, ...]]) -> str | None:
    """The cell of a command that did these things: the last one, where there are several.

    Args:
        visits: What happened: kind, scope, change and moment of each.
    """
    cells = (spelled(*visited) for visited in reversed(visits))
    return next((cell for cell in cells if cell in _GRID), None)


@cache
def tours(switches: frozenset[str]) -> tuple[tuple[JsonMap, ...], ...]:
    """For each spot the commands that visit its cells, one after the other, each from rest.

    Args:
        switches: The variants in which the implementation is followed.
    """
    return tuple(tuple(_tour(spot, switches)) for spot in _SPOTS)


def _tour(spot: Spot, switches: frozenset[str]) -> Iterator[JsonMap]:
    calls = PromptCalls(PromptWorld(switches=switches))
    numbers = count(1)
    visited: set[str | None] = set()

    def performed(command: JsonMap) -> JsonMap:
        op, args = read_command(command)
        assert calls.legal(op, args), (spot, command)
        visited.add(cell_of(calls.visits(op, args)))
        calls.world.begin()
        calls.call(op, args)
        return command

    yield performed(open_world())
    for change, moment in spot.acts:
        for command in spot.visit(change, moment, next(numbers)):
            yield performed(command)
        assert spot.cell(change, moment) in visited, (spot.cell(change, moment), visited)
        for part in _there(calls.world):
            yield performed(undo(part))


def _there(world: PromptWorld) -> list[str]:
    """What is contributed beyond what the world begins with."""
    entries: Mapping[Scope, list[Contribution]] = world.layers.entries
    held = [one.part for layer in entries.values() for one in layer]
    return [part for part in held if part in world.disposers and part != SET_UP.part]
