"""Sessions of the suite, as the adapter of the published packages knows them."""

import pytest
from tests.conformance.adapters.dsh_node.talk import ask, in_words

from dshconform.links.subprocess import SubprocessLink
from dshconform.protocol.json_value import Json

pytestmark = pytest.mark.node


def appended(kind: str, session: str = "s") -> dict[str, Json]:
    """A command that appends an event."""
    return {"op": "session.append", "args": {"session": session, "type": kind, "data": {}}}


def test_a_session_has_its_name_from_its_first_notification_on(dsh_node: SubprocessLink) -> None:
    """Also one that is made inside the announcement of another; each by its own name."""
    inner: Json = [{"op": "session.create", "args": {"session": "inner"}}]
    ask(
        dsh_node,
        "listen",
        {"as": "l", "event": "session/created", "fn": {"$fn": "l", "when": {"session": "outer"}, "do": inner}},
    )
    reply = ask(dsh_node, "session.create", {"session": "outer"})
    live = [(row["session"], row["payload"]["session"]) for row in reply.observed if row["on"] == "live"]
    assert live == [("outer", "outer"), ("inner", "inner")]
    assert reply.result == "session-1"
    assert ask(dsh_node, "session.list").result == ["outer", "inner"]


def test_a_vetoed_session_keeps_its_name(dsh_node: SubprocessLink) -> None:
    """So its disposal is told by that name, and what is left of it can be read."""
    veto = {"$fn": "veto", "do": [{"do": "throw", "error": {"$error": {"message": "no"}}}]}
    ask(dsh_node, "listen", {"as": "l", "event": "session/created", "fn": veto})
    reply = ask(dsh_node, "session.create", {"session": "s", "id": "x"})
    assert [row["session"] for row in reply.observed if row["on"] == "live"] == ["s", "s"]
    assert ask(dsh_node, "session.read", {"session": "s", "what": ["seq"]}).result == {"seq": 0}


def test_a_name_used_again_means_the_newer_thing(dsh_node: SubprocessLink) -> None:
    """The older session is known by its id, and as a result it is another object."""
    ask(dsh_node, "session.create", {"session": "s", "id": "one"})
    ask(dsh_node, "session.create", {"session": "s", "id": "two"})
    assert ask(dsh_node, "session.list").result == [{"other": "one"}, "s"]
    row = ask(dsh_node, "session.append", {"session": "one", "type": "x/note", "data": {}}).observed[0]
    assert row["session"] == "one"


def test_the_next_event_that_meets_the_conditions_is_refused(dsh_node: SubprocessLink) -> None:
    """Once, in that session alone, and with the error that was given."""
    for session in ("s", "t"):
        ask(dsh_node, "session.create", {"session": session, "id": session})
    error = {"$error": {"message": "no", "as": "mine"}}
    ask(dsh_node, "session.refuse", {"session": "s", "when": {"type": "x/no", "seq": 1}, "error": error})
    ask(dsh_node, "session.refuse", {"session": "t", "when": {"data": {}}})
    told = ask(
        dsh_node,
        "burst",
        {
            "do": [
                *(appended(kind) for kind in ("x/no", "x/yes", "x/no", "x/no")),
                appended("x/no", "t"),
                appended("x/no", "t"),
            ]
        },
    )
    assert ["error" in outcome for outcome in told.result] == [False, False, False, False, True, False]
    ask(dsh_node, "session.refuse", {"session": "s", "when": {"type": "x/no", "seq": 4}, "error": error})
    refused = ask(dsh_node, "session.append", {"session": "s", "type": "x/no", "data": {}})
    assert refused.error["is"] == "mine"
    assert [in_words(row) for row in refused.observed] == ["return session.append failed"]


def test_a_world_checks_relations_when_it_is_told_to(dsh_node: SubprocessLink) -> None:
    """With `enforce`, and not without."""
    turn = {"session": "s", "type": "turn/start", "data": {"turn": 7}}
    ask(dsh_node, "session.create", {"session": "s", "id": "s"})
    assert ask(dsh_node, "session.append", turn).result["seq"] == 0
    ask(dsh_node, "world.open", {"config": {"enforce": True}})
    ask(dsh_node, "session.create", {"session": "s", "id": "s"})
    assert ask(dsh_node, "session.append", turn).error["code"] == "INVARIANT"


def test_a_member_without_a_name_is_shown(dsh_node: SubprocessLink) -> None:
    """The empty name is a name like any other."""
    ask(dsh_node, "session.create", {"session": "s", "id": "s"})
    reply = ask(dsh_node, "session.append", {"session": "s", "type": "x/note", "data": {"": 1}})
    assert reply.result["data"] == {"": 1}
