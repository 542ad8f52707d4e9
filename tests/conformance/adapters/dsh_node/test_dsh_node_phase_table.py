"""The phase table, walked on the published packages."""

from typing import TYPE_CHECKING

import pytest
from typeguard import suppress_type_checks

if TYPE_CHECKING:
    from dshconform.links.subprocess import SubprocessLink

pytestmark = pytest.mark.node


def test_every_cell_holds_on_the_published_packages(dsh_node_process: "SubprocessLink") -> None:
    """With the one deviation that any cancelled turn shows."""
    from dshconform.adapters.catalog import IMPLEMENTATIONS
    from dshconform.checks.catalog import VARIANTS, all_checks
    from dshconform.contracts.table import TableCheck
    from dshconform.running.check import Outcome, RunContext
    from dshconform.running.ledger import read_ledger
    from dshconform.spec import load_specification

    checks = all_checks()
    (check,) = [one for one in checks if isinstance(one, TableCheck)]
    names = [one.name for one in checks]
    ledger = read_ledger(IMPLEMENTATIONS["dsh-node"].ledger, load_specification().clauses, names, VARIANTS)
    context = RunContext(link=dsh_node_process, ledger=ledger, seed=1, examples=1, progress=lambda _: None)
    outcome = Outcome(check=check.name)
    with suppress_type_checks():
        check.run(context, outcome)
    assert outcome.failures == []
    assert {cell: said for cell, said in outcome.cells.items() if said != "held"} == {}
    assert set(ledger.deviating()) == {"LOG-EVT-03"}
