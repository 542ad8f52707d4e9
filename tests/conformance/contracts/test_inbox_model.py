"""The inbox model, held against a tiny implementation that shares nothing with it."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typeguard import suppress_type_checks

from dshconform.contracts import inbox_commands as write
from dshconform.contracts.inbox import InboxModel
from dshconform.contracts.inbox_calls import VARIANTS
from dshconform.contracts.model import CommandError
from dshconform.contracts.replay import Example, replay_commands
from dshconform.contracts.source import Source
from dshconform.links.in_process import InProcessLink
from dshconform.protocol.json_value import JsonMap
from dshconform.running.ledger import Ledger
from dshconform.running.step import Step
from dshconform.scenarios.macros import message
from dshconform.spec import Level, load_specification
from tests.conformance.contracts.fake_agent import FakeAdapter
from tests.conformance.machines import apply_all, assert_choices_stay_in_the_grid, assert_prologues_visit_the_grid


def played(*commands: JsonMap, wrong: str = "", switches: frozenset[str] = frozenset()) -> Example:
    """Commands performed by the tiny implementation and judged by the model."""
    link = InProcessLink(FakeAdapter(*filter(None, [wrong])))
    return replay_commands(InboxModel(switches), commands, link, Ledger())


def applied(*commands: JsonMap) -> tuple[InboxModel, Step]:
    """A model behind some commands, and the last one's step."""
    model = InboxModel()
    return model, apply_all(model, commands)[0]


@pytest.mark.long
def test_every_cited_clause_is_reached_whatever_the_seed() -> None:
    """The prologues alone evaluate each clause that the model cites, and the model lists what it cites."""
    held: set[str] = set()
    cited: set[str] = set()
    for prologue in InboxModel().prologues():
        example = played(*prologue)
        assert example.difference is None
        assert len(example.performed) == len(prologue), "a command of a prologue makes no sense"
        held |= set(example.world.matching.held)
        cited |= {clause for exchange in example.world.record for clause in exchange.step.expect.cited()}
    assert cited == set(InboxModel.clauses)
    assert cited <= held


def test_the_grid_is_reached_by_construction() -> None:
    """The prologues alone visit each cell, whatever the seed; choices lead to no other."""
    assert_prologues_visit_the_grid(InboxModel)
    assert_choices_stay_in_the_grid(InboxModel, examples=60)


def test_the_cited_clauses_are_core_clauses() -> None:
    """Each is a clause of the specification that every implementation is held to, one `should` aside."""
    specification = load_specification()
    clauses = [specification.clause(clause) for clause in InboxModel.clauses]
    assert len(set(InboxModel.clauses)) == len(clauses)
    assert {clause.profile for clause in clauses} == {"core"}
    assert [clause.id for clause in clauses if clause.level is not Level.MUST] == ["CANCEL-IDLE-02"]
    assert set(VARIANTS.values()) <= set(InboxModel.clauses)


@suppress_type_checks
@given(st.binary(min_size=30, max_size=200))
def test_any_example_is_judged_without_a_difference(data: bytes) -> None:
    """Whatever is chosen is legal, and what the tiny implementation does with it is what the model says."""
    source, model = Source(data), InboxModel()
    example = Example(model, InProcessLink(FakeAdapter()), Ledger())
    assert example.open()
    while not source.exhausted:
        command = model.propose(source)
        assert model.legal(command)
        assert example.perform(command), example.difference


@suppress_type_checks
def test_examples_are_not_alike() -> None:
    """Choices are spread: all operations of the alphabet come, in every phase."""
    seen: set[tuple[str, bool]] = set()
    for number in range(200):
        source, model = Source(random.Random(number).randbytes(160)), InboxModel()
        while not source.exhausted:
            command = model.propose(source)
            waiting = model.legal(write.end())
            seen.add((str(command["do"]), waiting))
            model.apply(command)
    ops = {op for op, _ in seen}
    assert {"agent.send", "agent.followup", "agent.steer", "agent.inject", "agent.cancel", "burst"} <= ops
    assert {f"inbox.{op}" for op in ("append", "prepend", "splice", "replace", "remove", "clear")} <= ops
    assert {"stream.chunk", "stream.end", "stream.fail"} <= ops
    assert {op for op, waiting in seen if waiting} >= ops - {"burst"}


@pytest.mark.parametrize(
    ("legal", "commands"),
    [
        pytest.param(False, [write.end()], id="no stream waits"),
        pytest.param(True, [write.followup("a"), write.end()], id="a stream waits"),
        pytest.param(False, [write.followup("a"), write.end(), write.end()], id="it has ended"),
        pytest.param(
            False,
            [write.followup("a"), write.cancel(), write.cancel(write.CAUSES[3])],
            id="disposed after another cause is left open",
        ),
        pytest.param(
            True,
            [write.followup("a"), write.cancel(write.CAUSES[3]), write.cancel(write.CAUSES[3])],
            id="disposed after itself",
        ),
        pytest.param(
            False, [write.inject("a"), write.splice("next-step", 0, 1, "a")], id="a splice puts in what it takes out"
        ),
        pytest.param(True, [write.inject("a"), write.splice("next-step", 0, 1, "b")], id="it puts in another one"),
        pytest.param(False, [write.burst(write.followup("a"), write.end())], id="a gate that is not open yet"),
        pytest.param(
            False, [write.followup("a"), write.burst(write.end(), write.text("x"))], id="a gate that has been ended"
        ),
        pytest.param(False, [write.burst(write.burst(write.inspect()))], id="a burst in a burst"),
    ],
)
def test_only_what_the_clauses_decide_is_legal(legal: bool, commands: list[JsonMap]) -> None:
    """What the specification leaves open, and what the protocol forbids, is never asked."""
    model, _ = applied(*commands[:-1]) if commands[:-1] else (InboxModel(), None)
    assert model.legal(commands[-1]) is legal


@pytest.mark.parametrize(
    "command",
    [
        {"do": "agent.dispose", "args": {"agent": "a"}},
        {"do": 7},
        {"do": "agent.inject", "args": {"agent": "a"}},
        {"do": "inbox.splice", "args": {"agent": "a", "target": "next-step", "start": "one", "deleteCount": 0}},
        {"do": "burst", "args": {"do": {"op": "inbox.clear"}}},
    ],
)
def test_what_is_no_command_is_refused_with_its_name(command: JsonMap) -> None:
    """A replayed document that names something else gets an error, and no verdict."""
    model = InboxModel()
    with pytest.raises(CommandError, match=r"known: |is no command|needed|needs"):
        model.apply(command) if model.legal(command) else None


@pytest.mark.parametrize(
    ("start", "count", "expected"),
    [
        (-1, 1, (2, 1)),
        (-99, 1, (0, 1)),
        (99, 0, None),
        (1.9, 1, (1, 1)),
        (-1.5, 1, (2, 1)),
        ({"$value": "NaN"}, 1, (0, 1)),
        (None, 1, (0, 1)),
        ({"$value": "-Infinity"}, 1, (0, 1)),
        (0, {"$value": "Infinity"}, (0, 3)),
        (1, 99, (1, 2)),
        (0, 1.9, (0, 1)),
        (0, 0.5, None),
        (1, -1, None),
        (0, {"$value": "NaN"}, None),
    ],
)
def test_splices_are_normalised(start: object, count: object, expected: tuple[int, int] | None) -> None:
    """The examples of INBOX-NORM-01 to -03 over three messages; nothing removed is nothing logged (INBOX-NOOP-01)."""
    filled = [write.insert("append", "next-turn", identity) for identity in "abc"]
    _, step = applied(*filled, write.splice("next-turn", start, count))  # type: ignore[arg-type]
    rows = step.expect.rows or ()
    assert [row.title for row in rows[:1]] == (
        ["return inbox.splice"] if expected is None else ["log agent/inbox/spliced"]
    )
    if expected is not None:
        text = str(rows[0].pattern)
        assert "'INBOX-NORM-0" in text or "INBOX-OPS-01" in text
        assert f"'is': {expected[0]}}}" in text
        assert f"'is': {expected[1]}}}" in text


def test_an_aborted_ending_is_annotated_for_ledgers() -> None:
    """An extra member of the reason is found at the place that the ledger of the release names."""
    example = played(write.followup("a"), write.cancel(), write.end(), wrong="cause told")
    assert example.difference is not None
    assert example.difference.clauses == ("LOG-EVT-03",)
    assert example.difference.at == "log turn/end.event.data.reason"
    assert example.difference.found == {"kind": "aborted", "reason": {"kind": "user"}}


def test_a_variant_follows_the_implementation() -> None:
    """With its switch on, the model departs where the clause does, tells so, and judges what follows."""
    commands = [write.inject("a"), write.cancel(), write.followup("b"), write.end()]
    wrong = "idle cancel keeps"
    by_the_clause = played(*commands, wrong=wrong)
    assert by_the_clause.difference is not None
    assert by_the_clause.difference.clauses == ("CANCEL-IDLE-02", "CANCEL-IDLE-01")
    model = InboxModel(frozenset({"idle-cancel-keeps-input"}))
    departed = []
    example = Example(model, InProcessLink(FakeAdapter(wrong)), Ledger())
    assert example.open()
    for command in commands:
        assert all(example.world.perform(step) is None for step in model.apply(command))
        departed.append(list(model.departed))
    assert departed == [[], ["idle-cancel-keeps-input"], [], []]


def test_a_variant_whose_deviation_has_gone_is_a_difference() -> None:
    """An implementation that follows the clause after all fails against the switched model, by that clause."""
    switches = frozenset({"idle-cancel-keeps-input"})
    example = played(write.inject("a"), write.cancel(), switches=switches)
    assert example.difference is not None
    assert example.difference.clauses == ("CANCEL-IDLE-02",)


def test_a_burst_is_judged_item_by_item() -> None:
    """What each item answers and what the burst leads to afterwards stands in the rows."""
    _, step = applied(write.burst(write.followup("a"), write.inspect(), write.keep_inbox()))
    titles = [row.title for row in step.expect.rows or ()]
    assert titles == [
        *("log agent/inbox/spliced", "live agent/inbox/inserted", "live agent/status", "log turn/start"),
        *("log agent/inbox/spliced", "live agent/inbox/claimed"),
        *("return agent.followup", "return agent.inspect", "return agent.cancel", "return burst"),
        *("log turn/end", "live agent/status"),
    ]


@given(st.binary(min_size=30, max_size=120))
def test_simpler_and_tidied_commands_are_commands(data: bytes) -> None:
    """What a minimiser tries is a command of the contract, and tidying changes names alone."""
    source, model = Source(data), InboxModel()
    commands: list[JsonMap] = []
    while not source.exhausted:
        command = model.propose(source)
        commands.append(command)
        for option in model.simpler(command):
            assert option != command
            model.legal(option)
        model.apply(command)
    tidied = model.tidied(commands)
    again = InboxModel()
    for command in tidied:
        assert again.legal(command)
        again.apply(command)
    assert model.tidied(tidied) == tidied
    assert [command["do"] for command in tidied] == [command["do"] for command in commands]


def test_messages_are_named_in_order_of_appearance() -> None:
    """A minimised example does not speak of `é/ 1`, and keeps which message is which."""
    commands = [write.inject("é/ 1"), write.replace("é/ 1", "b", "changed"), write.remove("b")]
    assert InboxModel().tidied(commands) == [
        write.inject("m1"),
        {"do": "inbox.replace", "args": {"agent": "a", "id": "m1", "message": message("m2", "changed")}},
        write.remove("m2"),
    ]
