"""What a machine reports can be handed from one process to another."""

import pickle
from dataclasses import replace

import pytest

from dshconform.checks.catalog import MODELS, all_checks
from dshconform.contracts.machine import MachineCheck
from dshconform.faults import ALL_FAULTS
from dshconform.links.link import Link
from dshconform.running.check import Outcome
from tests.conformance.machines import run

BY_CLAUSE = {fault.clause: fault for fault in reversed(ALL_FAULTS)}


def first_failing(check: MachineCheck, link: Link) -> Outcome:
    """What the machine says of the first fault that it finds among its own."""
    for clause in check.clauses:
        if clause in BY_CLAUSE:
            with BY_CLAUSE[clause].plant():
                outcome = run(check, link, examples=20)
            if outcome.failures:
                return outcome
    raise AssertionError(f"{check.name} finds none of its faults in so few examples")


@pytest.mark.long
@pytest.mark.parametrize("name", MODELS)
def test_a_failure_survives_the_way(name: str, link: Link) -> None:
    """With `--jobs` it comes from another process, whichever machine found it."""
    (check,) = (one for one in all_checks() if isinstance(one, MachineCheck) and one.contract == name)
    outcome = first_failing(replace(check, every_prologue=False), link)
    there = pickle.loads(pickle.dumps(outcome))
    assert isinstance(there, Outcome)
    assert [one.difference for one in there.failures] == [one.difference for one in outcome.failures]
    assert [one.document for one in there.failures] == [one.document for one in outcome.failures]
