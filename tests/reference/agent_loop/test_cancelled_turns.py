"""A turn that is cancelled: its signal, its course and its ending, wherever the abort strikes."""

from collections.abc import Callable
from typing import Any

import pytest
from tests.reference.world import (
    USER,
    World,
    between,
    message,
    pending,
    stream,
    text,
    when,
)

from dshcore.agent import (
    AGENT_ERROR,
    AGENT_INBOX_CLAIMED,
    AGENT_PRE_STEP,
    AGENT_REQUEST,
    AGENT_REQUEST_ERROR,
    AGENT_STATUS,
    AGENT_TURN_STOPPING,
    Agent,
    Enter,
    Reject,
    Retry,
)
from dshcore.cancel_signal import CancelSignal
from dshcore.llm import LlmError


def test_one_signal_serves_a_turn(world: World) -> None:
    """Every hook and the request of a turn hold one signal, the next turn another (CANCEL-SIGNAL-01)."""
    world.create()
    world.model.follow(stream(error=LlmError("busy", "X")), text("a"), text("b"))
    signals: dict[int, set[CancelSignal]] = {1: set(), 2: set()}

    async def waterfall(hook: Any, next_layer: Any) -> Any:
        signals[hook.turn].add(hook.signal)
        return await next_layer()

    async def retry(hook: Any, _: Any) -> Retry:
        signals[hook.turn].add(hook.signal)
        return Retry()

    async def stopping(hook: Any) -> None:
        signals[hook.turn].add(hook.signal)

    world.root.on(AGENT_PRE_STEP, waterfall)
    world.root.on(AGENT_REQUEST, waterfall)
    world.root.on(AGENT_REQUEST_ERROR, retry)
    world.root.on(AGENT_TURN_STOPPING, stopping)
    world.followup("A", "B")
    assert [len(found) for found in signals.values()] == [1, 1]
    first, second, third = (request.signal for request in world.model.requests)
    assert first is second
    assert {first} == signals[1]
    assert {third} == signals[2] != signals[1]


def test_failure_after_the_abort_is_the_abort(world: World) -> None:
    """A listener that cancels and then throws ends the turn aborted, without agent/error (CANCEL-ERR-01)."""
    agent = world.create()

    async def cancel_and_throw(*_: Any) -> Any:
        agent.cancel(USER)
        raise ValueError("boom")

    world.root.on(AGENT_PRE_STEP, cancel_and_throw)
    world.followup("A")
    rows = world.take()
    assert rows[-2:] == ["turn/end 1 aborted", "idle"]
    assert not any(row.startswith("agent/error") for row in rows)


def test_ending_is_settled_before_agent_error(world: World) -> None:
    """A cancel made by an agent/error listener clears the inbox, but the turn ends error (CANCEL-ERR-02)."""
    agent = world.create()
    world.model.follow(stream(error=LlmError("busy", "X")))

    def cancel(_: object) -> None:
        agent.inject(message("I"))
        agent.cancel(USER)

    world.root.on(AGENT_ERROR, cancel)
    world.followup("A")
    rows = world.take()
    assert "discarded I" in rows
    assert rows[-2:] == ["turn/end 1 error X", "idle"]


@pytest.mark.parametrize("keep", [True, False])
def test_cancel_on_running_prevents_the_turn(world: World, *, keep: bool) -> None:
    """No turn opens; the waking message is discarded, or stays parked (CANCEL-PHASE-01)."""
    agent = world.create()
    world.take()
    world.root.on(AGENT_STATUS, when(lambda p: p.status == "running", lambda: agent.cancel(USER, keep_inbox=keep)))
    world.followup("A")
    cleared = [] if keep else ["splice next-turn 0 -1 canceled", "discarded A"]
    assert world.take() == ["splice next-turn 0 +A", "inserted A", "running", *cleared, "idle"]
    assert pending(agent) == ("A" if keep else "")


def test_abort_on_turn_start_claims_nothing(world: World) -> None:
    """An abort on the turn/start append closes the turn before the claim (CANCEL-PHASE-02)."""
    agent = world.create()
    world.on_event("turn/start", lambda: agent.cancel(USER, keep_inbox=True))
    world.followup("A")
    assert world.log() == ["splice next-turn 0 +A", "turn/start 1", "turn/end 1 aborted"]
    assert pending(agent) == "A"


@pytest.mark.parametrize("answer", [Enter(()), Reject(), ValueError("boom")])
def test_abort_in_pre_step_ignores_the_decision(world: World, answer: Any) -> None:
    """Whatever the hook decides after the abort, the turn ends aborted without a step (CANCEL-PHASE-04)."""
    agent = world.create()

    async def cancel(*_: Any) -> Any:
        agent.cancel(USER)
        if isinstance(answer, Exception):
            raise answer
        return answer

    world.root.on(AGENT_PRE_STEP, cancel)
    world.followup("A")
    assert world.log()[1:] == ["turn/start 1", "splice next-turn 0 -1", "turn/end 1 aborted"]


def test_abort_at_the_claim_skips_pre_step(world: World) -> None:
    """A claimed listener that cancels loses the batch; pre-step is not called (CANCEL-PHASE-03)."""
    agent = world.create()
    world.root.on(AGENT_INBOX_CLAIMED, lambda _: agent.cancel(USER))
    world.followup("A")
    rows = world.take()
    assert rows[-2:] == ["turn/end 1 aborted", "idle"]
    assert not any(row.startswith((">", "step", "discarded")) for row in rows)


def test_abort_on_step_start_records_the_batch(world: World) -> None:
    """The rest of the batch is recorded, the request is not made, and the step is closed (CANCEL-PHASE-05)."""
    agent = world.create()
    agent.inject(message("I"))
    world.on_event("step/start", lambda: agent.cancel(USER))
    world.followup("A")
    rows = between(world.take(), "step/start 1.1", "idle")
    assert rows == [
        "step/start 1.1",
        "user/message I",
        "user/message A",
        "step/end 1.1",
        "turn/end 1 aborted",
        "idle",
    ]
    assert world.model.requests == []


def test_abort_in_the_request_hook_logs_no_header(world: World) -> None:
    """An abort during agent/request prevents the header (CANCEL-PHASE-06)."""
    agent = world.create()

    async def cancel(_: Any, next_layer: Any) -> Any:
        agent.cancel(USER)
        return await next_layer()

    world.root.on(AGENT_REQUEST, cancel)
    world.followup("A")
    assert world.log()[-3:] == ["user/message A", "step/end 1.1", "turn/end 1 aborted"]


def test_abort_on_the_header_calls_no_model(world: World) -> None:
    """An abort on the header append lets the context follow, and nothing else (CANCEL-PHASE-06)."""
    agent = world.create()
    world.on_event("request/header", lambda: agent.cancel(USER))
    world.followup("A")
    assert world.log()[-4:] == ["request/header initial", "request/context", "step/end 1.1", "turn/end 1 aborted"]
    assert world.model.requests == []


def test_abort_at_the_stop(world: World) -> None:
    """An abort at step/end skips the stopping hook; in either place the turn ends aborted (CANCEL-STOP-01)."""
    agent = world.create()
    world.on_event("step/end", lambda: agent.cancel(USER))
    world.followup("A")
    assert world.take()[-3:] == ["step/end 1.1", "turn/end 1 aborted", "idle"]

    async def cancel(_: Any) -> None:
        agent.cancel(USER)

    world.root.on(AGENT_TURN_STOPPING, cancel)
    world.followup("B")
    assert world.take()[-3:] == ["> stopping 2", "turn/end 2 aborted", "idle"]


def test_cancel_on_turn_end_is_too_late(world: World) -> None:
    """It changes neither that ending nor, with keep_inbox, the next queued turn (CANCEL-END-01)."""
    agent = world.create()
    world.on_event("turn/end", lambda: agent.cancel(USER, keep_inbox=True))
    world.followup("A", "B")
    assert [row for row in world.take() if row.startswith(("turn/end", "idle"))] == [
        "turn/end 1 completed",
        "turn/end 2 completed",
        "idle",
    ]


def test_every_cut_of_a_turn_is_balanced(world: World) -> None:
    """A keep_inbox cancel on each event of a turn leaves every turn and step closed (INV-TURN-03, INV-STEP-02)."""
    world.create("probe")
    world.run(lambda: world.handles["probe"].agent.followup(message("A")))
    kinds = [event["type"] for event in world.session("probe").events]
    for number, kind in enumerate(kinds):
        if kind == "assistant/chunk":
            continue
        name = f"cut-{number}"
        cutting = world.create(name)
        world.on_event(kind, _cancelling(cutting), nth=kinds[: number + 1].count(kind))
        world.run(lambda cutting=cutting: cutting.followup(message("A")))  # type: ignore[misc]
        log = [event["type"] for event in world.session(name).events]
        assert log.count("turn/start") == log.count("turn/end"), kind
        assert log.count("step/start") == log.count("step/end"), kind
        assert cutting.status == "idle"


def _cancelling(agent: Agent) -> Callable[[], None]:
    return lambda: agent.cancel(USER, keep_inbox=True)
