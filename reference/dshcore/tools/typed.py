"""Typed tools: their parameters and values are written in the schema language, their arguments are validated."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from dshcore.json import Json
from dshcore.tools.definitions import ToolDefinition, check_output, is_duration
from dshcore.tools.errors import InvalidTool, ToolArgsError
from dshcore.tools.executions import ToolRun
from dshcore.tools.json_schema import violations_of
from dshcore.tools.schema_language import compile_parameters, compile_value


def define_tool(written: ToolDefinition) -> ToolDefinition:
    """Make a tool whose body and classifier are only called with arguments that fit its parameters.

    Args:
        written: The tool, with `parameters` and `output.schema` in the schema language.

    Returns:
        A definition for the registry.

    Raises:
        InvalidTool: It has an impossible timeout, or does not declare its output.
        JsonSchemaError: Its parameters, or its output schema, are not of the language.

    Spec:
        SCHEMA-OUT-03, SCHEMA-ARGS-01, MODE-CLASS-02, PRESENT-CALL-02
    """
    if not is_duration(written.timeout_ms):
        raise InvalidTool(f"defineTool({written.name}): timeoutMs must be a positive finite number")
    parameters = compile_parameters(written.parameters)
    check_output(written)
    output = replace(written.output, schema=compile_value(written.output.schema))

    async def execute(arguments: Json, run: ToolRun) -> object:
        if violations := violations_of(parameters, arguments, ""):
            raise ToolArgsError(violations)
        return await written.execute(arguments, run)

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
