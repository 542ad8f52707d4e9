"""Run the selected checks against one implementation, and lose nothing when it ends early."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
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
        outcomes: What those said that began, the last of them perhaps cut short.
        judgement: What follows for the clauses.
        seed: Every random choice followed from it.
        examples: Worlds that each machine was to open.
        fault: The fault of the adapter that cut the run short, if one did.
        interrupted: Whether the user cut it short.
    """

    hello: Hello
    selected: tuple[Check, ...]
    outcomes: list[Outcome] = field(default_factory=list)
    judgement: Judgement
    seed: int
    examples: int
    fault: AdapterFault | None = None
    interrupted: bool = False

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
        return _complete(self.fault, self.selected, self.hello, self.outcomes)


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
        stop_at: Ends the run after an outcome of which it is true.

    Returns:
        The outcomes so far and the judgement; with `fault` when the adapter broke the protocol, if only at its end,
        and with `interrupted` after a `KeyboardInterrupt`.

    Raises:
        AdapterFault: The adapter did not greet as it should.
        KeyboardInterrupt: The user did not wait for its greeting.
    """
    outcomes: list[Outcome] = []
    hello: Hello | None = None
    fault: AdapterFault | None = None
    interrupted = False
    try:
        with opening as link:
            hello = link.hello
            for check in selected:
                if not runnable(check, hello):
                    continue
                context = RunContext(link=link, ledger=ledger, seed=seed, examples=examples, progress=progress.advance)
                outcome = Outcome(check=check.name, cut_short=True)
                outcomes.append(outcome)
                progress.start(check, check.worlds(examples))
                check.run(context, outcome)
                outcome.cut_short = False
                progress.finish(outcome)
                if stop_at(outcome):
                    break
    except AdapterFault as broken:
        if hello is None:
            raise
        fault = broken
    except KeyboardInterrupt:
        if hello is None:
            raise
        interrupted = True
    judgement = judge(
        specification=specification,
        checks=checks,
        selected=selected,
        outcomes=outcomes,
        hello=hello,
        ledger=ledger,
        complete=_complete(fault, selected, hello, outcomes),
    )
    return RunResult(
        hello=hello,
        selected=tuple(selected),
        outcomes=outcomes,
        judgement=judgement,
        seed=seed,
        examples=examples,
        fault=fault,
        interrupted=interrupted,
    )


def _suite_faults(outcomes: Sequence[Outcome]) -> list[str]:
    return [outcome.suite_fault for outcome in outcomes if outcome.suite_fault is not None]


def _complete(fault: AdapterFault | None, selected: Sequence[Check], hello: Hello, outcomes: Sequence[Outcome]) -> bool:
    done = {outcome.check for outcome in outcomes if not outcome.cut_short}
    all_done = all(check.name in done for check in selected if runnable(check, hello))
    return all_done and fault is None and not _suite_faults(outcomes)
