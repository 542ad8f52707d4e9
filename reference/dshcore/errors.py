"""The base of every error of the harness, and the text of errors of any kind.

A *harness error* has a stable ``code`` beside its message; consumers decide by the code, people read the message.
The classes for particular failures stand beside the code that raises them and derive from `DshError`.
"""

from collections.abc import Mapping
from typing import ClassVar, TypeGuard, cast

UNRENDERABLE = "<unrenderable value>"
"""Stands for a message that cannot be read."""

CIRCULAR = "<circular cause>"
"""Stands for an error that is its own cause."""


class DshError(Exception):
    """An error of the harness: a message and a stable code.

    Args:
        message: What is wrong, with the offending value, and what to do about it.
        code: The code, where the class does not settle it.
    """

    default_code: ClassVar[str] = "DSH"
    """The code of an error of this class that is made without one."""

    def __init__(self, message: str, *, code: str | None = None) -> None:
        super().__init__(message)
        self.code: str = self.default_code if code is None else code


def describe(error: BaseException) -> str:
    """Return one line that names an error: its class and its message. Never raises."""
    name = type(error).__name__
    message = message_of(error)
    return f"{name}: {message}" if message else name


def message_of(error: BaseException, *, unreadable: str = "") -> str:
    """Return the message of an error, empty where it has none. Never raises.

    Args:
        error: The error.
        unreadable: What stands for the message where the error's own code fails to tell it.

    Returns:
        The message.
    """
    try:
        return _message(error)
    except Exception:  # noqa: BLE001 - an error whose own text fails must still be reported
        return unreadable


def error_chain(value: object) -> str:
    """Return the text of an error together with the members of an aggregate and its causes.

    The message (the class name where it is empty), then `` [m1; m2]`` for the members of an exception group, then
    ``: `` and the chain of the cause. A cause whose text is empty or repeats the message is left out. Only an
    explicit cause (``raise … from …``) counts. Never raises.

    Args:
        value: An exception, or anything else that stands for a failure.

    Returns:
        The text.

    Spec:
        LOOP-ERR-02, LERR-CHAIN-01, LERR-CHAIN-02, LERR-CHAIN-03
    """
    return _chain(value, [])


def _chain(value: object, path: list[object]) -> str:
    if any(met is value for met in path):
        return CIRCULAR
    path.append(value)
    try:
        return _node(value, path)
    except Exception:  # noqa: BLE001 - a value whose own code fails (or nests too deep) must still be reported
        return UNRENDERABLE
    finally:
        path.pop()


def _node(value: object, path: list[object]) -> str:
    if not isinstance(value, BaseException):
        return _message_of_non_error(value)
    message = _message(value) or type(value).__name__
    text = message
    if isinstance(value, BaseExceptionGroup):
        group = cast("BaseExceptionGroup[BaseException]", value)
        text = f"{message} [{'; '.join(_chain(member, path) for member in group.exceptions)}]"
    if value.__cause__ is not None:
        cause = _chain(value.__cause__, path)
        if cause not in ("", message):  # LERR-CHAIN-02: an exact repetition says nothing new
            text = f"{text}: {cause}"
    return text


def _message(error: BaseException) -> str:
    # Python appends "(2 sub-exceptions)" to the text of a group; the members are rendered by the chain
    message = error.message if isinstance(error, BaseExceptionGroup) else str(error)
    return str.__str__(message)  # a plain text, even where an error's own code answers a subclass


def _message_of_non_error(value: object) -> str:
    fields = value if _is_mapping(value) else getattr(value, "__dict__", {})
    message = fields.get("message")
    return message if isinstance(message, str) else str(value)


def _is_mapping(value: object) -> TypeGuard[Mapping[str, object]]:
    return isinstance(value, Mapping)
