"""Hosts that stop a program: a cancelled task, the end of asyncio.run, a closed coroutine."""

import asyncio
from typing import Any

import pytest
from tests.reference.toolbox import Toolbox, calls
from tests.reference.world import USER, Model, World, aborted, do, hang, message, show_event, when

from dshcore.agent import (
    AGENT_PRE_STEP,
    AGENT_REQUEST,
    AGENT_STATUS,
    AGENT_TURN_STOPPING,
    AGENTS,
    Agent,
    AgentOptions,
    CreateAgentOptions,
)
from dshcore.agent_loop.agent import DrivenAgent
from dshcore.llm import LLM
from dshcore.session import SESSION_EVENT
from dshcore.spine import compose
from dshcore.tools import TOOLS_EXECUTE, TOOLS_POST_EXECUTE, TOOLS_PRE_EXECUTE, ToolRun


def driver_of(agent: Agent) -> "asyncio.Task[object]":
    assert isinstance(agent, DrivenAgent)
    assert agent._activity is not None
    assert agent._activity.task is not None
    return agent._activity.task


def balanced(log: list[str]) -> bool:
    def count(what: str) -> int:
        return sum(row.startswith(what) for row in log)

    return count("turn/start") == count("turn/end") and count("step/start") == count("step/end")


@pytest.mark.parametrize("key", [AGENT_PRE_STEP, AGENT_REQUEST, AGENT_TURN_STOPPING])
def test_cancelled_at_any_await(world: World, key: Any) -> None:
    """A driver that is cancelled by its host leaves a balanced log, an idle agent, and a cancelled task."""
    agent = world.create()

    async def wait(*_: Any) -> Any:
        await world.loop.create_future()

    world.root.on(key, wait)
    world.followup("A")
    task = driver_of(agent)
    world.run(task.cancel)
    assert balanced(world.log())
    assert (world.log()[-1], agent.status, task.cancelled()) == ("turn/end 1 aborted", "idle", True)


def test_cancelled_before_its_second_stretch(world: World) -> None:
    """A cancellation in the stretch of the wake is delivered to the driver, which closes its turn."""
    agent = world.create()
    world.run(do(lambda: agent.followup(message("A")), lambda: driver_of(agent).cancel()))
    assert (world.log()[-1], agent.status) == ("turn/end 1 aborted", "idle")


def test_cancelled_in_its_stream(world: World) -> None:
    """The stream is closed, its prefix is kept, and the signal has fired."""
    agent = world.create()
    closed: list[str] = []

    async def run(_: Any) -> Any:
        from tests.reference.world import chunks_of

        from dshcore.json import freeze

        try:
            for chunk in chunks_of("par"):
                yield freeze(chunk)
            await world.loop.create_future()
        finally:
            closed.append("closed")

    world.model.follow(run)
    world.followup("A")
    world.run(driver_of(agent).cancel)
    assert world.log()[-3:] == ["assistant/message par interrupted", "step/end 1.1", "turn/end 1 aborted"]
    assert closed == ["closed"]
    signal = world.model.requests[0].signal
    assert signal is not None
    assert signal.reason == {"kind": "disposed"}


def test_host_replays_nothing(world: World) -> None:
    """A latched wake is forgotten, so that no driver outlives the clean-up; its message stays pending."""
    agent = world.create()
    world.model.follow(hang(ignore_abort=True))
    world.followup("A")
    world.run(do(lambda: agent.cancel(USER), lambda: agent.steer(message("B"))))
    assert agent.status == "running"
    world.run(driver_of(agent).cancel)
    assert (agent.status, [m["id"] for m in agent.inbox.next_turn]) == ("idle", ["B"])
    world.model.follow(hang())
    world.followup("C")
    assert agent.status == "running"


def test_what_is_sent_on_idle_waits_for_another_wake(world: World) -> None:
    """A listener of the `idle` that a cancelled driver leaves starts no further one, which nobody would cancel."""
    agent = world.create()
    world.model.follow(hang())
    world.followup("A")
    world.root.on(AGENT_STATUS, when(lambda change: change.status == "idle", lambda: agent.steer(message("B"))))
    world.run(driver_of(agent).cancel)
    assert (agent.status, [m["id"] for m in agent.inbox.next_step]) == ("idle", ["B"])
    world.model.follow(hang())
    world.followup("C")
    assert agent.status == "running"


def test_cancelled_maintenance_releases_the_agent(world: World) -> None:
    """Cancelling the answer of run_maintenance cancels the task and frees the phase."""
    agent = world.create()

    async def task(signal: Any) -> None:
        await aborted(signal)

    running = world.start(lambda: agent.run_maintenance(task))
    world.run(running.cancel)
    assert running.cancelled()
    world.followup("A")
    assert world.log()[-1] == "turn/end 1 completed"


def test_cancelled_maintenance_replays_nothing(world: World) -> None:
    """A wake that waited behind it is forgotten, as for a driver; its message stays pending."""
    agent = world.create()

    async def task(signal: Any) -> None:
        await aborted(signal)

    running = world.start(lambda: agent.run_maintenance(task))
    world.followup("A")
    world.run(running.cancel)
    assert (agent.status, [m["id"] for m in agent.inbox.next_turn]) == ("idle", ["A"])


def test_end_of_asyncio_run(capfd: pytest.CaptureFixture[str]) -> None:
    """A program that ends with an open turn leaves a balanced log, and the interpreter prints nothing."""
    kept: list[Agent] = []

    async def main() -> None:
        root = compose()
        model = Model()
        model.follow(hang())
        root[LLM].register(root, ["mock"], model)
        made = CreateAgentOptions(session_id="a", agent_options=AgentOptions(provider="mock", model="m1"))
        handle = await root[AGENTS].create(root, made)
        kept.append(handle.agent)
        streaming = asyncio.Event()
        root.on(SESSION_EVENT, when(lambda p: show_event(p.event) == "chunk text-delta", streaming.set))
        handle.agent.followup(message("A"))
        handle.agent.followup(message("B"))
        await streaming.wait()

    asyncio.run(main())
    log = [show_event(event) for event in kept[0].session.events]
    assert log[-3:] == ["assistant/message par interrupted", "step/end 1.1", "turn/end 1 aborted"]
    assert (balanced(log), kept[0].status) == (True, "idle")
    assert capfd.readouterr().err == ""


def test_closed_coroutine_balances_its_log(world: World) -> None:
    """What can only clean up, without a loop, still closes step and turn."""
    agent = world.create()
    world.model.follow(hang())
    world.followup("A")
    coroutine = driver_of(agent).get_coro()
    assert coroutine is not None
    coroutine.close()
    assert world.log()[-2:] == ["step/end 1.1", "turn/end 1 aborted"]
    assert agent.status == "idle"
    driver_of_closed = [task for task in asyncio.all_tasks(world.loop) if task.get_coro() is coroutine]
    for task in driver_of_closed:
        world.run(task.cancel)


def test_cancelled_while_tools_run(world: World) -> None:
    """Bodies are cancelled and waited for; every call of the answer has its result when the driver is gone."""
    agent = world.create()
    tools = Toolbox(world)
    ended: list[str] = []

    async def body(_: object, run: ToolRun) -> None:
        try:
            await world.loop.create_future()
        finally:
            await asyncio.sleep(0)
            ended.append(f"{run.call_id} {run.signal.reason}")

    tools.add("slow", body, is_concurrency_safe=lambda _: True)
    tools.add("alone")
    world.model.follow(calls("c1:slow", "c2:slow", "c3:alone"))
    world.followup("A")
    task = driver_of(agent)
    world.run(do(task.cancel, lambda: agent.inject(message("I"))))
    assert ended == ["c1 {'kind': 'disposed'}", "c2 {'kind': 'disposed'}"]
    assert world.log()[-7:] == [
        "splice next-step 0 +I",
        "tool/result c1 ABORTED",
        "tool/result c2 ABORTED",
        "tool/call c3",
        "tool/result c3 ABORTED_BEFORE_DISPATCH",
        "step/end 1.1",
        "turn/end 1 aborted",
    ]
    assert (agent.status, task.cancelled()) == ("idle", True)


@pytest.mark.parametrize("key", [TOOLS_PRE_EXECUTE, TOOLS_EXECUTE, TOOLS_POST_EXECUTE])
def test_cancelled_in_a_policy_of_a_tool(world: World, key: Any) -> None:
    """Whatever stage the call is in, it has one result, and no content that policy has not seen."""
    agent = world.create()
    Toolbox(world).add("t")

    async def wait(*_: Any) -> Any:
        await world.loop.create_future()

    world.root.on(key, wait)
    world.model.follow(calls("c1:t", "c2:t"))
    world.followup("A")
    world.run(driver_of(agent).cancel)
    code = "ABORTED" if key is TOOLS_POST_EXECUTE else "ABORTED_BEFORE_DISPATCH"
    assert [row for row in world.log() if row.startswith("tool")] == [
        "tool/call c1",
        f"tool/result c1 {code}",
        "tool/call c2",
        "tool/result c2 ABORTED_BEFORE_DISPATCH",
    ]
    assert (world.log()[-1], agent.status) == ("turn/end 1 aborted", "idle")


def test_a_host_that_repeats_itself_gets_no_earlier_end(world: World) -> None:
    """A body that withstands its cancellation is waited for; the log is balanced all the same."""
    agent = world.create()
    tools = Toolbox(world)
    held: list[Any] = []

    async def body(*_: object) -> str:
        held.append(world.loop.create_future())
        try:
            await world.loop.create_future()
        except asyncio.CancelledError:
            await held[0]
        return "survived"

    tools.add("t", body)
    world.model.follow(calls("c:t"))
    world.followup("A")
    task = driver_of(agent)
    world.run(task.cancel)
    world.run(task.cancel)
    assert agent.status == "running"
    world.run(lambda: held[0].set_result(None))
    assert world.log()[-3:] == ["tool/result c ABORTED", "step/end 1.1", "turn/end 1 aborted"]
    assert task.cancelled()


def test_cancelled_while_a_failure_waits_for_its_bodies(world: World) -> None:
    """The scheduler has failed and waits; the host stops the bodies, and the log is balanced as far as it can be."""
    agent = world.create()
    tools = Toolbox(world)
    world.refuse("tool/call", nth=2)
    tools.add_held()
    world.model.follow(calls("c1:slow", "c2:slow"))
    world.followup("A")
    task = driver_of(agent)
    world.run(task.cancel)
    assert world.log()[-3:] == ["tool/result c1 ABORTED", "step/end 1.1", "turn/end 1 aborted"]
    assert (agent.status, task.cancelled()) == ("idle", True)


def test_closed_while_tools_run(world: World) -> None:
    """A driver whose coroutine is thrown away leaves no call without a result either."""
    agent = world.create()
    tools = Toolbox(world)
    tools.add_held()
    world.model.follow(calls("c1:slow", "c2:slow"))
    world.followup("A")
    task = driver_of(agent)
    coroutine: Any = task.get_coro()
    coroutine.close()
    assert world.log()[-4:] == [
        "tool/result c1 ABORTED",
        "tool/result c2 ABORTED",
        "step/end 1.1",
        "turn/end 1 aborted",
    ]
    world.run(task.cancel)
    assert isinstance(task.exception(), RuntimeError)  # asyncio's, about the coroutine that is closed
