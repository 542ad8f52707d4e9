import asyncio
import gc
import logging
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import pytest

from dshcore.context import CarrierMissing, Context
from dshcore.events import Emit
from dshcore.settling import SettlingLoop


@dataclass(frozen=True)
class Told:
    subject: str


TOLD: Final = Emit[str]("told", scoped=False)
CONTAINED: Final = Emit[Told]("thing/told", scoped=False, contained=True, report='thing "{payload.subject}": {name}')
SCOPED: Final = Emit[str]("scoped")


def fail(_: object) -> None:
    raise ValueError("no")


async def fail_later(_: object) -> None:
    await asyncio.sleep(0)
    raise KeyError("late")


class Ear:
    """Records what it hears, under the name of the listener."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, object]] = []

    def __call__(self, name: str) -> Callable[[object], object]:
        return lambda payload: self.heard.append((name, payload))

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.heard]


def test_listeners_are_called_in_order_and_answers_are_ignored(caplog: pytest.LogCaptureFixture) -> None:
    """EVT-EMIT-01, EVT-ON-01: registration order, whatever the context; prepended ones go before earlier prepended."""
    root, ear = Context(), Ear()
    other = root.open(scope="other")
    root.on(TOLD, lambda _: (ear("a")(_), True))
    other.on(TOLD, ear("b"))
    root.on(TOLD, ear("p1"), prepend=True)
    root.on(TOLD, ear("c"))
    other.on(TOLD, ear("p2"), prepend=True)
    root.emit(TOLD, "x")
    assert ear.heard == [(name, "x") for name in ("p2", "p1", "a", "b", "c")]
    assert caplog.messages == []


def test_each_registration_is_separate() -> None:
    """EVT-ON-02: the same callback twice is called twice; a disposer removes its own entry, once."""
    root, ear = Context(), Ear()
    same = ear("a")
    root.on(TOLD, same)
    root.on(TOLD, ear("b"))
    last = root.on(TOLD, same)
    root.emit(TOLD, "x")
    assert ear.names == ["a", "b", "a"]
    assert last() is None
    last()
    ear.heard.clear()
    root.emit(TOLD, "x")
    assert ear.names == ["a", "b"]


def test_two_keys_are_two_events_whatever_their_names() -> None:
    root, ear = Context(), Ear()
    root.on(Emit[str]("told"), ear("other"))
    root.emit(TOLD, "x")
    assert ear.heard == []


def test_the_audience_is_fixed_when_the_dispatch_starts() -> None:
    """EVT-SNAP-01, EVENTS-EMIT-02: one added meanwhile is not called, one removed meanwhile still is."""
    root, ear = Context(), Ear()

    def change(_: object) -> None:
        second()
        root.on(TOLD, ear("third"))
        root.on(TOLD, ear("front"), prepend=True)

    root.on(TOLD, change, once=True)
    second = root.on(TOLD, ear("second"))
    root.emit(TOLD, "x")
    assert ear.names == ["second"]
    root.emit(TOLD, "y")
    assert ear.names == ["second", "front", "third"]


def test_a_dispatch_inside_a_listener_ends_before_the_outer_goes_on() -> None:
    """EVT-NEST-01."""
    root, ear = Context(), Ear()

    def first(payload: object) -> None:
        ear("1")(payload)
        if payload == "outer":
            root.emit(TOLD, "inner")

    root.on(TOLD, first)
    root.on(TOLD, ear("2"))
    root.emit(TOLD, "outer")
    assert ear.heard == [("1", "outer"), ("1", "inner"), ("2", "inner"), ("2", "outer")]


@pytest.mark.parametrize("fails", [False, True])
def test_a_once_listener_is_removed_before_it_is_called(fails: bool) -> None:
    """EVT-ONCE-01: also when it fails or dispatches the event itself."""
    root, ear = Context(), Ear()

    def once(payload: object) -> None:
        ear("once")(payload)
        root.emit(TOLD, "again")
        if fails:
            raise ValueError("no")

    root.on(TOLD, once, once=True)
    if fails:
        with pytest.raises(ValueError, match="no"):
            root.emit(TOLD, "x")
    else:
        root.emit(TOLD, "x")
    root.emit(TOLD, "y")
    assert ear.heard == [("once", "x")]


def test_a_failing_listener_ends_a_plain_emit() -> None:
    """EVT-EMIT-02: later listeners are not called and the failure reaches the emitter."""
    root, ear = Context(), Ear()
    root.on(TOLD, ear("1"))
    root.on(TOLD, fail)
    root.on(TOLD, ear("3"))
    with pytest.raises(ValueError, match="no"):
        root.emit(TOLD, "x")
    assert ear.names == ["1"]


@pytest.mark.parametrize(
    ("failing", "text"),
    [
        (fail, "threw: ValueError: no"),
        (fail_later, "rejected: KeyError: 'late'"),
        (lambda _: (_ for _ in ()).throw(asyncio.CancelledError()), "threw: CancelledError"),
    ],
)
def test_a_contained_failure_is_logged_and_starves_nobody(
    loop: SettlingLoop, caplog: pytest.LogCaptureFixture, failing: Callable[[object], object], text: str
) -> None:
    """EVENTS-EMIT-01: the line names the event as its key declares it."""
    root, ear = Context(), Ear()
    root.on(CONTAINED, failing)
    root.on(CONTAINED, ear("after"))
    loop.call_soon(lambda: root.emit(CONTAINED, Told("t1")))
    with caplog.at_level(logging.WARNING):
        loop.settle()
    assert ear.names == ["after"]
    assert caplog.messages == [f'thing "t1": thing/told listener {text}']
    assert caplog.records[0].exc_info is not None


def test_a_late_failure_of_a_plain_emit_is_logged_too(loop: SettlingLoop, caplog: pytest.LogCaptureFixture) -> None:
    """EVT-EMIT-03: it neither reaches the emitter nor affects others."""
    root, ear = Context(), Ear()
    root.on(TOLD, fail_later)
    root.on(TOLD, ear("after"))
    loop.call_soon(lambda: root.emit(TOLD, "x"))
    with caplog.at_level(logging.WARNING):
        loop.settle()
    assert ear.names == ["after"]
    assert caplog.messages == ["told listener rejected: KeyError: 'late'"]


def test_an_asynchronous_listener_begins_in_the_emit_and_runs_to_its_end(loop: SettlingLoop) -> None:
    """EVT-EMIT-03: nobody waits for it."""
    root, trace, gate = Context(), [], loop.create_future()

    async def listen(_: object) -> None:
        trace.append("began")
        await gate
        trace.append("ended")

    def tell() -> None:
        root.emit(TOLD, "x")
        trace.append("emitted")

    root.on(TOLD, listen)
    loop.call_soon(tell)
    loop.settle()
    assert trace == ["began", "emitted"]
    gate.set_result(None)
    loop.settle()
    assert trace == ["began", "emitted", "ended"]


def test_an_asynchronous_listener_is_kept_alive_until_it_ends(loop: SettlingLoop) -> None:
    """Nobody else may hold it: asyncio itself does so only weakly. Once ended it is let go."""
    root, events = Context(), list[weakref.ref[asyncio.Event]]()

    async def listen(_: object) -> None:
        event = asyncio.Event()
        events.append(weakref.ref(event))
        await event.wait()

    root.on(TOLD, listen)
    loop.call_soon(lambda: root.emit(TOLD, "x"))
    loop.settle()
    gc.collect()
    event = events[0]()
    assert event is not None
    event.set()
    loop.settle()
    assert not root._app.listeners._unawaited


def test_any_awaitable_is_run(loop: SettlingLoop, caplog: pytest.LogCaptureFixture) -> None:
    """A future, or an object with `__await__`, as well as a coroutine."""
    root, failed = Context(), loop.create_future()
    root.on(TOLD, lambda _: failed)
    loop.call_soon(lambda: root.emit(TOLD, "x"))
    loop.settle()
    failed.set_exception(ValueError("no"))
    with caplog.at_level(logging.WARNING):
        loop.settle()
    assert caplog.messages == ["told listener rejected: ValueError: no"]


def test_a_cancellation_of_its_own_making_is_a_listeners_failure(
    loop: SettlingLoop, caplog: pytest.LogCaptureFixture
) -> None:
    root = Context()

    async def listen(_: object) -> None:
        await asyncio.sleep(0)
        raise asyncio.CancelledError

    root.on(TOLD, listen)
    loop.call_soon(lambda: root.emit(TOLD, "x"))
    with caplog.at_level(logging.WARNING):
        loop.settle()
    assert caplog.messages == ["told listener rejected: CancelledError"]


def test_a_host_that_ends_the_program_makes_no_noise(caplog: pytest.LogCaptureFixture) -> None:
    """A listener that the host cancels has not failed."""
    root = Context()
    root.on(TOLD, lambda _: asyncio.Event().wait())

    async def main() -> None:
        root.emit(TOLD, "x")

    with caplog.at_level(logging.WARNING):
        asyncio.run(main())
    assert caplog.messages == []


def test_an_asynchronous_listener_without_a_loop_is_reported(caplog: pytest.LogCaptureFixture) -> None:
    """It never could run; synchronous listeners need no loop."""
    root, ear = Context(), Ear()
    root.on(TOLD, fail_later)
    root.on(TOLD, ear("after"))
    with caplog.at_level(logging.WARNING):
        root.emit(TOLD, "x")
    assert ear.names == ["after"]
    assert caplog.messages == ["told listener rejected: RuntimeError: no running event loop"]


def test_an_event_about_a_scope_has_to_say_which() -> None:
    """SCOPE-CHECK-01: without a carrier nobody is called."""
    root, ear = Context(), Ear()
    root.on(SCOPED, ear("a"))
    with pytest.raises(CarrierMissing, match="scoped was dispatched without a carrier") as missing:
        root.emit(SCOPED, "x")
    assert (missing.value.code, ear.heard) == ("INVARIANT", [])


def test_listeners_of_an_ended_context_are_silent(loop: SettlingLoop) -> None:
    """EVT-ON-03, CTX-DEAD-01: it refuses registrations and still dispatches."""
    root, ear = Context(), Ear()
    a = root.open(scope="a")
    a.on(TOLD, ear("a"), global_=True)
    root.on(TOLD, ear("plain"))

    async def main() -> None:
        await a.dispose()

    loop.run_until_complete(main())
    a.emit(TOLD, "x")
    assert ear.names == ["plain"]


def test_registering_changes_nothing_for_a_listener_list_that_became_empty() -> None:
    root, ear = Context(), Ear()
    root.on(TOLD, ear("a"))()
    root.emit(TOLD, "x")
    root.on(TOLD, ear("b"))
    root.emit(TOLD, "y")
    assert ear.heard == [("b", "y")]


def test_a_report_that_cannot_be_made_does_not_fail_the_emitter(caplog: pytest.LogCaptureFixture) -> None:
    """EVENTS-EMIT-01: the log names the event by its name then."""
    key = Emit[str]("thing/told", scoped=False, contained=True, report="{payload.subject}")
    root, heard = Context(), list[str]()

    def fail(_: str) -> None:
        raise ValueError("no")

    root.on(key, fail)
    root.on(key, heard.append)
    root.emit(key, "x")
    assert (heard, caplog.messages) == (["x"], ["thing/told listener threw: ValueError: no"])
