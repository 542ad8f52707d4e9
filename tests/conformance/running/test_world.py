"""A world performs steps, resolves gates by their symbolic names, and judges the replies."""

from collections.abc import Sequence

import pytest

from dshconform.links.link import AdapterFault
from dshconform.protocol.json_value import JsonMap
from dshconform.running.check import Outcome
from dshconform.running.step import Expectation, Step
from dshconform.running.world import World
from dshconform.trace.invariants import Watch
from dshconform.trace.pattern import MISSING, Matching
from dshconform.trace.rows import ExpectedRow, read_rows
from tests.conformance.running.fakes import ScriptedAdapter, gate, link

REFUSED: JsonMap = {"error": {"type": "Error", "code": None, "message": "no"}}


def world(*replies: JsonMap) -> tuple[World, ScriptedAdapter]:
    opened, adapter = link(*replies)
    return World(opened, Matching(), Watch(())), adapter


NAMED: JsonMap = {"agent": "a", "named": [*({"task": name} for name in "tuv"), *({"$fn": name} for name in "ab")]}
"""Arguments that name what rows tell of: an adapter that tells of anything else is at fault."""


def step(**expect: object) -> Step:
    return Step("agent.inspect", NAMED, Expectation(clauses=("A-A-01",), **expect))  # type: ignore[arg-type]


def test_a_symbolic_gate_is_sent_by_its_id() -> None:
    """The suite resolves a gate among those that the adapter said are open."""
    opened, adapter = world(
        {"observed": [gate("g1", "agent/pre-step"), gate("g2", "tool/execute", callId="c2")], "open": ["g1", "g2"]},
        {"open": ["g1", "g2"]},
    )
    assert opened.perform(step()) is None
    assert opened.perform(Step("burst", {"do": [{"op": "x", "args": {"gate": {"call": "c2"}}}]})) is None
    assert adapter.commands[-1] == ("burst", {"do": [{"op": "x", "args": {"gate": "g2"}}]})


def test_a_gate_that_is_not_open_is_a_difference() -> None:
    """The step that needs it fails its clauses; nothing is sent."""
    opened, adapter = world({"observed": [gate("g1", "agent/pre-step")], "open": ["g1"]})
    assert opened.perform(step()) is None
    wanted = Step("gate.resolve", {"gate": {"kind": "model/stream"}}, Expectation(clauses=("A-A-02",)))
    found = opened.perform(wanted)
    assert found is not None
    assert found.clauses == ("A-A-02",)
    assert found.sentence == "no open gate is {kind: model/stream} (open: agent/pre-step)"
    assert len(adapter.commands) == 1


def test_an_ambiguous_gate_is_a_difference() -> None:
    """A name that fits two gates resolves to none."""
    opened, _ = world({"observed": [gate("g1", "x/y"), gate("g2", "x/y")], "open": ["g1", "g2"]})
    assert opened.perform(step()) is None
    found = opened.perform(Step("gate.resolve", {"gate": {"kind": "x/y"}}))
    assert found is not None
    assert found.sentence.startswith("2 open gates are")


def test_gates_of_one_name_are_told_apart_by_their_place() -> None:
    """Of those that fit, in order of opening; a session may be part of the name."""
    opened, adapter = world(
        {
            "observed": [
                gate("g1", "x/y", session="a"),
                gate("g2", "x/y", session="b"),
                gate("g3", "x/y", session="a"),
            ],
            "open": ["g1", "g2", "g3"],
        },
    )
    assert opened.perform(step()) is None
    for place, name in ((0, "g1"), (1, "g3")):
        selector: JsonMap = {"kind": "x/y", "session": "a", "at": place}
        assert opened.gates.resolve({"gate": selector}) == {"gate": name}
    found = opened.perform(Step("gate.resolve", {"gate": {"session": "a", "at": 2}}))
    assert found is not None
    assert found.sentence.startswith("no open gate is {session: a, at: 2}")
    assert len(adapter.commands) == 1


def test_a_gate_that_nobody_announced_is_the_adapters_fault() -> None:
    """An open gate without a row breaks the protocol."""
    opened, _ = world({"open": ["g7"]})
    with pytest.raises(AdapterFault, match="g7"):
        opened.perform(step())


@pytest.mark.parametrize(
    ("reply", "expect", "at", "expected", "observed"),
    [
        ({"result": 1}, {"result": 2}, "agent.inspect result", 2, 1),
        ({"result": 1}, {"error": {"message": "no"}}, "agent.inspect error", {"message": "no"}, MISSING),
        (REFUSED, {"result": 1}, "agent.inspect error", MISSING, REFUSED["error"]),
        (REFUSED, {"error": {"message": "yes"}}, "agent.inspect error", "yes", "no"),
        ({"open": []}, {"open": ("x/y",)}, "agent.inspect open gates", "x/y", MISSING),
        ({}, {"rows": read_rows([{"return": "agent.inspect"}, {"task": "t"}])}, "task t", "task t", MISSING),
    ],
)
def test_what_differs_is_named(
    reply: JsonMap, expect: dict[str, object], at: str, expected: object, observed: object
) -> None:
    """Results, errors, open gates and rows are all judged; the difference says where and what."""
    opened, _ = world(reply)
    found = opened.perform(step(**expect))
    assert found is not None
    assert (found.at, found.expected, found.observed) == (at, expected, observed)


def test_an_expected_refusal_holds() -> None:
    """A refusal for the stated reason is what the clause demands."""
    opened, _ = world(REFUSED)
    assert opened.perform(step(error={"message": "no"})) is None
    assert opened.matching.held == {"A-A-01": 1}


def test_a_step_holds_its_clauses_only_by_what_it_demands() -> None:
    """A command that must merely not be refused proves nothing; rows that all match do."""
    opened, _ = world({}, {})
    bare = step()
    assert opened.perform(bare) is None
    assert (opened.matching.held, bare.expect.cited()) == ({}, [])
    demanding = step(rows=read_rows([{"return": "agent.inspect"}]))
    assert opened.perform(demanding) is None
    assert (opened.matching.held, demanding.expect.cited()) == ({"A-A-01": 1}, ["A-A-01"])


def test_rows_apart_may_stand_anywhere_among_the_others() -> None:
    """Each kind is in order by itself; which comes first is not said, and a row too many still is one."""
    rows = read_rows([{"return": "agent.inspect"}, {"log": "x/1"}, {"log": "x/2"}, {"task": "t"}])
    apart = {"rows": rows, "apart": frozenset({"log"})}
    returned: JsonMap = {"on": "return", "op": "agent.inspect", "result": None}
    first, second, task = _log("x/1"), _log("x/2"), {"on": "task", "task": "t", "value": None}
    for observed in ([returned, first, second, task], [returned, task, first, second], [first, returned, second, task]):
        assert world({"observed": list(observed)})[0].perform(step(**apart)) is None
    for wrong, at in (
        ([returned, task, second, first], "log x/2"),
        ([first, second, task, returned], "task t"),
        ([returned, task, first, second, second], "log x/2"),
        ([returned, first, second], "task t"),
    ):
        opened, _ = world({"observed": list(wrong)})
        found = opened.perform(step(**apart))
        assert found is not None
        assert found.at == at
        assert opened.last_rows().first is not None


class _ByAgent:
    """A strand for each agent, and one for the ends of them all with the task that comes behind."""

    def __call__(self, rows: Sequence[JsonMap], /) -> Sequence[Sequence[str]]:
        return [self._strands(row) for row in rows]

    def _strands(self, row: JsonMap) -> list[str]:
        if row["on"] == "live":
            return [f"1 {row['agent']}", *(["2 end"] if row["name"] == "x/gone" else [])]
        return ["2 end" if row["on"] == "task" else "3 call"]


def _surplus(row: JsonMap, _: Sequence[ExpectedRow]) -> tuple[str, ...]:
    return ("A-B-09",) if row["on"] == "task" else ()


def test_only_rows_of_one_strand_have_an_order() -> None:
    """A row may stand in several; who says of a row that it comes too early may hang on the row."""
    a, b = _live("x/gone", "a"), _live("x/here", "b")
    task: JsonMap = {"on": "task", "task": "t", "value": None}
    returned: JsonMap = {"on": "return", "op": "agent.inspect", "result": None}
    rows = read_rows(
        [
            {"live": "x/gone", "agent": "a", "by": "A-B-01"},
            {"live": "x/here", "agent": "b", "by": "A-B-02"},
            *({"task": "t", "by": "A-B-03"}, {"return": "agent.inspect"}),
        ]
    )
    expect = {"rows": rows, "strands": _ByAgent(), "surplus": _surplus}
    for observed in ([a, b, task, returned], [b, returned, a, task], [a, task, returned, b]):
        assert world({"observed": list(observed)})[0].perform(step(**expect)) is None
    for wrong, at, clauses in (
        ([task, a, b, returned], "task t", ("A-B-09", "A-B-01", "A-A-01")),
        ([a, task, returned], "live x/here", ("A-B-02", "A-A-01")),
        ([a, b, task, b, returned], "live x/here", ("A-A-01",)),
        ([a, b, task, task, returned], "task t", ("A-B-09", "A-A-01")),
    ):
        opened, _ = world({"observed": list(wrong)})
        found = opened.perform(step(**expect))
        assert found is not None
        assert (found.at, found.clauses) == (at, clauses)
        assert opened.last_rows().pairs


def test_rows_may_be_one_of_several_lists() -> None:
    """Any will do, what it says counts, and a reply that is none of them differs from the first."""
    first, second = read_rows([{"task": "t", "by": "A-B-01"}]), read_rows([{"task": "u", "by": "A-B-02"}])
    expect = {"rows": first, "otherwise": (second,), "only": frozenset({"task"})}
    for name, clause in (("t", "A-B-01"), ("u", "A-B-02")):
        opened, _ = world({"observed": [{"on": "task", "task": name, "value": None}]})
        assert opened.perform(step(**expect)) is None
        assert clause in opened.matching.held
        assert len(opened.matching.held) == 2
    opened, _ = world({"observed": [{"on": "task", "task": "v", "value": None}]})
    found = opened.perform(step(**expect))
    assert found is not None
    assert found.clauses == ("A-B-01", "A-A-01")
    assert "A-B-02" in step(**expect).expect.cited()


def test_who_of_several_is_told_first_of_an_abort_is_not_compared() -> None:
    """Neighbouring rows stand by function and call; what they say, and what stands between, is compared."""
    returned: JsonMap = {"on": "return", "op": "agent.inspect", "result": None}
    told = [_abort("a", 2), _abort("a", 10), _abort("b", 1)]
    expect = {
        "rows": read_rows([*({"abort": row["part"], "n": row["n"]} for row in told), {"return": "agent.inspect"}])
    }
    for observed in (told, told[::-1], [told[1], told[2], told[0]]):
        assert world({"observed": [*observed, returned]})[0].perform(step(**expect)) is None
    called: list[JsonMap] = [{"on": "script", "part": "a", "kind": "k", "n": n + 1, "payload": {}} for n in range(10)]
    called += [{**called[n], "part": "b"} for n in range(2)]
    for observed in ([told[0], returned, *told[1:]], [*told[:2], _abort("b", 2), returned]):
        opened, _ = world({"observed": called}, {"observed": observed})
        assert opened.perform(Step("agent.inspect", NAMED)) is None
        assert opened.perform(step(**expect)) is not None


def _log(event: str) -> JsonMap:
    return {"on": "log", "session": "a", "event": {"type": event, "seq": 0, "time": 0, "data": {}}}


def _live(name: str, agent: str) -> JsonMap:
    return {"on": "live", "name": name, "agent": agent, "payload": {}}


def _abort(part: str, call: int) -> JsonMap:
    return {"on": "abort", "part": part, "n": call, "reason": None}


@pytest.mark.parametrize(
    ("rows", "held"),
    [
        ([], {}),
        ([{"on": "live", "name": "agent/status", "agent": "a", "payload": {"status": "idle"}}], {"A-A-01": 1}),
    ],
    ids=["null", "an event"],
)
def test_where_nothing_but_null_came_back_nothing_has_held(rows: list[JsonMap], held: dict[str, int]) -> None:
    """Whoever does nothing says as much."""
    opened, _ = world({"observed": rows})
    outcome = Outcome(check="any")
    assert opened.perform(step(result=None)) is None
    outcome.count(opened)
    assert (outcome.held, outcome.examples) == (held, 1)
