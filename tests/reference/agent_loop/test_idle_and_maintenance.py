"""when_idle and run_maintenance: quiescence, and exclusive work that is no turn."""

import asyncio
from typing import Any

import pytest
from tests.reference.world import USER, World, aborted, do, fail, hang, message, text, when
from typeguard import suppress_type_checks

from dshcore.agent import AGENT_STATUS, AgentBusy
from dshcore.cancel_signal import CancelSignal


def test_idle_agent_is_idle(world: World) -> None:
    """when_idle completes without activity, parked input or not, and has no value (IDLE-RES-01)."""
    agent = world.create()
    assert world.start(agent.when_idle).result() is None
    agent.inject(message("I"))
    assert world.start(agent.when_idle).done()


def test_when_idle_completes_after_the_idle_event(world: World) -> None:
    """The idle status event was dispatched by then (IDLE-RES-02)."""
    agent = world.create()

    async def watch() -> None:
        await agent.when_idle()
        world.rows.append("when_idle")

    def stretch() -> None:
        agent.followup(message("A"))
        watching.append(asyncio.ensure_future(watch()))

    watching: list[Any] = []
    world.run(stretch)
    assert world.take()[-2:] == ["idle", "when_idle"]


def test_when_idle_follows_a_replay(world: World) -> None:
    """Taken during turn 1, it completes after the replayed turn 2 (IDLE-FOLLOW-01)."""
    agent = world.create()
    world.model.follow(hang(), hang())
    world.followup("A")
    waiting = world.start(agent.when_idle)
    world.run(do(lambda: agent.cancel(USER), lambda: agent.steer(message("B"))))
    assert not waiting.done()
    world.run(lambda: agent.cancel(USER))
    assert waiting.done()


def test_when_idle_follows_work_of_the_idle_listener(world: World) -> None:
    """A driver started by an idle listener is waited for as well (IDLE-FOLLOW-01)."""
    agent = world.create()
    world.model.follow(text("a"), hang())
    again = [message("B")]
    world.root.on(AGENT_STATUS, when(lambda p: p.status == "idle" and again, lambda: agent.followup(again.pop())))
    waiting: list[Any] = []
    world.run(
        do(lambda: agent.followup(message("A")), lambda: waiting.append(asyncio.ensure_future(agent.when_idle())))
    )
    assert not waiting[0].done()
    world.run(lambda: agent.cancel(USER))
    assert waiting[0].done()


@pytest.mark.parametrize("case", ["fail", "cancel on running"])
def test_when_idle_never_fails(world: World, case: str) -> None:
    """A failed turn, and one that never opened, let it complete normally (IDLE-FAIL-01)."""
    agent = world.create()
    world.model.follow(fail("X"))
    if case != "fail":
        world.root.on(AGENT_STATUS, when(lambda p: p.status == "running", lambda: agent.cancel(USER)))
    waiting: list[Any] = []
    world.run(
        do(lambda: agent.followup(message("A")), lambda: waiting.append(asyncio.ensure_future(agent.when_idle())))
    )
    assert waiting[0].result() is None


def test_cancelled_waiter_harms_nobody(world: World) -> None:
    """Cancelling one waiter ends its waiting alone."""
    agent = world.create()
    world.model.follow(hang())
    world.followup("A")
    first, second = world.start(agent.when_idle), world.start(agent.when_idle)
    world.run(first.cancel)
    assert (first.cancelled(), second.done(), agent.status) == (True, False, "running")
    world.run(lambda: agent.cancel(USER))
    assert second.done()


def test_task_starts_inside_the_call(world: World) -> None:
    """A send right after the call finds the task, and starts no turn (MAINT-START-01)."""
    agent = world.create()
    world.take()
    release = world.loop.create_future()
    begun: list[CancelSignal] = []

    async def task(signal: CancelSignal) -> None:
        begun.append(signal)
        await release

    def stretch() -> None:
        agent.run_maintenance(task)
        assert len(begun) == 1
        agent.followup(message("A"))

    world.run(stretch)
    assert "running" not in world.take()


def test_second_activity_is_refused(world: World) -> None:
    """While a task or a driver is active the call raises and does not call its task (MAINT-EXCL-01)."""
    agent = world.create()
    called: list[str] = []

    async def never(_: object) -> None:
        called.append("never")

    async def outer(_: object) -> None:
        with pytest.raises(AgentBusy, match='agent "a" already has active work'):
            agent.run_maintenance(never)

    assert world.start(lambda: agent.run_maintenance(outer)).exception() is None
    world.model.follow(hang())
    world.followup("A")
    with pytest.raises(AgentBusy):
        world.run(lambda: agent.run_maintenance(never))
    assert called == []


def test_task_that_is_no_coroutine(world: World) -> None:
    """It fails with a remedy, and the agent is idle again."""
    agent = world.create()
    with suppress_type_checks():
        failure = world.start(lambda: agent.run_maintenance(lambda _: 5)).exception()  # type: ignore[arg-type, return-value]
    assert "the maintenance task answered a int, which cannot be awaited: write it with async def" in str(failure)
    assert world.start(agent.when_idle).exception() is None


def test_task_without_a_loop_changes_nothing(world: World) -> None:
    """Where it could not run, it is refused before the phase is taken."""
    agent = world.create()

    async def task(_: object) -> None:
        """Never called."""

    with pytest.raises(RuntimeError, match="no running event loop"):
        agent.run_maintenance(task)
    assert world.start(lambda: agent.run_maintenance(task)).exception() is None


def test_outcome_is_the_tasks_own(world: World) -> None:
    """Its value, its failure, and a failure before its first suspension come through the answer (MAINT-RES-01)."""
    agent = world.create()

    async def value(_: object) -> int:
        return 42

    async def late(_: object) -> None:
        await asyncio.sleep(0)
        raise ValueError("late")

    async def early(_: object) -> None:
        raise ValueError("early")

    assert world.start(lambda: agent.run_maintenance(value)).result() == 42
    for task, text_ in ((late, "late"), (early, "early")):
        with pytest.raises(ValueError, match=text_):
            world.start(lambda task=task: agent.run_maintenance(task)).result()  # type: ignore[misc]
    assert agent.status == "idle"


def test_task_leaves_no_trace(world: World) -> None:
    """It emits no status, appends nothing and consumes no turn number (MAINT-STATUS-01)."""
    agent = world.create()
    world.followup("A")
    world.take()

    async def task(_: object) -> None:
        await asyncio.sleep(0)

    world.start(lambda: agent.run_maintenance(task))
    assert world.take() == []
    world.followup("B")
    assert "turn/start 2" in world.take()


def test_quiet_input_starts_nothing_after_a_task(world: World) -> None:
    """Nor does a latched wake whose message was removed (MAINT-LATCH-02)."""
    agent = world.create()

    async def quiet(_: object) -> None:
        agent.inject(message("I"))

    async def removed(_: object) -> None:
        agent.inbox.remove("I")
        agent.followup(message("W"))
        agent.inbox.remove("W")

    for task in (quiet, removed):
        world.start(lambda task=task: agent.run_maintenance(task))  # type: ignore[misc]
        assert "running" not in world.take()


def test_cancel_aborts_a_task(world: World) -> None:
    """Input is cleared, later waking input runs after the task has settled (MAINT-CANCEL-01)."""
    agent = world.create()
    reasons: list[object] = []

    async def task(signal: CancelSignal) -> None:
        await aborted(signal)
        reasons.append(signal.reason)

    def stretch() -> None:
        agent.inject(message("I"))
        agent.cancel(USER)
        agent.cancel({"kind": "parent"})
        agent.steer(message("S"))

    world.start(lambda: agent.run_maintenance(task))
    world.run(stretch)
    assert reasons == [USER]
    rows = world.take()
    assert "discarded I" in rows
    assert "splice next-turn 0 +S" in rows
    assert "> pre-step 1.1 S" in rows


def test_signal_of_a_finished_task_never_fires(world: World) -> None:
    """A later cancel does not abort it (MAINT-CANCEL-02)."""
    agent = world.create()
    kept: list[CancelSignal] = []

    async def task(signal: CancelSignal) -> None:
        kept.append(signal)

    world.start(lambda: agent.run_maintenance(task))
    world.run(lambda: agent.cancel(USER))
    assert not kept[0].aborted


def test_failed_task_releases_the_phase_and_the_latch(world: World) -> None:
    """A latched wake runs after a failure like after a success (MAINT-FAIL-01)."""
    agent = world.create()

    async def task(_: object) -> None:
        agent.followup(message("A"))
        raise ValueError("boom")

    assert isinstance(world.start(lambda: agent.run_maintenance(task)).exception(), ValueError)
    assert "> pre-step 1.1 A" in world.take()
