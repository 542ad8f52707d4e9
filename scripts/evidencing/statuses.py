"""The last published run of each implementation: what it said of every clause, in docs/data/status.json.

A clause of which a run says nothing is of a profile that the implementation does not declare, and does not bind it.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from dshconform.report.entries import Report

WORDS: Final[Mapping[str, str]] = {
    "pass": "holds",
    "fail": "fails",
    "deviation": "deviates",
    "advice": "advice not taken",
    "not_run": "not run",
    "unchecked": "no check",
}
"""Every status that a report gives a clause, as readers are told."""

_BY_NAME: Final = "--implementation "

NOT_BOUND: Final = "not bound"
"""What they are told of a clause that a run says nothing of."""


class UnfitReport(ValueError):
    """A report that cannot be published, with the remedy."""


class Run(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One run.

    Attributes:
        name: How the command line names the implementation.
        implementation: How it names itself.
        version: Its version.
        suite: The version of the suite.
        specification: The version of the specification.
        seed: All choices of the run follow from it.
        examples: Worlds that each machine opened.
        verdict: The verdict.
        reasons: Why a clause did not hold, where it did not.
    """

    name: str
    implementation: str
    version: str
    suite: str
    specification: str
    seed: int
    examples: int
    verdict: str
    reasons: Mapping[str, str]


class Statuses(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The data file.

    Attributes:
        runs: One for each implementation, in the order of their names.
        clauses: Every clause of the specification, in its order, each with its status by the `name` of the run.
    """

    runs: Sequence[Run]
    clauses: Mapping[str, Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class Standing:
    """What the last published run of one implementation says of one clause.

    Args:
        name: How the command line names the implementation.
        status: As a report has it; none where the clause does not bind the implementation.
        reason: Why the clause did not hold, where it did not.
    """

    name: str
    status: str | None
    reason: str | None = None

    @property
    def word(self) -> str:
        """The status as readers are told."""
        return NOT_BOUND if self.status is None else WORDS[self.status]


EMPTY: Final = Statuses(runs=(), clauses={})


def published(reports: Sequence[Report], before: Statuses, clauses: Iterable[str]) -> Statuses:
    """Publish runs.

    Args:
        reports: Of whole runs, one for each implementation.
        before: What is published; an implementation without a report keeps its part.
        clauses: All that there are.

    Returns:
        Runs in the order in which they were first published.

    Raises:
        UnfitReport: A report is of a part of a run, or of what has no name.
    """
    fresh = {_name(report): report for report in reports}
    runs = {run.name: run for run in before.runs} | {name: _run(name, report) for name, report in fresh.items()}
    told = {name: {clause: of[name] for clause, of in before.clauses.items() if name in of} for name in runs}
    told |= {name: {one.id: one.status for one in report.clauses} for name, report in fresh.items()}
    return Statuses(
        runs=list(runs.values()),
        clauses={clause: {name: told[name][clause] for name in runs if clause in told[name]} for clause in clauses},
    )


def standings(statuses: Statuses, clause: str) -> Sequence[Standing]:
    """Look up what every published run says of a clause.

    Args:
        statuses: What is published.
        clause: The clause; one that was in no run yet stands as if it did not bind.
    """
    of = statuses.clauses.get(clause, {})
    return [Standing(run.name, of.get(run.name), run.reasons.get(clause)) for run in statuses.runs]


def _name(report: Report) -> str:
    """How the command line names what a report is about, which has to be fit for publishing."""
    footer = report.footer
    if report.shard is not None or footer.selected < footer.checks or not footer.complete:
        raise UnfitReport(
            f"the report of {report.target!r} is not of a whole run: leave out what selects or cuts short"
        )
    if not report.target.startswith(_BY_NAME):
        raise UnfitReport(f"the report is of {report.target!r}: only what `dshconform` knows by name is published")
    return report.target.removeprefix(_BY_NAME)


def _run(name: str, report: Report) -> Run:
    return Run(
        name=name,
        implementation=report.implementation.name,
        version=report.implementation.version,
        suite=report.versions.suite,
        specification=report.versions.specification,
        seed=report.seed,
        examples=report.examples,
        verdict=report.verdict,
        reasons={one.id: one.reason for one in report.clauses if one.reason is not None},
    )


def defects(statuses: Statuses, clauses: Iterable[str]) -> Iterator[str]:
    """What is wrong with the data file, whatever a run would say.

    Args:
        statuses: What it says.
        clauses: All that there are.
    """
    known = dict.fromkeys(clauses)
    for clause in known:
        if clause not in statuses.clauses:
            yield f"{clause} is not listed"
    names = {run.name for run in statuses.runs}
    for clause, of in statuses.clauses.items():
        if clause not in known:
            yield f"{clause} is listed, but there is no such clause"
        for name, status in of.items():
            if name not in names:
                yield f"{clause} has a status of {name!r}, of which no run is listed"
            if status not in WORDS:
                yield f"{clause} has the status {status!r}, which no report gives"


def differences(before: Statuses, now: Statuses) -> Iterator[str]:
    """Clauses of which runs say something else than what is published.

    Args:
        before: What is published.
        now: What would be.
    """
    for clause, of in now.clauses.items():
        was = before.clauses.get(clause, {})
        for name in sorted(of.keys() | was.keys()):
            if of.get(name) != was.get(name):
                told = [WORDS.get(said.get(name, ""), NOT_BOUND) for said in (was, of)]
                yield f"{clause} is published as {told[0]!r} for {name}, and now it is {told[1]!r}"


def read_statuses(file: Path) -> Statuses:
    """Read the data file.

    Raises:
        OSError: It cannot be read.
        msgspec.DecodeError: It says something else; the message says where.
    """
    return msgspec.json.decode(file.read_bytes(), type=Statuses)


def statuses_text(statuses: Statuses) -> str:
    """Write the data file, a line for each clause."""
    runs = json.dumps(msgspec.to_builtins(statuses.runs), indent=1, ensure_ascii=False)
    clauses = ",\n".join(f"  {json.dumps(clause)}: {json.dumps(of)}" for clause, of in statuses.clauses.items())
    return f'{{\n "runs": {runs},\n "clauses": {{\n{clauses}\n }}\n}}\n'
