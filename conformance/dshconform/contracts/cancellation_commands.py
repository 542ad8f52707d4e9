"""The alphabet of the cancellation contract: listeners along a whole turn, hooks that wait, and what they answer.

A hook waits for the suite where its listener says so; what it answers then, or at the end of a script, counts for
nothing behind an abort. Before one there is a single answer, which goes on: what others do is the turn contract's
affair.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from dshconform.contracts import wake_scripts
from dshconform.contracts.callbacks import Listeners, Place
from dshconform.contracts.inbox_agent import Phase
from dshconform.contracts.inbox_commands import burst, chunk, items_of, kind_of, read_command
from dshconform.contracts.inbox_rows import ROUTE
from dshconform.contracts.turn_commands import BY_NEXT, GIVE_UP, GO, REJECT, RETRY, answer, request, throw
from dshconform.protocol.json_value import Json, JsonMap

PLACES: Final[Mapping[str, Place]] = {
    **wake_scripts.PLACES,
    "assembly listener": Place("system-prompt/assemble", {}, given=True),
    "step start observer": Place("session/event", {"event.type": "step/start"}),
    "entered observer": Place("session/event", {"event.type": "user/message"}),
    "request listener": Place("agent/request", {}, hook=True),
    "header observer": Place("session/event", {"event.type": "request/header"}),
    "context observer": Place("session/event", {"event.type": "request/context"}),
    "chunk observer": Place("session/event", {"event.data.chunk.type": "text-delta"}),
    "finish observer": Place("session/event", {"event.data.chunk.type": "finish"}),
    "answer observer": Place("session/event", {"event.type": "assistant/message"}),
    "step end observer": Place("session/event", {"event.type": "step/end"}),
    "recovery listener": Place("agent/request-error", {}, hook=True),
}
"""Every place of listeners, those of the wake contract among them."""

LISTENERS: Final = Listeners(PLACES)
"""Reads and writes the listeners of the contract."""
listen: Final = LISTENERS.listen
"""Writes one."""

HOOKS: Final[Mapping[str, Phase]] = {
    "assembly listener": "assembling",
    "pre-step listener": "deciding",
    "request listener": "requesting",
    "recovery listener": "recovering",
    "stopping listener": "stopping",
}
"""The places that can wait, each with the phase in which they do."""

WAITING: Final[Mapping[Phase, str]] = {phase: PLACES[place].event for place, phase in HOOKS.items()}
"""By phase, the event whose listener waits."""

MODELS: Final = ("m1", "m2")
"""The models of requests; a listener may choose one."""

HOLD: Final[JsonMap] = {"do": "gate"}
"""The action that makes a hook wait."""

_BREAK: Final[JsonMap] = {"do": "throw", "error": {"$error": {"message": "broken"}}}
_ROUTES: Final[Sequence[JsonMap]] = [{"do": "return", "value": {**ROUTE, "model": model}} for model in MODELS]
ENDINGS: Final[Mapping[str, Sequence[JsonMap]]] = {
    "assembly listener": [_BREAK],
    "pre-step listener": [{"do": "return", "value": {"kind": "reject"}}, _BREAK],
    "request listener": [*_ROUTES, _BREAK],
    "recovery listener": [{"do": "return", "value": {"kind": "retry"}}, _BREAK],
    "stopping listener": [_BREAK],
}
"""How the script of a hook can end, other than by passing or by waiting."""

_ASSEMBLY: Final[JsonMap] = {"gate": {"kind": WAITING["assembling"]}}
PASS_ASSEMBLY: Final = burst(
    {"do": "gate.next", "args": _ASSEMBLY}, {"do": "gate.resolve", "args": {**_ASSEMBLY, "value": BY_NEXT}}
)
"""The assembly goes on to the next listener and ends as that one does."""
BREAK_ASSEMBLY: Final[JsonMap] = {
    "do": "gate.reject",
    "args": {**_ASSEMBLY, "error": {"$error": {"message": "broken", "as": "thrown"}}},
}
"""The assembly fails."""
OTHER_ANSWERS: Final[Mapping[Phase, Sequence[JsonMap]]] = {
    "assembling": (BREAK_ASSEMBLY,),
    "deciding": (REJECT, throw("deciding")),
    "requesting": (request(model=None), throw("requesting")),
    "recovering": (RETRY, throw("recovering")),
    "stopping": (throw("stopping"),),
}
"""What a hook can answer behind an abort, beside what goes on."""


def going_on(phase: Phase, batch: Sequence[JsonMap], seed: JsonMap) -> JsonMap:
    """The answer of a hook with which the turn goes on.

    Args:
        phase: The phase in which it waits.
        batch: What the step has claimed.
        seed: The configuration of the last request.
    """
    if phase == "deciding":
        entered: list[Json] = list(batch)
        return answer(phase, {"kind": "enter", "messages": entered})
    if phase == "requesting":
        return answer(phase, seed)
    return {"assembling": PASS_ASSEMBLY, "recovering": GIVE_UP, "stopping": GO}[phase]


# ---------------------------------------------------------------------- the model's answer

REASONING: Final = chunk({"type": "reasoning-delta", "index": 1, "text": "because"})
"""A piece of reasoning."""
CALL: Final = chunk(
    {"type": "block-end", "index": 2, "block": {"type": "tool-call", "id": "c1", "name": "echo", "arguments": "{}"}}
)
"""A complete call of a tool. In this contract such an answer is never complete: it is cut, or fails."""
USAGE: Final[JsonMap] = {"inputTokens": 3, "outputTokens": 1}
"""What is reported as used."""
USED: Final = chunk({"type": "usage", "usage": USAGE})
"""The report of it."""
REPLAY: Final[JsonMap] = {"response": {"id": 1}}
"""State of the adapter that a later request replays."""
FINISH_WITH_REPLAY: Final = chunk({"type": "finish", "reason": {"kind": "stop"}, "replayState": REPLAY})
"""The end of an answer that hands it over."""

# ---------------------------------------------------------------------- simpler commands


def simpler(written: JsonMap) -> list[JsonMap]:
    """Commands that say less than this one.

    Args:
        written: As a scenario writes it.
    """
    op, args = read_command(written)
    if op == "listen":
        return LISTENERS.simpler(args)
    if op.startswith("gate."):
        return []
    if op == "burst" and any(str(item.get("op")).startswith("gate.") for item in items_of(args)):
        return []
    return wake_scripts.simpler(written)


def type_of(args: JsonMap) -> str | None:
    """What the model's next item is.

    Args:
        args: The arguments of `stream.chunk`.
    """
    item = args.get("chunk")
    kind = item.get("type") if isinstance(item, Mapping) else None
    return kind if isinstance(kind, str) else None


def answer_act(args: JsonMap) -> str:
    """What the answer of a hook is called in the grid.

    Args:
        args: The arguments of `gate.resolve`.
    """
    kind = kind_of(args.get("value"))
    return kind if kind in {"reject", "retry"} else "go on"
