import asyncio
from typing import Any

import pytest
from tests.conformance.adapters.reference.suite import Suite, message, short

from dshconform.adapters.reference.commands import perform
from dshconform.adapters.reference.dispatch import TABLE
from dshconform.adapters.reference.endings import Kind
from dshconform.adapters.reference.functions import SuiteFunction
from dshconform.adapters.reference.places import TOP
from dshconform.adapters.reference.scopes import scope_at
from dshconform.adapters.reference.world import World
from dshcore.settling import SettlingLoop

INSPECT = {"op": "agent.inspect", "args": {"agent": "a"}}
ENTER_B = {"kind": "enter", "messages": [message("B")]}


def waiting(suite: Suite, do: Any = "gate", **more: Any) -> Any:
    """A turn that waits in `agent/pre-step`; the reply that told of the gate."""
    suite.open()
    suite.listen("agent/pre-step", do, **more)
    return suite.followup("A")


def entered(reply: Any) -> list[str]:
    return [row["event"]["data"]["id"] for row in reply.observed if short(row) == "log user/message"]


def test_gate_shows_the_call_and_stays_open(suite: Suite) -> None:
    """A waiting call has a row with its fields, and its gate is in `open` until it is answered."""
    reply = waiting(suite)
    assert reply.observed[-1] == {
        "on": "gate",
        "gate": "g1",
        "part": "f",
        "kind": "agent/pre-step",
        "n": 1,
        "agent": "a",
        "payload": {
            "turn": 1,
            "step": 1,
            "messages": [message("A")],
            "signal": {"signal": None, "aborted": False},
        },
    }
    assert reply.open == ["g1"]
    assert suite.call("agent.inspect", {"agent": "a"}).open == ["g1"]


def test_answer_ends_the_call_with_a_value(suite: Suite) -> None:
    """`gate.resolve` gives the value to the implementation, in its own terms, and makes no `return` row."""
    waiting(suite)
    reply = suite.call("gate.resolve", {"gate": "g1", "value": ENTER_B})
    assert entered(reply) == ["B"]
    assert "return gate.resolve" not in [short(row) for row in reply.observed]
    assert reply.result is None


def test_answer_without_a_value_is_nothing(suite: Suite) -> None:
    """`gate.resolve` without a value answers nothing; it does not pass."""
    waiting(suite)
    assert "live agent/error" in suite.told("gate.resolve", {"gate": "g1"})


def test_answer_with_an_error_is_the_very_error_of_the_suite(suite: Suite) -> None:
    """`gate.reject` fails the call with an error that is recognised again."""
    waiting(suite)
    error = {"$error": {"kind": "coded", "code": "C", "message": "no", "as": "mine"}}
    (row,) = [
        row for row in suite.rows("live", "gate.reject", {"gate": "g1", "error": error}) if row["name"] == "agent/error"
    ]
    assert row["payload"]["error"] == {"type": "DshError", "message": "no", "code": "C", "is": "mine"}


def test_gated_waterfall_passes_by_its_next(suite: Suite) -> None:
    """`$next` of a `next` that has not settled stands for its awaitable, so that one stretch can pass a gate."""
    waiting(suite)
    reply = suite.burst(("gate.next", {"gate": "g1"}), ("gate.resolve", {"gate": "g1", "value": {"$next": 0}}))
    assert reply.result == [{"result": None}, {"result": None}]
    assert [short(row) for row in reply.observed[:2]] == ["return burst", "next f"]
    assert reply.observed[1]["gate"] == "g1"
    assert entered(reply) == ["A"]


def test_next_of_a_gate_may_be_called_again(suite: Suite) -> None:
    """Every `gate.next` is a call of its own, counted from 0; the gate goes on waiting."""
    waiting(suite)
    first, second = (suite.call("gate.next", {"gate": "g1"}) for _ in range(2))
    assert [(row["call"], row["gate"]) for row in (*first.observed, *second.observed)] == [(0, "g1"), (1, "g1")]
    assert second.open == ["g1"]


def test_answer_of_a_gates_next_can_be_kept(suite: Suite) -> None:
    """`keep` of `gate.next` holds what the chain came to."""
    waiting(suite)
    suite.call("gate.next", {"gate": "g1", "keep": "k"})
    assert suite.call("value.get", {"of": "k"}).result == {"kind": "enter", "messages": [message("A")]}


def test_gate_can_be_answered_with_the_failure_of_its_next(suite: Suite) -> None:
    """`gate.next` that fails gives its row only; `$next` of it fails the call with the same error."""
    suite.open()
    suite.listen("agent/pre-step", "gate")
    error = {"$error": {"message": "no", "as": "mine"}}
    suite.listen("agent/pre-step", [{"do": "throw", "error": error}], name="inner")
    suite.followup("A")
    reply = suite.call("gate.next", {"gate": "g1"})
    assert [short(row) for row in reply.observed] == ["script agent/pre-step", "next f"]
    assert reply.open == ["g1"]
    (row, _) = suite.rows("live", "gate.resolve", {"gate": "g1", "value": {"$next": 0}})
    assert row["payload"]["error"]["is"] == "mine"


def test_gate_behind_a_script_has_a_row_of_its_own(suite: Suite) -> None:
    """A call that comes to its gate later gives a `script` row first; both are the same call."""
    reply = waiting(suite, [INSPECT, {"do": "pause", "ticks": 1}, {"do": "gate"}])
    rows = [row for row in reply.observed if row["on"] in {"script", "gate"}]
    assert [short(row) for row in rows] == ["script agent/pre-step", "gate agent/pre-step"]
    assert rows[0]["payload"] == rows[1]["payload"]
    assert (rows[0]["n"], rows[1]["n"]) == (1, 1)


def test_actions_run_inside_a_waiting_call(suite: Suite) -> None:
    """`gate.do` runs commands at places of their own, answers their outcomes, and the gate goes on waiting."""
    waiting(suite)
    steer = {"op": "agent.steer", "args": {"agent": {"$arg": "agent"}, "message": message("S")}}
    refused = {"do": "set", "path": "turn", "value": 5}
    reply = suite.call("gate.do", {"gate": "g1", "do": [steer, refused, steer]})
    returns = [row for row in reply.observed if row["on"] == "return"]
    assert [(row["op"], row["at"], row["part"], row["n"]) for row in returns] == [
        ("agent.steer", "do.0", "f", 1),
        ("set", "do.1", "f", 1),
        ("agent.steer", "do.2", "f", 1),
    ]
    assert returns[1]["error"]["type"] == "FrozenInstanceError"
    assert reply.result[0] == {"result": None}
    assert reply.result[1]["error"]["message"] == 'message "S" is already pending'
    assert reply.open == ["g1"]


@pytest.mark.parametrize(
    ("actions", "problem"),
    [
        ([{"do": "pause", "ticks": 1}], "cannot wait"),
        ([{"do": "next"}], "cannot wait"),
        ([{"do": "return", "value": 1}], "gate.resolve"),
    ],
)
def test_what_waits_or_ends_has_no_place_inside_a_waiting_call(suite: Suite, actions: Any, problem: str) -> None:
    """`gate.do` refuses actions that wait, and those that end the call."""
    waiting(suite)
    assert problem in suite.fault("gate.do", {"gate": "g1", "do": actions})


def test_answer_to_a_gate_that_has_ended_is_a_fault(suite: Suite) -> None:
    """A gate is answered once."""
    waiting(suite)
    suite.call("gate.resolve", {"gate": "g1", "value": ENTER_B})
    assert "'gate' must be a gate that waits, not 'g1'" in suite.fault("gate.resolve", {"gate": "g1"})


def test_gates_are_listed_in_the_order_of_opening(suite: Suite) -> None:
    """`open` keeps the order whatever is answered in between."""
    suite.open(agents=("a", "b", "c"))
    suite.listen("agent/pre-step", "gate")
    opened = [suite.followup(agent, agent=agent).open for agent in "abc"]
    assert opened == [["g1"], ["g1", "g2"], ["g1", "g2", "g3"]]
    assert suite.call("gate.resolve", {"gate": "g2", "value": {"kind": "reject"}}).open == ["g1", "g3"]
    assert suite.followup("again", agent="b").open == ["g1", "g3", "g4"]


def test_gate_outlives_the_interest_of_the_implementation(suite: Suite) -> None:
    """A creation that is aborted no longer waits for its setup; the gate stays, and answering it is harmless."""
    suite.open(agents=())
    suite.call("signal.new", {"signal": "s"})
    suite.create("a", signal={"$signal": "s"}, setup={"$fn": "setup", "do": "gate"})
    reply = suite.call("signal.abort", {"signal": "s", "reason": {"$error": {"message": "enough", "as": "mine"}}})
    assert [short(row) for row in reply.observed] == ["return signal.abort", "task create a"]
    assert reply.observed[1]["error"]["is"] == "mine"
    assert reply.open == ["g1"]
    answered = suite.call("gate.resolve", {"gate": "g1"})
    assert answered.observed == []
    assert answered.open == []


def test_answer_is_harmless_when_the_implementation_has_cancelled_its_waiting() -> None:
    """An awaitable of a gate that was cancelled by whoever waited for it can still be answered."""
    world = World(TABLE, scope_at, SettlingLoop())
    function = SuiteFunction(world, "f", {"do": "gate"})
    future = world.run(lambda: function.call(Kind("k"), {}))
    assert isinstance(future, asyncio.Future)
    future.cancel()
    performed = world.run(lambda: perform(world, "gate.resolve", {"gate": "g1", "value": 1}, TOP))
    assert performed.shown == {"result": None}
    assert world.gates == {}
    world.close()


def test_listener_of_a_notification_waits_alone(suite: Suite) -> None:
    """A gated listener of an emit holds nobody up: the call returns and the turn goes on."""
    suite.open()
    suite.listen("agent/status", "gate", when={"status": "running"})
    reply = suite.followup("A")
    assert [suite.gate("agent/status"), suite.gate("model/stream")] == reply.open
    assert suite.call("gate.resolve", {"gate": suite.gate("agent/status")}).observed == []


def test_answers_inside_a_burst_act_at_once_and_in_order(suite: Suite) -> None:
    """Answers and other commands share one stretch; what the answers set going comes after it."""
    waiting(suite)
    reply = suite.burst(
        ("gate.resolve", {"gate": "g1", "value": ENTER_B}),
        ("agent.cancel", {"agent": "a", "cause": {"kind": "user"}}),
    )
    assert entered(reply) == []
    assert [short(row) for row in reply.observed][:2] == ["return agent.cancel at 1", "return burst"]
