"""The registry: the live agents of one process, by id, and the slot of the factory that makes them."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol, TypeAlias

from dshcore.agent.events import (
    AGENT_CREATED,
    AGENT_DISPOSED,
    AgentCreated,
    AgentDisposal,
)
from dshcore.agent.handle import Agent, AgentError, AgentOptions
from dshcore.agent.initiator import Initiators
from dshcore.cancel_signal import CancelSignal
from dshcore.context import Context, Disposer, ServiceKey
from dshcore.ids import SessionId


class SetupCommit(Protocol):
    """What a setup may answer: a last synchronous operation before the agent is published."""

    def commit(self) -> object:
        """Do it.

        Returns:
            Anything; it is neither looked at nor awaited.
        """
        ...


AgentSetup: TypeAlias = Callable[[Context], Awaitable[SetupCommit | None] | SetupCommit | None]
"""Composes the scope of an agent while nothing of it is visible.

If the creation ends meanwhile, a setup that waits is not stopped, unless by the host: its context is closed, and what
it answers is ignored. An effect of its context (`ctx.effect`) tells it, by being undone.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateAgentOptions:
    """What an agent is created from.

    Attributes:
        session_id: The one identity of agent and session.
        meta: What the session's header says beside version, id and time.
        seed: The events that its log begins with.
        agent_options: The route and output cap of its first request.
        signal: Aborts the creation while it lasts.
        setup: Composes the agent's scope before anything is published.
    """

    session_id: str
    meta: Mapping[str, object] = field(default_factory=dict[str, object])
    seed: Sequence[object] | None = None
    agent_options: AgentOptions = field(default_factory=AgentOptions)
    signal: CancelSignal | None = None
    setup: AgentSetup | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumeAgentOptions:
    """What an agent is resumed from; header and log come from storage.

    Attributes:
        resume_session_id: The id of the stored session, and of the agent.
        agent_options: The route and output cap of its first request.
        signal: Aborts the resumption while it lasts.
        setup: Composes the agent's scope before anything is published.
    """

    resume_session_id: str
    agent_options: AgentOptions = field(default_factory=AgentOptions)
    signal: CancelSignal | None = None
    setup: AgentSetup | None = None


class AgentHandle(Protocol):
    """What creation answers: the agent, and the capability to dispose of it."""

    @property
    def agent(self) -> Agent:
        """The agent."""
        ...

    def dispose(self) -> Awaitable[None]:
        """Cancel what the agent does, now, and begin its teardown.

        The teardown waits for what the agent is doing, then comes to what it owns. So a tool, model or listener of the
        agent must not await this, and one that waits for an owned agent has to heed its own signal.

        Returns:
            Completes when the teardown is complete. All disposals of one agent share it.

        Raises:
            NoEventLoop: No event loop is running; nothing has changed.
            AgentError: The agent lives in another event loop; nothing has changed.

        Cancellation:
            Ends the waiting and nothing else.

        Spec:
            LIFE-DISP-01, LIFE-DISP-07, LIFE-DISP-08, LIFE-DISP-24
        """
        ...


class AgentFactory(Protocol):
    """Makes agents."""

    async def create_agent(self, owner: Context, options: CreateAgentOptions) -> AgentHandle:
        """Make an agent on behalf of an owner.

        Args:
            owner: Whose end disposes of it.
            options: What it is created from.

        Cancellation:
            Rolls the creation back.
        """
        ...

    async def resume(self, owner: Context, options: ResumeAgentOptions) -> AgentHandle:
        """Make an agent over a stored session, on behalf of an owner.

        Args:
            owner: Whose end disposes of it.
            options: What it is resumed from.

        Cancellation:
            Rolls the resumption back.
        """
        ...


class AlreadyRegistered(AgentError):
    """The id belongs to a registered agent.

    Args:
        agent_id: The id.
    """

    default_code = "AGENT_ALREADY_EXISTS"

    def __init__(self, agent_id: str) -> None:
        super().__init__(f'agent "{agent_id}" is already registered')


class NoFactory(AgentError):
    """Nothing is there that makes agents."""

    default_code = "NO_FACTORY"

    def __init__(self) -> None:
        super().__init__("no agent factory registered (load an agent-loop plugin)")


@dataclass(eq=False, slots=True)
class _Entry:
    """One life of an agent in the registry."""

    agent: Agent
    owner: Agent | None
    announced: bool = False
    announcing: bool = False
    leaving: bool = False
    left: list[Callable[[], object]] = field(default_factory=list[Callable[[], object]])


class AgentRegistry:
    """The live agents of one process.

    Args:
        ctx: The registry's own context. Its end closes the initiator scope.

    Attributes:
        initiators: Which agent has caused the code that is running.
    """

    def __init__(self, ctx: Context) -> None:
        self.initiators: Final = Initiators(ctx)
        self._entries: dict[SessionId, _Entry] = {}
        self._factory: AgentFactory | None = None

    # --- readers ---------------------------------------------------------------------------------------------------

    def get(self, agent_id: str) -> Agent | None:
        """Answer the live agent of an id (REG-READ-01).

        Args:
            agent_id: The id.
        """
        entry = self._entries.get(SessionId(agent_id))
        return None if entry is None else entry.agent

    def list(self) -> tuple[Agent, ...]:
        """Answer the live agents in the order of registration (REG-READ-01, REG-READ-02)."""
        return tuple(entry.agent for entry in self._entries.values())

    def roots(self) -> tuple[Agent, ...]:
        """Answer the live agents that no agent owns, in the order of registration (REG-READ-01)."""
        return tuple(entry.agent for entry in self._entries.values() if entry.owner is None)

    def is_owned_by(self, agent_id: str, owner: Agent) -> bool:
        """Tell whether an id is live and was created through the scope of exactly this agent (REG-READ-03).

        Args:
            agent_id: The id.
            owner: The agent that may own it.
        """
        entry = self._entries.get(SessionId(agent_id))
        return entry is not None and entry.owner is owner

    # --- entries ---------------------------------------------------------------------------------------------------

    def enter(self, agent: Agent, owner: Agent | None) -> Callable[[], None]:
        """Make an agent visible, without announcing it.

        Args:
            agent: The agent.
            owner: The agent through whose scope it was created, if any.

        Returns:
            The detach: the agent leaves the registry, and `agent/disposed` follows if it was announced. While its
            creation is dispatched, that happens as soon as the dispatch has ended. It works once.

        Raises:
            AgentError: The agent's id is not that of its session.
            AlreadyRegistered: The id is taken.

        Spec:
            REG-ENTER-01, REG-ENTER-02, REG-ENTER-03, REG-DET-01, REG-DET-02, REG-DET-03, REG-DET-04, REG-DET-05
        """
        if agent.id != agent.session.id:
            raise AgentError(f'agent id "{agent.id}" does not match session id "{agent.session.id}"')
        if agent.id in self._entries:
            raise AlreadyRegistered(agent.id)
        entry = self._entries[agent.id] = _Entry(agent, owner)

        def detach() -> None:
            if not entry.leaving:
                entry.leaving = True
                if not entry.announcing:
                    self._leave(entry)

        return detach

    def announce(self, agent: Agent) -> None:
        """Dispatch `agent/created` for an agent that was entered, once in its life.

        Raises:
            AgentError: The agent is not the live entry of its id, or was announced before.
            Exception: What a listener raised: a veto. The entry stays until its detach.

        Spec:
            REG-ANN-01, REG-ANN-02, REG-DET-03, REG-DET-04
        """
        entry = self._entries.get(agent.id)
        if entry is None or entry.agent is not agent:
            raise AgentError(f'agent "{agent.id}" is not live in this registry')
        if entry.announced:
            raise AgentError(f'agent "{agent.id}" was already announced')
        entry.announced = entry.announcing = True
        try:
            agent.ctx.emit(AGENT_CREATED, AgentCreated(agent))
        finally:
            entry.announcing = False
            if entry.leaving:
                self._leave(entry)

    def when_left(self, agent_id: str, callback: Callable[[], object]) -> None:
        """Have a callback called once the agent that is registered under an id has left, announced or not.

        Args:
            agent_id: The id.
            callback: Called without arguments.

        Raises:
            AgentError: The id is free.

        Spec:
            CONF-START-05
        """
        entry = self._entries.get(SessionId(agent_id))
        if entry is None:
            raise AgentError(f'agent "{agent_id}" is not live in this registry')
        entry.left.append(callback)

    def register(self, owner: Context, agent: Agent) -> Disposer:
        """Enter an agent and announce it, in one.

        Args:
            owner: Whose end detaches it; the agent that it belongs to, if any, owns the new one.
            agent: The agent.

        Returns:
            Detaches it earlier, once.

        Raises:
            AgentError: The agent's id is not that of its session.
            AlreadyRegistered: The id is taken.
            InactiveContext: The owner is inactive.
            Exception: What a listener raised: a veto. The agent has left again.

        Spec:
            REG-LIFE-01, REG-LIFE-02, REG-ENTER-03
        """
        owner.assert_accepting()
        leave = owner.effect(self.enter(agent, owner.read(AGENT)), label=f"agent {agent.id}")
        try:
            self.announce(agent)
        except BaseException:
            leave()
            raise
        return leave

    def _leave(self, entry: _Entry) -> None:
        del self._entries[entry.agent.id]
        if entry.announced:
            entry.agent.ctx.emit(AGENT_DISPOSED, AgentDisposal(entry.agent))
        for callback in entry.left:
            callback()

    # --- the factory -----------------------------------------------------------------------------------------------

    def set_factory(self, owner: Context, factory: AgentFactory) -> Disposer:
        """Fill the slot of the factory, until the owner ends.

        Args:
            owner: Whose end clears the slot.
            factory: What makes agents from now on.

        Returns:
            Clears the slot earlier.

        Raises:
            AgentError: A factory is registered already; it stays in force.
            InactiveContext: The owner is inactive.

        Spec:
            FACT-SET-01, FACT-SET-03
        """
        owner.assert_accepting()
        if self._factory is not None:
            raise AgentError("an agent factory is already registered")
        self._factory = factory

        def clear() -> None:
            self._factory = None

        return owner.effect(clear, label="agent factory")

    async def create(self, owner: Context, options: CreateAgentOptions) -> AgentHandle:
        """Create an agent over a new session.

        Args:
            owner: Whose end disposes of the agent.
            options: What it is created from.

        Returns:
            The handle of the live, announced agent.

        Raises:
            NoFactory: Nothing makes agents here.
            Exception: The creation failed, or was vetoed; nothing of it is left.

        Cancellation:
            While setup runs, the creation is rolled back and the cancellation goes on.

        Spec:
            FACT-SET-02, FACT-CALL-01, LIFE-CREATE-01, TRACE-OWNER-02
        """
        if self._factory is None:
            raise NoFactory
        return await self._factory.create_agent(owner, options)  # TRACE-OWNER-02: the caller owns what is made for it

    async def resume(self, owner: Context, options: ResumeAgentOptions) -> AgentHandle:
        """Make an agent over a stored session.

        Args:
            owner: Whose end disposes of the agent.
            options: What it is resumed from.

        Returns:
            The handle of the live, announced agent.

        Raises:
            NoFactory: Nothing makes agents here.
            Exception: The resumption failed, or was vetoed; nothing of it is left.

        Cancellation:
            While the session is loaded, and while setup runs, everything is rolled back and the cancellation goes on.

        Spec:
            FACT-SET-02, FACT-CALL-01
        """
        if self._factory is None:
            raise NoFactory
        return await self._factory.resume(owner, options)


AGENTS: Final = ServiceKey[AgentRegistry]("agents")
"""The agents of an application."""

AGENT: Final = ServiceKey[Agent | None]("agent")
"""The agent that a context belongs to: an own value of its scope's context, else an accessor that says none."""
