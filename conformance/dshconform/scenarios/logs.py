"""Logs in short: the events of a seed, an append to a session, the messages of models and tools.

| shorthand | stands for |
|---|---|
| `{$log: [event, …]}` | these events, numbered from 0, each of time 1 |
| `{$append: s, turn/start: {turn: 1}}` | the command that appends an event to the session `s`, as an item of a burst or script |
| `{$assistant: A}` | a message of the model `mock/m1` with the id and the text `A`; with `text: T` another text, with `calls: [c1:echo]` calls of tools |
| `{$answer: c1}` | the message of the result of the call `c1`, with the text `ok`; with `text: T`, `id: R` others |

An event is written as its type and its data, `{turn/start: {turn: 1}}`. Beside the type, `surface` and `cites` stand for
`surfaceOp` and `sourceEventSeqs`, and in a log also `seq`, `time` and `ignorable` for themselves. The three types that
stand on the surface are appended to it, unless `surface` says otherwise; `surface: none` leaves the marker out.
"""  # noqa: E501 - a row of a table is one line

from collections.abc import Mapping
from typing import Final

from dshconform.protocol.json_value import Json, JsonMap
from dshconform.scenarios.model_scripts import MacroError, call_blocks, text_of

_SURFACE_TYPES: Final = frozenset({"user/message", "assistant/message", "tool/result"})
_SURFACE: Final = {"surface": "surfaceOp", "cites": "sourceEventSeqs"}
_OWN: Final = ("seq", "time", "ignorable")


def log(written: JsonMap) -> list[JsonMap]:
    """Write a log out.

    Args:
        written: As in the module's description, shorthands inside it expanded.

    Raises:
        MacroError: It is no list of events.
    """
    events = written["$log"]
    if not isinstance(events, list) or len(written) > 1:
        raise MacroError(f"$log needs a list of events, not {events!r}")
    return [_logged(event, number) for number, event in enumerate(events)]


def append(written: JsonMap) -> JsonMap:
    """Write an append out.

    Args:
        written: As in the module's description, shorthands inside it expanded.

    Raises:
        MacroError: It names no session, or has not exactly one type.
    """
    session = text_of("$append", written["$append"])
    kind, members = _read({name: member for name, member in written.items() if name != "$append"}, ())
    data = members.pop("data")
    return {
        "op": "session.append",
        "args": {"session": session, "type": kind, "data": data, **({"intent": members} if members else {})},
    }


def assistant(written: JsonMap) -> JsonMap:
    """Write the message of a model out.

    Args:
        written: An object with `$assistant`, as the module describes it.

    Raises:
        MacroError: It has another member.
    """
    _only(written, "$assistant", "text", "calls")
    identity = text_of("$assistant", written["$assistant"])
    text = text_of("text", written["text"]) if "text" in written else identity
    content: list[JsonMap] = [{"type": "text", "text": text}] if "text" in written or "calls" not in written else []
    if "calls" in written:
        content += call_blocks(written["calls"])
    source: JsonMap = {"kind": "model", "provider": "mock", "model": "m1"}
    return {"id": identity, "role": "assistant", "content": content, "source": source}


def answer(written: JsonMap) -> JsonMap:
    """Write the message of a result out.

    Args:
        written: An object with `$answer`, as the module describes it.

    Raises:
        MacroError: It has another member.
    """
    _only(written, "$answer", "text", "id")
    call = text_of("$answer", written["$answer"])
    text = text_of("text", written.get("text", "ok"))
    block: JsonMap = {"type": "tool-result", "toolCallId": call, "content": [{"type": "text", "text": text}]}
    source: JsonMap = {"kind": "tool", "callId": call}
    return {"id": text_of("id", written.get("id", f"{call}.r")), "role": "user", "content": [block], "source": source}


def _logged(written: Json, number: int) -> JsonMap:
    kind, members = _read(written, _OWN)
    return {"type": kind, "seq": number, "time": 1, **members}


def _read(written: Json, own: tuple[str, ...]) -> tuple[str, dict[str, Json]]:
    """The type of an event, and its members as the envelope calls them."""
    given = written if isinstance(written, Mapping) else {}
    kinds = [name for name in given if name not in _SURFACE and name not in own]
    if len(kinds) != 1:
        raise MacroError(f"an event is written as its type and its data, {{turn/start: {{turn: 1}}}}, not {written!r}")
    [kind] = kinds
    members: dict[str, Json] = {"data": given[kind]}
    for short, member in _SURFACE.items():
        if short in given:
            members[member] = given[short]
    if kind in _SURFACE_TYPES:
        members.setdefault("surfaceOp", "append")
    if members.get("surfaceOp") == "none":
        del members["surfaceOp"]
    members |= {name: given[name] for name in own if name in given}
    return kind, members


def _only(written: JsonMap, *members: str) -> None:
    unknown = written.keys() - set(members)
    if unknown:
        raise MacroError(f"a {members[0]} has no {min(unknown)!r}: it has {', '.join(members[1:])}")
