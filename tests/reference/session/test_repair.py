"""Repair: which events close an interrupted turn, and that they do."""

from typing import Any

import pytest
from tests.reference.session.logs import (
    answer,
    call,
    log,
    result,
    step_end,
    step_start,
    turn_end,
    turn_start,
    user,
)

from dshcore.ids import SessionId
from dshcore.json import JsonObject
from dshcore.session import Session, interrupted_turn_closers, unbalanced
from dshcore.session.invariants import Position

CHUNK = "assistant/chunk", {"turn": 1, "step": 1, "chunk": {"type": "text-delta", "index": 0, "text": "x"}}


def closers(*entries: Any) -> list[str]:
    """The closers of a log, each in one word or two."""
    return [show(event) for event in interrupted_turn_closers(log(*entries))]


def show(event: JsonObject) -> str:
    data = event["data"]
    match event["type"]:
        case "tool/result":
            return f"{data['message']['source']['callId']} {data['error']['code']}"
        case "step/end":
            return f"step {data['step']}"
        case _:
            return f"turn {data['turn']} {data['reason']['kind']}"


STARTED, UNSTARTED = "TOOL_OUTCOME_UNKNOWN", "TOOL_NOT_STARTED"
END = "turn 1 interrupted"


@pytest.mark.parametrize(
    "entries",
    [
        [],
        [user()],
        [turn_start(), turn_end()],
        [turn_start(), turn_end(), user(), ("x/open", {})],
        [turn_start(), step_start(), answer("c"), ("turn/end", {"turn": 9, "reason": {"kind": "completed"}})],
    ],
)
def test_closed_logs_need_nothing(entries: list[Any]) -> None:
    """Whatever follows the last ending, and whatever number that has (REPAIR-SCAN-01)."""
    assert closers(*entries) == []


FULL: list[Any] = [
    turn_start(),
    step_start(),
    answer("c2", "c1"),
    call("c1"),
    result("c1"),
    call("c2"),
    result("c2"),
    step_end(),
    step_start(2),
    answer(step=2),
    step_end(2),
]


@pytest.mark.parametrize(
    ("length", "expected"),
    [
        (1, [END]),
        (2, ["step 1", END]),
        (3, [f"c2 {UNSTARTED}", f"c1 {UNSTARTED}", "step 1", END]),
        (4, [f"c2 {UNSTARTED}", f"c1 {STARTED}", "step 1", END]),
        (5, [f"c2 {UNSTARTED}", "step 1", END]),
        (6, [f"c2 {STARTED}", "step 1", END]),
        (7, ["step 1", END]),
        (8, [END]),
        (9, ["step 2", END]),
        (10, ["step 2", END]),
        (11, [END]),
    ],
)
def test_a_turn_that_was_cut_after_any_event(length: int, expected: list[str]) -> None:
    """Results in the order of the blocks, then the step, then the turn (REPAIR-SCAN-02, REPAIR-SCAN-04)."""
    assert closers(*FULL[:length]) == expected


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        ([call("bare")], []),
        ([answer("c"), result("c", is_error=True)], []),
        ([answer("c"), answer("c")], [f"c {UNSTARTED}"]),
        ([answer("c"), call("c"), answer("d", "c")], [f"c {UNSTARTED}", f"d {UNSTARTED}"]),
        ([answer("c"), call("c"), call("c")], [f"c {STARTED}"]),
        ([call("c"), answer("c")], [f"c {UNSTARTED}"]),
        ([answer("c"), call("c"), result("c"), answer("d"), call("c")], [f"d {UNSTARTED}"]),
        ([answer("", "c"), call("")], [f"c {UNSTARTED}"]),
        ([("tool/call", {"callId": 5}), ("tool/call", None), ("assistant/chunk", None)], []),
    ],
)
def test_which_calls_are_unanswered(entries: list[Any], expected: list[str]) -> None:
    """Blocks count, not calls; a call named again has to start again (REPAIR-SCAN-03, REPAIR-SCAN-04)."""
    assert closers(turn_start(), step_start(), *entries) == [*expected, "step 1", END]


def test_calls_of_closed_steps_and_earlier_turns() -> None:
    """They are no longer anybody's to answer (REPAIR-SCAN-03)."""
    earlier = [turn_start(), step_start(), answer("c"), turn_start(2), step_start(), answer("d"), step_end()]
    assert closers(*earlier) == ["turn 2 interrupted"]


def test_answers_outside_a_step_are_closed_as_well() -> None:
    """A call of the open turn is closed even where no step is (REPAIR-SCAN-02)."""
    assert closers(turn_start(), answer("c", step=3)) == [f"c {UNSTARTED}", END]


def test_a_replacing_result_is_an_answer() -> None:
    """Its marker does not matter (REPAIR-SCAN-03)."""
    answered = result("c", {"op": "replace", "start": 3, "end": 3})
    assert closers(turn_start(), step_start(), answer("c"), answered) == ["step 1", END]


def test_closers_in_full() -> None:
    """Every field, the seqs that go on, the time of the last event (REPAIR-EMIT-01 to -04)."""
    asked = log(turn_start(), step_start(), answer("c1", "c2"), call("c1"), call("c1"))
    first, second, step, turn = interrupted_turn_closers(asked)
    block = first["data"]["message"]["content"][0]
    text = block["content"][0]["text"]
    assert first == {
        "type": "tool/result",
        "seq": 5,
        "time": 104,
        "data": {
            "turn": 1,
            "step": 1,
            "message": {
                "id": "interrupted-tool-result-c1-5",
                "role": "user",
                "content": (
                    {
                        "type": "tool-result",
                        "toolCallId": "c1",
                        "content": ({"type": "text", "text": text},),
                        "isError": True,
                    },
                ),
                "source": {"kind": "tool", "callId": "c1"},
            },
            "error": {"name": "ToolOutcomeUnknownError", "code": "TOOL_OUTCOME_UNKNOWN"},
        },
        "surfaceOp": "append",
        "sourceEventSeqs": (4,),
    }
    assert text.startswith("The tool call was interrupted after it was recorded, but no result was durably recorded.")
    assert text.endswith("first verify external state or ask the user. Do not retry blindly.")
    assert second["data"]["error"] == {"name": "ToolNotStartedError", "code": "TOOL_NOT_STARTED"}
    assert second["data"]["message"]["content"][0]["content"][0]["text"] == (
        "The tool call was interrupted before the Harness recorded it as started. Retry it if it is still needed."
    )
    assert (second["data"]["message"]["id"], "sourceEventSeqs" in second) == ("interrupted-tool-result-c2-6", False)
    assert step == {"type": "step/end", "seq": 7, "time": 104, "data": {"turn": 1, "step": 1}}
    assert turn == {
        "type": "turn/end",
        "seq": 8,
        "time": 104,
        "data": {"turn": 1, "reason": {"kind": "interrupted"}},
    }


@pytest.mark.parametrize("length", range(1, len(FULL) + 1))
def test_repaired_logs_are_balanced(length: int) -> None:
    """Repairing again adds nothing, and the log is a seed that keeps all relations (REPAIR-EMIT-05)."""
    cut = log(*FULL[:length])
    repaired = [*cut, *interrupted_turn_closers(cut)]
    assert interrupted_turn_closers(repaired) == ()
    assert unbalanced(repaired) is None
    position = Position()
    for event in Session(SessionId("s"), seed=repaired, balanced=True).events:
        assert position.broken_by(event) is None
        position.follow(event)


def test_a_cut_stream_stays_a_cut_stream() -> None:
    """No message is made of its chunks, and what a stranger logged is left alone (REPAIR-EMIT-06, PATTERN-EXT-01)."""
    assert closers(turn_start(), step_start(), CHUNK, ("x/open", None)) == ["step 1", END]
