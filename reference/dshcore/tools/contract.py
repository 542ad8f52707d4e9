"""What a tool promises: a value that fits its schema, and parts that make JSON of it."""

from collections.abc import Callable

from dshcore import eager
from dshcore.host import is_contained
from dshcore.json import Json, NotJson, freeze
from dshcore.tools.definitions import ToolDefinition
from dshcore.tools.errors import ToolOutputError
from dshcore.tools.json_schema import violations_of
from dshcore.tools.results import text_of


def canonical_of(definition: ToolDefinition, value: object) -> Json:
    """Return a value as it stands at this moment, if it keeps the contract of its tool.

    Args:
        definition: The tool.
        value: What the body answered.

    Returns:
        The value as it counts from now on, frozen.

    Raises:
        ToolOutputError: It is no lossless JSON, or does not fit the schema.

    Spec:
        SCHEMA-OUT-01, PIPE-BODY-02
    """
    canonical = _lossless(definition, value, "value is not lossless JSON")
    if violations := violations_of(definition.output.schema, canonical):
        raise ToolOutputError(definition.name, violations)
    return canonical


def _lossless(definition: ToolDefinition, value: object, violation: str) -> Json:
    try:
        return freeze(value)
    except NotJson as error:
        eager.discard(value)
        raise ToolOutputError(definition.name, (violation,)) from error  # which tells where, and what to do about it


def made_by(definition: ToolDefinition, part: str, make: Callable[[], object]) -> Json:
    """Return what a part of a definition makes of a value.

    Args:
        definition: The tool.
        part: The part, as violations name it.
        make: Calls it.

    Returns:
        What was made, frozen.

    Raises:
        ToolOutputError: It failed, or made what is no lossless JSON.

    Spec:
        SCHEMA-OUT-02
    """
    try:
        made = make()
    except BaseException as error:
        if not is_contained(error):
            raise
        raise ToolOutputError(definition.name, (f"{part} failed: {text_of(error)}",)) from error
    return _lossless(definition, made, f"{part} returned non-lossless JSON")
