"""`dshconform run`: every check, or some, and a verdict."""

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import click

from dshconform.checks.catalog import UnknownName, all_checks, select
from dshconform.cli.run_jobs import run_jobs
from dshconform.cli.session import Session
from dshconform.cli.target import (
    JSON_OPTION,
    Target,
    TargetCommand,
    choose,
    target_options,
    writable_file,
)
from dshconform.report.ledger_text import update_lines
from dshconform.running.budget import Budget, read_seconds
from dshconform.running.ledger import LedgerError
from dshconform.running.ledger_update import update_ledger
from dshconform.running.run import RunResult
from dshconform.running.shard import WHOLE, Shard, read_shard
from dshconform.spec.specification import UnknownClause, load_specification

T = TypeVar("T")


def _read(read: Callable[[str], T]) -> Callable[[click.Context, click.Parameter, str | None], T | None]:
    """Make the callback of an option out of what reads its text."""

    def callback(ctx: click.Context, param: click.Parameter, text: str | None) -> T | None:
        try:
            return None if text is None else read(text)
        except ValueError as error:
            raise click.BadParameter(str(error), ctx=ctx, param=param) from error

    return callback


@click.command(cls=TargetCommand)
@click.argument("name", metavar="[IMPLEMENTATION]", required=False)
@target_options
@click.option("--check", "names", multiple=True, help="Only this check; repeatable.")
@click.option("--contract", "contracts", multiple=True, help="Only this contract's checks; repeatable.")
@click.option("--clause", "clauses", multiple=True, help="Only checks that cite this clause; repeatable.")
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True, help="All choices follow from it.")
@click.option(
    "--examples", type=click.IntRange(min=1), default=120, show_default=True, help="Worlds that each machine opens."
)
@click.option(
    "--jobs",
    "-j",
    type=click.IntRange(min=1, max=64),
    default=1,
    show_default=True,
    help="Processes that share the run; the result is the same.",
)
@click.option("--shard", metavar="K/N", callback=_read(read_shard), help="Only the k-th of n parts, for `merge`.")
@click.option("--budget", metavar="TIME", callback=_read(read_seconds), help="Stop after that time: `60s`, `5m`.")
@click.option(
    "--update-deviations",
    is_flag=True,
    help="Rewrite the ledger by this run: what has gone is removed, what is new is listed with a reason to be written.",
)
@JSON_OPTION
@click.pass_context
def run(
    ctx: click.Context,
    *,
    name: str | None,
    implementation: str | None,
    deviations: Path | None,
    timeout: float,
    work: Path,
    names: tuple[str, ...],
    contracts: tuple[str, ...],
    clauses: tuple[str, ...],
    seed: int,
    examples: int,
    jobs: int,
    shard: Shard | None,
    budget: float | None,
    update_deviations: bool,
    json_file: Path | None,
) -> None:
    """Judge an implementation by all checks, or by some.

    Exit status: 0 conformant (with or without listed deviations), 1 not
    conformant, 2 wrong usage or a fault of the adapter, 3 unknown, 130
    interrupted. Of one shard alone, 0 says only that nothing failed in it.
    """
    target = choose(ctx, name, implementation, deviations=deviations, timeout=timeout, work=work)
    writable_file(json_file, "--json")
    part = shard or WHOLE
    if update_deviations:
        _may_update(target, whole=part.whole and not (names or contracts or clauses or budget))
    specification = load_specification()
    checks = all_checks()
    try:
        wanted = [specification.clause(clause).id for clause in clauses]
        selected = select(checks, names=names, contracts=contracts, clauses=wanted)
    except (UnknownName, UnknownClause) as error:
        raise click.UsageError(str(error)) from error
    if not selected:
        raise click.UsageError(f"nothing is selected: no check cites {', '.join(clauses)}")
    session = Session(target, specification.clauses, checks)
    began = time.monotonic()
    if jobs == 1:
        result = session.run(selected, seed=seed, examples=examples, shard=part, budget=Budget(budget))
    else:
        result = run_jobs(session, selected, jobs=jobs, seed=seed, examples=examples, shard=part, budget=budget)
    if result is None:
        sys.exit(2)
    status = session.report(result, json_file=json_file, seconds=time.monotonic() - began)
    if update_deviations:
        _update(session, result)
    sys.exit(status)


def _may_update(target: Target, *, whole: bool) -> None:
    """Refuse what could not be updated before it is run; a ledger that is not there yet is begun.

    Raises:
        click.UsageError: There is no ledger, or the run would not be whole.
    """
    ledger = target.implementation.ledger
    if ledger is None:
        raise click.UsageError(
            f"--update-deviations: {target.implementation.name} has no ledger; name an adapter's by --deviations FILE"
        )
    if not whole:
        raise click.UsageError(
            "--update-deviations: only a whole run tells which deviations have gone: "
            "leave out --check, --contract, --clause, --shard and --budget"
        )
    writable_file(ledger, "--deviations")
    if not ledger.exists():
        ledger.write_text("[]\n", encoding="utf-8")


def _update(session: Session, result: RunResult) -> None:
    path = session.target.implementation.ledger
    assert path is not None
    try:
        update = update_ledger(path, result, session.clauses)
    except LedgerError as error:
        raise click.ClickException(str(error)) from error
    for line in update_lines(update, path):
        session.say(line)
