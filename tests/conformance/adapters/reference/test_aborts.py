from typing import Any

from tests.conformance.adapters.reference.suite import Suite, message, short

CAUSE = {"kind": "user"}
CANCEL = {"op": "agent.cancel", "args": {"agent": "a", "cause": CAUSE, "keepInbox": True}}


def cancel(suite: Suite) -> Any:
    return suite.call("agent.cancel", {"agent": "a", "cause": CAUSE})


def test_abort_is_told_inside_the_firing_and_a_manual_gate_outlives_it(suite: Suite) -> None:
    """The `abort` row stands before the return of the cancel; the gate waits on, and its answer is delivered."""
    suite.open()
    suite.listen("agent/pre-step", "gate")
    suite.followup("A")
    reply = cancel(suite)
    assert reply.observed[0] == {"on": "abort", "part": "f", "n": 1, "gate": "g1", "reason": CAUSE}
    assert [short(row) for row in reply.observed] == ["abort f", "return agent.cancel"]
    assert reply.open == ["g1"]
    assert suite.inspect()["status"] == "running"
    told = suite.told("gate.resolve", {"gate": "g1", "value": {"kind": "reject"}})
    assert told == ["log turn/end", "live agent/status"]


def test_automatic_gate_fails_by_itself(suite: Suite) -> None:
    """An `auto` gate gives `closed` behind its `abort` row, and what follows from it is in the same reply."""
    suite.open()
    suite.listen("agent/pre-step", "gate", abort="auto")
    suite.followup("A")
    reply = cancel(suite)
    assert [short(row) for row in reply.observed] == [
        "abort f",
        "closed abort",
        "return agent.cancel",
        "log turn/end",
        "live agent/status",
    ]
    assert reply.observed[1] == {"on": "closed", "gate": "g1", "why": "abort"}
    assert reply.open == []


def test_automatic_gate_on_a_fired_signal_ends_at_once(suite: Suite) -> None:
    """A gate that opens too late shows the fired signal, gives no `abort` row, and closes."""
    suite.open()
    suite.listen("agent/pre-step", [CANCEL, {"do": "gate"}], abort="auto")
    reply = suite.followup("A")
    rows = [row for row in reply.observed if row["on"] in {"abort", "gate", "closed"}]
    assert [short(row) for row in rows] == ["abort f", "gate agent/pre-step", "closed abort"]
    assert rows[1]["payload"]["signal"] == {"signal": None, "aborted": True, "reason": CAUSE}
    assert reply.open == []


def test_manual_gate_on_a_fired_signal_waits(suite: Suite) -> None:
    """Without `auto` a gate that opens too late waits for the suite like any other."""
    suite.open()
    suite.listen("agent/pre-step", [CANCEL, {"do": "gate"}])
    assert suite.followup("A").open == ["g1"]
    assert suite.told("gate.resolve", {"gate": "g1"})[-1] == "live agent/status"


def test_commands_of_on_abort_run_inside_the_firing(suite: Suite) -> None:
    """`onAbort` comes right behind the `abort` row and before the cancel returns, at places of its own."""
    suite.open()
    steer = {"op": "agent.steer", "args": {"agent": "a", "message": message("S")}}
    suite.listen("agent/pre-step", "gate", abort="auto", onAbort=[steer])
    suite.followup("A")
    reply = cancel(suite)
    told = [short(row) for row in reply.observed]
    assert told[:5] == [
        "abort f",
        "log agent/inbox/spliced",
        "live agent/inbox/inserted",
        "return agent.steer at abort.0",
        "closed abort",
    ]
    assert reply.observed[3]["part"] == "f"
    assert "log turn/start" in told  # sent during the abort, so remembered (WAKE-LATCH-04)


def test_call_that_has_ended_hears_no_abort_unless_it_watches(suite: Suite) -> None:
    """After the end of a call only `watch` still tells of its signal, without a gate."""
    suite.open()
    suite.listen("agent/pre-step", name="deaf")
    suite.listen("agent/pre-step", name="watcher", watch=True)
    suite.followup("A")
    aborts = [row for row in cancel(suite).observed if row["on"] == "abort"]
    assert [(row["part"], row.get("gate")) for row in aborts] == [("watcher", None), ("model", "g1")]


def test_signals_of_the_suite_are_shown_by_name(suite: Suite) -> None:
    """A signal that `signal.new` made is recognised in a field; its reason is what it was aborted with."""
    suite.open()
    suite.call("signal.new", {"signal": "s"})
    assert suite.call("signal.read", {"signal": "s"}).result == {"aborted": False}
    suite.call("signal.abort", {"signal": "s", "reason": "plain"})
    suite.call("signal.abort", {"signal": "s", "reason": "other"})
    assert suite.call("signal.read", {"signal": "s"}).result == {"aborted": True, "reason": "plain"}
    suite.call("value.keep", {"as": "k", "value": {"$signal": "s"}})
    shown = suite.call("value.get", {"of": "k"}).result
    assert shown == {"signal": "s", "aborted": True, "reason": "plain"}


def test_reason_of_an_abort_is_the_very_cause(suite: Suite) -> None:
    """What a cancel gives as its cause is what the holders of the signal are told."""
    suite.open()
    suite.followup("A")
    cause = {"kind": "hook", "reason": "because"}
    (row,) = suite.rows("abort", "agent.cancel", {"agent": "a", "cause": cause})
    assert row["reason"] == cause


def test_cancel_passes_on_whether_the_inbox_is_kept(suite: Suite) -> None:
    """`keepInbox` reaches the operation; left out, it is the operation's own default."""
    suite.open()
    for kept in (True, False, None):
        suite.call("inbox.clear", {"agent": "a"})
        suite.call("agent.inject", {"agent": "a", "message": message("I")})
        suite.call("agent.cancel", {"agent": "a", "cause": CAUSE, **({} if kept is None else {"keepInbox": kept})})
        assert suite.inspect()["hasPending"] is (kept is True)
