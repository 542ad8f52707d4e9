"""Tools written as annotated functions."""

from collections.abc import AsyncIterator, Awaitable, Sequence
from functools import partial, wraps
from typing import Annotated, NotRequired, TypedDict

import pytest
from tests.reference.toolbox import Toolbox, content, error_of, value_of
from tests.reference.world import World
from typeguard import suppress_type_checks

from dshcore.json import Json
from dshcore.tools import Content, InvalidTool, ToolDefinition, ToolRun, define_tool
from dshcore.tools.annotated import read_signature


class Place(TypedDict):
    line: Annotated[int, "The line."]
    column: NotRequired[int]


class Walker:
    """Somebody with a tool."""

    async def __call__(self, to: str) -> str:
        return to

    async def walk(self, to: str, run: Annotated[ToolRun, "the call"]) -> str:
        return f"{to} {run.call_id}"


def shown(_: Json, value: object) -> Content:
    return content(f"<{value}>")


def kept(_: Json, value: Sequence[Place]) -> Json:
    return [place["line"] for place in value]


def add(world: World, tools: Toolbox, tool: ToolDefinition) -> None:
    world.run(lambda: tools.tools.register(world.root, tool))


def test_what_a_function_must_be() -> None:
    """A coroutine function whose arguments have names and types, and which says what it returns."""

    def waits_not(x: str) -> str:
        return x

    async def untyped(x) -> str:  # type: ignore[no-untyped-def]  # noqa: ANN001
        return str(x)

    async def rest(*xs: str) -> str:
        return str(xs)

    async def named(**xs: str) -> str:
        return str(xs)

    async def placed(x: str, /) -> str:
        return x

    async def silent(x: str):  # type: ignore[no-untyped-def]  # noqa: ANN202
        return x

    async def unknown(x: "Nowhere") -> str:  # type: ignore[name-defined]  # noqa: F821
        return str(x)

    async def runs(run: ToolRun, again: ToolRun) -> str:
        return f"{run} {again}"

    async def yields() -> AsyncIterator[str]:
        yield "a"

    async def waits(x: str) -> str:
        return x

    @wraps(waits)
    def wrapped(x: str) -> Awaitable[str]:
        return waits(x)

    no = "the body of a tool is a coroutine function: "
    for function, text in (
        (waits_not, f"{no}write async def waits_not"),
        (lambda x: x, f"{no}write an async def in place of the lambda"),
        (yields, f"{no}return a value instead of yielding some"),
        (staticmethod(waits), f"{no}leave @staticmethod out"),
        (wrapped, f"{no}what wraps waits is none, so write the wrapper with async def"),
        ("greet", r'define_tool\("greet"\): a name is given by keyword: write define_tool\(name="greet"\)'),
        (partial(waits, x="a"), "define_tool needs a coroutine function, not functools.par.*: wrap it in an async def"),
        (Walker(), "define_tool needs a coroutine function, not .*: wrap it in an async def"),
        (Walker.walk, "parameters.self is an object: make a tool of a method where it is bound"),
        (untyped, "parameters.x has no annotation: use str"),
        (rest, "parameters.xs is many arguments, and each has a name: write one parameter for each"),
        (named, "parameters.xs is many arguments"),
        (placed, "parameters.x is not passed by name, as arguments are: leave out the /"),
        (silent, "return has no annotation"),
        (unknown, "name 'Nowhere' is not defined"),
        (runs, 'parameters.again is a second ToolRun beside "run": a call has one run'),
    ):
        with suppress_type_checks(), pytest.raises(InvalidTool, match=text):
            read_signature(function)  # type: ignore[arg-type]


def test_a_bound_method_is_a_tool(world: World, tools: Toolbox) -> None:
    """Its object is no argument; a described run is the run."""
    add(world, tools, define_tool(Walker().walk))
    assert value_of(tools.execute("walk", arguments={"to": "a"})) == "a c"


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
