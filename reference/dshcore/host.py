"""Cancellation by the host: a task is stopped from outside, by whoever runs the program.

It has nothing to do with a `CancelSignal`, by which the work itself is asked to stop.
"""

import asyncio


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
