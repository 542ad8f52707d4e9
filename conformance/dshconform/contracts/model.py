"""What a contract's model is: an interpreter of commands, written from the clauses alone.

A model says which commands are legal now, and for a legal one what the reply must be. It chooses nothing and drives
nothing: generation, replay, minimisation and exhaustive runs all use the same interpreter.
"""

from collections.abc import Hashable, Mapping, Sequence
from typing import ClassVar, Protocol, runtime_checkable

from dshconform.contracts.source import Source
from dshconform.protocol.json_value import JsonMap
from dshconform.running.step import Step


class CommandError(ValueError):
    """Something that is no command of a contract, with what is."""


class Model(Protocol):
    """The abstract state of one world under one contract.

    Args:
        switches: The variants in which the implementation is followed rather than the clause.
    """

    name: ClassVar[str]
    """`inbox`"""

    profile: ClassVar[str]
    """The profile that an implementation must declare."""

    features: ClassVar[tuple[str, ...]] = ()
    """What an implementation must declare besides."""

    clauses: ClassVar[tuple[str, ...]]
    """Every clause that its expectations cite."""

    variants: ClassVar[Mapping[str, str]]
    """Switches that a ledger may turn on: name → the clause from which the model then departs."""

    cells: ClassVar[tuple[str, ...]]
    """The grid of the contract: every cell that a command can visit.

    The prologues alone visit each, whatever the seed; a run in which one was not visited is a fault of the suite.
    """

    departed: list[str]
    """The variants that the last command took: where its steps are performed without a difference, the implementation
    departs from the clause as listed."""

    def __init__(self, switches: frozenset[str] = ...) -> None: ...

    def opening(self) -> list[Step]:
        """The steps that make the world in which every example begins."""
        ...

    def prologues(self) -> list[list[JsonMap]]:
        """The command lists that reach the rare states, so that no run depends on luck; each begins an example."""
        ...

    def propose(self, source: Source) -> JsonMap:
        """Choose a legal command: `{do, args}` as a scenario writes it.

        Args:
            source: Where choices come from.
        """
        ...

    def legal(self, command: JsonMap) -> bool:
        """Whether the command makes sense in this state; a minimiser drops those that no longer do.

        Raises:
            CommandError: It makes sense in no state.
        """
        ...

    def cell(self, command: JsonMap) -> str | None:
        """The cell of the grid that a legal command visits in this state; none where the grid says nothing of it."""
        ...

    def apply(self, command: JsonMap) -> list[Step]:
        """Advance by a legal command and answer the steps that perform and judge it, probes included."""
        ...

    def simpler(self, command: JsonMap) -> list[JsonMap]:
        """Commands that say less than this one; a minimiser tries them in its place.

        Args:
            command: A command that led to a difference.
        """
        ...

    def tidied(self, commands: Sequence[JsonMap]) -> list[JsonMap]:
        """The same commands with plainer names; a minimiser keeps them if they fail alike."""
        ...


@runtime_checkable
class Small(Protocol):
    """A part of a contract that is small enough to be run through."""

    def small_alphabet(self) -> Sequence[JsonMap]:
        """The commands that together matter, about ten, legal in most states; ids come back, so that states are few."""
        ...

    def state(self) -> Hashable:
        """The abstract state: what decides what any command does from here on, without what only grows."""
        ...


class Exhaustible(Model, Small, Protocol):
    """A model of which every sequence of a few commands can be run."""
