"""A cancel itself: its cause, what it clears and keeps, and what it reaches before it returns."""

import re
from typing import Any

import pytest
from tests.reference.world import (
    USER,
    World,
    aborted,
    do,
    hang,
    message,
    pending,
    text,
)
from typeguard import suppress_type_checks

from dshcore.agent import (
    AGENT_INBOX_DISCARDED,
    AGENT_PRE_STEP,
    Agent,
)
from dshcore.cancel_signal import CancelSignal
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


@pytest.mark.parametrize("cause", [USER, PARENT, HOOK, {"kind": "disposed"}])
def test_cause_is_the_abort_reason(world: World, agent: Agent, cause: dict[str, str]) -> None:
    """Whoever holds the signal sees the cause itself; the durable ending does not tell it (CANCEL-CAUSE-01)."""
    world.run(lambda: agent.cancel(cause))
    assert world.model.signal.reason == cause
    assert agent.session.events[-1]["data"] == {"turn": 1, "reason": {"kind": "aborted"}}


@pytest.mark.parametrize("cause", [None, "user", 1, ["user"]])
def test_a_cause_that_is_no_object_is_refused(world: World, agent: Agent, cause: Any) -> None:
    """The error names the value; nothing is cleared and nothing aborted."""
    world.run(lambda: agent.inject(message("I")))
    with suppress_type_checks(), pytest.raises(TypeError, match=re.escape(repr(cause))):
        world.run(lambda: agent.cancel(cause))
    assert pending(agent) == "I"
    assert not world.model.signal.aborted


def test_first_cause_wins(world: World, agent: Agent) -> None:
    """Later cancels change neither reason nor ending, and the signal fires once (CANCEL-FIRST-01)."""
    fired: list[object] = []
    world.model.signal.on_abort(lambda: fired.append(world.model.signal.reason))
    world.run(do(lambda: agent.cancel(PARENT), lambda: agent.cancel(USER)))
    assert (fired, world.model.signal.reason) == ([PARENT], PARENT)


def test_clear_comes_before_the_abort(world: World, agent: Agent) -> None:
    """An abort listener already sees an empty inbox, and what it sends is kept (CANCEL-CLEAR-01)."""
    seen: list[bool] = []

    def fired() -> None:
        seen.append(agent.inbox.has_pending)
        agent.inject(message("N"))

    world.model.signal.on_abort(fired)
    world.run(do(lambda: agent.inject(message("I")), lambda: agent.cancel(USER)))
    assert (seen, pending(agent)) == ([False], "N")


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
    assert (pending(agent), agent.status) == ("Q", "idle")
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
    world.model.signal.on_abort(lambda: fired.append("abort"))
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
    assert pending(agent) == "S"


def test_wake_of_a_discarded_listener_is_not_latched(world: World) -> None:
    """During maintenance the rest of the cancel drops the latch that it set (CANCEL-REENTRY-02)."""
    agent = world.create()
    agent.inject(message("I"))
    world.root.on(AGENT_INBOX_DISCARDED, lambda _: agent.steer(message("S")), once=True)

    async def task(signal: CancelSignal) -> None:
        await aborted(signal)

    world.start(lambda: agent.run_maintenance(task))
    world.run(lambda: agent.cancel(USER))
    assert ("running" in world.take(), pending(agent), agent.status) == (False, "S", "idle")


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
