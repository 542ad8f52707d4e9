"""The rollback model: its grid is reached, the reference follows it, and what no clause decides is not done."""

import random
from collections import Counter

import pytest
from typeguard import suppress_type_checks

from dshconform.contracts import rollback_commands as write
from dshconform.contracts.machine import MachineCheck
from dshconform.contracts.model import CommandError
from dshconform.contracts.rollback import RollbackModel
from dshconform.contracts.rollback_commands import (
    ANNOUNCEMENTS,
    DISPOSALS,
    LOOP,
    WAIT,
    aborted_by,
    answer,
    cleanup,
    closed,
    command,
    created,
    disposed,
    loaded,
    look,
    on,
    sent,
    throw,
    together,
    top,
    within,
)
from dshconform.contracts.rollback_grid import DISPOSAL, FORMS, TRANSACTION, way_to
from dshconform.contracts.source import Source
from dshconform.links.link import Link
from dshconform.protocol.json_value import JsonMap
from dshconform.running.step import Step
from dshconform.spec import Level, load_specification
from dshconform.trace.rows import ExpectedRow
from tests.conformance.machines import apply_all, assert_prologues_reach_every_clause, run

CHECK = MachineCheck(RollbackModel, commands=4)


def applied(*commands: JsonMap, switches: frozenset[str] = frozenset()) -> tuple[RollbackModel, Step]:
    """A model behind some commands, and the last one's step."""
    model = RollbackModel(switches)
    return model, apply_all(model, commands)[0]


def lives(rows: tuple[ExpectedRow, ...] | None) -> list[str]:
    """What is told of lives, and the tasks that settle."""
    assert rows is not None
    return [row.title for row in rows if row.pattern["on"] in {"live", "task"}]


# ---------------------------------------------------------------------- the grid, and the reference


def test_the_prologues_visit_exactly_the_grid() -> None:
    """Played on the model alone: every command makes sense, each cell is visited, and none that is not in the grid."""
    visited: set[str | None] = set()
    with suppress_type_checks():
        for cell in RollbackModel.cells:
            model, own = RollbackModel(), set[str | None]()
            for one in way_to(cell):
                assert model.legal(one), (cell, one)
                own.add(model.cell(one))
                model.apply(one)
            assert cell in own, (cell, own)
            visited |= own
    assert visited - {None} == set(RollbackModel.cells)
    assert len(RollbackModel.cells) == len(set(RollbackModel.cells))


def test_the_grid_has_every_step_by_every_cause() -> None:
    """Both forms, with the load for a resume alone; and every state by everybody who disposes."""
    for step, causes in TRANSACTION.items():
        for cause in causes:
            for form in FORMS:
                assert (f"{form} / {step} / {cause}" in RollbackModel.cells) is (step != "load" or form == "resume")
    for who, states in DISPOSAL.items():
        assert {f"disposal / {state} / {who}" for state in states} <= set(RollbackModel.cells)


@pytest.mark.long
def test_every_cited_clause_is_reached_whatever_the_seed(link: Link) -> None:
    """The prologues alone evaluate each clause that the model cites, and the model lists what it cites."""
    assert_prologues_reach_every_clause(RollbackModel, link)


def test_the_cited_clauses_exist() -> None:
    """They are of the core, of lives, and of resuming; some are a `should`, which decides no verdict."""
    specification = load_specification()
    clauses = [specification.clause(clause) for clause in RollbackModel.clauses]
    assert len(set(RollbackModel.clauses)) == len(clauses)
    assert {clause.profile for clause in clauses} == {"core", "lifecycle", "persistence"}
    assert {clause.id for clause in clauses if clause.level is not Level.MUST} == {
        *("CANCEL-IDLE-02", "LIFE-DISP-21", "LIFE-DISP-23", "LIFE-PUB-08")
    }
    assert set(RollbackModel.variants.values()) <= set(RollbackModel.clauses)


@pytest.mark.long
def test_the_reference_itself_has_no_fault(link: Link) -> None:
    """Prologues and random examples behind them."""
    outcome = run(CHECK, link, examples=len(RollbackModel.cells) + 60, seed=7)
    assert outcome.failures == []
    assert set(RollbackModel.clauses) <= set(outcome.held)


# ---------------------------------------------------------------------- what is chosen


@suppress_type_checks
def test_whatever_is_chosen_is_legal_and_examples_are_not_alike() -> None:
    """All sorts of commands come, at all sorts of moments, and what they visit is in the grid."""
    ops: Counter[str] = Counter()
    cells: Counter[str | None] = Counter()
    for number in range(150):
        source, model = Source(random.Random(number).randbytes(400)), RollbackModel()
        while not source.exhausted:
            one = model.propose(source)
            assert model.legal(one)
            cells[model.cell(one)] += 1
            ops[str(one["do"])] += 1
            model.apply(one)
    assert set(cells) - {None} <= set(RollbackModel.cells)
    assert len(cells) > 100
    for op in ("agent.create", "agent.resume", "gate.resolve", "gate.reject", "agent.dispose", "owner.close", "burst"):
        assert ops[op] > 20, op
    for op in ("world.unload", "world.load", "agent.followup", "stream.end", "listen", "gate.do", "agent.maintain"):
        assert ops[op] > 2, op


# ---------------------------------------------------------------------- when a command makes sense


def test_an_agent_is_disposed_of_through_its_handle() -> None:
    """Nobody has one before the creation is over, nor when it failed."""
    model, _ = applied(top(created("a1", WAIT)))
    assert not model.legal(top(disposed("a1", "d1")))
    model.apply(answer("a1.setup"))
    assert model.legal(top(disposed("a1", "d1")))
    model, _ = applied(top(created("a1", throw())))
    assert not model.legal(top(disposed("a1", "d1")))


def test_names_are_used_once() -> None:
    """Of lives, tasks and messages, so that every row tells whose it is."""
    model, _ = applied(top(created("a1")), top(sent("a1", "m1")), write.end_stream("a1"))
    assert not model.legal(top(created("a1")))
    assert not model.legal(top(sent("a1", "m1")))
    assert model.legal(top(sent("a1", "m2")))


def test_what_no_clause_decides_is_not_done() -> None:
    """Who of two is first, who waits for whom, and what other contracts tell of."""
    model, _ = applied(top(created("a1", form="resume")))
    assert not model.legal(top(created("a2", form="resume"))), "the storage decides who gets the session"
    assert model.legal(top(created("a2")))
    model, _ = applied(top(created("a1", created("a2"), WAIT)))
    assert not RollbackModel().legal(top(created("a1", created("a2")))), "nobody says who of the two enters first"
    for first, makes_sense in ((created("a2"), False), (created("a2", WAIT), True)):
        farewells = [on("a1", DISPOSALS[1], one, name=f"on{n}") for n, one in enumerate((first, created("a3")))]
        model, _ = applied(top(created("a1", *farewells)))
        assert model.legal(top(disposed("a1", "d1"))) is makes_sense, "whether the first has entered (LIFE-ROLL-09)"
    model, _ = applied(
        write.open_owner(), top(created("a1", cleanup("a1", WAIT), more=within("p"))), top(disposed("a1", "d1"))
    )
    assert not model.legal(top(closed("c1"))), "the plugin need not wait for what it has not begun (LIFE-OWN-07)"
    assert model.legal(top(closed("c1", LOOP)))
    model, _ = applied(write.open_owner())
    late = created("a1", closed("c1"), write.commit("a1"), more=within("p"))
    assert not model.legal(top(late)), "whether the commit of a setup that closed its owner is called"
    leaves = top(on("a1", "agent/status", disposed("a1", "d1"), when={"status": "running"}))
    model, _ = applied(top(created("a1")), leaves)
    assert model.legal(top(sent("a1", "m1")))
    again = together(sent("a1", "m1"), sent("a1", "m2"))
    assert not model.legal(again), "whether it is idle at once that ran only to be disposed of (LIFE-DISP-13)"
    model.apply(top(on("a1", "agent/status", sent("a1", "m3"), name="on2", when={"status": "idle"})))
    assert not model.legal(top(sent("a1", "m1"))), "whether that is told before the call returns"
    model, _ = applied(top(created("a1")), top(sent("a1", "m1")), top(sent("a1", "m2")))
    assert not model.legal(write.end_stream("a1")), "a further turn is the affair of other contracts"


def test_later_announcements_are_open_when_the_owner_closes() -> None:
    """Each way in which they may be made is as good; the creation rejects in all of them (LIFE-OWN-03)."""
    listener = on("a1", ANNOUNCEMENTS[0], closed("c1"))
    _, step = applied(write.open_owner(), top(created("a1", listener, more=within("p"))))
    ways = [lives(rows) for rows in (step.expect.rows, *step.expect.otherwise)]
    ends = ["live session/disposed", "task t.a1", "task c1"]
    assert ways == [
        ["live session/created", *ends],
        ["live session/created", "live agent/created", "live agent/disposed", *ends],
        ["live session/created", "live agent/created", "live agent/session-start", "live agent/disposed", *ends],
    ]


def test_a_listener_that_acts_is_not_asked_in_an_announcement_that_is_open() -> None:
    """What comes of it would hang on whether the announcement is made."""
    acts = on("a1", ANNOUNCEMENTS[1], write.aborted(), name="on2")
    looks = on("a1", ANNOUNCEMENTS[1], *look("a"), name="on2")
    for listener, makes_sense in ((acts, False), (looks, True)):
        model, _ = applied(write.open_owner())
        script = [on("a1", ANNOUNCEMENTS[0], closed("c1")), listener]
        assert model.legal(top(created("a1", *script, more={**within("p"), **aborted_by("s")}))) is makes_sense


def test_a_variant_follows_an_agent_that_outlives_its_owner() -> None:
    """It is handed out and torn down; without the variant that is a difference."""
    listener = on("a1", ANNOUNCEMENTS[0], closed("c1"))
    commands = [write.open_owner(), top(created("a1", listener, more=within("p")))]
    model, step = applied(*commands, switches=frozenset({"creation-outlives-its-owner"}))
    assert model.departed == ["creation-outlives-its-owner"]
    assert step.expect.otherwise == ()
    told = lives(step.expect.rows)
    assert told.index("task t.a1") < told.index("live agent/disposed")
    model, _ = applied(*commands)
    assert model.departed == []


def test_what_is_created_through_what_is_closed_may_fail_at_once_or_later() -> None:
    """So it is awaited inside a function, where the two look alike."""
    _, step = applied(write.open_owner(), top(closed("c1")), top(created("a1", more=within("p"))))
    assert step.op == "run"
    assert step.expect.clauses == ("LIFE-OWN-09",)


@pytest.mark.parametrize(
    ("one", "message"),
    [
        (command("agent.dance"), "no command of the rollback contract"),
        (together(created("a1"), {"op": "gate.resolve", "args": {}}), "no command of the rollback contract"),
        (top({**created("a1"), "args": {"handle": "a1", "agent": "b"}}), "after its handle 'a1'"),
        (top(created("a1", {"do": "dance"})), "does not 'dance'"),
        (command("gate.resolve", gate="g1"), "a gate is named by what it is"),
        (command("agent.dispose", agent="a1"), "no fault"),
        (command("agent.dispose", agent=1), "needs a text 'agent'"),
    ],
)
def test_what_is_no_command_is_an_error(one: JsonMap, message: str) -> None:
    """A saved example with a slip in it is told so; what only comes at the wrong time is passed over."""
    model = RollbackModel()
    if message == "no fault":
        assert not model.legal(one)
        return
    with pytest.raises(CommandError, match=message):
        model.legal(one)


# ---------------------------------------------------------------------- less


def test_simpler_commands() -> None:
    """Creations lose arguments and actions of their functions, at any depth; bursts lose commands."""
    model = RollbackModel()
    scripted = top(created("a1", cleanup("a1", *look("a")), WAIT, more=aborted_by("s")))
    first, second = look("a")
    assert model.simpler(scripted) == [
        top(created("a1", cleanup("a1", *look("a")), WAIT)),
        top(created("a1", WAIT, more=aborted_by("s"))),
        top(created("a1", cleanup("a1", second), WAIT, more=aborted_by("s"))),
        top(created("a1", cleanup("a1", first), WAIT, more=aborted_by("s"))),
        top(created("a1", cleanup("a1", *look("a")), more=aborted_by("s"))),
    ]
    both = together(disposed("a1", "d1"), sent("a1", "m1"))
    assert model.simpler(both) == [together(sent("a1", "m1")), together(disposed("a1", "d1"))]
    assert model.simpler(together(disposed("a1", "d1"))) == [top(disposed("a1", "d1"))]
    assert model.simpler(top(write.aborted())) == []


def test_a_load_is_named_by_its_place_where_there_are_two() -> None:
    """One that was given up is open beside the one that was asked for behind it."""
    resumed = [top(created("a1", form="resume", more=aborted_by("s"))), top(write.aborted())]
    model, _ = applied(*resumed, top(created("a2", form="resume")))
    assert not model.legal(command("gate.resolve", gate={"kind": "store/load", "session": "a"}))
    _, step = applied(*resumed, top(created("a2", form="resume")), loaded("a", at=1))
    assert "task t.a2" in lives(step.expect.rows)
