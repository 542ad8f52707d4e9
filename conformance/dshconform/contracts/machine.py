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

REPLAYS: Final = 400
"""Worlds that minimising one failure may open."""

FULL_COLLECTION: Final = 64
"""Worlds between two collections of all garbage; between any two, only of the youngest."""

FAILURES: Final = 5
"""Different failures that one run of a machine reports, at most."""

_NAMED: Final = 5
"""Cells that a sentence names, at most."""


@dataclass(frozen=True, slots=True)
class MachineCheck:
    """One contract machine as a check.

    Args:
        model_type: The contract's model.
        commands: Commands of one example behind its prologue, at most.
        every_prologue: Whether there is a world for each prologue, however few are asked for.
    """

    model_type: type[Model]
    commands: int = COMMANDS
    every_prologue: bool = True

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

    def worlds(self, examples: int) -> int:
        """As many as asked for, but one for each prologue at least, unless a sample is enough."""
        return max(examples, len(self.model_type().prologues())) if self.every_prologue else examples

    def run(self, context: RunContext, outcome: Outcome) -> None:
        """Run examples, each in a fresh world; a difference is minimised and tried again before it is reported.

        Args:
            context: Link, ledger, seed and number of examples.
            outcome: Filled with what held and what failed. What one clause answers for first is reported once,
                however many examples and places show it.

        Raises:
            AdapterFault: The adapter broke the protocol.
        """
        outcome.grid = dict.fromkeys(self.model_type.cells, 0)
        with collecting_between_worlds() as collect:
            self._run(context, outcome, collect)
        if not outcome.failures and not outcome.stopped:
            outcome.suite_fault = self._missed(outcome.grid)
        if outcome.failures:
            blamed = {clause for failure in outcome.failures for clause in failure.difference.clauses}
            for clause in self.clauses:
                if clause not in outcome.held and clause not in blamed:
                    outcome.not_run[clause] = f"behind the differences that {self.name} found"

    def _run(self, context: RunContext, outcome: Outcome, collect: Callable[[int], None]) -> None:
        prologues = self.model(context.ledger).prologues()
        for index in range(self.worlds(context.examples)):
            goes_on = self._judge(context, index, prologues[index] if index < len(prologues) else [], outcome)
            context.link.call("world.close")
            collect(index)
            context.progress(1)
            if not goes_on:
                break

    def _judge(self, context: RunContext, index: int, prologue: Sequence[JsonMap], outcome: Outcome) -> bool:
        """Run one example; false when nothing more is to be learned from further ones."""
        example = Example(self.model(context.ledger), context.link, context.ledger)
        try:
            self.perform(example, context, index, prologue)
        finally:
            outcome.count(example.world)
            for cell, times in example.visits.items():
                outcome.grid[cell] = outcome.grid.get(cell, 0) + times
        difference = example.difference
        if difference is None:
            return True
        if context.ledger.stops(difference) is not None:
            outcome.stopped += 1
            return True
        if any(_blames_alike(failure.difference, difference) for failure in outcome.failures):
            return True
        self.tell(example, difference, context, outcome.failures)
        return bool(example.performed) and len(outcome.failures) < FAILURES

    def _missed(self, grid: Mapping[str, int]) -> str | None:
        """What a run should have visited and did not, or should not have and did: the prologues reach each cell."""
        known = self.model_type.cells
        strays = [cell for cell in grid if cell not in known]
        if strays:
            return f"{self.name} visited cells that are not in its grid: {_some(strays)}"
        missed = [cell for cell in known if not grid[cell]] if self.every_prologue else []
        return f"no example of {self.name} visited {_some(missed)}" if missed else None

    def tell(self, example: Example, difference: Difference, context: RunContext, failures: list[Failure]) -> None:
        """Add a difference to the failures, minimised; as it was met, where minimising is cut short.

        Args:
            example: The example that shows it.
            difference: The difference.
            context: Link and ledger.
            failures: Those so far.

        Raises:
            AdapterFault: The adapter broke the protocol.
        """
        failures.append(self._told(example, difference, found=len(example.performed)))
        failures[-1] = self._failure(example, difference, context)

    def model(self, ledger: Ledger) -> Model:
        """A model in its first state, following the variants that the ledger lists."""
        return self.model_type(frozenset(ledger.variants()) & frozenset(self.model_type.variants))

    def example(self, context: RunContext, index: int, prologue: Sequence[JsonMap]) -> Example:
        """Perform one example in a fresh world, up to the first difference; see `perform`."""
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

    def _failure(self, example: Example, difference: Difference, context: RunContext) -> Failure:
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
            shortest = minimise(whole, fails, limit=REPLAYS, simpler=example.model.simpler)
            shortest = list(fails(example.model.tidied(shortest)) or shortest)
            smallest = replay(shortest)
            odd = _odd_one(difference, smallest, replay(shortest))
            if odd is None:
                return self._told(smallest, difference, found=len(whole), reproduced=True)
        return self._told(example, difference, found=len(whole), reproduced=False, again=_last_rows(odd))

    def _told(
        self,
        example: Example,
        difference: Difference,
        *,
        found: int,
        reproduced: bool | None = None,
        again: Alignment = NO_ROWS,
    ) -> Failure:
        told = example.difference or difference
        return Failure(
            difference=told,
            steps=tuple(example.steps),
            rows=_last_rows(example),
            document=self.document(example.performed, told.sentence, told.clauses),
            reproduced=reproduced,
            again=again,
            found_after=found,
        )

    def document(self, commands: Sequence[JsonMap], title: str, clauses: Sequence[str]) -> Mapping[str, Json]:
        """What `dshconform replay` reads."""
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
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield lambda done: _collect(2 if done % FULL_COLLECTION == 0 else 0)
    finally:
        if enabled:
            gc.enable()


def _collect(generation: int) -> None:
    gc.collect(generation)


def _some(cells: Sequence[str]) -> str:
    return "; ".join(cells[:_NAMED]) + (f"; and {len(cells) - _NAMED} more" if len(cells) > _NAMED else "")


def _blames_alike(one: Difference, other: Difference) -> bool:
    """Whether the clause that answers first for one of two differences answers for the other as well."""
    return not one.clauses or other.clauses[:1] == one.clauses[:1] or one.clauses[0] in other.clauses


def same_place(one: Difference, other: Difference) -> bool:
    """Whether two differences are one failure: the same place, and a clause in common that answers for it."""
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
