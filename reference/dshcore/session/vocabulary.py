"""What every module of the session needs to say about events: the record's type, the surface types, the errors."""

from collections.abc import Iterator, Mapping
from typing import Final, TypeAlias, TypeGuard

from msgspec import UNSET, UnsetType

from dshcore.errors import DshError
from dshcore.json import MAX_SAFE_INTEGER, Json, JsonObject, encode, is_text

SessionEvent: TypeAlias = JsonObject
"""One logged event: its whole envelope (`type`, `seq`, `time`, `data`, …), deeply immutable."""

SURFACE_TYPES: Final = frozenset({"user/message", "assistant/message", "tool/result"})
"""The event types that stand on the surface; no extension can add one (SURF-OP-01)."""

END_SEED: Final = "session/end-seed"
"""Written by the construction of a seeded session, after the seed (SEED-MARK-01)."""


ROW_TAGS: Final = ("text-chunks", "reasoning-chunks", "tool-call-chunks")
"""The tags of packed rows of text, reasoning and calls, which storage keeps in place of events. No event has one as its
type (CHUNKROWS-DEC-03)."""


class SessionError(DshError):
    """An operation on a session or its store was refused; nothing has changed."""

    default_code = "SESSION"


class AppendRefused(SessionError):
    """An event does not fit the log it was to be appended to."""

    default_code = "APPEND_REFUSED"


class AppendReentered(AppendRefused):
    """An append was tried while another append to the same session was being published."""

    default_code = "APPEND_REENTERED"

    def __init__(self) -> None:
        super().__init__("session append cannot reenter while another append is being published")


def is_array(value: object) -> TypeGuard[tuple[Json, ...]]:
    """Return whether a frozen value is an array."""
    return isinstance(value, tuple)


def is_count(value: object, *, least: int = 0) -> TypeGuard[int]:
    """Return whether a value is a safe integer of at least `least`; booleans are no integers."""
    return type(value) is int and least <= value <= MAX_SAFE_INTEGER


def member(value: Json, *path: str) -> Json:
    """Return what stands at the end of a path of member names; none where the value does not go that far.

    The shapes of most payloads are nobody's to check (SEED-MSG-05), so whoever folds a log reads them with this.
    """
    for name in path:
        if not isinstance(value, Mapping):
            return None
        value = value.get(name)
    return value


def asked_calls(answer: Json) -> Iterator[str]:
    """Yield the ids of the tool calls that the data of an `assistant/message` asks for, in order.

    A block whose id is no non-empty text asks for nothing: no result could name it (SEED-MSG-03). The core writes none
    (ASM-OPEN-02), but logs of others may hold one.

    Args:
        answer: The message of an answer.

    Returns:
        Its calls, in the order of the model.
    """
    content = member(answer, "message", "content")
    for block in content if is_array(content) else ():
        if member(block, "type") == "tool-call" and is_text(call := member(block, "id")):
            yield call


def shown(value: Json | UnsetType) -> str:
    """Return a value as the texts of errors show it: a text as it is, everything else as JSON."""
    if value is UNSET:
        return "undefined"
    return value if isinstance(value, str) else encode(value).decode()
