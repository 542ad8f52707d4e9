"""What the hooks of `dshcore` hand over, and what they expect back: the event table of the protocol, bound to its keys.

Specific to `dshcore`, as `composition`, `operations`, `observe` and `failures` are.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from dshconform.adapters.reference.calls import Call
from dshconform.adapters.reference.endings import Kind
from dshconform.adapters.reference.functions import SuiteFunction
from dshconform.adapters.reference.paths import snake_case
from dshconform.adapters.reference.prompt_forms import read_assembly, read_part
from dshconform.adapters.reference.tool_forms import (
    ExecutionFields,
    read_post_execute,
    read_pre_execute,
    read_result,
)
from dshcore.agent import (
    AGENT_CREATED,
    AGENT_DISPOSED,
    AGENT_ERROR,
    AGENT_INBOX_CLAIMED,
    AGENT_INBOX_DISCARDED,
    AGENT_INBOX_INSERTED,
    AGENT_PRE_STEP,
    AGENT_REQUEST,
    AGENT_REQUEST_ERROR,
    AGENT_SESSION_START,
    AGENT_STATUS,
    AGENT_TURN_STOPPING,
    Enter,
    Reject,
    Retry,
)
from dshcore.agent_loop import CONFIG_START_FAILED
from dshcore.events import Emit, EventKey
from dshcore.json import NotJson, freeze
from dshcore.llm import ADAPTERS_UPDATED, LLM_STREAM, CallConfig, GenerateOptions
from dshcore.session import SESSION_CREATED, SESSION_DISPOSED, SESSION_EVENT, SESSION_FLUSH
from dshcore.system_prompt import SYSTEM_PROMPT_ASSEMBLE, SYSTEM_PROMPT_CHANGE
from dshcore.tools import (
    TOOLS_CHANGE,
    TOOLS_EXECUTE,
    TOOLS_POST_EXECUTE,
    TOOLS_PRE_EXECUTE,
    TOOLS_RESULT,
    ToolOutcome,
)


@dataclass(frozen=True, slots=True)
class Event:
    """An event of the contract.

    Attributes:
        key: Its key.
        kind: What its listeners are.
        read: The fields of one dispatch; what is none is absent.
    """

    key: EventKey[Any]
    kind: Kind
    read: Callable[[Any], Mapping[str, object]]


def _members(names: str) -> Callable[[object], dict[str, object]]:
    """The reader of fields, as the protocol spells them, that are attributes of the payload."""
    attributes = tuple((name, snake_case(name)) for name in names.split())

    def read(payload: object) -> dict[str, object]:
        values = ((name, getattr(payload, attribute)) for name, attribute in attributes)
        return {name: value for name, value in values if value is not None}

    return read


def _outcome_fields(outcome: ToolOutcome) -> Mapping[str, object]:
    return ExecutionFields(outcome.execution, result=outcome.result)


def request_fields(request: GenerateOptions) -> dict[str, object]:
    """The fields that tell of a request; its signal stands beside it."""
    signal = request.signal
    return {"request": request} if signal is None else {"request": request, "signal": signal}


def _decision(value: object, _: Call) -> object:
    """A pre-step decision; what is no decision is passed on as it is."""
    if isinstance(value, Mapping):
        if value.get("kind") == "reject":
            return Reject()
        if value.get("kind") == "enter" and "messages" in value:
            return Enter(value["messages"])
    return value


def _configuration(value: object, _: Call) -> object:
    return CallConfig.read(value) if isinstance(value, Mapping) else value


def _action(value: object, _: Call) -> object:
    return Retry() if isinstance(value, Mapping) and value.get("kind") == "retry" else value


def frozen(value: object) -> object:
    """A part of the record (a chunk, an event) in the form that `dshcore` carries it in; what is no JSON, as it is.

    Args:
        value: As the suite wrote it.
    """
    try:
        return freeze(value)
    except NotJson:
        return value


def _as_it_is(value: object, _: Call) -> object:
    return value


_ANSWERS: Final[Mapping[EventKey[Any], Callable[[object, Call], object]]] = {
    AGENT_PRE_STEP: _decision,
    AGENT_REQUEST: _configuration,
    AGENT_REQUEST_ERROR: _action,
    TOOLS_PRE_EXECUTE: lambda value, _: read_pre_execute(value),
    TOOLS_EXECUTE: lambda value, _: read_result(value),
    TOOLS_POST_EXECUTE: lambda value, _: read_post_execute(value),
    SYSTEM_PROMPT_ASSEMBLE: lambda value, _: read_assembly(value),
}


def _event(key: EventKey[Any], fields: str | Callable[[Any], Mapping[str, object]] = "") -> Event:
    synchronous = key is LLM_STREAM
    kind = Kind(
        key.name,
        waits=not synchronous,
        awaited=not (synchronous or isinstance(key, Emit)),
        answer=_ANSWERS.get(key, _as_it_is),
        item=frozen,
        assigned=read_part if key is SYSTEM_PROMPT_ASSEMBLE else lambda _, value: value,
    )
    return Event(key, kind, _members(fields) if isinstance(fields, str) else fields)


EVENTS: Final[Mapping[str, Event]] = {
    event.key.name: event
    for event in (
        _event(AGENT_CREATED),
        _event(AGENT_DISPOSED),
        _event(AGENT_SESSION_START, "source"),
        _event(AGENT_STATUS, "status"),
        _event(AGENT_INBOX_INSERTED, "message"),
        _event(AGENT_INBOX_DISCARDED, "message"),
        _event(AGENT_INBOX_CLAIMED, "message turn"),
        _event(AGENT_ERROR, "turn step error"),
        _event(SESSION_CREATED, "session"),
        _event(SESSION_DISPOSED, "session"),
        _event(SESSION_EVENT, "session event"),
        _event(SESSION_FLUSH, "session"),
        _event(ADAPTERS_UPDATED),
        _event(TOOLS_CHANGE),
        _event(TOOLS_RESULT, _outcome_fields),
        _event(SYSTEM_PROMPT_CHANGE),
        _event(AGENT_PRE_STEP, "turn step messages signal"),
        _event(AGENT_REQUEST, "turn step signal"),
        _event(AGENT_REQUEST_ERROR, "turn step provider failure retryPolicy signal"),
        _event(AGENT_TURN_STOPPING, "turn signal"),
        _event(TOOLS_PRE_EXECUTE, ExecutionFields),
        _event(TOOLS_EXECUTE, ExecutionFields),
        _event(TOOLS_POST_EXECUTE, _outcome_fields),
        _event(SYSTEM_PROMPT_ASSEMBLE, "assembly scope signal"),
        _event(CONFIG_START_FAILED, "sessionId error"),
        _event(LLM_STREAM, request_fields),  # the request is itself the payload
    )
}
"""Every event that can be listened to, by its name."""

NOTIFICATIONS: Final = tuple(event for event in EVENTS.values() if isinstance(event.key, Emit))
"""The events that are only told, never asked."""


def listener(function: SuiteFunction, event: Event) -> Callable[..., object]:
    """The function as a listener of an event: the same one each time, as the same callback is."""
    return function.callbacks.setdefault(event.key, _listener(function, event))


def _listener(function: SuiteFunction, event: Event) -> Callable[..., object]:
    world = function.world

    def heard(payload: object, proceed: Callable[..., object] | None = None) -> object:
        agent = getattr(payload, "agent", None)
        if isinstance(payload, GenerateOptions):
            agent = world.composition.agent_of(payload)
        holder = payload.execution if isinstance(payload, ToolOutcome) else payload
        return function.call(event.kind, event.read(payload), agent=agent, payload=holder, proceed=proceed)

    return heard


class Commit:
    """What a setup answers for its commit.

    Args:
        function: The function of the suite.
        agent: The agent that is being made.
    """

    def __init__(self, function: SuiteFunction, agent: object) -> None:
        self._function: Final = function
        self._agent: Final = agent

    def commit(self) -> object:
        """Be called right before the publication.

        Returns:
            What the function of the suite answers.
        """
        return self._function.call(_COMMIT, {}, agent=self._agent)


def _setup_answer(value: object, call: Call) -> object:
    if isinstance(value, Mapping) and isinstance(value.get("commit"), SuiteFunction):
        return Commit(value["commit"], call.agent)
    return value


def _exact_model(call: Call) -> dict[str, object]:
    provider, model = call.fields["provider"], call.fields["model"]
    return {"provider": provider, "id": model, "name": model}


SETUP: Final = Kind("setup", answer=_setup_answer)
"""The setup of an agent."""
_COMMIT: Final = Kind("commit")
UNDO: Final = Kind("undo")
"""A cleanup."""
MAINTENANCE: Final = Kind("maintenance", awaited=True)
"""A maintenance task."""
RUN: Final = Kind("run", awaited=True, passing=lambda call: call.outcomes)
"""A script that nobody called: the command `run`."""
MODEL_START: Final = Kind("model/start", waits=False)
"""What happens when a stream of a model is begun."""
MODEL_STREAM: Final = Kind("model/stream", item=frozen)
"""The stream of a model."""
MODEL_RESOLVE: Final = Kind("model/resolve", awaited=True, passing=_exact_model)
"""What a model adapter knows of one model."""
MODEL_MODELS: Final = Kind("model/models", awaited=True, passing=lambda _: [])
"""The models of a model adapter."""
MODEL_CLOSE: Final = Kind("model/close")
"""What happens when a stream is left."""
