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
"""Why work on a session begins."""


@dataclass(frozen=True, slots=True)
class AgentCreated:
    """An agent and its session are live; a listener that raises vetoes them."""

    agent: Agent


@dataclass(frozen=True, slots=True)
class AgentSessionStart:
    """An agent's work on its session may begin; once, right after its creation.

    Attributes:
        agent: The agent.
        source: Why it begins.
    """

    agent: Agent
    source: SessionStartSource


@dataclass(frozen=True, slots=True)
class AgentStatusChanged:
    """The agent's status has changed."""

    agent: Agent
    status: Status


@dataclass(frozen=True, slots=True)
class AgentInboxInserted:
    """A message has entered a list of the inbox.

    Attributes:
        agent: Whose inbox it is.
        message: The message.
    """

    agent: Agent
    message: JsonObject


@dataclass(frozen=True, slots=True)
class AgentInboxClaimed:
    """A turn has taken a message.

    Attributes:
        agent: Whose inbox it was in.
        message: The message.
        turn: The number of the turn.
    """

    agent: Agent
    message: JsonObject
    turn: int


@dataclass(frozen=True, slots=True)
class AgentInboxDiscarded:
    """A message was removed from the inbox other than by a claim.

    Attributes:
        agent: Whose inbox it was in.
        message: The message.
    """

    agent: Agent
    message: JsonObject


@dataclass(frozen=True, slots=True)
class AgentPreStep:
    """A step is proposed: what it would enter. Nothing of it is durable but the claim.

    Attributes:
        agent: Whose step it is.
        turn: The number of the turn.
        step: The number that the step would have.
        messages: What was claimed for it.
        signal: Aborts with the turn.
    """

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
"""What becomes of a proposed step."""


@dataclass(frozen=True, slots=True)
class AgentRequest:
    """A model request is about to be made; listeners decide its configuration.

    Attributes:
        agent: Whose request it is.
        turn: The number of the turn.
        step: The number of the step.
        signal: Aborts with the turn.
    """

    agent: Agent
    turn: int
    step: int
    signal: CancelSignal


@dataclass(frozen=True, slots=True)
class AgentRequestError:
    """A model request has failed; listeners decide whether it is made again.

    Attributes:
        agent: Whose request it was.
        turn: The number of the turn.
        step: The number of the step, which is still open.
        provider: The route of the request.
        failure: What the response ended with.
        retry_policy: What the adapter says about trying again, if anything.
        signal: Aborts with the turn.
    """

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
"""What becomes of a failed request: it is made again, or nothing is done and its failure ends the turn."""


@dataclass(frozen=True, slots=True)
class AgentTurnStopping:
    """A turn is about to close naturally; input for its next step keeps it open.

    Attributes:
        agent: Whose turn it is.
        turn: Its number.
        signal: Aborts with the turn.
    """

    agent: Agent
    turn: int
    signal: CancelSignal


@dataclass(frozen=True, slots=True)
class AgentErrorRaised:
    """A turn has failed, or one of its boundaries could not be appended.

    Attributes:
        agent: Whose turn it is.
        turn: The number of the turn; of the last one, where none could be opened.
        step: The number of the step; 0 outside of one.
        error: The error itself.
    """

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
"""An agent and its session are published. A listener that raises vetoes them, and the creation is rolled back.

Spec:
    LIFE-PUB-01, LIFE-PUB-05, LIFE-PUB-07
"""

AGENT_SESSION_START: Final = Emit[AgentSessionStart](
    "agent/session-start",
    contained=True,
    report=_REPORT,
    receiver=_concerned,  # LIFE-PUB-04: no veto
)
"""Work on a session may begin: once for each agent, behind `agent/created`.

Spec:
    LIFE-PUB-04
"""

AGENT_STATUS: Final = Emit[AgentStatusChanged]("agent/status", contained=True, report=_REPORT, receiver=_concerned)
"""A driver became active, or the last one has ended. The two values alternate.

Spec:
    AGENT-STATUS-01, AGENT-STATUS-03, AGENT-STATUS-04
"""

AGENT_INBOX_INSERTED: Final = Emit[AgentInboxInserted](
    "agent/inbox/inserted", contained=True, report=_REPORT, receiver=_concerned
)
"""A message entered a list of the inbox. The splice is logged, and the list has changed.

Spec:
    INBOX-NOTE-01
"""

AGENT_INBOX_CLAIMED: Final = Emit[AgentInboxClaimed](
    "agent/inbox/claimed", contained=True, report=_REPORT, receiver=_concerned
)
"""A turn took a message out of the inbox, for its next step.

Spec:
    INBOX-NOTE-01, INBOX-CLAIM-01
"""

AGENT_INBOX_DISCARDED: Final = Emit[AgentInboxDiscarded](
    "agent/inbox/discarded", contained=True, report=_REPORT, receiver=_concerned
)
"""A message left the inbox without being claimed: removed, replaced or cancelled.

Spec:
    INBOX-NOTE-01
"""

AGENT_PRE_STEP: Final = Waterfall[AgentPreStep, Awaitable[PreStepDecision]]("agent/pre-step", receiver=_concerned)
"""Before every step: which messages enter it, or that it is not entered. `next()` enters what was claimed.

Spec:
    LOOP-PRE-01, LOOP-PRE-02, LOOP-PRE-03
"""

AGENT_REQUEST: Final = Waterfall[AgentRequest, Awaitable[CallConfig]]("agent/request", receiver=_concerned)
"""Before every model request: which configuration it has. `next()` answers what was proposed.

Spec:
    REQ-SEED-01, REQ-ROUTE-01
"""

AGENT_REQUEST_ERROR: Final = Waterfall[AgentRequestError, Awaitable[RequestErrorAction]](
    "agent/request-error", receiver=_concerned
)
"""A model request failed: whether it is made again, in the same step. `next()` gives up.

Spec:
    RERR-WHEN-01, RERR-RETRY-01
"""

AGENT_TURN_STOPPING: Final = Serial[AgentTurnStopping, None](
    "agent/turn-stopping", first_value_wins=False, receiver=_concerned
)
"""A turn is about to close by itself. A listener that gives it more input keeps it open.

Spec:
    LOOP-STOP-01, LOOP-STOP-02
"""

AGENT_ERROR: Final = Emit[AgentErrorRaised]("agent/error", contained=True, report=_REPORT, receiver=_concerned)
"""A turn failed, or one of its boundaries could not be logged. Told once, with the error itself.

Spec:
    LOOP-ERR-03
"""

AGENT_DISPOSED: Final = Emit[AgentDisposal]("agent/disposed", contained=True, report=_REPORT_BY_ID, receiver=_concerned)
"""An agent left its registry: quiet, its scope unwound. It follows every `agent/created`.

Spec:
    LIFE-DISP-01
"""
