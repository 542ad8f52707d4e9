"""Every sequence of legal commands up to a length, from the small alphabet that a model declares.

Each sequence that cannot be made longer has a world of its own; those that it begins with are judged within it. Every
row is judged in every world, also where another world has been so far already: an implementation that behaves otherwise
the second time must not get away with it. What is left out is the probes behind commands that another world has probed.

The sequences are the leaves of a tree. Its branches can be walked apart, in any order and in several processes, and
what they say is put together in the order of the tree: so the numbers and the difference that is told are the same.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Final

from dshconform.contracts.machine import MachineCheck, collecting_between_worlds
from dshconform.contracts.model import Exhaustible
from dshconform.contracts.replay import Example
from dshconform.links.link import AdapterFault, Link
from dshconform.protocol.json_value import JsonMap
from dshconform.running.check import Failure, RunContext
from dshconform.running.ledger import Deviation, Ledger

_BEGINNING: Final = 2
"""Commands that the sequences of one branch begin with."""


@dataclass(slots=True)
class Tally:
    """What was run.

    Args:
        sequences: Those that cannot be made longer, each in a world of its own.
        commands: The commands of these worlds, probes and what opens a world not counted.
        stopped: The worlds that ended at a deviation listed with `after: stop`: nothing that begins like them was run.
        states: The abstract states that the model was in.
        met: How often each entry of the ledger was met.
        failures: The first difference that is not listed, if any.
        fault: How the adapter broke the protocol, if it did.
    """

    sequences: int = 0
    commands: int = 0
    stopped: int = 0
    states: set[Hashable] = field(default_factory=set)
    met: Counter[int] = field(default_factory=Counter)
    failures: list[Failure] = field(default_factory=list)
    fault: AdapterFault | None = None

    @property
    def ended(self) -> bool:
        """Whether nothing more is to be run."""
        return bool(self.failures) or self.fault is not None

    def add(self, branch: "Tally") -> None:
        """Take in the next branch in the order of the tree."""
        self.sequences += branch.sequences
        self.commands += branch.commands
        self.stopped += branch.stopped
        self.states |= branch.states
        self.met += branch.met
        self.failures += branch.failures
        self.fault = branch.fault


@dataclass(frozen=True, slots=True)
class Tree:
    """The sequences of one contract.

    Args:
        model_type: The contract's model.
        switches: The variants in which the implementation is followed.
        depth: The length of the longest sequences.
    """

    model_type: type[Exhaustible]
    switches: frozenset[str]
    depth: int

    def played(self, commands: Sequence[JsonMap]) -> Exhaustible:
        """A model behind some commands."""
        model = self.model_type(self.switches)
        for command in commands:
            model.apply(command)
        return model

    def longer(self, commands: Sequence[JsonMap], model: Exhaustible) -> list[list[JsonMap]]:
        """The sequences with one legal command more; none where they are long enough.

        Args:
            commands: A sequence.
            model: The model behind it.
        """
        if len(commands) >= self.depth:
            return []
        return [[*commands, command] for command in model.small_alphabet() if model.legal(command)]

    def branches(self) -> list[list[JsonMap]]:
        """What all sequences begin with, in the order of the tree."""
        found: list[list[JsonMap]] = [[]]
        for _ in range(min(_BEGINNING, self.depth - 1)):
            found = [
                longer for commands in found for longer in self.longer(commands, self.played(commands)) or [commands]
            ]
        return found

    def run(self, beginning: Sequence[JsonMap], link: Link, known: Sequence[Deviation]) -> Tally:
        """Run every sequence of one branch, up to the first difference that is not listed.

        Args:
            beginning: One of the `branches`.
            link: The implementation.
            known: The entries of its ledger.

        Returns:
            What was run; a fault of the adapter is in it, and ends the use of the link.
        """
        context = RunContext(link=link, ledger=Ledger(known), seed=0, examples=0, progress=lambda _: None)
        with collecting_between_worlds() as collect:
            walk = _Walk(self, context, collect)
            try:
                walk.below(beginning)
            except AdapterFault as fault:
                walk.tally.fault = fault
        walk.tally.met = Counter(context.ledger.met)
        return walk.tally


class _Walk:
    """A walk through one branch, depth first.

    Args:
        tree: The tree.
        context: Link and ledger.
        collect: Is told after each world how many there were.
    """

    def __init__(self, tree: Tree, context: RunContext, collect: Callable[[int], None]) -> None:
        self.tally = Tally()
        self._tree = tree
        self._context = context
        self._collect = collect
        self._probed: Sequence[JsonMap] = []
        """The sequence of the last world; what another one begins with alike is probed."""

    def below(self, commands: Sequence[JsonMap]) -> int:
        """Run every sequence that begins so.

        Returns:
            How many of the commands are worth going on from: all, unless a difference stands before the last.
        """
        model = self._tree.played(commands)
        self.tally.states.add(model.state())
        longer = self._tree.longer(commands, model)
        if not longer:
            return self._perform(commands)
        for sequence in longer:
            held = self._perform(sequence) if len(sequence) == self._tree.depth else self.below(sequence)
            if held < len(commands) or self.tally.ended:
                return held
        return len(commands)

    def _perform(self, commands: Sequence[JsonMap]) -> int:
        """Run one sequence in a world of its own, and answer how many commands showed no difference."""
        check, context, tally = MachineCheck(self._tree.model_type), self._context, self.tally
        model = self._tree.model_type(self._tree.switches)
        example = Example(model, context.link, context.ledger)
        if example.open():
            probed = self._in_common(commands)
            for number, command in enumerate(commands, 1):
                if not example.perform(command, probes=number > probed):
                    break
        tally.states.add(model.state())
        tally.sequences += 1
        tally.commands += len(example.performed)
        self._probed = commands
        difference = example.difference
        if difference is not None and context.ledger.stops(difference) is not None:
            tally.stopped += 1
        elif difference is not None:
            check.tell(example, difference, context, tally.failures)
        context.link.call("world.close")
        self._collect(tally.sequences)
        return len(example.performed) - (difference is not None)

    def _in_common(self, commands: Sequence[JsonMap]) -> int:
        """How many commands the sequence has in common with the last one, which began alike if any did."""
        alike = 0
        for one, other in zip(commands, self._probed, strict=False):
            if one is not other:
                break
            alike += 1
        return alike
