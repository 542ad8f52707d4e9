import asyncio
import gc
from contextvars import ContextVar, copy_context
from typing import Any

import pytest

from dshcore.eager import start
from dshcore.settling import SettlingLoop

WHO: ContextVar[str] = ContextVar("WHO", default="nobody")


def current() -> asyncio.Task[Any]:
    task = asyncio.current_task()
    assert task is not None
    return task


def test_the_first_stretch_runs_inside_the_call(loop: SettlingLoop) -> None:
    trace: list[str] = []

    async def work() -> str:
        trace.append("first")
        await asyncio.sleep(0)
        trace.append("second")
        return "done"

    async def main() -> str:
        task = start(work())
        trace.append("returned")
        return await task

    assert loop.run_until_complete(main()) == "done"
    assert trace == ["first", "returned", "second"]


@pytest.mark.parametrize("ticks", [0, 1, 2, 5])
def test_it_takes_as_many_turns_as_the_coroutine_yields(loop: SettlingLoop, ticks: int) -> None:
    """A bare yield costs one turn of the loop, also the one that ended the first stretch."""
    turns = 0

    async def work() -> None:
        for _ in range(ticks):
            await asyncio.sleep(0)

    async def main() -> None:
        nonlocal turns
        task = start(work())
        while not task.done():
            await asyncio.sleep(0)
            turns += 1

    loop.run_until_complete(main())
    assert turns == max(ticks, 1)


@pytest.mark.parametrize("after_first_step", [False, True])
def test_a_cancellation_reaches_the_coroutine_where_it_is_suspended(loop: SettlingLoop, after_first_step: bool) -> None:
    """Also one that arrives before the task's first step: `except` and `finally` run."""
    trace: list[str] = []

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            trace.append("cancelled")
            raise
        finally:
            trace.append("cleaned")

    async def main() -> None:
        task = start(work())
        if after_first_step:
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert task.cancelled()

    loop.run_until_complete(main())
    assert trace == ["cancelled", "cleaned"]


def test_a_coroutine_may_withstand_an_early_cancellation(loop: SettlingLoop) -> None:
    """It goes on waiting for what it says, not for what it waited for before."""

    async def work() -> str:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await asyncio.sleep(0)
            return "went on"
        return "never"

    async def main() -> str:
        task = start(work())
        task.cancel()
        return await task

    assert loop.run_until_complete(main()) == "went on"


def test_a_finished_first_stretch_is_not_undone_by_a_cancellation(loop: SettlingLoop) -> None:
    """What it returned stands: there is nothing left to cancel."""

    async def work() -> str:
        return "done"

    async def main() -> str:
        task = start(work())
        task.cancel()
        return await task

    assert loop.run_until_complete(main()) == "done"


@pytest.mark.parametrize("error", [ValueError("no"), asyncio.CancelledError()])
def test_a_failure_of_the_first_stretch_is_the_tasks(loop: SettlingLoop, error: BaseException) -> None:
    async def work() -> None:
        raise error

    async def main() -> None:
        task = start(work())
        with pytest.raises(type(error)):
            await task

    loop.run_until_complete(main())


def test_an_interrupt_in_the_first_stretch_stops_the_program(loop: SettlingLoop) -> None:
    """It reaches the caller, once; of the task itself nothing more comes."""
    tasks: list[asyncio.Task[None]] = []

    async def work() -> None:
        tasks.append(current())
        raise KeyboardInterrupt

    async def main() -> None:
        tasks.append(current())
        start(work())

    loop.create_task(main())
    with pytest.raises(KeyboardInterrupt):
        loop.settle()
    loop.settle()
    waiting, started = tasks
    assert type(waiting.exception()) is KeyboardInterrupt
    assert started.cancelled()


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("thrown", [False, True])
def test_nobody_has_to_ask_a_task_for_its_interrupt(
    loop: SettlingLoop, interrupt: type[BaseException], thrown: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """It has left the loop: asyncio has nothing to complain of when the task is gone."""

    async def work() -> None:
        try:
            await asyncio.sleep(0)
        finally:
            raise interrupt

    async def main() -> None:
        task = start(work())
        if thrown:
            task.cancel()

    loop.create_task(main())
    with pytest.raises(interrupt):
        loop.settle()
    loop.settle()
    gc.collect()
    assert caplog.messages == []


def test_the_first_stretch_runs_as_the_new_task(loop: SettlingLoop) -> None:
    """`current_task`, timeouts and task groups see the task, and the caller is itself again afterwards."""
    seen: list[asyncio.Task[Any] | None] = []

    async def child() -> str:
        return "child"

    async def work() -> str:
        seen.append(asyncio.current_task())
        async with asyncio.timeout(5), asyncio.TaskGroup() as group:
            made = group.create_task(child())
            await asyncio.sleep(0)
        return made.result()

    async def main() -> None:
        me = asyncio.current_task()
        task = start(work(), name="worker")
        assert asyncio.current_task() is me
        assert await task == "child"
        assert seen == [task]
        assert task.get_name() == "worker"

    loop.run_until_complete(main())


def test_a_timeout_entered_in_the_first_stretch_ends_that_work_only(loop: SettlingLoop) -> None:
    async def work() -> str:
        try:
            async with asyncio.timeout(5):
                await asyncio.Event().wait()
        except TimeoutError:
            return "timed out"
        return "never"

    async def main() -> str:
        return await start(work())

    task = loop.create_task(main())
    loop.settle()
    assert not task.done()
    loop.advance(5)
    assert task.result() == "timed out"


def test_context_variables_set_by_the_work_stay_with_it(loop: SettlingLoop) -> None:
    seen: list[str] = []

    async def work() -> None:
        seen.append(WHO.get())
        WHO.set("worker")
        await asyncio.sleep(0)
        seen.append(WHO.get())

    async def main() -> None:
        WHO.set("caller")
        task = start(work())
        seen.append(WHO.get())
        await task

    loop.run_until_complete(main())
    assert seen == ["caller", "caller", "worker"]


def test_a_context_can_be_given(loop: SettlingLoop) -> None:
    async def work() -> str:
        return WHO.get()

    async def main() -> str:
        context = copy_context()
        context.run(WHO.set, "agent")
        return await start(work(), context=context)

    assert loop.run_until_complete(main()) == "agent"


def test_it_can_be_called_from_a_callback(loop: SettlingLoop) -> None:
    """Where no task is current."""
    trace: list[str] = []

    async def work() -> None:
        trace.append("first")
        await asyncio.sleep(0)
        trace.append("second")

    loop.call_soon(lambda: start(work()))
    loop.settle()
    assert trace == ["first", "second"]


def test_without_a_loop_nothing_has_run() -> None:
    """The coroutine is closed: it leaves no warning behind."""
    trace: list[str] = []

    async def work() -> None:
        trace.append("ran")

    with pytest.raises(RuntimeError, match="no running event loop"):
        start(work())
    assert trace == []


def test_a_coroutine_that_nobody_will_run_again_can_be_closed(caplog: pytest.LogCaptureFixture) -> None:
    """As that of any task: after its loop has gone, its `finally` can still run."""
    loop, trace = SettlingLoop(), list[str]()

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            trace.append("cleaned")

    async def main() -> asyncio.Task[None]:
        return start(work())

    task = loop.run_until_complete(main())
    loop.close()
    coroutine = task.get_coro()
    assert coroutine is not None
    coroutine.close()
    assert trace == ["cleaned"]
    del task, coroutine
    gc.collect()
    assert [message.split("\n")[0] for message in caplog.messages] == ["Task was destroyed but it is pending!"]


def test_starts_nest(loop: SettlingLoop) -> None:
    trace: list[str] = []

    async def work(level: int) -> None:
        trace.append(f"in {level}")
        if level:
            await start(work(level - 1))
        trace.append(f"out {level}")

    async def main() -> None:
        task = start(work(2))
        trace.append("returned")
        await task

    loop.run_until_complete(main())
    assert trace == ["in 2", "in 1", "in 0", "out 0", "returned", "out 1", "out 2"]
