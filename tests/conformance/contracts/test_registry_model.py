"""The registry model: it reaches what it cites, the reference follows it, and each planted fault is found."""

import random
from collections import Counter

import pytest
from typeguard import suppress_type_checks

from dshconform.contracts import registry_commands as write
from dshconform.contracts.machine import MachineCheck
from dshconform.contracts.model import CommandError
from dshconform.contracts.registry import RegistryModel
from dshconform.contracts.registry_commands import CREATED, DISPOSED, DOINGS, Names
from dshconform.contracts.script_calls import listen
from dshconform.contracts.source import Source
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
)

CHECK = MachineCheck(RegistryModel, commands=0)
FAULTS = tuple(fault for fault in ALL_FAULTS if fault.clause in RegistryModel.clauses)


def applied(*commands: JsonMap) -> tuple[RegistryModel, Step]:
    """A model behind some commands, and the last one's step."""
    model = RegistryModel()
    return model, apply_all(model, commands)[0]


def rows(step: Step) -> list[str]:
    """What must be seen, in short."""
    return [row.title for row in step.expect.rows or ()]


def listener(name: str, event: str, doing: str, **names: str) -> JsonMap:
    """A listener."""
    named = Names(**{"leave": "", "other": "", "identity": "", "fresh": "", **names})
    return listen(name, event, DOINGS[event][doing](named))


# ---------------------------------------------------------------------- the model and the reference


@pytest.mark.long
def test_every_cited_clause_is_reached_whatever_the_seed(link: Link) -> None:
    """The prologues alone evaluate each clause that the model cites, and the model lists what it cites."""
    assert_prologues_reach_every_clause(RegistryModel, link)


def test_the_grid_is_reached_by_construction() -> None:
    """The prologues alone visit each cell, whatever the seed; choices lead to no other."""
    assert_prologues_visit_the_grid(RegistryModel)
    assert_choices_stay_in_the_grid(RegistryModel, examples=60)


def test_the_cited_clauses_bind_every_implementation_with_lives() -> None:
    """None is the reference's alone."""
    specification = load_specification()
    clauses = [specification.clause(clause) for clause in RegistryModel.clauses]
    assert len(set(RegistryModel.clauses)) == len(clauses)
    assert {clause.profile for clause in clauses} == {"core", "lifecycle"}
    assert {clause.level for clause in clauses} == {Level.MUST}


@pytest.mark.long
def test_the_reference_itself_has_no_fault(link: Link) -> None:
    """Prologues and random examples behind them."""
    outcome = run(MachineCheck(RegistryModel, commands=15), link, examples=110, seed=7)
    assert outcome.failures == []
    assert set(RegistryModel.clauses) <= set(outcome.held)


@pytest.mark.long
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.id)
def test_a_fault_is_found_by_the_clause_that_it_violates(fault: Fault, link: Link) -> None:
    """That clause is blamed before any other; the failure is minimised, and its document shows it again."""
    assert_finds(CHECK, fault, link, commands=8, first=True)


def test_every_cited_clause_has_a_fault_that_the_machine_finds() -> None:
    """Those of the test above."""
    assert {fault.clause for fault in FAULTS} == set(RegistryModel.clauses)


# ---------------------------------------------------------------------- what is chosen


@suppress_type_checks
def test_whatever_is_chosen_is_legal_and_every_act_comes() -> None:
    """In each state, and with each doing of the listeners."""
    seen: Counter[str] = Counter()
    for number in range(100):
        source, model = Source(random.Random(number).randbytes(400)), RegistryModel()
        while not source.exhausted:
            command = model.propose(source)
            assert model.legal(command)
            seen.update((model.cell(command) or "").split(" / "))
            model.apply(command)
    for part in {part for cell in RegistryModel.cells for part in cell.split(" / ")}:
        assert seen[part] > 2, part


# ---------------------------------------------------------------------- what the clauses say


def test_a_detach_waits_for_the_announcement_that_a_later_listener_vetoes() -> None:
    """REG-DET-03, REG-DET-04: the second listener still finds and lists the agent, whose end precedes the refusal."""
    model, step = applied(
        write.enter("x", "d"),
        listener("l1", CREATED, "detaches", leave="d"),
        listener("l2", CREATED, "looks", identity="x"),
        listener("l3", CREATED, "throws"),
        listener("l4", DISPOSED, "hears"),
        write.announce("x"),
    )
    assert rows(step) == [
        "live agent/created",
        "script agent/created",
        "return undo",
        "script agent/created",
        "return registry.get",
        "return registry.list",
        "script agent/created",
        "live agent/disposed",
        "script agent/disposed",
        "return registry.announce",
    ]
    assert [row.pattern["result"] for row in (step.expect.rows or ())[4:6]] == ["x", ["x"]]
    assert step.expect.error == {"is": "broken"}
    assert model.registry.live == {}


def test_a_listener_of_a_disposal_registers_a_successor() -> None:
    """REG-DET-05: the id is free by then, and the successor is announced inside."""
    model, step = applied(
        write.register("x", "d"), listener("l", DISPOSED, "registers", other="x2", fresh="e"), write.undo("d")
    )
    assert rows(step) == [
        "live agent/disposed",
        "script agent/disposed",
        "live agent/created",
        "return registry.register",
        "return undo",
    ]
    assert {identity: life.agent for identity, life in model.registry.live.items()} == {"x": "x2"}


def test_a_disposer_of_a_registration_works_once() -> None:
    """REG-LIFE-02: of a detach nothing is said of what it answers."""
    life = (write.register("x", "d"), write.undo("d"), write.enter("x2", "e"))
    model, step = applied(*life, write.undo("d"))
    assert step.expect.result == {"$by": ("REG-LIFE-02",), "is": "nothing"}
    assert model.registry.state("x2") == "entered"
    assert model.registry.state("x") == "taken"
    _, step = applied(*life, write.undo("e"), write.undo("e"))
    assert step.expect.clauses == ("REG-DET-02",)


def test_a_vetoed_announcement_counts() -> None:
    """REG-ANN-02: a vetoed agent stays, and its disposal is told."""
    vetoed = (write.enter("x", "d"), listener("l", CREATED, "throws"), write.announce("x"))
    _, step = applied(*vetoed, write.announce("x"))
    assert step.expect.error == {"message": 'agent "x" was already announced'}
    _, step = applied(*vetoed, write.undo("d"))
    assert rows(step) == ["live agent/disposed", "return undo"]


def test_a_closed_plugin_takes_its_registration_and_its_factory_with_it() -> None:
    """REG-LIFE-01, FACT-SET-03."""
    model, step = applied(
        write.opened("o"), write.fill("f", through="o"), write.register("x", "d", "o"), write.closed("o")
    )
    assert rows(step) == ["live agent/disposed", "return owner.close"]
    assert model.registry.slot is None
    assert not model.legal(write.register("x", "e", "o"))


# ---------------------------------------------------------------------- when a command makes sense


def test_a_command_needs_what_it_names() -> None:
    """Detaches, plugins and listeners that are there, and names that nothing has."""
    model, _ = applied(write.enter("x", "d"), write.opened("o"), write.register("p", "r", "o"))
    for command in (
        write.enter("y", "d"),
        write.undo("e"),
        write.register("y", "e", "o"),
        write.register("y", "e", "nobody's"),
        write.fill("f", through="nobody's"),
        write.closed("in p"),
        write.opened("o"),
        write.enter("y", "e", write.ODD),
        listener("l", CREATED, "detaches", leave="e"),
        listener("l", CREATED, "enters", other="y", fresh="d"),
        listener("d", CREATED, "hears"),
    ):
        assert not model.legal(command), command


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ({"do": "registry.dance", "args": {}}, "no command of this contract"),
        (write.enter("z", "d"), "an agent of the registry contract is one of its own, not 'z'"),
        (listen("l", "agent/status", {"do": []}), "no listener of the registry contract hears 'agent/status'"),
        (listen("l", DISPOSED, {"do": [{"do": "reject"}]}), "a listener of agent/disposed rejects in no example"),
    ],
)
def test_what_is_no_command_is_an_error(command: JsonMap, told: str) -> None:
    """A saved example with a slip in it is told so, with what is known."""
    with pytest.raises(CommandError, match=told):
        RegistryModel().legal(command)


def test_simpler_commands() -> None:
    """Without an owner, without a plugin, and of what a factory is told the id alone."""
    model = RegistryModel()
    assert model.simpler(write.enter("x", "d", "p")) == [write.enter("x", "d")]
    assert model.simpler(write.register("x", "d", "in p")) == [write.register("x", "d")]
    assert model.simpler(write.make("t", said="a header", through="o")) == [write.make("t")]
    for command in (write.enter("x", "d"), write.opened("o"), write.owns("x", "p"), listener("l", CREATED, "hears")):
        assert model.simpler(command) == []


def test_tidied_names_reach_into_scripts() -> None:
    """What is named keeps one name, wherever it stands; agents keep theirs."""
    tidy = RegistryModel().tidied(
        [write.enter("x", "old"), listener("zz", CREATED, "detaches", leave="old"), write.undo("old")]
    )
    assert tidy == [write.enter("x", "l1"), listener("l2", CREATED, "detaches", leave="l1"), write.undo("l1")]
