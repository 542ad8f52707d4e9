"""The tool cancellation model: every place along a call is visited, and each planted fault is found by its clause."""

from typing import Final

import pytest

from dshconform.contracts.inbox_commands import CAUSES, burst, cancel, end, followup, inject, keep_inbox, text
from dshconform.contracts.machine import MachineCheck
from dshconform.contracts.scheduling_commands import asks, called, returns, throws
from dshconform.contracts.tool_cancellation import ToolCancellationModel
from dshconform.contracts.tool_cancellation_commands import BREAK, DENY, LISTENERS, PLACES
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

CHECK = MachineCheck(ToolCancellationModel, commands=6)
GROUPS = ("CANCEL-MSG-", "CANCEL-COOP-", "SCHED-ABORT-", "PIPE-CANCEL-")
OF_OTHERS: Final = {
    "a-body-that-ends-was-not-aborted",
    "aborted-calls-of-nobody-are-unknown",
    "aborted-wrapper-ran-the-body",
    "an-abort-is-noticed-before-the-guards",
    "an-abort-wins-over-policy",
    "one-body-is-waited-for",
    "the-signal-is-looked-at-once-more",
}
"""Faults that take a guard, a wrapper, a finalizer, an unknown tool or two bodies: other machines have these."""
FAULTS: Final = [
    fault
    for fault in ALL_FAULTS
    if fault.clause.startswith(GROUPS) and fault.clause in ToolCancellationModel.clauses and fault.id not in OF_OTHERS
]


def applied(*commands: JsonMap) -> tuple[ToolCancellationModel, Step]:
    """A model behind some commands, and the last one's step."""
    model = ToolCancellationModel()
    return model, apply_all(model, commands)[0]


def listener(place: str, *commands: JsonMap, ending: JsonMap | None = None) -> JsonMap:
    """A listener named after its place."""
    return LISTENERS.listen(place, place, *commands, ending=ending)


@pytest.mark.long
def test_every_cited_clause_is_reached_whatever_the_seed(link: Link) -> None:
    """The prologues alone evaluate each clause that the model cites, and the model lists what it cites."""
    assert_prologues_reach_every_clause(ToolCancellationModel, link)


def test_the_clauses_of_cancelled_calls_are_cited() -> None:
    """All of the scheduler's and of the loop's; those of the pipeline that take no guard, wrapper or finalizer."""
    specification = load_specification()
    clauses = [specification.clause(clause) for clause in ToolCancellationModel.clauses]
    assert len(set(ToolCancellationModel.clauses)) == len(clauses)
    assert {clause.profile for clause in clauses} == {"core", "tools"}
    should = {clause.id for clause in clauses if clause.level is not Level.MUST}
    assert should <= set(ToolCancellationModel.variants.values())
    group = {one.id for one in specification.clauses.values() if one.id.startswith(("CANCEL-MSG-", "SCHED-ABORT-"))}
    assert group | {f"PIPE-CANCEL-0{number}" for number in (1, 2, 3, 5, 6, 7, 8)} <= set(ToolCancellationModel.clauses)


def test_the_grid_is_reached_by_construction() -> None:
    """The prologues alone visit each cell, whatever the seed; choices lead to no other."""
    assert_prologues_visit_the_grid(ToolCancellationModel)
    assert_choices_stay_in_the_grid(ToolCancellationModel, examples=60)


def test_every_place_sees_every_cause_keeping_the_inbox_or_not() -> None:
    """Whatever can be pending there."""
    acts: dict[tuple[str, str], set[str]] = {}
    for cell in ToolCancellationModel.cells:
        moment, act, window = cell.split(" / ")
        acts.setdefault((moment, window), set()).add(act)
    causes = {f"cancel {cause['kind']}{keep}" for cause in CAUSES for keep in ("", " keep")}
    for place in ("call observer", "policy listener", "review listener", "result listener", "result observer"):
        assert place in PLACES
        for window in ("nothing", "context", "prompt"):
            assert causes <= acts[place, window]


@pytest.mark.long
def test_the_reference_itself_has_no_fault(link: Link) -> None:
    """Prologues and random examples behind them."""
    outcome = run(CHECK, link, seed=7)
    assert outcome.failures == []
    assert set(ToolCancellationModel.clauses) <= set(outcome.held)


@pytest.mark.long
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.id)
def test_a_fault_is_found_by_the_clause_that_it_violates(fault: Fault, link: Link) -> None:
    """A failure blames that clause; it is minimised, and its document shows it again."""
    assert_finds(CHECK, fault, link, commands=8)


def test_there_is_a_fault_for_each_clause_of_cancelled_calls() -> None:
    """Of those that are cited."""
    cited = {clause for clause in ToolCancellationModel.clauses if clause.startswith(GROUPS)}
    assert cited == {fault.clause for fault in FAULTS}


def test_calls_that_never_started_get_their_results_behind_the_one_that_runs() -> None:
    """In a pair each; then the step and the turn end."""
    _, step = applied(followup("a"), asks("k1:read", "k2:read"), cancel(), returns("k1"))
    assert titles(step) == [
        *("live tools/result", "log tool/result", "log tool/call", "log tool/result"),
        *("log step/end", "log turn/end", "live agent/status"),
    ]


def test_what_a_body_deferred_behind_the_abort_stays_parked() -> None:
    """It is in the next step's list when the agent is idle."""
    model, _ = applied(followup("a"), asks("k1:tell"), cancel(), returns("k1"))
    assert model.agent.phase == "idle"
    assert [message["id"] for message in model.agent.lists["next-step"]] == ["k1"]


def test_a_denial_wins_over_the_abort_and_a_failing_review_keeps_its_text() -> None:
    """Both are told as they are."""
    _, step = applied(listener("policy listener", keep_inbox(), ending=DENY), followup("a"), asks("k1:read"))
    assert "not today" in str(step.expect.rows)
    reviewed = listener("review listener", keep_inbox(), ending=BREAK)
    _, step = applied(reviewed, followup("a"), asks("k1:read"), returns("k1"))
    assert "broken" in str(step.expect.rows)
    assert "tool call aborted" not in str(step.expect.rows)


@pytest.mark.parametrize(
    ("legal", "commands"),
    [
        pytest.param(False, [followup("a"), returns("k1")], id="no body waits"),
        pytest.param(True, [followup("a"), asks("k1:read"), returns("k1")], id="a body returns"),
        pytest.param(True, [followup("a"), asks("k1:read"), throws("k1", "coded")], id="it fails"),
        pytest.param(False, [followup("a"), asks("k1:read", "k2:read"), returns("k2")], id="the next one"),
        pytest.param(False, [followup("a"), asks("k1:nobody")], id="an unknown tool"),
        pytest.param(False, [followup("a"), asks("k1:read"), returns("k1"), asks("k1:read")], id="an id again"),
        pytest.param(False, [followup("a"), burst(called(0, "k1:read"), called(1, "k1:read"))], id="an id twice"),
        pytest.param(False, [followup("a"), asks("k1:tell"), inject("k1")], id="a message with the id of a call"),
        pytest.param(False, [followup("a"), called(0, "k1:read"), text("x")], id="text behind a call"),
        pytest.param(True, [followup("a"), called(0, "k1:read"), end()], id="a finish is not needed"),
        pytest.param(False, [listener("policy listener", ending=DENY), followup("a"), asks("k1:read")], id="live"),
    ],
)
def test_when_a_command_makes_sense(legal: bool, commands: list[JsonMap]) -> None:
    """The last of them does, or does not."""
    model, _ = applied(*commands[:-1])
    assert model.legal(commands[-1]) is legal


def test_simpler_commands() -> None:
    """An answer loses calls, an end becomes plain, listeners lose commands."""
    model = ToolCancellationModel()
    assert model.simpler(asks("k1:read", "k2:tell"))[:2] == [asks("k2:tell"), asks("k1:read")]
    assert returns("k1") in model.simpler(throws("k1", "coded"))
    whole = listener("policy listener", keep_inbox(), inject("b"), ending=DENY)
    assert model.simpler(whole)[0] == listener("policy listener", inject("b"), ending=DENY)
