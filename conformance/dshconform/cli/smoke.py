"""`dshconform smoke`: the scenarios in order of difficulty, up to the first that does not hold."""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from dshconform.checks.catalog import all_checks
from dshconform.cli.session import Session
from dshconform.cli.target import TargetCommand, choose, target_options
from dshconform.report.text import wrapped
from dshconform.running.check import Check
from dshconform.running.run import RunResult
from dshconform.running.verdict import FAULT_EXIT_STATUS, runnable
from dshconform.spec.clause import Level
from dshconform.spec.specification import load_specification

_EXAMPLES = 20


@click.command(cls=TargetCommand)
@click.argument("name", metavar="[IMPLEMENTATION]", required=False)
@target_options
@click.pass_context
def smoke(
    ctx: click.Context,
    *,
    name: str | None,
    implementation: str | None,
    deviations: Path | None,
    timeout: float,
    work: Path,
) -> None:
    """Say what to fix next, and how many clauses that unlocks.

    Runs the scenarios from the simplest on and a short sample of every
    contract machine, and ends at the first difference that is not listed.
    Exit status: 0 nothing to fix, 1 a difference, 2 a fault of the adapter.
    """
    target = choose(ctx, name or implementation, deviations=deviations, timeout=timeout, work=work)
    session = Session(target, load_specification().clauses, all_checks())
    result = session.run(session.checks, seed=1, examples=_EXAMPLES, stop_at=lambda outcome: bool(outcome.failures))
    if result is None:
        sys.exit(FAULT_EXIT_STATUS)
    for line in advice(result, session):
        click.echo(line)
    failed = any(outcome.failures for outcome in result.outcomes)
    sys.exit(FAULT_EXIT_STATUS if result.fault is not None else int(failed))


def advice(result: RunResult, session: Session) -> Iterator[str]:
    """What to fix next, in one line; then how to see it, and what it unlocks."""
    done = {outcome.check for outcome in result.outcomes}
    waiting = [check for check in result.selected if check.name not in done and runnable(check, result.hello)]
    if result.fault is not None:
        yield f"next: mend the adapter; unlocks {_unlocked(waiting, session)} must clauses"
        session.tell_fault(result.fault)
        return
    last = result.outcomes[-1] if result.outcomes else None
    if last is None or not last.failures:
        yield f"nothing to fix: {len(done)} checks held; `dshconform run` looks closer"
        return
    failure = last.failures[0]
    check = next(check for check in result.selected if check.name == last.check)
    blamed = ", ".join(failure.difference.clauses) or "what the check needs first"
    unlocked = _unlocked([check, *waiting], session)
    told = f"next: {blamed}: {failure.difference.sentence} ({last.check}); unlocks {unlocked} must clauses"
    yield from wrapped(told, hanging="  ")
    yield f"  see: {session.replay_line(session.save(last.check, failure))}"


def _unlocked(checks: Sequence[Check], session: Session) -> int:
    """How many `must` clauses the checks could hold that come behind this point."""
    cited = {clause for check in checks for clause in check.clauses}
    return sum(session.clauses[clause].level is Level.MUST for clause in cited)
