"""A cancellation as a value: who wants the work stopped, told to whoever does it.

One `CancelSignal` serves one activity. It is handed down explicitly; stopping is cooperative.
Cancelling an `asyncio` task is how a *host* stops a program and has nothing to do with it.
"""

import logging
from collections.abc import Callable

from dshcore.errors import DshError, describe

_log = logging.getLogger(__name__)


class Aborted(DshError):
    """Work was given up because its signal was aborted.

    Args:
        signal: The signal.

    Attributes:
        signal: The signal, which tells whose work it was.
        reason: The cause that it carries.
    """

    default_code = "ABORTED"

    def __init__(self, signal: "CancelSignal") -> None:
        super().__init__(f"aborted: {signal.reason!r}")
        self.signal = signal
        self.reason = signal.reason


class CancelSignal:
    """Tells the holders of one activity that it should stop, and why.

    Spec:
        CANCEL-CAUSE-01, CANCEL-FIRST-01
    """

    __slots__ = ("__weakref__", "_aborted", "_callbacks", "_reason")

    def __init__(self) -> None:
        self._aborted = False
        self._reason: object = None
        self._callbacks: dict[object, Callable[[], object]] = {}

    @property
    def aborted(self) -> bool:
        """Whether somebody asked for the activity to stop. Never becomes false again."""
        return self._aborted

    @property
    def reason(self) -> object:
        """The cause given to the first `abort`, unchanged; none before."""
        return self._reason

    def abort(self, reason: object) -> bool:
        """Ask for the activity to stop.

        Every callback has been called when this returns. One that raises is logged and starves no other.

        Args:
            reason: The cause. The first one stays; later calls change nothing.

        Returns:
            Whether this call was the first.
        """
        if self._aborted:  # CANCEL-FIRST-01
            return False
        self._aborted = True
        self._reason = reason
        while self._callbacks:  # a callback taken back by an earlier one is not called
            mark = next(iter(self._callbacks))
            _call(self._callbacks.pop(mark))
        return True

    def on_abort(self, callback: Callable[[], object]) -> Callable[[], None]:
        """Have a callback called, inside the `abort`, in the order of registration.

        On a signal that is already aborted it is called at once, so that nobody waits for what has happened.

        Args:
            callback: Called once, without arguments.

        Returns:
            A function that takes the callback back; calling it again does nothing.
        """
        if self._aborted:
            _call(callback)
            return _nothing_to_take_back
        mark = object()
        self._callbacks[mark] = callback

        def take_back() -> None:
            self._callbacks.pop(mark, None)

        return take_back

    def raise_if_aborted(self) -> None:
        """Give up here when the signal is aborted.

        Raises:
            Aborted: With the cause.
        """
        if self._aborted:
            raise Aborted(self)

    def __repr__(self) -> str:
        return f"<CancelSignal aborted: {self._reason!r}>" if self._aborted else "<CancelSignal live>"


def _call(callback: Callable[[], object]) -> None:
    try:
        callback()
    except Exception as error:  # noqa: BLE001 - whatever it is, it must not starve the other callbacks
        _log.warning("abort callback threw: %s", describe(error), exc_info=error)


def _nothing_to_take_back() -> None:
    """Answer for a callback that was called already."""
