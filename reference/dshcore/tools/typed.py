"""Typed tools: their parameters and values are written in the schema language, or read off an annotated function."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from inspect import getdoc
from typing import Any, TypeVar, overload

from msgspec import UNSET, UnsetType

from dshcore.json import Json, JsonObject
from dshcore.tools.annotated import body_of, read_signature
from dshcore.tools.definitions import ToolDefinition, ToolOutput, check_output, is_duration
from dshcore.tools.errors import InvalidTool, JsonSchemaError, ToolArgsError
from dshcore.tools.executions import ToolExecution, ToolRun
from dshcore.tools.json_schema import is_record, violations_of
from dshcore.tools.results import Content, ToolResult
from dshcore.tools.schema_language import compile_parameters, compile_value
from dshcore.tools.views import CallView, ResultView

R = TypeVar("R")


def validate_arguments(spec: object, arguments: object) -> list[str]:
    """Tell how arguments do not fit a map of parameters, as a typed tool does.

    Args:
        spec: The parameters, in the schema language.
        arguments: Anything.

    Returns:
        Every violation; none where they fit.

    Raises:
        JsonSchemaError: The parameters are not of the language.

    Spec:
        SCHEMA-VALUE-01
    """
    return violations_of(compile_parameters(spec), arguments, "")


@overload
def define_tool(written: ToolDefinition, /) -> ToolDefinition: ...
@overload
def define_tool(written: Callable[..., Awaitable[str]], /) -> ToolDefinition: ...
@overload
def define_tool(
    *,
    name: str | None = ...,
    description: str | None = ...,
    presentation_meta: Callable[[Json, Json], Json] | UnsetType = ...,
    finalize_content: Callable[[ToolExecution, ToolResult], Content | None] | None = ...,
    is_concurrency_safe: Callable[[Json], bool] | None = ...,
    timeout_ms: float | UnsetType = ...,
    present_call: Callable[[Json], CallView | None] | None = ...,
    present_result: Callable[[Json, Mapping[str, Json]], ResultView | None] | None = ...,
) -> Callable[[Callable[..., Awaitable[str]]], ToolDefinition]: ...
@overload
def define_tool(
    *,
    render: Callable[[Json, R], Content],
    name: str | None = ...,
    description: str | None = ...,
    presentation_meta: Callable[[Json, R], Json] | UnsetType = ...,
    finalize_content: Callable[[ToolExecution, ToolResult], Content | None] | None = ...,
    is_concurrency_safe: Callable[[Json], bool] | None = ...,
    timeout_ms: float | UnsetType = ...,
    present_call: Callable[[Json], CallView | None] | None = ...,
    present_result: Callable[[Json, Mapping[str, Json]], ResultView | None] | None = ...,
) -> Callable[[Callable[..., Awaitable[R]]], ToolDefinition]: ...
def define_tool(
    written: ToolDefinition | Callable[..., Awaitable[Any]] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    render: Callable[[Json, Any], Content] | None = None,
    presentation_meta: Callable[[Json, Any], Json] | UnsetType = UNSET,
    **more: Any,
) -> ToolDefinition | Callable[[Callable[..., Awaitable[Any]]], ToolDefinition]:
    """Make a tool whose body and classifier are only called with arguments that fit its parameters.

    A definition has `parameters` and `output.schema` in the schema language. An annotated coroutine function, of which
    this is the decorator, says them by its types (`dshcore.tools.type_nodes`); its arguments come by name::

        @define_tool
        async def greet(who: str, times: int = 1) -> str:
            return " ".join(["hello", who] * times)

    Args:
        written: The tool.
        name: What it is called, if not like the function.
        description: What the model is told of it; by default the function's docstring.
        render: Makes the content of a value. A text is shown as it is unless this is given; for every other value it
            has to be.
        presentation_meta: As `ToolOutput` has it.
        more: The other members of `ToolDefinition`.

    Returns:
        A definition for the registry; without a tool, the decorator.

    Raises:
        InvalidTool: It has an impossible timeout, or does not declare its output; a type of the function is none of
            the schema language, or its value needs a renderer; a definition is given together with members.
        JsonSchemaError: Its parameters, or its output schema, are not of the language.

    Spec:
        SCHEMA-OUT-03, SCHEMA-ARGS-01, MODE-CLASS-02, PRESENT-CALL-02
    """
    if isinstance(written, ToolDefinition):
        if more or (name, description, render, presentation_meta) != (None, None, None, UNSET):
            raise InvalidTool(
                f"define_tool({written.name}): a definition has its members itself: change it with dataclasses.replace"
            )
        return _checked(written)

    def decorate(function: Callable[..., Awaitable[Any]]) -> ToolDefinition:
        signature = read_signature(function)
        shown: Callable[[Json, Any], Content] | None = (
            _text if render is None and signature.value.get("type") == "string" else render
        )
        title = signature.name if name is None else name
        if shown is None:
            raise InvalidTool(f"define_tool({title}): a value that is no text needs render, which makes its content")
        return _checked(
            ToolDefinition(
                name=title,
                description=(getdoc(function) or "") if description is None else description,
                parameters=signature.parameters,
                output=ToolOutput(schema=signature.value, render=shown, presentation_meta=presentation_meta),
                execute=body_of(function, signature),
                **more,
            )
        )

    return decorate if written is None else decorate(written)


def _checked(written: ToolDefinition) -> ToolDefinition:
    """Compile a definition in the schema language, and put the validation of arguments around its callbacks."""
    if not is_duration(written.timeout_ms):
        raise InvalidTool(f"defineTool({written.name}): timeoutMs must be a positive finite number")
    parameters = _compiled_parameters(written)
    check_output(written)
    output = replace(written.output, schema=compile_value(written.output.schema))

    def execute(arguments: Json, run: ToolRun) -> Awaitable[object]:
        if violations := violations_of(parameters, arguments, ""):  # the body's affair: SCHEMA-ARGS-02
            raise ToolArgsError(violations)
        return written.execute(arguments, run)

    def only_if_valid(callback: Callable[..., object] | None, otherwise: object) -> Any:  # noqa: ANN401 - as the callback
        if callback is None:
            return None

        def call(arguments: Json, *more: Mapping[str, Json]) -> object:
            return otherwise if violations_of(parameters, arguments, "") else callback(arguments, *more)

        return call

    return replace(
        written,
        parameters=parameters,
        output=output,
        execute=execute,
        is_concurrency_safe=only_if_valid(written.is_concurrency_safe, otherwise=False),
        present_call=only_if_valid(written.present_call, otherwise=None),
        present_result=only_if_valid(written.present_result, otherwise=None),
    )


def _compiled_parameters(written: ToolDefinition) -> JsonObject:
    try:
        return compile_parameters(written.parameters)
    except JsonSchemaError as error:
        if is_record(written.parameters) and isinstance(written.parameters.get("type"), str):
            error.add_note(
                f"The parameters of {written.name} are JSON Schema, to which define_tool compiles the schema language. "
                "Register the definition as it is, also if define_tool has made it already."
            )
        raise


def _text(_: Json, value: str) -> Content:
    return ({"type": "text", "text": value},)
