"""Rows in short: the notation of scenarios and machines for expected observations, and rows as one line of text.

An expected row may be written in full (`{on: log, event: {…}}`) or in short, the kind of row as the first key:

    {log: turn/start, data: {turn: 1}}                 {task: t1, value: a}
    {live: agent/status, status: running}              {return: agent.followup}
    {gate: agent/pre-step, step: 1}                    {abort: model, reason: {kind: user}}

In `log`, the members `data`, `seq`, `cites` and `surface` belong to the event. In `live`, `gate` and `script`,
members that are no members of the row itself belong to its payload. `by` names the clauses that demand the row.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

from dshconform.protocol.json_value import Json, JsonMap
from dshconform.trace.pattern import PatternError, clause_list, plain

KINDS: Final[Mapping[str, str]] = {
    "return": "op",
    "log": "type",
    "live": "name",
    "gate": "kind",
    "script": "kind",
    "next": "part",
    "abort": "part",
    "pull": "gate",
    "closed": "why",
    "task": "task",
    "status": "owner",
    "report": "level",
    "unhandled": "error",
}
"""Every kind of row, with the member that names the thing it tells of."""

COMPARED: Final = frozenset({"return", "log", "live", "gate", "script", "next", "abort", "closed", "task"})
"""The kinds that a comparison looks at unless it says otherwise."""

ENTRY: Final = "a kind of row (`log`), one thing of a kind (`log turn/end`), or several (`log turn/*`)"
"""What stands in a list of the rows that a comparison looks at."""

_OBJECT: Final = (dict, Mapping)  # the first alone costs a fifth of asking an abstract class
_EVENT_MEMBERS: Final[Mapping[str, str]] = {
    "data": "data",
    "seq": "seq",
    "cites": "sourceEventSeqs",
    "surface": "surfaceOp",
}
_ROW_MEMBERS: Final = frozenset({"agent", "session", "part", "n", "at"})


@dataclass(frozen=True, slots=True)
class ExpectedRow:
    """One row that must be observed, and the clauses that demand it."""

    pattern: JsonMap
    """What the row has to match."""
    clauses: tuple[str, ...] = ()
    """Those that demand it, the one that answers first for a difference before the others."""

    @property
    def title(self) -> str:
        """The kind of row and what it tells of: `log turn/end`."""
        return row_title(self.pattern)


def read_row(written: JsonMap) -> ExpectedRow:
    """Read an expected row in either notation.

    Args:
        written: The row as a scenario or a machine writes it.

    Returns:
        The row in full, its `by` taken out.

    Raises:
        PatternError: It names no kind of row.
    """
    rest = dict(written)
    clauses = clause_list(rest.pop("by", ()))
    if "on" in rest:
        return ExpectedRow(rest, clauses)
    kind = next((key for key in rest if key in KINDS), None)
    if kind is None:
        raise PatternError(f"{dict(written)!r} is no row: its first key must be one of {', '.join(KINDS)}")
    name = rest.pop(kind)
    if kind == "log":
        event: dict[str, Json] = {"type": name}
        for short, member in _EVENT_MEMBERS.items():
            if short in rest:
                event[member] = rest.pop(short)
        return ExpectedRow({"on": "log", **rest, "event": event}, clauses)
    row: dict[str, Json] = {"on": kind, KINDS[kind]: name}
    if kind in {"live", "gate", "script"}:
        payload = {key: rest.pop(key) for key in list(rest) if key not in _ROW_MEMBERS}
        row |= rest
        if payload:
            row["payload"] = payload.pop("payload") if "payload" in payload else payload
    else:
        row |= rest
    return ExpectedRow(row, clauses)


def read_rows(written: Iterable[JsonMap]) -> tuple[ExpectedRow, ...]:
    """Read a list of expected rows.

    Args:
        written: The rows as a scenario has them.

    Returns:
        The rows in full.

    Raises:
        PatternError: One names no kind of row.
    """
    return tuple(read_row(row) for row in written)


def is_compared(row: JsonMap, only: frozenset[str]) -> bool:
    """Whether a comparison looks at a row.

    Args:
        row: An observed row, or the pattern of an expected one.
        only: The rows it looks at, each entry as `ENTRY` says.
    """
    if row["on"] in only:
        return True
    titles, beginnings = _narrow(only)
    if not titles and not beginnings:
        return False
    title = row_title(row)
    return title in titles or title.startswith(beginnings)


@cache
def _narrow(only: frozenset[str]) -> tuple[frozenset[str], tuple[str, ...]]:
    """The entries that name single things, and the beginnings of those that name several."""
    narrow = {entry for entry in only if " " in entry}
    beginnings = tuple(entry[:-1] for entry in narrow if entry.endswith("*"))
    return frozenset(entry for entry in narrow if not entry.endswith("*")), beginnings


def row_title(row: JsonMap) -> str:
    """The name of a row, its kind and what it tells of: `log turn/end`, `live agent/status`, `task t1`."""
    name = row_subject(row)
    return f"{row.get('on')} {name}" if name is not None else str(row.get("on"))


def row_subject(row: JsonMap) -> str | None:
    """What a row tells of, where it says so: `turn/end`, `agent/status`, `t1`."""
    kind = row["on"]
    if kind == "log":
        event = row.get("event")
        name = event.get("type") if isinstance(event, _OBJECT) else None
    else:
        name = row.get(KINDS.get(str(kind), ""))
    if name is None or isinstance(name, str):
        return name
    name = plain(name)
    return name if isinstance(name, str) else None


def row_line(row: JsonMap) -> str:
    """Write a row as one line: its title, what it carries, then its other members."""
    kind = row.get("on")
    rest = {key: value for key, value in row.items() if key not in {"on", KINDS.get(str(kind), "")}}
    parts = [row_title(row)]
    event = rest.pop("event", None) if kind == "log" else None
    if isinstance(event, Mapping):
        rest |= {key: value for key, value in event.items() if key not in {"type", "time", "data"}}
        carried = event.get("data")
    else:
        carried = rest.pop("payload", None) if kind in {"live", "gate", "script"} else None
    if carried is not None and carried != {}:
        parts.append(compact(carried))
    parts += [f"{key}={compact(value)}" for key, value in rest.items()]
    return " ".join(parts)


def compact(value: Json) -> str:
    """Write JSON on one line, without quotes where a word needs none; messages shrink to their id and text.

    Args:
        value: A part of a row, or a pattern.
    """
    if isinstance(value, Mapping):
        message = _message(value)
        if message is not None:
            return message
        return "{" + ", ".join(f"{key}: {compact(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(compact(item) for item in value) + "]"
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    if isinstance(value, str):
        return value if value and not set(value) & set(" \t\n,:{}[]'\"") else repr(value)
    return str(value)


def _message(value: JsonMap) -> str | None:
    content = value.get("content")
    if "role" not in value or not isinstance(content, list | tuple):
        return None
    texts = [block.get("text") for block in content if isinstance(block, Mapping)]
    if not all(isinstance(text, str) for text in texts) or len(texts) != len(content):
        return None
    text = " ".join(str(text) for text in texts)
    identity = value.get("id")
    return f"<{identity}>" if text == identity else f"<{plain(identity)} {text!r}>"
