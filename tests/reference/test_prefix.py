from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dshcore.prefix import Growing, Prefix


def test_what_is_appended_later_does_not_show() -> None:
    items = [1, 2]
    prefix = Prefix(items)
    items.append(3)
    assert list(prefix) == [1, 2]
    assert len(prefix) == 2
    assert 3 not in prefix
    assert prefix[-1] == 2
    assert prefix[1:] == (2,)
    with pytest.raises(IndexError):
        prefix[2]
    with pytest.raises(IndexError):
        prefix[-3]


@given(st.lists(st.integers()), st.lists(st.integers()), st.slices(6), st.integers(-8, 8))
def test_it_reads_like_the_list_that_it_was_taken_from(
    before: list[int], after: list[int], part: slice, at: int
) -> None:
    items = list(before)
    prefix = Prefix(items)
    items.extend(after)
    assert list(prefix) == before
    assert list(reversed(prefix)) == before[::-1]
    assert prefix == before
    assert before == list(prefix)
    assert list(prefix[part]) == before[part]
    if -len(before) <= at < len(before):
        assert prefix[at] == before[at]


def test_it_is_compared_by_content() -> None:
    assert Prefix([1, 2]) == (1, 2) == Prefix([1, 2])
    assert Prefix([1]) != [2]
    assert Prefix([1]) != [1, 2]
    assert Prefix(["a"]) != "a"
    assert repr(Prefix([1])) == "Prefix([1])"
    with pytest.raises(TypeError):
        hash(Prefix([1]))


@given(st.lists(st.integers(0, 5)), st.integers(0, 20))
def test_distinct_values_are_those_of_the_items_that_show(numbers: list[int], length: int) -> None:
    """Over a list that remembers and over one that does not, in whatever order prefixes are asked."""
    growing: Growing[int] = Growing()
    growing.extend(numbers[:length])
    early = Prefix(growing)
    growing.extend(numbers[length:])
    for prefix, shown in ((Prefix(growing), numbers), (early, numbers[:length]), (Prefix(numbers), numbers)):
        assert prefix.distinct(half) == {number // 2 for number in shown}


def half(number: int) -> int:
    return number // 2


def test_each_item_of_a_growing_list_is_looked_at_once() -> None:
    """So what is known of all of history does not cost its length again."""
    looked_at: list[int] = []

    def note(number: int) -> bool:
        looked_at.append(number)
        return True

    growing: Growing[int] = Growing()
    for number in range(3):
        growing.append(number)
        assert Prefix(growing).distinct(note) == {True}
        assert Prefix(growing).distinct(note) == {True}
    assert looked_at == [0, 1, 2]


def test_each_item_of_a_growing_list_is_mapped_once() -> None:
    """By functions that are equal; what was appended behind a view does not show in what was made of it."""
    made: list[int] = []

    @dataclass(frozen=True)
    class Plus:
        number: int

        def __call__(self, item: int) -> int:
            made.append(item)
            return item + self.number

    items: Growing[int] = Growing()
    items.extend([1, 2])
    early = Prefix(items)
    items.append(3)
    assert Prefix(items).mapped(Plus(1)) == [2, 3, 4]
    assert early.mapped(Plus(1)) == [2, 3]
    items.append(4)
    assert Prefix(items).mapped(Plus(1)) == [2, 3, 4, 5]
    assert made == [1, 2, 3, 4]
    assert Prefix(items).mapped(Plus(2)) == [3, 4, 5, 6]
    assert Prefix([1, 2]).mapped(Plus(3)) == [4, 5]
