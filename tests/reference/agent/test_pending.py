"""One list of pending messages: it reads like a list, and finds by id."""

from hypothesis import given
from hypothesis import strategies as st
from tests.reference.world import message

from dshcore.agent.pending import Pending
from dshcore.json import JsonObject, freeze


def messages(names: list[str]) -> list[JsonObject]:
    return [freeze(message(name)) for name in names]


def agrees(pending: Pending, names: list[str]) -> None:
    """Check that a list holds exactly these messages, and finds each."""
    assert [one["id"] for one in pending] == names
    assert len(pending) == len(names)
    assert [pending.place(name) for name in names] == list(range(len(names)))
    assert all(name in pending for name in names)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 3), st.integers(0, 3)), max_size=30))
def test_any_splices_leave_every_message_findable_at_its_place(splices: list[tuple[int, int, int]]) -> None:
    """What a plain list would hold is held, in the same order, and what was taken out is not found."""
    pending, names, made = Pending(), list[str](), 0
    for wanted_start, wanted_count, number in splices:
        start = min(wanted_start, len(names))
        count = min(wanted_count, len(names) - start)
        entering = [f"m{made + index}" for index in range(number)]
        made += number
        removed = names[start : start + count]
        assert [one["id"] for one in pending.part(start, count)] == removed
        pending.splice(start, count, messages(entering))
        names[start : start + count] = entering
        agrees(pending, names)
        assert not any(name in pending or pending.place(name) is not None for name in removed)


def test_there_is_always_room_between_two_messages() -> None:
    """However often something is put at the same place, in one piece or one by one, from the left or from the right."""
    for leftwards in (True, False):
        pending, names = Pending(), ["first", "last"]
        pending.splice(0, 0, messages(names))
        for number in range(200):
            place = 1 if leftwards else len(names) - 1
            pending.splice(place, 0, messages([f"m{number}"]))
            names.insert(place, f"m{number}")
        many = [f"n{number}" for number in range(100)]
        pending.splice(1, 0, messages(many))
        agrees(pending, [names[0], *many, *names[1:]])


def test_a_message_may_take_the_place_of_one_with_the_same_id() -> None:
    """The one that is taken out goes first."""
    pending = Pending()
    pending.splice(0, 0, messages(["a", "b", "c"]))
    changed = freeze({**message("b"), "content": []})
    pending.splice(1, 1, [changed])
    agrees(pending, ["a", "b", "c"])
    assert pending.part(1, 1) == (changed,)
