"""Prompt assembly over the wire: the configuration, the event, assemblies."""

from typing import Any

import pytest
from tests.conformance.adapters.reference.suite import FINISH, Suite, message

DONE = {"$fn": "model", "do": [{"do": "chunks", "list": [FINISH]}]}


def request(suite: Suite) -> Any:
    """A turn, and the request that it made."""
    reply = suite.followup("A")
    (row,) = [row for row in reply.observed if row["on"] == "script" and row["kind"] == "model/stream"]
    return row["payload"]["request"]


def open_with(suite: Suite, config: Any) -> None:
    suite.call("world.open", {"config": config})
    suite.call("model.register", {"as": "model", "routes": ["p"], "stream": DONE})
    suite.create("a")


def test_without_options_there_are_no_built_in_texts(suite: Suite) -> None:
    """The system text is absent."""
    suite.open(DONE)
    assert "system" not in request(suite)


def test_options_are_those_of_the_assembly(suite: Suite) -> None:
    """Identity and persona, and the order of the tools."""
    open_with(suite, {"prompt": {"persona": "I am {{model}}.", "toolOrder": ["z", "<unlisted-tools>"]}})
    for name in ("a", "z"):
        definition = {
            "name": name,
            "description": "",
            "parameters": {},
            "output": {"schema": {}, "render": {"$fn": "r"}},
        }
        suite.call("tool.register", {"as": name, "definition": definition})
    sent = request(suite)
    assert sent["system"] == "You are an AI agent powered by DeepSeek Harness.\n\nI am m."
    assert [tool["name"] for tool in sent["tools"]] == ["z", "a"]


@pytest.mark.parametrize("prompt", [{"personality": "x"}, 5])
def test_unknown_options_are_a_fault(suite: Suite, prompt: Any) -> None:
    """The fault names those that there are."""
    fault = suite.fault("world.open", {"config": {"prompt": prompt}})
    assert "includeHarnessIdentity, persona, includeRuntimeContext, toolOrder" in fault


def test_a_configuration_that_does_not_load_is_an_error(suite: Suite) -> None:
    """It is the implementation that refuses."""
    reply = suite.call("world.open", {"config": {"prompt": {"toolOrder": []}}})
    assert "toolOrder must contain" in reply.error["message"]
    assert "no world is open" in suite.fault("tool.schemas")


def test_a_part_can_be_left_out(suite: Suite) -> None:
    """Without prompts there is no loop, and the tools are still there."""
    suite.call("world.open", {"config": {"without": ["prompt"]}})
    assert suite.call("tool.schemas").result == []
    suite.call("world.open", {"config": {"without": ["tools"]}})
    assert suite.call("tool.schemas").error["type"] == "ServiceMissing"


def test_an_assembly_is_shown_whole(suite: Suite) -> None:
    """With scope and signal beside it; a variable without a value is null."""
    suite.open(DONE)
    suite.listen("system-prompt/assemble")
    reply = suite.followup("A")
    (row,) = [row for row in reply.observed if row["on"] == "script" and row["kind"] == "system-prompt/assemble"]
    assert row["agent"] == "a"
    assert row["payload"] == {
        "assembly": {
            "sections": [{"name": "deployment:persona", "text": ""}],
            "contexts": [],
            "tools": [],
            "variables": {"provider": "p", "model": "m", "cwd": None},
        },
        "scope": "a",
        "signal": {"signal": None, "aborted": False},
    }


def test_an_answer_is_an_assembly(suite: Suite) -> None:
    """What it does not mention is empty; members of its own are kept and shown."""
    suite.open(DONE)
    suite.listen("system-prompt/assemble", [{"do": "next"}], name="outer")
    tool = {"name": "t", "description": "", "parameters": {}}
    answer = {
        "sections": [{"name": "W", "text": "hello {{v}}"}],
        "contexts": [{"name": "c", "text": "ctx"}],
        "tools": [tool],
        "variables": {"v": "you"},
        "more": [1],
    }
    suite.listen("system-prompt/assemble", [{"do": "return", "value": answer}])
    reply = suite.followup("A")
    (seen,) = [row["value"] for row in reply.observed if row["on"] == "next"]
    assert seen == answer
    (row,) = [row for row in reply.observed if row["on"] == "script" and row["kind"] == "model/stream"]
    sent = row["payload"]["request"]
    assert (sent["system"], sent["tools"]) == ("hello you", [tool])
    assert [each["source"]["kind"] for each in sent["messages"]] == ["user", "plugin"]


def test_an_assembly_can_be_changed_in_place(suite: Suite) -> None:
    """`set` assigns to a variable of it."""
    suite.open(DONE)
    suite.listen("system-prompt/assemble", [{"do": "set", "path": "assembly.variables.model", "value": "other"}])
    suite.listen("system-prompt/assemble", name="inner")
    reply = suite.followup("A")
    rows = [row for row in reply.observed if row["on"] == "script" and row["part"] == "inner"]
    assert rows[0]["payload"]["assembly"]["variables"]["model"] == "other"


def test_what_is_no_assembly_is_passed_on(suite: Suite) -> None:
    """The implementation refuses it."""
    suite.open(DONE)
    suite.listen("system-prompt/assemble", [{"do": "return", "value": 5}])
    reply = suite.call("agent.followup", {"agent": "a", "message": message("A")})
    (row,) = [row for row in reply.observed if row["on"] == "live" and row["name"] == "agent/error"]
    assert "system-prompt/assemble was answered with 5" in row["payload"]["error"]["message"]
