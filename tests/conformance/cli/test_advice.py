"""What `dshconform smoke` counts: clauses that are still to be unlocked, and checks that held."""

from dshconform.cli.smoke import _nothing_to_fix, _unlocked
from dshconform.running.check import Outcome
from dshconform.running.ledger import Deviation, Ledger
from dshconform.running.run import RunResult
from dshconform.running.verdict import judge
from dshconform.spec.clause import Level
from dshconform.trace.invariants import INVARIANTS
from tests.conformance.running.judging import FakeCheck, clause, failure, hello

WATCHED = INVARIANTS[0].clauses[0]
SPECIFICATION = [clause("A-A-01"), clause("A-A-02"), clause("A-A-03", Level.SHOULD), clause("B-B-01"), clause(WATCHED)]
ONE = FakeCheck("scenario/one", ("A-A-01", "A-A-02", "A-A-03"))
TWO = FakeCheck("scenario/two", ("A-A-01", "B-B-01"))
TOOLS = FakeCheck("scenario/tools", ("B-B-01",), profile="tools")
LISTED = Deviation(
    clause="B-B-01", check="scenario/two", at="x", found=1, after="stop", reason="why", reviewed="2026-01-01"
)


def result(*outcomes: Outcome, ledger: Ledger | None = None) -> RunResult:
    checks = (ONE, TWO, TOOLS)
    judgement = judge(
        specification=SPECIFICATION,
        checks=checks,
        selected=checks,
        outcomes=outcomes,
        hello=hello(),
        ledger=ledger or Ledger(),
        complete=True,
    )
    return RunResult(
        hello=hello(),
        selected=checks,
        outcomes=list(outcomes),
        judgement=judgement,
        ledger=ledger or Ledger(),
        seed=1,
        examples=1,
    )


def test_what_holds_already_is_not_unlocked() -> None:
    """Clauses that held do not count, those of invariants do, and only `must` clauses."""
    failed = Outcome(check="scenario/one", held={"A-A-01": 1}, failures=[failure("A-A-02")])
    assert _unlocked(["scenario/one", "scenario/two"], result(failed)) == len({"A-A-02", "B-B-01", WATCHED})
    held = Outcome(check="scenario/one", held={"A-A-01": 1, "A-A-02": 1, WATCHED: 1})
    assert _unlocked(["scenario/two"], result(held)) == len({"B-B-01"})


def test_a_check_that_stopped_or_could_not_run_is_not_said_to_hold() -> None:
    """Each number says what it is of."""
    outcomes = [
        Outcome(check="scenario/one", failures=[failure("A-A-03")]),
        Outcome(check="scenario/two", stopped=1),
    ]
    told = " ".join(" ".join(_nothing_to_fix(result(*outcomes, ledger=Ledger([LISTED], {0: 1})))).split())
    assert told == (
        "nothing to fix: 0 checks held, 1 stopped at a listed deviation, 1 listed deviations were met, 1 gave advice, "
        "1 need what is not declared; `dshconform run` looks closer"
    )
