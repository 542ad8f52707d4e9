"""Checks: what can be selected, run and counted; a scenario, a contract machine or a table."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from dshconform.links.link import Link
from dshconform.protocol.json_value import Json
from dshconform.running.budget import Budget
from dshconform.running.ledger import Ledger
from dshconform.running.shard import WHOLE, Shard
from dshconform.running.step import Step
from dshconform.running.world import World
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
        reproduced: Whether the same commands led to the same difference again in a fresh world; none where the run
            was cut short before they could be tried again.
        again: The rows of the same step in another world, where the difference did not come again.
        found_after: Commands of the example before it was minimised.
        index: The number of the example, counted from 0.
        met: The clauses that were blamed when it was met, before it was minimised.
    """

    difference: Difference
    steps: tuple[Step, ...]
    rows: Alignment
    document: Mapping[str, Json]
    reproduced: bool | None = True
    again: Alignment = NO_ROWS
    found_after: int = 0
    index: int = 0
    met: tuple[str, ...] = ()


@dataclass(slots=True, kw_only=True)
class Outcome:
    """What one check said so far: it is filled as the check goes on, so that nothing is lost where a run is cut short.

    Args:
        check: The check's name.
        held: How often each clause was evaluated and held.
        failures: What differed and is no listed deviation.
        not_run: Clauses that the check cites and could not evaluate, with the reason.
        stopped: How many examples ended at a deviation listed with `after: stop`.
        examples: Worlds opened.
        commands: Commands sent.
        cells: For a table, what each of its worlds said: `held`, `failed` or `stopped`.
        grid: For a machine, how often its commands visited each cell of its grid.
        prologues: For a machine, how many of its prologues began an example that was run.
        blamed: For a machine, by the clause that answers first for a difference, the first example that shows one.
        suite_fault: What the suite itself did not do as it promises, in a sentence: the outcome proves nothing then.
        cut_short: Whether the run ended before the check did.
    """

    check: str
    held: dict[str, int] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)
    not_run: dict[str, str] = field(default_factory=dict)
    stopped: int = 0
    examples: int = 0
    commands: int = 0
    cells: dict[str, str] = field(default_factory=dict)
    grid: dict[str, int] = field(default_factory=dict)
    prologues: int = 0
    blamed: dict[str, int] = field(default_factory=dict)
    suite_fault: str | None = None
    cut_short: bool = False

    def count(self, world: World) -> None:
        """Take in a world: its commands, and what held there.

        Where nothing but null ever came back, nothing has held: whoever does nothing says as much.
        """
        self.examples += 1
        self.commands += world.commands
        if not world.has_shown_something():
            return
        for clause, times in world.matching.held.items():
            self.held[clause] = self.held.get(clause, 0) + times


@dataclass(frozen=True, slots=True, kw_only=True)
class RunContext:
    """What a check is given.

    Args:
        link: The implementation.
        ledger: Its known differences.
        seed: Every random choice follows from it.
        examples: Worlds that a machine opens.
        progress: Called after every world with the number of worlds done.
        shard: The part of a divided run that this is.
        first: The first example of a machine, where others have been run before.
        budget: The time that is left.
    """

    link: Link
    ledger: Ledger
    seed: int
    examples: int
    progress: Callable[[int], None]
    shard: Shard = WHOLE
    first: int = 0
    budget: Budget = field(default_factory=Budget)


class Check(Protocol):
    """A scenario, a contract machine or a table."""

    @property
    def name(self) -> str:
        """`scenario/plain-turn`, `machine/inbox`, `table/phase`."""
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

    @property
    def divisible(self) -> bool:
        """Whether its worlds are independent of each other, so that the parts of a divided run share them."""
        ...

    def worlds(self, examples: int) -> int:
        """How many worlds it opens, for the progress bar.

        Args:
            examples: Worlds that a machine opens.
        """
        ...

    def run(self, context: RunContext, outcome: Outcome) -> None:
        """Run it.

        Args:
            context: What it is given.
            outcome: Filled as it goes on; what is there when the check is cut short counts.

        Raises:
            AdapterFault: The adapter broke the protocol.
            BudgetSpent: The time is over, and what is missing is more than further examples.
        """
        ...

    def conclude(self, outcome: Outcome) -> None:
        """Say what follows from all that was run: `run` does it itself, unless it is one part of a divided run.

        Args:
            outcome: What was run, all parts together; what follows is added to it.
        """
        ...
