"""Tools as annotated functions: what a function says of the tool that it is, and the body that it makes.

`dshcore.tools.type_nodes` tells what the types come to. A parameter with a default need not be sent; the default is
told to the model where it is JSON. One parameter may be the `ToolRun`.
"""

import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from reprlib import repr as shortened
from typing import Final, cast

from dshcore.json import Json, NotJson, abridged, freeze
from dshcore.tools.errors import InvalidTool
from dshcore.tools.executions import ToolRun
from dshcore.tools.json_schema import violations_of
from dshcore.tools.nodes import Node
from dshcore.tools.schema_language import compile_value
from dshcore.tools.type_nodes import KNOWN, Place, hints_of, node_of, shown, undescribed

Function = Callable[..., Awaitable[object]]
"""A coroutine function whose parameters are those of a tool; one of them may be the `ToolRun`."""

_UNNAMED: Final[Mapping[object, str]] = {
    inspect.Parameter.POSITIONAL_ONLY: "is not passed by name, as arguments are: leave out the /",
    inspect.Parameter.VAR_POSITIONAL: "is many arguments, and each has a name: write one parameter for each",
    inspect.Parameter.VAR_KEYWORD: "is many arguments, and each has a name: write one parameter for each",
}


@dataclass(frozen=True, slots=True)
class Signature:
    """What a function says of the tool that it is.

    Attributes:
        name: What it is called.
        parameters: Its parameters, in the schema language.
        value: What it returns, likewise.
        run: The parameter that is given the run, if one is.
    """

    name: str
    parameters: Mapping[str, Node]
    value: Node
    run: str | None


def read_signature(function: Function) -> Signature:
    """Read the types of a function.

    Raises:
        InvalidTool: It is no coroutine function, has a parameter that cannot be sent by name, a default of another
            type than its own, or a type that the schema language cannot say; the error names its place.
    """
    name = _name_of(function)
    hints = hints_of(function, Place(name, "signature"))
    parameters: dict[str, Node] = {}
    run: str | None = None
    for index, parameter in enumerate(inspect.signature(function).parameters.values()):
        place = Place(name, f"parameters.{parameter.name}")
        if index == 0 and parameter.name in ("self", "cls") and parameter.name not in hints:
            place.refuse("is an object: make a tool of a method where it is bound, by define_tool(object.method)")
        if parameter.kind in _UNNAMED:
            place.refuse(_UNNAMED[parameter.kind])
        if parameter.name not in hints:
            place.refuse(f"has no annotation: use {KNOWN}")
        hint = undescribed(hints[parameter.name])
        if hint is ToolRun:
            if run is not None:
                place.refuse(f'is a second ToolRun beside "{run}": a call has one run')
            run = parameter.name
            continue
        node = node_of(hints[parameter.name], place)
        parameters[parameter.name] = _with_default(node, parameter.default, hint, place)
    returned = Place(name, "return", of_value=True)
    if "return" not in hints:
        returned.refuse(f"has no annotation: use {KNOWN}")
    return Signature(name, parameters, node_of(hints["return"], returned), run)


def body_of(function: Function, signature: Signature) -> Callable[[Json, ToolRun], Awaitable[object]]:
    """Make the body of a tool: it calls the function with the arguments that have a parameter, and with the run.

    Args:
        signature: What was read off the function.
        function: The function.
    """

    def execute(arguments: Json, run: ToolRun) -> Awaitable[object]:
        given = cast("Mapping[str, Json]", arguments)  # validated: an object
        known: dict[str, object] = {name: given[name] for name in signature.parameters if name in given}
        if signature.run is not None:
            known[signature.run] = run
        return function(**known)

    return execute


def _name_of(function: object) -> str:
    """Answer the name of a coroutine function.

    Raises:
        InvalidTool: It is none.
    """
    if isinstance(function, str):
        raise InvalidTool(
            f'define_tool("{function}"): a name is given by keyword: write define_tool(name="{function}")'
        )
    name: object = getattr(function, "__name__", None)
    kind = type(function)
    if not isinstance(name, str):
        raise InvalidTool(f"define_tool needs a coroutine function, not {shortened(function)}: wrap it in an async def")
    if inspect.iscoroutinefunction(function):
        return name
    if kind in (staticmethod, classmethod):
        better = f"leave @{kind.__name__} out"
    elif inspect.isasyncgenfunction(function):
        better = "return a value instead of yielding some"
    elif name == "<lambda>":
        better = "write an async def in place of the lambda"
    elif inspect.iscoroutinefunction(inspect.unwrap(cast("Callable[..., object]", function))):
        better = f"what wraps {name} is none, so write the wrapper with async def"
    else:
        better = f"write async def {name}"
    raise InvalidTool(f"define_tool({name}): the body of a tool is a coroutine function: {better}")


def _with_default(node: Node, default: object, hint: object, place: Place) -> Node:
    if default is inspect.Parameter.empty:
        return {**node, "required": True}
    try:
        told = freeze(default)
    except NotJson:  # the body fills it in by itself
        return node
    if violations_of(compile_value(node), told):
        better = f": write {shown(hint)} | None" if told is None else ""
        place.refuse(f"has the default {abridged(default)}, which is no {shown(hint)}{better}")
    return {**node, "default": told}
