"""Disposals that something cuts across: the host's cancellation, an interrupt, a failing observer, another loop."""

import asyncio
import gc
from typing import Any

import pytest
from tests.reference.world import World, hang, message

from dshcore.agent import AGENT_DISPOSED, AGENTS, Agent
from dshcore.agent_loop import ForeignLoop
from dshcore.context import FIBER_STATUS, NoEventLoop
from dshcore.session import SESSION_EVENT
from dshcore.settling import SettlingLoop

GONE = ["agent/disposed a", "session/disposed a"]


@pytest.fixture
def agent(world: World) -> Agent:
    made = world.create()
    world.take()
    return made


def cancel_all(world: World) -> None:
    """Do what the end of `asyncio.run` does: every task there is, one time."""
    for task in asyncio.all_tasks(world.loop):
        task.cancel()


def dispose_and_end(world: World, whose: str, turns: int) -> "asyncio.Task[Any]":
    """Begin a disposal, let some turns of the loop pass, and end the program."""

    async def main() -> None:
        (world.handles["a"] if whose == "handle" else world.root).dispose()
        for _ in range(turns):
            await asyncio.sleep(0)
        cancel_all(world)

    return world.start(main)


@pytest.mark.parametrize("turns", range(5))
@pytest.mark.parametrize("running", [True, False])
@pytest.mark.parametrize("whose", ["handle", "root"])
def test_a_program_that_ends_in_a_disposal(
    world: World, agent: Agent, whose: str, turns: int, *, running: bool
) -> None:
    """However far it has come: cleanups begin and are cancelled, the agent leaves in order, no task is left."""
    rows: list[str] = []

    async def cleanup() -> None:
        rows.append("cleanup")
        await world.loop.create_future()

    agent.ctx.effect(cleanup, label="test")
    hear = world.root.open(name="hears to the end", owned=False)
    hear.on(AGENT_DISPOSED, lambda _: rows.append("disposed"))
    hear.on(SESSION_EVENT, lambda p: rows.append(p.event["type"]))
    if running:
        world.model.follow(hang())
        world.followup("A")
    del rows[:]
    dispose_and_end(world, whose, turns)
    closers = ["assistant/message", "step/end", "turn/end"] if running else []
    assert rows == [*closers, "cleanup", "disposed"]
    assert (agent.status, agent.ctx.active, asyncio.all_tasks(world.loop)) == ("idle", False, set())


def test_who_disposes_again_after_an_interrupted_disposal(
    world: World, agent: Agent, caplog: pytest.LogCaptureFixture
) -> None:
    """It is over, for the handle and for what is around the agent; nothing of it is logged (LIFE-DISP-07)."""
    dispose_and_end(world, "handle", 0)
    assert (world.take(), world.registered()) == (GONE, (False, False))
    assert world.dispose().exception() is None
    assert world.start(world.root.dispose).exception() is None
    assert (agent.status, caplog.messages) == ("idle", [])


@pytest.mark.parametrize("turns", [0, 2])
@pytest.mark.parametrize("what", ["cleanup", "maintenance"])
def test_what_withstands_its_cancellation_is_waited_for(world: World, agent: Agent, what: str, turns: int) -> None:
    """Meanwhile the agent is registered, as in any disposal; then the cancellation comes out (LIFE-DISP-09)."""
    held = world.loop.create_future()

    async def withstand(*_: object) -> None:
        try:
            await world.loop.create_future()
        finally:
            await held

    if what == "cleanup":
        agent.ctx.effect(withstand, label="test")
    else:
        world.start(lambda: agent.run_maintenance(withstand))
    dispose_and_end(world, "handle", turns)
    assert world.registered() == (True, True)
    (teardown,) = [task for task in asyncio.all_tasks(world.loop) if task.get_name() == "teardown of agent a"]
    world.run(lambda: held.set_result(None))
    assert (world.take_only("agent/", "session/"), world.registered()) == (GONE, (False, False))
    assert teardown.cancelled()


def test_an_interrupt_in_a_disposal_leaves_nothing(world: World, agent: Agent) -> None:
    """It stops the program, once, behind the last step; whoever goes on all the same finds the id free."""

    def interrupt(_: object) -> None:
        raise KeyboardInterrupt

    remove = world.root.on(AGENT_DISPOSED, interrupt)
    complaints: list[object] = []
    world.loop.set_exception_handler(lambda _, context: complaints.append(context["message"]))
    with pytest.raises(KeyboardInterrupt):
        world.dispose()
    remove()
    assert (world.registered(), agent.status) == ((False, False), "idle")
    assert world.dispose().exception() is None
    gc.collect()
    assert complaints == []


def test_a_failing_status_observer_is_logged_once(world: World, agent: Agent, caplog: pytest.LogCaptureFixture) -> None:
    """The teardown goes on, and asyncio has nothing to say (LIFE-DISP-15)."""

    def observe(change: Any) -> None:
        if change.fiber is agent.ctx.fiber:
            raise ValueError("observer")

    remove = world.root.on(FIBER_STATUS, observe)
    disposing = world.dispose()
    remove()
    assert (disposing.exception(), world.take()) == (None, GONE)
    del disposing
    gc.collect()
    assert caplog.messages == ["agent a: unloading failed: ValueError: observer"]


def test_a_disposal_without_a_loop_changes_nothing(world: World, agent: Agent) -> None:
    """It is refused before anything is cancelled."""
    with pytest.raises(NoEventLoop):
        world.handles["a"].dispose()
    world.run(lambda: agent.followup(message("A")))
    assert world.log()[-1] == "turn/end 1 completed"


def test_a_disposal_in_another_loop_changes_nothing(world: World, agent: Agent) -> None:
    """It is refused by name; in its own loop the agent goes on."""
    other = SettlingLoop()

    async def dispose() -> None:
        await world.handles["a"].dispose()

    with pytest.raises(ForeignLoop, match=r'^agent "a" lives in another event loop'):
        other.run_until_complete(dispose())
    other.finish()
    assert world.root[AGENTS].get("a") is agent
    world.run(lambda: agent.followup(message("A")))
    assert world.log()[-1] == "turn/end 1 completed"
