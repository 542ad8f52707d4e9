"""The table of the tools over the wire: restrictions, guards, approvals, views, schemas."""

from typing import Any

from tests.conformance.adapters.reference.suite import FINISH, Suite
from tests.conformance.adapters.reference.test_tools import call, definition, returning

IN_A = {"agent": "a"}


def opened(suite: Suite, **members: Any) -> None:
    """A world with an agent and a tool."""
    suite.open([{"do": "chunks", "list": [FINISH]}])
    suite.call("tool.register", {"as": "t", "definition": definition("t", **members)})


def execute(suite: Suite, **args: Any) -> Any:
    """A call that comes to its end: its rows but those of notifications, and its result."""
    reply = suite.call("tool.execute", {"task": "x", "call": call("t"), **args})
    (task,) = [row for row in reply.observed if row["on"] == "task"]
    return reply.observed, task["value"]


def test_a_guard_is_a_function_of_the_suite(suite: Suite) -> None:
    """It gets the execution, and its answer is the reason."""
    opened(suite)
    suite.call("tool.guard", {"as": "g", "fn": {"$fn": "guard", "do": returning("no")}})
    rows, result = execute(suite, scope=IN_A)
    (row,) = [row for row in rows if row.get("kind") == "tool/guard"]
    assert (row["agent"], set(row["payload"])) == (
        "a",
        {"callId", "name", "arguments", "rootCallId", "token", "signal"},
    )
    assert result["error"] == {"message": "no"}
    suite.call("undo", {"of": "g"})
    assert execute(suite)[1]["isError"] is False


def test_an_approval_can_wait_for_the_suite(suite: Suite) -> None:
    """What it passes by is that nobody is there."""
    opened(suite)
    ask = {"$fn": "policy", "do": returning({"kind": "ask"})}
    suite.call("listen", {"as": "l", "event": "tools/pre-execute", "fn": ask})
    suite.call("approval.provide", {"as": "p", "fn": {"$fn": "ask", "calls": ["gate", None]}})
    reply = suite.call("tool.execute", {"task": "x", "call": call("t"), "scope": IN_A})
    (gate,) = [row for row in reply.observed if row["on"] == "gate"]
    assert set(gate["payload"]) == {"toolName", "callId", "signal"}
    reply = suite.call("gate.resolve", {"gate": gate["gate"], "value": "allowed-once"})
    assert [row["value"]["isError"] for row in reply.observed if row["on"] == "task"] == [False]
    assert "no approval channel" in execute(suite, scope=IN_A)[1]["error"]["message"]


def test_views_are_what_the_presenters_answer(suite: Suite) -> None:
    """Nothing where there is no tool, or no presenter; what a restriction hides is not there."""
    opened(suite, presentCall={"$fn": "view", "do": returning({"card": "generic", "title": "T"})})
    assert suite.call("tool.present", {"name": "t", "arguments": {}}).result == {"card": "generic", "title": "T"}
    logged = {"content": [], "isError": False}
    assert suite.call("tool.present", {"name": "t", "arguments": {}, "result": logged}).result is None
    assert suite.call("tool.present", {"name": "u", "arguments": {}}).result is None
    suite.call("tool.restrict", {"as": "r", "deny": ["t"], "in": IN_A})
    assert suite.call("tool.present", {"name": "t", "arguments": {}, "scope": IN_A}).result is None


def test_schemas_need_no_world_of_their_own(suite: Suite) -> None:
    """They are compiled, asserted and used; an unknown word is the suite's fault."""
    opened(suite)
    spec = {"a": {"type": "string", "required": True}}
    compiled = suite.call("schema.compile", {"what": "parameters", "spec": spec}).result
    assert compiled == {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
    assert suite.call("schema.compile", {"what": "value", "spec": {"type": "json"}}).result == {}
    assert suite.call("schema.assert", {"what": "object", "schema": {"type": "object"}}).result is None
    reply = suite.call("schema.assert", {"what": "supported", "schema": {"type": 5}})
    assert reply.error["type"] == "JsonSchemaError"
    assert suite.call("schema.validate", {"spec": spec, "value": {}}).result == ['missing required property "a"']
    assert suite.call("schema.validate", {"schema": {"type": "null"}, "value": 1}).result == ['"value" must be null']
    named = {"schema": {"type": "null"}, "root": "it", "value": 1}
    assert suite.call("schema.validate", named).result == ['"it" must be null']
    assert "must be one of" in suite.fault("schema.assert", {"what": "nothing", "schema": {}})
