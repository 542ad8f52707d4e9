"""Whether the suite sees a fault: which check blames the violated clause for it, before any other clause.

A kill is bound to its reason. A check that fails under a fault proves that it can fail; only one that blames the clause
which the fault violates proves that it sees a violation of that clause. What others are blamed for is collateral.
"""

import logging
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Final

from dshconform.contracts.machine import MachineCheck
from dshconform.contracts.table import TableCheck
from dshconform.faults.fault import Fault
from dshconform.links.link import AdapterFault, Link
from dshconform.running.check import Check, Outcome, RunContext
from dshconform.running.ledger import Ledger
from dshconform.scenarios.check import ScenarioCheck
from dshconform.trace.invariants import INVARIANTS

SEED: Final = 1
"""A machine's choices follow from it. Its examples are those that have a prologue of their own."""

_WATCHED: Final = frozenset(clause for invariant in INVARIANTS for clause in invariant.clauses)


class CannotPlant(Exception):
    """A fault that cannot be planted: the reference is not the one that it was written for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What the checks said of one fault.

    Args:
        fault: What was planted.
        killed_by: The first check that blamed the violated clause before any other; none if the fault survives.
        collateral: The other clauses that were blamed first, each once, in the order in which they were met.
    """

    fault: Fault
    killed_by: str | None
    collateral: tuple[str, ...]


def try_fault(fault: Fault, checks: Sequence[Check], open_link: Callable[[], Link]) -> Trial:
    """Plant a fault and run the checks that can see it.

    Scenarios and tables that cite the clause run all: what else they find is collateral. Only where none of them kills
    the fault, others go on, up to the one that does: every scenario, if an invariant watches for the clause, and then
    the machines that cite it.

    Args:
        fault: What is planted.
        checks: All checks.
        open_link: Opens the reference anew. What a fault leaves behind in a link concerns no other check.

    Returns:
        Which check killed the fault, if one did, and what else was blamed.

    Raises:
        CannotPlant: The fault does not fit the reference, or needs what is not installed.
    """
    citing = [check for check in checks if fault.clause in check.clauses]
    machines = [check for check in citing if isinstance(check, MachineCheck)]
    watched = [check for check in checks if isinstance(check, ScenarioCheck) and check not in citing]
    killed_by: str | None = None
    blamed: dict[str, None] = {}

    def run(check: Check) -> None:
        nonlocal killed_by
        first = _blamed_first(_narrowed(check, fault.clause), fault.clause, open_link)
        blamed.update(dict.fromkeys(first))
        if fault.clause in first and killed_by is None:
            killed_by = check.name

    with _planted(fault), _quietly():
        for check in citing:
            if check not in machines:
                run(check)
        for check in (*(watched if fault.clause in _WATCHED else ()), *machines):
            if killed_by is not None:
                break
            run(check)
    collateral = tuple(clause for clause in blamed if clause != fault.clause)
    return Trial(fault=fault, killed_by=killed_by, collateral=collateral)


class _Enough(Exception):
    """A machine need not look for what else it could find."""


def _blamed_first(check: Check, wanted: str, open_link: Callable[[], Link]) -> list[str]:
    """The clauses that fail by a check: of each difference the one that is blamed before the others.

    Where the reference breaks its adapter, which it may under a fault, nobody is blamed for that: as in a run, what
    the check had found until then counts.
    """
    outcome = Outcome(check=check.name)

    def blamed() -> list[str]:
        return [clause for failure in outcome.failures for clause in failure.difference.clauses[:1]]

    def progress(_: int) -> None:
        if isinstance(check, MachineCheck) and wanted in blamed():
            raise _Enough

    with suppress(AdapterFault, _Enough), open_link() as link:
        check.run(RunContext(link=link, ledger=Ledger(), seed=SEED, examples=1, progress=progress), outcome)
    return blamed()


def _narrowed(check: Check, clause: str) -> Check:
    """As much of a check as can blame a clause. Nothing is minimised: where a difference is, is all that counts."""
    if isinstance(check, TableCheck):
        return replace(check, cells=[cell for cell in check.cells if clause in cell.clauses])
    if isinstance(check, MachineCheck):
        return replace(check, replays=0)
    return check


@contextmanager
def _planted(fault: Fault) -> Iterator[None]:
    with ExitStack() as planted:
        try:
            planted.enter_context(fault.plant())
        except Exception as error:
            raise CannotPlant(f"the fault {fault.id!r} cannot be planted: {error}") from error
        yield


@contextmanager
def _quietly() -> Iterator[None]:
    """Say nothing of what is logged and warned under a fault: the adapter makes rows of it."""
    loggers = [logging.getLogger(name) for name in ("dshcore", "asyncio")]
    silence = logging.NullHandler()
    for logger in loggers:
        logger.addHandler(silence)
        logger.propagate = False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for logger in loggers:
            logger.propagate = True
            logger.removeHandler(silence)
