"""Errors, both ways: those that the suite asks for, and the one form in which all are shown.

Specific to `dshcore`: the classes that `coded`, `model` and `aggregate` stand for.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, Final

from dshconform.adapters.reference.fault import Fault
from dshconform.protocol.json_value import Json, JsonMap
from dshcore.agent_loop import CreationAborted
from dshcore.errors import DshError
from dshcore.llm import InvalidLlmError, LlmError

_MEMBERS: Final = frozenset(
    {
        *("kind", "message", "name", "code", "failure", "status", "providerRetryAfterMs", "requestId"),
        *("members", "cause", "as"),
    }
)
_FACTS: Final = {
    "status": "status",
    "providerRetryAfterMs": "provider_retry_after_ms",
    "requestId": "request_id",
}


def make_error(form: JsonMap, decode: Callable[[Json], object]) -> BaseException:
    """Make the error that `{"$error": form}` asks for.

    Args:
        form: What kind of error it shall be, and its members.
        decode: Reads a value in the protocol's notation.

    Raises:
        Fault: The form is malformed, or asks for what this language or implementation cannot make.
    """
    unknown = form.keys() - _MEMBERS
    if unknown:
        raise Fault(f"$error has no member {min(unknown)!r}")
    message = _text(form, "message")
    kind = _text(form, "kind", "plain")
    maker = _MAKERS.get(kind)
    if maker is None:
        raise Fault(f"$error: the kind {kind!r} is none of {', '.join(_MAKERS)}")
    error = maker(message, form, decode)
    if "cause" in form:
        cause = decode(form["cause"])
        if not isinstance(cause, BaseException):
            raise Fault("$error: in this language only an error can be a cause (feature throw-any)")
        error.__cause__ = cause
    return error


class _Plain(Exception):
    """An error of the language's own, with the attributes that the suite gave it."""

    code: object
    failure: object


@cache
def _plain_class(name: str) -> type[_Plain]:
    return type(name, (_Plain,), {})


def _plain(message: str, form: JsonMap, decode: Callable[[Json], object]) -> BaseException:
    error = _plain_class(_text(form, "name", "Exception"))(message)
    if "code" in form:  # an attribute that happens to have this name: nobody has to trust it
        error.code = decode(form["code"])
    if "failure" in form:
        error.failure = decode(form["failure"])
    for name, attribute in _FACTS.items():
        if name in form:
            setattr(error, attribute, decode(form[name]))
    return error


@cache
def _coded_class(name: str) -> type[DshError]:
    return type(name, (DshError,), {})


def _coded(message: str, form: JsonMap, decode: Callable[[Json], object]) -> BaseException:  # noqa: ARG001 - a maker
    kind = _coded_class(_text(form, "name")) if "name" in form else DshError
    return kind(message, code=_text(form, "code"))


def _model(message: str, form: JsonMap, decode: Callable[[Json], object]) -> BaseException:
    facts: dict[str, Any] = {attribute: decode(form[name]) for name, attribute in _FACTS.items() if name in form}
    try:
        return LlmError(message, _text(form, "code"), **facts)
    except InvalidLlmError as error:
        raise Fault(f"$error: {error}") from None


@cache
def _group_class(name: str) -> type[ExceptionGroup[Exception]]:
    return type(name, (ExceptionGroup,), {})


def _aggregate(message: str, form: JsonMap, decode: Callable[[Json], object]) -> BaseException:
    members = form.get("members", ())
    listed = members if isinstance(members, Sequence) and not isinstance(members, str) else ()
    errors = [decode(member) for member in listed]
    if not errors or not all(isinstance(error, Exception) for error in errors):
        raise Fault("$error: an aggregate needs `members`, at least one, and each of them an error")
    group = _group_class(_text(form, "name")) if "name" in form else ExceptionGroup
    return group(message, [error for error in errors if isinstance(error, Exception)])


_MAKERS: Final[Mapping[str, Callable[[str, JsonMap, Callable[[Json], object]], BaseException]]] = {
    "plain": _plain,
    "coded": _coded,
    "model": _model,
    "aggregate": _aggregate,
}


def show_error(
    error: BaseException,
    encode: Callable[[object], Json],
    name_of: Callable[[BaseException], str | None],
    path: Sequence[BaseException] = (),
) -> dict[str, Json]:
    """Show an error in the one form that errors have everywhere.

    Args:
        error: Whatever was raised.
        encode: Shows any other value.
        name_of: The suite's name of an error that the suite made.
        path: The errors that this one is shown inside of; one met again is not shown again.

    Returns:
        Its members: `type`, `message` and `code` always, the others where the error has them.
    """
    path = (*path, error)

    def inner(other: BaseException) -> dict[str, Json]:
        return show_error(other, encode, name_of, path)

    code = getattr(error, "code", None)
    form: dict[str, Json] = {
        "type": type(error).__name__,
        "message": _message_of(error),
        "code": code if isinstance(code, str) else None,
    }
    if error.__cause__ is not None and error.__cause__ not in path:
        form["cause"] = inner(error.__cause__)
    elif isinstance(error, CreationAborted) and error.reason is not None:
        form["cause"] = {"value": encode(error.reason)}  # no error, so this language cannot have it for a cause
    failure = getattr(error, "failure", None)
    if failure is not None:
        form["failure"] = encode(failure)
    violations = getattr(error, "violations", None)
    if isinstance(violations, Sequence) and not isinstance(violations, str):
        form["violations"] = [str(violation) for violation in violations]
    if isinstance(error, BaseExceptionGroup):
        form["members"] = [inner(member) for member in error.exceptions if member not in path]
    name = name_of(error)
    if name is not None:
        form["is"] = name
    return form


def _message_of(error: BaseException) -> str:
    if isinstance(error, BaseExceptionGroup):
        return str(error.message)
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - an error whose own text fails must still be shown
        return "<unprintable>"


def _text(form: JsonMap, name: str, default: str | None = None) -> str:
    value = form.get(name, default)
    if not isinstance(value, str):
        raise Fault(f"$error: {name} must be a text, not {value!r}")
    return value
