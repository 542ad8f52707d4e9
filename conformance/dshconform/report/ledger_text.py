"""What became of a ledger, as a person reads it."""

from collections.abc import Iterator
from pathlib import Path

from dshconform.report.text import wrapped
from dshconform.running.ledger import TO_DO
from dshconform.running.ledger_update import Update


def update_lines(update: Update, path: Path) -> Iterator[str]:
    """Write it as lines of at most 80 columns.

    Args:
        update: What was removed and added, and what could not be.
        path: The file of the ledger.
    """
    yield f"ledger {path}: {len(update.removed)} removed, {len(update.added)} added"
    for entry in update.removed:
        yield from wrapped(f"removed: {entry.title}", "  ", hanging="  ")
    for title in update.added:
        yield from wrapped(f"added: {title}", "  ", hanging="  ")
    for why in update.left:
        yield from wrapped(f"not added: {why}", "  ", hanging="  ")
    if update.added:
        told = f"say why (`reason`) and when you looked at it (`reviewed`): with {TO_DO} there the ledger is refused"
        yield from wrapped(told, "  ")
