"""Cancellation by the host: a task is stopped from outside, by whoever runs the program.

It has nothing to do with a `CancelSignal`, by which the work itself is asked to stop.
"""

import asyncio
from collections.abc import Sequence
from typing import Any


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


async def all_ended(tasks: Sequence[asyncio.Task[Any]], *, cancel: bool = False) -> asyncio.CancelledError | None:
    """Wait until all tasks have ended, whatever happens meanwhile.

    Args:
        tasks: The tasks.
        cancel: Whether a cancellation is handed on to them, each time.

    Returns:
        The first cancellation that came meanwhile; whoever waits raises it when everything is tidy.
    """
    cancelled: asyncio.CancelledError | None = None
    while pending := [task for task in tasks if not task.done()]:
        try:
            await asyncio.wait(pending)
        except asyncio.CancelledError as error:
            cancelled = cancelled or error
            if cancel:
                for task in pending:
                    task.cancel()
    return cancelled
