"""The verdict table: checks by contract, clauses by group, counts, deviations and the verdict, at 80 columns."""

from collections.abc import Iterator, Mapping, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from dshconform.report.text import wrapped
from dshconform.running.check import Outcome
from dshconform.running.run import RunResult
from dshconform.running.verdict import ClauseResult, Status, Verdict
from dshconform.spec.clause import Level

_STYLE: Mapping[Verdict, str] = {
    Verdict.CONFORMANT: "bold green",
    Verdict.WITH_DEVIATIONS: "bold yellow",
    Verdict.NOT_CONFORMANT: "bold red",
    Verdict.UNKNOWN: "bold magenta",
}
_COLUMNS = (Status.PASS, Status.FAIL, Status.DEVIATION, Status.NOT_RUN, Status.UNCHECKED)


def print_report(console: Console, result: RunResult) -> None:
    """Print everything but the failures' details.

    Args:
        console: Where to; as wide as it is, tables fit 80 columns.
        result: The run.
    """
    console.print(_contracts(result))
    console.print(_groups(result))
    judgement = result.judgement
    advice = [one for one in judgement.clauses if one.status is Status.ADVICE]
    if judgement.deviations:
        console.print(Text("listed deviations", style="bold"))
        for entry in judgement.deviations:
            _item(console, f"{entry.title} ({entry.after}): {entry.reason}")
    if advice:
        console.print(Text("advice", style="bold"))
        for one in advice:
            _item(console, f"{one.clause.id}: {one.reason}")
    pending = [one for one in judgement.clauses if one.status is Status.NOT_RUN and not one.excused]
    if pending:
        console.print(Text("not run", style="bold"))
        for reason, ids in _by_reason(pending).items():
            _item(console, f"{reason}: {', '.join(ids)}")
    counts = judgement.counts()
    told = ", ".join(f"{counts[key]} {key.replace('_', ' ')}" for key in counts if key not in {"must", "advice"})
    _item(console, f"{counts['must']} must clauses: {told}; {counts['advice']} advice", indent="")
    console.print(Text.assemble("verdict: ", (judgement.verdict.value, _STYLE[judgement.verdict])))


def _item(console: Console, text: str, indent: str = "  ") -> None:
    for line in wrapped(text, indent, hanging="  "):
        console.print(line, markup=False)


def _contracts(result: RunResult) -> Table:
    table = Table(title=None, box=None, pad_edge=False, header_style="bold")
    table.add_column("contract", width=22)
    for heading in ("checks", "worlds", "commands"):
        table.add_column(heading, justify="right", width=9)
    table.add_column("result", width=24)
    contracts = {check.name: check.contract for check in result.selected}
    outcomes = {outcome.check: outcome for outcome in result.outcomes}
    for contract in dict.fromkeys(contracts.values()):
        names = [name for name, of in contracts.items() if of == contract]
        done = [outcomes[name] for name in names if name in outcomes]
        table.add_row(
            contract,
            str(len(names)),
            str(sum(outcome.examples for outcome in done)),
            str(sum(outcome.commands for outcome in done)),
            _told(done, len(names)),
        )
    return table


def _told(done: Sequence[Outcome], selected: int) -> Text:
    failed = sum(bool(outcome.failures) for outcome in done)
    stopped = sum(outcome.stopped for outcome in done)
    parts = []
    if failed:
        parts.append(f"{failed} failed")
    if stopped:
        parts.append(f"{stopped} stopped")
    if len(done) < selected:
        parts.append(f"{selected - len(done)} not run")
    return Text(", ".join(parts) or "held", style="red" if failed else "yellow" if parts else "green")


def _groups(result: RunResult) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("clause group", width=22)
    for status in _COLUMNS:
        table.add_column(status.value, justify="right", width=9)
    table.add_column("must", justify="right", width=5)
    rest: list[ClauseResult] = []
    groups = 0
    for group, members in by_group(result.judgement.clauses):
        if all(one.status is Status.UNCHECKED or one.excused for one in members):
            rest += members
            groups += 1
            continue
        table.add_row(group, *_cells(members))
    if groups:
        table.add_row(f"{groups} more, no check", *_cells(rest), style="dim")
    return table


def by_group(results: Sequence[ClauseResult]) -> Iterator[tuple[str, list[ClauseResult]]]:
    """The results by clause group, in the order of the specification."""
    groups: dict[str, list[ClauseResult]] = {}
    for one in results:
        groups.setdefault(one.clause.group, []).append(one)
    yield from groups.items()


def _cells(members: Sequence[ClauseResult]) -> list[str | Text]:
    musts = [one for one in members if one.clause.level is Level.MUST]
    cells: list[str | Text] = []
    for status in _COLUMNS:
        count = sum(one.status is status for one in musts)
        style = {Status.FAIL: "red", Status.DEVIATION: "yellow", Status.NOT_RUN: "magenta"}.get(status, "")
        cells.append(Text(str(count) if count else "·", style=style if count else "dim"))
    return [*cells, str(len(musts))]


def _by_reason(results: Sequence[ClauseResult]) -> dict[str, list[str]]:
    reasons: dict[str, list[str]] = {}
    for one in results:
        reasons.setdefault(str(one.reason), []).append(one.clause.id)
    return reasons
