"""Replies and commands, good and bad, that every judge of messages has to agree on."""

from typing import Any, Final

Message = dict[str, Any]

ERROR: Final = {"type": "DuplicateMessage", "message": 'message "m1" is already pending', "code": None}
DEEP: Final = {"text": "é\u2028", "list": [1, -2.5, 1e300, None, True, {"$up": 2}], "none": {"$value": "undefined"}}

MADE: Final = {"$error": {"message": "made"}}


def reply(**members: Any) -> Message:
    outcome = {} if members.keys() & {"result", "error", "fault"} else {"result": None}
    return {"id": 1, "observed": [], "open": []} | outcome | members


def row(on: str, **members: Any) -> Message:
    return reply(observed=[{"on": on} | members])


GOOD_REPLIES: Final[dict[str, Message]] = {
    "nothing": reply(),
    "result": reply(result=DEEP),
    "error": reply(error=ERROR),
    "error with everything": reply(
        error=ERROR | {"cause": ERROR, "failure": {}, "violations": ["x"], "members": [{"value": 1}], "is": "e1"}
    ),
    "thrown value": reply(error={"value": 5}),
    "fault": reply(fault="unsettled"),
    "late": reply(late=[{"on": "task", "task": "t", "value": None}]),
    "literal notation": reply(result={"$raw": {"$value": "anything", "$fn": 1}}),
    "return at the top": row("return", op="agent.send", result=None),
    "return below": row("return", op="agent.send", at="do.0.12", part="f", n=2, error=ERROR),
    "log": row("log", session="a", event={"type": "turn/start", "seq": 1, "data": {}, "anything": [1]}),
    "live of an agent": row("live", name="agent/status", agent="a", payload={"status": "running"}),
    "live of a session": row("live", name="session/created", session="a", payload={"session": "a"}),
    "live of nothing": row("live", name="tools/change", payload={}),
    "gate": row("gate", gate="g1", part="f", kind="agent/pre-step", n=1, agent="a", payload={"turn": "no number"}),
    "script": row("script", part="f", kind="tools/change", n=3, payload={}),
    "next": row("next", part="f", n=1, gate="g1", call=0, value={"$value": "stream"}),
    "failed next": row("next", part="f", n=1, call=1, error={"value": None}),
    "abort": row("abort", part="f", n=1, reason={"kind": "user"}),
    "pull": row("pull", gate="g1", n=1),
    "closed": row("closed", gate="g1", why="left"),
    "task": row("task", task="t", value="a"),
    "failed task": row("task", task="t", error=ERROR),
    "status": row("status", owner="root", id=1, **{"from": "active", "to": "disposed"}),
    "report": row("report", level="warning", text=""),
    "unhandled": row("unhandled", error=ERROR),
    "gates": reply(open=["g1", "g2"]),
}

BAD_REPLIES: Final[dict[str, Message]] = {
    "no id": {key: value for key, value in reply().items() if key != "id"},
    "id is text": reply(id="1"),
    "no observed": {"id": 1, "result": None, "open": []},
    "no open": {"id": 1, "result": None, "observed": []},
    "unknown member": reply(op="x"),
    "open by number": reply(open=[1]),
    "nameless gate": reply(open=[""]),
    "formless error": reply(error={"message": "m", "code": None}),
    "error without code": reply(error={"type": "T", "message": "m"}),
    "error is text": reply(error="m"),
    "error and value": reply(error=ERROR | {"value": 1}),
    "error with a stranger": reply(error=ERROR | {"stack": "…"}),
    "unknown row": row("logged", session="a", event={}),
    "row without on": reply(observed=[{"session": "a", "event": {}}]),
    "row is text": reply(observed=["log"]),
    "return of two": row("return", op="x", result=1, error=ERROR),
    "return of none": row("return", op="x"),
    "return at a strange place": row("return", op="x", at="gate.0", result=1),
    "return of the zeroth call": row("return", op="x", at="0", part="f", n=0, result=1),
    "log without event": row("log", session="a"),
    "log with a free member": row("log", session="a", event={}, turn=1),
    "live without payload": row("live", name="agent/created", agent="a"),
    "live with a free member": row("live", name="agent/status", agent="a", status="idle", payload={}),
    "gate without id": row("gate", part="f", kind="setup", n=1, payload={}),
    "gate without payload": row("gate", gate="g", part="f", kind="setup", n=1),
    "script with a gate": row("script", gate="g", part="f", kind="setup", n=1, payload={}),
    "next without call": row("next", part="f", n=1, value=1),
    "next of none": row("next", part="f", n=1, call=0),
    "abort without reason": row("abort", part="f", n=1),
    "closed for no reason": row("closed", gate="g", why="answered"),
    "task of none": row("task", task="t"),
    "task of two": row("task", task="t", value=1, error=ERROR),
    "task with a formless error": row("task", task="t", error={}),
    "report of a strange level": row("report", level="info", text="x"),
    "unhandled nothing": row("unhandled", error={}),
    "malformed late row": reply(late=[{"on": "task", "task": "t"}]),
}

GOOD_COMMANDS: Final[dict[str, tuple[str, Message]]] = {
    "hello": ("hello", {"protocol": 1}),
    "world": ("world.open", {"config": {"without": ["tools"], "maxParallelToolCalls": 2}}),
    "burst": (
        "burst",
        {"do": [{"op": "inbox.clear", "args": {"agent": "a"}}, {"op": "gate.resolve", "args": {"gate": "g1"}}]},
    ),
    "run": (
        "run",
        {
            "task": "t",
            "do": [
                {"do": "pause", "ticks": 2},
                {"op": "agent.whenIdle", "args": {"agent": "a"}, "await": True, "raise": True},
                {"do": "gate"},
            ],
        },
    ),
    "undo": ("undo", {"of": "l"}),
    "listener with everything": (
        "listen",
        {
            "as": "l",
            "event": "agent/pre-step",
            "prepend": True,
            "in": {"agent": "a"},
            "fn": {
                "$fn": "f",
                "calls": [
                    None,
                    "gate",
                    [
                        {"op": "agent.steer", "args": {"agent": "a", "message": {"$arg": "messages.0"}}},
                        {"do": "set", "path": "messages", "value": []},
                        {"do": "defer", "ticks": 1, "commands": [{"op": "inbox.clear", "args": {"agent": "a"}}]},
                        {"do": "next"},
                        {"do": "return", "value": {"$next": 0}},
                    ],
                ],
                "when": {"turn": 1, "agent": "a"},
                "abort": "auto",
                "onAbort": [{"op": "agent.inspect", "args": {"agent": "a"}}],
                "watch": True,
            },
        },
    ),
    "listener of an event of one's own": (
        "listen",
        {"as": "l", "event": "my/event", "fn": {"$fn": "f", "do": [{"do": "next"}], "when": {"anything": 1}}},
    ),
    "the same function again": ("listen", {"as": "m", "event": "session/event", "fn": {"$fn": "f"}}),
    "agent of the call": (
        "listen",
        {
            "as": "l",
            "event": "tools/result",
            "fn": {
                "$fn": "f",
                "do": [
                    {"op": "inbox.clear", "args": {"agent": {"$arg": "agent"}}},
                    {"op": "tool.schemas", "args": {"scope": {"agent": {"$arg": "agent"}}}},
                ],
            },
        },
    ),
    "session of the call": (
        "listen",
        {
            "as": "l",
            "event": "session/created",
            "fn": {
                "$fn": "f",
                "do": [{"op": "session.read", "args": {"session": {"$arg": "session"}, "what": ["seq"]}}],
            },
        },
    ),
    "signal of the call": ("signal.read", {"signal": "s"}),
    "create": (
        "agent.create",
        {
            "task": "t",
            "agent": "a",
            "options": {"maxTokens": {"$value": "NaN"}},
            "signal": {"$signal": "s"},
            "setup": {"$fn": "f", "do": [{"do": "return", "value": {"commit": {"$fn": "c"}}}]},
        },
    ),
    "raw values": ("agent.send", {"agent": "a", "message": None, "target": 7, "wakeup": "yes"}),
    "literal": ("agent.cancel", {"agent": "a", "cause": {"$raw": {"$value": 1, "$fn": {}}}}),
    "splice": ("inbox.splice", {"agent": "a", "target": "next-turn", "start": {"$value": "-0"}, "inserted": []}),
    "read": ("session.read", {"session": "a", "what": ["events", "requestContext"]}),
    "fold": ("fold", {"what": "work", "events": []}),
    "model": (
        "model.register",
        {
            "as": "m",
            "routes": ["p"],
            "stream": {"$fn": "f", "do": [{"do": "chunk", "chunk": {}}, {"do": "chunks", "list": []}, {"do": "gate"}]},
            "start": {"$fn": "s", "do": [{"do": "throw", "error": {"$error": {"kind": "model", "message": "m"}}}]},
            "resolve": {"m1": {"provider": "p"}},
        },
    ),
    "tool": (
        "tool.register",
        {
            "as": "t",
            "definition": {
                "name": "t",
                "output": {"schema": {}, "render": {"$fn": "r", "do": [{"do": "return", "value": []}]}},
                "execute": {"$fn": "x", "do": [{"do": "context", "message": {}}, {"do": "conclude"}, {"do": "gate"}]},
            },
        },
    ),
    "tool call": ("tool.execute", {"task": "t", "call": {"callId": "c", "name": "t", "arguments": {}}}),
    "answer with what next gave": ("gate.resolve", {"gate": "g1", "value": {"messages": {"$next": 0}}}),
    "answer with a stream": ("gate.resolve", {"gate": "g1", "value": {"$stream": [{"do": "chunk", "chunk": {}}]}}),
    "work in a gate": ("gate.do", {"gate": "g1", "do": [{"do": "set", "path": "x", "value": {"$arg": "y"}}]}),
    "aggregate": (
        "stream.fail",
        {
            "gate": "g1",
            "error": {
                "$error": {"kind": "aggregate", "message": "m", "as": "e", "members": [{"$error": {"message": ""}}]}
            },
        },
    ),
}

_FN: Final = {"$fn": "f"}


def listener(event: str, *script: Any, **members: Any) -> tuple[str, Message]:
    return "listen", {"as": "l", "event": event, "fn": {"$fn": "f", "do": list(script)} | members}


def burst(*items: Any) -> tuple[str, Message]:
    return "burst", {"do": list(items)}


BAD_COMMANDS: Final[dict[str, tuple[str, Message]]] = {
    "unknown operation": ("agent.sent", {"agent": "a"}),
    "missing argument": ("agent.followup", {"agent": "a"}),
    "unknown argument": ("agent.cancel", {"agent": "a", "cause": 1, "keepinbox": True}),
    "nameless agent": ("inbox.clear", {"agent": ""}),
    "unknown part": ("world.open", {"config": {"without": ["kitchen"]}}),
    "unknown view": ("session.read", {"session": "a", "what": ["everything"]}),
    "unknown fold": ("fold", {"what": "work-and-play", "events": []}),
    "no function": ("listen", {"as": "l", "event": "tools/change", "fn": "f"}),
    "unknown member of a function": ("effect", {"as": "e", "undo": _FN | {"mode": "gate"}}),
    "unknown abort mode": ("effect", {"as": "e", "undo": _FN | {"abort": "soon"}}),
    "no calls": ("effect", {"as": "e", "undo": _FN | {"calls": []}}),
    "unknown action": listener("agent/status", {"do": "wait"}),
    "member of no action": listener("agent/status", {"do": "pause", "ticks": 1, "why": "x"}),
    "no ticks": listener("agent/status", {"do": "pause", "ticks": 0}),
    "neither command nor action": listener("agent/status", {"value": 1}),
    "unknown operation in a script": listener("agent/status", {"op": "agent.sent", "args": {}}),
    "missing arguments in a script": listener("agent/status", {"op": "agent.inspect"}),
    "a world in a script": listener("agent/status", {"op": "world.close"}),
    "a world in a burst": burst({"op": "world.open", "args": {}}),
    "an action in a burst": burst({"do": "pause", "ticks": 1}),
    "waiting in a burst": burst({"op": "agent.whenIdle", "args": {"agent": "a"}, "await": True}),
    "unknown notation": ("agent.cancel", {"agent": "a", "cause": {"$value": "Inf"}}),
    "notation with company": ("agent.cancel", {"agent": "a", "cause": {"$value": "NaN", "kind": "user"}}),
    "up to oneself": ("agent.cancel", {"agent": "a", "cause": {"$up": 0}}),
    "unknown kind of error": ("stream.fail", {"gate": "g", "error": {"$error": {"kind": "bad", "message": "m"}}}),
    "malformed error inside an error": (
        "stream.fail",
        {"gate": "g", "error": {"$error": {"message": "m", "cause": {"$error": {}}}}},
    ),
    "malformed function in a value": ("tool.register", {"as": "t", "definition": {"execute": {"$fn": 1}}}),
    "malformed action in a stream": ("gate.resolve", {"gate": "g", "value": {"$stream": [{"do": "chunk"}]}}),
    "malformed function in an action": listener("setup", {"do": "return", "value": {"commit": {"$fn": ""}}}),
}
"""What types can tell; `check_command` tells more (test_check.py)."""
