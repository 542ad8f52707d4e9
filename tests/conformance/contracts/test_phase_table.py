"""The phase table as a check: it says what sheet 70 says, walks every cell, and sees every cell that is wrong."""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from types import MappingProxyType

import pytest
from typeguard import suppress_type_checks

from dshconform.adapters.reference.adapter import ReferenceAdapter
from dshconform.checks.catalog import all_checks
from dshconform.checks.replaying import Replayed, read_replay, replay
from dshconform.contracts.phase_events import WORLDS
from dshconform.contracts.phase_table import CALLS, EVENTS, Row
from dshconform.contracts.table import TableCheck
from dshconform.faults import FAULTS
from dshconform.faults.fault import replaced
from dshconform.links.in_process import InProcessLink
from dshconform.links.link import AdapterFault, Link
from dshconform.protocol.messages import Command, Reply
from dshconform.running.check import Outcome, RunContext
from dshconform.running.ledger import Deviation, Ledger
from dshconform.scenarios.load import Scenario
from dshconform.spec import Level, load_specification, spec_root
from dshconform.yaml_text import write_yaml
from dshcore.agent_loop import phase
from dshcore.agent_loop.phase import Action, Cell, Input
from dshcore.agent_loop.phase import Row as Own

SHEET = (spec_root() / "70-agent-and-loop.md").read_text(encoding="utf-8")


def the_check() -> TableCheck:
    found = [check for check in all_checks() if isinstance(check, TableCheck)]
    assert [check.name for check in found] == ["table/phase"]
    return found[0]


CHECK = the_check()


def run(link: Link, check: TableCheck = CHECK, ledger: Ledger | None = None) -> Outcome:
    told: list[int] = []
    context = RunContext(link=link, ledger=ledger or Ledger(), seed=1, examples=1, progress=told.append)
    outcome = Outcome(check=check.name)
    with suppress_type_checks():  # a thousand commands
        check.run(context, outcome)
    assert sum(told) == check.worlds(1) == outcome.examples
    return outcome


# ---------------------------------------------------------------------- what it is made of


def sheet_tables() -> list[list[list[str]]]:
    """The two tables under *Phase machine*, as cells."""
    section = SHEET.split("### Phase machine\n")[1].split("\n## ")[0]
    tables: list[list[list[str]]] = []
    for block in section.split("\n\n"):
        lines = [line for line in block.splitlines() if line.startswith("|")]
        if lines:
            tables.append([[cell.strip() for cell in line.strip("|").split("|")] for line in lines])
    return tables


def title(row: Row) -> str:
    return {"maintenance · aborted": "maintenance · aborted `c0`", "running · aborted": "running · aborted `c0`"}.get(
        row.title, row.title
    )


def test_the_first_table_is_the_sheets() -> None:
    """The same states, calls and words; the effects beside them are what the cells are read as."""
    head, _, *lines = sheet_tables()[0]
    calls = next(iter(CALLS.values()))
    assert head[1:] == list(calls)
    assert {line[0]: line[1:] for line in lines} == {
        title(row): [effect.says for effect in effects.values()] for row, effects in CALLS.items()
    }


def test_the_second_table_is_the_sheets() -> None:
    """The same states, events and words, and worlds for each cell."""
    head, _, *lines = sheet_tables()[1]
    assert head[1:] == list(next(iter(EVENTS.values())))
    assert {line[0]: line[1:] for line in lines} == {row.title: list(cells.values()) for row, cells in EVENTS.items()}
    assert set(WORLDS) == {(row, event) for row, cells in EVENTS.items() for event in cells}
    assert all(WORLDS.values())


def test_every_cell_has_worlds_and_every_world_a_name_of_its_own() -> None:
    """Forty cells at least: five states by four calls, and four by three events, in all their variants."""
    titles = [cell.title for cell in CHECK.cells]
    assert len(set(titles)) == len(titles)
    for row, effects in CALLS.items():
        for call in effects:
            assert any(one.startswith(f"{row.title}: {call} (") for one in titles), (row, call)
    for row, cells in EVENTS.items():
        for event in cells:
            assert any(one.split(" (")[0] == f"{row.title}: {event}" for one in titles), (row, event)


def test_the_cited_clauses_are_core_clauses() -> None:
    """Every implementation is held to them."""
    specification = load_specification()
    clauses = [specification.clause(clause) for clause in CHECK.clauses]
    assert {clause.profile for clause in clauses} == {"core"}
    assert [clause.id for clause in clauses if clause.level is not Level.MUST] == ["CANCEL-IDLE-02"]


# ---------------------------------------------------------------------- what it finds


def test_the_reference_holds_every_cell(link: Link) -> None:
    """And every clause that the table cites is evaluated."""
    outcome = run(link)
    assert outcome.failures == []
    assert set(outcome.cells.values()) == {"held"}
    assert list(outcome.cells) == [cell.title for cell in CHECK.cells]
    assert set(CHECK.clauses) <= set(outcome.held)
    assert outcome.not_run == {}


UNSEEN: Mapping[Action, set[tuple[Own, Input]]] = {
    Action.LATCH: {  # only a call nested in an insertion comes there: WAKE-RACE-01 to WAKE-RACE-03
        (Own.MAINTENANCE, Input.LATE_WAKE),
        (Own.RUNNING, Input.LATE_WAKE),
        (Own.MAINTENANCE_ABORTED, Input.WAKE),
    },
    Action.START_DRIVER: {(Own.IDLE, Input.LATE_WAKE)},  # likewise
    Action.UNLATCH: {  # no sequence of calls sets a latch there (WAKE-STALE-01, WAKE-DISP-01)
        *{(row, Input.TURN_CLOSED_ON) for row in (Own.RUNNING, Own.RUNNING_ABORTED, Own.RUNNING_DISPOSED)},
        *{(row, Input.CLEARED) for row in (Own.IDLE, Own.RUNNING, Own.MAINTENANCE_DISPOSED, Own.RUNNING_DISPOSED)},
    },
    Action.REPLAY: {  # likewise; and creation is no part of the table
        *{(row, Input.SETTLE) for row in (Own.RUNNING, Own.RUNNING_DISPOSED)},
        (Own.IDLE, Input.ANNOUNCED),
    },
    Action.CLEAR_INBOX: set(),
    Action.FIRE: set(),
    Action.NEXT_TURN: set(),
    Action.EMIT_IDLE: set(),
    Action.INSERT_NEXT_TURN: set(),
}
"""The actions that do something by themselves, each with the cells of the reference in which nobody misses it."""


def mutants() -> Iterator[tuple[Own, Input, Action]]:
    for row, line in phase.TABLE.items():
        for what, cell in line.items():
            for action in cell.actions:
                if action in UNSEEN and (row, what) not in UNSEEN[action]:
                    yield row, what, action


def changed(row: Own, what: Input, cell: Cell) -> AbstractContextManager[None]:
    """The reference with one cell of its table changed."""
    table = {own: dict(line) for own, line in phase.TABLE.items()}
    table[row][what] = cell
    return replaced(phase, {"TABLE": MappingProxyType(table)})


def about(row: Own) -> TableCheck:
    """The check, only the cells about a phase."""
    phase_of = row.value.partition(",")[0]
    return TableCheck("phase", "phase table", [cell for cell in CHECK.cells if cell.title.startswith(phase_of)])


@pytest.mark.parametrize(("row", "what", "action"), list(mutants()))
def test_a_cell_without_one_of_its_actions_is_seen(link: Link, row: Own, what: Input, action: Action) -> None:
    """Whatever the reference's table leaves out, a world about that phase fails."""
    cell = phase.TABLE[row][what]
    with changed(row, what, Cell(cell.row, tuple(one for one in cell.actions if one is not action))):
        assert run(link, about(row)).failures


@pytest.mark.parametrize(
    ("row", "what"),
    [
        *((row, Input.LATE_WAKE) for row in (Own.MAINTENANCE_DISPOSED, Own.RUNNING_DISPOSED)),
        (Own.RUNNING, Input.WAKE),
    ],
)
def test_a_wake_that_is_remembered_too_much_is_seen(link: Link, row: Own, what: Input) -> None:
    """A latch where the table has none shows when the activity has settled."""
    with changed(row, what, Cell(row, (Action.LATCH,))):
        assert run(link, about(row)).failures


@pytest.mark.parametrize("row", [Own.RUNNING, Own.MAINTENANCE])
def test_a_disposed_cause_taken_for_any_other_is_seen(link: Link, row: Own) -> None:
    """A live activity that is aborted with `disposed` must remember no later wake."""
    with changed(row, Input.ABORT_DISPOSED, phase.TABLE[row][Input.ABORT]):
        assert run(link, about(row)).failures


# ---------------------------------------------------------------------- how it tells


FAULT = next(fault for fault in FAULTS if fault.id == "disposed-is-a-cause-like-any-other")


def test_a_failing_cell_is_named_and_its_document_shows_it_again(link: Link, tmp_path: Path) -> None:
    """The others go on; of the failures that one clause answers for the first is told, and it can be replayed."""
    with FAULT.plant():
        outcome = run(link)
        failed = [name for name, said in outcome.cells.items() if said == "failed"]
        assert "running · aborted: send waking (c0 disposed, next-step)" in failed
        assert all("disposed" in name for name in failed)
        assert len(outcome.cells) == len(CHECK.cells)
        assert len(outcome.failures) < len(failed)
        blamed = [failure.difference.clauses for failure in outcome.failures]
        assert "WAKE-DISP-01" in {clauses[0] for clauses in blamed}
        assert len({clauses[0] for clauses in blamed}) == len(blamed)
        for failure in outcome.failures:
            assert failure.reproduced
            wanted = read_replay(write_yaml(failure.document), tmp_path / "saved.yaml")
            assert isinstance(wanted, Scenario)
            replayed = Replayed()
            replay(wanted, link, Ledger(), replayed, until=None, show=lambda _: None)
            again = replayed.difference
            assert again is not None
            assert (again.at, again.path, again.clauses) == (
                failure.difference.at,
                failure.difference.path,
                failure.difference.clauses,
            )
    assert run(link).failures == []


def test_a_listed_deviation_stops_its_cells_and_no_others(link: Link) -> None:
    """Each world that meets it ends there, counted; the clause is a deviation and nothing fails."""
    with FAULT.plant():
        failures = run(link).failures
        entries = [
            Deviation(
                clause=failure.difference.clauses[0],
                check=CHECK.name,
                at=failure.difference.at,
                found={"$any": True},
                after="stop",
                reason="planted",
                reviewed="2026-01-01",
            )
            for failure in failures
        ]
        ledger = Ledger(entries)
        outcome = run(link, ledger=ledger)
    assert outcome.failures == []
    assert outcome.stopped == sum(said == "stopped" for said in outcome.cells.values()) > 0
    assert set(ledger.deviating()) == {entry.clause for entry in entries}
    assert ledger.stale([CHECK.name]) == []


def test_cells_before_a_fault_count() -> None:
    """The adapter dies in the fourth world: three cells held, and what held in them stays."""

    class Dying(ReferenceAdapter):
        left = 4

        def handle(self, command: Command) -> Reply:
            self.left -= command.op == "world.open"
            if not self.left:
                raise OSError("out of cheese")
            return super().handle(command)

    outcome = Outcome(check=CHECK.name)
    with InProcessLink(Dying()) as opened, pytest.raises(AdapterFault):
        CHECK.run(RunContext(link=opened, ledger=Ledger(), seed=1, examples=1, progress=lambda _: None), outcome)
    assert (list(outcome.cells.values()), outcome.examples) == (["held"] * 3, 4)
    assert outcome.held
