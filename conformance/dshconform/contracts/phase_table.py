"""The phase machine of sheet 70 as data: its two tables, cell by cell, in the sheet's words.

The first table says what a call does in each state; its cells are written as effects, from which `phase_calls` makes
worlds. The second says what the driver does; each of its cells has worlds of its own, in `phase_events`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

Clauses: TypeAlias = tuple[str, ...]
"""The ids of those that demand a transition; the first one answers for a difference."""
Phase: TypeAlias = Literal["idle", "maintenance", "running"]
"""The phase of an agent's activity, as the table calls it."""
Call: TypeAlias = Literal["send waking", "send non-waking", "cancel `c`", "cancel `c` keepInbox"]
"""What a user of an agent can do, as the table calls it."""
Event: TypeAlias = Literal["claim", "turn closes", "activity settles"]
"""What happens by itself, as the table calls it."""


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a table.

    Args:
        phase: The phase.
        aborted: Whether the activity's signal is aborted; nothing where there is none, or where that makes no
            difference.
    """

    phase: Phase
    aborted: bool | None = None

    @property
    def title(self) -> str:
        """`running · aborted`."""
        signal = {None: "any" if self.phase == "maintenance" else "", False: "live", True: "aborted"}[self.aborted]
        return f"{self.phase} · {signal}" if signal else self.phase


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """What a call does.

    Args:
        says: The cell, as the sheet has it.
        by: The clauses that say so.
        to: Where a message goes, if there is one.
        wakes: Whether a driver starts.
        latches: Whether a wake is remembered, unless the activity was aborted as `disposed`.
        clears: Whether what is pending is cancelled, and a remembered wake forgotten.
        aborts: Whether the activity's signal is aborted.
    """

    says: str
    by: Clauses
    to: Literal["asked", "next-turn"] | None = None
    wakes: bool = False
    latches: bool = False
    clears: bool = False
    aborts: bool = False


IDLE: Final = Row("idle")
"""The row of an agent without an activity."""
_MAINTENANCE: Final = Row("maintenance", aborted=False)
_MAINTENANCE_ABORTED: Final = Row("maintenance", aborted=True)
MAINTENANCE_ANY: Final = Row("maintenance")
"""The row of an agent in maintenance, aborted or not."""
RUNNING: Final = Row("running", aborted=False)
"""The row of an agent that runs a turn."""
RUNNING_ABORTED: Final = Row("running", aborted=True)
"""The row of an agent whose turn is aborted."""

CALLS: Final[Mapping[Row, Mapping[Call, Effect]]] = {
    IDLE: {
        "send waking": Effect(
            says="insert at target; `wake` (even when the message is gone again)",
            by=("AGENT-SEND-01", "AGENT-SEND-04", "AGENT-STATUS-03"),
            to="asked",
            wakes=True,
        ),
        "send non-waking": Effect(says="insert at target", by=("AGENT-SEND-01", "AGENT-SEND-02"), to="asked"),
        "cancel `c`": Effect(says="clear inbox", by=("CANCEL-IDLE-02",), clears=True),
        "cancel `c` keepInbox": Effect(says="nothing", by=("CANCEL-IDLE-01",)),
    },
    _MAINTENANCE: {
        "send waking": Effect(says="insert at target; latch on", by=("MAINT-LATCH-01",), to="asked", latches=True),
        "send non-waking": Effect(says="insert at target", by=("AGENT-SEND-01", "MAINT-LATCH-02"), to="asked"),
        "cancel `c`": Effect(
            says="clear; latch off; abort with `c`",
            by=("MAINT-CANCEL-01", "CANCEL-CLEAR-01", "CANCEL-CAUSE-01"),
            clears=True,
            aborts=True,
        ),
        "cancel `c` keepInbox": Effect(
            says="abort with `c`; latch kept", by=("CANCEL-KEEP-01", "WAKE-CLEAR-01", "CANCEL-CAUSE-01"), aborts=True
        ),
    },
    _MAINTENANCE_ABORTED: {
        "send waking": Effect(
            says="insert at **next-turn**; latch on, unless `c0` is `disposed`",
            by=("MAINT-CANCEL-01", "WAKE-LATCH-02"),
            to="next-turn",
            latches=True,
        ),
        "send non-waking": Effect(says="insert at target", by=("WAKE-LATCH-02", "MAINT-LATCH-02"), to="asked"),
        "cancel `c`": Effect(
            says="clear; latch off; cause stays `c0`",
            by=("CANCEL-CLEAR-02", "WAKE-CLEAR-01", "CANCEL-FIRST-01"),
            clears=True,
        ),
        "cancel `c` keepInbox": Effect(says="nothing", by=("CANCEL-KEEP-01", "WAKE-CLEAR-01", "CANCEL-FIRST-01")),
    },
    RUNNING: {
        "send waking": Effect(
            says="insert at target; no latch (claimed at a later boundary of the run, or parked: WAKE-FAIL-01)",
            by=("AGENT-SEND-05", "WAKE-FAIL-01"),
            to="asked",
        ),
        "send non-waking": Effect(says="insert at target", by=("AGENT-SEND-01", "AGENT-SEND-02"), to="asked"),
        "cancel `c`": Effect(
            says="clear; latch off; abort with `c`",
            by=("CANCEL-CLEAR-01", "CANCEL-SYNC-01", "CANCEL-CAUSE-01"),
            clears=True,
            aborts=True,
        ),
        "cancel `c` keepInbox": Effect(
            says="abort with `c`", by=("CANCEL-KEEP-01", "CANCEL-KEEP-02", "CANCEL-CAUSE-01"), aborts=True
        ),
    },
    RUNNING_ABORTED: {
        "send waking": Effect(
            says="insert at **next-turn**; latch on, unless `c0` is `disposed`",
            by=("WAKE-LATCH-01", "WAKE-LATCH-02"),
            to="next-turn",
            latches=True,
        ),
        "send non-waking": Effect(says="insert at target", by=("WAKE-LATCH-02", "AGENT-SEND-02"), to="asked"),
        "cancel `c`": Effect(
            says="clear; latch off; cause stays `c0`",
            by=("CANCEL-CLEAR-02", "WAKE-CLEAR-01", "CANCEL-FIRST-01"),
            clears=True,
        ),
        "cancel `c` keepInbox": Effect(says="nothing", by=("CANCEL-KEEP-01", "WAKE-CLEAR-01", "CANCEL-FIRST-01")),
    },
}
"""The first table. A `disposed` cause after another one has won is left open, and no world asks for it."""

_SETTLES: Final = "phase idle, `agent/status idle`; then, latch on and anything pending → `wake`"

EVENTS: Final[Mapping[Row, Mapping[Event, str]]] = {
    IDLE: {"claim": "never", "turn closes": "never", "activity settles": "never"},
    MAINTENANCE_ANY: {
        "claim": "never",
        "turn closes": "never",
        "activity settles": (
            "phase idle, no status event; latch on and anything pending → `wake`; then the task's awaitable completes"
        ),
    },
    RUNNING: {
        "claim": "removes the batch, emits claimed",
        "turn closes": (
            "`completed`/`max-tokens` with at least one step entered: pending → fresh live signal, latch off, "
            "next turn; nothing pending → settles. `blocked`, `error`, empty first batch → settles"
        ),
        "activity settles": _SETTLES,
    },
    RUNNING_ABORTED: {
        "claim": "none (checked before)",
        "turn closes": (
            "`aborted` → settles. An abort that lands while `turn/end` is being published cannot change the ending, "
            "and the `live` column applies: a fresh signal and a cleared latch for the next turn"
        ),
        "activity settles": "same",
    },
}
"""The second table, in the sheet's words."""
