"""Contract machines: a model, many worlds, and the smallest example of every difference.

Examples are bytes from a generator that is seeded with the run's seed, the contract and the example's number, and the
model reads its choices off them. Hypothesis could draw the bytes: 0.3 ms for an example, a fiftieth of what the
example costs. But its shrinker is not used (it stalls at three times the length that `minimise` reaches), nor its
database, its health checks or its strategies; and what it draws for a seed changes from release to release, while a
printed seed must lead to the same report wherever it is tried. Rare states are reached by the model's prologues, not
by luck; that each example has a habit of its own (`inbox_choice`) takes the place of Hypothesis's swarming, and
`targeting` that of its `target()`.
"""

import gc
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from dshconform.contracts.minimise import minimise
from dshconform.contracts.model import Model
from dshconform.contracts.replay import Example, replay_commands
from dshconform.contracts.targeting import Targeted
from dshconform.protocol.json_value import Json, JsonMap
from dshconform.running.check import Failure, Outcome, RunContext
from dshconform.running.ledger import Ledger
from dshconform.scenarios.macros import shorten
from dshconform.trace.compare import NO_ROWS, Alignment
from dshconform.trace.pattern import Difference

COMMANDS: Final = 80
"""Commands of one example after its prologue, at most, unless a contract says otherwise."""

BYTES: Final = 600
"""Choices of one example; a command takes three to eight."""

FULL_COLLECTION: Final = 64
"""Worlds between two collections of all garbage; between any two, only of the youngest."""

FAILURES: Final = 5
"""Different failures that one run of a machine reports, at most."""

_NOBODY: Final = ""
"""Stands for the clause where none answers: then the examples behind it are told no better."""

_NAMED: Final = 5
"""Cells that a sentence names, at most."""


@dataclass(frozen=True, slots=True)
class MachineCheck:
    """One contract machine as a check.

    Args:
        model_type: The contract's model.
        commands: Commands of one example behind its prologue, at most.
        every_prologue: Whether there is a world for each prologue, however few are asked for.
        replays: Worlds that minimising one failure may open.
    """

    model_type: type[Model]
    commands: int = COMMANDS
    every_prologue: bool = True
    replays: int = 400

    @property
    def name(self) -> str:
        """`machine/<contract>`."""
        return f"machine/{self.model_type.name}"

    @property
    def contract(self) -> str:
        """The model's contract."""
        return self.model_type.name

    @property
    def profile(self) -> str:
        """The profile that the model needs."""
        return self.model_type.profile

    @property
    def features(self) -> tuple[str, ...]:
        """The model's."""
        return self.model_type.features

    @property
    def clauses(self) -> tuple[str, ...]:
        """Every clause that the model cites."""
        return self.model_type.clauses

    @property
    def divisible(self) -> bool:
        """Yes: every example has a world of its own, and follows from its number."""
        return True

    def worlds(self, examples: int) -> int:
        """As many as asked for, but one for each prologue at least, unless a sample is enough.

        Args:
            examples: How many examples the run asks for.
        """
        return max(examples, len(self.model_type().prologues())) if self.every_prologue else examples

    def run(self, context: RunContext, outcome: Outcome) -> None:
        """Run examples, each in a fresh world; a difference is minimised and tried again before it is reported.

        Args:
            context: Link, ledger, seed and number of examples, and which of them.
            outcome: Filled with what held and what failed. What one clause answers for first is reported once,
                however many examples and places show it.

        Raises:
            AdapterFault: The adapter broke the protocol.
            BudgetSpent: The time is over, and not every prologue was run.
        """
        outcome.grid = outcome.grid or dict.fromkeys(self.model_type.cells, 0)
        prologues = self.model(context.ledger).prologues()
        with collecting_between_worlds() as collect:
            for done, index in enumerate(context.shard.share(context.first, self.worlds(context.examples))):
                if index < len(prologues):
                    context.budget.need()
                elif context.budget.over:
                    break
                self._judge(context, index, prologues[index] if index < len(prologues) else [], outcome)
                outcome.prologues += index < len(prologues)
                context.link.call("world.close")
                collect(done)
                context.progress(1)
        if context.shard.whole:
            self.conclude(outcome)

    def conclude(self, outcome: Outcome) -> None:
        """Say what could not be evaluated behind differences, or which cells no example visited.

        Of what several shards have found, each clause's first example is kept, as if there had been one run.

        Args:
            outcome: What all examples together said.
        """
        outcome.failures = _told_once(outcome)
        outcome.not_run.clear()
        blamed = {clause for failure in outcome.failures for clause in failure.difference.clauses}
        for clause in self.clauses if blamed or outcome.failures else ():
            if clause not in outcome.held and clause not in blamed:
                outcome.not_run[clause] = f"behind the differences that {self.name} found"
        if not outcome.failures and not outcome.stopped:
            outcome.suite_fault = self._missed(outcome)

    def _judge(self, context: RunContext, index: int, prologue: Sequence[JsonMap], outcome: Outcome) -> None:
        """Run one example; a difference of a kind that was not met before is minimised."""
        example = Example(self.model(context.ledger), context.link, context.ledger)
        try:
            self.perform(example, context, index, prologue)
        finally:
            outcome.count(example.world)
            for cell, times in example.visits.items():
                outcome.grid[cell] = outcome.grid.get(cell, 0) + times
        difference = example.difference
        if difference is None:
            return
        if context.ledger.stops(difference) is not None:
            outcome.stopped += 1
            return
        outcome.blamed.setdefault(_first(difference.clauses), index)
        if len(outcome.failures) < FAILURES and _is_news(difference.clauses, index, outcome.blamed):
            self.tell(example, difference, context, outcome.failures, index)

    def _missed(self, outcome: Outcome) -> str | None:
        """What a run should have visited and did not, or should not have and did: the prologues reach each cell."""
        known = self.model_type.cells
        strays = [cell for cell in outcome.grid if cell not in known]
        if strays:
            return f"{self.name} visited cells that are not in its grid: {_some(strays)}"
        if outcome.prologues < len(self.model_type().prologues()):
            return None
        missed = [cell for cell in known if not outcome.grid[cell]]
        return f"no example of {self.name} visited {_some(missed)}" if missed else None

    def tell(
        self, example: Example, difference: Difference, context: RunContext, failures: list[Failure], index: int = 0
    ) -> None:
        """Add a difference to the failures, minimised; as it was met, where minimising is cut short.

        Args:
            example: The example that shows it.
            difference: What the last step of the example showed.
            context: Link and ledger.
            failures: Those so far.
            index: The example's number.

        Raises:
            AdapterFault: The adapter broke the protocol.
        """
        failures.append(self._told(example, difference, index=index, found=len(example.performed)))
        failures[-1] = self._failure(example, difference, context, index)

    def model(self, ledger: Ledger) -> Model:
        """A model in its first state, following the variants that the ledger lists."""
        return self.model_type(frozenset(ledger.variants()) & frozenset(self.model_type.variants))

    def example(self, context: RunContext, index: int, prologue: Sequence[JsonMap]) -> Example:
        """Perform one example in a fresh world, up to the first difference; see `perform`.

        Args:
            context: What the run gives the check.
            index: The example's number, counted from 0; with the seed it decides every choice.
            prologue: The commands that it begins with.

        Returns:
            The example; its difference is there if it shows one.

        Raises:
            AdapterFault: The adapter broke the protocol.
        """
        example = Example(self.model(context.ledger), context.link, context.ledger)
        self.perform(example, context, index, prologue)
        return example

    def perform(self, example: Example, context: RunContext, index: int, prologue: Sequence[JsonMap]) -> None:
        """Perform an example, up to the first difference.

        Args:
            example: In a fresh world.
            context: Link, ledger and seed.
            index: Its number; with the seed it decides every choice.
            prologue: The commands that it begins with.

        Raises:
            AdapterFault: The adapter broke the protocol.
        """
        if example.open():
            for command in self.choices(example, context.seed, index, prologue):
                if not example.perform(command):
                    return

    def choices(self, example: Example, seed: int, index: int, prologue: Sequence[JsonMap]) -> Iterator[JsonMap]:
        """Choose the commands of an example one by one, each legal where it is by then.

        Args:
            example: In a fresh world; whoever is given the commands performs them.
            seed: The run's.
            index: The example's number; with the seed it decides every choice.
            prologue: The commands that it begins with.

        Returns:
            The commands.
        """
        chance = random.Random(f"{seed}/{self.contract}/{index}")  # noqa: S311 - no secret
        targeted = Targeted(example.model, example.visits, chance, BYTES)
        for command in prologue:
            if example.model.legal(command):
                yield command
        for _ in range(self.commands):
            chosen = targeted.next()
            if chosen is None:
                return
            yield chosen

    def _failure(self, example: Example, difference: Difference, context: RunContext, index: int) -> Failure:
        """Minimise a difference; one that does not come again is reported as it was met."""

        def replay(commands: Sequence[JsonMap]) -> Example:
            _collect(0)
            scratch = Ledger(context.ledger.entries)  # what is met while minimising is no news
            return replay_commands(self.model(scratch), commands, context.link, scratch)

        def fails(commands: Sequence[JsonMap]) -> Sequence[JsonMap] | None:
            again = replay(commands)
            return again.performed if _fails_alike(again, difference) else None

        whole = tuple(example.performed)
        odd = _odd_one(difference, replay(whole), replay(whole))
        if odd is None:
            shortest = minimise(whole, fails, limit=self.replays, simpler=example.model.simpler)
            shortest = list(fails(example.model.tidied(shortest)) or shortest)
            smallest = replay(shortest)
            odd = _odd_one(difference, smallest, replay(shortest))
            if odd is None:
                return self._told(smallest, difference, index=index, found=len(whole), reproduced=True)
        return self._told(example, difference, index=index, found=len(whole), reproduced=False, again=_last_rows(odd))

    def _told(
        self,
        example: Example,
        difference: Difference,
        *,
        index: int,
        found: int,
        reproduced: bool | None = None,
        again: Alignment = NO_ROWS,
    ) -> Failure:
        told = example.difference or difference
        return Failure(
            difference=told,
            steps=tuple(step.kept() for step in example.steps),
            rows=_last_rows(example),
            document=self.document(example.performed, told.sentence, told.clauses),
            reproduced=reproduced,
            again=again,
            found_after=found,
            index=index,
            met=difference.clauses,
        )

    def document(self, commands: Sequence[JsonMap], title: str, clauses: Sequence[str]) -> Mapping[str, Json]:
        """What `dshconform replay` reads.

        Args:
            commands: What was performed.
            title: What it shows, in a sentence.
            clauses: Those that were blamed.
        """
        return {
            "contract": self.contract,
            "title": title,
            "clauses": list(clauses),
            "steps": [shorten(command) for command in commands],
        }


@contextmanager
def collecting_between_worlds() -> Iterator[Callable[[int], None]]:
    """Collect garbage when told that so many worlds are done, and at no other time.

    What finalisers of an implementation in this process do would fall on one reply or another by chance.

    Returns:
        Is told how many worlds are done, and collects.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield lambda done: _collect(2 if (done + 1) % FULL_COLLECTION == 0 else 0)
    finally:
        if enabled:
            gc.enable()


def _collect(generation: int) -> None:
    gc.collect(generation)


def _some(cells: Sequence[str]) -> str:
    return "; ".join(cells[:_NAMED]) + (f"; and {len(cells) - _NAMED} more" if len(cells) > _NAMED else "")


def _first(clauses: Sequence[str]) -> str:
    return clauses[0] if clauses else _NOBODY


def _is_news(clauses: Sequence[str], index: int, blamed: Mapping[str, int]) -> bool:
    """Whether none of these clauses is the first to answer for what an earlier example shows."""
    return all(blamed.get(clause, index) >= index for clause in (*clauses, _NOBODY))


def _told_once(outcome: Outcome) -> list[Failure]:
    """The failures that are news among all, in order; one for each clause that answers first, and not too many."""
    told: dict[str, Failure] = {}
    for failure in sorted(outcome.failures, key=lambda failure: failure.index):
        if _is_news(failure.met, failure.index, outcome.blamed):
            told.setdefault(_first(failure.difference.clauses), failure)
    return list(told.values())[:FAILURES]


def same_place(one: Difference, other: Difference) -> bool:
    """Whether two differences are one failure: the same place, and a clause in common that answers for it.

    Args:
        one: A difference.
        other: One of another example of the same check.
    """
    return one.at == other.at and (one.clauses == other.clauses or not set(one.clauses).isdisjoint(other.clauses))


def _fails_alike(example: Example, difference: Difference) -> bool:
    return example.difference is not None and same_place(difference, example.difference)


def _odd_one(difference: Difference, *examples: Example) -> Example | None:
    """The first example of the same commands that did not lead to the same difference, if any."""
    return next((example for example in examples if not _fails_alike(example, difference)), None)


def _last_rows(example: Example) -> Alignment:
    """The rows of an example's last step; none where its command was not even sent."""
    record = example.world.record
    sent = bool(record) and (not example.steps or record[-1].step is example.steps[-1])
    return example.world.last_rows() if sent else NO_ROWS
