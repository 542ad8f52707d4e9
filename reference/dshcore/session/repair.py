"""Repair: the events that close a turn which a crash left open.

The scan is pure. It looks at the open turn alone, adds what balances it and nothing else: what was logged stays as it
is, and no message is made up out of the chunks of a stream that never ended.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from dshcore.json import Json, freeze
from dshcore.session.vocabulary import SessionEvent, asked_calls, member

_NOT_STARTED: Final = {"name": "ToolNotStartedError", "code": "TOOL_NOT_STARTED"}
_NOT_STARTED_TEXT: Final = (
    "The tool call was interrupted before the Harness recorded it as started. Retry it if it is still needed."
)
_UNKNOWN: Final = {"name": "ToolOutcomeUnknownError", "code": "TOOL_OUTCOME_UNKNOWN"}
_UNKNOWN_TEXT: Final = (
    "The tool call was interrupted after it was recorded, but no result was durably recorded. Its outcome is unknown. "
    "Decide whether to retry from the tool semantics: retry only if the operation is read-only or idempotent; if it "
    "may have side effects, first verify external state or ask the user. Do not retry blindly."
)


@dataclass(slots=True)
class _Call:
    """A call that an answer asked for and that has no result yet.

    Attributes:
        step: The step of the answer.
        started: The seq of its last `tool/call`.
    """

    step: Json
    started: int | None = None


@dataclass(slots=True)
class _OpenTurn:
    """What the turn that a log ends in has left open.

    Attributes:
        number: Its number.
        step: The number of the open step, if one is.
        calls: The calls without a result, in the order in which the answers first asked for them.
    """

    number: Json
    step: Json = None
    calls: dict[str, _Call] = field(default_factory=dict[str, _Call])

    def follow(self, event: SessionEvent) -> None:
        """Take note of an event inside the turn.

        Spec:
            REPAIR-SCAN-03, REPAIR-SCAN-04
        """
        data: Json = event["data"]
        match event["type"]:
            case "step/start":
                self.step = member(data, "step")
            case "step/end":
                self.step = None
                self.calls.clear()
            case "assistant/message":
                for call_id in asked_calls(data):
                    self.calls[call_id] = _Call(member(data, "step"))  # asked for again, it keeps its place
            case "tool/call" if isinstance(started := member(data, "callId"), str) and started in self.calls:
                self.calls[started].started = event["seq"]
            case "tool/result" if isinstance(answered := member(data, "message", "source", "callId"), str):
                self.calls.pop(answered, None)
            case _:
                pass


def interrupted_turn_closers(events: Sequence[SessionEvent]) -> tuple[SessionEvent, ...]:
    """Answer the events that balance a log whose last turn was interrupted.

    Args:
        events: The whole log.

    Returns:
        A result for each unanswered call, then the end of the open step, then the end of the open turn; nothing for a
        log that ends outside any turn. A call whose id is no non-empty text is left out: no result could name it, and
        no seed with one could be loaded.

    Spec:
        REPAIR-SCAN-01, REPAIR-SCAN-02, REPAIR-EMIT-04, REPAIR-EMIT-05, REPAIR-EMIT-06
    """
    turn = _open_turn(events)
    if turn is None:
        return ()
    first, time = events[-1]["seq"] + 1, events[-1]["time"]
    closers: list[dict[str, object]] = [
        _result(turn.number, call_id, call, first + place) for place, (call_id, call) in enumerate(turn.calls.items())
    ]
    if turn.step is not None:
        closers.append({"type": "step/end", "data": {"turn": turn.number, "step": turn.step}})
    closers.append({"type": "turn/end", "data": {"turn": turn.number, "reason": {"kind": "interrupted"}}})
    return tuple(freeze({**closer, "seq": seq, "time": time}) for seq, closer in enumerate(closers, first))


def _open_turn(events: Sequence[SessionEvent]) -> _OpenTurn | None:
    turn: _OpenTurn | None = None
    for event in events:
        kind = event["type"]
        if kind == "turn/start":
            turn = _OpenTurn(member(event["data"], "turn"))
        elif kind == "turn/end":
            turn = None
        elif turn is not None:
            turn.follow(event)
    return turn


def _result(turn: Json, call_id: str, call: _Call, seq: int) -> dict[str, object]:
    """Make the result of a call that nobody knows the outcome of, or that was never started.

    Spec:
        REPAIR-EMIT-01, REPAIR-EMIT-02, REPAIR-EMIT-03
    """
    started = call.started is not None
    text = _UNKNOWN_TEXT if started else _NOT_STARTED_TEXT
    block = {
        "type": "tool-result",
        "toolCallId": call_id,
        "content": [{"type": "text", "text": text}],
        "isError": True,
    }
    message = {
        "id": f"interrupted-tool-result-{call_id}-{seq}",
        "role": "user",
        "content": [block],
        "source": {"kind": "tool", "callId": call_id},
    }
    error = _UNKNOWN if started else _NOT_STARTED
    return {
        "type": "tool/result",
        "data": {"turn": turn, "step": call.step, "message": message, "error": error},
        "surfaceOp": "append",
        **({"sourceEventSeqs": [call.started]} if started else {}),
    }
