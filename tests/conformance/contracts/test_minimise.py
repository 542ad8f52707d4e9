"""The minimiser finds the shortest failing list, and asks for no more replays than it may."""

from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dshconform.contracts.minimise import minimise

Fails = Callable[[Sequence[int]], Sequence[int] | None]


def needing(*wanted: int) -> Fails:
    """Fails as soon as all of some numbers have come, in any order."""

    def fails(items: Sequence[int]) -> Sequence[int] | None:
        missing = set(wanted)
        for at, item in enumerate(items, 1):
            missing.discard(item)
            if not missing:
                return items[:at]
        return None

    return fails


@given(st.lists(st.integers(0, 9), max_size=40), st.sets(st.integers(0, 9), min_size=1, max_size=4))
def test_only_what_the_failure_needs_is_left(noise: list[int], wanted: set[int]) -> None:
    """Whatever stands around it, one of each needed item remains."""
    found = minimise([*noise, *sorted(wanted), *noise], needing(*wanted), limit=5000)
    assert sorted(found) == sorted(wanted)


def test_items_that_can_only_go_together_go_together() -> None:
    """A pair of which neither may stay alone is left out as a pair."""

    def fails(items: Sequence[str]) -> Sequence[str] | None:
        return items if "bug" in items and items.count("open") == items.count("close") else None

    assert minimise(["open", "bug", "close"], fails, limit=100) == ["bug"]


def test_what_was_not_performed_drops_out() -> None:
    """The list that a replay really performed counts, not the one it was given."""

    def fails(items: Sequence[str]) -> Sequence[str] | None:
        performed = [item for item in items if item != "senseless"]
        return performed[: performed.index("bug") + 1] if "bug" in performed and "needed" in performed else None

    assert minimise(["needed", "senseless", "x", "bug", "later"], fails, limit=100) == ["needed", "bug"]


def test_simpler_items_take_the_place_of_others() -> None:
    """When nothing can be left out any more, items are made simpler as long as the failure stays."""

    def fails(items: Sequence[int]) -> Sequence[int] | None:
        return items if sum(items) >= 3 else None

    assert minimise([9], fails, limit=100, simpler=lambda item: [item - 1] if item else []) == [3]


def test_simplifying_may_make_another_item_needless() -> None:
    """After a simpler item was found, leaving out is tried again."""

    def fails(items: Sequence[str]) -> Sequence[str] | None:
        return items if "a" in items or ("A" in items and "b" in items) else None

    found = minimise(["A", "b"], fails, limit=100, simpler=lambda item: [item.lower()] if item.isupper() else [])
    assert found == ["a"]


@pytest.mark.parametrize("limit", [0, 1, 7, 30])
def test_the_number_of_replays_is_bounded(limit: int) -> None:
    """With the limit used up, the shortest list so far is the answer; it fails."""
    replays: list[Sequence[int]] = []
    fails = needing(3, 50, 97)

    def counted(items: Sequence[int]) -> Sequence[int] | None:
        replays.append(items)
        return fails(items)

    found = minimise(list(range(100)), counted, limit=limit)
    assert len(replays) <= limit
    assert fails(found) is not None
    assert len(found) < 98 if limit > 1 else len(found) == 100  # the first half is needed


def test_a_failure_that_needs_everything_is_left_alone() -> None:
    """Nothing is lost from a list that is minimal already."""
    assert minimise([1, 2, 3], needing(1, 2, 3), limit=100) == [1, 2, 3]
