"""Events and logs that tests begin with."""

from collections.abc import Iterable
from typing import Any

from dshcore.json import JsonObject, freeze

MODEL = {"kind": "model", "provider": "p", "model": "m"}
PLACE = {"turn": 1, "step": 1}


def log(*entries: tuple[str, Any] | tuple[str, Any, dict[str, Any]]) -> list[JsonObject]:
    """Make a log of types, data and what else stands in the envelope; the time of an event is 100 and its seq."""
    return [
        freeze({"type": kind, "seq": seq, "time": 100 + seq, "data": data, **(more[0] if more else {})})
        for seq, (kind, data, *more) in enumerate(entries)
    ]


def turn_start(turn: int = 1) -> tuple[str, Any]:
    return "turn/start", {"turn": turn}


def turn_end(turn: int = 1, kind: str = "completed") -> tuple[str, Any]:
    return "turn/end", {"turn": turn, "reason": {"kind": kind}}


def step_start(step: int = 1, turn: int = 1) -> tuple[str, Any]:
    return "step/start", {"turn": turn, "step": step}


def step_end(step: int = 1, turn: int = 1) -> tuple[str, Any]:
    return "step/end", {"turn": turn, "step": step}


def user(id_: str = "u", op: Any = "append", **more: Any) -> tuple[str, Any, dict[str, Any]]:
    data = {"id": id_, "role": "user", "content": [{"type": "text", "text": id_}], "source": {"kind": "user"}}
    return "user/message", data, {"surfaceOp": op, **more}


def answer(*calls: str, **place: int) -> tuple[str, Any, dict[str, Any]]:
    """An answer that asks for calls, or says something where there are none."""
    blocks: Iterable[Any] = [{"type": "tool-call", "id": call, "name": "t", "arguments": "{}"} for call in calls]
    content = [*blocks] or [{"type": "text", "text": "hi"}]
    message = {"id": "a", "role": "assistant", "content": content, "source": MODEL}
    return "assistant/message", {**PLACE, **place, "message": message}, {"surfaceOp": "append"}


def call(id_: str, **place: int) -> tuple[str, Any]:
    return "tool/call", {**PLACE, **place, "callId": id_, "name": "t", "arguments": "{}"}


def result(
    id_: str, op: Any = "append", *, is_error: bool = False, code: str | None = None, **place: int
) -> tuple[str, Any, dict[str, Any]]:
    block = {"type": "tool-result", "toolCallId": id_, "content": [], "isError": is_error}
    message = {"id": f"r-{id_}", "role": "user", "content": [block], "source": {"kind": "tool", "callId": id_}}
    error = {"error": {"name": "E", "code": code}} if code else {}
    return "tool/result", {**PLACE, **place, "message": message, **error}, {"surfaceOp": op}
