"""Work in numbered pieces, done by several processes of which each has a link of its own."""

import gc
import os
import signal
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from multiprocessing import active_children, get_context, resource_tracker
from multiprocessing.sharedctypes import Synchronized
from typing import Final, Generic, Protocol, TypeVar

from dshconform.cli.target import Target
from dshconform.links.link import AdapterFault, Link

R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)

_PROCESSES: Final = get_context("spawn")  # the same everywhere; a fork would share open links
_POLL: Final = 0.2
"""Seconds between two looks at how far the work has come."""


class Pieces(Protocol[R_co]):
    """Work in pieces that do not depend on each other; it and what comes of it is handed to other processes."""

    def __len__(self) -> int: ...

    def perform(self, number: int, link: Link) -> tuple[R_co, bool]:
        """Do one piece.

        Args:
            number: Which, counted from 0.
            link: To the implementation, of this process alone.

        Returns:
            What came of it, and whether the pieces behind it are not needed.
        """
        ...


@dataclass(slots=True)
class Done(Generic[R]):
    """What came of the pieces.

    Args:
        results: By piece, in order, up to the first that ends the work.
        fault: How an adapter broke the protocol at its beginning or end, if one did.
        interrupted: Whether the user cut the work short; pieces may be missing.
    """

    results: dict[int, R] = field(default_factory=dict)
    fault: AdapterFault | None = None
    interrupted: bool = False


class _Tickets:
    """Hands out the numbers of the pieces in order, over all processes."""

    def __init__(self, pieces: int) -> None:
        self._next: Synchronized[int] = _PROCESSES.Value("i", 0)
        self._last: Synchronized[int] = _PROCESSES.Value("i", pieces - 1)
        self.told: Synchronized[int] = _PROCESSES.Value("i", 0)

    def take(self) -> int | None:
        """The next number, if any is needed."""
        with self._next.get_lock():
            number = self._next.value
            if number > self._last.value:
                return None
            self._next.value += 1
            return number

    def end(self, number: int) -> None:
        """Nothing behind this piece is needed."""
        with self._last.get_lock():
            self._last.value = min(self._last.value, number)

    @property
    def taken(self) -> int:
        """How many were handed out."""
        return self._next.value

    @property
    def last(self) -> int:
        """The number of the last piece that is needed."""
        return self._last.value


def perform(
    target: Target, pieces: Pieces[R], jobs: int, progress: Callable[[int], None], *, within: bool = False
) -> Done[R]:
    """Do all pieces, or those up to the first that makes the others needless: the same ones, however many processes.

    Args:
        target: The implementation; each process opens it for itself.
        pieces: The work.
        jobs: How many processes; one is this one.
        progress: Is told how many pieces were begun.
        within: Whether it is told instead how much of them is done, as `advance` says.

    Returns:
        What came of them.
    """
    tickets = _Tickets(len(pieces))
    done: Done[R] = Done()
    if jobs == 1:
        parts = [_work(target, pieces, tickets, progress)]
    else:
        with ProcessPoolExecutor(jobs, mp_context=_PROCESSES, initializer=_share, initargs=(tickets,)) as pool:
            working: list[Future[Done[R]]] = []

            def begin() -> None:
                working.extend(pool.submit(_work_shared, target, pieces) for _ in range(jobs))

            done.interrupted = _await(working, begin, tickets, progress, within=within)
            parts = [one.result() for one in working]
    found = {number: result for part in parts for number, result in part.results.items()}
    done.results = {number: found[number] for number in sorted(found) if number <= tickets.last}
    done.fault = next((part.fault for part in parts if part.fault is not None), None)
    done.interrupted = done.interrupted or any(part.interrupted for part in parts)
    return done


def _await(
    working: list[Future[Done[R]]],
    begin: Callable[[], None],
    tickets: _Tickets,
    progress: Callable[[int], None],
    *,
    within: bool,
) -> bool:
    """Begin the work and wait; true when the user did not want to: whoever works was interrupted too, and has ended."""
    try:
        with _interrupts_held_back():  # one that came meanwhile arrives behind this, where it is passed on
            begin()
        while wait(working, timeout=_POLL).not_done:
            progress(tickets.told.value if within else tickets.taken)
    except KeyboardInterrupt:
        for process in active_children():  # where the user's control-C has not reached them
            if process.pid is not None:
                os.kill(process.pid, signal.SIGINT)
        wait(working)
        return True
    return False


def _work(
    target: Target,
    pieces: Pieces[R],
    tickets: _Tickets,
    progress: Callable[[int], None],
    interruptible: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> Done[R]:
    """What one process does."""
    done: Done[R] = Done()
    try:
        with interruptible(), target.open(_silent) as link:
            gc.freeze()  # what is loaded by now stays: no collection has to walk it
            while (number := tickets.take()) is not None:
                progress(number)
                done.results[number], ends = pieces.perform(number, link)
                if ends:
                    tickets.end(number)
    except AdapterFault as fault:
        done.fault = fault
    except KeyboardInterrupt:
        done.interrupted = True
    return done


@contextmanager
def _interrupts_held_back() -> Iterator[None]:
    """Begin processes that no interrupt can end before they are able to say what they know: they inherit the mask."""
    if sys.platform == "win32":
        yield
        return
    resource_tracker.ensure_running()  # it lets interrupts through when it starts
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


_shared: _Tickets | None = None


def _share(tickets: _Tickets) -> None:
    global _shared  # noqa: PLW0603 - what a process of the pool is given at its start
    _shared = tickets


@contextmanager
def _interruptible() -> Iterator[None]:
    """Where an interrupt ends the work of a process of the pool; one that came earlier does so at once.

    Behind its work the process waits for more, and an interrupt that ended it there would take what it knows along.
    """
    try:
        signal.signal(signal.SIGINT, _interrupted)
        if sys.platform != "win32":
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        yield
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def _interrupted(*_: object) -> None:
    """The first interrupt ends the work; another one must not spoil what comes of it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    raise KeyboardInterrupt


def _work_shared(target: Target, pieces: Pieces[R]) -> Done[R]:
    assert _shared is not None
    return _work(target, pieces, _shared, _silent, _interruptible)


def advance(steps: int) -> None:
    """Say, from within a piece, that so much more of it is done.

    Args:
        steps: As the progress bar counts.
    """
    if _shared is not None:
        with _shared.told.get_lock():
            _shared.told.value += steps


def _silent(_: object) -> None:
    pass
