"""What a call comes to: a success with its value, or a failure with its text. Either has content for the model.

A result is local to its execution; what the log keeps of it is the affair of whoever logs (RESULT-LOCAL-01).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, TypeAlias

from msgspec import UNSET, UnsetType

from dshcore.cancel_signal import Aborted
from dshcore.errors import DshError, message_of
from dshcore.json import Json, NotJson, freeze


@dataclass(frozen=True, slots=True)
class ErrorInfo:
    """The identity of a coded failure."""

    name: str
    code: str


@dataclass(frozen=True, slots=True)
class ErrorFacts:
    """What went wrong: a text, and an identity where the failure has one."""

    message: str
    info: ErrorInfo | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSuccess:
    """A call that has a value.

    Attributes:
        value: The canonical value.
        content: What the model sees of it.
        meta: Durable data for whoever displays the call; `UNSET` where there is none.
        additional_contexts: Messages that go with the result, for the next step.
        concludes_turn: Whether no follow-up request is owed for the sake of this call.
        is_error: False.

    Spec:
        RESULT-SHAPE-01
    """

    value: Json
    content: Json = ()
    meta: Json | UnsetType = UNSET
    additional_contexts: Sequence[Mapping[str, Any]] = ()
    concludes_turn: bool = False
    is_error: Literal[False] = field(default=False, init=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolFailure:
    """A call that failed.

    Attributes:
        error: What went wrong.
        content: What the model sees of it.
        meta: Only if the author of the failure gave it.
        additional_contexts: As of a success.
        is_error: True.

    Spec:
        RESULT-SHAPE-01
    """

    error: ErrorFacts
    content: Json = ()
    meta: Json | UnsetType = UNSET
    additional_contexts: Sequence[Mapping[str, Any]] = ()
    is_error: Literal[True] = field(default=True, init=False)


ToolResult: TypeAlias = ToolSuccess | ToolFailure
"""The one final result of a call."""

LOSSY_RESULT: Final = "tool result must be losslessly JSON-serializable"
LOSSY_ARGUMENTS: Final = "tool execution arguments must be losslessly JSON-serializable"


def phrased(message: str, info: ErrorInfo | None = None) -> ToolFailure:
    """Make a failure whose content is its message, as the registry phrases them (RESULT-TEXT-01)."""
    return ToolFailure(
        error=ErrorFacts(message, info), content=freeze(({"type": "text", "text": f"Error: {message}"},))
    )


ABORTED: Final = phrased("tool call aborted", ErrorInfo("AbortError", "ABORTED"))
"""Of a call that was cancelled after its body had begun (PIPE-CANCEL-05)."""

ABORTED_BEFORE_DISPATCH: Final = phrased(
    "tool call aborted before dispatch", ErrorInfo("AbortError", "ABORTED_BEFORE_DISPATCH")
)
"""Of a call whose body never began (PIPE-CANCEL-01, SCHED-ABORT-03)."""


def failure_of(error: BaseException) -> ToolFailure:
    """Make the failure of a call in which something was raised.

    Work that was given up because of its signal is the abort itself: the cause does not show (PIPE-CANCEL-08).

    Args:
        error: What was raised. Its code counts where it is an error of the harness.

    Spec:
        PIPE-BODY-01
    """
    if isinstance(error, Aborted):
        return ABORTED
    message = message_of(error, unreadable="<unprintable thrown value>")
    return phrased(message, ErrorInfo(type(error).__name__, error.code) if isinstance(error, DshError) else None)


def frozen(result: ToolResult) -> ToolResult:
    """Return a result that cannot change; what cannot be frozen makes it a failure (PIPE-FINAL-03)."""
    try:
        return replace(
            result,
            content=freeze(result.content),
            meta=UNSET if isinstance(result.meta, UnsetType) else freeze(result.meta),
            additional_contexts=tuple(freeze(context) for context in result.additional_contexts),
        )
    except NotJson:
        return phrased(LOSSY_RESULT)
