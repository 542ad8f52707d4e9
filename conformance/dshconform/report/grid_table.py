"""Which cells of a machine's grid a run visited, as a table of 80 columns."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from dshconform.report.text import WIDTH, wrapped

_NAMED: Final = 12
"""Cells that were not visited and are named, at most."""


def grid_lines(grid: Mapping[str, int], indent: str = "") -> Iterator[str]:
    """Write how many cells were visited of how many, by their first and last part, and those that were not by name.

    Args:
        grid: How often each cell was visited.
        indent: Before every line.
    """
    total, visited = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for cell, times in grid.items():
        parts = cell.split(" / ")
        place = parts[0], parts[-1] if len(parts) > 1 else ""
        total[place] += 1
        visited[place] += times > 0
    shown = {place: f"{visited[place]}/{count}" for place, count in total.items()}
    columns = list(dict.fromkeys(first for first, _ in shown))
    rows = list(dict.fromkeys(last for _, last in shown))
    table = [["", *columns], *([row, *(shown.get((column, row), "") for column in columns)] for row in rows)]
    lines = list(_laid_out(table))
    if max(map(len, lines)) + len(indent) <= WIDTH:
        yield from (indent + line for line in lines)
    else:
        for (first, last), count in shown.items():
            yield from wrapped(f"{count:>9}  {first}{' / ' if last else ''}{last}", indent, hanging=" " * 11)
    missed = [cell for cell, times in grid.items() if not times]
    if missed:
        more = f"; and {len(missed) - _NAMED} more" if len(missed) > _NAMED else ""
        yield from wrapped(f"not visited: {'; '.join(missed[:_NAMED])}{more}", indent, hanging="  ")


def _laid_out(table: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for first, *others in table:
        cells = [f"{cell:>{width}}" for cell, width in zip(others, widths[1:], strict=True)]
        yield " ".join([f"{first:<{widths[0]}}", *cells]).rstrip()
