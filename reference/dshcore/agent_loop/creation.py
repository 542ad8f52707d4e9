"""How agents are made: new ones, and those that storage has kept. The transaction itself is in `life`."""

from collections.abc import Callable, Mapping
from typing import Final

from msgspec import UNSET

from dshcore.agent import (
    AGENT,
    Agent,
    AgentError,
    AgentHandle,
    AgentOptions,
    AgentRegistry,
    CreateAgentOptions,
    ResumeAgentOptions,
)
from dshcore.agent_loop.agent import DrivenAgent
from dshcore.agent_loop.driver import Driver
from dshcore.agent_loop.life import Life
from dshcore.agent_loop.request import Requests, check_max_tokens
from dshcore.agent_loop.scheduling import Scheduler
from dshcore.context import Context, ServiceKey
from dshcore.json import abridged
from dshcore.llm import LlmRuntime
from dshcore.scope import create_scope
from dshcore.session import SESSION_PERSISTENCE, Session, SessionStore
from dshcore.settings import SETTINGS, SETTINGS_PROPOSED, SettingsProposed
from dshcore.system_prompt import AssembleContext, SnapshotProjection, SystemPrompt
from dshcore.tools import ToolRegistry

SECTION: Final = "agent-loop"
"""The section of the settings that the loop reads."""

CAP: Final = "maxParallelToolCalls"
"""The setting of how many tool calls of one answer may run at once."""


class LoopMisconfigured(AgentError):
    """The loop was given a configuration that it cannot work with."""

    default_code = "LOOP_MISCONFIGURED"


class PersistenceMissing(AgentError):
    """Nothing stores sessions here (LIFE-RES-04)."""

    default_code = "PERSISTENCE_MISSING"

    def __init__(self) -> None:
        super().__init__(
            "cannot resume: session persistence is not configured (load a dsh-session-persistence backend)"
        )


class InvalidSessionId(AgentError, TypeError):
    """An agent was to be made under an id that none can have."""

    default_code = "INVALID_SESSION_ID"

    def __init__(self, value: object) -> None:
        super().__init__(f"an agent needs a non-empty text as session id, not {abridged(value)}")


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
        AgentError: The registry has a factory already.

    Spec:
        SCHED-CAP-01, CONF-PAR-01
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
        self._configured_cap = _checked_cap(max_parallel_tool_calls)
        self._ctx = ctx
        self._sessions = sessions
        self._agents = agents
        self._llm = llm
        self._prompts = prompts
        self._scheduler = Scheduler(tools, self._cap)
        agents.set_factory(ctx, self)  # first: where there is a loop already, it alone is in the way
        ctx.on(SETTINGS_PROPOSED, _check_settings)
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
            InvalidSessionId: The id is no text, or empty.
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
            LIFE-CREATE-01, LIFE-CREATE-02, LIFE-CREATE-03, LIFE-CREATE-04, LIFE-PUB-01, LIFE-ROLL-04, LIFE-ROLL-08,
            LIFE-OWN-03, AGENT-ID-01
        """
        session = self._prepare(options)
        async with Life(session.id, owner, self._ctx, options.signal) as life:
            await life.compose(self._make(session, options.agent_options), options.setup)
            life.publish(self._sessions, self._agents, "startup")
        return life

    def create_now(self, owner: Context, options: CreateAgentOptions) -> Agent:
        """Create an agent as `create_agent` does, inside the call.

        Args:
            owner: Whose end disposes of the agent; there is no handle.
            options: What it is created from, without a setup.

        Returns:
            The live, announced agent.

        Raises:
            TypeError: There is a setup, which may take time.
            Exception: As of `create_agent`. The rollback goes on when this has raised.

        Spec:
            LIFE-SYNC-01, LIFE-OWN-03
        """
        if options.setup is not None:
            raise TypeError("an agent that is created at once has no setup: use create_agent")
        session = self._prepare(options)
        life = Life(session.id, owner, self._ctx, options.signal)
        try:
            life.hold(self._make(session, options.agent_options))
            life.publish(self._sessions, self._agents, "startup")
        except BaseException:
            life.dispose()
            raise
        return life.agent

    async def resume(self, owner: Context, options: ResumeAgentOptions) -> AgentHandle:
        """Make an agent over a stored session, and publish both.

        Args:
            owner: Whose end disposes of the agent; where it is the scope of an agent, that agent owns it.
            options: What it is resumed from.

        Returns:
            The handle of the live, announced agent.

        Raises:
            PersistenceMissing: Nothing stores sessions here.
            InvalidSessionId: The id is no text, or empty.
            InactiveContext: The owner is inactive.
            LoopInactive: The loop is closing.
            CreationAborted: The owner began to close, or the signal was aborted with what is no error.
            BaseException: What the storage, setup, its commit or a vetoing listener raised, or the error that the
                signal was aborted with; as it is.

        Cancellation:
            While the session is loaded, and while setup runs, that is cancelled, everything is rolled back, and the
            cancellation goes on.

        Spec:
            LIFE-RES-01, LIFE-RES-02, LIFE-RES-03, LIFE-RES-04, LIFE-RES-07, LIFE-PUB-03, LIFE-ABORT-01, LIFE-OWN-03
        """
        storage = self._ctx.get(SESSION_PERSISTENCE)
        if storage is None:
            raise PersistenceMissing
        _check_id(options.resume_session_id)
        async with Life(options.resume_session_id, owner, self._ctx, options.signal) as life:
            session = await life.load(storage)
            check_max_tokens(options.agent_options.max_tokens)
            await life.compose(self._make(session, options.agent_options), options.setup)
            life.publish(self._sessions, self._agents, "resume")
        return life

    def _cap(self) -> int:
        """Answer how many tool calls of one answer may run at once: as stored, else as configured (CONF-PAR-02)."""
        settings = self._ctx.get(SETTINGS)
        stored = None if settings is None else settings.read(SECTION)
        return self._configured_cap if stored is None else _checked_cap(stored.get(CAP, self._configured_cap))

    def _prepare(self, options: CreateAgentOptions) -> Session:
        """Make the session of a new agent, and check its options (LIFE-CREATE-04)."""
        _check_id(options.session_id)  # the store would mint one for none
        session = self._sessions.prepare(options.session_id, meta=options.meta, seed=options.seed, balanced=True)
        check_max_tokens(options.agent_options.max_tokens)
        return session

    def _make(self, session: Session, options: AgentOptions) -> DrivenAgent:
        """Make the agent of a session. Nobody sees it yet.

        Raises:
            InvalidInboxLog: The splices of the log do not fit.

        Spec:
            FACT-CALL-02, LIFE-CREATE-02, LIFE-RES-02
        """

        def scope(agent: DrivenAgent) -> Context:
            # FACT-CALL-02: of the loop, whoever the caller is; not owned: it ends when its agent has come to rest,
            # which the loop's own end waits for
            return create_scope(self._ctx, agent, name=f"agent {agent.id}", owned=False).ctx.derive(AGENT, agent)

        requests = Requests(session, options, self._llm)
        driver = Driver(self._prompts, SnapshotProjection(session), requests, self._scheduler)
        return DrivenAgent(session, options, scope, driver.run, self._agents.initiators)


def _check_id(session_id: object) -> None:
    if not isinstance(session_id, str) or not session_id:
        raise InvalidSessionId(session_id)


def _checked_cap(cap: object) -> int:
    if type(cap) is not int or cap < 1:
        raise LoopMisconfigured(f"{CAP} must be a positive integer, not {cap!r}")
    return cap


def _check_settings(proposed: SettingsProposed) -> None:
    """Refuse a section that the loop could not work with; what is stored stays in force (CONF-PAR-02)."""
    if proposed.section == SECTION:
        if unknown := sorted(proposed.value.keys() - {CAP}):
            raise LoopMisconfigured(f"there is no setting {unknown[0]!r} in {SECTION!r}: there is {CAP!r}")
        _checked_cap(proposed.value.get(CAP, 1))


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


AGENT_LOOP: Final = ServiceKey[AgentLoop]("agent-loop")
"""What makes the agents of an application, and drives them."""
