"""The life of one agent: the transaction that brings it into being, and the one teardown.

Whatever ends a transaction before its handle is out rolls it back by the same teardown that disposes of a live agent,
so that what was announced is paired, and nothing of a failed creation stays.
"""

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable
from functools import partial
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
from dshcore.agent_loop.creation_ends import CreationAborted, LoopInactive, abort_error, closing
from dshcore.cancel_signal import CancelSignal
from dshcore.context import Context, Disposer, InactiveContext, require_loop
from dshcore.errors import describe
from dshcore.host import outlast, wind_down
from dshcore.session import Preparation, Session, SessionPersistence, SessionStore

_log: Final = logging.getLogger(__name__)

T = TypeVar("T")


class ForeignLoop(AgentError):
    """An agent was to be disposed of in another event loop than the one that it lives in. Nothing has changed.

    Args:
        agent_id: The agent.
    """

    default_code = "FOREIGN_LOOP"

    def __init__(self, agent_id: str) -> None:
        super().__init__(f'agent "{agent_id}" lives in another event loop')
        self.add_note("Dispose of it in the loop in which it was made, before that loop ends.")


class Life:
    """One agent from the beginning of its transaction to its teardown; the handle that creation answers.

    While the transaction lasts, each of these ends it: its caller's signal is aborted, its owner begins to close, the
    loop begins to close. The caller is told of the signal before all others, then of what came first (`check`). From
    then on the owner and the loop only have the agent torn down.

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
        running = require_loop()
        closed = closing(owner, loop)
        if closed is loop:
            raise LoopInactive
        if closed is not None:
            raise InactiveContext
        if signal is not None and signal.aborted:
            raise abort_error(agent_id, signal)
        self._id: Final = agent_id
        self._owner: Final = owner
        self._owning_agent: Final = owner.read(AGENT)  # LIFE-OWN-04, LIFE-OWN-05: whatever its header says
        self._loop: Final = loop
        self._signal: Final = signal
        self._agent: DrivenAgent | None = None
        self._preparation: Preparation | None = None
        self._given_up: Final = CancelSignal()
        self._ended: Final[asyncio.Future[Context | None]] = running.create_future()  # by whom; none is the signal
        self._gone: Final[asyncio.Future[None]] = running.create_future()
        self._teardown: asyncio.Task[None] | None = None
        self._detach: Final[list[Callable[[], None]]] = []
        self._holds: Final[list[Disposer]] = [
            context.effect(partial(self._closed_from_above, context), label=f"agent {agent_id}")
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
            The rollback goes on, and nobody waits for it. What storage has handed out is given back at its end.

        Spec:
            LIFE-ROLL-01, LIFE-ROLL-06, LIFE-ROLL-07, LIFE-RES-07
        """
        if failure is None:
            self._give_back()
        else:
            await self.dispose()

    async def load(self, storage: SessionPersistence) -> Session:
        """Have the session loaded, for as long as the transaction lasts. What comes later is released.

        Args:
            storage: Where the session is kept.

        Returns:
            The restored session.

        Cancellation:
            Gives the reservation back; what is loaded later is let go of.

        Spec:
            LIFE-RES-01, LIFE-RES-05, LIFE-RES-06, LIFE-RES-07, LIFE-RES-08, LIFE-RES-09
        """

        async def prepare() -> Preparation:
            return await storage.prepare(self._id, self._given_up)

        loading = eager.start(prepare(), name=f"load of {self._id}")
        try:
            self._preparation = await self._while_it_lasts(loading)
        except BaseException:
            loading.add_done_callback(self._release_late)
            raise
        return self._preparation.session

    async def compose(self, agent: DrivenAgent, setup: AgentSetup | None) -> None:
        """Run a setup and its commit, for as long as the transaction lasts.

        The context of the setup is already in the agent's scope: what it registers is the agent's own, in force from
        the first announcement and the first prompt on. What a setup does after its transaction has ended has no
        effect: its context is closed, its answer is ignored.

        Cancellation:
            Delivered to setup.

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
            LIFE-ABORT-02, LIFE-ABORT-04, LIFE-ABORT-05, LIFE-OWN-02, LIFE-OWN-03, LIFE-OWN-06, LIFE-OWN-11,
            LIFE-PUB-09
        """
        if self._signal is not None and self._signal.aborted:
            raise abort_error(self._id, self._signal)
        closed = self._ended.result() if self._ended.done() else closing(self._owner, self._loop)
        if closed is self._loop:
            raise LoopInactive
        if closed is not None:
            raise CreationAborted(f'agent "{self._id}" setup aborted: owner disposed during setup')

    def publish(self, sessions: SessionStore, agents: AgentRegistry, source: SessionStartSource) -> None:
        """Make the agent and its session visible, announce both, and let the driver start: one synchronous stretch.

        Each step is followed by a check, so that a transaction that was ended by a listener announces no more, and no
        driver starts for it (R-11).

        Args:
            sessions: Where the session is entered.
            agents: Where the agent is entered.
            source: Why work on the session begins.

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

        Returns:
            Completes when the teardown is complete.

        Raises:
            NoEventLoop: No event loop is running; nothing has changed.
            ForeignLoop: Another one is running than that of the agent; nothing has changed.

        Spec:
            LIFE-DISP-01, LIFE-DISP-07, LIFE-DISP-08, LIFE-DISP-24, LIFE-SYNC-01
        """
        self._begin_teardown()
        return asyncio.shield(self._gone)

    def _begin_teardown(self) -> "asyncio.Task[None]":
        if require_loop() is not self._gone.get_loop():
            raise ForeignLoop(self._id)
        if self._agent is not None:
            self._agent.request_disposal()
        if self._teardown is None:
            self._teardown = eager.start(self._tear_down(), name=f"teardown of agent {self._id}")
        return self._teardown

    async def _tear_down(self) -> None:
        """Unwind one agent: quiescence, its scope, its registration, its session.

        It begins one turn of the loop after the request, when whatever was being dispatched has unwound.

        Cancellation:
            It is handed on to the undos of the scope, and comes out at the end. Nothing is left out, nor out of order.

        Spec:
            LIFE-DISP-01, LIFE-DISP-02, LIFE-DISP-04, LIFE-DISP-09, LIFE-DISP-15, LIFE-DISP-16, LIFE-DISP-17,
            LIFE-DISP-18, LIFE-DISP-19, LIFE-DISP-21, LIFE-ROLL-03, LIFE-ROLL-04, LIFE-ROLL-05, LIFE-ROLL-06,
            LIFE-ROLL-11
        """
        try:
            cancelled = await outlast(lambda: asyncio.sleep(0))  # in here, so that no cancellation skips the rest
            agent = self._agent
            if agent is not None:
                cancelled = await outlast(agent.when_idle) or cancelled
                cancelled = await _unwind(agent.ctx) or cancelled  # LIFE-DISP-16, LIFE-DISP-17: it is deaf from now on
        finally:
            self._leave()
        if cancelled is not None:
            raise cancelled

    def _leave(self) -> None:
        """Let go of everything, also where a listener stops the program: that comes out behind the last step."""
        steps: tuple[Callable[[], object], ...] = (
            _nothing if self._agent is None else self._agent.leave,
            *reversed(self._detach),  # LIFE-DISP-18: the session, and with it the id, at last
            self._give_back,
            lambda: self._gone.set_result(None),
            self._forget_signal,
            *self._holds,
        )
        stopped: BaseException | None = None
        for step in steps:
            try:
                step()
            except BaseException as error:  # noqa: BLE001 - raised below
                stopped = stopped or error
        if stopped is not None:
            raise stopped

    def _give_back(self) -> None:
        """Give back what storage has handed out, once."""
        preparation, self._preparation = self._preparation, None
        if preparation is not None:
            self._release(preparation)

    def _release(self, preparation: Preparation) -> None:
        """Release a stored session. If that fails, the transaction has its outcome already (LIFE-ROLL-07)."""
        try:
            preparation.release()
        except Exception as error:  # noqa: BLE001 - the storage's own
            _log.warning('agent "%s": its stored session was not released: %s', self._id, describe(error))

    def _release_late(self, loading: "asyncio.Task[Preparation]") -> None:
        """Release what was loaded for a transaction that had ended (LIFE-RES-06)."""
        if not loading.cancelled() and loading.exception() is None:
            self._release(loading.result())

    def _closed_from_above(self, context: Context) -> Awaitable[None] | None:
        """The owner or the loop ends: so does the agent, or its transaction. None once it is gone (LIFE-OWN-08).

        Spec:
            LIFE-OWN-01, LIFE-OWN-02, LIFE-OWN-04, LIFE-OWN-06, LIFE-OWN-07, LIFE-OWN-08
        """
        if self._gone.done():
            return None
        self._end(context)
        return self._end_with(self._begin_teardown())

    async def _end_with(self, teardown: "asyncio.Task[None]") -> None:
        """Wait for the teardown, as the undo of a context that ends. Its failures are no affair of that.

        Cancellation:
            It is handed on to the teardown.
        """
        cancelled = await wind_down((teardown,))
        if cancelled is not None:
            raise cancelled

    def _end(self, closed: Context | None = None) -> None:
        if not self._ended.done():
            self._ended.set_result(closed)
        self._given_up.abort(None if self._signal is None else self._signal.reason)


def _checked_commit(answer: SetupCommit | None) -> SetupCommit | None:
    """Refuse what a setup may not answer, before it is taken for a commit."""
    commit = getattr(answer, "commit", None)
    if answer is not None and not callable(commit):
        raise TypeError(f"the setup of an agent answered {answer!r}: answer nothing, or an object with commit()")
    if eager.answers_coroutine(commit):  # LIFE-SETUP-03: nobody would run it
        raise TypeError(f"the commit() of {answer!r} is a coroutine function: the commit of a setup is synchronous")
    return answer


async def _awaited(answer: Awaitable[SetupCommit | None]) -> SetupCommit | None:
    return await answer


async def _unwind(scope: Context) -> asyncio.CancelledError | None:
    """End the scope of an agent. What fails in it stands in the log (LIFE-DISP-15)."""
    scope.dispose()
    ending = scope.fiber.dispose.running
    assert ending is not None
    return await wind_down((ending,))


def _nothing() -> None:
    """Forget a signal that was never given; let an agent leave that was never made."""
