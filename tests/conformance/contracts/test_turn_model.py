"""The turn model: it reaches what it cites, the reference follows it, and each planted fault is found by its clause."""

import random
from collections import Counter

import pytest
from typeguard import suppress_type_checks

from dshconform.contracts import turn_commands as write
from dshconform.contracts.inbox import InboxModel
from dshconform.contracts.inbox_commands import burst, cancel, end, fail, followup, steer, text
from dshconform.contracts.machine import MachineCheck
from dshconform.contracts.model import CommandError
from dshconform.contracts.source import Source
from dshconform.contracts.turn import TurnModel
from dshconform.faults import TURN_FAULTS, Fault
from dshconform.links.link import Link
from dshconform.protocol.json_value import JsonMap
from dshconform.running.step import Step
from dshconform.scenarios.macros import message
from dshconform.spec import Level, load_specification
from tests.conformance.machines import (
    apply_all,
    assert_choices_stay_in_the_grid,
    assert_finds,
    assert_prologues_reach_every_clause,
    assert_prologues_visit_the_grid,
    run,
)

CHECK = MachineCheck(TurnModel, commands=4)
TWO_WHOLE_STEPS = {"ceiling-is-forgotten"}
"""Faults that show after two whole steps, in which every hook has to be answered; another machine has no hooks."""


def applied(*commands: JsonMap) -> tuple[TurnModel, Step]:
    """A model behind some commands, and the last one's step."""
    model = TurnModel()
    return model, apply_all(model, commands)[0]


# ---------------------------------------------------------------------- the model and the reference


@pytest.mark.long
def test_every_cited_clause_is_reached_whatever_the_seed(link: Link) -> None:
    """The prologues alone evaluate each clause that the model cites, and the model lists what it cites."""
    assert_prologues_reach_every_clause(TurnModel, link)


def test_the_grid_is_reached_by_construction() -> None:
    """The prologues alone visit each cell, whatever the seed; choices lead to no other."""
    assert_prologues_visit_the_grid(TurnModel)
    assert_choices_stay_in_the_grid(TurnModel, examples=60)


def test_the_cited_clauses_are_core_clauses() -> None:
    """Each is a clause of the specification that every implementation is held to, one `should` aside."""
    specification = load_specification()
    clauses = [specification.clause(clause) for clause in TurnModel.clauses]
    assert len(set(TurnModel.clauses)) == len(clauses)
    assert {clause.profile for clause in clauses} == {"core"}
    assert [clause.id for clause in clauses if clause.level is not Level.MUST] == ["CANCEL-IDLE-02"]
    assert set(TurnModel.variants.values()) <= set(TurnModel.clauses)


@pytest.mark.long
def test_the_reference_itself_has_no_fault(link: Link) -> None:
    """Prologues and random examples behind them."""
    outcome = run(CHECK, link, examples=80, seed=7)
    assert outcome.failures == []
    assert set(TurnModel.clauses) <= set(outcome.held)


@pytest.mark.long
@pytest.mark.parametrize("fault", TURN_FAULTS, ids=lambda fault: fault.id)
def test_a_fault_is_found_by_the_clause_that_it_violates(fault: Fault, link: Link) -> None:
    """One failure at least blames that clause; it is minimised, and its document shows it again."""
    assert_finds(CHECK, fault, link, commands=11 if fault.id in TWO_WHOLE_STEPS else 8)
    if fault.id in TWO_WHOLE_STEPS:
        assert_finds(MachineCheck(InboxModel, commands=4), fault, link, commands=8)


# ---------------------------------------------------------------------- what is chosen


@suppress_type_checks
def test_whatever_is_chosen_is_legal_and_examples_are_not_alike() -> None:
    """All answers to all hooks come, deliveries and cancels at each of them, and bursts that begin with an answer."""
    seen: Counter[str] = Counter()
    for number in range(250):
        source, model = Source(random.Random(number).randbytes(240)), TurnModel()
        while not source.exhausted:
            command = model.propose(source)
            assert model.legal(command)
            op, args = str(command["do"]), command["args"]
            assert isinstance(args, dict)
            phase = model._agent.phase
            value = args.get("value", "absent")
            shown = value.get("kind", value) if isinstance(value, dict) else value
            seen[f"{phase} {op}" + (f" {shown}" if op == "gate.resolve" and phase != "requesting" else "")] += 1
            model.apply(command)
    for phase in write.HOOKS:
        for op in ("agent.cancel", "agent.steer", "agent.followup", "agent.inject", "gate.reject", "burst"):
            assert seen[f"{phase} {op}"] > 2, (phase, op)
        if phase != "stopping":
            assert seen[f"{phase} gate.next"] > 2
    for answer in ("enter", "reject", "absent", "None", "{'$next': 0}"):
        assert seen[f"deciding gate.resolve {answer}"] > 2, answer
    for answer in ("retry", "absent", "None", "other", "{'$next': 0}"):
        assert seen[f"recovering gate.resolve {answer}"] > 2, answer
    for op in ("stream.chunk", "stream.end", "stream.fail", "agent.cancel", "agent.steer"):
        assert seen[f"streaming {op}"] > 20, op
    assert seen["idle listen"] > 2


# ---------------------------------------------------------------------- when a command makes sense


def test_only_the_gate_that_waits_is_answered() -> None:
    """And each hook's `next()` is called once; what was not asked for cannot be handed on."""
    model, _ = applied(followup("a"))
    assert not model.legal(write.SEND)
    assert not model.legal(end())
    assert not model.legal(write.GO)
    assert not model.legal(write.answer("deciding", write.BY_NEXT))
    model, _ = applied(followup("a"), write.ask("deciding"))
    assert model.legal(write.answer("deciding", write.BY_NEXT))
    assert not model.legal(write.ask("deciding"))
    assert not TurnModel().legal(write.REJECT)


def test_what_no_clause_speaks_of_is_not_sent() -> None:
    """A batch with one id twice, a provider that nobody serves, a value for a hook that answers none."""
    model, _ = applied(followup("a"))
    assert not model.legal(write.enter("a", "a"))
    assert not model.legal(write.answer("deciding", {"kind": "other"}))
    model, _ = applied(followup("a"), write.enter("a"))
    assert not model.legal(write.request(provider="nobody"))
    assert not model.legal(write.nothing("requesting"))
    model, _ = applied(followup("a"), write.enter("a"), write.SEND, end())
    assert not model.legal(write.answer("stopping", 1))
    failed = (followup("a"), write.enter("a"), write.SEND, write.finish_failed("error", "SERVER"))
    model, _ = applied(*failed)
    assert not model.legal(cancel())
    assert not model.legal(text("x"))
    assert model.legal(end())


def test_whether_a_command_makes_sense_is_asked_without_a_trace() -> None:
    """A burst is tried on a copy: the listener has not been called by it."""
    model, _ = applied(write.FAULTY_STATUS)
    assert model.legal(burst(followup("a")))
    (step, *_) = model.apply(followup("a"))
    assert [row.pattern["n"] for row in step.expect.rows or () if row.pattern["on"] == "script"] == [1]


def test_a_listener_is_added_once_and_is_one_of_the_contracts_own() -> None:
    """A `next()` may be told late, so it stands in no burst."""
    model, _ = applied(write.FAULTY_STATUS)
    assert not model.legal(write.FAULTY_STATUS)
    assert model.legal(write.FAULTY_OBSERVER)
    with pytest.raises(CommandError, match="listener of the turn contract"):
        model.legal({"do": "listen", "args": {"as": "x", "event": "agent/status", "fn": {"$fn": "x"}}})
    model, _ = applied(followup("a"))
    assert model.legal(burst(write.REJECT, steer("b")))
    assert not model.legal(burst(write.ask("deciding"), steer("b")))
    assert not model.legal(burst(steer("b"), write.FAULTY_OBSERVER))
    assert not model.legal(burst(write.REJECT, write.REJECT))


@pytest.mark.parametrize(
    ("command", "message_"),
    [
        ({"do": "agent.dance", "args": {}}, "no command of this contract"),
        ({"do": "gate.reject", "args": {**write.gate("deciding"), "error": 1}}, "no error of the turn contract"),
    ],
)
def test_what_is_no_command_is_an_error(command: JsonMap, message_: str) -> None:
    """A saved example with a slip in it is told so, with what is known."""
    model, _ = applied(followup("a"))
    with pytest.raises(CommandError, match=message_):
        model.legal(command)


def test_simpler_commands() -> None:
    """Decisions lose messages, errors become plain; what is plain stays."""
    model = TurnModel()
    shorter = model.simpler(write.enter("a", "b"))
    assert shorter == [write.enter("b"), write.enter("a")]
    assert model.simpler(write.enter()) == model.simpler(write.REJECT) == model.simpler(write.FAULTY_STATUS) == []
    assert model.simpler(write.throw("deciding", "caused")) == [write.throw("deciding")]
    assert model.simpler(write.throw("deciding")) == []
    assert model.simpler(fail()) == [end()]
    assert model.simpler(write.answer("requesting", write.BY_NEXT)) == [write.SEND]
    assert model.simpler(write.answer("recovering", write.BY_NEXT)) == [write.GIVE_UP]
    assert model.simpler(write.answer("deciding", write.BY_NEXT)) == [write.enter("entered")]


def test_tidied_names_reach_into_decisions() -> None:
    """A message keeps one name, wherever it stands."""
    tidy = TurnModel().tidied([followup("zz"), write.enter(message("zz", "changed"), "y")])
    assert tidy == [followup("m1"), write.enter(message("m1", "changed"), message("m2", "m2"))]
