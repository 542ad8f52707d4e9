"""Compare two implementations by the commands of all checks, and keep one smallest example of every place.

Scenarios and tables bring their own commands; for a contract machine, its model chooses them as in a run. Each side is
judged on the way. Where one of the two does not follow a clause, the clause decides between them, and the example ends:
a known deviation is no ambiguity, and what stands behind it proves nothing. Where both follow every clause and part
all the same, the specification does not say who is right.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeVar

from dshconform.contracts.machine import MachineCheck, collecting_between_worlds
from dshconform.contracts.minimise import minimise
from dshconform.contracts.replay import Example
from dshconform.contracts.table import TableCheck
from dshconform.diff.contrast import Contrast, beside
from dshconform.diff.twins import Parting, Sides, Twins, known_places
from dshconform.links.link import AdapterFault
from dshconform.protocol.json_value import Json, JsonMap
from dshconform.running.check import Check
from dshconform.running.ledger import Ledger
from dshconform.running.step import Step
from dshconform.running.verdict import undeclared
from dshconform.running.world import new_world
from dshconform.scenarios.check import ScenarioCheck
from dshconform.scenarios.load import Scenario
from dshconform.trace.compare import Alignment
from dshconform.trace.pattern import Difference
from dshconform.trace.rows import row_title

T = TypeVar("T")

REPLAYS: Final = 200
"""Pairs of worlds that minimising one example may open."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ambiguity:
    """Something that no clause decides.

    Args:
        contrast: The place, and what stands there on either side.
        check: Whose commands show it.
        nearest: The clauses that speak of what stands nearest.
        steps: The commands, minimised where a machine made them; the last one shows it.
        rows: The rows of the last step, left and right.
        document: What `dshconform replay` reads.
        found_after: Commands of the example before it was minimised.
        found: How many worlds showed it.
    """

    contrast: Contrast
    check: str
    nearest: tuple[str, ...]
    steps: tuple[Step, ...]
    rows: Alignment
    document: Mapping[str, Json]
    found_after: int
    found: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """Something that a clause decides, and no ledger lists: one side does not follow it.

    Args:
        side: Who.
        check: The check that showed it first.
        difference: What.
        found: How many worlds showed it.
    """

    side: str
    check: str
    difference: Difference
    found: int = 1


@dataclass(slots=True)
class Comparison:
    """What two implementations showed so far.

    Args:
        worlds: Pairs of worlds.
        commands: Commands that each side was sent.
        ambiguities: By place.
        decided: By side and place.
        left_out: Checks that one side does not offer, with the reason.
        fault: Whose adapter broke the protocol, and how, if one did.
        interrupted: Whether the user cut it short.
    """

    worlds: int = 0
    commands: int = 0
    ambiguities: dict[str, Ambiguity] = field(default_factory=dict)
    decided: dict[tuple[str, str], Decided] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    fault: tuple[str, AdapterFault] | None = None
    interrupted: bool = False

    @property
    def complete(self) -> bool:
        """Whether nothing cut it short."""
        return self.fault is None and not self.interrupted


def compare(
    sides: Sides, checks: Sequence[Check], *, seed: int, examples: int, progress: Callable[[str], None]
) -> Comparison:
    """Compare two implementations.

    Args:
        sides: The two.
        checks: Whose commands are sent.
        seed: Every random choice follows from it.
        examples: Worlds of each machine.
        progress: Is told of every check that begins.

    Returns:
        What they showed, up to the end or to what cut it short.
    """
    comparing = _Comparing(sides, seed, examples)
    try:
        for check in sorted(checks, key=lambda one: not isinstance(one, MachineCheck)):  # theirs can be minimised
            progress(check.name)
            comparing.run(check)
    except AdapterFault as fault:
        comparing.result.fault = comparing.at.name, fault
    except KeyboardInterrupt:
        comparing.result.interrupted = True
    return comparing.result


class _Comparing:
    """One comparison on its way.

    Args:
        sides: The two.
        seed: Every random choice follows from it.
        examples: Worlds of each machine.
    """

    def __init__(self, sides: Sides, seed: int, examples: int) -> None:
        self.result = Comparison()
        self.at = sides[0]
        """The side that was sent a command last."""
        self._sides = sides
        self._seed = seed
        self._examples = examples
        self._known = known_places([side.ledger for side in sides])
        self._shown: set[str] = set()
        """The places that the world at hand has shown."""

    def run(self, check: Check) -> None:
        """Send the commands of one check to both."""
        missing = [undeclared(check, side.link.hello) for side in self._sides]
        why = next((f"{side.name}: {one}" for side, one in zip(self._sides, missing, strict=True) if one), None)
        if isinstance(check, ScenarioCheck) and check.scenario.ticks:
            why = "its moments are ticks, of which each implementation has its own"
        if why is not None:
            self.result.left_out[check.name] = why
            return
        with collecting_between_worlds() as collect:
            if isinstance(check, MachineCheck):
                self._machine(check, collect)
            elif isinstance(check, TableCheck):
                for number, cell in enumerate(check.cells):
                    self._scenario(check.name, cell)
                    collect(number)
            elif isinstance(check, ScenarioCheck):
                self._scenario(check.name, check.scenario)

    # ------------------------------------------------------------------ scenarios

    def _scenario(self, name: str, scenario: Scenario) -> None:
        for number, steps in enumerate(scenario.worlds):
            self._shown.clear()
            left, right = (new_world(side.link, side.ledger) for side in self._sides)
            twins = Twins((left, right), self._known)
            for done, step in enumerate(steps, 1):
                differences = [world.perform(step) for world in self._each(left, right)]
                parted = self._parted(name, differences, twins)
                for contrast, parting in self._new(parted):
                    document = scenario.document_of(number)
                    self._add(name, contrast, parting, steps[:done], document, found_after=done)
                if any(differences) or any(parting.forked for parting in parted):
                    break
            self._close(left.commands)

    # ------------------------------------------------------------------ machines

    def _machine(self, check: MachineCheck, collect: Callable[[int], None]) -> None:
        prologues = check.model(self._sides[0].ledger).prologues()
        for index in range(check.worlds(self._examples)):
            self._shown.clear()
            prologue = prologues[index] if index < len(prologues) else []

            def choose(left: Example, index: int = index, prologue: Sequence[JsonMap] = prologue) -> Iterator[JsonMap]:
                return check.choices(left, self._seed, index, prologue)

            example, parted = self._play(check, choose, [side.ledger for side in self._sides])
            for contrast, parting in self._new(parted):
                self._add_smallest(check, contrast, parting, example)
            collect(index)

    def _play(
        self,
        check: MachineCheck,
        choose: Callable[[Example], Iterable[JsonMap]],
        ledgers: Sequence[Ledger],
        until: str | None = None,
    ) -> tuple[Example, list[Parting]]:
        """Perform commands on both sides, up to where they cannot be compared any more.

        Args:
            check: The machine.
            choose: Chooses commands that are legal where the left example is, one after the other.
            ledgers: Those of the two sides.
            until: A place at which it is enough that the two part.

        Returns:
            The left example, and where the two parted.
        """
        left, right = (
            Example(check.model(ledger), side.link, ledger) for side, ledger in zip(self._sides, ledgers, strict=True)
        )
        twins = Twins((left.world, right.world), self._known)
        parted: list[Parting] = []
        opened = [example.open() for example in self._each(left, right)]
        parted += self._parted(check.name, [left.difference, right.difference], twins)
        if all(opened):
            for command in choose(left):
                if not right.model.legal(command):  # it is, unless one of the two is followed in a variant
                    continue
                for example in self._each(left, right):
                    example.perform(command)
                found = self._parted(check.name, [left.difference, right.difference], twins)
                if left.difference or right.difference or left.model.departed or right.model.departed:
                    break
                parted += found
                if any(one.forked or until in one.places for one in found):
                    break
        self._close(left.world.commands)
        return left, parted

    def _add_smallest(self, check: MachineCheck, contrast: Contrast, parting: Parting, met: Example) -> None:
        """Keep the shortest commands that part the two at this place; as it was met, where that does not come again."""
        example = met

        def fails(commands: Sequence[JsonMap]) -> Sequence[JsonMap] | None:
            nonlocal contrast, parting, example

            def replay(left: Example) -> Iterator[JsonMap]:
                return (command for command in commands if left.model.legal(command))

            scratch = [Ledger(side.ledger.entries) for side in self._sides]  # what is met while minimising is no news
            again, parted = self._play(check, replay, scratch, contrast.place)
            for one in parted:
                for found in one.contrasts:
                    if found.place == contrast.place:
                        contrast, parting, example = found, one, again
                        return again.performed
            return None

        shown = fails(met.performed)
        if shown is not None:
            shortest = minimise(shown, fails, limit=REPLAYS, simpler=met.model.simpler)
            if fails(met.model.tidied(shortest)) is None:
                fails(shortest)
        last = () if example.steps[-1] is parting.step else (parting.step,)
        document = check.document(example.performed, contrast.sentence, _nearest(contrast, parting))
        self._add(check.name, contrast, parting, [*example.steps, *last], document, found_after=len(met.performed))

    # ------------------------------------------------------------------ what is found

    def _each(self, *ours: T) -> Iterator[T]:
        """What belongs to either side, one after the other."""
        for side, one in zip(self._sides, ours, strict=True):
            self.at = side
            yield one

    def _parted(self, check: str, differences: Sequence[Difference | None], twins: Twins) -> list[Parting]:
        """Where the two part in what they performed last; nowhere, where a clause decides."""
        for side, difference in zip(self._sides, differences, strict=True):
            if difference is not None and side.ledger.stops(difference) is None:
                key = side.name, difference.at
                known = self.result.decided.get(key)
                self.result.decided[key] = (
                    Decided(side=side.name, check=check, difference=difference)
                    if known is None
                    else replace(known, found=known.found + 1)
                )
        partings = twins.partings()
        return [] if any(differences) else partings

    def _new(self, parted: Sequence[Parting]) -> Iterator[tuple[Contrast, Parting]]:
        """The places that are new; of the others it is counted that this world shows them too."""
        for parting in parted:
            for contrast in parting.contrasts:
                known = self.result.ambiguities.get(contrast.place)
                if known is None:
                    yield contrast, parting
                elif contrast.place not in self._shown:
                    self.result.ambiguities[contrast.place] = replace(known, found=known.found + 1)
                self._shown.add(contrast.place)

    def _add(
        self,
        check: str,
        contrast: Contrast,
        parting: Parting,
        steps: Sequence[Step],
        document: JsonMap,
        *,
        found_after: int,
    ) -> None:
        self.result.ambiguities[contrast.place] = Ambiguity(
            contrast=contrast,
            check=check,
            nearest=_nearest(contrast, parting),
            steps=tuple(steps),
            rows=beside(*parting.rows),
            document=document,
            found_after=found_after,
        )

    def _close(self, commands: int) -> None:
        """The worlds end."""
        self.result.worlds += 1
        self.result.commands += commands
        for side in self._each(*self._sides):
            side.link.call("world.close")


def _nearest(contrast: Contrast, parting: Parting) -> tuple[str, ...]:
    """The clauses that demand the row in which the two part; else those that demand anything of the step."""
    expect = parting.step.expect
    for row in expect.rows or ():
        if contrast.place.startswith(row_title(row.pattern)):
            return row.clauses or expect.clauses
    return expect.clauses or expect.after
