"""The phase table, cell by cell, against the table of sheet 70 as it is printed there."""

import itertools

import pytest

from dshcore.agent_loop.phase import STAGES, TABLE, Action, Input, Row, Stage, State, step

IDLE = [Row.IDLE]
MAINTENANCE = [Row.MAINTENANCE, Row.MAINTENANCE_ABORTED, Row.MAINTENANCE_DISPOSED]
RUNNING = [Row.RUNNING, Row.RUNNING_ABORTED, Row.RUNNING_DISPOSED]
LIVE = [Row.MAINTENANCE, Row.RUNNING]


START = Action.START_DRIVER
LATCH = "latch on"


def after(row: Row, what: Input, *, latch: bool = False, stage: Stage = Stage.LIVE) -> tuple[State, tuple[Action, ...]]:
    return step(State(row, latch, stage), what)


# what sheet 70 says a waking send does: where it is inserted, and what becomes of its wake
SEND_WAKING = {
    Row.IDLE: (Action.INSERT, START),
    Row.MAINTENANCE: (Action.INSERT, LATCH),
    Row.MAINTENANCE_ABORTED: (Action.INSERT_NEXT_TURN, LATCH),
    Row.MAINTENANCE_DISPOSED: (Action.INSERT_NEXT_TURN, None),
    Row.RUNNING: (Action.INSERT, None),
    Row.RUNNING_ABORTED: (Action.INSERT_NEXT_TURN, LATCH),
    Row.RUNNING_DISPOSED: (Action.INSERT_NEXT_TURN, None),
}


@pytest.mark.parametrize("row", Row)
def test_waking_send(row: Row) -> None:
    """A waking send goes where the table says, and its wake starts a driver, sets the latch, or does neither."""
    where, becomes = SEND_WAKING[row]
    state, actions = after(row, Input.SEND_WAKING)
    assert (state.row, actions) == (row, (where,))
    wake = Input.LATE_WAKE if where is Action.INSERT_NEXT_TURN else Input.WAKE
    state, actions = after(row, wake)
    assert actions == ((START,) if becomes is START else ())
    assert state.row is (Row.RUNNING if becomes is START else row)
    assert state.latch is (becomes is LATCH)


@pytest.mark.parametrize("row", Row)
def test_non_waking_send(row: Row) -> None:
    """A non-waking send is inserted at its target, whatever the phase, and nothing else."""
    assert after(row, Input.SEND_QUIET) == (State(row, latch=False, stage=Stage.LIVE), (Action.INSERT,))


NESTED = {  # what the phase in force after an insertion makes of the wake, by how the send was classified before
    (Row.IDLE, Input.WAKE): START,
    (Row.IDLE, Input.LATE_WAKE): START,
    (Row.MAINTENANCE, Input.WAKE): LATCH,
    (Row.MAINTENANCE, Input.LATE_WAKE): LATCH,
    (Row.MAINTENANCE_ABORTED, Input.WAKE): LATCH,
    (Row.MAINTENANCE_ABORTED, Input.LATE_WAKE): LATCH,
    (Row.RUNNING, Input.LATE_WAKE): LATCH,
    (Row.RUNNING_ABORTED, Input.LATE_WAKE): LATCH,
}


@pytest.mark.parametrize(("row", "wake"), [*itertools.product(Row, (Input.WAKE, Input.LATE_WAKE))])
def test_wake_after_nested_calls(row: Row, wake: Input) -> None:
    """The phase in force after the insertion decides; a running driver latches only what was sent after an abort."""
    becomes = NESTED.get((row, wake))
    state, actions = after(row, wake)
    assert (START in actions, state.latch) == (becomes is START, becomes is LATCH)


@pytest.mark.parametrize("row", Row)
def test_cancel_clears_the_inbox_then_the_latch(row: Row) -> None:
    """A cancel clears both, in every phase, in two steps that change no phase."""
    live = State(row, latch=True, stage=Stage.LIVE)
    assert after(row, Input.CLEAR, latch=True) == (live, (Action.CLEAR_INBOX,))
    assert after(row, Input.CLEARED, latch=True) == (State(row, latch=False, stage=Stage.LIVE), ())


@pytest.mark.parametrize("row", Row)
@pytest.mark.parametrize("what", [Input.ABORT, Input.ABORT_DISPOSED])
def test_cancel_aborts_a_live_activity_once(row: Row, what: Input) -> None:
    """The last step fires a live signal; the first cause stays, the latch is kept, and idle arms nothing."""
    state, actions = after(row, what, latch=True)
    assert actions == ((Action.FIRE,) if row in LIVE else ())
    aborted = {
        Row.MAINTENANCE: (Row.MAINTENANCE_ABORTED, Row.MAINTENANCE_DISPOSED),
        Row.RUNNING: (Row.RUNNING_ABORTED, Row.RUNNING_DISPOSED),
    }
    expected = aborted[row][what is Input.ABORT_DISPOSED] if row in LIVE else row
    assert state == State(expected, latch=True, stage=Stage.LIVE)


@pytest.mark.parametrize("row", Row)
def test_maintenance_needs_true_idle(row: Row) -> None:
    """A task starts from idle and is refused while any activity lasts."""
    state, actions = after(row, Input.MAINTAIN)
    expected = (Row.MAINTENANCE, Action.START_TASK) if row is Row.IDLE else (row, Action.REFUSE_BUSY)
    assert (state.row, actions) == (expected[0], (expected[1],))


@pytest.mark.parametrize("row", RUNNING)
def test_next_turn_has_a_fresh_signal_and_no_latch(row: Row) -> None:
    """A turn that closed with something pending goes on live and unlatched, also when an abort came too late."""
    state, actions = after(row, Input.TURN_CLOSED_ON, latch=True)
    assert (state, actions) == (State(Row.RUNNING, latch=False, stage=Stage.LIVE), (Action.NEXT_TURN,))


@pytest.mark.parametrize("row", RUNNING)
def test_other_turn_ends_the_run(row: Row) -> None:
    """A turn after which the run does not go on ends it, and keeps the latch for the settling."""
    state, actions = after(row, Input.TURN_CLOSED_LAST, latch=True)
    assert (state, actions) == (State(row, latch=True, stage=Stage.LIVE), (Action.END_RUN,))


@pytest.mark.parametrize("row", [*RUNNING, *MAINTENANCE])
@pytest.mark.parametrize("latch", [True, False])
def test_settling_takes_the_latch(row: Row, *, latch: bool) -> None:
    """Settling goes to idle, tells of it for a driver alone, then replays a latched wake."""
    state, actions = after(row, Input.SETTLE, latch=latch)
    assert state == State(Row.IDLE, latch=False, stage=Stage.LIVE)
    idle = (Action.EMIT_IDLE,) if row in RUNNING else ()
    assert actions == (*idle, *((Action.REPLAY,) if latch else ()))


@pytest.mark.parametrize("row", Row)
def test_end_of_the_announcements_replays_from_idle(row: Row) -> None:
    """A wake that was latched during the announcements is replayed, or left to the activity that runs by then."""
    state, actions = after(row, Input.ANNOUNCED, latch=True)
    assert (actions, state.latch) == (((Action.REPLAY,), False) if row is Row.IDLE else ((), True))
    assert state.row is row


@pytest.mark.parametrize(
    ("row", "what"),
    [
        *itertools.product(IDLE, (Input.TURN_CLOSED_ON, Input.TURN_CLOSED_LAST, Input.SETTLE)),
        *itertools.product(MAINTENANCE, (Input.TURN_CLOSED_ON, Input.TURN_CLOSED_LAST)),
    ],
)
def test_cells_without_meaning_do_nothing(row: Row, what: Input) -> None:
    """What cannot happen in a phase changes nothing."""
    assert after(row, what) == (State(row, latch=False, stage=Stage.LIVE), ())


@pytest.mark.parametrize("row", Row)
@pytest.mark.parametrize("latch", [True, False])
def test_closing_starts_and_latches_nothing(row: Row, *, latch: bool) -> None:
    """Once disposal was requested no input starts a driver or a task, sets the latch, or goes on with a turn."""
    for what in Input:
        state, actions = after(row, what, latch=latch, stage=Stage.CLOSING)
        assert not {Action.START_DRIVER, Action.START_TASK, Action.NEXT_TURN} & set(actions), what
        assert state.latch <= latch, what
        assert state.row in (row, Row.IDLE) or what in (Input.ABORT, Input.ABORT_DISPOSED), what
        targets = {Input.SEND_WAKING: SEND_WAKING[row][0], Input.SEND_QUIET: Action.INSERT}
        if what in targets:
            assert actions == (targets[what],)


@pytest.mark.parametrize("row", Row)
def test_announcing_remembers_wakes(row: Row) -> None:
    """While an agent is announced, a wake from idle is latched, and nothing else is different."""
    for what in Input:
        live, announcing = after(row, what), after(row, what, stage=Stage.ANNOUNCING)
        if START in live[1]:
            assert announcing == (State(row, latch=True, stage=Stage.ANNOUNCING), ())
        else:
            assert announcing == (State(live[0].row, live[0].latch, Stage.ANNOUNCING), live[1])


@pytest.mark.parametrize("row", Row)
def test_gone_refuses_input(row: Row) -> None:
    """An agent that left its registry refuses every delivery and task, and cancels nothing."""
    for what in (Input.SEND_WAKING, Input.SEND_QUIET):
        assert after(row, what, stage=Stage.GONE)[1] == (Action.REFUSE_DISPOSED,)
    assert after(row, Input.CLEAR, stage=Stage.GONE)[1] == ()
    assert not {Action.START_DRIVER, Action.START_TASK} & {
        action for what in Input for action in after(row, what, stage=Stage.GONE)[1]
    }


def test_table_is_complete() -> None:
    """Every row has a cell for every input, and every stage is there."""
    assert set(TABLE) == set(Row)
    assert all(set(cells) == set(Input) for cells in TABLE.values())
    assert set(STAGES) == set(Stage)


def test_status_is_running_for_drivers_alone() -> None:
    """A maintenance task reads idle."""
    assert [row for row in Row if State(row).running] == RUNNING
