import asyncio
import math
import socket
import threading
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest

from dshcore.settling import MAX_TOTAL_ADVANCE, SettlingLoop, Unsettled


def test_settling_runs_everything_that_can_run(loop: SettlingLoop) -> None:
    trace: list[int] = []
    gate = loop.create_future()

    async def work() -> None:
        for turn in range(3):
            trace.append(turn)
            await asyncio.sleep(0)
        await gate
        trace.append(99)

    loop.create_task(work())
    loop.settle()
    assert trace == [0, 1, 2]
    loop.settle()
    assert trace == [0, 1, 2], "nothing more can happen without outside input"
    gate.set_result(None)
    loop.settle()
    assert trace == [0, 1, 2, 99]


def test_time_starts_at_0_and_stands_still(loop: SettlingLoop) -> None:
    task = loop.create_task(asyncio.sleep(1, "slept"))
    loop.settle()
    assert loop.time() == 0
    assert not task.done()
    loop.advance(0.5)
    assert not task.done()
    loop.advance(0.5)
    assert task.result() == "slept"
    assert loop.time() == 1


def test_time_passes_from_timer_to_timer(loop: SettlingLoop) -> None:
    """A timer set by a timer fires at its own moment, not at the end of the advance."""
    fired: list[float] = []

    async def every_three() -> None:
        while True:
            await asyncio.sleep(3)
            fired.append(loop.time())

    loop.create_task(every_three())
    loop.advance(10)
    assert fired == [3, 6, 9]
    assert loop.time() == 10


def test_timers_of_one_moment_fire_in_order_and_all(loop: SettlingLoop) -> None:
    fired: list[str] = []
    loop.call_later(1, fired.append, "a")
    loop.call_later(1, fired.append, "b")
    loop.call_later(1, lambda: loop.call_soon(fired.append, "c"))
    loop.advance(1)
    assert fired == ["a", "b", "c"]


def test_a_timer_within_rounding_of_the_end_fires(loop: SettlingLoop) -> None:
    """0.1 and then 0.2 is a little more than 0.3 for a float."""
    fired: list[str] = []
    loop.call_later(0.1, lambda: loop.call_later(0.2, fired.append, "both"))
    loop.advance(0.3)
    assert fired == ["both"]


@pytest.mark.parametrize("seconds", [200_000.0, MAX_TOTAL_ADVANCE])
def test_timers_far_ahead_fire_at_their_moment(loop: SettlingLoop, seconds: float) -> None:
    """The waits of asyncio are cut at a day, and at the end of the allowed time a float still tells moments apart."""
    fired: list[float] = []
    loop.call_later(seconds, lambda: fired.append(loop.time()))
    loop.advance(seconds - 0.001)
    assert fired == []
    loop.advance(0.001)
    assert fired == [pytest.approx(seconds)]


@pytest.mark.parametrize("seconds", [-1.0, math.nan, math.inf, MAX_TOTAL_ADVANCE + 1])
def test_time_goes_forward_and_not_beyond_its_end(loop: SettlingLoop, seconds: float) -> None:
    with pytest.raises(ValueError, match="cannot advance"):
        loop.advance(seconds)
    assert loop.time() == 0


def test_the_total_counts(loop: SettlingLoop) -> None:
    loop.advance(MAX_TOTAL_ADVANCE)
    with pytest.raises(ValueError, match="use a new loop"):
        loop.advance(1)


def test_settling_inside_a_running_loop_is_refused_and_harms_nothing(loop: SettlingLoop) -> None:
    """A nested run would make the outer loop forget that it is running."""

    async def main() -> str:
        with pytest.raises(RuntimeError, match="cannot settle inside a running event loop"):
            SettlingLoop.settle(loop)
        await asyncio.sleep(0)
        asyncio.get_running_loop()
        return "still running"

    assert asyncio.run(main()) == "still running"


@pytest.mark.parametrize(
    "spin", [lambda loop: lambda: loop.call_soon(loop.spin), lambda loop: lambda: loop.call_later(0, loop.spin)]
)
def test_a_program_that_never_rests_is_reported(spin: Callable[[SettlingLoop], Callable[[], object]]) -> None:
    loop = SettlingLoop(max_turns=3000)
    loop.spin = spin(loop)  # type: ignore[attr-defined]
    loop.call_soon(loop.spin)  # type: ignore[attr-defined]
    with pytest.raises(Unsettled, match=r"still busy after 30\d\d turns") as unsettled:
        loop.settle()
    assert unsettled.value.code == "UNSETTLED"
    loop.spin = lambda: None  # type: ignore[attr-defined]
    loop.settle()
    loop.finish()


def test_the_limit_of_turns_is_for_one_settling() -> None:
    """A program that works much in all, and rests in between, is not busy for ever."""
    loop = SettlingLoop(max_turns=3000)

    async def work() -> None:
        for _ in range(1000):
            await asyncio.sleep(0)

    for _ in range(8):
        loop.create_task(work())
        loop.settle()
    loop.finish()


def test_a_program_that_takes_too_long_is_reported() -> None:
    loop = SettlingLoop(max_seconds=0)

    def spin() -> None:
        loop.call_soon(spin)

    loop.call_soon(spin)
    with pytest.raises(Unsettled, match="still busy after 1024 turns"):
        loop.settle()
    loop.finish()


def test_work_in_threads_is_waited_for(loop: SettlingLoop) -> None:
    """Also its continuation, and work that it leads to."""
    trace: list[str] = []

    async def work() -> None:
        trace.append(await asyncio.to_thread(lambda: "a"))
        trace.append(await asyncio.to_thread(lambda: "b"))

    loop.create_task(work())
    loop.settle()
    assert trace == ["a", "b"]


def test_a_cancelled_call_counts_until_its_thread_has_ended() -> None:
    """The future ends at once, the function cannot: the loop is not settled before it has."""
    loop, began, release = SettlingLoop(max_seconds=0.01), threading.Event(), threading.Event()

    def function() -> None:
        began.set()
        release.wait()

    call = loop.run_in_executor(None, function)
    began.wait()
    call.cancel()
    with pytest.raises(Unsettled, match=r"1 call\(s\) in threads still run after 0.01 s"):
        loop.settle()
    release.set()
    loop.finish()


def test_a_call_cancelled_before_a_thread_took_it_counts_no_more(loop: SettlingLoop) -> None:
    release = threading.Event()
    pool, ran = ThreadPoolExecutor(1), list[str]()
    loop.set_default_executor(pool)

    async def main() -> None:
        first = asyncio.ensure_future(asyncio.to_thread(release.wait, 10))
        second = asyncio.ensure_future(asyncio.to_thread(ran.append, "second"))
        await asyncio.sleep(0)
        second.cancel()
        await asyncio.sleep(0)
        release.set()
        await first

    task = loop.create_task(main())
    loop.settle()
    assert task.done()
    task.result()
    loop.finish()
    assert ran == []
    with pytest.raises(RuntimeError, match="after shutdown"):
        pool.submit(print)


def test_sockets_are_served_but_not_waited_for(loop: SettlingLoop) -> None:
    """What has arrived is delivered; what has not is outside input."""
    ours, theirs = socket.socketpair()
    heard: list[bytes | str] = []

    def writable() -> None:
        heard.append("writable")
        loop.remove_writer(ours)

    with ours, theirs:
        loop.add_reader(ours, lambda: heard.append(ours.recv(9)))
        loop.settle()
        assert heard == []
        theirs.send(b"hello")
        loop.add_writer(ours, writable)
        loop.settle()
        assert sorted(map(str, heard)) == ["b'hello'", "writable"]
        loop.remove_reader(ours)
        theirs.send(b"more")
        loop.settle()
        assert len(heard) == 2


def test_waiting_for_what_cannot_come_is_an_error(loop: SettlingLoop) -> None:
    """`run_until_complete` returns too: the loop knows that the future will never be done."""
    with pytest.raises(RuntimeError, match="stopped before Future completed"):
        loop.run_until_complete(loop.create_future())


def test_finishing_cancels_what_is_left_and_lets_it_clean_up() -> None:
    loop, trace = SettlingLoop(), []

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            trace.append("cleaned")

    async def numbers() -> AsyncIterator[int]:
        try:
            yield 1
        finally:
            trace.append("closed")

    async def begin() -> AsyncIterator[int]:
        stream = numbers()
        await anext(stream)
        return stream

    stream = loop.run_until_complete(begin())
    task = loop.create_task(work())
    loop.settle()
    loop.finish()
    loop.finish()
    assert task.cancelled()
    assert trace == ["cleaned", "closed"]
    assert loop.is_closed()
    assert not loop._selector_of_turns._inner.get_map(), "the selector is closed too"
    del stream


def test_a_task_that_withstands_its_cancellation_is_named() -> None:
    loop, stubborn = SettlingLoop(), True

    async def work() -> None:
        while stubborn:
            with suppress(asyncio.CancelledError):
                await asyncio.Event().wait()

    task = loop.create_task(work(), name="stubborn one")
    loop.settle()
    with pytest.raises(Unsettled, match="stubborn one"):
        loop.finish()
    stubborn = False
    loop.finish()
    assert task.done()


def test_a_task_may_end_in_the_last_round_of_cancelling() -> None:
    loop = SettlingLoop()
    cancelled: list[int] = []

    async def work() -> None:
        while len(cancelled) < 8:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                cancelled.append(1)

    loop.create_task(work())
    loop.settle()
    loop.finish()
    assert loop.is_closed()


def test_a_finished_loop_takes_no_work() -> None:
    loop = SettlingLoop()
    loop.finish()
    with pytest.raises(RuntimeError, match="closed"):
        loop.run_in_executor(None, print)


def test_it_serves_as_an_ordinary_loop() -> None:
    """`asyncio.Runner` can make, use and close one; what its main does not wait for ends with it."""
    with asyncio.Runner(loop_factory=SettlingLoop) as runner:
        assert runner.run(asyncio.to_thread(lambda: "from a thread")) == "from a thread"
