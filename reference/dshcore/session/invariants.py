"""The relations that every log keeps: how turns, steps and calls follow on each other.

They are predicates over a log in seq order. `Position` is what has to be known of the events so far; `broken_by` tells
which relation the next one would break. Whatever is not named here may stand anywhere, between turns too.
"""

from dataclasses import dataclass, field
from typing import Final

from dshcore.json import Json, JsonObject
from dshcore.session.vocabulary import SessionEvent, member, shown

_ENCLOSED: Final = frozenset({"todo/write", "request/header", "request/context"})
_NOT_STARTED: Final = "TOOL_NOT_STARTED"


@dataclass(slots=True)
class Position:
    """Where a log stands.

    Attributes:
        seq: How many events were followed.
        turn: The number of the open turn, if one is open.
        step: The number of the open step, if one is open.
        next_turn: The number of the next turn.
        next_step: The number of the next step of the open turn.
        calls: The calls of the open step that have no result yet.
    """

    seq: int = 0
    turn: Json = None
    step: Json = None
    next_turn: int = 1
    next_step: int = 1
    calls: set[str] = field(default_factory=set[str])

    def broken_by(self, event: SessionEvent) -> str | None:
        """Tell which relation an event would break if it came next.

        Nesting is looked at before numbering. A call without a result is none of the relations (INV-CALL-03).

        Args:
            event: The event, with its envelope.

        Returns:
            The relation, in words; none where all hold.

        Spec:
            INV-TURN-01, INV-TURN-02, INV-STEP-01, INV-STEP-02, INV-STEP-03, INV-CALL-01, INV-CALL-02, INV-CALL-03,
            INV-ENC-01, INV-ENC-02
        """
        kind, data = event["type"], event["data"]
        turn, step = member(data, "turn"), member(data, "step")
        match kind:
            case "turn/start":
                if self.turn is not None:
                    return f"turn/start {shown(turn)} while turn {shown(self.turn)} is still open"
                if not _is(turn, self.next_turn):
                    return f"turn/start expected turn {self.next_turn}, got {shown(turn)}"
            case "turn/end":
                if not _is(turn, self.turn):
                    return f"turn/end {shown(turn)} does not match open turn {shown(self.turn)}"
                if self.step is not None:
                    return f"turn/end {shown(turn)} while step {shown(self.step)} is still open"
            case "step/start":
                if not _is(turn, self.turn):
                    return f"step/start in turn {shown(turn)} but open turn is {shown(self.turn)}"
                if self.step is not None:
                    return f"step/start {shown(step)} while step {shown(self.step)} is still open"
                if not _is(step, self.next_step):
                    return f"step/start expected step {self.next_step} in turn {shown(turn)}, got {shown(step)}"
            case "tool/result" if event["surfaceOp"] != "append":
                if self.turn is None:
                    return "tool/result surface replacement appended outside any open turn"
            case "step/end" | "assistant/chunk" | "assistant/message" | "tool/call" | "tool/result":
                if not _is(turn, self.turn) or not _is(step, self.step):
                    return (
                        f"{kind} names turn {shown(turn)}/step {shown(step)} "
                        f"but open is turn {shown(self.turn)}/step {shown(self.step)}"
                    )
                if kind == "tool/result" and not _was_not_started(data):
                    call: str = data["message"]["source"]["callId"]
                    if call not in self.calls:
                        return f"tool/result for {call} with no prior tool/call in this step"
            case _ if kind in _ENCLOSED and self.turn is None:
                return f"{kind} appended outside any open turn (core execution events must be turn-enclosed)"
            case _:
                pass
        return None

    def follow(self, event: SessionEvent) -> None:
        """Go on past an event that breaks nothing.

        Spec:
            INV-TURN-01, INV-STEP-01, INV-CALL-01
        """
        data = event["data"]
        self.seq += 1
        match event["type"]:
            case "turn/start":
                self.turn, self.next_step = self.next_turn, 1
            case "turn/end":
                self.turn = None
                self.next_turn += 1
            case "step/start":
                self.step = self.next_step
            case "step/end":
                self.step = None
                self.next_step += 1
                self.calls.clear()  # they do not live on into a later step
            case "tool/call" if isinstance(asked := member(data, "callId"), str):
                self.calls.add(asked)
            case "tool/result" if event["surfaceOp"] == "append":
                self.calls.discard(data["message"]["source"]["callId"])
            case _:
                pass


def _is(given: Json, number: Json) -> bool:
    """Tell whether a payload names this very number; `True` is none, and where none is open nothing names it."""
    return type(given) is int and given == number


def _was_not_started(data: JsonObject) -> bool:
    """Tell whether a result says that its call was never started, so that there is no `tool/call` (INV-CALL-02)."""
    block: Json = data["message"]["content"][0]
    return member(block, "isError") is True and member(data, "error", "code") == _NOT_STARTED
