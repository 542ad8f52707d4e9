"""Packed chunk rows: how storage keeps a run of stream deltas as one record.

A row is no event. It has no `seq` of its own, its tag has no slash, and it never leaves storage: decoding gives the
events back exactly, each under its own seq.

A row of text is `{"type": "text-chunks", "seq0", "time0", "data": {turn, step, index, dt, texts}}`. One of reasoning
has its own tag; one of a tool call has also `id` and `name?`, and `args` in place of `texts`. Member k has the seq
`seq0 + k`; `dt` holds the times between the members.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate, count, pairwise
from typing import Final, TypeGuard

from dshcore.json import MAX_SAFE_INTEGER, Json, JsonObject, NotJson, freeze, is_object, same
from dshcore.session.vocabulary import ROW_TAGS, SessionError, SessionEvent, is_array, is_count, member

_LEAST: Final = 3
"""How many events make a row worth while (CHUNKROWS-ENC-01)."""

_ROW: Final = {"type", "seq0", "time0", "data"}
_PLACE: Final = ("turn", "step", "index")


@dataclass(frozen=True, slots=True)
class _Kind:
    """One kind of chunk that is packed.

    Attributes:
        chunk: The type of the chunk.
        row: The tag of the row.
        part: The member of the chunk that differs from one to the next.
        parts: The member of the row that holds them.
        shape: How the members of the row's data are written in errors.
        names: The members of the chunk that say to which tool call it belongs; the last one may be absent.
    """

    chunk: str
    row: str
    part: str
    parts: str
    shape: str
    names: tuple[str, ...] = ()


_TEXTS: Final = "{turn, step, index, dt, texts}"
_CALL: Final = "{turn, step, index, id, name?, dt, args}"
_TEXT_ROW, _REASONING_ROW, _CALL_ROW = ROW_TAGS
_KINDS: Final = (
    _Kind("text-delta", _TEXT_ROW, "text", "texts", _TEXTS),
    _Kind("reasoning-delta", _REASONING_ROW, "text", "texts", _TEXTS),
    _Kind("tool-call-delta", _CALL_ROW, "argumentsDelta", "args", _CALL, ("id", "name")),
)
_BY_CHUNK: Final = {kind.chunk: kind for kind in _KINDS}
_BY_ROW: Final = {kind.row: kind for kind in _KINDS}


class MalformedRow(SessionError):
    """A stored record has the tag of a packed row and another shape; none of it is used.

    Args:
        tag: The tag.
        why: What is wrong with the record.
    """

    default_code = "MALFORMED_ROW"

    def __init__(self, tag: str, why: str) -> None:
        super().__init__(f"malformed {tag} storage row: {why}")


# --- packing ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Member:
    """A chunk event that can stand in a row.

    Attributes:
        kind: Its kind.
        place: What all members of a row have in common.
        part: What is its own.
        event: The event itself.
    """

    kind: _Kind
    place: Mapping[str, Json]
    part: Json
    event: SessionEvent

    def continues(self, before: "_Member") -> bool:
        """Tell whether it goes on where another one ended.

        Spec:
            CHUNKROWS-ENC-03
        """
        return (
            self.kind is before.kind
            and self.place == before.place
            and self.event["seq"] == before.event["seq"] + 1
            and _is_safe(self.event["time"] - before.event["time"])
        )


def pack_chunk_runs(events: Iterable[SessionEvent]) -> Iterator[JsonObject]:
    """Pack the runs of chunks among the events of one batch.

    Where a batch begins and ends, a run does: readers must not depend on it.

    Args:
        events: The batch, in order.

    Yields:
        The records to store: a row for each run of at least three, every other event as it is.

    Spec:
        CHUNKROWS-ENC-01, CHUNKROWS-ENC-05
    """
    run: list[_Member] = []
    for event in events:
        found = _member(event)
        if found is None or (run and not found.continues(run[-1])):
            yield from _stored(run)
            run = []
        if found is None:
            yield event
        else:
            run.append(found)
    yield from _stored(run)


def _stored(run: list[_Member]) -> Iterator[JsonObject]:
    if len(run) < _LEAST:
        yield from (packable.event for packable in run)
        return
    first = run[0]
    times = [packable.event["time"] for packable in run]
    yield freeze(
        {
            "type": first.kind.row,
            "seq0": first.event["seq"],
            "time0": times[0],
            "data": {
                **first.place,
                "dt": [later - earlier for earlier, later in pairwise(times)],
                first.kind.parts: [packable.part for packable in run],
            },
        }
    )


def _member(event: SessionEvent) -> _Member | None:
    """Read an event as a member of a row: one of exactly the shape that a row gives back.

    Spec:
        CHUNKROWS-ENC-02
    """
    data: Json = event["data"]
    chunk = member(data, "chunk")
    kind = _BY_CHUNK.get(tag) if isinstance(tag := member(chunk, "type"), str) else None
    if kind is None or not is_count(event["seq"]) or not _is_safe(event["time"]):
        return None
    call = {name: member(chunk, name) for name in kind.names if member(chunk, name) is not None}
    place = {"turn": member(data, "turn"), "step": member(data, "step"), "index": member(chunk, "index"), **call}
    part = member(chunk, kind.part)
    texts = (part, *call.values())
    if not all(_is_number(place[field]) for field in _PLACE) or not all(isinstance(text, str) for text in texts):
        return None
    found = _Member(kind, place, part, event)
    return found if same(event, _event(kind, event["seq"], event["time"], place, part)) else None


def _event(kind: _Kind, seq: int, time: int, place: Mapping[str, Json], part: Json) -> SessionEvent:
    """Make the event that a member of a row stands for."""
    call = {name: place[name] for name in kind.names if name in place}
    chunk = {"type": kind.chunk, "index": place["index"], **call, kind.part: part}
    return freeze(
        {
            "type": "assistant/chunk",
            "seq": seq,
            "time": time,
            "data": {"turn": place["turn"], "step": place["step"], "chunk": chunk},
        }
    )


# --- decoding --------------------------------------------------------------------------------------------------------


def decode_storage_record(value: Json) -> tuple[Json, ...]:
    """Answer the events that a stored record stands for.

    Args:
        value: The record; frozen or as a decoder of JSON made it.

    Returns:
        The frozen events of a packed row, of whatever length; for everything else the value itself, unchecked.

    Raises:
        MalformedRow: It has the tag of a row and another shape.

    Spec:
        CHUNKROWS-DEC-01, CHUNKROWS-DEC-02, CHUNKROWS-DEC-03, CHUNKROWS-ENC-04, CHUNKROWS-ENC-05
    """
    tag = value.get("type") if is_object(value) else None
    kind = _BY_ROW.get(tag) if isinstance(tag, str) else None
    if kind is None or not is_object(value):
        return (value,)
    try:
        row = freeze(value)
    except NotJson as error:
        raise MalformedRow(kind.row, str(error)) from error
    if why := _row_problem(kind, row):
        raise MalformedRow(kind.row, why)
    seq, data = row["seq0"], row["data"]
    times = accumulate(data["dt"], initial=row["time0"])
    return tuple(
        _event(kind, seq, time, data, part)
        for seq, time, part in zip(count(seq), times, data[kind.parts], strict=False)
    )


def _row_problem(kind: _Kind, row: JsonObject) -> str | None:
    """Tell the first thing that is wrong with a row (CHUNKROWS-DEC-02)."""
    data, seq, time = row.get("data"), row.get("seq0"), row.get("time0")
    if set(row) != _ROW:
        return "envelope must be exactly {type, seq0, time0, data}"
    if not is_count(seq):
        return "seq0 must be a non-negative safe integer"
    if not _is_safe(time):
        return "time0 must be a safe integer"
    if not isinstance(data, JsonObject):
        return "data must be an object"
    keys = {*_PLACE, "dt", kind.parts, *kind.names}
    if set(data) not in (keys, keys - {"name"}):
        return f"data must be exactly {kind.shape}"
    if not all(isinstance(data.get(name, ""), str) for name in kind.names):
        return "id (and name when present) must be strings"
    if not all(_is_number(data[field]) for field in _PLACE):
        return "turn/step/index must be numbers"
    parts, gaps = data[kind.parts], data["dt"]
    if not is_array(parts) or not parts or not all(isinstance(part, str) for part in parts):
        return f"{kind.parts} must be a non-empty string array"
    if not is_array(gaps) or not all(_is_safe(gap) for gap in gaps):
        return "dt must be an array of safe integers"
    if len(gaps) != len(parts) - 1:
        return f"dt length {len(gaps)} does not match {len(parts)} members"
    if not is_count(seq + len(parts) - 1):
        return "member seqs must stay safe integers"
    if not all(_is_safe(at) for at in accumulate(gaps, initial=time)):
        return "member times must stay safe integers"
    return None


def _is_safe(value: object) -> TypeGuard[int]:
    return type(value) is int and abs(value) <= MAX_SAFE_INTEGER


def _is_number(value: object) -> bool:
    return type(value) is int or type(value) is float
