"""Pure folds: over a whole log they give what a live session gives, and refuse what it refuses."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference.session.logs import PLACE, answer, log, result, turn_start, user
from tests.reference.world import message

from dshcore.ids import SessionId
from dshcore.json import freeze
from dshcore.session import (
    AppendRefused,
    Replacement,
    Session,
    canonical_header,
    derive_event_message,
    fold_request_header,
    fold_surface,
    fold_todos,
    header_equals,
)

CONFIG = {"provider": "p", "model": "m"}


def replace(start: int, end: int) -> dict[str, Any]:
    return {"op": "replace", "start": start, "end": end}


# --- surface ---------------------------------------------------------------------------------------------------------


def test_fold_of_a_surface() -> None:
    """Nodes in surface order, replacements in log order, what they shadowed in surface order (SURF-FOLD-01)."""
    events = log(
        turn_start(),
        user("a"),
        user("b"),
        user("c"),
        user("d", replace(1, 2), sourceEventSeqs=[2, 1]),
        user("e", replace(4, 3), sourceEventSeqs=[3, 4, 0]),
        answer(),
    )
    fold = fold_surface(events)
    assert fold.nodes == (5, 6)
    assert fold.replacements == (Replacement(4, 1, 2, (1, 2)), Replacement(5, 4, 3, (4, 3)))
    assert fold_surface([]).nodes == ()


@pytest.mark.parametrize(
    ("entries", "text"),
    [
        ([("user/message", user()[1])], 'session event "user/message" is surface-eligible and requires a surfaceOp'),
        ([user("a", replace(0, 0))], "surface replace: start seq 0 not found in surface"),
        ([("x", {}, {"surfaceOp": "append"})], "is not surface-eligible and cannot carry surfaceOp"),
    ],
)
def test_fold_refuses_what_an_append_refuses(entries: list[Any], text: str) -> None:
    """With the same texts (SURF-FOLD-01)."""
    with pytest.raises(AppendRefused, match=text):
        fold_surface(log(*entries))


def test_fold_begins_at_the_first_event() -> None:
    """Contiguity is looked at first (SURF-FOLD-01, SURF-OP-10)."""
    with pytest.raises(AppendRefused, match="session event seq 1 is not contiguous; expected 0"):
        fold_surface(log(user("a"), ("user/message", user()[1]))[1:])


choices = st.tuples(
    st.sampled_from(["user", "answer", "result", "log", "replace", "rewrite"]), st.integers(0, 9), st.integers(0, 9)
)


@settings(deadline=None)
@given(st.lists(choices, max_size=40))
def test_live_surface_is_the_fold_of_the_log(drawn: list[tuple[str, int, int]]) -> None:
    """After any accepted operations, and so is the history; a seed gives the same (SURF-FOLD-01, DERIVE-PROJ-01)."""
    session = Session(SessionId("s"))
    for number, (kind, one, other) in enumerate(drawn):
        try:
            do(session, kind, number, one, other)
        except AppendRefused:
            continue
    fold = fold_surface(session.events)
    assert session.surface.nodes == fold.nodes
    assert session.surface.replace_generation == len(fold.replacements)
    projected = (derive_event_message(session.events[seq]) for seq in fold.nodes)
    assert list(session.derive_messages()) == [one for one in projected if one is not None]
    again = Session(SessionId("t"), seed=session.events)
    assert (again.surface.nodes, again.surface.replace_generation) == (fold.nodes, len(fold.replacements))
    assert list(again.derive_messages()) == list(session.derive_messages())


def do(session: Session, kind: str, number: int, one: int, other: int) -> None:
    nodes = session.surface.nodes
    match kind:
        case "user":
            session.append("user/message", message(str(number)), surface_op="append")
        case "answer":
            session.append("assistant/message", answer()[1], surface_op="append", source_event_seqs=[])
        case "result":
            session.append("tool/result", result("c")[1], surface_op="append")
        case "log":
            session.append("x/y", {})
        case "replace" if nodes:
            first, last = sorted((one % len(nodes), other % len(nodes)))
            op = replace(nodes[first], nodes[last])
            cited = nodes[first : last + 1]
            session.append("user/message", message(str(number)), surface_op=op, source_event_seqs=cited)
        case "rewrite" if nodes:
            at = nodes[one % len(nodes)]
            session.append("tool/result", result("c")[1], surface_op=replace(at, at), source_event_seqs=[at])
        case _:
            pass


def test_replaced_events_stay_in_the_log() -> None:
    """A transcript is made of what was appended, whatever stands on the surface (SURF-OP-09)."""
    session = Session(SessionId("s"), seed=log(user("a"), user("b"), user("c", replace(0, 1), sourceEventSeqs=[0, 1])))
    assert session.surface.nodes == (2,)
    assert [event["data"]["id"] for event in session.events if event.get("surfaceOp") == "append"] == ["a", "b"]
    assert (session.surface.replace_generation, len(session.events)) == (1, 4)


# --- history ---------------------------------------------------------------------------------------------------------


def test_projection_of_one_event() -> None:
    """The type alone decides; boundaries project to nothing (DERIVE-PROJ-07)."""
    empty = {**PLACE, "message": {**answer()[1]["message"], "content": []}}
    events = log(
        user("a"),
        turn_start(),
        answer(),
        ("assistant/message", empty, {"surfaceOp": "append"}),
        result("c", replace(0, 0)),
        ("user/message", user("unmarked")[1]),
        ("x/y", user("b")[1]),
    )
    messages = [derive_event_message(event) for event in events]
    assert [None if one is None else one["id"] for one in messages] == ["a", None, "a", None, "r-c", "unmarked", None]
    assert messages[0] is events[0]["data"]
    assert messages[2] is events[2]["data"]["message"]


def test_interrupted_and_strange_messages_are_history() -> None:
    """Unknown blocks and sources pass as they are (DERIVE-PROJ-05, SEED-MSG-05, PATTERN-EXT-01)."""
    strange = {"id": "x", "role": "user", "content": [{"type": "x-block", "v": 1}], "source": {"kind": "x-source"}}
    partial = {**answer()[1], "interrupted": True}
    seed = log(
        ("user/message", strange, {"surfaceOp": "append"}), ("assistant/message", partial, {"surfaceOp": "append"})
    )
    session = Session(SessionId("s"), seed=seed)
    assert list(session.derive_messages()) == [freeze(strange), freeze(partial["message"])]


# --- request headers -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("header", "canonical"),
    [
        ({"system": "", "tools": [], "adapterDefaults": {}}, {}),
        ({"system": "S", "tools": [{"name": "t"}]}, {"system": "S", "tools": [{"name": "t"}]}),
        ({"adapterDefaults": {"maxTokens": True}}, {"adapterDefaults": {"maxTokens": True}}),
        ({"adapterDefaults": {"reasoningEffort": False, "x": True}}, {}),
        ({"x": 1}, {}),
    ],
)
def test_canonical_form(header: dict[str, Any], canonical: dict[str, Any]) -> None:
    """Empty optional fields and unknown ones go, the configuration stays as it is (HEADER-REQ-01)."""
    config: dict[str, Any] = {**CONFIG, "stop": [], "x": 1}
    assert canonical_header({"config": config, **header}) == freeze({"config": config, **canonical})


def header_event(**header: Any) -> tuple[str, Any]:
    return "request/header", {"header": {"config": CONFIG, **header}, "reason": "change"}


def test_last_header_is_in_force() -> None:
    """Whole; a fold may begin with one (HEADER-REQ-02)."""
    events = log(header_event(system="S"), turn_start(), header_event(tools=[]))
    start = freeze({"config": {"provider": "q", "model": "n"}})
    assert fold_request_header(events) == freeze({"config": CONFIG})
    assert fold_request_header(events[:2]) == freeze({"config": CONFIG, "system": "S"})
    assert fold_request_header(events[1:2], start) is start
    assert fold_request_header([]) is None
    assert Session(SessionId("s"), seed=events).request_header() == fold_request_header(events)


TOOL = {"name": "t", "description": "d", "parameters": {"type": "object", "properties": {}}}
SWAPPED = {**TOOL, "parameters": {"properties": {}, "type": "object"}}
MARKED: dict[str, Any] = {"config": {**CONFIG, "maxTokens": 5}, "adapterDefaults": {"maxTokens": True}}


@pytest.mark.parametrize(
    ("left", "right", "equal"),
    [
        ({"config": CONFIG}, {"config": CONFIG}, True),
        ({"config": CONFIG}, {"config": {**CONFIG, "x": 1}}, True),
        ({"config": CONFIG}, {"config": CONFIG, "tools": []}, True),
        ({"config": CONFIG}, {"config": {**CONFIG, "provider": "q"}}, False),
        ({"config": CONFIG}, {"config": {**CONFIG, "model": "n"}}, False),
        ({"config": CONFIG}, {"config": {**CONFIG, "reasoningEffort": "high"}}, False),
        ({"config": CONFIG}, {"config": {**CONFIG, "temperature": 0}}, False),
        ({"config": {**CONFIG, "temperature": 1}}, {"config": {**CONFIG, "temperature": True}}, False),
        ({"config": CONFIG}, {"config": {**CONFIG, "maxTokens": 5}}, False),
        ({"config": CONFIG}, {"config": {**CONFIG, "stop": []}}, False),
        ({"config": {**CONFIG, "stop": ["a", "b"]}}, {"config": {**CONFIG, "stop": ["b", "a"]}}, False),
        (MARKED, {"config": MARKED["config"]}, False),
        (MARKED, {**MARKED, "adapterDefaults": {"maxTokens": True, "x": 1}}, True),
        ({"config": CONFIG, "system": "S"}, {"config": CONFIG, "system": "T"}, False),
        ({"config": CONFIG, "system": "S"}, {"config": CONFIG}, False),
        ({"config": CONFIG, "tools": [TOOL, SWAPPED]}, {"config": CONFIG, "tools": [TOOL, SWAPPED]}, True),
        ({"config": CONFIG, "tools": [TOOL, {"name": "u"}]}, {"config": CONFIG, "tools": [{"name": "u"}, TOOL]}, False),
        ({"config": CONFIG, "tools": [TOOL]}, {"config": CONFIG}, False),
        ({"config": CONFIG, "tools": [TOOL]}, {"config": CONFIG, "tools": [SWAPPED]}, False),
    ],
)
def test_equality_of_headers(left: dict[str, Any], right: dict[str, Any], equal: bool) -> None:
    """Field by field; tools by their text, in order (HEADER-REQ-03, HEADER-REQ-04)."""
    assert header_equals(freeze(left), freeze(right)) is equal
    assert header_equals(freeze(right), freeze(left)) is equal


# --- todos -----------------------------------------------------------------------------------------------------------


def test_last_list_is_the_list() -> None:
    """Earlier ones are history, and none is a message (LOG-EVT-14)."""
    first = [{"content": "a", "status": "pending"}, {"content": "b", "status": "pending"}]
    second = [{"content": "a", "status": "completed"}]
    events = log(("todo/write", {"todos": first}), ("todo/write", {"todos": second}), ("x/y", {"todos": []}))
    assert fold_todos(events) == tuple(freeze(item) for item in second)
    assert fold_todos(events[:1]) == tuple(freeze(item) for item in first)
    assert fold_todos([]) == fold_todos(log(("todo/write", {"todos": []}))) == ()
    assert list(Session(SessionId("s"), seed=events).derive_messages()) == []


def test_lists_that_are_none_are_passed_over() -> None:
    """Nothing inside payloads is checked, so a fold has to bear it (SEED-MSG-05)."""
    events = log(("todo/write", {"todos": ["a"]}), ("todo/write", None), ("todo/write", {"todos": 5}))
    assert fold_todos(events) == ("a",)
