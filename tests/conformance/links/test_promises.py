"""Each promise of an adapter, and one that breaks it: it is named, and the implementation is not blamed."""

import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.conformance.running.fakes import HELLO
from typeguard import suppress_type_checks

from dshconform.checks.catalog import all_checks
from dshconform.links.in_process import InProcessLink
from dshconform.links.link import AdapterFault, Limits, Link
from dshconform.links.subprocess import SubprocessLink
from dshconform.links.transcript import broken_in
from dshconform.protocol.json_value import JsonMap
from dshconform.protocol.messages import Command, Reply, Row
from dshconform.protocol.promises import PROMISES
from dshconform.running.ledger import Ledger
from dshconform.running.step import Expectation, Step
from dshconform.running.verdict import runnable
from dshconform.running.world import new_world
from dshconform.scenarios.check import ScenarioCheck

FAKE = Path(__file__).with_name("fake_adapter.py")
LIMITS = Limits(seconds_per_reply=20, seconds_to_end=20)


def script(part: str, n: int) -> Row:
    return {"on": "script", "part": part, "kind": "k", "n": n, "payload": {}}


def gate(part: str, n: int, name: str) -> Row:
    return {"on": "gate", "gate": name, "part": part, "kind": "k", "n": n, "payload": {}}


def returned(op: str, at: str | None = None, result: object = None) -> Row:
    return {"on": "return", "op": op, **({} if at is None else {"at": at}), "result": result}  # type: ignore[dict-item]


PULL: Row = {"on": "pull", "gate": "g1", "n": 1}
LEFT: Row = {"on": "closed", "gate": "g1", "why": "left"}
ABORT: Row = {"on": "abort", "part": "f", "n": 1, "reason": {}}
SETTLED: Row = {"on": "task", "task": "t", "value": None}
GIVEN: JsonMap = {"fn": {"$fn": "f"}}
BURST: JsonMap = {
    "do": [
        {"op": "agent.steer", "args": {}},
        {"op": "gate.resolve", "args": {}},
        {"op": "burst", "args": {"do": [{"op": "agent.inspect", "args": {}}]}},
    ]
}
NOTHING: JsonMap = {"result": None}
BURST_RESULT = [NOTHING, NOTHING, {"result": [NOTHING]}]
BURST_ROWS = [
    returned("agent.steer", "0"),
    returned("agent.inspect", "2.0"),
    returned("burst", "2", [NOTHING]),
]

Told = tuple[str, JsonMap, JsonMap]
"""A command, its arguments, and the members of the reply to it."""

# ---------------------------------------------------------------------- on the wire


@pytest.mark.parametrize(
    ("behaviour", "promise"),
    [
        ("garbage", "line"),
        ("two-replies", "line"),
        ("crash", "alive"),
        ("bad-exit-status", "alive"),
        ("no-open", "form"),
    ],
)
def test_what_is_broken_on_the_wire(behaviour: str, promise: str, tmp_path: Path) -> None:
    """By a process that misbehaves."""
    command = [sys.executable, "-I", "-S", str(FAKE), behaviour]

    def talk() -> None:
        with SubprocessLink(command, limits=LIMITS, wire_log=tmp_path / "wire") as link:
            link.call("misbehave")
            link.call("again")

    with pytest.raises(AdapterFault) as caught:
        talk()
    assert caught.value.promise == promise


# ---------------------------------------------------------------------- with every reply, and before a difference


class Scripted:
    """Answers what it is told, with no member more."""

    def __init__(self, *replies: JsonMap) -> None:
        self.replies = list(replies)

    def handle(self, command: Command) -> Reply:
        if command.op == "hello":
            return Reply(id=command.id, result=HELLO)
        return Reply(**{"id": command.id, "observed": [], **self.replies.pop(0)})  # type: ignore[arg-type]

    def close(self) -> None:
        pass


WITH_A_REPLY: Sequence[tuple[str, Sequence[Told]]] = [
    ("executed", [("x", {}, {"fault": "unknown"})]),
    ("settled", [("x", {}, {"fault": "unsettled"})]),
    ("settled", [("x", {}, {"result": None, "late": [SETTLED]})]),
    ("id", [("x", {}, {"id": 9, "result": None, "observed": [returned("x")]})]),
    ("outcome", [("x", {}, {"observed": [returned("x")]})]),
    (
        "gates",
        [("x", GIVEN, {"result": None, "observed": [gate("f", 1, "g1"), LEFT, gate("f", 2, "g1"), returned("x")]})],
    ),
    ("return", [("x", {}, {"result": None})]),
    ("waiting", [("x", {}, {"result": None, "observed": [returned("x")], "open": ["g1"]})]),
    (
        "answered",
        [
            ("x", GIVEN, {"result": None, "observed": [gate("f", 1, "g1"), returned("x")], "open": ["g1"]}),
            ("gate.next", {"gate": "g1"}, {"result": None}),
        ],
    ),
    (
        "answered",
        [
            ("x", GIVEN, {"result": None, "observed": [gate("f", 1, "g1"), returned("x")], "open": ["g1"]}),
            ("gate.resolve", {"gate": "g1"}, {"result": None, "open": ["g1"]}),
        ],
    ),
]


def observed(*rows: Row, args: JsonMap = GIVEN) -> Told:
    """Rows that stand in the reply to a command that gives the function `f`."""
    opened = [str(row["gate"]) for row in rows if row["on"] == "gate"]
    closed = {str(row["gate"]) for row in rows if row["on"] == "closed"}
    waiting = [name for name in opened if name not in closed]
    return ("x", args, {"result": None, "observed": [*rows, returned("x")], "open": waiting})


def burst(*rows: Row, result: object = BURST_RESULT) -> Told:
    return ("burst", BURST, {"result": result, "observed": [*rows, returned("burst", None, result)]})  # type: ignore[dict-item]


BEFORE_A_DIFFERENCE: Sequence[tuple[str, Told, str]] = [
    ("form", observed({"on": "task", "task": "t"}), "a `task` row has neither `value` nor `error`"),
    ("items", burst(BURST_ROWS[0]), "the commands 0, 2 of the burst have returned as 0"),
    ("items", burst(*reversed(BURST_ROWS)), "the commands 0, 2 of the burst have returned as 2, 0"),
    ("items", burst(*BURST_ROWS, result=[]), "the result of a burst of 3 commands is []"),
    (
        "items",
        burst(*BURST_ROWS, result=[{"result": 1}, *BURST_RESULT[1:]]),
        "command 0 of the burst has returned {'result': None}, not {'result': 1}",
    ),
    ("gates", observed(PULL), "there is no such gate"),
    ("gates", observed(gate("f", 1, "g1"), {**PULL, "n": 2}), "the pulls of a gate are counted from 1"),
    ("gates", observed(gate("f", 1, "g1"), LEFT, LEFT), "there is no such gate any more"),
    ("calls", observed(script("f", 1), script("f", 3)), "call 2 of 'f' comes next"),
    ("calls", observed(script("f", 1), script("f", 1)), "call 2 of 'f' comes next"),
    ("calls", observed(ABORT), "there was no such call"),
    ("calls", observed(script("f", 1), {**returned("y", "0"), "part": "f", "n": 2}), "there was no such call"),
    ("names", observed(script("g", 1)), "the suite has given no function 'g'"),
    ("names", observed(SETTLED), "no command has named this task"),
]


@pytest.mark.parametrize(("promise", "told"), WITH_A_REPLY)
def test_what_is_broken_with_a_reply(promise: str, told: Sequence[Told]) -> None:
    """The call raises, and the promise is named."""

    def talk() -> None:
        with InProcessLink(Scripted(*(reply for _, _, reply in told))) as link:
            for op, args, _ in told:
                link.call(op, args)

    with pytest.raises(AdapterFault) as caught:
        talk()
    assert caught.value.promise == promise


@pytest.mark.parametrize(("promise", "told", "message"), BEFORE_A_DIFFERENCE)
def test_no_implementation_is_blamed_behind_a_broken_promise(promise: str, told: Told, message: str) -> None:
    """What would be a difference is the adapter's fault; where nothing differs, nobody looks. Then the link is over."""
    op, args, reply = told
    inspected: JsonMap = {"result": 2, "observed": [returned("agent.inspect", None, 2)], "open": reply.get("open", [])}
    with InProcessLink(Scripted(reply, inspected)) as link:
        world = new_world(link, Ledger())
        assert world.perform(Step(op, args)) is None
        with pytest.raises(AdapterFault) as caught:
            world.perform(Step("agent.inspect", {}, Expectation(clauses=("AGENT-ID-01",), result=1)))
        with pytest.raises(AdapterFault):
            link.call("agent.inspect")
    fault = caught.value
    assert (fault.kind, fault.promise) == ("malformed", promise)
    assert f"the reply to command 1 of the world ({op}): " in fault.message
    assert message in fault.message
    assert f"promise: {promise} (" in str(fault)


@pytest.mark.parametrize(
    "told",
    [
        pytest.param([observed(script("f", 1), gate("f", 1, "g1"), script("f", 2))], id="a script comes to a gate"),
        pytest.param([observed(script("f", 1)), observed(script("f", 1), ABORT)], id="a newer function"),
        pytest.param(
            [observed(gate("f", 1, "g1"), PULL), observed({**PULL, "n": 2}, ABORT), observed(LEFT)],
            id="a stream is pulled, aborted and left",
        ),
        pytest.param(
            [observed(args={"fn": {"$fn": "g", "do": [{"op": "y", "args": {"task": "t"}}]}}), observed(SETTLED)],
            id="a task of a script",
        ),
        pytest.param([burst(*BURST_ROWS)], id="a burst"),
        pytest.param(
            [observed(gate("f", 1, "g1")), ("world.open", {}, NOTHING), observed(gate("f", 1, "g1"))], id="a new world"
        ),
        pytest.param(
            [("run", {"task": "t", "do": []}, {"result": None, "observed": [script("t", 1), SETTLED]})], id="a run"
        ),
    ],
)
def test_what_the_protocol_says_is_in_order(told: Sequence[Told]) -> None:
    """Nothing is said against it."""
    replies = [Reply(**{"id": 1, "observed": [], **reply}) for _, _, reply in told]  # type: ignore[arg-type]
    assert broken_in((op, args, reply) for (op, args, _), reply in zip(told, replies, strict=True)) is None


def test_a_name_of_a_gate_is_not_used_again_in_a_later_reply() -> None:
    """Though it waits no more."""
    replies = [Reply(id=1, result=None, observed=rows) for rows in ([gate("f", 1, "g1"), LEFT], [gate("f", 2, "g1")])]
    broken = broken_in(("x", GIVEN, reply) for reply in replies)
    assert broken is not None
    assert broken.promise == "gates"
    assert "there was a gate 'g1' before" in broken.message


@suppress_type_checks
def test_the_reference_keeps_them_in_every_scenario(link: Link) -> None:
    """Whatever a script, a stream or a run tells of was given, named and counted."""
    for check in all_checks():
        if isinstance(check, ScenarioCheck) and runnable(check, link.hello):
            world = new_world(link, Ledger())
            assert world.perform_all(check.scenario.worlds[0])[0] is None
            world.check_promises()
            world.close()


def test_every_promise_is_broken_here() -> None:
    """So each of them is looked at."""
    shown = {promise for promise, _ in WITH_A_REPLY} | {promise for promise, _, _ in BEFORE_A_DIFFERENCE}
    assert shown | {"line", "alive"} == set(PROMISES)
