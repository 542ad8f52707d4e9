"""Which cells were visited, at 80 columns."""

from dshconform.report.grid_table import grid_lines


def test_phases_stand_beside_each_other_and_windows_below() -> None:
    """Each place says how many of its cells were visited; a place that cannot be stays empty."""
    grid = {"idle / a / empty": 1, "idle / b / empty": 0, "busy / a / live": 3, "busy / a / empty": 1}
    assert list(grid_lines(grid)) == [
        "      idle busy",
        "empty  1/2  1/1",
        "live        1/1",
        "not visited: idle / b / empty",
    ]


def test_what_is_too_wide_stands_in_lines() -> None:
    """One for each place."""
    grid = {f"a phase of a rather long name {number} / act / window": number for number in range(4)}
    lines = list(grid_lines(grid, "  "))
    assert lines[0] == "        0/1  a phase of a rather long name 0 / window"
    assert len(lines) == 5
    assert max(map(len, lines)) <= 80


def test_cells_of_one_part_are_told_too() -> None:
    """There is no second axis."""
    assert list(grid_lines({"open": 1, "closed": 0})) == [" open closed", "  1/1    0/1", "not visited: closed"]


def test_only_some_of_many_missing_cells_are_named() -> None:
    """And how many more there are."""
    *_, last = grid_lines({f"p / act {number} / w": 0 for number in range(40)})
    assert last.strip().endswith("and 28 more")
