"""Creation: one transaction that publishes an agent with its session."""

import asyncio
from typing import Any

import pytest
from tests.reference.creating import PUBLISHED, Commit, begin, options
from tests.reference.world import World, message
from typeguard import suppress_type_checks

from dshcore import eager
from dshcore.agent import (
    AGENT_CREATED,
    AGENT_SESSION_START,
    AGENTS,
    Agent,
    AgentError,
    AgentOptions,
    CreateAgentOptions,
    NoFactory,
)
from dshcore.agent_loop import (
    AGENT_LOOP,
    ConfiguredAgent,
    CreationAborted,
    InvalidSessionId,
    LoopInactive,
    LoopMisconfigured,
)
from dshcore.cancel_signal import CancelSignal
from dshcore.context import Context, InactiveContext, NoEventLoop
from dshcore.session import SESSION_CREATED, SESSIONS, InvalidSeed, SessionExists
from dshcore.spine import UnknownPart, compose, mount_loop
from dshcore.system_prompt import SYSTEM_PROMPT
from dshcore.tools import TOOLS


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


@pytest.mark.parametrize("given", [None, "", 5])
def test_id_that_none_can_have(world: World, given: Any) -> None:
    """It is refused by name, before anything else is looked at; none is minted (LIFE-CREATE-01)."""
    with suppress_type_checks():
        made = CreateAgentOptions(session_id=given, agent_options=AgentOptions(max_tokens=0))
        error = world.start(lambda: world.root[AGENTS].create(world.root, made)).exception()
    assert (type(error), str(error)) == (
        InvalidSessionId,
        f"an agent needs a non-empty text as session id, not {given!r}",
    )
    assert world.take() == []


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
            seen.append((world.registered(), list(world.rows)))
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
        return Commit(lambda: order.append(("commit", world.registered(), list(world.rows))))

    begin(world, setup=setup)
    assert order == ["setup", ("commit", (False, False), [])]


def test_both_entries_are_visible_to_every_listener(world: World) -> None:
    """From session/created on, through all three events (LIFE-PUB-01, LIFE-PUB-02)."""
    seen: list[tuple[bool, bool]] = []
    for key in (SESSION_CREATED, AGENT_CREATED, AGENT_SESSION_START):
        world.root.on(key, lambda _: seen.append(world.registered()))
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


def test_rejecting_listeners_veto_nothing(world: World, caplog: pytest.LogCaptureFixture) -> None:
    """They are logged; the creation neither fails nor waits for them (LIFE-PUB-05)."""

    async def reject(_: object) -> None:
        await asyncio.sleep(0)
        raise ValueError("late")

    for key in (SESSION_CREATED, AGENT_CREATED):
        world.root.on(key, reject)
    world.create()
    assert world.registered() == (True, True)
    assert sorted(caplog.messages) == [
        'agent "a": agent/created listener rejected: ValueError: late',
        'session "a": session/created listener rejected: ValueError: late',
    ]


def test_aborted_signal_is_met_before_setup(world: World) -> None:
    """Setup is not called (LIFE-ABORT-01)."""
    signal = CancelSignal()
    signal.abort(ValueError("stop"))
    with pytest.raises(ValueError, match="stop"):
        world.create(signal=signal, setup=lambda _: pytest.fail("setup was called"))


def test_what_a_commit_answers_is_not_awaited(world: World) -> None:
    """The handle comes first (LIFE-SETUP-03)."""
    slow = world.loop.create_future()
    assert begin(world, setup=lambda _: Commit(lambda: slow)).done()


def test_agent_has_the_services_of_the_loop(world: World) -> None:
    """Whatever its owner has access to (FACT-CALL-02)."""
    owner = world.root.open(scope=None, name="owner", requires=(AGENTS,))
    seen: list[Any] = []

    def setup(ctx: Context) -> None:
        seen.extend((ctx[TOOLS], ctx[SYSTEM_PROMPT]))

    begin(world, owner, setup=setup)
    assert seen == [world.root[TOOLS], world.root[SYSTEM_PROMPT]]


# --- inside the call -------------------------------------------------------------------------------------------------


def test_synchronous_creation(world: World) -> None:
    """It publishes in the same order, and answers the agent (LIFE-SYNC-01)."""
    loop = world.root[AGENT_LOOP]
    agents: list[Agent] = []

    def create() -> None:
        agents.append(loop.create_now(world.root, options()))
        assert world.take() == PUBLISHED

    world.run(create)
    assert agents == [world.root[AGENTS].get("a")]
    with pytest.raises(TypeError, match="an agent that is created at once has no setup: use create_agent"):
        world.run(lambda: loop.create_now(world.root, options(setup=lambda _: None)))


@pytest.mark.parametrize("closing", ["owner", "loop"])
def test_synchronous_creation_that_is_closed(world: World, closing: str) -> None:
    """It raises, and its rollback completes by itself, paired (LIFE-SYNC-01, LIFE-OWN-03)."""
    owner = world.root.open(scope=None, name="owner")
    loop = world.root[AGENT_LOOP]
    world.root.on(AGENT_CREATED, lambda _: (owner if closing == "owner" else loop._ctx).dispose())
    occupied: list[Any] = []

    def create() -> None:
        with pytest.raises(CreationAborted if closing == "owner" else LoopInactive):
            loop.create_now(owner, options())
        occupied.append(world.registered())

    world.run(create)
    assert (occupied, world.registered()) == ([(True, True)], (False, False))
    assert world.take() == [*PUBLISHED[:2], "agent/disposed a", "session/disposed a"]


def test_a_second_loop_is_refused(world: World) -> None:
    """What is said is that there is one, and not what else would be there twice."""
    with pytest.raises(AgentError, match="an agent factory is already registered"):
        world.run(lambda: mount_loop(world.root))
    world.create()


def test_configured_agents_need_every_part_and_a_loop() -> None:
    """They are not left out silently."""
    configured = [ConfiguredAgent(id="a")]
    with pytest.raises(UnknownPart, match="configured agents need every part: configure none, or keep agents"):
        compose(without={"agents"}, agents=configured)
    with pytest.raises(NoEventLoop):
        compose(agents=configured)
    with (
        pytest.raises(UnknownPart, match="without is a set of parts, not a text"),
        suppress_type_checks(),
    ):
        compose(without="loop")  # type: ignore[arg-type]


@pytest.mark.parametrize("member", ["provider", "model"])
def test_route_that_is_no_text(member: str) -> None:
    """It is refused where it is written."""
    with pytest.raises(AgentError, match=f"{member} must be a text, not 5"):
        AgentOptions(**{member: 5})  # type: ignore[arg-type]
