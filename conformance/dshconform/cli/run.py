"""`dshconform run`: every check, or some, and a verdict."""

import sys
import time
from pathlib import Path

import click

from dshconform.checks.catalog import UnknownName, all_checks, select
from dshconform.cli.session import Session
from dshconform.cli.target import TargetCommand, choose, file_must_be_writable, target_options
from dshconform.spec.specification import UnknownClause, load_specification


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
@click.option("--json", "json_file", type=click.Path(dir_okay=False, path_type=Path), help="Write the report there.")
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
    json_file: Path | None,
) -> None:
    """Judge an implementation by all checks, or by some.

    Exit status: 0 conformant (with or without listed deviations), 1 not
    conformant, 2 wrong usage or a fault of the adapter, 3 unknown, 130
    interrupted.
    """
    target = choose(ctx, name, implementation, deviations=deviations, timeout=timeout, work=work)
    file_must_be_writable(json_file, "--json")
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
    result = session.run(selected, seed=seed, examples=examples)
    if result is None:
        sys.exit(2)
    sys.exit(session.report(result, json_file=json_file, seconds=time.monotonic() - began))
