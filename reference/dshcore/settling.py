"""An event loop that notices when nothing more can happen without outside input, with a clock that stands still.

`SettlingLoop.settle` runs everything that can run and returns. Time is virtual: it passes only in `advance`, from one
timer to the next. Together they make a program of coroutines steppable from synchronous code, without sleeping and
without guessing how long "long enough" is.

The loop knows of ready callbacks, of timers, and of work that it handed to threads (`asyncio.to_thread`). It does not
know of subprocess pipes or of threads that other code started: where those matter, a settled loop may go on later.
Leave asyncio's debug mode off where speed counts; it costs a quarter of a millisecond for each task.
"""

import asyncio
import selectors
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any, Final, TypeVar

from dshcore.errors import DshError

T = TypeVar("T")

MAX_TOTAL_ADVANCE: Final = 30 * 86_400.0
"""Virtual seconds in the life of a loop. Far beyond, a float cannot tell a timer's moment from the next one, and the
loop would spin for ever."""

_TURNS_BETWEEN_CLOCK_READS: Final = 1024
_ROUNDS_OF_CANCELLING: Final = 8
_OWN_FILES: Final = 1
"""The pipe by which other threads wake a loop that waits; one that does not wait need not ask for it."""


class Unsettled(DshError):
    """The program does not come to rest."""

    default_code = "UNSETTLED"


class SettlingLoop(asyncio.SelectorEventLoop):
    """An event loop for one program that is stepped from outside. Its time starts at 0.

    Args:
        max_turns: Turns of the loop in one `settle` after which the program counts as busy for ever.
        max_seconds: Real seconds in one `settle` after which it does.
    """

    def __init__(self, *, max_turns: int = 1_000_000, max_seconds: float = 30.0) -> None:
        self._virtual_now = 0.0
        self._next_timer: float | None = None  # as of the last idle moment
        self._in_flight = 0  # calls that run in threads
        self._pool: Executor | None = None
        self._selector_of_turns = _IdleSelector(self._on_turns, self._on_idle)
        self._max_turns = max_turns
        self._max_seconds = max_seconds
        self._give_up_at = 0.0
        super().__init__(self._selector_of_turns)

    def time(self) -> float:
        """Return the virtual time in seconds."""
        return self._virtual_now

    def settle(self) -> None:
        """Run everything that can run without outside input and without time passing.

        Raises:
            RuntimeError: Called while an event loop runs in this thread. A loop inside a loop would make the outer
                one forget that it is running; call it from synchronous code, or from another thread.
            Unsettled: The program was still busy after the loop's limits. It can go on settling.
        """
        self.run_forever()

    def run_forever(self) -> None:
        """Run until nothing more can happen: it is `settle` under the name that asyncio uses.

        Raises:
            RuntimeError: Another loop runs in this thread, or this one does already.
        """
        if asyncio._get_running_loop() is not None:  # noqa: SLF001 - the documented look that raises nothing
            raise RuntimeError("cannot settle inside a running event loop: call it from synchronous code")
        self._selector_of_turns.turns = 0
        self._give_up_at = time.monotonic() + self._max_seconds
        super().run_forever()

    def advance(self, seconds: float) -> None:
        """Let time pass, from timer to timer, settling at each.

        Args:
            seconds: How long.

        Raises:
            ValueError: A negative time, or more than `MAX_TOTAL_ADVANCE` in all.
            Unsettled: The program was still busy at some moment.
        """
        target = self._virtual_now + seconds
        if not (seconds >= 0 and target <= MAX_TOTAL_ADVANCE):
            raise ValueError(
                f"cannot advance by {seconds} s at {self._virtual_now} s: "
                f"time goes forward, to {MAX_TOTAL_ADVANCE} s in all; use a new loop beyond"
            )
        self.settle()
        while self._next_timer is not None and self._next_timer <= target:
            self._virtual_now = self._next_timer
            self.settle()
        self._virtual_now = target
        self.settle()

    def finish(self) -> None:
        """Cancel what is left, let it clean up, and close the loop. Doing it again changes nothing.

        Raises:
            Unsettled: A task withstands its cancellation; the message names it.
        """
        if self.is_closed():
            return
        rounds = 0
        while left := asyncio.all_tasks(self):
            if rounds == _ROUNDS_OF_CANCELLING:
                names = ", ".join(sorted(task.get_name() for task in left))
                raise Unsettled(f"tasks go on after {_ROUNDS_OF_CANCELLING} cancellations: {names}")
            rounds += 1
            for task in left:
                task.cancel()
            self.settle()
        self.run_until_complete(self.shutdown_asyncgens())
        self.run_until_complete(self.shutdown_default_executor())
        self.close()

    def run_in_executor(  # type: ignore[override]  # a parameter list of unknown length is beyond typeguard
        self,
        executor: Executor | None,
        func: Callable[..., T],
        *args: Any,  # noqa: ANN401 - the function's own
    ) -> asyncio.Future[T]:
        """Run a function in a thread; the loop is not settled before the function has ended.

        Args:
            executor: Where it runs; the default one, if none.
            func: What is called there.
            args: Its arguments.

        Returns:
            What it comes to, in this loop.

        Cancellation:
            The answer ends at once. The function cannot be stopped, and the loop waits for it all the same.
        """
        self._check_open()
        work = (self._threads() if executor is None else executor).submit(func, *args)
        answer = asyncio.wrap_future(work, loop=self)
        self._in_flight += 1
        work.add_done_callback(self._landed_in_thread)  # after wrap_future's: the result is scheduled first
        return answer

    def set_default_executor(self, executor: ThreadPoolExecutor) -> None:  # type: ignore[override]  # typeshed differs between versions
        """Use this pool for `asyncio.to_thread`.

        Args:
            executor: The executor.
        """
        self._pool = executor

    async def shutdown_default_executor(self, timeout: float | None = None) -> None:  # noqa: ARG002, ASYNC109 - as in the base class
        """End the pool's threads; those that run are waited for.

        Args:
            timeout: Seconds to wait for its threads.

        Cancellation:
            Ends the waiting.
        """
        if self._pool is not None:
            self._pool.shutdown(wait=True)

    def _check_open(self) -> None:
        if self.is_closed():
            raise RuntimeError("Event loop is closed")

    def _threads(self) -> Executor:
        if self._pool is None:
            self._pool = ThreadPoolExecutor(thread_name_prefix="settling")
        return self._pool

    def _landed_in_thread(self, _: Future[Any]) -> None:
        # called when the function has ended, or was cancelled before a thread took it: never while it runs
        with suppress(RuntimeError):  # the loop was closed meanwhile
            self.call_soon_threadsafe(self._landed)

    def _landed(self) -> None:
        self._in_flight -= 1

    def _on_turns(self, turns: int) -> None:
        if turns >= self._max_turns or time.monotonic() >= self._give_up_at:
            raise Unsettled(f"still busy after {turns} turns of the event loop: something reschedules itself for ever")

    def _on_idle(self, timeout: float | None) -> float | None:
        """Return how long (in real time) to wait for threads, or none to stop because nothing can happen."""
        if self._in_flight:
            left = self._give_up_at - time.monotonic()
            if left > 0:
                return left
            raise Unsettled(f"{self._in_flight} call(s) in threads still run after {self._max_seconds} s")
        self._next_timer = None if timeout is None else self._virtual_now + timeout
        self.stop()
        return None


class _IdleSelector(selectors.BaseSelector):
    """The real selector, except that it asks before it waits, and counts the turns of the loop."""

    def __init__(self, on_turns: Callable[[int], None], on_idle: Callable[[float | None], float | None]) -> None:
        self._inner = selectors.DefaultSelector()
        self._on_turns = on_turns
        self._on_idle = on_idle
        self.turns = 0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self.turns += 1
        if self.turns % _TURNS_BETWEEN_CLOCK_READS == 0:
            self._on_turns(self.turns)
        ready = self._inner.select(0) if len(self._inner.get_map()) > _OWN_FILES else []
        if ready or (timeout is not None and timeout <= 0):
            return ready
        real_timeout = self._on_idle(timeout)
        return [] if real_timeout is None else self._inner.select(real_timeout)

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:  # noqa: ANN401 - as in the base class
        return self._inner.register(fileobj, events, data)

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:  # noqa: ANN401 - as in the base class
        return self._inner.unregister(fileobj)

    def modify(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:  # noqa: ANN401 - as in the base class
        return self._inner.modify(fileobj, events, data)

    def get_map(self) -> Mapping[Any, selectors.SelectorKey]:
        return self._inner.get_map()

    def close(self) -> None:
        self._inner.close()
