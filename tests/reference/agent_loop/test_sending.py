"""Sending: what a delivery does before it returns, and when it wakes the driver."""

from typing import Any

import pytest
from tests.reference.world import USER, World, do, hang, message, text

from dshcore.agent import (
    AGENT_INBOX_INSERTED,
    AGENT_PRE_STEP,
    AGENT_STATUS,
    AGENTS,
    AgentPreStep,
    DuplicateMessage,
)
from dshcore.events import Next


def starts(rows: list[str], *first: str) -> list[str]:
    return [row for row in rows if row.startswith(first)]


def test_identity_is_shared(world: World) -> None:
    """The agent's id is its session's, and the registry finds this very agent (AGENT-ID-01)."""
    agent = world.create("x")
    assert agent.id == agent.session.id == agent.session.header["id"] == "x"
    assert world.root[AGENTS].get("x") is agent


def test_status_in_maintenance_and_after_disposal_is_idle(world: World) -> None:
    """There are two status values: a task reads idle, and so does a disposed agent (AGENT-STATUS-01)."""
    agent = world.create()
    seen: list[str] = []

    async def task(_signal: object) -> None:
        seen.append(agent.status)

    world.start(lambda: agent.run_maintenance(task))
    world.dispose()
    assert [*seen, agent.status] == ["idle", "idle"]


def test_status_is_in_force_before_its_listeners(world: World) -> None:
    """Status events alternate, and the getter already has the new value (AGENT-STATUS-02)."""
    agent = world.create()
    seen: list[tuple[str, str]] = []
    world.root.on(AGENT_STATUS, lambda p: seen.append((p.status, agent.status)), prepend=True)
    world.followup("A", "B")
    world.followup("C")
    assert seen == [("running", "running"), ("idle", "idle")] * 2


def test_waking_send_opens_and_claims_before_it_returns(world: World) -> None:
    """The insertion, the status, the turn and the claim stand before the return, nothing else does."""
    agent = world.create()
    world.take()
    before: list[str] = []

    def stretch() -> None:
        agent.followup(message("A"))
        before.extend(world.take())

    world.run(stretch)
    assert before == [
        "splice next-turn 0 +A",
        "inserted A",
        "running",
        "turn/start 1",
        "splice next-turn 0 -1",
        "claimed 1 A",
    ]


def test_presets(world: World) -> None:
    """followup, steer and inject differ in target and wake alone (AGENT-SEND-01)."""
    agent = world.create()
    world.model.follow(hang())
    world.followup("A")
    world.take()
    world.run(
        do(lambda: agent.followup(message("F")), lambda: agent.steer(message("S")), lambda: agent.inject(message("I")))
    )
    assert starts(world.take(), "splice") == ["splice next-turn 0 +F", "splice next-step 0 +S", "splice next-step 1 +I"]


@pytest.mark.parametrize("target", ["next-turn", "next-step"])
def test_quiet_send_starts_nothing(world: World, target: Any) -> None:
    """A non-waking send from idle is one splice, and waits for another wake (AGENT-SEND-02)."""
    agent = world.create()
    world.take()
    world.run(lambda: agent.send(message("I"), target, wakeup=False))
    assert (world.take(), agent.status) == ([f"splice {target} 0 +I", "inserted I"], "idle")
    world.followup("W")
    assert any(row.startswith("> pre-step 1.1 I") for row in world.take())


def test_refused_send_wakes_nobody(world: World) -> None:
    """A send whose insertion fails raises its error and starts no driver (AGENT-SEND-03)."""
    agent = world.create()
    agent.inject(message("M"))
    world.take()
    with pytest.raises(DuplicateMessage):
        world.run(lambda: agent.followup(message("M")))
    assert (world.take(), agent.status) == ([], "idle")


def test_waking_send_without_a_loop_changes_nothing(world: World) -> None:
    """Where no driver could run, a waking send is refused before anything changes."""
    agent = world.create()
    world.take()
    with pytest.raises(RuntimeError, match="no running event loop"):
        agent.followup(message("A"))
    assert (world.take(), agent.inbox.has_pending, agent.status) == ([], False, "idle")


def test_second_message_of_a_stretch_is_not_in_the_first_batch(world: World) -> None:
    """Of two steers in one stretch the first is entered in step 1, the second in step 2 (AGENT-SEND-04)."""
    agent = world.create()
    world.run(do(lambda: agent.steer(message("A")), lambda: agent.steer(message("B"))))
    assert starts(world.take(), "user/message", "step/start", "turn/start") == [
        "turn/start 1",
        "step/start 1.1",
        "user/message A",
        "step/start 1.2",
        "user/message B",
    ]


def test_waking_send_to_a_live_driver_only_inserts(world: World) -> None:
    """It is claimed at the next turn boundary of the same run, and leaves nothing behind (AGENT-SEND-05)."""
    agent = world.create()
    release = world.loop.create_future()

    async def wait(_: AgentPreStep, next_layer: Next[Any]) -> Any:
        await release
        return await next_layer()

    world.root.on(AGENT_PRE_STEP, wait, once=True)
    world.followup("A")
    world.take()
    world.run(lambda: agent.followup(message("B")))
    assert world.take() == ["splice next-turn 0 +B", "inserted B"]
    world.run(lambda: release.set_result(None))
    rows = world.take()
    assert starts(rows, "turn/", "running", "idle") == [
        "turn/end 1 completed",
        "turn/start 2",
        "turn/end 2 completed",
        "idle",
    ]


def test_one_running_interval_spans_the_queue(world: World) -> None:
    """Three follow-ups in one stretch are three turns between one running and one idle (AGENT-STATUS-04)."""
    world.create()
    world.followup("A", "B", "C")
    assert starts(world.take(), "running", "idle", "turn/end") == [
        "running",
        "turn/end 1 completed",
        "turn/end 2 completed",
        "turn/end 3 completed",
        "idle",
    ]


def test_nothing_of_a_step_comes_inside_the_stretch_of_the_send(world: World) -> None:
    """A cancel in the stretch of the send comes before pre-step, so that no step opens (AGENT-SEND-07)."""
    agent = world.create()
    world.take()
    world.run(do(lambda: agent.followup(message("A")), lambda: agent.cancel(USER, keep_inbox=True)))
    assert world.take()[3:] == ["turn/start 1", "splice next-turn 0 -1", "claimed 1 A", "turn/end 1 aborted", "idle"]
    assert not agent.inbox.has_pending


def test_wake_from_idle_opens_its_turn_though_its_message_is_gone(world: World) -> None:
    """An inserted listener that removes the message leaves an empty, completed turn (WAKE-IDLE-01)."""
    agent = world.create()
    world.take()
    world.root.on(AGENT_INBOX_INSERTED, lambda _: agent.inbox.remove("A"))
    world.followup("A")
    assert world.take()[2:] == [
        "splice next-turn 0 -1 canceled",
        "discarded A",
        "running",
        "turn/start 1",
        "> pre-step 1.1",
        "turn/end 1 completed",
        "idle",
    ]


def test_drivers_of_agents_are_independent(world: World) -> None:
    """An agent that waits for its model holds up no other (LOOP-ISO-01)."""
    a, b = world.create("a"), world.create("b")
    world.model.follow(hang(), text("done"))
    world.run(lambda: a.followup(message("A")))
    world.take()
    world.run(lambda: b.followup(message("B")))
    assert "turn/end 1 completed" in world.take()
    assert (a.status, b.status) == ("running", "idle")


def test_listeners_added_in_a_dispatch_hear_later_ones(world: World) -> None:
    """The listeners of one dispatch are fixed when it starts (EVENTS-EMIT-02)."""
    agent = world.create()
    heard: list[str] = []

    def first(_: object) -> None:
        world.root.on(AGENT_INBOX_INSERTED, lambda p: heard.append(p.message["id"]))

    world.root.on(AGENT_INBOX_INSERTED, first, once=True)
    agent.inject(message("I"))
    agent.inject(message("J"))
    assert heard == ["J"]


def test_nested_status_is_seen_before_the_one_that_caused_it(world: World) -> None:
    """A recorder behind an idle listener that sends sees running before the idle (EVENTS-EMIT-02)."""
    agent = world.create()
    order: list[str] = []
    sent: list[bool] = []

    def again(payload: Any) -> None:
        if payload.status == "idle" and not sent:
            sent.append(True)
            agent.followup(message("B"))

    world.root.on(AGENT_STATUS, again)
    world.root.on(AGENT_STATUS, lambda p: order.append(p.status))
    world.followup("A")
    assert order == ["running", "running", "idle", "idle"]


def test_scoped_listeners_hear_their_agent_alone(world: World) -> None:
    """A listener through an agent's scope hears that agent and its session; others hear all (EVENTS-SCOPE-01)."""
    a, b = world.create("a"), world.create("b")
    heard: list[str] = []

    async def pre_step(hook: AgentPreStep, next_layer: Next[Any]) -> Any:
        heard.append(f"pre-step {hook.agent.id}")
        return await next_layer()

    a.ctx.on(AGENT_PRE_STEP, pre_step)
    a.ctx.on(AGENT_STATUS, lambda p: heard.append(f"{p.status} {p.agent.id}"))
    world.run(do(lambda: b.followup(message("B")), lambda: a.followup(message("A"))))
    assert heard == ["running a", "pre-step a", "idle a"]


def test_failing_listener_harms_nobody(world: World, caplog: pytest.LogCaptureFixture) -> None:
    """A status listener that throws and one that rejects are logged; the turn completes (EVENTS-EMIT-01)."""
    world.create()

    def throw(_: object) -> None:
        raise ValueError("thrown")

    async def reject(_: object) -> None:
        raise ValueError("rejected")

    world.root.on(AGENT_STATUS, reject, prepend=True)
    world.root.on(AGENT_STATUS, throw, prepend=True)
    world.followup("A")
    assert world.take()[-1] == "idle"
    assert 'agent event "agent/status" listener threw: ValueError: thrown' in caplog.messages
    assert 'agent event "agent/status" listener rejected: ValueError: rejected' in caplog.messages
