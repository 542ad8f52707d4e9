"""The initiator of what drivers do, and of what is delivered to them."""

import asyncio
import gc
import weakref
from collections.abc import Callable
from typing import Any

import pytest
from tests.reference.creating import options
from tests.reference.toolbox import Toolbox, calls
from tests.reference.world import USER, World, do, hang, message, text, when

from dshcore.agent import (
    AGENT_CREATED,
    AGENT_INBOX_INSERTED,
    AGENT_PRE_STEP,
    AGENT_REQUEST,
    AGENT_SESSION_START,
    AGENT_STATUS,
    AGENT_TURN_STOPPING,
    AGENTS,
    Agent,
    AgentPreStep,
    InitiatorScopeDisposed,
)
from dshcore.cancel_signal import CancelSignal
from dshcore.context import Context
from dshcore.session import SESSION_CREATED, SESSION_EVENT


def named(agent: Agent | None) -> str | None:
    return None if agent is None else agent.id


def probe(world: World, *keys: Any) -> list[str]:
    """Note which initiator the listeners of these events read."""
    seen: list[str] = []
    current = world.root[AGENTS].initiators.current

    def listener(key: Any) -> Callable[..., Any]:
        def note(payload: Any) -> None:
            seen.append(f"{key.name} {getattr(payload, 'status', '')}".strip() + f": {named(current())}")

        async def layer(payload: Any, next_layer: Any) -> Any:
            note(payload)
            return await next_layer()

        async def serial(payload: Any) -> None:
            note(payload)

        return layer if key in (AGENT_PRE_STEP, AGENT_REQUEST) else serial if key is AGENT_TURN_STOPPING else note

    for key in keys:
        world.root.on(key, listener(key))
    return seen


def test_driver_runs_inside_its_agents_boundary(world: World) -> None:
    """Everything from the turn's opening to idle; the delivery is its sender's (INIT-DRIVE-01, INIT-DRIVE-02)."""
    world.create()
    seen = probe(world, AGENT_PRE_STEP, AGENT_REQUEST, AGENT_TURN_STOPPING, AGENT_STATUS, AGENT_INBOX_INSERTED)
    events = probe(world, SESSION_EVENT)
    streams: list[str | None] = []
    said = text("hi")

    def stream(request: Any) -> Any:
        streams.append(named(world.root[AGENTS].initiators.current()))
        return said(request)

    world.model.follow(stream)
    world.followup("A")
    assert seen == [
        "agent/inbox/inserted: None",
        "agent/status running: None",
        "agent/pre-step: a",
        "agent/request: a",
        "agent/turn-stopping: a",
        "agent/status idle: a",
    ]
    assert (events[0], set(events[1:])) == ("session/event: None", {"session/event: a"})
    assert streams == ["a"]


def test_replay_runs_in_the_run_that_ended(world: World) -> None:
    """Its running status is dispatched there (INIT-DRIVE-02)."""
    agent = world.create()
    seen = probe(world, AGENT_STATUS)
    world.model.follow(hang(), text("two"))
    world.followup("A")
    world.run(do(lambda: agent.cancel(USER), lambda: agent.followup(message("B"))))
    assert seen == [
        *("agent/status running: None", "agent/status idle: a"),
        *("agent/status running: a", "agent/status idle: a"),
    ]


def test_tool_that_drives_another_agent(world: World, tools: Toolbox) -> None:
    """It reads itself before and after, the other's work the other; deliveries are the sender's (INIT-DRIVE-03)."""
    child = world.create("b", owner=world.handles["a"].agent.ctx)
    read = world.root[AGENTS].initiators.current
    seen: list[Any] = []

    async def pre_step(hook: AgentPreStep, next_layer: Any) -> Any:
        seen.append((hook.agent.id, named(read())))
        return await next_layer()

    world.root.on(AGENT_PRE_STEP, pre_step)
    world.root.on(
        AGENT_STATUS,
        when(lambda p: p.agent is child and p.status == "running", lambda: seen.append(("running", named(read())))),
    )

    async def run() -> str:
        seen.append(("tool", named(read())))
        child.followup(message("C"))
        await child.when_idle()
        seen.append(("tool", named(read())))
        return "ok"

    tools.add("spawn", lambda *_: run())
    world.model.follow(calls("c:spawn"), text("child"), text("end"))
    world.followup("A")
    assert seen == [("a", "a"), ("tool", "a"), ("running", "a"), ("b", "b"), ("tool", "a"), ("a", "a")]


def test_creation_and_maintenance_are_the_callers(world: World) -> None:
    """Setup, the three announcements and a maintenance task read the causal parent (INIT-DRIVE-04)."""
    parent = world.create("p")
    initiators = world.root[AGENTS].initiators
    seen = probe(world, SESSION_CREATED, AGENT_CREATED, AGENT_SESSION_START)

    async def setup(_: Context) -> None:
        await asyncio.sleep(0)
        seen.append(f"setup: {named(initiators.current())}")

    async def task(_: CancelSignal) -> None:
        await asyncio.sleep(0)
        seen.append(f"task: {named(initiators.current())}")

    async def create() -> None:
        handle = await world.root[AGENTS].create(world.root, options(setup=setup))
        await handle.agent.run_maintenance(task)

    world.run(lambda: initiators.within(parent, create))
    assert seen == [
        *("setup: p", "session/created: p", "agent/created: p", "agent/session-start: p"),
        "task: p",
    ]


def test_agents_that_wake_each_other_leave_no_trail(world: World) -> None:
    """A boundary that is over is let go, however long the chain of wakes that followed it."""
    agents = world.create("a"), world.create("b")
    initiators = world.root[AGENTS].initiators
    opened: list[weakref.ref[Any]] = []
    alive: list[int] = []

    def wake_the_other(payload: Any) -> None:
        opened.append(weakref.ref(initiators._boundaries.innermost))
        if len(opened) < 20:
            agents[payload.agent is agents[0]].followup(message(f"m{len(opened)}"))
            return
        world.model.requests.clear()
        gc.collect()
        alive.append(sum(boundary() is not None for boundary in opened))

    world.root.on(AGENT_STATUS, lambda p: wake_the_other(p) if p.status == "idle" else None)
    world.followup("A")
    assert alive
    assert alive[0] <= 5


def test_wake_after_the_closing_began(world: World) -> None:
    """It is refused before anything changes; what needs no driver is not (INIT-CLOSE-06)."""
    agent = world.create()
    world.take()
    registry = _registry_of(world)

    def stretch() -> None:
        registry.dispose()
        for wake in (agent.followup, agent.steer):
            with pytest.raises(InitiatorScopeDisposed):
                wake(message("X"))
        assert (world.take(), agent.status, agent.session.seq) == ([], "idle", 0)
        agent.inject(message("I"))

    world.run(stretch)
    assert "running" not in world.take()
    assert world.model.requests == []


def test_closing_while_a_wake_is_on_its_way(world: World) -> None:
    """A listener of the insertion closes the registry: no driver starts, and the message goes with the agent."""
    world.create()
    world.take()
    registry = _registry_of(world)
    world.root.on(AGENT_INBOX_INSERTED, lambda _: registry.dispose())
    world.followup("A")
    assert world.take() == [
        *("splice next-turn 0 +A", "inserted A", "splice next-turn 0 -1 canceled", "discarded A"),
        *("agent/disposed a", "session/disposed a"),
    ]


def test_closing_from_the_running_listener(world: World) -> None:
    """The driver's boundary is open already: it runs, and is drained."""
    world.create()
    world.take()
    registry = _registry_of(world)
    world.root.on(AGENT_STATUS, when(lambda p: p.status == "running", registry.dispose))
    world.followup("A")
    rows = world.take()
    assert rows[-3:] == ["idle", "agent/disposed a", "session/disposed a"]
    assert rows.count("running") == 1
    assert world.model.requests == []


def _registry_of(world: World) -> Context:
    return world.root[AGENTS].initiators._owner
