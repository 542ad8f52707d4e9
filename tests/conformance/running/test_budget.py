"""The time that a run may take."""

import pytest

from dshconform.running.budget import Budget, BudgetSpent, read_seconds


@pytest.mark.parametrize(
    ("text", "seconds"), [("60s", 60), ("60", 60), ("2m", 120), ("1.5h", 5400), ("0.5s", 0.5), (" 3 m ", 180)]
)
def test_a_time_is_read(text: str, seconds: float) -> None:
    """Seconds, minutes, hours."""
    assert read_seconds(text) == seconds


@pytest.mark.parametrize("text", ["", "s", "0s", "0", "-5s", "5d", "1m30s", "five"])
def test_what_is_no_time_is_refused(text: str) -> None:
    """The error names it, and what is one."""
    with pytest.raises(ValueError, match=r"is no time: write a number above 0 with s, m or h") as caught:
        read_seconds(text)
    assert repr(text) in str(caught.value)


def test_a_budget_that_is_over_ends_what_needs_it() -> None:
    """From its making on; one without a limit is never over."""
    now = [100.0]
    budget, endless = Budget(5, lambda: now[0]), Budget(None, lambda: now[0])
    found = []
    for later in (0.0, 4.9, 0.1, 1e9):
        now[0] += later
        found.append((budget.over, endless.over))
    assert found == [(False, False), (False, False), (True, False), (True, False)]
    with pytest.raises(BudgetSpent):
        budget.need()
    endless.need()
