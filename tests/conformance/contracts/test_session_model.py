"""The session model: it reaches what it cites, the reference follows it, and each planted fault is found."""

import random
from collections import Counter

import pytest
from typeguard import suppress_type_checks

from dshconform.contracts import session_commands as write
from dshconform.contracts.machine import MachineCheck
from dshconform.contracts.model import CommandError
from dshconform.contracts.script_calls import listen
from dshconform.contracts.session import SessionModel
from dshconform.contracts.session_observers import DOINGS, Names
from dshconform.contracts.session_shapes import ACCEPTED, REFUSED
from dshconform.contracts.source import Source
from dshconform.faults import Fault
from dshconform.faults.record import RECORD_FAULTS
from dshconform.faults.session_log import SESSION_LOG_FAULTS
from dshconform.faults.session_seeds import SESSION_SEED_FAULTS
from dshconform.faults.session_store import SESSION_STORE_FAULTS
from dshconform.faults.session_surface import SESSION_SURFACE_FAULTS
from dshconform.links.link import Link
from dshconform.protocol.json_value import JsonMap
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

CHECK = MachineCheck(SessionModel, commands=0)
FAULTS = tuple(
    fault
    for fault in (*SESSION_LOG_FAULTS, *SESSION_SURFACE_FAULTS, *SESSION_STORE_FAULTS, *SESSION_SEED_FAULTS)
    if fault.clause in SessionModel.clauses
)


def applied(*commands: JsonMap) -> tuple[SessionModel, Step]:
    """A model behind some commands, and the last one's step."""
    model = SessionModel()
    return model, apply_all(model, commands)[0]


def rows(step: Step) -> list[str]:
    """What must be seen, in short."""
    return [row.title for row in step.expect.rows or ()]


def entered(name: str, identity: str | None = None) -> tuple[JsonMap, JsonMap]:
    """A session that is in the store."""
    return write.prepare(name, identity or name), write.enter(name, f"leave-{name}")


def observer(name: str, event: str, doing: str, **names: str) -> JsonMap:
    """An observer."""
    named = Names(**{"session": "", "leave": "", "listener": "", "fresh": "", **names})
    return listen(name, event, DOINGS[event][doing](named))


# ---------------------------------------------------------------------- the model and the reference


@pytest.mark.long
def test_every_cited_clause_is_reached_whatever_the_seed(link: Link) -> None:
    """The prologues alone evaluate each clause that the model cites, and the model lists what it cites."""
    assert_prologues_reach_every_clause(SessionModel, link)


def test_the_grid_is_reached_by_construction() -> None:
    """The prologues alone visit each cell, whatever the seed; choices lead to no other."""
    assert_prologues_visit_the_grid(SessionModel)
    assert_choices_stay_in_the_grid(SessionModel, examples=60)


def test_the_cited_clauses_bind_every_implementation_with_sessions() -> None:
    """None is the reference's alone."""
    specification = load_specification()
    clauses = [specification.clause(clause) for clause in SessionModel.clauses]
    assert len(set(SessionModel.clauses)) == len(clauses)
    assert {clause.profile for clause in clauses} == {"core", "session"}
    assert {clause.level for clause in clauses} == {Level.MUST}


@pytest.mark.long
def test_the_reference_itself_has_no_fault(link: Link) -> None:
    """Prologues and random examples behind them."""
    outcome = run(MachineCheck(SessionModel, commands=15), link, examples=80, seed=7)
    assert outcome.failures == []
    assert set(SessionModel.clauses) <= set(outcome.held)


@pytest.mark.long
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.id)
def test_a_fault_is_found_by_the_clause_that_it_violates(fault: Fault, link: Link) -> None:
    """One failure at least blames that clause; it is minimised, and its document shows it again."""
    assert_finds(CHECK, fault, link, commands=8)


def test_every_cited_clause_has_a_fault_that_the_machine_finds() -> None:
    """The number of an event is violated by a fault of what an agent records; the machine meets it in every example."""
    proven = {fault.clause for fault in FAULTS}
    assert set(SessionModel.clauses) - proven == {"LOG-ENV-01"}
    assert "LOG-ENV-01" in {fault.clause for fault in RECORD_FAULTS}


# ---------------------------------------------------------------------- what is chosen


@suppress_type_checks
def test_whatever_is_chosen_is_legal_and_every_observer_and_append_comes() -> None:
    """Each way to append, accepted or refused, and each doing of each observer."""
    seen: Counter[str] = Counter()
    for number in range(150):
        source, model = Source(random.Random(number).randbytes(400)), SessionModel()
        while not source.exhausted:
            command = model.propose(source)
            assert model.legal(command)
            seen.update((model.cell(command) or "").split(" / "))
            model.apply(command)
    for name in (*ACCEPTED, *REFUSED):
        assert seen[f"append {name}"] > 2, name
    for event, doings in DOINGS.items():
        for doing in doings:
            assert seen[doing] > 2, (event, doing)


# ---------------------------------------------------------------------- what the clauses say


def test_an_observer_that_appends_is_refused_and_nothing_is_kept_for_later() -> None:
    """LOG-OBS-03: the outer event stays alone in the log."""
    model, step = applied(*entered("s"), observer("l", write.EVENT, "appends"), write.note("s"))
    assert rows(step) == ["log x/note", "script session/event", "return session.append", "return session.append"]
    refused = (step.expect.rows or ())[2]
    assert refused.clauses == ("LOG-OBS-03",)
    assert len(model.store.sessions["s"].events) == 1


def test_a_detach_inside_an_append_inside_a_creation_waits_for_both() -> None:
    """STORE-LIFE-09: every listener of both dispatches finds the session live."""
    _, step = applied(
        *entered("s"),
        observer("a", write.CREATED, "appends"),
        observer("d", write.EVENT, "detaches", leave="leave-s"),
        observer("e", write.EVENT, "hears"),
        observer("c", write.CREATED, "hears"),
        write.announce("s"),
    )
    assert rows(step) == [
        "live session/created",
        "script session/created",
        "log x/note",
        "script session/event",
        "return undo",
        "script session/event",
        "return session.append",
        "script session/created",
        "live session/disposed",
        "return session.announce",
    ]


def test_a_range_is_one_of_positions() -> None:
    """SURF-OP-05: behind a replacement, a range begins with the greater number."""
    talk = [write.say("s", identity) for identity in "ABC"]
    first = write.say("s", "D", surface=write.replace(0, 1), cites=[1, 0])
    model, _ = applied(write.prepare("s", "s"), *talk, first)
    assert model.store.sessions["s"].nodes == [3, 2]
    _, reversed_ = applied(
        write.prepare("s", "s"), *talk, first, write.say("s", "E", surface=write.replace(2, 3), cites=[2, 3])
    )
    assert reversed_.expect.error == {"message": "surface replace: start seq 2 (index 1) is after end seq 3 (index 0)"}
    model.apply(write.say("s", "E", surface=write.replace(3, 2), cites=[2, 3]))
    assert model.store.sessions["s"].nodes == [4]


def test_a_flush_ends_with_the_failure_of_the_first_listener() -> None:
    """STORE-FLUSH-03: whichever failed first in time."""
    flushing = (
        *entered("s"),
        observer("one", write.FLUSH, "waits"),
        observer("two", write.FLUSH, "waits"),
        write.flush("s", "t"),
    )
    model, step = applied(*flushing)
    assert step.expect.open == (write.FLUSH, write.FLUSH)
    assert not model.legal(write.undo("one"))
    assert not model.legal(write.flush("s", "u"))
    _, step = applied(*flushing, write.settle("two", failing=True), write.settle("one", failing=True))
    assert [row.pattern for row in step.expect.rows or ()] == [
        {"on": "task", "task": "t", "error": {"is": "one-failed"}}
    ]


# ---------------------------------------------------------------------- when a command makes sense


def test_a_command_needs_what_it_names() -> None:
    """Sessions, detaches and listeners that are there, and names that nothing has."""
    model, _ = applied(*entered("s"))
    for command in (
        write.note("t"),
        write.prepare("s", "other"),
        write.enter("s", "leave-s"),
        write.undo("leave-t"),
        write.settle("nobody"),
        write.fork("t", "u", None),
        observer("l", write.EVENT, "appends elsewhere", session="t"),
        observer("l", write.EVENT, "detaches", leave="leave-t"),
        observer("l", write.EVENT, "forks", session="t", fresh="u"),
        observer("leave-s", write.EVENT, "hears"),
        observer("l", write.CREATED, "creates", fresh="s"),
        listen("l", write.CREATED, {"do": []}, prepend=True),
    ):
        assert not model.legal(command), command
    assert model.legal(listen("l", write.EVENT, {"do": []}, prepend=True))


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ({"do": "session.dance", "args": {}}, "no command of this contract"),
        ({"do": "session.create", "args": {"session": "s", "seed": [1]}}, "a seed of the session contract"),
        ({"do": "session.create", "args": {"session": "s", "meta": {}}}, "says {'cwd': '/x'"),
        (listen("l", "agent/status", {"do": []}), "no observer of the session contract hears 'agent/status'"),
        (listen("l", write.CREATED, {"do": "gate"}), "an observer of session/created waits in no example"),
    ],
)
def test_what_is_no_command_is_an_error(command: JsonMap, told: str) -> None:
    """A saved example with a slip in it is told so, with what is known."""
    with pytest.raises(CommandError, match=told):
        SessionModel().legal(command)


def test_simpler_commands() -> None:
    """A session with a plainer seed or none; a listener that is not in front."""
    model = SessionModel()
    plainer = model.simpler(write.create("s", "x", "talk"))
    assert plainer == [write.create("s", "x", seed) for seed in ("fresh", "empty", "noted")]
    assert model.simpler(write.create("s", "x")) == model.simpler(write.note("s")) == []
    assert model.simpler(listen("l", write.EVENT, {"do": []}, prepend=True)) == [listen("l", write.EVENT, {"do": []})]


def test_tidied_names_reach_into_scripts() -> None:
    """What is named keeps one name, wherever it stands; ids and errors keep theirs."""
    tidy = SessionModel().tidied(
        [
            *entered("zz", "x"),
            observer("yy", write.EVENT, "appends elsewhere", session="zz"),
            observer("xx", write.EVENT, "throws"),
            write.undo("leave-zz"),
        ]
    )
    assert tidy == [
        write.prepare("s1", "x"),
        write.enter("s1", "l1"),
        observer("l2", write.EVENT, "appends elsewhere", session="s1"),
        observer("l3", write.EVENT, "throws"),
        write.undo("l1"),
    ]
