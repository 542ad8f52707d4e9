"""Tools as annotated functions: the schema language is read off the types of parameters and of what is returned.

| annotation | node |
|---|---|
| `str`, `int`, `float`, `bool`, `None` | `string`, `integer`, `number`, `boolean`, `null` |
| `Literal["a", "b"]` | the type of its values, with `enum` |
| `Sequence[T]`, `tuple[T, ...]`; of a value also `list[T]` | `array` of `T` |
| `Mapping[str, object]`; of a value also `dict[str, object]` | an open `object` |
| a `TypedDict` | a closed `object` with its members |
| `A | B`, `Optional[A]` | `oneOf` |
| `object`, `Any` | `json` |
| `Annotated[T, "text"]` | `T`, with the text as its description |

Arguments are immutable, so a list or a dict is nothing that a body is ever given. A parameter with a default need not
be sent; the default is told to the model where it is JSON.
"""

import inspect
import types
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import (
    Annotated,
    Any,
    Final,
    Literal,
    NoReturn,
    NotRequired,
    Required,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from dshcore.json import Json, NotJson, freeze
from dshcore.tools.errors import InvalidTool
from dshcore.tools.executions import ToolRun

Function = Callable[..., Awaitable[object]]
"""A coroutine function whose parameters are those of a tool; one of them may be the `ToolRun`."""

_SCALARS: Final[Mapping[object, str]] = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    type(None): "null",
}
_KNOWN: Final = (
    "str, int, float, bool, None, Literal, Sequence[T], Mapping[str, object], a TypedDict, unions of these, "
    "or object for any JSON"
)


@dataclass(frozen=True, slots=True)
class Signature:
    """What a function says of the tool that it is.

    Attributes:
        parameters: Its parameters, in the schema language.
        value: What it returns, likewise.
        run: The parameter that is given the run, if one is.
    """

    parameters: Mapping[str, Any]
    value: Mapping[str, Any]
    run: str | None


def read_signature(function: Function) -> Signature:
    """Read the types of a function.

    Raises:
        InvalidTool: It is no coroutine function, has a parameter that cannot be sent by name, or a type that the
            schema language cannot say; the error names its place.
    """
    name = function.__name__
    if not inspect.iscoroutinefunction(function):
        raise InvalidTool(f"define_tool({name}): the body of a tool is a coroutine function: write async def {name}")
    try:
        hints = get_type_hints(function, include_extras=True)
    except NameError as error:
        raise InvalidTool(f"define_tool({name}): {error}: annotations must be readable where the tool is") from error
    reader = _Reader(name)
    parameters: dict[str, Any] = {}
    run: str | None = None
    for parameter in inspect.signature(function).parameters.values():
        path = f"parameters.{parameter.name}"
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            reader.refuse(path, "is not passed by name: arguments are named, so write one parameter for each")
        if parameter.name not in hints:
            reader.refuse(path, f"has no annotation: use {_KNOWN}")
        if hints[parameter.name] is ToolRun:
            run = parameter.name
            continue
        node = reader.node(hints[parameter.name], path, of_value=False)
        parameters[parameter.name] = _with_default(node, parameter.default)
    if "return" not in hints:
        reader.refuse("return", f"has no annotation: use {_KNOWN}")
    return Signature(parameters, reader.node(hints["return"], "return", of_value=True), run)


def body_of(function: Function, signature: Signature) -> Callable[[Json, ToolRun], Awaitable[object]]:
    """Make the body of a tool: it calls the function with the arguments that have a parameter, and with the run."""

    def execute(arguments: Json, run: ToolRun) -> Awaitable[object]:
        given = cast("Mapping[str, Json]", arguments)  # validated: an object
        known: dict[str, object] = {name: given[name] for name in signature.parameters if name in given}
        if signature.run is not None:
            known[signature.run] = run
        return function(**known)

    return execute


def _with_default(node: dict[str, Any], default: object) -> dict[str, Any]:
    if default is inspect.Parameter.empty:
        return {**node, "required": True}
    try:
        return {**node, "default": freeze(default)}
    except NotJson:  # the body fills it in by itself
        return node


class _Reader:
    """Reads types.

    Args:
        tool: The tool, for errors.
    """

    def __init__(self, tool: str) -> None:
        self._tool = tool
        self._around: list[type] = []
        """The records that the place stands in."""

    def refuse(self, path: str, problem: str) -> NoReturn:
        raise InvalidTool(f"define_tool({self._tool}): {path} {problem}")

    def node(self, hint: object, path: str, *, of_value: bool) -> dict[str, Any]:
        """Return the node that a type comes to."""
        origin, args = get_origin(hint), get_args(hint)
        if origin is Annotated:
            texts = [note for note in args[1:] if isinstance(note, str)]
            return {**self.node(args[0], path, of_value=of_value), **({"description": texts[0]} if texts else {})}
        if hint is object or hint is Any:
            return {"type": "json"}
        if isinstance(hint, type) and hint in _SCALARS:
            return {"type": _SCALARS[hint]}
        if is_typeddict(hint):
            return self._members(cast("type", hint), path, of_value=of_value)
        if origin is Literal:
            return self._literal(args, path)
        if origin in (Union, types.UnionType):
            return self._union(args, path, of_value=of_value)
        bare = hint if origin is None else origin
        if bare in (list, dict) and not of_value:
            better = "Sequence[T]" if bare is list else "Mapping[str, object]"
            self.refuse(path, f"is {_shown(hint)}, and arguments are immutable: use {better}")
        if bare in (list, tuple, Sequence):
            return self._array(bare, args, path, of_value=of_value)
        if bare in (dict, Mapping):
            if args and (args[0] is not str or args[1] not in (object, Any)):
                self.refuse(path, f"is {_shown(hint)}, whose members cannot be confined: use Mapping[str, object]")
            return {"type": "object", "additionalProperties": True}
        return self.refuse(path, f"is {_shown(hint)}, which the schema language cannot say: use {_KNOWN}")

    def _array(self, bare: object, args: tuple[Any, ...], path: str, *, of_value: bool) -> dict[str, Any]:
        if bare is tuple and (len(args) != 2 or args[1] is not Ellipsis):  # noqa: PLR2004 - tuple[T, ...]
            self.refuse(path, "is a tuple of a fixed length, which the schema language cannot say: use tuple[T, ...]")
        if not args:
            return {"type": "array"}
        return {"type": "array", "items": self.node(args[0], f"{path}.items", of_value=of_value)}

    def _literal(self, values: tuple[Any, ...], path: str) -> dict[str, Any]:
        kinds: set[object] = {type(value) for value in values}
        if len(kinds) != 1 or not kinds <= _SCALARS.keys():
            self.refuse(path, f"is {_shown(Literal[values])}: all values of an enum have one type")
        return {"type": _SCALARS[kinds.pop()], "enum": list(values)}

    def _union(self, branches: tuple[Any, ...], path: str, *, of_value: bool) -> dict[str, Any]:
        if int in branches and float in branches:
            self.refuse(path, "is int | float, and exactly one branch has to match: float is every number")
        nodes = [
            self.node(branch, f"{path}.oneOf[{index}]", of_value=of_value) for index, branch in enumerate(branches)
        ]
        return {"oneOf": nodes}

    def _members(self, record: type, path: str, *, of_value: bool) -> dict[str, Any]:
        if record in self._around:
            self.refuse(path, f"is {_shown(record)} inside itself, which the schema language cannot say")
        self._around.append(record)
        required: frozenset[str] = record.__required_keys__  # type: ignore[attr-defined]  # of a TypedDict
        properties: dict[str, Any] = {}
        for name, hint in get_type_hints(record, include_extras=True).items():
            bare = get_args(hint)[0] if get_origin(hint) in (Required, NotRequired) else hint
            node = self.node(bare, f"{path}.properties.{name}", of_value=of_value)
            properties[name] = {**node, "required": True} if name in required else node
        self._around.pop()
        return {"type": "object", "additionalProperties": False, "properties": properties}


def _shown(hint: object) -> str:
    return hint.__name__ if isinstance(hint, type) and not get_args(hint) else str(hint).replace("typing.", "")
