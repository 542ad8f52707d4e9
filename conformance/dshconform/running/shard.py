"""Shards: a run divided among processes or machines, each of which takes every n-th part."""

import re
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Shard:
    """One part of a divided run.

    Args:
        number: Which, from 1 on.
        of: How many there are.
    """

    number: int = 1
    of: int = 1

    @property
    def whole(self) -> bool:
        """Whether nothing is divided."""
        return self.of == 1

    def takes(self, index: int) -> bool:
        """Whether this part takes what has that place, counted from 0.

        Args:
            index: The place of a check among those that can run, or of a world among those of a check.
        """
        return index % self.of == self.number - 1

    def share(self, begin: int, end: int) -> list[int]:
        """The places from `begin` up to `end`, without it, that this part takes."""
        return [index for index in range(begin, end) if self.takes(index)]

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"


WHOLE: Final = Shard()
"""The only part of a run that is not divided."""


def read_shard(text: str) -> Shard:
    """Read `2/4`.

    Args:
        text: The number of the part and how many there are.

    Raises:
        ValueError: It is no such thing, with what is.
    """
    found = re.fullmatch(r"(\d{1,4})/(\d{1,4})", text)
    if found is not None:
        number, of = int(found[1]), int(found[2])
        if 1 <= number <= of:
            return Shard(number, of)
    raise ValueError(f"{text!r} is no part of a run: write k/n, as `2/4` for the second of four, with k from 1 to n")
