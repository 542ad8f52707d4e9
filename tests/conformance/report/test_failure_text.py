"""A failure as a person reads it, at 80 columns."""

import pytest

from dshconform.report.failure_text import failure_lines, side_by_side
from dshconform.running.check import Failure
from dshconform.running.step import Step
from dshconform.spec.specification import load_specification
from dshconform.trace.compare import Alignment
from dshconform.trace.pattern import Difference

CLAUSES = load_specification().clauses
DIFFERENCE = Difference(("INBOX-CLAIM-01",), "log x", None, ("data",), {"turn": 1}, {"turn": 2}, "log x.data differs")


def failure(**changes: object) -> Failure:
    members: dict[str, object] = {
        "difference": DIFFERENCE,
        "steps": (Step("world.open", {}), Step("agent.inspect", {"agent": "a"})),
        "rows": Alignment((("log x {turn: 1}", "log x {turn: 2}"),), 0),
        "document": {},
        "found_after": 30,
    }
    return Failure(**{**members, **changes})  # type: ignore[arg-type]


def test_a_failure_names_everything() -> None:
    """Clause and text, minimised commands, expected and observed with the first difference, and the replay line."""
    lines = list(failure_lines(failure(), CLAUSES, "dshconform replay x.yaml"))
    text = "\n".join(lines)
    assert lines[0] == "INBOX-CLAIM-01 · must · core"
    assert "A claim at a turn boundary takes all of `next-step`" in text
    assert "  commands (1, minimised from 30)\n    1. agent.inspect agent=a" in text
    assert "  first difference: log x.data differs\n    expected  {turn: 1}\n    observed  {turn: 2}" in text
    assert "  > log x {turn: 1}                       log x {turn: 2}" in text
    assert lines[-1] == "  replay: dshconform replay x.yaml"
    assert max(map(len, lines)) <= 80


def test_what_is_not_deterministic_is_said() -> None:
    """A difference that did not come again is told as such."""
    text = "\n".join(failure_lines(failure(reproduced=False), CLAUSES, None))
    assert "not deterministic: the same commands, sent again to a fresh world" in text
    assert "replay:" not in text


def test_what_could_not_be_tried_again_is_said() -> None:
    """The run was cut short before: nothing is known of whether it comes again."""
    text = "\n".join(failure_lines(failure(reproduced=None), CLAUSES, None))
    assert "not tried again, and not minimised: the run was cut short" in text
    assert "not deterministic" not in text


def test_no_clause_is_blamed() -> None:
    """A prerequisite that failed says that it is one."""
    blameless = Difference((), "x", None, (), 1, 2, "x differs")
    assert next(iter(failure_lines(failure(difference=blameless), CLAUSES, None))).startswith("no clause is blamed")


@pytest.mark.parametrize("short", [0, 20, 30, 45, 100])
def test_the_place_where_two_rows_part_is_seen(short: int) -> None:
    """Of the pair that differs both sides are cut so that the difference stands in them."""
    same = "log x " + "a" * short
    pairs = ((same + "bbb", same + "ccc"), (same + "one" + "d" * 50, same + "two" + "d" * 50), (same, same))
    lines = list(side_by_side(Alignment(pairs, 1)))
    [differing] = [line for line in lines if line.startswith("  > ")]
    assert "one" in differing[:42]
    assert "two" in differing[42:]
    assert max(map(len, lines)) <= 80
    assert lines[1].startswith("    log x ")


def test_rows_far_from_the_difference_are_left_out() -> None:
    """Long traces are shown around the place where they part, with the number of rows on either side."""
    pairs = tuple((f"log r{index}", f"log r{index}") for index in range(20))
    lines = list(side_by_side(Alignment(pairs, 10)))
    assert lines[1] == "    … 5 rows before, alike"
    assert lines[-1] == "    … 4 more"
    assert [line for line in lines if line.startswith("  > ")] == [f"  > {'log r10':<37} log r10"]
    assert max(map(len, side_by_side(Alignment((("x" * 90, "y" * 90),), 0)))) <= 80
