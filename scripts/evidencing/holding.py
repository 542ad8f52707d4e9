"""What holds each clause: the checks of the suite that cite it, and the faults that show that these can fail."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from dshconform.checks.catalog import all_checks
from dshconform.faults import ALL_FAULTS
from dshconform.running.check import Check
from dshconform.scenarios.check import ScenarioCheck
from dshconform.trace.invariants import INVARIANTS


@dataclass(frozen=True, slots=True)
class Held:
    """A check or an invariant.

    Args:
        name: `scenario/plain-turn`, `machine/inbox`, `table/phase`, `invariant/order`.
        title: Of a scenario, what it is about in one line.
    """

    name: str
    title: str = ""


@dataclass(frozen=True, slots=True)
class Shown:
    """A fault.

    Args:
        id: Its name.
        about: What the reference does when it is planted.
        killed_by: The check that blames the clause first; none where that has not been measured.
    """

    id: str
    about: str
    killed_by: str | None


@cache
def checks_by_clause() -> Mapping[str, Sequence[Held]]:
    """For every clause that is checked, what checks it.

    Machines, tables and invariants come first: they are the fewest, and see the most.
    """
    found: dict[str, list[Held]] = {}
    for check in all_checks():
        _add(found, _held(check), check.clauses)
    for invariant in INVARIANTS:
        _add(found, Held(f"invariant/{invariant.name}"), invariant.clauses)
    return {
        clause: sorted(checks, key=lambda check: check.name.startswith("scenario/")) for clause, checks in found.items()
    }


def _held(check: Check) -> Held:
    return Held(check.name, check.scenario.title if isinstance(check, ScenarioCheck) else "")


def _add(found: dict[str, list[Held]], held: Held, clauses: Iterable[str]) -> None:
    for clause in dict.fromkeys(clauses):
        found.setdefault(clause, []).append(held)


def faults_by_clause(coverage: Path) -> Mapping[str, Sequence[Shown]]:
    """For every clause that has faults, these.

    Args:
        coverage: The data file that says what kills each (`scripts/gen_coverage.py`).
    """
    killers = {row["id"]: row["killed_by"] for row in json.loads(coverage.read_text(encoding="utf-8"))["faults"]}
    found: dict[str, list[Shown]] = {}
    for fault in ALL_FAULTS:
        found.setdefault(fault.clause, []).append(Shown(fault.id, fault.about, killers.get(fault.id)))
    return found
