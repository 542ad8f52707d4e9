"""Payload shapes that a log must have to be loaded again.

A seed is refused when one of its events has a shape of these (SEED-MSG), and so is an append: what can be written can
be read (LOG-APPEND-07). Nothing else inside payloads is looked at: unknown blocks, sources, reasons and further
fields pass and are kept (SEED-MSG-05).
"""

from collections.abc import Mapping
from typing import Final

from dshcore.json import Json, JsonObject, is_text
from dshcore.session.vocabulary import ROW_TAGS, is_count, member

_RETIRED: Final = frozenset({"mode/set", "steering/message"})  # steering is a `user/message`: LOG-EVT-07
_UNLOADABLE: Final = _RETIRED.union(ROW_TAGS)  # read from storage, an event of a row's tag would be taken for a row
_BARE_REASONS: Final = frozenset({"completed", "blocked", "max-tokens", "interrupted"})
_DEFAULTABLE: Final = ("reasoningEffort", "maxTokens")


def shape_problem(kind: str, data: Json) -> str | None:
    """Tell what is wrong with the message or request header that an event carries.

    Args:
        kind: The event's type.
        data: Its payload.

    Returns:
        The text that follows the event's name in the error; none when nothing is wrong.

    Spec:
        SEED-MSG-01, SEED-MSG-02, SEED-MSG-03, SEED-MSG-04, SEED-MSG-05
    """
    match kind:
        case "user/message":
            return _message_problem(data, "user")
        case "assistant/message":
            return _assistant_problem(member(data, "message"))
        case "tool/result":
            return _result_problem(member(data, "message"))
        case "request/header":
            return _header_problem(member(data, "header"))
        case _:
            return None


def retired_problem(kind: str, data: Json) -> str | None:
    """Tell whether an event belongs to the vocabulary of request headers that is no longer supported.

    Args:
        kind: The type of the event.
        data: Its payload.

    Returns:
        The text that follows the event's name in the error; none when it is not retired.

    Spec:
        LOG-APPEND-03
    """
    if kind == "request/header-delta":
        return "uses unsupported legacy request/header-delta format"
    if kind == "request/header" and member(data, "reason") == "fallback":
        return 'uses unsupported legacy request/header reason "fallback"'
    return None


def loadable(kind: str, data: Json) -> bool:
    """Tell whether a load would take this event's type, and its turn boundary, as they are.

    Triggers and the reasons of endings are open: of a kind that is foreign here, everything is taken.

    Args:
        data: The payload.
        kind: The type of the event.

    Spec:
        LOG-APPEND-07, LOG-EVT-15, LOG-EVT-16, CHUNKROWS-DEC-03
    """
    if not kind or kind in _UNLOADABLE:
        return False
    match kind:
        case "turn/start":
            return _is_turn_start(data)
        case "turn/end":
            return _is_turn_end(data)
        case _:
            return True


def _message_problem(message: Json, role: str) -> str | None:
    if not isinstance(message, Mapping) or not is_text(message.get("id")):
        return "lacks an identified message"
    if message.get("role") != role:
        return f'message must have role "{role}"'
    if not is_text(member(message.get("source"), "kind")):
        return "message has invalid source"
    if not isinstance(message.get("content"), tuple):
        return "message has invalid content"
    return None


def _assistant_problem(message: Json) -> str | None:
    if problem := _message_problem(message, "assistant"):
        return problem
    source = member(message, "source")
    if member(source, "kind") != "model" or not all(is_text(member(source, name)) for name in ("provider", "model")):
        return "message must have model source"
    return None


def _result_problem(message: Json) -> str | None:
    if problem := _message_problem(message, "user"):
        return problem
    source, content = member(message, "source"), member(message, "content")
    call = member(source, "callId")
    if member(source, "kind") != "tool" or not is_text(call):
        return "message must have tool source"
    block = content[0] if isinstance(content, tuple) and len(content) == 1 else None
    if member(block, "type") != "tool-result" or not isinstance(member(block, "content"), tuple):
        return "message must contain one tool-result block"
    if member(block, "toolCallId") != call:
        return "message has mismatched tool call ids"
    return None


def _header_problem(header: Json) -> str | None:
    config = member(header, "config")
    if not isinstance(config, Mapping) or not all(is_text(config.get(name)) for name in ("provider", "model")):
        return "lacks provider/model"
    if "reasoningEffort" in config and not is_text(config["reasoningEffort"]):
        return "has an invalid reasoningEffort"
    if isinstance(header, Mapping) and "adapterDefaults" in header:
        marks = header["adapterDefaults"]
        if not isinstance(marks, Mapping) or not all(
            name in _DEFAULTABLE and mark is True and name in config for name, mark in marks.items()
        ):
            return "has invalid adapterDefaults"
    return None


def _is_turn_start(data: Json) -> bool:
    if not isinstance(data, JsonObject) or not is_count(data.get("turn"), least=1):
        return False
    return set(data) == {"turn"} or (set(data) == {"turn", "trigger"} and is_text(member(data["trigger"], "kind")))


def _is_turn_end(data: Json) -> bool:
    if not isinstance(data, JsonObject) or set(data) != {"turn", "reason"} or not is_count(data["turn"], least=1):
        return False
    reason = data["reason"]
    kind = member(reason, "kind")
    if not isinstance(reason, JsonObject) or not isinstance(kind, str):
        return False
    if kind in _BARE_REASONS:
        return set(reason) == {"kind"}
    if kind == "aborted":
        return set(reason) == {"kind"} or "reason" in reason
    return kind != "error" or "error" in reason
