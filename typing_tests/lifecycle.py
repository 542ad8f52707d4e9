"""What may be done with registries, initiators and configured agents, and what the type checkers refuse."""

import asyncio
from collections.abc import Awaitable

from typing_tests.declarations import ctx

from dshcore.agent import (
    AGENTS,
    Agent,
    AgentHandle,
    AgentRegistry,
    CreateAgentOptions,
    Initiators,
    ResumeAgentOptions,
)
from dshcore.agent_loop import AGENT_LOOP, CONFIG_START_FAILED, ConfigStartFailed, ConfiguredAgent, FixedIdentity
from dshcore.blocking import Application, BlockingAgent, Handle
from dshcore.cancel_signal import CancelSignal
from dshcore.context import Context, Disposer
from dshcore.session import SESSION_PERSISTENCE, Preparation, SessionPersistence
from dshcore.spine import mount_loop

registry: AgentRegistry = ctx[AGENTS]
initiators: Initiators = registry.initiators


async def work() -> int:
    return 1


async def creations(agent: Agent) -> None:
    handle: AgentHandle = await registry.create(ctx, CreateAgentOptions(session_id="a"))
    again: AgentHandle = await registry.resume(ctx, ResumeAgentOptions(resume_session_id="a"))
    at_once: Agent = ctx[AGENT_LOOP].create_now(ctx, CreateAgentOptions(session_id="a"))
    disposer: Disposer = registry.register(ctx, agent)
    agent.dispose()  # error: attr-defined
    await handle.dispose()
    await registry.create(ctx, ResumeAgentOptions(resume_session_id="a"))  # error: arg-type
    CreateAgentOptions("a")  # error: call-arg
    taken: list[object] = [again, at_once, disposer]
    taken.clear()


def boundaries(agent: Agent, future: "asyncio.Future[str]") -> None:
    number: int = initiators.within(agent, lambda: 1)
    same: asyncio.Future[str] = initiators.without(lambda: future)
    started: Awaitable[int] = initiators.within(agent, work)
    wrong: int = initiators.within(agent, work)  # error: assignment
    initiators.within(None, work)  # error: call-overload
    nobody: Agent = initiators.current()  # error: assignment
    somebody: Agent = initiators.require()
    taken: list[object] = [number, same, started, wrong, nobody, somebody]
    taken.clear()


class Store:
    async def prepare(self, session_id: str, signal: CancelSignal) -> Preparation:
        raise NotImplementedError

    async def list(self, signal: CancelSignal) -> list[dict[str, object]]:
        raise NotImplementedError


class NoStore:
    async def prepare(self, session_id: str) -> Preparation:
        raise NotImplementedError


store: SessionPersistence = Store()
ctx.provide(SESSION_PERSISTENCE, Store())
no_store: SessionPersistence = NoStore()  # error: assignment

loop: Context = mount_loop(ctx, agents=[ConfiguredAgent(id="x")], identities={"x": FixedIdentity(id="n")})
mount_loop(ctx, agents=["x"])  # error: list-item


def failed(payload: ConfigStartFailed) -> None:
    payload.session_id.encode()
    payload.agent.dispose()  # error: attr-defined


ctx.on(CONFIG_START_FAILED, failed)

application = Application(enforce=True)
blocking: Handle = application.create(CreateAgentOptions(session_id="a"))
agent: BlockingAgent = blocking.agent
count: int = application.call(lambda root: len(root[AGENTS].list()))
waited: int = application.call(lambda _: work())
