"""`dshconform merge`: the reports of all shards become one run, which is judged."""

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from dshconform.checks.catalog import all_checks
from dshconform.cli.target import JSON_OPTION, must_be_writable, writable_file
from dshconform.cli.telling import Teller
from dshconform.cli.work import WORK_OPTION
from dshconform.report.json_report import ReportError, read_report
from dshconform.report.merging import MergeError, Part, merge
from dshconform.spec.specification import load_specification


@click.command(name="merge")
@click.argument(
    "reports",
    nargs=-1,
    required=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="REPORT...",
)
@JSON_OPTION
@WORK_OPTION
def merge_(reports: Sequence[Path], json_file: Path | None, work: Path) -> None:
    """Join the reports of all shards of a run, and judge it.

    Exit status: as of `run`.
    """
    must_be_writable(work, "--work")
    writable_file(json_file, "--json")
    specification = load_specification()
    try:
        parts = [Part(str(path), read_report(path)) for path in reports]
        result = merge(parts, specification=list(specification.clauses.values()), checks=all_checks())
    except (ReportError, MergeError) as error:
        raise click.UsageError(str(error)) from error
    teller = Teller(specification.clauses, parts[0].report.target, work)
    teller.headline(result.hello, result.seed)
    seconds = max(part.report.footer.seconds for part in parts)
    sys.exit(teller.report(result, json_file=json_file, seconds=seconds))
