"""The initiator model: it reaches what it cites, the reference follows it, and each planted fault is found."""

import random
from collections import Counter

import pytest
from typeguard import suppress_type_checks

from dshconform.contracts import initiator_commands as write
from dshconform.contracts.initiator import InitiatorModel
from dshconform.contracts.initiator_commands import CURRENT, PRE_STEP, REQUIRE, TOOL
from dshconform.contracts.machine import MachineCheck
from dshconform.contracts.model import CommandError
from dshconform.contracts.source import Source
from dshconform.faults import ALL_FAULTS, Fault
from dshconform.links.link import Link
from dshconform.protocol.json_value import Json, JsonMap
from dshconform.running.step import Step
from dshconform.spec import Level, load_specification
from tests.conformance.machines import (
    apply_all,
    assert_choices_stay_in_the_grid,
    assert_finds,
    assert_prologues_reach_every_clause,
    assert_prologues_visit_the_grid,
    run,
)

CHECK = MachineCheck(InitiatorModel, commands=0)
FAULTS = tuple(fault for fault in ALL_FAULTS if fault.clause in InitiatorModel.clauses)

HELD = write.at(None, write.bounded("a", "f", "waits", "t"), CURRENT)
"""A boundary of `a` that waits."""

INSIDE = write.of_call("f")


def applied(*commands: JsonMap) -> tuple[InitiatorModel, Step]:
    """A model behind some commands, and the last one's step."""
    model = InitiatorModel()
    return model, apply_all(model, commands)[0]


def read(step: Step) -> list[tuple[Json, Json]]:
    """Who reads what, the error's text included; of what settles, nothing."""
    patterns = [row.pattern for row in step.expect.rows or () if row.pattern["on"] == "return"]
    return [(one.get("part"), one["result"] if "result" in one else one["error"]) for one in patterns]


def settled(step: Step) -> list[Json]:
    """The tasks that settle."""
    return [row.pattern["task"] for row in step.expect.rows or () if row.pattern["on"] == "task"]


# ---------------------------------------------------------------------- the model and the reference


@pytest.mark.long
def test_every_cited_clause_is_reached_whatever_the_seed(link: Link) -> None:
    """The prologues alone evaluate each clause that the model cites, and the model lists what it cites."""
    assert_prologues_reach_every_clause(InitiatorModel, link)


def test_the_grid_is_reached_by_construction() -> None:
    """The prologues alone visit each cell, whatever the seed; choices lead to no other."""
    assert_prologues_visit_the_grid(InitiatorModel)
    assert_choices_stay_in_the_grid(InitiatorModel, examples=60)


def test_the_cited_clauses_bind_every_implementation_with_lives() -> None:
    """None is the reference's alone."""
    specification = load_specification()
    clauses = [specification.clause(clause) for clause in InitiatorModel.clauses]
    assert len(set(InitiatorModel.clauses)) == len(clauses)
    assert {clause.profile for clause in clauses} == {"lifecycle"}
    assert {clause.level for clause in clauses} == {Level.MUST}


@pytest.mark.long
def test_the_reference_itself_has_no_fault(link: Link) -> None:
    """Prologues and random examples behind them."""
    outcome = run(MachineCheck(InitiatorModel, commands=15), link, examples=60, seed=7)
    assert outcome.failures == []
    assert set(InitiatorModel.clauses) <= set(outcome.held)


@pytest.mark.long
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.id)
def test_a_fault_is_found_by_the_clause_that_it_violates(fault: Fault, link: Link) -> None:
    """That clause is blamed before any other; the failure is minimised, and its document shows it again."""
    assert_finds(CHECK, fault, link, commands=8, first=True)


def test_every_cited_clause_has_a_fault_that_the_machine_finds() -> None:
    """Those of the test above."""
    assert {fault.clause for fault in FAULTS} == set(InitiatorModel.clauses)


# ---------------------------------------------------------------------- what is chosen


@suppress_type_checks
def test_whatever_is_chosen_is_legal_and_every_act_comes() -> None:
    """At every place, and the closing as well."""
    seen: Counter[str] = Counter()
    for number in range(150):
        source, model = Source(random.Random(number).randbytes(400)), InitiatorModel()
        while not source.exhausted:
            command = model.propose(source)
            assert model.legal(command)
            seen.update((model.cell(command) or "").split(" / "))
            model.apply(command)
    for part in {part for cell in InitiatorModel.cells for part in cell.split(" / ")}:
        assert seen[part] > 1, part


# ---------------------------------------------------------------------- what the clauses say


def test_the_caller_of_a_boundary_has_its_own_initiator_when_the_call_has_returned() -> None:
    """INIT-READ-02: although what it called goes on."""
    _, step = applied(HELD)
    assert read(step) == [("f", "a"), (None, {"$value": "awaitable"}), (None, None)]
    assert step.expect.open == ("boundary",)
    _, step = applied(HELD, write.at(INSIDE, CURRENT, REQUIRE))
    assert read(step) == [("f", "a"), ("f", "a")]


def test_a_clearing_boundary_hides_what_it_inherits() -> None:
    """INIT-READ-04: and the outer one is back behind it."""
    _, step = applied(HELD, write.at(INSIDE, write.bounded(None, "g", "returns", "u"), CURRENT))
    assert read(step) == [
        ("g", None),
        ("g", {"message": "no initiating agent is active"}),
        ("f", {"$exact": {"x": [1]}}),
        ("f", "a"),
    ]


def test_a_turn_reads_its_own_agent_and_its_wake_that_of_the_sender() -> None:
    """INIT-DRIVE-01 to -03: up to its first step, to its tool, and to its end."""
    woken = (HELD, write.at(INSIDE, write.wake("b", "m"), CURRENT))
    _, step = applied(*woken)
    assert read(step) == [("inserted", "a"), ("runs", "a"), ("opens", "b"), ("f", "a")]
    _, step = applied(*woken, write.go_on("b"))
    assert read(step) == [("steps", "b"), ("asks", "b"), ("model", "b")]
    assert step.expect.open == ("boundary", TOOL)
    _, step = applied(*woken, write.go_on("b"), write.resolve(TOOL, write.of_driver(TOOL, "b")))
    assert read(step) == [("step ends", "b"), ("stops", "b"), ("ends", "b"), ("idles", "b")]


def test_a_replay_belongs_to_the_run_that_just_ended() -> None:
    """INIT-DRIVE-02: whoever sent the message behind the cancel."""
    _, step = applied(
        HELD,
        write.at(None, write.wake("b", "m")),
        write.at(None, write.cancel("b")),
        write.at(INSIDE, write.wake("b", "n")),
        write.go_on("b"),
    )
    assert read(step) == [("ends", "b"), ("idles", "b"), ("runs", "b"), ("opens", "b")]
    assert step.expect.open == ("boundary", PRE_STEP)


def test_a_creation_that_waits_is_announced_with_the_initiator_of_its_caller() -> None:
    """INIT-DRIVE-04: wherever its setup is ended from."""
    _, step = applied(
        HELD,
        write.at(INSIDE, write.create("c", "setup", "u", waits=True), CURRENT),
        write.resolve(write.SETUP, write.of_call("setup")),
    )
    assert read(step) == [("announced", "a"), ("created", "a"), ("started", "a")]
    assert settled(step) == ["u"]


def test_a_closing_waits_for_every_boundary_but_those_that_it_was_begun_in() -> None:
    """INIT-CLOSE-03, INIT-CLOSE-05: neither for the nested one nor for the one around it."""
    nested = (
        HELD,
        write.at(INSIDE, write.bounded("b", "g", "waits", "u"), CURRENT),
        write.at(None, write.bounded("b", "other", "waits", "o"), CURRENT),
        write.at(write.of_call("g"), write.unload("closed"), CURRENT),
    )
    model, step = applied(*nested)
    assert settled(step) == []
    assert not model.legal(write.at(None, write.wake("a", "m")))
    _, step = applied(*nested, write.at(INSIDE, write.bounded("a", "never", "waits", "n")))
    assert read(step) == [("f", {"message": "agent initiator scope is disposed"})]
    _, step = applied(*nested, write.resolve("boundary", write.of_call("other")))
    assert settled(step) == ["o", "closed"]
    _, step = applied(*nested, write.resolve("boundary", write.of_call("other")), write.at(INSIDE, CURRENT))
    assert read(step) == [("f", {"message": "agent initiator scope is disposed"})]


# ---------------------------------------------------------------------- when a command makes sense


def test_a_command_needs_what_it_names() -> None:
    """Places and agents that are there, agents that are idle, and names that nothing has."""
    model, _ = applied(
        HELD, write.at(None, write.wake("a", "m")), write.at(None, write.create("c", "s", "u", waits=True))
    )
    for command in (
        write.at(write.of_call("g"), CURRENT),
        write.at(None, write.bounded("c", "g", "waits", "v")),
        write.at(None, write.bounded("a", "f", "waits", "v")),
        write.at(None, write.bounded("a", "g", "waits", "t")),
        write.at(None, write.wake("a", "n")),
        write.at(None, write.wake("b", "m")),
        write.at(None, write.cancel("b")),
        write.at(None, write.maintain("a", "g", "v")),
        write.at(None, write.create("b", "g", "v")),
        write.at(None, write.unload("v")),
        write.at(None, CURRENT, write.wake("b", "n")),
        write.resolve(write.SETUP, INSIDE),
        write.resolve(PRE_STEP, write.of_driver(PRE_STEP, "a")),
        write.reject(write.of_call("s")),
        write.go_on("b"),
    ):
        assert not model.legal(command), command


def test_where_a_closing_waits_for_nobody_nothing_is_read_in_the_same_stretch() -> None:
    """The clauses do not say whether it is over by then."""
    model, _ = applied(HELD)
    assert model.legal(write.at(None, write.unload("closed"), CURRENT))
    assert not model.legal(write.at(INSIDE, write.unload("closed"), CURRENT))
    assert model.legal(write.at(INSIDE, write.unload("closed")))


def test_from_work_that_a_boundary_did_not_return_nothing_is_closed() -> None:
    """The clauses do not say whether the boundary that it was started in counts as one that the closing is begun in."""
    model, _ = applied(write.at(None, write.starting("a", "g", "w")))
    assert not model.legal(write.at(write.of_call("w"), write.unload("closed")))


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (write.at(None, {"op": "agent.dispose", "args": {"agent": "a"}}), "is done at no place of this contract"),
        ({"do": "agent.followup", "args": {}}, "no command of this contract"),
        (write.at(None, {"op": "initiator.run", "args": {"agent": "a", "fn": {"$fn": "f"}}}), "none of the contract's"),
    ],
)
def test_what_is_no_command_is_an_error(command: JsonMap, told: str) -> None:
    """A saved example with a slip in it is told so, with what is known."""
    with pytest.raises(CommandError, match=told):
        InitiatorModel().legal(command)


def test_simpler_commands() -> None:
    """Nothing is read behind what is done."""
    model = InitiatorModel()
    assert model.simpler(HELD) == [write.at(None, write.bounded("a", "f", "waits", "t"))]
    assert model.simpler(write.at(None, CURRENT)) == model.simpler(write.go_on("a")) == []
