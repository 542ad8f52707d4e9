"""The listeners of one application, and how an event reaches them.

There is one list per event, whatever contexts the listeners were registered through. A dispatch works on the list as
it was when the dispatch began. Lists are replaced, never changed, so that taking that snapshot costs nothing.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from dshcore import eager
from dshcore.context.errors import ListenerCancelled, ListenersFailed
from dshcore.errors import describe
from dshcore.events import Emit, EventKey, Parallel, Serial, Waterfall

P = TypeVar("P")
R = TypeVar("R")

_log = logging.getLogger(__name__)


@dataclass(eq=False, slots=True)
class Listener:
    """One registration. Compared by identity: the same callback registered twice is two of them.

    Attributes:
        call: The callback, or a wrapper that removes the registration first.
        scope: The scope that it was registered through, or none.
        everywhere: Whether it hears every scope in spite of its own.
    """

    call: Callable[..., Any]
    scope: object | None
    everywhere: bool


class Listeners:
    """The lists of one application, by event.

    Spec:
        EVT-ON-01, EVT-SNAP-01, EVT-FILT-01, EVT-FILT-02, EVENTS-EMIT-02, EVENTS-SCOPE-01
    """

    def __init__(self) -> None:
        self._lists: dict[EventKey[Any], tuple[Listener, ...]] = {}
        self._unawaited: set[asyncio.Task[object]] = set()  # asyncio itself keeps tasks only weakly

    def add(self, key: EventKey[Any], listener: Listener, *, prepend: bool) -> None:
        """Put a listener at the end of its event's list, or at the front.

        Spec:
            EVT-ON-01
        """
        present = self._lists.get(key, ())
        self._lists[key] = (listener, *present) if prepend else (*present, listener)

    def remove(self, key: EventKey[Any], listener: Listener) -> None:
        """Take exactly this registration out; doing it again changes nothing.

        Spec:
            EVT-ON-02
        """
        rest = tuple(entry for entry in self._lists.get(key, ()) if entry is not listener)
        if rest:
            self._lists[key] = rest
        else:
            self._lists.pop(key, None)

    def emit(self, key: Emit[P], payload: P, scope: object | None) -> None:
        """Call the listeners one after another. See `Emit` for what becomes of failures."""
        for listener in self._audience(key, scope):
            self._tell(listener, key, payload)

    def prepare(self, key: Emit[P], payload: P, scope: object | None) -> Callable[[], None]:
        """Settle now who an `emit` calls, and answer what calls them."""
        audience = self._audience(key, scope)

        def deliver() -> None:
            for listener in audience:
                self._tell(listener, key, payload)

        return deliver

    def _tell(self, listener: Listener, key: Emit[P], payload: P) -> None:
        try:
            outcome = listener.call(payload)
        except (Exception, asyncio.CancelledError) as error:
            if not key.contained:  # EVT-EMIT-02
                raise
            _report(key, payload, "threw", error)  # EVENTS-EMIT-01
            return
        if outcome is not None and isinstance(outcome, Awaitable):
            self._let_run(key, payload, cast("Awaitable[object]", outcome))

    async def serial(self, key: Serial[P, R], payload: P, scope: object | None) -> R | None:
        """Call the listeners one after another, each awaited before the next. See `Serial`."""
        for listener in self._audience(key, scope):
            outcome = listener.call(payload)
            value: R | None = await cast("Awaitable[R | None]", outcome) if isinstance(outcome, Awaitable) else outcome
            if key.first_value_wins and value is not None and value is not False:  # EVT-SER-01, EVENTS-SERIAL-01
                return value
        return None

    def parallel(self, key: Parallel[P], payload: P, scope: object | None) -> Awaitable[None]:
        """Start all listeners now; the answer waits for all. See `Parallel`."""
        tasks = [
            eager.start(_run(listener, payload), name=f"listener of {key.name}")
            for listener in self._audience(key, scope)
        ]
        return _join(key, tasks)

    def waterfall(self, key: Waterfall[P, R], payload: P, default: Callable[[], R], scope: object | None) -> R:
        """Nest the listeners around the default. See `Waterfall`."""
        rest = iter(self._audience(key, scope))  # EVT-WF-04: one cursor for the whole dispatch

        def next_layer(*_ignored: object) -> R:  # EVT-WF-03
            listener = next(rest, None)
            if listener is None:
                return default()
            answer: R = listener.call(payload, next_layer)
            return answer

        return next_layer()

    def reaches(self, key: EventKey[Any], scope: object | None) -> bool:
        """Tell whether an event about a scope would now be heard."""
        return bool(self._audience(key, scope))

    def _audience(self, key: EventKey[Any], scope: object | None) -> tuple[Listener, ...]:
        present = self._lists.get(key, ())
        if not key.scoped:
            return present
        return tuple(  # EVENTS-SCOPE-01: the scope that a listener was registered through decides
            [entry for entry in present if entry.scope is None or entry.scope is scope or entry.everywhere]
        )

    def _let_run(self, key: Emit[P], payload: P, outcome: Awaitable[object]) -> None:
        """Run to its end what a listener of an emit answered, without anybody waiting.

        Spec:
            EVT-EMIT-03
        """
        ready = isinstance(outcome, Coroutine)
        coroutine = cast("Coroutine[Any, Any, object]", outcome) if ready else _await(outcome)
        try:
            task: asyncio.Task[object] = eager.start(coroutine, name=f"listener of {key.name}")
        except RuntimeError as error:  # no loop runs, so that it never could
            _report(key, payload, "rejected", error)
            return
        self._unawaited.add(task)

        def ended(task: asyncio.Task[object]) -> None:
            self._unawaited.discard(task)
            if task.cancelled():
                if not task.cancelling():  # the host's own cancellation is no failure of the listener
                    _report(key, payload, "rejected", asyncio.CancelledError())
            elif (error := task.exception()) is not None:
                _report(key, payload, "rejected", error)

        task.add_done_callback(ended)


async def _await(outcome: Awaitable[object]) -> object:
    return await outcome


async def _run(listener: Listener, payload: object) -> None:
    outcome = listener.call(payload)
    if isinstance(outcome, Awaitable):
        await outcome


async def _join(key: Parallel[Any], tasks: list[asyncio.Task[None]]) -> None:
    if not tasks:
        return
    try:
        await asyncio.wait(tasks)
    except asyncio.CancelledError:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        raise
    errors: list[Exception] = []
    for task in tasks:  # EVT-PAR-02: in the order of the listeners, not of the failures
        error = ListenerCancelled(key.name) if task.cancelled() else task.exception()
        if isinstance(error, Exception):  # an interrupt has stopped the program already
            errors.append(error)
    if errors:
        raise ListenersFailed(key.name, errors)


def _report(key: Emit[P], payload: P, verb: str, error: BaseException) -> None:
    event = key.report.format(name=key.name, payload=payload)
    _log.warning("%s listener %s: %s", event, verb, describe(error), exc_info=error, extra={"event": key.name})
