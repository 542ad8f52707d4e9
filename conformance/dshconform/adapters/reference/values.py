"""The value notation, both ways.

JSON stands for itself. An object with one of the keys in `NOTATIONS` stands for what JSON cannot say: a function of
the suite, an error, a field of the call, NaN. What the implementation hands over is shown in the same notation.
"""

import inspect
import math
from asyncio import Future, get_running_loop
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from typing import Any, Final, NamedTuple, Never, Protocol, TypeAlias

import msgspec

from dshconform.adapters.reference.fault import Fault
from dshconform.adapters.reference.paths import camel_case
from dshconform.protocol.json_value import Json, JsonMap
from dshcore.json import JsonObject

NOTATIONS: Final = frozenset(
    {
        *("$value", "$up", "$error", "$fn", "$signal", "$token", "$arg", "$next", "$kept", "$disposer", "$stream"),
        "$raw",
    }
)
"""The keys that make an object notation."""


class Shown(dict[str, Json]):
    """How a command ended, as it is shown: a script answers a list of them, and none is shown a second time."""


_AS_IT_IS: Final = frozenset({str, bool, int, Shown})

_LEVELS: Final = 100
"""Notation stands at most this deep; plain JSON below is copied without recursion."""


class Scope(Protocol):
    """Where a value is read: what the names in it stand for."""

    def function(self, form: JsonMap) -> object:
        """The function of the suite that `{"$fn": name, …}` describes.

        Args:
            form: The notation, whole.
        """
        ...

    def error(self, form: JsonMap) -> object:
        """The error that `{"$error": form}` asks for."""
        ...

    def named(self, notation: str, name: str) -> object:
        """What `$signal`, `$disposer`, `$kept` or `$token` names.

        Args:
            notation: Which of them.
            name: The suite's name for it.
        """
        ...

    def field(self, path: str) -> object:
        """A field of the call, the object itself.

        Args:
            path: Members and places, with dots between them.
        """
        ...

    def next_answer(self, index: int) -> object:
        """What the `index`-th `next()` of the call answered."""
        ...

    def stream(self, script: Sequence[Json]) -> object:
        """A chunk stream that follows a script."""
        ...


class _Inside(NamedTuple):
    """A container, and the containers around it: a linked list, the nearest first."""

    container: object
    around: "_Inside | None"


def decode(value: Json, scope: Scope) -> object:
    """Read a value: plain dicts, lists and scalars of its own, and what the notations in it stand for.

    Args:
        value: As the suite wrote it.
        scope: What the notations stand for.

    Returns:
        The value.

    Raises:
        Fault: A notation is malformed or names nothing.
    """
    return _decode(value, scope, None, _LEVELS)


def _decode(value: object, scope: Scope, around: _Inside | None, levels: int) -> object:
    kind = type(value)
    if kind is str or kind is int or value is None or kind is bool or kind is float:
        return value
    if levels == 0:
        return _copy_plain(value)
    if isinstance(value, Mapping):
        members: dict[str, object] = {}
        inside = _Inside(members, around)
        for key, member in value.items():
            if key[:1] == "$" and key in NOTATIONS:
                return _notation(key, value, scope, around, levels)
            kind = type(member)
            if kind is str or kind is int or member is None:
                members[key] = member
            else:
                members[key] = _decode(member, scope, inside, levels - 1)
        return members
    if isinstance(value, Sequence):
        items: list[object] = []
        inside = _Inside(items, around)
        items.extend(_decode(item, scope, inside, levels - 1) for item in value)
        return items
    raise Fault(f"{value!r} is no JSON value")


def _notation(key: str, form: JsonMap, scope: Scope, around: _Inside | None, levels: int) -> object:
    if key != "$fn" and len(form) != 1:
        other = next(name for name in form if name != key)
        raise Fault(f"an object with {key} has no other member, and this one has {other!r}: send it literally by $raw")
    content = form[key]
    match key, content:
        case "$value", str():
            return _special(content)
        case "$up", int():
            return _up(content, around)
        case "$fn", str():
            return scope.function(form)
        case "$error", Mapping():
            return scope.error(content)
        case (("$signal" | "$disposer" | "$kept" | "$token"), str()):
            return scope.named(key, content)
        case "$arg", str():
            return scope.field(content)
        case "$next", int():
            return scope.next_answer(content)
        case "$stream", Sequence() if not isinstance(content, str):
            return scope.stream(content)
        case "$raw", _:
            return _decode_literal(content, levels)
    raise Fault(f"{key} is malformed: {content!r}")


def _special(name: str) -> object:
    maker = _SPECIAL.get(name)
    if maker is None:
        raise Fault(f"$value {name!r} is none of {', '.join(_SPECIAL)}")
    return maker()


class _Unprintable:
    """A value whose conversion to text fails."""

    def __str__(self) -> Never:
        raise ValueError("unprintable")

    __repr__ = __str__


def _pending() -> Future[object]:
    return get_running_loop().create_future()


def _do_nothing(*_: object) -> None:
    """Be a function."""


_SPECIAL: Final[Mapping[str, Callable[[], object]]] = {
    "NaN": lambda: math.nan,
    "Infinity": lambda: math.inf,
    "-Infinity": lambda: -math.inf,
    "-0": lambda: -0.0,
    "undefined": lambda: None,  # this language has one empty value
    "awaitable": _pending,
    "function": lambda: _do_nothing,
    "unprintable": _Unprintable,
}


def _up(distance: int, around: _Inside | None) -> object:
    found = around
    for _ in range(distance - 1):
        found = found.around if found else None
    if distance < 1 or found is None:
        raise Fault(f"$up {distance}: there are not so many containers around it")
    return found.container


def _decode_literal(value: object, levels: int) -> object:
    """Copy JSON in which no key means anything."""
    if levels == 0:
        return _copy_plain(value, literal=True)
    if isinstance(value, Mapping):
        return {key: _decode_literal(member, levels - 1) for key, member in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_decode_literal(item, levels - 1) for item in value]
    return value


def _copy_plain(value: object, *, literal: bool = False) -> object:
    """Copy JSON of any depth, without recursion."""
    root: list[object] = [value]
    todo: list[tuple[object, object]] = [(root, 0)]
    while todo:
        holder, key = todo.pop()
        item = holder[key]  # type: ignore[index]
        if isinstance(item, Mapping):
            if not literal and not NOTATIONS.isdisjoint(item):
                raise Fault(f"notation stands at most {_LEVELS} levels deep")
            copy: object = dict(item)
            todo.extend((copy, name) for name, member in item.items() if _is_container(member))
        elif isinstance(item, Sequence) and not isinstance(item, str):
            copy = list(item)
            todo.extend((copy, index) for index, member in enumerate(item) if _is_container(member))
        else:
            continue
        holder[key] = copy  # type: ignore[index]
    return root[0]


def _is_container(value: object) -> bool:
    return isinstance(value, Mapping | Sequence) and not isinstance(value, str)


Show: TypeAlias = Callable[[object], "Json | None"]
"""Shows what has a form of its own (subjects, signals, errors); none for everything else."""


def encode(value: object, show: Show) -> Json:
    """Show a value of the implementation. Frozen JSON is shared, everything else copied as it is at this moment.

    Args:
        value: Anything.
        show: Shows what has a form of its own.

    Returns:
        JSON, with notations for what JSON does not have.
    """
    return _encode(value, show, None)


def _encode(value: object, show: Show, around: _Inside | None) -> Json:
    if value is None or type(value) in _AS_IT_IS:
        return value  # type: ignore[return-value]  # as the type says
    match value:
        case JsonObject() if not _mentions_notation(value):
            return value
        case Mapping():
            return _encode_members(value, value, show, around)
        case str():
            return value
        case int():
            return int(value)
        case float():
            return _encode_number(value)
        case Sequence() if not isinstance(value, bytes):
            up = _distance(value, around)
            inside = _Inside(value, around)
            return {"$up": up} if up else [_encode(item, show, inside) for item in value]
    shown = show(value)
    if shown is not None:
        return shown
    members = _members_of(value)
    if members is not None:
        return _encode_members(members, value, show, around)
    return _encode_opaque(value)


def _encode_number(value: float) -> Json:
    if math.isnan(value):
        return {"$value": "NaN"}
    if math.isinf(value):
        return {"$value": "Infinity" if value > 0 else "-Infinity"}
    if value == 0 and math.copysign(1, value) < 0:
        return {"$value": "-0"}
    return value


def _encode_members(members: Mapping[object, object], value: object, show: Show, around: _Inside | None) -> Json:
    up = _distance(value, around)
    if up:
        return {"$up": up}
    inside = _Inside(value, around)
    if NOTATIONS.isdisjoint(map(str, members)):
        return {str(name): _encode(member, show, inside) for name, member in members.items()}
    return {"$raw": {str(name): _encode_literal(member, show, inside) for name, member in members.items()}}


def _encode_literal(value: object, show: Show, around: _Inside) -> Json:
    """Show what stands inside `$raw`, where no key means anything."""
    if _distance(value, around):
        return {"$up": _distance(value, around)}  # the best there is: JSON cannot say it
    match value:
        case Mapping():
            inside = _Inside(value, around)
            return {str(key): _encode_literal(member, show, inside) for key, member in value.items()}
        case list() | tuple():
            return [_encode_literal(item, show, _Inside(value, around)) for item in value]
    return _encode(value, show, around)


def _distance(value: object, around: _Inside | None) -> int:
    """How many containers up a container stands around itself; 0 if it does not."""
    distance = 1
    while around is not None:
        if around.container is value:
            return distance
        distance, around = distance + 1, around.around
    return 0


def _members_of(value: object) -> dict[object, object] | None:
    """The members of a record, under the names of the specification, absent ones left out."""
    members: dict[object, object] = {}
    if isinstance(value, msgspec.Struct):
        config = value.__struct_config__
        if config.tag_field is not None:
            members[config.tag_field] = config.tag
        names = zip(value.__struct_fields__, value.__struct_encode_fields__, strict=True)
    elif is_dataclass(value) and not isinstance(value, type):
        names = zip(*_dataclass_names(value.__class__), strict=True)
    else:
        return None
    members.update((shown, getattr(value, name)) for name, shown in names)
    return {name: member for name, member in members.items() if member is not msgspec.UNSET}


@cache
def _dataclass_names(kind: type[Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    names = tuple(field.name for field in fields(kind))
    return names, tuple(camel_case(name) for name in names)


def _encode_opaque(value: object) -> Json:
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, AsyncIterator):
        return {"$value": "stream"}
    if inspect.isawaitable(value):
        return {"$value": "awaitable"}
    if callable(value):
        return {"$value": "function"}
    return {"other": type(value).__name__}


def _mentions_notation(value: JsonObject) -> bool:
    """Whether a key somewhere in frozen JSON would be read as notation."""
    if _PLAIN.get(id(value)) is value:
        return False
    if _may_mention(value) and _has_key(value):
        return True
    if len(_PLAIN) >= _MOST_PLAIN:
        _PLAIN.clear()
    _PLAIN[id(value)] = value
    return False


_PLAIN: Final[dict[int, JsonObject]] = {}
"""Frozen JSON that was found to hold no notation: messages are shown again and again."""
_MOST_PLAIN: Final = 1_000
_ENCODER: Final = msgspec.json.Encoder()


def _may_mention(value: JsonObject) -> bool:
    """Whether a text somewhere begins like notation: writing it all costs a third of a walk."""
    try:
        return b'"$' in _ENCODER.encode(value)
    except (RecursionError, UnicodeEncodeError):  # too deep, or half a surrogate pair
        return True


def _has_key(value: JsonObject) -> bool:
    """Whether a key somewhere is one of notation."""
    todo: list[Any] = [value]
    for item in todo:  # it grows while it is walked
        if type(item) is JsonObject:
            if not NOTATIONS.isdisjoint(item):
                return True
            todo.extend(item.values())
        elif type(item) is tuple:
            todo.extend(item)
    return False
