from tests.conformance.adapters.reference.suite import Suite, message


def pending(suite: Suite) -> list[list[str]]:
    inspected = suite.inspect()
    return [[waiting["id"] for waiting in inspected[name]] for name in ("nextTurn", "nextStep")]


def test_every_operation_of_the_inbox_is_called(suite: Suite) -> None:
    """Each command makes the call of its name, with the arguments that were given and no others."""
    suite.open()
    for name in "ab":
        suite.call("inbox.append", {"agent": "a", "target": "next-turn", "message": message(name)})
    suite.call("inbox.prepend", {"agent": "a", "target": "next-turn", "message": message("c")})
    suite.call("agent.send", {"agent": "a", "message": message("s"), "target": "next-step", "wakeup": False})
    assert pending(suite) == [["c", "a", "b"], ["s"]]
    assert suite.call("inbox.replace", {"agent": "a", "id": "a", "message": message("d")}).result is True
    assert suite.call("inbox.remove", {"agent": "a", "id": "a"}).result is False
    assert suite.call("inbox.remove", {"agent": "a", "id": "s"}).result is True
    assert suite.call("inbox.splice", {"agent": "a", "target": "next-turn"}).result == []
    removed = suite.call("inbox.splice", {"agent": "a", "target": "next-turn", "start": -2, "deleteCount": 1})
    assert removed.result == [message("d")]
    inserted = {"start": {"$value": "NaN"}, "deleteCount": 0, "inserted": [message("e")]}
    suite.call("inbox.splice", {"agent": "a", "target": "next-turn", **inserted})
    assert pending(suite) == [["e", "c", "b"], []]
    suite.call("inbox.clear", {"agent": "a"})
    assert pending(suite) == [[], []]


def test_one_model_can_be_registered_under_several_routes(suite: Suite) -> None:
    """`adapter` names an instance; a later registration of that name takes the same one, without functions."""
    suite.open({"$fn": "model", "do": "gate"}, adapter="m1")
    suite.call("model.register", {"as": "again", "routes": ["q"], "adapter": "m1"})
    suite.call("agent.create", {"task": "t", "agent": "b", "options": {"provider": "q", "model": "m"}})
    (gate,) = [row for row in suite.followup("A", agent="b").observed if row["on"] == "gate"]
    assert (gate["part"], gate["payload"]["provider"]) == ("model", "q")


def test_retry_policy_of_a_registration_is_told_with_its_failures(suite: Suite) -> None:
    """A policy is handed to the registration, and shown where a hook is given it."""
    policy = {"mode": "always", "initialDelayMs": 1, "maxDelayMs": 2, "jitterRatio": 0}
    failure = {"$error": {"kind": "model", "message": "busy", "code": "RATE_LIMIT"}}
    suite.open([{"do": "throw", "error": failure}], retryPolicy=policy)
    suite.listen("agent/request-error")
    (row,) = [row for row in suite.followup("A").observed if row.get("kind") == "agent/request-error"]
    assert row["payload"]["retryPolicy"] == policy
    assert row["payload"]["failure"] == {"message": "busy", "code": "RATE_LIMIT"}


def test_options_and_metadata_reach_the_agent(suite: Suite) -> None:
    """What creation is given is found in the handle and in the header; what it is not given is absent."""
    suite.open(agents=())
    suite.create("a", meta={"cwd": "/somewhere", "delegationDepth": 2})
    assert suite.inspect()["options"] == {"provider": "p", "model": "m"}
    header = suite.call("session.read", {"session": "a", "what": ["header"]}).result["header"]
    assert {name: header[name] for name in header if name != "createdAt"} == {
        "version": 0,
        "id": "a",
        "cwd": "/somewhere",
        "delegationDepth": 2,
    }
    suite.call("agent.create", {"task": "t", "agent": "b"})
    assert suite.inspect("b")["options"] == {}


def test_seed_is_the_beginning_of_the_log(suite: Suite) -> None:
    """An agent over a seed replays it."""
    suite.open(agents=())
    data = {"target": "next-turn", "start": 0, "inserted": [message("P")]}
    suite.create("a", seed=[{"type": "agent/inbox/spliced", "seq": 0, "time": 0, "data": data}])
    assert pending(suite) == [["P"], []]
