"""Fields are those of the execution, whenever they are read; what is not there is not there."""

from typing import Any

import pytest
from tests.conformance.adapters.reference.suite import Suite
from tests.conformance.adapters.reference.test_tools import call, definition, part, register


def read_signal() -> dict[str, Any]:
    return {"op": "signal.read", "args": {"signal": {"$arg": "signal"}}}


def replace_signal() -> dict[str, Any]:
    return {"do": "set", "path": "signal", "value": {"$signal": "s"}}


def test_what_was_set_is_what_is_read(suite: Suite) -> None:
    """A wrapper that has replaced the signal reads the new one; an abort of the old one is told as before."""
    suite.open()
    suite.call("signal.new", {"signal": "s"})
    suite.call("signal.abort", {"signal": "s", "reason": "mine"})
    register(suite)
    suite.listen("tools/execute", [read_signal(), replace_signal(), read_signal()])
    reply = suite.call("tool.execute", {"task": "x", "call": call()})
    seen = [row["result"] for row in reply.observed if row["on"] == "return" and row["op"] == "signal.read"]
    assert seen == [{"aborted": False}, {"aborted": True, "reason": "mine"}]


def test_the_signal_that_was_handed_over_is_the_one_that_is_followed(suite: Suite) -> None:
    """Replacing it does not change which abort is told."""
    suite.open()
    for name in ("s", "callers"):
        suite.call("signal.new", {"signal": name})
    register(suite, do="gate")
    suite.listen("tools/execute", [replace_signal(), {"do": "next"}], watch=True)
    suite.call("tool.execute", {"task": "x", "call": call(signal={"$signal": "callers"})})
    rows = suite.rows("abort", "signal.abort", {"signal": "callers", "reason": "stop"})
    assert {row["part"]: row["reason"] for row in rows}["f"] == "stop"


@pytest.mark.parametrize("event", ["tools/pre-execute", "tools/post-execute"])
@pytest.mark.parametrize("path", ["signal", "name"])
def test_assigning_is_refused_by_the_execution(suite: Suite, event: str, path: str) -> None:
    """Behind the body as before it: the holder of the fields is the execution (PIPE-ID-03)."""
    suite.open()
    register(suite)
    suite.listen(event, [{"do": "set", "path": path, "value": None}])
    (refused,) = [
        row
        for row in suite.call("tool.execute", {"task": "x", "call": call()}).observed
        if row["on"] == "return" and row["op"] == "set"
    ]
    assert f"cannot set {path} of a tool execution" in refused["error"]["message"]


def test_the_result_stands_beside_the_fields(suite: Suite) -> None:
    """Of an outcome; a parent and lossy arguments that are not there are absent."""
    suite.open()
    register(suite)
    suite.listen("tools/post-execute")
    reply = suite.call("tool.execute", {"task": "x", "call": call()})
    payload = part(reply, "tools/post-execute")["payload"]
    assert list(payload) == ["callId", "name", "arguments", "rootCallId", "token", "signal", "result"]


# --- definitions -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("members", "text"),
    [
        ({"timeoutMs": None}, 'tool "t" timeoutMs must be a positive finite number'),
        (
            {"output": {**definition()["output"], "presentationMeta": None}},
            'tool "t" must declare output { schema, render, presentationMeta? }',
        ),
    ],
)
def test_null_is_not_absent(suite: Suite, members: dict[str, Any], text: str) -> None:
    """What is written is passed on (TOOL-DEF-02, TOOL-DEF-04)."""
    suite.open()
    assert register(suite, **members).error["message"] == text
    assert suite.call("tool.schemas").result == []


def test_parameters_that_are_not_there_are_no_null(suite: Suite) -> None:
    """The listing fails over them, as over any that are lossy (TOOL-LIST-03)."""
    suite.open()
    bare = {name: member for name, member in definition().items() if name != "parameters"}
    suite.call("tool.register", {"as": "t", "definition": bare})
    refused = suite.call("tool.schemas").error
    assert refused["message"] == 'tool "t" parameters must be lossless JSON before schema projection'


# --- assemblies ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "answer", [{"sections": [{"name": "x"}]}, {"contexts": [5]}, {"tools": 5}, {"variables": [1]}, {"sections": None}]
)
def test_a_malformed_assembly_is_passed_on(suite: Suite, answer: Any) -> None:
    """The implementation refuses it; the adapter has no failure of its own."""
    suite.open()
    suite.listen("system-prompt/assemble", [{"do": "return", "value": answer}])
    reply = suite.followup("A")
    (row,) = [row for row in reply.observed if row["on"] == "live" and row["name"] == "agent/error"]
    assert "system-prompt/assemble was answered with {" in row["payload"]["error"]["message"]
