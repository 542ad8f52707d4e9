import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final

import pytest

from dshcore.context import Context, ListenerCancelled, ListenersFailed
from dshcore.events import Parallel, Serial, Waterfall
from dshcore.settling import SettlingLoop

ASK: Final = Serial[str, object]("ask", scoped=False)
STOPPING: Final = Serial[str, None]("stopping", scoped=False, first_value_wins=False)
FLUSH: Final = Parallel[str]("flush", scoped=False)
DECIDE: Final = Waterfall[str, Awaitable[str]]("decide", scoped=False)
RENDER: Final = Waterfall[str, str]("render", scoped=False)
STREAM: Final = Waterfall[dict[str, int], str]("stream", scoped=False)


def answering(value: object, trace: list[object], name: str) -> Callable[[str], Awaitable[Any]]:
    async def listen(_: str) -> object:
        trace.append(f"{name} in")
        await asyncio.sleep(0)
        trace.append(f"{name} out")
        if isinstance(value, BaseException):
            raise value
        return value

    return listen


def test_serial_awaits_each_listener_before_the_next(loop: SettlingLoop) -> None:
    """EVT-SER-01, EVENTS-SERIAL-02."""
    root, trace = Context(), list[object]()
    for name in "ab":
        root.on(ASK, answering(None, trace, name))
    assert loop.run_until_complete(root.serial(ASK, "x")) is None
    assert trace == ["a in", "a out", "b in", "b out"]


@pytest.mark.parametrize(
    ("value", "wins"), [(None, False), (False, False), (0, True), ("", True), ("text", True), ([], True)]
)
def test_serial_stops_at_the_first_value(loop: SettlingLoop, value: object, wins: bool) -> None:
    """EVT-SER-01: anything but none and false."""
    root, trace = Context(), list[object]()
    root.on(ASK, answering(value, trace, "a"))
    root.on(ASK, answering("last", trace, "b"))
    assert loop.run_until_complete(root.serial(ASK, "x")) == (value if wins else "last")
    assert ("b in" in trace) is not wins


def test_serial_may_ignore_values(loop: SettlingLoop) -> None:
    """EVENTS-SERIAL-01: whatever one answers, those behind it run."""
    root, trace = Context(), list[object]()
    root.on(STOPPING, answering("text", trace, "a"))
    root.on(STOPPING, answering(None, trace, "b"))
    assert loop.run_until_complete(root.serial(STOPPING, "x")) is None
    assert trace == ["a in", "a out", "b in", "b out"]


def test_a_failing_listener_ends_a_serial_dispatch(loop: SettlingLoop) -> None:
    """EVT-SER-02."""
    root, trace = Context(), list[object]()
    root.on(STOPPING, answering(ValueError("no"), trace, "a"))
    root.on(STOPPING, answering(None, trace, "b"))
    with pytest.raises(ValueError, match="no"):
        loop.run_until_complete(root.serial(STOPPING, "x"))
    assert trace == ["a in", "a out"]


def test_parallel_starts_all_in_the_call_and_waits_for_all(loop: SettlingLoop) -> None:
    """EVT-PAR-01: the wait is not cut short by a failure."""
    root, trace, gate = Context(), list[object](), loop.create_future()

    async def blocked(_: str) -> None:
        trace.append("blocked in")
        await gate
        trace.append("blocked out")

    def at_once(_: str) -> Awaitable[None]:
        trace.append("at once")
        raise ValueError("no")

    root.on(FLUSH, blocked)
    root.on(FLUSH, at_once)
    root.on(FLUSH, answering(None, trace, "c"))

    async def main() -> None:
        waiting = root.parallel(FLUSH, "x")
        trace.append("returned")
        await waiting

    task = loop.create_task(main())
    loop.settle()
    assert trace == ["blocked in", "at once", "c in", "returned", "c out"]
    assert not task.done()
    gate.set_result(None)
    loop.settle()
    assert isinstance(task.exception(), ListenersFailed)


def test_parallel_aggregates_failures_in_the_order_of_listeners(loop: SettlingLoop) -> None:
    """EVT-PAR-02: also a single one."""
    root, gate = Context(), loop.create_future()

    async def slow(_: str) -> None:
        await gate
        raise ValueError("2")

    async def quick(_: str) -> None:
        raise KeyError("3")

    async def cancelled(_: str) -> None:
        raise asyncio.CancelledError

    for listener in (answering(None, [], "1"), slow, quick, cancelled):
        root.on(FLUSH, listener)
    loop.call_soon(gate.set_result, None)

    async def main() -> None:
        await root.parallel(FLUSH, "x")

    with pytest.raises(ListenersFailed) as failed:
        loop.run_until_complete(main())
    assert [type(error) for error in failed.value.exceptions] == [ValueError, KeyError, ListenerCancelled]
    assert failed.value.message == "3 listener(s) of flush failed"
    assert failed.value.code == "LISTENERS_FAILED"


def test_an_aggregate_can_be_taken_apart() -> None:
    """`except*` works on it."""
    aggregate = ListenersFailed("flush", [ValueError("1"), KeyError("2")])
    values, rest = aggregate.split(ValueError)
    assert values is not None
    assert rest is not None
    assert [str(error) for error in values.exceptions] == ["1"]
    assert values.message == aggregate.message


def test_nobody_to_wait_for(loop: SettlingLoop) -> None:
    root = Context()

    async def main() -> None:
        await root.parallel(FLUSH, "x")
        assert await root.serial(ASK, "x") is None

    loop.run_until_complete(main())


def test_a_cancelled_parallel_cancels_every_listener_and_waits_for_them(loop: SettlingLoop) -> None:
    root, trace = Context(), list[str]()

    def listener(name: str) -> Callable[[str], Awaitable[None]]:
        async def listen(_: str) -> None:
            try:
                await asyncio.Event().wait()
            finally:
                await asyncio.sleep(0)
                trace.append(name)

        return listen

    root.on(FLUSH, listener("a"))
    root.on(FLUSH, listener("b"))

    async def main() -> None:
        try:
            await root.parallel(FLUSH, "x")
        finally:
            trace.append("dispatch ends")

    task = loop.create_task(main())
    loop.settle()
    task.cancel()
    loop.settle()
    assert task.cancelled()
    assert trace == ["a", "b", "dispatch ends"]


def test_waterfall_listeners_nest_around_the_default() -> None:
    """EVT-WF-01, EVENTS-WATER-01: the first is outermost, a prepended one goes before it."""
    root, trace = Context(), list[str]()

    def layer(name: str) -> Callable[[dict[str, int], Callable[[], str]], str]:
        def listen(_: dict[str, int], next_: Callable[[], str]) -> str:
            trace.append(f"{name} in")
            answer = f"{name}({next_()})"
            trace.append(f"{name} out")
            return answer

        return listen

    root.on(STREAM, layer("a"))
    root.on(STREAM, layer("b"))
    root.on(STREAM, layer("p"), prepend=True)
    assert root.waterfall(STREAM, {}, lambda: "default") == "p(a(b(default)))"
    assert trace == ["p in", "a in", "b in", "b out", "a out", "p out"]


def test_a_waterfall_without_listeners_is_its_default() -> None:
    assert Context().waterfall(STREAM, {}, lambda: "default") == "default"


def test_a_layer_that_does_not_go_on_decides_alone() -> None:
    """EVT-WF-02: neither the layers behind it nor the default run."""
    root = Context()
    root.on(STREAM, lambda _, __: "mine")
    root.on(STREAM, lambda _, __: pytest.fail("called"))
    assert root.waterfall(STREAM, {}, lambda: pytest.fail("run")) == "mine"


def test_all_layers_get_the_same_payload() -> None:
    """EVT-WF-03: what is passed to next is ignored; a shared object carries influence."""
    root, seen = Context(), list[int]()

    def first(payload: dict[str, int], next_: Callable[..., str]) -> str:
        payload["n"] = 2
        return next_({"n": 9})

    def second(payload: dict[str, int], next_: Callable[[], str]) -> str:
        seen.append(payload["n"])
        return next_()

    root.on(STREAM, first)
    root.on(STREAM, second)
    payload = {"n": 1}
    root.waterfall(STREAM, payload, lambda: str(payload["n"]))
    assert seen == [2]


def test_the_cursor_is_shared_by_the_whole_dispatch() -> None:
    """EVT-WF-04: a second next goes on where the first chain ended, then runs the default again."""
    root, trace = Context(), list[str]()

    def twice(_: dict[str, int], next_: Callable[[], str]) -> str:
        trace.append("a")
        return next_() + next_()

    def once(name: str) -> Callable[[dict[str, int], Callable[[], str]], str]:
        def listen(_: dict[str, int], next_: Callable[[], str]) -> str:
            trace.append(name)
            return next_()

        return listen

    def default() -> str:
        trace.append("default")
        return "d"

    root.on(STREAM, twice)
    root.on(STREAM, once("b"))
    root.on(STREAM, once("c"))
    assert root.waterfall(STREAM, {}, default) == "dd"
    assert trace == ["a", "b", "c", "default", "default"]


def test_a_failure_surfaces_at_the_next_that_led_to_it() -> None:
    """EVT-WF-05: a layer around it can answer something else; uncaught, it reaches the dispatcher."""
    root = Context()

    def guard(_: dict[str, int], next_: Callable[[], str]) -> str:
        try:
            return next_()
        except ValueError:
            return "rescued"

    def fail(_: dict[str, int], __: Callable[[], str]) -> str:
        raise ValueError("no")

    guarding = root.on(STREAM, guard)
    root.on(STREAM, fail)
    assert root.waterfall(STREAM, {}, lambda: "default") == "rescued"
    guarding()
    with pytest.raises(ValueError, match="no"):
        root.waterfall(STREAM, {}, lambda: "default")


def test_an_awaited_waterfall_is_one_whose_layers_answer_awaitables(loop: SettlingLoop) -> None:
    root, trace = Context(), list[str]()

    async def layer(payload: str, next_: Callable[[], Awaitable[str]]) -> str:
        trace.append("in")
        answer = await next_()
        trace.append("out")
        return f"{payload}({answer})"

    async def default() -> str:
        trace.append("default")
        return "d"

    root.on(DECIDE, layer)

    async def main() -> str:
        return await root.waterfall(DECIDE, "x", default)

    assert loop.run_until_complete(main()) == "x(d)"
    assert trace == ["in", "default", "out"]


def test_layers_added_during_a_dispatch_take_part_in_later_ones_only() -> None:
    """EVT-SNAP-01 holds for waterfalls too, and once-layers are removed before they are called."""
    root = Context()

    def adding(_: dict[str, int], next_: Callable[[], str]) -> str:
        root.on(STREAM, lambda _, inner: f"late({inner()})")
        return f"adding({next_()})"

    root.on(STREAM, adding, once=True)
    assert root.waterfall(STREAM, {}, lambda: "d") == "adding(d)"
    assert root.waterfall(STREAM, {}, lambda: "d") == "late(d)"
