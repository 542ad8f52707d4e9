"""Tools whose parameters and values are written in the schema language."""

from typing import Any

import pytest
from tests.reference.toolbox import Toolbox, content, definition
from tests.reference.world import World
from typeguard import suppress_type_checks

from dshcore.tools import (
    ErrorInfo,
    InvalidTool,
    JsonSchemaError,
    ToolDefinition,
    ToolOutput,
    ToolOutputError,
    define_tool,
)
from dshcore.tools.contract import canonical_of

PATH = {"path": {"type": "string", "required": True}}


def written(body: Any = None, **members: Any) -> ToolDefinition:
    output = ToolOutput(schema={"type": "string"}, render=lambda _, value: content(f"<{value}>"))
    return definition("t", body, **{"parameters": PATH, "output": output, **members})


def noting(seen: list[object]) -> Any:
    """A body that notes its arguments."""

    def body(arguments: object, _: object) -> str:
        seen.append(arguments)
        return "ok"

    return body


def add(tools: Toolbox, *given: Any, **members: Any) -> None:
    tools._world.run(lambda: tools.tools.register(tools._world.root, define_tool(written(*given, **members))))


def test_arguments_are_validated_before_the_body(world: World, tools: Toolbox) -> None:
    """The failure belongs to the body's stage (SCHEMA-ARGS-01, SCHEMA-ARGS-02)."""
    ran: list[object] = []
    tools.record_stages()
    add(tools, noting(ran))
    result = tools.execute()
    assert result.is_error
    assert result.error.info == ErrorInfo("ToolArgsError", "INVALID_ARGS")
    assert result.error.message == 'invalid arguments: missing required property "path"'
    assert result.content == content('Error: invalid arguments: missing required property "path"')
    assert world.take() == [
        "> pre c",
        "> around c",
        "< around c error INVALID_ARGS",
        "> post c error INVALID_ARGS",
        "tools/result c error INVALID_ARGS",
    ]
    assert not tools.execute(arguments={"path": "x", "more": 1}).is_error
    assert ran == [{"path": "x", "more": 1}]


def test_defaults_are_not_filled_in(tools: Toolbox) -> None:
    """They are annotations (SCHEMA-NODE-09)."""
    seen: list[object] = []
    add(tools, noting(seen), parameters={"a": {"type": "string", "default": "d"}})
    tools.execute()
    assert seen == [{}]


def test_a_text_is_no_record_of_arguments(tools: Toolbox) -> None:
    """What a model wrote that is no JSON (sheet 60, traps)."""
    add(tools)
    result = tools.execute(arguments="not json")
    assert result.is_error
    assert result.error.message == 'invalid arguments: "arguments" must be an object'


@pytest.mark.parametrize(("value", "violation"), [(5, '"value" must be a string'), ({1}, "value is not lossless JSON")])
def test_the_output_keeps_its_schema(tools: Toolbox, value: object, violation: str) -> None:
    """Of typed and raw tools (SCHEMA-OUT-01)."""
    add(tools, lambda *_: value)
    tools.add("raw", lambda *_: value, output=ToolOutput(schema={"type": "string"}, render=lambda *_: ()))
    for name in ("t", "raw"):
        result = tools.execute(name, arguments={"path": ""})
        assert result.is_error
        assert result.error.message == f'tool "{name}" returned invalid output: {violation}'
        assert result.error.info == ErrorInfo("ToolOutputError", "INVALID_TOOL_OUTPUT")


def test_a_raw_output_schema_is_asserted(world: World, tools: Toolbox) -> None:
    """At registration (TOOL-DEF-03), before the timeout (TOOL-DEF-08)."""
    output = ToolOutput(schema={"type": "string", "minLength": 1}, render=lambda *_: ())
    with pytest.raises(JsonSchemaError, match=r"schema\.minLength is not a supported keyword"):
        tools.tools.register(world.root, definition(output=output, timeout_ms=0))


def test_definitions_fail_when_they_are_made() -> None:
    """Timeout, parameters, output, in this order (SCHEMA-OUT-03)."""
    wrong = ToolOutput(schema={"type": "bad"}, render=lambda *_: ())
    with pytest.raises(InvalidTool, match=r"defineTool\(t\): timeoutMs must be a positive finite number"):
        define_tool(written(timeout_ms=0, parameters={"a": 5}, output=wrong))
    with pytest.raises(JsonSchemaError, match=r"parameters\.a must be"):
        define_tool(written(parameters={"a": 5}, output=wrong))
    with pytest.raises(JsonSchemaError, match=r"schema\.type must be"):
        define_tool(written(output=wrong))
    with pytest.raises(InvalidTool, match="must declare output"):
        define_tool(written(output=None))


def test_a_definition_says_its_members_itself() -> None:
    """What is given beside it would be lost."""
    for given in ({"name": "u"}, {"description": ""}, {"render": lambda *_: ()}, {"timeout_ms": 5}):
        with pytest.raises(InvalidTool, match=r"define_tool\(t\): a definition has its members itself: change it with"):
            define_tool(written(), **given)


def test_a_tool_is_made_once() -> None:
    """Parameters that are JSON Schema are refused with the text of SCHEMA-NODE-10, and a word on what they are."""
    for twice in (define_tool(written()), written(parameters={"type": "object", "properties": PATH})):
        with pytest.raises(JsonSchemaError, match=r"^unsupported JSON schema: parameters.type must be") as caught:
            define_tool(twice)
        assert "The parameters of t are JSON Schema" in caught.value.__notes__[0]
    with pytest.raises(JsonSchemaError) as caught:
        define_tool(written(parameters={"type": 5}))
    assert not hasattr(caught.value, "__notes__")


def test_a_body_that_waits_for_nothing_is_told_so(tools: Toolbox) -> None:
    """As that of a raw tool is."""
    add(tools, execute=lambda *_: "text")
    with suppress_type_checks():
        result = tools.execute(arguments={"path": ""})
    assert result.is_error
    assert result.error.message == (
        'the body of tool "t" answered a str, which cannot be awaited: write it with async def'
    )


def test_an_output_error_has_its_cause() -> None:
    """It tells where the value is no JSON; the model is told no more than SCHEMA-OUT-01 says."""
    with pytest.raises(ToolOutputError) as caught:
        canonical_of(written(), {"a": [{1}]})
    assert str(caught.value) == 'tool "t" returned invalid output: value is not lossless JSON'
    assert "a value of class set is not JSON" in str(caught.value.__cause__)
    assert str(caught.value.__cause__).endswith("at ['a'][0]")


def test_callbacks_are_only_asked_about_valid_arguments() -> None:
    """The classifier is exclusive, the presenters answer nothing (MODE-CLASS-02, PRESENT-CALL-02)."""
    made = define_tool(
        written(
            is_concurrency_safe=lambda _: True,
            present_call=lambda arguments: {"card": "generic", "title": arguments["path"]},
            present_result=lambda arguments, result: {"card": "generic", "title": arguments["path"], "content": result},
        )
    )
    assert made.is_concurrency_safe is not None
    assert made.present_call is not None
    assert made.present_result is not None
    assert (made.is_concurrency_safe({}), made.present_call({}), made.present_result({}, {})) == (False, None, None)
    valid = {"path": "p"}
    assert made.is_concurrency_safe(valid) is True
    assert made.present_call(valid) == {"card": "generic", "title": "p"}
    assert made.present_result(valid, {"isError": False}) == {
        "card": "generic",
        "title": "p",
        "content": {"isError": False},
    }
    bare = define_tool(written())
    assert (bare.is_concurrency_safe, bare.present_call, bare.present_result) == (None, None, None)
