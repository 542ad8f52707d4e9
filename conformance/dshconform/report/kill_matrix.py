"""The kill matrix: which check finds each fault, and which clauses are covered so; for people, and as JSON."""

import json
from collections.abc import Iterable, Mapping, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from dshconform.faults.coverage import Coverage, Unfaulted
from dshconform.faults.killing import Trial
from dshconform.protocol.json_value import Json, JsonMap
from dshconform.report.text import wrapped
from dshconform.spec.clause import Profile

_LISTED = 24
"""So many clauses of a profile without coverage are named; of more, only the number is told."""


def print_trial(console: Console, trial: Trial) -> None:
    """Print what became of one fault: a line for it, and one for the checks.

    Args:
        console: Where to print.
        trial: The fault, what killed it, and what else found it.
    """
    killed = trial.killed_by is not None
    status = Text("killed    " if killed else "SURVIVES  ", style="green" if killed else "bold red")
    console.print(Text.assemble("  ", status, f"{trial.fault.id} ({trial.fault.clause})"))
    said = [f"by {trial.killed_by}"] if killed else []
    if trial.collateral:
        said.append(f"collateral: {', '.join(trial.collateral)}")
    for line in wrapped("; ".join(said) or "no check found anything", indent=" " * 12):
        console.print(line, markup=False, style="dim")


def print_coverage(console: Console, coverage: Mapping[Profile, Coverage], exceptions: Sequence[Unfaulted]) -> None:
    """Print the coverage of some profiles, what is not covered, and the exceptions with their reasons.

    Args:
        console: Where to print.
        coverage: By profile, the `must` clauses that are covered and those that are not.
        exceptions: The clauses of which no violation can be seen.
    """
    console.print(_table(coverage))
    missing = {profile: one.missing for profile, one in coverage.items() if one.missing}
    if missing:
        console.print(Text("not covered", style="bold"))
        for profile, clauses in missing.items():
            few = len(clauses) <= _LISTED
            told = ", ".join(clauses) if few else f"{len(clauses)} clauses"
            _item(console, f"{profile}: {told}")
    excepted = {clause for one in coverage.values() for clause in one.excepted}
    if excepted:
        console.print(Text("exceptions", style="bold"))
        for entry in exceptions:
            if entry.clause in excepted:
                _item(console, f"{entry.clause}: {entry.reason}")


def _table(coverage: Mapping[Profile, Coverage]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("profile", width=14)
    for heading in ("must", "covered", "excepted", "missing"):
        table.add_column(heading, justify="right", width=9)
    table.add_column("share", justify="right", width=9)
    for profile, one in coverage.items():
        missing = len(one.missing)
        counts = (len(one.must), len(one.covered), len(one.excepted), missing)
        share = Text(percent(one), style="yellow" if missing else "green")
        table.add_row(profile.value, *map(str, counts), share)
    return table


def percent(coverage: Coverage) -> str:
    """The share of the `must` clauses that is covered, with one decimal, never rounded up.

    Args:
        coverage: Of one profile; without any `must` clause it is whole.
    """
    thousandths = len(coverage.covered) * 1000 // len(coverage.must) if coverage.must else 1000
    return f"{thousandths // 10}.{thousandths % 10} %"


def _item(console: Console, text: str) -> None:
    for line in wrapped(text, indent="  ", hanging="  "):
        console.print(line, markup=False)


def coverage_document(trials: Iterable[Trial], coverage: Mapping[Profile, Coverage]) -> JsonMap:
    """The coverage as JSON, the faults in the order of the clauses that they violate.

    Args:
        trials: Those that were made.
        coverage: What follows from them.
    """
    place = {clause: at for at, clause in enumerate(clause for one in coverage.values() for clause in one.must)}
    ordered = sorted(trials, key=lambda trial: (place.get(trial.fault.clause, len(place)), trial.fault.id))
    profiles: dict[str, Json] = {
        profile.value: {"must": len(one.must), "covered": len(one.covered), "excepted": len(one.excepted)}
        for profile, one in coverage.items()
    }
    faults: list[Json] = [
        {
            "id": trial.fault.id,
            "clause": trial.fault.clause,
            "killed_by": trial.killed_by,
            "collateral": list(trial.collateral),
        }
        for trial in ordered
    ]
    return {"profiles": profiles, "faults": faults}


def coverage_text(document: JsonMap) -> str:
    """Write a document of `coverage_document`, one line for each profile and each fault."""
    profiles, faults = document["profiles"], document["faults"]
    assert isinstance(profiles, Mapping)
    assert isinstance(faults, Sequence)
    lines = [f"  {json.dumps(name)}: {json.dumps(counts)}" for name, counts in profiles.items()]
    rows = [f"  {json.dumps(fault)}" for fault in faults]
    return '{\n "profiles": {\n' + ",\n".join(lines) + '\n },\n "faults": [\n' + ",\n".join(rows) + "\n ]\n}\n"
