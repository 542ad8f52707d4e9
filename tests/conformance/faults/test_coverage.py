"""Which clauses are covered, and which cannot be."""

from collections.abc import Sequence
from contextlib import nullcontext

import pytest

from dshconform.faults import ALL_FAULTS, Fault
from dshconform.faults.coverage import ExceptionsError, Unfaulted, load_exceptions, measure, read_exceptions
from dshconform.faults.killing import Trial
from dshconform.spec import Level, Profile, load_specification

CLAUSES = load_specification().clauses


def trial(clause: str, killed_by: str | None) -> Trial:
    fault = Fault(f"of-{clause}", clause, "It is wrong.", nullcontext)
    return Trial(fault=fault, killed_by=killed_by, collateral=())


def test_a_clause_is_covered_when_a_fault_that_violates_it_is_killed() -> None:
    """One killed fault is enough; a fault that survives covers nothing; collateral does not count."""
    trials = [
        trial("INBOX-LIST-01", None),
        trial("INBOX-LIST-01", "scenario/x"),
        trial("INBOX-DUR-01", None),
    ]
    core = measure(trials, CLAUSES.values(), ())[Profile.CORE]
    assert core.covered == ("INBOX-LIST-01",)
    assert "INBOX-DUR-01" in core.missing


def test_the_denominator_is_every_must_clause_of_the_profile() -> None:
    """Whether or not there is a check or a fault for it."""
    coverage = measure((), CLAUSES.values(), ())
    assert list(coverage) == list(Profile)
    for profile, one in coverage.items():
        wanted = [each.id for each in CLAUSES.values() if each.profile is profile and each.level is Level.MUST]
        assert list(one.must) == list(one.missing) == wanted


def test_an_exception_is_neither_covered_nor_missing() -> None:
    """It is counted by itself."""
    listed = (Unfaulted(clause="LOG-EVT-05", reason="Nobody sees it."),)
    core = measure((), CLAUSES.values(), listed)[Profile.CORE]
    assert core.excepted == ("LOG-EVT-05",)
    assert "LOG-EVT-05" not in (*core.covered, *core.missing)


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ("{clause: LOG-EVT-99, reason: x}", "there is no clause 'LOG-EVT-99'; did you mean"),
        ("{clause: LIFE-DISP-21, reason: x}", "LIFE-DISP-21 is a `should` clause"),
        ("{clause: INBOX-LIST-01, reason: x}", "violates INBOX-LIST-01: remove the entry"),
        ("{clause: LOG-EVT-05, reason: ' '}", "LOG-EVT-05 has no reason: say why"),
        ("{clause: LOG-EVT-05}", "missing required field `reason`"),
        ("{clause: LOG-EVT-05, reason: x}, {clause: LOG-EVT-05, reason: y}", "LOG-EVT-05 stands twice"),
    ],
)
def test_a_list_of_exceptions_is_checked(entry: str, problem: str) -> None:
    """An entry names a `must` clause that no fault violates, once, with a reason."""
    with pytest.raises(ExceptionsError, match=r"unfaulted\.yaml: ") as caught:
        read_exceptions(f"[{entry}]", CLAUSES, ALL_FAULTS)
    assert problem in str(caught.value)


def violated(profile: Profile) -> Sequence[str]:
    clauses = {fault.clause for fault in ALL_FAULTS}
    listed = {entry.clause for entry in load_exceptions(CLAUSES, ALL_FAULTS)}
    one = measure((), CLAUSES.values(), ())[profile]
    return [clause for clause in one.must if clause not in clauses | listed]


@pytest.mark.parametrize("profile", [Profile.CORE, Profile.LIFECYCLE])
def test_every_clause_of_core_and_lifecycle_has_a_fault_or_is_an_exception(profile: Profile) -> None:
    """And of exceptions there are fewer than three in a hundred."""
    assert violated(profile) == []
    exceptions = [entry for entry in load_exceptions(CLAUSES, ALL_FAULTS) if CLAUSES[entry.clause].profile is profile]
    musts = measure((), CLAUSES.values(), ())[profile].must
    assert len(exceptions) < 0.03 * len(musts)
