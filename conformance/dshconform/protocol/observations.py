"""The rows of a reply: one struct for each kind of observation, and the typed reader of whole replies.

A row is a flat record whose members belong to the adapter: which function was called, which of its calls it was, at
which place of a script. What the implementation handed over stands in `payload`, `event`, `result`, `value`, `error`
and `reason` and is any JSON: the adapter shows what is there, so a wrong field there is the implementation's affair.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Final, Literal, Never, TypeAlias

import msgspec
from msgspec import UNSET, Meta, UnsetType

from dshconform.protocol.json_value import Json, JsonMap
from dshconform.protocol.messages import ErrorForm, Reply
from dshconform.protocol.names import Count, Index, Name, Place

ShownError: TypeAlias = Annotated[JsonMap, Meta(extra_json_schema={"$ref": "#/$defs/Error"})]
"""An error in its one form, or `{"value": …}`; which of the two cannot be said in types."""


class Observation(msgspec.Struct, frozen=True, tag_field="on", forbid_unknown_fields=True):
    """What every kind of row is: a struct chosen by its member `on`."""


class Returned(Observation, tag="return", frozen=True, kw_only=True):
    """The call of one command returned or raised; of an asynchronous one: answered its awaitable.

    At the top level it repeats the outcome of the reply, at its place among the other rows. Below, `at` says which
    item of the burst, run or script it was, and `part` and `n` whose call of a function it belongs to.
    """

    op: Name
    """The operation of the command."""
    at: Place | UnsetType = UNSET
    part: Name | UnsetType = UNSET
    n: Count | UnsetType = UNSET
    result: Json | UnsetType = UNSET
    """What it answered; null for nothing."""
    error: ShownError | UnsetType = UNSET
    """What it raised, in place of a result."""


class Logged(Observation, tag="log", frozen=True, kw_only=True):
    """A live session published one event: the whole envelope, as it is."""

    session: str
    event: JsonMap


class Dispatched(Observation, tag="live", frozen=True, kw_only=True):
    """A notification was dispatched; its fields are in `payload`, what it is about stands beside them."""

    name: Name
    """The event's name in the specification."""
    agent: str | UnsetType = UNSET
    """The suite's name for the agent that it is about."""
    session: str | UnsetType = UNSET
    """The suite's name for the session that it is about."""
    payload: JsonMap


class GateOpened(Observation, tag="gate", frozen=True, kw_only=True):
    """A function was called, or came to its `gate`, and now waits for the suite."""

    gate: Name
    part: Name
    """The name of the function."""
    kind: Name
    n: Count
    """Which call of the function it is, from 1 on."""
    agent: str | UnsetType = UNSET
    """The agent on whose behalf it was called, where there is one."""
    payload: JsonMap
    """The fields of the call."""


class ScriptStarted(Observation, tag="script", frozen=True, kw_only=True):
    """A function was called and follows its script."""

    part: Name
    """The name of the function."""
    kind: Name
    n: Count
    """Which call of the function it is, from 1 on."""
    agent: str | UnsetType = UNSET
    """The agent on whose behalf it was called, where there is one."""
    payload: JsonMap
    """The fields of the call."""


class NextSettled(Observation, tag="next", frozen=True, kw_only=True):
    """The `call`-th `next()` (from 0) of one call of a function settled."""

    part: Name
    """The name of the function."""
    n: Count
    """Which call of the function it was, from 1 on."""
    gate: Name | UnsetType = UNSET
    """The gate of that call, where it had one."""
    call: Index
    value: Json | UnsetType = UNSET
    """What the rest of the chain answered."""
    error: ShownError | UnsetType = UNSET
    """What it failed with, in place of a value."""


class Aborted(Observation, tag="abort", frozen=True, kw_only=True):
    """The cancellation signal that was handed to a call of a function fired."""

    part: Name
    """The name of the function."""
    n: Count
    """Which call of the function it is, from 1 on."""
    gate: Name | UnsetType = UNSET
    """The gate of that call, where it has one."""
    reason: Json
    """What the signal was fired with."""


class Pulled(Observation, tag="pull", frozen=True, kw_only=True):
    """The consumer asked an open stream gate for its `n`-th item."""

    gate: Name
    """The gate of the stream."""
    n: Count


class GateClosed(Observation, tag="closed", frozen=True, kw_only=True):
    """A gate ended unanswered: its signal fired in mode `auto`, or its consumer left the stream."""

    gate: Name
    why: Literal["abort", "left"]
    """Which of the two it was."""


class TaskSettled(Observation, tag="task", frozen=True, kw_only=True):
    """An asynchronous operation that a command started has settled."""

    task: Name
    """The name that the command gave it."""
    value: Json | UnsetType = UNSET
    """What it came to; null for nothing."""
    error: ShownError | UnsetType = UNSET
    """What it failed with, in place of a value."""


class StatusChanged(Observation, tag="status", frozen=True, kw_only=True):
    """A fiber changed its state (profile `context`)."""

    owner: str
    """The suite's name for the owner whose fiber it is."""
    id: Json
    """The fiber's own id, as the implementation counts."""
    from_: str = msgspec.field(name="from")
    """The state that it left."""
    to: str
    """The state that it is in now."""


class Reported(Observation, tag="report", frozen=True, kw_only=True):
    """The implementation wrote a warning or an error to its own log (feature `diagnostics`)."""

    level: Literal["warning", "error"]
    """How grave the implementation calls it."""
    text: str
    """What it wrote."""


class Unhandled(Observation, tag="unhandled", frozen=True, kw_only=True):
    """The platform reported a failure that nobody handled (feature `diagnostics`)."""

    error: ShownError


AnyObservation: TypeAlias = (
    Returned
    | Logged
    | Dispatched
    | GateOpened
    | ScriptStarted
    | NextSettled
    | Aborted
    | Pulled
    | GateClosed
    | TaskSettled
    | StatusChanged
    | Reported
    | Unhandled
)
"""One row of any kind."""


class WireReply(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one command led to, as it stands on the wire; `Reply` with typed rows.

    Exactly one of `result`, `error` and `fault` is present. `observed` holds all rows since the command was read;
    `late` those made between the previous reply and this command; `open` the gates that wait, in order of opening.
    """

    id: int
    """The number of the command that it answers."""
    observed: list[AnyObservation]
    open: list[Name]
    result: Json | UnsetType = UNSET
    error: ShownError | UnsetType = UNSET
    fault: str | UnsetType = UNSET
    late: list[AnyObservation] | UnsetType = UNSET


class NotJsonError(ValueError):
    """A line is no JSON text at all."""


class MalformedReplyError(ValueError):
    """A reply, or a row in it, is not what the protocol says; the message names the path."""


MALFORMED_REMEDY: Final = "compare the reply with the schema, docs/protocol/lockstep-1.schema.json"
"""What the author of an adapter can do about a `MalformedReplyError`."""

_WIRE = msgspec.json.Decoder(WireReply)
_REPLY = msgspec.json.Decoder(Reply)


def read_reply(line: bytes) -> Reply:
    """Reads one line of an adapter.

    Args:
        line: The line, without its end.

    Returns:
        The reply, its rows as plain JSON.

    Raises:
        NotJsonError: The line is no JSON text.
        MalformedReplyError: It is JSON, and no reply of this protocol.
    """
    try:
        typed = _WIRE.decode(line)
        reply = _REPLY.decode(line)
    except msgspec.ValidationError as error:
        raise MalformedReplyError(str(error)) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        typed, reply = _read_unusual(line)
    _check_outcomes(typed)
    return reply


def check_reply(reply: Reply) -> None:
    """Checks a reply that never was on a wire against the types of the wire.

    Args:
        reply: The reply, its JSON frozen or not.

    Raises:
        MalformedReplyError: It would be malformed on a wire.
    """
    try:
        typed = msgspec.convert(msgspec.to_builtins(reply, enc_hook=_plain), WireReply)
    except (msgspec.ValidationError, TypeError, ValueError, RecursionError) as error:
        raise MalformedReplyError(str(error)) from None
    _check_outcomes(typed)


def _read_unusual(line: bytes) -> tuple[WireReply, Reply]:
    """Reads what is JSON, but not to msgspec: lone surrogates, and nesting beyond the C stack it allows itself."""
    try:
        value: Json = json.loads(line, parse_constant=_no_json_number)
    except (ValueError, RecursionError) as error:
        raise NotJsonError(str(error)) from None
    try:
        return msgspec.convert(value, WireReply), msgspec.convert(value, Reply)
    except (ValueError, RecursionError) as error:
        raise MalformedReplyError(str(error)) from None


def _no_json_number(text: str) -> Never:
    message = f"{text} is no JSON number"
    raise ValueError(message)


def _plain(value: object) -> Json:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Sequence):
        return list(value)
    message = f"{value!r} is no JSON"
    raise TypeError(message)


def _check_outcomes(reply: WireReply) -> None:
    """Checks what types cannot say: one outcome in each row that has one, and the one form of errors."""
    if reply.error is not UNSET:
        _check_error(reply.error, "$.error")
    for place, rows in (("observed", reply.observed), ("late", reply.late or ())):
        for index, row in enumerate(rows):
            if isinstance(row, Unhandled):
                _check_error(row.error, f"$.{place}[{index}].error")
                continue
            if isinstance(row, Returned):
                name, value = "result", row.result
            elif isinstance(row, TaskSettled | NextSettled):
                name, value = "value", row.value
            else:
                continue
            path = f"$.{place}[{index}]"
            if (value is UNSET) is (row.error is UNSET):
                found = f"neither `{name}` nor `error`" if value is UNSET else f"both `{name}` and `error`"
                message = f"a `{row.__struct_config__.tag}` row has {found} - at `{path}`"
                raise MalformedReplyError(message)
            if row.error is not UNSET:
                _check_error(row.error, f"{path}.error")


def _check_error(error: JsonMap, path: str) -> None:
    if error.keys() == {"value"}:  # something thrown that is no error
        return
    try:
        msgspec.convert(error, ErrorForm)
    except msgspec.ValidationError as problem:
        message = f'{problem}, in an error (its form: {{"type", "message", "code", …}} or {{"value"}}) - at `{path}`'
        raise MalformedReplyError(message) from None
