"""A model stream that is cut by a cancel: what is kept of it, and how it is closed."""

from typing import Any

import pytest
from tests.reference.world import (
    USER,
    Chunk,
    World,
    aborted,
    chunks_of,
    finish,
    hang,
    stream,
    text,
)

from dshcore.agent import (
    AGENT_REQUEST_ERROR,
    Retry,
)
from dshcore.json import freeze
from dshcore.llm import LLM_STREAM, LlmError


def test_abort_at_the_dispatch_pulls_nothing(world: World) -> None:
    """A stream listener that cancels keeps the adapter from being called (CANCEL-PHASE-06)."""
    agent = world.create()

    def cancel(_: Any, next_layer: Any) -> Any:
        agent.cancel(USER)
        return next_layer()

    world.root.on(LLM_STREAM, cancel)
    world.followup("A")
    assert (world.model.requests, world.log()[-2:]) == ([], ["step/end 1.1", "turn/end 1 aborted"])


def reasoning(said: str, index: int) -> Chunk:
    return {"type": "reasoning-delta", "index": index, "text": said}


CALL: Chunk = {"type": "block-end", "index": 8, "block": {"type": "tool-call", "id": "c", "name": "t", "arguments": ""}}


def test_prefix_holds_text_and_reasoning(world: World) -> None:
    """The interrupted message has what can be seen, in order of appearance, with usage and all chunks cited."""
    agent = world.create()
    usage = {"type": "usage", "usage": {"inputTokens": 1, "outputTokens": 2}}
    world.model.follow(hang("par", reasoning("why", 5), reasoning(" ", 6), CALL, usage), text("two"))
    world.followup("A")
    world.run(lambda: agent.cancel(USER))
    (logged,) = (e for e in agent.session.events if e["type"] == "assistant/message")
    assert [(block["type"], block["text"]) for block in logged["data"]["message"]["content"]] == [
        ("text", "par"),
        ("reasoning", "why"),
    ]
    assert logged["data"]["interrupted"] is True
    assert logged["data"]["usage"] == usage["usage"]
    chunks = [e["seq"] for e in agent.session.events if e["type"] == "assistant/chunk"]
    assert list(logged["sourceEventSeqs"]) == chunks
    assert world.log()[-2:] == ["step/end 1.1", "turn/end 1 aborted"]
    world.followup("B")
    assert [m["content"][0]["text"] for m in world.model.requests[-1].messages] == ["A", "par", "B"]


@pytest.mark.parametrize("chunks", [[], [{"type": "text-delta", "index": 0, "text": " \n"}], [CALL]])
def test_nothing_to_see_leaves_no_message(world: World, chunks: list[Chunk]) -> None:
    """White space, a tool call, or no chunk at all make no interrupted message (CANCEL-STREAM-03)."""
    agent = world.create()

    async def run(request: Any) -> Any:
        for chunk in chunks:
            yield freeze(chunk)
        await aborted(request.signal)

    world.model.follow(run)
    world.followup("A")
    world.run(lambda: agent.cancel(USER))
    assert world.log()[-2:] == ["step/end 1.1", "turn/end 1 aborted"]
    assert not any(row.startswith("assistant/message") for row in world.log())


def test_no_chunk_after_the_abort(world: World) -> None:
    """An adapter that goes on yielding is closed, and nothing of it is logged (CANCEL-STREAM-04)."""
    agent = world.create()
    gate = world.loop.create_future()
    closed: list[str] = []

    async def run(_: Any) -> Any:
        try:
            for chunk in chunks_of("par"):
                yield freeze(chunk)
            await gate
            while True:
                yield freeze({"type": "text-delta", "index": 1, "text": "late"})
        finally:
            closed.append("closed")

    world.model.follow(run)
    world.followup("A")
    world.run(lambda: agent.cancel(USER))
    assert closed == []
    world.run(lambda: gate.set_result(None))
    assert (closed, world.log()[-3:]) == (
        ["closed"],
        ["assistant/message par interrupted", "step/end 1.1", "turn/end 1 aborted"],
    )


class SlowToClose:
    """A stream that takes until a gate opens to close, and then fails to."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.gate = world.loop.create_future()
        self.chunks = [freeze(chunk) for chunk in chunks_of("par")]

    def __aiter__(self) -> "SlowToClose":
        return self

    async def __anext__(self) -> Any:
        return self.chunks.pop(0)

    async def aclose(self) -> None:
        self.world.rows.append("closing")
        await self.gate
        raise ValueError("the closing failed")


def test_cut_stream_is_closed_before_its_prefix_is_kept(world: World) -> None:
    """The driver waits for the closing, whose own failure changes nothing (CANCEL-STREAM-04, CANCEL-COOP-01)."""
    agent = world.create()
    slow = SlowToClose(world)
    world.root.on(LLM_STREAM, lambda *_: slow)
    world.on_event("assistant/chunk", lambda: agent.cancel(USER), nth=2)
    world.followup("A")
    assert (world.take()[-1], agent.status) == ("closing", "running")
    world.run(lambda: slow.gate.set_result(None))
    assert world.take() == ["assistant/message par interrupted", "step/end 1.1", "turn/end 1 aborted", "idle"]


def test_abort_after_the_finish_chunk_is_an_interruption(world: World) -> None:
    """Between the finish chunk and the end of the stream the text is complete, yet interrupted (CANCEL-STREAM-06)."""
    agent = world.create()
    world.on_event("assistant/chunk", lambda: agent.cancel(USER), nth=4)
    world.followup("A")
    assert "assistant/message hi interrupted" in world.log()


def test_abort_in_recovery_commits_nothing(world: World) -> None:
    """A cancel during agent/request-error leaves only the chunks of the failed attempt (CANCEL-RERR-01)."""
    agent = world.create()
    world.model.follow(stream(*chunks_of("par"), error=LlmError("busy", "X")))

    async def cancel(*_: Any) -> Any:
        agent.cancel(USER)
        return Retry()

    world.root.on(AGENT_REQUEST_ERROR, cancel)
    world.followup("A")
    assert world.log()[-3:] == ["chunk finish", "step/end 1.1", "turn/end 1 aborted"]
    assert world.take().count("> request 1.1") == 1


def test_finish_is_not_needed_for_a_complete_turn(world: World) -> None:
    """A stream that just ends is complete; only an abort interrupts."""
    world.create()
    world.model.follow(stream(*chunks_of("x")))
    world.followup("A")
    assert world.log()[-1] == "turn/end 1 completed"
    world.model.follow(stream(*chunks_of("x"), finish("unheard-of")))
    world.followup("B")
    assert world.log()[-1] == "turn/end 2 completed"
