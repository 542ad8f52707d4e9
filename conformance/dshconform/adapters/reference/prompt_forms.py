"""Prompt assembly in the notation of the protocol: its options and assemblies, read and shown.

Specific to `dshcore`. An assembly that is none is passed on as it is: a wrong answer is a test.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from dshconform.adapters.reference.fault import Fault
from dshconform.adapters.reference.paths import snake_case
from dshconform.protocol.json_value import Json
from dshcore.json import freeze
from dshcore.system_prompt import Assembly, PromptOptions, PromptText, ToolOffer

_OPTIONS: Final = ("includeHarnessIdentity", "persona", "includeRuntimeContext", "toolOrder")


def read_options(value: Json) -> PromptOptions:
    """The options of a deployment.

    Args:
        value: The member `prompt` of a configuration.

    Returns:
        The options.

    Raises:
        Fault: There is no such option.
    """
    if not isinstance(value, Mapping) or value.keys() - set(_OPTIONS):
        raise Fault(f"world.open: config 'prompt' is an object of {', '.join(_OPTIONS)}, not {value!r}")
    options: dict[str, Any] = {snake_case(name): option for name, option in value.items()}
    return PromptOptions(**options)


def read_assembly(value: object) -> object:
    """An assembly that the suite wrote; what it does not mention is empty.

    Args:
        value: As the suite wrote it; what is no assembly is answered as it is.
    """
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


def read_part(path: str, value: object) -> object:
    """What the suite assigns in an assembly: texts and tools as the assembly holds them.

    Args:
        path: Where it is assigned.
        value: What is assigned.
    """
    match path.split("."):
        case ["assembly", "sections" | "contexts" | "tools" as name] if isinstance(value, Sequence):
            return getattr(read_assembly({name: value}), name, value)
    return value


def show_assembly(assembly: Assembly) -> dict[str, object]:
    """The members of an assembly, those that listeners have added included; a variable without a value is null."""
    return dict(vars(assembly))


def read_offer(value: object) -> object:
    """What a tool provider of the suite answers.

    Args:
        value: As the suite wrote it; what is no offer is answered as it is.
    """
    if not isinstance(value, Mapping) or "schemas" not in value:
        return value
    known = value.get("knownNames")
    return ToolOffer(value["schemas"], None if known is None else frozenset(known))
