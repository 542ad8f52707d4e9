"""Sessions of the suite, as the adapter of the reference knows them."""

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.conformance.adapters.reference.suite import Suite


def create(suite: "Suite", session: str, **more: Any) -> Any:
    """Create a session under its own name."""
    return suite.call("session.create", {"session": session, "id": session, **more})


def append(suite: "Suite", session: str, kind: str, data: Any = None) -> Any:
    """Append an event that is only logged."""
    return suite.call("session.append", {"session": session, "type": kind, "data": {} if data is None else data})


def test_a_session_has_its_name_from_its_first_notification_on(suite: "Suite") -> None:
    """Also one that is made inside the announcement of another; each by its own name."""
    suite.call("world.open")
    inner = [{"op": "session.create", "args": {"session": "inner"}}]
    suite.listen("session/created", inner, when={"session": "outer"})
    reply = suite.call("session.create", {"session": "outer"})
    live = [(row["session"], row["payload"]["session"]) for row in reply.observed if row["on"] == "live"]
    assert live == [("outer", "outer"), ("inner", "inner")]
    assert reply.result == "session-1"
    assert suite.call("session.list").result == ["outer", "inner"]


def test_a_vetoed_session_keeps_its_name(suite: "Suite") -> None:
    """So its disposal is told by that name, and what is left of it can be read."""
    suite.call("world.open")
    suite.listen("session/created", [{"do": "throw", "error": {"$error": {"message": "no"}}}])
    reply = suite.call("session.create", {"session": "s", "id": "x"})
    assert [row["session"] for row in reply.observed if row["on"] == "live"] == ["s", "s"]
    assert suite.call("session.read", {"session": "s", "what": ["seq"]}).result == {"seq": 0}


def test_a_name_used_again_means_the_newer_thing(suite: "Suite") -> None:
    """An agent or a session; the older one is known by its id."""
    suite.open()
    suite.call("session.create", {"session": "a", "id": "one"})
    assert suite.call("session.list").result == [{"other": "a"}, "a"]
    assert suite.call("session.read", {"session": "a", "what": ["header"]}).result["header"]["id"] == "one"
    assert suite.call("registry.list").result == [{"other": "a"}]
    suite.call("session.create", {"session": "a", "id": "two"})
    suite.create("b", handle="a")
    assert suite.call("session.list").result == [{"other": "a"}, {"other": "one"}, {"other": "two"}, "a"]
    (row,) = suite.rows("log", "session.append", {"session": "two", "type": "x/note", "data": {}})
    assert row["session"] == "two"


def test_the_next_event_that_meets_the_conditions_is_refused(suite: "Suite") -> None:
    """Once, in that session alone, and with the error that was given."""
    suite.call("world.open")
    for session in ("s", "t"):
        create(suite, session)
    error = {"$error": {"message": "no", "as": "mine"}}
    suite.call("session.refuse", {"session": "s", "when": {"type": "x/no", "data.n": 1}, "error": error})
    assert append(suite, "t", "x/no", {"n": 1}).result["seq"] == 0
    assert append(suite, "s", "x/yes", {"n": 1}).result["seq"] == 0
    assert append(suite, "s", "x/no").result["seq"] == 1
    refused = append(suite, "s", "x/no", {"n": 1})
    assert refused.error["is"] == "mine"
    assert [row["on"] for row in refused.observed] == ["return"]
    assert append(suite, "s", "x/no", {"n": 1}).result["seq"] == 2


def test_a_refusal_without_an_error_has_one_of_the_suite(suite: "Suite") -> None:
    """What is refused without an error is refused all the same."""
    suite.call("world.open")
    create(suite, "s")
    suite.call("session.refuse", {"session": "s", "when": {}})
    assert append(suite, "s", "x/no").error["message"] == "refused"


def test_a_world_checks_relations_when_it_is_told_to(suite: "Suite") -> None:
    """With `enforce`, and not without."""
    for enforce in (False, True):
        suite.call("world.open", {"config": {"enforce": enforce}})
        create(suite, "s")
        refused = append(suite, "s", "turn/start", {"turn": 7}).error
        assert (bool(refused) and refused["code"] == "INVARIANT") is enforce


@pytest.mark.parametrize(
    ("what", "of", "fold"),
    [
        (
            "surface",
            {"events": [{"type": "user/message", "seq": 0, "time": 1, "data": {}, "surfaceOp": "append"}]},
            {"nodes": [0], "replacements": []},
        ),
        ("requestHeader", {"events": []}, None),
        ("requestHeader", {"events": [], "from": {"config": {}}}, {"config": {}}),
        ("todos", {"events": []}, []),
        ("canonical", {"header": {"config": {}, "system": ""}}, {"config": {}}),
        ("equal", {"a": {"config": {}}, "b": {"config": {}}}, True),
        ("message", {"event": {"type": "x/note", "seq": 0, "time": 1, "data": {}}}, None),
        ("work", {"events": []}, {"droppedUnrun": False}),
    ],
)
def test_every_fold(suite: "Suite", what: str, of: dict[str, Any], fold: object) -> None:
    """Each is of what the protocol says."""
    suite.call("world.open")
    assert suite.call("fold", {"what": what, **of}).result == fold
