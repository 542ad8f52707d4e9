"""The adapter of the published packages knows every line of the table of the tools."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import pytest
from msgspec import UNSET
from tests.conformance.adapters.dsh_node.talk import SPEAKS, ask, with_agent

from dshconform.links.subprocess import SubprocessLink
from dshconform.protocol.check import check_command
from dshconform.protocol.commands.tools import TOOLS
from dshconform.protocol.json_value import Json
from dshconform.protocol.kinds import FUNCTIONS

pytestmark = pytest.mark.node

VIEW: Final[Json] = {"card": "generic", "title": "t"}
TOOL: Final[Mapping[str, Any]] = {
    "name": "t",
    "description": "a tool",
    "parameters": {"type": "object"},
    "execute": {"$fn": "body"},
    "presentCall": {"$fn": "view", "do": [{"do": "return", "value": VIEW}]},
    "presentResult": {"$fn": "view.result"},
    "output": {"schema": {}, "render": {"$fn": "render"}},
}
ASKS: Final[Mapping[str, Any]] = {"$fn": "policy", "do": [{"do": "return", "value": {"kind": "ask", "reason": "why"}}]}
GRANTS: Final[Mapping[str, Any]] = {"$fn": "ask", "do": [{"do": "return", "value": "allowed-once"}]}
CALL: Final[Mapping[str, Any]] = {"callId": "c", "name": "t", "arguments": {}}
IN_A: Final[Mapping[str, Any]] = {"agent": "a"}

SESSION: Final[Sequence[tuple[str, Mapping[str, Any]]]] = [
    ("tool.register", {"as": "t", "definition": TOOL}),
    ("tool.present", {"name": "t", "arguments": {}, "scope": IN_A}),
    ("tool.present", {"name": "t", "arguments": {}, "result": {"content": [], "isError": False}}),
    ("tool.present", {"name": "nobody", "arguments": {}}),
    ("tool.guard", {"as": "g", "fn": {"$fn": "guard"}}),
    ("listen", {"as": "l", "event": "tools/pre-execute", "fn": ASKS}),
    ("approval.provide", {"as": "p", "fn": GRANTS}),
    ("tool.execute", {"task": "x", "call": CALL, "scope": IN_A}),
    ("tool.restrict", {"as": "r", "deny": ["t"], "in": IN_A}),
    ("schema.compile", {"what": "parameters", "spec": {"a": {"type": "string", "required": True}}}),
    ("schema.assert", {"what": "object", "schema": {"type": "object"}}),
    ("schema.validate", {"schema": {"type": "null"}, "root": "it", "value": 1}),
    ("schema.validate", {"spec": {"a": {"type": "string", "required": True}}, "value": {}}),
]
"""One session in which every operation but that of the settings occurs."""


def test_every_operation(dsh_node_process: SubprocessLink) -> None:
    """Each is executed and answers what the table says; the functions get the fields of their kinds."""
    dsh_node_process.call("world.open")
    with_agent(dsh_node_process, SPEAKS)
    answered: dict[str, list[object]] = {}
    fields: dict[str, set[str]] = {}
    for op, args in SESSION:
        check_command(op, args)
        reply = ask(dsh_node_process, op, args)
        assert reply.error is UNSET, (op, reply.error)
        answered.setdefault(op, []).append(reply.result)
        for row in reply.observed:
            if row["on"] == "script":
                fields[row["kind"]] = set(row["payload"])
    assert {*answered, "settings.write"} >= set(TOOLS)
    assert answered["tool.present"] == [VIEW, None, None]
    assert answered["schema.compile"] == [
        {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
    ]
    assert answered["schema.validate"] == [['"it" must be null'], ['missing required property "a"']]
    for kind in ("tool/guard", "tool/approval", "tool/present-call", "tool/present-result"):
        assert fields[kind] == set(FUNCTIONS[kind].fields or ()) - {"parent"}, kind


def test_settings_are_written_where_there_are_any(dsh_node_process: SubprocessLink) -> None:
    """A section is stored, refused where it is invalid, and cleared by null."""
    dsh_node_process.call("world.open", {"config": {"settings": True}})

    def write(value: Json) -> Any:
        return ask(dsh_node_process, "settings.write", {"task": "w", "section": "agent-loop", "value": value}).observed[
            -1
        ]

    assert write({"maxParallelToolCalls": 2}) == {"on": "task", "task": "w", "value": None}
    assert "error" in write({"maxParallelToolCalls": 0})
    assert write(None) == {"on": "task", "task": "w", "value": None}
