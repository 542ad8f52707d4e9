"""`dshconform diff`: what no clause decides between two implementations."""

import gc
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import click

from dshconform.adapters.catalog import CannotStart
from dshconform.checks.catalog import UnknownName, all_checks, select
from dshconform.cli.exit_status import FAULT_EXIT_STATUS, INTERRUPTED_EXIT_STATUS
from dshconform.cli.session import Session
from dshconform.cli.target import PairCommand, choose_pair, link_options, writable_file
from dshconform.diff.compare import Comparison, compare
from dshconform.diff.twins import Side, Sides
from dshconform.links.link import AdapterFault
from dshconform.report.ambiguities import ambiguity_lines, report, summary_lines
from dshconform.report.json_report import write_report
from dshconform.report.progress import bar
from dshconform.running.check import Check
from dshconform.running.verdict import decides
from dshconform.spec.specification import load_specification

_NAME = "diff"


@click.command(cls=PairCommand)
@click.argument("names", metavar="[IMPLEMENTATION]...", nargs=-1)
@link_options
@click.option("--check", "checks", multiple=True, help="Only the commands of this check; repeatable.")
@click.option("--contract", "contracts", multiple=True, help="Only those of this contract's checks; repeatable.")
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True, help="All choices follow from it.")
@click.option(
    "--examples", type=click.IntRange(min=1), default=40, show_default=True, help="Worlds of each contract machine."
)
@click.option("--json", "json_file", type=click.Path(dir_okay=False, path_type=Path), help="Write the report there.")
@click.pass_context
def diff(
    ctx: click.Context,
    *,
    names: tuple[str, ...],
    deviations: Path | None,
    timeout: float,
    work: Path,
    checks: tuple[str, ...],
    contracts: tuple[str, ...],
    seed: int,
    examples: int,
    json_file: Path | None,
) -> None:
    """Find what no clause decides between two implementations.

    \b
    dshconform diff reference dsh-node
    dshconform diff reference -- ./my-adapter
    dshconform diff -- ./one-adapter -- ./another --option

    Both are sent the same commands. Where both satisfy the clauses and still
    differ, the specification has a hole: each is shown once, with the shortest
    commands. What a ledger lists is none.

    Exit status: 0 nothing is undecided, 1 something is, or a must clause is
    violated that no ledger lists, 2 wrong usage or a fault of an adapter, 130
    interrupted.
    """  # noqa: D301 - click reads the control character
    targets = choose_pair(ctx, names, deviations=deviations, timeout=timeout, work=work)
    writable_file(json_file, "--json")
    specification = load_specification()
    every = all_checks()
    try:
        selected = select(every, names=checks, contracts=contracts)
    except UnknownName as error:
        raise click.UsageError(str(error)) from error
    sessions = tuple(Session(target, specification.clauses, every) for target in targets)
    ledgers = [session.ledger() for session in sessions]
    called = _called(targets[0].implementation.name, targets[1].implementation.name)
    say = sessions[0].say
    began = time.monotonic()
    try:
        with targets[0].open(say) as left, targets[1].open(say) as right:
            for session, link in zip(sessions, (left, right), strict=True):
                session.headline(link.hello, seed)
            sides = Side(called[0], left, ledgers[0]), Side(called[1], right, ledgers[1])
            gc.freeze()  # what is loaded by now stays: no collection has to walk it
            found = _compared(sessions[0], sides, selected, seed, examples)
            hellos = left.hello, right.hello
    except AdapterFault as fault:
        sessions[0].tell_fault(fault)
        sys.exit(FAULT_EXIT_STATUS)
    except CannotStart as error:
        say(f"error: {error.message}\n  remedy: {error.remedy}")
        sys.exit(FAULT_EXIT_STATUS)
    replays = _tell(sessions, found, called)
    seconds = time.monotonic() - began
    say(f"seed {seed}, {len(selected) - len(found.left_out)} of {len(every)} checks, {seconds:.1f} s")
    if json_file is not None:
        write_report(json_file, report(found, hellos, called, replays=replays, seed=seed, seconds=seconds))
        say(f"report: {json_file}")
    sys.exit(_status(sessions[0], found))


def _called(one: str, other: str) -> tuple[str, str]:
    """What the two are called: their names, told apart where they are one."""
    return (one, other) if one != other else (f"{one} (left)", f"{other} (right)")


def _compared(session: Session, sides: Sides, selected: Sequence[Check], seed: int, examples: int) -> Comparison:
    """Compare, and show how it goes on."""
    with bar(session.console) as progress:
        task = progress.add_task(_NAME, total=len(selected))

        def show(check: str) -> None:
            progress.update(task, description=check, advance=1)

        return compare(sides, selected, seed=seed, examples=examples, progress=show)


def _tell(sessions: Sequence[Session], found: Comparison, called: tuple[str, str]) -> dict[str, str]:
    """Print what was found, and save the examples.

    Returns:
        The files, by place.
    """
    session = sessions[0]
    session.forget(_NAME)
    saved: dict[str, str] = {}
    for number, (place, ambiguity) in enumerate(found.ambiguities.items(), 1):
        session.console.rule(f"{number}", style="yellow")
        path = session.save(_NAME, ambiguity.document, number)
        replays = [line for one in sessions if (line := one.replay_line(path)) is not None]
        if path is not None:
            saved[place] = str(path)
        for line in ambiguity_lines(ambiguity, called, session.clauses, replays):
            session.say(line)
        session.say("")
    for line in summary_lines(found, called, session.clauses):
        session.say(line)
    return saved


def _status(session: Session, found: Comparison) -> int:
    """Print what cut it short, if anything did, and answer the exit status."""
    if found.fault is not None:
        side, fault = found.fault
        session.say(f"cut short by {side}:")
        session.tell_fault(fault)
        return FAULT_EXIT_STATUS
    if found.interrupted:
        session.say("cut short: interrupted")
        return INTERRUPTED_EXIT_STATUS
    violated = any(decides(one.difference, session.clauses) for one in found.decided.values())
    return 1 if found.ambiguities or violated else 0
