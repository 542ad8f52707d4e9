"""Turns and steps: boundaries, proposals, stops, failures, and which turn follows."""

from collections.abc import Callable
from typing import Any

import pytest
from tests.reference.world import (
    USER,
    World,
    chunks_of,
    cut,
    do,
    fail,
    finish,
    hang,
    message,
    stream,
    text,
)

from dshcore.agent import (
    AGENT_ERROR,
    AGENT_PRE_STEP,
    AGENT_TURN_STOPPING,
    Agent,
    AgentPreStep,
    Enter,
    Reject,
)
from dshcore.errors import DshError
from dshcore.llm import LlmError
from dshcore.session import SESSION_EVENT, SessionPublished


def pre_step(world: World, decide: Callable[[AgentPreStep], Any]) -> None:
    """Decide pre-steps; a decision of none passes."""

    async def listener(hook: AgentPreStep, next_layer: Any) -> Any:
        decision = decide(hook)
        return await next_layer() if decision is None else decision

    world.root.on(AGENT_PRE_STEP, listener)


def ids(agent: Agent) -> str:
    return "".join(one["id"] for one in (*agent.inbox.next_turn, *agent.inbox.next_step))


def rows(world: World, *first: str) -> list[str]:
    return [row for row in world.take() if row.startswith(first)]


def test_turn_is_opened_before_the_claim(world: World) -> None:
    """turn/start stands before the claim splices (LOOP-OPEN-01)."""
    world.create()
    world.followup("A")
    assert world.log()[1:3] == ["turn/start 1", "splice next-turn 0 -1"]


def test_turn_numbers_go_on_over_the_whole_log(world: World) -> None:
    """The first turn follows the last one of the seed; blocked and aborted turns consume their number."""
    seed = [
        {"type": "turn/start", "seq": 0, "time": 0, "data": {"turn": 7}},
        {"type": "turn/end", "seq": 1, "time": 0, "data": {"turn": 7, "reason": {"kind": "completed"}}},
    ]
    agent = world.create(seed=seed)
    decisions = [Reject(), None, None]
    pre_step(world, lambda _: decisions.pop(0))
    world.followup("A")
    world.run(do(lambda: agent.followup(message("B")), lambda: agent.cancel(USER)))
    world.followup("C")
    assert rows(world, "turn/end") == ["turn/end 8 blocked", "turn/end 9 aborted", "turn/end 10 completed"]


def test_refused_turn_start(world: World) -> None:
    """Nothing was claimed, the number is free, and agent/error names the previous turn (LOOP-OPEN-03)."""
    agent = world.create()
    world.refuse("turn/start")
    world.take()
    world.followup("A")
    assert world.take()[2:] == ["running", "agent/error 0.0 refused turn/start", "idle"]
    assert ids(agent) == "A"
    world.followup("B")
    assert rows(world, "turn/start") == ["turn/start 1", "turn/start 2"]


def test_steps_count_within_their_turn(world: World) -> None:
    """A rejected or emptied proposal does not consume its number (LOOP-STEP-01)."""
    agent = world.create()
    steered = {"A": "S", "B": "T"}

    async def steer(_: Any) -> None:
        for name in [*steered]:
            if f"user/message {name}" in world.log():
                agent.steer(message(steered.pop(name)))

    world.root.on(AGENT_TURN_STOPPING, steer)
    world.followup("A", "B")
    assert rows(world, "step/start", "> pre-step") == [
        "> pre-step 1.1 A",
        "step/start 1.1",
        "> pre-step 1.2 S",
        "step/start 1.2",
        "> pre-step 2.1 B",
        "step/start 2.1",
        "> pre-step 2.2 T",
        "step/start 2.2",
    ]


def test_decision_is_the_whole_batch(world: World) -> None:
    """Its messages are entered in its order with their own ids; what it leaves out is gone (LOOP-PRE-03)."""
    agent = world.create()
    agent.inject(message("A"))
    agent.inject(message("B"))
    rewritten = {**message("B"), "content": [{"type": "text", "text": "rewritten"}]}
    pre_step(world, lambda _: Enter([message("C"), rewritten]))
    world.followup("D")
    entered = [event["data"] for event in agent.session.events if event["type"] == "user/message"]
    assert [(one["id"], one["content"][0]["text"]) for one in entered] == [("C", "C"), ("B", "rewritten")]
    assert not agent.inbox.has_pending
    assert rows(world, "discarded") == []


def test_claim_order_is_entered_without_a_listener(world: World) -> None:
    """Injected context stands before the queued prompt (LOOP-PRE-04)."""
    agent = world.create()
    agent.inject(message("I"))
    world.followup("A")
    assert rows(world, "user/message") == ["user/message I", "user/message A"]


def test_rejection_of_a_later_proposal_replaces_the_outcome(world: World) -> None:
    """A turn that had an outcome ends blocked all the same (LOOP-PRE-06)."""
    agent = world.create()
    world.model.follow(cut("x"))
    stopped: list[None] = []

    async def steer(_: Any) -> None:
        if not stopped:
            stopped.append(None)
            agent.steer(message("S"))

    world.root.on(AGENT_TURN_STOPPING, steer)
    pre_step(world, lambda hook: Reject() if hook.step == 2 else None)
    world.followup("A")
    assert rows(world, "turn/end", "step/start") == ["step/start 1.1", "turn/end 1 blocked"]


def test_rejection_parks_what_came_later(world: World) -> None:
    """The driver does not go on with the next queued message (LOOP-PRE-07)."""
    agent = world.create()
    pre_step(world, lambda _: Reject())
    world.followup("A", "B")
    assert (rows(world, "turn/end"), ids(agent), agent.status) == (["turn/end 1 blocked"], "B", "idle")


def test_empty_first_batch_completes_the_turn(world: World) -> None:
    """No step, no model call, and the run settles though other input is pending (LOOP-PRE-08)."""
    agent = world.create()
    pre_step(world, lambda _: Enter([]))
    world.followup("A", "B")
    assert rows(world, "turn", "step", "> stopping") == ["turn/start 1", "turn/end 1 completed"]
    assert (ids(agent), world.model.requests) == ("B", [])


def test_empty_batch_when_nothing_is_owed(world: World) -> None:
    """It closes the turn with its outcome, without a further stop, and the run goes on (LOOP-PRE-09)."""
    agent = world.create()
    again = [message("S")]

    async def steer(_: Any) -> None:
        if again:
            agent.steer(again.pop())

    world.root.on(AGENT_TURN_STOPPING, steer)
    pre_step(world, lambda hook: Enter([]) if (hook.turn, hook.step) == (1, 2) else None)
    world.followup("A", "B")
    assert rows(world, "step/start", "> stopping", "turn/end") == [
        "step/start 1.1",
        "> stopping 1",
        "turn/end 1 completed",
        "step/start 2.1",
        "> stopping 2",
        "turn/end 2 completed",
    ]


def test_empty_batch_does_not_cancel_an_owed_continuation(world: World) -> None:
    """After a tool call the next step is entered without messages (LOOP-PRE-10)."""
    world.create()
    call = {"type": "block-end", "index": 0, "block": {"type": "tool-call", "id": "c1", "name": "t", "arguments": "{"}}
    world.model.follow(stream(call, finish("tool-calls")), text("done"))
    pre_step(world, lambda hook: Enter([]) if hook.step == 2 else None)
    world.followup("A")
    assert rows(world, "step/start", "tool", "turn/end") == [
        "step/start 1.1",
        "tool/call c1",
        "tool/result c1 UNKNOWN_TOOL",
        "step/start 1.2",
        "turn/end 1 completed",
    ]
    results = [event for event in world.session().events if event["type"] == "tool/result"]
    assert results[0]["data"]["error"] == {"name": "ToolNotFoundError", "code": "UNKNOWN_TOOL"}
    assert world.model.requests[1].messages[-1]["source"] == {"kind": "tool", "callId": "c1"}


def test_calls_of_an_aborted_turn_are_answered_and_not_started(world: World) -> None:
    """An abort on the assistant message leaves it whole; its calls get synthetic results (SCHED-ABORT-01)."""
    agent = world.create()
    call = {"type": "block-end", "index": 0, "block": {"type": "tool-call", "id": "c1", "name": "t", "arguments": ""}}
    world.model.follow(stream(call, finish("tool-calls")))
    world.on_event("assistant/message", lambda: agent.cancel(USER))
    world.followup("A")
    assert world.log()[-5:] == [
        "assistant/message <tool-call>",
        "tool/call c1",
        "tool/result c1 ABORTED_BEFORE_DISPATCH",
        "step/end 1.1",
        "turn/end 1 aborted",
    ]
    assert world.session().events[-3]["data"]["error"] == {"name": "AbortError", "code": "ABORTED_BEFORE_DISPATCH"}


@pytest.mark.parametrize("decision", ["nothing", Enter(None)])  # type: ignore[arg-type]
def test_no_decision_fails_the_turn(world: World, decision: Any) -> None:
    """A missing decision, or an entry without a list, is an error before any step (LOOP-PRE-11)."""
    world.create()

    async def answer(*_: Any) -> Any:
        return None if decision == "nothing" else decision

    world.root.on(AGENT_PRE_STEP, answer)
    world.followup("A")
    assert [row.split(" agent/pre-step")[0] for row in rows(world, "agent/error", "turn/end", "step")] == [
        "agent/error 1.0",
        "turn/end 1 error UNKNOWN",
    ]


def test_steering_continues_the_turn(world: World) -> None:
    """Input in next-step when a step ends is another step, without a stop in between (LOOP-STEER-01)."""
    agent = world.create()
    pre_step(world, lambda hook: agent.steer(message("S")) if hook.step == 1 else None)
    world.followup("A")
    assert rows(world, "step", "> stopping", "turn/end") == [
        "step/start 1.1",
        "step/end 1.1",
        "step/start 1.2",
        "step/end 1.2",
        "> stopping 1",
        "turn/end 1 completed",
    ]


def test_stop_looks_at_next_step_alone(world: World) -> None:
    """Waking or not, next-step input runs another step; a next-turn message does not (LOOP-STOP-02)."""
    agent = world.create()
    doing: list[Callable[[], None]] = [
        lambda: agent.steer(message("S")),
        lambda: agent.inject(message("I")),
        lambda: agent.followup(message("F")),
    ]

    async def deliver(_: Any) -> None:
        if doing:
            doing.pop(0)()

    world.root.on(AGENT_TURN_STOPPING, deliver)
    world.followup("A")
    assert rows(world, "> pre-step", "> stopping") == [
        "> pre-step 1.1 A",
        "> stopping 1",
        "> pre-step 1.2 S",
        "> stopping 1",
        "> pre-step 1.3 I",
        "> stopping 1",
        "> pre-step 2.1 F",
        "> stopping 2",
    ]


def test_failing_stop_fails_the_turn(world: World) -> None:
    """Its error ends the turn; input it had added is parked (LOOP-STOP-03)."""
    agent = world.create()

    async def add_and_throw(_: Any) -> None:
        agent.steer(message("S"))
        raise ValueError("boom")

    world.root.on(AGENT_TURN_STOPPING, add_and_throw)
    world.followup("A")
    assert rows(world, "agent/error", "turn/end") == ["agent/error 1.1 boom", "turn/end 1 error UNKNOWN"]
    assert ids(agent) == "S"


def test_stop_listeners_run_one_after_another(world: World) -> None:
    """Each ends before the next begins; what they answer is ignored (EVENTS-SERIAL-01, EVENTS-SERIAL-02)."""
    world.create()
    gate = world.loop.create_future()
    order: list[str] = []

    async def first(_: Any) -> Any:
        await gate
        order.append("first")
        return "a value"

    async def second(_: Any) -> None:
        order.append("second")

    world.root.on(AGENT_TURN_STOPPING, first)
    world.root.on(AGENT_TURN_STOPPING, second)
    world.followup("A")
    assert order == []
    world.run(lambda: gate.set_result(None))
    assert (order, world.log()[-1]) == (["first", "second"], "turn/end 1 completed")


def test_no_proposal_once_the_turn_is_over(world: World) -> None:
    """A plain answer has one claim and one pre-step (LOOP-STOP-04), and no stop after a rejection (LOOP-STOP-01)."""
    world.create()
    world.followup("A")
    assert len(rows(world, "> pre-step", "claimed")) == 2
    pre_step(world, lambda _: Reject())
    world.followup("B")
    assert rows(world, "> stopping") == []


def test_ceiling_is_the_outcome_and_drops_calls(world: World) -> None:
    """A cut answer ends max-tokens; none of its tool calls is kept or dispatched (LOOP-END-01)."""
    world.create()
    call = {"type": "block-end", "index": 1, "block": {"type": "tool-call", "id": "c", "name": "t", "arguments": "{}"}}
    world.model.follow(stream(*chunks_of("x"), call, finish("max-tokens")))
    world.followup("A")
    assert rows(world, "assistant", "tool", "turn/end") == ["assistant/message x", "turn/end 1 max-tokens"]


def test_ceiling_is_sticky_within_its_turn(world: World) -> None:
    """A later completed step does not change it; the next turn starts afresh (LOOP-END-02)."""
    agent = world.create()
    world.model.follow(cut("x"), text("y"))
    pre_step(world, lambda hook: agent.steer(message("S")) if (hook.turn, hook.step) == (1, 1) else None)
    world.followup("A", "B")
    assert rows(world, "turn/end") == ["turn/end 1 max-tokens", "turn/end 2 completed"]


def test_sticky_ceiling_owes_no_answer_to_a_tool_call(world: World) -> None:
    """A tool-call step after the ceiling is the last of its turn (LOOP-END-03)."""
    agent = world.create()
    call = {"type": "block-end", "index": 0, "block": {"type": "tool-call", "id": "c", "name": "t", "arguments": "{}"}}
    world.model.follow(cut("x"), stream(call, finish("tool-calls")), text("never"))
    pre_step(world, lambda hook: agent.steer(message("S")) if hook.step == 1 else None)
    world.followup("A")
    assert rows(world, "turn/end") == ["turn/end 1 max-tokens"]
    assert len(world.model.requests) == 2


def test_quiet_input_is_drained_while_the_driver_is_awake(world: World) -> None:
    """After a completed turn anything pending opens another one (LOOP-NEXT-01)."""
    agent = world.create()
    pre_step(world, lambda hook: agent.send(message("P"), "next-turn", wakeup=False) if hook.turn == 1 else None)
    world.followup("A")
    assert rows(world, "running", "> pre-step", "idle") == ["running", "> pre-step 1.1 A", "> pre-step 2.1 P", "idle"]


def test_failed_turn_parks_the_queue(world: World) -> None:
    """After an error the run settles; the next wake takes what is parked in order (LOOP-NEXT-02)."""
    agent = world.create()
    world.model.follow(fail("X"), text("ok"))
    world.followup("A", "B")
    assert ids(agent) == "B"
    world.take()
    world.run(lambda: agent.steer(message("C")))
    assert rows(world, "> pre-step") == ["> pre-step 2.1 C,B"]


class CodedError(DshError):
    default_code = "CODED"


def chain(*texts: str) -> BaseException:
    """Make an error caused by the next, caused by the next."""
    error: BaseException | None = None
    for said in reversed(texts):
        outer = ValueError(said)
        outer.__cause__ = error
        error = outer
    assert error is not None
    return error


@pytest.mark.parametrize(
    ("error", "facts"),
    [
        (LlmError("busy", "RATE", status=429), {"message": "busy", "code": "RATE", "status": 429}),
        (CodedError("mine"), {"message": "mine", "code": "UNKNOWN"}),
        (ValueError("plain"), {"message": "plain", "code": "UNKNOWN"}),
        (ValueError(), {"message": "ValueError", "code": "UNKNOWN"}),
        (chain("outer", "inner", "inner"), {"message": "outer: inner", "code": "UNKNOWN"}),
        (chain("outer", "outer"), {"message": "outer", "code": "UNKNOWN"}),
        (ExceptionGroup("agg", [ValueError("x"), ValueError("y")]), {"message": "agg [x; y]", "code": "UNKNOWN"}),
    ],
)
def test_facts_of_a_failed_turn(world: World, error: BaseException, facts: dict[str, Any]) -> None:
    """A model error gives its facts, anything else its text under UNKNOWN (LOOP-ERR-01, LOOP-ERR-02)."""
    world.create()

    async def throw(*_: Any) -> Any:
        raise error

    raised: list[BaseException] = []
    world.root.on(AGENT_ERROR, lambda p: raised.append(p.error))
    world.root.on(AGENT_PRE_STEP, throw)
    world.followup("A")
    assert world.session().events[-1]["data"]["reason"] == {"kind": "error", "error": facts}
    assert raised == [error]


def test_cancellation_of_a_callee_is_a_failure(world: World) -> None:
    """A hook that awaits a cancelled task of its own fails its turn; the driver lives on (LOOP-ERR-04)."""
    world.create()

    async def throw(*_: Any) -> Any:
        future = world.loop.create_future()
        future.cancel()
        await future

    stop = world.root.on(AGENT_PRE_STEP, throw)
    world.followup("A")
    assert world.take()[-3:] == ["agent/error 1.0 ", "turn/end 1 error UNKNOWN", "idle"]
    stop()
    world.followup("B")
    assert world.log()[-1] == "turn/end 2 completed"


def test_failure_is_reported_between_step_and_turn_end(world: World) -> None:
    """agent/error stands after step/end and before turn/end, with the last opened step (LOOP-ERR-03)."""
    world.create()
    world.model.follow(fail("X"))
    world.followup("A")
    assert world.take()[-5:] == [
        "> request-error 1.1 X",
        "step/end 1.1",
        "agent/error 1.1 busy",
        "turn/end 1 error X",
        "idle",
    ]


def test_failure_before_the_step_loses_the_batch(world: World) -> None:
    """It is neither put back nor discarded nor entered; later input stays parked (LOOP-ERR-05)."""
    agent = world.create()
    thrown: list[None] = []

    def decide(_: AgentPreStep) -> None:
        if not thrown:
            thrown.append(None)
            raise ValueError("boom")

    pre_step(world, decide)
    world.run(do(lambda: agent.followup(message("A")), lambda: agent.steer(message("S"))))
    assert (ids(agent), rows(world, "discarded", "user/message")) == ("S", [])
    world.followup("B")
    assert rows(world, "user/message") == ["user/message S", "user/message B"]


@pytest.mark.parametrize(
    ("kind", "missing"),
    [
        ("user/message", "request/header initial"),
        ("request/header", "request/context"),
        ("request/context", "chunk block-start"),
        ("assistant/chunk", "assistant/message hi"),
        ("assistant/message", "assistant/message hi"),
    ],
)
def test_refused_append_inside_a_step_fails_the_turn(world: World, kind: str, missing: str) -> None:
    """step/end is still appended, and nothing after the refused append is done (LOOP-APP-01)."""
    world.create()
    world.refuse(kind)
    world.followup("A")
    assert world.log()[-2:] == ["step/end 1.1", "turn/end 1 error UNKNOWN"]
    assert missing not in world.log()


def test_refused_step_start_opens_no_step(world: World) -> None:
    """The batch is lost, and no step/end follows (LOOP-APP-02)."""
    agent = world.create()
    world.refuse("step/start")
    world.followup("A")
    assert world.log()[-2:] == ["splice next-turn 0 -1", "turn/end 1 error UNKNOWN"]
    assert not agent.inbox.has_pending


def test_refused_claim_leaves_the_rest_pending(world: World) -> None:
    """What was not taken stays, and the turn fails (LOOP-APP-02)."""
    agent = world.create()
    agent.inject(message("I"))
    world.refuse("agent/inbox/spliced", nth=3)
    world.followup("A")
    assert (ids(agent), world.log()[-1]) == ("A", "turn/end 1 error UNKNOWN")


@pytest.mark.parametrize("script", [text("x"), fail("X")])
def test_refused_step_end_is_the_failure(world: World, script: Any) -> None:
    """It takes the place of any failure of the step itself; turn/end is still appended (LOOP-APP-03)."""
    world.create()
    world.model.follow(script)
    world.refuse("step/end")
    world.followup("A")
    assert rows(world, "agent/error", "turn/end") == ["agent/error 1.1 refused step/end", "turn/end 1 error UNKNOWN"]


@pytest.mark.parametrize(("script", "failures"), [(text("x"), []), (fail("X"), ["agent/error 1.1 busy"])])
def test_refused_turn_end_ends_the_run(world: World, script: Any, failures: list[str]) -> None:
    """It is reported, the log keeps no ending, pending input is parked (LOOP-APP-04)."""
    agent = world.create()
    world.model.follow(script)
    world.refuse("turn/end")
    world.followup("A", "B")
    assert rows(world, "agent/error") == [*failures, "agent/error 1.1 refused turn/end"]
    assert (ids(agent), agent.status, world.log()[-1]) == ("B", "idle", "step/end 1.1")
    world.followup("C")
    assert rows(world, "turn/start")[0] == "turn/start 2"


def test_failing_observer_changes_nothing(world: World) -> None:
    """The event is committed, other observers run, the turn proceeds (LOOP-OBS-01)."""
    world.create()

    def throw(_: SessionPublished) -> None:
        raise ValueError("observer")

    world.root.on(SESSION_EVENT, throw, prepend=True)
    world.followup("A")
    assert world.take()[-2:] == ["turn/end 1 completed", "idle"]


def test_chunks_are_logged_as_they_came(world: World) -> None:
    """Every chunk is an event, unmodified, in order (LOOP-CHUNK-01)."""
    world.create()
    script = [
        *chunks_of("x"),
        {"type": "usage", "usage": {"inputTokens": 1, "outputTokens": 2}, "extra": [1]},
        finish("stop", detail={"a": 1}),
    ]
    world.model.follow(stream(*script))
    world.followup("A")
    logged = [event["data"] for event in world.session().events if event["type"] == "assistant/chunk"]
    assert logged == [
        {"turn": 1, "step": 1, "chunk": {**chunk, **({"extra": (1,)} if "extra" in chunk else {})}} for chunk in script
    ]


@pytest.mark.parametrize("chunks", [[], [finish()]])
def test_empty_answer_is_a_message(world: World, chunks: list[Any]) -> None:
    """It is on the surface, cites its chunks, has the model as its source, and yields no history (LOOP-MSG-01)."""
    world.create()
    world.model.follow(stream(*chunks))
    world.followup("A")
    (event,) = (e for e in world.session().events if e["type"] == "assistant/message")
    assert event["data"]["message"]["content"] == ()
    assert event["data"]["message"]["source"] == {"kind": "model", "provider": "mock", "model": "m1"}
    assert "usage" not in event["data"]
    assert event["sourceEventSeqs"] == tuple(e["seq"] for e in world.session().events if e["type"] == "assistant/chunk")
    assert event["seq"] in world.session().surface.nodes
    assert [m["id"] for m in world.session().derive_messages()] == ["A"]


def test_interrupted_text_is_history(world: World) -> None:
    """The next request has the partial text (DERIVE-PROJ-05)."""
    agent = world.create()
    world.model.follow(hang("par"), text("two"))
    world.followup("A")
    world.run(do(lambda: agent.cancel(USER), lambda: agent.followup(message("B"))))
    assert [m["content"][0]["text"] for m in world.model.requests[1].messages] == ["A", "par", "B"]
