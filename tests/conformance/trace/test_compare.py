"""The comparison of rows names the first difference, and who demands otherwise."""

import pytest

from dshconform.protocol.json_value import JsonMap
from dshconform.trace.compare import align, compare_rows
from dshconform.trace.pattern import MISSING, Difference, Matching
from dshconform.trace.rows import read_rows


def log(name: str, **data: int) -> JsonMap:
    return {"on": "log", "session": "a", "event": {"type": name, "seq": 0, "time": 0, "data": data}}


EXPECTED = read_rows(
    [
        {"log": "turn/start", "data": {"turn": 1}, "by": "A-A-01"},
        {"log": "step/start", "by": "A-A-02"},
        {"log": "turn/end", "data": {"turn": 1}, "by": "A-A-03"},
    ]
)


def first_difference(*observed: JsonMap) -> Difference | None:
    return compare_rows(EXPECTED, observed, Matching(), ("S-S-01",))


def test_equal_lists_have_no_difference_and_every_clause_holds() -> None:
    """All rows in order: each row's clause counts once."""
    matching = Matching()
    rows = [log("turn/start", turn=1), log("step/start"), log("turn/end", turn=1)]
    assert compare_rows(EXPECTED, rows, matching, ()) is None
    assert matching.held == {"A-A-01": 1, "A-A-02": 1, "A-A-03": 1}


@pytest.mark.parametrize(
    ("observed", "clauses", "at", "sentence"),
    [
        (
            [log("turn/start", turn=2), log("step/start"), log("turn/end", turn=1)],
            ("A-A-01",),
            "log turn/start",
            "log turn/start.event.data.turn differs",
        ),
        (
            [log("turn/start", turn=1), log("turn/end", turn=1)],
            ("A-A-02", "S-S-01"),
            "log step/start",
            "log step/start is missing: log turn/end stands in its place",
        ),
        (
            [log("turn/start", turn=1), log("step/start")],
            ("A-A-03", "S-S-01"),
            "log turn/end",
            "log turn/end is missing",
        ),
        (
            [log("turn/start", turn=1), log("x"), log("step/start"), log("turn/end", turn=1)],
            ("A-A-02", "S-S-01"),
            "log x",
            "log x is not expected here",
        ),
        (
            [log("turn/start", turn=1), log("step/start"), log("turn/end", turn=1), log("x")],
            ("S-S-01",),
            "log x",
            "log x comes after everything that was expected",
        ),
    ],
)
def test_the_first_difference(observed: list[JsonMap], clauses: tuple[str, ...], at: str, sentence: str) -> None:
    """A differing member, a missing row, a row too many in between and at the end are told apart."""
    found = first_difference(*observed)
    assert found is not None
    assert (found.clauses, found.at, found.sentence) == (clauses, at, sentence)


def test_a_tolerated_extra_row_is_passed_over_and_a_missing_one_done_without() -> None:
    """What the ledger accepts does not hide the differences behind it."""
    matching = Matching(lambda difference: difference.at in {"log x", "log step/start"})
    rows = [log("x"), log("turn/start", turn=1), log("turn/end", turn=9)]
    found = compare_rows(EXPECTED, rows, matching, ("S-S-01",))
    assert found is not None
    assert found.at == "log turn/end"


def test_alignment_puts_alike_rows_beside_each_other_and_marks_the_first_difference() -> None:
    """People see both sides, what the expectation names of each row, and where they part."""
    rows = align(EXPECTED, [log("turn/start", turn=1), log("x"), log("step/start")], lambda _: False)
    assert rows.pairs == (
        ("log turn/start {turn: 1}", "log turn/start {turn: 1}"),
        (MISSING, "log x session=a seq=0"),
        ("log step/start", "log step/start"),
        ("log turn/end {turn: 1}", MISSING),
    )
    assert rows.first == 1


def test_alignment_shows_what_makes_the_difference() -> None:
    """An error beside a result, a member that must be absent and one too many in an exact object are all shown."""
    expected = read_rows(
        [
            {"return": "agent.send", "result": {"$by": "A-A-01", "is": None}},
            {"log": "turn/end", "data": {"$by": "A-A-02", "is": {"turn": 1, "reason": {"$absent": True}}}},
            {"log": "x", "data": {"$exact": {"turn": 1}}},
            {"task": "t"},
        ]
    )
    observed: list[JsonMap] = [
        {"on": "return", "op": "agent.send", "error": {"message": "no"}, "at": "0"},
        log("turn/end", turn=1, reason=3, more=2),
        log("x", turn=1, more=2),
        {"on": "task", "task": "t", "error": {"message": "no"}},
    ]
    rows = align(expected, observed, lambda _: False)
    assert [right for _, right in rows.pairs] == [
        "return agent.send error={message: no}",
        "log turn/end {turn: 1, reason: 3, more: 2}",
        "log x {turn: 1, more: 2}",
        "task t error={message: no}",
    ]
