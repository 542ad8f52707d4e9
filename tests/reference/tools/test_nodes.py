"""Whether a value can be of two nodes."""

import pytest

from dshcore.json import Json
from dshcore.tools.json_schema import violations_of
from dshcore.tools.nodes import Node, common_value
from dshcore.tools.schema_language import compile_value

ANY: Node = {"type": "json"}
TEXT: Node = {"type": "string"}
WHOLE: Node = {"type": "integer"}
OPEN: Node = {"type": "object", "additionalProperties": True}


def texts(*values: str) -> Node:
    return {"type": "string", "enum": values}


def record(**properties: Node) -> Node:
    return {"type": "object", "additionalProperties": False, "properties": properties}


def must(node: Node) -> Node:
    return {**node, "required": True}


@pytest.mark.parametrize(
    ("one", "other", "value"),
    [
        (TEXT, TEXT, ""),
        (TEXT, texts("a"), "a"),
        (texts("a", "b"), texts("c", "b"), "b"),
        (WHOLE, {"type": "number"}, 0),
        ({"type": "integer", "enum": [5]}, {"type": "number"}, 5),
        ({"type": "null"}, {"type": "null"}, None),
        ({"type": "boolean", "enum": [True]}, {"type": "boolean"}, True),
        ({"type": "array", "items": TEXT}, {"type": "array", "items": WHOLE}, ()),
        ({"oneOf": [WHOLE, {"type": "null"}]}, {"oneOf": [TEXT, {"type": "null"}]}, None),
        (record(a=TEXT), record(b=TEXT), {}),
        (record(a=must(TEXT), b=TEXT), record(a=TEXT, b=must(TEXT)), {"a": "", "b": ""}),
        (record(a=must(record(b=must(WHOLE)))), OPEN, {"a": {"b": 0}}),
        (record(a=must(ANY)), record(a=must({"type": "json", "description": "d"})), {"a": None}),
        (record(a=must(ANY)), record(a=must(texts("x"))), {"a": "x"}),
    ],
)
def test_a_common_value_is_of_both(one: Node, other: Node, value: Json) -> None:
    """Whichever comes first; an object has what either requires."""
    for pair in ((one, other), (other, one)):
        assert common_value(*pair) == (value,)
    for node in (one, other):
        assert violations_of(compile_value(node), value) == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (TEXT, WHOLE),
        (texts("a"), texts("b")),
        ({"type": "boolean"}, WHOLE),
        ({"type": "integer", "enum": [1]}, {"type": "boolean", "enum": [True]}),
        ({"type": "number", "enum": [1.5]}, WHOLE),
        ({"type": "array"}, OPEN),
        ({"oneOf": [WHOLE, {"type": "null"}]}, TEXT),
        (record(kind=must(texts("a"))), record(kind=must(texts("b")))),
        (record(a=must(TEXT)), record(b=TEXT)),
    ],
)
def test_nodes_without_a_common_value(one: Node, other: Node) -> None:
    """They differ in their type, their values, or in a member that one requires and the other does not admit."""
    assert common_value(one, other) == common_value(other, one) == ()
