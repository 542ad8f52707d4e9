"""What kills a fault: a check that blames the violated clause before any other."""

import json
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from typeguard import suppress_type_checks

from dshconform.adapters.catalog import reference_under_fault
from dshconform.checks.catalog import all_checks
from dshconform.faults import ALL_FAULTS, Fault
from dshconform.faults.edit import edit
from dshconform.faults.fault import replaced
from dshconform.faults.killing import CannotPlant, try_fault
from dshconform.links.in_process import InProcessLink
from dshconform.links.link import Link
from dshconform.protocol.json_value import Json
from dshconform.protocol.messages import Command, Reply, Row
from dshconform.scenarios.check import ScenarioCheck
from dshconform.scenarios.load import build_scenario
from tests.conformance.running.fakes import HELLO

PUBLISHED = Path(__file__).parents[3] / "docs" / "data" / "coverage.json"


class Adapter:
    """Answers every command, a look at an agent with its status."""

    status = "idle"

    def handle(self, command: Command) -> Reply:
        if command.op == "hello":
            return Reply(id=command.id, result=HELLO)
        assert self.status != "lost"
        result = {"status": self.status} if command.op == "agent.inspect" else None
        told: list[Row] = [] if command.op == "world.close" else [{"on": "return", "op": command.op, "result": result}]
        return Reply(id=command.id, result=result, observed=told)

    def close(self) -> None:
        pass


def open_link() -> Link:
    return InProcessLink(Adapter())


def fault(status: str = "running", clause: str = "AGENT-SEND-01") -> Fault:
    """The adapter says another status."""
    return Fault("another-status", clause, "An agent says so.", lambda: replaced(Adapter, {"status": status}))


def look(name: str, *by: str) -> ScenarioCheck:
    """A scenario that looks at the status, which is demanded by these clauses."""
    look: Json = {"do": "agent.inspect", "args": {"agent": "a"}, "by": list(by), "result": {"status": "idle"}}
    steps: Json = [{"do": "world.open"}, look]
    return ScenarioCheck(build_scenario({"scenario": name, "title": name, "contract": "turn", "steps": steps}, name))


def test_the_first_check_that_blames_the_clause_before_others_kills() -> None:
    """What others are blamed for is collateral, of every check that cites the clause."""
    checks = [
        look("other", "AGENT-ID-01", "AGENT-SEND-01"),
        look("right", "AGENT-SEND-01"),
        look("also", "AGENT-SEND-01", "AGENT-STATUS-01"),
        look("behind", "AGENT-STATUS-01", "AGENT-SEND-01"),
    ]
    trial = try_fault(fault(), checks, open_link)
    assert trial.killed_by == "scenario/right"
    assert trial.collateral == ("AGENT-ID-01", "AGENT-STATUS-01")


def test_a_fault_survives_checks_that_blame_others_first_or_do_not_cite_its_clause() -> None:
    """A failure for another reason is no kill, and a check that does not cite the clause is not even run."""
    checks = [look("other", "AGENT-ID-01", "AGENT-SEND-01"), look("foreign", "INBOX-LIST-01")]
    trial = try_fault(fault(), checks, open_link)
    assert trial.killed_by is None
    assert trial.collateral == ("AGENT-ID-01",)


def test_a_clause_of_an_invariant_is_looked_for_in_every_scenario() -> None:
    """The invariant about the status may speak up anywhere; what kills is then the scenario in which it did."""
    checks = [look("foreign", "INBOX-LIST-01")]
    trial = try_fault(fault(clause="AGENT-STATUS-02"), checks, open_link)
    assert trial.collateral == ("INBOX-LIST-01",)


def test_a_right_implementation_kills_nothing() -> None:
    """Without the fault no check fails."""
    trial = try_fault(fault("idle"), [look("right", "AGENT-SEND-01")], open_link)
    assert (trial.killed_by, trial.collateral) == (None, ())


def test_a_broken_adapter_blames_nobody() -> None:
    """A fault by which the adapter itself breaks proves nothing, as in a run."""
    trial = try_fault(fault("lost"), [look("right", "AGENT-SEND-01")], open_link)
    assert (trial.killed_by, trial.collateral) == (None, ())


def test_a_fault_is_gone_after_its_trial() -> None:
    """Whatever the trial came to."""
    try_fault(fault(), [look("right", "AGENT-SEND-01")], open_link)
    assert Adapter.status == "idle"


def test_a_fault_that_does_not_fit_the_reference_cannot_be_planted() -> None:
    """It is named, with the line that is gone; it does not count as one that survives."""
    stale = Fault("stale", "AGENT-SEND-01", "Nothing.", edit(Adapter, "handle", ("not there", "")))
    with pytest.raises(CannotPlant, match=r"the fault 'stale' cannot be planted: Adapter.handle has 'not there' 0"):
        try_fault(stale, [look("right", "AGENT-SEND-01")], open_link)


def test_what_is_logged_of_a_fault_is_told_to_nobody(caplog: pytest.LogCaptureFixture) -> None:
    """The reference logs what it contains; afterwards its log is as it was."""
    log = logging.getLogger("dshcore")
    state = (log.propagate, list(log.handlers))

    def open_loudly() -> Link:
        log.error("contained")
        return open_link()

    try_fault(fault(), [look("right", "AGENT-SEND-01")], open_loudly)
    assert caplog.records == []
    assert (log.propagate, list(log.handlers)) == state


@pytest.fixture
def free_of_types() -> Iterator[None]:
    """A fault need not keep to types."""
    with suppress_type_checks():
        yield


def published(fault_id: str) -> tuple[str | None, tuple[str, ...]]:
    """What the published matrix says of a fault."""
    rows = json.loads(PUBLISHED.read_text(encoding="utf-8"))["faults"]
    row = next(row for row in rows if row["id"] == fault_id)
    return row["killed_by"], tuple(row["collateral"])


@pytest.mark.usefixtures("free_of_types")
@pytest.mark.parametrize("fault", ALL_FAULTS[::50], ids=lambda fault: fault.id)
def test_a_sample_of_faults_is_killed_as_published(fault: Fault) -> None:
    """All of them are compared by `scripts/gen_coverage.py --check`; a few are tried on every Python."""
    trial = try_fault(fault, all_checks(), reference_under_fault)
    assert (trial.killed_by, trial.collateral) == published(fault.id)
