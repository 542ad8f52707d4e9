"""Nodes of the schema language as they are made here, and whether a value can be of two of them."""

from collections.abc import Mapping, Sequence
from typing import Final, TypedDict

from dshcore.json import Json
from dshcore.tools.json_schema import violations_of


class Node(TypedDict, total=False):
    """A node: a `type` with what confines it, or `oneOf` (SCHEMA-NODE-01, SCHEMA-NODE-07).

    Attributes:
        type: Which kind of value it stands for.
        enum: The values that alone there are.
        items: What the items of an array are.
        properties: What the members of an object are.
        additionalProperties: Whether an object may have others.
        oneOf: The branches, of which exactly one fits.
        description: What the model is told.
        default: What the model is told of leaving it out.
        required: Whether the member has to be there.
    """

    type: str
    enum: Sequence[Json]
    items: "Node"
    properties: "Mapping[str, Node]"
    additionalProperties: bool
    oneOf: "Sequence[Node]"
    description: str
    default: Json
    required: bool


_ANY: Final[Node] = {"type": "json"}
_SAMPLES: Final[Sequence[Json]] = (None, False, 0, "", ())
"""A value of every type whose nodes have no `enum`, but objects."""


def common_value(one: Node, other: Node) -> tuple[Json, ...]:
    """Answer a value that is of both nodes, or nothing if there is none.

    Args:
        one: A node.
        other: Another one.
    """
    for this, that in ((one, other), (other, one)):
        if "oneOf" in this:
            common = (common_value(branch, that) for branch in this["oneOf"])
            return next((value for value in common if value), ())
        if this.get("type") == "json":
            return (None,) if that.get("type") == "json" else common_value(that, that)
    if one.get("type") == other.get("type") == "object":
        return _common_object(one, other)
    candidates = (*one.get("enum", ()), *other.get("enum", ()), *_SAMPLES)
    return tuple(value for value in candidates if not violations_of(one, value) and not violations_of(other, value))[:1]


def _common_object(one: Node, other: Node) -> tuple[Json, ...]:
    """Answer an object with what either requires, and nothing else."""
    sides = [(node.get("properties", {}), node.get("additionalProperties")) for node in (one, other)]
    needed = [name for properties, _ in sides for name, node in properties.items() if node.get("required")]
    made: dict[str, Json] = {}
    for name in needed:
        allowed = [properties.get(name, _ANY if is_open else None) for properties, is_open in sides]
        if None in allowed:
            return ()
        value = common_value(*(node for node in allowed if node is not None))
        if not value:
            return ()
        made[name] = value[0]
    return (made,)
