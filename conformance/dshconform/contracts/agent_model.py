"""What the models of one agent have in common: how a command becomes a step, judged by what the abstract agent tells.

A contract adds its opening, its alphabet, and the agent and the calls that its clauses describe.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final, Generic, TypeAlias, TypeVar

from dshconform.contracts.agent_grid import Grid
from dshconform.contracts.grid import tours
from dshconform.contracts.inbox_agent import AbstractAgent
from dshconform.contracts.inbox_calls import Calls, inspected
from dshconform.contracts.inbox_commands import items_of, read_command
from dshconform.contracts.inbox_rows import AGENT, Clauses, return_row
from dshconform.contracts.model import Model
from dshconform.contracts.source import Source
from dshconform.protocol.json_value import Json, JsonMap
from dshconform.running.step import Expectation, Step
from dshconform.trace.rows import COMPARED, ExpectedRow, is_compared

A = TypeVar("A", bound=AbstractAgent)

Choice: TypeAlias = Callable[[Source, A], JsonMap]
"""Chooses the next command of one example; it may be one that is not legal."""

_LOOK_CLAUSES: Final = ("INBOX-LIST-01",)


@dataclass(frozen=True, slots=True)
class Alphabet(Generic[A]):
    """The commands of a contract.

    Args:
        prologues: Lists that together reach every clause of the model.
        standing: Makes what chooses the commands of an example, from the example's first choices.
        instead: Stands in for a chosen command that is not legal.
        simpler: See `Model.simpler`.
        tidied: See `Model.tidied`.
        compared: The rows that its expectations speak about.
    """

    prologues: Sequence[Sequence[JsonMap]]
    standing: Callable[[Source], Choice[A]]
    instead: JsonMap
    simpler: Callable[[JsonMap], list[JsonMap]]
    tidied: Callable[[Sequence[JsonMap]], list[JsonMap]]
    compared: frozenset[str] = COMPARED


class AgentModel(Model, Generic[A]):
    """The abstract state of one agent, and of what is done to it.

    Args:
        agent: In its first state.
        calls: What commands do to it before they return.
        alphabet: The contract's commands.
        grid: Its cells, unless the contract tells them in a way of its own.
    """

    features: ClassVar[tuple[str, ...]] = ()
    variants: ClassVar[Mapping[str, str]] = {}

    def __init__(self, agent: A, calls: Calls, alphabet: Alphabet[A], grid: Grid[A] | None = None) -> None:
        self.departed: list[str] = []
        self._agent = agent
        self._calls = calls
        self._alphabet = alphabet
        self._grid = grid
        self._choice: Choice[A] | None = None
        self._told: set[tuple[Json, Json]] = set()

    @property
    def agent(self) -> A:
        """The abstract agent, to be looked at."""
        return self._agent

    def prologues(self) -> list[list[JsonMap]]:
        """The lists that together reach every clause of the model; a contract adds those that visit its grid."""
        return [list(prologue) for prologue in self._alphabet.prologues]

    def propose(self, source: Source) -> JsonMap:
        """Choose a legal command.

        Args:
            source: Where choices come from.
        """
        if self._choice is None:
            self._choice = self._alphabet.standing(source)
        proposed = self._choice(source, self._agent)
        return proposed if self.legal(proposed) else self._alphabet.instead

    def legal(self, command: JsonMap) -> bool:
        """Whether the clauses say what a command does now.

        Raises:
            CommandError: It is no command of this contract.
        """
        return self._calls.legal(*read_command(command))

    def cell(self, command: JsonMap) -> str | None:
        """The cell of the grid that a legal command visits in this state; none where the grid says nothing of it."""
        return None if self._grid is None else self._grid.cell(self._agent, command)

    def apply(self, command: JsonMap) -> list[Step]:
        """Advance by a legal command; the steps are the command, and a look at the agent where the contract has one."""
        agent, answers = self._agent, self._calls.answers
        op, args = read_command(command)
        agent.begin()
        answer = self._calls.call(op, args)
        self.departed = [] if answer.departed is None else [answer.departed]
        if op not in answers:
            agent.rows.append(return_row(op, answer.limit))
        settled = agent.settle()
        whole = self._alphabet.compared
        only = agent.compared(whole)
        if op == "burst" and any(item.get("op") in answers for item in items_of(args)):
            only = only - {"abort", "closed"}  # whether an ended call still has its signal is the adapter's affair
        self._told |= told_in(agent.rows)
        rows = agent.rows if only is whole else [row for row in agent.rows if is_compared(row.pattern, only)]
        expect = Expectation(
            clauses=answer.by or settled,
            after=settled or answer.more,
            result=answer.result,
            error=answer.error,
            rows=tuple(rows),
            only=only,
            apart=agent.apart,
            surplus=self._surplus,
            open=None if answer.departed else agent.waiting,
        )
        step = Step(op, args, expect)
        return [step, self.look()] if self.looks else [step]

    def _surplus(self, row: JsonMap, ahead: Sequence[ExpectedRow]) -> Clauses:
        """Who says first of a row that it may not come now: whoever was told of an abort is not told again."""
        again = self._told - told_in(ahead)
        if row["on"] == "abort" and not again.isdisjoint({(row["part"], row.get("n")), (row["part"], None)}):
            return ("CANCEL-FIRST-01",)
        return self._agent.surplus(row, ahead)

    def simpler(self, command: JsonMap) -> list[JsonMap]:
        """Commands that say less than this one.

        Args:
            command: A command that led to a difference.
        """
        return self._alphabet.simpler(command)

    def tidied(self, commands: Sequence[JsonMap]) -> list[JsonMap]:
        """The same commands, what they name called in order of appearance."""
        return self._alphabet.tidied(commands)

    @property
    def looks(self) -> bool:
        """Whether the agent is looked at behind a command: wherever it led to rest."""
        return self._agent.phase == "idle"

    def look(self) -> Step:
        """A look at the agent, which must be as the model has it."""
        shown = (return_row("agent.inspect", _LOOK_CLAUSES),)
        expect = Expectation(clauses=_LOOK_CLAUSES, result=inspected(self._agent), rows=shown)
        return Step("agent.inspect", {"agent": AGENT}, expect, probe=True)


def told_in(rows: Sequence[ExpectedRow]) -> set[tuple[Json, Json]]:
    """Who is told of an abort in some rows: the function, and which of its calls, if that is said.

    Args:
        rows: What must be observed.
    """
    aborts = [row.pattern for row in rows if row.pattern["on"] == "abort"]
    return {(row["part"], row.get("n")) for row in aborts}


def toured(make: Callable[[], AgentModel[A]], grid: Grid[A]) -> list[list[JsonMap]]:
    """Make the prologues that visit every cell of a grid.

    Args:
        make: Makes a model in its first state.
        grid: Its grid.
    """

    def made() -> tuple[Model, A]:
        model = make()
        return model, model.agent

    return tours(made, grid.places, grid.rest)
