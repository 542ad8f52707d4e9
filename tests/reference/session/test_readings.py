"""The open maps of a log: what the core writes is read as what it is, and everything else is passed over."""

from typing import Any

import pytest
from tests.reference.toolbox import Toolbox, calls
from tests.reference.world import World, text

from dshcore.json import freeze
from dshcore.session import SESSION_EVENTS, TURN_END_REASONS, TURN_TRIGGERS
from dshcore.session.readings import (
    Aborted,
    Blocked,
    ByInjection,
    ByMessage,
    ByRetry,
    Completed,
    CutAtCeiling,
    EndReason,
    Failed,
    Interrupted,
    LoggedEvent,
    StepStarted,
    ToolCalled,
    Trigger,
    TurnEnded,
    TurnStarted,
)
from dshcore.variants import Unknown, Unreadable

PLUGIN = {"kind": "plugin", "plugin": "p"}


def test_every_event_that_a_turn_writes_is_known(world: World) -> None:
    """And read with its place and payload (PATTERN-EXT-01)."""
    world.create()
    Toolbox(world).add("t")
    world.model.follow(calls("c1:t"), text("done"))
    world.followup("A")
    events = world.session().events
    readings = [SESSION_EVENTS.read(event) for event in events]
    assert not [reading for reading in readings if isinstance(reading, Unknown)]
    starts = [reading for reading in readings if isinstance(reading, StepStarted)]
    assert [(start.data.turn, start.data.step) for start in starts] == [(1, 1), (1, 2)]
    [call] = [reading for reading in readings if isinstance(reading, ToolCalled)]
    assert (call.data.call_id, call.data.name) == ("c1", "t")
    last = readings[-1]
    assert isinstance(last, TurnEnded)
    assert TURN_END_REASONS.read(last.data.reason) == Completed()


@pytest.mark.parametrize(
    ("event", "read"),
    [
        ("weather/seen", {"wind": 3}),
        ("turn/started", {"turn": 1}),
    ],
)
def test_event_that_nobody_knows_is_passed_over(event: str, read: Any) -> None:
    """It stays the JSON that it is (PATTERN-EXT-01)."""
    logged = freeze({"type": event, "seq": 0, "time": 1, "data": read})
    assert SESSION_EVENTS.read(logged) == Unknown(event, logged)


def test_a_package_adds_an_event(world: World) -> None:
    """Without a change here; the log takes it in any case (PATTERN-EXT-02), and a second one of its name is refused."""

    class WeatherSeen(LoggedEvent, frozen=True, tag="weather/seen"):
        data: dict[str, Any]

    class Impostor(LoggedEvent, frozen=True, tag="turn/start"):
        data: dict[str, Any]

    world.create()
    event = world.run(lambda: world.session().append("weather/seen", {"wind": 3}))
    unregister = SESSION_EVENTS.register(WeatherSeen)
    assert SESSION_EVENTS.read(event) == WeatherSeen(event["seq"], event["time"], {"wind": 3})
    unregister()
    assert isinstance(SESSION_EVENTS.read(event), Unknown)
    with pytest.raises(ValueError, match='"turn/start" is already registered'):  # PATTERN-EXT-04
        SESSION_EVENTS.register(Impostor)


@pytest.mark.parametrize(
    ("trigger", "reading"),
    [
        ({"kind": "message", "source": {"kind": "user"}}, ByMessage(freeze({"kind": "user"}))),
        ({"kind": "retry"}, ByRetry()),
        ({"kind": "injection", "source": PLUGIN}, ByInjection(freeze(PLUGIN))),
    ],
)
def test_triggers(trigger: dict[str, Any], reading: Trigger) -> None:
    """Read from the start of a stored turn (ruling R-09)."""
    event = freeze({"type": "turn/start", "seq": 0, "time": 1, "data": {"turn": 1, "trigger": trigger}})
    started = SESSION_EVENTS.read(event)
    assert isinstance(started, TurnStarted)
    assert isinstance(started.data.trigger, dict)
    assert TURN_TRIGGERS.read(started.data.trigger) == reading


@pytest.mark.parametrize(
    ("reason", "reading"),
    [
        ({"kind": "completed"}, Completed()),
        ({"kind": "aborted"}, Aborted()),
        ({"kind": "aborted", "reason": {"kind": "user"}}, Aborted({"kind": "user"})),
        ({"kind": "blocked"}, Blocked()),
        ({"kind": "error", "error": {"message": "m", "code": "X"}}, Failed(freeze({"message": "m", "code": "X"}))),
        ({"kind": "max-tokens"}, CutAtCeiling()),
        ({"kind": "interrupted"}, Interrupted()),
    ],
)
def test_end_reasons(reason: dict[str, Any], reading: EndReason) -> None:
    """Whoever wrote them (ruling R-01)."""
    assert TURN_END_REASONS.read(freeze(reason)) == reading


def test_known_name_with_other_members() -> None:
    """It is not read as something that it is not."""
    with pytest.raises(Unreadable, match='malformed "error"'):
        TURN_END_REASONS.read(freeze({"kind": "error"}))
    assert isinstance(TURN_TRIGGERS.read(freeze({"kind": "clock"})), Unknown)
