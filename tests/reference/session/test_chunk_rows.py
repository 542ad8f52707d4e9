"""Packed chunk rows: what is packed, and that decoding gives it back exactly."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dshcore.ids import SessionId
from dshcore.json import JsonObject, decode, encode, freeze
from dshcore.session import InvalidSeed, MalformedRow, Session, decode_storage_record, pack_chunk_runs


def delta(seq: int, text: str = "x", *, time: int | None = None, **more: Any) -> JsonObject:
    chunk = {"type": "text-delta", "index": 0, "text": text, **more.pop("chunk", {})}
    data = {"turn": 1, "step": 1, "chunk": chunk, **more.pop("data", {})}
    at = 100 + seq if time is None else time
    event: dict[str, object] = {"type": "assistant/chunk", "seq": seq, "time": at, "data": data, **more}
    return freeze(event)


def tool(seq: int, args: str = "{", **more: Any) -> JsonObject:
    chunk = {"type": "tool-call-delta", "index": 0, "id": "c", "argumentsDelta": args, **more}
    return freeze({"type": "assistant/chunk", "seq": seq, "time": 100, "data": {"turn": 1, "step": 1, "chunk": chunk}})


def packed(events: Sequence[JsonObject]) -> list[str]:
    """The types of the records that a batch is stored as."""
    return [record["type"] for record in pack_chunk_runs(events)]


def unpacked(records: Sequence[JsonObject]) -> list[Any]:
    return [event for record in records for event in decode_storage_record(decode(encode(record)))]


CHUNK, TEXT, REASONING, CALL = "assistant/chunk", "text-chunks", "reasoning-chunks", "tool-call-chunks"


@pytest.mark.parametrize(("count", "expected"), [(0, []), (1, [CHUNK]), (2, [CHUNK, CHUNK]), (3, [TEXT]), (5, [TEXT])])
def test_runs_of_three_are_packed(count: int, expected: list[str]) -> None:
    """Shorter ones stay events (CHUNKROWS-ENC-01)."""
    assert packed([delta(seq) for seq in range(count)]) == expected


def test_everything_else_passes_through_in_order() -> None:
    """Boundaries of blocks end a run (CHUNKROWS-ENC-01)."""
    start = freeze({**delta(0), "data": {"turn": 1, "step": 1, "chunk": {"type": "block-start", "index": 0}}})
    other = freeze({"type": "x/y", "seq": 4, "time": 0, "data": None})
    assert packed([start, delta(1), delta(2), delta(3), other, delta(5)]) == [CHUNK, TEXT, "x/y", CHUNK]
    assert list(pack_chunk_runs([start, other])) == [start, other]


def test_rows_in_full() -> None:
    """A row of each shape; times may go backwards (CHUNKROWS-ENC-01, CHUNKROWS-ENC-03)."""
    texts = [delta(7, "a", time=50), delta(8, "", time=40), delta(9, "c", time=45)]
    assert list(pack_chunk_runs(texts)) == [
        {
            "type": "text-chunks",
            "seq0": 7,
            "time0": 50,
            "data": {"turn": 1, "step": 1, "index": 0, "dt": (-10, 5), "texts": ("a", "", "c")},
        }
    ]
    calls = [tool(1, "{", name="t"), tool(2, "x", name="t"), tool(3, "}", name="t")]
    assert list(pack_chunk_runs(calls)) == [
        {
            "type": "tool-call-chunks",
            "seq0": 1,
            "time0": 100,
            "data": {
                "turn": 1,
                "step": 1,
                "index": 0,
                "dt": (0, 0),
                "id": "c",
                "name": "t",
                "args": ("{", "x", "}"),
            },
        }
    ]


@pytest.mark.parametrize(
    "odd",
    [
        delta(3, ignorable=True),
        delta(3, chunk={"extra": 1}),
        delta(3, data={"extra": 1}),
        delta(3, data={"turn": "1"}),
        delta(3, data={"step": True}),
        delta(3, chunk={"index": None}),
        delta(3, chunk={"text": 5}),
        delta(3, chunk={"type": ["text-delta"]}),
        delta(3, chunk={"id": "c"}),
        freeze({**delta(3), "time": 1.5}),
        freeze({**delta(3), "seq": 2**53}),
        freeze({**delta(3), "data": None}),
        freeze({**delta(3), "data": {"turn": 1, "step": 1, "chunk": "x"}}),
        freeze({**delta(3), "type": "x/chunk"}),
        tool(3, name=5),
        tool(3, id=5),
    ],
)
def test_only_the_exact_shape_is_packed(odd: JsonObject) -> None:
    """Anything else ends the run, and is stored as it is (CHUNKROWS-ENC-02)."""
    events = [delta(0), delta(1), delta(2), odd, delta(4), delta(5), delta(6)]
    records = list(pack_chunk_runs(events))
    assert [record["type"] for record in records] == [TEXT, odd["type"], TEXT]
    assert records[1] is odd


REASON = {"type": "reasoning-delta"}


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([delta(s) for s in (0, 1, 2, 4, 5, 6)], [TEXT, TEXT]),
        ([*(delta(s) for s in range(3)), *(delta(s, data={"turn": 2}) for s in range(3, 6))], [TEXT, TEXT]),
        ([*(delta(s) for s in range(3)), *(delta(s, data={"step": 2}) for s in range(3, 6))], [TEXT, TEXT]),
        ([*(delta(s) for s in range(3)), *(delta(s, chunk={"index": 1}) for s in range(3, 6))], [TEXT, TEXT]),
        ([*(delta(s) for s in range(3)), *(delta(s, chunk=REASON) for s in range(3, 6))], [TEXT, REASONING]),
        ([delta(0), delta(1, chunk=REASON), delta(2), delta(3, chunk=REASON)], [CHUNK] * 4),
        ([tool(0, name="t"), tool(1), tool(2), tool(3)], [CHUNK, CALL]),
        ([*(tool(s) for s in range(3)), *(tool(s, id="d") for s in range(3, 6))], [CALL, CALL]),
        ([*(tool(s, name="t") for s in range(3)), *(tool(s, name="u") for s in range(3, 6))], [CALL, CALL]),
        ([delta(0, time=-(2**53 - 1)), delta(1, time=1), delta(2, time=1), delta(3, time=1)], [CHUNK, TEXT]),
    ],
)
def test_what_ends_a_run(events: list[JsonObject], expected: list[str]) -> None:
    """Another kind, place, call or name, a gap in the seqs, an unsafe difference of times (CHUNKROWS-ENC-03)."""
    assert packed(events) == expected
    assert unpacked(list(pack_chunk_runs(events))) == events


kinds = st.sampled_from(
    [
        {"type": "text-delta", "text": ""},
        {"type": "text-delta", "text": "ab"},
        {"type": "reasoning-delta", "text": "\ud800"},
        {"type": "tool-call-delta", "id": "c", "argumentsDelta": ""},
        {"type": "tool-call-delta", "id": "c", "name": "", "argumentsDelta": "{"},
        {"type": "block-start", "blockType": "text"},
    ]
)


@given(st.lists(st.tuples(kinds, st.integers(1, 2), st.integers(-5, 5)), max_size=30), st.integers(0, 30))
def test_packing_loses_nothing(drawn: list[tuple[Any, int, int]], cut: int) -> None:
    """Through JSON text, wherever the batches are cut (CHUNKROWS-ENC-04, CHUNKROWS-ENC-05)."""
    events = [
        freeze(
            {
                "type": "assistant/chunk",
                "seq": seq,
                "time": time,
                "data": {"turn": 1, "step": 1, "chunk": {**chunk, "index": index}},
            }
        )
        for seq, (chunk, index, time) in enumerate(drawn)
    ]
    records = [*pack_chunk_runs(events[:cut]), *pack_chunk_runs(events[cut:])]
    assert unpacked(records) == events


def row(**members: Any) -> dict[str, Any]:
    data = {"turn": 1, "step": 1, "index": 0, "dt": [1], "texts": ["a", "b"], **members.pop("data", {})}
    return {"type": "text-chunks", "seq0": 5, "time0": 10, "data": data, **members}


def call_row(**members: Any) -> dict[str, Any]:
    data = {"turn": 1, "step": 1, "index": 0, "id": "c", "dt": [], "args": ["{"], **members}
    return {"type": "tool-call-chunks", "seq0": 5, "time0": 10, "data": data}


def test_rows_of_any_length_are_read() -> None:
    """Also those of one and two members (CHUNKROWS-ENC-05, CHUNKROWS-DEC-03)."""
    events = decode_storage_record(freeze(row()))
    assert events == (delta(5, "a", time=10), delta(6, "b", time=11))
    assert decode_storage_record(freeze(call_row(name="t"))) == (freeze({**tool(5, name="t"), "time": 10}),)


@pytest.mark.parametrize("value", [None, 5, [], {}, {"type": "x-chunks"}, {"type": 5}, {"type": "x/y", "seq": "?"}])
def test_everything_else_is_itself(value: Any) -> None:
    """Unvalidated, unknown tags included (CHUNKROWS-DEC-01)."""
    stored = freeze(value)
    assert decode_storage_record(stored) == (stored,)


def test_rows_are_read_as_a_decoder_made_them() -> None:
    """Plain containers are a row too, and no row when they are no JSON (CHUNKROWS-DEC-01, CHUNKROWS-DEC-03)."""
    assert decode_storage_record(row()) == decode_storage_record(freeze(row()))
    with pytest.raises(MalformedRow, match=r"malformed text-chunks storage row: .*negative zero"):
        decode_storage_record(row(time0=-0.0))
    other: Any = {"type": "x/y", "data": -0.0}
    assert decode_storage_record(other)[0] is other


EXACTLY = "data must be exactly {turn, step, index, dt, texts}"
BIG = 2**53 - 1


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (row(x=1), "envelope must be exactly {type, seq0, time0, data}"),
        ({"type": "text-chunks"}, "envelope must be exactly {type, seq0, time0, data}"),
        (row(seq0=-1), "seq0 must be a non-negative safe integer"),
        (row(seq0=True), "seq0 must be a non-negative safe integer"),
        (row(time0=0.5), "time0 must be a safe integer"),
        ({**row(), "data": []}, "data must be an object"),
        (row(data={"x": 1}), EXACTLY),
        (row(data={"id": "c"}), EXACTLY),
        ({**row(), "data": {"turn": 1}}, EXACTLY),
        (call_row(x=1), "data must be exactly {turn, step, index, id, name?, dt, args}"),
        (call_row(id=5), "id (and name when present) must be strings"),
        (call_row(name=None), "id (and name when present) must be strings"),
        (row(data={"turn": "1"}), "turn/step/index must be numbers"),
        (row(data={"index": True}), "turn/step/index must be numbers"),
        (row(data={"texts": []}), "texts must be a non-empty string array"),
        (row(data={"texts": "ab"}), "texts must be a non-empty string array"),
        (row(data={"texts": ["a", 5]}), "texts must be a non-empty string array"),
        (call_row(args=[]), "args must be a non-empty string array"),
        (row(data={"dt": 5}), "dt must be an array of safe integers"),
        (row(data={"dt": [0.5]}), "dt must be an array of safe integers"),
        (row(data={"dt": []}), "dt length 0 does not match 2 members"),
        (row(seq0=BIG, data={"dt": [1, 1], "texts": ["a", "b", "c"]}), "member seqs must stay safe integers"),
        (row(seq0=BIG), "member seqs must stay safe integers"),
        (row(time0=BIG), "member times must stay safe integers"),
    ],
)
def test_malformed_rows(value: Any, why: str) -> None:
    """The first defect is named, and none of the row is used (CHUNKROWS-DEC-02)."""
    with pytest.raises(MalformedRow) as caught:
        decode_storage_record(freeze(value))
    assert str(caught.value) == f"malformed {value['type']} storage row: {why}"


def test_the_last_seq_may_be_the_largest() -> None:
    """Exactly, where doubles would round (CHUNKROWS-DEC-02)."""
    assert [event["seq"] for event in events_of(row(seq0=BIG - 1))] == [BIG - 1, BIG]


def events_of(value: dict[str, Any]) -> list[Any]:
    return [*decode_storage_record(freeze(value))]


def test_numbers_of_places_may_be_any() -> None:
    """Fractions too, since nobody checks them in events (CHUNKROWS-DEC-02)."""
    assert len(decode_storage_record(freeze(row(data={"turn": 1.5, "index": -1})))) == 2


def test_rows_are_no_events() -> None:
    """A seed with one is refused; decoded, its seqs count one by one (CHUNKROWS-DEC-03)."""
    with pytest.raises(InvalidSeed, match="has an invalid event envelope"):
        Session(SessionId("s"), seed=[row(seq0=0)])
    session = Session(SessionId("s"), seed=decode_storage_record(freeze(row(seq0=0))))
    assert [event["type"] for event in session.events] == [CHUNK, CHUNK, "session/end-seed"]
