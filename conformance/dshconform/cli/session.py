"""One run from the command line: open the implementation, and run checks against it."""

import gc
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import click

from dshconform.adapters.catalog import CannotStart
from dshconform.checks.catalog import VARIANTS
from dshconform.cli.target import Target
from dshconform.cli.telling import Teller
from dshconform.links.link import AdapterFault, Link
from dshconform.report.progress import RunProgress
from dshconform.running.budget import Budget
from dshconform.running.check import Check, Outcome
from dshconform.running.ledger import Ledger, LedgerError, read_ledger
from dshconform.running.run import RunResult, run_checks
from dshconform.running.shard import WHOLE, Shard
from dshconform.spec.clause import Clause


class Session(Teller):
    """What one call of the command line does with one implementation.

    Args:
        target: The implementation.
        clauses: The specification, by id.
        checks: All checks that exist.
    """

    def __init__(self, target: Target, clauses: Mapping[str, Clause], checks: Sequence[Check]) -> None:
        super().__init__(clauses, target.spelled, target.work)
        self.target = target
        self.checks = checks

    def ledger(self) -> Ledger:
        """The implementation's known differences.

        Raises:
            click.UsageError: Its file cannot be used.
        """
        known = [check.name for check in self.checks]
        try:
            return read_ledger(self.target.implementation.ledger, self.clauses, known, VARIANTS)
        except LedgerError as error:
            raise click.UsageError(str(error)) from error

    def run(
        self,
        selected: Sequence[Check],
        *,
        seed: int,
        examples: int,
        shard: Shard = WHOLE,
        budget: Budget | None = None,
        stop_at: Callable[[Outcome], bool] = lambda _: False,
    ) -> RunResult | None:
        """Open the implementation and run checks; nothing when it could not be opened, which is then printed.

        Args:
            selected: The checks to run.
            seed: Every random choice follows from it.
            examples: Worlds that each machine opens.
            shard: The part of a divided run that this is.
            budget: The time that it may take.
            stop_at: Ends the run after an outcome of which it is true.

        Returns:
            The run, its judgement included.

        Raises:
            click.UsageError: The file of the ledger cannot be used.
            KeyboardInterrupt: The user did not wait for the greeting.
        """
        ledger = self.ledger()
        gc.freeze()  # what is loaded by now stays: no collection has to walk the checks and the specification
        try:
            with RunProgress(self.console, self.clauses) as progress:
                return run_checks(
                    self._opened(seed),
                    specification=list(self.clauses.values()),
                    checks=self.checks,
                    selected=selected,
                    ledger=ledger,
                    seed=seed,
                    examples=examples,
                    progress=progress,
                    shard=shard,
                    budget=budget,
                    stop_at=stop_at,
                )
        except AdapterFault as fault:
            self.tell_fault(fault)
        except CannotStart as error:
            self.tell_no_start(error)
        return None

    @contextmanager
    def _opened(self, seed: int) -> Iterator[Link]:
        with self.target.open(self.say) as link:
            self.headline(link.hello, seed)
            yield link
