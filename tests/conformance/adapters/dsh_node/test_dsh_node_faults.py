"""Faults of an implementation that is not ours: each is found by the clause it violates, in few commands.

They are planted in the running packages (`faults.mjs`). A machine runs its prologues alone; what a run of `dshconform`
adds to them is longer, not other.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest
from typeguard import suppress_type_checks

if TYPE_CHECKING:  # typeguard wants to see the package imported first by a test
    from dshconform.adapters.dsh_node.install import Installation
    from dshconform.links.subprocess import SubprocessLink
    from dshconform.protocol.json_value import Json
    from dshconform.running.ledger import Ledger
    from dshconform.running.step import Step
    from dshconform.trace.pattern import Difference

pytestmark = pytest.mark.node

FAULTS_MODULE: Final = Path(__file__).parent / "faults.mjs"
MOST_COMMANDS: Final = 8
UNCOUNTED: Final = frozenset({"world.open", "agent.inspect"})
"""What opens a world, and what only looks."""


@dataclass(frozen=True)
class Foreign:
    """A fault of the packages, the clause that it violates, and a check that blames that clause first."""

    id: str
    clause: str
    check: str


FAULTS: Final = (
    Foreign("prompt-is-claimed-first", "INBOX-CLAIM-01", "machine/inbox"),
    Foreign("every-prompt-is-claimed", "INBOX-CLAIM-01", "machine/inbox"),
    Foreign("inserted-is-told-before-discarded", "INBOX-NOTE-01", "machine/inbox"),
    Foreign("splice-is-logged-after-the-change", "INBOX-DUR-02", "scenario/log-before-list"),
    Foreign("latch-survives-a-clearing-cancel", "WAKE-CLEAR-01", "machine/inbox"),
    Foreign("late-wake-is-parked", "WAKE-LATCH-01", "machine/inbox"),
    Foreign("late-steer-keeps-its-list", "WAKE-LATCH-02", "machine/inbox"),
    Foreign("what-is-to-be-kept-is-cleared", "CANCEL-KEEP-01", "machine/inbox"),
    Foreign("aborts-before-it-clears", "CANCEL-CLEAR-01", "machine/inbox"),
    Foreign("cancel-of-an-idle-agent-aborts-its-next-turn", "CANCEL-IDLE-01", "scenario/cancel-while-idle"),
    Foreign("status-is-told-twice", "AGENT-STATUS-02", "scenario/steering"),
    Foreign("nobody-is-asked-before-a-turn-ends", "LOOP-STOP-01", "machine/turn"),
    Foreign("every-failed-request-is-tried-again", "RERR-TERM-01", "machine/turn"),
    Foreign("disposed-agent-stays-registered", "REG-DET-01", "scenario/detaching"),
    Foreign("disposed-session-stays-in-its-store", "LIFE-DISP-18", "scenario/when-an-id-is-free"),
    Foreign("rollback-leaves-the-id-taken", "LIFE-ROLL-03", "scenario/veto-of-the-session"),
    Foreign("session-is-told-gone-before-its-agent", "LIFE-DISP-01", "scenario/disposal-waits-for-the-turn"),
    Foreign("owner-is-not-remembered", "LIFE-OWN-04", "scenario/agents-of-an-agent"),
    Foreign("initiator-leaks", "INIT-READ-05", "scenario/work-that-outlives-its-boundary"),
)


@pytest.fixture(scope="module")
def ledger() -> "Ledger":
    """What the packages are known to do differently."""
    from dshconform.adapters.catalog import IMPLEMENTATIONS
    from dshconform.checks.catalog import VARIANTS, all_checks
    from dshconform.running.ledger import read_ledger
    from dshconform.spec import load_specification

    names = [check.name for check in all_checks()]
    return read_ledger(IMPLEMENTATIONS["dsh-node"].ledger, load_specification().clauses, names, VARIANTS)


def counted(steps: "tuple[Step, ...]") -> int:
    return sum(step.op not in UNCOUNTED for step in steps)


def replayed(document: "dict[str, Json]", link: "SubprocessLink", ledger: "Ledger") -> "Difference | None":
    """What a saved counterexample shows, read back from its text."""
    from dshconform.checks.replaying import Replayed, read_replay, replay
    from dshconform.running.ledger import Ledger
    from dshconform.yaml_text import write_yaml

    said = Replayed()
    wanted = read_replay(write_yaml(document), Path("saved.yaml"))
    replay(wanted, link, Ledger(ledger.entries), said, until=None, show=lambda _: None)
    assert not said.left_out
    return said.difference


@pytest.mark.long
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.id)
def test_the_clause_that_it_violates_is_blamed_first(
    fault: Foreign, installation: "Installation", dsh_node_process: "SubprocessLink", ledger: "Ledger", tmp_path: Path
) -> None:
    """In at most eight commands; what is saved shows it again, and on the packages as they are shows nothing."""
    from dshconform.checks.catalog import all_checks
    from dshconform.contracts.machine import MachineCheck, same_place
    from dshconform.links.subprocess import SubprocessLink
    from dshconform.running.check import Outcome, RunContext
    from dshconform.running.ledger import Ledger

    check = next(check for check in all_checks() if check.name == fault.check)
    if isinstance(check, MachineCheck):
        check = replace(check, commands=0)
    command = [str(installation.node), "--import", str(FAULTS_MODULE), str(installation.adapter), fault.id]
    with suppress_type_checks(), SubprocessLink(command, wire_log=tmp_path / "wire.jsonl") as link:
        outcome = Outcome(check=check.name)
        known = Ledger(ledger.entries)
        check.run(RunContext(link=link, ledger=known, seed=1, examples=0, progress=lambda _: None), outcome)
        found = [failure for failure in outcome.failures if failure.difference.clauses[:1] == (fault.clause,)]
        assert found, [(failure.difference.clauses, failure.difference.sentence) for failure in outcome.failures]
        failure = min(found, key=lambda one: counted(one.steps))
        assert failure.reproduced
        assert counted(failure.steps) <= MOST_COMMANDS
        document = dict(failure.document)
        again = replayed(document, link, ledger)
        assert again is not None
        assert same_place(again, failure.difference)
    assert replayed(document, dsh_node_process, ledger) is None


def test_a_fault_that_nobody_knows_is_refused(installation: "Installation", tmp_path: Path) -> None:
    """A name that was mistyped must not pass for a fault that was not found."""
    from dshconform.links.link import AdapterFault
    from dshconform.links.subprocess import SubprocessLink

    command = [str(installation.node), "--import", str(FAULTS_MODULE), str(installation.adapter), "no-such-fault"]
    with pytest.raises(AdapterFault, match="died"):
        SubprocessLink(command, wire_log=tmp_path / "wire.jsonl")
