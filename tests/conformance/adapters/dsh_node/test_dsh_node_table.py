"""The adapter of the published packages knows every line of the tables of the protocol."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import pytest
from msgspec import UNSET
from tests.conformance.adapters.dsh_node.llm_session import LLM_RESULTS, LLM_SESSION
from tests.conformance.adapters.dsh_node.prompt_table import PROMPT_COMMANDS, PROMPT_RESULTS
from tests.conformance.adapters.dsh_node.session_table import SESSION_COMMANDS, SESSION_RESULTS
from tests.conformance.adapters.dsh_node.talk import TEXT, Command, message

from dshconform.links.subprocess import SubprocessLink
from dshconform.protocol.check import check_command
from dshconform.protocol.commands.core import CORE
from dshconform.protocol.commands.llm import LLM
from dshconform.protocol.commands.prompt import PROMPT
from dshconform.protocol.commands.session import SESSION as SESSION_TABLE
from dshconform.protocol.json_value import Json
from dshconform.protocol.kinds import EVENTS, FUNCTIONS, Kind
from dshconform.protocol.messages import Reply

pytestmark = pytest.mark.node

NEVER: Final = {
    "agent-loop/config-start-failed": "the session of the lifecycle has it",
    "factory": "the session of the lifecycle has it",
    "boundary": "the session of the lifecycle has it",
    "store/load": "the session of the lifecycle has it",
    "store/list": "the session of the lifecycle has it",
    "store/release": "the session of the lifecycle has it",
    "tool/present-call": "no operation presents",
    "tool/present-result": "no operation presents",
    "body": "no operation mounts a plugin",
    "effect": "the session of owners and contexts has it",
    "filter": "no operation makes a receiver",
    "observer": "no operation observes dispatches",
    "default": "no operation dispatches",
    "tool/guard": "the session of the tools has it",
    "tool/approval": "the session of the tools has it",
}
"""Kinds that no command of the core leads to, and why."""

ROUTE: Final[Command] = {"provider": "mock", "model": "m1"}
CALLS: Final[Command] = {
    "$fn": "model",
    "calls": [
        [{"do": "throw", "error": {"$error": {"kind": "model", "message": "busy", "code": "BUSY"}}}],
        [
            {"do": "chunk", "chunk": {"type": "block-start", "index": 0, "blockType": "tool-call"}},
            {
                "do": "chunk",
                "chunk": {
                    "type": "block-end",
                    "index": 0,
                    "block": {"type": "tool-call", "id": "c1", "name": "tool", "arguments": "{}"},
                },
            },
            {"do": "chunk", "chunk": {"type": "finish", "reason": {"kind": "tool-calls"}}},
        ],
        [{"do": "chunks", "list": TEXT}],
        "gate",
    ],
}
TOOL: Final[Command] = {
    "name": "tool",
    "description": "a tool",
    "parameters": {"type": "object"},
    "execute": {"$fn": "tool", "do": [{"do": "context", "message": message("C")}, {"do": "conclude"}]},
    "isConcurrencySafe": {"$fn": "safe"},
    "finalizeContent": {"$fn": "finalize"},
    "presentCall": {"$fn": "presentCall"},
    "presentResult": {"$fn": "presentResult"},
    "output": {"schema": {}, "render": {"$fn": "render"}, "presentationMeta": {"$fn": "meta"}},
}
RETRY: Final[Command] = {"$fn": "agent/request-error", "calls": [[{"do": "return", "value": {"kind": "retry"}}], None]}
LISTENERS: Final = [
    ("listen", {"as": event, "event": event, "fn": RETRY if event == "agent/request-error" else {"$fn": event}})
    for event in EVENTS
]
CALL: Final[Command] = {"callId": "c", "name": "tool", "arguments": {}}
ERROR: Final[Command] = {"$error": {"message": "no"}}
COMMIT: Final[Command] = {"commit": {"$fn": "commit"}}
WAITS: Final[Command] = {"$fn": "waits", "do": "gate"}

SESSION: Final[Sequence[tuple[str, Command]]] = [
    ("world.open", {"config": {"maxParallelToolCalls": 2, "prompt": {"includeHarnessIdentity": False}}}),
    *LISTENERS,
    *PROMPT_COMMANDS,
    *SESSION_COMMANDS,
    ("signal.new", {"signal": "s"}),
    ("signal.abort", {"signal": "s", "reason": "why"}),
    ("signal.read", {"signal": "s"}),
    ("value.keep", {"as": "k", "value": {"a": 1}}),
    ("value.set", {"of": "k", "path": "b", "value": 2}),
    ("value.remove", {"of": "k", "path": "a"}),
    ("value.get", {"of": "k"}),
    (
        "model.register",
        {
            "as": "m",
            "routes": ["mock"],
            "stream": CALLS,
            "start": {"$fn": "start"},
            "resolve": {"$fn": "resolve"},
            "models": {"$fn": "models"},
            "close": {"$fn": "close"},
        },
    ),
    ("tool.register", {"as": "mine", "definition": TOOL}),
    ("tool.get", {"name": "tool"}),
    ("tool.schemas", {}),
    ("tool.mode", {"call": CALL}),
    ("tool.execute", {"task": "t", "call": CALL}),
    (
        "agent.create",
        {
            "task": "t",
            "agent": "a",
            "options": ROUTE,
            "setup": {"$fn": "setup", "do": [{"do": "return", "value": COMMIT}]},
        },
    ),
    ("registry.get", {"id": "a"}),
    ("registry.list", {}),
    ("registry.roots", {}),
    ("inbox.append", {"agent": "a", "target": "next-turn", "message": message("B")}),
    ("inbox.prepend", {"agent": "a", "target": "next-turn", "message": message("A")}),
    ("inbox.splice", {"agent": "a", "target": "next-turn", "start": 0, "deleteCount": 1}),
    ("inbox.replace", {"agent": "a", "id": "B", "message": message("C")}),
    ("inbox.remove", {"agent": "a", "id": "C"}),
    ("inbox.clear", {"agent": "a"}),
    ("agent.inject", {"agent": "a", "message": message("I")}),
    ("agent.send", {"agent": "a", "message": message("J"), "target": "next-turn", "wakeup": False}),
    ("agent.followup", {"agent": "a", "message": message("F")}),
    ("agent.steer", {"agent": "a", "message": message("S")}),
    ("stream.chunk", {"gate": "g1", "chunk": TEXT[0]}),
    ("agent.cancel", {"agent": "a", "cause": {"kind": "user"}}),
    ("stream.chunk", {"gate": "g1", "chunk": TEXT[1]}),
    ("agent.whenIdle", {"task": "t", "agent": "a"}),
    ("agent.inspect", {"agent": "a"}),
    ("agent.maintain", {"task": "t", "agent": "a", "fn": WAITS}),
    ("gate.do", {"gate": "g2", "do": [{"op": "signal.read", "args": {"signal": {"$arg": "signal"}}}]}),
    ("gate.reject", {"gate": "g2", "error": ERROR}),
    ("session.append", {"session": "a", "type": "custom", "data": {}}),
    ("session.read", {"session": "a", "what": ["seq", "header"]}),
    ("fold", {"what": "work", "events": []}),
    ("listen", {"as": "w", "event": "agent/pre-step", "fn": WAITS}),
    ("agent.followup", {"agent": "a", "message": message("G")}),
    ("gate.next", {"gate": "g3"}),
    ("burst", {"do": [{"op": "gate.resolve", "args": {"gate": "g3", "value": {"$next": 0}}}]}),
    ("stream.end", {"gate": "g4"}),
    ("undo", {"of": "w"}),
    ("agent.steer", {"agent": "a", "message": message("H")}),
    ("stream.fail", {"gate": "g5", "error": ERROR}),
    ("effect", {"as": "e", "undo": {"$fn": "undo"}}),
    ("undo", {"of": "e"}),
    ("run", {"task": "r", "do": [{"do": "gate"}]}),
    ("gate.resolve", {"gate": "g6", "value": 1}),
    ("agent.dispose", {"task": "t", "agent": "a"}),
    ("world.close", {}),
]
"""One session in which every operation occurs, and every kind of call that the core can lead to."""

RESULTS: Final[Mapping[str, Json]] = {
    "signal.read": {"aborted": True, "reason": "why"},
    "value.get": {"b": 2},
    "tool.get": "mine",
    "tool.schemas": [{"name": "tool", "description": "a tool", "parameters": {"type": "object"}}],
    "tool.mode": {"kind": "exclusive"},
    "registry.get": "a",
    "registry.list": ["a"],
    "registry.roots": ["a"],
    "inbox.splice": [message("A")],
    "inbox.replace": True,
    "inbox.remove": True,
    "fold": {"droppedUnrun": False},
    **PROMPT_RESULTS,
    **SESSION_RESULTS,
}
"""What the operations answer whose result says something."""


def replies(link: SubprocessLink) -> Iterator[tuple[str, Reply]]:
    """Play the session, every command of which the protocol knows."""
    for op, args in (*SESSION, *LLM_SESSION):
        check_command(op, args)
        yield op, link.call(op, args)


def test_every_operation(dsh_node_process: SubprocessLink) -> None:
    """Every operation of the profiles is executed, and answers what the table says."""
    answered: dict[str, object] = {}
    for op, reply in replies(dsh_node_process):
        assert reply.error is UNSET, (op, reply.error)
        answered.setdefault(op, reply.result)
    assert {"hello", *answered} == {*CORE, *SESSION_TABLE, *PROMPT, *LLM}
    results = {**RESULTS, **LLM_RESULTS}
    assert {op: answered[op] for op in results} == results


def test_every_kind(dsh_node_process: SubprocessLink) -> None:
    """Every kind of call and notification is seen, with the fields of its kind and no others."""
    kinds: dict[str, Kind] = {**EVENTS, **FUNCTIONS}
    seen: dict[str, set[str]] = {}
    for _, reply in replies(dsh_node_process):
        for kind, payload in map(call_of, reply.observed):
            seen.setdefault(kind, set()).update(payload)
    seen.pop("", None)
    for kind, fields in seen.items():
        allowed = set(kinds[kind].fields or ())
        assert fields == allowed - {"parent"}, kind  # no call here has a parent
    assert set(kinds) - set(seen) == set(NEVER)


def call_of(row: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """The kind and the fields of a row about a call or a notification."""
    match row["on"]:
        case "gate" | "script":
            return row["kind"], row["payload"]
        case "live":
            return row["name"], row["payload"]
        case _:
            return "", {}
