"""The inbox machine can fail: each planted fault is found by the clause it violates, in few commands."""

import pytest

from dshconform.contracts.inbox import InboxModel
from dshconform.contracts.machine import MachineCheck
from dshconform.faults import FAULTS, Fault
from dshconform.faults.fault import replaced
from dshconform.links.link import Link
from dshconform.spec import load_specification
from tests.conformance.machines import assert_finds, run

CHECK = MachineCheck(InboxModel, commands=15)


@pytest.mark.long
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.id)
def test_the_inbox_machine_finds_a_fault_by_the_clause_it_violates(fault: Fault, link: Link) -> None:
    """One failure at least blames that clause; it is minimised to six commands, and its document shows it again."""
    assert_finds(CHECK, fault, link, commands=6)


def test_the_reference_itself_has_no_fault(link: Link) -> None:
    """Without a planted fault the machine finds nothing, and reaches every clause that it cites."""
    outcome = run(CHECK, link, examples=60, seed=7)
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
