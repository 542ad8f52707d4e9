"""Creations that do not come to their end: they fail, are vetoed, aborted or closed, and leave nothing."""

import asyncio
import gc
from typing import Any

import pytest
from tests.reference.creating import PUBLISHED, Commit, begin, options
from tests.reference.world import World, hang, message
from typeguard import suppress_type_checks

from dshcore.agent import (
    AGENT_CREATED,
    AGENT_SESSION_START,
    AGENT_STATUS,
    AGENTS,
    CreateAgentOptions,
)
from dshcore.agent_loop import AGENT_LOOP, CreationAborted, LoopInactive
from dshcore.cancel_signal import CancelSignal
from dshcore.context import Context, InactiveContext
from dshcore.session import SESSION_CREATED, SESSIONS, SessionExists


def test_failing_setup_leaves_nothing(world: World) -> None:
    """The call rejects with that value after the scope has unwound; the id is free (LIFE-ROLL-01, LIFE-ROLL-06)."""
    gate = world.loop.create_future()
    boom = ValueError("boom")

    async def undo() -> None:
        await gate
        world.rows.append("undone")

    async def setup(ctx: Context) -> None:
        ctx.effect(undo, label="test")
        raise boom

    creating = begin(world, setup=setup)
    assert not creating.done()
    world.run(lambda: gate.set_result(None))
    assert (creating.exception(), world.take(), world.registered()) == (boom, ["undone"], (False, False))
    world.create()


def test_failing_commit_leaves_nothing(world: World) -> None:
    """It counts as a failing setup (LIFE-ROLL-02)."""

    def throw() -> None:
        raise ValueError("commit")

    creating = begin(world, setup=lambda _: Commit(throw))
    assert (str(creating.exception()), world.take(), world.registered()) == ("commit", [], (False, False))


@pytest.mark.parametrize("waits", [True, False])
def test_setup_that_answers_nonsense(world: World, *, waits: bool) -> None:
    """What is neither nothing nor a commit fails the creation, and leaves nothing."""

    async def nonsense(_: Context) -> Any:
        return 7

    with suppress_type_checks():
        creating = begin(world, setup=nonsense if waits else lambda _: 7)
    assert str(creating.exception()) == ("the setup of an agent answered 7: answer nothing, or an object with commit()")
    assert (world.take(), world.registered()) == ([], (False, False))


def test_commit_that_is_a_coroutine_function(world: World) -> None:
    """A commit is synchronous: one that would never run fails the creation (LIFE-SETUP-03)."""

    class Later:
        async def commit(self) -> None:
            raise AssertionError

        def __repr__(self) -> str:
            return "<Later>"

    creating = begin(world, setup=lambda _: Later())
    said = "the commit() of <Later> is a coroutine function: the commit of a setup is synchronous"
    assert (str(creating.exception()), world.take(), world.registered()) == (said, [], (False, False))


def test_registered_id_is_refused_after_the_session_entered(world: World) -> None:
    """The session leaves again, and neither creation nor disposal of it is announced (LIFE-ROLL-10)."""
    agent = world.create("x")
    world.dispose("x")
    detach = world.root[AGENTS].enter(agent, None)
    world.take()
    creating = world.start(
        lambda: world.root[AGENTS].create(world.root, CreateAgentOptions(session_id="x"))  # the session id is free
    )
    assert str(creating.exception()) == 'agent "x" is already registered'
    assert (world.take(), world.root[SESSIONS].get("x"), world.root[AGENTS].get("x")) == ([], None, agent)
    detach()


@pytest.mark.parametrize(
    ("key", "rows"),
    [
        (SESSION_CREATED, ["session/created a", "session/disposed a"]),
        (AGENT_CREATED, ["session/created a", "agent/created a", "agent/disposed a", "session/disposed a"]),
    ],
)
def test_veto_is_paired(world: World, key: Any, rows: list[str]) -> None:
    """What was announced is disposed of, nothing else is, later listeners are not called (LIFE-ROLL-03, -04)."""
    called: list[None] = []
    veto = ValueError("no")

    def throw(_: object) -> None:
        raise veto

    world.root.on(key, throw)
    world.root.on(key, lambda _: called.append(None))
    assert begin(world).exception() is veto
    assert (world.take(), called, world.registered()) == (rows, [], (False, False))


def test_live_id_is_refused(world: World) -> None:
    """Setup is not called, and the live agent goes on (LIFE-ROLL-08)."""
    world.create()
    with pytest.raises(SessionExists, match='session "a" already exists'):
        world.create(setup=lambda _: pytest.fail("setup was called"))
    world.followup("A")
    assert world.log()[-1] == "turn/end 1 completed"


def test_of_two_creations_the_first_to_enter_wins(world: World) -> None:
    """The other rejects, unwinds its own scope, and publishes nothing (LIFE-ROLL-09)."""
    gates = [world.loop.create_future() for _ in range(2)]
    undone: list[int] = []

    def setup(nth: int) -> Any:
        async def run(ctx: Context) -> None:
            ctx.effect(lambda: undone.append(nth), label="test")
            await gates[nth]

        return run

    first, second = begin(world, setup=setup(0)), begin(world, setup=setup(1))
    world.run(lambda: gates[1].set_result(None))
    world.run(lambda: gates[0].set_result(None))
    assert second.result().agent is world.root[AGENTS].get("a")
    assert (str(first.exception()), undone, world.take()) == ('session "a" already exists', [0], PUBLISHED)


def test_veto_drains_what_listeners_set_going(world: World) -> None:
    """A latched wake is dropped and its message discarded; no request follows (LIFE-ROLL-11)."""
    world.root.on(AGENT_CREATED, lambda p: p.agent.followup(message("F")))

    def veto(_: object) -> None:
        raise ValueError("no")

    world.root.on(AGENT_CREATED, veto)
    assert str(begin(world).exception()) == "no"
    assert world.take()[4:] == [
        "splice next-turn 0 -1 canceled",
        "discarded F",
        "agent/disposed a",
        "session/disposed a",
    ]
    assert world.model.requests == []


@pytest.mark.parametrize("reason", [ValueError("stop"), "plain"])
def test_abort_during_setup(world: World, reason: Any) -> None:
    """It rejects without waiting for setup, whose late answer has no effect (LIFE-ABORT-02, -03, LIFE-ROLL-12)."""
    signal, gate = CancelSignal(), world.loop.create_future()
    late: list[object] = []

    async def setup(ctx: Context) -> Commit:
        await gate
        try:
            ctx.on(AGENT_STATUS, lambda _: None)
        except InactiveContext as error:
            late.append(error.code)
        return Commit(lambda: late.append("commit"))

    creating = begin(world, setup=setup, signal=signal)
    world.run(lambda: signal.abort(reason))
    error = creating.exception()
    if error is not reason:
        assert isinstance(error, CreationAborted)
        assert (str(error), error.reason) == ('agent "a" creation aborted', "plain")
    assert world.registered() == (False, False)
    world.run(lambda: gate.set_result(None))
    assert (late, world.take()) == (["INACTIVE_EFFECT"], [])


def test_setup_is_told_by_its_context(world: World) -> None:
    """It is not stopped when its creation ends; an effect of its context that is undone tells it (LIFE-ROLL-12)."""
    signal, told = CancelSignal(), asyncio.Event()
    ended: list[str] = []

    async def setup(ctx: Context) -> None:
        ctx.effect(told.set, label="test")
        await told.wait()
        ended.append("setup")

    creating = begin(world, setup=setup, signal=signal)
    world.run(lambda: signal.abort("plain"))
    assert isinstance(creating.exception(), CreationAborted)
    assert ended == ["setup"]


def test_late_failure_of_setup_is_ignored(world: World, caplog: pytest.LogCaptureFixture) -> None:
    """A setup that fails after its creation has ended is reported nowhere (LIFE-ROLL-12)."""
    signal, gate = CancelSignal(), world.loop.create_future()

    async def setup(_: Context) -> None:
        await gate
        raise ValueError("late")

    creating = begin(world, setup=setup, signal=signal)
    world.run(lambda: signal.abort("plain"))
    world.run(lambda: gate.set_result(None))
    assert isinstance(creating.exception(), CreationAborted)
    del creating  # whose traceback keeps the setup alive
    gc.collect()
    assert caplog.messages == []


@pytest.mark.parametrize("where", ["setup", "commit"])
def test_abort_made_by_setup_or_commit(world: World, where: str) -> None:
    """It prevents publication; a commit of an aborted setup is not called (LIFE-ABORT-04, LIFE-SETUP-04)."""
    signal = CancelSignal()
    called: list[str] = []

    def commit() -> None:
        called.append("commit")
        signal.abort(ValueError("stop"))

    def setup(_: Context) -> Commit:
        if where == "setup":
            signal.abort(ValueError("stop"))
        return Commit(commit)

    assert str(begin(world, setup=setup, signal=signal).exception()) == "stop"
    assert (called, world.take()) == ([] if where == "setup" else ["commit"], [])


@pytest.mark.parametrize("nth", range(3))
def test_abort_in_an_announcement(world: World, nth: int) -> None:
    """The listeners of that event all run, no later announcement follows, all is paired (LIFE-ABORT-05)."""
    signal = CancelSignal()
    key: Any = (SESSION_CREATED, AGENT_CREATED, AGENT_SESSION_START)[nth]
    called: list[bool] = []
    world.root.on(key, lambda _: signal.abort(ValueError("stop")))
    world.root.on(key, lambda _: called.append(world.registered() == (True, True)))
    assert str(begin(world, signal=signal).exception()) == "stop"
    disposed = ["session/disposed a"] if nth == 0 else ["agent/disposed a", "session/disposed a"]
    assert (world.take(), called) == ([*PUBLISHED[: nth + 1], *disposed], [True])


def test_signal_is_forgotten_with_the_handle(world: World) -> None:
    """Aborting it later does nothing (LIFE-ABORT-06)."""
    signal = CancelSignal()
    world.create(signal=signal)
    assert not signal._callbacks
    world.run(lambda: signal.abort("late"))
    world.followup("A")
    assert world.log()[-1] == "turn/end 1 completed"


@pytest.mark.parametrize("closing", ["owner", "loop"])
@pytest.mark.parametrize("order", ["send first", "close first"])
def test_closing_in_an_announcement(world: World, closing: str, order: str) -> None:
    """The creation rejects after a paired rollback, and no input that came runs (LIFE-OWN-03, LIFE-PUB-09)."""
    owner = world.root.open(scope=None, name="owner")
    loop = world.root[AGENT_LOOP]._ctx

    def close() -> None:
        (owner if closing == "owner" else loop).dispose()

    def listener(payload: Any) -> None:
        for act in (lambda: payload.agent.followup(message("F")), close)[:: 1 if order == "send first" else -1]:
            act()

    world.root.on(AGENT_SESSION_START, listener)
    error = begin(world, owner=owner).exception()
    expected = {
        "owner": (CreationAborted, 'agent "a" setup aborted: owner disposed during setup'),
        "loop": (LoopInactive, "agent loop is not active"),
    }
    assert (type(error), str(error)) == expected[closing]
    assert world.take()[-2:] == ["agent/disposed a", "session/disposed a"]
    assert (world.model.requests, world.registered()) == ([], (False, False))


@pytest.mark.parametrize("closing", ["owner", "loop"])
def test_closing_during_setup(world: World, closing: str) -> None:
    """It ends the creation though setup never settles, and does not hang on it (LIFE-OWN-02, LIFE-OWN-06)."""
    owner = world.root.open(scope=None, name="owner")
    loop = world.root[AGENT_LOOP]._ctx

    async def setup(_: Context) -> None:
        await world.loop.create_future()

    creating = begin(world, owner=owner, setup=setup)
    closed = world.start((owner if closing == "owner" else loop).dispose)
    assert isinstance(creating.exception(), CreationAborted if closing == "owner" else LoopInactive)
    assert (closed.done(), world.registered(), world.take()) == (True, (False, False), [])


def test_creating_while_the_loop_begins_to_close(world: World) -> None:
    """In the stretch of the closing the slot is still filled, and the loop refuses (LIFE-OWN-09)."""

    async def close_and_create() -> Any:
        closing = world.root[AGENT_LOOP]._ctx.dispose()
        try:
            return await world.root[AGENTS].create(world.root, options())
        finally:
            await closing

    assert isinstance(world.start(close_and_create).exception(), LoopInactive)


def test_host_cancelling_a_creation(world: World) -> None:
    """Setup is cancelled with it, the creation is rolled back, and the cancellation goes on."""
    ended: list[str] = []

    async def setup(_: Context) -> None:
        try:
            await world.loop.create_future()
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise

    creating = begin(world, setup=setup)
    world.run(creating.cancel)
    assert (creating.cancelled(), ended, world.registered()) == (True, ["cancelled"], (False, False))
    world.create()


def test_pending_creations_settle_before_the_loop(world: World) -> None:
    """Its end waits for all teardowns, and for all calls (LIFE-OWN-06)."""
    loop = world.root[AGENT_LOOP]._ctx
    order: list[str] = []
    running = world.create("r")
    world.model.follow(hang())
    world.run(lambda: running.followup(message("A")))
    idle = world.create("i")
    idle.ctx.effect(lambda: order.append("idle scope"), label="test")

    async def undo() -> None:
        for _ in range(5):
            await asyncio.sleep(0)
        order.append("undone")

    async def setup(ctx: Context) -> None:
        ctx.effect(undo, label="test")
        await world.loop.create_future()

    creating = begin(world, setup=setup)
    creating.add_done_callback(lambda _: order.append("call"))
    closing = world.run(lambda: asyncio.ensure_future(_ended(loop, order)))
    assert (closing.done(), isinstance(creating.exception(), LoopInactive)) == (True, True)
    assert (order[0], order[-3:]) == ("idle scope", ["undone", "call", "closed"])
    assert world.root[AGENTS].list() == ()
    assert world.log_of(running)[-1] == "turn/end 1 aborted"


async def _ended(context: Context, order: list[str]) -> None:
    await context.dispose()
    order.append("closed")


def test_owner_in_something_that_ends_is_closed(world: World) -> None:
    """Setup is not called, although the owner is reached by that end only later (LIFE-CREATE-04, LIFE-OWN-09)."""
    outer = world.root.open(scope=None, name="outer")
    owner = outer.open(name="owner")

    async def close_and_create() -> Any:
        closing = outer.dispose()
        try:
            return await world.root[AGENTS].create(owner, options(setup=lambda _: pytest.fail("setup was called")))
        finally:
            await closing

    assert isinstance(world.start(close_and_create).exception(), InactiveContext)


def test_creating_through_an_agent_while_the_loop_begins_to_close(world: World) -> None:
    """The loop is around the scope of its agents, and is what the caller is told of (LIFE-OWN-09)."""
    parent = world.create("p")

    async def close_and_create() -> Any:
        closing = world.root[AGENT_LOOP]._ctx.dispose()
        try:
            return await world.root[AGENTS].create(parent.ctx, options())
        finally:
            await closing

    assert isinstance(world.start(close_and_create).exception(), LoopInactive)


def test_of_several_ends_the_signal_counts_first(world: World) -> None:
    """Whichever of them came first, the caller is told of what it has done itself."""
    owner, signal = world.root.open(scope=None, name="owner"), CancelSignal()
    loop = world.root[AGENT_LOOP]._ctx

    async def never(_: Context) -> None:
        await world.loop.create_future()

    creating = begin(world, owner=owner, signal=signal, setup=never)
    world.run(lambda: [loop.dispose(), owner.dispose(), signal.abort(ValueError("stop"))])
    assert str(creating.exception()) == "stop"


def test_owner_that_closes_with_the_loop_counts_before_it(world: World) -> None:
    """As it does in the checks of a creation (LIFE-CREATE-04, LIFE-OWN-03)."""
    owner = world.root.open(scope=None, name="owner")
    loop = world.root[AGENT_LOOP]._ctx
    world.root.on(AGENT_CREATED, lambda _: [loop.dispose(), owner.dispose()])
    assert isinstance(begin(world, owner=owner).exception(), CreationAborted)
    assert world.registered() == (False, False)


def test_pending_creation_of_an_agent_when_the_loop_closes(world: World) -> None:
    """It is told of the loop, which is around the scope of its owner and ends that as well (LIFE-OWN-06)."""
    parent = world.create("p")

    async def never(_: Context) -> None:
        await world.loop.create_future()

    creating = begin(world, owner=parent.ctx, setup=never)
    world.run(world.root[AGENT_LOOP]._ctx.dispose)
    assert isinstance(creating.exception(), LoopInactive)


def test_end_of_what_is_around_the_owner_counts(world: World) -> None:
    """The owner is reached by it only later, and yet no request is made (LIFE-PUB-09, LIFE-OWN-03)."""
    outer = world.root.open(scope=None, name="outer")
    owner = outer.open(name="owner")

    def listener(payload: Any) -> None:
        outer.dispose()
        payload.agent.followup(message("F"))

    world.root.on(AGENT_SESSION_START, listener)
    assert isinstance(begin(world, owner=owner).exception(), CreationAborted)
    assert (world.model.requests, world.registered()) == ([], (False, False))
