"""The agent: a live handle over one session, as callers see it."""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from typing import Final, Literal, TypeAlias, TypeVar, cast

import msgspec
from msgspec import UNSET, UnsetType

from dshcore.agent.inbox import Inbox, Target
from dshcore.cancel_signal import CancelSignal
from dshcore.context import Context
from dshcore.errors import DshError
from dshcore.ids import SessionId
from dshcore.session import Session

T = TypeVar("T")

Status: TypeAlias = Literal["idle", "running"]
"""Whether a driver is active (AGENT-STATUS-01)."""

CancelCause: TypeAlias = Mapping[str, object]
"""Why somebody cancels: `{kind: user}`, `{kind: parent}`, `{kind: hook, reason}` or `{kind: disposed}`."""

DISPOSED: Final[CancelCause] = {"kind": "disposed"}
"""The cause with which a disposal cancels."""


class AgentError(DshError):
    """An operation on an agent was refused; nothing has changed."""

    default_code = "AGENT"


class AgentBusy(AgentError):
    """A driver or a maintenance task is active.

    Args:
        agent_id: The agent.
    """

    default_code = "AGENT_BUSY"

    def __init__(self, agent_id: str) -> None:
        super().__init__(f'agent "{agent_id}" already has active work')


class AgentDisposed(AgentError):
    """The agent is no longer live (LIFE-DISP-21).

    Args:
        agent_id: The agent.
    """

    default_code = "AGENT_DISPOSED"

    def __init__(self, agent_id: str) -> None:
        super().__init__(f'agent "{agent_id}" is disposed')


class AgentOptions(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The route and the output cap of an agent's first request. Members that are `UNSET` are absent.

    Attributes:
        provider: The route.
        model: The model's id.
        max_tokens: Ceiling of a response.

    Raises:
        AgentError: Route or model is no text.

    Spec:
        REQ-SEED-01, REQ-MAXTOK-01, LIFE-CREATE-03
    """

    provider: str | UnsetType = UNSET
    model: str | UnsetType = UNSET
    max_tokens: int | UnsetType = UNSET

    def __post_init__(self) -> None:
        for name, value in (("provider", self.provider), ("model", self.model)):
            if not isinstance(cast("object", value), str | UnsetType):
                raise AgentError(f"{name} must be a text, not {value!r}: leave it out where nothing is chosen yet")


class Agent(ABC):
    """One agent. Its status is `running` while a driver turns pending messages into turns, and `idle` otherwise.

    Disposal is a capability of the handle that creation answers, not of the agent (LIFE-OWN-10).
    """

    __slots__ = ("__weakref__",)

    @property
    @abstractmethod
    def id(self) -> SessionId:
        """The identity that it shares with its session (AGENT-ID-01)."""

    @property
    @abstractmethod
    def options(self) -> AgentOptions:
        """What it was created with."""

    @property
    @abstractmethod
    def session(self) -> Session:
        """The log that it drives."""

    @property
    @abstractmethod
    def inbox(self) -> Inbox:
        """Its pending messages."""

    @property
    @abstractmethod
    def ctx(self) -> Context:
        """The context of what belongs to this agent alone; its scope is the agent."""

    @property
    @abstractmethod
    def status(self) -> Status:
        """Whether a driver is active; a maintenance task reads idle (AGENT-STATUS-01)."""

    @abstractmethod
    def send(self, message: Mapping[str, object], target: Target, wakeup: bool) -> None:
        """Insert a message at the end of a list, and start a driver if it is waking and the agent is idle.

        Before a waking send from idle returns, the driver has opened its turn and claimed its first batch; nothing
        later has happened. After an abort that has not settled yet, a waking send goes to `next-turn` and is
        replayed when it has.

        Args:
            message: An identified user message.
            target: The list.
            wakeup: Whether the message is to be worked on without another call.

        Raises:
            InboxError: The target is none, the message has no id, or its id is pending already.
            AppendRefused: The insertion cannot be logged.
            AgentDisposed: The agent has left its registry.
            InitiatorScopeDisposed: It is waking, and the registry takes no more work.
            RuntimeError: It is waking, and no event loop is running.

        Spec:
            AGENT-SEND-01, AGENT-SEND-02, AGENT-SEND-03, AGENT-SEND-04, AGENT-SEND-05, AGENT-SEND-06, AGENT-SEND-07
        """

    def followup(self, message: Mapping[str, object]) -> None:
        """Send a message for a turn of its own, waking (AGENT-SEND-01)."""
        self.send(message, "next-turn", wakeup=True)

    def steer(self, message: Mapping[str, object]) -> None:
        """Send a message for the next step, waking (AGENT-SEND-01)."""
        self.send(message, "next-step", wakeup=True)

    def inject(self, message: Mapping[str, object]) -> None:
        """Send a message for the next step, without waking (AGENT-SEND-01)."""
        self.send(message, "next-step", wakeup=False)

    @abstractmethod
    def cancel(self, cause: CancelCause, *, keep_inbox: bool = False) -> None:
        """Cancel everything pending, unless it is to be kept, and abort the activity.

        When this returns the abort has reached every holder of the signal; the activity has not ended yet.

        Args:
            cause: The reason that holders of the signal see. The first cause of an activity stays.
            keep_inbox: Whether pending messages, and a remembered wake, stay.

        Raises:
            AppendReentered: Something is pending and an append of the session is being published. Nothing was
                aborted.
            TypeError: The cause is no object. Nothing has changed.

        Spec:
            CANCEL-CAUSE-01, CANCEL-FIRST-01, CANCEL-CLEAR-01, CANCEL-CLEAR-02, CANCEL-KEEP-01, CANCEL-STATUS-01,
            CANCEL-SYNC-01, CANCEL-IDLE-01, CANCEL-IDLE-02, CANCEL-REENTRY-01
        """

    @abstractmethod
    async def when_idle(self) -> None:
        """Wait until no driver and no maintenance task is active. Never fails, whatever became of the work.

        Cancellation:
            Ends the waiting and nothing else.

        Spec:
            IDLE-RES-01, IDLE-RES-02, IDLE-FOLLOW-01, IDLE-FAIL-01
        """

    @abstractmethod
    def run_maintenance(self, task: Callable[[CancelSignal], Awaitable[T]]) -> Awaitable[T]:
        """Run one exclusive task that is no turn; its first stretch runs before this returns.

        Args:
            task: The work; it gets a signal that `cancel` aborts.

        Returns:
            The task's own outcome. A wake that was sent meanwhile has started its driver when it completes.

        Raises:
            AgentBusy: A driver or a maintenance task is active.
            AgentDisposed: Disposal was requested.

        Cancellation:
            Cancelling the answer cancels the task; the agent is idle again when the task has ended.

        Spec:
            MAINT-START-01, MAINT-EXCL-01, MAINT-RES-01, MAINT-STATUS-01, MAINT-LATCH-01, MAINT-FAIL-01
        """
