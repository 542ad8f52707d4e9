"""What the last run says of one clause: how often it was evaluated, and where the machines that cite it have been."""

from collections.abc import Iterator, Sequence

from dshconform.report.entries import CheckEntry, Report
from dshconform.report.grid_table import grid_lines
from dshconform.report.json_report import versions
from dshconform.report.text import wrapped


def evidence_lines(report: Report, clause: str, checks: Sequence[str]) -> Iterator[str]:
    """Write what a report says of a clause.

    Args:
        report: Of a run, or of a part of one.
        clause: The clause's id.
        checks: The checks that cite it.
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
    for check in report.checks:
        if check.grid and check.name in checks:
            yield ""
            yield from _machine_lines(check)


def times(count: int) -> str:
    """A number of times, in words.

    Args:
        count: At least 0.
    """
    return {0: "never", 1: "once"}.get(count, f"{count:,} times")


def _machine_lines(check: CheckEntry) -> Iterator[str]:
    visited = sum(count > 0 for count in check.grid.values())
    told = f"{check.worlds:,} examples, {check.commands:,} commands, {visited} of {len(check.grid)} cells visited"
    yield from wrapped(f"{check.name}: {told}")
    yield from grid_lines(check.grid, "  ")
