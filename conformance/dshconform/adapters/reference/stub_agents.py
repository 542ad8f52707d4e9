"""What is shaped like an agent and driven by nobody, and a factory of the suite that answers such."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, NoReturn, cast

from dshconform.adapters.reference.calls import Call
from dshconform.adapters.reference.endings import Kind
from dshconform.adapters.reference.functions import SuiteFunction
from dshconform.adapters.reference.lifecycle_forms import show_options
from dshconform.adapters.reference.world import World
from dshcore.agent import (
    AGENT,
    Agent,
    AgentHandle,
    AgentOptions,
    CancelCause,
    CreateAgentOptions,
    Inbox,
    ResumeAgentOptions,
    Status,
    Target,
)
from dshcore.cancel_signal import CancelSignal
from dshcore.context import Context
from dshcore.ids import SessionId
from dshcore.scope import create_scope
from dshcore.session import Session


class StubAgent(Agent):
    """An agent with an id, a session and a scope.

    Args:
        root: Where its scope is.
        agent_id: Its id, which need not be that of the session.
        session: The session that it says is its own.
    """

    __slots__ = ("_ctx", "_id", "_session")

    def __init__(self, root: Context, agent_id: str, session: Session) -> None:
        self._id: Final = SessionId(agent_id)
        self._session: Final = session
        self._ctx: Final = create_scope(root, self, name=f"stub {agent_id}").ctx.derive(AGENT, self)

    @property
    def id(self) -> SessionId:
        """The id."""
        return self._id

    @property
    def options(self) -> AgentOptions:
        """None."""
        return AgentOptions()

    @property
    def session(self) -> Session:
        """The session."""
        return self._session

    @property
    def inbox(self) -> Inbox:
        """Not there: nothing drives it.

        Raises:
            NotImplementedError: Always.
        """
        self._no_agent()

    @property
    def ctx(self) -> Context:
        """The context of its scope."""
        return self._ctx

    @property
    def status(self) -> Status:
        """Always idle."""
        return "idle"

    def send(self, message: Mapping[str, object], target: Target, wakeup: bool) -> None:  # noqa: ARG002
        """Not possible: nothing drives it.

        Args:
            message: Goes nowhere.
            target: Goes nowhere.
            wakeup: Goes nowhere.

        Raises:
            NotImplementedError: Always.
        """
        self._no_agent()

    def cancel(self, cause: CancelCause, *, keep_inbox: bool = False) -> None:  # noqa: ARG002
        """Not possible: nothing drives it.

        Args:
            cause: Goes nowhere.
            keep_inbox: Goes nowhere.

        Raises:
            NotImplementedError: Always.
        """
        self._no_agent()

    async def when_idle(self) -> None:
        """Return at once: a stub is always idle.

        Cancellation:
            There is nothing to wait for.
        """

    def run_maintenance(self, task: Callable[[CancelSignal], Awaitable[Any]]) -> NoReturn:  # noqa: ARG002
        """Not possible: nothing drives it.

        Args:
            task: Is not called.

        Raises:
            NotImplementedError: Always.
        """
        self._no_agent()

    def _no_agent(self) -> NoReturn:
        raise NotImplementedError(f"{self._id!r} is a stub: nothing drives it")


class StubHandle:
    """What disposes of a stub, which is nothing.

    Args:
        agent: The stub.
    """

    def __init__(self, agent: Agent) -> None:
        self.agent: Final = agent

    async def dispose(self) -> None:
        """There is nothing to dispose of.

        Cancellation:
            There is nothing to wait for.
        """


def _handle(value: object, call: Call) -> object:
    if isinstance(value, Mapping) and "stub" in value:
        return StubHandle(call.function.world.composition.agent(value["stub"]))
    return value


_FACTORY: Final = Kind("factory", awaited=True, answer=_handle)


class SuiteFactory:
    """Creates and resumes agents by functions of the suite.

    Args:
        world: Where it is called.
        create: Called for a new agent.
        resume: Called for a stored one.
    """

    def __init__(self, world: World, create: SuiteFunction, resume: SuiteFunction) -> None:
        self._world: Final = world
        self._create: Final = create
        self._resume: Final = resume

    def create_agent(self, owner: Context, options: CreateAgentOptions) -> Awaitable[AgentHandle]:
        """Ask the suite for a new agent.

        Args:
            owner: The context that the agent will belong to.
            options: What the new agent is created with.

        Returns:
            What waits for its handle.
        """
        return self._call(self._create, owner, "create", options)

    def resume(self, owner: Context, options: ResumeAgentOptions) -> Awaitable[AgentHandle]:
        """Ask the suite for a stored one.

        Args:
            owner: The context that the agent will belong to.
            options: What the stored one is resumed with.

        Returns:
            What waits for its handle.
        """
        return self._call(self._resume, owner, "resume", options)

    def _call(
        self, function: SuiteFunction, owner: Context, op: str, options: CreateAgentOptions | ResumeAgentOptions
    ) -> Awaitable[AgentHandle]:
        who = owner.read(AGENT) or self._world.composition.owners.owner(owner.fiber)
        fields = {"owner": who, "op": op, "options": show_options(options)}
        return cast("Awaitable[AgentHandle]", function.call(_FACTORY, fields))
