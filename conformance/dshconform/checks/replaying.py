"""Replay a file: a scenario, or the commands of a contract, in a fresh world."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from dshconform.checks.catalog import MODELS, UnknownName
from dshconform.contracts.machine import MachineCheck
from dshconform.contracts.model import CommandError
from dshconform.contracts.replay import Example
from dshconform.links.link import Link
from dshconform.protocol.json_value import JsonMap
from dshconform.running.ledger import Ledger
from dshconform.running.verdict import undeclared
from dshconform.running.world import Exchange, new_world
from dshconform.scenarios.check import ScenarioCheck
from dshconform.scenarios.load import Scenario, ScenarioError, build_scenario
from dshconform.scenarios.macros import MacroError
from dshconform.trace.pattern import Difference
from dshconform.yaml_text import YamlError, read_yaml


class ReplayError(ValueError):
    """A file that cannot be replayed, with its name and what is wrong."""


@dataclass(frozen=True, slots=True)
class ContractCommands:
    """A saved counterexample of a contract machine: commands that its model judges.

    Args:
        contract: The contract's name.
        commands: As a scenario writes them.
        source: The file, for errors.
    """

    contract: str
    commands: Sequence[JsonMap]
    source: Path


def read_replay(text: str, source: Path) -> Scenario | ContractCommands:
    """Read a scenario or a saved counterexample.

    Args:
        text: The file's text.
        source: Its name, for errors.

    Raises:
        ReplayError: It is neither.
    """
    try:
        document = read_yaml(text, source)
        if isinstance(document, Mapping) and "scenario" not in document and "contract" in document:
            return _commands(document, source)
        return build_scenario(document, source)
    except (YamlError, ScenarioError, UnknownName) as error:
        raise ReplayError(str(error)) from error


def _commands(document: JsonMap, source: Path) -> ContractCommands:
    contract = document["contract"]
    if not isinstance(contract, str) or contract not in MODELS:
        raise UnknownName("contract", str(contract), MODELS)
    steps = document.get("steps")
    if not isinstance(steps, list) or not steps or not all(isinstance(step, dict) and "do" in step for step in steps):
        raise ReplayError(f"{source}: `steps` must be a list of commands, at least one, each with `do`")
    return ContractCommands(contract, [dict(step) for step in steps if isinstance(step, dict)], source)


@dataclass(slots=True)
class Replayed:
    """What a replay said so far: filled as it goes on, so that nothing is lost where the adapter ends it.

    Args:
        difference: The first that the ledger does not accept, if any.
        left_out: Commands that made no sense where they stood and were not sent, each with its number.
    """

    difference: Difference | None = None
    left_out: list[tuple[int, JsonMap]] = field(default_factory=list)


def replay(
    wanted: Scenario | ContractCommands,
    link: Link,
    ledger: Ledger,
    replayed: Replayed,
    *,
    until: int | None,
    show: Callable[[Exchange], None],
) -> None:
    """Replay in a fresh world, or those of a sweep, up to the first difference that the ledger does not accept.

    Args:
        wanted: What to replay.
        link: The implementation.
        ledger: Its known differences.
        replayed: Filled.
        until: Stop after that many of the file's commands.
        show: Is given every exchange.

    Raises:
        AdapterFault: The adapter broke the protocol.
        ReplayError: A command is none of its contract, or the implementation does not declare what the file needs.
    """
    check = ScenarioCheck(wanted) if isinstance(wanted, Scenario) else MachineCheck(MODELS[wanted.contract])
    needed = undeclared(check, link.hello)
    if needed is not None:
        raise ReplayError(f"the implementation cannot be judged by this file: {needed}")
    if isinstance(wanted, Scenario):
        for steps in wanted.worlds:
            world = new_world(link, ledger, show=show)
            replayed.difference, _ = world.perform_all(steps if until is None else steps[: wanted.opening + until])
            world.close()
            if replayed.difference is not None:
                break
        return
    model = MODELS[wanted.contract]
    switches = frozenset(ledger.variants()) & frozenset(model.variants)
    example = Example(model(switches), link, ledger)
    example.world.show = show
    try:
        left_out = example.replay(wanted.commands[:until])
    except (CommandError, MacroError) as error:
        raise ReplayError(f"{wanted.source}: {error}") from error
    replayed.difference, replayed.left_out = example.difference, left_out
    example.world.close()
