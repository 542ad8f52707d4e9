"""How a run goes on: one line per check where nobody watches, a bar that disappears where somebody does."""

import io

import pytest
from rich.console import Console
from tests.conformance.running.judging import FakeCheck, clause, failure

from dshconform.report.progress import RunProgress
from dshconform.running.check import Outcome
from dshconform.spec.clause import Level

CLAUSES = {one.id: one for one in (clause("A-A-01"), clause("A-A-02", Level.SHOULD))}
CHECK = FakeCheck("scenario/a-check-of-which-the-name-is-rather-long", ("A-A-01",))


def shown(outcome: Outcome, *, terminal: bool) -> str:
    console = Console(file=io.StringIO(), width=80, force_terminal=terminal, highlight=False)
    with RunProgress(console, CLAUSES) as progress:
        progress.start(CHECK, 2)
        progress.advance(1)
        progress.finish(outcome)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


@pytest.mark.parametrize(
    ("outcome", "told"),
    [
        (Outcome(check="x"), "held"),
        (Outcome(check="x", stopped=1), "stopped at a listed deviation"),
        (Outcome(check="x", failures=[failure("A-A-01")]), "FAILED"),
        (Outcome(check="x", failures=[failure("A-A-02")]), "advice"),
        (Outcome(check="x", failures=[failure("A-A-02"), failure("A-A-01")], stopped=1), "FAILED"),
        (Outcome(check="x", failures=[failure()]), "FAILED"),
    ],
)
def test_a_line_for_each_check(outcome: Outcome, told: str) -> None:
    """What only `should` clauses are blamed for has not failed."""
    assert shown(outcome, terminal=False) == f"  x: {told}\n"


def test_a_terminal_gets_a_bar_that_disappears() -> None:
    """While a check runs its name is there; afterwards there is no line of it."""
    text = shown(Outcome(check="x"), terminal=True)
    assert CHECK.name[:40] in text
    assert "held" not in text
    assert not text.rstrip().endswith(CHECK.name)


def test_a_bar_ends_with_the_run() -> None:
    """Also where the run is cut short in the middle of a check."""
    console = Console(file=io.StringIO(), width=80, force_terminal=True)

    def cut_short() -> None:
        with RunProgress(console, CLAUSES) as progress:
            progress.start(CHECK, 2)
            raise RuntimeError("adapter")

    with pytest.raises(RuntimeError, match="adapter"):
        cut_short()
    assert isinstance(console.file, io.StringIO)
    assert console.file.getvalue().rstrip().endswith("\x1b[2K")
