"""`dshconform faults`, as a user calls it."""

import json
from pathlib import Path

import pytest

from tests.conformance.cli.conftest import Call

KILLED = "cut-calls-are-run"
"""A fault of LOOP-END-01, which has others."""


def test_a_fault_is_killed_by_the_check_that_blames_its_clause(dshconform: Call) -> None:
    """The line says by which; what was tried is only a part, and the exit status is 0."""
    result = dshconform("faults", KILLED)
    assert result.output.splitlines() == [
        f"  killed    {KILLED} (LOOP-END-01)",
        "            by scenario/output-ceiling",
        result.output.splitlines()[-1],
    ]
    assert "1 killed, 0 survive (partial run: 1 of " in result.output
    assert result.exit_code == 0


def test_faults_are_selected_by_clause_and_written_as_json(dshconform: Call, tmp_path: Path) -> None:
    """All that violate the clause, in the form in which the whole matrix is published."""
    result = dshconform("faults", "--clause", "LOOP-END-01", "--json", "matrix.json")
    assert result.exit_code == 0, result.output
    document = json.loads((tmp_path / "matrix.json").read_text(encoding="utf-8"))
    assert {fault["clause"] for fault in document["faults"]} == {"LOOP-END-01"}
    assert len(document["faults"]) > 1
    assert document["profiles"]["core"]["covered"] == 1


def test_a_summary_has_coverage_and_what_passes_without_an_implementation(dshconform: Call) -> None:
    """Of the profiles that the selection is about; faults that are killed are not listed; 80 columns."""
    result = dshconform("faults", "--clause", "LOOP-END-01", "--summary")
    assert result.exit_code == 0, result.output
    lines = result.output.splitlines()
    assert max(map(len, lines)) <= 80
    assert [line.split()[0] for line in lines[:2]] == ["profile", "core"]
    assert "prompt" not in result.output
    assert KILLED not in result.output
    assert "  null: 0 of" in result.output


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("cut-calls-are-ran",), "there is no fault 'cut-calls-are-ran'; did you mean cut-calls-are-run"),
        (("--clause", "LOOP-END-99"), "LOOP-END-99"),
        (("--clause", "LOG-EVT-05"), "no fault violates such a clause"),
        (("--json", "nowhere/x.json", KILLED), "there is no folder nowhere"),
    ],
)
def test_wrong_usage_is_told_before_anything_is_tried(
    dshconform: Call, arguments: tuple[str, ...], problem: str
) -> None:
    """It names the value, and what would be right."""
    result = dshconform("faults", *arguments)
    assert result.exit_code == 2
    assert problem in result.output
    assert "killed" not in result.output
