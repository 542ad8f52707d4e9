"""Whatever the seed, the verdicts are the same.

A clause passes by what prologues, scenarios and tables hold, which no seed changes: that the prologues alone evaluate
every clause of a machine is the affair of each model's tests. So another seed can only change a verdict by an example
behind the prologues that fails.
"""

import pytest
from typeguard import suppress_type_checks

from dshconform.checks.catalog import all_checks
from dshconform.contracts.machine import MachineCheck
from dshconform.links.link import Link
from dshconform.running.check import Outcome, RunContext
from dshconform.running.ledger import Ledger

OTHER_SEEDS = (2, 3)
"""Beside the one of a run for which none is asked."""
EXAMPLES = 40
MACHINES = [check for check in all_checks() if isinstance(check, MachineCheck)]


@pytest.mark.long
@pytest.mark.parametrize("seed", OTHER_SEEDS)
@pytest.mark.parametrize("check", MACHINES, ids=lambda check: check.contract)
def test_another_seed_changes_no_verdict(check: MachineCheck, seed: int, link: Link) -> None:
    """Nothing fails behind the prologues."""
    prologues = check.worlds(0)
    outcome = Outcome(check=check.name)
    context = RunContext(
        link=link, ledger=Ledger(), seed=seed, examples=prologues + EXAMPLES, progress=lambda _: None, first=prologues
    )
    with suppress_type_checks():  # thousands of commands; the types are checked where single ones are performed
        check.run(context, outcome)
    assert (outcome.examples, outcome.prologues) == (EXAMPLES, 0)
    assert [failure.difference for failure in outcome.failures] == []
    assert outcome.suite_fault is None
