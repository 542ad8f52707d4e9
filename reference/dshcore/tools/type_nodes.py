"""What the annotations of a tool come to in the schema language.

| annotation | node |
|---|---|
| `str`, `int`, `float`, `bool`, `None` | `string`, `integer`, `number`, `boolean`, `null` |
| `Literal["a", "b"]` | the type of its values, with `enum`; `oneOf` where they have several |
| `Sequence[T]`, `tuple[T, ...]`; of a value also `list[T]` | `array` of `T` |
| `Mapping[str, object]`, `JsonObject`; of a value also `dict[str, object]` | an open `object` |
| a `TypedDict` | a closed `object` with its members |
| `A | B`, `Optional[A]`, where no value is of both | `oneOf` |
| `object`, `Any`, `Json`, and unions with one of these | `json` |
| `Annotated[T, "text"]` | `T`, with the text as its description |

Arguments are immutable, so a list or a dict is nothing that a body is ever given.
"""

import types
from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, is_dataclass, replace
from enum import Enum
from itertools import combinations
from typing import (
    Annotated,
    Any,
    Final,
    Literal,
    NewType,
    NoReturn,
    NotRequired,
    Required,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from dshcore.errors import describe
from dshcore.json import Json, JsonObject, abridged, encode
from dshcore.tools.errors import InvalidTool
from dshcore.tools.executions import ToolExecution, ToolRun
from dshcore.tools.nodes import Node, common_value

KNOWN: Final = (
    "str, int, float, bool, None, Literal, Sequence[T], Mapping[str, object], a TypedDict, unions of these, "
    "or object for any JSON"
)
"""The types that there are, for errors."""

_SCALARS: Final[Mapping[object, str]] = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    type(None): "null",
}
_ANY: Final = (object, Any, Json)

_SEQUENCE: Final = "which JSON has not: use Sequence[T]"
_RUN: Final = "and the run is no argument: write run: ToolRun"
_INSTEAD: Final[Mapping[object, str]] = {
    list: "and arguments are immutable: use Sequence[T]",
    dict: "and arguments are immutable: use Mapping[str, object]",
    **dict.fromkeys((set, frozenset, AbstractSet, Iterable, Collection), _SEQUENCE),
    **dict.fromkeys((ToolRun, ToolExecution), _RUN),
}
"""What to write in place of a type that the language cannot say."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where an annotation stands.

    Attributes:
        tool: The tool.
        path: The way to it from the signature.
        of_value: Whether what stands there is returned, and not given.
        around: The records that it stands in.
    """

    tool: str
    path: str
    of_value: bool = False
    around: tuple[type, ...] = ()

    def below(self, step: str) -> "Place":
        """Answer a place inside of this one.

        Args:
            step: What leads to the part.
        """
        return replace(self, path=f"{self.path}.{step}")

    def refuse(self, problem: str) -> NoReturn:
        """Raise what tells that nothing can be made of the annotation here.

        Args:
            problem: What is wrong.

        Raises:
            InvalidTool: Always.
        """
        raise InvalidTool(f"define_tool({self.tool}): {self.path} {problem}")


def hints_of(annotated: object, place: Place) -> Mapping[str, object]:
    """Evaluate the annotations of a function or a record.

    Args:
        annotated: What has annotations.
        place: Where it is, for the error.

    Returns:
        The evaluated annotations, by name.

    Raises:
        InvalidTool: One of them cannot be.
    """
    try:
        return get_type_hints(annotated, include_extras=True)
    except Exception as error:  # noqa: BLE001 - whatever evaluating a text raises
        return place.refuse(
            f"has an annotation that cannot be read: {describe(error)}: it must be readable where {shown(annotated)} is"
        )


def undescribed(hint: object) -> object:
    """Answer a type without what `Annotated` says of it.

    Args:
        hint: An annotation.
    """
    return get_args(hint)[0] if get_origin(hint) is Annotated else hint


def shown(hint: object) -> str:
    """Answer how a type is written, for errors.

    Args:
        hint: An annotation.
    """
    if isinstance(hint, type | types.FunctionType) and not get_args(hint):
        return "None" if hint is type(None) else hint.__name__
    return str(hint).replace("typing.", "").replace("collections.abc.", "")


def node_of(hint: object, place: Place) -> Node:
    """Return the node that a type comes to.

    Args:
        hint: An annotation.
        place: Where it is, for the error.

    Returns:
        What it is in the schema language.

    Raises:
        InvalidTool: The schema language cannot say it; the error names the place and what to write there.
    """
    origin, args = get_origin(hint), get_args(hint)
    if origin is Annotated:
        texts = [note for note in args[1:] if isinstance(note, str)]
        node = node_of(args[0], place)
        return {**node, "description": texts[0]} if texts else node
    if hint in _ANY:
        return {"type": "json"}
    if isinstance(hint, type) and hint in _SCALARS:
        return {"type": _SCALARS[hint]}
    if is_typeddict(hint):
        return _record(cast("type", hint), place)
    if origin is Literal:
        return _literal(args, place)
    if origin in (Union, types.UnionType):
        nodes = [node_of(branch, place.below(f"oneOf[{index}]")) for index, branch in enumerate(args)]
        return _alternatives(hint, args, nodes, place)
    bare = hint if origin is None else origin
    if bare in (Sequence, tuple) or (bare is list and place.of_value):
        return _array(hint, args, place)
    if bare in (Mapping, JsonObject) or (bare is dict and place.of_value):
        if args and (args[0] is not str or args[1] not in _ANY):
            place.refuse(f"is {shown(hint)}, whose members cannot be confined: use Mapping[str, object]")
        return {"type": "object", "additionalProperties": True}
    return place.refuse(f"is {shown(hint)}, {_instead_of(bare)}")


def _instead_of(bare: object) -> str:
    if is_dataclass(bare):
        return "which JSON has not: use a TypedDict"
    if isinstance(bare, type) and bare in _INSTEAD:
        return _INSTEAD[bare]
    if isinstance(bare, type) and issubclass(bare, Enum):
        return "which JSON has not: use Literal with its values"
    if isinstance(bare, NewType):
        return f"a name for another type: use {shown(bare.__supertype__)}"
    return f"which the schema language cannot say: use {KNOWN}"


def _array(hint: object, args: tuple[object, ...], place: Place) -> Node:
    if get_origin(hint) is tuple and (len(args) != 2 or args[1] is not Ellipsis):  # noqa: PLR2004 - tuple[T, ...]
        place.refuse(
            f"is {shown(hint)}, a tuple of a fixed length, which the schema language cannot say: use tuple[T, ...]"
        )
    if not args:
        return {"type": "array"}
    return {"type": "array", "items": node_of(args[0], place.below("items"))}


def _literal(values: tuple[object, ...], place: Place) -> Node:
    """Make a node for the values of each type: an `enum` has one (SCHEMA-NODE-02)."""
    by_type: dict[type[object], list[Json]] = {}
    for value in values:
        if type(value) not in _SCALARS:
            better = f"use {value.value!r}" if isinstance(value, Enum) else "use texts, integers, booleans or None"
            place.refuse(f"has the literal {abridged(value)}, which is no scalar of JSON: {better}")
        by_type.setdefault(type(value), []).append(cast("Json", value))
    nodes: list[Node] = [{"type": _SCALARS[kind], "enum": of_type} for kind, of_type in by_type.items()]
    return nodes[0] if len(nodes) == 1 else {"oneOf": nodes}


def _alternatives(hint: object, branches: tuple[object, ...], nodes: Sequence[Node], place: Place) -> Node:
    """Make a union, of which a value has to be of exactly one branch (SCHEMA-VALUE-07)."""
    for node in nodes:
        if node.get("type") == "json":  # every other branch is in it
            return node
    for one, other in combinations(range(len(nodes)), 2):
        if common := common_value(nodes[one], nodes[other]):
            place.refuse(
                f"is {shown(hint)}, and exactly one branch has to match, but {encode(common[0]).decode()} is of both "
                f"{shown(branches[one])} and {shown(branches[other])}: leave one out, or make one type of them"
            )
    return {"oneOf": nodes}


def _record(record: type, place: Place) -> Node:
    if record in place.around:
        place.refuse(f"is {shown(record)} inside itself, which the schema language cannot say")
    members = replace(place, around=(*place.around, record))
    said: frozenset[str] = record.__required_keys__  # type: ignore[attr-defined]  # of a TypedDict
    properties: dict[str, Node] = {}
    for name, hint in hints_of(record, place).items():
        bare, qualified = _unqualified(hint)
        node = node_of(bare, members.below(f"properties.{name}"))
        # what Python says of a member does not count a qualifier that was a text when the class was made
        required = name in said if qualified is None else qualified
        properties[name] = {**node, "required": True} if required else node
    return {"type": "object", "additionalProperties": False, "properties": properties}


def _unqualified(hint: object) -> tuple[object, bool | None]:
    """Answer the type of a member, and whether it is required, if a qualifier says so."""
    origin, args = get_origin(hint), get_args(hint)
    if origin in (Required, NotRequired):
        return args[0], origin is Required
    if origin is Annotated:
        bare, required = _unqualified(args[0])
        return Annotated[(bare, *args[1:])], required
    return hint, None
