"""The grid of the inbox contract: what is done to an agent at each phase, in each window of cancellation and latch."""

from collections.abc import Iterator
from typing import Final

from dshconform.contracts import inbox_commands as write
from dshconform.contracts.agent_grid import (
    CANCELS,
    DELIVERIES,
    IDLE,
    LATCHED,
    SIGNALS,
    STREAM,
    Approach,
    Grid,
    Stage,
    both,
    stream_act,
    window_of,
)
from dshconform.contracts.grid import Act, Fresh
from dshconform.contracts.inbox_agent import AbstractAgent
from dshconform.protocol.json_value import JsonMap

_PENDING: Final = ", pending"


def _held(agent: AbstractAgent, fresh: Fresh) -> str:
    """The id of a pending message, or one that nothing has."""
    return next((str(message["id"]) for held in agent.lists.values() for message in held), None) or next(fresh)


_EDITS: Final[dict[str, Act[AbstractAgent]]] = {
    "send nowhere": lambda _, fresh: write.send(next(fresh), "other", wakeup=False),
    "append": lambda _, fresh: write.insert("append", "next-turn", next(fresh)),
    "prepend": lambda _, fresh: write.insert("prepend", "next-step", next(fresh)),
    "splice": lambda _, fresh: write.splice("next-turn", 0, 1, next(fresh)),
    "replace": lambda agent, fresh: write.replace(_held(agent, fresh), next(fresh)),
    "remove": lambda agent, fresh: write.remove(_held(agent, fresh)),
    "clear": lambda *_: write.clear(),
}


def _windows() -> Iterator[tuple[str, Approach]]:
    for name, leads in SIGNALS.items():
        yield name, (both(leads, lambda _: [write.clear()]) if name == LATCHED else leads)
        yield f"{name}{_PENDING}", both(leads, IDLE["pending"])


_QUIET: Final = {**DELIVERIES, **_EDITS, **CANCELS}
_STAGES: Final = {
    "idle": Stage(lambda _: [], IDLE, _QUIET),
    "streaming": Stage(lambda fresh: [write.followup(next(fresh))], dict(_windows()), {**_QUIET, **STREAM}),
}


def _window(agent: AbstractAgent) -> str:
    window = window_of(agent)
    return f"{window}{_PENDING}" if agent.phase != "idle" and agent.pending else window


def _named(agent: AbstractAgent, op: str, args: JsonMap) -> str | None:
    del agent
    return op.removeprefix("inbox.") if op.startswith("inbox.") else stream_act(op, args)


def _rest(agent: AbstractAgent, fresh: Fresh) -> JsonMap | None:
    if agent.phase == "idle":
        return write.followup(next(fresh)) if agent.pending else None  # an idle cancel may keep what is pending
    return write.cancel() if agent.cause is None or agent.pending or agent.latch else write.end()


GRID: Final[Grid[AbstractAgent]] = Grid(_STAGES, lambda agent: agent.phase, _window, _named, _rest)
"""What can be done to an agent, in each window of its life."""
