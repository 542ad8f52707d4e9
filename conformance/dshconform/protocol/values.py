"""The value notation: what stands for things that JSON cannot say.

JSON stands for itself, except an object that has one of the keys in `NOTATIONS`: it is that notation, whole. Each
notation is a struct here, so what one may look like is said once, to the suite, to the schema and to the reader.
"""

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

import msgspec
from msgspec import UNSET, UnsetType, field

from dshconform.protocol.functions import FunctionSpec, Script
from dshconform.protocol.json_value import Json
from dshconform.protocol.names import Count, Index, Name, Path

SpecialName: TypeAlias = Literal[
    "NaN", "Infinity", "-Infinity", "-0", "undefined", "awaitable", "function", "unprintable", "stream"
]
"""What `{"$value": …}` may name: values that JSON does not have."""


class Special(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A value that JSON has no text for.

    `undefined` is no value (a language with one empty value shows null instead; an absent member is left out),
    `awaitable` a pending computation, `unprintable` a value whose conversion to text fails. `stream` is shown only:
    what the `next()` of `llm/stream` answered.
    """

    value: SpecialName = field(name="$value")


class Up(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The n-th enclosing container, 1 being the nearest: a value that contains itself."""

    up: Count = field(name="$up")


class Raw(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Its content literally, whatever keys stand in it."""

    raw: Json = field(name="$raw")


class ErrorSpec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An error for the adapter to make.

    `kind`: `plain` is the language's own error, `coded` one of the harness, `model` an LlmError, `aggregate` one with
    `members`. `code` on a plain error is an attribute that nobody has to trust. `as` names the error: where it shows up
    again, its form has `is` with that name.
    """

    kind: Literal["plain", "coded", "model", "aggregate"] = "plain"
    message: str
    """The text of the error."""
    name: Name | UnsetType = UNSET
    code: Json | UnsetType = UNSET
    failure: Json | UnsetType = UNSET
    """What a `model` error knows of the provider's failure, raw."""
    status: Json | UnsetType = UNSET
    """The HTTP status of a `model` error, raw."""
    provider_retry_after_ms: Json | UnsetType = field(default=UNSET, name="providerRetryAfterMs")
    """How long the provider asks to wait, in milliseconds, raw."""
    request_id: Json | UnsetType = field(default=UNSET, name="requestId")
    """The provider's id of the request, raw."""
    members: list[Json] | UnsetType = UNSET
    cause: Json | UnsetType = UNSET
    """The error that it is made from, as any value is written."""
    as_: Name | UnsetType = field(default=UNSET, name="as")


class MadeError(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An error made by the adapter."""

    error: ErrorSpec = field(name="$error")


class SignalRef(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A signal made by `signal.new`."""

    signal: Name = field(name="$signal")


class TokenRef(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An execution token, named by the adapter in order of appearance (`t1`, `t2`, …)."""

    token: Name = field(name="$token")


class FieldRef(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Inside a function: a field of this call, the object itself."""

    arg: Path = field(name="$arg")


class NextRef(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Inside a function: what the n-th `next()` of this call (from 0) answered, the object itself."""

    next: Index = field(name="$next")


class KeptRef(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A value that the adapter holds (feature `values`)."""

    kept: Name = field(name="$kept")


class DisposerRef(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The exact disposer that was registered under that name."""

    disposer: Name = field(name="$disposer")


class StreamSpec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A chunk stream that follows the script."""

    stream: Script = field(name="$stream")


NOTATIONS: Final[Mapping[str, type[msgspec.Struct]]] = {
    "$raw": Raw,
    "$value": Special,
    "$up": Up,
    "$error": MadeError,
    "$fn": FunctionSpec,
    "$signal": SignalRef,
    "$token": TokenRef,
    "$arg": FieldRef,
    "$next": NextRef,
    "$kept": KeptRef,
    "$disposer": DisposerRef,
    "$stream": StreamSpec,
}
"""Every notation by its key."""

SHOWN: Final = ("$raw", "$value", "$up")
"""The notations that an adapter uses too, for what the implementation hands over."""
