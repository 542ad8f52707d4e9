from typing import Any

import pytest
from tests.conformance.adapters.reference.suite import Suite, message

from dshconform.adapters.reference.adapter import ReferenceAdapter
from dshconform.protocol.messages import Command


@pytest.mark.parametrize(
    ("op", "args", "problem"),
    [
        ("tool.unregister", {}, "unknown op 'tool.unregister'"),
        ("agent.inspect", {}, "agent.inspect: the argument 'agent' is missing"),
        ("agent.inspect", {"agent": "a", "depth": 1}, "agent.inspect: there is no argument 'depth'"),
        ("agent.inspect", {"agent": "nobody"}, "there is no agent 'nobody'"),
        ("agent.whenIdle", {"agent": "a"}, "agent.whenIdle: the argument 'task' is missing"),
        ("agent.dispose", {"agent": "nobody", "task": "t"}, "no handle of an agent 'nobody'"),
        ("agent.create", {"agent": 5, "task": "t"}, "agent.create: the argument 'agent' must be a name, not 5"),
        ("session.read", {"session": "a", "what": "seq"}, "the argument 'what' must be a list"),
        ("session.read", {"session": "a", "what": ["age"]}, "the argument 'what' must list"),
        ("listen", {"as": "l", "event": "no/such", "fn": {"$fn": "f"}, "in": "nowhere"}, "no context 'nowhere'"),
        ("listen", {"as": "l", "event": "agent/status", "fn": 5}, "the argument 'fn' must be a function"),
        (
            "listen",
            {"as": "l", "event": "agent/status", "fn": {"$fn": "f"}, "once": 1},
            "the argument 'once' must be true or false",
        ),
        ("listen", {"as": "l", "event": "agent/status", "fn": {"$fn": "f"}, "in": "x"}, "no context 'x'"),
        ("undo", {"of": "nothing"}, "the argument 'of' must be the `as` of a registration"),
        ("signal.abort", {"signal": "s"}, "the argument 'signal' must be a signal"),
        ("model.register", {"as": "m", "routes": ["q"]}, "the argument 'stream' is needed"),
        ("fold", {"what": "nothing", "events": []}, "the argument 'what' must be one of work"),
        ("gate.resolve", {"gate": "g1"}, "the argument 'gate' must be a gate that waits"),
        ("burst", {"do": [{"do": "pause", "ticks": 1}]}, "burst, item 0: only commands"),
        ("burst", {"do": [{"op": "agent.inspect"}]}, "agent.inspect: the argument 'agent' is missing"),
        ("value.get", {"of": "k"}, "the argument 'of' must be the name of a kept value"),
        ("world.open", {"config": {"without": ["wheels"]}}, "config 'without' must list parts"),
        ("world.open", {"config": {"colour": "red"}}, "config 'colour' is not offered"),
    ],
)
def test_command_that_cannot_be_executed_is_a_fault_that_says_why(
    suite: Suite, op: str, args: Any, problem: str
) -> None:
    """Unknown operations, missing, unknown and wrong arguments are named; the implementation is not blamed."""
    suite.open()
    assert problem in suite.fault(op, args)


@pytest.mark.parametrize(
    ("event", "do", "problem"),
    [
        ("agent/status", [{"op": "agent.fly"}], "unknown op 'agent.fly'"),
        ("agent/status", [{"op": "agent.inspect", "args": {"agent": {"$arg": "nothing"}}}], "leads nowhere"),
        ("agent/status", [{"op": "agent.whenIdle", "args": {"agent": "a"}}], "'task' is missing"),
        ("agent/status", [{"do": "chunk", "chunk": 1}], "'chunk' makes no sense"),
        ("agent/status", [{"do": "next"}], "has no `next`"),
        ("llm/stream", [{"do": "pause", "ticks": 1}], "cannot wait, pause does"),
        ("llm/stream", "gate", "cannot wait, gate does"),
        ("agent/pre-step", [{"do": "throw", "error": 5}], "only errors can be thrown"),
        ("agent/pre-step", [{"do": "pause", "ticks": 1}, {"op": "agent.fly"}], "unknown op 'agent.fly'"),
    ],
)
def test_fault_inside_a_function_makes_the_reply_one(suite: Suite, event: str, do: Any, problem: str) -> None:
    """A script that cannot go on passes its call, and the reply says what was wrong with it."""
    suite.open()
    suite.listen(event, do)
    assert problem in suite.fault("agent.followup", {"agent": "a", "message": message("A")})


def handle(adapter: ReferenceAdapter, op: str, **args: Any) -> Any:
    return adapter.handle(Command(id=1, op=op, args=args))


def test_world_goes_on_after_a_fault() -> None:
    """A fault undoes nothing: the rows that were made are in its reply, and the next command finds the same world."""
    adapter = ReferenceAdapter()
    handle(adapter, "world.open")
    handle(adapter, "agent.create", task="t", agent="a")
    inject = {"op": "agent.inject", "args": {"agent": "a", "message": message("A")}}
    reply = handle(adapter, "burst", do=[inject, {"op": "agent.fly"}])
    assert reply.fault == "unknown op 'agent.fly'"
    assert [row["on"] for row in reply.observed] == ["log", "live", "return"]
    assert handle(adapter, "agent.inspect", agent="a").result["hasPending"] is True
    adapter.close()


def test_command_before_a_world_is_open_is_a_fault() -> None:
    """Only `hello` and `world.close` need no world."""
    adapter = ReferenceAdapter()
    assert handle(adapter, "hello", protocol=1).result["implementation"]["name"] == "dshcore"
    assert handle(adapter, "world.close").result is None
    assert "no world is open" in handle(adapter, "agent.inspect", agent="a").fault


def test_world_that_does_not_load_is_not_open() -> None:
    """A refused composition is an error of the implementation, and leaves no world."""
    adapter = ReferenceAdapter()
    reply = handle(adapter, "world.open", config={"maxParallelToolCalls": 0})
    assert reply.error["message"].startswith("maxParallelToolCalls must be a positive integer")
    assert "no world is open" in handle(adapter, "agent.inspect", agent="a").fault
    adapter.close()


def test_implementation_that_never_rests_is_unsettled() -> None:
    """Work that goes on by itself makes the reply a fault that says so, and does not keep the world from closing."""
    adapter = ReferenceAdapter(max_turns=50)
    handle(adapter, "world.open")
    reply = handle(adapter, "run", task="t", do=[{"do": "pause", "ticks": 10**9}])
    assert reply.fault.startswith("unsettled: ")
    adapter.close()


def test_implementation_that_tells_without_end_is_unsettled() -> None:
    """So many rows that no reply can carry them stop what makes them, whether or not it lets the loop turn."""
    adapter = ReferenceAdapter(max_rows=50)
    handle(adapter, "world.open")
    reply = handle(adapter, "run", task="t", do=[{"op": "registry.list"}] * 60)
    assert reply.fault == "unsettled: more than 50 rows"
    assert handle(adapter, "registry.list").result == []
    adapter.close()
