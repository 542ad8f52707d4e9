"""The cancellation model: every gate is visited, the reference follows it, and each planted fault is found."""

import random
from collections import Counter
from typing import Final

import pytest
from typeguard import suppress_type_checks

from dshconform.contracts import cancellation_commands as write
from dshconform.contracts.cancellation import CancellationModel
from dshconform.contracts.inbox_commands import (
    CAUSES,
    PRESETS,
    burst,
    cancel,
    chunk,
    end,
    fail,
    finish,
    followup,
    inject,
    keep_inbox,
    steer,
    text,
)
from dshconform.contracts.machine import MachineCheck
from dshconform.contracts.model import CommandError
from dshconform.contracts.source import Source
from dshconform.contracts.turn_commands import GO, REJECT, RETRY, SEND, enter, throw
from dshconform.contracts.wake_scripts import FINISH_JOB, maintain
from dshconform.faults import ALL_FAULTS, Fault
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
    titles,
)

CHECK = MachineCheck(CancellationModel, commands=4)
GROUPS = ("CANCEL-", "RERR-CANCEL-", "MAINT-CANCEL-01")
BREAK: Final = write.ENDINGS["stopping listener"][0]
OF_TOOLS: Final = {"running-tool-is-abandoned"}
"""Faults that show while a tool runs alone, which the scheduling machine looks at."""
SAID_FIRST: Final = {"CANCEL-FIRST-01", "CANCEL-SIGNAL-01"}
"""The clauses of which no other may stand before them in the blame: who is told of an abort, and how often."""
FAULTS: Final = [
    fault
    for fault in ALL_FAULTS
    if fault.clause.startswith(GROUPS) and fault.clause in CancellationModel.clauses and fault.id not in OF_TOOLS
]


def applied(*commands: JsonMap) -> tuple[CancellationModel, Step]:
    """A model behind some commands, and the last one's step."""
    model = CancellationModel()
    return model, apply_all(model, commands)[0]


def listener(place: str, *commands: JsonMap, turn: int = 1, ending: JsonMap | None = None) -> JsonMap:
    """A listener named after its place; one of a hook names the turn."""
    named = turn if write.PLACES[place].hook else None
    return write.listen(place, place, *commands, turn=named, ending=ending)


def hold(place: str) -> JsonMap:
    """A hook of the first turn waits."""
    return listener(place, ending=write.HOLD)


# ---------------------------------------------------------------------- the model and the reference


@pytest.mark.long
def test_every_cited_clause_is_reached_whatever_the_seed(link: Link) -> None:
    """The prologues alone evaluate each clause that the model cites, and the model lists what it cites."""
    assert_prologues_reach_every_clause(CancellationModel, link)


def test_every_clause_of_a_cancellation_without_tools_is_cited() -> None:
    """All of the group that bind every implementation, two by a `should`; and no clause of another profile."""
    specification = load_specification()
    clauses = [specification.clause(clause) for clause in CancellationModel.clauses]
    assert len(set(CancellationModel.clauses)) == len(clauses)
    assert {clause.profile for clause in clauses} == {"core"}
    should = {clause.id for clause in clauses if clause.level is not Level.MUST}
    assert should == {"CANCEL-IDLE-02", "CANCEL-REENTRY-03"} == set(CancellationModel.variants.values())
    group = {one.id for one in specification.clauses.values() if one.id.startswith("CANCEL-") and one.profile == "core"}
    assert group <= set(CancellationModel.clauses)


def test_the_grid_is_reached_by_construction() -> None:
    """The prologues alone visit each cell, whatever the seed; choices lead to no other."""
    assert_prologues_visit_the_grid(CancellationModel)
    assert_choices_stay_in_the_grid(CancellationModel, examples=60)


def test_every_gate_sees_every_cause_keeping_the_inbox_or_not() -> None:
    """Whatever can be pending there."""
    acts: dict[tuple[str, str], set[str]] = {}
    for cell in CancellationModel.cells:
        moment, act, window = cell.split(" / ")
        acts.setdefault((moment, window), set()).add(act)
    causes = {f"cancel {cause['kind']}{keep}" for cause in CAUSES for keep in ("", " keep")}
    live = {place: seen for place, seen in acts.items() if place[1] in {"nothing", "context", "prompt", "both"}}
    assert all(causes <= seen for seen in live.values())
    moments = {moment.partition(" in ")[0].removesuffix(" of a failure") for moment, _ in live}
    assert moments >= set(write.PLACES) - {"abort listener"}
    assert moments >= {"idle", "claimed", "streaming", "answering", "finished", "maintaining", *write.WAITING}


@pytest.mark.long
def test_the_reference_itself_has_no_fault(link: Link) -> None:
    """Prologues and random examples behind them."""
    outcome = run(CHECK, link, seed=7)
    assert outcome.failures == []
    assert set(CancellationModel.clauses) <= set(outcome.held)


@pytest.mark.long
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.id)
def test_a_fault_is_found_by_the_clause_that_it_violates(fault: Fault, link: Link) -> None:
    """A failure blames that clause; it is minimised, and its document shows it again."""
    assert_finds(CHECK, fault, link, commands=8, first=fault.clause in SAID_FIRST)


def test_there_is_a_fault_for_each_clause_of_the_group() -> None:
    """Of its `must` clauses for every implementation."""
    clauses = [clause for clause in load_specification().clauses.values() if clause.id.startswith("CANCEL-")]
    binding = {clause.id for clause in clauses if clause.level is Level.MUST and clause.profile == "core"}
    assert binding <= {fault.clause for fault in FAULTS}


# ---------------------------------------------------------------------- what is chosen


@suppress_type_checks
def test_whatever_is_chosen_is_legal_and_examples_are_not_alike() -> None:
    """In every phase everything comes that can come there, and scripts run in every place."""
    seen: Counter[str] = Counter()
    ran: Counter[str] = Counter()
    for number in range(400):
        source, model = Source(random.Random(number).randbytes(200)), CancellationModel()
        agent = model.agent
        while not source.exhausted:
            command = model.propose(source)
            assert model.legal(command)
            op = str(command["do"])
            seen[f"{agent.when()} {'deliver' if op in PRESETS else op}"] += 1
            model.apply(command)
            ran.update({moment.partition(" in ")[0] for moment, _, _ in agent.visited})
    for moment in ("idle", "maintaining", "streaming", "answering", "finished", *write.WAITING):
        for op in ("deliver", "agent.cancel"):
            assert seen[f"{moment} {op}"] > 1, (moment, op)
    assert seen["idle agent.inspect"] < sum(seen.values()) / 10  # what stands in for what is not legal
    assert seen["idle burst"] > 5 < seen["streaming burst"]
    for place in write.PLACES:
        assert ran[place] > 1, place


# ---------------------------------------------------------------------- the course of a turn


def test_a_cancel_on_a_step_lets_the_batch_be_recorded() -> None:
    """And nothing of the step is done behind it."""
    _, step = applied(listener("step start observer", keep_inbox()), inject("a"), followup("b"))
    told = titles(step)
    assert told[told.index("log step/start") :] == [
        *("log step/start", "return agent.cancel", "log user/message", "log user/message", "log step/end"),
        *("log turn/end", "live agent/status"),
    ]


def test_a_clearing_cancel_of_an_observer_is_refused_while_anything_is_pending() -> None:
    """Then the turn goes on; with nothing pending, or with `keepInbox`, it does not."""
    on_answer = listener("answer observer", cancel())
    _, step = applied(on_answer, followup("a"), followup("b"), end())
    assert titles(step)[-1] == "gate model/stream"
    _, step = applied(on_answer, followup("a"), end())
    assert titles(step)[-3:] == ["log step/end", "log turn/end", "live agent/status"]


def test_a_turn_ends_as_its_failure_only_where_the_abort_comes_behind_it() -> None:
    """On the end of the failed step it is a cancellation; a listener of `agent/error` comes too late."""

    def ending(place: str) -> object:
        _, step = applied(listener(place, keep_inbox()), followup("a"), fail())
        ends = [row.pattern["event"] for row in step.expect.rows or () if row.title == "log turn/end"]
        assert isinstance(ends[0], dict)
        return ends[0]["data"]["reason"]["is"]["$exact"]["kind"]

    assert ending("step end observer") != "error"
    assert ending("error listener") == "error"


def test_a_hook_that_waits_reads_the_first_cause() -> None:
    """In the row of its gate."""
    _, step = applied(listener("pre-step listener", keep_inbox(CAUSES[1]), cancel(), ending=write.HOLD), followup("a"))
    (gate,) = [row.pattern["payload"] for row in step.expect.rows or () if row.title == "gate agent/pre-step"]
    assert isinstance(gate, dict)
    assert gate["signal"]["reason"]["is"] == {"$exact": CAUSES[1]}


def test_an_answer_that_was_cut_keeps_what_it_has_said_in_order_of_appearance() -> None:
    """Blanks and calls are left out; the usage stays, the adapter's state does not."""
    blank = chunk({"type": "reasoning-delta", "index": 2, "text": " "})
    _, step = applied(followup("a"), write.REASONING, text("x"), blank, write.USED, write.CALL, cancel(), end())
    (data,) = [row.pattern["event"] for row in step.expect.rows or () if row.title == "log assistant/message"]
    assert isinstance(data, dict)
    exact = data["data"]["$exact"]
    assert exact["usage"]["is"] == write.USAGE
    assert [block["type"] for block in exact["message"]["is"]["$exact"]["content"]] == ["reasoning", "text"]
    _, step = applied(followup("a"), text("x"), write.FINISH_WITH_REPLAY, cancel(), end())
    assert "replayState" not in str(step.expect.rows)
    _, step = applied(followup("a"), text("x"), write.FINISH_WITH_REPLAY, end())
    assert "replayState" in str(step.expect.rows)


# ---------------------------------------------------------------------- when a command makes sense


@pytest.mark.parametrize(
    ("legal", "commands"),
    [
        pytest.param(False, [end()], id="no stream waits"),
        pytest.param(False, [followup("a"), enter("a")], id="no hook waits"),
        pytest.param(True, [hold("pre-step listener"), followup("a"), enter("a")], id="a hook goes on"),
        pytest.param(False, [hold("pre-step listener"), followup("a"), enter("b")], id="another entry"),
        pytest.param(False, [hold("pre-step listener"), followup("a"), REJECT], id="a rejection of a live turn"),
        pytest.param(True, [hold("pre-step listener"), followup("a"), cancel(), REJECT], id="behind an abort"),
        pytest.param(True, [hold("request listener"), followup("a"), SEND], id="a request"),
        pytest.param(False, [hold("request listener"), followup("a"), throw("requesting")], id="a failing one"),
        pytest.param(False, [hold("recovery listener"), followup("a"), fail(), RETRY], id="a retry"),
        pytest.param(True, [hold("recovery listener"), followup("a"), fail(), cancel(), RETRY], id="a late one"),
        pytest.param(True, [hold("stopping listener"), followup("a"), end(), GO], id="a stop"),
        pytest.param(True, [hold("assembly listener"), followup("a"), write.PASS_ASSEMBLY], id="a prompt"),
        pytest.param(False, [hold("assembly listener"), followup("a"), write.BREAK_ASSEMBLY], id="a failing prompt"),
        pytest.param(False, [hold("assembly listener"), burst(followup("a"), inject("b"))], id="before or behind it"),
        pytest.param(False, [listener("stopping listener", ending=BREAK), followup("a"), end()], id="a failing stop"),
        pytest.param(False, [hold("pre-step listener"), listener("abort listener", cancel())], id="two answers"),
        pytest.param(True, [listener("pre-step listener"), listener("abort listener", cancel())], id="both pass"),
        pytest.param(True, [followup("a"), hold("request listener")], id="a later request of this turn"),
        pytest.param(False, [followup("a"), hold("pre-step listener")], id="a hook that is over"),
        pytest.param(False, [followup("a"), write.CALL, end()], id="a call that would run"),
        pytest.param(True, [followup("a"), write.CALL, cancel(), end()], id="one that will not"),
        pytest.param(False, [followup("a"), finish("stop"), text("x")], id="behind a finish"),
        pytest.param(False, [followup("a"), cancel(), cancel(CAUSES[3])], id="disposed after another cause"),
        pytest.param(True, [maintain(), cancel(), steer("a"), FINISH_JOB], id="a task"),
    ],
)
def test_when_a_command_makes_sense(legal: bool, commands: list[JsonMap]) -> None:
    """The last of them does, or does not."""
    model, _ = applied(*commands[:-1]) if commands[:-1] else (CancellationModel(), None)
    assert model.legal(commands[-1]) is legal


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ({"do": "agent.dance", "args": {}}, "no command of this contract"),
        ({"do": "listen", "args": {"as": "x", "event": "agent/dance", "fn": {"$fn": "x"}}}, "no listener of this"),
    ],
)
def test_what_is_no_command_is_an_error(command: JsonMap, message: str) -> None:
    """A saved example with a slip in it is told so, with what is known."""
    with pytest.raises(CommandError, match=message):
        CancellationModel().legal(command)


def test_simpler_commands() -> None:
    """Listeners lose commands and keep their answer; what answers a hook stays."""
    model = CancellationModel()
    whole = listener("pre-step listener", keep_inbox(), steer("s"), ending=write.HOLD)
    assert model.simpler(whole) == [
        listener("pre-step listener", steer("s"), ending=write.HOLD),
        listener("pre-step listener", keep_inbox(), ending=write.HOLD),
    ]
    assert model.simpler(REJECT) == model.simpler(write.PASS_ASSEMBLY) == []
    assert model.simpler(cancel(CAUSES[2])) == [cancel()]
    assert model.tidied([write.listen("x", "step end observer", cancel())]) == [listener("step end observer", cancel())]
