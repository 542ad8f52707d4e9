"""The kinds of calls that a function of the suite can get: their fields, and whether somebody waits for the answer.

A listener's kind is the name of its event. The fields stand in the `payload` of its rows, and are what `when`, `$arg`
and `set` name by a path.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

Mode: TypeAlias = Literal["emit", "waterfall", "serial", "parallel", "call"]
"""How a function of a kind is called: in one of the modes of events, or by itself."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of call.

    Args:
        mode: How an event is dispatched; `call` for what is no listener.
        fields: The fields of the call, those included that it may lack; none where they are not known.
        waits: Whether the call may wait: open a gate, pause, await.
    """

    mode: Mode
    fields: tuple[str, ...] | None = ()
    waits: bool = True

    @property
    def has_next(self) -> bool:
        """Whether the call is given the rest of its chain."""
        return self.mode == "waterfall"


_EXECUTION: Final = ("callId", "name", "arguments", "rootCallId", "token", "parent", "signal")
_MODEL: Final = ("provider", "model", "request", "signal")
_PROVIDER: Final = ("name", "scope", "signal")

EVENTS: Final[Mapping[str, Kind]] = {
    "agent/created": Kind("emit"),
    "agent/disposed": Kind("emit"),
    "agent/session-start": Kind("emit", ("source",)),
    "agent/status": Kind("emit", ("status",)),
    "agent/inbox/inserted": Kind("emit", ("message",)),
    "agent/inbox/discarded": Kind("emit", ("message",)),
    "agent/inbox/claimed": Kind("emit", ("message", "turn")),
    "agent/error": Kind("emit", ("turn", "step", "error")),
    "session/created": Kind("emit", ("session",)),
    "session/disposed": Kind("emit", ("session",)),
    "session/event": Kind("emit", ("session", "event")),
    "tools/change": Kind("emit"),
    "system-prompt/change": Kind("emit"),
    "llm/adapters-updated": Kind("emit"),
    "tools/result": Kind("emit", (*_EXECUTION, "result")),
    "agent-loop/config-start-failed": Kind("emit", ("sessionId", "error")),
    "agent/pre-step": Kind("waterfall", ("turn", "step", "messages", "signal")),
    "agent/request": Kind("waterfall", ("turn", "step", "signal")),
    "agent/request-error": Kind("waterfall", ("turn", "step", "provider", "failure", "retryPolicy", "signal")),
    "tools/pre-execute": Kind("waterfall", _EXECUTION),
    "tools/execute": Kind("waterfall", _EXECUTION),
    "tools/post-execute": Kind("waterfall", (*_EXECUTION, "result")),
    "system-prompt/assemble": Kind("waterfall", ("assembly", "scope", "signal")),
    "llm/stream": Kind("waterfall", ("request", "signal"), waits=False),
    "agent/turn-stopping": Kind("serial", ("turn", "signal")),
    "session/flush": Kind("parallel", ("session",)),
}
"""The events of the core."""

OTHER_EVENT: Final = Kind("waterfall", None)
"""An event of another name is dispatched as it may be: a function for it may do everything."""

FUNCTIONS: Final[Mapping[str, Kind]] = {
    "model/start": Kind("call", _MODEL, waits=False),
    "model/stream": Kind("call", _MODEL),
    "model/resolve": Kind("call", ("provider", "model", "signal")),
    "model/models": Kind("call", ("provider",)),
    "model/close": Kind("call", ("provider",)),
    "tool/execute": Kind("call", _EXECUTION),
    "tool/safe": Kind("call", ("arguments",), waits=False),
    "tool/render": Kind("call", ("arguments", "value"), waits=False),
    "tool/meta": Kind("call", ("arguments", "value"), waits=False),
    "tool/finalize": Kind("call", (*_EXECUTION, "result"), waits=False),
    "tool/present-call": Kind("call", ("arguments",), waits=False),
    "tool/present-result": Kind("call", ("arguments", "result"), waits=False),
    "prompt/section": Kind("call", _PROVIDER, waits=False),
    "prompt/context": Kind("call", _PROVIDER, waits=False),
    "prompt/variable": Kind("call", _PROVIDER, waits=False),
    "prompt/tools": Kind("call", ("scope", "signal"), waits=False),
    "tool/guard": Kind("call", _EXECUTION, waits=False),
    "tool/approval": Kind("call", ("toolName", "callId", "reason", "signal")),
    "maintenance": Kind("call", ("signal",)),
    "setup": Kind("call"),
    "commit": Kind("call"),
    "undo": Kind("call", ("of",)),
    "factory": Kind("call", ("owner", "op", "options")),
    "boundary": Kind("call"),
    "store/load": Kind("call", ("session", "signal")),
    "store/list": Kind("call"),
    "store/release": Kind("call", ("session",), waits=False),
    "body": Kind("call", ("owner", "config")),
    "effect": Kind("call", ("of",)),
    "filter": Kind("call", ("context", "receiver"), waits=False),
    "observer": Kind("call", ("mode", "name", "receiver", "args"), waits=False),
    "default": Kind("call", ("args",)),
    "run": Kind("call"),
}
"""The callbacks that are no listeners."""


def event_kind(event: str) -> Kind:
    """The kind of a listener for an event of any name."""
    return EVENTS.get(event, OTHER_EVENT)
