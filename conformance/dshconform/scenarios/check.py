"""Run one scenario as a check."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from dshconform.running.check import Failure, Outcome, RunContext
from dshconform.running.ledger import Deviation
from dshconform.running.step import Step
from dshconform.running.world import new_world
from dshconform.scenarios.load import Scenario
from dshconform.trace.compare import NO_ROWS
from dshconform.trace.pattern import Difference


@dataclass(frozen=True, slots=True)
class ScenarioCheck:
    """One scenario as a check."""

    scenario: Scenario

    @property
    def name(self) -> str:
        """`scenario/<id>`."""
        return f"scenario/{self.scenario.id}"

    @property
    def contract(self) -> str:
        """The scenario's contract."""
        return self.scenario.contract

    @property
    def profile(self) -> str:
        """The profile that it needs."""
        return self.scenario.profile

    @property
    def features(self) -> tuple[str, ...]:
        """The features that it needs."""
        return self.scenario.features

    @property
    def clauses(self) -> tuple[str, ...]:
        """Every clause that it cites."""
        return self.scenario.clauses

    @property
    def divisible(self) -> bool:
        """No: the worlds of a sweep end at the first failure."""
        return False

    def worlds(self, examples: int) -> int:
        """One, or as many as its sweep has.

        Args:
            examples: How many worlds a machine opens; a scenario has no use for it.
        """
        del examples
        return len(self.scenario.worlds)

    def run(self, context: RunContext, outcome: Outcome) -> None:
        """Run it in a fresh world, or one for each moment of its sweep, up to the first failure.

        A failure is tried a second time, to see whether it is always there.

        Args:
            context: Link and ledger; seed and examples mean nothing to a scenario.
            outcome: Filled with what held, what failed, what could not be reached.

        Raises:
            AdapterFault: The adapter broke the protocol.
            BudgetSpent: The time is over.
        """
        for number, steps in enumerate(self.scenario.worlds):
            context.budget.need()
            world = new_world(context.link, context.ledger)
            try:
                difference, done = world.perform_all(steps)
            finally:
                outcome.count(world)
            if difference is not None:
                entry = context.ledger.stops(difference)
                self._hide(steps[done - 1 :], difference, entry, outcome)
                if entry is None:
                    outcome.failures.append(
                        Failure(
                            difference=difference,
                            steps=steps[:done],
                            rows=world.last_rows(),
                            document=self.scenario.document_of(number),
                            reproduced=None,
                            found_after=done,
                        )
                    )
                else:
                    outcome.stopped += 1
            world.close()
            context.progress(1)
            if outcome.failures:
                self._try_again(context, outcome)
                break
        for clause in outcome.held:
            outcome.not_run.pop(clause, None)

    def conclude(self, outcome: Outcome) -> None:
        """Nothing follows.

        Args:
            outcome: Stays as it is.
        """

    def _hide(self, steps: Sequence[Step], difference: Difference, entry: Deviation | None, outcome: Outcome) -> None:
        """Take in that the steps from a difference on could not be evaluated."""
        reason = f"behind the first difference of {self.name}" if entry is None else _behind(entry)
        for step in steps:
            outcome.not_run |= {clause: reason for clause in step.expect.cited() if clause not in difference.clauses}

    def _try_again(self, context: RunContext, outcome: Outcome) -> None:
        """Perform the failure's steps again, in a fresh world."""
        failure = outcome.failures[-1]
        world = new_world(context.link, context.ledger)
        again, _ = world.perform_all(failure.steps)
        alike = again is not None and (again.at, again.path) == (failure.difference.at, failure.difference.path)
        outcome.failures[-1] = replace(failure, reproduced=alike, again=NO_ROWS if alike else world.last_rows())
        world.close()


def _behind(entry: Deviation) -> str:
    return f"behind the listed deviation {entry.title}"
