"""Lossless, deeply immutable JSON.

The record of a session is JSON. `freeze` checks a value and copies it, in one pass, into a form that cannot change:
objects become `JsonObject`, arrays become tuples. A part that is frozen already is shared, not copied.

What JSON cannot carry without loss is refused, not repaired: NaN and the infinities, negative zero, integers that a
double cannot hold, keys that are no text, every class but the plain containers and scalars, values that contain
themselves. Numbers are IEEE doubles, and a double has one form here: whole numbers are ``int`` up to where ECMAScript
starts to write an exponent (1e21), all others ``float``. Texts are UTF-16 units, and one has one form here: two halves
of a character that stand side by side are that character, a half alone stays what it is.

Nesting is bounded by memory alone. The first levels are walked by recursion, which is fast, everything below with a
stack of its own. msgspec encodes and decodes; where it gives up (depth, lone surrogates), `json_text` takes over.

Spec:
    LOG-JSON-01, LOG-JSON-02, LOG-JSON-03, LOG-JSON-04, LOG-JSON-05, LOG-JSON-06, LOG-JSON-07, LOG-JSON-08
"""

# Values of any class are walked here, so that much is of unknown type on purpose.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false

import re
from collections.abc import Iterator, Mapping, Sequence
from math import copysign, isfinite
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeAlias, TypeGuard, overload

import msgspec

from dshcore import json_text
from dshcore.errors import DshError

if TYPE_CHECKING:
    Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"
    """Any JSON value, as the record holds it: deeply immutable."""

    class JsonObject(Mapping[str, Any]):
        """An immutable JSON object."""

        def __getitem__(self, key: str) -> Any: ...  # noqa: ANN401 - a member is any JSON
        def __iter__(self) -> Iterator[str]: ...
        def __len__(self) -> int: ...

else:  # a recursive alias cannot be checked at run time: one level is enough there
    Json: TypeAlias = bool | int | float | str | Sequence | Mapping | None

    class JsonObject(dict):
        """An immutable JSON object: a dict whose writers raise. Only `freeze` makes one.

        Being a dict keeps the C encoders fast; to a type checker it is a mapping without writers.
        """

        __slots__ = ()

        def _refuse(self, *_: object, **__: object) -> NoReturn:
            raise TypeError("a frozen JSON object cannot change: freeze({**old, ...}) makes a new one")

        __init__ = __setitem__ = __delitem__ = __ior__ = update = pop = popitem = clear = setdefault = _refuse

        def __copy__(self) -> "JsonObject":
            return self

        def __deepcopy__(self, memo: object) -> "JsonObject":
            return self

        def __reduce__(self) -> tuple[object, ...]:
            return freeze, (dict(self),)


MAX_SAFE_INTEGER: Final = 2**53 - 1
"""The largest integer up to which doubles hold every integer."""


class NotJson(DshError, TypeError):
    """A value that JSON cannot carry without loss.

    Args:
        problem: What is wrong with it.
        path: Where it stands, outermost step first.
    """

    default_code = "NOT_JSON"

    def __init__(self, problem: str, path: Sequence[str | int] = ()) -> None:
        super().__init__(f"{problem}, at {_pointer(path)}" if path else problem)
        self.path = tuple(path)


_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_EXACT = 2**53
_EXPONENT_FROM = 10**21  # ECMAScript writes larger numbers with an exponent
_RECURSIVE_DEPTH = 64
_SHOWN = 40  # characters of a refused value in its message
_SHOWN_STEPS = 12


@overload
def freeze(value: Mapping[str, object]) -> JsonObject: ...
@overload
def freeze(value: object) -> Json: ...
def freeze(value: object) -> Json:
    """Return an immutable copy of a JSON value; what is frozen already comes back as it is.

    Args:
        value: Plain dicts, lists, tuples, texts, numbers, booleans and none, nested to any depth.

    Returns:
        The frozen value. It shares nothing that can change with the argument.

    Raises:
        NotJson: The value, or something in it, is not lossless JSON. The message tells what and where.

    Spec:
        LOG-JSON-01, LOG-JSON-02, LOG-JSON-03, LOG-JSON-04, LOG-JSON-05, LOG-JSON-06, LOG-JSON-07, LOG-JSON-08,
        FREEZE-DEEP-01
    """
    try:
        frozen: Json = _freeze(value, _RECURSIVE_DEPTH)
    except _Misplaced as misplaced:
        raise NotJson(misplaced.problem, misplaced.path[::-1]) from None
    return frozen


def encode(value: Json) -> bytes:
    """Return compact JSON text in UTF-8; lone surrogates are escaped.

    Raises:
        NotJson: The value is not lossless JSON.

    Spec:
        LOG-JSON-06
    """
    frozen = freeze(value)
    try:
        return msgspec.json.encode(frozen)
    except (RecursionError, UnicodeEncodeError):
        return json_text.write(frozen).encode()


def decode(text: bytes | str) -> Json:
    """Return the frozen value that a JSON text stands for.

    A number stands for the nearest double, as it does for ECMAScript, which writes no more digits than needed to
    tell a double from its neighbours.

    Args:
        text: One JSON value; bytes are UTF-8. Of equal keys in one object the last one counts.

    Raises:
        NotJson: The text is not JSON, or stands for a number that a double cannot hold. The message tells where.

    Spec:
        LOG-JSON-06
    """
    try:
        parsed: object = msgspec.json.decode(text)
        return freeze(parsed)
    except (RecursionError, UnicodeEncodeError, msgspec.DecodeError, NotJson):
        pass  # too deep, a lone surrogate, digits to be rounded, or no JSON at all: the slower reader knows
    try:
        return freeze(json_text.read(text.decode() if isinstance(text, bytes) else text))
    except UnicodeDecodeError as error:
        raise NotJson(f"not UTF-8 at byte {error.start}") from error
    except json_text.MalformedText as error:
        raise NotJson(str(error)) from None


def same(left: Json, right: Json) -> bool:
    """Return whether two values are the same JSON value, whatever the order of their members.

    Python's ``==`` takes ``True`` for ``1`` and a list never for a tuple; this tells booleans from numbers, and does
    not care how an array is held.

    Args:
        left: One value.
        right: The other.

    Spec:
        LOG-JSON-06
    """
    pairs: list[tuple[object, object]] = [(left, right)]
    while pairs:
        a, b = pairs.pop()
        if a is b:
            continue
        if is_object(a) and is_object(b):
            if a.keys() != b.keys():
                return False
            pairs.extend((member, b[key]) for key, member in a.items())
        elif is_array(a) and is_array(b):
            if len(a) != len(b):
                return False
            pairs.extend(zip(a, b, strict=True))
        elif a != b or isinstance(a, bool) is not isinstance(b, bool):
            return False
    return True


def is_object(value: object) -> TypeGuard[Mapping[str, Any]]:
    """Return whether a JSON value is an object."""
    return isinstance(value, Mapping)


def is_array(value: object) -> TypeGuard[Sequence[Any]]:
    """Return whether a JSON value is an array, however it is held."""
    return isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray | memoryview | range)


def is_text(value: object) -> TypeGuard[str]:
    """Return whether a value is a text that is not empty."""
    return isinstance(value, str) and value != ""


def is_finite(value: object) -> TypeGuard[int | float]:
    """Return whether a value is a number that a double can hold; a boolean is none."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    try:
        return isfinite(value)
    except OverflowError:  # an integer beyond all doubles
        return False


class _Misplaced(Exception):  # internal: collects the path while the walk unwinds
    def __init__(self, problem: str, *, in_key: bool = False) -> None:
        super().__init__(problem)
        self.problem = problem
        self.path: list[str | int] = []  # innermost step first
        self._in_key = in_key  # the innermost step is no step then: the object itself is the place

    def add_step(self, place: Any) -> None:  # noqa: ANN401 - a refused key may be anything
        if self._in_key:
            self._in_key = False
        else:
            self.path.append(place)


def _freeze(value: Any, levels: int) -> Any:  # noqa: ANN401 - any JSON
    """Walk one level; the scalars are told apart inside the loops because a call for each doubles the cost."""
    kind: type[Any] = type(value)
    if kind is str:
        return value if value.isascii() else _text(value)
    if value is None or kind is bool or kind is JsonObject:
        return value
    if kind is int or kind is float:
        return _number(value)
    if levels == 0:
        return _freeze_deep(value)
    if kind is dict:
        members: dict[str, Any] = {}
        key: Any = ""
        try:
            for key, member in value.items():
                if type(key) is not str:
                    _refuse_key(key)
                if not key.isascii():
                    key = _text(key)  # noqa: PLW2901 - the key as it is kept
                kind = type(member)
                if kind is str:
                    members[key] = member if member.isascii() else _text(member)
                elif member is None or kind is bool or kind is JsonObject:
                    members[key] = member
                elif kind is int or kind is float:
                    members[key] = _number(member)
                else:
                    members[key] = _freeze(member, levels - 1)
        except _Misplaced as misplaced:
            misplaced.add_step(key)
            raise
        return _object(members)
    if kind is list or kind is tuple:
        items: list[Any] = []
        add = items.append
        try:
            for item in value:
                kind = type(item)
                if kind is str:
                    add(item if item.isascii() else _text(item))
                elif item is None or kind is bool or kind is JsonObject:
                    add(item)
                elif kind is int or kind is float:
                    add(_number(item))
                else:
                    add(_freeze(item, levels - 1))
        except _Misplaced as misplaced:
            misplaced.add_step(len(items))
            raise
        return tuple(items)
    raise _Misplaced(_not_plain(value))


def _freeze_deep(value: Any) -> Any:  # noqa: ANN401 - any JSON
    """Do the same with a stack of frames: (members left, frozen so far, identity, place in the frame above)."""
    stack: list[tuple[Iterator[tuple[Any, Any]], Any, int, Any]] = []
    open_ids: set[int] = set()  # LOG-JSON-05: only what is being walked; a part met twice is no cycle

    def enter(container: Any, place: Any) -> None:  # noqa: ANN401 - any JSON
        if id(container) in open_ids:
            raise _Misplaced("a value that contains itself is not JSON")
        kind: type[Any] = type(container)
        if kind is dict:
            stack.append((iter(container.items()), {}, id(container), place))
        elif kind is list or kind is tuple:
            stack.append((iter(enumerate(container)), [], id(container), place))
        else:
            raise _Misplaced(_not_plain(container))
        open_ids.add(id(container))

    key: Any = None
    try:
        enter(value, None)
        while True:
            rest, out, identity, place = stack[-1]
            for key, member in rest:
                if type(out) is dict and type(key) is not str:
                    _refuse_key(key)
                kind = type(member)
                if kind is str:
                    _put(out, key, member if member.isascii() else _text(member))
                elif member is None or kind is bool or kind is JsonObject:
                    _put(out, key, member)
                elif kind is int or kind is float:
                    _put(out, key, _number(member))
                else:
                    enter(member, key)
                    break
            else:
                stack.pop()
                open_ids.discard(identity)
                done = _object(out) if type(out) is dict else tuple(out)
                if not stack:
                    return done
                _put(stack[-1][1], place, done)
    except _Misplaced as misplaced:
        if stack:
            misplaced.add_step(key)
            misplaced.path.extend(frame[3] for frame in reversed(stack[1:]))
        raise


def _put(out: Any, key: Any, member: object) -> None:  # noqa: ANN401 - dict or list
    if type(out) is dict:
        out[key if key.isascii() else _text(key)] = member
    else:
        out.append(member)


def _object(members: dict[str, Any]) -> JsonObject:
    frozen: Any = dict.__new__(JsonObject)  # type: ignore[type-var]  # the type checkers see a mapping
    dict.update(frozen, members)  # past the writers that refuse
    return frozen  # type: ignore[no-any-return]  # a JsonObject


def _text(text: str) -> str:
    """Return the one form that a text has here: halves of a character that meet are that character."""
    if _PAIR.search(text) is None:
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def _number(value: float) -> int | float:
    """Return the one form that a double has here."""
    if type(value) is int:
        if -_EXACT <= value <= _EXACT:
            return value
        try:
            double = float(value)
        except OverflowError:
            double = None
        if double is None or int(double) != value:
            raise _Misplaced(f"the integer {abridged(value)} is not a number that a double can hold")
        return value if abs(value) < _EXPONENT_FROM else double
    if not isfinite(value):
        raise _Misplaced(f"{value} is not a JSON number")
    if value == 0 and copysign(1, value) < 0:
        raise _Misplaced("negative zero is not a JSON number that keeps its sign")
    return int(value) if abs(value) < _EXPONENT_FROM and value.is_integer() else value


def _refuse_key(key: object) -> NoReturn:
    raise _Misplaced(f"the key {abridged(key)} of class {type(key).__name__} is not text", in_key=True)


def _not_plain(value: object) -> str:
    return f"a value of class {type(value).__name__} is not JSON: convert it to plain dicts, lists and scalars first"


def abridged(value: object) -> str:
    """Return how Python writes a value, cut where it is long, for the text of a refusal. Never raises."""
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001 - the refusal matters, not the value's own code
        return "<unprintable>"
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _pointer(path: Sequence[str | int]) -> str:
    steps = [f"[{step!r}]" for step in path]
    if len(steps) > _SHOWN_STEPS:
        steps[_SHOWN_STEPS // 2 : -_SHOWN_STEPS // 2] = [f"[… {len(steps) - _SHOWN_STEPS} more levels …]"]
    return "".join(steps)
