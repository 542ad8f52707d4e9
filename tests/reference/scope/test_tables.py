"""Tables: order, exact undos, and walks while they change."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dshcore.scope import ListTable, NamedTable


def test_a_name_that_was_free_again_stands_last() -> None:
    """LAYER-DUP-02."""
    table = NamedTable[int]()
    undo = table.insert("p", 1)
    table.insert("q", 2)
    undo()
    table.insert("p", 3)
    assert (list(table), list(table.values()), table.get("p"), table.get("x")) == (["q", "p"], [2, 3], 3, None)


def test_equal_entries_are_separate() -> None:
    """LAYER-ENTRY-01: each undo takes out its own."""
    table = ListTable[str]()
    first, second = table.append("same"), table.append("same")
    assert list(table) == ["same", "same"]
    first()
    first()
    assert list(table) == ["same"]
    second()
    assert table.is_empty


def test_a_taken_name_is_refused() -> None:
    """LAYER-DUP-02: by name; the entry stays."""
    table = NamedTable[int]()
    table.insert("p", 1)
    with pytest.raises(ValueError, match="the name 'p' is taken"):
        table.insert("p", 2)
    assert list(table.items()) == [("p", 1)]


def test_an_undo_takes_out_nothing_but_its_entry() -> None:
    """LAYER-ENTRY-02: called again after the name was registered anew."""
    table = NamedTable[int]()
    undo = table.insert("p", 1)
    undo()
    table.insert("p", 2)
    undo()
    assert list(table.items()) == [("p", 2)]
    assert "p" in table


def test_a_walk_is_live() -> None:
    """LAYER-ITER-01: what is added is reached, what is removed is skipped."""
    table = NamedTable[int]()
    table.insert("first", 1)
    second = table.insert("second", 2)
    seen: list[str] = []
    for name in table:
        seen.append(name)
        if name == "first":
            table.insert("third", 3)
            second()
    assert seen == ["first", "third"]


def test_a_walk_goes_on_from_an_entry_that_is_gone() -> None:
    """LAYER-ITER-01: also where that was the last one, and the ones before it are gone as well."""
    table = ListTable[int]()
    undos = [table.append(n) for n in range(3)]
    seen: list[int] = []
    for entry in table:
        seen.append(entry)
        if entry == 2:
            undos[2]()
            undos[1]()
            table.append(3)
            undos[0]()
    assert seen == [0, 1, 2, 3]


def test_an_entry_that_is_removed_and_inserted_anew_is_reached_again() -> None:
    """LAYER-ITER-01: as long as the table was never empty."""
    table = NamedTable[int]()
    undo = table.insert("a", 1)
    table.insert("b", 2)
    seen: list[str] = []
    for name in table:
        seen.append(name)
        if len(seen) == 1:
            undo()
            table.insert("a", 3)
    assert seen == ["a", "b", "a"]


def test_a_walk_ends_where_the_table_becomes_empty() -> None:
    """LAYER-ITER-02: an entry that replaces itself is reached by the next walk."""
    table = NamedTable[int]()
    undos = [table.insert("a", 1)]
    seen: list[int] = []
    for value in table.values():
        seen.append(value)
        undos.pop()()
        undos.append(table.insert("a", value + 1))
    assert seen == [1]
    assert list(table.values()) == [2]


def test_a_walk_that_has_ended_stays_ended() -> None:
    table = ListTable[int]()
    table.append(1)
    walk = iter(table)
    assert list(walk) == [1]
    table.append(2)
    assert list(walk) == []


@given(st.lists(st.tuples(st.sampled_from(["add", "remove", "step"]), st.integers(0, 7)), max_size=60))
def test_a_walk_reaches_what_a_list_with_gaps_would(acts: list[tuple[str, int]]) -> None:
    """LAYER-ITER-01, LAYER-ITER-02: against a model that keeps the places of what was removed."""
    table, undos = ListTable[int](), list[Callable[[], None]]()
    model: list[int | None] = []
    generation = 0  # where the places of the present generation begin
    walk, place, of_generation, ended = iter(table), 0, -1, False
    for act, which in [*[("add", 0)] * 3, ("step", 0), *acts]:
        if act == "add":
            undos.append(table.append(len(model)))
            model.append(len(model))
        elif act == "remove" and undos:
            index = which % len(undos)
            undos[index]()
            if model[index] is not None:
                model[index] = None
                if all(entry is None for entry in model[generation:]):
                    generation = len(model)
        elif act == "step" and not ended:
            if of_generation < 0:
                of_generation = place = generation
            alive = (entry for entry in model[place:] if entry is not None and of_generation == generation)
            expected = next(alive, None)
            assert next(walk, None) == expected
            place, ended = (0, True) if expected is None else (expected + 1, False)
    assert list(table) == [entry for entry in model if entry is not None]


@pytest.mark.parametrize("table", [NamedTable[int](), ListTable[int]()])
def test_a_new_table_is_empty(table: NamedTable[int] | ListTable[int]) -> None:
    assert table.is_empty
    assert list(table) == []
