"""The listeners of one application, and how an event reaches them.

There is one list per event, whatever contexts the listeners were registered through. A dispatch works on the list as
it was when the dispatch began. Lists are replaced, never changed, so that taking that snapshot costs nothing. A
dispatch may name a *receiver*, which decides for each listener whether it is called.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Final, Generic, Literal, Protocol, TypeAlias, TypeVar, cast

from dshcore import eager
from dshcore.context.errors import CarrierForeign, CarrierMissing, ListenerCancelled, ListenersFailed, require_loop
from dshcore.errors import describe
from dshcore.events import Emit, EventKey, Parallel, Serial, Waterfall
from dshcore.host import all_ended

P = TypeVar("P")
R = TypeVar("R")
C = TypeVar("C")
C_contra = TypeVar("C_contra", contravariant=True)

_log = logging.getLogger(__name__)

Mode: TypeAlias = Literal["emit", "serial", "parallel", "waterfall"]
"""How an event is dispatched."""


class Receiver(Protocol[C_contra]):
    """Whom a dispatch is for."""

    def admits(self, context: C_contra, /) -> bool:
        """Decide about a listener by the context that it was registered through. What it raises ends the dispatch.

        Returns:
            Whether the listener is called.
        """
        ...


@dataclass(frozen=True, slots=True)
class Dispatch:
    """An event is about to be dispatched; nobody has been selected or called yet.

    Attributes:
        mode: How.
        name: The event's name.
        payload: What the listeners get, the object itself.
        receiver: Whom it is for; none where it is for everybody.
    """

    mode: Mode
    name: str
    payload: object
    receiver: object | None


DISPATCH: Final = Emit[Dispatch]("internal/dispatch", scoped=False)
"""Observers of all dispatches listen to this. Notifications of the framework itself are not told of."""

_FRAMEWORK: Final = "internal/"


@dataclass(eq=False, slots=True)
class Listener(Generic[C]):
    """One registration. Compared by identity: the same callback registered twice is two of them.

    Attributes:
        call: The callback, or a wrapper that removes the registration first.
        via: The context that it was registered through.
        everywhere: Whether it is called whatever a receiver says.
    """

    call: Callable[..., Any]
    via: C
    everywhere: bool


class Listeners(Generic[C]):
    """The lists of one application, by event.

    Spec:
        EVT-ON-01, EVT-SNAP-01, EVT-NEST-01, EVENTS-EMIT-02
    """

    def __init__(self) -> None:
        self._lists: dict[EventKey[Any], tuple[Listener[C], ...]] = {}
        self._unawaited: set[asyncio.Task[object]] = set()  # asyncio itself keeps tasks only weakly

    def add(self, key: EventKey[Any], listener: Listener[C], *, prepend: bool) -> None:
        """Put a listener at the end of its event's list, or at the front.

        Args:
            key: The event.
            prepend: Whether it is called before those that are there.
            listener: Who listens.

        Spec:
            EVT-ON-01
        """
        present = self._lists.get(key, ())
        self._lists[key] = (listener, *present) if prepend else (*present, listener)

    def remove(self, key: EventKey[Any], listener: Listener[C]) -> None:
        """Take exactly this registration out; doing it again changes nothing.

        Args:
            key: The event.
            listener: Who listened.

        Spec:
            EVT-ON-02
        """
        rest = tuple(entry for entry in self._lists.get(key, ()) if entry is not listener)
        if rest:
            self._lists[key] = rest
        else:
            self._lists.pop(key, None)

    def emit(self, key: Emit[P], payload: P, to: Receiver[C] | None) -> None:
        """Call the listeners one after another. See `Emit` for what becomes of failures.

        Args:
            key: The event.
            payload: What listeners are given.
            to: Who is to hear of it.
        """
        for listener in self._audience("emit", key, payload, to):
            self._tell(listener, key, payload)

    def prepare(self, key: Emit[P], payload: P, to: Receiver[C] | None) -> Callable[[], None]:
        """Do now what may prevent an `emit`, and answer what calls the listeners.

        Args:
            key: The event.
            payload: What listeners are given.
            to: Who is to hear of it.

        Returns:
            Delivers it.
        """
        audience = self._audience("emit", key, payload, to)

        def deliver() -> None:
            for listener in audience:
                self._tell(listener, key, payload)

        return deliver

    def _tell(self, listener: Listener[C], key: Emit[P], payload: P) -> None:
        try:
            outcome = listener.call(payload)
        except (Exception, asyncio.CancelledError) as error:
            if not key.contained:  # EVT-EMIT-02
                raise
            _report(key, payload, "threw", error)  # EVENTS-EMIT-01
            return
        if outcome is not None and isinstance(outcome, Awaitable):
            self._let_run(key, payload, cast("Awaitable[object]", outcome))

    async def serial(self, key: Serial[P, R], payload: P, to: Receiver[C] | None) -> R | None:
        """Call the listeners one after another, each awaited before the next. See `Serial`.

        Args:
            key: The event.
            payload: What listeners are given.
            to: Who is to hear of it.

        Returns:
            The first value that ends the dispatch, if there is one.

        Cancellation:
            Delivered to the listener that is being awaited.
        """
        for listener in self._audience("serial", key, payload, to):
            outcome = listener.call(payload)
            value: R | None = await cast("Awaitable[R | None]", outcome) if isinstance(outcome, Awaitable) else outcome
            if key.first_value_wins and value is not None and value is not False:  # EVT-SER-01, EVENTS-SERIAL-01
                return value
        return None

    def parallel(self, key: Parallel[P], payload: P, to: Receiver[C] | None) -> Awaitable[None]:
        """Start all listeners now; the answer waits for all. See `Parallel`.

        Args:
            key: The event.
            payload: What listeners are given.
            to: Who is to hear of it.

        Returns:
            Completes when all listeners have ended.
        """
        require_loop()
        try:
            audience = self._audience("parallel", key, payload, to)
        except Exception as error:  # noqa: BLE001 - whoever awaits the answer gets it (EVT-INT-02)
            return eager.start(_failed(error))
        tasks = [eager.start(_run(listener, payload), name=f"listener of {key.name}") for listener in audience]
        return eager.start(_join(key, tasks), name=f"listeners of {key.name}")

    def waterfall(self, key: Waterfall[P, R], payload: P, default: Callable[[], R], to: Receiver[C] | None) -> R:
        """Nest the listeners around the default. See `Waterfall`.

        Args:
            key: The event.
            payload: What listeners are given.
            to: Who is to hear of it.
            default: The innermost layer.

        Returns:
            What the outermost layer answers.
        """
        rest = iter(self._audience("waterfall", key, payload, to))  # EVT-WF-04: one cursor for the whole dispatch

        def next_layer(*_ignored: object) -> R:  # EVT-WF-03
            listener = next(rest, None)
            if listener is None:
                return default()
            answer: R = listener.call(payload, next_layer)
            return answer

        return next_layer()

    def reaches(self, key: EventKey[Any], to: Receiver[C] | None) -> bool:
        """Tell whether a dispatch for a receiver would call anybody now. Observers are not told.

        Args:
            key: The event.
            to: Who is to hear of it.
        """
        present = self._lists.get(key, ())
        return bool(present if to is None else _admitted(present, to))

    def _audience(self, mode: Mode, key: EventKey[P], payload: P, to: Receiver[C] | None) -> tuple[Listener[C], ...]:
        """Settle, before anybody is called, who is.

        Spec:
            EVT-SNAP-01, EVT-SNAP-02, EVT-FILT-01, EVT-FILT-02, EVT-INT-01, EVT-INT-02, SCOPE-EVT-04, SCOPE-CHECK-01
        """
        if key.receiver is not None:
            if to is not None:  # SCOPE-EVT-08
                raise CarrierForeign(key.name)
            to = cast("Receiver[C]", key.receiver(payload))
        if to is None and key.scoped:
            raise CarrierMissing(key.name)
        if DISPATCH in self._lists and not key.name.startswith(_FRAMEWORK):  # EVT-INT-01: also when nobody listens
            self.emit(DISPATCH, Dispatch(mode, key.name, payload, to), None)
        present = self._lists.get(key, ())
        return present if to is None else _admitted(present, to)

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


def _admitted(present: tuple[Listener[C], ...], to: Receiver[C]) -> tuple[Listener[C], ...]:
    return tuple([entry for entry in present if entry.everywhere or to.admits(entry.via)])


async def _await(outcome: Awaitable[object]) -> object:
    return await outcome


async def _failed(error: Exception) -> None:
    raise error


async def _run(listener: Listener[Any], payload: object) -> None:
    outcome = listener.call(payload)
    if isinstance(outcome, Awaitable):
        await outcome


async def _join(key: Parallel[Any], tasks: list[asyncio.Task[None]]) -> None:
    cancelled = await all_ended(tasks)
    errors: list[Exception] = []
    for task in tasks:  # EVT-PAR-02: in the order of the listeners, not of the failures
        error = ListenerCancelled(key.name) if task.cancelled() else task.exception()
        if isinstance(error, Exception):  # an interrupt has stopped the program already
            errors.append(error)
    if cancelled is not None:
        for error in errors:
            if not isinstance(error, ListenerCancelled):
                _log.warning("%s listener failed: %s", key.name, describe(error), exc_info=error)
        raise cancelled
    if errors:
        raise ListenersFailed(key.name, errors)


def _report(key: Emit[P], payload: P, verb: str, error: BaseException) -> None:
    try:
        event = key.report.format(name=key.name, payload=payload)
    except Exception:  # noqa: BLE001 - a dispatch that is contained is not failed by the words for its log
        event = key.name
    _log.warning("%s listener %s: %s", event, verb, describe(error), exc_info=error, extra={"event": key.name})
