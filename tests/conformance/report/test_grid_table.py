"""Which cells were visited, at 80 columns."""

import pytest

from dshconform.checks.catalog import MODELS
from dshconform.contracts.model import Model
from dshconform.report.grid_table import cell_lines, grid_lines, least_lines

LEGEND = "cells: 8 where all 8 were visited, 6/8 where 6 were, · where there are none"


def test_the_shorter_axis_stands_above_the_other() -> None:
    """Each place says how many of its cells were visited, and of how many if not of all."""
    grid = {
        "idle / a / empty": 1,
        "idle / b / empty": 0,
        "busy / a / live": 3,
        "busy / a / empty": 1,
        "busy / b / late": 0,
    }
    assert list(grid_lines(grid)) == [
        LEGEND,
        "idle busy",
        " 1/2    1  empty",
        "   ·    1  live",
        "   ·  0/1  late",
    ]
    turned = {" / ".join(reversed(cell.split(" / "))): count for cell, count in grid.items()}
    assert list(grid_lines(turned)) == list(grid_lines(grid))


def test_places_that_look_alike_share_a_line() -> None:
    """A row that is not like the others is told from them."""
    grid = {f"{phase} / act / {window}": 1 for phase in ("idle", "busy") for window in ("one", "two, three", "four")}
    assert list(grid_lines({**grid, "busy / act / four": 0})) == [
        LEGEND,
        "idle busy",
        "   1    1  one; two, three",
        "   1  0/1  four",
    ]


def test_names_that_do_not_fit_above_stand_as_letters() -> None:
    """What each letter stands for is said; no name is broken as long as there is room for it."""
    grid = {f"a phase of a rather long name {number} / act / window": number for number in range(4)}
    more = {f"a phase of a rather long name 3 / act / window {number}": 1 for number in range(4)}
    assert list(grid_lines({**grid, **more}, "  ")) == [
        f"  {LEGEND}",
        "  a a phase of a rather long name 0; b a phase of a rather long name 1;",
        "    c a phase of a rather long name 2; d a phase of a rather long name 3",
        "    a b c d",
        "  0/1 1 1 1  window",
        "    · · · 1  window 0; window 1; window 2; window 3",
    ]


def test_more_columns_than_letters() -> None:
    """Two letters follow; and no line is longer than 80 columns."""
    names = [f"a phase of a rather long name {number}" for number in range(30)]
    lines = list(grid_lines({f"{name} / act / of {name}": 1 for name in names}, "  "))
    assert max(map(len, lines)) <= 80
    assert any(line.endswith("z a phase of a rather long name 25;") for line in lines)
    assert any("ab a phase of a rather long name 27;" in line for line in lines)


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_the_grid_of_every_machine_fits(model: type[Model]) -> None:
    """80 columns, a screen or less, and every place is named in one piece."""
    lines = list(grid_lines(dict.fromkeys(model.cells, 1), "  "))
    assert max(map(len, lines)) <= 80
    assert len(lines) <= 40
    for cell in model.cells:
        first, *_, last = cell.split(" / ")
        assert any(first in line for line in lines)
        assert cell.count(" / ") < 2 or any(last in line for line in lines)


def test_cells_of_one_or_two_parts_are_told_too() -> None:
    """There is no window then."""
    assert list(grid_lines({"open": 1, "closed": 0})) == [LEGEND, "(alone)", "      1  open", "    0/1  closed"]
    assert list(grid_lines({"open / a": 1, "open / b": 0, "open / b / live": 1})) == [
        LEGEND,
        "open",
        " 1/2  (alone)",
        "   1  live",
    ]


def test_cells_that_were_not_visited_are_named() -> None:
    """Some of many, and how many more there are."""
    assert least_lines({"p / a / w": 3, "p / b / w": 0}) == ["not visited: p / b / w"]
    many = " ".join(line.strip() for line in least_lines({f"p / act {number} / w": 0 for number in range(40)}, "  "))
    assert many.startswith("not visited: p / act 0 / w; p / act 1 / w; ")
    assert many.endswith("p / act 5 / w; and 34 more")


def test_where_each_cell_was_visited_the_least_visited_are_named() -> None:
    """With how often that was."""
    assert least_lines({"p / a / w": 7, "p / b / w": 2}) == ["visited least (2 times): p / b / w"]
    assert least_lines({f"p / {number}": 1 for number in range(5)}) == [
        "visited least (once): p / 0; p / 1; p / 2; and 2 more"
    ]


def test_each_cell_can_be_told() -> None:
    """By its place, with how often it was visited."""
    grid = {"idle / a / empty": 1000, "idle / b / empty": 0, "idle / a": 3, "section / root / added / at rest": 2}
    assert list(cell_lines(grid, "  ")) == [
        "  idle / empty: a 1,000; b 0",
        "  idle: a 3",
        "  section / at rest: root / added 2",
    ]
