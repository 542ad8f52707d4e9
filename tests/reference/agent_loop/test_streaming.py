"""How the loop reads a stream: one chunk at a time into the log, and what it makes of the end."""

from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest
from tests.reference.world import World, finish, stream, text

from dshcore.agent import AGENT_REQUEST, AGENT_REQUEST_ERROR, AgentOptions
from dshcore.json import JsonObject, freeze
from dshcore.llm import LLM, CallConfig, GenerateOptions


def ending(world: World) -> Any:
    return world.session().events[-1]["data"]["reason"]


def test_next_chunk_is_not_asked_for_before_the_last_is_logged(world: World) -> None:
    """At every pull all chunks that were delivered are in the log (CHUNK-LOG-01)."""
    found: list[int] = []

    async def look(_: GenerateOptions) -> AsyncIterator[JsonObject]:
        for chunk in [{"type": "text-delta", "index": 0, "text": "a"}, finish()]:
            found.append(sum(event["type"] == "assistant/chunk" for event in world.session().events))
            yield freeze(chunk)
        found.append(sum(event["type"] == "assistant/chunk" for event in world.session().events))

    world.create()
    world.model.follow(look)
    world.followup("A")
    assert found == [0, 1, 2]


@pytest.mark.parametrize("block_type", ["text", "reasoning", "tool-call", "image"])
@pytest.mark.parametrize("kind", ["error", "aborted"])
def test_failed_attempt_leaves_no_message(world: World, block_type: str, kind: str) -> None:
    """Blocks that are open at its end are no further error, whatever their type (CHUNK-OPEN-01)."""
    world.create()
    failed = finish(kind, failure={"message": "busy", "code": "RATE_LIMIT"})
    world.model.follow(stream({"type": "block-start", "index": 0, "blockType": block_type}, failed))
    world.followup("A")
    assert not [event for event in world.session().events if event["type"] == "assistant/message"]
    assert ending(world) == {"kind": "error", "error": {"message": "busy", "code": "RATE_LIMIT"}}


@pytest.mark.parametrize("cap", [-5, 0, 1.5, True, "9"])
def test_cap_that_none_can_be_is_nobodys_business_but_the_turns(world: World, cap: Any) -> None:
    """No lookup, no header, no attempt, no recovery; the code is UNKNOWN (ADAPTER-DEFAULT-06)."""
    asked: list[str] = []

    class Adapter:
        def stream(self, request: GenerateOptions) -> AsyncIterator[JsonObject]:
            asked.append("stream")
            return text("hi")(request)

        async def resolve(self, provider: str, model: str, _: Any) -> Mapping[str, object]:
            asked.append("resolve")
            return {"provider": provider, "id": model, "name": model}

    world.run(lambda: world.root[LLM].register(world.root, ["own"], Adapter()))
    world.create(agent_options=AgentOptions(provider="own", model="m1"))

    async def propose(_: Any, proceed: Any) -> CallConfig:
        config: CallConfig = await proceed()
        return CallConfig.read({**config.to_json(), "maxTokens": cap})

    async def recover(*_: Any) -> None:
        asked.append("recovery")

    world.root.on(AGENT_REQUEST, propose)
    world.root.on(AGENT_REQUEST_ERROR, recover)
    world.on_event("request/header", lambda: asked.append("header"))
    world.followup("A")
    assert asked == []
    assert ending(world) == {
        "kind": "error",
        "error": {"message": "agent maxTokens must be a positive safe integer", "code": "UNKNOWN"},
    }
