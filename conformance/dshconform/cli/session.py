"""One run from the command line: open the implementation, and run checks against it."""

import gc
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

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


@dataclass(slots=True)
class Session:
    """What one call of the command line does with one implementation.

    Args:
        target: The implementation.
        clauses: The specification, by id.
        checks: All checks that exist.
        teller: Tells of it.
    """

    target: Target
    clauses: Mapping[str, Clause]
    checks: Sequence[Check]
    teller: Teller = field(init=False)

    def __post_init__(self) -> None:
        self.teller = Teller(self.clauses, self.target.spelled, self.target.work)

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
        """Open the implementation and run checks; nothing when it could not be opened, which is then printed."""
        ledger = ledger_of(self.target, self.clauses, self.checks)
        gc.freeze()  # what is loaded by now stays: no collection has to walk the checks and the specification
        try:
            with RunProgress(self.teller.console, self.clauses) as progress:
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
            self.teller.tell_fault(fault)
        except CannotStart as error:
            self.teller.say(f"error: {error.message}\n  remedy: {error.remedy}")
        return None

    @contextmanager
    def _opened(self, seed: int) -> Iterator[Link]:
        with self.target.open(self.teller.say) as link:
            self.teller.headline(link.hello, seed)
            yield link


def ledger_of(target: Target, clauses: Mapping[str, Clause], checks: Sequence[Check]) -> Ledger:
    """The known differences of an implementation.

    Raises:
        click.UsageError: Its file cannot be used.
    """
    try:
        return read_ledger(target.implementation.ledger, clauses, [check.name for check in checks], VARIANTS)
    except LedgerError as error:
        raise click.UsageError(str(error)) from error
