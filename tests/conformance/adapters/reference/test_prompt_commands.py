"""The commands of the profile `prompt`: what the adapter passes on, and how it shows what comes back."""

from typing import Any

import pytest
from tests.conformance.adapters.reference.suite import FINISH, Suite

DONE = {"$fn": "model", "do": [{"do": "chunks", "list": [FINISH]}]}


@pytest.fixture
def world(suite: Suite) -> Suite:
    """A world with an agent."""
    suite.open(DONE)
    return suite


def assembly(suite: Suite, **context: Any) -> Any:
    """The assembly for a context."""
    (row,) = suite.rows("task", "prompt.assemble", {"task": "t", **context})
    return row["value"]


def test_an_assembly_shows_variables_without_a_value(world: Suite) -> None:
    """They are there all the same, and what listeners added is shown too."""
    world.call("prompt.variable", {"as": "v", "name": "v", "value": {"$value": "undefined"}})
    world.listen("system-prompt/assemble", [{"do": "set", "path": "assembly.more", "value": [1]}])
    assert assembly(world) == {
        "sections": [{"name": "deployment:persona", "text": ""}],
        "contexts": [],
        "tools": [],
        "variables": {"provider": None, "model": None, "cwd": None, "v": None},
        "more": [1],
    }


def test_providers_are_told_for_whom(world: Suite) -> None:
    """Agent and scope are two things; a provider that passes says nothing."""
    for op, name in (("prompt.section", "text"), ("prompt.context", "text"), ("prompt.variable", "value")):
        given = {} if op == "prompt.variable" else {"order": 1}
        world.call(op, {"as": op, "name": "x", name: {"$fn": op}, **given})
    world.call("prompt.tools", {"as": "t", "provide": {"$fn": "prompt.tools"}})
    world.call("signal.new", {"signal": "s"})
    context = {"task": "t", "scope": {"agent": "a"}, "signal": {"$signal": "s"}}
    reply = world.call("prompt.assemble", context)
    rows = [row for row in reply.observed if row["on"] == "script"]
    assert [row["kind"] for row in rows] == ["prompt/variable", "prompt/tools", "prompt/section", "prompt/context"]
    assert ["agent" in row for row in rows] == [False] * 4
    signal = {"signal": "s", "aborted": False}
    assert rows[0]["payload"] == {"name": "x", "scope": "a", "signal": signal}
    assert rows[1]["payload"] == {"scope": "a", "signal": signal}
    (value,) = [row["value"] for row in reply.observed if row["on"] == "task"]
    assert value["sections"][1] == value["contexts"][0] == {"name": "x", "text": ""}
    assert value["tools"] == []
    assert [row["agent"] for row in world.rows("script", "prompt.assemble", {"task": "t", "agent": "a"})] == ["a"] * 4


def test_an_offer_is_a_value_or_made_anew(world: Suite) -> None:
    """What is said of known names is passed on with it; a wrong one is the implementation's affair."""
    tool = {"name": "t", "description": "", "parameters": {}}
    offer = {"schemas": [tool], "knownNames": ["t", "u"]}
    world.call("prompt.tools", {"as": "one", "provide": offer})
    world.call("prompt.tools", {"as": "two", "provide": {"$fn": "f", "do": [{"do": "return", "value": offer}]}})
    assert assembly(world)["tools"] == [tool, tool]
    world.call("prompt.tools", {"as": "three", "provide": 5})
    (row,) = world.rows("task", "prompt.assemble", {"task": "t"})
    assert "error" in row


def test_members_are_passed_on_as_they_are(world: Suite) -> None:
    """The implementation refuses what it does not take; `complete` counts where it was given."""
    refused = world.call("prompt.section", {"as": "s", "name": "s", "order": {"$value": "NaN"}, "text": "x"})
    assert refused.error["message"] == 'prompt section "s" order must be a finite number'
    section = {"as": "s", "name": "s", "order": 1, "text": "x", "complete": True, "in": {"agent": "a"}}
    world.call("prompt.section", section)
    assert assembly(world, scope={"agent": "a"})["sections"] == [{"name": "s", "text": "x"}]
    assert len(assembly(world)["sections"]) == 1


def test_a_contribution_is_undone_by_its_name(world: Suite) -> None:
    """Registering and disposing are told of."""
    assert world.told("prompt.suppress", {"as": "n"}) == ["live system-prompt/change", "return prompt.suppress"]
    world.call("prompt.context", {"as": "c", "name": "c", "order": 1, "text": "context"})
    assert assembly(world)["contexts"] == []
    world.call("undo", {"of": "n"})
    assert assembly(world)["contexts"] == [{"name": "c", "text": "context"}]


def test_a_provider_cannot_wait(world: Suite) -> None:
    """Providers are synchronous: a script that waits is a fault."""
    world.call("prompt.section", {"as": "s", "name": "s", "order": 1, "text": {"$fn": "f", "do": "gate"}})
    assert "a function of this kind cannot wait" in world.fault("prompt.assemble", {"task": "t"})


def test_what_is_assigned_in_an_assembly_is_read_like_an_answer(world: Suite) -> None:
    """Lists of texts and tools; anything else as it is."""
    tool = {"name": "t", "description": "", "parameters": {}}
    texts = [{"name": "x", "text": "{{v}}"}]
    script = [
        {"do": "set", "path": f"assembly.{name}", "value": value}
        for name, value in (("sections", texts), ("contexts", texts), ("tools", [tool]), ("variables", {"v": "V"}))
    ]
    world.listen("system-prompt/assemble", script)
    reply = world.followup("A")
    (row,) = [row for row in reply.observed if row["on"] == "script" and row["kind"] == "model/stream"]
    request = row["payload"]["request"]
    assert (request["system"], request["tools"]) == ("V", [tool])
    assert request["messages"][1]["source"]["sections"] == [{"name": "x", "text": "V"}]
