from typing import Any

import pytest
from tests.conformance.adapters.context_session import check_kinds, check_operations
from tests.conformance.adapters.reference.suite import Suite, message


@pytest.fixture
def bare(suite: Suite) -> Suite:
    """A suite with a bare world."""
    suite.call("world.open", {"config": {"bare": True}})
    return suite


def test_every_operation_on_owners_scopes_and_contexts(suite: Suite) -> None:
    """Every operation is executed, and answers what the table says."""
    check_operations(suite.call)


def test_every_kind_of_call_that_they_lead_to(suite: Suite) -> None:
    """Every kind of call is seen with its fields."""
    check_kinds(suite.call)


def test_an_owner_lives_in_a_whole_composition(suite: Suite) -> None:
    """What an owner registers in a composition ends with it."""
    suite.open()
    suite.call("owner.open", {"owner": "p"})
    suite.listen("agent/inbox/inserted", **{"in": "p"})
    assert len(suite.rows("script", "agent.inject", {"agent": "a", "message": message("A")})) == 1
    suite.call("owner.close", {"owner": "p", "task": "t"})
    assert suite.rows("script", "agent.inject", {"agent": "a", "message": message("B")}) == []


def test_what_is_observed_survives_a_disposal_of_the_root(bare: Suite) -> None:
    """Status rows go on when everything in the root has been undone."""
    bare.call("owner.open", {"owner": "p"})
    assert len(bare.rows("status", "owner.close", {"owner": "root", "task": "t"})) == 5
    assert [row["to"] for row in bare.rows("status", "owner.open", {"owner": "q"})] == ["loading", "active"]


def test_keys_are_equal_and_distinct(bare: Suite) -> None:
    """Who compares keys by value takes them all for one."""
    owners = bare.adapter.world.composition.owners if bare.adapter.world is not None else None
    assert owners is not None
    assert owners.scope_key("a") == owners.scope_key("b")
    assert owners.scope_key("a") is not owners.scope_key("b")
    assert owners.scope_key("a") is owners.scope_key("a")


def test_a_yield_that_follows_a_wait_makes_the_body_an_asynchronous_iterator(bare: Suite) -> None:
    """What it yields is taken as it comes, and what it returns belongs to it as well."""
    body: list[Any] = [
        {"do": "yield", "value": {"$fn": "first"}},
        {"op": "owner.wait", "args": {"owner": "root"}, "await": True},
        {"do": "yield", "value": {"$fn": "second"}},
        {"do": "return", "value": {"$fn": "third"}},
    ]
    bare.call("owner.open", {"owner": "p", "body": {"$fn": "body", "do": body}})
    undone = bare.rows("script", "owner.close", {"owner": "p", "task": "t"})
    assert [(row["part"], row["payload"]) for row in undone] == [
        ("third", {"of": "p"}),
        ("second", {"of": "p"}),
        ("first", {"of": "p"}),
    ]


def test_a_body_that_yields_may_end_at_a_gate_or_fail(bare: Suite) -> None:
    """The gate's answer is the last thing handed over; a failure undoes the rest."""
    yields = {"do": "yield", "value": {"$fn": "first"}}
    bare.call("owner.open", {"owner": "p", "body": {"$fn": "body", "do": [yields, {"do": "gate"}]}})
    bare.call("gate.resolve", {"gate": bare.gate("body"), "value": {"$fn": "last"}})
    undone = bare.rows("script", "owner.close", {"owner": "p", "task": "t"})
    assert [row["part"] for row in undone] == ["last", "first"]
    failing = [yields, {"do": "throw", "error": {"$error": {"message": "no"}}}]
    assert bare.call("effect", {"as": "e", "body": {"$fn": "failing", "do": failing}}).error["message"] == "no"


@pytest.mark.parametrize(
    ("op", "args", "problem"),
    [
        ("owner.state", {"owner": "nobody"}, "there is no context 'nobody'"),
        ("ctx.get", {"key": "k", "in": "nowhere"}, "there is no context 'nowhere'"),
        ("ctx.get", {"key": "k", "in": 5}, "there is no context 5"),
        ("scope.close", {"task": "t", "scope": "root"}, "the argument 'scope' must be a scope"),
        ("scope.rebind", {"of": "nothing", "parent": "p"}, "the argument 'of' must be the `as` of a binding"),
        ("scope.parent", {"key": "root"}, "the argument 'key' must be a scope key"),
        ("dispatch", {"mode": "emit", "event": "ping", "to": "nobody"}, "there is no target 'nobody'"),
        ("dispatch", {"mode": "emit", "event": "ping", "to": {"other": 1}}, "there is no receiver"),
        ("dispatch", {"mode": "bail", "event": "ping"}, "the argument 'mode' must be a mode"),
        ("dispatch", {"mode": "emit", "event": "agent/status"}, "the implementation's own"),
        ("service.view", {"service": "none"}, "there is no service 'none'"),
        (
            "effect",
            {"as": "e", "body": {"$fn": "f", "do": [{"do": "yield", "value": 1}, {"do": "pause", "ticks": 1}]}},
            "a function of this kind cannot wait",
        ),
        ("effect", {"as": "e", "body": {"$fn": "f", "do": [{"do": "yield", "value": {"$arg": "x"}}]}}, "leads nowhere"),
        (
            "effect",
            {
                "as": "e",
                "async": True,
                "body": {
                    "$fn": "f",
                    "do": [{"do": "pause", "ticks": 1}, {"do": "yield", "value": {"$arg": "x"}}],
                },
            },
            "leads nowhere",
        ),
    ],
)
def test_what_makes_no_sense_is_a_fault(bare: Suite, op: str, args: dict[str, Any], problem: str) -> None:
    """It is the suite's mistake, and no observation."""
    assert problem in bare.fault(op, args)
