"""Where two lists of rows part: every place, not only the first."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Final, TypeAlias

from dshconform.protocol.json_value import Json, JsonMap, same
from dshconform.trace.compare import Alignment
from dshconform.trace.pattern import MISSING
from dshconform.trace.rows import row_line, row_title

Pair: TypeAlias = tuple[JsonMap | None, JsonMap | None]
"""A row of the left and one of the right; none where the other has nothing beside it."""


_ERROR: Final = frozenset({"type", "message", "code"})
_OF_ANY: Final = frozenset({"type", "code"})
"""Members of an error that are one place, whatever failed: each implementation has classes and codes of its own."""


@dataclass(frozen=True, slots=True)
class Contrast:
    """One place where two traces part.

    Args:
        place: As a difference spells it, `*` for any index: `live agent/error.payload.error.code`; for a row that one
            of the two has alone, its title.
        left: What stands there on the left, `MISSING` for nothing.
        right: Likewise on the right.
        alone: Whether it is a row that one of the two has alone.
    """

    place: str
    left: Json
    right: Json
    alone: bool = False

    @property
    def sentence(self) -> str:
        """What is the case, without the values."""
        if self.left is MISSING or self.right is MISSING:
            return f"{self.place} stands on the {'right' if self.left is MISSING else 'left'} alone"
        return f"{self.place} differs"


def contrasts(left: Sequence[JsonMap], right: Sequence[JsonMap], tasks: Mapping[str, str]) -> list[Contrast]:
    """Every place where two lists of normal rows part.

    Args:
        left: The rows of one side.
        right: Those of the other.
        tasks: What each task was started by: their names say nothing of a place.
    """
    found: list[Contrast] = []
    for one, other in _paired(left, right):
        row = one or other or {}
        place = f"task of {tasks.get(str(row['task']), 'unknown')}" if row["on"] == "task" else row_title(row)
        if one is not None and other is not None:
            found += _inside(place, one, other)
        elif one is not None:
            found.append(Contrast(place, row_line(one), MISSING, alone=True))
        elif other is not None:
            found.append(Contrast(place, MISSING, row_line(other), alone=True))
    return found


def _paired(left: Sequence[JsonMap], right: Sequence[JsonMap]) -> list[Pair]:
    """Rows beside each other that tell of the same thing; the others stand alone, where they stand."""
    here, there = [row_title(row) for row in left], [row_title(row) for row in right]
    pairs: list[Pair] = []
    for _, start, stop, begin, end in SequenceMatcher(None, here, there, autojunk=False).get_opcodes():
        if here[start:stop] == there[begin:end]:
            pairs += zip(left[start:stop], right[begin:end], strict=True)
        else:
            pairs += [(row, None) for row in left[start:stop]]
            pairs += [(None, row) for row in right[begin:end]]
    return pairs


def beside(left: Sequence[JsonMap], right: Sequence[JsonMap]) -> Alignment:
    """Both lists as lines of text beside each other.

    Args:
        left: Rows of the first implementation, without what may differ.
        right: Those of the second.

    Returns:
        Pairs of lines, with the place of the first that differs.
    """
    pairs = _paired(left, right)
    lines = tuple(
        (MISSING if one is None else row_line(one), MISSING if other is None else row_line(other))
        for one, other in pairs
    )
    return Alignment(lines, next((at for at, (one, other) in enumerate(lines) if one != other), None))


def _inside(place: str, left: Json, right: Json) -> Iterator[Contrast]:
    if isinstance(left, dict) and isinstance(right, dict) and not left.keys().isdisjoint(right):
        error = all(side.keys() >= _ERROR for side in (left, right))
        for key in dict.fromkeys((*left, *right)):
            below = f"error.{key}" if error and key in _OF_ANY else f"{place}.{key}"
            yield from _inside(below, left.get(key, MISSING), right.get(key, MISSING))
    elif isinstance(left, list) and isinstance(right, list) and len(left) == len(right):
        for one, other in zip(left, right, strict=True):
            yield from _inside(f"{place}.*", one, other)
    elif not same(left, right) or (left is MISSING) != (right is MISSING):
        yield Contrast(place, left, right)
