"""Adapters without an implementation: nothing passes on one of them. And what only sorts does not pass for order."""

from collections.abc import Iterator, Sequence

import pytest
from typeguard import suppress_type_checks

from dshconform.adapters.catalog import EMPTY, IMPLEMENTATIONS, SORTING
from dshconform.adapters.reference.adapter import ReferenceAdapter
from dshconform.adapters.vacuous import VACUOUS, sorted_rows
from dshconform.checks.catalog import all_checks
from dshconform.cli.vacuity import judge_vacuous, passed
from dshconform.contracts.table import TableCheck
from dshconform.links.in_process import InProcessAdapter, InProcessLink
from dshconform.protocol.messages import Row
from dshconform.running.check import Outcome, RunContext
from dshconform.running.ledger import Ledger
from dshconform.running.verdict import Verdict, runnable
from dshconform.running.world import Exchange, new_world
from dshconform.scenarios.check import ScenarioCheck
from dshconform.scenarios.load import Scenario
from dshconform.spec import Profile
from dshconform.trace.rows import is_compared, row_subject


@pytest.fixture(autouse=True)
def quick() -> Iterator[None]:
    """Thousands of commands, of which the types are checked elsewhere."""
    with suppress_type_checks():
        yield


@pytest.mark.long
@pytest.mark.parametrize("name", EMPTY)
def test_nothing_passes_without_an_implementation(name: str) -> None:
    """Whatever it declares, and with every promise of the protocol kept: no `must` clause has the status pass.

    Each check finds a difference; the largest grid has 480 prologues, so behind these are examples of every machine.
    """
    result = judge_vacuous(name, examples=600)
    assert result.complete, result.fault
    assert set(result.hello.profiles) == set(map(str, Profile))
    assert passed(result) == ()
    assert result.judgement.verdict is Verdict.NOT_CONFORMANT
    assert [outcome.check for outcome in result.outcomes if not outcome.failures] == []
    machines = [outcome for outcome in result.outcomes if outcome.check.startswith("machine/")]
    assert all(outcome.examples > outcome.prologues for outcome in machines)


def test_they_are_known_by_name() -> None:
    """Each can be judged, replayed and asked about as any other implementation."""
    assert {*EMPTY, SORTING} == set(VACUOUS) <= set(IMPLEMENTATIONS)


# ---------------------------------------------------------------------- order


def scenarios() -> Iterator[Scenario]:
    """Those that the reference can play, and the cells of the tables."""
    with InProcessLink(ReferenceAdapter()) as link:
        hello = link.hello
    for check in all_checks():
        if isinstance(check, ScenarioCheck) and runnable(check, hello):
            yield check.scenario
        elif isinstance(check, TableCheck):
            yield from check.cells


def orders_are_told_apart(scenario: Scenario) -> bool:
    """Whether some reply has different things to compare, in an order that sorting would change."""
    found: list[bool] = []

    def look(exchange: Exchange) -> None:
        expect = exchange.step.expect
        if expect.rows is None or expect.apart:
            return
        rows = [row for row in exchange.reply.observed if is_compared(row, expect.only)]
        found.append(titles(rows) != titles(sorted_rows(rows)))

    with InProcessLink(ReferenceAdapter()) as link:
        world = new_world(link, Ledger(), show=look)
        world.perform_all(scenario.worlds[0])
        world.close()
    return any(found)


def titles(rows: Sequence[Row]) -> list[tuple[str, str | None]]:
    """What rows tell of; of neighbouring aborts no order is demanded."""
    return [(str(row["on"]), row_subject(row)) for row in rows if row["on"] != "abort"]


def fails(scenario: Scenario, adapter: InProcessAdapter) -> bool:
    outcome = Outcome(check=scenario.id)
    with InProcessLink(adapter) as link:
        context = RunContext(link=link, ledger=Ledger(), seed=1, examples=1, progress=lambda _: None)
        ScenarioCheck(scenario).run(context, outcome)
    return bool(outcome.failures)


@pytest.mark.long
def test_whoever_sorts_what_happens_fails_wherever_an_order_is_demanded() -> None:
    """The reference with its rows sorted holds where nothing has an order, and nowhere else."""
    ordered = [scenario for scenario in scenarios() if orders_are_told_apart(scenario)]
    assert len(ordered) > 300
    assert [scenario.id for scenario in ordered if not fails(scenario, VACUOUS[SORTING]())] == []
