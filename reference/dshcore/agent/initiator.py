"""The initiator: the agent whose driver has caused the code that is running, in this process."""

from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Final, TypeVar, overload

from dshcore.agent.handle import Agent, AgentError
from dshcore.boundaries import Boundaries, Boundary
from dshcore.context import Context, State

R = TypeVar("R")


class InitiatorScopeDisposed(AgentError):
    """The registry closes, or is closed: nothing is initiated any more.

    Spec:
        INIT-CLOSE-01, INIT-CLOSE-04, INIT-CLOSE-06
    """

    default_code = "INITIATOR_SCOPE_DISPOSED"

    def __init__(self) -> None:
        super().__init__("agent initiator scope is disposed")


class NoInitiator(AgentError):
    """The running code was caused by no agent (INIT-READ-01)."""

    default_code = "NO_INITIATOR"

    def __init__(self) -> None:
        super().__init__("no initiating agent is active")


class Initiators:
    """Which agent has caused the running code, if any.

    Every driver runs inside a boundary of its agent. Tools, listeners and adapters are called in it, and what they
    start inherits it. A boundary can be opened for any code, and one that hides the agent as well.

    Args:
        owner: Whose end closes this. While it drains, no boundary opens and reads go on; then nothing works any more.
    """

    def __init__(self, owner: Context) -> None:
        self._owner: Final = owner
        self._boundaries: Final = Boundaries[Agent | None]("initiator")
        self._draining = False
        owner.effect(self._drain, label="initiator scope")

    # --- readers -----------------------------------------------------------------------------------------------------

    def current(self) -> Agent | None:
        """Answer the initiator, if there is one.

        Raises:
            InitiatorScopeDisposed: The registry is closed.

        Spec:
            INIT-READ-01, INIT-READ-02, INIT-READ-05, INIT-CLOSE-02, INIT-CLOSE-04
        """
        if self._draining and self._owner.fiber.state is not State.UNLOADING:  # the end that drained it is over
            raise InitiatorScopeDisposed
        innermost = self._boundaries.innermost
        return None if innermost is None else innermost.value

    def require(self) -> Agent:
        """Answer the initiator.

        Raises:
            NoInitiator: There is none.
            InitiatorScopeDisposed: The registry is closed.

        Spec:
            INIT-READ-01, INIT-READ-04, INIT-CLOSE-04
        """
        agent = self.current()
        if agent is None:
            raise NoInitiator
        return agent

    # --- boundaries --------------------------------------------------------------------------------------------------

    @property
    def closing(self) -> bool:
        """Whether no boundary can be opened any more: the registry's end has begun, or that of something around it."""
        return self._draining or self._owner.closing

    def open(self, agent: Agent | None) -> Boundary[Agent | None]:
        """Open a boundary of an agent, or one that hides every agent. It has to be run.

        Returns:
            The boundary, which is to be settled.

        Raises:
            InitiatorScopeDisposed: The registry has begun to close.

        Spec:
            INIT-CLOSE-01
        """
        if self.closing:
            raise InitiatorScopeDisposed
        return self._boundaries.open(agent)

    @overload
    def within(self, agent: Agent, operation: Callable[[], Coroutine[Any, Any, R]]) -> Awaitable[R]: ...
    @overload
    def within(self, agent: Agent, operation: Callable[[], R]) -> R: ...
    def within(self, agent: Agent, operation: Callable[[], object]) -> object:
        """Call an operation with an agent as the initiator.

        Args:
            agent: The initiator.
            operation: Called now. What it starts inherits the initiator.

        Returns:
            What the operation answered, the very object. A coroutine cannot be: it would run in the initiator of
            whoever awaits it, so it is started here, and its task is answered. Of another object that can be awaited,
            or iterated, nobody can tell whether its work has begun: let the operation be a coroutine that does it.

        Raises:
            InitiatorScopeDisposed: The registry has begun to close; nothing was called.
            BaseException: What the operation raised, as it is.

        Cancellation:
            Cancelling the task cancels the operation.

        Spec:
            INIT-READ-02, INIT-READ-03, INIT-READ-05, INIT-READ-06, INIT-CLOSE-01
        """
        return self.open(agent).run(operation)

    @overload
    def without(self, operation: Callable[[], Coroutine[Any, Any, R]]) -> Awaitable[R]: ...
    @overload
    def without(self, operation: Callable[[], R]) -> R: ...
    def without(self, operation: Callable[[], object]) -> object:
        """Call an operation without an initiator. As `within` in everything else.

        Returns:
            What the operation answered; of a coroutine the task that runs it.

        Spec:
            INIT-READ-03, INIT-READ-04, INIT-READ-05, INIT-READ-06, INIT-CLOSE-01
        """
        return self.open(None).run(operation)

    def _drain(self) -> Awaitable[None]:
        """Wait for the open boundaries, but for those from inside which the end was begun.

        Tasks inherit where they were started, and the end of an owner is a task of whoever began it. So the chain that
        began the end is the one that this runs in.

        Spec:
            INIT-CLOSE-03, INIT-CLOSE-05
        """
        self._draining = True
        return self._boundaries.drain()
