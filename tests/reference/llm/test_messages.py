from typing import Any

import pytest

from dshcore.ids import CallId
from dshcore.json import NotJson
from dshcore.llm import (
    BLOCKS,
    FINISH_REASONS,
    SOURCES,
    MalformedMessage,
    assistant_message,
    import_message,
    tool_result_message,
    user_message,
)
from dshcore.llm.vocabulary import FinishFailed, FromModel, FromTool, Text, ToolCall, ToolResult
from dshcore.variants import Unknown


def test_a_message_has_exactly_four_members() -> None:
    """MSG-SHAPE-01: content is an array even for a single text."""
    message = user_message("hi")
    assert set(message) == {"id", "role", "content", "source"}
    assert message["role"] == "user"
    assert message["content"] == ({"type": "text", "text": "hi"},)
    assert message["source"] == {"kind": "user"}
    assert user_message([])["content"] == ()


def test_every_creation_mints_an_id() -> None:
    """MSG-ID-01, MSG-ID-03: also where the source or a block has an id of its own."""
    made = [
        user_message("a"),
        user_message([{"type": "text", "text": "a", "id": "smuggled"}], {"kind": "x", "id": "smuggled"}),
        assistant_message([], provider="p", model="m"),
        tool_result_message(CallId("c"), [], is_error=False),
    ]
    ids = {message["id"] for message in made}
    assert len(ids) == len(made)
    assert "smuggled" not in ids


def test_sources_and_blocks_pass_unchanged() -> None:
    """MSG-SRC-01, MSG-BLOCK-01: of kinds that nobody knows, with every member."""
    source = {"kind": "custom", "z": {"q": 1}}
    block = {"type": "video", "uri": "x", "n": [1]}
    message = user_message([block], source)
    assert message["source"] == source
    assert message["content"] == ({"type": "video", "uri": "x", "n": (1,)},)


def test_an_assistant_message_names_its_route() -> None:
    """MSG-SRC-02: replay state is a member only when there is some; none is some."""
    assert assistant_message([], provider="p", model="m")["source"] == {"kind": "model", "provider": "p", "model": "m"}
    kept = assistant_message([], provider="p", model="m", replay_state=None)
    assert kept["source"] == {"kind": "model", "provider": "p", "model": "m", "replayState": None}
    assert kept["role"] == "assistant"


@pytest.mark.parametrize("is_error", [False, True])
def test_a_tool_result_has_one_block_that_repeats_the_call(is_error: bool) -> None:
    """MSG-SRC-03, MSG-BLOCK-03: and always says whether it is an error."""
    message = tool_result_message(CallId("c1"), [{"type": "text", "text": "ok"}], is_error=is_error)
    assert message["role"] == "user"
    assert message["source"] == {"kind": "tool", "callId": "c1"}
    assert message["content"] == (
        {
            "type": "tool-result",
            "toolCallId": "c1",
            "content": ({"type": "text", "text": "ok"},),
            "isError": is_error,
        },
    )


def test_a_message_is_detached_and_immutable() -> None:
    """MSG-FREEZE-01, MSG-FREEZE-02."""
    block: dict[str, Any] = {"type": "text", "text": "a", "more": [1]}
    content, source = [block], {"kind": "plugin", "plugin": "p"}
    message: Any = user_message(content, source)
    imported: Any = import_message({"id": "i", "role": "user", "content": content, "source": source})
    block["text"] = "b"
    block["more"].append(2)
    content.append(block)
    source["plugin"] = "q"
    for one in (message, imported):
        assert one["content"] == ({"type": "text", "text": "a", "more": (1,)},)
        assert one["source"]["plugin"] == "p"
        with pytest.raises(TypeError):
            one["role"] = "system"
        with pytest.raises(TypeError):
            one["content"][0]["text"] = "c"
        with pytest.raises(TypeError):
            one["source"]["kind"] = "user"
        with pytest.raises(AttributeError):
            one["content"].append({})


def test_an_imported_message_keeps_what_it_has() -> None:
    """MSG-ID-03: its id, and members beyond the four."""
    value = {"id": "i 1", "role": "assistant", "content": [], "source": {"kind": "x"}, "extra": 1}
    assert import_message(value) == {**value, "content": ()}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"id": ""}, "non-empty text as id, not ''"),
        ({"id": 5}, "non-empty text as id, not 5"),
        ({"id": None}, "non-empty text as id, not None"),
        ({"role": "tool"}, "needs one of the roles system, user, assistant, not 'tool'"),
        ({"content": "hi"}, "needs an array of blocks as content, not 'hi'"),
        ({"source": "user"}, "needs an object with a kind as source, not 'user'"),
        ({"source": {}}, "needs an object with a kind as source"),
    ],
)
def test_what_is_no_message_is_not_imported(change: dict[str, object], message: str) -> None:
    value = {"id": "i", "role": "user", "content": [], "source": {"kind": "user"}, **change}
    with pytest.raises(MalformedMessage, match=message):
        import_message(value)


def test_a_refusal_is_short_however_deep_the_value() -> None:
    """What is refused is named by its beginning, or not at all."""
    deep: Any = None
    for _ in range(20_000):
        deep = {"a": deep}
    value = {"id": "i", "role": "user", "content": [], "source": {"kind": "user"}}
    for name in value:
        with pytest.raises(MalformedMessage) as refused:
            import_message({**value, name: deep})
        assert len(str(refused.value)) < 200


def test_what_is_no_json_makes_no_message() -> None:
    with pytest.raises(NotJson, match=r"\['content'\]\[0\]\['at'\]"):
        user_message([{"type": "x", "at": {1}}])


def test_the_maps_read_what_they_know() -> None:
    """PATTERN-EXT-02: the rest stays JSON."""
    call = assistant_message(
        [{"type": "tool-call", "id": "c", "name": "n", "arguments": '{"a" : 1}'}], provider="p", model="m"
    )
    assert BLOCKS.read(call["content"][0]) == ToolCall("c", "n", '{"a" : 1}')
    assert BLOCKS.read(user_message("t")["content"][0]) == Text("t")
    result = tool_result_message(CallId("c"), [], is_error=True)
    assert BLOCKS.read(result["content"][0]) == ToolResult("c", (), True)
    assert SOURCES.read(result["source"]) == FromTool("c")
    assert SOURCES.read(call["source"]) == FromModel("p", "m")
    failed = user_message([], {"kind": "error", "failure": {"code": "X"}})["source"]
    assert FINISH_REASONS.read(failed) == FinishFailed({"code": "X"})
    assert isinstance(SOURCES.read(failed), Unknown)
