"""Perform the commands of a contract in a fresh world: one example of a machine, or a saved counterexample."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from dshconform.contracts.model import Model
from dshconform.links.link import Link
from dshconform.protocol.json_value import Json, JsonMap
from dshconform.running.ledger import Ledger
from dshconform.running.step import Step
from dshconform.running.world import World
from dshconform.scenarios.macros import expand
from dshconform.trace.invariants import INVARIANTS, Watch
from dshconform.trace.pattern import Difference, Matching


@dataclass(slots=True)
class Example:
    """One world and the model that judges it, command by command.

    Args:
        model: In its first state.
        link: The implementation.
        ledger: Its known differences.
        performed: The commands so far.
        steps: What they came to, probes included only where one shows the difference; if the world does not open,
            the steps that were to open it.
        difference: The first one; it ends the example.
        visits: How often a command visited each cell of the model's grid.
    """

    model: Model
    link: Link
    ledger: Ledger
    performed: list[JsonMap] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    difference: Difference | None = None
    visits: dict[str, int] = field(default_factory=dict)
    world: World = field(init=False)

    def __post_init__(self) -> None:
        self.world = World(self.link, Matching(self.ledger.accepts), Watch(INVARIANTS))

    def open(self) -> bool:
        """Make the world; false when that shows a difference.

        Raises:
            AdapterFault: The adapter broke the protocol.
        """
        opening = self.model.opening()
        for done, step in enumerate(opening, 1):
            self.difference = self.world.perform(step)
            if self.difference is not None:
                self.steps = opening[:done]
                return False
        return True

    def perform(self, command: JsonMap, *, probes: bool = True) -> bool:
        """Perform a legal command; false when it shows a difference.

        Args:
            command: As a scenario writes it.
            probes: Whether its probes are performed too.

        Returns:
            Whether all that was observed is as it must be.

        Raises:
            AdapterFault: The adapter broke the protocol.
        """
        self.performed.append(command)
        cell = self.model.cell(command)
        if cell is not None:
            self.visits[cell] = self.visits.get(cell, 0) + 1
        steps = self.model.apply(command)
        self.steps.append(steps[0])
        if not all(self._perform(step) for step in steps if probes or not step.probe):
            return False
        if self.model.departed:
            variants = self.ledger.variants()
            for name in self.model.departed:
                self.ledger.meet(variants[name])
        return True

    def replay(self, commands: Sequence[JsonMap]) -> list[tuple[int, JsonMap]]:
        """Open the world and perform commands, up to the first difference.

        Args:
            commands: As a saved counterexample has them, shorthands allowed.

        Returns:
            The commands that make no sense in the state in which they stand, each with its number: they are left out.

        Raises:
            AdapterFault: The adapter broke the protocol.
            CommandError: A command is none of the contract.
            MacroError: A shorthand has a wrong argument.
        """
        left_out: list[tuple[int, JsonMap]] = []
        if self.open():
            for number, written in enumerate(commands, 1):
                command = _expanded(written)
                if not self.model.legal(command):
                    left_out.append((number, written))
                elif not self.perform(command):
                    break
        return left_out

    def _perform(self, step: Step) -> bool:
        self.difference = self.world.perform(step)
        if self.difference is not None and step is not self.steps[-1]:
            self.steps.append(step)
        return self.difference is None


def replay_commands(model: Model, commands: Sequence[JsonMap], link: Link, ledger: Ledger) -> Example:
    """Perform commands in a fresh world, up to the first difference; see `Example.replay`.

    Args:
        model: The contract's model, in its first state.
        commands: As a saved counterexample has them, shorthands allowed.
        link: The implementation.
        ledger: Its known differences.

    Returns:
        The example as it was left: the world with its record, the commands performed, and the difference if any.
    """
    example = Example(model, link, ledger)
    example.replay(commands)
    return example


def _expanded(written: JsonMap) -> JsonMap:
    command: Json = expand(written)
    assert isinstance(command, dict)
    return command
