"""Faults of the latch, as other cells of the phase table, and of what a cancelled turn says."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from types import MappingProxyType
from typing import Final

from dshconform.faults.fault import Fault, replaced
from dshcore.agent_loop import driver, phase
from dshcore.agent_loop.phase import Action, Cell, Input, Row


def cells(changed: Mapping[tuple[Row, Input], Cell]) -> AbstractContextManager[None]:
    """The phase table with other cells.

    Args:
        changed: The cells that differ, by row and input.
    """
    table = {row: dict(cells) for row, cells in phase.TABLE.items()}
    for (row, what), cell in changed.items():
        table[row][what] = cell
    return replaced(phase, {"TABLE": MappingProxyType(table)})


def _ending(reason: Mapping[str, object]) -> AbstractContextManager[None]:
    return replaced(driver, {"_ABORTED": reason})


LATCH_FAULTS: Final[tuple[Fault, ...]] = (
    Fault(
        "latch-survives-a-clearing-cancel",
        "WAKE-CLEAR-01",
        "A cancel that clears the inbox leaves a remembered wake set.",
        lambda: cells({(row, Input.CLEARED): Cell(row) for row in Row}),
    ),
    Fault(
        "late-wake-is-parked",
        "WAKE-LATCH-01",
        "A waking send after an abort is not remembered.",
        lambda: cells({(Row.RUNNING_ABORTED, Input.LATE_WAKE): Cell(Row.RUNNING_ABORTED)}),
    ),
    Fault(
        "late-steer-keeps-its-list",
        "WAKE-LATCH-02",
        "A waking send after an abort is remembered, but filed where it asked for.",
        lambda: cells(
            {
                (Row.RUNNING_ABORTED, Input.SEND_WAKING): Cell(Row.RUNNING_ABORTED, (Action.INSERT,)),
                (Row.RUNNING_ABORTED, Input.WAKE): Cell(Row.RUNNING_ABORTED, (Action.LATCH,)),
            }
        ),
    ),
    Fault(
        "disposed-is-a-cause-like-any-other",
        "WAKE-DISP-01",
        "A wake after a cancel with the cause disposed is remembered and replayed.",
        lambda: cells({(Row.RUNNING_DISPOSED, Input.LATE_WAKE): Cell(Row.RUNNING_DISPOSED, (Action.LATCH,))}),
    ),
    Fault(
        "every-wake-is-remembered",
        "WAKE-FAIL-01",
        "A wake during a live turn sets the latch too, and is replayed when that turn fails.",
        lambda: cells({(Row.RUNNING, Input.WAKE): Cell(Row.RUNNING, (Action.LATCH,))}),
    ),
    Fault(
        "cause-in-the-ending",
        "LOG-EVT-03",
        "A cancelled turn's durable ending says who cancelled.",
        lambda: _ending({"kind": "aborted", "reason": {"kind": "user"}}),
    ),
)
"""Each is a wrong implementation that the *violation* of its clause describes."""
