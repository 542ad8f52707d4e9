"""The scenarios can fail: each planted fault is found by a check that blames the clause it violates, before others."""

import logging
from collections.abc import Iterator
from functools import cache

import pytest
from typeguard import suppress_type_checks

from dshconform.adapters.reference.adapter import ReferenceAdapter
from dshconform.checks.catalog import all_checks
from dshconform.contracts.table import TableCheck
from dshconform.faults import FAULTS, SCENARIO_FAULTS, TURN_FAULTS, Fault
from dshconform.faults.edit import LineGone, edit
from dshconform.links.in_process import InProcessLink
from dshconform.running.ledger import Ledger
from dshconform.running.world import new_world
from dshconform.scenarios.check import ScenarioCheck
from dshconform.scenarios.load import Scenario
from dshconform.spec import load_specification
from dshconform.trace.invariants import INVARIANTS
from dshconform.trace.pattern import Difference


@cache
def scenarios_that_cite(clause: str) -> tuple[Scenario, ...]:
    """Scenarios first, then cells of tables; all scenarios for a clause of an invariant, which watches each of them."""
    alone = [check.scenario for check in all_checks() if isinstance(check, ScenarioCheck)]
    cells = [cell for check in all_checks() if isinstance(check, TableCheck) for cell in check.cells]
    citing = [scenario for scenario in (*alone, *cells) if clause in scenario.clauses]
    watched = any(clause in invariant.clauses for invariant in INVARIANTS)
    return (*citing, *(one for one in alone if watched and clause not in one.clauses))


def differences(scenario: Scenario) -> Iterator[Difference]:
    """The first difference of each of its worlds; none of one that asks for what the reference cannot do."""
    with InProcessLink(ReferenceAdapter()) as link:
        if not set(scenario.features) <= set(link.hello.features):
            return
        for steps in scenario.worlds:
            world = new_world(link, Ledger())
            difference, _ = world.perform_all(steps)
            world.close()
            if difference is not None:
                yield difference


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """What is logged of a fault concerns the adapter alone, which makes rows of it; a fault need not keep to types."""
    loggers = [logging.getLogger(name) for name in ("dshcore", "asyncio")]
    for logger in loggers:
        logger.propagate = False
    with suppress_type_checks():
        yield
    for logger in loggers:
        logger.propagate = True


@pytest.mark.filterwarnings("ignore")  # a fault may leave a coroutine behind
@pytest.mark.parametrize("fault", SCENARIO_FAULTS, ids=lambda fault: fault.id)
def test_a_check_that_cites_the_clause_blames_it_first(fault: Fault) -> None:
    """Of the scenarios and cells that cite the violated clause, one at least fails, and blames it before others."""
    citing = scenarios_that_cite(fault.clause)
    assert citing, f"nothing cites {fault.clause}"
    found: list[tuple[str, ...]] = []
    with fault.plant():
        for scenario in citing:
            for difference in differences(scenario):
                if difference.clauses[:1] == (fault.clause,):  # the one that fails
                    return
                found.append((scenario.id, difference.sentence, *difference.clauses))
    pytest.fail(f"no scenario blames {fault.clause} first; what differs: {found}")


def test_faults_are_told_apart_and_violate_clauses_of_the_specification() -> None:
    """Names are used once, clauses exist, and what each does is said in a sentence."""
    specification = load_specification()
    every = [*SCENARIO_FAULTS, *FAULTS, *TURN_FAULTS]
    assert len({fault.id for fault in every}) == len(every)
    for fault in SCENARIO_FAULTS:
        assert specification.clause(fault.clause).id == fault.clause
        assert fault.about.endswith(".")


def test_every_clause_of_a_scenario_table_or_invariant_has_a_fault() -> None:
    """A clause of which no check was seen to fail would pass without proof."""
    shown = [check for check in all_checks() if isinstance(check, ScenarioCheck | TableCheck)]
    cited = {clause for check in shown for clause in check.clauses}
    cited |= {clause for invariant in INVARIANTS for clause in invariant.clauses}
    assert cited <= {fault.clause for fault in (*SCENARIO_FAULTS, *FAULTS, *TURN_FAULTS)}


def test_a_fault_whose_line_is_gone_says_so() -> None:
    """The reference has changed, and the fault must follow it; a line that stands twice is none."""
    with pytest.raises(LineGone, match="has 'not there' 0 times"), edit(Ledger, "stops", ("not there", ""))():
        pass
