"""Creation: one transaction that publishes an agent with its session, or leaves nothing."""

import asyncio
import gc
from collections.abc import Callable
from typing import Any

import pytest
from tests.reference.world import World, message
from typeguard import suppress_type_checks

from dshcore import eager
from dshcore.agent import (
    AGENT_CREATED,
    AGENT_SESSION_START,
    AGENT_STATUS,
    AGENTS,
    Agent,
    AgentOptions,
    CreateAgentOptions,
    NoFactory,
)
from dshcore.agent_loop import AGENT_LOOP, CreationAborted, LoopInactive, LoopMisconfigured
from dshcore.cancel_signal import CancelSignal
from dshcore.context import Context, InactiveContext
from dshcore.session import SESSION_CREATED, SESSIONS, InvalidSeed, SessionExists
from dshcore.spine import UnknownPart, compose

PUBLISHED = ["session/created a", "agent/created a", "agent/session-start a startup"]


class Commit:
    def __init__(self, do: Callable[[], object]) -> None:
        self._do = do

    def commit(self) -> object:
        return self._do()


def options(**given: Any) -> CreateAgentOptions:
    return CreateAgentOptions(session_id="a", agent_options=AgentOptions(provider="mock", model="m1"), **given)


def begin(world: World, owner: Context | None = None, **given: Any) -> "asyncio.Task[Any]":
    """Begin a creation of agent a, and settle."""
    return world.start(lambda: world.root[AGENTS].create(world.root if owner is None else owner, options(**given)))


def registered(world: World) -> tuple[bool, bool]:
    return world.root[AGENTS].get("a") is not None, world.root[SESSIONS].get("a") is not None


def test_handle_names_one_identity(world: World) -> None:
    """The registries find exactly this agent and this session (LIFE-CREATE-01)."""
    agent = world.create("a")
    assert agent.id == agent.session.id == "a"
    assert world.root[AGENTS].get("a") is agent
    assert world.root[SESSIONS].get("a") is agent.session


def test_fresh_agent_is_idle_and_empty(world: World) -> None:
    """Creation opens no turn, appends nothing and changes no status (LIFE-CREATE-02)."""
    agent = world.create()
    assert (world.take(), agent.session.seq, agent.status, agent.inbox.has_pending) == (PUBLISHED, 0, "idle", False)


def test_seed_is_followed_by_its_end(world: World) -> None:
    """The log is the seed and one end-seed mark, not repeated where the seed ends with one (LIFE-CREATE-02)."""
    seed = [{"type": "x/y", "seq": 0, "time": 5, "data": None}]
    first = world.create("a", seed=seed)
    assert (world.log("a"), first.session.first_live_seq) == (["x/y", "session/end-seed"], 1)
    again = world.create("b", seed=tuple(first.session.events))
    assert (world.log("b"), again.session.first_live_seq) == (["x/y", "session/end-seed"], 2)


def test_metadata_and_options_are_kept(world: World) -> None:
    """Given fields are in the header, others are absent; options default to none (LIFE-CREATE-03)."""
    meta = {"cwd": "/x", "parentSession": "p", "seedLength": 0, "origin": "subagent", "delegationDepth": 1}
    header = world.create("a", meta=meta, agent_options=AgentOptions()).session.header
    assert {name: header[name] for name in meta} == meta
    assert sorted(world.create("b").session.header) == ["createdAt", "id", "version"]
    assert world.root[AGENTS].get("a").options == AgentOptions()  # type: ignore[union-attr]


def test_order_of_the_checks(world: World) -> None:
    """Of two broken rules the first in the order is reported, as a rejection (LIFE-CREATE-04)."""
    aborted = CancelSignal()
    aborted.abort("plain")
    closed = world.root.open(scope=None, name="closed")
    world.run(closed.dispose)
    bad_cap = AgentOptions(max_tokens=0)
    bad_seed = [{"type": "x", "seq": 1, "time": 0, "data": None}]
    splice = {"target": "next-turn", "start": 1, "inserted": []}
    unfoldable = [{"type": "agent/inbox/spliced", "seq": 0, "time": 0, "data": splice}]

    def fails(owner: Context = world.root, **given: Any) -> BaseException | None:
        made = CreateAgentOptions(session_id="a", **given)
        return world.start(lambda: world.root[AGENTS].create(owner, made)).exception()

    assert isinstance(fails(signal=aborted, seed=unfoldable), CreationAborted)
    assert isinstance(fails(owner=closed, signal=aborted), InactiveContext)
    assert "maxTokens" in str(fails(owner=closed, agent_options=bad_cap))
    assert "cwd" in str(fails(agent_options=bad_cap, meta={"cwd": "rel"}))
    assert isinstance(fails(seed=bad_seed, meta={"cwd": "rel"}), InvalidSeed)
    world.create()
    assert isinstance(fails(seed=bad_seed, signal=aborted), SessionExists)


@pytest.mark.parametrize(
    ("seed", "what"),
    [
        ([("turn/start", {"turn": 1})], "turn 1 is open"),
        (
            [
                ("turn/start", {"turn": 1}),
                ("step/start", {"turn": 1, "step": 2}),
                ("turn/end", {"turn": 1, "reason": {"kind": "completed"}}),
            ],
            "step 2 of turn 1 is open",
        ),
    ],
)
def test_unbalanced_seed_is_refused(world: World, seed: list[tuple[str, Any]], what: str) -> None:
    """No agent goes on from an open turn or step; nothing is published and the id is free (SEED-VAL-08)."""
    world.take()
    events = [{"type": kind, "seq": seq, "time": 0, "data": data} for seq, (kind, data) in enumerate(seed)]
    with pytest.raises(InvalidSeed, match=f'seed of session "a" is unbalanced: {what}'):
        world.create(seed=events)
    assert world.take() == []
    world.create()


def test_setup_sees_an_unpublished_agent(world: World) -> None:
    """Before and after an await nothing is visible, and the context is already the agent's (LIFE-SETUP-01)."""
    seen: list[Any] = []

    async def setup(ctx: Context) -> None:
        for _ in range(2):
            seen.append((registered(world), list(world.rows)))
            await asyncio.sleep(0)
        assert isinstance(ctx.scope, Agent)
        seen.append((ctx.scope.id, ctx.scope.status))

    agent = begin(world, setup=setup).result().agent
    assert seen == [((False, False), [])] * 2 + [("a", "idle")]
    assert world.take() == PUBLISHED
    assert agent.ctx.scope is agent


def test_registrations_of_setup_hear_the_announcements(world: World) -> None:
    """A scoped listener from setup receives all three, of this agent alone (LIFE-SETUP-02)."""
    heard: list[str] = []

    def setup(ctx: Context) -> None:
        ctx.on(SESSION_CREATED, lambda p: heard.append(f"session {p.session.id}"))
        ctx.on(AGENT_CREATED, lambda p: heard.append(f"agent {p.agent.id}"))
        ctx.on(AGENT_SESSION_START, lambda p: heard.append(f"start {p.source}"))

    begin(world, setup=setup)
    world.create("b")
    assert heard == ["session a", "agent a", "start startup"]


def test_commit_is_called_last(world: World) -> None:
    """Once, after every await of setup, with both ids unpublished (LIFE-SETUP-03)."""
    order: list[Any] = []

    async def setup(_: Context) -> Commit:
        await asyncio.sleep(0)
        order.append("setup")
        return Commit(lambda: order.append(("commit", registered(world), list(world.rows))))

    begin(world, setup=setup)
    assert order == ["setup", ("commit", (False, False), [])]


def test_both_entries_are_visible_to_every_listener(world: World) -> None:
    """From session/created on, through all three events (LIFE-PUB-01, LIFE-PUB-02)."""
    seen: list[tuple[bool, bool]] = []
    for key in (SESSION_CREATED, AGENT_CREATED, AGENT_SESSION_START):
        world.root.on(key, lambda _: seen.append(registered(world)))
    world.create()
    assert seen == [(True, True)] * 3


def test_input_of_announcements_runs_after_them(world: World) -> None:
    """It is accepted at once, latched, and released before the handle is out (LIFE-PUB-06, LIFE-PUB-08)."""
    statuses: list[str] = []

    def deliver(payload: Any) -> None:
        payload.agent.inject(message("I"))
        payload.agent.followup(message("F"))
        statuses.append(payload.agent.status)

    world.root.on(AGENT_CREATED, deliver)
    at_handle: list[str] = []

    async def create() -> None:
        handle = await world.root[AGENTS].create(world.root, options())
        at_handle.append(handle.agent.status)

    world.start(create)
    assert (statuses, at_handle) == (["idle"], ["running"])
    assert world.take()[:12] == [
        "session/created a",
        "agent/created a",
        "splice next-step 0 +I",
        "inserted I",
        "splice next-turn 0 +F",
        "inserted F",
        "agent/session-start a startup",
        "running",
        "turn/start 1",
        "splice next-step 0 -1",
        "splice next-turn 0 -1",
        "claimed 1 I",
    ]


def test_throwing_session_start_listener_harms_nobody(world: World) -> None:
    """It is logged, the others still run, the creation succeeds (LIFE-PUB-04)."""

    def throw(_: object) -> None:
        raise ValueError("start")

    world.root.on(AGENT_SESSION_START, throw, prepend=True)
    world.create()
    assert world.take() == PUBLISHED


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
    assert (creating.exception(), world.take(), registered(world)) == (boom, ["undone"], (False, False))
    world.create()


def test_failing_commit_leaves_nothing(world: World) -> None:
    """It counts as a failing setup (LIFE-ROLL-02)."""

    def throw() -> None:
        raise ValueError("commit")

    creating = begin(world, setup=lambda _: Commit(throw))
    assert (str(creating.exception()), world.take(), registered(world)) == ("commit", [], (False, False))


@pytest.mark.parametrize("waits", [True, False])
def test_setup_that_answers_nonsense(world: World, *, waits: bool) -> None:
    """What is neither nothing nor a commit fails the creation, and leaves nothing."""

    async def nonsense(_: Context) -> Any:
        return 7

    with suppress_type_checks():
        creating = begin(world, setup=nonsense if waits else lambda _: 7)
    assert str(creating.exception()) == ("the setup of an agent answered 7: answer nothing, or an object with commit()")
    assert (world.take(), registered(world)) == ([], (False, False))


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
    assert (world.take(), called, registered(world)) == (rows, [], (False, False))


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
    assert registered(world) == (False, False)
    world.run(lambda: gate.set_result(None))
    assert (late, world.take()) == (["INACTIVE_EFFECT"], [])


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
    world.root.on(key, lambda _: called.append(registered(world) == (True, True)))
    assert str(begin(world, signal=signal).exception()) == "stop"
    disposed = ["session/disposed a"] if nth == 0 else ["agent/disposed a", "session/disposed a"]
    assert (world.take(), called) == ([*PUBLISHED[: nth + 1], *disposed], [True])


def test_signal_is_forgotten_with_the_handle(world: World) -> None:
    """Aborting it later does nothing (LIFE-ABORT-06)."""
    signal = CancelSignal()
    world.create(signal=signal)
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
    assert (world.model.requests, registered(world)) == ([], (False, False))


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
    assert (closed.done(), registered(world), world.take()) == (True, (False, False), [])


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
    assert (creating.cancelled(), ended, registered(world)) == (True, ["cancelled"], (False, False))
    world.create()


def test_registry_without_a_loop_has_no_factory(world: World) -> None:
    """Creation rejects with the missing factory (FACT-SET-02)."""

    async def create() -> Any:
        root = compose(without={"loop"})
        return await root[AGENTS].create(root, options())

    error = world.run(lambda: eager.start(create())).exception()
    assert (type(error), str(error)) == (NoFactory, "no agent factory registered (load an agent-loop plugin)")


def test_registry_reads(world: World) -> None:
    """List and roots go by registration; an agent that comes again goes to the end (REG-READ-01)."""
    for name in "abc":
        world.create(name)
    world.dispose("a")
    world.create("a")
    child = world.create("d", owner=world.handles["b"].agent.ctx)
    agents = world.root[AGENTS]
    assert [agent.id for agent in agents.list()] == ["b", "c", "a", "d"]
    assert [agent.id for agent in agents.roots()] == ["b", "c", "a"]
    assert agents.is_owned_by("d", world.handles["b"].agent)
    assert not agents.is_owned_by("d", child)


def test_lineage_is_not_ownership(world: World) -> None:
    """A session that names a parent was not created through it, and survives it (LIFE-OWN-05)."""
    parent = world.create("a")
    world.create("b", meta={"parentSession": "a"})
    assert not world.root[AGENTS].is_owned_by("b", parent)
    world.dispose("a")
    assert world.root[AGENTS].get("b") is not None


@pytest.mark.parametrize("cap", [0, -1, 1.5, True])
def test_cap_of_parallel_calls_is_checked(world: World, cap: Any) -> None:
    """The loop refuses to be mounted with a cap that none can be (SCHED-CAP-01)."""
    with suppress_type_checks(), pytest.raises(LoopMisconfigured, match="must be a positive integer"):
        world.run(lambda: compose(max_parallel_tool_calls=cap))


def test_unknown_part(world: World) -> None:
    """Leaving out what does not exist is an error that names what does."""
    parts = "sessions, llm, prompt, tools, agents, loop"
    with pytest.raises(UnknownPart, match=f"no part 'loops' to leave out: there are {parts}"):
        world.run(lambda: compose(without={"loops"}))
