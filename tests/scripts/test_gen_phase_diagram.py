"""The page of the phase machine: fresh, complete, and the same each time."""

import re

import gen_phase_diagram as script
import pytest

from dshcore.agent_loop.phase import STAGES, TABLE, Action, Input, Row

PAGE = script.page()


def test_the_published_page_is_fresh() -> None:
    """The page in the repository says what the table says."""
    assert script.TARGET.read_text(encoding="utf-8") == PAGE


def test_every_cell_input_and_action_is_on_the_page() -> None:
    """One line for each row in each group, with a column for each input; every name is explained."""
    for row in Row:
        lines = [line for line in PAGE.splitlines() if line.startswith(f"| {row.value} |")]
        assert sum(line.count("|") - 2 for line in lines) == len(TABLE[row]) == len(Input)
    for what in (*Input, *Action):
        name = what.name.lower().replace("_", "-")
        assert f"| `{name}` | {what.value} |" in PAGE
    replaced = {action for stage in STAGES.values() for action in stage}
    stages = PAGE.partition("## Stages")[2]
    assert len(re.findall(r"^\| `", stages, flags=re.MULTILINE)) == len(replaced)


def test_the_diagram_draws_every_change_of_row() -> None:
    """An arrow for each pair of rows, labelled with the inputs that lead from one to the other."""
    drawn = set(re.findall(r"^    (\w+) --> (\w+): (.+)$", PAGE, flags=re.MULTILINE))
    inputs = {(start, end, what) for start, end, label in drawn for what in label.split(", ")}
    assert inputs == {
        (row.name, cell.row.name, what.name.lower().replace("_", "-"))
        for row, line in TABLE.items()
        for what, cell in line.items()
        if cell.row is not row
    }


def test_an_input_that_is_in_no_group_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """A new input cannot be forgotten."""
    monkeypatch.setattr(script, "GROUPS", {"Deliveries": (Input.WAKE,)})
    with pytest.raises(ValueError, match="SETTLE"):
        script.page()
