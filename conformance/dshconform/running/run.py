"""Run the selected checks against one implementation, and lose nothing when it ends early."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from dshconform.links.link import AdapterFault, Link
from dshconform.protocol.messages import Hello
from dshconform.running.check import Check, Outcome, RunContext
from dshconform.running.ledger import Ledger
from dshconform.running.verdict import Judgement, judge, runnable
from dshconform.spec.clause import Clause


class Progress(Protocol):
    """Is told how a run goes on."""

    def start(self, check: Check, worlds: int) -> None:
        """A check begins; it will open so many worlds."""
        ...

    def advance(self, worlds: int) -> None:
        """So many worlds of it are done."""
        ...

    def finish(self, outcome: Outcome) -> None:
        """It is done."""
        ...


@dataclass(slots=True, kw_only=True)
class RunResult:
    """One run.

    Args:
        hello: What the adapter declared.
        selected: The checks that were to run.
        outcomes: What those said that did.
        judgement: What follows for the clauses.
        seed: Every random choice followed from it.
        examples: Worlds that each machine was to open.
        fault: Why the run was cut short, if it was.
    """

    hello: Hello
    selected: tuple[Check, ...]
    outcomes: list[Outcome] = field(default_factory=list)
    judgement: Judgement
    seed: int
    examples: int
    fault: AdapterFault | None = None

    @property
    def complete(self) -> bool:
        """Whether every selected check that could run did."""
        return self.fault is None


def run_checks(
    link: Link,
    *,
    specification: Sequence[Clause],
    checks: Sequence[Check],
    selected: Sequence[Check],
    ledger: Ledger,
    seed: int,
    examples: int,
    progress: Progress,
    stop_at: Callable[[Outcome], bool] = lambda _: False,
) -> RunResult:
    """Run checks one after the other over one link.

    Args:
        link: The implementation.
        specification: All clauses.
        checks: All checks that exist.
        selected: Those to run; one that needs an undeclared profile or feature does not run.
        ledger: The known differences.
        seed: Every random choice follows from it.
        examples: Worlds that each machine opens.
        progress: Is told.
        stop_at: Ends the run after an outcome of which it is true.

    Returns:
        The outcomes so far and the judgement; with `fault` when the adapter broke the protocol.
    """
    outcomes: list[Outcome] = []
    fault: AdapterFault | None = None
    for check in selected:
        if not runnable(check, link.hello):
            continue
        progress.start(check, check.worlds(examples))
        context = RunContext(link=link, ledger=ledger, seed=seed, examples=examples, progress=progress.advance)
        try:
            outcome = check.run(context)
        except AdapterFault as broken:
            fault = broken
            break
        outcomes.append(outcome)
        progress.finish(outcome)
        if stop_at(outcome):
            break
    judgement = judge(
        specification=specification,
        checks=checks,
        selected=selected,
        outcomes=outcomes,
        hello=link.hello,
        ledger=ledger,
        complete=fault is None,
    )
    return RunResult(
        hello=link.hello,
        selected=tuple(selected),
        outcomes=outcomes,
        judgement=judgement,
        seed=seed,
        examples=examples,
        fault=fault,
    )
