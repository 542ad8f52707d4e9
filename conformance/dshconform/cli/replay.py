"""`dshconform replay`: run a scenario file or a saved counterexample, and show every row."""

import sys
from collections.abc import Mapping
from pathlib import Path

import click
from rich.console import Console

from dshconform.adapters.catalog import CannotStart
from dshconform.checks.catalog import VARIANTS, all_checks
from dshconform.checks.replaying import Replayed, ReplayError, read_replay
from dshconform.checks.replaying import replay as replay_file
from dshconform.cli.exit_status import FAULT_EXIT_STATUS
from dshconform.cli.target import TargetCommand, choose, fault_lines, target_options
from dshconform.cli.telling import new_console
from dshconform.links.link import AdapterFault
from dshconform.report.failure_text import blamed_lines, command_line, difference_lines, step_line
from dshconform.running.ledger import LedgerError, read_ledger
from dshconform.running.verdict import EXIT_STATUS, Verdict
from dshconform.running.world import Exchange
from dshconform.spec.clause import Clause
from dshconform.spec.specification import load_specification
from dshconform.trace.rows import row_line
from dshconform.yaml_text import YamlError, read_text


@click.command(cls=TargetCommand)
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@target_options
@click.option("--until", type=click.IntRange(min=1), help="Stop after so many of the file's commands.")
@click.pass_context
def replay(
    ctx: click.Context,
    *,
    file: Path,
    implementation: str | None,
    deviations: Path | None,
    timeout: float,
    work: Path,
    until: int | None,
) -> None:
    """Run a scenario or a saved counterexample, and show every row.

    Exit status: 0 no difference, 1 a difference, 2 wrong usage or a fault of
    the adapter, 3 no difference but commands that could not be sent, 130
    interrupted.
    """
    console = new_console()
    target = choose(ctx, implementation, deviations=deviations, timeout=timeout, work=work)
    clauses = load_specification().clauses
    try:
        wanted = read_replay(read_text(file), file)
        ledger = read_ledger(target.implementation.ledger, clauses, [check.name for check in all_checks()], VARIANTS)
    except (ReplayError, LedgerError, YamlError) as error:
        raise click.UsageError(str(error)) from error

    def show(exchange: Exchange) -> None:
        console.print(f"> {step_line(exchange.step)}", markup=False)
        for row in exchange.reply.observed:
            console.print(f"    {row_line(row)}", markup=False)

    replayed = Replayed()
    try:
        with target.open(lambda line: console.print(line, markup=False)) as link:
            replay_file(wanted, link, ledger, replayed, until=until, show=show)
    except ReplayError as error:
        raise click.UsageError(str(error)) from error
    except AdapterFault as fault:
        _tell(console, replayed, clauses)
        for line in fault_lines(fault):
            console.print(line, markup=False)
        sys.exit(FAULT_EXIT_STATUS)
    except CannotStart as error:
        console.print(f"error: {error.message}\n  remedy: {error.remedy}", markup=False)
        sys.exit(FAULT_EXIT_STATUS)
    _tell(console, replayed, clauses)
    if replayed.difference is not None:
        sys.exit(1)
    if replayed.left_out:
        sys.exit(EXIT_STATUS[Verdict.UNKNOWN])
    console.print("no difference", markup=False)


def _tell(console: Console, replayed: Replayed, clauses: Mapping[str, Clause]) -> None:
    console.print()
    for number, command in replayed.left_out:
        console.print(f"left out, as it makes no sense there: {number}. {command_line(command)}", markup=False)
    if replayed.difference is not None:
        lines = (*blamed_lines(replayed.difference, clauses), "", *difference_lines(replayed.difference))
        for line in lines:
            console.print(line, markup=False)
