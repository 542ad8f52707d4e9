"""Two worlds that are sent the same commands, each judged by the clauses, and compared with each other."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from dshconform.diff.contrast import Contrast, contrasts
from dshconform.diff.normal import Names
from dshconform.links.link import Link
from dshconform.protocol.json_value import JsonMap
from dshconform.running.ledger import Ledger
from dshconform.running.step import Step
from dshconform.running.world import Exchange, World, compared

Sides = tuple["Side", "Side"]
"""The two implementations that a command is sent to, the left first."""


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two implementations.

    Args:
        name: How a report calls it.
        link: The implementation.
        ledger: Its known differences.
    """

    name: str
    link: Link
    ledger: Ledger


@dataclass(frozen=True, slots=True)
class Parting:
    """A step at which two worlds part.

    Args:
        contrasts: Where.
        step: The step, as the left one was judged.
        rows: The normal rows of both.
    """

    contrasts: Sequence[Contrast]
    step: Step
    rows: tuple[Sequence[JsonMap], Sequence[JsonMap]]

    @property
    def forked(self) -> bool:
        """Whether one of the two has a row alone: what comes after that may be its consequence."""
        return any(one.alone for one in self.contrasts)

    @property
    def places(self) -> frozenset[str]:
        """The places of all contrasts."""
        return frozenset(one.place for one in self.contrasts)


@dataclass(slots=True)
class Twins:
    """Compares two worlds as they go on.

    Args:
        worlds: The two.
        known: Places that a ledger accepts: what stands there is known to differ.
    """

    worlds: tuple[World, World]
    known: frozenset[str]
    _names: tuple[Names, Names] = field(init=False)
    _seen: int = 0

    def __post_init__(self) -> None:
        self._names = Names(self.known), Names(self.known)

    def partings(self) -> list[Parting]:
        """Where the steps part that both have performed since the last time."""
        found: list[Parting] = []
        left, right = (world.record for world in self.worlds)
        both = min(len(left), len(right))
        for one, other in zip(left[self._seen : both], right[self._seen : both], strict=True):
            rows = self._rows(one, 0), self._rows(other, 1)
            apart = [
                contrast
                for contrast in contrasts(*rows, self._names[0].tasks)
                if not any(_within(contrast.place, at) for at in self.known)
            ]
            if apart:
                found.append(Parting(apart, one.step, rows))
        self._seen = both
        return found

    def _rows(self, exchange: Exchange, side: int) -> list[JsonMap]:
        """The rows that a model would compare, those that are compared apart behind the others."""
        names, step = self._names[side], exchange.step
        names.send(step.op, step.args)
        main, late = names.normal(exchange.reply.observed)
        return [row for rows in (main, late) for strand in compared(step.expect, rows) for row in strand]


def known_places(ledgers: Sequence[Ledger]) -> frozenset[str]:
    """The places at which a ledger accepts what it lists.

    Args:
        ledgers: Those of both implementations.
    """
    return frozenset(
        entry.at for ledger in ledgers for entry in ledger.entries if entry.after == "accept" and entry.at is not None
    )


def _within(place: str, known: str) -> bool:
    return place == known or place.startswith(f"{known}.")
