import gc
from typing import Any

from tests.conformance.adapters.reference.suite import Suite, message, short

from dshconform.adapters.reference.adapter import ReferenceAdapter
from dshconform.protocol.messages import Command


def test_warnings_of_the_implementation_are_reported(suite: Suite) -> None:
    """What the implementation logs is a row, at its place among the others."""
    suite.open()
    suite.listen("agent/inbox/inserted", [{"do": "throw", "error": {"$error": {"message": "no"}}}])
    reply = suite.call("agent.inject", {"agent": "a", "message": message("A")})
    assert [short(row) for row in reply.observed][-3:] == [
        "script agent/inbox/inserted",
        "report warning",
        "return agent.inject",
    ]
    assert reply.observed[-2]["text"] == 'agent event "agent/inbox/inserted" listener threw: Exception: no'


def test_failure_that_nobody_handled_is_told(suite: Suite) -> None:
    """A cleanup that fails, and for whose disposer nobody waits, is an `unhandled` row."""
    suite.open()
    fail = {"$fn": "u", "do": [{"do": "pause", "ticks": 2}, {"do": "throw", "error": {"$error": {"message": "no"}}}]}
    suite.call("effect", {"as": "e", "undo": fail})
    (row,) = suite.rows("unhandled", "undo", {"of": "e"})
    assert row["error"]["message"] == "no"


def test_agent_is_shown_by_the_name_that_the_suite_gave_it(suite: Suite) -> None:
    """The handle's name stands for agent and session in rows and results, from the announcement on."""
    suite.open(agents=())
    reply = suite.create("a", handle="h")
    assert [row["session"] for row in reply.observed if row.get("name") == "session/created"] == ["h"]
    assert [row["agent"] for row in reply.observed if row.get("name") == "agent/created"] == ["h"]
    assert [row["value"] for row in reply.observed if row["on"] == "task"] == ["h"]
    assert suite.call("registry.get", {"id": "a"}).result == "h"
    assert suite.call("registry.list").result == ["h"]
    assert suite.call("registry.roots").result == ["h"]
    assert suite.call("registry.get", {"id": "nobody"}).result is None
    assert [row["session"] for row in suite.rows("log", "agent.inject", {"agent": "h", "message": message("A")})] == [
        "h"
    ]
    assert suite.inspect("h")["id"] == "a"
    assert suite.inspect("a") == suite.inspect("h")


def test_name_that_is_used_again_means_the_newer_agent(suite: Suite) -> None:
    """After its name was given away, an agent is another one in results."""
    suite.open(agents=())
    suite.create("a", handle="h")
    suite.create("b", handle="h")
    assert suite.call("registry.list").result == [{"other": "a"}, "h"]
    assert suite.inspect("h")["id"] == "b"


def test_name_of_a_failed_creation_stands_for_nothing(suite: Suite) -> None:
    """What a refused creation would have been called does not name the next agent of that id."""
    suite.open(agents=())
    suite.create("a", handle="h")
    suite.create("a", handle="x")
    suite.call("agent.dispose", {"task": "gone", "agent": "h"})
    rows = suite.create("a", handle="y").observed
    assert [row["session"] for row in rows if row.get("name") == "session/created"] == ["y"]


def test_failure_that_comes_to_light_between_commands_is_told_by_the_next(suite: Suite) -> None:
    """What a garbage collector finds while nothing runs is no late row."""
    suite.open()
    assert suite.adapter.world is not None
    suite.adapter.world.loop.call_exception_handler({"message": "never retrieved", "exception": ValueError("x")})
    first, last = suite.call("agent.inspect", {"agent": "a"}).observed
    assert first == {"on": "unhandled", "error": {"type": "ValueError", "message": "x", "code": None}}
    assert short(last) == "return agent.inspect"


def test_session_is_read_and_appended_to(suite: Suite) -> None:
    """The session of an agent is named like it; what was logged is read raw."""
    suite.open()
    event = suite.call("session.append", {"session": "a", "type": "x/y", "data": {"k": [1]}}).result
    assert (event["type"], event["seq"], event["data"]) == ("x/y", 0, {"k": [1]})
    read = suite.call("session.read", {"session": "a", "what": ["seq", "events", "messages", "firstLiveSeq"]}).result
    assert read == {"seq": 1, "events": [event], "messages": [], "firstLiveSeq": 0}
    surface = {"surfaceOp": "append", "ignorable": True}
    logged = suite.call(
        "session.append", {"session": "a", "type": "user/message", "data": message("A"), "intent": surface}
    )
    assert logged.result["surfaceOp"] == "append"
    assert "ignorable" not in logged.result
    assert suite.call("session.read", {"session": "a", "what": ["messages"]}).result == {"messages": [message("A")]}


def test_absent_data_is_not_null(suite: Suite) -> None:
    """An event without data is what the implementation makes of absence; null is a value."""
    suite.open()
    assert suite.call("session.append", {"session": "a", "type": "x/y", "data": None}).result["data"] is None
    assert "non-JSON-serializable" in suite.call("session.append", {"session": "a", "type": "x/y"}).error["message"]


def test_consumed_work_is_folded(suite: Suite) -> None:
    """The fold takes events as they were read and leaves out an ending that there is not."""
    suite.open()
    suite.followup("A")
    suite.answer_model()
    events = suite.call("session.read", {"session": "a", "what": ["events"]}).result["events"]
    assert suite.call("fold", {"what": "work", "events": []}).result == {"droppedUnrun": False}
    folded = suite.call("fold", {"what": "work", "events": events}).result
    assert folded == {"end": events[-1], "droppedUnrun": False}


def test_closing_a_world_tells_nothing_and_the_next_one_is_fresh(suite: Suite) -> None:
    """Open gates and running turns are abandoned; ids, names and counts begin anew."""
    suite.open()
    suite.listen("agent/pre-step", "gate")
    suite.followup("A")
    closed = suite.call("world.close")
    assert (closed.observed, closed.open, closed.result) == ([], [], None)
    suite.open()
    suite.listen("agent/pre-step", "gate")
    reply = suite.followup("A")
    assert reply.open == ["g1"]
    assert reply.observed[-1]["n"] == 1


def test_opening_a_world_closes_the_one_before(suite: Suite) -> None:
    """There is one world at a time."""
    suite.open()
    suite.followup("A")
    reply = suite.call("world.open")
    assert [short(row) for row in reply.observed] == ["return world.open"]
    assert suite.call("registry.list").result == []


def test_adapters_in_one_process_keep_their_rows_apart() -> None:
    """What one implementation logs is told by its own adapter only."""

    def send(adapter: ReferenceAdapter, op: str, **args: Any) -> Any:
        return adapter.handle(Command(id=1, op=op, args=args))

    one, other = ReferenceAdapter(), ReferenceAdapter()
    throw = {"$fn": "f", "do": [{"do": "throw", "error": {"$error": {"message": "no"}}}]}
    for adapter in (one, other):
        send(adapter, "world.open")
        send(adapter, "agent.create", task="t", agent="a")
    send(one, "listen", **{"as": "l", "event": "agent/inbox/inserted", "fn": throw})
    assert "report" in [row["on"] for row in send(one, "agent.inject", agent="a", message=message("A")).observed]
    assert [row["on"] for row in send(other, "agent.inject", agent="a", message=message("A")).observed] == [
        "log",
        "live",
        "return",
    ]
    one.close()
    other.close()


def test_closed_worlds_leave_nothing_behind() -> None:
    """A world that was abandoned in the middle of a turn is garbage, without a complaint of the interpreter."""
    suite = Suite()
    suite.open()
    suite.listen("agent/pre-step", [{"do": "next"}, {"do": "gate"}])
    suite.followup("A")
    suite.link.close()
    gc.collect()
