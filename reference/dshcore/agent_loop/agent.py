"""The agent that the loop makes: the phase machine's table, carried out."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Protocol, TypeVar, assert_never, cast

from dshcore import eager
from dshcore.agent import (
    AGENT_INBOX_CLAIMED,
    AGENT_INBOX_DISCARDED,
    AGENT_INBOX_INSERTED,
    AGENT_STATUS,
    DISPOSED,
    Agent,
    AgentBusy,
    AgentDisposed,
    AgentInboxClaimed,
    AgentInboxDiscarded,
    AgentInboxInserted,
    AgentOptions,
    AgentStatusChanged,
    CancelCause,
    Inbox,
    Initiators,
    InitiatorScopeDisposed,
    Status,
    Target,
)
from dshcore.agent_loop.phase import Action, Input, Stage, State, step
from dshcore.cancel_signal import CancelSignal
from dshcore.context import Context
from dshcore.errors import describe
from dshcore.host import host_is_cancelling
from dshcore.ids import SessionId
from dshcore.json import JsonObject
from dshcore.session import AppendRefused, Session

_log: Final = logging.getLogger(__name__)

T = TypeVar("T")


@dataclass(eq=False, slots=True)
class Activity:
    """One driver run or maintenance task: its signal, and its end.

    Attributes:
        retired: Whether it is over for the agent, though it may still run.
    """

    signal: CancelSignal = field(default_factory=CancelSignal)
    retired: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[object] | None = None
    """Held here because asyncio itself keeps tasks only weakly."""


class Run(Protocol):
    """What drives an agent from a wake until nothing is left to do."""

    def __call__(self, agent: "DrivenAgent") -> Coroutine[object, object, None]:
        """Make the coroutine of one driver run; its first stretch opens the turn and claims."""
        ...


class DrivenAgent(Agent):
    """An agent whose every decision is looked up in the phase machine.

    `_feed` looks an input up, and carries out what the table says. Everything else here is one operation of the
    handle, or of the driver, in terms of inputs.

    Args:
        session: The log it drives.
        options: The route and output cap of its first request.
        ctx: Makes the context of its scope, which is the agent itself.
        run: Makes the coroutine of one driver run.
        initiators: In whose boundaries it runs.
    """

    def __init__(
        self,
        session: Session,
        options: AgentOptions,
        ctx: Callable[["DrivenAgent"], Context],
        run: Run,
        initiators: Initiators,
    ) -> None:
        self._session = session
        self._options = options
        self._run = run
        self._initiators = initiators
        self._state = State()
        self._activity: Activity | None = None
        self._cancel_due = False
        self._host_stops = False
        self._inbox = Inbox(session, _Notifications(self), self._carry_out_due_cancel)
        self._ctx = ctx(self)

    # --- the handle --------------------------------------------------------------------------------------------------

    @property
    def id(self) -> SessionId:
        return self._session.id

    @property
    def options(self) -> AgentOptions:
        return self._options

    @property
    def session(self) -> Session:
        return self._session

    @property
    def inbox(self) -> Inbox:
        return self._inbox

    @property
    def ctx(self) -> Context:
        return self._ctx

    @property
    def status(self) -> Status:
        return "running" if self._state.running else "idle"

    def send(self, message: Mapping[str, object], target: Target, wakeup: bool) -> None:
        if wakeup:
            asyncio.get_running_loop()  # refuse before anything changes, not when the driver is to start
            if self._initiators.closing and Action.START_DRIVER in step(self._state, Input.WAKE)[1]:
                raise InitiatorScopeDisposed  # INIT-CLOSE-06
        late = self._feed(Input.SEND_WAKING if wakeup else Input.SEND_QUIET) is Action.INSERT_NEXT_TURN
        self._inbox.append("next-turn" if late and target == "next-step" else target, message)  # WAKE-LATCH-02
        if wakeup:
            self._feed(Input.LATE_WAKE if late else Input.WAKE)  # the row in force now decides: WAKE-RACE-01

    def cancel(self, cause: CancelCause, *, keep_inbox: bool = False) -> None:
        if not isinstance(cast("object", cause), Mapping):
            raise TypeError(f"cannot cancel because of {cause!r}: a cause is an object with a `kind`")
        if not keep_inbox:
            self._feed(Input.CLEAR)  # first, so that a refused clear aborts nothing: CANCEL-REENTRY-01
            self._feed(Input.CLEARED)  # with the latch that a listener may have set meanwhile: CANCEL-REENTRY-02
        self._feed(Input.ABORT_DISPOSED if cause.get("kind") == "disposed" else Input.ABORT, cause)

    async def when_idle(self) -> None:
        while self._activity is not None:  # IDLE-FOLLOW-01: whatever has started meanwhile
            await self._activity.retired.wait()

    def run_maintenance(self, task: Callable[[CancelSignal], Awaitable[T]]) -> Awaitable[T]:
        asyncio.get_running_loop()
        self._feed(Input.MAINTAIN)
        self._activity = activity = Activity()
        activity.task = running = eager.start(self._maintain(task, activity.signal), name=f"maintenance of {self.id}")
        return running

    # --- the driver's side -------------------------------------------------------------------------------------------

    @property
    def signal(self) -> CancelSignal:
        """The signal of the current activity: of the open turn, for a driver."""
        assert self._activity is not None
        return self._activity.signal

    def turn_closed(self, *, may_go_on: bool) -> bool:
        """Take note that the driver has closed a turn.

        Args:
            may_go_on: Whether the turn closed normally, having entered a step.

        Returns:
            Whether the run goes on with another turn, on a fresh signal.

        Spec:
            LOOP-NEXT-01, LOOP-NEXT-02, CANCEL-SIGNAL-01, CANCEL-END-01, WAKE-STALE-01
        """
        pending = may_go_on and self._inbox.has_pending
        return self._feed(Input.TURN_CLOSED_ON if pending else Input.TURN_CLOSED_LAST) is Action.NEXT_TURN

    def settle(self) -> None:
        """End the activity: the phase changes, `idle` is emitted, a remembered wake is replayed.

        What is pending starts nothing by itself: without a remembered wake it stays parked. It never suspends, so that
        no call can come between the driver's last look at the inbox and `idle`.

        Spec:
            WAKE-GAP-01, WAKE-STEAL-01, WAKE-STEAL-02, IDLE-RES-02, IDLE-FOLLOW-01, CANCEL-KEEP-02, MAINT-LATCH-01,
            MAINT-LATCH-02, MAINT-CANCEL-02
        """
        activity = self._activity
        assert activity is not None
        self._activity = None
        try:
            self._feed(Input.SETTLE)
        finally:
            self._host_stops = False
            activity.retired.set()

    # --- the life of the agent ---------------------------------------------------------------------------------------

    def go_live(self) -> None:
        """End the announcements: a wake that came meanwhile starts its driver now (LIFE-PUB-08)."""
        self._state = replace(self._state, stage=Stage.LIVE)
        self._feed(Input.ANNOUNCED)

    def request_disposal(self) -> None:
        """Start and remember nothing any more, and cancel as `disposed`: now, or as soon as that is possible.

        While one of the session's own events is being published nothing can be cleared. The cancel is then carried
        out when that append, and the inbox operation that made it, has unwound.

        Spec:
            LIFE-DISP-03, LIFE-DISP-06, LIFE-DISP-20, LIFE-DISP-23, LIFE-DISP-24, WAKE-DISP-02
        """
        if self._state.stage in (Stage.CLOSING, Stage.GONE):
            return
        self._state = replace(self._state, stage=Stage.CLOSING)
        self._cancel_due = True
        if self._inbox.has_pending:
            self._session.when_unwound(self._carry_out_due_cancel)
        else:
            self._cancel_disposed()

    def leave(self) -> None:
        """Refuse input from now on (LIFE-DISP-21, LIFE-DISP-22)."""
        self._state = replace(self._state, stage=Stage.GONE)
        self._inbox.retire(AgentDisposed(self.id))

    def host_cancelled(self) -> None:
        """Take note that the host is cancelling the task of the activity: it ends as if disposed, and wakes nothing.

        A driver that were started before it has settled, be it by a listener of `idle`, would outlive the host's
        clean-up; pending messages stay.
        """
        self._host_stops = True
        self.cancel(DISPOSED, keep_inbox=True)
        self._state = replace(self._state, latch=False)

    # --- internals ---------------------------------------------------------------------------------------------------

    def _feed(self, what: Input, cause: CancelCause = DISPOSED) -> Action | None:
        """Look an input up, carry out what the table says, and answer what is left to the caller, if anything.

        The state has changed before the first action is carried out, so that whoever is called by it sees the new
        one, and may feed further inputs.

        Spec:
            AGENT-STATUS-02, WAKE-LATCH-04
        """
        state, actions = step(self._state, what)
        if Action.START_DRIVER in actions and (self._initiators.closing or self._host_stops):
            return None  # since the insertion, or a replay: no driver could run, and what is pending is parked
        self._state = state
        left: Action | None = None
        for action in actions:
            match action:
                case Action.START_DRIVER:
                    self._start_driver()
                case Action.CLEAR_INBOX:
                    self._inbox.clear()
                case Action.FIRE:
                    self.signal.abort(cause)
                case Action.EMIT_IDLE:
                    self._emit_status("idle")
                case Action.REPLAY:
                    # WAKE-EMPTY-01, WAKE-EMPTY-02, MAINT-LATCH-02: whether anything is pending, be it another message;
                    # WAKE-STEAL-02: only now, after the listeners of idle
                    if self._inbox.has_pending:
                        self._feed(Input.WAKE)
                case Action.NEXT_TURN:
                    assert self._activity is not None
                    self._activity.signal = CancelSignal()
                    left = action
                case Action.REFUSE_BUSY:
                    raise AgentBusy(self.id)
                case Action.REFUSE_DISPOSED:
                    raise AgentDisposed(self.id)
                case Action.INSERT | Action.INSERT_NEXT_TURN | Action.START_TASK | Action.END_RUN:
                    left = action
                case Action.LATCH | Action.UNLATCH:
                    raise AssertionError(f"{action} belongs to the state")
                case _:
                    assert_never(action)
        return left

    def _start_driver(self) -> None:
        """Tell of the driver, and start it inside the agent's own boundary.

        The boundary is opened before, since a listener may close the registry, and entered after: whoever wakes an
        agent is still the one who runs, and at a replay that is the run that has just ended.

        Spec:
            AGENT-STATUS-03, INIT-DRIVE-01, INIT-DRIVE-02, INIT-DRIVE-03, LOOP-INIT-01
        """
        self._activity = activity = Activity()
        boundary = self._initiators.open(self)
        self._emit_status("running")
        activity.task = boundary.run(lambda: self._run(self), name=f"driver of {self.id}")

    async def _maintain(self, task: Callable[[CancelSignal], Awaitable[T]], signal: CancelSignal) -> T:
        try:
            return cast("T", await eager.answer_of(task(signal), "the maintenance task"))
        finally:
            if host_is_cancelling():
                self.host_cancelled()
            self.settle()

    def _emit_status(self, status: Status) -> None:
        self._ctx.emit(AGENT_STATUS, AgentStatusChanged(self, status))

    def _carry_out_due_cancel(self) -> None:
        if self._cancel_due and not self._session.publishing and not self._inbox.changing:
            self._cancel_disposed()

    def _cancel_disposed(self) -> None:
        self._cancel_due = False
        try:
            self.cancel(DISPOSED)
        except AppendRefused as error:  # what is pending stays; the teardown goes on: LIFE-DISP-15
            _log.warning('agent "%s": pending messages were not cancelled: %s', self.id, describe(error))
            self.cancel(DISPOSED, keep_inbox=True)


@dataclass(frozen=True, slots=True)
class _Notifications:
    """Tells the listeners of an agent what became of its messages."""

    agent: DrivenAgent

    def inserted(self, message: JsonObject) -> None:
        self.agent.ctx.emit(AGENT_INBOX_INSERTED, AgentInboxInserted(self.agent, message))

    def claimed(self, message: JsonObject, turn: int) -> None:
        self.agent.ctx.emit(AGENT_INBOX_CLAIMED, AgentInboxClaimed(self.agent, message, turn))

    def discarded(self, message: JsonObject) -> None:
        self.agent.ctx.emit(AGENT_INBOX_DISCARDED, AgentInboxDiscarded(self.agent, message))
