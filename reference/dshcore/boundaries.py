"""Boundaries: on whose behalf code runs, through every await and in everything that it starts.

A boundary is opened around one operation. What runs inside reads the boundary's value: the operation itself, the
coroutine that it answers, and whatever these start. Boundaries nest, and those that overlap do not see each other.
"""

import asyncio
from collections.abc import Callable, Coroutine
from contextvars import ContextVar
from typing import Any, Generic, TypeVar, cast, overload

from dshcore import eager

R = TypeVar("R")
V = TypeVar("V")


class Boundary(Generic[V]):
    """One operation, from its opening until what it answered has settled.

    Attributes:
        value: What is read inside.
        around: The boundaries that it is nested in, as far as they were open.
    """

    __slots__ = ("__weakref__", "_boundaries", "around", "value")

    def __init__(self, boundaries: "Boundaries[V]", value: V, around: "tuple[Boundary[V], ...]") -> None:
        self._boundaries = boundaries
        self.value = value
        self.around = around

    @overload
    def run(self, operation: Callable[[], Coroutine[Any, Any, R]], *, name: str | None = ...) -> "asyncio.Task[R]": ...
    @overload
    def run(self, operation: Callable[[], R], *, name: str | None = ...) -> R: ...
    def run(self, operation: Callable[[], object], *, name: str | None = None) -> object:
        """Call an operation inside, once.

        Args:
            operation: Called now. A coroutine that it answers has not begun, and would run wherever it is awaited: it
                is started inside, and the task is answered in its place.
            name: The task's name.

        Returns:
            What the operation answered; the boundary stays open until a task or future has settled.

        Raises:
            BaseException: What the operation raised.
        """
        answer = settles = None
        try:
            answer = self._boundaries.enter(self, operation, name)
            if asyncio.isfuture(answer):
                settles = answer
        finally:
            if settles is None:
                self._settle()
            else:
                settles.add_done_callback(lambda _: self._settle())
        return answer

    def _settle(self) -> None:
        self.around = self._boundaries.settle(self)


class Boundaries(Generic[V]):
    """The boundaries of one kind.

    Args:
        name: That of the context variable that holds the innermost one; for debugging.
    """

    def __init__(self, name: str) -> None:
        # its own, so that two applications in one thread know nothing of each other; contexts of ended tasks free it
        self._innermost: ContextVar[Boundary[V] | None] = ContextVar(name, default=None)
        self._open: set[Boundary[V]] = set()
        self._settling: asyncio.Future[None] | None = None

    @property
    def innermost(self) -> Boundary[V] | None:
        """The boundary that the running code is in. It may have settled: what it started is in it all the same."""
        return self._innermost.get()

    def open(self, value: V) -> Boundary[V]:
        """Open a boundary, nested in the innermost one. It counts as open from now on, and has to be run.

        Args:
            value: What is read inside.

        Returns:
            The boundary, to be entered and settled.
        """
        boundary = Boundary(self, value, self._chain())
        self._open.add(boundary)
        return boundary

    async def drain(self) -> None:
        """Wait until all boundaries have settled, but for those that the caller itself is in: they wait for it.

        Cancellation:
            Ends the waiting.
        """
        own = self._chain()
        while not self._open.issubset(own):
            self._settling = asyncio.get_running_loop().create_future()
            await self._settling

    # --- the boundaries' side ----------------------------------------------------------------------------------------

    def enter(self, boundary: Boundary[V], operation: Callable[[], object], name: str | None) -> object:
        """Call an operation inside a boundary, and leave it again.

        Args:
            boundary: What is read inside.
            operation: What is called.
            name: The name of the task, where one has to be made.

        Returns:
            What the operation answers; of a coroutine the task that runs it.
        """
        token = self._innermost.set(boundary)
        try:
            answer = operation()
            if isinstance(answer, Coroutine):
                return eager.start(cast("Coroutine[Any, Any, object]", answer), name=name)
            return answer
        finally:
            self._innermost.reset(token)

    def settle(self, boundary: Boundary[V]) -> tuple[Boundary[V], ...]:
        """Take note that a boundary has settled; answer which of those around it are still open."""
        self._open.discard(boundary)
        if self._settling is not None and not self._settling.done():
            self._settling.set_result(None)
        return self._still_open(boundary.around)

    def _chain(self) -> tuple[Boundary[V], ...]:
        """Answer the boundaries that the running code is in, the innermost first."""
        innermost = self._innermost.get()
        return () if innermost is None else self._still_open((innermost, *innermost.around))

    def _still_open(self, boundaries: tuple[Boundary[V], ...]) -> tuple[Boundary[V], ...]:
        # those that are over are let go, so that agents that wake each other for ever leave no trail
        return tuple([boundary for boundary in boundaries if boundary in self._open])
