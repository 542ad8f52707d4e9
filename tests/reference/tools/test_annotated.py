"""Tools written as annotated functions."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, NotRequired, Optional, TypedDict

import pytest
from tests.reference.toolbox import Toolbox, content, error_of, value_of
from tests.reference.world import World

from dshcore.json import Json
from dshcore.tools import Content, InvalidTool, ToolDefinition, ToolRun, define_tool
from dshcore.tools.annotated import read_signature


class Place(TypedDict):
    line: Annotated[int, "The line."]
    column: NotRequired[int]


class Loop(TypedDict):
    again: "Sequence[Loop]"


def shown(_: Json, value: object) -> Content:
    return content(f"<{value}>")


def kept(_: Json, value: Sequence[Place]) -> Json:
    return [place["line"] for place in value]


def add(world: World, tools: Toolbox, tool: ToolDefinition) -> None:
    world.run(lambda: tools.tools.register(world.root, tool))


def properties(annotation: Any) -> Any:
    """The specification of one parameter of a type."""

    async def tool(x) -> str:  # type: ignore[no-untyped-def]  # noqa: ANN001
        return str(x)

    tool.__annotations__["x"] = annotation
    return read_signature(tool).parameters["x"]


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
        (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
        (Sequence[str], {"type": "array", "items": {"type": "string"}}),
        (tuple[int, ...], {"type": "array", "items": {"type": "integer"}}),
        (Sequence, {"type": "array"}),
        (Mapping[str, object], {"type": "object", "additionalProperties": True}),
        (Mapping, {"type": "object", "additionalProperties": True}),
        (str | None, {"oneOf": [{"type": "string"}, {"type": "null"}]}),
        (Optional[int], {"oneOf": [{"type": "integer"}, {"type": "null"}]}),  # noqa: UP045
        (Annotated[str, "Who."], {"type": "string", "description": "Who."}),
        (Annotated[str, 5], {"type": "string"}),
        (
            Place,
            {
                "type": "object",
                "additionalProperties": False,
                "properties": {
                    "line": {"type": "integer", "description": "The line.", "required": True},
                    "column": {"type": "integer"},
                },
            },
        ),
    ],
)
def test_a_type_comes_to_a_node(annotation: Any, node: dict[str, Any]) -> None:
    """What the schema language can say is read off the annotation."""
    assert properties(annotation) == {**node, "required": True}


@pytest.mark.parametrize(
    ("annotation", "text"),
    [
        (set[str], r"parameters.x is set\[str\], which the schema language cannot say: use str, int"),
        (bytes, "parameters.x is bytes, which the schema language cannot say"),
        (list[str], r"parameters.x is list\[str\], and arguments are immutable: use Sequence\[T\]"),
        (dict, r"parameters.x is dict, and arguments are immutable: use Mapping\[str, object\]"),
        (Mapping[str, int], r"parameters.x is .*Mapping\[str, int\], whose members cannot be confined"),
        (tuple[int, str], "parameters.x is a tuple of a fixed length"),
        (int | float, r"parameters.x is int \| float, and exactly one branch has to match"),
        (Literal[1, "a"], r"parameters.x is Literal\[1, 'a'\]: all values of an enum have one type"),
        (Sequence[str | bytes], r"parameters.x.items.oneOf\[1\] is bytes"),
        (Loop, r"parameters.x.properties.again.items is Loop inside itself"),
    ],
)
def test_an_error_names_the_place_and_the_types_that_there_are(annotation: Any, text: str) -> None:
    """And the tool that it is about."""
    with pytest.raises(InvalidTool, match=rf"define_tool\(tool\): {text}"):
        properties(annotation)


def test_what_a_function_must_be() -> None:
    """A coroutine function whose arguments have names and types, and which says what it returns."""

    def waits_not(x: str) -> str:
        return x

    async def untyped(x) -> str:  # type: ignore[no-untyped-def]  # noqa: ANN001
        return str(x)

    async def rest(*xs: str) -> str:
        return str(xs)

    async def silent(x: str):  # type: ignore[no-untyped-def]  # noqa: ANN202
        return x

    async def unknown(x: "Nowhere") -> str:  # type: ignore[name-defined]  # noqa: F821
        return str(x)

    for function, text in (
        (waits_not, "the body of a tool is a coroutine function: write async def waits_not"),
        (untyped, "parameters.x has no annotation: use str"),
        (rest, "parameters.xs is not passed by name"),
        (silent, "return has no annotation"),
        (unknown, "name 'Nowhere' is not defined"),
    ):
        with pytest.raises(InvalidTool, match=text):
            read_signature(function)  # type: ignore[arg-type]


def test_a_function_is_called_with_its_arguments_and_the_run(world: World, tools: Toolbox) -> None:
    """By name; what is not sent has its default, and what nobody declared is not passed on."""
    seen: list[object] = []

    @define_tool
    async def greet(who: str, run: ToolRun, times: int = 1, mark: object = ...) -> str:
        """Greets somebody."""
        seen.append((who, times, mark, run.call_id))
        return who * times

    assert (greet.name, greet.description) == ("greet", "Greets somebody.")
    assert greet.parameters == {
        "type": "object",
        "properties": {"who": {"type": "string"}, "times": {"type": "integer", "default": 1}, "mark": {}},
        "required": ("who",),
    }
    add(world, tools, greet)
    assert value_of(tools.execute("greet", arguments={"who": "a", "more": 5})) == "a"
    result = tools.execute("greet", arguments={"who": "b", "times": 2, "mark": None})
    assert (value_of(result), result.content) == ("bb", content("bb"))
    assert seen == [("a", 1, ..., "c"), ("b", 2, None, "c")]
    assert error_of(tools.execute("greet", arguments={"who": 5})).message == (
        'invalid arguments: "who" must be a string'
    )


def test_the_decorator_takes_what_a_definition_has(world: World, tools: Toolbox) -> None:
    """Names, texts and callbacks; a value that is no text needs a renderer."""

    @define_tool(
        name="places",
        description="Finds.",
        render=shown,
        presentation_meta=kept,
        is_concurrency_safe=lambda _: True,
        timeout_ms=5,
    )
    async def find() -> list[Place]:
        return [{"line": 1}]

    assert (find.name, find.description, find.timeout_ms) == ("places", "Finds.", 5)
    add(world, tools, find)
    result = tools.execute("places")
    assert value_of(result) == ({"line": 1},)
    assert result.content == content("<({'line': 1},)>")
    assert result.meta == (1,)

    async def number() -> int:
        return 5

    with pytest.raises(InvalidTool, match=r"define_tool\(number\): a value that is no text needs render"):
        define_tool(number)  # type: ignore[arg-type]

    @define_tool(description="said")
    async def text() -> str:
        return "x"

    assert text.description == "said"


def test_the_value_of_a_function_is_validated(world: World, tools: Toolbox) -> None:
    """Against what it says that it returns (SCHEMA-OUT-01)."""

    @define_tool
    async def lies() -> str:
        return 5  # type: ignore[return-value]

    add(world, tools, lies)
    assert error_of(tools.execute("lies")).message == ('tool "lies" returned invalid output: "value" must be a string')


def test_an_inner_call_serves_its_body(world: World, tools: Toolbox) -> None:
    """It names its parent and the root, and stops with it (PIPE-NEST-01)."""

    @define_tool
    async def outer(run: ToolRun) -> str:
        request = run.inner_call("inner", [1], call_id="c.1")
        assert (request.parent, request.root_call_id, request.signal) == (run.token, "c", run.signal)
        result = await tools.tools.execute(request, run.scope)
        return str(result.is_error or result.value)

    add(world, tools, outer)
    tools.add("inner", lambda arguments, run: [arguments, run.root_call_id])
    assert value_of(tools.execute("outer")) == "([1], 'c')".replace("[1]", "(1,)")
