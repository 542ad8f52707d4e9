"""Where a command stands: at the top, in a burst, in a script, in an answer to a gate."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from dshconform.adapters.reference.calls import Call


@dataclass(frozen=True, slots=True)
class Place:
    """Where a command stands.

    Attributes:
        at: The place of the item in a burst, run or script; none for a command of the suite.
        call: The call of a function that it belongs to.
    """

    at: str | None = None
    call: "Call | None" = None

    def inside(self, index: int) -> "Place":
        """The place of an item of a list that stands here.

        Args:
            index: The item's place in the list, counted from 0.
        """
        return Place(str(index) if self.at is None else f"{self.at}.{index}", self.call)


TOP: Final = Place()
"""The place of a command of the suite."""
