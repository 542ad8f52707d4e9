"""Runs of contract machines over a link, and the proof that one finds a planted fault."""

import random
from collections.abc import Iterator, Sequence

from typeguard import suppress_type_checks

from dshconform.contracts.machine import MachineCheck, same_place
from dshconform.contracts.model import Model
from dshconform.contracts.replay import Example, replay_commands
from dshconform.contracts.source import Source
from dshconform.faults import Fault
from dshconform.links.link import Link
from dshconform.protocol.json_value import JsonMap
from dshconform.running.check import Failure, Outcome, RunContext
from dshconform.running.ledger import Ledger
from dshconform.running.step import Step


def run(check: MachineCheck, link: Link, *, examples: int = 0, seed: int = 1) -> Outcome:
    """What a machine finds: one world for each prologue, unless more examples are asked for."""
    context = RunContext(link=link, ledger=Ledger(), seed=seed, examples=examples, progress=lambda _: None)
    outcome = Outcome(check=check.name)
    with suppress_type_checks():  # thousands of commands; the types are checked where single ones are performed
        check.run(context, outcome)
    return outcome


def played(model: Model, link: Link, commands: Sequence[JsonMap]) -> Example:
    """Commands performed by an implementation and judged by a model."""
    return replay_commands(model, commands, link, Ledger())


def apply_all(model: Model, commands: Sequence[JsonMap]) -> list[Step]:
    """Advance a model by commands, each of which makes sense; the steps of the last one."""
    steps: list[Step] = []
    for command in commands:
        assert model.legal(command), command
        steps = model.apply(command)
    return steps


def titles(step: Step) -> list[str]:
    """What a step expects, in short."""
    return [row.title for row in step.expect.rows or ()]


def assert_prologues_visit_the_grid(model_type: type[Model]) -> None:
    """The prologues alone visit every cell of a model's grid, and no other; each of their commands makes sense."""
    visited: set[str] = set()
    with suppress_type_checks():
        for prologue in model_type().prologues():
            model = model_type()
            model.opening()
            for command in prologue:
                assert model.legal(command), command
                visited |= {cell for cell in (model.cell(command),) if cell is not None}
                model.apply(command)
    assert len(set(model_type.cells)) == len(model_type.cells)
    assert visited == set(model_type.cells)


@suppress_type_checks
def assert_choices_stay_in_the_grid(model_type: type[Model], *, examples: int) -> None:
    """Whatever is chosen visits a cell of the grid, or none."""
    for number in range(examples):
        source, model = Source(random.Random(number).randbytes(200)), model_type()
        model.opening()
        while not source.exhausted:
            command = model.propose(source)
            assert model.cell(command) in {None, *model_type.cells}
            model.apply(command)


def assert_finds(check: MachineCheck, fault: Fault, link: Link, *, commands: int, first: bool = False) -> None:
    """A failure blames the violated clause; it is minimised, and its document shows it again.

    Prologues are played in turn up to the first whose failure serves: whatever the seed, a run plays them all. Only
    where none does, the machine runs as a whole, with what it chooses behind them.

    Args:
        check: The machine.
        fault: What is planted in the implementation.
        link: The implementation.
        commands: How many the minimised failure may have.
        first: Whether the clause has to be blamed before all others.
    """

    def serves(failure: Failure) -> bool:
        clauses, steps = failure.difference.clauses, failure.document["steps"]
        assert isinstance(steps, list)
        return fault.clause in (clauses[:1] if first else clauses) and len(steps) <= commands

    with fault.plant():
        met = _failures_of_prologues(check, link, fault.clause)
        found = next((failure for failure in met if serves(failure)), None)
        if found is None:
            whole = run(check, link).failures
            found = next((failure for failure in whole if serves(failure)), None)
            assert found is not None, [failure.difference for failure in whole]
        steps = _assert_shown(check, found, link)
    assert played(check.model_type(), link, steps).difference is None, "the fault is still there"


def _failures_of_prologues(check: MachineCheck, link: Link, clause: str) -> Iterator[Failure]:
    """One by one, minimised, those that blame a clause."""
    context = RunContext(link=link, ledger=Ledger(), seed=1, examples=0, progress=lambda _: None)
    for prologue in check.model_type().prologues():
        example = played(check.model_type(), link, prologue)
        if example.difference is not None and clause in example.difference.clauses:
            failures: list[Failure] = []
            check.tell(example, example.difference, context, failures)
            yield from failures


def assert_reports(check: MachineCheck, fault: Fault, link: Link) -> None:
    """Of the failures of a whole run one at least blames the violated clause, and its document shows it again."""
    with fault.plant():
        outcome = run(check, link)
        found = [failure for failure in outcome.failures if fault.clause in failure.difference.clauses]
        assert found, [failure.difference for failure in outcome.failures]
        _assert_shown(check, min(found, key=lambda one: len(one.steps)), link)


def _assert_shown(check: MachineCheck, failure: Failure, link: Link) -> list[JsonMap]:
    """The document of a failure, whose steps are answered, shows it again."""
    assert failure.reproduced
    steps = failure.document["steps"]
    assert isinstance(steps, list)
    assert failure.document["contract"] == check.contract
    again = played(check.model_type(), link, steps).difference
    assert again is not None
    assert same_place(again, failure.difference)
    return steps


def assert_prologues_reach_every_clause(model_type: type[Model], link: Link) -> None:
    """The prologues alone evaluate each clause that a model cites, and the model lists what it cites.

    Args:
        model_type: The model.
        link: An implementation without a fault.
    """
    held: set[str] = set()
    cited: set[str] = set()
    with suppress_type_checks():
        for prologue in model_type().prologues():
            example = played(model_type(), link, prologue)
            assert example.difference is None
            assert len(example.performed) == len(prologue), "a command of a prologue makes no sense"
            held |= set(example.world.matching.held)
            cited |= {clause for exchange in example.world.record for clause in exchange.step.expect.cited()}
    assert cited == set(model_type.clauses)
    assert cited <= held
