"""What becomes of an append: the acceptance list of sheet 40, steps 1 to 6, for the payloads of the alphabet.

A refusal has a name, by which the grid tells it from the others, the text, and the clause that refuses. Payloads are
well-formed apart from what the checks in front of their shape find: malformed ones are refused by the reference alone
(LOG-APPEND-07).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from dshconform.contracts.session_state import AbstractSession, Clauses, members_of, whole_number
from dshconform.protocol.json_value import Json, JsonMap
from dshconform.trace.log_invariants import SURFACE_TYPES

RETIRED: Final = "request/header-delta"
"""A type of events that no session takes any more."""
_REENTERED: Final = "session append cannot reenter while another append is being published"


@dataclass(frozen=True, slots=True)
class Refused:
    """An append that is refused.

    Args:
        name: What the grid calls it.
        text: The error's.
        clauses: Who refuses.
    """

    name: str
    text: str
    clauses: Clauses


def judge(session: AbstractSession, kind: str, data: Json, intent: JsonMap) -> Refused | None:
    """Say whether an append is refused, and by what; nothing when it is accepted.

    Args:
        session: What it would be appended to.
        kind: The type of the event.
        data: What the event would carry.
        intent: What the append says of the surface and of its sources.

    Returns:
        What refuses it, and the clauses that say so.
    """
    subject = f'session event "{kind}"'
    if _holds_negative_zero(data):
        return Refused("no data", f"{subject} carries non-JSON-serializable data", ("LOG-APPEND-02", "LOG-JSON-02"))
    if kind == RETIRED:
        text = f"{subject} uses unsupported legacy request/header-delta format"
        return Refused("retired", text, ("LOG-APPEND-03",))
    if _holds_negative_zero(list(intent.values())):
        text = f"{subject} carries non-JSON-serializable surface metadata"
        return Refused("no metadata", text, ("LOG-APPEND-02",))
    if session.live and session.publishing:
        return Refused("reentering", _REENTERED, ("LOG-OBS-03",))
    return _judge_metadata(session, kind, data, intent)


def accepted_name(kind: str, intent: JsonMap) -> str:
    """What the grid calls an append that is accepted.

    Args:
        kind: The type of the event.
        intent: What the append says of the surface and of its sources.
    """
    if kind not in SURFACE_TYPES:
        return "turn" if kind.startswith("turn/") else "note" if "/" in kind else "plain note"
    if isinstance(intent.get("surfaceOp"), Mapping):
        return "rewrite" if kind == "tool/result" else "replacement"
    if intent.get("sourceEventSeqs") is not None:
        return "citing message" if kind == "user/message" else "empty answer"
    return "result" if kind == "tool/result" else "message"


def _judge_metadata(session: AbstractSession, kind: str, data: Json, intent: JsonMap) -> Refused | None:
    subject = f'session event "{kind}"'
    if kind not in SURFACE_TYPES:
        for member in ("surfaceOp", "sourceEventSeqs"):
            if member in intent:
                text = f"{subject} is not surface-eligible and cannot carry {member}"
                name = "marked note" if member == "surfaceOp" else "citing note"
                return Refused(name, text, ("SURF-OP-01",))
        return None
    if "surfaceOp" not in intent:
        text = f"{subject} is surface-eligible and requires a surfaceOp marker"
        return Refused("unmarked", text, ("SURF-OP-02",))
    marker = intent["surfaceOp"]
    replaced: Sequence[int] = ()
    if isinstance(marker, Mapping):
        if marker.keys() != {"op", "start", "end"} or marker["op"] != "replace":
            text = f"{subject} carries an invalid replace surfaceOp"
            return Refused("bad replacement", text, ("SURF-OP-07",))
        found = _range(session, marker)
        if isinstance(found, Refused):
            return found
        replaced = found
    elif marker != "append":
        return Refused("bad marker", f"{subject} carries an invalid surfaceOp", ("SURF-OP-07",))
    refused = _judge_sources(session, kind, intent) if "sourceEventSeqs" in intent else None
    if refused is not None or not isinstance(marker, Mapping):
        return refused
    return _judge_cover(intent, replaced) or _judge_rewrite(session, kind, data, replaced)


def _range(session: AbstractSession, marker: JsonMap) -> Refused | Sequence[int]:
    """The nodes that a replacement removes."""
    places: list[int] = []
    for end in ("start", "end"):
        seq = whole_number(marker[end])
        if seq not in session.nodes:
            return Refused(f"no {end}", f"surface replace: {end} seq {seq} not found in surface", ("SURF-OP-06",))
        places.append(session.nodes.index(seq))
    first, last = places
    if first > last:
        text = (
            f"surface replace: start seq {marker['start']} (index {first}) is after "
            f"end seq {marker['end']} (index {last})"
        )
        return Refused("reversed", text, ("SURF-OP-05",))
    return session.nodes[first : last + 1]


def _judge_sources(session: AbstractSession, kind: str, intent: JsonMap) -> Refused | None:
    sources, own = intent["sourceEventSeqs"], len(session.events)
    if not isinstance(sources, list | tuple):
        text = f"sourceEventSeqs on event at seq {own} must be an array when present"
        return Refused("no list of sources", text, ("SURF-SRC-04",))
    if not sources and kind != "assistant/message":
        text = "sourceEventSeqs must not be empty except on assistant/message"
        return Refused("no sources", text, ("SURF-SRC-05",))
    seqs = [whole_number(seq) for seq in sources]
    if len(set(seqs)) < len(seqs):
        return Refused("same source twice", "sourceEventSeqs must not contain duplicates", ("SURF-SRC-04",))
    later = next((seq for seq in seqs if seq >= own), None)
    if later is None:
        return None
    text = f"sourceEventSeqs must reference earlier events: {later} >= current seq {own}"
    return Refused("later source", text, ("SURF-SRC-03",))


def _judge_cover(intent: JsonMap, replaced: Sequence[int]) -> Refused | None:
    cited = intent.get("sourceEventSeqs")
    missing = [seq for seq in replaced if not isinstance(cited, list | tuple) or seq not in cited]
    if not missing:
        return None
    named = ", ".join(map(str, missing))
    text = f"surface replace: sourceEventSeqs must include every shadowed surface node; missing {named}"
    return Refused("uncited", text, ("SURF-SRC-01",))


def _judge_rewrite(session: AbstractSession, kind: str, data: Json, replaced: Sequence[int]) -> Refused | None:
    if kind != "tool/result":
        return None
    if len(replaced) != 1:
        text = "tool/result surface replacement must rewrite exactly one current node"
        return Refused("rewrite of two", text, ("SURF-TOOL-01",))
    old = session.events[replaced[0]]
    if old.kind != "tool/result":
        text = "tool/result surface replacement must target a current tool/result"
        return Refused("rewrite of a message", text, ("SURF-TOOL-01",))
    if _frame(data) == _frame(old.data):
        return None
    return Refused("other rewrite", "tool/result surface replacement may change only content", ("SURF-TOOL-02",))


def _frame(data: Json) -> Json:
    """The data of a result without the content of its block."""
    whole = members_of(data)
    message = members_of(whole["message"])
    blocks = message["content"]
    assert isinstance(blocks, list | tuple)
    bare: list[Json] = [{**members_of(block), "content": None} for block in blocks]
    return {**whole, "message": {**message, "content": bare}}


def _holds_negative_zero(value: Json) -> bool:
    if isinstance(value, Mapping):
        return any(map(_holds_negative_zero, value.values()))
    if isinstance(value, list | tuple):
        return any(map(_holds_negative_zero, value))
    return isinstance(value, float) and value == 0 and math.copysign(1, value) < 0
