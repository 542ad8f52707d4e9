"""Cancellation by the host: a task is stopped from outside, by whoever runs the program.

It has nothing to do with a `CancelSignal`, by which the work itself is asked to stop.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

T = TypeVar("T")


def host_is_cancelling() -> bool:
    """Tell whether somebody is cancelling the running task, as opposed to a task or future that it waits for."""
    try:
        task = asyncio.current_task()
    except RuntimeError:  # no loop runs any more: the coroutine is being closed, and can only clean up
        return True
    return task is not None and task.cancelling() > 0


def is_cancellation(failure: BaseException) -> bool:
    """Tell whether a failure says that something was cancelled, whoever ordered it."""
    return isinstance(failure, asyncio.CancelledError)


def is_contained(failure: BaseException) -> bool:
    """Tell whether a failure is the affair of the code that raised it, and not the host's.

    A cancellation that nobody ordered (somebody awaited what was cancelled) is a failure like any other.
    """
    if is_cancellation(failure):
        return not host_is_cancelling()
    return isinstance(failure, Exception)


async def all_ended(tasks: Sequence[asyncio.Task[Any]]) -> asyncio.CancelledError | None:
    """Wait until all tasks have ended. A cancellation is handed on to them, each time.

    Args:
        tasks: The tasks.

    Returns:
        The first cancellation that came meanwhile; whoever waits raises it when everything is tidy.
    """
    cancelled: asyncio.CancelledError | None = None
    while pending := [task for task in tasks if not task.done()]:
        try:
            await asyncio.wait(pending)
        except asyncio.CancelledError as error:
            cancelled = cancelled or error
            for task in pending:
                task.cancel()
    return cancelled


async def wind_down(tasks: Sequence[asyncio.Task[Any]]) -> asyncio.CancelledError | None:
    """Wait until all tasks have ended, as a part of what ends with them.

    A cancellation is handed on once, also one that came before: where the host cancels everything that there is, it
    reaches what begins only then. What it has cancelled itself is left alone.

    Args:
        tasks: The tasks.

    Returns:
        The first cancellation that came meanwhile.
    """
    cancelled: asyncio.CancelledError | None = None
    while pending := [task for task in tasks if not task.done()]:
        if host_is_cancelling():
            for task in pending:
                if not task.cancelling():
                    task.cancel()
        try:
            await asyncio.wait(pending)
        except asyncio.CancelledError as error:
            cancelled = cancelled or error
    return cancelled


async def end_of(task: asyncio.Task[T]) -> T:
    """Wait for a task that ends with its waiter, and answer as it does.

    Returns:
        The failure, if there is one.

    Cancellation:
        It is handed on, and comes out when the task has ended.
    """
    cancelled = await wind_down((task,))
    if cancelled is not None:
        raise cancelled
    return task.result()


async def outlast(wait: Callable[[], Awaitable[object]]) -> asyncio.CancelledError | None:
    """Wait for what comes about by itself, however often the host cancels the waiting.

    Args:
        wait: Waits for it, each time anew.

    Returns:
        The first cancellation; whoever waits raises it when everything is tidy.
    """
    cancelled: asyncio.CancelledError | None = None
    while True:
        try:
            await wait()
        except asyncio.CancelledError as error:
            cancelled = cancelled or error
        else:
            return cancelled
