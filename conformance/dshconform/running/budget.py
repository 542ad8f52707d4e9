"""The time that a run may take: it is looked at before every world, so what has begun comes to its end."""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

_UNITS: Final = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}

SPENT: Final = "behind the budget"
"""Why what was not run for want of time was not."""


class BudgetSpent(Exception):
    """The time is over before a check has come to its end."""


@dataclass(slots=True)
class Budget:
    """So much time from its making on.

    Args:
        seconds: How much; none for a run without a limit.
        clock: Tells the time.
    """

    seconds: float | None = None
    clock: Callable[[], float] = time.monotonic
    _began: float = field(init=False)

    def __post_init__(self) -> None:
        self._began = self.clock()

    @property
    def over(self) -> bool:
        """Whether the time is over."""
        return self.seconds is not None and self.clock() - self._began >= self.seconds

    def need(self) -> None:
        """Go on only if there is time left.

        Raises:
            BudgetSpent: There is none.
        """
        if self.over:
            raise BudgetSpent


def read_seconds(text: str) -> float:
    """Read a time: `90s`, `5m`, `1.5h`.

    Args:
        text: As the command line has it; a number without a unit counts seconds.

    Raises:
        ValueError: It is no such thing, with what is.
    """
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smh]?)", text.strip())
    seconds = float(found[1]) * _UNITS[found[2]] if found is not None else 0.0
    if not seconds:
        raise ValueError(f"{text!r} is no time: write a number above 0 with s, m or h, as `60s` or `5m`")
    return seconds
