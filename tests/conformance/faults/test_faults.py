"""The checks can fail: each planted fault of the reference is found by the clause it violates, in few commands."""

from collections.abc import Iterator

import pytest
from typeguard import suppress_type_checks

from dshconform.adapters.reference.adapter import ReferenceAdapter
from dshconform.contracts.inbox import InboxModel
from dshconform.contracts.machine import MachineCheck
from dshconform.contracts.replay import Example, replay_commands
from dshconform.faults import FAULTS, Fault
from dshconform.faults.fault import replaced
from dshconform.links.in_process import InProcessLink
from dshconform.links.link import Link
from dshconform.running.check import Outcome, RunContext
from dshconform.running.ledger import Ledger
from dshconform.spec import load_specification

CHECK = MachineCheck(InboxModel, commands=15)


@pytest.fixture
def link() -> Iterator[Link]:
    """The reference, in process."""
    with InProcessLink(ReferenceAdapter()) as opened:
        yield opened


def run(link: Link, *, examples: int = 0, seed: int = 1) -> Outcome:
    context = RunContext(link=link, ledger=Ledger(), seed=seed, examples=examples, progress=lambda _: None)
    with suppress_type_checks():  # thousands of commands
        outcome = Outcome(check=CHECK.name)
        CHECK.run(context, outcome)
        return outcome


def replayed(link: Link, steps: object) -> Example:
    assert isinstance(steps, list)
    return replay_commands(InboxModel(), steps, link, Ledger())


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.id)
def test_the_inbox_machine_finds_a_fault_by_the_clause_it_violates(fault: Fault, link: Link) -> None:
    """One failure at least blames that clause; it is minimised to six commands, and its document shows it again."""
    with fault.plant():
        outcome = run(link)
        found = [failure for failure in outcome.failures if fault.clause in failure.difference.clauses]
        assert found, [failure.difference for failure in outcome.failures]
        failure = min(found, key=lambda one: len(one.steps))
        assert failure.reproduced
        steps = failure.document["steps"]
        assert isinstance(steps, list)
        assert len(steps) <= 6
        assert replayed(link, steps).difference == failure.difference
    assert replayed(link, steps).difference is None, "the fault is still there"


def test_the_reference_itself_has_no_fault(link: Link) -> None:
    """Without a planted fault the machine finds nothing, and reaches every clause that it cites."""
    outcome = run(link, examples=60, seed=7)
    assert outcome.failures == []
    assert set(CHECK.clauses) <= set(outcome.held)


def test_faults_are_told_apart_and_violate_clauses_of_the_specification() -> None:
    """Names are used once, clauses exist, and what each does is said in a sentence."""
    specification = load_specification()
    assert len({fault.id for fault in FAULTS}) == len(FAULTS)
    for fault in FAULTS:
        assert specification.clause(fault.clause).level == "must"
        assert fault.about.endswith(".")


def test_a_fault_is_gone_when_its_block_ends_in_an_error() -> None:
    """What was replaced is put back however the block is left; a member that is not there is an error."""

    class Owner:
        member = 1

    def fail() -> None:
        assert Owner.member == 2
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), replaced(Owner, {"member": 2}):
        fail()
    assert Owner.member == 1
    with pytest.raises(AttributeError), replaced(Owner, {"other": 2}):
        pass
