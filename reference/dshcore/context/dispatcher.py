"""Events, as a context has them: how listeners are registered through it, and events dispatched."""

from collections.abc import Awaitable, Callable
from typing import Any, Self, TypeVar, overload

from dshcore.context.application import Application
from dshcore.context.effects import Disposer
from dshcore.context.errors import InvalidListener
from dshcore.context.fiber import Fiber
from dshcore.context.listeners import Listener, Receiver
from dshcore.events import (
    Emit,
    EmitListener,
    EventKey,
    Layer,
    Parallel,
    ParallelListener,
    Serial,
    SerialListener,
    Waterfall,
)

P = TypeVar("P")
R = TypeVar("R")


class Dispatcher:
    """What listeners are registered through, and events dispatched. All of one application reach the same listeners.

    A listener ends with the owner that it was registered for. A dispatch needs no owner: it works as well when that has
    ended.

    Args:
        app: The application.
        fiber: The owner.

    Attributes:
        fiber: The owner.

    Spec:
        CTX-TREE-01, CTX-DEAD-01
    """

    __slots__ = ("__weakref__", "_app", "fiber")

    fiber: Fiber
    _app: Application

    def __init__(self, app: Application, fiber: Fiber) -> None:
        self._app = app
        self.fiber = fiber

    # --- listeners ---------------------------------------------------------------------------------------------------

    @overload
    def on(
        self,
        key: Emit[P],
        listener: EmitListener[P],
        *,
        prepend: bool = ...,
        global_: bool = ...,
        once: bool = ...,
    ) -> Disposer: ...
    @overload
    def on(
        self,
        key: Serial[P, R],
        listener: SerialListener[P, R],
        *,
        prepend: bool = ...,
        global_: bool = ...,
        once: bool = ...,
    ) -> Disposer: ...
    @overload
    def on(
        self,
        key: Parallel[P],
        listener: ParallelListener[P],
        *,
        prepend: bool = ...,
        global_: bool = ...,
        once: bool = ...,
    ) -> Disposer: ...
    @overload
    def on(
        self,
        key: Waterfall[P, R],
        listener: Layer[P, R],
        *,
        prepend: bool = ...,
        global_: bool = ...,
        once: bool = ...,
    ) -> Disposer: ...
    def on(
        self,
        key: EventKey[Any],
        listener: Callable[..., Any],
        *,
        prepend: bool = False,
        global_: bool = False,
        once: bool = False,
    ) -> Disposer:
        """Listen to an event until the owner ends, whatever state the owner is in.

        Args:
            key: The event.
            listener: Called with the payload; for a waterfall also with a function that runs the layers behind it.
            prepend: Whether it goes before all others, instead of behind them.
            global_: Whether it hears what receivers would keep from it.
            once: Whether it is removed right before its first call.

        Returns:
            Removes exactly this registration.

        Raises:
            InactiveContext: The owner unloads, or was disposed of.
            InvalidListener: The listener cannot be called.

        Spec:
            EVT-ON-01, EVT-ON-02, EVT-ON-03, EVT-ONCE-01, EVT-FILT-02, EFFECT-INACT-01
        """
        if not callable(listener):
            raise InvalidListener(key.name, listener)
        listeners = self._app.listeners
        entry = Listener(listener, self, global_)
        disposer = self.fiber.effects.own(lambda: listeners.remove(key, entry), f"listener of {key.name}")
        if once:

            def only_once(*arguments: object) -> object:
                disposer()  # EVT-ONCE-01: before the call, so that a dispatch from within does not find it
                return listener(*arguments)

            entry.call = only_once
        listeners.add(key, entry, prepend=prepend)
        return disposer

    # --- dispatch ----------------------------------------------------------------------------------------------------
    #
    # `to` is the receiver. Without one everybody is called, whatever scope this context is in (SCOPE-EVT-07).

    def emit(self, key: Emit[P], payload: P, *, to: Receiver[Self] | None = None) -> None:
        """Tell the listeners, one after another, without waiting for any.

        Args:
            key: The event.
            payload: What listeners are given.
            to: Who is to hear of it, where the payload does not tell.

        Raises:
            Exception: What a listener raised, where the key is not contained.

        Spec:
            EVT-EMIT-01, EVT-EMIT-02, EVT-EMIT-03, EVENTS-EMIT-01
        """
        self._app.listeners.emit(key, payload, to)

    def prepare(self, key: Emit[P], payload: P, *, to: Receiver[Self] | None = None) -> Callable[[], None]:
        """Do an `emit` in two parts: tell the observers and settle the audience now, call the listeners later.

        Args:
            key: The event.
            payload: What listeners are given.
            to: Who is to hear of it, where the payload does not tell.

        Returns:
            What calls the listeners. It raises what a listener raised, where the key is not contained.

        Raises:
            Exception: What an observer or the receiver raised; there is nothing to call then.

        Spec:
            EVT-SNAP-01, EVT-SNAP-02, EVT-INT-02
        """
        return self._app.listeners.prepare(key, payload, to)

    async def serial(self, key: Serial[P, R], payload: P, *, to: Receiver[Self] | None = None) -> R | None:
        """Call the listeners, each awaited before the next.

        Args:
            key: The event.
            payload: What listeners are given.
            to: Who is to hear of it, where the payload does not tell.

        Returns:
            The first answer other than none and false, where the key lets it win; else none.

        Raises:
            Exception: What a listener raised; those behind it were not called.

        Cancellation:
            Delivered to the listener that is being awaited; those behind it are not called.

        Spec:
            EVT-SER-01, EVT-SER-02, EVENTS-SERIAL-01, EVENTS-SERIAL-02
        """
        return await self._app.listeners.serial(key, payload, to)

    def parallel(self, key: Parallel[P], payload: P, *, to: Receiver[Self] | None = None) -> Awaitable[None]:
        """Start all listeners now; the answer waits until all have ended.

        Args:
            key: The event.
            payload: What listeners are given.
            to: Who is to hear of it, where the payload does not tell.

        Returns:
            Completes when all listeners have ended.

        Raises:
            NoEventLoop: No event loop is running; nobody was called.
            ListenersFailed: Through the answer, when some failed; all have ended.
            Exception: Through the answer, what an observer or the receiver raised; nobody was called.

        Cancellation:
            Every listener is cancelled, as often as the answer is, and the answer ends when all have ended.

        Spec:
            EVT-PAR-01, EVT-PAR-02
        """
        return self._app.listeners.parallel(key, payload, to)

    def waterfall(
        self, key: Waterfall[P, R], payload: P, default: Callable[[], R], *, to: Receiver[Self] | None = None
    ) -> R:
        """Answer what the outermost listener answers, or the default where there is none.

        Args:
            key: The event.
            payload: Given to every listener as it is.
            default: The innermost layer.
            to: Whom it is for.

        Raises:
            Exception: What a listener or the default raised and nobody around it caught.

        Spec:
            EVT-WF-01, EVT-WF-02, EVT-WF-03, EVT-WF-04, EVT-WF-05, EVENTS-WATER-01, EVENTS-WATER-02
        """
        return self._app.listeners.waterfall(key, payload, default, to)

    def reaches(self, key: EventKey[Any], *, to: Receiver[Self] | None = None) -> bool:
        """Tell whether a dispatch would call anybody now.

        Args:
            key: The event.
            to: Who is to hear of it.
        """
        return self._app.listeners.reaches(key, to)
