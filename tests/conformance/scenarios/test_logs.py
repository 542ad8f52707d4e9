"""The shorthands for events and messages."""

import pytest

from dshconform.protocol.json_value import Json
from dshconform.scenarios.macros import expand, message
from dshconform.scenarios.model_scripts import MacroError

MODEL: Json = {"kind": "model", "provider": "mock", "model": "m1"}


def test_a_log_is_numbered() -> None:
    """Each event has the number of its place and the time 1, unless it says otherwise."""
    log = expand({"$log": [{"turn/start": {"turn": 1}}, {"x/note": None, "seq": 7, "time": 5, "ignorable": True}]})
    assert log == [
        {"type": "turn/start", "seq": 0, "time": 1, "data": {"turn": 1}},
        {"type": "x/note", "seq": 7, "time": 5, "data": None, "ignorable": True},
    ]


def test_surface_events_are_appended_to_the_surface() -> None:
    """Unless a marker is given, or none is wanted; other types have what is given."""
    place: Json = {"op": "replace", "start": 0, "end": 0}
    log = expand(
        {
            "$log": [
                {"user/message": {"$message": "A"}},
                {"user/message": {"$message": "B"}, "surface": place, "cites": [0]},
                {"user/message": {"$message": "C"}, "surface": "none"},
                {"x/note": {}, "surface": None},
            ]
        }
    )
    assert log == [
        {"type": "user/message", "seq": 0, "time": 1, "data": message("A"), "surfaceOp": "append"},
        {"type": "user/message", "seq": 1, "time": 1, "data": message("B"), "surfaceOp": place, "sourceEventSeqs": [0]},
        {"type": "user/message", "seq": 2, "time": 1, "data": message("C")},
        {"type": "x/note", "seq": 3, "time": 1, "data": {}, "surfaceOp": None},
    ]


def test_an_append_is_a_command() -> None:
    """With an intent where there is something in it."""
    assert expand({"$append": "s", "x/note": 1}) == {
        "op": "session.append",
        "args": {"session": "s", "type": "x/note", "data": 1},
    }
    assert expand({"$append": "s", "user/message": {"$message": "A"}, "cites": [0]}) == {
        "op": "session.append",
        "args": {
            "session": "s",
            "type": "user/message",
            "data": message("A"),
            "intent": {"surfaceOp": "append", "sourceEventSeqs": [0]},
        },
    }


def test_messages_of_the_model() -> None:
    """Text, calls of tools, or both."""
    call: Json = {"type": "tool-call", "id": "c1", "name": "echo", "arguments": "{}"}
    text: Json = {"type": "text", "text": "T"}
    own: Json = {"type": "text", "text": "A"}
    assert expand({"$assistant": "A"}) == {"id": "A", "role": "assistant", "content": [own], "source": MODEL}
    both = expand({"$assistant": "A", "text": "T", "calls": ["c1:echo"]})
    assert both == {"id": "A", "role": "assistant", "content": [text, call], "source": MODEL}
    calls = expand({"$assistant": "A", "calls": ["c1:echo"]})
    assert calls == {"id": "A", "role": "assistant", "content": [call], "source": MODEL}


def test_messages_of_results() -> None:
    """The call is named twice; id and text may be given."""

    def result(identity: str, text: str) -> Json:
        block: Json = {"type": "tool-result", "toolCallId": "c1", "content": [{"type": "text", "text": text}]}
        return {"id": identity, "role": "user", "content": [block], "source": {"kind": "tool", "callId": "c1"}}

    assert expand({"$answer": "c1"}) == result("c1.r", "ok")
    assert expand({"$answer": "c1", "id": "R", "text": "T"}) == result("R", "T")


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        ({"$log": {}}, r"\$log needs a list of events"),
        ({"$log": [], "x": 1}, r"\$log needs a list of events"),
        ({"$log": ["turn/start"]}, "an event is written as its type and its data"),
        ({"$log": [{"x/a": 1, "x/b": 2}]}, "an event is written as its type and its data"),
        ({"$append": "s"}, "an event is written as its type and its data"),
        ({"$append": "s", "x/note": 1, "seq": 0}, "an event is written as its type and its data"),
        ({"$append": 1, "x/note": 1}, r"\$append needs a text"),
        ({"$assistant": "A", "x": 1}, r"a \$assistant has no 'x': it has text, calls"),
        ({"$answer": "c1", "x": 1}, r"a \$answer has no 'x': it has text, id"),
    ],
)
def test_a_wrong_shorthand_is_an_error(written: Json, problem: str) -> None:
    """The error says what is needed."""
    with pytest.raises(MacroError, match=problem):
        expand(written)
