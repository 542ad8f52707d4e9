"""Which cells of a machine's grid a run visited, in 80 columns: as a table, the least visited ones, or each of them."""

import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from string import ascii_lowercase
from typing import Final, TypeAlias

from dshconform.report.text import WIDTH, wrapped

_MISSED: Final = 6
"""Cells that were not visited and are named, at most."""
_LEAST: Final = 3
"""Cells that were visited least and are named, at most."""
_ROOM: Final = 20
"""Columns that the names of rows need at least, beside the names of columns."""
_ALONE: Final = "(alone)"
"""The name of what has no last part."""
_TIED: Final = "\N{NO-BREAK SPACE}"

_Place: TypeAlias = tuple[str, str]
"""The first and the last part of a cell: a phase and a window, for most machines."""


def grid_lines(grid: Mapping[str, int], indent: str = "") -> Iterator[str]:
    """Write how many cells were visited, by their first and last part; what looks alike shares a line.

    The shorter of the two axes stands above, by letters where its names do not fit.

    Args:
        grid: How often each cell was visited.
        indent: Before every line.
    """
    shown = _shown(grid)
    firsts = list(dict.fromkeys(first for first, _ in shown))
    lasts = list(dict.fromkeys(last for _, last in shown))
    if len(firsts) <= len(lasts):
        columns, rows = firsts, {last: [shown.get((first, last), "·") for first in firsts] for last in lasts}
    else:
        columns, rows = lasts, {first: [shown.get((first, last), "·") for last in lasts] for first in firsts}
    yield from wrapped("cells: 8 where all 8 were visited, 6/8 where 6 were, · where there are none", indent)
    if len(indent) + len(" ".join(columns)) + _ROOM > WIDTH:
        names = [*ascii_lowercase, *map("".join, product(ascii_lowercase, repeat=2))][: len(columns)]
        legend = [f"{name} {column}" for name, column in zip(names, columns, strict=True)]
        yield from _listed(legend, indent, indent + "  ")
    else:
        names = columns
    alike: dict[tuple[str, ...], list[str]] = {}
    for row, counts in rows.items():
        alike.setdefault(tuple(counts), []).append(row)
    widths = [max(map(len, column)) for column in zip(names, *alike, strict=True)]
    yield indent + _beside(names, widths)
    for cells, those in alike.items():
        left = f"{indent}{_beside(cells, widths)}  "
        yield from _listed(those, left, " " * len(left))


def least_lines(grid: Mapping[str, int], indent: str = "") -> list[str]:
    """Name the cells that were not visited, or else those that were visited least, or some of them.

    Args:
        grid: How often each cell was visited.
        indent: Before every line.

    Returns:
        At least one line.
    """
    least = min(grid.values())
    cells = [cell for cell, count in grid.items() if count == least]
    told, named = ("not visited", _MISSED) if least == 0 else (f"visited least ({times(least)})", _LEAST)
    more = [f"and {len(cells) - named:,} more"] if len(cells) > named else []
    first, *others = [*cells[:named], *more]
    return _listed([f"{told}: {first}", *others], indent, indent + "  ")


def cell_lines(grid: Mapping[str, int], indent: str = "") -> Iterator[str]:
    """Write how often each cell was visited: a paragraph for each place, with what was done there.

    Args:
        grid: How often each cell was visited.
        indent: Before every line.
    """
    places: dict[_Place, list[str]] = {}
    for cell, count in grid.items():
        phase, *done, window = _parts(cell)
        places.setdefault((phase, window), []).append(f"{' / '.join(done)} {count:,}".strip())
    for (phase, window), (first, *others) in places.items():
        place = phase if window == _ALONE else f"{phase} / {window}"
        yield from _listed([f"{place}: {first}", *others], indent, indent + "    ")


def times(count: int) -> str:
    """A number of times, in words.

    Args:
        count: At least 0.
    """
    return {0: "never", 1: "once"}.get(count, f"{count:,} times")


def _parts(cell: str) -> list[str]:
    """The first part of a cell, what stands between, and the last part, which not every cell has."""
    parts = cell.split(" / ")
    return parts if len(parts) > 2 else [*parts, _ALONE]  # noqa: PLR2004 - a place, what is done, and a window


def _shown(grid: Mapping[str, int]) -> dict[_Place, str]:
    """For each place, how many of its cells were visited."""
    total, visited = Counter[_Place](), Counter[_Place]()
    for cell, count in grid.items():
        first, *_, last = _parts(cell)
        total[first, last] += 1
        visited[first, last] += count > 0
    return {
        place: str(count) if visited[place] == count else f"{visited[place]}/{count}" for place, count in total.items()
    }


def _listed(items: Sequence[str], first: str, others: str) -> list[str]:
    """Wrap a list between its items where that can be, behind what the first line and the others begin with."""
    text = "; ".join(item.replace(" ", _TIED) for item in items)
    lines = textwrap.wrap(text, WIDTH, initial_indent=first, subsequent_indent=others, break_on_hyphens=False)
    return [line.replace(_TIED, " ").rstrip() for line in lines]


def _beside(cells: Sequence[str], widths: Sequence[int]) -> str:
    return " ".join(f"{cell:>{width}}" for cell, width in zip(cells, widths, strict=True))
