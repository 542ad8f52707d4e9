"""A scenario as a check: what held, what failed, what lies behind it, and what the ledger stops."""

from collections.abc import Callable

from tests.conformance.running.fakes import link

from dshconform.links.link import Link
from dshconform.protocol.json_value import JsonMap
from dshconform.running.check import Outcome, RunContext
from dshconform.running.ledger import Deviation, Ledger
from dshconform.scenarios.check import ScenarioCheck
from dshconform.scenarios.load import read_scenario

TEXT = """
scenario: x
title: X
contract: turn
steps:
  - {do: world.open}
  - {do: agent.inspect, args: {agent: a}, by: LOOP-OPEN-01, result: {status: idle}}
  - {do: agent.inspect, args: {agent: a}, by: LOOP-OPEN-02, result: {status: running}}
  - {do: agent.inspect, args: {agent: a}, by: LOOP-OPEN-03, result: {status: idle}}
"""
CHECK = ScenarioCheck(read_scenario(TEXT, "x.yaml"))
IDLE: JsonMap = {"result": {"status": "idle"}}
RUNNING: JsonMap = {"result": {"status": "running"}}
ENTRY = Deviation(
    clause="LOOP-OPEN-02",
    check="scenario/x",
    at="agent.inspect result",
    found={"status": "idle"},
    after="stop",
    reason="why",
    reviewed="2026-01-01",
)


def run(opened: Link, ledger: Ledger | None = None) -> Outcome:
    return run_check(CHECK, opened, ledger)


def run_check(
    check: ScenarioCheck, opened: Link, ledger: Ledger | None = None, progress: Callable[[int], None] = lambda _: None
) -> Outcome:
    outcome = Outcome(check=check.name)
    check.run(RunContext(link=opened, ledger=ledger or Ledger(), seed=1, examples=1, progress=progress), outcome)
    return outcome


def test_a_scenario_that_holds() -> None:
    """Every clause is counted as held, and nothing else is said."""
    opened, adapter = link({}, IDLE, RUNNING, IDLE)
    outcome = run(opened)
    assert outcome.held == {"LOOP-OPEN-01": 1, "LOOP-OPEN-02": 1, "LOOP-OPEN-03": 1}
    assert (outcome.failures, outcome.not_run, outcome.commands) == ([], {}, 4)
    assert adapter.commands[-1] == ("world.close", {})


def test_a_difference_fails_its_clause_and_hides_those_behind_it() -> None:
    """The clause is blamed; later clauses could not be evaluated; the same commands lead there again."""
    opened, _ = link({}, IDLE, IDLE, {}, IDLE, IDLE)
    outcome = run(opened)
    assert [failure.difference.clauses for failure in outcome.failures] == [("LOOP-OPEN-02",)]
    assert outcome.failures[0].reproduced
    assert outcome.held == {"LOOP-OPEN-01": 1}
    assert outcome.not_run == {"LOOP-OPEN-03": "behind the first difference of scenario/x"}
    assert len(outcome.failures[0].steps) == 3


def test_a_difference_that_does_not_come_again_is_not_deterministic() -> None:
    """The second world behaves: the failure says that it could not be reproduced."""
    opened, _ = link({}, IDLE, IDLE, {}, IDLE, RUNNING, IDLE)
    assert [failure.reproduced for failure in run(opened).failures] == [False]


def test_both_traces_of_what_is_not_deterministic_are_kept() -> None:
    """The rows of the step as they were first, and as they were in another world."""
    row: JsonMap = {"on": "report", "level": "error"}
    text = TEXT.replace("result: {status: running}", "only: [report], observed: [{report: error, text: one}]")
    first: JsonMap = {"observed": [{**row, "text": "two"}]}
    second: JsonMap = {"observed": [{**row, "text": "one"}]}
    opened, _ = link({}, IDLE, first, {}, IDLE, second)
    outcome = run_check(ScenarioCheck(read_scenario(text, "x.yaml")), opened)
    (failure,) = outcome.failures
    assert not failure.reproduced
    assert failure.rows.pairs == (("report error text=one", "report error text=two"),)
    assert failure.again.pairs == (("report error text=one", "report error text=one"),)


def test_a_listed_stop_ends_the_scenario_without_a_failure() -> None:
    """The deviation is met and counted; what lies behind it is not run, with the entry as reason."""
    opened, _ = link({}, IDLE, IDLE)
    ledger = Ledger([ENTRY])
    outcome = run(opened, ledger)
    assert (outcome.failures, outcome.stopped) == ([], 1)
    assert outcome.not_run == {"LOOP-OPEN-03": "behind the listed deviation LOOP-OPEN-02 at agent.inspect result"}
    assert ledger.deviating() == {"LOOP-OPEN-02": [ENTRY]}


SWEPT = ScenarioCheck(
    read_scenario(
        """
scenario: x
title: X
contract: turn
features: [ticks]
sweep: {ticks: 3}
steps:
  - {do: world.open}
  - {do: run, args: {task: r, do: [{do: pause, ticks: {$tick: true}}]}, by: LOOP-OPEN-01, result: null}
  - {do: agent.inspect, args: {agent: a}, by: LOOP-OPEN-02, result: {status: idle}}
""",
        "x.yaml",
    )
)


def swept(opened: Link, ledger: Ledger | None = None) -> tuple[Outcome, list[int]]:
    done: list[int] = []
    return run_check(SWEPT, opened, ledger, done.append), done


def test_a_sweep_runs_in_a_world_for_each_moment() -> None:
    """Every world is counted, and what holds in each adds up."""
    opened, adapter = link({}, {}, IDLE, {}, {}, IDLE, {}, {}, IDLE)
    outcome, done = swept(opened)
    assert (SWEPT.worlds(200), outcome.examples, sum(done)) == (3, 3, 3)
    assert outcome.held == {"LOOP-OPEN-01": 3, "LOOP-OPEN-02": 3}
    pauses = [args["do"] for op, args in adapter.commands if op == "run"]
    assert pauses == [[{"do": "pause", "ticks": tick}] for tick in (1, 2, 3)]


def test_a_sweep_ends_at_its_first_failure() -> None:
    """The example that is saved has that moment alone; what held before is not taken back."""
    opened, _ = link({}, {}, IDLE, {}, {}, RUNNING, {}, {}, RUNNING)
    outcome, _ = swept(opened)
    assert outcome.examples == 2
    [failure] = outcome.failures
    assert failure.reproduced
    assert failure.document["sweep"] == {"ticks": [2]}
    assert outcome.held["LOOP-OPEN-02"] == 1


def test_a_listed_stop_ends_one_world_of_a_sweep() -> None:
    """The other moments are run all the same."""
    entry = Deviation(
        clause="LOOP-OPEN-02", check="scenario/x", at="agent.inspect result", found={"status": "running"}, after="stop",
        reason="why", reviewed="2026-01-01",
    )  # fmt: skip
    opened, _ = link({}, {}, RUNNING, {}, {}, IDLE, {}, {}, IDLE)
    outcome, _ = swept(opened, Ledger([entry]))
    assert (outcome.examples, outcome.stopped, outcome.failures) == (3, 1, [])
    assert outcome.held["LOOP-OPEN-02"] == 2
