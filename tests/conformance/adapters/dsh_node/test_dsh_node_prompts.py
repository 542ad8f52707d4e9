"""Contributions to prompts on the published packages: what the adapter passes on, and how it shows what comes back."""

import pytest
from tests.conformance.adapters.dsh_node.talk import Command, ask, followup, in_words, with_agent

from dshconform.links.subprocess import SubprocessLink

pytestmark = pytest.mark.node


@pytest.fixture
def world(dsh_node_process: SubprocessLink) -> SubprocessLink:
    """A world with an agent."""
    dsh_node_process.call("world.open", {})
    return with_agent(dsh_node_process)


def assembly(link: SubprocessLink, **context: object) -> Command:
    """The assembly for a context."""
    reply = ask(link, "prompt.assemble", {"task": "t", **context})
    (row,) = [row for row in reply.observed if row["on"] == "task"]
    value: Command = row["value"]
    return value


def test_an_assembly_shows_variables_without_a_value(world: SubprocessLink) -> None:
    """They are there all the same, and what listeners added is shown too."""
    world.call("prompt.variable", {"as": "v", "name": "v", "value": {"$value": "undefined"}})
    script: list[Command] = [{"do": "set", "path": "assembly.more", "value": [1]}]
    world.call("listen", {"as": "l", "event": "system-prompt/assemble", "fn": {"$fn": "l", "do": script}})
    nothing = {"$value": "undefined"}
    assert assembly(world) == {
        "sections": [{"name": "deployment:persona", "text": ""}],
        "contexts": [],
        "tools": [],
        "variables": {"provider": nothing, "model": nothing, "cwd": nothing, "v": nothing},
        "more": [1],
    }


def test_providers_are_told_for_whom(world: SubprocessLink) -> None:
    """Agent and scope are two things; a provider that passes says nothing."""
    for op, name in (("prompt.section", "text"), ("prompt.context", "text"), ("prompt.variable", "value")):
        given = {} if op == "prompt.variable" else {"order": 1}
        world.call(op, {"as": op, "name": "x", name: {"$fn": op}, **given})
    world.call("prompt.tools", {"as": "t", "provide": {"$fn": "prompt.tools"}})
    world.call("signal.new", {"signal": "s"})
    reply = ask(world, "prompt.assemble", {"task": "t", "scope": {"agent": "a"}, "signal": {"$signal": "s"}})
    rows = [row for row in reply.observed if row["on"] == "script"]
    assert [row["kind"] for row in rows] == ["prompt/variable", "prompt/tools", "prompt/section", "prompt/context"]
    assert ["agent" in row for row in rows] == [False] * 4
    signal = {"signal": "s", "aborted": False}
    assert rows[0]["payload"] == {"name": "x", "scope": "a", "signal": signal}
    assert rows[1]["payload"] == {"scope": "a", "signal": signal}
    (value,) = [row["value"] for row in reply.observed if row["on"] == "task"]
    assert value["sections"][1] == value["contexts"][0] == {"name": "x", "text": ""}
    assert value["tools"] == []
    reply = ask(world, "prompt.assemble", {"task": "t", "agent": "a"})
    assert [row["agent"] for row in reply.observed if row["on"] == "script"] == ["a"] * 4


def test_members_are_passed_on_as_they_are(world: SubprocessLink) -> None:
    """The implementation refuses what it does not take; `complete` counts where it was given."""
    refused = ask(world, "prompt.section", {"as": "s", "name": "s", "order": "1", "text": "x"})
    assert refused.error["message"] == 'prompt section "s" order must be a finite number'
    world.call(
        "prompt.section", {"as": "s", "name": "s", "order": 1, "text": "x", "complete": True, "in": {"agent": "a"}}
    )
    assert assembly(world, scope={"agent": "a"})["sections"] == [{"name": "s", "text": "x"}]
    assert len(assembly(world)["sections"]) == 1


def test_a_contribution_is_undone_by_its_name(world: SubprocessLink) -> None:
    """Registering and disposing are told of, and reach the next request."""
    told = world.call("prompt.suppress", {"as": "n"}).observed
    assert [in_words(row) for row in told] == ["live system-prompt/change", "return prompt.suppress"]
    world.call("prompt.context", {"as": "c", "name": "c", "order": 1, "text": "context"})
    for name, messages in (("A", 1), ("B", 4)):
        reply = ask(world, "agent.followup", followup(name))
        (row,) = [row for row in reply.observed if row["on"] == "script" and row["kind"] == "model/stream"]
        assert len(row["payload"]["request"]["messages"]) == messages
        world.call("undo", {"of": "n"})
