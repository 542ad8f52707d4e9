"""The live events of agents: their keys, payloads and answers."""

from collections.abc import Awaitable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, Protocol, TypeAlias

from dshcore.agent.handle import Agent, Status
from dshcore.cancel_signal import CancelSignal
from dshcore.events import Emit, Serial, Waterfall
from dshcore.json import Json, JsonObject
from dshcore.llm import CallConfig, RetryPolicy
from dshcore.scope import Carrier, scope_target

SessionStartSource: TypeAlias = Literal["startup", "resume", "clear", "compact"]


@dataclass(frozen=True, slots=True)
class AgentCreated:
    """An agent and its session are live; a listener that raises vetoes them."""

    agent: Agent


@dataclass(frozen=True, slots=True)
class AgentSessionStart:
    """An agent's work on its session may begin; once, right after its creation."""

    agent: Agent
    source: SessionStartSource


@dataclass(frozen=True, slots=True)
class AgentStatusChanged:
    """The agent's status has changed."""

    agent: Agent
    status: Status


@dataclass(frozen=True, slots=True)
class AgentInboxInserted:
    """A message has entered a list of the inbox."""

    agent: Agent
    message: JsonObject


@dataclass(frozen=True, slots=True)
class AgentInboxClaimed:
    """A turn has taken a message."""

    agent: Agent
    message: JsonObject
    turn: int


@dataclass(frozen=True, slots=True)
class AgentInboxDiscarded:
    """A message was removed from the inbox other than by a claim."""

    agent: Agent
    message: JsonObject


@dataclass(frozen=True, slots=True)
class AgentPreStep:
    """A step is proposed: what it would enter. Nothing of it is durable but the claim."""

    agent: Agent
    turn: int
    step: int
    messages: tuple[JsonObject, ...]
    signal: CancelSignal


@dataclass(frozen=True, slots=True)
class Enter:
    """Enter the step with exactly these messages, in this order."""

    messages: Sequence[object]


@dataclass(frozen=True, slots=True)
class Reject:
    """Do not enter the step; the turn ends `blocked`."""


PreStepDecision: TypeAlias = Enter | Reject


@dataclass(frozen=True, slots=True)
class AgentRequest:
    """A model request is about to be made; listeners decide its configuration."""

    agent: Agent
    turn: int
    step: int
    signal: CancelSignal


@dataclass(frozen=True, slots=True)
class AgentRequestError:
    """A model request has failed; listeners decide whether it is made again."""

    agent: Agent
    turn: int
    step: int
    provider: str
    failure: Json
    retry_policy: RetryPolicy | None
    signal: CancelSignal


@dataclass(frozen=True, slots=True)
class Retry:
    """Make the failed request again, in the same step."""


RequestErrorAction: TypeAlias = Retry | None


@dataclass(frozen=True, slots=True)
class AgentTurnStopping:
    """A turn is about to close naturally; input for its next step keeps it open."""

    agent: Agent
    turn: int
    signal: CancelSignal


@dataclass(frozen=True, slots=True)
class AgentErrorRaised:
    """A turn has failed, or one of its boundaries could not be appended."""

    agent: Agent
    turn: int
    step: int
    error: BaseException


@dataclass(frozen=True, slots=True)
class AgentDisposal:
    """An agent has left its registry, after it was quiet and its scope unwound."""

    agent: Agent


class _AboutAgent(Protocol):
    @property
    def agent(self) -> Agent: ...


def _concerned(payload: _AboutAgent) -> Carrier:
    """Make the carrier of an agent's event. The payload alone says whose event it is.

    Spec:
        EVENTS-SCOPE-01, SCOPE-EVT-08
    """
    return scope_target(payload.agent, payload.agent)


_REPORT: Final = 'agent event "{name}"'
_REPORT_BY_ID: Final = 'agent "{payload.agent.id}": {name}'

AGENT_CREATED: Final = Emit[AgentCreated](  # LIFE-PUB-05, LIFE-PUB-07: what throws vetoes, what rejects is logged
    "agent/created", report=_REPORT_BY_ID, receiver=_concerned
)
AGENT_SESSION_START: Final = Emit[AgentSessionStart](
    "agent/session-start",
    contained=True,
    report=_REPORT,
    receiver=_concerned,  # LIFE-PUB-04: no veto
)
AGENT_STATUS: Final = Emit[AgentStatusChanged]("agent/status", contained=True, report=_REPORT, receiver=_concerned)
AGENT_INBOX_INSERTED: Final = Emit[AgentInboxInserted](
    "agent/inbox/inserted", contained=True, report=_REPORT, receiver=_concerned
)
AGENT_INBOX_CLAIMED: Final = Emit[AgentInboxClaimed](
    "agent/inbox/claimed", contained=True, report=_REPORT, receiver=_concerned
)
AGENT_INBOX_DISCARDED: Final = Emit[AgentInboxDiscarded](
    "agent/inbox/discarded", contained=True, report=_REPORT, receiver=_concerned
)
AGENT_PRE_STEP: Final = Waterfall[AgentPreStep, Awaitable[PreStepDecision]]("agent/pre-step", receiver=_concerned)
AGENT_REQUEST: Final = Waterfall[AgentRequest, Awaitable[CallConfig]]("agent/request", receiver=_concerned)
AGENT_REQUEST_ERROR: Final = Waterfall[AgentRequestError, Awaitable[RequestErrorAction]](
    "agent/request-error", receiver=_concerned
)
AGENT_TURN_STOPPING: Final = Serial[AgentTurnStopping, None](
    "agent/turn-stopping", first_value_wins=False, receiver=_concerned
)
AGENT_ERROR: Final = Emit[AgentErrorRaised]("agent/error", contained=True, report=_REPORT, receiver=_concerned)
AGENT_DISPOSED: Final = Emit[AgentDisposal]("agent/disposed", contained=True, report=_REPORT_BY_ID, receiver=_concerned)
