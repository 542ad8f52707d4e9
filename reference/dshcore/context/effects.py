"""Effects: what is in force until it is undone, and who has it undone.

`Effects` is the ordered set of what one fiber owns. An effect is known by its `Disposer`, which undoes it once. A
*composite* effect consists of parts: its body hands over one undo after another, and they are unwound in reverse, each
finished before the next one starts. Handing over the exact disposer of another effect moves that effect into the
composite; a function around it moves nothing.
"""

import asyncio
import logging
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Awaitable,
    Callable,
    Coroutine,
    Generator,
    Iterator,
)
from typing import Any, TypeAlias, cast

from dshcore import eager
from dshcore.context.errors import InvalidEffect, NoEventLoop, require_loop
from dshcore.errors import describe
from dshcore.host import end_of, host_is_cancelling, wind_down

_log = logging.getLogger(__name__)

Undo: TypeAlias = Callable[[], Awaitable[object] | None]
"""Undoes one effect; where that takes time, it answers an awaitable."""

Parts: TypeAlias = Undo | Iterator[Undo | None] | None
"""What the body of a composite effect answers: nothing, one undo, or an iterator (a generator) of them."""

AsyncParts: TypeAlias = Coroutine[Any, Any, Undo | None] | AsyncIterator[Undo | None]
"""What the body of a composite effect answers where setting it up takes time."""


class Disposer:
    """Undoes one effect, once. Compared by identity.

    Args:
        owner: The effects among which it stands until the undo is over.
        undo: Undoes the effect.
        label: What it undoes, for the log.

    Attributes:
        running: The task that undoes it, once it has begun to.

    Spec:
        EFFECT-SINGLE-01, EFFECT-SINGLE-02, EFFECT-RUN-02
    """

    __slots__ = ("__weakref__", "_owner", "_undo", "label", "running")

    def __init__(self, owner: "Effects", undo: Undo, label: str) -> None:
        self._owner = owner
        self._undo: Undo | None = undo
        self.label = label
        self.running: asyncio.Task[None] | None = None

    def __call__(self) -> Awaitable[None] | None:
        """Undo the effect.

        Returns:
            The first call answers an awaitable where the undo takes time, else none. Each later call answers none
            at once, even while the first is in progress.

        Raises:
            Exception: What the undo raised; the effect counts as undone all the same (EFFECT-ERR-01).
            NoEventLoop: The undo takes time, and no event loop is running. The effect stays in force.

        Cancellation:
            Cancelling the caller that awaits the answer does not stop the undo.
        """
        return asyncio.shield(self.running) if self.begin() and self.running else None

    def begin(self) -> bool:
        """Do what a call does, without an answer to wait on: `running` has the undo while it takes time.

        Returns:
            Whether this was the first time.
        """
        undo, self._undo = self._undo, None
        if undo is None:  # EFFECT-SINGLE-01
            return False
        try:
            outcome = undo()
            if isinstance(outcome, Awaitable):
                require_loop_for(outcome)
                self.running = eager.start(self._finish(outcome), name=f"undo {self.label}")
        except NoEventLoop:
            self._undo = undo
            raise
        except BaseException:
            self._owner.release(self)
            raise
        if self.running is None:
            self._owner.release(self)
        return True

    async def _finish(self, outcome: Awaitable[object]) -> None:
        try:
            await outcome
        finally:
            self._owner.release(self)  # not before: the owner's end joins an undo in progress (EFFECT-SINGLE-02)

    def __repr__(self) -> str:
        return f"<Disposer {self.label}>"


class AsyncDisposer(Disposer):
    """Undoes an effect that is being set up. Awaiting it waits for the setup, and fails as the setup fails.

    Undoing it waits for the setup first, and then undoes what was set up.

    Spec:
        EFFECT-ASYNC-01
    """

    __slots__ = ("setup",)

    setup: asyncio.Task[None]

    def __await__(self) -> Generator[Any, None, None]:
        return asyncio.shield(self.setup).__await__()


class Effects:
    """The effects of one owner, in the order of registration.

    Whether a registration is accepted is the owner's affair.
    """

    def __init__(self) -> None:
        self._owned: dict[Disposer, None] = {}

    def __len__(self) -> int:
        return len(self._owned)

    def own(self, undo: Undo, label: str) -> Disposer:
        """Take in an effect that is in force.

        Args:
            label: What it undoes, for the log.
            undo: What is called at the end.

        Returns:
            Undoes it earlier.

        Raises:
            InvalidEffect: The undo cannot be called.
        """
        if not callable(undo):
            raise InvalidEffect(undo)
        disposer = Disposer(self, undo, label)
        self._owned[disposer] = None
        return disposer

    def take(self, part: object) -> None:
        """Take in what a body hands over: an undo, or the disposer of an effect that is owned already.

        Args:
            part: What is taken over.

        Raises:
            InvalidEffect: It is neither that nor nothing.
        """
        match part:
            case None:
                pass
            case Disposer() if part in self._owned:
                self._owned[part] = self._owned.pop(part)  # last from now on: it is undone first
            case _ if callable(part):
                undo = cast("Undo", part)
                self.own(lambda: start_or_join(undo), "effect")
            case _:
                raise InvalidEffect(part)

    def composite(self, body: Callable[[], object], label: str) -> Disposer:
        """Run a body now, and own what it hands over as one effect.

        Args:
            label: What it is, for the log.
            body: Makes the parts.

        Returns:
            Undoes all of it.

        Raises:
            InvalidEffect: The body handed over what is neither nothing nor an undo. The parts before it are undone.
            Exception: What the body raised, or else what undoing its parts raised.

        Spec:
            EFFECT-RUN-01, EFFECT-GEN-01, EFFECT-GEN-02, EFFECT-GEN-03, EFFECT-ERR-02, EFFECT-REENT-01
        """
        parts = _Composite(self)
        disposer = self.own(parts.unwind, label)  # before the body runs: it may end its owner (EFFECT-REENT-01)
        try:
            answer = body()
            gather_now(answer, parts.add)
        except BaseException:
            disposer.begin()
            if disposer.running is not None:  # EFFECT-GEN-03: the owner joins it
                disposer.running.add_done_callback(lambda task: _report_outcome(disposer, task))
            raise
        return disposer

    def async_composite(self, body: Callable[[], object], label: str) -> AsyncDisposer:
        """Run a body that takes time, and own what it hands over as one effect.

        Args:
            label: What it is, for the log.
            body: Makes the parts.

        Returns:
            Undoes all of it; awaited, it waits for the setup.

        Raises:
            NoEventLoop: No event loop is running; nothing has begun.

        Cancellation:
            A setup that the host cancels undoes its parts itself: nothing new is started while a program ends.

        Spec:
            EFFECT-ASYNC-01
        """
        require_loop()
        parts = _Composite(self)

        async def set_up() -> None:
            try:
                later = gather(body(), parts.add)
                if later is not None:
                    await later
            except asyncio.CancelledError:
                if host_is_cancelling():
                    await unwind()
                raise

        async def unwind() -> None:
            unwinding = parts.unwind()
            if unwinding is not None:
                await unwinding

        async def undo() -> None:
            if not disposer.setup.done():
                await asyncio.wait((disposer.setup,))
            await unwind()
            disposer.setup.result()

        def ended(setup: asyncio.Task[None]) -> None:
            if setup.cancelled() and setup.cancelling():  # the host's own cancellation
                if disposer.running is None:
                    self.release(disposer)
                return
            failure = asyncio.CancelledError() if setup.cancelled() else setup.exception()
            if failure is not None and disposer.begin() and disposer.running is not None:
                disposer.running.add_done_callback(lambda task: _report_outcome(disposer, task, but=failure))

        disposer = AsyncDisposer(self, undo, label)
        self._owned[disposer] = None
        disposer.setup = eager.start(set_up(), name=f"setup of {label}")
        disposer.setup.add_done_callback(ended)
        return disposer

    def release(self, disposer: Disposer) -> None:
        """Forget an effect that was undone, or that somebody else takes over.

        Args:
            disposer: What is let go of.

        Spec:
            EFFECT-RUN-02
        """
        self._owned.pop(disposer, None)

    async def undo_all(self) -> None:
        """Undo everything: start all, the latest first, then wait for all. No failure leaves it.

        Cancellation:
            It is handed on to the undos, and all of them begin and are waited for all the same; then it comes out, as
            does what stops the program.

        Spec:
            FIBER-DISP-02, FIBER-DISP-03, FIBER-DISP-04, EFFECT-SINGLE-02
        """
        stopped: BaseException | None = None
        begun = tuple(reversed(self._owned))
        for disposer in begun:  # FIBER-DISP-03
            try:
                disposer.begin()
            except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 - FIBER-DISP-04
                _report(disposer, error)
            except BaseException as error:  # noqa: BLE001 - raised below
                stopped = stopped or error
        running = [disposer.running for disposer in begun if disposer.running is not None]
        if running:
            stopped = stopped or await wind_down(running)
        for disposer in begun:
            if disposer.running is not None:
                _report_outcome(disposer, disposer.running)
        if stopped is not None:
            raise stopped


class _Composite:
    """The parts of a composite effect, as far as its body has handed them over."""

    def __init__(self, effects: Effects) -> None:
        self._effects = effects
        self._undos: list[Undo] = []

    def add(self, part: object) -> None:
        """Take over one part.

        Spec:
            EFFECT-NEST-01, EFFECT-NEST-02, EFFECT-ERR-02
        """
        if part is None:
            return
        if not callable(part):
            raise InvalidEffect(part)
        if isinstance(part, Disposer):  # EFFECT-NEST-02: the very object, nothing around it
            self._effects.release(part)
        self._undos.append(cast("Undo", part))

    def unwind(self) -> Awaitable[None] | None:
        """Undo the parts in reverse, one after another; the first failure ends it (EFFECT-GEN-01, EFFECT-ERR-01)."""
        while self._undos:
            last = self._undos[-1]
            try:
                outcome = start_or_join(self._undos.pop())
                if outcome is not None:
                    require_loop_for(outcome)
                    return self._unwind_behind(outcome)
            except NoEventLoop:
                self._undos.append(last)  # it is still in force
                raise
        return None

    async def _unwind_behind(self, outcome: Awaitable[object]) -> None:
        await outcome
        while self._undos:
            later = start_or_join(self._undos.pop())
            if later is not None:
                await later


def gather(answer: object, add: Callable[[object], None]) -> Coroutine[Any, Any, None] | None:
    """Hand on, part by part, what a body answered.

    Args:
        answer: Nothing, an undo, an iterator of these, or an awaitable or asynchronous iterator of them.
        add: Takes one part; it refuses what is none.

    Returns:
        The rest of the gathering, where the answer takes time.

    Raises:
        InvalidEffect: The answer is none of these.
        Exception: What the iterator raised.

    Spec:
        FIBER-BODY-01, EFFECT-ERR-02
    """
    if answer is None or callable(answer):
        add(answer)
    elif isinstance(answer, Iterator):
        _gather_all(cast("Iterator[object]", answer), add)
    elif isinstance(answer, AsyncIterator):
        return _gather_all_later(cast("AsyncIterator[object]", answer), add)
    elif isinstance(answer, Awaitable):
        return _gather_later(cast("Awaitable[object]", answer), add)
    else:
        raise InvalidEffect(answer)
    return None


def gather_now(answer: object, add: Callable[[object], None]) -> None:
    """Hand on what a body answered, as `gather` does, where that may not take time.

    Args:
        add: Takes each part.
        answer: What the body answered.

    Raises:
        InvalidEffect: The answer is none, or takes time.
        Exception: What the iterator raised.
    """
    later = gather(answer, add)
    if later is not None:
        later.close()  # nothing of it has run
        unusable: object = answer
        if isinstance(answer, Coroutine):
            cast("Coroutine[Any, Any, object]", answer).close()
        raise InvalidEffect(unusable)


def _gather_all(parts: Iterator[object], add: Callable[[object], None]) -> None:
    try:
        while True:
            try:
                part = next(parts)
            except StopIteration as end:
                add(end.value)
                return
            add(part)
    except BaseException:
        if isinstance(parts, Generator):
            try:
                parts.close()
            except Exception as error:  # noqa: BLE001 - what it was closed for is what the caller gets
                _report_unclosed(error)
        raise


async def _gather_all_later(parts: AsyncIterator[object], add: Callable[[object], None]) -> None:
    try:
        async for part in parts:
            add(part)
    except Exception:
        if isinstance(parts, AsyncGenerator):
            try:
                await parts.aclose()
            except Exception as error:  # noqa: BLE001 - as above
                _report_unclosed(error)
        raise


def _report_unclosed(error: Exception) -> None:
    _log.warning("the body of an effect cannot be closed: %s", describe(error), exc_info=error)


async def _gather_later(answer: Awaitable[object], add: Callable[[object], None]) -> None:
    add(await answer)


def start_or_join(undo: Undo) -> Awaitable[object] | None:
    """Undo something now; where it is a disposer that somebody called already, answer what is still in progress.

    Args:
        undo: What is run.

    Returns:
        What there is to wait for, if it takes time.

    Spec:
        EFFECT-SINGLE-02
    """
    if not isinstance(undo, Disposer):
        outcome: object = undo()
        return outcome if isinstance(outcome, Awaitable) else None
    undo.begin()
    return None if undo.running is None or undo.running.done() else end_of(undo.running)


def require_loop_for(outcome: object) -> None:
    """Close what nobody can run.

    Args:
        outcome: What an undo answered.

    Raises:
        NoEventLoop: No event loop is running.
    """
    try:
        require_loop()
    except NoEventLoop:
        eager.discard(outcome)
        raise


def _report_outcome(disposer: Disposer, task: asyncio.Task[None], *, but: BaseException | None = None) -> None:
    if task.cancelled() and task.cancelling():  # the host's own cancellation is no failure of the undo
        return
    error = asyncio.CancelledError() if task.cancelled() else task.exception()
    if error is not None and error is not but:
        _report(disposer, error)


def _report(disposer: Disposer, error: BaseException) -> None:
    _log.warning("undo of %s failed: %s", disposer.label, describe(error), exc_info=error)
