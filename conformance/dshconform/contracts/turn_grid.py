"""The grid of the turn contract: what is done at each of the driver's gates, in each window of cancellation."""

from collections.abc import Callable, Mapping
from typing import Final

from dshconform.contracts import inbox_commands as inbox
from dshconform.contracts import turn_commands as write
from dshconform.contracts.agent_grid import (
    CANCELS,
    DELIVERIES,
    IDLE,
    SIGNALS,
    STREAM,
    Approach,
    Grid,
    Stage,
    stream_act,
    window_of,
)
from dshconform.contracts.grid import Act, Fresh
from dshconform.contracts.inbox_agent import Phase
from dshconform.contracts.turn_agent import TurnAgent
from dshconform.protocol.json_value import JsonMap
from dshconform.scenarios.macros import message


def _deciding(fresh: Fresh) -> list[JsonMap]:
    return [inbox.followup(next(fresh))]


def _requesting(fresh: Fresh) -> list[JsonMap]:
    identity = next(fresh)
    return [inbox.followup(identity), write.enter(identity)]


def _streaming(fresh: Fresh) -> list[JsonMap]:
    return [*_requesting(fresh), write.SEND]


def _recovering(fresh: Fresh) -> list[JsonMap]:
    return [*_streaming(fresh), inbox.fail()]


def _stopping(fresh: Fresh) -> list[JsonMap]:
    return [*_streaming(fresh), inbox.end()]


def _by_next(phase: Phase) -> Mapping[str, Act[TurnAgent]]:
    """A hook asks, and hands on what it got."""
    return {"ask": lambda *_: write.ask(phase), "by next": lambda *_: write.answer(phase, write.BY_NEXT)}


def _other_request(agent: TurnAgent, fresh: Fresh) -> JsonMap:
    del fresh
    return write.request(temperature=1 if agent.seed.get("temperature") != 1 else 0.5)


_ANSWERS: Final[Mapping[Phase, Mapping[str, Act[TurnAgent]]]] = {
    "deciding": {
        **_by_next("deciding"),
        "enter": lambda agent, _: write.enter(*agent.batch),
        "enter other": lambda _, fresh: write.enter(message(next(fresh))),
        "enter nothing": lambda *_: write.enter(),
        "reject": lambda *_: write.REJECT,
        "no decision": lambda *_: write.nothing("deciding"),
        "throw": lambda *_: write.throw("deciding"),
    },
    "requesting": {
        **_by_next("requesting"),
        "request": lambda agent, _: write.answer("requesting", agent.seed),
        "request other": _other_request,
        "no route": lambda *_: write.request(model=None),
        "throw": lambda *_: write.throw("requesting"),
    },
    "streaming": {**STREAM, "failed finish": lambda *_: write.finish_failed("error", "SERVER")},
    "recovering": {
        **_by_next("recovering"),
        "retry": lambda *_: write.RETRY,
        "give up": lambda *_: write.GIVE_UP,
        "throw": lambda *_: write.throw("recovering"),
    },
    "stopping": {"go": lambda *_: write.GO, "throw": lambda *_: write.throw("stopping")},
}
_APPROACHES: Final[Mapping[Phase, Approach]] = {
    "deciding": _deciding,
    "requesting": _requesting,
    "streaming": _streaming,
    "recovering": _recovering,
    "stopping": _stopping,
}
_QUIET: Final[Mapping[str, Act[TurnAgent]]] = {**DELIVERIES, **CANCELS}
_STAGES: Final[Mapping[str, Stage[TurnAgent]]] = {
    "idle": Stage(lambda _: [], IDLE, _QUIET),
    **{phase: Stage(leads, SIGNALS, {**_QUIET, **_ANSWERS[phase]}) for phase, leads in _APPROACHES.items()},
}


def _named(agent: TurnAgent, op: str, args: JsonMap) -> str | None:
    match op:
        case "gate.next":
            return "ask"
        case "gate.reject":
            return "throw"
        case "gate.resolve":
            return "by next" if args.get("value") == write.BY_NEXT else _RESOLVED[agent.phase](agent, args)
        case "stream.chunk" if write.tells_failure(args):
            return "failed finish"
        case _:
            return stream_act(op, args)


def _decision(agent: TurnAgent, args: JsonMap) -> str:
    messages = write.entered(args)
    if messages is None:
        value = args.get("value")
        return "reject" if inbox.kind_of(value) == "reject" else "no decision"
    return "enter nothing" if not messages else "enter" if messages == agent.batch else "enter other"


def _request(agent: TurnAgent, args: JsonMap) -> str:
    value = args.get("value")
    if not isinstance(value, Mapping) or not (value.get("provider") and value.get("model")):
        return "no route"
    return "request" if value == agent.seed else "request other"


def _recovery(agent: TurnAgent, args: JsonMap) -> str:
    del agent
    return "retry" if inbox.kind_of(args.get("value")) == "retry" else "give up"


_RESOLVED: Final[Mapping[Phase, Callable[[TurnAgent, JsonMap], str]]] = {
    "deciding": _decision,
    "requesting": _request,
    "recovering": _recovery,
    "stopping": lambda *_: "go",
}
_LEAVING: Final[Mapping[Phase, JsonMap]] = {
    "deciding": write.REJECT,
    "requesting": write.SEND,
    "streaming": inbox.end(),
    "recovering": write.GIVE_UP,
    "stopping": write.GO,
}


def _rest(agent: TurnAgent, fresh: Fresh) -> JsonMap | None:
    if agent.phase == "idle":
        return inbox.followup(next(fresh)) if agent.pending else None  # an idle cancel may keep what is pending
    told = agent.phase == "streaming" and agent.cause is None and agent.finish in write.FAILURES
    if not told and (agent.cause is None or agent.pending or agent.latch):
        return inbox.cancel()
    return _LEAVING[agent.phase]


GRID: Final[Grid[TurnAgent]] = Grid(_STAGES, lambda agent: agent.phase, window_of, _named, _rest)
"""What can be done to an agent, in each window of each phase of its turns."""
