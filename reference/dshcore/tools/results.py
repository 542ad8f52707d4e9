"""What a call comes to: a success with its value, or a failure with its text. Either has content for the model.

A result is local to its execution; what the log keeps of it is the affair of whoever logs (RESULT-LOCAL-01).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal, TypeAlias, cast

from msgspec import UNSET, UnsetType

from dshcore.errors import DshError, message_of
from dshcore.host import is_cancellation
from dshcore.json import Json, NotJson, freeze, is_array, is_object
from dshcore.llm import MalformedMessage, import_message

Content: TypeAlias = Sequence[Mapping[str, Json]]
"""What a model sees of a result: content blocks."""


@dataclass(frozen=True, slots=True)
class ErrorInfo:
    """The identity of a coded failure.

    Attributes:
        name: The class of the error.
        code: Its code.
    """

    name: str
    code: str


@dataclass(frozen=True, slots=True)
class ErrorFacts:
    """What went wrong: a text, and an identity where the failure has one.

    Attributes:
        message: What the model is told.
        info: Which error it is, where it has an identity.
    """

    message: str
    info: ErrorInfo | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSuccess:
    """A call that has a value.

    Attributes:
        value: The canonical value.
        content: What the model sees of it; any JSON, if the tool's finalizer made it (PIPE-FINAL-01).
        meta: Durable data for whoever displays the call; `UNSET` where there is none.
        additional_contexts: Messages that go with the result, for the next step.
        concludes_turn: Whether no follow-up request is owed for the sake of this call.
        is_error: False.

    Spec:
        RESULT-SHAPE-01
    """

    value: Json
    content: Content = ()
    meta: Json | UnsetType = UNSET
    additional_contexts: Sequence[Mapping[str, Json]] = ()
    concludes_turn: bool = False
    is_error: Literal[False] = field(default=False, init=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolFailure:
    """A call that failed.

    Attributes:
        error: What went wrong.
        content: As of a success.
        meta: Only if the author of the failure gave it.
        additional_contexts: As of a success.
        is_error: True.

    Spec:
        RESULT-SHAPE-01
    """

    error: ErrorFacts
    content: Content = ()
    meta: Json | UnsetType = UNSET
    additional_contexts: Sequence[Mapping[str, Json]] = ()
    is_error: Literal[True] = field(default=True, init=False)


ToolResult: TypeAlias = ToolSuccess | ToolFailure
"""The one final result of a call."""

LOSSY_RESULT: Final = "tool result must be losslessly JSON-serializable"
"""What is said of content that is no lossless JSON."""

LOSSY_ARGUMENTS: Final = "tool execution arguments must be losslessly JSON-serializable"
"""What is said of arguments that are no lossless JSON."""


def phrased(message: str, info: ErrorInfo | None = None) -> ToolFailure:
    """Make a failure whose content is its message, as the registry phrases them (RESULT-TEXT-01).

    Args:
        info: Which error it is.
        message: What the model is told.
    """
    return ToolFailure(
        error=ErrorFacts(message, info), content=(freeze({"type": "text", "text": f"Error: {message}"}),)
    )


ABORTED: Final = phrased("tool call aborted", ErrorInfo("AbortError", "ABORTED"))
"""Of a call that was cancelled after its body had begun (PIPE-CANCEL-05)."""

ABORTED_BEFORE_DISPATCH: Final = phrased(
    "tool call aborted before dispatch", ErrorInfo("AbortError", "ABORTED_BEFORE_DISPATCH")
)
"""Of a call whose body never began (PIPE-CANCEL-01, SCHED-ABORT-03)."""


def failure_of(error: BaseException) -> ToolFailure:
    """Make the failure of a call in which something was raised.

    Args:
        error: What was raised. Its code counts where it is an error of the harness.

    Spec:
        PIPE-BODY-01
    """
    info = ErrorInfo(type(error).__name__, error.code) if isinstance(error, DshError) else None
    return phrased(text_of(error), info)


def text_of(error: BaseException) -> str:
    """Return the message of an error. One that was raised without any is named, so that the model is told something.

    Spec:
        PIPE-BODY-05
    """
    message = message_of(error, unreadable="<unprintable thrown value>")
    if message or error.args:
        return message
    return "cancelled" if is_cancellation(error) else type(error).__name__


def checked_context(message: object) -> Mapping[str, Json]:
    """Return a message that is to go with a result, as it will be logged.

    What is no lossless JSON comes back as it is, for it is the result that cannot be frozen then (PIPE-FINAL-03).

    Returns:
        The message, frozen.

    Raises:
        MalformedMessage: It is no identified user message.

    Spec:
        PIPE-CTX-05
    """
    try:
        frozen_message = freeze(message)
    except NotJson:
        return cast("Mapping[str, Json]", message)
    if not is_object(frozen_message):
        raise MalformedMessage(f"a context is a message, not {message!r}: make one with user_message")
    if frozen_message.get("role") != "user":
        raise MalformedMessage(f'a context needs the role "user", not {frozen_message.get("role")!r}')
    return import_message(frozen_message)


def checked_contexts(messages: object, giver: str) -> tuple[Mapping[str, Json], ...]:
    """Return the contexts that a listener gives.

    Args:
        messages: What it gives.
        giver: Who it is, for the error.

    Returns:
        The messages, frozen.

    Raises:
        TypeError: They are no list.
        MalformedMessage: One of them is no identified user message.
    """
    if not is_array(messages):
        raise TypeError(f"{giver} gave the contexts {messages!r}: give a list of messages")
    return tuple(checked_context(message) for message in messages)


def frozen(result: ToolResult) -> ToolResult:
    """Return a result that cannot change; what cannot be frozen makes it a failure (PIPE-FINAL-03)."""
    try:
        return replace(
            result,
            content=cast("Content", freeze(result.content)),
            meta=UNSET if isinstance(result.meta, UnsetType) else freeze(result.meta),
            additional_contexts=tuple(freeze(context) for context in result.additional_contexts),
        )
    except Exception:  # noqa: BLE001 - whatever a value's own code does, the call has its one result (PIPE-ORDER-03)
        return phrased(LOSSY_RESULT)
