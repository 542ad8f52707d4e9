"""Where a generator's choices come from: bytes, so that one draw pays for a whole example."""

from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Source:
    """Reads choices off a byte string; when it is used up, every choice is the first one.

    Args:
        data: The bytes, drawn by a seeded generator.
    """

    __slots__ = ("_at", "_data")

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    @property
    def exhausted(self) -> bool:
        """Whether all bytes are read."""
        return self._at >= len(self._data)

    def below(self, bound: int) -> int:
        """Choose an integer from 0 to `bound` - 1; `bound` is at most 256."""
        if self._at >= len(self._data):
            return 0
        byte = self._data[self._at]
        self._at += 1
        return byte % bound

    def choose(self, options: Sequence[T]) -> T:
        """Choose one of the options."""
        return options[self.below(len(options))]

    def weighted(self, options: Sequence[tuple[int, T]]) -> T:
        """Choose one of the options, each with its weight; the weights sum to at most 256."""
        total = 0
        for weight, _ in options:
            total += weight
        point = self.below(total)
        for weight, option in options:
            if point < weight:
                return option
            point -= weight
        raise AssertionError("the weights do not sum up")
