"""The verdict table: checks by contract, clauses by group, counts, deviations and the verdict, at 80 columns."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from dshconform.report.text import wrapped
from dshconform.running.check import Outcome
from dshconform.running.run import RunResult, taken
from dshconform.running.verdict import NOT_SELECTED, STALE_REMEDY, ClauseResult, Status, Verdict, undeclared, violates
from dshconform.spec.clause import Clause, Level

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
    for outcome in result.outcomes:
        rest = {cell: said for cell, said in outcome.cells.items() if said != "held"}
        if rest:
            held = len(outcome.cells) - len(rest)
            console.print(Text(f"{outcome.check}: {held} of {len(outcome.cells)} worlds held", style="bold"))
            for cell, said in rest.items():
                _item(console, f"{said}: {cell}")
    judgement = result.judgement
    advice = [one for one in judgement.clauses if one.status is Status.ADVICE]
    if judgement.deviations:
        console.print(Text("listed deviations", style="bold"))
        for entry in judgement.deviations:
            _item(console, f"{entry.title} ({entry.after}): {entry.reason}")
    if judgement.stale:
        console.print(Text("stale deviations, no longer met", style="bold red"))
        for entry in judgement.stale:
            _item(console, f"{entry.title} ({entry.check}): {STALE_REMEDY}")
    if advice:
        console.print(Text("advice", style="bold"))
        for one in advice:
            _item(console, f"{one.clause.id}: {one.reason}")
    missing = [reason for check in result.selected if (reason := undeclared(check, result.hello)) is not None]
    if missing:
        console.print(Text("checks that need what is not declared", style="bold"))
        for reason, times in Counter(missing).items():
            _item(console, f"{reason} ({times})")
    pending = [one for one in judgement.clauses if one.status is Status.NOT_RUN and not one.excused]
    if pending:
        console.print(Text("not run", style="bold"))
        for reason, ids in _by_reason(pending).items():
            _item(console, f"{reason}: {', '.join(ids)}")
    if result.behind_budget:
        console.print(Text("behind the budget", style="bold"))
        for line in _behind_budget(result):
            _item(console, line)
    counts = judgement.counts()
    told = ", ".join(f"{counts[key]} {key.replace('_', ' ')}" for key in counts if key not in {"must", "advice"})
    _item(console, f"{counts['must']} must clauses: {told}", indent="")
    selected = len(result.selected)
    part = f" (partial run: {selected} of {judgement.checks} checks)" if selected < judgement.checks else ""
    console.print(Text.assemble("verdict: ", (judgement.verdict.value, _STYLE[judgement.verdict]), part))


def _behind_budget(result: RunResult) -> Iterator[str]:
    """What was not run for want of time: of machines that have run their prologues, further examples alone."""
    outcomes = {outcome.check: outcome for outcome in result.outcomes}
    waiting = [check for check in taken(result.selected, result.hello, result.shard) if check.name not in outcomes]
    if waiting:
        yield f"{len(waiting)} checks not begun, from {waiting[0].name} on"
    for check in result.selected:
        outcome = outcomes.get(check.name)
        if outcome is not None and outcome.examples < (asked := check.worlds(result.examples)):
            yield f"{check.name}: {outcome.examples} of {asked} worlds"


def print_shard(console: Console, result: RunResult) -> None:
    """Print what one part of a divided run was; a verdict is the affair of all parts together.

    Args:
        console: Where to print.
        result: The part that ran.
    """
    done = result.finished
    worlds = sum(outcome.examples for outcome in result.outcomes)
    clauses = {one.clause.id: one.clause for one in result.judgement.clauses}
    failed = sum(violates(outcome, clauses) for outcome in result.outcomes)
    _item(console, f"shard {result.shard}: {len(done)} checks, {worlds:,} worlds, {failed or 'none'} failed", indent="")
    join = f"no verdict: `dshconform merge` judges the reports of all {result.shard.of} shards together"
    _item(console, join, indent="")


def _item(console: Console, text: str, indent: str = "  ") -> None:
    for line in wrapped(text, indent, hanging="  "):
        console.print(line, markup=False)


def _contracts(result: RunResult) -> Table:
    table = Table(title=None, box=None, pad_edge=False, header_style="bold")
    table.add_column("contract", width=22)
    for heading in ("checks", "worlds", "commands"):
        table.add_column(heading, justify="right", width=9)
    table.add_column("result", width=24)
    clauses = {one.clause.id: one.clause for one in result.judgement.clauses}
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
            _told(done, len(names), clauses),
        )
    return table


def _told(done: Sequence[Outcome], selected: int, clauses: Mapping[str, Clause]) -> Text:
    failed = sum(violates(outcome, clauses) for outcome in done)
    advice = sum(bool(outcome.failures) for outcome in done) - failed
    stopped = sum(outcome.stopped for outcome in done)
    parts = []
    if failed:
        parts.append(f"{failed} failed")
    if advice:
        parts.append(f"{advice} with advice")
    if stopped:
        parts.append(f"{stopped} stopped")
    if any(outcome.cut_short for outcome in done):
        parts.append("cut short")
    if len(done) < selected:
        parts.append(f"{selected - len(done)} not run")
    return Text(", ".join(parts) or "held", style="red" if failed else "yellow" if parts else "green")


def _groups(result: RunResult) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("clause group", width=22)
    for status in _COLUMNS:
        table.add_column(status.value, justify="right", width=9)
    table.add_column("must", justify="right", width=5)
    rest: dict[str, list[list[ClauseResult]]] = {}
    for group, members in by_group(result.judgement.clauses):
        silent = _silence(members)
        if silent is None:
            table.add_row(group, *_cells(members))
        else:
            rest.setdefault(silent, []).append(members)
    for silent, groups in rest.items():
        table.add_row(f"{len(groups)} more, {silent}", *_cells([one for group in groups for one in group]), style="dim")
    return table


def _silence(members: Sequence[ClauseResult]) -> str | None:
    """Why nothing was said of a whole group, if so."""
    if not all(one.status is Status.UNCHECKED or one.excused for one in members):
        return None
    reasons = {one.reason for one in members if one.excused}
    return "no check" if not reasons else NOT_SELECTED if NOT_SELECTED in reasons else "not declared"


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
