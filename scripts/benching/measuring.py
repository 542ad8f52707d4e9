"""How something is timed, and what comes of it."""

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median

from benching.sides import Side


@dataclass(frozen=True, slots=True)
class Growth:
    """The cost of one thing where there is little, and where there is much."""

    subject: str
    what: str
    small: int
    large: int
    small_us: float
    large_us: float
    ratio: float
    limit: float | None
    """What the reference's ratio may be; nothing is demanded of others."""

    @property
    def exceeded(self) -> bool:
        """Whether it grows more than it may."""
        return self.limit is not None and self.ratio > self.limit


@dataclass(frozen=True, slots=True)
class Rate:
    """How often one thing happens in a second."""

    subject: str
    what: str
    per_second: float


@contextmanager
def still() -> Iterator[None]:
    """Keep the collector out of what is timed, and what is there already out of later collections."""
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.unfreeze()


def block(side: Side, act: Callable[[], object], times: int) -> float:
    """Microseconds of one act, over so many of them."""
    with still():
        began = side.clock()
        for _ in range(times):
            act()
        return (side.clock() - began) / times * 1e6


def compare(blocks: int, small: Callable[[], float], large: Callable[[], float]) -> tuple[float, float, float]:
    """Measure two blocks in turns; the medians of both, and the median of the ratios."""
    pairs: list[tuple[float, float]] = []
    for number in range(blocks + 1):
        if number % 2:
            first, second = small(), large()
        else:
            second, first = large(), small()
        pairs.append((first, second))
    del pairs[0]  # everything is warm now
    return (
        median(first for first, _ in pairs),
        median(second for _, second in pairs),
        median(second / first for first, second in pairs),
    )
