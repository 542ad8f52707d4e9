"""The grid of the scheduling contract: what is done while calls run, wait or are policy's affair, in each window."""

from collections.abc import Mapping
from typing import Final

from dshconform.contracts import inbox_commands as inbox
from dshconform.contracts import scheduling_commands as write
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
from dshconform.contracts.scheduling_agent import SchedulingAgent
from dshconform.protocol.json_value import JsonMap

_CHANGED: Final = "write"
"""The tool that is taken away and registered again."""


def _calling(*tools: str, ended: int | None = None) -> Approach:
    """An answer that calls these tools, and the end of one of the bodies."""

    def leads(fresh: Fresh) -> list[JsonMap]:
        calls = [write.Asked(next(fresh), tool) for tool in tools]
        last = [] if ended is None else [write.returns(calls[ended].identity)]
        return [inbox.followup(next(fresh)), write.asks(*calls), *last]

    return leads


_APPROACHES: Final[Mapping[str, Approach]] = {
    "running": _calling("read"),
    "queued": _calling("read", "read", "read"),
    "overtaken": _calling("read", "read", ended=1),
    "asked": _calling("read", write.GUARDED),
    "reviewed": _calling(write.REVIEWED, ended=0),
}
"""Bodies run; a call waits for them; one has ended before an earlier one; policy is asked about a call, or a result."""


def _phase(agent: SchedulingAgent) -> str:
    if agent.phase != "calling":
        return agent.phase
    states = {call.state for call in agent.started}
    for state in ("asked", "reviewed"):
        if state in states:
            return state
    return "queued" if agent.queue else "overtaken" if "settled" in states else "running"


def _waiting(agent: SchedulingAgent, kind: str) -> str:
    """The call whose function waits first; a name that none has where none waits."""
    return next((identity for waits, identity in agent.gates if waits == kind), write.UNKNOWN)


_QUIET: Final[Mapping[str, Act[SchedulingAgent]]] = {
    **DELIVERIES,
    **CANCELS,
    "unregister": lambda *_: write.unregister(_CHANGED),
    "register": lambda *_: write.register(_CHANGED, "none"),
}
_STREAM: Final[Mapping[str, Act[SchedulingAgent]]] = {
    "text": STREAM["text"],
    "call": lambda agent, fresh: write.called(
        len(agent.asking) + (agent.text is not None), write.Asked(next(fresh), "read")
    ),
    "answer": lambda _, fresh: write.asks(write.Asked(next(fresh), "read")),
    **{name: STREAM[name] for name in ("fail", "finish", "end")},
}
_BODIES: Final[Mapping[str, Act[SchedulingAgent]]] = {
    "return": lambda agent, _: write.returns(_waiting(agent, write.BODY)),
    "throw": lambda agent, _: write.throws(_waiting(agent, write.BODY)),
}
_ASKED: Final[Mapping[str, Act[SchedulingAgent]]] = {
    **_BODIES,
    "allow": lambda agent, _: write.allow(_waiting(agent, write.BEFORE)),
    "deny": lambda agent, _: write.deny(_waiting(agent, write.BEFORE)),
    "policy throws": lambda agent, _: write.throws(_waiting(agent, write.BEFORE), kind=write.BEFORE),
}
_REVIEWED: Final[Mapping[str, Act[SchedulingAgent]]] = {
    "accept": lambda agent, _: write.accept(_waiting(agent, write.BEHIND)),
    "change": lambda agent, _: write.accept(_waiting(agent, write.BEHIND), "changed"),
    "block": lambda agent, fresh: write.block(_waiting(agent, write.BEHIND), next(fresh)),
    "review throws": lambda agent, _: write.throws(_waiting(agent, write.BEHIND), kind=write.BEHIND),
}
_OWN: Final[Mapping[str, Mapping[str, Act[SchedulingAgent]]]] = {"asked": _ASKED, "reviewed": _REVIEWED}
_STAGES: Final[Mapping[str, Stage[SchedulingAgent]]] = {
    "idle": Stage(lambda _: [], IDLE, _QUIET),
    "streaming": Stage(lambda fresh: [inbox.followup(next(fresh))], SIGNALS, {**_QUIET, **_STREAM}),
    **{phase: Stage(leads, SIGNALS, {**_QUIET, **_OWN.get(phase, _BODIES)}) for phase, leads in _APPROACHES.items()},
}


def _named(agent: SchedulingAgent, op: str, args: JsonMap) -> str | None:
    del agent
    match op:
        case "tool.register":
            return "register"
        case "undo":
            return "unregister"
        case "gate.resolve" | "gate.reject":
            kind, _ = write.called_kind(args)
            return _THROWS[kind] if op == "gate.reject" else _answer(kind, args)
        case "burst" if any(item.get("op") in inbox.STREAM_ANSWERS for item in inbox.items_of(args)):
            return "answer"
        case "stream.chunk" if write.asks_for_call(args):
            return "call"
        case _:
            return stream_act(op, args)


_THROWS: Final = {write.BEFORE: "policy throws", write.BODY: "throw", write.BEHIND: "review throws"}


def _answer(kind: str, args: JsonMap) -> str:
    if kind == write.BODY:
        return "return"
    if kind == write.BEFORE:
        return "allow" if write.reason_of(args) is None else "deny"
    review = write.review_of(args)
    return "block" if review.feedback is not None else "accept" if review.content is None else "change"


def _rest(agent: SchedulingAgent, fresh: Fresh) -> JsonMap | None:
    if agent.cap is None:
        return write.world(2)
    if agent.phase == "idle":
        if agent.pending:
            return inbox.followup(next(fresh))  # an idle cancel may keep what is pending
        return None if _CHANGED in agent.tools else write.register(_CHANGED, "none")
    if agent.cause is None or agent.pending or agent.latch:
        return inbox.cancel()
    return write.plain_end(*agent.gates[0]) if agent.phase == "calling" else inbox.end()


GRID: Final[Grid[SchedulingAgent]] = Grid(_STAGES, _phase, window_of, _named, _rest)
"""What can be done while calls run, in each window of them."""
