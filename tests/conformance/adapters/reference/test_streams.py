from typing import Any

import pytest
from tests.conformance.adapters.reference.suite import FINISH, Suite, short

from dshconform.adapters.reference.calls import Call
from dshconform.adapters.reference.dispatch import TABLE
from dshconform.adapters.reference.endings import Kind
from dshconform.adapters.reference.functions import SuiteFunction
from dshconform.adapters.reference.places import TOP
from dshconform.adapters.reference.scopes import scope_at
from dshconform.adapters.reference.streams import SuiteStream
from dshconform.adapters.reference.world import World
from dshcore.settling import SettlingLoop

BLOCK = {"type": "block-start", "index": 0, "blockType": "text"}
BUSY = {"$error": {"kind": "model", "message": "busy", "code": "RATE_LIMIT", "status": 429}}


def delta(text: str) -> dict[str, Any]:
    return {"type": "text-delta", "index": 0, "text": text}


def chunks(reply: Any) -> list[Any]:
    return [row["event"]["data"]["chunk"] for row in reply.observed if short(row) == "log assistant/chunk"]


def test_open_stream_tells_of_every_pull(suite: Suite) -> None:
    """The consumer's first pull is in the reply that opened the stream; pulls count from 1."""
    suite.open()
    reply = suite.followup("A")
    assert [short(row) for row in reply.observed[-2:]] == ["gate model/stream", "pull 1"]
    gate = reply.observed[-2]
    assert gate["agent"] == "a"
    assert {name: gate["payload"][name] for name in ("provider", "model")} == {"provider": "p", "model": "m"}
    assert gate["payload"]["request"]["messages"][0]["id"] == "A"
    assert "signal" not in gate["payload"]["request"]
    assert suite.told("stream.chunk", {"gate": "g1", "chunk": BLOCK}) == ["log assistant/chunk", "pull 2"]


def test_items_are_held_until_they_are_pulled(suite: Suite) -> None:
    """Several items given in one stretch are delivered in order; the ended stream leaves `open` at once."""
    suite.open()
    suite.followup("A")
    reply = suite.burst(
        ("stream.chunk", {"gate": "g1", "chunk": delta("x")}),
        ("stream.chunk", {"gate": "g1", "chunk": FINISH}),
        ("stream.end", {"gate": "g1"}),
    )
    assert chunks(reply) == [delta("x"), FINISH]
    assert [short(row) for row in reply.observed if row["on"] == "pull"] == []
    assert reply.open == []


def test_failing_stream_fails_behind_what_it_holds(suite: Suite) -> None:
    """`stream.fail` gives the consumer the items before it, then the error."""
    suite.open()
    suite.followup("A")
    reply = suite.burst(
        ("stream.chunk", {"gate": "g1", "chunk": delta("x")}), ("stream.fail", {"gate": "g1", "error": BUSY})
    )
    failure = {"message": "busy", "code": "RATE_LIMIT", "status": 429}
    assert chunks(reply) == [delta("x"), {"type": "finish", "reason": {"kind": "error", "failure": failure}}]


def test_script_of_a_stream_runs_as_it_is_pulled(suite: Suite) -> None:
    """A command between two chunks runs when the second one is pulled, after the first was used."""
    inspect = {"op": "agent.inspect", "args": {"agent": "a"}}
    suite.open(
        [{"do": "chunk", "chunk": delta("x")}, inspect, {"do": "pause", "ticks": 3}, {"do": "chunk", "chunk": FINISH}]
    )
    told = [short(row) for row in suite.followup("A").observed]
    at = told.index("script model/stream")
    assert told[at : at + 4] == [
        "script model/stream",
        "log assistant/chunk",
        "return agent.inspect at 1",
        "log assistant/chunk",
    ]


def test_script_that_comes_to_a_gate_leaves_the_rest_to_the_suite(suite: Suite) -> None:
    """The gate opens inside the pull that reaches it, which is its first."""
    suite.open([{"do": "chunks", "list": [delta("x"), delta("y")]}, {"do": "gate"}])
    told = [short(row) for row in suite.followup("A").observed]
    assert told[-5:] == [
        "script model/stream",
        "log assistant/chunk",
        "log assistant/chunk",
        "gate model/stream",
        "pull 1",
    ]
    assert chunks(suite.answer_model()) == [FINISH]


def test_script_of_a_stream_can_throw(suite: Suite) -> None:
    """`throw` fails the iteration, behind the chunks before it."""
    suite.open([{"do": "chunk", "chunk": delta("x")}, {"do": "throw", "error": BUSY}])
    assert [chunk["type"] for chunk in chunks(suite.followup("A"))] == ["text-delta", "finish"]


def test_stream_without_a_script_is_empty(suite: Suite) -> None:
    """A model function that passes answers a stream that ends at once."""
    suite.open({"$fn": "model"})
    assert chunks(suite.followup("A")) == []


def test_abandoned_stream_closes_its_gate(suite: Suite) -> None:
    """After an abort the driver leaves a stream that goes on: `closed left`, and the model is told."""
    suite.open(close={"$fn": "close"})
    suite.followup("A")
    suite.call("agent.cancel", {"agent": "a", "cause": {"kind": "user"}})
    reply = suite.call("stream.chunk", {"gate": "g1", "chunk": delta("late")})
    told = [short(row) for row in reply.observed]
    assert told[:2] == ["closed left", "script model/close"]
    assert reply.observed[1]["payload"] == {"provider": "p"}
    assert chunks(reply) == []
    assert reply.open == []


def test_automatic_stream_fails_with_the_reason(suite: Suite) -> None:
    """An `auto` model ends by itself when the turn is cancelled."""
    suite.open({"$fn": "model", "do": "gate", "abort": "auto"})
    suite.followup("A")
    suite.call("stream.chunk", {"gate": "g1", "chunk": delta("par")})
    reply = suite.call("agent.cancel", {"agent": "a", "cause": {"kind": "user"}})
    told = [short(row) for row in reply.observed]
    assert told[:3] == ["abort model", "closed abort", "return agent.cancel"]
    assert "log turn/end" in told


def test_start_of_a_model_can_fail(suite: Suite) -> None:
    """`model/start` is called with the stream operation, before `model/stream`, and its `throw` fails the start."""
    suite.open(start={"$fn": "start", "calls": [None, [{"do": "throw", "error": BUSY}]]})
    told = [short(row) for row in suite.followup("A").observed]
    assert told[-3:] == ["script model/start", "gate model/stream", "pull 1"]
    suite.answer_model()
    reply = suite.followup("B")
    assert "gate model/stream" not in [short(row) for row in reply.observed]
    assert [chunk["reason"]["failure"]["code"] for chunk in chunks(reply)] == ["RATE_LIMIT"]


def test_listener_can_answer_a_stream_of_its_own(suite: Suite) -> None:
    """A listener of `llm/stream` that returns `$stream` serves the request; its commands have the action's place."""
    suite.open()
    inspect = {"op": "agent.inspect", "args": {"agent": "a"}}
    stream = {"$stream": [{"do": "chunk", "chunk": delta("x")}, inspect, {"do": "chunk", "chunk": FINISH}]}
    suite.listen("llm/stream", [{"do": "return", "value": stream}])
    reply = suite.followup("A")
    told = [short(row) for row in reply.observed]
    assert chunks(reply) == [delta("x"), FINISH]
    assert "return agent.inspect at 0.1" in told
    assert [row["agent"] for row in reply.observed if short(row) == "script llm/stream"] == ["a"]
    assert "gate model/stream" not in told


def test_listener_of_a_stream_hands_on_the_stream_behind_it(suite: Suite) -> None:
    """In the synchronous chain `next` is shown as a stream, at once, and `$next` is that very stream."""
    suite.open([{"do": "chunk", "chunk": FINISH}])
    suite.listen("llm/stream", [{"do": "next"}, {"do": "return", "value": {"$next": 0}}])
    reply = suite.followup("A")
    (row,) = [row for row in reply.observed if row["on"] == "next"]
    assert row == {"on": "next", "part": "f", "n": 1, "call": 0, "value": {"$value": "stream"}}
    assert chunks(reply) == [FINISH]


def test_metadata_of_models_is_given_by_function_or_by_table(suite: Suite) -> None:
    """`resolve` as a table answers what it has and passes for the rest; as a function it is called."""
    suite.open(agents=(), resolve={"m": {"provider": "p", "id": "m", "name": "M", "context": {"contextWindow": 9}}})
    suite.create("a")
    (row,) = [row for row in suite.followup("A").observed if short(row) == "log request/context"]
    assert row["event"]["data"]["contextWindow"] == 9
    suite.open(resolve={"$fn": "resolve"})
    (row,) = [row for row in suite.followup("A").observed if row["on"] == "script"]
    assert row["kind"] == "model/resolve"
    assert {name: row["payload"][name] for name in ("provider", "model")} == {"provider": "p", "model": "m"}


@pytest.mark.parametrize(
    ("op", "args"),
    [("gate.resolve", {}), ("gate.reject", {"error": {"$error": {"message": "no"}}})],
)
def test_stream_is_not_answered_like_a_call(suite: Suite, op: str, args: Any) -> None:
    """Answers for calls and for streams are told apart."""
    suite.open()
    suite.followup("A")
    assert "is a stream" in suite.fault(op, {"gate": "g1", **args})


def test_call_is_not_answered_like_a_stream(suite: Suite) -> None:
    """A chunk for a gate that is no stream is a fault."""
    suite.open()
    suite.listen("agent/pre-step", "gate")
    suite.followup("A")
    assert "is no stream" in suite.fault("stream.chunk", {"gate": "g1", "chunk": BLOCK})


def test_stream_that_was_left_gives_nothing_more() -> None:
    """After its close an iterator is at its end, whatever it still held."""
    world = World(TABLE, scope_at, SettlingLoop())
    function = SuiteFunction(world, "f", {})

    async def leave() -> object:
        stream = SuiteStream(Call(function, Kind("k"), {}), (), TOP)
        stream.give(1)
        stream.give(2)
        first = await anext(stream)
        await stream.aclose()
        return first, await anext(stream, "end"), await anext(stream, "end")

    future = world.run(lambda: world.start(leave()))
    assert future.result() == (1, "end", "end")
    world.close()
