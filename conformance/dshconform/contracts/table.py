"""A table of the specification as a check: every cell is a few worlds, each a scenario of its own."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from dshconform.running.check import Failure, Outcome, RunContext
from dshconform.scenarios.check import ScenarioCheck
from dshconform.scenarios.load import Scenario


@dataclass(frozen=True)
class TableCheck:
    """One table as a check.

    Args:
        table: Its name: `phase`.
        contract: The contract that it belongs to.
        cells: A scenario for each world, named and titled by its cell.
    """

    table: str
    contract: str
    cells: Sequence[Scenario] = field(repr=False)

    @property
    def name(self) -> str:
        """`table/<table>`."""
        return f"table/{self.table}"

    @property
    def profile(self) -> str:
        """The profile that every implementation has."""
        return "core"

    @property
    def features(self) -> tuple[str, ...]:
        """None."""
        return ()

    @cached_property
    def clauses(self) -> tuple[str, ...]:
        """Every clause that a cell cites."""
        return tuple(dict.fromkeys(clause for cell in self.cells for clause in cell.clauses))

    @property
    def divisible(self) -> bool:
        """No: of the failures that one clause answers for, only the first is told."""
        return False

    def worlds(self, examples: int) -> int:
        """One for each scenario.

        Args:
            examples: How many worlds a machine opens; a table has no use for it.
        """
        del examples
        return len(self.cells)

    def run(self, context: RunContext, outcome: Outcome) -> None:
        """Run every cell, whatever the others showed.

        Args:
            context: Link and ledger; seed and examples mean nothing to a table.
            outcome: Filled with what held and what failed, cell by cell. Of the failures that one clause answers
                for, only the first is reported in full.

        Raises:
            AdapterFault: The adapter broke the protocol.
            BudgetSpent: The time is over.
        """
        for cell in self.cells:
            found = Outcome(check=self.name)
            try:
                ScenarioCheck(cell).run(context, found)
                outcome.cells[cell.title] = "held"
            finally:
                self._take_in(cell.title, found, outcome)
        for clause in outcome.held:
            outcome.not_run.pop(clause, None)

    def conclude(self, outcome: Outcome) -> None:
        """Nothing follows.

        Args:
            outcome: Stays as it is.
        """

    def _take_in(self, cell: str, found: Outcome, outcome: Outcome) -> None:
        if found.failures or found.stopped:
            outcome.cells[cell] = "failed" if found.failures else "stopped"
        outcome.examples += found.examples
        outcome.commands += found.commands
        outcome.stopped += found.stopped
        for clause, times in found.held.items():
            outcome.held[clause] = outcome.held.get(clause, 0) + times
        for clause, why in found.not_run.items():
            reason = f"behind the differences that {self.name} found" if found.failures else why
            outcome.not_run.setdefault(clause, reason)
        outcome.failures += [one for one in found.failures if not _is_known(one, outcome.failures)]


def _is_known(failure: Failure, others: Sequence[Failure]) -> bool:
    blamed = failure.difference.clauses[:1]
    return any(other.difference.clauses[:1] == blamed for other in others)
