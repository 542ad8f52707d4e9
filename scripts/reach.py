"""Counts how far the contract machines come, with and without their targeting.

    scripts/reach.py [--examples N] [--seed SEED ...]

For each machine: how many cells of its grid, and how many different pairs and triples of cells visited one after the
other, the commands behind the prologues reach. What is chosen depends on the model alone, so no implementation is
needed.
"""

import argparse
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

from dshconform.checks.catalog import MODELS
from dshconform.contracts.machine import BYTES, MachineCheck
from dshconform.contracts.model import Model
from dshconform.contracts.source import Source
from dshconform.contracts.targeting import Targeted
from dshconform.protocol.json_value import JsonMap

Chooser: TypeAlias = Callable[[], JsonMap | None]
Choosing: TypeAlias = Callable[[Model, Mapping[str, int], random.Random], Chooser]


def proposed(model: Model, visits: Mapping[str, int], chance: random.Random) -> Chooser:
    """What the model proposes, and nothing else."""
    del visits
    source = Source(chance.randbytes(BYTES))
    return lambda: None if source.exhausted else model.propose(source)


def targeted(model: Model, visits: Mapping[str, int], chance: random.Random) -> Chooser:
    """What a run chooses."""
    return Targeted(model, visits, chance, BYTES).next


def reached(model_type: type[Model], choosing: Choosing, *, examples: int, seed: int) -> tuple[int, int, int]:
    """The cells, pairs and triples that the chosen commands of all examples visit."""
    found: tuple[set[object], set[object], set[object]] = (set(), set(), set())
    prologues = model_type().prologues()
    for index in range(examples):
        model, visits, path = model_type(), Counter[str](), list[str]()
        model.opening()
        choose = choosing(model, visits, random.Random(f"{seed}/{model.name}/{index}"))  # noqa: S311 - no secret
        prologue = prologues[index] if index < len(prologues) else []
        for command, counts in _commands(prologue, choose, MachineCheck(model_type).commands):
            cell = model.cell(command)
            model.apply(command)
            if cell is None:
                continue
            visits[cell] += 1
            path.append(cell)
            for length, kinds in enumerate(found if counts else (), 1):
                kinds.add(tuple(path[-length:]))
    cells, pairs, triples = found
    return len(cells), len(pairs), len(triples)


def _commands(prologue: Sequence[JsonMap], choose: Chooser, most: int) -> Iterator[tuple[JsonMap, bool]]:
    """The commands of an example, each with whether it was chosen."""
    for command in prologue:
        yield command, False
    for _ in range(most):
        chosen = choose()
        if chosen is None:
            return
        yield chosen, True


def main() -> int:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--examples", type=int, default=120, help="worlds of each machine")
    parser.add_argument("--seed", type=int, nargs="*", default=[1, 2, 3], help="a line for each")
    options = parser.parse_args()
    print(f"{'machine':<12} {'seed':>5} {'grid':>6}   {'chosen':<9} {'cells':>6} {'pairs':>7} {'triples':>8}")
    for name, model_type in MODELS.items():
        for seed in options.seed:
            for choosing in (proposed, targeted):
                counts = reached(model_type, choosing, examples=options.examples, seed=seed)
                head = f"{name:<12} {seed:>5} {len(model_type.cells):>6}   {choosing.__name__:<9}"
                print(f"{head} {counts[0]:>6,} {counts[1]:>7,} {counts[2]:>8,}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
