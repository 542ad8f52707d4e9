"""What a tool is made of."""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from msgspec import UNSET, UnsetType

from dshcore.json import Json, NotJson, abridged, freeze, is_finite
from dshcore.tools.errors import InvalidTool
from dshcore.tools.executions import ToolExecution, ToolRun
from dshcore.tools.json_schema import assert_supported
from dshcore.tools.results import Content, ToolResult
from dshcore.tools.views import CallView, ResultView

RESERVED_NAME: Final = "run_code"
"""The name that no tool may have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOutput:
    """What a tool returns, and how it is shown.

    Attributes:
        schema: The contract of the value, as it was when this was made.
        render: Makes of arguments and value the content that the model sees.
        presentation_meta: Makes of them durable data for whoever displays the call.
    """

    schema: Mapping[str, object]
    render: Callable[[Json, Json], Content]
    presentation_meta: Callable[[Json, Json], Json] | UnsetType = UNSET

    def __post_init__(self) -> None:
        with suppress(NotJson):  # otherwise it is refused when it is registered, with all that is wrong with it
            object.__setattr__(self, "schema", freeze(self.schema))


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolDefinition:
    """A tool. The registry keeps the definition that it is given.

    Attributes:
        name: Its identity in the layer that it is registered in; any text but the reserved one.
        description: What the model is told about it.
        parameters: The schema of its arguments, for the model.
        output: What it returns, and how that is shown.
        execute: The body. It gets the arguments and its run, and answers the canonical value.
        finalize_content: The last word on the content of a result; answering nothing keeps it.
        is_concurrency_safe: Whether a call with these arguments may overlap others; only true itself says so.
        timeout_ms: A budget for whoever enforces budgets; the registry does not.
        present_call: Makes a view of a call, for readers; answering nothing leaves it to the generic view.
        present_result: Makes likewise a view of a result as it was logged: `{content, isError, meta?}`.
    """

    name: str
    description: str
    parameters: Mapping[str, object]
    output: ToolOutput
    execute: Callable[[Json, ToolRun], Awaitable[object]]
    finalize_content: Callable[[ToolExecution, ToolResult], Content | None] | None = None
    is_concurrency_safe: Callable[[Json], bool] | None = None
    timeout_ms: float | UnsetType = UNSET
    present_call: Callable[[Json], CallView | None] | None = None
    present_result: Callable[[Json, Mapping[str, Json]], ResultView | None] | None = None


def check_definition(definition: object) -> None:
    """Refuse a definition that no tool can have; the first thing that is wrong is told.

    Raises:
        InvalidTool: It is no definition; output, timeout, name or description cannot be.
        JsonSchemaError: The output schema is not in the enforced subset.

    Spec:
        TOOL-DEF-02, TOOL-DEF-03, TOOL-DEF-04, TOOL-DEF-07, TOOL-DEF-08
    """
    if not isinstance(definition, ToolDefinition):
        raise InvalidTool(f"register needs a ToolDefinition, not {abridged(definition)}: make one with @define_tool")
    check_output(definition)
    assert_supported(definition.output.schema)
    if not is_duration(definition.timeout_ms):
        raise InvalidTool(f'tool "{definition.name}" timeoutMs must be a positive finite number')
    if definition.name == RESERVED_NAME:
        raise InvalidTool(
            f'tool name "{RESERVED_NAME}" is reserved for the Code Mode presentation transport and cannot be '
            "registered or shadowed"
        )
    for member in ("name", "description"):
        said: object = getattr(definition, member)
        if type(said) is not str:  # what is derived from it is no JSON, and every prompt would fail
            raise InvalidTool(f'tool "{definition.name}" has the {member} {abridged(said)}: give a plain text')


def check_output(definition: ToolDefinition) -> None:
    """Refuse a definition that does not declare what it returns (TOOL-DEF-02).

    Raises:
        InvalidTool: There is no output, no renderer, or a projector that is none.
    """
    output = definition.output
    meta = getattr(output, "presentation_meta", UNSET)
    if not callable(getattr(output, "render", None)) or not (meta is UNSET or callable(meta)):
        raise InvalidTool(f'tool "{definition.name}" must declare output {{ schema, render, presentationMeta? }}')


def is_duration(value: object) -> bool:
    """Tell whether a value is a budget of time: a positive finite number, fractions included; or none at all."""
    return value is UNSET or (is_finite(value) and value > 0)
