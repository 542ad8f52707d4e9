"""Checks: what can be selected, run and counted; a scenario or a contract machine."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from dshconform.links.link import Link
from dshconform.protocol.json_value import Json
from dshconform.running.ledger import Ledger
from dshconform.running.step import Step
from dshconform.trace.compare import NO_ROWS, Alignment
from dshconform.trace.pattern import Difference


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """The smallest example of a difference.

    Args:
        difference: Where the last step differs.
        steps: The commands that lead to it, minimised; the last one shows the difference.
        rows: The rows of the last step, expected and observed; empty where rows are not compared.
        document: What `dshconform replay` reads: the same format as a scenario file.
        reproduced: Whether the same commands led to the same difference again in a fresh world.
        again: The rows of the same step in another world, where the difference did not come again.
        found_after: Commands of the example before it was minimised.
    """

    difference: Difference
    steps: tuple[Step, ...]
    rows: Alignment
    document: Mapping[str, Json]
    reproduced: bool = True
    again: Alignment = NO_ROWS
    found_after: int = 0


@dataclass(slots=True, kw_only=True)
class Outcome:
    """What one check said.

    Args:
        check: The check's name.
        held: How often each clause was evaluated and held.
        failures: What differed and is no listed deviation.
        not_run: Clauses that the check cites and could not evaluate, with the reason.
        stopped: Whether an example ended at a deviation listed with `after: stop`.
        examples: Worlds opened.
        commands: Commands sent.
    """

    check: str
    held: dict[str, int] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)
    not_run: dict[str, str] = field(default_factory=dict)
    stopped: int = 0
    examples: int = 0
    commands: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RunContext:
    """What a check is given.

    Args:
        link: The implementation.
        ledger: Its known differences.
        seed: Every random choice follows from it.
        examples: Worlds that a machine opens.
        progress: Called after every world with the number of worlds done.
    """

    link: Link
    ledger: Ledger
    seed: int
    examples: int
    progress: Callable[[int], None]


class Check(Protocol):
    """A scenario or a contract machine."""

    @property
    def name(self) -> str:
        """`scenario/plain-turn`, `machine/inbox`."""
        ...

    @property
    def contract(self) -> str:
        """The contract it belongs to: `inbox`, `turn`, `cancellation`, `wake latch`, …."""
        ...

    @property
    def profile(self) -> str:
        """The profile that an implementation must declare."""
        ...

    @property
    def features(self) -> tuple[str, ...]:
        """The features that it must declare besides."""
        ...

    @property
    def clauses(self) -> tuple[str, ...]:
        """Every clause that the check can hold or fail."""
        ...

    def worlds(self, examples: int) -> int:
        """How many worlds it opens, for the progress bar."""
        ...

    def run(self, context: RunContext) -> Outcome:
        """Run it.

        Raises:
            AdapterFault: The adapter broke the protocol.
        """
        ...
