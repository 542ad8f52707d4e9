"""What a turn and an inbox operation cost does not depend on how much there was before."""

import sys
from collections.abc import Callable
from functools import partial
from types import FrameType

import pytest
from tests.reference.world import World, message

from dshcore.agent import Inbox


def calls_of(act: Callable[[], object]) -> int:
    """Count the calls, of Python and of C, that something makes."""
    count = 0

    def note(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal count
        count += event in {"call", "c_call"}

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        act()
    finally:
        sys.setprofile(before)
    return count


def test_a_late_turn_makes_no_more_calls_than_an_early_one(world: World) -> None:
    """Whatever walks the log or the history in Python would show; `scripts/bench.py growth` has the times."""
    world.create()
    counts: dict[int, int] = {}
    for turn in range(1, 101):
        run = partial(world.followup, f"m{turn}")
        if turn in (20, 100):
            counts[turn] = calls_of(run)
        else:
            run()
        world.take()
    assert counts[100] - counts[20] < 80, "at least one call for every turn between"


EDITS: dict[str, Callable[[Inbox], object]] = {
    "append": lambda inbox: inbox.append("next-turn", message("new")),
    "prepend": lambda inbox: inbox.prepend("next-step", message("new")),
    "remove": lambda inbox: inbox.remove("m5"),
    "replace": lambda inbox: inbox.replace("m5", message("new")),
    "splice": lambda inbox: inbox.splice("next-turn", 4, 1, [message("new")]),
}


@pytest.mark.parametrize("name", EDITS)
def test_an_operation_makes_no_more_calls_when_much_is_pending(world: World, name: str) -> None:
    """Ten messages or two hundred."""
    counts: list[int] = []
    for size in (9, 10, 200):  # the first warms the caches of the machinery around
        agent = world.create(f"agent{size}")
        waiting = [message(f"m{number}") for number in range(size)]
        agent.inbox.splice("next-turn", 0, 0, waiting)
        world.take()
        counts.append(calls_of(partial(EDITS[name], agent.inbox)))
    assert counts[2] - counts[1] < 190, "at least one call for every message more"
