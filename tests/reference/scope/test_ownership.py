"""Whose a registration is that was made through a service."""

import pytest
from tests.reference.toolbox import definition
from tests.reference.world import World

from dshcore.agent import AGENTS, CreateAgentOptions
from dshcore.context import Context, Plugin, ServiceMissing
from dshcore.ids import SessionId
from dshcore.scope import create_scope
from dshcore.session import SESSIONS
from dshcore.system_prompt import PromptOptions, SystemPrompt
from dshcore.tools import TOOLS


def test_what_a_service_asks_of_another_one_for_its_caller_is_the_callers(world: World) -> None:
    """TRACE-OWNER-02: the registry passes its caller on to the loop; the agent ends with the caller."""
    owner = world.run(lambda: world.root.open(name="owner"))
    world.create("a", owner=owner)
    world.create("b")
    world.start(owner.dispose)
    agents = world.root[AGENTS]
    assert [agent.id for agent in agents.list()] == ["b"]


def test_what_a_service_registers_for_itself_is_its_own(world: World) -> None:
    """TRACE-OWNER-03: everybody sees it, and it survives every caller."""
    service = world.run(lambda: world.root.open(name="prompt service"))
    prompts = SystemPrompt(service, PromptOptions(persona="You are terse."))
    scope = create_scope(world.root, "caller")
    prompts.section(scope.ctx, "own", 1, "Mine.")
    world.start(scope.dispose)
    for ctx in (world.root, service):
        assembly = world.start(prompts.assemble).result()
        assert any("You are terse." in section.text for section in assembly.sections), ctx
    world.start(service.dispose)
    assert world.start(prompts.assemble).result().sections == []


def test_a_service_uses_its_own_dependencies(world: World) -> None:
    """TRACE-DEPS-01: who calls it need not require what it requires."""
    failures: list[BaseException] = []

    async def body(ctx: Context, _: object) -> None:
        handle = await ctx[AGENTS].create(ctx, CreateAgentOptions(session_id=SessionId("a")))
        assert handle.agent.session is world.root[SESSIONS].get("a")
        try:
            ctx[SESSIONS]
        except ServiceMissing as error:
            failures.append(error)

    plugin = world.run(lambda: world.root.mount(Plugin(body, name="p", requires=[AGENTS])))
    assert (plugin.fiber.error, len(failures)) == (None, 1)
    world.start(plugin.dispose)
    assert world.root[AGENTS].list() == ()


def test_a_read_goes_by_its_scope_and_not_by_who_asks(world: World) -> None:
    """TRACE-READ-01: without one it answers the global view."""
    agent = world.create("a")
    agent.ctx[TOOLS].register(agent.ctx, definition("own"))
    assert agent.ctx[TOOLS].get("own") is None
    assert agent.ctx[TOOLS].get("own", agent) is not None
    with pytest.raises(ServiceMissing):
        world.run(lambda: world.root.open(name="stranger"))[TOOLS]
