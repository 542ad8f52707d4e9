"""`dshconform smoke`: the scenarios in order of difficulty, up to the first that does not hold."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import click

from dshconform.checks.catalog import all_checks
from dshconform.cli.exit_status import FAULT_EXIT_STATUS
from dshconform.cli.session import Session
from dshconform.cli.target import TargetCommand, choose, target_options
from dshconform.contracts.machine import MachineCheck
from dshconform.near_misses import hint
from dshconform.report.text import wrapped
from dshconform.running.check import Check
from dshconform.running.run import RunResult
from dshconform.running.verdict import (
    EXIT_STATUS,
    Status,
    Verdict,
    decides,
    is_invariant,
    runnable,
    violates,
)
from dshconform.scenarios.check import ScenarioCheck
from dshconform.spec.clause import Level, Profile
from dshconform.spec.specification import load_specification

_EXAMPLES = 4
_COMMANDS = 8
"""Commands of each world of a machine, after its prologue; the rest is for `run`."""
_MOMENTS = 8
"""Of a sweep, each eighth moment."""


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

    Runs the scenarios from the simplest on, of a sweep some moments, and a
    short sample of every contract machine; ends at the first difference that
    is not listed.

    Exit status: 0 nothing to fix, 1 a difference, 2 a fault of the adapter,
    3 unknown: the profile core is not declared.
    """
    target = choose(ctx, name, implementation, deviations=deviations, timeout=timeout, work=work)
    session = Session(target, load_specification().clauses, all_checks())
    result = session.run(
        [_sample(check) for check in session.checks],
        seed=1,
        examples=_EXAMPLES,
        stop_at=lambda outcome: violates(outcome, session.clauses),
    )
    if result is None:
        sys.exit(FAULT_EXIT_STATUS)
    for line in advice(result, session):
        click.echo(line)
    sys.exit(session.tell_end(result, _status(result, session)))


def _sample(check: Check) -> Check:
    """What is looked at of a check that takes long."""
    match check:
        case MachineCheck():
            return replace(check, commands=_COMMANDS, every_prologue=False)
        case ScenarioCheck(scenario) if scenario.ticks:
            some = replace(scenario, worlds=scenario.worlds[::_MOMENTS], ticks=scenario.ticks[::_MOMENTS])
            return replace(check, scenario=some)
    return check


def _status(result: RunResult, session: Session) -> int:
    if any(violates(outcome, session.clauses) for outcome in result.outcomes):
        return EXIT_STATUS[Verdict.NOT_CONFORMANT]
    ran = Profile.CORE in result.hello.profiles
    return EXIT_STATUS[Verdict.CONFORMANT if ran else Verdict.UNKNOWN]


def advice(result: RunResult, session: Session) -> Iterator[str]:
    """What to fix next, in one line; then how to see it, and what it unlocks.

    Args:
        result: The run.
        session: Saves the counterexample, and knows how it is replayed.
    """
    done = {outcome.check for outcome in result.finished}
    waiting = [check.name for check in result.selected if check.name not in done and runnable(check, result.hello)]
    if result.fault is not None:
        yield f"next: mend the adapter; unlocks {_unlocked(waiting, result)} must clauses"
        return
    if result.interrupted:
        return
    failed = next((outcome for outcome in result.outcomes if violates(outcome, session.clauses)), None)
    if failed is None:
        yield from _nothing_to_fix(result)
        return
    failure = next(one for one in failed.failures if decides(one.difference, session.clauses))
    blamed = ", ".join(failure.difference.clauses) or "what the check needs first"
    unlocked = _unlocked([failed.check, *waiting], result)
    told = f"next: {blamed}: {failure.difference.sentence} ({failed.check}); unlocks {unlocked} must clauses"
    yield from wrapped(told, hanging="  ")
    replay = session.replay_line(session.save(failed.check, failure.document))
    if replay is not None:
        yield f"  see: {replay}"


def _nothing_to_fix(result: RunResult) -> Iterator[str]:
    """What held; or, where no profile was declared of which there is a check, what to declare."""
    profiles = result.hello.profiles
    if Profile.CORE not in profiles:
        yield "next: declare the profile `core` in the reply to `hello`: it binds everybody"
        for unknown in (profile for profile in profiles if profile not in list(Profile)):
            yield from wrapped(f"there is no profile {unknown!r}; {hint(unknown, Profile)}", "  ")
        return
    held = sum(not outcome.failures and not outcome.stopped for outcome in result.outcomes)
    told = [f"{held} checks held"]
    stopped = sum(outcome.stopped > 0 for outcome in result.outcomes)
    if stopped:
        told.append(f"{stopped} stopped at a listed deviation")
    if result.judgement.deviations:
        told.append(f"{len(result.judgement.deviations)} listed deviations were met")
    advised = sum(bool(outcome.failures) for outcome in result.outcomes)
    if advised:
        told.append(f"{advised} gave advice")
    undeclared = sum(not runnable(check, result.hello) for check in result.selected)
    if undeclared:
        told.append(f"{undeclared} need what is not declared")
    yield from wrapped(f"nothing to fix: {', '.join(told)}; `dshconform run` looks closer", hanging="  ")


def _unlocked(checks: Sequence[str], result: RunResult) -> int:
    """How many `must` clauses that have not held yet these checks, or invariants beside them, could hold."""
    waiting = set(checks)
    return sum(
        one.clause.level is Level.MUST
        and one.status in {Status.NOT_RUN, Status.FAIL}
        and any(check in waiting or is_invariant(check) for check in one.checks)
        for one in result.judgement.clauses
    )
