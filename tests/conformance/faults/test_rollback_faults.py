"""The rollback machine can fail: each planted fault is found by the clause it violates, in few commands."""

import logging
from collections.abc import Iterator

import pytest

from dshconform.contracts.machine import MachineCheck
from dshconform.contracts.rollback import RollbackModel
from dshconform.faults import ROLLBACK_FAULTS, SCENARIO_FAULTS, Fault
from dshconform.links.link import Link
from dshconform.spec import load_specification
from tests.conformance.machines import assert_finds, assert_reports

CHECK = MachineCheck(RollbackModel, commands=0)
SHARED = {"disposal-is-told-twice": "of rows that come twice, what stands in their place is asked first"}
"""Faults of which another clause is blamed before theirs, and why."""
BY_NAME = {fault.id: fault for fault in ROLLBACK_FAULTS}


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """What is logged of a fault concerns the adapter alone."""
    loggers = [logging.getLogger(name) for name in ("dshcore", "asyncio")]
    for logger in loggers:
        logger.propagate = False
    yield
    for logger in loggers:
        logger.propagate = True


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")  # a fault may leave a coroutine behind
@pytest.mark.parametrize("fault", [one for one in ROLLBACK_FAULTS if one.id not in SHARED], ids=lambda one: one.id)
def test_a_fault_is_found_by_the_clause_that_it_violates(fault: Fault, link: Link) -> None:
    """By a prologue, so by every run; the smallest example blames that clause first, and has eight commands at most."""
    assert_finds(CHECK, fault, link, commands=8, first=True)


@pytest.mark.long
@pytest.mark.parametrize("name", ["failed-setup-is-not-undone", "session-leaves-before-its-agent", *SHARED])
def test_the_machine_reports_a_fault(name: str, link: Link) -> None:
    """Among the failures of a whole run is one that blames the clause; its document shows it again."""
    assert_reports(CHECK, BY_NAME[name], link)


def test_every_clause_of_lives_that_the_model_cites_has_a_fault() -> None:
    """A clause of which the machine was not seen to fail would pass without proof."""
    cited = {clause for clause in RollbackModel.clauses if clause.startswith(("LIFE-", "REG-", "FACT-"))}
    assert cited <= {fault.clause for fault in ROLLBACK_FAULTS}


def test_faults_are_told_apart_and_violate_clauses_of_the_specification() -> None:
    """Names are used once, but for faults that scenarios find too; clauses exist, and what each does is a sentence."""
    specification = load_specification()
    assert len(BY_NAME) == len(ROLLBACK_FAULTS)
    known = {fault.id: fault for fault in SCENARIO_FAULTS}
    for fault in ROLLBACK_FAULTS:
        assert known.get(fault.id, fault) is fault
        assert specification.clause(fault.clause).id == fault.clause
        assert fault.about.endswith(".")
