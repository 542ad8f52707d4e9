"""The pipeline model: it reaches what it cites, the reference follows it, and each planted fault is found."""

from typing import Final

import pytest

from dshconform.contracts.inbox_commands import read_command
from dshconform.contracts.machine import MachineCheck
from dshconform.contracts.model import CommandError
from dshconform.contracts.pipeline import PipelineModel
from dshconform.contracts.pipeline_plan import (
    APPROVAL,
    LOSSY,
    abort,
    answer,
    hide,
    own,
    planned,
    provide,
    register,
    unregister,
)
from dshconform.contracts.pipeline_reading import plan_of
from dshconform.faults import PIPELINE_FAULTS, SCHEDULING_FAULTS, Fault
from dshconform.faults.tool_contract import TOOL_CONTRACT_FAULTS
from dshconform.faults.tool_pipeline import TOOL_PIPELINE_FAULTS
from dshconform.faults.tool_policy import TOOL_POLICY_FAULTS
from dshconform.links.link import Link
from dshconform.protocol.json_value import JsonMap
from dshconform.running.step import Step
from dshconform.spec import Level, load_specification
from tests.conformance.machines import (
    assert_choices_stay_in_the_grid,
    assert_finds,
    assert_prologues_reach_every_clause,
    assert_prologues_visit_the_grid,
    run,
)

CHECK: Final = MachineCheck(PipelineModel, commands=4)
FAULTS: Final = [
    fault
    for fault in (
        *TOOL_POLICY_FAULTS,
        *TOOL_PIPELINE_FAULTS,
        *TOOL_CONTRACT_FAULTS,
        *PIPELINE_FAULTS,
        *SCHEDULING_FAULTS,
    )
    if fault.clause in PipelineModel.clauses
]


def last_step(*commands: JsonMap) -> Step:
    """The step of the last of some commands, each legal where it is."""
    model = PipelineModel()
    model.opening()
    steps: list[Step] = []
    for command in commands:
        assert model.legal(command), command
        steps = model.apply(command)
    return steps[0]


def titles(*commands: JsonMap) -> list[str]:
    """The rows that the last command leads to."""
    return [row.title for row in last_step(*commands).expect.rows or ()]


# ---------------------------------------------------------------------- the model and the reference


@pytest.mark.long
def test_every_cited_clause_is_reached_whatever_the_seed(link: Link) -> None:
    """The prologues alone evaluate each clause that the model cites, and the model lists what it cites."""
    assert_prologues_reach_every_clause(PipelineModel, link)


def test_the_grid_is_reached_by_construction() -> None:
    """The prologues alone visit each cell, whatever the seed; choices lead to no other."""
    assert_prologues_visit_the_grid(PipelineModel)
    assert_choices_stay_in_the_grid(PipelineModel, examples=60)


def test_every_clause_of_the_pipeline_is_cited_that_a_call_by_hand_can_show() -> None:
    """But for those of the profile `reference`, and the one on calls that wait to be committed by the loop."""
    specification = load_specification()
    clauses = [specification.clause(clause) for clause in PipelineModel.clauses]
    assert len(set(PipelineModel.clauses)) == len(clauses)
    assert {clause.level for clause in clauses} == {Level.MUST}
    shown = {
        clause.id
        for clause in specification.clauses.values()
        if clause.id.startswith("PIPE-") and clause.profile in {"core", "tools"}
    }
    assert shown - set(PipelineModel.clauses) == {"PIPE-CANCEL-10"}


@pytest.mark.long
def test_the_reference_itself_has_no_fault(link: Link) -> None:
    """Prologues and random examples behind them; the same seed leads to the same report."""
    outcome = run(CHECK, link, examples=120, seed=7)
    assert outcome.failures == []
    assert set(PipelineModel.clauses) <= set(outcome.held)
    again = run(CHECK, link, examples=120, seed=7)
    assert (again.held, again.commands) == (outcome.held, outcome.commands)


@pytest.mark.long
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.id)
@pytest.mark.filterwarnings("ignore")  # a fault may leave a coroutine behind
def test_a_fault_is_found_by_the_clause_that_it_violates(fault: Fault, link: Link) -> None:
    """A prologue shows it, and blames that clause; it is minimised, and its document shows it again."""
    assert_finds(CHECK, fault, link, commands=4)


def test_every_cited_clause_of_the_pipeline_has_a_fault_that_is_found() -> None:
    """So none of them is cited in vain."""
    pipeline = {clause for clause in PipelineModel.clauses if clause.startswith("PIPE-")}
    assert pipeline <= {fault.clause for fault in FAULTS}


def test_faults_are_told_apart_and_said_in_a_sentence() -> None:
    """Names are used once."""
    assert len({fault.id for fault in FAULTS}) == len(FAULTS)
    assert all(fault.about.endswith(".") for fault in PIPELINE_FAULTS)


# ---------------------------------------------------------------------- what the model says


def test_a_plain_call_passes_all_stages_in_order() -> None:
    assert titles(planned("c1", policy="", guard="", around="", review="", final="", told="")) == [
        "live tools/change",
        "script tools/pre-execute",
        "script tool/guard",
        "script tools/execute",
        "script tool/execute",
        "script tool/render",
        "script tool/meta",
        "script tools/post-execute",
        "script tool/finalize",
        "live tools/result",
        "script tools/result",
        "task c1",
    ]


def test_what_waits_goes_on_with_its_answer() -> None:
    waiting = planned("c1", body="defer, gate", review="")
    assert last_step(waiting).expect.open == ("tool/execute",)
    assert titles(waiting, abort("c1")) == ["abort body c1: defer, gate"]
    assert titles(waiting, abort("c1"), answer("body", "c1", "coded")) == [
        "script tools/post-execute",
        "live tools/result",
        "task c1",
    ]


def test_commands_that_make_no_sense_now_are_told_from_those_that_never_do() -> None:
    model = PipelineModel()
    model.opening()
    assert not model.legal(answer("body", "c1", "value"))
    assert not model.legal(abort("c1"))
    assert not model.legal(unregister(APPROVAL))
    assert not model.legal(planned("c1", guard="lift"))
    assert not model.legal(planned("c1", body=None, around="unregister"))
    model.apply(planned("c1", around="gate"))
    assert not model.legal(planned("c1"))
    assert not model.legal(answer("around", "c1", "kept"))
    assert not model.legal(register("c1", ("value",)))
    for command in (
        abort(own("c1")),
        hide("c1"),
        unregister("c1"),
        provide("rejected"),
        answer("around", "c1", "next"),
    ):
        assert model.legal(command)
    senseless: list[JsonMap] = [
        {"do": "agent.cancel", "args": {}},
        {"do": "burst", "args": {"do": []}},
        {"do": "gate.resolve", "args": {"gate": {"kind": "tool/execute", "call": "c1"}, "value": 7}},
        {"do": "approval.provide", "args": {"as": APPROVAL, "fn": {"$fn": "somebody"}}},
        {"do": "tool.restrict", "args": {"as": "hide c1", "allow": []}},
    ]
    for command in senseless:
        with pytest.raises(CommandError):
            model.legal(command)


def test_a_plan_is_read_back() -> None:
    written = planned("c1", LOSSY, scoped=True, aborted=True, body="plain | value", scoped_guard="deny", final="text")
    plan = plan_of(read_command(written)[1])
    assert plan.stages == {"body": ("plain", "|", "value"), "final": ("text",), "scoped guard": ("deny",)}
    assert (plan.arguments, plan.scoped, plan.aborted) == (LOSSY, True, True)


def test_a_plan_becomes_simpler_stage_by_stage_and_act_by_act() -> None:
    options = PipelineModel().simpler(planned("c1", body="defer, plain", guard="deny", scoped=True))
    assert options == [
        planned("c1", guard="deny", scoped=True),
        planned("c1", body="plain", guard="deny", scoped=True),
        planned("c1", body="defer, plain", scoped=True),
        planned("c1", body="defer, plain", guard="", scoped=True),
        planned("c1", body="defer, plain", guard="deny"),
    ]


def test_calls_are_named_in_order_of_appearance() -> None:
    tidied = PipelineModel().tidied([planned("x7", body="defer, gate"), answer("body", "x7", "value")])
    assert tidied == [planned("c1", body="defer, gate"), answer("body", "c1", "value")]
