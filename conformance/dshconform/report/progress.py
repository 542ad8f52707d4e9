"""How a run goes on: a bar on a terminal, plain lines elsewhere."""

from collections.abc import Mapping
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from dshconform.running.check import Check, Outcome
from dshconform.running.verdict import violates
from dshconform.spec.clause import Clause


def bar(console: Console) -> Progress:
    """A bar that disappears at the end; none, where nobody sees it move.

    Args:
        console: Where it stands; without a terminal it stays hidden.
    """
    return Progress(
        TextColumn("{task.description:<44}"),
        BarColumn(bar_width=14),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )


class RunProgress:
    """Shows the progress of a run on a console; a context manager.

    Args:
        console: A terminal gets a bar that disappears at the end, anything else one line per check.
        clauses: The specification, by id: a check that only `should` clauses are blamed in has not failed.
    """

    def __init__(self, console: Console, clauses: Mapping[str, Clause]) -> None:
        self._console = console
        self._clauses = clauses
        self._bar: Progress | None = None
        self._task: TaskID | None = None
        if console.is_terminal:
            self._bar = bar(console)

    def __enter__(self) -> Self:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def start(self, check: Check, worlds: int) -> None:
        """A check begins.

        Args:
            check: It gives the bar its name.
            worlds: How many worlds the check will open.
        """
        if self._bar is not None:
            self._task = self._bar.add_task(check.name, total=worlds)

    def advance(self, worlds: int) -> None:
        """So many worlds of it are done."""
        if self._bar is not None and self._task is not None:
            self._bar.advance(self._task, worlds)

    def finish(self, outcome: Outcome) -> None:
        """It is done.

        Args:
            outcome: What it said, for the line that stays where there is no bar.
        """
        if self._bar is not None and self._task is not None:
            self._bar.remove_task(self._task)
            self._task = None
        else:
            self._console.print(f"  {outcome.check}: {self._told(outcome)}", highlight=False)

    def _told(self, outcome: Outcome) -> str:
        if outcome.failures:
            return "FAILED" if violates(outcome, self._clauses) else "advice"
        return "stopped at a listed deviation" if outcome.stopped else "held"
