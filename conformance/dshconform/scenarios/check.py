"""Run one scenario as a check."""

from dataclasses import dataclass

from dshconform.running.check import Failure, Outcome, RunContext
from dshconform.running.world import World, perform_steps
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

    def worlds(self, examples: int) -> int:
        """One, whatever the number of examples."""
        del examples
        return 1

    def run(self, context: RunContext) -> Outcome:
        """Run it in a fresh world; a failure is tried a second time, to see whether it is always there.

        Args:
            context: Link and ledger; seed and examples mean nothing to a scenario.

        Returns:
            What held, what failed, what could not be reached.

        Raises:
            AdapterFault: The adapter broke the protocol.
        """
        outcome = Outcome(check=self.name, examples=1)
        world, difference, done = perform_steps(self.scenario.steps, context.link, context.ledger)
        outcome.commands = world.commands
        outcome.held = dict(world.matching.held)
        if difference is not None:
            entry = context.ledger.stops(difference)
            if entry is not None:
                outcome.stopped = 1
                reason = f"behind the listed deviation {entry.title}"
            else:
                again = perform_steps(self.scenario.steps[:done], context.link, context.ledger)
                outcome.failures.append(_failure(self.scenario, world, difference, done, again))
                reason = f"behind the first difference of {self.name}"
            for step in self.scenario.steps[done - 1 :]:
                for clause in step.expect.cited():
                    if clause not in outcome.held and clause not in difference.clauses:
                        outcome.not_run[clause] = reason
        context.progress(1)
        return outcome


def _failure(
    scenario: Scenario, world: World, difference: Difference, done: int, again: tuple[World, Difference | None, int]
) -> Failure:
    second, met, _ = again
    reproduced = met is not None and (met.at, met.path) == (difference.at, difference.path)
    return Failure(
        difference=difference,
        steps=scenario.steps[:done],
        rows=world.last_rows(),
        document=scenario.document,
        reproduced=reproduced,
        again=NO_ROWS if reproduced else second.last_rows(),
        found_after=done,
    )
