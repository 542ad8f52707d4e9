"""The wake latch: which wakes are remembered, which are dropped, and when they are replayed."""

from typing import Any

import pytest
from tests.reference.world import USER, World, do, fail, hang, message, pending, text, when

from dshcore.agent import (
    AGENT_ERROR,
    AGENT_INBOX_INSERTED,
    AGENT_PRE_STEP,
    AGENT_STATUS,
    Agent,
    Enter,
    Reject,
)
from dshcore.agent_loop.agent import DrivenAgent
from dshcore.agent_loop.phase import State

DISPOSED = {"kind": "disposed"}


@pytest.fixture
def agent(world: World) -> Agent:
    """An agent whose first turn hangs in its stream; later requests are answered."""
    made = world.create()
    world.model.follow(hang(), text("two"))
    world.followup("A")
    world.take()
    return made


def turns(world: World) -> list[str]:
    """The status events and the pre-step calls: what ran, with which input, in which interval."""
    return [row for row in world.take() if row.startswith(("running", "idle", "> pre-step"))]


def test_wake_after_an_abort_is_replayed(world: World, agent: Agent) -> None:
    """A steer is filed under next-turn and runs as the next turn (WAKE-LATCH-01, WAKE-LATCH-02)."""
    world.run(do(lambda: agent.cancel(USER), lambda: agent.steer(message("B"))))
    rows = world.take()
    assert "splice next-turn 0 +B" in rows
    end = rows.index("turn/end 1 aborted")
    assert rows[end + 1 : end + 4] == ["idle", "running", "turn/start 2"]


def test_quiet_send_after_an_abort_keeps_its_target(world: World, agent: Agent) -> None:
    """It sets no latch and, alone, starts nothing (WAKE-LATCH-02)."""
    world.run(do(lambda: agent.cancel(USER), lambda: agent.inject(message("N"))))
    rows = world.take()
    assert "splice next-step 0 +N" in rows
    assert (rows[-1], pending(agent)) == ("idle", "N")


def test_replay_drains_by_the_normal_rules(world: World, agent: Agent) -> None:
    """Parked messages come before the latched ones; any number of wakes is one replay (WAKE-LATCH-03)."""

    def stretch() -> None:
        agent.followup(message("Q"))
        agent.cancel(USER, keep_inbox=True)
        agent.steer(message("B"))
        agent.steer(message("C"))

    world.run(stretch)
    assert turns(world) == ["idle", "running", "> pre-step 2.1 Q", "> pre-step 3.1 B", "> pre-step 4.1 C", "idle"]


def test_send_from_an_abort_listener_is_latched(world: World, agent: Agent) -> None:
    """It counts as sent after the abort, although cancel has not returned (WAKE-LATCH-04)."""
    signal = world.model.requests[-1].signal
    assert signal is not None
    signal.on_abort(lambda: agent.steer(message("S")))
    world.run(lambda: agent.cancel(USER))
    assert turns(world) == ["idle", "running", "> pre-step 2.1 S", "idle"]


def test_clearing_cancel_drops_the_latch(world: World, agent: Agent) -> None:
    """What is pending later is parked, although a wake had been latched (WAKE-CLEAR-01)."""

    def stretch() -> None:
        agent.cancel(USER, keep_inbox=True)
        agent.followup(message("B"))
        agent.cancel(USER)
        agent.inject(message("I"))

    world.run(stretch)
    assert (turns(world), pending(agent)) == (["idle"], "I")


def test_keeping_cancel_keeps_the_latch(world: World) -> None:
    """A latched wake survives a cancel that keeps the inbox (WAKE-CLEAR-01)."""
    agent = world.create()

    async def task(_: object) -> None:
        agent.followup(message("W"))
        agent.cancel(USER, keep_inbox=True)

    world.start(lambda: agent.run_maintenance(task))
    assert turns(world) == ["running", "> pre-step 1.1 W", "idle"]


def test_replay_is_skipped_when_nothing_is_pending(world: World, agent: Agent) -> None:
    """Removing the only latched message leaves no empty turn (WAKE-EMPTY-01)."""
    world.run(do(lambda: agent.cancel(USER), lambda: agent.steer(message("B")), lambda: agent.inbox.remove("B")))
    assert turns(world) == ["idle"]


def test_replay_looks_for_anything_pending(world: World, agent: Agent) -> None:
    """A parked message runs although the latched one was removed (WAKE-EMPTY-02)."""

    def stretch() -> None:
        agent.followup(message("Q"))
        agent.cancel(USER, keep_inbox=True)
        agent.steer(message("W"))
        agent.inbox.remove("W")

    world.run(stretch)
    assert turns(world) == ["idle", "running", "> pre-step 2.1 Q", "idle"]


def test_disposed_cause_latches_nothing(world: World, agent: Agent) -> None:
    """The late message is filed under next-turn, stays pending, and goes first later (WAKE-DISP-01)."""
    world.run(do(lambda: agent.cancel(DISPOSED), lambda: agent.steer(message("late"))))
    assert "splice next-turn 0 +late" in world.log()
    assert (turns(world), pending(agent)) == (["idle"], "late")
    world.followup("W")
    assert turns(world) == ["running", "> pre-step 2.1 late", "> pre-step 3.1 W", "idle"]


def test_wake_after_disposal_was_requested_never_runs(world: World, agent: Agent) -> None:
    """Whichever cause aborted first: no second turn, and the message stays pending (WAKE-DISP-02)."""
    signal = world.model.requests[-1].signal

    def stretch() -> None:
        agent.cancel(USER)
        world.handles["a"].dispose()
        agent.followup(message("late"))

    world.run(stretch)
    assert (turns(world), pending(agent), len(world.model.requests)) == (["idle"], "late", 1)
    assert signal is not None
    assert signal.reason == USER


def test_replacement_sent_from_the_running_listener(world: World) -> None:
    """Cancel and send from a running listener: the first run has no turn, the replay runs it (WAKE-RUN-01)."""
    agent = world.create()
    world.take()

    def swap(payload: Any) -> None:
        if payload.status == "running" and world.rows.count("running") == 1:
            agent.cancel(USER)
            agent.followup(message("R"))

    world.root.on(AGENT_STATUS, swap)
    world.followup("A")
    assert turns(world) == ["running", "idle", "running", "> pre-step 1.1 R", "idle"]


def test_abort_during_the_insertion_latches_nothing(world: World, agent: Agent) -> None:
    """The send was classified before it: its message keeps its target and is parked (WAKE-RACE-01)."""
    world.on_event("agent/inbox/spliced", lambda: agent.cancel(USER))
    world.run(lambda: agent.steer(message("S")))
    assert (turns(world), [m["id"] for m in agent.inbox.next_step]) == (["idle"], ["S"])


def test_late_send_stays_latched_through_a_nested_cancel(world: World, agent: Agent) -> None:
    """An observer that cancels again clears nothing, since the list was empty; the send is replayed (WAKE-RACE-02)."""
    world.on_event("agent/inbox/spliced", lambda: agent.cancel(USER))
    world.run(do(lambda: agent.cancel(USER), lambda: agent.steer(message("S"))))
    assert turns(world) == ["idle", "running", "> pre-step 2.1 S", "idle"]


@pytest.mark.parametrize(("inject", "replayed"), [(False, []), (True, ["running", "> pre-step 2.1 I", "idle"])])
def test_late_send_removed_by_a_nested_cancel(world: World, agent: Agent, inject: bool, replayed: list[str]) -> None:
    """An inserted listener that cancels removes it; the latch replays only what else is pending (WAKE-RACE-02)."""

    def cancel(_: object) -> None:
        agent.cancel(USER)
        if inject:
            agent.inject(message("I"))

    world.root.on(AGENT_INBOX_INSERTED, cancel, once=True)
    world.run(do(lambda: agent.cancel(USER), lambda: agent.steer(message("S"))))
    assert turns(world) == ["idle", *replayed]


def test_send_interrupted_by_a_cancel_of_a_task_is_latched(world: World) -> None:
    """During maintenance the latch is set after the insertion, whatever came in between (WAKE-RACE-03)."""
    agent = world.create()

    async def task(_: object) -> None:
        world.on_event("agent/inbox/spliced", lambda: agent.cancel(USER, keep_inbox=True))
        agent.steer(message("S"))

    world.start(lambda: agent.run_maintenance(task))
    assert "splice next-step 0 +S" in world.log()
    assert turns(world) == ["running", "> pre-step 1.1 S", "idle"]


def test_task_started_by_an_inserted_listener_takes_the_wake_over(world: World) -> None:
    """The outer send becomes the task's latch (WAKE-RACE-03)."""
    agent = world.create()
    release = world.loop.create_future()
    statuses: list[str] = []

    async def task(_: object) -> None:
        await release

    def maintain(_: object) -> None:
        agent.run_maintenance(task)

    world.root.on(AGENT_INBOX_INSERTED, maintain, once=True)
    world.run(do(lambda: agent.followup(message("A")), lambda: statuses.append(agent.status)))
    assert (statuses, turns(world)) == (["idle"], [])
    world.run(lambda: release.set_result(None))
    assert turns(world) == ["running", "> pre-step 1.1 A", "idle"]


def test_stale_latch_does_not_outlive_its_turn(world: World) -> None:
    """The fresh signal of the next turn comes with a cleared latch (WAKE-STALE-01)."""
    agent = world.create()
    assert isinstance(agent, DrivenAgent)

    def latch() -> None:
        agent._state = State(agent._state.row, latch=True, stage=agent._state.stage)

    world.on_event("turn/end", latch)
    world.followup("A", "B")
    assert turns(world) == ["running", "> pre-step 1.1 A", "> pre-step 2.1 B", "idle"]


def test_wake_of_an_error_listener_is_parked(world: World) -> None:
    """A wake sent while a live turn fails is not latched (WAKE-FAIL-01)."""
    agent = world.create()
    world.model.follow(fail("X"))
    world.root.on(AGENT_ERROR, lambda _: agent.steer(message("S")))
    world.followup("A")
    assert (turns(world), pending(agent)) == (["running", "> pre-step 1.1 A", "idle"], "S")


def test_error_listener_that_cancels_first_is_replayed(world: World) -> None:
    """Its later send counts as sent after an abort, although the turn ends error (WAKE-FAIL-02)."""
    agent = world.create()
    world.model.follow(fail("X"), text("ok"))
    world.root.on(
        AGENT_ERROR, do(lambda: agent.cancel(USER, keep_inbox=True), lambda: agent.steer(message("S"))), once=True
    )
    world.followup("A")
    assert "turn/end 1 error X" in world.log()
    assert turns(world)[1:] == ["> pre-step 1.1 A", "idle", "running", "> pre-step 2.1 S", "idle"]


@pytest.mark.parametrize("decision", [Reject(), Enter(())])
def test_wake_while_a_turn_is_blocked_or_emptied_is_parked(world: World, decision: Any) -> None:
    """A steer sent before such a decision waits for another wake (WAKE-FAIL-01)."""
    agent = world.create()

    async def decide(*_: Any) -> Any:
        agent.steer(message("S"))
        return decision

    world.root.on(AGENT_PRE_STEP, decide)
    world.followup("A")
    assert (turns(world), pending(agent)) == (["running", "> pre-step 1.1 A", "idle"], "S")


@pytest.mark.parametrize("ticks", range(9))
@pytest.mark.parametrize("script", [text("x"), fail("X")])
def test_no_wake_is_lost_around_the_end(world: World, ticks: int, script: Any) -> None:
    """A wake some ticks after the last turn/end is claimed by the run or replayed, never parked (WAKE-GAP-01)."""
    agent = world.create()
    world.model.follow(script, text("late"))

    def later(left: int) -> None:
        if left:
            world.loop.call_soon(later, left - 1)
        else:
            agent.followup(message("G"))

    world.on_event("turn/end", lambda: world.loop.call_soon(later, ticks))
    world.followup("A")
    assert "> pre-step 2.1 G" in world.take()
    assert not agent.inbox.has_pending


def test_driver_started_by_an_idle_listener_is_enough(world: World, agent: Agent) -> None:
    """The replay does not start a second driver (WAKE-STEAL-01)."""
    world.root.on(AGENT_STATUS, when(lambda p: p.status == "idle", lambda: agent.followup(message("L"))), once=True)
    world.run(do(lambda: agent.cancel(USER), lambda: agent.steer(message("B"))))
    assert turns(world) == ["idle", "running", "> pre-step 2.1 B", "> pre-step 3.1 L", "idle"]


def test_task_started_by_an_idle_listener_takes_the_wake_over(world: World, agent: Agent) -> None:
    """The latched message runs after the task (WAKE-STEAL-01)."""
    release = world.loop.create_future()

    async def task(_: object) -> None:
        await release

    def maintain(payload: Any) -> None:
        if payload.status == "idle":
            agent.run_maintenance(task)
            stop()

    stop = world.root.on(AGENT_STATUS, maintain)
    world.run(do(lambda: agent.cancel(USER), lambda: agent.steer(message("B"))))
    assert turns(world) == ["idle"]
    world.run(lambda: release.set_result(None))
    assert turns(world) == ["running", "> pre-step 2.1 B", "idle"]


@pytest.mark.parametrize(("inject", "replayed"), [(False, []), (True, ["running", "> pre-step 2.1 I", "idle"])])
def test_pending_is_tested_after_the_idle_listeners(
    world: World, agent: Agent, inject: bool, replayed: list[str]
) -> None:
    """A listener that cancels prevents an empty replay; what it leaves pending is replayed (WAKE-STEAL-02)."""

    def cancel(payload: Any) -> None:
        if payload.status == "idle" and world.rows.count("idle") == 1:
            agent.cancel(USER)
            if inject:
                agent.inject(message("I"))

    world.root.on(AGENT_STATUS, cancel)
    world.run(do(lambda: agent.cancel(USER), lambda: agent.steer(message("B"))))
    assert turns(world) == ["idle", *replayed]
