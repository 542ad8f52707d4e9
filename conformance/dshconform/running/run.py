"""Run the selected checks against one implementation, and lose nothing when it ends early."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Final, Protocol

from dshconform.links.link import AdapterFault, Link
from dshconform.protocol.messages import Hello
from dshconform.running.budget import SPENT, Budget, BudgetSpent
from dshconform.running.check import Check, Outcome, RunContext
from dshconform.running.ledger import Ledger
from dshconform.running.shard import WHOLE, Shard
from dshconform.running.verdict import CUT_SHORT, Judgement, judge, runnable
from dshconform.spec.clause import Clause

_ROUND: Final = 20
"""Further examples of one machine before it is another one's turn, where there is a budget."""


class Progress(Protocol):
    """Is told how a run goes on."""

    def start(self, check: Check, worlds: int) -> None:
        """A check begins; it will open so many worlds."""
        ...

    def advance(self, worlds: int) -> None:
        """So many worlds of it are done."""
        ...

    def finish(self, outcome: Outcome) -> None:
        """It is done.

        Args:
            outcome: What the check said.
        """
        ...


@dataclass(slots=True, kw_only=True)
class RunResult:
    """One run.

    Args:
        hello: What the adapter declared.
        selected: The checks that were to run.
        outcomes: What those said that began, the last of them perhaps cut short.
        judgement: What follows for the clauses.
        ledger: The known differences, and how often each was met.
        seed: Every random choice followed from it.
        examples: Worlds that each machine was to open.
        shard: The part of a divided run that this is.
        fault: The fault of the adapter that cut the run short, if one did.
        interrupted: Whether the user cut it short.
        behind_budget: Whether the time was over before everything was run.
    """

    hello: Hello
    selected: tuple[Check, ...]
    outcomes: list[Outcome] = field(default_factory=list)
    judgement: Judgement
    ledger: Ledger
    seed: int
    examples: int
    shard: Shard = WHOLE
    fault: AdapterFault | None = None
    interrupted: bool = False
    behind_budget: bool = False

    @property
    def finished(self) -> list[Outcome]:
        """What those checks said that came to their end."""
        return [outcome for outcome in self.outcomes if not outcome.cut_short]

    @property
    def suite_faults(self) -> list[str]:
        """What the suite itself did not do as it promises."""
        return _suite_faults(self.outcomes)

    @property
    def complete(self) -> bool:
        """Whether every selected check that could run came to its end, and adapter and suite did as they promise."""
        return _is_complete(self.fault, taken(self.selected, self.hello, self.shard), self.outcomes)


def run_checks(
    opening: AbstractContextManager[Link],
    *,
    specification: Sequence[Clause],
    checks: Sequence[Check],
    selected: Sequence[Check],
    ledger: Ledger,
    seed: int,
    examples: int,
    progress: Progress,
    shard: Shard = WHOLE,
    budget: Budget | None = None,
    stop_at: Callable[[Outcome], bool] = lambda _: False,
) -> RunResult:
    """Run checks one after the other over one link, and judge once it is closed.

    Args:
        opening: Opens the implementation, and closes it.
        specification: All clauses.
        checks: All checks that exist.
        selected: Those to run; one that needs an undeclared profile or feature does not run.
        ledger: The known differences.
        seed: Every random choice follows from it.
        examples: Worlds that each machine opens.
        progress: Is told.
        shard: The part of a divided run that this is: it proves nothing alone.
        budget: The time for all checks; then first those without random examples run, and of the machines the
            prologues.
        stop_at: Ends the run after an outcome of which it is true.

    Returns:
        The outcomes so far and the judgement; with `fault` when the adapter broke the protocol, if only at its end,
        and with `interrupted` after a `KeyboardInterrupt`.

    Raises:
        AdapterFault: The adapter did not greet as it should.
        KeyboardInterrupt: The user did not wait for its greeting.
    """
    budget = budget or Budget()
    runner: _Runner | None = None
    fault: AdapterFault | None = None
    interrupted = behind_budget = False
    try:
        with opening as link:
            context = RunContext(
                link=link,
                ledger=ledger,
                seed=seed,
                examples=examples,
                progress=progress.advance,
                shard=shard,
                budget=budget,
            )
            runner = _Runner(link.hello, progress, stop_at)
            behind_budget = runner.run(taken(selected, link.hello, shard), context)
    except AdapterFault as broken:
        if runner is None:
            raise
        fault = broken
    except KeyboardInterrupt:
        if runner is None:
            raise
        interrupted = True
    return judged(
        hello=runner.hello,
        specification=specification,
        checks=checks,
        selected=selected,
        outcomes=list(runner.outcomes.values()),
        ledger=ledger,
        seed=seed,
        examples=examples,
        shard=shard,
        fault=fault,
        interrupted=interrupted,
        behind_budget=behind_budget,
    )


@dataclass(slots=True)
class _Runner:
    """What runs the checks of one link, and what they have said so far."""

    hello: Hello
    progress: Progress
    stop_at: Callable[[Outcome], bool]
    outcomes: dict[str, Outcome] = field(default_factory=dict)

    def run(self, checks: Sequence[Check], context: RunContext) -> bool:
        """Run them all, as long as there is time; answer whether there was not enough.

        With a budget, the machines run their prologues before any of them runs further examples.
        """
        asked = context.examples
        further: list[Check] = []
        try:
            for check in checks:
                divided = context.budget.seconds is not None and check.divisible and check.worlds(0) < asked
                self._run_part(check, replace(context, examples=0) if divided else context)
                if divided:
                    further.append(check)
                elif self._finish(check):
                    return False
            for check, begin in _rounds(further, asked):
                context.budget.need()
                self._run_part(check, replace(context, first=begin, examples=min(begin + _ROUND, asked)))
        except BudgetSpent:
            return True
        finally:
            for check in further:
                if not self.outcomes[check.name].cut_short:
                    self._finish(check)
        return context.budget.over and bool(further)

    def _run_part(self, check: Check, context: RunContext) -> None:
        outcome = self.outcomes.setdefault(check.name, Outcome(check=check.name))
        outcome.cut_short = True
        worlds = check.worlds(context.examples)
        self.progress.start(check, len(context.shard.share(context.first, worlds)) if check.divisible else worlds)
        check.run(context, outcome)
        outcome.cut_short = False

    def _finish(self, check: Check) -> bool:
        """A check has come to its end; whether the run ends with it."""
        outcome = self.outcomes[check.name]
        self.progress.finish(outcome)
        return self.stop_at(outcome)


def _rounds(machines: Sequence[Check], examples: int) -> Iterator[tuple[Check, int]]:
    """The machines in turns, each with the number of the next example of it that is to be run."""
    begun = {check.name: check.worlds(0) for check in machines}
    while any(begin < examples for begin in begun.values()):
        for check in machines:
            if begun[check.name] < examples:
                yield check, begun[check.name]
                begun[check.name] += _ROUND


def taken(selected: Sequence[Check], hello: Hello, shard: Shard) -> list[Check]:
    """The checks that one part of a run runs: those of its share, and of those that are divided its share of each.

    Args:
        selected: The checks that were selected, in order.
        hello: What the implementation declares: what it does not declare does not run.
        shard: The part of the run.
    """
    able = [check for check in selected if runnable(check, hello)]
    return [check for place, check in enumerate(able) if check.divisible or shard.takes(place)]


def judged(
    *,
    hello: Hello,
    specification: Sequence[Clause],
    checks: Sequence[Check],
    selected: Sequence[Check],
    outcomes: list[Outcome],
    ledger: Ledger,
    seed: int,
    examples: int,
    shard: Shard = WHOLE,
    fault: AdapterFault | None = None,
    interrupted: bool = False,
    behind_budget: bool = False,
) -> RunResult:
    """Judge what was run.

    Args:
        hello: What the implementation declared.
        specification: All clauses.
        checks: All checks that exist.
        selected: Those that were to run.
        outcomes: What each check said that began.
        ledger: The known differences, with how often each was met.
        seed: Every random choice followed from it.
        examples: Worlds that each machine opened.
        shard: The part of a divided run that this was.
        fault: What the adapter did, where that ended the run.
        interrupted: Whether the user ended the run.
        behind_budget: Whether its time was over before it was done.

    Returns:
        The run with what follows from it.
    """
    whole = _is_complete(fault, taken(selected, hello, shard), outcomes) and shard.whole
    judgement = judge(
        specification=specification,
        checks=checks,
        selected=selected,
        outcomes=outcomes,
        hello=hello,
        ledger=ledger,
        complete=whole,
        cut_short=SPENT if behind_budget else CUT_SHORT,
        part=not shard.whole,
    )
    return RunResult(
        hello=hello,
        selected=tuple(selected),
        outcomes=outcomes,
        judgement=judgement,
        ledger=ledger,
        seed=seed,
        examples=examples,
        shard=shard,
        fault=fault,
        interrupted=interrupted,
        behind_budget=behind_budget,
    )


def _is_complete(fault: AdapterFault | None, checks: Sequence[Check], outcomes: Sequence[Outcome]) -> bool:
    """Whether all of these checks came to their end, and adapter and suite did as they promise."""
    done = {outcome.check for outcome in outcomes if not outcome.cut_short}
    return fault is None and all(check.name in done for check in checks) and not _suite_faults(outcomes)


def _suite_faults(outcomes: Sequence[Outcome]) -> list[str]:
    return [outcome.suite_fault for outcome in outcomes if outcome.suite_fault is not None]
