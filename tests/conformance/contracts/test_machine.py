"""A contract machine finds differences, makes them small, tells them once, and says when they do not come again."""

from collections.abc import Mapping
from typing import ClassVar

import pytest
from typeguard import suppress_type_checks

from dshconform.contracts import inbox_commands as write
from dshconform.contracts.inbox import InboxModel
from dshconform.contracts.machine import MachineCheck
from dshconform.contracts.replay import Example, replay_commands
from dshconform.links.in_process import InProcessLink
from dshconform.links.link import AdapterFault
from dshconform.protocol.json_value import JsonMap
from dshconform.protocol.messages import Command, Reply
from dshconform.report.entries import CheckEntry
from dshconform.report.merging import join
from dshconform.running.budget import Budget, BudgetSpent
from dshconform.running.check import Outcome, RunContext
from dshconform.running.ledger import Deviation, Ledger
from dshconform.running.shard import Shard
from dshconform.yaml_text import read_yaml, write_yaml
from tests.conformance.contracts.fake_agent import FakeAdapter

CHECK = MachineCheck(InboxModel, commands=8)
CAUSE_TOLD: Mapping[str, object] = {
    "clause": "LOG-EVT-03",
    "check": "machine/inbox",
    "at": "log turn/end.event.data.reason",
    "found": {"kind": "aborted", "reason": {"$any": True}},
    "reason": "for the test",
    "reviewed": "2026-01-01",
}


def run(*wrong: str, ledger: Ledger | None = None, seed: int = 1, examples: int = 0) -> Outcome:
    """A run against the tiny implementation: one world for each prologue, unless more are asked for."""
    return run_on(FakeAdapter(*wrong), ledger=ledger, seed=seed, examples=examples)


def run_on(
    adapter: FakeAdapter,
    *,
    check: MachineCheck = CHECK,
    ledger: Ledger | None = None,
    seed: int = 1,
    examples: int = 0,
) -> Outcome:
    context = RunContext(
        link=InProcessLink(adapter),
        ledger=Ledger() if ledger is None else ledger,
        seed=seed,
        examples=examples,
        progress=lambda _: None,
    )
    with suppress_type_checks():  # thousands of commands; the types are checked where single ones are performed
        outcome = Outcome(check=check.name)
        check.run(context, outcome)
        return outcome


def listed(**members: object) -> Ledger:
    """A ledger with one entry."""
    return Ledger([Deviation(**{**CAUSE_TOLD, **members})])  # type: ignore[arg-type]


def test_a_right_implementation_passes_and_every_clause_held() -> None:
    """No failure, nothing left out, and a world for each prologue at least."""
    outcome = run()
    assert outcome.failures == []
    assert outcome.not_run == {}
    assert set(CHECK.clauses) <= set(outcome.held)
    assert outcome.examples == CHECK.worlds(0) == len(InboxModel().prologues())
    assert CHECK.worlds(500) == 500


@pytest.mark.parametrize(
    ("wrong", "clause", "commands"),
    [
        ("prompt first", "INBOX-CLAIM-01", 2),
        ("notes reversed", "INBOX-NOTE-01", 4),
        ("latch survives", "WAKE-CLEAR-01", 6),
        ("cause told", "LOG-EVT-03", 3),
    ],
)
def test_a_wrong_implementation_is_found_by_the_clause_it_violates(wrong: str, clause: str, commands: int) -> None:
    """The example is as short as the violation allows, comes again, and replays from its document."""
    outcome = run(wrong)
    failure = next(one for one in outcome.failures if clause in one.difference.clauses)
    assert failure.reproduced
    assert len(failure.steps) <= commands + 1  # a probe may show the difference
    assert failure.found_after >= len(failure.document["steps"])  # type: ignore[arg-type]
    assert failure.rows.pairs
    document = read_yaml(write_yaml(dict(failure.document)), "saved")
    assert isinstance(document, dict)
    assert document["contract"] == "inbox"
    steps = document["steps"]
    assert isinstance(steps, list)
    assert len(steps) <= commands
    again = replay_commands(InboxModel(), steps, InProcessLink(FakeAdapter(wrong)), Ledger())
    assert again.difference == failure.difference
    assert replay_commands(InboxModel(), steps, InProcessLink(FakeAdapter()), Ledger()).difference is None


def test_a_run_counts_the_visits_of_every_cell() -> None:
    """Whatever the seed, none is left out; more examples visit cells more often."""
    few, many = run(seed=2), run(seed=2, examples=60)
    assert list(few.grid) == list(InboxModel.cells)
    assert min(few.grid.values()) > 0
    assert few.suite_fault is None
    assert sum(many.grid.values()) > sum(few.grid.values())


class Larger(InboxModel):
    """A model of which no prologue visits every cell."""

    cells: ClassVar[tuple[str, ...]] = (*InboxModel.cells, "asleep / steer / live")


class Smaller(InboxModel):
    """A model that visits cells of which its grid does not know."""

    cells: ClassVar[tuple[str, ...]] = InboxModel.cells[1:]


@pytest.mark.parametrize(
    ("model", "told"),
    [
        (Larger, "no example of machine/inbox visited asleep / steer / live"),
        (Smaller, f"machine/inbox visited cells that are not in its grid: {InboxModel.cells[0]}"),
    ],
)
def test_a_grid_that_is_not_reached_is_the_fault_of_the_suite(model: type[InboxModel], told: str) -> None:
    """The sentence names the cells; the outcome blames no clause."""
    outcome = run_on(FakeAdapter(), check=MachineCheck(model, commands=8))
    assert outcome.suite_fault == told
    assert outcome.failures == []


@pytest.mark.parametrize(
    ("check", "wrong", "ledger"),
    [
        pytest.param(MachineCheck(Larger, commands=8, every_prologue=False), "", None, id="a sample"),
        pytest.param(MachineCheck(Larger, commands=8), "cause told", None, id="differences were found"),
        pytest.param(MachineCheck(Larger, commands=8), "cause told", "stop", id="examples ended at a listed deviation"),
    ],
)
def test_a_grid_need_not_be_reached(check: MachineCheck, wrong: str, ledger: str | None) -> None:
    """Where fewer worlds run than there are prologues, or where examples ended before their prologue."""
    adapter = FakeAdapter(*filter(None, [wrong]))
    outcome = run_on(adapter, check=check, ledger=None if ledger is None else listed(after=ledger), examples=3)
    assert outcome.suite_fault is None


def test_a_difference_is_told_once() -> None:
    """Many examples show it, one report tells it, and what could not be reached behind it is named."""
    outcome = run("cause told")
    assert [failure.difference.clauses for failure in outcome.failures] == [("LOG-EVT-03",)]
    assert outcome.examples == CHECK.worlds(0)
    assert outcome.not_run
    assert set(outcome.not_run).isdisjoint(outcome.held)
    assert "machine/inbox" in next(iter(outcome.not_run.values()))


def test_the_same_seed_gives_the_same_run() -> None:
    """Commands, counts and failures follow from the seed; another seed chooses other commands."""
    one, same, other = (run("latch survives", seed=seed) for seed in (3, 3, 4))
    assert one == same
    assert one.held != other.held


def test_an_implementation_that_is_not_deterministic_is_told_as_such() -> None:
    """The same commands in a fresh world lead elsewhere: the example is reported as it was met, with both traces."""
    outcome = run("prompt first", "every other world")
    assert outcome.failures
    failure = outcome.failures[0]
    assert not failure.reproduced
    assert failure.rows.first is not None
    assert failure.again.pairs != failure.rows.pairs
    assert len(outcome.failures[0].document["steps"]) == outcome.failures[0].found_after  # type: ignore[arg-type]


def test_an_accepted_deviation_does_not_end_an_example() -> None:
    """The found value is taken for the expected one, everything behind it is judged, and the entry is met."""
    ledger = listed(after="accept")
    outcome = run("cause told", ledger=ledger)
    assert outcome.failures == []
    assert list(ledger.deviating()) == ["LOG-EVT-03"]
    assert "WAKE-LATCH-01" in outcome.held


def test_a_deviation_that_stops_ends_its_example_and_is_counted() -> None:
    """Nothing behind it is judged, and it is no failure."""
    ledger = listed(after="stop")
    outcome = run("cause told", ledger=ledger)
    assert outcome.failures == []
    assert outcome.stopped > 0
    assert "WAKE-LATCH-01" not in outcome.held


def test_a_variant_is_met_where_the_model_takes_its_switch() -> None:
    """The entry turns the switch on, and counts as met once the implementation has departed as listed."""
    entry: JsonMap = {"clause": "CANCEL-IDLE-02", "at": "log agent/inbox/spliced", "found": None}
    ledger = listed(**entry, after="variant", variant="idle-cancel-keeps-input")
    outcome = run("idle cancel keeps", ledger=ledger)
    assert outcome.failures == []
    assert list(ledger.deviating()) == ["CANCEL-IDLE-02"]
    assert run("idle cancel keeps").failures[0].difference.clauses[0] == "CANCEL-IDLE-02"


def test_what_is_met_while_minimising_counts_for_nothing() -> None:
    """Replays of a failure use a ledger of their own."""
    entry: JsonMap = {"clause": "CANCEL-IDLE-02", "at": "log agent/inbox/spliced", "found": None}
    ledger = listed(**entry, after="variant", variant="idle-cancel-keeps-input")
    outcome = run(ledger=ledger)
    assert outcome.failures[0].difference.clauses == ("CANCEL-IDLE-02",)
    assert ledger.met == {}


def shards(*wrong: str, of: int, examples: int) -> list[Outcome]:
    """What each part of a divided run says."""
    found = []
    for number in range(1, of + 1):
        outcome = Outcome(check=CHECK.name)
        context = RunContext(
            link=InProcessLink(FakeAdapter(*wrong)),
            ledger=Ledger(),
            seed=1,
            examples=examples,
            progress=lambda _: None,
            shard=Shard(number, of),
        )
        with suppress_type_checks():
            CHECK.run(context, outcome)
        found.append(outcome)
    return found


@pytest.mark.parametrize("wrong", [(), ("latch survives",), ("notes reversed", "prompt first", "cause told")])
def test_shards_find_together_what_one_run_finds(wrong: tuple[str, ...]) -> None:
    """Counts, cells, and the same failures in the same order: each the first example that shows it."""
    whole = run(*wrong, examples=50)
    parts = shards(*wrong, of=3, examples=50)
    joined = join(CHECK, parts, parts=3)
    assert CheckEntry.of(joined) == CheckEntry.of(whole)
    assert [failure.document for failure in joined.failures] == [failure.document for failure in whole.failures]
    assert bool(whole.failures) is bool(wrong)
    assert all(part.examples < whole.examples for part in parts)


def test_a_part_does_not_say_what_the_others_visit() -> None:
    """Cells that it has not visited are no fault, and nothing is behind its differences yet."""
    parts = shards("latch survives", of=3, examples=0)
    assert all(part.suite_fault is None and not part.not_run for part in parts)
    assert any(times == 0 for part in parts for times in part.grid.values())


class Counted(Budget):
    """A budget of so many looks."""

    def __init__(self, looks: int) -> None:
        super().__init__(1)
        self.looks = looks

    @property
    def over(self) -> bool:
        self.looks -= 1
        return self.looks < 0


def budgeted(worlds: int) -> Outcome:
    """A run of 60 examples that has time for so many worlds."""
    outcome = Outcome(check=CHECK.name)
    context = RunContext(
        link=InProcessLink(FakeAdapter()),
        ledger=Ledger(),
        seed=1,
        examples=60,
        progress=lambda _: None,
        budget=Counted(worlds),
    )
    with suppress_type_checks():
        CHECK.run(context, outcome)
    return outcome


def test_a_budget_cuts_prologues_short_and_spares_further_examples() -> None:
    """Behind the prologues, the machine ends well with fewer examples; before, it does not end."""
    prologues = len(InboxModel().prologues())
    outcome = budgeted(prologues + 2)
    assert outcome.examples == prologues + 2
    assert outcome.suite_fault is None
    with pytest.raises(BudgetSpent):
        budgeted(prologues - 1)


class Dying(FakeAdapter):
    """An implementation whose adapter dies in a world of that number."""

    def __init__(self, *wrong: str, world: int) -> None:
        super().__init__(*wrong)
        self.left = world

    def handle(self, command: Command) -> Reply:
        self.left -= command.op == "world.open"
        if not self.left:
            raise OSError("out of cheese")
        return super().handle(command)


def cut_short(*wrong: str, world: int) -> Outcome:
    outcome = Outcome(check=CHECK.name)
    context = RunContext(
        link=InProcessLink(Dying(*wrong, world=world)), ledger=Ledger(), seed=1, examples=0, progress=lambda _: None
    )
    with suppress_type_checks(), pytest.raises(AdapterFault):
        CHECK.run(context, outcome)
    return outcome


def test_what_held_before_a_fault_counts() -> None:
    """The worlds before, and the one in which the adapter died."""
    outcome = cut_short(world=4)
    assert outcome.examples == 4
    assert outcome.held


def test_a_difference_survives_a_fault_while_it_is_minimised() -> None:
    """It is told as it was met, and as not tried again."""
    whole = run("cause told").failures[0]
    found = next(world for world in range(2, 40) if cut_short("cause told", world=world).failures)
    outcome = cut_short("cause told", world=found + 6)
    (failure,) = outcome.failures
    assert failure.difference.clauses == whole.difference.clauses
    assert failure.reproduced is None
    assert len(failure.document["steps"]) == failure.found_after == whole.found_after  # type: ignore[arg-type]


class Closed(FakeAdapter):
    """An implementation whose world does not open."""

    def handle(self, command: Command) -> Reply:
        if command.op == "world.open":
            error: JsonMap = {"type": "E", "message": "no", "code": None}
            return Reply(id=command.id, error=error, observed=[{"on": "return", "op": command.op, "error": error}])
        return super().handle(command)


def test_a_world_that_does_not_open_is_told_once() -> None:
    """One failure without commands, however many worlds; the clauses have not been run."""
    outcome = run_on(Closed())
    assert [failure.document["steps"] for failure in outcome.failures] == [[]]
    assert [[step.op for step in failure.steps] for failure in outcome.failures] == [["world.open"]]
    assert set(outcome.not_run) == set(CHECK.clauses)


def test_a_replay_leaves_out_what_makes_no_sense() -> None:
    """Commands that are not legal where they stand are passed over, as the minimiser needs it."""
    commands = [write.end(), write.followup("b"), write.end(), write.end()]
    example = Example(InboxModel(), InProcessLink(FakeAdapter()), Ledger())
    assert example.replay(commands) == [(1, commands[0]), (4, commands[3])]
    assert example.difference is None
    assert example.performed == commands[1:3]
