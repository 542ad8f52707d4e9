"""From outcomes to statuses, counts and a verdict, over a fixed denominator."""

import pytest

from dshconform.protocol.messages import Hello
from dshconform.running.check import Outcome
from dshconform.running.ledger import Deviation, Ledger
from dshconform.running.verdict import EXIT_STATUS, Judgement, Status, Verdict, judge, violates
from dshconform.spec.clause import Level, Profile
from dshconform.trace.invariants import INVARIANTS
from tests.conformance.running.judging import FakeCheck, clause, failure, hello

SPECIFICATION = [
    clause("A-A-01"),
    clause("A-A-02"),
    clause("A-A-03", Level.SHOULD),
    clause("R-R-01", profile=Profile.REFERENCE),
    clause("U-U-01"),
]
CHECK = FakeCheck("scenario/one", ("A-A-01", "A-A-02", "A-A-03"))
OTHER = FakeCheck("scenario/two", ("A-A-02",))
ENTRY = Deviation(
    clause="A-A-01", check="scenario/one", at="place", found=1, after="accept", reason="why", reviewed="2026-01-01"
)


def judged(
    *outcomes: Outcome,
    selected: tuple[FakeCheck, ...] = (CHECK, OTHER),
    checks: tuple[FakeCheck, ...] = (CHECK, OTHER),
    declared: Hello | None = None,
    ledger: Ledger | None = None,
    complete: bool = True,
) -> Judgement:
    return judge(
        specification=SPECIFICATION,
        checks=checks,
        selected=selected,
        outcomes=outcomes,
        hello=declared or hello(),
        ledger=ledger or Ledger(),
        complete=complete,
    )


def statuses(judgement: Judgement) -> dict[str, tuple[Status, str | None]]:
    return {one.clause.id: (one.status, one.reason) for one in judgement.clauses}


ONE = Outcome(check="scenario/one", held={"A-A-01": 1, "A-A-02": 2, "A-A-03": 1})
TWO = Outcome(check="scenario/two", held={"A-A-02": 1})


def test_everything_held() -> None:
    """What held passes; what nobody checks is unchecked and leaves the verdict alone."""
    judgement = judged(ONE, TWO)
    assert judgement.verdict is Verdict.CONFORMANT
    assert statuses(judgement)["U-U-01"] == (Status.UNCHECKED, None)
    assert judgement.counts() == {
        "pass": 2,
        "fail": 0,
        "deviation": 0,
        "not_run": 0,
        "unchecked": 1,
        "advice": 0,
        "must": 3,
    }


def test_the_reference_profile_is_in_the_denominator_of_who_declares_it() -> None:
    """A clause of profile `reference` binds nobody else."""
    assert "R-R-01" not in statuses(judged(ONE, TWO))
    assert judged(ONE, TWO, declared=hello("core", "reference")).counts()["must"] == 4


def test_a_failed_must_is_not_conformant_and_a_failed_should_is_advice() -> None:
    """Only `must` decides; a clause that held elsewhere still fails."""
    failed = Outcome(check="scenario/one", held={"A-A-02": 1}, failures=[failure("A-A-01")])
    judgement = judged(failed, TWO)
    assert judgement.verdict is Verdict.NOT_CONFORMANT
    assert statuses(judgement)["A-A-01"] == (Status.FAIL, "scenario/one: place differs")
    advised = judged(Outcome(check="scenario/one", held=ONE.held, failures=[failure("A-A-03")]), TWO)
    assert advised.verdict is Verdict.CONFORMANT
    assert statuses(advised)["A-A-03"][0] is Status.ADVICE
    assert advised.counts()["advice"] == 1


def test_a_clause_behind_a_failure_is_not_run_and_the_verdict_unknown() -> None:
    """A selected check that could not evaluate a clause never counts as passed."""
    blocked = Outcome(check="scenario/one", held={"A-A-02": 1}, not_run={"A-A-01": "prerequisite failed"})
    judgement = judged(blocked, TWO)
    assert judgement.verdict is Verdict.UNKNOWN
    assert statuses(judgement)["A-A-01"] == (Status.NOT_RUN, "prerequisite failed")


def test_what_is_not_declared_or_not_selected_is_not_run_and_excused() -> None:
    """Neither is a pass, and neither makes the verdict unknown."""
    optional = FakeCheck("scenario/three", ("U-U-01",), profile="tools")
    undeclared = judged(ONE, TWO, checks=(CHECK, OTHER, optional), selected=(CHECK, OTHER, optional))
    assert statuses(undeclared)["U-U-01"] == (Status.NOT_RUN, "profile tools is not declared")
    assert undeclared.verdict is Verdict.CONFORMANT
    feature = FakeCheck("scenario/four", ("U-U-01",), features=("clock",))
    missing = judged(ONE, TWO, checks=(CHECK, OTHER, feature), selected=(CHECK, OTHER, feature))
    assert statuses(missing)["U-U-01"] == (Status.NOT_RUN, "feature clock is not declared")
    partial = judged(TWO, selected=(OTHER,))
    assert statuses(partial)["A-A-01"] == (Status.NOT_RUN, "not selected")
    assert partial.verdict is Verdict.CONFORMANT


def test_an_invariant_that_was_never_reached() -> None:
    """In a whole run that makes the verdict unknown; a part of the checks need not reach it."""
    assert INVARIANTS
    watched = INVARIANTS[0].clauses[0]
    for selected, outcomes, reason, verdict in (
        ((CHECK, OTHER), (ONE, TWO), "never reached", Verdict.UNKNOWN),
        ((OTHER,), (TWO,), "not selected", Verdict.CONFORMANT),
    ):
        judgement = judge(
            specification=[clause(watched)],
            checks=(CHECK, OTHER),
            selected=selected,
            outcomes=outcomes,
            hello=hello(),
            ledger=Ledger(),
            complete=True,
        )
        assert statuses(judgement)[watched] == (Status.NOT_RUN, reason)
        assert judgement.verdict is verdict


def test_a_listed_deviation_is_shown_and_leaves_the_verdict_conformant() -> None:
    """A difference that was met where the ledger lists it is a deviation, not a pass."""
    ledger = Ledger([ENTRY], {0: 1})
    judgement = judged(ONE, TWO, ledger=ledger)
    assert judgement.verdict is Verdict.WITH_DEVIATIONS
    assert statuses(judgement)["A-A-01"] == (Status.DEVIATION, "why")
    assert judgement.deviations == (ENTRY,)


def test_a_stale_entry_fails_its_clause() -> None:
    """A deviation that has gone fails the run, so that no entry outlives its reason."""
    judgement = judged(ONE, TWO, ledger=Ledger([ENTRY]))
    assert judgement.verdict is Verdict.NOT_CONFORMANT
    assert judgement.stale == (ENTRY,)
    reason = "the listed deviation A-A-01 at place has gone: remove it from the ledger"
    assert statuses(judgement)["A-A-01"] == (Status.FAIL, reason)


def test_of_several_clauses_that_are_blamed_one_fails() -> None:
    """The first, which demands just what differs; of the others nothing is known, not even where they held."""
    failed = Outcome(check="scenario/one", held={"A-A-02": 1}, failures=[failure("A-A-01", "A-A-02", "A-A-03")])
    judgement = judged(failed, TWO)
    assert statuses(judgement) | {"U-U-01": None} == {
        "A-A-01": (Status.FAIL, "scenario/one: place differs"),
        "A-A-02": (Status.NOT_RUN, "blamed together with A-A-01"),
        "A-A-03": (Status.NOT_RUN, "blamed together with A-A-01"),
        "U-U-01": None,
    }
    assert judgement.verdict is Verdict.NOT_CONFORMANT


def test_a_should_that_is_blamed_first_leaves_the_others_alone() -> None:
    """An implementation that does not follow advice is not accused of more, nor does its verdict become unknown."""
    judgement = judged(Outcome(check="scenario/one", held=ONE.held, failures=[failure("A-A-03", "A-A-01")]), TWO)
    assert statuses(judgement)["A-A-03"][0] is Status.ADVICE
    assert statuses(judgement)["A-A-01"][0] is Status.PASS
    assert judgement.verdict is Verdict.CONFORMANT


def test_a_failure_that_no_clause_is_blamed_for_proves_nothing_good() -> None:
    """A step that demands nothing was refused: what held still holds, but the run is no proof of conformance."""
    judgement = judged(Outcome(check="scenario/one", held=ONE.held, failures=[failure()]), TWO)
    assert [judgement.counts()[status] for status in ("pass", "fail", "not_run")] == [2, 0, 0]
    assert judgement.verdict is Verdict.UNKNOWN


@pytest.mark.parametrize(
    ("clauses", "violated"), [(("A-A-03",), False), (("A-A-03", "A-A-01"), False), (("A-A-01",), True), ((), True)]
)
def test_what_only_shoulds_are_blamed_for_is_advice(clauses: tuple[str, ...], violated: bool) -> None:
    """A difference that nobody is blamed for is none: something did not work."""
    known = {one.id: one for one in SPECIFICATION}
    assert violates(Outcome(check="scenario/one", failures=[failure(*clauses)]), known) is violated
    assert not violates(ONE, known)


def test_a_run_in_which_no_check_ran_proves_nothing() -> None:
    """Without outcomes the verdict is unknown, and every clause says what was not declared."""
    watched = INVARIANTS[0].clauses[0]
    tools = FakeCheck("scenario/three", ("T-T-01", watched), profile="tools")
    for profiles in ((), ("bogus",), ("tools",)):
        declared = Hello(protocol=1, implementation=hello().implementation, profiles=list(profiles))
        judgement = judge(
            specification=[*SPECIFICATION, clause(watched)],
            checks=(CHECK, OTHER, tools),
            selected=(CHECK, OTHER, tools),
            outcomes=[] if profiles != ("tools",) else [Outcome(check="scenario/three", held={watched: 1})],
            hello=declared,
            ledger=Ledger(),
            complete=True,
        )
        assert statuses(judgement)["A-A-01"] == (Status.NOT_RUN, "profile core is not declared")
        assert judgement.verdict is Verdict.UNKNOWN


def test_an_invariant_does_not_hide_what_was_not_declared() -> None:
    """A clause that an invariant watches too is excused where no check can reach it."""
    watched = INVARIANTS[0].clauses[0]
    tools = FakeCheck("scenario/three", (watched,), profile="tools")
    for checks, profile in (((CHECK, OTHER, tools), Profile.CORE), ((CHECK, OTHER), Profile.TOOLS)):
        judgement = judge(
            specification=[clause(watched, profile=profile)],
            checks=checks,
            selected=checks,
            outcomes=(ONE, TWO),
            hello=hello(),
            ledger=Ledger(),
            complete=True,
        )
        assert statuses(judgement)[watched] == (Status.NOT_RUN, "profile tools is not declared")
        assert judgement.verdict is Verdict.CONFORMANT


def test_a_run_that_was_cut_short_proves_nothing_good() -> None:
    """Without its end a run is unknown, and what it did not reach says so; a failure stands."""
    judgement = judged(ONE, complete=False, checks=(CHECK, FakeCheck("scenario/two", ("U-U-01",))))
    assert judgement.verdict is Verdict.UNKNOWN
    assert statuses(judgement)["U-U-01"] == (Status.NOT_RUN, "the run was cut short")
    failed = Outcome(check="scenario/one", failures=[failure("A-A-01")])
    assert judged(failed, complete=False).verdict is Verdict.NOT_CONFORMANT


@pytest.mark.parametrize(
    ("verdict", "status"),
    [
        (Verdict.CONFORMANT, 0),
        (Verdict.WITH_DEVIATIONS, 0),
        (Verdict.NOT_CONFORMANT, 1),
        (Verdict.UNKNOWN, 3),
    ],
)
def test_exit_statuses(verdict: Verdict, status: int) -> None:
    """Scripts can tell the verdicts apart; 2 is left for usage and adapter faults."""
    assert EXIT_STATUS[verdict] == status
