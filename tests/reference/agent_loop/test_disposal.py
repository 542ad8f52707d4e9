"""Disposal: the one teardown, its order, and what may still be delivered meanwhile."""

import asyncio
from typing import Any

import pytest
from tests.reference.toolbox import Toolbox, calls
from tests.reference.world import USER, World, aborted, do, hang, message, pending, text, when

from dshcore import eager
from dshcore.agent import (
    AGENT_DISPOSED,
    AGENT_INBOX_INSERTED,
    AGENT_PRE_STEP,
    AGENT_STATUS,
    AGENTS,
    Agent,
    AgentDisposed,
    CreateAgentOptions,
)
from dshcore.agent.inbox import fold_inbox
from dshcore.agent_loop import AGENT_LOOP
from dshcore.cancel_signal import CancelSignal
from dshcore.context import InactiveContext
from dshcore.session import SESSION_DISPOSED, SESSION_EVENT

GONE = ["agent/disposed a", "session/disposed a"]


@pytest.fixture
def agent(world: World) -> Agent:
    """An agent whose turn hangs in its stream."""
    made = world.create()
    world.model.follow(hang(), text("two"))
    world.followup("A")
    world.take()
    return made


def test_running_agent_is_drained_in_order(world: World, agent: Agent) -> None:
    """Cancel, convergence, scope, agent, session, each visible to the one before (LIFE-DISP-01 to -04)."""
    agent.ctx.effect(lambda: world.rows.append(f"scope {world.registered()}"), label="test")
    world.root.on(AGENT_DISPOSED, lambda _: world.rows.append(f"agent gone {world.registered()}"))
    world.root.on(SESSION_DISPOSED, lambda _: world.rows.append(f"session gone {world.registered()}"))
    agent.inject(message("I"))
    world.followup("tail")
    world.take()
    disposing = world.dispose()
    assert world.take() == [
        "splice next-step 0 -1 canceled",
        "discarded I",
        "splice next-turn 0 -1 canceled",
        "discarded tail",
        "assistant/message par interrupted",
        "step/end 1.1",
        "turn/end 1 aborted",
        "idle",
        "scope (True, True)",
        "agent/disposed a",
        "agent gone (False, True)",
        "session/disposed a",
        "session gone (False, False)",
    ]
    assert disposing.done()
    assert world.model.signal.reason == {"kind": "disposed"}
    assert agent.session.events[-1]["data"]["reason"] == {"kind": "aborted"}


def test_earlier_cancellation_stays(world: World, agent: Agent) -> None:
    """The signal keeps its first cause and fires once (LIFE-DISP-05)."""
    fired: list[object] = []
    world.model.signal.on_abort(lambda: fired.append(world.model.signal.reason))
    world.run(do(lambda: agent.cancel(USER), world.handles["a"].dispose))
    assert fired == [USER]


def test_idle_agent_goes_without_a_status(world: World) -> None:
    """No status event, and its pending input is discarded (LIFE-DISP-06, LIFE-DISP-23)."""
    agent = world.create()
    agent.inject(message("I"))
    agent.inbox.append("next-turn", message("Q"))
    world.take()
    world.dispose()
    assert world.take() == [
        "splice next-step 0 -1 canceled",
        "discarded I",
        "splice next-turn 0 -1 canceled",
        "discarded Q",
        *GONE,
    ]
    assert agent.status == "idle"


def test_disposals_share_one_teardown(world: World) -> None:
    """Concurrent calls settle together, when it is complete; so does a later one (LIFE-DISP-07)."""
    agent = world.create()
    gate = world.loop.create_future()

    async def undo() -> None:
        await gate

    agent.ctx.effect(undo, label="test")
    world.take()
    first, second = world.dispose(), world.dispose()
    assert (first.done(), second.done(), world.registered()) == (False, False, (True, True))
    world.run(lambda: gate.set_result(None))
    assert (first.done(), second.done(), world.take()) == (True, True, GONE)
    assert world.dispose().done()
    assert world.take() == []


def test_cancelled_caller_does_not_stop_the_teardown(world: World, agent: Agent) -> None:
    """Whoever waits for a disposal may give up; the agent leaves all the same."""
    release = world.loop.create_future()
    agent.ctx.effect(lambda: release, label="test")
    disposing = world.dispose()
    world.run(disposing.cancel)
    assert disposing.cancelled()
    world.run(lambda: release.set_result(None))
    assert world.registered() == (False, False)


def test_old_handle_is_inert(world: World) -> None:
    """It does not touch a later agent of its id (LIFE-DISP-08)."""
    world.create()
    old = world.handles["a"]
    world.dispose()
    world.create()
    world.start(old.dispose)
    assert world.registered() == (True, True)


def test_teardown_waits_for_what_ignores_it(world: World) -> None:
    """Meanwhile the agent is registered and its id taken (LIFE-DISP-09)."""
    agent = world.create()
    release = world.loop.create_future()

    async def task(_: object) -> int:
        await release
        return 42

    running = world.start(lambda: agent.run_maintenance(task))
    disposing = world.dispose()
    assert (disposing.done(), world.registered()) == (False, (True, True))
    world.run(lambda: release.set_result(None))
    assert (disposing.done(), running.result(), world.registered()) == (True, 42, (False, False))


def test_disposal_during_maintenance(world: World) -> None:
    """The task sees the cause, keeps its result, and no turn follows for what waits behind it (LIFE-DISP-10)."""
    agent = world.create()

    async def task(signal: CancelSignal) -> object:
        await aborted(signal)
        return signal.reason

    running = world.start(lambda: agent.run_maintenance(task))
    world.followup("Q")
    world.dispose()
    assert running.result() == {"kind": "disposed"}
    assert world.model.requests == []


def test_late_wake_is_parked(world: World, agent: Agent) -> None:
    """Sent in the stretch of the disposal, it goes to next-turn and runs no turn (LIFE-DISP-11, LIFE-DISP-24)."""
    world.followup("Q")
    world.take()

    def stretch() -> None:
        world.handles["a"].dispose()
        world.rows.append(f"disposing {pending(agent)!r} {world.model.signal.aborted}")
        agent.steer(message("late"))

    world.run(stretch)
    rows = world.take()
    assert rows[:5] == [
        "splice next-turn 0 -1 canceled",
        "discarded Q",
        "disposing '' True",
        "splice next-turn 0 +late",
        "inserted late",
    ]
    assert (len(world.model.requests), pending(agent)) == (1, "late")


def test_wake_to_an_idle_agent_that_is_closing(world: World, agent: Agent) -> None:
    """From the idle listener and from a scope cleanup: inserted, parked, no driver (LIFE-DISP-12)."""
    agent.ctx.effect(lambda: agent.steer(message("C")), label="test")
    world.root.on(AGENT_STATUS, when(lambda p: p.status == "idle", lambda: agent.followup(message("L"))))
    world.dispose()
    rows = world.take()
    assert [row for row in rows if row.startswith(("splice", "inserted", "running"))] == [
        "splice next-turn 0 +L",
        "inserted L",
        "splice next-step 0 +C",
        "inserted C",
    ]
    assert (rows[-2:], pending(agent)) == (GONE, "LC")


def test_disposal_from_the_running_listener(world: World) -> None:
    """It drops the message that caused it, and no turn opens (LIFE-DISP-13)."""
    world.create()
    world.take()
    world.root.on(AGENT_STATUS, when(lambda p: p.status == "running", world.handles["a"].dispose))
    world.followup("A")
    assert world.take() == [
        "splice next-turn 0 +A",
        "inserted A",
        "running",
        "splice next-turn 0 -1 canceled",
        "discarded A",
        "idle",
        *GONE,
    ]


def test_disposal_from_inside_the_driver(world: World) -> None:
    """In pre-step no step opens (LIFE-DISP-14)."""
    world.create()

    async def dispose(_: Any, next_layer: Any) -> Any:
        world.handles["a"].dispose()
        return await next_layer()

    world.root.on(AGENT_PRE_STEP, dispose)
    world.followup("A")
    assert world.take()[-4:] == ["turn/end 1 aborted", "idle", *GONE]
    assert world.model.requests == []


def test_disposal_from_a_tool(world: World) -> None:
    """None of the step's calls is started after the one that asked (LIFE-DISP-14)."""
    world.create()
    tools = Toolbox(world)

    def dispose(*_: object) -> str:
        world.handles["a"].dispose()
        return "ok"

    tools.add("end", dispose)
    tools.add("next")
    world.model.follow(calls("1:end", "2:next"))
    world.followup("A")
    rows = world.take()
    assert [row for row in rows if row.startswith("> body")] == ["> body 1"]
    assert rows[-4:] == ["turn/end 1 aborted", "idle", *GONE]
    assert len(world.model.requests) == 1


def test_disposal_from_an_inserted_listener(world: World) -> None:
    """The message is discarded before the send goes on to wake; no driver starts."""
    world.create()
    world.take()
    world.root.on(AGENT_INBOX_INSERTED, lambda _: world.handles["a"].dispose())
    world.followup("A")
    assert world.take() == [
        "splice next-turn 0 +A",
        "inserted A",
        "splice next-turn 0 -1 canceled",
        "discarded A",
        *GONE,
    ]


@pytest.mark.parametrize("kind", ["step/start", "user/message", "request/header"])
def test_disposal_from_an_observer_with_pending_input(world: World, kind: str) -> None:
    """It is carried out when the append has unwound: no error, no request, a balanced log (LIFE-DISP-20)."""
    world.create()
    results: list[Any] = []
    world.on_event(kind, lambda: results.append(world.handles["a"].dispose()))
    world.followup("A", "Q")
    rows = world.take()
    at = next(index for index, row in enumerate(rows) if row.startswith(kind))
    assert rows[at + 1].endswith("canceled")
    assert "discarded Q" in rows
    assert rows[-4:] == ["turn/end 1 aborted", "idle", *GONE]
    assert (world.model.requests, results[0].done(), world.registered()) == ([], True, (False, False))


def test_disposal_from_an_observer_of_an_insertion(world: World) -> None:
    """The inbox keeps agreeing with its log, and nothing runs (LIFE-DISP-20)."""
    agent = world.create()
    for name in "PQ":
        agent.inbox.append("next-turn", message(name))
    world.on_event("agent/inbox/spliced", world.handles["a"].dispose)
    world.run(lambda: agent.inbox.prepend("next-turn", message("N")))
    folded = fold_inbox(agent.session)
    assert [m["id"] for m in folded["next-turn"]] == [m["id"] for m in agent.inbox.next_turn] == []
    assert (world.registered(), world.model.requests) == ((False, False), [])


def test_disposal_on_turn_end_ends_the_run(world: World) -> None:
    """The ending stays as published, and the next queued turn does not open (LIFE-DISP-20)."""
    world.create()
    world.on_event("turn/end", world.handles["a"].dispose)
    world.followup("A", "Q")
    rows = world.take()
    assert rows[-6:] == [
        "turn/end 1 completed",
        "splice next-turn 0 -1 canceled",
        "discarded Q",
        "idle",
        *GONE,
    ]


def test_refused_clear_stops_nothing(world: World, agent: Agent, caplog: pytest.LogCaptureFixture) -> None:
    """Where the pending input cannot be cancelled, the disposal says so and goes on (LIFE-DISP-15)."""
    world.followup("Q")
    world.refuse("agent/inbox/spliced")
    assert world.dispose().exception() is None
    assert (world.registered(), pending(agent), world.model.signal.aborted) == ((False, False), "Q", True)
    assert caplog.messages == [
        'agent "a": pending messages were not cancelled: AppendRefused: refused agent/inbox/spliced'
    ]


def test_failing_listeners_and_cleanups_stop_nothing(world: World) -> None:
    """Disposal completes, and both ids are free (LIFE-DISP-15)."""
    agent = world.create()

    def throw(*_: object) -> None:
        raise ValueError("thrown")

    agent.ctx.effect(throw, label="test")
    world.root.on(AGENT_DISPOSED, throw, prepend=True)
    world.root.on(SESSION_DISPOSED, throw, prepend=True)
    assert world.dispose().exception() is None
    assert (world.take()[-2:], world.registered()) == (GONE, (False, False))


def test_scoped_listeners_do_not_hear_the_end(world: World) -> None:
    """The scope is unwound first; unscoped and global listeners hear it (LIFE-DISP-16, LIFE-DISP-17)."""
    agent = world.create()
    heard: list[str] = []
    agent.ctx.on(AGENT_DISPOSED, lambda _: heard.append("scoped"))
    world.root.on(AGENT_DISPOSED, lambda _: heard.append("root"))
    world.dispose()
    assert heard == ["root"]
    with pytest.raises(InactiveContext) as caught:
        agent.ctx.on(AGENT_STATUS, lambda _: None)
    assert caught.value.code == "INACTIVE_EFFECT"


def test_id_is_free_from_session_disposed_on(world: World) -> None:
    """A creation from agent/disposed rejects, one from session/disposed succeeds (LIFE-DISP-18)."""
    world.create()
    created: list[Any] = []

    def create(_: object) -> None:
        created.append(eager.start(world.root[AGENTS].create(world.root, CreateAgentOptions(session_id="a"))))

    world.root.on(AGENT_DISPOSED, create, once=True)
    world.root.on(SESSION_DISPOSED, create, once=True)
    world.dispose()
    assert str(created[0].exception()) == 'session "a" already exists'
    assert created[1].result().agent is world.root[AGENTS].get("a")


def test_retained_handle_refuses_input(world: World) -> None:
    """From agent/disposed on: nothing is logged, notified or woken; reading goes on (LIFE-DISP-19, -21, -22)."""
    agent = world.create()
    refused: list[str] = []

    def deliver(_: object) -> None:
        for preset in (agent.followup, agent.steer, agent.inject):
            with pytest.raises(AgentDisposed) as caught:
                preset(message("X"))
            refused.append(str(caught.value))

    world.root.on(AGENT_DISPOSED, deliver)
    published: list[object] = []
    world.dispose()
    world.root.on(SESSION_EVENT, published.append)
    world.run(lambda: deliver(None))
    assert refused == ['agent "a" is disposed'] * 6
    for operation in (
        lambda: agent.inbox.append("next-turn", message("X")),
        lambda: agent.inbox.splice("next-step", 0, 0, [message("X")]),
    ):
        with pytest.raises(AgentDisposed):
            operation()
    world.run(lambda: agent.cancel(USER))
    assert (published, world.log_of(agent), agent.status) == ([], [], "idle")
    assert world.start(agent.when_idle).done()
    assert agent.inbox.next_turn == ()

    async def task(_: object) -> None:
        """Never called."""

    with pytest.raises(AgentDisposed):
        world.run(lambda: agent.run_maintenance(task))


def test_cancel_of_a_gone_agent_leaves_what_it_left_pending(world: World, agent: Agent) -> None:
    """No splice is logged for messages that the disposal left (LIFE-DISP-22)."""
    world.run(do(world.handles["a"].dispose, lambda: agent.followup(message("late"))))
    before = agent.session.seq
    world.run(lambda: agent.cancel(USER))
    assert (agent.session.seq, pending(agent)) == (before, "late")


def test_closing_the_owner_tears_its_agents_down(world: World) -> None:
    """Side by side, each in order, and the closing waits for all (LIFE-OWN-01)."""
    owner = world.root.open(scope=None, name="owner")
    slow, fast = world.create("a", owner=owner), world.create("b", owner=owner)
    gate = world.loop.create_future()
    slow.ctx.effect(lambda: gate, label="test")
    world.take()
    closing = world.start(owner.dispose)
    assert (world.take(), closing.done(), fast.status) == (["agent/disposed b", "session/disposed b"], False, "idle")
    world.run(lambda: gate.set_result(None))
    assert (world.take(), closing.done()) == (GONE, True)


def test_child_goes_before_its_parent(world: World) -> None:
    """Disposing a parent tears a running child down completely before its own end (LIFE-OWN-04)."""
    parent = world.create("a")
    child = world.create("b", owner=parent.ctx)
    world.model.follow(hang())
    world.run(lambda: child.followup(message("B")))
    world.take()
    world.dispose("a")
    assert world.take()[-5:] == ["idle", "agent/disposed b", "session/disposed b", *GONE]


def test_closing_the_loop_drains_every_agent(world: World) -> None:
    """Whoever owns them; it settles only when all are gone (LIFE-OWN-06)."""
    running, idle = world.create("a"), world.create("b")
    world.model.follow(hang())
    world.followup("A")
    closing = world.start(world.root[AGENT_LOOP]._ctx.dispose)
    assert (closing.done(), running.status, idle.status) == (True, "idle", "idle")
    assert world.root[AGENTS].list() == ()
    assert running.session.events[-1]["type"] == "turn/end"


def test_owner_keeps_no_hold_on_the_id(world: World) -> None:
    """Closing an owner later does not touch a newer agent of the id (LIFE-OWN-08)."""
    owner = world.root.open(scope=None, name="owner")
    world.create("a", owner=owner)
    world.dispose()
    world.create("a")
    world.start(owner.dispose)
    assert world.registered() == (True, True)


def test_nothing_is_left_with_the_owner(world: World) -> None:
    """An owner that outlives its agents holds nothing of them."""
    owner = world.root.open(scope=None, name="owner")
    world.create("a", owner=owner)
    assert len(owner.fiber.effects) == 1
    world.dispose()
    assert len(owner.fiber.effects) == 0


def test_owner_waits_for_a_teardown_in_progress(world: World) -> None:
    """Also for one that was started through the handle (LIFE-OWN-07)."""
    owner = world.root.open(scope=None, name="owner")
    agent = world.create("a", owner=owner)
    gate = world.loop.create_future()
    agent.ctx.effect(lambda: gate, label="test")
    world.dispose()
    closing = world.start(owner.dispose)
    assert not closing.done()
    world.run(lambda: gate.set_result(None))
    assert closing.done()


def test_closing_the_application_drains_its_agents(world: World) -> None:
    """The end of the root leaves every log balanced and every agent gone."""
    agent = world.create()
    world.model.follow(hang())
    world.followup("A")
    world.take()
    world.run(lambda: asyncio.ensure_future(world.root.dispose()))
    assert world.log_of(agent)[-3:] == ["assistant/message par interrupted", "step/end 1.1", "turn/end 1 aborted"]
    assert registered_in(world) == ()


def registered_in(world: World) -> tuple[Any, ...]:
    agents = world.root.get(AGENTS)
    return () if agents is None else agents.list()
