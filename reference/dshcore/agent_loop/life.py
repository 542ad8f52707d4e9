"""The life of one agent: the transaction that brings it into being, and the one teardown.

Whatever ends a transaction before its handle is out rolls it back by the same teardown that disposes of a live agent,
so that what was announced is paired, and nothing of a failed creation stays.
"""

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Final, Self, TypeVar

from dshcore import eager
from dshcore.agent import (
    AGENT,
    AGENT_SESSION_START,
    Agent,
    AgentError,
    AgentRegistry,
    AgentSessionStart,
    AgentSetup,
    SessionStartSource,
    SetupCommit,
)
from dshcore.agent_loop.agent import DrivenAgent
from dshcore.cancel_signal import CancelSignal
from dshcore.context import Context, Disposer
from dshcore.session import Preparation, Session, SessionPersistence, SessionStore

T = TypeVar("T")


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


class Life:
    """One agent from the beginning of its transaction to its teardown; the handle that creation answers.

    While the transaction lasts, the first of these ends it: its caller's signal is aborted, its owner begins to close,
    the loop begins to close (`check`). From then on the owner and the loop only have the agent torn down.

    It is the asynchronous context manager of its transaction: leaving it by a failure rolls back, and the failure goes
    on when that is complete, as it is.

    Args:
        agent_id: The identity of the agent.
        owner: Whose end disposes of it.
        loop: The context of the loop that makes it, which owns it as well.
        signal: Aborts the transaction.

    Raises:
        InactiveContext: The owner is inactive.
        LoopInactive: The loop is closing.
        CreationAborted: The signal is aborted already, with what is no error.
        BaseException: The error that the signal was aborted with.

    Spec:
        LIFE-CREATE-04, LIFE-ABORT-01, LIFE-OWN-09
    """

    def __init__(self, agent_id: str, owner: Context, loop: Context, signal: CancelSignal | None) -> None:
        owner.assert_accepting()
        if loop.closing:
            raise LoopInactive
        if signal is not None and signal.aborted:
            raise _abort_error(agent_id, signal)
        self._id: Final = agent_id
        self._owner: Final = owner
        self._owning_agent: Final = owner.read(AGENT)  # LIFE-OWN-04, LIFE-OWN-05: whatever its header says
        self._loop: Final = loop
        self._signal: Final = signal
        self._agent: DrivenAgent | None = None
        self._release: Callable[[], object] = _nothing
        self._given_up: Final = CancelSignal()
        running = asyncio.get_running_loop()
        self._ended: Final[asyncio.Future[None]] = running.create_future()
        self._gone: Final[asyncio.Future[None]] = running.create_future()
        self._teardown: asyncio.Task[None] | None = None
        self._detach: Final[list[Callable[[], None]]] = []
        self._holds: Final[list[Disposer]] = [
            context.effect(self._closed_from_above, label=f"agent {agent_id}")
            for context in dict.fromkeys((loop, owner))
        ]
        self._forget_signal = _nothing if signal is None else signal.on_abort(self._end)

    @property
    def agent(self) -> Agent:
        assert self._agent is not None
        return self._agent

    # --- the transaction ---------------------------------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, failure: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Roll back a failed transaction.

        Cancellation:
            The rollback goes on, and nobody waits for it.

        Spec:
            LIFE-ROLL-01, LIFE-ROLL-06, LIFE-ROLL-07, LIFE-RES-07
        """
        try:
            if failure is not None:
                await self.dispose()
        finally:
            self._release()

    async def load(self, storage: SessionPersistence) -> Session:
        """Have the session loaded, for as long as the transaction lasts. What comes later is released.

        Spec:
            LIFE-RES-01, LIFE-RES-05, LIFE-RES-06, LIFE-RES-07, LIFE-RES-08
        """

        async def prepare() -> Preparation:
            return await storage.prepare(self._id, self._given_up)

        loading = eager.start(prepare(), name=f"load of {self._id}")
        try:
            preparation = await self._while_it_lasts(loading)
        except BaseException:
            loading.add_done_callback(_release_late)
            raise
        self._release = preparation.release
        return preparation.session

    async def compose(self, agent: DrivenAgent, setup: AgentSetup | None) -> None:
        """Run a setup and its commit, for as long as the transaction lasts.

        The context of the setup is already in the agent's scope: what it registers is the agent's own, in force from
        the first announcement and the first prompt on. What a setup does after its transaction has ended has no
        effect: its context is closed, its answer is ignored.

        Spec:
            LIFE-SETUP-01, LIFE-SETUP-02, LIFE-SETUP-03, LIFE-SETUP-04, LIFE-ROLL-01, LIFE-ROLL-02, LIFE-ROLL-12,
            LIFE-ABORT-03, LIFE-ABORT-04, LIFE-OWN-02, PROMPT-SCOPE-05
        """
        self._agent = agent
        answer = None if setup is None else setup(agent.ctx)
        if inspect.isawaitable(answer):
            answer = await self._while_it_lasts(eager.start(_awaited(answer), name=f"setup of {agent.id}"))
        commit = _checked_commit(answer)
        self.check()  # LIFE-SETUP-04
        if commit is not None:
            commit.commit()  # LIFE-SETUP-03: with both ids still unpublished; whatever it answers is not awaited

    def hold(self, agent: DrivenAgent) -> None:
        """Take over an agent that has no setup."""
        self._agent = agent

    def check(self) -> None:
        """Go on only if nobody has ended the transaction.

        Raises:
            LoopInactive: The loop is closing.
            CreationAborted: The owner began to close, or the signal was aborted with what is no error.
            BaseException: The error that the signal was aborted with.

        Spec:
            LIFE-ABORT-02, LIFE-ABORT-04, LIFE-ABORT-05, LIFE-OWN-02, LIFE-OWN-03, LIFE-OWN-06, LIFE-PUB-09
        """
        if self._signal is not None and self._signal.aborted:
            raise _abort_error(self._id, self._signal)
        if self._owner.active and self._loop.closing:
            raise LoopInactive
        if self._owner.closing or self._ended.done():  # ended by an owner that accepts again, as the root does
            raise CreationAborted(f'agent "{self._id}" setup aborted: owner disposed during setup')

    def publish(self, sessions: SessionStore, agents: AgentRegistry, source: SessionStartSource) -> None:
        """Make the agent and its session visible, announce both, and let the driver start: one synchronous stretch.

        Each step is followed by a check, so that a transaction that was ended by a listener announces no more, and no
        driver starts for it (R-11).

        Spec:
            LIFE-PUB-01, LIFE-PUB-02, LIFE-PUB-03, LIFE-PUB-07, LIFE-PUB-08, LIFE-PUB-09, LIFE-ROLL-03, LIFE-ROLL-05,
            LIFE-ROLL-09, LIFE-ROLL-10, LIFE-ABORT-05, LIFE-OWN-03, LIFE-OWN-04, LIFE-OWN-05, INIT-DRIVE-04
        """
        agent = self._agent
        assert agent is not None
        self.check()
        self._detach.append(sessions.enter(agent.session, agent.ctx))
        self._detach.append(agents.enter(agent, self._owning_agent))
        sessions.announce(agent.session)
        self.check()
        agents.announce(agent)
        self.check()
        agent.ctx.emit(AGENT_SESSION_START, AgentSessionStart(agent, source))
        self.check()
        self._forget_signal()  # LIFE-ABORT-06
        agent.go_live()

    async def _while_it_lasts(self, work: "asyncio.Task[T]") -> T:
        """Wait for a part of the transaction, or for its end.

        Cancellation:
            The part is cancelled as well.
        """
        work.add_done_callback(eager.outcome_seen)  # LIFE-ROLL-12: it may outlive its transaction
        try:
            await asyncio.wait((work, self._ended), return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            work.cancel()
            raise
        self.check()
        return work.result()

    # --- teardown ----------------------------------------------------------------------------------------------------

    def dispose(self) -> Awaitable[None]:
        """Cancel what the agent does, now, and begin its teardown. See `AgentHandle`.

        Spec:
            LIFE-DISP-01, LIFE-DISP-07, LIFE-DISP-08, LIFE-DISP-24, LIFE-SYNC-01
        """
        if self._agent is not None:
            self._agent.request_disposal()
        if self._teardown is None:
            self._teardown = asyncio.get_running_loop().create_task(
                self._tear_down(), name=f"teardown of agent {self._id}"
            )
        return asyncio.shield(self._gone)

    async def _tear_down(self) -> None:
        """Unwind one agent: quiescence, its scope, its registration, its session.

        It begins one turn of the loop after the request, when whatever was being dispatched has unwound.

        Cancellation:
            The rest is done at once, without waiting for what is still under way.

        Spec:
            LIFE-DISP-01, LIFE-DISP-02, LIFE-DISP-04, LIFE-DISP-09, LIFE-DISP-15, LIFE-DISP-16, LIFE-DISP-17,
            LIFE-DISP-18, LIFE-DISP-19, LIFE-DISP-21, LIFE-ROLL-03, LIFE-ROLL-04, LIFE-ROLL-05, LIFE-ROLL-06,
            LIFE-ROLL-11
        """
        agent = self._agent
        try:
            if agent is not None:
                await agent.when_idle()
                await agent.ctx.dispose()  # LIFE-DISP-16, LIFE-DISP-17: nothing is heard or registered in it any more
        finally:
            if agent is not None:
                agent.leave()
            for detach in reversed(self._detach):  # LIFE-DISP-18: the session, and with it the id, at last
                detach()
            self._gone.set_result(None)
            self._forget_signal()
            for hold in self._holds:
                hold()

    def _closed_from_above(self) -> Awaitable[None] | None:
        """The owner or the loop ends: so does the agent, or its transaction. None once it is gone (LIFE-OWN-08).

        Spec:
            LIFE-OWN-01, LIFE-OWN-02, LIFE-OWN-04, LIFE-OWN-06, LIFE-OWN-07, LIFE-OWN-08
        """
        if self._gone.done():
            return None
        self._end()
        return self.dispose()

    def _end(self) -> None:
        if not self._ended.done():
            self._ended.set_result(None)
        self._given_up.abort(None if self._signal is None else self._signal.reason)


def _abort_error(agent_id: str, signal: CancelSignal) -> BaseException:
    """Answer what a creation rejects with when its signal is aborted (LIFE-ABORT-02)."""
    if isinstance(signal.reason, BaseException):
        return signal.reason
    return CreationAborted(f'agent "{agent_id}" creation aborted', signal.reason)


def _checked_commit(answer: SetupCommit | None) -> SetupCommit | None:
    """Refuse what a setup may not answer, before it is taken for a commit."""
    if answer is not None and not callable(getattr(answer, "commit", None)):
        raise TypeError(f"the setup of an agent answered {answer!r}: answer nothing, or an object with commit()")
    return answer


async def _awaited(answer: Awaitable[SetupCommit | None]) -> SetupCommit | None:
    return await answer


def _release_late(loading: "asyncio.Task[Preparation]") -> None:
    """Release what was loaded for a transaction that had ended (LIFE-RES-06)."""
    if not loading.cancelled() and loading.exception() is None:
        loading.result().release()


def _nothing() -> None:
    """Forget a signal that was never given; release what was never loaded."""
