"""Who owns a registration, and how it is undone.

A `Lifetime` owns effects: each is something to undo, as a `Disposer`. Ending a lifetime starts all undos in the
reverse order of registration, without waiting for one before starting the next, and is over when all have finished.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from enum import Enum
from typing import TypeAlias

from dshcore import eager
from dshcore.context.errors import InactiveContext
from dshcore.errors import describe

_log = logging.getLogger(__name__)

Undo: TypeAlias = Callable[[], Awaitable[object] | None]
"""Undoes one effect; where that takes time, it answers an awaitable."""


class Disposer:
    """Undoes one effect, once. Compared by identity.

    Spec:
        EFFECT-SINGLE-01, EFFECT-SINGLE-02, EFFECT-RUN-02
    """

    __slots__ = ("__weakref__", "_owner", "_undo", "label", "running")

    def __init__(self, owner: "Lifetime", undo: Undo, label: str) -> None:
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
            Exception: What the undo raised; the effect counts as undone all the same.

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
        except BaseException:
            self._owner.release(self)
            raise
        if outcome is None:
            self._owner.release(self)
        else:
            self.running = eager.start(self._finish(outcome), name=f"undo {self.label}")
        return True

    async def _finish(self, outcome: Awaitable[object]) -> None:
        try:
            await outcome
        finally:
            self._owner.release(self)  # not before: the owner's end joins an undo in progress (EFFECT-SINGLE-02)

    def __repr__(self) -> str:
        return f"<Disposer {self.label}>"


class State(Enum):
    """Where a lifetime stands."""

    ACTIVE = "active"
    UNLOADING = "unloading"
    DISPOSED = "disposed"


class Lifetime:
    """An ordered set of effects that end together.

    Args:
        name: For texts and diagnostics.
        endless: Whether it is active again after its effects were undone, as the root's lifetime is.
    """

    def __init__(self, name: str, *, endless: bool = False) -> None:
        self.name = name
        self.state = State.ACTIVE
        self._endless = endless
        self._effects: dict[Disposer, None] = {}
        self._ending: asyncio.Task[None] | None = None

    @property
    def active(self) -> bool:
        """Whether registrations are accepted."""
        return self.state is State.ACTIVE

    def own(self, undo: Undo, label: str) -> Disposer:
        """Take an effect into this lifetime.

        Raises:
            InactiveContext: The lifetime is ending or over.

        Spec:
            EFFECT-INACT-01
        """
        self.assert_active()
        disposer = Disposer(self, undo, label)
        self._effects[disposer] = None
        return disposer

    def assert_active(self) -> None:
        """Refuse to go on unless registrations are accepted.

        Raises:
            InactiveContext: The lifetime is ending or over.
        """
        if not self.active:
            raise InactiveContext

    def release(self, disposer: Disposer) -> None:
        """Forget an effect that was undone.

        Spec:
            EFFECT-RUN-02
        """
        self._effects.pop(disposer, None)

    def end(self) -> Awaitable[None]:
        """Undo everything.

        Registrations are refused when this returns; the undos start one turn of the loop later. One that fails is
        logged and stops neither the others nor the end.

        Returns:
            The shared completion: every call answers the same one.

        Cancellation:
            Cancelling a caller that awaits it does not stop the undoing.

        Spec:
            FIBER-DISP-01, FIBER-DISP-02, FIBER-DISP-03, FIBER-DISP-04, FIBER-DISP-09, SCOPE-DISP-02
        """
        if self._ending is None or (self._endless and self._ending.done()):
            loop = asyncio.get_running_loop()
            if not self._endless:
                self.state = State.UNLOADING
            self._ending = loop.create_task(self._undo_all(), name=f"end of {self.name}")
        return asyncio.shield(self._ending)

    async def _undo_all(self) -> None:
        begun = tuple(reversed(self._effects))
        try:
            for disposer in begun:  # FIBER-DISP-03
                try:
                    disposer.begin()
                except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 - FIBER-DISP-04
                    _report(disposer, error)
            running = [disposer.running for disposer in begun if disposer.running is not None]
            if running:
                await asyncio.wait(running)
            for disposer in begun:
                _report_outcome(disposer)
        finally:
            if not self._endless:
                self.state = State.DISPOSED


def _report_outcome(disposer: Disposer) -> None:
    task = disposer.running
    if task is None:
        return
    error = asyncio.CancelledError() if task.cancelled() else task.exception()
    if error is not None:
        _report(disposer, error)


def _report(disposer: Disposer, error: BaseException) -> None:
    _log.warning("undo of %s failed: %s", disposer.label, describe(error), exc_info=error)
