"""Rows in short are rows in full, and rows are lines of text."""

import pytest

from dshconform.protocol.json_value import JsonMap
from dshconform.trace.pattern import PatternError
from dshconform.trace.rows import compact, is_compared, read_row, row_line, row_title


@pytest.mark.parametrize(
    ("short", "full"),
    [
        (
            {"log": "turn/start", "data": {"turn": 1}, "seq": 3, "cites": [1], "surface": "append", "session": "a"},
            {
                "on": "log",
                "session": "a",
                "event": {
                    "type": "turn/start",
                    "data": {"turn": 1},
                    "seq": 3,
                    "sourceEventSeqs": [1],
                    "surfaceOp": "append",
                },
            },
        ),
        (
            {"live": "agent/status", "agent": "a", "status": "idle"},
            {"on": "live", "name": "agent/status", "agent": "a", "payload": {"status": "idle"}},
        ),
        (
            {"gate": "agent/pre-step", "part": "f", "n": 2, "step": 1},
            {"on": "gate", "kind": "agent/pre-step", "part": "f", "n": 2, "payload": {"step": 1}},
        ),
        ({"task": "t", "value": 1}, {"on": "task", "task": "t", "value": 1}),
        ({"return": "agent.send", "at": "0"}, {"on": "return", "op": "agent.send", "at": "0"}),
        ({"abort": "f", "reason": {"kind": "user"}}, {"on": "abort", "part": "f", "reason": {"kind": "user"}}),
        ({"on": "pull", "gate": "g1", "n": 1}, {"on": "pull", "gate": "g1", "n": 1}),
    ],
)
def test_short_rows(short: JsonMap, full: JsonMap) -> None:
    """Each short form stands for one full row."""
    assert read_row({**short, "by": "A-A-01"}).pattern == full
    assert read_row({**short, "by": "A-A-01"}).clauses == ("A-A-01",)


def test_a_row_without_a_kind_is_refused() -> None:
    """The error names the row and the kinds that there are."""
    with pytest.raises(PatternError, match=r"is no row: its first key must be one of return, log"):
        read_row({"data": 1})


def test_lines() -> None:
    """A row's line has its title, what it carries and its other members; messages are short."""
    message: JsonMap = {"id": "A", "role": "user", "content": [{"type": "text", "text": "A"}], "source": {}}
    row: JsonMap = {"on": "live", "name": "agent/inbox/inserted", "agent": "a", "payload": {"message": message}}
    assert row_title(row) == "live agent/inbox/inserted"
    assert row_line(row) == "live agent/inbox/inserted {message: <A>} agent=a"
    assert compact([True, None, 1.5, "a b", "x"]) == "[true, null, 1.5, 'a b', x]"
    assert compact({**message, "content": [{"type": "text", "text": "other"}]}) == "<A 'other'>"


@pytest.mark.parametrize(
    ("only", "compared"),
    [
        ({"log"}, True),
        ({"live"}, False),
        ({"log turn/end"}, True),
        ({"live", "log turn/*"}, True),
        ({"log turn/start", "log step/*"}, False),
        ({"live turn/end"}, False),
    ],
)
def test_a_comparison_looks_at_kinds_or_at_single_things(only: set[str], compared: bool) -> None:
    """An entry is a kind of row, one thing of a kind, or the beginning of several."""
    row: JsonMap = {"on": "log", "session": "a", "event": {"type": "turn/end"}}
    assert is_compared(row, frozenset(only)) is compared
