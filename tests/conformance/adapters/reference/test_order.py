from tests.conformance.adapters.reference.suite import FINISH, Suite, message


def test_burst_on_an_idle_agent_shows_the_order_of_the_protocol_page(suite: Suite) -> None:
    """A burst's rows stand as documented: what a call did before its return, what it set going behind the burst's."""
    suite.open()
    suite.listen("agent/pre-step", "gate")
    reply = suite.burst(("agent.followup", {"agent": "a", "message": message("A")}), ("agent.inspect", {"agent": "a"}))
    rows = [
        (row["on"], row.get("op") or row.get("name") or row.get("kind") or row["event"]["type"])
        for row in reply.observed
    ]
    assert rows == [
        ("log", "agent/inbox/spliced"),
        ("live", "agent/inbox/inserted"),
        ("live", "agent/status"),
        ("log", "turn/start"),
        ("log", "agent/inbox/spliced"),
        ("live", "agent/inbox/claimed"),
        ("return", "agent.followup"),
        ("return", "agent.inspect"),
        ("return", "burst"),
        ("gate", "agent/pre-step"),
    ]
    assert reply.observed[6]["at"] == "0"
    assert reply.observed[7]["at"] == "1"
    assert reply.observed[7]["result"]["status"] == "running"
    assert "at" not in reply.observed[8]
    assert reply.result == [{"result": None}, {"result": reply.observed[7]["result"]}]
    assert reply.open == ["g1"]


def test_commands_of_a_burst_run_although_an_earlier_one_was_refused(suite: Suite) -> None:
    """A refusal is the outcome of its own item alone."""
    suite.open()
    suite.call("agent.inject", {"agent": "a", "message": message("A")})
    outcomes = suite.burst(
        ("agent.inject", {"agent": "a", "message": message("A")}),
        ("agent.inject", {"agent": "a", "message": message("B")}),
    ).result
    assert outcomes[0]["error"]["message"] == 'message "A" is already pending'
    assert outcomes[1] == {"result": None}
    assert [pending["id"] for pending in suite.inspect()["nextStep"]] == ["A", "B"]


def test_nested_bursts_name_their_places(suite: Suite) -> None:
    """An item of a burst inside a burst has the place `outer.inner`."""
    suite.open()
    inspect = {"op": "agent.inspect", "args": {"agent": "a"}}
    inner = {"op": "burst", "args": {"do": [inspect, inspect]}}
    assert suite.told("burst", {"do": [inspect, inner]}) == [
        "return agent.inspect at 0",
        "return agent.inspect at 1.0",
        "return agent.inspect at 1.1",
        "return burst at 1",
        "return burst",
    ]


def test_rows_of_the_adapter_stand_before_those_of_the_suites_listeners(suite: Suite) -> None:
    """A notification's row precedes the row of a listener of the suite for the same dispatch."""
    suite.open()
    suite.listen("agent/inbox/inserted")
    assert suite.told("agent.inject", {"agent": "a", "message": message("A")}) == [
        "log agent/inbox/spliced",
        "live agent/inbox/inserted",
        "script agent/inbox/inserted",
        "return agent.inject",
    ]


def test_a_prepended_listener_stands_before_the_row_of_the_adapter(suite: Suite) -> None:
    """A prepended listener of the suite is called before the adapter's own."""
    suite.open()
    suite.listen("agent/inbox/inserted", prepend=True)
    told = suite.told("agent.inject", {"agent": "a", "message": message("A")})
    assert told[1:3] == ["script agent/inbox/inserted", "live agent/inbox/inserted"]


def test_a_whole_turn_is_observed(suite: Suite) -> None:
    """Every notification and event of a plain turn is told, in the order of happening."""
    suite.open([{"do": "chunks", "list": [{"type": "text-delta", "index": 0, "text": "hi"}, FINISH]}])
    told = suite.told("agent.followup", {"agent": "a", "message": message("A")})
    assert told == [
        "log agent/inbox/spliced",
        "live agent/inbox/inserted",
        "live agent/status",
        "log turn/start",
        "log agent/inbox/spliced",
        "live agent/inbox/claimed",
        "return agent.followup",
        "log step/start",
        "log user/message",
        "log request/header",
        "log request/context",
        "script model/stream",
        "log assistant/chunk",
        "log assistant/chunk",
        "log assistant/message",
        "log step/end",
        "log turn/end",
        "live agent/status",
    ]
    assert suite.inspect()["status"] == "idle"


def test_a_probe_observes_nothing(suite: Suite) -> None:
    """Settling is complete: a command that does nothing finds no row of an earlier one."""
    suite.open([{"do": "pause", "ticks": 50}])
    suite.followup("A")
    assert suite.told("agent.inspect", {"agent": "a"}) == ["return agent.inspect"]


def test_task_row_of_an_operation_that_has_settled_at_once_stands_behind_its_return(suite: Suite) -> None:
    """An awaitable that is finished when it is answered still gives its row behind the `return`."""
    suite.open()
    assert suite.told("agent.whenIdle", {"task": "idle", "agent": "a"}) == ["return agent.whenIdle", "task idle"]
