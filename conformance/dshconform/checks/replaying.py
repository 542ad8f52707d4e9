"""Replay a file: a scenario, or the commands of a contract, in a fresh world."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dshconform.checks.catalog import MODELS, UnknownName
from dshconform.contracts.model import CommandError
from dshconform.contracts.replay import replay_commands
from dshconform.links.link import Link
from dshconform.protocol.json_value import JsonMap
from dshconform.running.ledger import Ledger
from dshconform.running.world import Exchange, perform_steps
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
    if not isinstance(steps, list) or not all(isinstance(step, dict) and "do" in step for step in steps):
        raise ReplayError(f"{source}: `steps` must be a list of commands, each with `do`")
    return ContractCommands(contract, [dict(step) for step in steps if isinstance(step, dict)], source)


def replay(
    wanted: Scenario | ContractCommands,
    link: Link,
    ledger: Ledger,
    *,
    until: int | None,
    show: Callable[[Exchange], None],
) -> Difference | None:
    """Replay in a fresh world, up to the first difference that the ledger does not accept.

    Args:
        wanted: What to replay.
        link: The implementation.
        ledger: Its known differences.
        until: Stop after that many commands.
        show: Is given every exchange.

    Returns:
        The difference, or nothing.

    Raises:
        AdapterFault: The adapter broke the protocol.
        ReplayError: A command is none of its contract.
    """
    if isinstance(wanted, Scenario):
        return perform_steps(wanted.steps[:until], link, ledger, show=show)[1]
    model = MODELS[wanted.contract]
    switches = frozenset(ledger.variants()) & frozenset(model.variants)
    try:
        example = replay_commands(model(switches), wanted.commands, link, ledger, until, show=show)
    except (CommandError, MacroError) as error:
        raise ReplayError(f"{wanted.source}: {error}") from error
    link.call("world.close")
    return example.difference
