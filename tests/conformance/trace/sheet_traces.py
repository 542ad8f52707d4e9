"""The traces that sheet 70 records, written out as rows: its shorthand names messages by their text."""

import json
import re
from collections.abc import Iterator
from typing import Any, Final

from dshconform.protocol.messages import Row
from dshconform.scenarios.macros import message
from dshconform.spec.pages import spec_root

_BLOCK: Final = re.compile(r"^### Trace: (?P<name>.+?)\n+```jsonl\n(?P<lines>.*?)```", re.MULTILINE | re.DOTALL)
_SURFACE: Final = frozenset({"user/message", "assistant/message", "tool/result"})


def recorded_traces() -> dict[str, list[Row]]:
    """Every recorded trace by its name."""
    page = (spec_root() / "70-agent-and-loop.md").read_text(encoding="utf-8")
    blocks = {match["name"]: match["lines"].splitlines() for match in _BLOCK.finditer(page)}
    plain = blocks["plain turn"]
    parts = {"@prologue": plain[:8], "@request": plain[8:14]}
    return {
        name: list(_Writer().rows(line for short in lines for line in parts.get(short, [short])))
        for name, lines in blocks.items()
    }


class _Writer:
    """Keeps what the shorthand leaves out: the open turn and step, and ids of answers."""

    def __init__(self) -> None:
        self.place: dict[str, Any] = {}
        self.answers = 0

    def rows(self, lines: Iterator[str]) -> Iterator[Row]:
        for line in lines:
            short: dict[str, Any] = json.loads(line)
            if "log" in short:
                yield from self.events(short)
            elif "live" in short:
                payload = {key: value for key, value in short.items() if key != "live"}
                if "message" in payload:
                    payload["message"] = message(payload["message"])
                yield {"on": "live", "name": short["live"], "agent": "a", "payload": payload}
            elif "ret" in short:
                yield {"on": "return", "op": f"agent.{short['ret']}", "result": None}

    def events(self, short: dict[str, Any]) -> Iterator[Row]:
        kind, seqs = short["log"], short["seq"]
        first, last = seqs if isinstance(seqs, list) else (seqs, seqs)
        for seq in range(first, last + 1):
            written = short["data"][seq - first] if kind == "assistant/chunk" else short["data"]
            event = {"type": kind, "seq": seq, "time": 1000 + seq, "data": self.data(kind, written)}
            if short["data"] == ["finish"]:  # an attempt that says nothing else has failed
                event["data"]["chunk"]["reason"] = {
                    "kind": "error",
                    "failure": {"message": "busy", "code": "RATE_LIMIT"},
                }
            if kind in _SURFACE:
                event["surfaceOp"] = "append"
            if "cites" in short:
                event["sourceEventSeqs"] = short["cites"]
            yield {"on": "log", "session": "a", "event": event}

    def data(self, kind: str, written: Any) -> Any:
        if kind in {"turn/start", "step/start"}:
            self.place = {**self.place, **written}
        match kind:
            case "agent/inbox/spliced":
                return {**written, "inserted": [message(text) for text in written["inserted"]]}
            case "user/message":
                return message(written)
            case "assistant/chunk":
                reason = {"reason": {"kind": "stop"}} if written == "finish" else {}
                return {**self.place, "chunk": {"type": written, **reason}}
            case "assistant/message":
                self.answers += 1
                content = [_block(text) for text in written["content"]]
                source = {"kind": "model", "provider": "mock", "model": "m1"}
                made = {"id": f"answer {self.answers}", "role": "assistant", "content": content, "source": source}
                return {**{key: value for key, value in written.items() if key != "content"}, "message": made}
            case "tool/call":
                return {**self.place, **written}
            case "tool/result":
                call = written["callId"]
                block = {"type": "tool-result", "toolCallId": call, "content": [], "isError": written["isError"]}
                source = {"kind": "tool", "callId": call}
                made = {"id": f"result {call}", "role": "user", "content": [block], "source": source}
                return {**self.place, "message": made}
            case _:
                return written


def _block(text: str) -> dict[str, str]:
    """A block of an answer: a text, or a call that is told by its id."""
    if text.startswith("call:"):
        return {"type": "tool-call", "id": text.removeprefix("call:"), "name": "echo", "arguments": "{}"}
    return {"type": "text", "text": text}
