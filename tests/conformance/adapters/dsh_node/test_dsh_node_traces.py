"""The traces that the specification shows were recorded from the release: the adapter sees the same ones."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import pytest

from dshconform.links.subprocess import SubprocessLink
from dshconform.protocol.check import check_command
from dshconform.protocol.messages import Row
from dshconform.spec.pages import spec_root

pytestmark = pytest.mark.node

Line: TypeAlias = dict[str, Any]
Action: TypeAlias = dict[str, Any]

HOOKS: Final = ("agent/pre-step", "agent/request", "agent/request-error", "agent/turn-stopping")
RETURNS: Final = {"agent.maintain": "runMaintenance"} | {
    f"agent.{name}": name for name in ("followup", "steer", "inject", "cancel")
}


def message(text: str) -> Line:
    """A user message with a text that is its id too."""
    return {"id": text, "role": "user", "content": [{"type": "text", "text": text}], "source": {"kind": "user"}}


def block(block: Line, *deltas: Line, index: int = 0) -> list[Line]:
    """The chunks of one whole block."""
    return [
        {"type": "block-start", "index": index, "blockType": block["type"]},
        *deltas,
        {"type": "block-end", "index": index, "block": block},
    ]


def finish(kind: str) -> Line:
    """The last chunk of a message."""
    return {"type": "finish", "reason": {"kind": kind}}


def delta(text: str) -> Line:
    """A piece of a text block."""
    return {"type": "text-delta", "index": 0, "text": text}


def says(text: str) -> list[Action]:
    """The model streams a text."""
    return [{"do": "chunks", "list": [*block({"type": "text", "text": text}, delta(text)), finish("stop")]}]


def calls(**arguments: str) -> list[Action]:
    """The model calls `echo`, once for each id of a call."""
    blocks = [{"type": "tool-call", "id": call, "name": "echo", "arguments": text} for call, text in arguments.items()]
    chunks = [chunk for index, call in enumerate(blocks) for chunk in block(call, index=index)]
    return [{"do": "chunks", "list": [*chunks, finish("tool-calls")]}]


def hangs(text: str) -> list[Action]:
    """The model streams a piece and waits."""
    start = {"type": "block-start", "index": 0, "blockType": "text"}
    return [{"do": "chunks", "list": [start, delta(text)]}, {"do": "gate"}]


BUSY: Final[list[Action]] = [
    {"do": "throw", "error": {"$error": {"kind": "model", "message": "busy", "code": "RATE_LIMIT"}}}
]


def on_agent(op: str, **args: object) -> Line:
    """A command for the one agent."""
    return {"op": op, "args": {"agent": "a", **args}}


def gives(op: str, text: str) -> Line:
    """A command that delivers a message."""
    return on_agent(f"agent.{op}", message=message(text))


def cancels(kind: str, **options: bool) -> Line:
    """A command that cancels."""
    return on_agent("agent.cancel", cause={"kind": kind}, **options)


def together(*commands: Line) -> Line:
    """Commands in one uninterrupted stretch."""
    return {"op": "burst", "args": {"do": list(commands)}}


def answers(value: object) -> Line:
    """The answer to the one gate of a recording."""
    return {"op": "gate.resolve", "args": {"gate": "g1", "value": value}}


@dataclass(frozen=True, kw_only=True)
class Recording:
    """How a trace is made: what the model does call by call, what the tool and listeners do, and the commands."""

    title: str
    model: Sequence[list[Action]]
    do: Sequence[Line]
    tool: object = ()
    listeners: Mapping[str, object] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.title.replace(" ", "-")


RECORDINGS: Final = (
    Recording(title="plain turn", model=[says("hi")], do=[gives("followup", "A")]),
    Recording(
        title="two tool calls (exclusive)",
        model=[calls(c1='{"x":1}', c2="{}"), says("done")],
        do=[gives("followup", "A")],
    ),
    Recording(
        title="steering mid-turn",
        model=[calls(c1="{}"), says("done"), says("later")],
        tool="gate",
        do=[gives("followup", "A"), gives("steer", "S"), gives("inject", "I"), gives("followup", "F"), answers(None)],
    ),
    Recording(
        title="cancel mid-stream with a latched wake",
        model=[hangs("par"), says("two")],
        do=[gives("followup", "A"), together(cancels("user"), gives("steer", "B"))],
    ),
    Recording(
        title="cancel keepInbox",
        model=[hangs("par")],
        do=[gives("followup", "A"), gives("followup", "Q"), gives("inject", "I"), cancels("parent", keepInbox=True)],
    ),
    Recording(
        title="reject",
        model=[says("never")],
        listeners={"agent/pre-step": [{"do": "return", "value": {"kind": "reject"}}]},
        do=[gives("inject", "I"), together(gives("followup", "A"), gives("steer", "S"))],
    ),
    Recording(
        title="request error with retry",
        model=[BUSY, says("ok")],
        listeners={"agent/request-error": [{"do": "return", "value": {"kind": "retry"}}]},
        do=[gives("followup", "A")],
    ),
    Recording(
        title="maintenance with wake",
        model=[says("hi")],
        do=[
            on_agent("agent.maintain", task="job", fn={"$fn": "job", "do": "gate"}),
            gives("steer", "S"),
            answers(42),
        ],
    ),
)


@pytest.mark.parametrize("recording", RECORDINGS, ids=str)
def test_recorded_trace(dsh_node: SubprocessLink, recording: Recording) -> None:
    """What the adapter reports is what the page of the specification shows."""
    model = {"$fn": "model", "calls": recording.model, "abort": "auto"}
    send(dsh_node, {"op": "model.register", "args": {"as": "model", "routes": ["mock"], "stream": model}})
    send(dsh_node, {"op": "tool.register", "args": {"as": "echo", "definition": echo(recording.tool)}})
    for event in HOOKS:
        script = recording.listeners.get(event)
        function = {"$fn": event} if script is None else {"$fn": event, "do": script}
        send(dsh_node, {"op": "listen", "args": {"as": event, "event": event, "fn": function}})
    options = {"provider": "mock", "model": "m1"}
    send(dsh_node, on_agent("agent.create", task="creation", options=options))
    rows = [row for command in recording.do for row in send(dsh_node, command)]
    wanted = list(comparable(shown_trace(recording.title)))
    bodies = any("body" in line for line in wanted)
    assert [line for line in abbreviated(rows) if bodies or "body" not in line] == wanted


def echo(script: object) -> Line:
    """The definition of the tool that the model calls."""
    return {
        "name": "echo",
        "description": "echo",
        "parameters": {"type": "object"},
        "output": {"schema": {}, "render": {"$fn": "render"}},
        "execute": {"$fn": "echo", "do": script},
    }


def send(link: SubprocessLink, command: Line) -> Sequence[Row]:
    """Send one command, which the protocol knows."""
    check_command(command["op"], command["args"])
    return link.call(command["op"], command["args"]).observed


def shown_trace(title: str) -> list[Line]:
    """The lines of a trace of the specification, with its two abbreviations written out."""
    page = (spec_root() / "70-agent-and-loop.md").read_text(encoding="utf-8")

    def lines(of: str) -> list[str]:
        found = re.search(rf"^### Trace: {re.escape(of)}\n\n```jsonl\n(.*?)```", page, re.DOTALL | re.MULTILINE)
        assert found is not None, f"the specification shows no trace {of!r}"
        return found[1].splitlines()

    plain = lines("plain turn")
    short = {"@prologue": plain[:8], "@request": plain[8:14]}
    return [json.loads(full) for line in lines(title) for full in short.get(line, [line])]


def comparable(lines: Iterable[Line]) -> Iterator[Line]:
    """What of a shown trace an adapter reports too: neither calls before they return, nor what a reader noted."""
    for line in lines:
        if "ret" in line:
            yield {"ret": line["ret"]}
        elif "call" not in line and "note" not in line and line.get("task") != "finishing":
            yield line


def abbreviated(rows: Iterable[Row]) -> Iterator[Line]:
    """Rows in the notation of the page, runs of chunks in one line."""
    run: Line | None = None
    for line in filter(None, map(line_of, rows)):
        if line.get("log") == "assistant/chunk":
            if run is None:
                run = {**line, "seq": [], "data": []}
            run["seq"].append(line["seq"])
            run["data"].append(line["data"]["chunk"]["type"])
            continue
        if run is not None:
            yield chunks(run)
        run = None
        yield line
    if run is not None:
        yield chunks(run)


def chunks(run: Line) -> Line:
    """The line of a run of chunks."""
    first, last = run["seq"][0], run["seq"][-1]
    return {**run, "seq": first if first == last else [first, last]}


def line_of(row: Mapping[str, Any]) -> Line | None:
    """One row in the notation of the page; nothing for what the page leaves out."""
    match row["on"]:
        case "log":
            event = row["event"]
            cites = {"cites": event["sourceEventSeqs"]} if "sourceEventSeqs" in event else {}
            return {"seq": event["seq"], "log": event["type"], "data": data_of(event), **cites}
        case "live" if row["name"].startswith("agent/"):
            return {"live": row["name"], **texts(row["payload"])}
        case "script" if row["kind"] in HOOKS:
            names = ("turn", "step", "messages", "failure")
            return {
                "hook": row["kind"],
                **{name: texts(row["payload"][name]) for name in names if name in row["payload"]},
            }
        case "return" if row["op"] in RETURNS:
            return {"ret": RETURNS[row["op"]]}
        case "gate" | "script" if row["kind"] == "tool/execute":
            return {"body": row["payload"]["callId"]}
        case "gate" if row["kind"] == "maintenance":
            return {"task": "started"}
        case "task" if row["task"] == "job":
            return {"task": "promise", "value": row["value"]}
        case _:
            return None


def data_of(event: Line) -> object:
    """The data of an event as the page abbreviates it."""
    data = event["data"]
    match event["type"]:
        case "request/header":
            return {"reason": data["reason"]}
        case "assistant/message":
            about = {name: data[name] for name in ("turn", "step", "interrupted") if name in data}
            return about | {"content": [content(part) for part in data["message"]["content"]]}
        case "tool/call":
            return {name: data[name] for name in ("callId", "name", "arguments")}
        case "tool/result":
            (result,) = data["message"]["content"]
            return {"callId": data["message"]["source"]["callId"], "isError": result["isError"]}
        case "turn/end" if data["reason"]["kind"] == "aborted":  # the page shows it as ruled
            return {"turn": data["turn"], "reason": {"kind": "aborted"}}
        case _:
            return texts(data)


def content(part: Line) -> str:
    """A block of a message: its text, or the call it is."""
    return part["text"] if part["type"] == "text" else f"call:{part['id']}"


def texts(value: Any) -> Any:
    """A value with each message in it replaced by its text."""
    if isinstance(value, list):
        return [texts(item) for item in value]
    if not isinstance(value, dict):
        return value
    if "role" in value:
        return content(value["content"][0])
    return {name: texts(item) for name, item in value.items()}
