"""All checks of the suite, and the selection of some."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Final

from dshconform.contracts.cancellation import CancellationModel
from dshconform.contracts.inbox import InboxModel
from dshconform.contracts.initiator import InitiatorModel
from dshconform.contracts.machine import COMMANDS, MachineCheck
from dshconform.contracts.model import Exhaustible, Model, Small
from dshconform.contracts.phase_calls import call_worlds
from dshconform.contracts.phase_events import event_worlds
from dshconform.contracts.pipeline import PipelineModel
from dshconform.contracts.prompt import PromptModel
from dshconform.contracts.registry import RegistryModel
from dshconform.contracts.rollback import RollbackModel
from dshconform.contracts.scheduling import SchedulingModel
from dshconform.contracts.scope import ScopeModel
from dshconform.contracts.session import SessionModel
from dshconform.contracts.table import TableCheck
from dshconform.contracts.tool_cancellation import ToolCancellationModel
from dshconform.contracts.turn import TurnModel
from dshconform.contracts.wake import WakeModel
from dshconform.near_misses import hint
from dshconform.running.check import Check
from dshconform.scenarios.check import ScenarioCheck
from dshconform.scenarios.load import bundled
from dshconform.trace.invariants import INVARIANTS

MODELS: Final[Mapping[str, type[Model]]] = {
    model.name: model
    for model in (
        InboxModel,
        TurnModel,
        WakeModel,
        CancellationModel,
        SchedulingModel,
        ToolCancellationModel,
        PipelineModel,
        SessionModel,
        PromptModel,
        RollbackModel,
        RegistryModel,
        InitiatorModel,
        ScopeModel,
    )
}
"""The models of the contract machines, by contract."""

_COMMANDS: Final[Mapping[str, int]] = {
    WakeModel.name: 20,
    CancellationModel.name: 4,
    ToolCancellationModel.name: 6,
    PipelineModel.name: 6,
    PromptModel.name: 40,
    RollbackModel.name: 12,
    RegistryModel.name: 40,
    InitiatorModel.name: 40,
    ScopeModel.name: 30,
}
"""How many commands an example has, where one command does much, or what was begun is soon at an end."""

EXHAUSTIBLE: Final[Mapping[str, type[Exhaustible]]] = {
    name: model for name, model in MODELS.items() if issubclass(model, Small)
}
"""Those of which every sequence of a few commands can be run."""

VARIANTS: Final[Mapping[str, str]] = {
    name: clause for model in MODELS.values() for name, clause in model.variants.items()
}
"""The switches that the models declare, each with its clause."""


_LISTED: Final[Mapping[str, str]] = {
    "check": "`dshconform list checks` names all",
    "fault": "`dshconform explain CLAUSE` names those of a clause",
}
"""Where the names stand of which there are many."""


class UnknownName(LookupError):
    """A name that nothing has, with the near misses.

    Args:
        what: The kind of thing: `contract`, `check`.
        name: As the command line has it.
        known: The names that exist.
    """

    def __init__(self, what: str, name: str, known: Iterable[str]) -> None:
        told = f"there is no {what} {name!r}; {hint(name, known)}"
        if what in _LISTED:
            told += f"{' ' if told.endswith('?') else '; '}{_LISTED[what]}"
        super().__init__(told)


@cache
def all_checks() -> tuple[Check, ...]:
    """Every check of the suite: scenarios in the order of their files, then tables, then the contract machines."""
    scenarios: list[Check] = [ScenarioCheck(scenario) for scenario in bundled()]
    cells = tuple(world.scenario() for world in (*call_worlds(), *event_worlds()))
    machines: list[Check] = [
        MachineCheck(model, commands=_COMMANDS.get(name, COMMANDS)) for name, model in MODELS.items()
    ]
    return (*scenarios, TableCheck("phase", "phase table", cells), *machines)


def checks_for(clause: str) -> list[str]:
    """The names of the checks and invariants that cite a clause."""
    named = [check.name for check in all_checks() if clause in check.clauses]
    return named + [f"invariant/{invariant.name}" for invariant in INVARIANTS if clause in invariant.clauses]


def select(
    checks: Sequence[Check],
    *,
    names: Sequence[str] = (),
    contracts: Sequence[str] = (),
    clauses: Sequence[str] = (),
) -> tuple[Check, ...]:
    """Select checks by name, contract or clause; nothing given selects all.

    Args:
        checks: All checks.
        names: Names of checks: `scenario/plain-turn`, or its last part.
        contracts: Contracts, all of whose checks are selected.
        clauses: Clauses; every check that cites one is selected, and all for one that an invariant holds.

    Returns:
        What any of them selects, in the order of `checks`.

    Raises:
        UnknownName: A name or contract that nothing has.
    """
    if not (names or contracts or clauses):
        return tuple(checks)
    known_contracts = {check.contract for check in checks}
    for contract in contracts:
        if contract not in known_contracts:
            raise UnknownName("contract", contract, known_contracts)
    for name in names:
        if not any(_named(check, name) for check in checks):
            raise UnknownName("check", name, [check.name for check in checks])
    watched = {clause for invariant in INVARIANTS for clause in invariant.clauses}
    return tuple(
        check
        for check in checks
        if any(_named(check, name) for name in names)
        or check.contract in contracts
        or any(clause in check.clauses or clause in watched for clause in clauses)
    )


def _named(check: Check, name: str) -> bool:
    return name in {check.name, check.name.partition("/")[2]}
