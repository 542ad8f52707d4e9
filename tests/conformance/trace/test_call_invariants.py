"""The invariant of tool calls: what it accepts, and what it blames on which clause."""

import pytest

from dshconform.protocol.json_value import Json
from dshconform.protocol.messages import Row
from dshconform.trace.call_invariants import CALL_INVARIANTS
from dshconform.trace.invariants import Watch
from dshconform.trace.pattern import Difference, Matching

ABORTED: Json = {"kind": "aborted"}
COMPLETED: Json = {"kind": "completed"}
ERROR: Json = {"kind": "error"}


def log(seq: int, kind: str, data: Json, **envelope: Json) -> Row:
    return {"on": "log", "session": "s", "event": {"type": kind, "seq": seq, "time": 1, "data": data, **envelope}}


def start(seq: int = 0, step: int = 1) -> Row:
    return log(seq, "step/start", {"turn": 1, "step": step})


def answer(*calls: str) -> Row:
    blocks: list[Json] = [{"type": "tool-call", "id": call, "name": "t", "arguments": "{}"} for call in calls]
    return log(1, "assistant/message", {"message": {"content": blocks}})


def call(seq: int, identity: str) -> Row:
    return log(seq, "tool/call", {"callId": identity})


def result(seq: int, identity: str, *, of: int, code: str | None = None) -> Row:
    data: dict[str, Json] = {"message": {"content": [{"type": "tool-result", "toolCallId": identity}]}}
    if code is not None:
        data["error"] = {"code": code}
    return log(seq, "tool/result", data, surfaceOp="append", sourceEventSeqs=[of])


def end(seq: int, reason: Json) -> Row:
    return log(seq, "turn/end", {"turn": 1, "reason": reason})


def watch(*rows: Row) -> tuple[Difference | None, Matching]:
    matching = Matching()
    return Watch(CALL_INVARIANTS).see(rows, matching), matching


def test_overlapping_calls_with_results_in_order_are_right() -> None:
    """Calls may start before earlier ones have their results; each clause is counted as held."""
    rows = [start(), answer("a", "b"), call(2, "a"), call(3, "b"), result(4, "a", of=2), result(5, "b", of=3)]
    difference, matching = watch(*rows, end(6, ABORTED))
    assert difference is None
    assert {"INV-CALL-01", "SCHED-COMMIT-01", "SCHED-CALL-01", "SCHED-ABORT-02"} <= matching.held.keys()


def test_a_failed_turn_may_owe_results() -> None:
    """Nothing is invented for the calls of a turn that ended with an error."""
    assert watch(start(), answer("a", "b"), call(2, "a"), end(3, ERROR))[0] is None


def test_a_repaired_call_needs_no_call_event() -> None:
    """Crash repair says of a call that it never started; that is no result of the driver."""
    assert watch(start(), answer("a"), result(2, "a", of=0, code="TOOL_NOT_STARTED"), end(3, ERROR))[0] is None


def test_nothing_is_said_of_a_step_that_was_opened_before() -> None:
    """A result in a step whose start was in a seed is passed over."""
    assert watch(result(9, "a", of=2), end(10, COMPLETED))[0] is None


@pytest.mark.parametrize(
    ("rows", "clause", "at"),
    [
        pytest.param([call(2, "b")], "SCHED-PAR-01", "log tool/call.event.data.callId", id="out of order"),
        pytest.param([call(2, "x")], "SCHED-CALL-01", "log tool/call.event.data.callId", id="not asked for"),
        pytest.param([result(2, "a", of=1)], "INV-CALL-01", "log tool/result.event.data", id="no call"),
        pytest.param(
            [call(2, "a"), result(3, "a", of=2), result(4, "a", of=2)],
            "INV-CALL-01",
            "log tool/result.event.data",
            id="a second result",
        ),
        pytest.param(
            [call(2, "a"), call(3, "b"), result(4, "b", of=3)],
            "SCHED-COMMIT-01",
            "log tool/result.event.data",
            id="results out of order",
        ),
        pytest.param(
            [call(2, "a"), result(3, "a", of=1)],
            "LOG-EVT-13",
            "log tool/result.event.sourceEventSeqs",
            id="another event cited",
        ),
        pytest.param(
            [call(2, "a"), result(3, "a", of=2), end(4, ABORTED)], "SCHED-ABORT-02", "log turn/end", id="b is owed"
        ),
        pytest.param([call(2, "a"), start(3, 2)], "SCHED-COMMIT-01", "log step/start", id="the turn goes on"),
        pytest.param([end(2, COMPLETED)], "SCHED-COMMIT-01", "log turn/end", id="completed without results"),
    ],
)
def test_what_a_driver_must_not_log(rows: list[Row], clause: str, at: str) -> None:
    """The clause and the place are named."""
    difference, _ = watch(start(), answer("a", "b"), *rows)
    assert difference is not None
    assert clause in difference.clauses
    assert difference.at == at
