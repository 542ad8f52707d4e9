"""What annotations come to in the schema language."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any, Literal, NewType, NotRequired, Optional, Required, TypedDict

import pytest

from dshcore.json import Json, JsonObject
from dshcore.tools import InvalidTool, ToolExecution, ToolRun, define_tool
from dshcore.tools.annotated import read_signature


class Place(TypedDict):
    line: Annotated[int, "The line."]
    column: NotRequired[int]


class Loose(TypedDict, total=False):
    line: Required[int]
    mark: Annotated[NotRequired[str], "doc"]


class Part(TypedDict, total=False):
    part: str


class Other(TypedDict, total=False):
    other: str


class Read(TypedDict):
    kind: Literal["read"]


class Write(TypedDict):
    kind: Literal["write"]
    text: str


class Loop(TypedDict):
    again: "Sequence[Loop]"


class Broken(TypedDict):
    member: "Nowhere"  # type: ignore[name-defined]  # noqa: F821


class Colour(Enum):
    RED = "r"


@dataclass
class Point:
    x: int


UserId = NewType("UserId", str)

OPEN = {"type": "object", "additionalProperties": True}


def closed(**properties: Any) -> Any:
    return {"type": "object", "additionalProperties": False, "properties": properties}


def one_of(*nodes: Any) -> Any:
    return {"oneOf": list(nodes)}


def texts(*values: str) -> Any:
    return {"type": "string", "enum": list(values)}


def parameter(annotation: Any, *default: Any) -> Any:
    """The node of one parameter of a type."""

    async def tool(x) -> str:  # type: ignore[no-untyped-def]  # noqa: ANN001
        return str(x)

    tool.__annotations__["x"] = annotation
    tool.__defaults__ = default or None
    return read_signature(tool).parameters["x"]


def returned(annotation: Any) -> Any:
    """The node of a value of a type."""

    async def tool() -> None: ...

    tool.__annotations__["return"] = annotation
    return read_signature(tool).value


@pytest.mark.parametrize(
    ("annotation", "node"),
    [
        (str, {"type": "string"}),
        (int, {"type": "integer"}),
        (float, {"type": "number"}),
        (bool, {"type": "boolean"}),
        (None, {"type": "null"}),
        (object, {"type": "json"}),
        (Any, {"type": "json"}),
        (Json, {"type": "json"}),
        (Literal["a", "b"], texts("a", "b")),
        (
            Literal["a", 1, None, True, "b"],  # noqa: PYI061
            one_of(
                texts("a", "b"),
                {"type": "integer", "enum": [1]},
                {"type": "null", "enum": [None]},
                {"type": "boolean", "enum": [True]},
            ),
        ),
        (Sequence[str], {"type": "array", "items": {"type": "string"}}),
        (Sequence[Json], {"type": "array", "items": {"type": "json"}}),
        (tuple[int, ...], {"type": "array", "items": {"type": "integer"}}),
        (Sequence, {"type": "array"}),
        (tuple, {"type": "array"}),
        (Mapping[str, object], OPEN),
        (Mapping[str, Json], OPEN),
        (JsonObject, OPEN),
        (Mapping, OPEN),
        (str | None, one_of({"type": "string"}, {"type": "null"})),
        (Optional[int], one_of({"type": "integer"}, {"type": "null"})),  # noqa: UP045
        (bool | int, one_of({"type": "boolean"}, {"type": "integer"})),
        (Literal["a"] | Literal["b"], one_of(texts("a"), texts("b"))),  # noqa: PYI030
        (
            Read | Write,
            one_of(
                closed(kind={**texts("read"), "required": True}),
                closed(kind={**texts("write"), "required": True}, text={"type": "string", "required": True}),
            ),
        ),
        (Annotated[str, "Who."], {"type": "string", "description": "Who."}),
        (Annotated[str, 5], {"type": "string"}),
        (
            Place,
            closed(line={"type": "integer", "description": "The line.", "required": True}, column={"type": "integer"}),
        ),
        (
            Loose,
            closed(line={"type": "integer", "required": True}, mark={"type": "string", "description": "doc"}),
        ),
    ],
)
def test_a_type_comes_to_a_node(annotation: Any, node: dict[str, Any]) -> None:
    """What the schema language can say is read off the annotation."""
    assert parameter(annotation) == {**node, "required": True}
    assert returned(annotation) == node


@pytest.mark.parametrize("annotation", [Optional[Any], object | None, Json | None, str | Annotated[object, "d"]])  # noqa: UP045
def test_what_can_be_anything_is_the_only_branch(annotation: Any) -> None:
    """Every other branch would match what it matches too (SCHEMA-VALUE-07)."""
    node = parameter(annotation)
    assert (node["type"], "oneOf" in node) == ("json", False)


@pytest.mark.parametrize(
    ("annotation", "text"),
    [
        (
            int | float,
            "int | float, and exactly one branch has to match, but 0 is of both int and float: leave one out",
        ),
        (str | Literal["a"], """"a" is of both str and Literal['a']"""),  # noqa: PYI051
        (Annotated[int, "i"] | float, "0 is of both Annotated[int, 'i'] and float"),
        (Literal[1] | float, "1 is of both Literal[1] and float"),
        (Literal["a", 5] | int, "5 is of both Literal['a', 5] and int"),  # noqa: PYI051
        (Sequence[int] | Sequence[str], "[] is of both Sequence[int] and Sequence[str]"),
        (Part | Other, "{} is of both Part and Other"),
        (Read | Mapping[str, object], """{"kind":"read"} is of both Read and Mapping[str, object]"""),
    ],
)
def test_branches_that_overlap_are_refused_with_a_value(annotation: Any, text: str) -> None:
    """A call with that value could never be made (SCHEMA-VALUE-07)."""
    with pytest.raises(InvalidTool) as caught:
        parameter(annotation)
    assert text in str(caught.value)


@pytest.mark.parametrize(
    ("annotation", "text"),
    [
        (bytes, "parameters.x is bytes, which the schema language cannot say: use str, int"),
        (set[str], "parameters.x is set[str], which JSON has not: use Sequence[T]"),
        (frozenset, "parameters.x is frozenset, which JSON has not: use Sequence[T]"),
        (Iterable[str], "parameters.x is Iterable[str], which JSON has not: use Sequence[T]"),
        (Collection[str], "parameters.x is Collection[str], which JSON has not: use Sequence[T]"),
        (Colour, "parameters.x is Colour, which JSON has not: use Literal with its values"),
        (Point, "parameters.x is Point, which JSON has not: use a TypedDict"),
        (UserId, "UserId, a name for another type: use str"),
        (list[str], "parameters.x is list[str], and arguments are immutable: use Sequence[T]"),
        (dict, "parameters.x is dict, and arguments are immutable: use Mapping[str, object]"),
        (Mapping[str, int], "parameters.x is Mapping[str, int], whose members cannot be confined"),
        (tuple[int, str], "parameters.x is tuple[int, str], a tuple of a fixed length"),
        (tuple[()], "parameters.x is tuple[()], a tuple of a fixed length"),
        (Literal[b"a"], "parameters.x has the literal b'a', which is no scalar of JSON: use texts, integers"),
        (
            Literal["a", Colour.RED],
            "parameters.x has the literal <Colour.RED: 'r'>, which is no scalar of JSON: use 'r'",
        ),
        (Sequence[str | bytes], "parameters.x.items.oneOf[1] is bytes"),
        (Loop, "parameters.x.properties.again.items is Loop inside itself"),
        (Broken, "parameters.x has an annotation that cannot be read: NameError: name 'Nowhere' is not defined"),
        ("int |", "signature has an annotation that cannot be read: SyntaxError"),
        (ToolRun | None, "parameters.x.oneOf[0] is ToolRun, and the run is no argument: write run: ToolRun"),
        (ToolExecution, "parameters.x is ToolExecution, and the run is no argument: write run: ToolRun"),
    ],
)
def test_an_error_names_the_place_and_what_to_write_there(annotation: Any, text: str) -> None:
    """And the tool that it is about."""
    with pytest.raises(InvalidTool) as caught:
        parameter(annotation)
    assert str(caught.value).startswith("define_tool(tool): ")
    assert text in str(caught.value)


def test_a_value_may_be_mutable() -> None:
    """It is frozen behind the body."""
    assert returned(list[str]) == {"type": "array", "items": {"type": "string"}}
    assert returned(dict[str, object]) == returned(dict) == OPEN


@pytest.mark.parametrize(
    ("annotation", "default", "text"),
    [
        (int, None, "parameters.x has the default None, which is no int: write int | None"),
        (Literal["a", "b"], "z", "parameters.x has the default 'z', which is no Literal['a', 'b']"),
        (Annotated[Sequence[int], "d"], ("a",), "parameters.x has the default ('a',), which is no Sequence[int]"),
    ],
)
def test_a_default_of_another_type_is_refused(annotation: Any, default: Any, text: str) -> None:
    """A model that sends what it is told would be refused then."""
    with pytest.raises(InvalidTool) as caught:
        parameter(annotation, default)
    assert str(caught.value) == f"define_tool(tool): {text}"


def test_a_default_is_told_where_it_is_json() -> None:
    """The body fills in what is not."""
    assert parameter(int | None, None) == {**one_of({"type": "integer"}, {"type": "null"}), "default": None}
    assert parameter(Sequence[int], ()) == {"type": "array", "items": {"type": "integer"}, "default": ()}
    assert parameter(str, ...) == {"type": "string"}


def test_a_described_union_is_told_as_it_is() -> None:
    """To the model, in JSON Schema."""

    @define_tool
    async def find(where: Annotated[str | None, "Where."] = None) -> str:
        return str(where)

    assert find.parameters["properties"] == {
        "where": {"oneOf": ({"type": "string"}, {"type": "null"}), "description": "Where.", "default": None}
    }
