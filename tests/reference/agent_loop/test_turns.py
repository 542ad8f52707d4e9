"""Turns and steps: boundaries, proposals, stops, and which turn follows."""

from collections.abc import Callable
from typing import Any

import pytest
from tests.reference.world import (
    USER,
    World,
    chunks_of,
    cut,
    do,
    finish,
    hang,
    message,
    pending,
    stream,
    text,
)

from dshcore.agent import (
    AGENT_TURN_STOPPING,
    Enter,
    Reject,
)


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
    world.decide(lambda _: decisions.pop(0))
    world.followup("A")
    world.run(do(lambda: agent.followup(message("B")), lambda: agent.cancel(USER)))
    world.followup("C")
    assert world.take_only("turn/end") == ["turn/end 8 blocked", "turn/end 9 aborted", "turn/end 10 completed"]


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
    assert world.take_only("step/start", "> pre-step") == [
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
    world.decide(lambda _: Enter([message("C"), rewritten]))
    world.followup("D")
    entered = [event["data"] for event in agent.session.events if event["type"] == "user/message"]
    assert [(one["id"], one["content"][0]["text"]) for one in entered] == [("C", "C"), ("B", "rewritten")]
    assert not agent.inbox.has_pending
    assert world.take_only("discarded") == []


def test_claim_order_is_entered_without_a_listener(world: World) -> None:
    """Injected context stands before the queued prompt (LOOP-PRE-04)."""
    agent = world.create()
    agent.inject(message("I"))
    world.followup("A")
    assert world.take_only("user/message") == ["user/message I", "user/message A"]


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
    world.decide(lambda hook: Reject() if hook.step == 2 else None)
    world.followup("A")
    assert world.take_only("turn/end", "step/start") == ["step/start 1.1", "turn/end 1 blocked"]


def test_rejection_parks_what_came_later(world: World) -> None:
    """The driver does not go on with the next queued message (LOOP-PRE-07)."""
    agent = world.create()
    world.decide(lambda _: Reject())
    world.followup("A", "B")
    assert (world.take_only("turn/end"), pending(agent), agent.status) == (["turn/end 1 blocked"], "B", "idle")


def test_empty_first_batch_completes_the_turn(world: World) -> None:
    """No step, no model call, and the run settles though other input is pending (LOOP-PRE-08)."""
    agent = world.create()
    world.decide(lambda _: Enter([]))
    world.followup("A", "B")
    assert world.take_only("turn", "step", "> stopping") == ["turn/start 1", "turn/end 1 completed"]
    assert (pending(agent), world.model.requests) == ("B", [])


def test_empty_batch_when_nothing_is_owed(world: World) -> None:
    """It closes the turn with its outcome, without a further stop, and the run goes on (LOOP-PRE-09)."""
    agent = world.create()
    again = [message("S")]

    async def steer(_: Any) -> None:
        if again:
            agent.steer(again.pop())

    world.root.on(AGENT_TURN_STOPPING, steer)
    world.decide(lambda hook: Enter([]) if (hook.turn, hook.step) == (1, 2) else None)
    world.followup("A", "B")
    assert world.take_only("step/start", "> stopping", "turn/end") == [
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
    world.decide(lambda hook: Enter([]) if hook.step == 2 else None)
    world.followup("A")
    assert world.take_only("step/start", "tool", "turn/end") == [
        "step/start 1.1",
        "tool/call c1",
        "tool/result c1 UNKNOWN_TOOL",
        "step/start 1.2",
        "turn/end 1 completed",
    ]
    results = [event for event in world.session().events if event["type"] == "tool/result"]
    assert results[0]["data"]["error"] == {"name": "ToolNotFoundError", "code": "UNKNOWN_TOOL"}
    assert world.model.requests[1].messages[-1]["source"] == {"kind": "tool", "callId": "c1"}


def test_steering_continues_the_turn(world: World) -> None:
    """Input in next-step when a step ends is another step, without a stop in between (LOOP-STEER-01)."""
    agent = world.create()
    world.decide(lambda hook: agent.steer(message("S")) if hook.step == 1 else None)
    world.followup("A")
    assert world.take_only("step", "> stopping", "turn/end") == [
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
    assert world.take_only("> pre-step", "> stopping") == [
        "> pre-step 1.1 A",
        "> stopping 1",
        "> pre-step 1.2 S",
        "> stopping 1",
        "> pre-step 1.3 I",
        "> stopping 1",
        "> pre-step 2.1 F",
        "> stopping 2",
    ]


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
    assert len(world.take_only("> pre-step", "claimed")) == 2
    world.decide(lambda _: Reject())
    world.followup("B")
    assert world.take_only("> stopping") == []


def test_ceiling_is_the_outcome_and_drops_calls(world: World) -> None:
    """A cut answer ends max-tokens; none of its tool calls is kept or dispatched (LOOP-END-01)."""
    world.create()
    call = {"type": "block-end", "index": 1, "block": {"type": "tool-call", "id": "c", "name": "t", "arguments": "{}"}}
    world.model.follow(stream(*chunks_of("x"), call, finish("max-tokens")))
    world.followup("A")
    assert world.take_only("assistant", "tool", "turn/end") == ["assistant/message x", "turn/end 1 max-tokens"]


def test_ceiling_is_sticky_within_its_turn(world: World) -> None:
    """A later completed step does not change it; the next turn starts afresh (LOOP-END-02)."""
    agent = world.create()
    world.model.follow(cut("x"), text("y"))
    world.decide(lambda hook: agent.steer(message("S")) if (hook.turn, hook.step) == (1, 1) else None)
    world.followup("A", "B")
    assert world.take_only("turn/end") == ["turn/end 1 max-tokens", "turn/end 2 completed"]


def test_sticky_ceiling_owes_no_answer_to_a_tool_call(world: World) -> None:
    """A tool-call step after the ceiling is the last of its turn (LOOP-END-03)."""
    agent = world.create()
    call = {"type": "block-end", "index": 0, "block": {"type": "tool-call", "id": "c", "name": "t", "arguments": "{}"}}
    world.model.follow(cut("x"), stream(call, finish("tool-calls")), text("never"))
    world.decide(lambda hook: agent.steer(message("S")) if hook.step == 1 else None)
    world.followup("A")
    assert world.take_only("turn/end") == ["turn/end 1 max-tokens"]
    assert len(world.model.requests) == 2


def test_quiet_input_is_drained_while_the_driver_is_awake(world: World) -> None:
    """After a completed turn anything pending opens another one (LOOP-NEXT-01)."""
    agent = world.create()
    world.decide(lambda hook: agent.send(message("P"), "next-turn", wakeup=False) if hook.turn == 1 else None)
    world.followup("A")
    assert world.take_only("running", "> pre-step", "idle") == [
        "running",
        "> pre-step 1.1 A",
        "> pre-step 2.1 P",
        "idle",
    ]


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
