"""The wake model: its grid is reached, the reference follows it, and each planted fault is found by its clause."""

import random
from collections import Counter
from typing import Final

import pytest
from typeguard import suppress_type_checks

from dshconform.contracts import wake_scripts as write
from dshconform.contracts.callbacks import TASK_ABORT
from dshconform.contracts.inbox_commands import (
    CAUSES,
    burst,
    cancel,
    end,
    fail,
    followup,
    inject,
    keep_inbox,
    remove,
    steer,
)
from dshconform.contracts.machine import MachineCheck
from dshconform.contracts.model import CommandError
from dshconform.contracts.replay import Example
from dshconform.contracts.source import Source
from dshconform.contracts.wake import WakeModel
from dshconform.faults import Fault
from dshconform.faults.cancel_calls import CANCEL_CALL_FAULTS
from dshconform.faults.latch import LATCH_FAULTS
from dshconform.faults.wakes import SPENT_WAKE_FAULTS, WAKE_FAULTS
from dshconform.links.link import Link
from dshconform.protocol.json_value import JsonMap
from dshconform.running.ledger import Ledger
from dshconform.running.step import Step
from dshconform.spec import Level, load_specification
from tests.conformance.machines import apply_all, assert_finds, assert_prologues_reach_every_clause, played, run, titles

CHECK = MachineCheck(WakeModel, commands=4)
GROUPS = ("WAKE-", "MAINT-", "IDLE-", "CANCEL-REENTRY-")
# `driver-behind-the-awaitable` is blamed on WAKE-LATCH-01 here; a scenario blames MAINT-LATCH-01.
SAID_FIRST: Final = {"WAKE-DISP-01", "WAKE-STEAL-01"}
"""The clauses of which no other may stand before them in the blame: which wakes are spent."""
FAULTS: Final = [
    fault
    for fault in (*LATCH_FAULTS, *WAKE_FAULTS, *SPENT_WAKE_FAULTS, *CANCEL_CALL_FAULTS)
    if fault.id != "driver-behind-the-awaitable"
    and fault.clause.startswith(GROUPS)
    and fault.clause in WakeModel.clauses
]


def applied(*commands: JsonMap) -> tuple[WakeModel, Step]:
    """A model behind some commands, and the last one's step."""
    model = WakeModel()
    return model, apply_all(model, commands)[0]


# ---------------------------------------------------------------------- the model and the reference


@pytest.mark.long
def test_every_cited_clause_is_reached_whatever_the_seed(link: Link) -> None:
    """The prologues alone evaluate each clause that the model cites, and the model lists what it cites."""
    assert_prologues_reach_every_clause(WakeModel, link)


def test_the_cited_clauses_are_core_clauses() -> None:
    """Each is a clause of the specification that every implementation is held to, two `should` aside."""
    specification = load_specification()
    clauses = [specification.clause(clause) for clause in WakeModel.clauses]
    assert len(set(WakeModel.clauses)) == len(clauses)
    assert {clause.profile for clause in clauses} == {"core"}
    should = {clause.id for clause in clauses if clause.level is not Level.MUST}
    assert should == {"CANCEL-IDLE-02", "CANCEL-REENTRY-03"} == set(WakeModel.variants.values())


@suppress_type_checks
def test_the_prologues_visit_every_cell_of_the_grid_and_no_other() -> None:
    """No implementation is needed for that, and no luck."""
    visited: Counter[str] = Counter()
    for prologue in WakeModel().prologues():
        model = WakeModel()
        for command in prologue:
            cell = model.cell(command)
            visited.update([] if cell is None else [cell])
            model.apply(command)
    assert len(set(WakeModel.cells)) == len(WakeModel.cells)
    assert set(visited) == set(WakeModel.cells)


@pytest.mark.long
def test_the_reference_itself_has_no_fault(link: Link) -> None:
    """Prologues and random examples behind them."""
    outcome = run(CHECK, link, examples=160, seed=7)
    assert outcome.failures == []
    assert set(WakeModel.clauses) <= set(outcome.held)


@pytest.mark.long
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.id)
def test_a_fault_is_found_by_the_clause_that_it_violates(fault: Fault, link: Link) -> None:
    """One failure at least blames that clause; it is minimised, and its document shows it again."""
    assert_finds(CHECK, fault, link, commands=8, first=fault.clause in SAID_FIRST)


def test_there_is_a_fault_for_each_clause_of_the_latch() -> None:
    """Of its `must` clauses for every implementation."""
    clauses = [clause for clause in load_specification().clauses.values() if clause.id.startswith("WAKE-")]
    binding = {clause.id for clause in clauses if clause.level is Level.MUST and clause.profile == "core"}
    assert binding <= {fault.clause for fault in FAULTS}


# ---------------------------------------------------------------------- what is chosen


@suppress_type_checks
def test_whatever_is_chosen_is_legal_and_examples_are_not_alike() -> None:
    """In every phase everything comes that can come there, and scripts run in every place."""
    seen: Counter[str] = Counter()
    ran: Counter[str] = Counter()
    for number in range(300):
        source, model = Source(random.Random(number).randbytes(200)), WakeModel()
        agent = model.agent
        while not source.exhausted:
            command = model.propose(source)
            assert model.legal(command)
            seen[f"{agent.phase} {command['do']}"] += 1
            model.apply(command)
            ran.update({moment for moment, _, _ in agent.visited})
    everywhere = ("followup", "steer", "inject", "send", "cancel", "maintain", "whenIdle")
    for phase in ("idle", "maintaining", "streaming"):
        for op in (*(f"agent.{name}" for name in everywhere), "inbox.remove", "listen", "burst"):
            assert seen[f"{phase} {op}"] > 5, (phase, op)
    for answer in (
        "streaming stream.end",
        "streaming stream.fail",
        "maintaining gate.resolve",
        "maintaining gate.reject",
    ):
        assert seen[answer] > 20, answer
    assert seen["idle agent.inspect"] < sum(seen.values()) / 20  # what stands in for what is not legal
    for place in (*(set(write.PLACES) - write.INSIDE), write.TASK, TASK_ABORT):
        assert ran[place] > 5, place
    for place in write.INSIDE:
        for phase in ("idle", "maintaining", "streaming"):
            assert ran[f"{place} in {phase}"] > 1, (place, phase)


# ---------------------------------------------------------------------- callbacks


def test_a_script_runs_once_where_its_listener_is_called() -> None:
    """Inside the send, behind the notification; its place stands in its rows."""
    listener = write.listen("l", "inserted listener", keep_inbox(), steer("s"))
    model, step = applied(listener, followup("a"))
    insertion = ["log agent/inbox/spliced", "live agent/inbox/inserted"]
    nested = ["return agent.cancel", *insertion, "live agent/status", "log turn/start"]
    assert titles(step)[:7] == [*insertion, *nested]
    returns = [row.pattern for row in step.expect.rows or () if row.title == "return agent.steer"]
    assert [(row["at"], row["part"]) for row in returns] == [("1", "l")]
    assert "return agent.cancel" not in titles(model.apply(followup("b"))[0])


def test_a_nested_dispatch_takes_a_listener_from_the_outer_one() -> None:
    """Both listen to insertions: the send of the first calls the second, whose call in the outer dispatch passes."""
    first = write.listen("first", "inserted listener", inject("x"))
    second = write.listen("second", "inserted listener", cancel())
    _, step = applied(first, second, inject("a"))
    parts = [row.pattern["part"] for row in step.expect.rows or () if "part" in row.pattern]
    assert parts == ["second", "first"]


@pytest.mark.parametrize(
    ("legal", "commands"),
    [
        pytest.param(False, [end()], id="no stream waits"),
        pytest.param(True, [write.maintain(), write.FINISH_JOB], id="a task waits"),
        pytest.param(False, [followup("a"), write.FINISH_JOB], id="none"),
        pytest.param(False, [followup("a"), cancel(), cancel(CAUSES[3])], id="disposed after another cause"),
        pytest.param(False, [write.when_idle(), followup("a"), write.when_idle(), write.when_idle()], id="one waits"),
        pytest.param(False, [burst(write.when_idle(), followup("a"))], id="when the wait begins"),
        pytest.param(
            True,
            [inject("a"), write.listen("l", "discarded listener", write.maintain()), cancel()],
            id="a task that a cancelled idle agent starts",
        ),
        pytest.param(
            True,
            [inject("a"), write.listen("l", "discarded listener", steer("b")), cancel()],
            id="a driver that it starts",
        ),
        pytest.param(
            True, [write.listen("l", "running listener", cancel()), followup("a")], id="a run that ends before its turn"
        ),
        pytest.param(
            False,
            [write.listen("l", "running listener", cancel()), burst(followup("a"), steer("b"))],
            id="and whether it has ended when the call returns",
        ),
        pytest.param(
            False,
            [
                *(write.listen("l", "running listener", cancel()), write.listen("k", "idle listener", inject("b"))),
                followup("a"),
            ],
            id="and whether its listeners are called before",
        ),
        pytest.param(
            True,
            [
                *(followup("a"), cancel(), followup("b"), followup("c")),
                *(write.listen("l", "idle listener", steer("d"), keep_inbox()), end()),
            ],
            id="a replay beside a cancelled driver",
        ),
        pytest.param(
            False,
            [write.listen("l", "abort listener", inject("b"), turn=2)],
            id="a hook of another turn than the next",
        ),
        pytest.param(
            False,
            [
                write.listen("l", "abort listener", inject("b"), turn=1),
                write.listen("k", "abort listener", inject("c"), turn=1),
            ],
            id="who of two is told first",
        ),
        pytest.param(
            False,
            [
                write.listen("l", "abort listener", inject("b"), turn=1),
                followup("a"),
                write.listen("k", "turn end observer", keep_inbox()),
                end(),
            ],
            id="whether a late cancel aborts the signal",
        ),
    ],
)
def test_only_what_the_clauses_decide_is_legal(legal: bool, commands: list[JsonMap]) -> None:
    """What the specification leaves open, and what makes no sense, is never asked."""
    model, _ = applied(*commands[:-1]) if commands[:-1] else (WakeModel(), None)
    assert model.legal(commands[-1]) is legal


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ({"do": "agent.dance", "args": {}}, "no command of this contract"),
        (write.listen("l", "idle listener", end()), "nothing that a callback of this contract does"),
        (write.maintain([write.maintain([steer("a")])]), "nothing that a callback of this contract does"),
        ({"do": "listen", "args": {"as": "l", "event": "agent/status", "fn": {"$fn": "l"}}}, "its places: splice"),
        ({"do": "agent.maintain", "args": {"agent": "a", "task": "t", "fn": {"$fn": "job"}}}, "a task and a function"),
    ],
)
def test_what_is_no_command_is_an_error(command: JsonMap, message: str) -> None:
    """A saved example with a slip in it is told so, with what is known."""
    with pytest.raises(CommandError, match=message):
        WakeModel().legal(command)


# ---------------------------------------------------------------------- variants


@pytest.mark.parametrize(
    ("variant", "fault", "commands"),
    [
        (
            "idle-cancel-keeps-input",
            "idle-cancel-leaves-the-inbox",
            [write.listen("l", "inserted listener", cancel()), inject("a"), followup("b"), end()],
        ),
        (
            "idle-cancel-spares-new-driver",
            "woken-driver-escapes-the-cancel",
            [inject("a"), write.listen("l", "discarded listener", steer("b")), cancel(), end()],
        ),
    ],
)
def test_a_variant_follows_the_implementation(variant: str, fault: str, commands: list[JsonMap], link: Link) -> None:
    """With its switch on, the model departs where the clause does, inside callbacks too, and tells so."""
    planted = next(one for one in CANCEL_CALL_FAULTS if one.id == fault)
    with planted.plant():
        by_the_clause = played(WakeModel(), link, commands).difference
        assert by_the_clause is not None
        assert by_the_clause.clauses[0] == planted.clause
        example = Example(WakeModel(frozenset({variant})), link, Ledger())
        assert example.open()
        departed = []
        for command in commands:
            assert all(example.world.perform(step) is None for step in example.model.apply(command))
            departed += example.model.departed
        assert departed == [variant]


# ---------------------------------------------------------------------- exhaustive runs


def test_the_small_alphabet_comes_back_to_its_states() -> None:
    """Ten commands; a state does not tell how it was reached."""
    alphabet = WakeModel().small_alphabet()
    assert len(alphabet) == len({str(command) for command in alphabet}) == 10
    fresh = WakeModel().state()
    for commands in (
        [followup("a"), end()],
        [write.maintain(), inject("c"), cancel(), write.FINISH_JOB],
        [followup("a"), keep_inbox(), steer("b"), remove("b"), end()],
    ):
        model, _ = applied(*commands)
        assert model.state() == fresh
    latched, _ = applied(followup("a"), cancel(), steer("b"))
    parked, _ = applied(followup("a"), cancel(CAUSES[3]), steer("b"))
    assert len({latched.state(), parked.state(), fresh}) == 3


# ---------------------------------------------------------------------- minimising


def test_simpler_commands() -> None:
    """Scripts lose commands; a listener keeps one, a task none."""
    model = WakeModel()
    assert model.simpler(write.listen("l", "claimed listener", cancel(), steer("a"))) == [
        write.listen("l", "claimed listener", steer("a")),
        write.listen("l", "claimed listener", cancel()),
    ]
    assert model.simpler(write.listen("l", "abort listener", steer("a"), turn=1)) == []
    assert model.simpler(write.maintain([steer("a")])) == [write.maintain()]
    assert model.simpler(write.maintain(on_abort=[cancel(), steer("a")])) == [
        write.maintain(on_abort=[steer("a")]),
        write.maintain(on_abort=[cancel()]),
    ]
    assert model.simpler(write.maintain()) == []
    assert model.simpler(fail()) == [end()]


def test_tidied_names_reach_into_scripts() -> None:
    """A message keeps one name, wherever it stands; listeners are called after their place."""
    tidied = WakeModel().tidied(
        [
            write.listen("idle listener 7", "idle listener", steer("zz"), remove("y")),
            write.listen("idle listener 9", "idle listener", cancel()),
            followup("y"),
            write.maintain(on_abort=[steer("zz")]),
        ]
    )
    assert tidied == [
        write.listen("idle listener", "idle listener", steer("m1"), remove("m2")),
        write.listen("idle listener 2", "idle listener", cancel()),
        followup("m2"),
        write.maintain(on_abort=[steer("m1")]),
    ]
