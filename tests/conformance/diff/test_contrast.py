"""Every place where two lists of rows part is found, and named so that the same thing has one name."""

from dshconform.diff.contrast import Contrast, beside, contrasts
from dshconform.protocol.json_value import Json, JsonMap
from dshconform.trace.pattern import MISSING


def status(value: str, agent: str = "a") -> JsonMap:
    return {"on": "live", "name": "agent/status", "agent": agent, "payload": {"status": value}}


def returned(**members: Json) -> JsonMap:
    return {"on": "return", "op": "agent.send", **members}


def places(left: list[JsonMap], right: list[JsonMap]) -> list[str]:
    return [one.place for one in contrasts(left, right, {})]


def test_rows_that_are_alike_part_nowhere() -> None:
    """Lists and tuples are both arrays here only if both sides were made normal, which makes lists."""
    assert contrasts([status("idle")], [status("idle")], {}) == []


def test_every_member_is_a_place_of_its_own() -> None:
    """Two members of one row, and one that a side has alone."""
    assert contrasts([status("idle")], [{**status("running", "b"), "n": 1}], {}) == [
        Contrast("live agent/status.agent", "a", "b"),
        Contrast("live agent/status.payload.status", "idle", "running"),
        Contrast("live agent/status.n", MISSING, 1),
    ]


def test_a_row_that_one_side_has_alone_forks() -> None:
    """It is no member of its neighbour; what stands behind it is compared all the same."""
    found = contrasts([status("running"), returned(result=1)], [returned(result=2)], {})
    assert [(one.place, one.alone) for one in found] == [
        ("live agent/status", True),
        ("return agent.send.result", False),
    ]
    assert found[0].sentence == "live agent/status stands on the left alone"


def test_an_index_and_a_name_of_a_task_are_no_part_of_a_place() -> None:
    """Places are the same whichever item of a list, and whatever the task is called."""
    left: JsonMap = {"on": "task", "task": "t7", "value": [{"x": 1}, {"x": 2}]}
    right: JsonMap = {"on": "task", "task": "t7", "value": [{"x": 1}, {"x": 3}]}
    (found,) = contrasts([left], [right], {"t7": "agent.create"})
    assert found.place == "task of agent.create.value.*.x"


def test_class_and_code_of_errors_are_one_place_each() -> None:
    """Whatever failed; a message has the place where it stands."""
    left, right = (
        returned(
            error={"type": kind, "message": kind, "code": kind, "cause": {"type": kind, "message": "", "code": None}}
        )
        for kind in ("A", "B")
    )
    assert places([left], [right]) == ["error.type", "return agent.send.error.message", "error.code", "error.type"]


def test_what_has_nothing_in_common_parts_as_a_whole() -> None:
    """Lists of another length, objects without a common member, another type."""
    for one, other in (([1], [1, 2]), ({"a": 1}, {"b": 1}), (True, 1), ({"a": 1}, [1])):
        assert places([returned(result=one)], [returned(result=other)]) == ["return agent.send.result"]


def test_rows_stand_beside_each_other() -> None:
    """Rows that tell of the same thing in one line; the first pair that differs is known."""
    turn: JsonMap = {"on": "log", "session": "a", "event": {"type": "turn/start", "data": {"turn": 1}}}
    rows = beside([status("idle"), returned(result=1)], [status("idle"), turn, returned(result=1)])
    assert [MISSING in pair for pair in rows.pairs] == [False, True, False]
    assert rows.first == 1
