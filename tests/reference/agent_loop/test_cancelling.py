"""Cancelling: what it clears, what it aborts, and how the turn ends wherever it strikes."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from tests.reference.world import (
    USER,
    Chunk,
    World,
    aborted,
    between,
    chunks_of,
    do,
    finish,
    hang,
    message,
    stream,
    text,
    when,
)
from typeguard import suppress_type_checks

from dshcore.agent import (
    AGENT_ERROR,
    AGENT_INBOX_CLAIMED,
    AGENT_INBOX_DISCARDED,
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
from dshcore.json import freeze
from dshcore.llm import LLM_STREAM, LlmError
from dshcore.session import AppendReentered

PARENT = {"kind": "parent"}
HOOK = {"kind": "hook", "reason": "because"}


@pytest.fixture
def agent(world: World) -> Agent:
    """An agent whose turn hangs in its stream."""
    made = world.create()
    world.model.follow(hang())
    world.followup("A")
    world.take()
    return made


def signal_of(world: World) -> CancelSignal:
    signal = world.model.requests[-1].signal
    assert signal is not None
    return signal


def ids(agent: Agent) -> str:
    return "".join(one["id"] for one in (*agent.inbox.next_turn, *agent.inbox.next_step))


@pytest.mark.parametrize("cause", [USER, PARENT, HOOK, {"kind": "disposed"}])
def test_cause_is_the_abort_reason(world: World, agent: Agent, cause: dict[str, str]) -> None:
    """Whoever holds the signal sees the cause itself; the durable ending does not tell it (CANCEL-CAUSE-01)."""
    world.run(lambda: agent.cancel(cause))
    assert signal_of(world).reason == cause
    assert agent.session.events[-1]["data"] == {"turn": 1, "reason": {"kind": "aborted"}}


@pytest.mark.parametrize("cause", [None, "user", 1, ["user"]])
def test_a_cause_that_is_no_object_is_refused(world: World, agent: Agent, cause: Any) -> None:
    """The error names the value; nothing is cleared and nothing aborted."""
    world.run(lambda: agent.inject(message("I")))
    with suppress_type_checks(), pytest.raises(TypeError, match=re.escape(repr(cause))):
        world.run(lambda: agent.cancel(cause))
    assert ids(agent) == "I"
    assert not signal_of(world).aborted


def test_first_cause_wins(world: World, agent: Agent) -> None:
    """Later cancels change neither reason nor ending, and the signal fires once (CANCEL-FIRST-01)."""
    fired: list[object] = []
    signal_of(world).on_abort(lambda: fired.append(signal_of(world).reason))
    world.run(do(lambda: agent.cancel(PARENT), lambda: agent.cancel(USER)))
    assert (fired, signal_of(world).reason) == ([PARENT], PARENT)


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


def test_clear_comes_before_the_abort(world: World, agent: Agent) -> None:
    """An abort listener already sees an empty inbox, and what it sends is kept (CANCEL-CLEAR-01)."""
    seen: list[bool] = []

    def fired() -> None:
        seen.append(agent.inbox.has_pending)
        agent.inject(message("N"))

    signal_of(world).on_abort(fired)
    world.run(do(lambda: agent.inject(message("I")), lambda: agent.cancel(USER)))
    assert (seen, ids(agent)) == ([False], "N")


def test_repeated_cancel_clears_again(world: World, agent: Agent) -> None:
    """Input queued since the first cancel is cleared by the second, with its latch (CANCEL-CLEAR-02)."""
    world.run(do(lambda: agent.cancel(USER), lambda: agent.steer(message("B")), lambda: agent.cancel(USER)))
    rows = world.take()
    assert "discarded B" in rows
    assert "turn/start 2" not in rows
    assert rows[-1] == "idle"


def test_keep_inbox_removes_nothing(world: World, agent: Agent) -> None:
    """With keep_inbox no splice follows, and the kept input waits for a new wake (CANCEL-KEEP-01, CANCEL-KEEP-02)."""
    world.run(do(lambda: agent.followup(message("Q")), lambda: agent.cancel(USER, keep_inbox=True)))
    assert [row for row in world.take() if row.startswith("splice")] == ["splice next-turn 0 +Q"]
    assert (ids(agent), agent.status) == ("Q", "idle")
    world.model.follow(text("hi"))
    world.followup("W")
    assert [row for row in world.take() if "> pre-step" in row] == ["> pre-step 2.1 Q", "> pre-step 3.1 W"]


def test_claimed_batch_is_not_put_back(world: World) -> None:
    """keep_inbox protects pending input only (CANCEL-KEEP-03)."""
    agent = world.create()
    world.run(do(lambda: agent.followup(message("A")), lambda: agent.cancel(USER, keep_inbox=True)))
    assert not agent.inbox.has_pending
    assert world.log()[-1] == "turn/end 1 aborted"
    assert "user/message A" not in world.log()


def test_idle_cancel_arms_nothing(world: World) -> None:
    """With no activity a cancel aborts nothing: the next wake runs a normal turn (CANCEL-IDLE-01)."""
    agent = world.create()
    world.run(lambda: agent.cancel(USER))
    world.followup("A")
    assert world.log()[-1] == "turn/end 1 completed"


def test_idle_cancel_discards_parked_input(world: World) -> None:
    """Parked input is cancelled with splices and notifications, unless it is kept (CANCEL-IDLE-02)."""
    agent = world.create()
    agent.inject(message("I"))
    world.take()
    world.run(lambda: agent.cancel(USER, keep_inbox=True))
    assert world.take() == []
    world.run(lambda: agent.cancel(USER))
    assert world.take() == ["splice next-step 0 -1 canceled", "discarded I"]


def test_cancel_is_synchronous_and_status_follows_the_convergence(world: World, agent: Agent) -> None:
    """When cancel returns, the clear and the abort are out and nothing of the convergence is (CANCEL-SYNC-01)."""
    fired: list[str] = []
    signal_of(world).on_abort(lambda: fired.append("abort"))
    rows: list[str] = []

    def stretch() -> None:
        agent.inject(message("I"))
        agent.cancel(USER)
        rows.extend([*world.take(), *fired, agent.status])

    world.run(stretch)
    assert rows[2:] == ["splice next-step 0 -1 canceled", "discarded I", "abort", "running"]
    assert agent.status == "idle"


def test_driver_waits_for_what_ignores_the_signal(world: World) -> None:
    """Neither idle nor when_idle comes before a listener that ignores the abort has ended (CANCEL-COOP-01)."""
    agent = world.create()
    release = world.loop.create_future()

    async def stubborn(_: Any, next_layer: Any) -> Any:
        await release
        return await next_layer()

    world.root.on(AGENT_PRE_STEP, stubborn)
    world.followup("A")
    idle = world.start(agent.when_idle)
    world.run(lambda: agent.cancel(USER))
    assert (idle.done(), agent.status) == (False, "running")
    world.run(lambda: release.set_result(None))
    assert (idle.done(), world.take()[-2:]) == (True, ["turn/end 1 aborted", "idle"])


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
    assert ids(agent) == ("A" if keep else "")


def test_abort_on_turn_start_claims_nothing(world: World) -> None:
    """An abort on the turn/start append closes the turn before the claim (CANCEL-PHASE-02)."""
    agent = world.create()
    world.on_event("turn/start", lambda: agent.cancel(USER, keep_inbox=True))
    world.followup("A")
    assert world.log() == ["splice next-turn 0 +A", "turn/start 1", "turn/end 1 aborted"]
    assert ids(agent) == "A"


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


def test_observer_cannot_clear(world: World) -> None:
    """Inside an observer a clearing cancel is refused before it aborts; the turn completes (CANCEL-REENTRY-01)."""
    agent = world.create()
    refused: list[type] = []

    def cancel() -> None:
        with pytest.raises(AppendReentered) as caught:
            agent.cancel(USER)
        refused.append(caught.type)

    world.on_event("turn/start", cancel)
    world.followup("A")
    assert (refused, world.log()[-1]) == ([AppendReentered], "turn/end 1 completed")


def test_messages_of_a_discarded_listener_meet_the_rest_of_the_cancel(world: World, agent: Agent) -> None:
    """A next-turn message is cleared too, a next-step one is parked; no turn follows (CANCEL-REENTRY-02)."""
    agent.inject(message("I"))
    agent.inbox.append("next-turn", message("Q"))
    world.root.on(
        AGENT_INBOX_DISCARDED, do(lambda: agent.steer(message("S")), lambda: agent.followup(message("F"))), once=True
    )
    world.run(lambda: agent.cancel(USER))
    rows = world.take()
    assert "discarded F" in rows
    assert "turn/start 2" not in rows
    assert ids(agent) == "S"


def test_wake_of_a_discarded_listener_is_not_latched(world: World) -> None:
    """During maintenance the rest of the cancel drops the latch that it set (CANCEL-REENTRY-02)."""
    agent = world.create()
    agent.inject(message("I"))
    world.root.on(AGENT_INBOX_DISCARDED, lambda _: agent.steer(message("S")), once=True)

    async def task(signal: CancelSignal) -> None:
        await aborted(signal)

    world.start(lambda: agent.run_maintenance(task))
    world.run(lambda: agent.cancel(USER))
    assert ("running" in world.take(), ids(agent), agent.status) == (False, "S", "idle")


def test_refused_clear_keeps_the_latch(world: World) -> None:
    """A cancel that fails in an observer has changed nothing: the latched wake runs (CANCEL-REENTRY-01)."""
    agent = world.create()
    release = world.loop.create_future()

    async def task(_: object) -> None:
        await release

    def cancel() -> None:
        with pytest.raises(AppendReentered):
            agent.cancel(USER)

    world.start(lambda: agent.run_maintenance(task))
    world.followup("W")
    world.on_event("x/y", cancel)
    world.run(lambda: agent.session.append("x/y", {}))
    world.run(lambda: release.set_result(None))
    assert "> pre-step 1.1 W" in world.take()


def test_driver_woken_by_a_clear_is_aborted_by_the_same_cancel(world: World) -> None:
    """From idle, a discarded listener's wake opens a turn that the rest of the cancel closes (CANCEL-REENTRY-03)."""
    agent = world.create()
    agent.inject(message("I"))
    world.take()
    world.root.on(AGENT_INBOX_DISCARDED, lambda _: agent.steer(message("S")), once=True)
    world.run(lambda: agent.cancel(USER))
    assert world.take() == [
        "splice next-step 0 -1 canceled",
        "discarded I",
        "splice next-step 0 +S",
        "inserted S",
        "running",
        "turn/start 1",
        "splice next-step 0 -1",
        "claimed 1 S",
        "turn/end 1 aborted",
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


def test_finish_is_not_needed_for_a_complete_turn(world: World) -> None:
    """A stream that just ends is complete; only an abort interrupts."""
    world.create()
    world.model.follow(stream(*chunks_of("x")))
    world.followup("A")
    assert world.log()[-1] == "turn/end 1 completed"
    world.model.follow(stream(*chunks_of("x"), finish("unheard-of")))
    world.followup("B")
    assert world.log()[-1] == "turn/end 2 completed"
