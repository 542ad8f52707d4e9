"""What the last run says of one clause: how often it was evaluated, and where the machines that cite it have been."""

from collections.abc import Iterator, Sequence

from dshconform.report.entries import CheckEntry, Report
from dshconform.report.grid_table import cell_lines, grid_lines, least_lines, times
from dshconform.report.json_report import versions
from dshconform.report.text import wrapped


def evidence_lines(report: Report, clause: str, checks: Sequence[str], *, everything: bool) -> Iterator[str]:
    """Write what a report says of a clause.

    Args:
        report: Of a run, or of a part of one.
        clause: The clause's id.
        checks: The checks that cite it.
        everything: Whether every machine shows its grid, and each of its cells; otherwise the machine that is most
            about the clause's area shows its grid, and of the others the figures are told.
    """
    info = report.implementation
    ran = f"{info.name} {info.version}, seed {report.seed}, {report.footer.ran} of {report.footer.checks} checks"
    yield from wrapped(f"{ran}: {report.verdict}")
    if report.versions != versions():
        yield from wrapped("made by another suite, or for other clauses: run it again")
    entry = next((one for one in report.clauses if one.id == clause), None)
    if entry is None:
        yield f"the profile of {clause} is not declared"
        return
    reason = "" if entry.reason is None else f": {entry.reason}"
    yield from wrapped(f"{entry.status.replace('_', ' ')}{reason}; held {times(entry.held)}")
    machines = machines_of(report, checks)
    nearest = _nearest(report, clause, machines)
    for machine in machines:
        if everything or machine is nearest:
            yield ""
            yield from _machine_lines(machine)
            if everything:
                yield from cell_lines(machine.grid, "  ")
    others = [] if everything else [machine for machine in machines if machine is not nearest]
    if others:
        yield ""
        yield from _figures(others)


def machines_of(report: Report, checks: Sequence[str]) -> list[CheckEntry]:
    """The machines among some checks that a run has begun.

    Args:
        report: Of the run.
        checks: Names of checks.
    """
    return [check for check in report.checks if check.grid and check.name in checks]


def _nearest(report: Report, clause: str, machines: Sequence[CheckEntry]) -> CheckEntry | None:
    """The machine of whose clauses the greatest part is of the clause's area; the first of several."""
    area = clause.partition("-")[0]

    def part(machine: CheckEntry) -> float:
        of_area = [one.id.partition("-")[0] == area for one in report.clauses if machine.name in one.checks]
        return sum(of_area) / max(len(of_area), 1)

    return max(machines, key=part, default=None)


def _machine_lines(check: CheckEntry) -> Iterator[str]:
    told = f"{check.worlds:,} examples, {check.commands:,} commands, {_visited(check)} cells visited"
    yield from wrapped(f"{check.name}: {told}")
    yield from grid_lines(check.grid, "  ")
    yield from least_lines(check.grid, "  ")


def _figures(checks: Sequence[CheckEntry]) -> Iterator[str]:
    """A line for each machine."""
    rows = [("", "examples", "commands", "cells visited")]
    rows += [(check.name, f"{check.worlds:,}", f"{check.commands:,}", _visited(check)) for check in checks]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for name, *figures in rows:
        cells = [f"{figure:>{width}}" for figure, width in zip(figures, widths[1:], strict=True)]
        yield "  ".join([f"{name:<{widths[0]}}", *cells])


def _visited(check: CheckEntry) -> str:
    return f"{sum(count > 0 for count in check.grid.values()):,} of {len(check.grid):,}"
