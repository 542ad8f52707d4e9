"""A transcript that contradicts itself is the adapter's; one that does not says nothing against it."""

from collections.abc import Sequence

import pytest
from tests.conformance.running.fakes import ScriptedAdapter

from dshconform.links.in_process import InProcessLink
from dshconform.links.link import AdapterFault
from dshconform.links.transcript import broken_in
from dshconform.protocol.json_value import JsonMap
from dshconform.protocol.messages import Reply, Row
from dshconform.running.ledger import Ledger
from dshconform.running.step import Expectation, Step
from dshconform.running.world import new_world


def script(part: str, n: int) -> Row:
    return {"on": "script", "part": part, "kind": "k", "n": n, "payload": {}}


def gate(part: str, n: int, name: str) -> Row:
    return {"on": "gate", "gate": name, "part": part, "kind": "k", "n": n, "payload": {}}


def returned(op: str, at: str | None = None) -> Row:
    return {"on": "return", "op": op, **({} if at is None else {"at": at}), "result": None}


def told(*exchanges: tuple[str, JsonMap, Sequence[Row]]) -> str | None:
    """What is wrong with replies of these rows to these commands."""
    transcript = [
        (op, args, Reply(id=number, result=None, observed=list(rows)))
        for number, (op, args, rows) in enumerate(exchanges)
    ]
    broken = broken_in(transcript)
    return None if broken is None else broken.message


NO_ARGS: JsonMap = {}
BURST: JsonMap = {
    "do": [
        {"op": "agent.steer", "args": {}},
        {"op": "gate.resolve", "args": {}},
        {"op": "burst", "args": {"do": [{"op": "agent.inspect", "args": {}}]}},
    ]
}
STARTED: JsonMap = {"fn": {"$fn": "f", "do": [{"op": "agent.whenIdle", "args": {"task": "t"}}]}}


@pytest.mark.parametrize(
    "exchanges",
    [
        pytest.param([("x", NO_ARGS, [script("f", 1), gate("g", 1, "g1"), script("f", 2)])], id="calls are counted"),
        pytest.param(
            [("x", NO_ARGS, [script("f", 1), gate("f", 1, "g1"), script("f", 2)])], id="a script comes to a gate"
        ),
        pytest.param([("x", NO_ARGS, [script("f", 1)]), ("x", NO_ARGS, [script("f", 1)])], id="a newer function"),
        pytest.param(
            [
                ("x", NO_ARGS, [gate("f", 1, "g1"), {"on": "pull", "gate": "g1", "n": 1}]),
                (
                    "x",
                    NO_ARGS,
                    [{"on": "pull", "gate": "g1", "n": 2}, {"on": "abort", "part": "f", "n": 1, "reason": {}}],
                ),
                ("x", NO_ARGS, [{"on": "closed", "gate": "g1", "why": "left"}]),
            ],
            id="a stream is pulled, aborted and left",
        ),
        pytest.param(
            [("x", STARTED, []), ("x", NO_ARGS, [{"on": "task", "task": "t", "value": None}])], id="a task of a script"
        ),
        pytest.param(
            [
                (
                    "burst",
                    BURST,
                    [
                        returned("agent.steer", "0"),
                        returned("agent.inspect", "2.0"),
                        returned("burst", "2"),
                        returned("burst"),
                    ],
                )
            ],
            id="a burst",
        ),
    ],
)
def test_what_the_protocol_says_is_in_order(exchanges: Sequence[tuple[str, JsonMap, Sequence[Row]]]) -> None:
    """Nothing is said against it."""
    assert told(*exchanges) is None


@pytest.mark.parametrize(
    ("exchanges", "message"),
    [
        ([("x", NO_ARGS, [script("f", 1), script("f", 3)])], "call 2 of 'f' comes next"),
        ([("x", NO_ARGS, [script("f", 2)])], "call 1 of 'f' comes next"),
        ([("x", NO_ARGS, [gate("f", 1, "g1"), gate("f", 3, "g2")])], "call 2 of 'f' comes next"),
        ([("x", NO_ARGS, [{"on": "abort", "part": "f", "n": 1, "reason": {}}])], "there was no such call"),
        (
            [("x", NO_ARGS, [script("f", 1), {"on": "next", "part": "f", "n": 2, "call": 0, "value": 1}])],
            "there was no such call",
        ),
        ([("x", NO_ARGS, [{"on": "pull", "gate": "g1", "n": 1}])], "there is no such gate"),
        (
            [("x", NO_ARGS, [gate("f", 1, "g1"), {"on": "pull", "gate": "g1", "n": 2}])],
            "the pulls of a gate are counted from 1",
        ),
        (
            [("x", NO_ARGS, [gate("f", 1, "g1"), *[{"on": "closed", "gate": "g1", "why": "left"}] * 2])],
            "there is no such gate any more",
        ),
        ([("x", NO_ARGS, [{"on": "task", "task": "t", "value": None}])], "no command has named this task"),
        ([("burst", BURST, [returned("agent.steer", "0")])], "the commands 0, 2 have returned as 0"),
        (
            [("burst", BURST, [returned("burst", "2"), returned("agent.steer", "0")])],
            "the commands 0, 2 have returned as 2, 0",
        ),
    ],
)
def test_what_contradicts_itself_is_named(
    exchanges: Sequence[tuple[str, JsonMap, Sequence[Row]]], message: str
) -> None:
    """The command, and the row."""
    found = told(("x", NO_ARGS, []), *exchanges)
    assert found is not None
    assert message in found
    assert f"at {exchanges[-1][0]}: " in found


def test_no_implementation_is_blamed_behind_a_broken_promise() -> None:
    """What would be a difference is a fault of the adapter; where nothing differs, nobody looks."""
    aborted: JsonMap = {"observed": [{"on": "abort", "part": "f", "n": 9, "reason": {}}], "result": 1}
    with InProcessLink(ScriptedAdapter([aborted, {"result": 2}])) as link:
        world = new_world(link, Ledger())
        assert world.perform(Step("agent.inspect", {}, Expectation(clauses=("AGENT-ID-01",), result=1))) is None
        with pytest.raises(AdapterFault, match="there was no such call") as caught:
            world.perform(Step("agent.inspect", {}, Expectation(clauses=("AGENT-ID-01",), result=1)))
    assert caught.value.kind == "malformed"
    assert "docs/protocol/lockstep.md" in caught.value.remedy
