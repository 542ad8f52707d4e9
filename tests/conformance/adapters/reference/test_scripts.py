from typing import Any

import pytest
from tests.conformance.adapters.reference.suite import FINISH, Suite, message, short

REJECT = {"kind": "reject"}
INSPECT = {"op": "agent.inspect", "args": {"agent": "a"}}


def inject(message_id: str, **more: Any) -> dict[str, Any]:
    return {"op": "agent.inject", "args": {"agent": "a", "message": message(message_id)}, **more}


def events(reply: Any) -> list[str]:
    return [row["event"]["type"] for row in reply.observed if row["on"] == "log"]


def ending(reply: Any) -> Any:
    (data,) = [
        row["event"]["data"] for row in reply.observed if row["on"] == "log" and row["event"]["type"] == "turn/end"
    ]
    return data["reason"]


def test_function_without_a_script_is_seen_and_passes(suite: Suite) -> None:
    """A bare function gives a row with the fields of its kind and changes nothing."""
    suite.open()
    suite.listen("agent/pre-step")
    reply = suite.followup("A")
    (row,) = [row for row in reply.observed if row["on"] == "script"]
    assert {name: row[name] for name in ("part", "kind", "n", "agent")} == {
        "part": "f",
        "kind": "agent/pre-step",
        "n": 1,
        "agent": "a",
    }
    assert row["payload"] == {
        "turn": 1,
        "step": 1,
        "messages": [message("A")],
        "signal": {"signal": None, "aborted": False},
    }
    assert suite.gate("model/stream")


def test_calls_have_scripts_of_their_own_and_the_last_stands_for_the_rest(suite: Suite) -> None:
    """`calls` gives one script for each call; null passes; the last one is used again."""
    suite.open()
    refuse = [{"do": "return", "value": REJECT}]
    suite.listen("agent/pre-step", calls=[refuse, None, refuse])
    assert ending(suite.followup("A")) == {"kind": "blocked"}
    suite.followup("B")
    assert ending(suite.answer_model()) == {"kind": "completed"}
    assert ending(suite.followup("C")) == {"kind": "blocked"}
    assert ending(suite.followup("D")) == {"kind": "blocked"}


def test_call_that_when_does_not_match_is_not_counted(suite: Suite) -> None:
    """A call outside `when` passes without a row and without a number."""
    suite.open()
    suite.listen("session/event", when={"event.type": "turn/end", "session": "a"})
    assert "script session/event" not in [short(row) for row in suite.followup("A").observed]
    (row,) = [row for row in suite.answer_model().observed if row["on"] == "script"]
    assert row["n"] == 1
    assert row["payload"]["event"]["type"] == "turn/end"


def test_name_alone_is_the_same_function_again(suite: Suite) -> None:
    """Two registrations of one function share its count; a form with a script is a new function."""
    suite.open()
    suite.listen("agent/inbox/inserted", name="g")
    suite.call("listen", {"as": "again", "event": "agent/inbox/discarded", "fn": {"$fn": "g"}})
    suite.call("agent.inject", {"agent": "a", "message": message("A")})
    (row,) = suite.rows("script", "inbox.clear", {"agent": "a"})
    assert (row["part"], row["n"]) == ("g", 2)
    suite.call("listen", {"as": "new", "event": "agent/inbox/discarded", "fn": {"$fn": "g", "do": []}})
    suite.call("agent.inject", {"agent": "a", "message": message("B")})
    numbers = [row["n"] for row in suite.rows("script", "inbox.clear", {"agent": "a"})]
    assert numbers == [4, 1]


def test_command_of_a_script_names_its_place_and_its_call(suite: Suite) -> None:
    """The `return` row of a scripted command has the place in the script, the function and the number of the call."""
    suite.open()
    suite.listen("agent/status", [INSPECT, {"op": "burst", "args": {"do": [INSPECT]}}], when={"status": "running"})
    rows = [row for row in suite.followup("A").observed if row["on"] == "return" and "part" in row]
    assert [(row["at"], row["part"], row["n"]) for row in rows] == [("0", "f", 1), ("1.0", "f", 1), ("1", "f", 1)]
    assert rows[0]["result"]["status"] == "running"


def test_refusal_of_a_command_is_recorded_and_the_script_goes_on(suite: Suite) -> None:
    """Without `raise` a refused command is an observation only."""
    suite.open()
    suite.listen("agent/inbox/inserted", [inject("A"), INSPECT], once=True)
    returns = suite.rows("return", "agent.inject", {"agent": "a", "message": message("A")})
    assert [row["op"] for row in returns] == ["agent.inject", "agent.inspect", "agent.inject"]
    assert returns[0]["error"]["message"] == 'message "A" is already pending'
    assert returns[2]["result"] is None


def test_command_with_raise_throws_its_refusal_on(suite: Suite) -> None:
    """With `raise` the refusal of a command is what the function throws."""
    suite.open()
    suite.listen("agent/pre-step", [inject("B"), inject("B", **{"raise": True})])
    error = ending(suite.followup("A"))["error"]
    assert error == {"message": 'message "B" is already pending', "code": "UNKNOWN"}


@pytest.mark.parametrize("how", ["throw", "reject"])
def test_throw_and_reject_fail_the_turn(suite: Suite, how: str) -> None:
    """Raising at once and answering an awaitable that fails both reach the dispatcher, as the suite's very error."""
    suite.open()
    suite.listen("agent/pre-step", [{"do": how, "error": {"$error": {"message": "no", "as": "mine"}}}])
    reply = suite.followup("A")
    (row,) = [row for row in reply.observed if row.get("name") == "agent/error"]
    assert row["payload"]["error"] == {"type": "Exception", "message": "no", "code": None, "is": "mine"}
    assert ending(reply)["kind"] == "error"


def test_later_rejection_of_an_unawaited_listener_is_reported(suite: Suite) -> None:
    """`reject` in a notification's listener is an awaitable that fails, for which nobody waits."""
    suite.open()
    suite.listen("agent/inbox/inserted", [{"do": "reject", "error": {"$error": {"message": "late"}}}])
    (row,) = suite.rows("report", "agent.inject", {"agent": "a", "message": message("A")})
    assert row == {
        "on": "report",
        "level": "warning",
        "text": 'agent event "agent/inbox/inserted" listener rejected: Exception: late',
    }


def test_next_runs_the_rest_and_its_answer_can_be_answered(suite: Suite) -> None:
    """`next` waits for the chain and shows its answer; `$next` is that very answer."""
    suite.open()
    suite.listen("agent/pre-step", [{"do": "next"}, INSPECT, {"do": "return", "value": {"$next": 0}}])
    rows = [row for row in suite.followup("A").observed if row["on"] in {"next", "return"} and "part" in row]
    assert rows[0] == {
        "on": "next",
        "part": "f",
        "n": 1,
        "call": 0,
        "value": {"kind": "enter", "messages": [message("A")]},
    }
    assert rows[1]["at"] == "1"
    assert suite.gate("model/stream")


def test_script_that_has_called_next_passes_with_its_answer(suite: Suite) -> None:
    """At the end of a script the waterfall's answer is what the last `next` gave; `next` is not called again."""
    suite.open()
    suite.listen("agent/pre-step", [{"do": "next"}])
    suite.listen("agent/pre-step", [{"do": "return", "value": REJECT}], name="inner")
    reply = suite.followup("A")
    assert [short(row) for row in reply.observed if row["on"] in {"script", "next"}] == [
        "script agent/pre-step",
        "script agent/pre-step",
        "next f",
    ]
    assert ending(reply) == {"kind": "blocked"}


def test_failing_next_fails_the_call(suite: Suite) -> None:
    """A `next` that fails gives its row and ends the script with that very error."""
    suite.open()
    suite.listen("agent/pre-step", [{"do": "next"}, INSPECT])
    suite.listen(
        "agent/pre-step", [{"do": "throw", "error": {"$error": {"message": "no", "as": "mine"}}}], name="inner"
    )
    reply = suite.followup("A")
    (row,) = [row for row in reply.observed if row["on"] == "next"]
    assert row["error"]["is"] == "mine"
    assert "return agent.inspect at 1" not in [short(row) for row in reply.observed]
    assert ending(reply)["error"]["message"] == "no"


def test_paused_script_passes_with_the_failure_of_the_rest(suite: Suite) -> None:
    """A call that has waited passes by calling `next` itself, and fails as that does."""
    suite.open()
    suite.listen("agent/pre-step", [{"do": "pause", "ticks": 1}])
    suite.listen("agent/pre-step", [{"do": "throw", "error": {"$error": {"message": "no"}}}], name="inner")
    assert ending(suite.followup("A"))["error"]["message"] == "no"


def test_failing_next_of_a_synchronous_chain_fails_the_call(suite: Suite) -> None:
    """The same where nothing waits: the script ends with the error of the layers behind it."""
    suite.open()
    suite.listen("llm/stream", [{"do": "next"}, INSPECT])
    suite.listen("llm/stream", [{"do": "throw", "error": {"$error": {"message": "no"}}}], name="inner")
    reply = suite.followup("A")
    assert "return agent.inspect at 1" not in [short(row) for row in reply.observed]
    assert ending(reply)["error"]["message"] == "no"


def test_set_on_what_cannot_change_is_recorded_as_a_refusal(suite: Suite) -> None:
    """`set` assigns in place; the implementation's refusal is a row and the script goes on."""
    suite.open()
    suite.listen("agent/pre-step", [{"do": "set", "path": "messages.0.id", "value": "X"}, INSPECT])
    rows = [row for row in suite.followup("A").observed if row["on"] == "return" and "part" in row]
    assert rows[0]["op"] == "set"
    assert rows[0]["error"]["type"] == "TypeError"
    assert rows[1]["op"] == "agent.inspect"


def test_set_on_a_frozen_request_is_refused_by_the_request(suite: Suite) -> None:
    """A field of a field is assigned on the implementation's own object."""
    suite.open([{"do": "chunk", "chunk": FINISH}])
    suite.listen("llm/stream", [{"do": "set", "path": "request.system", "value": "X"}])
    rows = [row for row in suite.followup("A").observed if row["on"] == "return" and row["op"] == "set"]
    assert [row["error"]["type"] for row in rows] == ["FrozenRequest"]


@pytest.mark.parametrize("ticks", range(9))
def test_deferred_commands_run_without_another_command(suite: Suite, ticks: int) -> None:
    """Whatever the number of ticks, what was deferred has run when the reply comes; place `action.item`."""
    suite.open()
    deferred = {"do": "defer", "ticks": ticks, "commands": [inject("B"), INSPECT]}
    suite.listen("agent/inbox/inserted", [INSPECT, deferred], once=True)
    returns = suite.rows("return", "agent.inject", {"agent": "a", "message": message("A")})
    places = [row.get("at") for row in returns]
    assert places == (["0", "1.0", "1.1", None] if ticks == 0 else ["0", None, "1.0", "1.1"])


def test_deferring_reaches_the_gap_between_two_ticks(suite: Suite) -> None:
    """More ticks mean later: deferred by 1 and by 3, the order is that of the ticks."""
    suite.open()
    later = {"do": "defer", "ticks": 3, "commands": [inject("late")]}
    sooner = {"do": "defer", "ticks": 1, "commands": [inject("soon")]}
    suite.listen("agent/inbox/inserted", [later, sooner], once=True)
    suite.call("agent.inject", {"agent": "a", "message": message("A")})
    assert [pending["id"] for pending in suite.inspect()["nextStep"]] == ["A", "soon", "late"]


def test_function_that_pauses_is_waited_for(suite: Suite) -> None:
    """A listener of an awaited hook goes on after its pause before the dispatch does."""
    suite.open()
    suite.listen("agent/turn-stopping", [{"do": "pause", "ticks": 5}, INSPECT])
    suite.followup("A")
    told = [short(row) for row in suite.answer_model().observed]
    assert told[-5:] == [
        "log step/end",
        "script agent/turn-stopping",
        "return agent.inspect at 1",
        "log turn/end",
        "live agent/status",
    ]


def test_awaited_command_without_a_task_returns_when_it_has_settled(suite: Suite) -> None:
    """`await` holds the script; without a `task` the `return` row comes at the end and has the outcome."""
    suite.open()
    wait = {"op": "agent.whenIdle", "args": {"agent": "a"}, "await": True}
    suite.followup("A")
    assert suite.told("run", {"task": "t", "do": [wait, INSPECT]}) == ["script run", "return run"]
    assert [short(row) for row in suite.answer_model().observed][-4:] == [
        "live agent/status",
        "return agent.whenIdle at 0",
        "return agent.inspect at 1",
        "task t",
    ]


def test_awaited_command_with_a_task_returns_at_the_call(suite: Suite) -> None:
    """With a `task` the `return` row stands at the call, and the `task` row where it settles."""
    suite.open()
    wait = {"op": "agent.whenIdle", "args": {"agent": "a", "task": "idle"}, "await": True}
    suite.followup("A")
    told = suite.told("run", {"task": "t", "do": [wait, INSPECT]})
    assert told == ["script run", "return agent.whenIdle at 0", "return run"]
    assert [short(row) for row in suite.answer_model().observed][-3:] == [
        "task idle",
        "return agent.inspect at 1",
        "task t",
    ]


def test_awaited_command_that_fails_is_recorded_or_thrown_on(suite: Suite) -> None:
    """A failure of an awaited operation is its `return`, and with `raise` the failure of the script."""
    suite.open()
    again = {"op": "agent.create", "args": {"agent": "a"}, "await": True}
    rows = suite.call("run", {"task": "t", "do": [again, INSPECT, {**again, "raise": True}, INSPECT]}).observed
    assert [short(row) for row in rows] == [
        "script run",
        "return run",
        "return agent.create at 0",
        "return agent.inspect at 1",
        "return agent.create at 2",
        "task t",
    ]
    assert rows[2]["error"] == rows[4]["error"] == rows[5]["error"]
    assert rows[5]["error"]["message"] == 'session "a" already exists'


def test_value_of_a_run_is_what_its_commands_led_to(suite: Suite) -> None:
    """The task of a `run` has the outcomes of its commands, unless it returns something else."""
    suite.open()
    (row,) = suite.rows("task", "run", {"task": "t", "do": [inject("A"), inject("A"), {"do": "pause", "ticks": 2}]})
    assert row["value"][0] == {"result": None}
    assert row["value"][1]["error"]["message"] == 'message "A" is already pending'
    (row,) = suite.rows("task", "run", {"task": "t", "do": [INSPECT, {"do": "return", "value": 5}]})
    assert row == {"on": "task", "task": "t", "value": 5}
    (row,) = suite.rows("task", "run", {"task": "t", "do": [{"do": "throw", "error": {"$error": {"message": "no"}}}]})
    assert row["error"]["message"] == "no"


KEPT = [
    {"op": "value.keep", "args": {"as": "v", "value": [{"$value": "NaN"}, {"$raw": {"$up": 1}}]}},
    {"op": "value.get", "args": {"of": "v"}},
]
"""What it answers has the notation of the protocol in it, and literally."""


def test_an_outcome_is_shown_once(suite: Suite) -> None:
    """A burst and a run answer the outcomes of their commands as these were shown, notation included."""
    suite.open()
    shown = [{"result": None}, {"result": [{"$value": "NaN"}, {"$raw": {"$up": 1}}]}]
    assert suite.call("burst", {"do": KEPT}).result == shown
    (row,) = suite.rows("task", "run", {"task": "t", "do": KEPT})
    assert row["value"] == shown


def test_what_answers_an_awaitable_says_so(suite: Suite) -> None:
    """The result of a boundary and of a waterfall that wait is an awaitable, which their task follows."""
    suite.open()
    waits = {"$fn": "f", "do": "gate"}
    for op, args in (
        ("initiator.run", {"agent": "a", "fn": waits}),
        ("dispatch", {"mode": "waterfall", "event": "suite/e", "default": waits}),
    ):
        assert suite.call(op, {**args, "task": "t"}).result == {"$value": "awaitable"}


def test_fields_of_the_call_can_be_used_in_commands(suite: Suite) -> None:
    """`$arg` is a field as the implementation gave it: a signal, a message, the agent itself."""
    suite.open()
    again = {
        "op": "inbox.append",
        "args": {"agent": {"$arg": "agent"}, "target": "next-turn", "message": {"$arg": "messages.0"}},
    }
    read = {"op": "signal.read", "args": {"signal": {"$arg": "signal"}}}
    suite.listen("agent/pre-step", [again, read])
    rows = [row for row in suite.followup("A").observed if row["on"] == "return" and "part" in row]
    assert rows[1]["result"] == {"aborted": False}
    assert suite.inspect()["nextTurn"] == [message("A")]


def test_conditions_reach_into_the_request(suite: Suite) -> None:
    """A path over a request finds its configuration beside its messages."""
    suite.open()
    suite.listen("llm/stream", when={"request.model": "m", "request.messages.0.id": "A"})
    suite.listen("llm/stream", name="other", when={"request.model": "n"})
    assert [row["part"] for row in suite.followup("A").observed if row["on"] == "script"] == ["f"]


def test_request_configuration_and_retry_are_understood(suite: Suite) -> None:
    """The answers of the request hooks reach the implementation as its own values."""
    suite.open(calls_of_model())
    suite.listen("agent/request", [{"do": "return", "value": {"provider": "p", "model": "other", "maxTokens": 7}}])
    suite.listen("agent/request-error", [{"do": "return", "value": {"kind": "retry"}}], name="again")
    reply = suite.followup("A")
    headers = [row["event"]["data"]["header"]["config"] for row in reply.observed if short(row) == "log request/header"]
    assert headers == [{"provider": "p", "model": "other", "maxTokens": 7}]
    assert ending(reply) == {"kind": "completed"}
    assert events(reply).count("step/start") == 1


def calls_of_model() -> dict[str, Any]:
    busy = {"$error": {"kind": "model", "message": "busy", "code": "RATE_LIMIT", "status": 429}}
    return {"$fn": "model", "calls": [[{"do": "throw", "error": busy}], [{"do": "chunk", "chunk": FINISH}]]}


def test_effect_runs_its_cleanup_once(suite: Suite) -> None:
    """`undo` answers whether the cleanup takes time, and its task tells when it has ended."""
    suite.open()
    suite.call("effect", {"as": "e", "undo": {"$fn": "u", "do": "gate"}})
    reply = suite.call("undo", {"of": "e", "task": "t"})
    assert reply.result == "awaitable"
    assert [short(row) for row in reply.observed] == ["gate undo", "return undo"]
    assert reply.observed[0]["payload"] == {"of": "e"}
    assert suite.told("gate.resolve", {"gate": suite.gate("undo")}) == ["task t"]
    assert suite.call("undo", {"of": "e"}).result == "nothing"


def test_setup_composes_through_the_context_of_the_agent(suite: Suite) -> None:
    """The agent is known by its name from the beginning of its setup, and a commit is called before it is published."""
    suite.open(agents=())
    inner = {"as": "s", "event": "session/created", "fn": {"$fn": "scoped"}, "in": {"agent": "h"}}
    setup = [{"op": "listen", "args": inner}, {"do": "return", "value": {"commit": {"$fn": "commit"}}}]
    told = [short(row) for row in suite.create("b", handle="h", setup={"$fn": "setup", "do": setup}).observed]
    assert told.index("return listen at 0") < told.index("return agent.create")  # setup began inside the call
    assert [row for row in told if row != "return agent.create"] == [
        "script setup",
        "return listen at 0",
        "script commit",
        "live session/created",
        "script session/created",
        "live agent/created",
        "live agent/session-start",
        "task create b",
    ]


def test_agent_is_known_by_its_name_in_its_announcement(suite: Suite) -> None:
    """Without a setup too, a listener of `agent/created` can address the agent that is being created."""
    suite.open(agents=())
    deliver = {"op": "agent.inject", "args": {"agent": "h", "message": message("A")}}
    look = {"op": "registry.get", "args": {"id": "b"}}
    suite.listen("agent/created", [deliver, look])
    returns = [row for row in suite.create("b", handle="h").observed if row["on"] == "return" and "part" in row]
    assert [row["result"] for row in returns] == [None, "h"]
    assert suite.inspect("h")["hasPending"] is True


def test_listener_hears_its_agent_alone_unless_it_is_global(suite: Suite) -> None:
    """`in` registers through an agent's own context, and `global` lifts its filter."""
    suite.open(agents=("a", "b"))
    suite.listen("agent/inbox/inserted", name="own", **{"in": {"agent": "a"}})
    suite.listen("agent/inbox/inserted", name="all", **{"in": {"agent": "a"}, "global": True})
    heard = [
        [row["part"] for row in suite.rows("script", "agent.inject", {"agent": agent, "message": message(agent)})]
        for agent in ("a", "b")
    ]
    assert heard == [["own", "all"], ["all"]]


def test_maintenance_begins_inside_the_call(suite: Suite) -> None:
    """The function of a maintenance task is called before the command returns; its value is the task's."""
    suite.open()
    task = {"$fn": "job", "do": [INSPECT, {"do": "return", "value": 42}]}
    reply = suite.call("agent.maintain", {"task": "t", "agent": "a", "fn": task})
    assert [short(row) for row in reply.observed] == [
        "script maintenance",
        "return agent.inspect at 0",
        "return agent.maintain",
        "task t",
    ]
    assert reply.observed[0]["agent"] == "a"
    assert reply.observed[-1]["value"] == 42
