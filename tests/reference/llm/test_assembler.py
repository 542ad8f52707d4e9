import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typeguard import suppress_type_checks

from dshcore.json import JsonObject, decode, encode, freeze
from dshcore.llm import AssemblyError, BlockAssembler
from dshcore.variants import Unreadable

STOP: dict[str, Any] = {"type": "finish", "reason": {"kind": "stop"}}
CUT: dict[str, Any] = {"type": "finish", "reason": {"kind": "max-tokens"}}


def start(index: int, type_: str) -> dict[str, Any]:
    return {"type": "block-start", "index": index, "blockType": type_}


def text(index: int, text: str) -> dict[str, Any]:
    return {"type": "text-delta", "index": index, "text": text}


def thought(index: int, text: str) -> dict[str, Any]:
    return {"type": "reasoning-delta", "index": index, "text": text}


def call(index: int, id_: str, arguments: str, **name: str) -> dict[str, Any]:
    return {"type": "tool-call-delta", "index": index, "id": id_, "argumentsDelta": arguments, **name}


def end(index: int, **block: Any) -> dict[str, Any]:
    return {"type": "block-end", "index": index, "block": block}


def usage(tokens: int) -> dict[str, Any]:
    return {"type": "usage", "usage": {"inputTokens": tokens, "outputTokens": tokens}}


def fold(*chunks: dict[str, Any]) -> BlockAssembler:
    assembler = BlockAssembler()
    for chunk in chunks:
        assembler.push(freeze(chunk))
    return assembler


def content(*chunks: dict[str, Any]) -> tuple[JsonObject, ...]:
    blocks: tuple[JsonObject, ...] = fold(*chunks).message(provider="p", model="m")["content"]
    return blocks


def source(*chunks: dict[str, Any]) -> JsonObject:
    of_message: JsonObject = fold(*chunks).message(provider="p", model="m")["source"]
    return of_message


TOOL = {"type": "tool-call", "id": "c", "name": "n", "arguments": "{}"}


@pytest.mark.parametrize(
    ("chunks", "expected"),
    [
        pytest.param([], [], id="nothing"),
        pytest.param(
            [text(5, "five"), text(1, "one"), text(5, "!")],
            [{"type": "text", "text": "five!"}, {"type": "text", "text": "one"}],
            id="ASM-ORDER-01, CHUNK-INDEX-01: first-seen order",
        ),
        pytest.param([text(0, "a"), text(0, "b")], [{"type": "text", "text": "ab"}], id="ASM-TEXT-01"),
        pytest.param([thought(0, "a")], [{"type": "reasoning", "text": "a"}], id="ASM-TEXT-01: the delta's type"),
        pytest.param(
            [start(0, "reasoning"), text(0, "x")], [{"type": "reasoning", "text": "x"}], id="ASM-TYPE-01: shared"
        ),
        pytest.param([start(0, "text"), call(0, "c", "{}")], [{"type": "text", "text": ""}], id="ASM-TYPE-01: other"),
        pytest.param(
            [start(0, "text"), start(0, "reasoning"), text(0, "x")],
            [{"type": "text", "text": "x"}],
            id="ASM-TYPE-01: first start",
        ),
        pytest.param(
            [text(0, "partial"), end(0, type="text", text="final")],
            [{"type": "text", "text": "final"}],
            id="ASM-END-01",
        ),
        pytest.param([text(0, "x"), end(0, **TOOL)], [TOOL], id="ASM-END-01: another type"),
        pytest.param(
            [end(3, type="image", x=[1])], [{"type": "image", "x": (1,)}], id="ASM-END-01: without a start; any type"
        ),
        pytest.param(
            [
                end(0, type="text", text="a"),
                end(0, type="text", text="b"),
                text(0, "c"),
                start(0, "reasoning"),
                call(0, "c", ""),
            ],
            [{"type": "text", "text": "a"}],
            id="ASM-END-02",
        ),
        pytest.param(
            [call(0, "a", "{", name="n1"), call(0, "b", "}", name="")],
            [{"type": "tool-call", "id": "b", "name": "n1", "arguments": "{}"}],
            id="ASM-TOOL-01",
        ),
        pytest.param(
            [call(0, "a", "", name="n1"), call(0, "a", "", name="n2"), call(0, "a", "")],
            [{"type": "tool-call", "id": "a", "name": "n2", "arguments": ""}],
            id="ASM-TOOL-01: replaced, not appended",
        ),
        pytest.param(
            [text(1, "x"), start(7, "tool-call"), STOP],
            [{"type": "text", "text": "x"}, {"type": "tool-call", "id": "call-7", "name": "", "arguments": ""}],
            id="ASM-TOOL-02: the index, not the position",
        ),
        pytest.param(
            [text(0, "a"), call(1, "c", "{}"), end(2, **TOOL), thought(3, "r"), CUT],
            [{"type": "text", "text": "a"}, {"type": "reasoning", "text": "r"}],
            id="ASM-MAXTOK-01",
        ),
        pytest.param([STOP, text(0, "late")], [{"type": "text", "text": "late"}], id="CHUNK-PASS-01: after the finish"),
        pytest.param(
            [text(0, "a"), call(1, "c", "{}"), CUT, STOP],
            [{"type": "text", "text": "a"}, {"type": "tool-call", "id": "c", "name": "", "arguments": "{}"}],
            id="ASM-FINISH-01: the last finish decides",
        ),
        pytest.param(
            [call(0, "c", '{"a" : '), call(0, "c", "1}")],
            [{"type": "tool-call", "id": "c", "name": "", "arguments": '{"a" : 1}'}],
            id="MSG-BLOCK-02: raw",
        ),
    ],
)
def test_chunks_fold_into_blocks(chunks: list[dict[str, Any]], expected: list[object]) -> None:
    assert content(*chunks) == tuple(expected)


def test_a_chunk_of_unknown_type_is_refused_as_it_came() -> None:
    """CHUNK-UNKNOWN-01: the union is closed; the text has its compact JSON."""
    with pytest.raises(AssemblyError) as refused:
        fold({"type": "rogue", "z": 1, "a": [None]})
    assert str(refused.value) == 'unreachable variant in BlockAssembler.push: {"type":"rogue","z":1,"a":[null]}'


def test_a_chunk_without_its_members_is_unreadable() -> None:
    with pytest.raises(Unreadable, match="text-delta"):
        fold({"type": "text-delta", "index": 0})


@pytest.mark.parametrize("finish", [STOP, CUT])
def test_an_open_block_of_unknown_type_cannot_be_assembled(finish: dict[str, Any]) -> None:
    """ASM-OPEN-01: also when the response was cut. Interrupted, it is left out."""
    assembler = fold(text(1, "x"), start(0, "image"), finish)
    with pytest.raises(AssemblyError, match=r'^cannot assemble incomplete block of type "image"$'):
        assembler.message(provider="p", model="m")
    interrupted = assembler.interrupted_message(provider="p", model="m")
    assert interrupted is not None
    assert interrupted["content"] == ({"type": "text", "text": "x"},)


@pytest.mark.parametrize(
    ("chunk", "problem"),
    [
        (call(0, "", "{}"), "cannot assemble tool call with id '': a non-empty text is needed"),
        (end(0, type="tool-call", name="n", arguments=""), "cannot assemble tool call with id None"),
        (end(0, type="tool-call", id=7, name="n", arguments=""), "cannot assemble tool call with id 7"),
        (end(0, type="tool-call", id="c", arguments=""), "cannot assemble tool call 'c' with name None"),
        (end(0, type="tool-call", id="c", name="n"), "cannot assemble tool call 'c' with arguments None"),
        (end(0, **{**TOOL, "arguments": {"a": 1}}), "cannot assemble tool call 'c' with arguments {'a': 1}"),
    ],
)
def test_a_tool_call_that_nothing_could_answer_cannot_be_assembled(chunk: dict[str, Any], problem: str) -> None:
    """ASM-OPEN-02: unless the ceiling drops it (ASM-MAXTOK-01), or the stream was interrupted."""
    with pytest.raises(AssemblyError, match=f"^{re.escape(problem)}"):
        content(text(1, "x"), chunk, STOP)
    assert list[object](content(text(1, "x"), chunk, CUT)) == [{"type": "text", "text": "x"}]
    assert fold(text(1, "x"), chunk).interrupted_message(provider="p", model="m") is not None


def test_halves_of_a_character_that_meet_are_that_character() -> None:
    """MSG-SHAPE-01, LOG-JSON-06: what is assembled is what its text stands for when it is read again."""
    (block,) = content(text(0, "\ud83d"), text(0, "\ude00"), STOP)
    assert block["text"] == "\U0001f600"
    assert decode(encode(block)) == block


def test_a_chunk_that_is_no_object_is_refused_by_name() -> None:
    none: Any = None
    with suppress_type_checks(), pytest.raises(AssemblyError, match="a chunk must be an object, not None"):
        BlockAssembler().push(none)


@pytest.mark.parametrize(
    ("chunks", "finish", "used"),
    [
        ([], {"kind": "stop"}, None),
        ([usage(1), text(0, "x"), STOP, usage(2)], {"kind": "stop"}, 2),
        ([{"type": "finish", "reason": {"kind": "error", "failure": {"junk": 1}}}, STOP], {"kind": "stop"}, None),
        (
            [STOP, {"type": "finish", "reason": {"kind": "content-filter", "x": 1}}],
            {"kind": "content-filter", "x": 1},
            None,
        ),
    ],
)
def test_the_last_finish_and_the_last_usage_count(
    chunks: list[dict[str, Any]], finish: dict[str, object], used: int | None
) -> None:
    """ASM-FINISH-01, ASM-USAGE-01: wherever they stand."""
    assembler = fold(*chunks)
    assert assembler.finish == finish
    assert assembler.usage == (None if used is None else {"inputTokens": used, "outputTokens": used})


A, B = text(0, "a"), text(1, "b")
CALL = call(1, "c", "{}")


@pytest.mark.parametrize(
    ("chunks", "envelope", "stored"),
    [
        pytest.param(
            [A, STOP],
            {"response": {"id": 1}, "blocks": ["b0"], "x": 2},
            {"response": {"id": 1}, "blocks": ("b0",), "x": 2},
            id="ASM-REPLAY-01",
        ),
        pytest.param(
            [A, CALL, CUT],
            {"response": 1},
            {"response": 1},
            id="ASM-REPLAY-01: without blocks, even when some are dropped",
        ),
        pytest.param([A, STOP], None, None, id="none is an envelope"),
        pytest.param([A, B, STOP], {"response": 1, "blocks": ["x"]}, "absent", id="ASM-REPLAY-02"),
        pytest.param(
            [A, CALL, CUT], {"response": 1, "blocks": ["x"]}, "absent", id="ASM-REPLAY-02: counted before the drop"
        ),
        pytest.param(
            [A, STOP], {"response": 1, "blocks": "b"}, "absent", id="blocks that are no array align with nothing"
        ),
        pytest.param(
            [A, CALL, thought(2, "r"), CUT],
            {"response": 1, "blocks": [0, 1, 2], "x": 3},
            {"response": 1, "blocks": (0, 2)},
            id="ASM-REPLAY-03",
        ),
        pytest.param(
            [CALL, CUT], {"response": 1, "blocks": [0]}, {"response": 1, "blocks": ()}, id="ASM-REPLAY-03: nothing left"
        ),
    ],
)
def test_replay_state_stays_aligned_with_the_blocks(
    chunks: list[dict[str, Any]], envelope: object, stored: object
) -> None:
    *before, finish = chunks
    of_message = source(*before, {**finish, "replayState": envelope})
    assert of_message.get("replayState", "absent") == stored


def test_a_later_finish_without_replay_state_removes_an_earlier_one() -> None:
    """ASM-FINISH-01."""
    assert "replayState" not in source(A, {**STOP, "replayState": {"response": 1}}, STOP)


BLANKS = "\t\n\v\f\r \u00a0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff" + "".join(map(chr, range(0x2000, 0x200B)))


@pytest.mark.parametrize(
    ("chunks", "expected"),
    [
        pytest.param(
            [thought(0, "why"), text(1, "half "), end(2, **TOOL)],
            [{"type": "reasoning", "text": "why"}, {"type": "text", "text": "half "}],
            id="CANCEL-STREAM-02",
        ),
        pytest.param(
            [text(0, " \n"), text(1, "half ")],
            [{"type": "text", "text": "half "}],
            id="ASM-INT-03: blank ones out, not trimmed",
        ),
        pytest.param([start(0, "text"), end(0, **TOOL)], None, id="ASM-INT-03: the type it would assemble to"),
        pytest.param([call(0, "c", "{}")], None, id="CANCEL-STREAM-03: a call alone"),
        pytest.param([], None, id="CANCEL-STREAM-03: before any chunk"),
        pytest.param([text(0, BLANKS)], None, id="ASM-INT-04: blanks of ECMAScript"),
        pytest.param([start(0, "text"), call(0, "c", "{}")], None, id="a call's accumulator is not text"),
        pytest.param(
            [end(0, type="text", text="done", extra=1), STOP],
            [{"type": "text", "text": "done", "extra": 1}],
            id="CANCEL-STREAM-06: complete",
        ),
        pytest.param(
            [end(0, type="text"), end(1, type="video", text="x")],
            None,
            id="closed blocks without text, or of other types",
        ),
        pytest.param(
            [text(5, "b"), text(1, "a")],
            [{"type": "text", "text": "b"}, {"type": "text", "text": "a"}],
            id="first appearance",
        ),
    ],
)
def test_an_interrupted_response_keeps_its_text(chunks: list[dict[str, Any]], expected: list[object] | None) -> None:
    message = fold(*chunks).interrupted_message(provider="p", model="m")
    assert (None if message is None else list(message["content"])) == expected


def test_replay_state_of_an_interrupted_response_is_not_kept() -> None:
    """CANCEL-STREAM-05."""
    message = fold(A, {**STOP, "replayState": {"response": 1}}).interrupted_message(provider="p", model="m")
    assert message is not None
    assert message["source"] == {"kind": "model", "provider": "p", "model": "m"}


@given(st.characters(codec=None, exclude_categories=()))
def test_only_the_blanks_of_ecmascript_are_blank(character: str) -> None:
    """ASM-INT-04: Python's own strip takes others."""
    message = fold(text(0, character)).interrupted_message(provider="p", model="m")
    assert (message is None) is (character in BLANKS)


CHUNKS = st.one_of(
    st.builds(start, st.integers(0, 3), st.sampled_from(["text", "reasoning", "tool-call"])),
    st.builds(text, st.integers(0, 3), st.text(max_size=2)),
    st.builds(thought, st.integers(0, 3), st.text(max_size=2)),
    st.builds(call, st.integers(0, 3), st.text(min_size=1, max_size=1), st.text(max_size=2), name=st.text(max_size=1)),
    st.builds(lambda index: end(index, **TOOL), st.integers(0, 3)),
    st.just(STOP),
    st.just(CUT),
)


@given(st.lists(CHUNKS, max_size=12), st.integers(0, 12))
def test_reading_the_fold_changes_nothing(chunks: list[dict[str, Any]], at: int) -> None:
    """Reading can be repeated, and chunks pushed afterwards still count."""
    read, unread = fold(*chunks[:at]), fold(*chunks)
    read.message(provider="p", model="m")
    read.interrupted_message(provider="p", model="m")
    for chunk in chunks[at:]:
        read.push(freeze(chunk))
    assert read.message(provider="p", model="m")["content"] == unread.message(provider="p", model="m")["content"]


@given(st.lists(CHUNKS, max_size=12))
def test_blocks_stand_in_the_order_of_their_first_chunk(chunks: list[dict[str, Any]]) -> None:
    """ASM-ORDER-01: one block per index, whatever is interleaved."""
    indices = list(dict.fromkeys(chunk["index"] for chunk in chunks if "index" in chunk))
    by_index = [content(*[chunk for chunk in chunks if chunk.get("index") == index]) for index in indices]
    assert content(*[chunk for chunk in chunks if "index" in chunk]) == tuple(block for (block,) in by_index)
