"""Prompt assembly in the notation of the protocol: its options and assemblies, read and shown.

Specific to `dshcore`. An assembly that is none is passed on as it is: a wrong answer is a test.
"""

from collections.abc import Mapping
from typing import Any, Final

from dshconform.adapters.reference.fault import Fault
from dshconform.adapters.reference.paths import snake_case
from dshconform.protocol.json_value import Json
from dshcore.json import freeze
from dshcore.system_prompt import Assembly, PromptOptions, PromptText

_OPTIONS: Final = ("includeHarnessIdentity", "persona", "includeRuntimeContext", "toolOrder")


def read_options(value: Json) -> PromptOptions:
    """The options of a deployment.

    Raises:
        Fault: There is no such option.
    """
    if not isinstance(value, Mapping) or value.keys() - set(_OPTIONS):
        raise Fault(f"world.open: config 'prompt' is an object of {', '.join(_OPTIONS)}, not {value!r}")
    options: dict[str, Any] = {snake_case(name): option for name, option in value.items()}
    return PromptOptions(**options)


def read_assembly(value: object) -> object:
    """An assembly that the suite wrote; what it does not mention is empty."""
    if not isinstance(value, Mapping):
        return value
    known = {"sections", "contexts", "tools", "variables"}
    try:
        assembly = Assembly(
            sections=[PromptText(text["name"], text["text"]) for text in value.get("sections", ())],
            contexts=[PromptText(text["name"], text["text"]) for text in value.get("contexts", ())],
            tools=[freeze(tool) for tool in value.get("tools", ())],
            variables=dict(value.get("variables", {})),
        )
    except (LookupError, TypeError, ValueError):  # a member that is none of these
        return value
    for name, member in value.items():
        if name not in known:
            setattr(assembly, name, member)
    return assembly


def show_assembly(assembly: Assembly) -> dict[str, object]:
    """The members of an assembly, those that listeners have added included; a variable without a value is absent."""
    members = dict(vars(assembly))
    members["variables"] = {name: value for name, value in assembly.variables.items() if value is not None}
    return members
