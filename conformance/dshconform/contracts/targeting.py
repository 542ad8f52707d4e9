"""Towards rare states: of two commands that could come next, the one whose cell was visited more rarely.

One is what the model proposes, the other goes on with a piece of some prologue. So what prologues reach on purpose is
reached again in the middle of long examples, behind everything that chance has done by then. What this brings is
measured in `docs/design/measurements.md`. All follows from the example's number and the seed: shards and processes
choose alike.
"""

import random
from collections.abc import Mapping, Sequence
from typing import Final

from dshconform.contracts.model import Model
from dshconform.contracts.source import Source
from dshconform.protocol.json_value import JsonMap

_LONGEST: Final = 6
"""Commands of a piece, at most."""


class Targeted:
    """Chooses the commands of one example, behind its prologue.

    Args:
        model: What is proposed fits its state.
        visits: How often each cell was visited in this example; it grows outside.
        chance: Decides every choice.
        size: The number of bytes from which the model reads its choices.
    """

    def __init__(self, model: Model, visits: Mapping[str, int], chance: random.Random, size: int) -> None:
        self._model = model
        self._visits = visits
        self._source = Source(chance.randbytes(size))
        self._chance = chance
        self._prologues = model.prologues()
        self._piece: Sequence[JsonMap] = ()

    def next(self) -> JsonMap | None:
        """The next command; none where there are no more choices."""
        if self._source.exhausted:
            return None
        proposed = self._model.propose(self._source)
        other = self._next_of_piece()
        if other is not None and self._rarity(other) < self._rarity(proposed):
            self._piece = self._piece[1:]
            return other
        self._piece = ()
        return proposed

    def _next_of_piece(self) -> JsonMap | None:
        """The first command of the piece that makes sense now, at which the piece stands then."""
        if not self._piece and self._prologues:
            whole = self._prologues[self._below(len(self._prologues))]
            at = self._below(len(whole))
            self._piece = whole[at : at + 1 + self._below(_LONGEST)]
        for at, command in enumerate(self._piece):
            if self._model.legal(command):
                self._piece = self._piece[at:]
                return command
        self._piece = ()
        return None

    def _below(self, bound: int) -> int:
        return int(self._chance.random() * bound)  # the one draw that Python promises not to change

    def _rarity(self, command: JsonMap) -> int:
        cell = self._model.cell(command)
        return _NOWHERE if cell is None else self._visits.get(cell, 0)


_NOWHERE: Final = 1_000_000
"""As often as no cell is visited: a command of which the grid says nothing is taken where nothing else is there."""
