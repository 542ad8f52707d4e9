"""What the suite would say of an implementation without behaviour: every clause that it passes would be unproved."""

import gc
from pathlib import Path

from dshconform.adapters.catalog import IMPLEMENTATIONS, Opening
from dshconform.checks.catalog import all_checks
from dshconform.links.link import Limits
from dshconform.running.check import Check, Outcome
from dshconform.running.ledger import Ledger
from dshconform.running.run import RunResult, run_checks
from dshconform.running.verdict import Status
from dshconform.spec.clause import Level
from dshconform.spec.specification import load_specification


class _Silent:
    """Progress that nobody wants to see: the runs take parts of a second."""

    def start(self, check: Check, worlds: int) -> None:
        """A check begins."""

    def advance(self, worlds: int) -> None:
        """So many worlds of it are done."""

    def finish(self, outcome: Outcome) -> None:
        """It is done."""


def judge_vacuous(name: str, *, seed: int = 1, examples: int = 120) -> RunResult:
    """Run all checks on one of the adapters that have no implementation.

    Args:
        name: As the command line has it.
        seed: Every choice of a machine follows from it.
        examples: Worlds that each machine opens; by default as in a run.

    Returns:
        The run with its judgement.

    Raises:
        AdapterFault: The adapter did not greet as it should.
    """
    gc.freeze()
    checks = all_checks()
    return run_checks(
        IMPLEMENTATIONS[name].open(Opening(wire_log=Path(), limits=Limits(), say=lambda _: None)),
        specification=list(load_specification().clauses.values()),
        checks=checks,
        selected=checks,
        ledger=Ledger(),
        seed=seed,
        examples=examples,
        progress=_Silent(),
    )


def passed(result: RunResult) -> tuple[str, ...]:
    """The `must` clauses that pass.

    Args:
        result: The run.
    """
    return tuple(
        one.clause.id
        for one in result.judgement.clauses
        if one.status is Status.PASS and one.clause.level is Level.MUST
    )
