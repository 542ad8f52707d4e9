"""What two implementations differ in is an ambiguity only where both follow the clauses."""

from collections.abc import Sequence

from msgspec.structs import replace
from tests.conformance.contracts.fake_agent import FakeAdapter
from tests.conformance.contracts.test_machine import CAUSE_TOLD
from typeguard import suppress_type_checks

from dshconform.contracts.inbox import InboxModel
from dshconform.contracts.machine import MachineCheck
from dshconform.contracts.replay import replay_commands
from dshconform.diff.compare import Comparison, compare
from dshconform.diff.twins import Side
from dshconform.links.in_process import InProcessLink
from dshconform.protocol.messages import Command, Reply
from dshconform.running.check import Check
from dshconform.running.ledger import Deviation, Ledger
from dshconform.scenarios.check import ScenarioCheck
from dshconform.scenarios.load import bundled

CHECK = MachineCheck(InboxModel, commands=8)


class Polite(FakeAdapter):
    """Says of an unknown list in other words what no clause words."""

    def handle(self, command: Command) -> Reply:
        reply = super().handle(command)
        if isinstance(reply.error, dict) and reply.error["message"] == "no such list":
            error = {**reply.error, "message": "kindly name a list"}
            observed = [{**row, "error": error} if "error" in row else row for row in reply.observed]
            return replace(reply, error=error, observed=observed)
        return reply


class Forgetful(FakeAdapter):
    """Its adapter dies in its third world."""

    def handle(self, command: Command) -> Reply:
        if self.worlds == 3:
            raise OSError("out of cheese")
        return super().handle(command)


def compared(
    left: FakeAdapter, right: FakeAdapter, known: Sequence[Deviation] = (), checks: Sequence[Check] = (CHECK,)
) -> Comparison:
    sides = (
        Side("left", InProcessLink(left), Ledger()),
        Side("right", InProcessLink(right), Ledger(known)),
    )
    with suppress_type_checks():  # thousands of commands
        return compare(sides, checks, seed=1, examples=1, progress=lambda _: None)


def test_two_of_a_kind_differ_nowhere() -> None:
    """A pair of worlds for each prologue, and nothing that they differ in."""
    found = compared(FakeAdapter(), FakeAdapter())
    assert found.complete
    assert (found.ambiguities, found.decided, found.left_out) == ({}, {}, {})
    assert found.worlds == CHECK.worlds(1)


def test_what_no_clause_decides_is_found_once_with_the_shortest_commands() -> None:
    """Another text of an error that no clause words: one command shows it, and replays on both without a difference."""
    found = compared(FakeAdapter(), Polite())
    assert found.decided == {}
    ambiguity = found.ambiguities["return agent.send.error.message"]
    assert (ambiguity.contrast.left, ambiguity.contrast.right) == ("no such list", "kindly name a list")
    assert ambiguity.nearest == ("AGENT-SEND-06",)
    assert ambiguity.found > 1
    commands = ambiguity.document["steps"]
    assert isinstance(commands, list)
    assert [one["do"] for one in commands] == ["agent.send"]
    assert ambiguity.found_after > 1
    for adapter in (FakeAdapter(), Polite()):
        assert replay_commands(InboxModel(), commands, InProcessLink(adapter), Ledger()).difference is None


def test_what_a_clause_decides_is_no_ambiguity() -> None:
    """The side that does not follow it is named, and nothing behind it is compared."""
    found = compared(FakeAdapter(), FakeAdapter("prompt first"))
    assert found.ambiguities == {}
    (decided,) = found.decided.values()
    assert decided.side == "right"
    assert "INBOX-CLAIM-01" in decided.difference.clauses


def test_what_a_ledger_lists_is_neither() -> None:
    """A known deviation: accepted and passed over, or the end of its example."""
    for after in ("accept", "stop"):
        entry = Deviation(**CAUSE_TOLD, after=after)  # type: ignore[arg-type]
        found = compared(FakeAdapter(), FakeAdapter("cause told"), [entry])
        assert (found.ambiguities, found.decided) == ({}, {})
    assert compared(FakeAdapter(), FakeAdapter("cause told")).decided


def test_a_variant_ends_its_example() -> None:
    """Where the model follows one of the two, what they are in afterwards is no longer the same."""
    entry = Deviation(
        clause="CANCEL-IDLE-02",
        check="machine/inbox",
        after="variant",
        variant="idle-cancel-keeps-input",
        reason="for the test",
        reviewed="2026-01-01",
    )
    found = compared(FakeAdapter(), FakeAdapter("idle cancel keeps"), [entry])
    assert (found.ambiguities, found.decided) == ({}, {})


def test_an_implementation_that_is_not_deterministic_is_told_as_it_was_met() -> None:
    """Its example does not part the two again, and is not minimised."""

    class Fickle(Polite):
        def handle(self, command: Command) -> Reply:
            return super().handle(command) if self.worlds == 3 else FakeAdapter.handle(self, command)

    found = compared(FakeAdapter(), Fickle())
    assert found.ambiguities
    for ambiguity in found.ambiguities.values():
        assert len(ambiguity.document["steps"]) == ambiguity.found_after  # type: ignore[arg-type]


def test_the_commands_of_a_scenario_are_sent_as_they_are() -> None:
    """Its example is the scenario, up to the step at which the two part; a sweep through ticks is left out."""
    scenarios = {one.id: ScenarioCheck(one) for one in bundled()}
    checks = [scenarios["refused-input"], scenarios["cancel-and-send-any-time"]]
    found = compared(FakeAdapter(), Polite(), checks=checks)
    assert list(found.left_out) == ["scenario/cancel-and-send-any-time"]
    assert found.worlds == 1
    ambiguity = found.ambiguities["return agent.send.error.message"]
    assert ambiguity.steps[-1].op == "agent.send"
    assert ambiguity.document["scenario"] == "refused-input"


def test_whose_adapter_broke_the_protocol_is_told() -> None:
    """What was found until then stays."""
    found = compared(FakeAdapter(), Forgetful())
    assert found.fault is not None
    assert found.fault[0] == "right"
    assert found.fault[1].kind == "died"
    assert found.worlds == 2
    assert not found.complete
