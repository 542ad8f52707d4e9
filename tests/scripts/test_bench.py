"""`scripts/bench.py`: what is measured, how it is told, and when `--check` fails. Never how fast this machine is."""

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import bench
import pytest
from benching import growth, measuring, rates
from benching.sides import Direct, Linked

from dshconform.adapters.reference.adapter import ReferenceAdapter
from dshconform.links.in_process import InProcessLink


class Ticking:
    """A clock that moves when it is looked at."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 1.0
        return self.now


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few turns, small inboxes, short blocks."""
    for name, value in {"TURNS": (2, 6), "PENDING": (2, 6), "TURNS_IN_BLOCK": 2, "EDITS_IN_BLOCK": 2}.items():
        monkeypatch.setattr(growth, name, value)
    for name in ("TURNS", "COMMANDS", "BLOCKS"):
        monkeypatch.setattr(rates, name, 2)


@pytest.fixture
def direct(request: pytest.FixtureRequest) -> Callable[[], Direct]:
    """Makes sides of the reference itself."""

    def make() -> Direct:
        side = Direct()
        request.addfinalizer(side.close)
        side.clock = Ticking()
        return side

    return make


@pytest.fixture
def linked(request: pytest.FixtureRequest) -> Callable[[], Linked]:
    """Makes sides behind the reference's adapter."""

    def make() -> Linked:
        side = Linked(InProcessLink(ReferenceAdapter()), "reference, link", Ticking())
        request.addfinalizer(side.close)
        return side

    return make


@pytest.mark.usefixtures("few")
def test_every_kind_of_turn_gives_a_figure(direct: Callable[[], Direct], linked: Callable[[], Linked]) -> None:
    """With the turns that it is about; what tells the history is not limited."""
    figures = [
        *growth.growth_of_turns(direct(), direct(), growth.DIRECT, 1, 1.3),
        *growth.growth_of_turns(linked(), linked(), growth.LINKED, 1, 1.3),
    ]
    kinds = [(kind.what, kind.checked) for kind in growth.DIRECT] + [(one.what, one.checked) for one in growth.LINKED]
    assert [(one.what, one.limit == 1.3) for one in figures] == kinds
    assert all((one.small, one.large) == (2, 6) and one.ratio > 0 for one in figures)


@pytest.mark.usefixtures("few")
def test_every_edit_leaves_as_many_waiting_as_before(
    direct: Callable[[], Direct], linked: Callable[[], Linked]
) -> None:
    """Else the sizes would not be those that the figures name."""
    for side in (direct(), linked()):
        waiting = growth.Waiting(side, 6)
        for edit in growth.EDITS.values():
            edit(waiting)
            assert side.waiting() == waiting.ids
            assert len(waiting.ids) == 6
    assert [one.what for one in growth.growth_of_edits(direct(), direct(), 1, 1.5)] == list(growth.EDITS)


@pytest.mark.usefixtures("few")
def test_rates_are_told_of_what_the_side_can_do(direct: Callable[[], Direct], linked: Callable[[], Linked]) -> None:
    """Turns and appends of both, commands of a link."""
    assert [one.what for one in rates.rates(direct())] == ["one-chunk turns", "appends"]
    assert [one.what for one in rates.rates(linked())][2:] == ["commands (agent.inspect)"]


def test_a_ratio_is_the_median_of_pairs_behind_a_warming_one() -> None:
    """The first pair does not count, and the sides take turns in going first."""
    order: list[str] = []

    def take(name: str, of: Iterator[float]) -> float:
        order.append(name)
        return next(of)

    small = partial(take, "small", iter([99.0, 1.0, 2.0, 4.0]))
    large = partial(take, "large", iter([99.0, 1.0, 6.0, 8.0]))
    assert measuring.compare(3, small, large) == (2.0, 6.0, 2.0)
    assert order == ["large", "small", "small", "large", "large", "small", "small", "large"]


@pytest.mark.parametrize(("ratio", "status"), [(1.31, 1), (1.3, 0)])
def test_check_fails_when_a_limit_is_exceeded(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], ratio: float, status: int
) -> None:
    """The line shows it, the figure is named, and every line fits 80 columns."""
    limited = measuring.Growth("reference, direct", "one-chunk turn, compacted", 50, 5_000, 1_234.5, 9e4, ratio, 1.3)
    free = measuring.Growth("dsh-node, link", "one-chunk turn, told", 50, 5_000, 1.0, 99.0, 99.0, None)
    figures: list[measuring.Growth | measuring.Rate] = [
        limited,
        free,
        measuring.Rate("dsh-node, link", "appends", 12.0),
    ]

    def measured(*_: Sequence[object]) -> Iterator[object]:
        return iter(figures)

    monkeypatch.setattr(bench, "_figures", measured)
    monkeypatch.setattr(sys, "argv", ["bench.py", "growth", "--check"])
    assert bench.main() == status
    told = capsys.readouterr()
    assert ("1.31 > 1.3" in told.out) == bool(status)
    assert ("grows more than it may: reference, direct, one-chunk turn, compacted" in told.err) == bool(status)
    assert max(map(len, told.out.splitlines())) <= 80
    monkeypatch.setattr(sys, "argv", ["bench.py", "growth", "--json"])
    assert bench.main() == 0
    assert [one["subject"] for one in json.loads(capsys.readouterr().out)] == [one.subject for one in figures]
