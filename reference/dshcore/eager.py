"""Start a coroutine at once: what it does before it first waits happens inside the call.

`asyncio.create_task` runs nothing until the caller waits. Where the specification says that work begins inside a call
(a driver's first steps, a maintenance task, a coroutine listener of an event) `start` is used.
"""

import asyncio
from collections.abc import Awaitable, Coroutine, Generator
from contextvars import Context, copy_context
from inspect import isawaitable, iscoroutinefunction
from typing import Any, Generic, TypeVar, cast

T = TypeVar("T")


class _Started(Coroutine[Any, Any, T], Generic[T]):
    """A coroutine whose first stretch has run; a task drives it as if it had not.

    The task's first `send` gets what the first stretch ended with: the future it waits for, the result or the failure.
    A `throw`, which is how the task delivers a cancellation that comes before its first step, goes straight to the
    coroutine: its `except` and `finally` run.
    """

    __slots__ = ("__weakref__", "_coroutine", "_failure", "_finished", "_first_wait", "_result")

    def __init__(self, coroutine: Coroutine[Any, Any, T]) -> None:
        self._coroutine = coroutine
        self._first_wait: Any = None
        self._finished = False
        self._result: Any = None
        self._failure: BaseException | None = None

    def run_first_stretch(self) -> None:
        try:
            self._first_wait = self._coroutine.send(None)
        except StopIteration as stop:
            self._finished, self._result = True, stop.value
        except (Exception, asyncio.CancelledError) as failure:  # noqa: BLE001 - the task raises it
            self._finished, self._failure = True, failure  # the task's outcome, not the call's
        except BaseException:  # an interrupt stops the program, as it does in any task, and it does so once
            self._finished, self._failure = True, asyncio.CancelledError()
            raise

    def send(self, value: Any) -> Any:  # noqa: ANN401 - the protocol of coroutines
        if self._finished:
            if self._failure is not None:
                failure, self._failure = self._failure, None
                raise failure
            raise StopIteration(self._result)
        first_wait, self._first_wait = self._first_wait, None
        # after a bare yield (`sleep(0)`) there is nothing to wait for: going on now keeps it at one tick
        if first_wait is not None:
            return first_wait
        try:
            return self._coroutine.send(value)
        except (KeyboardInterrupt, SystemExit):
            _leave_the_loop()
            raise

    def throw(self, typ: Any, val: Any = None, tb: Any = None) -> Any:  # noqa: ANN401, ARG002 - the protocol
        self._first_wait = None
        if self._finished:
            return self.send(None)
        try:
            return self._coroutine.throw(typ if val is None else val)
        except (KeyboardInterrupt, SystemExit):
            _leave_the_loop()
            raise

    def close(self) -> None:
        self._coroutine.close()

    def __await__(self) -> Generator[Any, None, T]:
        raise NotImplementedError("a task drives this by send and throw")


def _leave_the_loop() -> None:
    """Let the running task end by an interrupt that whoever runs the loop gets: nobody has to ask the task for it."""
    task = asyncio.current_task()
    if task is not None:
        task.add_done_callback(outcome_seen)


def outcome_seen(future: asyncio.Future[Any]) -> None:
    """Look at what a finished future holds, as its callback: asyncio then reports no failure that others deal with."""
    if not future.cancelled():
        future.exception()


def answers_coroutine(function: object) -> bool:
    """Tell whether a call only makes a coroutine: then nothing has happened where nobody runs that.

    Args:
        function: The function.
    """
    return iscoroutinefunction(function) or iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004


def discard(answer: object) -> None:
    """Close what a callback answered, if it is a coroutine that nobody will run; Python would complain of it.

    Args:
        answer: What it answered.
    """
    if isinstance(answer, Coroutine):
        answer.close()


async def answer_of(asked: object, who: str) -> object:
    """Wait for what a callback answers.

    Args:
        asked: What calling it gave.
        who: Whose answer it is, for the error.

    Returns:
        The answer.

    Raises:
        TypeError: It has answered already, as a function that is not `async` does.

    Cancellation:
        Goes to what is waited for.
    """
    if not isawaitable(asked):
        raise TypeError(f"{who} answered a {type(asked).__name__}, which cannot be awaited: write it with async def")
    return await cast("Awaitable[object]", asked)


def start(
    coroutine: Coroutine[Any, Any, T], *, name: str | None = None, context: Context | None = None
) -> asyncio.Task[T]:
    """Run a coroutine to its first suspension, now, and the rest as a task.

    The first stretch runs as the new task: `asyncio.current_task`, `asyncio.timeout` and task groups inside it see the
    task, and context variables it sets stay in the task's context. A failure in it is the task's, not the call's.

    Args:
        coroutine: What to run.
        name: The task's name.
        context: The context variables to run in; by default a copy of the caller's.

    Returns:
        The task, which may be finished in all but name: it is done after one more turn of the loop.

    Raises:
        RuntimeError: No event loop is running. Nothing of the coroutine has run; it is closed.

    Cancellation:
        A cancellation that arrives before the second stretch is delivered where the coroutine is suspended.
    """
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        coroutine.close()
        raise
    context = copy_context() if context is None else context
    started = _Started(coroutine)
    task: asyncio.Task[T] = loop.create_task(started, name=name, context=context)
    outer = asyncio.current_task()
    # "Extending asyncio" names these two for exactly this: telling asyncio which task is running
    if outer is not None:
        asyncio.tasks._leave_task(loop, outer)  # noqa: SLF001
    asyncio.tasks._enter_task(loop, task)  # noqa: SLF001
    try:
        context.run(started.run_first_stretch)
    finally:
        asyncio.tasks._leave_task(loop, task)  # noqa: SLF001
        if outer is not None:
            asyncio.tasks._enter_task(loop, outer)  # noqa: SLF001
    return task
