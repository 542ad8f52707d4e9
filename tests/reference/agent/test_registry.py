"""The registry: entries, announcements, detaching, and the slot of the factory."""

from typing import Any

import pytest
from tests.reference.world import World

from dshcore import eager
from dshcore.agent import (
    AGENT_CREATED,
    AGENT_DISPOSED,
    AGENTS,
    Agent,
    AgentError,
    AgentRegistry,
    AlreadyRegistered,
    CreateAgentOptions,
    NoFactory,
    ResumeAgentOptions,
)
from dshcore.context import Context, InactiveContext


@pytest.fixture
def agent(world: World) -> Agent:
    """An agent that is live in the world's registry, and in no other."""
    made = world.create()
    world.take()
    return made


def test_enter_announces_nothing(world: World, agent: Agent) -> None:
    """The agent is visible; leaving unannounced is silent too (REG-ENTER-01, REG-DET-01)."""
    registry = AgentRegistry(world.root)
    detach = registry.enter(agent, None)
    assert (registry.get("a"), registry.list(), registry.roots()) == (agent, (agent,), (agent,))
    detach()
    assert (registry.get("a"), world.take()) == (None, [])


def test_one_entry_for_each_id(world: World, agent: Agent) -> None:
    """A taken id is refused, and the registry is unchanged (REG-ENTER-02)."""
    registry = AgentRegistry(world.root)
    registry.enter(agent, None)
    with pytest.raises(AlreadyRegistered, match='agent "a" is already registered'):
        registry.enter(agent, agent)
    assert registry.roots() == (agent,)


def test_id_of_agent_and_session_must_agree(world: World, agent: Agent) -> None:
    """An agent over a session of another id is refused (REG-ENTER-02)."""
    other = world.create("b")
    agent._session = other.session  # type: ignore[attr-defined]  # nothing else makes such an agent

    class Mismatched(type(agent)):  # type: ignore[misc]
        id = "a"

    agent.__class__ = Mismatched
    with pytest.raises(AgentError, match='agent id "a" does not match session id "b"'):
        AgentRegistry(world.root).enter(agent, None)


def test_owner_is_the_one_given(world: World, agent: Agent) -> None:
    """Ownership ends with the entry (REG-ENTER-03, REG-READ-03)."""
    child = world.create("b")
    registry = AgentRegistry(world.root)
    registry.enter(agent, None)
    detach = registry.enter(child, agent)
    assert (registry.roots(), registry.is_owned_by("b", agent)) == ((agent,), True)
    assert not registry.is_owned_by("b", child)
    detach()
    assert not registry.is_owned_by("b", agent)


def test_announce_works_once(world: World, agent: Agent) -> None:
    """Also from inside a listener, and only for the live entry (REG-ANN-01)."""
    registry = AgentRegistry(world.root)
    with pytest.raises(AgentError, match='agent "a" is not live in this registry'):
        registry.announce(agent)
    registry.enter(agent, None)
    nested: list[str] = []

    def again(_: object) -> None:
        with pytest.raises(AgentError) as caught:
            registry.announce(agent)
        nested.append(str(caught.value))

    world.root.on(AGENT_CREATED, again)
    registry.announce(agent)
    assert nested == ['agent "a" was already announced']
    assert world.take() == ["agent/created a"]


def test_vetoed_entry_stays_until_its_detach(world: World, agent: Agent) -> None:
    """It counts as announced (REG-ANN-02)."""
    registry = AgentRegistry(world.root)
    detach = registry.enter(agent, None)

    def veto(_: object) -> None:
        raise ValueError("no")

    world.root.on(AGENT_CREATED, veto, once=True)
    with pytest.raises(ValueError, match="no"):
        registry.announce(agent)
    assert registry.get("a") is agent
    detach()
    assert world.take() == ["agent/created a", "agent/disposed a"]


@pytest.mark.parametrize("veto", [True, False])
def test_detach_waits_for_the_dispatch(world: World, agent: Agent, *, veto: bool) -> None:
    """Later listeners still see the entry, and the end follows before announce is over (REG-DET-03, REG-DET-04)."""
    registry = AgentRegistry(world.root)
    detach = registry.enter(agent, None)
    seen: list[Any] = []

    def last(_: object) -> None:
        seen.append(registry.get("a"))
        if veto:
            raise ValueError("no")

    world.root.on(AGENT_CREATED, lambda _: detach())
    world.root.on(AGENT_CREATED, last)
    try:
        registry.announce(agent)
    except ValueError:
        seen.append("veto")
    assert seen == [agent, "veto"] if veto else seen == [agent]
    assert (registry.get("a"), world.take()) == (None, ["agent/created a", "agent/disposed a"])


def test_detach_works_once(world: World, agent: Agent) -> None:
    """A stale one does not remove a later entry; a disposed-listener may enter a successor (REG-DET-02, -05)."""
    registry = AgentRegistry(world.root)
    first = registry.enter(agent, None)
    registry.announce(agent)
    world.root.on(AGENT_DISPOSED, lambda _: registry.enter(agent, None), once=True)
    first()
    first()
    assert registry.get("a") is agent


class Factory:
    """A factory that records what it was asked."""

    def __init__(self) -> None:
        self.calls: list[tuple[Context, CreateAgentOptions]] = []
        self.resumed: list[tuple[Context, ResumeAgentOptions]] = []

    async def create_agent(self, owner: Context, options: CreateAgentOptions) -> Any:
        self.calls.append((owner, options))
        raise ValueError("the factory's own")

    async def resume(self, owner: Context, options: ResumeAgentOptions) -> Any:
        self.resumed.append((owner, options))
        raise ValueError("of the factory")


def test_slot_of_the_factory(world: World) -> None:
    """One at a time; cleared by its disposer and by its owner's end, never by a stale disposer (FACT-SET)."""
    registry, owner = AgentRegistry(world.root), world.root.open(scope=None, name="owner")
    options = CreateAgentOptions(session_id="x")

    def create() -> BaseException | None:
        return world.run(lambda: eager.start(registry.create(world.root, options))).exception()

    first, second = Factory(), Factory()
    clear = registry.set_factory(world.root, first)
    with pytest.raises(AgentError, match="an agent factory is already registered"):
        registry.set_factory(owner, second)
    assert str(create()) == "the factory's own"
    assert first.calls == [(world.root, options)]
    clear()
    assert isinstance(create(), NoFactory)
    registry.set_factory(owner, second)
    clear()
    assert str(create()) == "the factory's own"
    world.run(owner.dispose)
    assert isinstance(create(), NoFactory)
    with pytest.raises(InactiveContext):
        registry.set_factory(owner, first)
    assert isinstance(create(), NoFactory)


def test_closed_loop_makes_no_agents(world: World) -> None:
    """The slot goes with the loop (LIFE-OWN-09)."""
    from dshcore.agent_loop import AGENT_LOOP

    world.run(world.root[AGENT_LOOP]._ctx.dispose)
    error = world.start(lambda: world.root[AGENTS].create(world.root, CreateAgentOptions(session_id="x"))).exception()
    assert isinstance(error, NoFactory)


def test_factory_resumes_for_the_caller(world: World) -> None:
    """Owner and options reach it as they are, and its failure the caller; without one it rejects (FACT-CALL-01)."""
    registry, owner, factory = AgentRegistry(world.root), world.root.open(scope=None, name="owner"), Factory()
    options = ResumeAgentOptions(resume_session_id="x")

    def resume() -> BaseException | None:
        return world.run(lambda: eager.start(registry.resume(owner, options))).exception()

    assert isinstance(resume(), NoFactory)
    registry.set_factory(world.root, factory)
    assert (str(resume()), factory.resumed) == ("of the factory", [(owner, options)])


def test_register_is_enter_and_announce(world: World, agent: Agent) -> None:
    """It is announced at once, and leaves with its owner or by its disposer, once (REG-LIFE-01, REG-LIFE-02)."""
    registry, owner = AgentRegistry(world.root), world.root.open(scope=None, name="owner")
    registry.register(owner, agent)
    assert (registry.get("a"), world.take()) == (agent, ["agent/created a"])
    world.run(owner.dispose)
    assert (registry.get("a"), world.take()) == (None, ["agent/disposed a"])
    with pytest.raises(InactiveContext):
        registry.register(owner, agent)
    first = registry.register(world.root, agent)
    first()
    registry.register(world.root, agent)
    world.take()
    assert (first(), registry.get("a"), world.take()) == (None, agent, [])


def test_register_records_the_agent_of_the_scope(world: World, agent: Agent) -> None:
    """Who calls decides, also through a scope that was opened below the agent's (REG-ENTER-03)."""
    registry, other = AgentRegistry(world.root), world.create("b")
    undo = registry.register(agent.ctx.open(scope=object(), name="below"), other)
    assert (registry.is_owned_by("b", agent), registry.roots()) == (True, ())
    undo()
    assert not registry.is_owned_by("b", agent)
    registry.register(world.root, other)
    assert registry.roots() == (other,)


def test_vetoed_register_leaves_nothing(world: World, agent: Agent) -> None:
    """The two events are paired (REG-LIFE-01)."""
    registry = AgentRegistry(world.root)

    def veto(_: object) -> None:
        raise ValueError("no")

    world.root.on(AGENT_CREATED, veto)
    with pytest.raises(ValueError, match="no"):
        registry.register(world.root, agent)
    assert (registry.get("a"), world.take()) == (None, ["agent/created a", "agent/disposed a"])
