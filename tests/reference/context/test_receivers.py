"""Receivers of a dispatch, and observers of all dispatches."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final

import pytest
from tests.reference.stage import Stage
from typeguard import suppress_type_checks

from dshcore.context import DISPATCH, CarrierForeign, Context, Dispatch, InvalidListener, ServiceKey
from dshcore.events import Emit, Parallel, Serial, Waterfall

TOLD: Final = Emit[str]("told", scoped=False)
ASK: Final = Serial[str, str]("ask", scoped=False)
FLUSH: Final = Parallel[str]("flush", scoped=False)
RENDER: Final = Waterfall[str, str]("render", scoped=False)
INTERNAL: Final = Emit[str]("internal/thing", scoped=False)
MARK: Final = ServiceKey[str]("mark")


@dataclass
class Filter:
    """A receiver that asks a function."""

    ask: Callable[[Context], bool]

    def admits(self, context: Context) -> bool:
        return self.ask(context)


def asking(stage: Stage) -> Filter:
    """A receiver that admits everybody and writes a row for each."""

    def ask(_: Context) -> bool:
        stage.rows.append("asked")
        return True

    return Filter(ask)


def dispatches(stage: Stage, to: Filter | None) -> list[Callable[[], Any]]:
    """One dispatch of each mode."""
    root = stage.root
    return [
        lambda: root.emit(TOLD, "x", to=to),
        lambda: root.serial(ASK, "x", to=to),
        lambda: root.parallel(FLUSH, "x", to=to),
        lambda: root.waterfall(RENDER, "x", lambda: "d", to=to),
    ]


def listen(stage: Stage, ctx: Context, name: str, *, global_: bool = False) -> None:
    async def later(_: object) -> None:
        stage.rows.append(name)

    def wraps(_: object, next_: Callable[[], str]) -> str:
        stage.rows.append(name)
        return next_()

    ctx.on(TOLD, stage.note(name), global_=global_)
    ctx.on(ASK, later, global_=global_)
    ctx.on(FLUSH, later, global_=global_)
    ctx.on(RENDER, wraps, global_=global_)


@pytest.mark.parametrize("mode", range(4))
def test_a_receiver_decides_by_where_a_listener_was_registered(stage: Stage, mode: int) -> None:
    """EVT-FILT-01, EVT-FILT-02: whoever dispatches; a global listener is called regardless, while its owner lives."""
    marked = stage.root.open(name="m").derive(MARK, "x")
    listen(stage, stage.root, "plain")
    listen(stage, marked, "marked")
    listen(stage, marked, "everywhere", global_=True)
    has_mark, refuses = Filter(lambda ctx: ctx is marked), Filter(lambda _: False)
    stage.start(dispatches(stage, None)[mode])
    assert stage.take() == ["plain", "marked", "everywhere"]
    stage.start(dispatches(stage, has_mark)[mode])
    assert stage.take() == ["marked", "everywhere"]
    stage.start(dispatches(stage, refuses)[mode])
    assert stage.take() == ["everywhere"]
    assert stage.root.reaches(TOLD, to=refuses)
    stage.start(marked.dispose)
    stage.take()
    stage.start(dispatches(stage, refuses)[mode])
    assert stage.take() == []
    assert (stage.root.reaches(TOLD, to=refuses), stage.root.reaches(TOLD)) == (False, True)


@pytest.mark.parametrize("mode", range(4))
def test_receivers_are_asked_before_anybody_is_called(stage: Stage, mode: int) -> None:
    """EVT-SNAP-02: one that fails ends the dispatch with nobody called, as a rejection where it is awaited."""
    listen(stage, stage.root, "a")
    listen(stage, stage.root, "b")
    asked = asking(stage)
    stage.start(dispatches(stage, asked)[mode])
    assert stage.take() == ["asked", "asked", "a", "b"]
    answers = iter([True])
    failing = dispatches(stage, Filter(lambda _: next(answers)))[mode]
    if mode in (1, 2):
        awaitable: Awaitable[object] = stage.run(lambda: [failing()])[0]
        failure = stage.start(lambda: awaitable).exception()
    else:
        failure = stage.start(failing).exception()
    assert isinstance(failure, (StopIteration, RuntimeError))
    assert stage.take() == []


def test_observers_are_told_of_every_dispatch_before_its_audience_is_settled(stage: Stage) -> None:
    """EVT-INT-01: also where nobody listens; notifications of the framework are not reported."""
    seen: list[Dispatch] = []

    def observe(dispatch: Dispatch) -> None:
        stage.rows.append(dispatch.name)
        seen.append(dispatch)

    stop = stage.root.on(DISPATCH, observe)
    payload = "the very payload"
    receiver = asking(stage)
    stage.root.emit(TOLD, payload)
    listen(stage, stage.root, "heard")
    for dispatch in dispatches(stage, receiver):
        stage.start(dispatch)
    stage.root.emit(INTERNAL, "x")
    assert stage.take() == [
        "told",
        *(row for name in ("told", "ask", "flush", "render") for row in (name, "asked", "heard")),
    ]
    assert [(one.mode, one.receiver) for one in seen] == [
        ("emit", None),
        ("emit", receiver),
        ("serial", receiver),
        ("parallel", receiver),
        ("waterfall", receiver),
    ]
    assert seen[0].payload is payload
    stop()
    stage.root.emit(TOLD, payload)
    assert len(seen) == 5


@pytest.mark.parametrize("mode", range(4))
def test_an_observer_that_fails_ends_the_dispatch(stage: Stage, mode: int) -> None:
    """EVT-INT-02: nobody is called; the awaited modes fail when they are awaited."""

    def observe(_: Dispatch) -> None:
        raise ValueError("no")

    listen(stage, stage.root, "heard")
    stage.root.on(DISPATCH, observe)
    dispatch = dispatches(stage, None)[mode]
    if mode in (1, 2):
        awaitable: Awaitable[object] = stage.run(lambda: [dispatch()])[0]
        failure = stage.start(lambda: awaitable).exception()
    else:
        failure = stage.start(dispatch).exception()
    assert (str(failure), stage.rows) == ("no", [])


def test_a_listener_of_a_waiting_fiber_hears(stage: Stage) -> None:
    """EVT-ON-03: until the fiber's unload reaches it."""
    waiting = stage.mount("w", requires=[MARK])
    waiting.on(TOLD, stage.note("heard"))
    stage.root.emit(TOLD, "x")
    stage.dispose(waiting)
    stage.root.emit(TOLD, "x")
    assert stage.rows.count("heard") == 1


def test_an_emit_in_two_parts_settles_its_audience_in_the_first(stage: Stage) -> None:
    """EVT-SNAP-01, EVT-INT-02: observers may prevent it; nobody is called before the second part."""
    told: list[str] = []

    def observe(dispatch: Dispatch) -> None:
        told.append(dispatch.name)
        if dispatch.payload == "no":
            raise ValueError("no")

    stage.root.on(DISPATCH, observe)
    first = stage.root.on(TOLD, stage.note("a"))
    deliver = stage.root.prepare(TOLD, "x")
    first()
    stage.root.on(TOLD, stage.note("b"))
    assert (told, stage.rows) == (["told"], [])
    deliver()
    assert stage.rows == ["a"]
    with pytest.raises(ValueError, match="no"):
        stage.root.prepare(TOLD, "no")


def test_a_receiver_that_the_payload_decides_cannot_be_given(stage: Stage) -> None:
    """SCOPE-EVT-08, SCOPE-CHECK-01: also one that admits everybody; nobody is called."""
    key = Emit[str]("about", receiver=lambda _: asking(stage))
    stage.root.on(key, stage.note("heard"))
    with pytest.raises(CarrierForeign) as refused:
        stage.root.emit(key, "x", to=asking(stage))
    assert (stage.take(), refused.value.code) == ([], "INVARIANT")
    stage.root.emit(key, "x")
    assert stage.take() == ["asked", "heard"]


def test_a_listener_that_cannot_be_called_is_refused_at_once(stage: Stage) -> None:
    """EVT-ON-01: not at the first dispatch."""
    owned = len(stage.root.fiber.effects)
    with suppress_type_checks(), pytest.raises(InvalidListener, match="a listener of told cannot be called"):
        stage.root.on(TOLD, None)  # type: ignore[call-overload]  # the point
    assert len(stage.root.fiber.effects) == owned
    stage.root.emit(TOLD, "x")
