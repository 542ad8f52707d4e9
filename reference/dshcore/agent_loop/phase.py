"""The phase machine: what an agent does next, as a table.

An agent is idle, or has one *activity*: a driver run or a maintenance task. Everything that callers do to it (send,
cancel, start a task) and everything that happens to its activity (a turn closes, the activity settles) is an `Input`.
`TABLE` says for every row and input which row follows and which `Action`s the agent carries out, in order; nothing
else in the package decides what a phase does. `step` looks one input up. It is a pure function: it neither waits nor
touches the agent, so the table can be walked, drawn and checked on its own.

Three facts make up a state:

- the *row*: the phase and, for an activity, whether its signal is live, aborted, or aborted with the cause `disposed`
  (which alone keeps later wakes from being remembered, WAKE-DISP-01);
- the *latch*: a remembered wake, replayed when the activity settles (WAKE-LATCH-01);
- the *stage* of the agent's life, which replaces some actions by others whatever the row is (`STAGES`): an agent that
  is still being announced remembers wakes in place of starting a driver (LIFE-PUB-08), one whose disposal was
  requested starts and remembers nothing (WAKE-DISP-02, LIFE-DISP-12), one that has left its registry refuses input
  (LIFE-DISP-21).

A send is two inputs, because its insertion lies between them and listeners may do anything meanwhile: before it, the
row decides the target and whether the send counts as sent after an abort; after it, the row then in force decides what
becomes of the wake (WAKE-RACE-01 to WAKE-RACE-03). A cancel is three: it clears, then forgets the wake that was
remembered by then, then aborts the activity that exists by then (CANCEL-CLEAR-01, CANCEL-REENTRY-02,
CANCEL-REENTRY-03).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import Final


class Row(Enum):
    """The phase, and what has become of the activity's signal."""

    IDLE = "idle"
    MAINTENANCE = "maintenance"
    MAINTENANCE_ABORTED = "maintenance, aborted"
    MAINTENANCE_DISPOSED = "maintenance, aborted with disposed"
    RUNNING = "running"
    RUNNING_ABORTED = "running, aborted"
    RUNNING_DISPOSED = "running, aborted with disposed"


class Stage(Enum):
    """How far the agent's life has come."""

    ANNOUNCING = "announcing"
    LIVE = "live"
    CLOSING = "closing"
    GONE = "gone"


class Input(Enum):
    """What can happen to an agent."""

    SEND_WAKING = "a waking send, before its insertion"
    SEND_QUIET = "a non-waking send, before its insertion"
    WAKE = "a wake: of an inserted waking send, or a remembered one that is replayed"
    LATE_WAKE = "the wake of an inserted send that was sent after an abort"
    CLEAR = "a cancel that does not keep the inbox"
    CLEARED = "a cancel that has cleared the inbox"
    ABORT = "a cancel, after the clearing if any"
    ABORT_DISPOSED = "a cancel with the cause disposed, after the clearing if any"
    MAINTAIN = "a maintenance task is to start"
    TURN_CLOSED_ON = "a turn closed normally and something is pending"
    TURN_CLOSED_LAST = "a turn closed in any other way, or none was opened"
    SETTLE = "the activity has nothing left to do"
    ANNOUNCED = "the announcements of the agent are over"


class Action(Enum):
    """What the agent has to do, in the order given."""

    INSERT = "insert at the target asked for"
    INSERT_NEXT_TURN = "insert at next-turn; the send counts as sent after an abort"
    START_DRIVER = "start a driver"
    START_TASK = "start the maintenance task"
    LATCH = "remember the wake"
    UNLATCH = "forget a remembered wake"
    CLEAR_INBOX = "cancel everything pending"
    FIRE = "abort the activity's signal with the cause"
    NEXT_TURN = "go on with the next turn, on a fresh signal"
    END_RUN = "end the driver run"
    EMIT_IDLE = "emit agent/status idle"
    REPLAY = "the latch was set and is taken: wake again if anything is pending once the actions before are done"
    REFUSE_BUSY = "refuse: the agent has active work"
    REFUSE_DISPOSED = "refuse: the agent is disposed"


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of the table: the row that follows, and the actions to carry out."""

    row: Row
    actions: tuple[Action, ...] = ()


def _activity(live: Row, own: Row) -> dict[Input, Cell]:
    """Answer the cells that all rows of one kind of activity share; `own` is the row they stand in."""
    running = live is Row.RUNNING
    return {
        Input.SEND_QUIET: Cell(own, (Action.INSERT,)),
        Input.CLEAR: Cell(own, (Action.CLEAR_INBOX,)),
        Input.CLEARED: Cell(own, (Action.UNLATCH,)),  # WAKE-CLEAR-01: a cancel that keeps the inbox comes not here
        Input.MAINTAIN: Cell(own, (Action.REFUSE_BUSY,)),
        Input.TURN_CLOSED_ON: Cell(live, (Action.UNLATCH, Action.NEXT_TURN)) if running else Cell(own),
        Input.TURN_CLOSED_LAST: Cell(own, (Action.END_RUN,)) if running else Cell(own),
        Input.SETTLE: Cell(Row.IDLE, (Action.EMIT_IDLE, Action.REPLAY) if running else (Action.REPLAY,)),
        Input.ANNOUNCED: Cell(own),
    }


TABLE: Final[Mapping[Row, Mapping[Input, Cell]]] = MappingProxyType(
    {
        Row.IDLE: {
            Input.SEND_WAKING: Cell(Row.IDLE, (Action.INSERT,)),
            Input.SEND_QUIET: Cell(Row.IDLE, (Action.INSERT,)),
            Input.WAKE: Cell(Row.RUNNING, (Action.START_DRIVER,)),  # WAKE-IDLE-01: whatever becomes of its message
            Input.LATE_WAKE: Cell(Row.RUNNING, (Action.START_DRIVER,)),
            Input.CLEAR: Cell(Row.IDLE, (Action.CLEAR_INBOX,)),
            Input.CLEARED: Cell(Row.IDLE, (Action.UNLATCH,)),
            Input.ABORT: Cell(Row.IDLE),
            Input.ABORT_DISPOSED: Cell(Row.IDLE),
            Input.MAINTAIN: Cell(Row.MAINTENANCE, (Action.START_TASK,)),
            Input.TURN_CLOSED_ON: Cell(Row.IDLE),
            Input.TURN_CLOSED_LAST: Cell(Row.IDLE),
            Input.SETTLE: Cell(Row.IDLE),
            Input.ANNOUNCED: Cell(Row.IDLE, (Action.REPLAY,)),
        },
        Row.MAINTENANCE: _activity(Row.MAINTENANCE, Row.MAINTENANCE)
        | {
            Input.SEND_WAKING: Cell(Row.MAINTENANCE, (Action.INSERT,)),
            Input.WAKE: Cell(Row.MAINTENANCE, (Action.LATCH,)),
            Input.LATE_WAKE: Cell(Row.MAINTENANCE, (Action.LATCH,)),
            Input.ABORT: Cell(Row.MAINTENANCE_ABORTED, (Action.FIRE,)),
            Input.ABORT_DISPOSED: Cell(Row.MAINTENANCE_DISPOSED, (Action.FIRE,)),  # LIFE-DISP-10
        },
        Row.MAINTENANCE_ABORTED: _activity(Row.MAINTENANCE, Row.MAINTENANCE_ABORTED)
        | {
            Input.SEND_WAKING: Cell(Row.MAINTENANCE_ABORTED, (Action.INSERT_NEXT_TURN,)),  # MAINT-CANCEL-01
            Input.WAKE: Cell(Row.MAINTENANCE_ABORTED, (Action.LATCH,)),
            Input.LATE_WAKE: Cell(Row.MAINTENANCE_ABORTED, (Action.LATCH,)),
            Input.ABORT: Cell(Row.MAINTENANCE_ABORTED),
            Input.ABORT_DISPOSED: Cell(Row.MAINTENANCE_ABORTED),
        },
        Row.MAINTENANCE_DISPOSED: _activity(Row.MAINTENANCE, Row.MAINTENANCE_DISPOSED)
        | {
            Input.SEND_WAKING: Cell(Row.MAINTENANCE_DISPOSED, (Action.INSERT_NEXT_TURN,)),
            Input.WAKE: Cell(Row.MAINTENANCE_DISPOSED),
            Input.LATE_WAKE: Cell(Row.MAINTENANCE_DISPOSED),
            Input.ABORT: Cell(Row.MAINTENANCE_DISPOSED),
            Input.ABORT_DISPOSED: Cell(Row.MAINTENANCE_DISPOSED),
        },
        Row.RUNNING: _activity(Row.RUNNING, Row.RUNNING)
        | {
            Input.SEND_WAKING: Cell(Row.RUNNING, (Action.INSERT,)),
            Input.WAKE: Cell(Row.RUNNING),  # WAKE-FAIL-01: whatever the turn comes to, it is not remembered
            Input.LATE_WAKE: Cell(Row.RUNNING, (Action.LATCH,)),
            Input.ABORT: Cell(Row.RUNNING_ABORTED, (Action.FIRE,)),
            Input.ABORT_DISPOSED: Cell(Row.RUNNING_DISPOSED, (Action.FIRE,)),
        },
        Row.RUNNING_ABORTED: _activity(Row.RUNNING, Row.RUNNING_ABORTED)
        | {
            Input.SEND_WAKING: Cell(Row.RUNNING_ABORTED, (Action.INSERT_NEXT_TURN,)),
            Input.WAKE: Cell(Row.RUNNING_ABORTED),
            Input.LATE_WAKE: Cell(Row.RUNNING_ABORTED, (Action.LATCH,)),  # WAKE-LATCH-04, WAKE-RUN-01, WAKE-FAIL-02
            Input.ABORT: Cell(Row.RUNNING_ABORTED),
            Input.ABORT_DISPOSED: Cell(Row.RUNNING_ABORTED),  # LIFE-DISP-05: the first cause stays
        },
        Row.RUNNING_DISPOSED: _activity(Row.RUNNING, Row.RUNNING_DISPOSED)
        | {
            Input.SEND_WAKING: Cell(Row.RUNNING_DISPOSED, (Action.INSERT_NEXT_TURN,)),  # LIFE-DISP-11
            Input.WAKE: Cell(Row.RUNNING_DISPOSED),
            Input.LATE_WAKE: Cell(Row.RUNNING_DISPOSED),
            Input.ABORT: Cell(Row.RUNNING_DISPOSED),
            Input.ABORT_DISPOSED: Cell(Row.RUNNING_DISPOSED),
        },
    }
)
"""State by state, what follows from each input while the agent is live."""


STAGES: Final[Mapping[Stage, Mapping[Action, tuple[Action, ...]]]] = MappingProxyType(
    {
        Stage.ANNOUNCING: {Action.START_DRIVER: (Action.LATCH,)},  # LIFE-PUB-06, LIFE-PUB-08: inserted, woken later
        Stage.LIVE: {},
        Stage.CLOSING: {
            Action.START_DRIVER: (),
            Action.START_TASK: (Action.REFUSE_DISPOSED,),
            Action.LATCH: (),
            Action.NEXT_TURN: (Action.END_RUN,),
        },
        Stage.GONE: {
            Action.INSERT: (Action.REFUSE_DISPOSED,),
            Action.INSERT_NEXT_TURN: (Action.REFUSE_DISPOSED,),
            Action.START_DRIVER: (),
            Action.START_TASK: (Action.REFUSE_DISPOSED,),
            Action.LATCH: (),
            Action.CLEAR_INBOX: (),
            Action.NEXT_TURN: (Action.END_RUN,),
        },
    }
)
"""Which actions a stage replaces. A cell of which an action is replaced does not change the row."""


@dataclass(frozen=True, slots=True)
class State:
    """Where an agent stands.

    Attributes:
        row: The phase, and what has become of the activity's signal.
        latch: Whether a wake is remembered.
        stage: How far the agent's life has come.
    """

    row: Row = Row.IDLE
    latch: bool = False
    stage: Stage = Stage.ANNOUNCING

    @property
    def running(self) -> bool:
        """Whether a driver is active; a maintenance task reads idle (AGENT-STATUS-01)."""
        return self.row in _RUNNING


_RUNNING: Final = frozenset({Row.RUNNING, Row.RUNNING_ABORTED, Row.RUNNING_DISPOSED})


def step(state: State, what: Input) -> tuple[State, tuple[Action, ...]]:
    """Answer the state that follows from an input, and what the agent has to do.

    The latch belongs to the state, so `LATCH` and `UNLATCH` are carried out here and not answered, and `REPLAY` is
    answered only if the latch was set, which takes it.

    Args:
        state: Where the agent stands.
        what: What happens to it.

    Returns:
        The next state and the actions left to carry out, in order.

    Spec:
        WAKE-LATCH-01, WAKE-LATCH-03, WAKE-DISP-01, WAKE-DISP-02, WAKE-STALE-01, WAKE-STEAL-01, MAINT-LATCH-01,
        LIFE-PUB-08, LIFE-DISP-12, LIFE-DISP-21
    """
    cell = TABLE[state.row][what]
    replaced = STAGES[state.stage]
    row, latch = cell.row, state.latch
    todo: list[Action] = []
    for planned in cell.actions:
        if planned in replaced:
            row = state.row
        for action in replaced.get(planned, (planned,)):
            match action:
                case Action.LATCH:
                    latch = True
                case Action.UNLATCH:
                    latch = False
                case Action.REPLAY:
                    if latch:
                        todo.append(action)
                    latch = False
                case _:
                    todo.append(action)
    return State(row, latch, state.stage), tuple(todo)
