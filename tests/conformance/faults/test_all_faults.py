"""The faults of the suite as a whole: named once, explained, and enough for whatever is cited."""

from importlib import import_module
from pkgutil import iter_modules

import pytest

from dshconform import faults
from dshconform.checks.catalog import all_checks
from dshconform.contracts.table import TableCheck
from dshconform.faults import ALL_FAULTS, Fault
from dshconform.faults.edit import LineGone, edit
from dshconform.running.ledger import Ledger
from dshconform.scenarios.check import ScenarioCheck
from dshconform.spec import load_specification
from dshconform.trace.invariants import INVARIANTS


def test_faults_are_told_apart_and_violate_clauses_of_the_specification() -> None:
    """Names are used once, clauses exist, and what each does is said in a sentence."""
    specification = load_specification()
    assert len({fault.id for fault in ALL_FAULTS}) == len(ALL_FAULTS)
    for fault in ALL_FAULTS:
        assert specification.clause(fault.clause).id == fault.clause
        assert fault.about.endswith(".")


def test_no_fault_is_left_out() -> None:
    """Whatever list of faults a module of the package has, all of it is tried."""
    known = {id(fault) for fault in ALL_FAULTS}
    for module in iter_modules(faults.__path__):
        lists = vars(import_module(f"dshconform.faults.{module.name}"))
        for name, listed in lists.items():
            if name.endswith("_FAULTS") and isinstance(listed, tuple):
                assert all(isinstance(fault, Fault) and id(fault) in known for fault in listed), name


def test_every_clause_of_a_scenario_table_or_invariant_has_a_fault() -> None:
    """A clause of which no check was seen to fail would pass without proof."""
    shown = [check for check in all_checks() if isinstance(check, ScenarioCheck | TableCheck)]
    cited = {clause for check in shown for clause in check.clauses}
    cited |= {clause for invariant in INVARIANTS for clause in invariant.clauses}
    assert cited <= {fault.clause for fault in ALL_FAULTS}


def test_a_fault_whose_line_is_gone_says_so() -> None:
    """The reference has changed, and the fault must follow it; a line that stands twice is none."""
    with pytest.raises(LineGone, match="has 'not there' 0 times"), edit(Ledger, "stops", ("not there", ""))():
        pass


class _Base:
    def says(self) -> str:
        return "base"


class _Derived(_Base):
    def says(self) -> str:
        return f"{super().says()}, derived"


def test_a_function_that_calls_its_base_can_be_changed() -> None:
    """What it closes over is the same with the fault, and without it again."""
    with edit(_Derived, "says", ("derived", "changed"))():
        assert _Derived().says() == "base, changed"
    assert _Derived().says() == "base, derived"
