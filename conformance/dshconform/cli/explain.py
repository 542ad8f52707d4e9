"""`dshconform explain`: what a clause demands, what holds it, and what the last run says of it."""

import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from dshconform.cli.work import WORK_OPTION, report_in
from dshconform.spec.clause import Clause
from dshconform.spec.markdown import CODE_SPAN
from dshconform.spec.specification import Specification, UnknownClause, load_specification

if TYPE_CHECKING:
    from dshconform.report.entries import Report

_WIDTH: Final = 80
_LABEL: Final = len("violation  ")
_CHECKS: Final = 12
"""Checks that are named beside evidence, at most: those in which the clause held most often."""


@click.command(
    help="Show clauses: their text, how to observe them, what violates them, the checks that cite them, the faults "
    "that prove these, and the evidence of the last run."
)
@click.argument("clause_ids", nargs=-1, required=True, metavar="CLAUSE...")
@click.option(
    "--report",
    "report_file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="The report whose evidence is shown.  [default: that of the last run]",
)
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="Name every check, and show the grid of every machine and how often each of its cells was visited.",
)
@WORK_OPTION
def explain(clause_ids: Sequence[str], report_file: Path | None, *, everything: bool, work: Path) -> None:
    """Print each clause; an unknown one is wrong usage, and nothing is printed then."""
    specification = load_specification()
    try:
        clauses = [specification.clause(clause_id) for clause_id in clause_ids]
    except UnknownClause as unknown:
        raise click.UsageError(str(unknown)) from unknown
    from dshconform.report.json_report import ReportError, read_report

    try:
        path = report_file or report_in(work)
        report = read_report(path) if path.exists() else None
    except ReportError as error:
        raise click.UsageError(str(error)) from error
    for position, clause in enumerate(clauses):
        if position:
            click.echo()
        for line in _lines(specification, clause, report, everything=everything):
            click.echo(line)
    if report is not None and not everything and any(_abridged(clause, report) for clause in clauses):
        click.echo("\n`--all` shows every check, every grid, and how often each cell was visited")


def _abridged(clause: Clause, report: "Report") -> bool:
    """Whether anything is left out of what is shown of a clause."""
    from dshconform.checks.catalog import checks_for
    from dshconform.report.evidence import machines_of

    checks = checks_for(clause.id)
    return len(checks) > _CHECKS or bool(machines_of(report, checks))


def _lines(specification: Specification, clause: Clause, report: "Report | None", *, everything: bool) -> Iterator[str]:
    from dshconform.checks.catalog import checks_for
    from dshconform.faults import faults_of

    yield f"{click.style(clause.id, bold=True)} · {clause.level} · {clause.profile}"
    place = textwrap.fill(f"{clause.page}, line {clause.line}: {clause.section}", _WIDTH, break_on_hyphens=False)
    yield click.style(place, dim=True)
    yield ""
    yield _wrapped(clause.text)
    yield ""
    yield _part("observe", clause.observe)
    yield _part("violation", clause.violation)
    yield _part("basis", clause.basis)
    for name in clause.rulings:
        ruling = specification.rulings[name]
        yield _part(name, f"{ruling.question} {ruling.answer}")
    checks = checks_for(clause.id)
    yield from _parts("checks", list(checks) if report is None else _checked(checks, clause, report, everything))
    yield from _parts("faults", [f"{fault.id}: {fault.about}" for fault in faults_of(clause.id)])
    if report is None:
        yield _part("evidence", "none yet: `dshconform run` leaves it in the work folder")
        return
    from dshconform.report.evidence import evidence_lines

    yield ""
    yield click.style("evidence", bold=True)
    yield from evidence_lines(report, clause.id, checks, everything=everything)


def _checked(checks: Sequence[str], clause: Clause, report: "Report", everything: bool) -> list[str]:
    """The checks, each with how often the clause held in it; without `everything`, the most telling ones alone."""
    from dshconform.report.grid_table import times

    held = {check.name: check.held.get(clause.id, 0) for check in report.checks}
    told = [f"{name} ({times(held[name])})" if name in held else name for name in checks]
    if everything or len(checks) <= _CHECKS:
        return told
    most = sorted(range(len(checks)), key=lambda place: -held.get(checks[place], 0))[:_CHECKS]
    return [*(told[place] for place in sorted(most)), f"and {len(checks) - _CHECKS} more"]


def _parts(label: str, items: Sequence[str]) -> Iterator[str]:
    yield _part(label, items[0] if items else "none yet")
    for item in items[1:]:
        yield _part("", item)


def _part(label: str, markdown: str) -> str:
    indent = " " * _LABEL
    return click.style(f"{label:<{_LABEL}}", bold=True) + _wrapped(markdown, indent)[_LABEL:]


def _wrapped(markdown: str, indent: str = "") -> str:
    """Wrap prose, and set its code spans off by colour; their backticks stay, so that they show without colour too."""
    text = " ".join(markdown.split())
    wrapped = textwrap.fill(text, _WIDTH, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False)
    return CODE_SPAN.sub(lambda span: click.style(span[0], fg="cyan"), wrapped)
