"""How agents come into being and leave: creation as one transaction, and the one teardown.

A creation composes the agent while nobody sees it, and then publishes it in one synchronous stretch. Whatever ends it
before its handle is out rolls it back by the same teardown that disposes of a live agent, so that what was announced
is paired, and nothing of a failed creation stays.
"""

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from msgspec import UNSET

from dshcore import eager
from dshcore.agent import (
    AGENT,
    AGENT_SESSION_START,
    Agent,
    AgentError,
    AgentHandle,
    AgentRegistry,
    AgentSessionStart,
    AgentSetup,
    CreateAgentOptions,
    SetupCommit,
)
from dshcore.agent_loop.agent import DrivenAgent
from dshcore.agent_loop.driver import Driver
from dshcore.agent_loop.request import Requests, check_max_tokens
from dshcore.agent_loop.scheduling import Scheduler
from dshcore.cancel_signal import CancelSignal
from dshcore.context import Context, Disposer, ServiceKey
from dshcore.llm import LlmRuntime
from dshcore.scope import create_scope
from dshcore.session import SessionStore
from dshcore.system_prompt import AssembleContext, SnapshotProjection, SystemPrompt
from dshcore.tools import ToolRegistry


class LoopInactive(AgentError):
    """The agent loop is closing, or closed (LIFE-OWN-06)."""

    default_code = "LOOP_INACTIVE"

    def __init__(self) -> None:
        super().__init__("agent loop is not active")


class CreationAborted(AgentError):
    """A creation was given up because of its owner or its caller.

    Attributes:
        reason: What the caller's signal was aborted with; none where the owner closed.
    """

    default_code = "CREATION_ABORTED"

    def __init__(self, message: str, reason: object = None) -> None:
        super().__init__(message)
        self.reason = reason


class LoopMisconfigured(AgentError):
    """The loop was given a configuration that it cannot work with."""

    default_code = "LOOP_MISCONFIGURED"


class AgentLoop:
    """Makes agents and drives them: the factory behind the registry.

    Args:
        ctx: The context of the loop itself; its end tears every agent down.
        sessions: Where their sessions are published.
        agents: Where they are registered.
        llm: Where their model requests go.
        prompts: Assembles the prompts of their steps.
        tools: The tools that they can call.
        max_parallel_tool_calls: How many tool calls of one answer may run at once.

    Raises:
        LoopMisconfigured: The cap is no positive integer.

    Spec:
        SCHED-CAP-01
    """

    def __init__(
        self,
        ctx: Context,
        *,
        sessions: SessionStore,
        agents: AgentRegistry,
        llm: LlmRuntime,
        prompts: SystemPrompt,
        tools: ToolRegistry,
        max_parallel_tool_calls: int,
    ) -> None:
        if type(max_parallel_tool_calls) is not int or max_parallel_tool_calls < 1:
            raise LoopMisconfigured(f"maxParallelToolCalls must be a positive integer, not {max_parallel_tool_calls!r}")
        self.max_parallel_tool_calls: Final = max_parallel_tool_calls
        self._ctx = ctx
        self._sessions = sessions
        self._agents = agents
        self._llm = llm
        self._prompts = prompts
        self._scheduler = Scheduler(tools, max_parallel_tool_calls)
        for name, value in _VARIABLES.items():
            prompts.variable(ctx, name, value)

    async def create_agent(self, owner: Context, options: CreateAgentOptions) -> AgentHandle:
        """Create an agent over a new session, and publish both.

        Args:
            owner: Whose end disposes of the agent; where it is the scope of an agent, that agent owns it.
            options: What it is created from.

        Returns:
            The handle of the live, announced agent.

        Raises:
            SessionExists: The id is live.
            InvalidSeed: The seed is no log, or not one that an agent can go on from.
            InvalidHeader: The metadata has a value that no header may have.
            InvalidInboxLog: The splices of the seed do not fit.
            InactiveContext: The owner is inactive.
            LoopInactive: The loop is closing.
            CreationAborted: The owner began to close, or the signal was aborted with what is no error.
            BaseException: What setup, its commit or a vetoing listener raised, or the error that the signal was
                aborted with; as it is.

        Cancellation:
            While setup runs, setup is cancelled, the creation rolled back, and the cancellation goes on. From the
            commit on there is no point at which it could strike.

        Spec:
            LIFE-CREATE-01, LIFE-CREATE-02, LIFE-CREATE-03, LIFE-CREATE-04, LIFE-SETUP-01, LIFE-PUB-01, LIFE-PUB-02,
            LIFE-PUB-03, LIFE-ROLL-01, LIFE-ROLL-04, LIFE-ROLL-06, LIFE-ROLL-07, LIFE-ROLL-08, LIFE-OWN-03, AGENT-ID-01
        """
        session = self._sessions.prepare(options.session_id, meta=options.meta, seed=options.seed, balanced=True)
        check_max_tokens(options.agent_options.max_tokens)
        owner.assert_accepting()
        if not self._ctx.active:
            raise LoopInactive
        if options.signal is not None and options.signal.aborted:
            raise _abort_error(session.id, options.signal)

        def scope(agent: DrivenAgent) -> Context:
            # not owned: it ends when its agent has come to rest, which the loop's own end waits for
            return create_scope(self._ctx, agent, name=f"agent {agent.id}", owned=False).ctx.derive(AGENT, agent)

        requests = Requests(session, options.agent_options, self._llm)
        driver = Driver(self._prompts, SnapshotProjection(session), requests, self._scheduler)
        agent = DrivenAgent(session, options.agent_options, scope, driver.run)
        life = _Life(agent, owner, self._ctx, options.signal)
        try:
            commit = await life.compose(options.setup)
            life.check()
            if commit is not None:
                commit.commit()  # LIFE-SETUP-03: with both ids still unpublished
                life.check()
            life.publish(self._sessions, self._agents)
        except BaseException:
            await life.dispose()  # LIFE-ROLL-06
            raise
        return life


def _option(name: str) -> Callable[[AssembleContext], str | None]:
    """Make the provider of a prompt variable out of an option of the agent."""

    def provide(context: AssembleContext) -> str | None:
        value = getattr(context.agent.options, name) if isinstance(context.agent, Agent) else UNSET
        return None if value is UNSET else value

    return provide


def _cwd(context: AssembleContext) -> str | None:
    return context.agent.session.header.get("cwd") if isinstance(context.agent, Agent) else None


_VARIABLES: Final[Mapping[str, Callable[[AssembleContext], str | None]]] = {
    "provider": _option("provider"),
    "model": _option("model"),
    "cwd": _cwd,
}
"""The variables that the loop contributes to prompts (PROMPT-VAR-03)."""


def _abort_error(agent_id: str, signal: CancelSignal) -> BaseException:
    """Answer what a creation rejects with when its signal is aborted (LIFE-ABORT-02)."""
    if isinstance(signal.reason, BaseException):
        return signal.reason
    return CreationAborted(f'agent "{agent_id}" creation aborted', signal.reason)


class _Life:
    """One agent from its preparation to its teardown; the handle that creation answers.

    While the creation lasts, the first of these ends it: its caller's signal is aborted, its owner begins to close,
    the loop begins to close (`check`). From then on the owner and the loop only have the agent torn down.
    """

    def __init__(self, agent: DrivenAgent, owner: Context, loop: Context, signal: CancelSignal | None) -> None:
        self._agent = agent
        self._owner = owner
        self._loop = loop
        self._signal = signal
        running = asyncio.get_running_loop()
        self._ended: asyncio.Future[None] = running.create_future()
        self._gone: asyncio.Future[None] = running.create_future()
        self._teardown: asyncio.Task[None] | None = None
        self._detach: list[Callable[[], None]] = []
        label = f"agent {agent.id}"
        self._holds: list[Disposer] = [
            context.effect(self._closed_from_above, label=label) for context in (loop, owner)
        ]
        self._forget_signal = _nothing if signal is None else signal.on_abort(self._end)

    @property
    def agent(self) -> Agent:
        return self._agent

    # --- creation ----------------------------------------------------------------------------------------------------

    async def compose(self, setup: AgentSetup | None) -> SetupCommit | None:
        """Run a setup, for as long as the creation lasts.

        Its context is already in the agent's scope: what it registers is the agent's own, from the first prompt on.

        What a setup does after its creation has ended has no effect: its context is closed, its answer is ignored.

        Spec:
            LIFE-SETUP-01, LIFE-ROLL-01, LIFE-ROLL-12, LIFE-ABORT-03, LIFE-OWN-02, PROMPT-SCOPE-05
        """
        answer = None if setup is None else setup(self._agent.ctx)
        if not inspect.isawaitable(answer):
            return _checked_commit(answer)
        composing = eager.start(_awaited(answer), name=f"setup of {self._agent.id}")
        composing.add_done_callback(_outcome_seen)
        try:
            await asyncio.wait((composing, self._ended), return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            composing.cancel()
            raise
        self.check()
        return _checked_commit(composing.result())

    def check(self) -> None:
        """Go on only if nobody has ended the creation.

        Raises:
            LoopInactive: The loop is closing.
            CreationAborted: The owner began to close, or the signal was aborted with what is no error.
            BaseException: The error that the signal was aborted with.

        Spec:
            LIFE-ABORT-02, LIFE-ABORT-04, LIFE-ABORT-05, LIFE-OWN-02, LIFE-OWN-03, LIFE-OWN-06
        """
        if self._signal is not None and self._signal.aborted:
            raise _abort_error(self._agent.id, self._signal)
        if not self._owner.active:
            raise CreationAborted(f'agent "{self._agent.id}" setup aborted: owner disposed during setup')
        if not self._loop.active:
            raise LoopInactive
        if self._ended.done():  # by an owner that accepts registrations again, as the root does
            raise CreationAborted(f'agent "{self._agent.id}" setup aborted: owner disposed during setup')

    def publish(self, sessions: SessionStore, agents: AgentRegistry) -> None:
        """Make the agent and its session visible, announce both, and let the driver start: one synchronous stretch.

        Each step is followed by a check, so that a creation that was ended by a listener announces no more, and no
        driver starts for it (R-11).

        Spec:
            LIFE-PUB-01, LIFE-PUB-02, LIFE-PUB-03, LIFE-PUB-07, LIFE-PUB-08, LIFE-PUB-09, LIFE-ROLL-03, LIFE-ROLL-09,
            LIFE-ROLL-10, LIFE-ABORT-05, LIFE-OWN-03, LIFE-OWN-04
        """
        agent = self._agent
        owner = self._owner.scope
        self._detach.append(sessions.enter(agent.session, agent.ctx))
        self._detach.append(agents.enter(agent, owner if isinstance(owner, Agent) else None))
        sessions.announce(agent.session)
        self.check()
        agents.announce(agent)
        self.check()
        agent.ctx.emit(AGENT_SESSION_START, AgentSessionStart(agent, "startup"))
        self.check()
        self._forget_signal()  # LIFE-ABORT-06
        agent.go_live()

    # --- teardown ----------------------------------------------------------------------------------------------------

    def dispose(self) -> Awaitable[None]:
        """Cancel what the agent does, now, and begin its teardown. See `AgentHandle`.

        Spec:
            LIFE-DISP-01, LIFE-DISP-07, LIFE-DISP-08, LIFE-DISP-24
        """
        self._agent.request_disposal()
        if self._teardown is None:
            self._teardown = asyncio.get_running_loop().create_task(
                self._tear_down(), name=f"teardown of agent {self._agent.id}"
            )
        return asyncio.shield(self._gone)

    async def _tear_down(self) -> None:
        """Unwind one agent: quiescence, its scope, its registration, its session.

        It begins one turn of the loop after the request, when whatever was being dispatched has unwound.

        Cancellation:
            The rest is done at once, without waiting for what is still under way.

        Spec:
            LIFE-DISP-01, LIFE-DISP-02, LIFE-DISP-04, LIFE-DISP-09, LIFE-DISP-15, LIFE-DISP-16, LIFE-DISP-21,
            LIFE-ROLL-03, LIFE-ROLL-04, LIFE-ROLL-06, LIFE-ROLL-11
        """
        agent = self._agent
        try:
            await agent.when_idle()
            await agent.ctx.dispose()
        finally:
            agent.leave()
            for detach in reversed(self._detach):
                detach()
            self._gone.set_result(None)
            self._forget_signal()
            for hold in self._holds:
                hold()

    def _closed_from_above(self) -> Awaitable[None] | None:
        """The owner or the loop ends: so does the agent, or its creation. None once it is gone (LIFE-OWN-08)."""
        if self._gone.done():
            return None
        self._end()
        return self.dispose()

    def _end(self) -> None:
        if not self._ended.done():
            self._ended.set_result(None)


def _checked_commit(answer: SetupCommit | None) -> SetupCommit | None:
    """Refuse what a setup may not answer, before it is taken for a commit."""
    if answer is not None and not callable(getattr(answer, "commit", None)):
        raise TypeError(f"the setup of an agent answered {answer!r}: answer nothing, or an object with commit()")
    return answer


async def _awaited(answer: Awaitable[SetupCommit | None]) -> SetupCommit | None:
    return await answer


def _outcome_seen(task: asyncio.Task[SetupCommit | None]) -> None:
    """Keep asyncio from reporting the failure of a setup that outlived its creation (LIFE-ROLL-12)."""
    if not task.cancelled():
        task.exception()


def _nothing() -> None:
    """Forget a signal that was never given."""


AGENT_LOOP: Final = ServiceKey[AgentLoop]("agent-loop")
