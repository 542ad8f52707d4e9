"""From what the checks said to a status per clause, the counts and the verdict.

The denominator is fixed: every `must` clause of the specification, whether or not a check for it exists. The profile
`reference` binds an implementation that declares it, and only then is in the denominator.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from dshconform.protocol.messages import Hello
from dshconform.running.check import Check, Outcome
from dshconform.running.ledger import Deviation, Ledger
from dshconform.spec.clause import Clause, Level, Profile
from dshconform.trace.invariants import INVARIANTS
from dshconform.trace.pattern import Difference


class Status(StrEnum):
    """What is known of one clause after a run."""

    PASS = "pass"  # noqa: S105 - no password
    FAIL = "fail"
    DEVIATION = "deviation"
    ADVICE = "advice"
    NOT_RUN = "not run"
    UNCHECKED = "unchecked"


class Verdict(StrEnum):
    """What is known of an implementation after a run."""

    CONFORMANT = "conformant"
    WITH_DEVIATIONS = "conformant-with-deviations"
    NOT_CONFORMANT = "not-conformant"
    UNKNOWN = "unknown"


EXIT_STATUS: Final[Mapping[Verdict, int]] = {
    Verdict.CONFORMANT: 0,
    Verdict.WITH_DEVIATIONS: 0,
    Verdict.NOT_CONFORMANT: 1,
    Verdict.UNKNOWN: 3,
}
"""What the process ends with, by verdict."""
NOT_SELECTED: Final = "not selected"
"""Why nothing is known of a clause whose checks were not to run."""
CUT_SHORT: Final = "the run was cut short"
"""Why nothing is known of a clause whose checks did not come to their end."""
STALE_REMEDY: Final = "remove it from the ledger"
"""What to do about a listed deviation that is not met any more."""

_INVARIANT: Final = "invariant/"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClauseResult:
    """One clause after a run."""

    clause: Clause
    """As the specification has it."""
    status: Status
    """What is known of it."""
    checks: tuple[str, ...]
    """The checks that cite it, and the invariants that do."""
    reason: str | None = None
    """Why nothing is known of it, where that is so."""
    excused: bool = False
    """Not run for a reason that leaves the verdict alone: not declared, or not selected."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What a run says of an implementation."""

    clauses: tuple[ClauseResult, ...]
    """What is known of each clause."""
    verdict: Verdict
    """What follows from them."""
    deviations: tuple[Deviation, ...]
    """The known differences that were met."""
    stale: tuple[Deviation, ...]
    """Those that were not met, though their check came to its end."""
    checks: int
    """How many checks exist, selected or not."""

    def counts(self) -> dict[str, int]:
        """How many `must` clauses have each status (they sum to `must`), and the advice of `should` clauses."""
        musts = [result for result in self.clauses if result.clause.level is Level.MUST]
        counted = {
            key: sum(result.status is status for result in musts)
            for key, status in (
                ("pass", Status.PASS),
                ("fail", Status.FAIL),
                ("deviation", Status.DEVIATION),
                ("not_run", Status.NOT_RUN),
                ("unchecked", Status.UNCHECKED),
            )
        }
        advice = sum(result.status is Status.ADVICE for result in self.clauses)
        return {**counted, "advice": advice, "must": len(musts)}


@dataclass(slots=True)
class Evidence:
    """Everything that was said about the clauses, gathered over all outcomes.

    Args:
        musts: The clauses that decide the verdict.
        whole: Whether all checks were selected; an invariant that a part of them never reaches says nothing.
        cut_short: Why a selected check did not come to its end, where one did not.
        profiles: Those that the implementation declared.
        chosen: The names of the checks that were selected.
        finished: The names of those that ran to their end.
        undeclared: For a check that the implementation does not offer, what it did not declare.
        deviating: The ledger's entries that were met, by clause.
        held: The clauses that held.
        failed: Why a clause failed.
        suspected: Why a clause may have been violated, where another is named for it.
        not_run: Why a clause could not be evaluated.
    """

    musts: frozenset[str]
    whole: bool
    cut_short: str | None
    profiles: Sequence[str]
    chosen: frozenset[str]
    finished: frozenset[str]
    undeclared: Mapping[str, str]
    deviating: Mapping[str, Sequence[Deviation]]
    held: set[str] = field(default_factory=set)
    failed: dict[str, str] = field(default_factory=dict)
    suspected: dict[str, str] = field(default_factory=dict)
    not_run: dict[str, str] = field(default_factory=dict)

    def add(self, outcome: Outcome) -> None:
        """Take in one outcome; the first reason given stays.

        Of several clauses that a difference is blamed on, the first fails: it is the one that demands just what
        differs. Of the others nothing is known then, unless the first is a mere advice.
        """
        self.held |= outcome.held.keys()
        for failure in outcome.failures:
            difference = failure.difference
            for clause in difference.clauses[:1]:
                self.failed.setdefault(clause, f"{outcome.check}: {difference.sentence}")
            for clause in difference.clauses[1:] if self.musts.issuperset(difference.clauses[:1]) else ():
                self.suspected.setdefault(clause, f"blamed together with {difference.clauses[0]}")
        for clause, reason in outcome.not_run.items():
            self.not_run.setdefault(clause, reason)


def judge(
    *,
    specification: Sequence[Clause],
    checks: Sequence[Check],
    selected: Sequence[Check],
    outcomes: Sequence[Outcome],
    hello: Hello,
    ledger: Ledger,
    complete: bool,
    cut_short: str = CUT_SHORT,
    part: bool = False,
) -> Judgement:
    """Judge an implementation by what its checks said.

    Args:
        specification: All clauses.
        checks: All checks that exist.
        selected: Those that were to run.
        outcomes: What those said that did; fewer than `selected` when the run was cut short.
        hello: What the adapter declared.
        ledger: The known differences, and which were met.
        complete: Whether every selected check came to its end; a run that was cut short proves nothing good.
        cut_short: Why one did not.
        part: Whether this is one part of a divided run: of what it has not met, another may have.

    Returns:
        A status for every clause that binds the implementation, and the verdict: unknown where nothing ran at all,
        where something did not work that no clause is blamed for, or without the profile `core`, which binds
        everybody.
    """
    deviating = ledger.deviating()
    finished = [] if part else [outcome.check for outcome in outcomes if not outcome.cut_short]
    evidence = Evidence(
        musts=frozenset(clause.id for clause in specification if clause.level is Level.MUST),
        whole=len(selected) == len(checks),
        cut_short=None if complete else cut_short,
        profiles=hello.profiles,
        chosen=frozenset(check.name for check in selected),
        finished=frozenset(finished),
        undeclared={check.name: reason for check in checks if (reason := undeclared(check, hello))},
        deviating=deviating,
    )
    for outcome in outcomes:
        evidence.add(outcome)
    stale = ledger.stale(finished)
    for entry in stale:
        evidence.failed.setdefault(entry.clause, f"the listed deviation {entry.title} has gone: {STALE_REMEDY}")
    citing = _citing(checks)
    results = tuple(
        _result(clause, citing.get(clause.id, ()), evidence)
        for clause in specification
        if clause.profile is not Profile.REFERENCE or Profile.REFERENCE in hello.profiles
    )
    met = tuple(entry for entries in deviating.values() for entry in entries)
    blamed = all(failure.difference.clauses for outcome in outcomes for failure in outcome.failures)
    proves = complete and blamed and bool(outcomes) and Profile.CORE in hello.profiles
    return Judgement(
        clauses=results,
        verdict=_verdict(results, complete=proves),
        deviations=met,
        stale=tuple(stale),
        checks=len(checks),
    )


def decides(difference: Difference, clauses: Mapping[str, Clause]) -> bool:
    """Whether a difference counts against an implementation: no `should` is the first to be blamed for it.

    Args:
        difference: What was met.
        clauses: The specification's clauses, by id.
    """
    first = clauses.get(difference.clauses[0]) if difference.clauses else None
    return not difference.clauses or (first is not None and first.level is Level.MUST)


def violates(outcome: Outcome, clauses: Mapping[str, Clause]) -> bool:
    """Whether a check met a difference that decides the verdict.

    Args:
        outcome: What the check said.
        clauses: The specification's clauses, by id.
    """
    return any(decides(failure.difference, clauses) for failure in outcome.failures)


def runnable(check: Check, hello: Hello) -> bool:
    """Whether the implementation declares what a check needs.

    Args:
        check: Its profile and features have to be declared.
        hello: What it declares.
    """
    return undeclared(check, hello) is None


def undeclared(check: Check, hello: Hello) -> str | None:
    """What a check needs and the implementation does not declare, if anything.

    Args:
        check: Its profile and features have to be declared.
        hello: What it declares.
    """
    if check.profile not in hello.profiles:
        return f"profile {check.profile} is not declared"
    missing = [feature for feature in check.features if feature not in hello.features]
    return f"feature {missing[0]} is not declared" if missing else None


def is_invariant(check: str) -> bool:
    """Whether that is the name of an invariant: any check may hold its clauses."""
    return check.startswith(_INVARIANT)


def _citing(checks: Sequence[Check]) -> dict[str, list[str]]:
    citing: dict[str, list[str]] = {}
    for check in checks:
        for clause in check.clauses:
            citing.setdefault(clause, []).append(check.name)
    for invariant in INVARIANTS:
        for clause in invariant.clauses:
            citing.setdefault(clause, []).append(f"{_INVARIANT}{invariant.name}")
    return citing


def _result(clause: Clause, checks: Sequence[str], evidence: Evidence) -> ClauseResult:
    status, reason, excused = _status(clause, checks, evidence)
    if clause.level is Level.SHOULD and status in {Status.FAIL, Status.DEVIATION}:
        status = Status.ADVICE
    return ClauseResult(clause=clause, status=status, checks=tuple(checks), reason=reason, excused=excused)


def _status(one: Clause, checks: Sequence[str], evidence: Evidence) -> tuple[Status, str | None, bool]:
    clause = one.id
    if clause in evidence.failed:
        return Status.FAIL, evidence.failed[clause], False
    if clause in evidence.deviating:
        return Status.DEVIATION, evidence.deviating[clause][0].reason, False
    if clause in evidence.suspected:
        return Status.NOT_RUN, evidence.suspected[clause], False
    if clause in evidence.held:
        return Status.PASS, None, False
    if not checks:
        return Status.UNCHECKED, None, False
    if not evidence.whole and not any(check in evidence.chosen for check in checks):
        return Status.NOT_RUN, NOT_SELECTED, True
    missing = _undeclared(one, [check for check in checks if not is_invariant(check)], evidence)
    if missing is not None:
        return Status.NOT_RUN, missing, True
    reached = evidence.cut_short is None or any(check in evidence.finished for check in checks)
    default = "never reached" if reached else str(evidence.cut_short)
    return Status.NOT_RUN, evidence.not_run.get(clause, default), False


def _undeclared(clause: Clause, checks: Sequence[str], evidence: Evidence) -> str | None:
    """What is not declared, so that no check of a clause can run; an invariant sees what other checks reach."""
    reasons = [evidence.undeclared[check] for check in checks if check in evidence.undeclared]
    if len(reasons) < len(checks):
        return None
    if reasons:
        return reasons[0]
    return None if clause.profile in evidence.profiles else f"profile {clause.profile} is not declared"


def _verdict(results: Sequence[ClauseResult], *, complete: bool) -> Verdict:
    musts = [result for result in results if result.clause.level is Level.MUST]
    if any(result.status is Status.FAIL for result in musts):
        return Verdict.NOT_CONFORMANT
    if not complete or any(result.status is Status.NOT_RUN and not result.excused for result in musts):
        return Verdict.UNKNOWN
    if any(result.status is Status.DEVIATION for result in musts):
        return Verdict.WITH_DEVIATIONS
    return Verdict.CONFORMANT
