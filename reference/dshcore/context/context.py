"""The handle through which everything is found, registered, heard and undone."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, overload

from dshcore.context.errors import ServiceMissing, ServiceTaken
from dshcore.context.lifetime import Disposer, Lifetime, Undo
from dshcore.context.listeners import Listener, Listeners
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
T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class ServiceKey(Generic[T]):
    """Names a service and its type: `ctx[KEY]` is a ``T`` to the type checker. Identity is the key.

    Attributes:
        name: The service's name in the specification, for error texts.
    """

    name: str


@dataclass(frozen=True, slots=True)
class _Provision:
    value: Any
    lifetime: Lifetime


class _Own:
    """Stands for the dispatching context's own scope where a dispatch names none."""


_OWN = _Own()


class Context:
    """A place in the application: who owns what is registered here, and which scope it belongs to.

    The root comes from `Context()`; `derive` makes scopes under it. All contexts of one application share services
    and listeners. Whatever is registered through a context ends with it.
    """

    def __init__(self, *, name: str = "root") -> None:
        self._services: dict[ServiceKey[Any], _Provision] = {}
        self._listeners = Listeners()
        self._lifetime = Lifetime(name, endless=True)
        self._leave_owner: Disposer | None = None
        self.scope: object | None = None

    @property
    def name(self) -> str:
        """What the context is called in error texts."""
        return self._lifetime.name

    @property
    def active(self) -> bool:
        """Whether registrations are accepted."""
        return self._lifetime.active

    def assert_active(self) -> None:
        """Refuse to go on unless registrations are accepted.

        Raises:
            InactiveContext: The context was disposed, or is being disposed.

        Spec:
            FIBER-ACTIVE-01
        """
        self._lifetime.assert_active()

    def derive(self, *, scope: object, name: str | None = None, owned: bool = True) -> "Context":
        """Make a scope: a context with a tag and a lifetime of its own, owned by this one.

        A listener registered through it hears, of the scoped events, only those about its scope.

        Args:
            scope: The tag. Compared by identity; the same one may be used for several contexts.
            name: What to call it; by default as this one.
            owned: Whether it ends with this context. Where it has to end later than that, whoever derives it sees to
                its end.

        Raises:
            InactiveContext: This context is inactive.

        Spec:
            SCOPE-MINT-01, SCOPE-MINT-02, SCOPE-MINT-03, SCOPE-MINT-04, SCOPE-MINT-05, SCOPE-TAG-01
        """
        derived = object.__new__(type(self))
        derived._services = self._services
        derived._listeners = self._listeners
        derived._lifetime = Lifetime(self.name if name is None else name)
        derived.scope = scope
        derived._leave_owner = None
        if owned:
            derived._leave_owner = self._lifetime.own(derived._lifetime.end, f"scope {derived.name}")
        else:
            self.assert_active()
        return derived

    def dispose(self) -> Awaitable[None]:
        """Undo everything registered through this context, and everything derived from it.

        Registrations are refused when this returns (the root alone stays usable); the undos start one turn of the
        loop later, in reverse order of registration. Dispatches through a disposed context still work.

        Returns:
            The completion; calling again answers the same one.

        Cancellation:
            Cancelling a caller that awaits the completion does not stop the undoing.

        Raises:
            RuntimeError: No event loop is running; nothing has changed.

        Spec:
            SCOPE-DISP-01, SCOPE-DISP-02, SCOPE-DISP-03, CTX-DEAD-01
        """
        asyncio.get_running_loop()  # without one, refuse before anything changes
        if self._leave_owner is not None:
            self._leave_owner.begin()  # the owner's own end then joins this one
        return self._lifetime.end()

    def effect(self, undo: Undo, *, label: str) -> Disposer:
        """Have something undone when this context ends.

        Args:
            undo: Called once. It may answer an awaitable; the end of the context waits for it.
            label: What it is, for the log.

        Returns:
            Undoes it earlier.

        Raises:
            InactiveContext: The context is inactive.

        Spec:
            EFFECT-SINGLE-01, EFFECT-INACT-01
        """
        return self._lifetime.own(undo, label)

    # services

    def __getitem__(self, key: ServiceKey[T]) -> T:
        """Return a service that has to be there.

        Raises:
            ServiceMissing: Nobody provides it.
        """
        provision = self._provision(key)
        if provision is None:
            raise ServiceMissing(key.name)
        service: T = provision.value
        return service

    def get(self, key: ServiceKey[T]) -> T | None:
        """Return a service if somebody provides it now. Never fails.

        Spec:
            CTX-GET-01
        """
        provision = self._provision(key)
        return None if provision is None else provision.value

    def provide(self, key: ServiceKey[T], value: T) -> Disposer:
        """Offer a service to the whole application until this context ends.

        Returns:
            Withdraws it earlier.

        Raises:
            ServiceTaken: Somebody provides it already; that provision stays.
            InactiveContext: The context is inactive.

        Spec:
            CTX-PROVIDE-01, CTX-PROVIDE-02
        """
        self.assert_active()
        taken = self._services.get(key)
        if taken is not None:
            raise ServiceTaken(key.name, taken.lifetime.name)
        self._services[key] = _Provision(value, self._lifetime)

        def withdraw() -> None:
            self._services.pop(key, None)

        return self._lifetime.own(withdraw, f'service "{key.name}"')

    def _provision(self, key: ServiceKey[Any]) -> _Provision | None:
        provision = self._services.get(key)
        return provision if provision is not None and provision.lifetime.active else None

    # listeners

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
        """Listen to an event until this context ends.

        Args:
            key: The event.
            listener: Called with the payload; for a waterfall also with a function that runs the layers behind it.
            prepend: Whether it goes before all others, instead of behind them.
            global_: Whether it hears every scope although this context has one.
            once: Whether it is removed right before its first call.

        Returns:
            Removes exactly this registration.

        Raises:
            InactiveContext: The context is inactive.

        Spec:
            EVT-ON-01, EVT-ON-02, EVT-ON-03, EVT-ONCE-01, EVT-FILT-02
        """
        entry = Listener(listener, self.scope, global_)
        disposer = self._lifetime.own(lambda: self._listeners.remove(key, entry), f"listener of {key.name}")
        if once:

            def only_once(*arguments: object) -> object:
                disposer()  # EVT-ONCE-01: before the call, so that a dispatch from within does not find it
                return listener(*arguments)

            entry.call = only_once
        self._listeners.add(key, entry, prepend=prepend)
        return disposer

    # dispatch: `scope` is what the event is about, by default this context's own scope

    def emit(self, key: Emit[P], payload: P, *, scope: object | None = _OWN) -> None:
        """Tell the listeners, one after another, without waiting for any.

        Raises:
            Exception: What a listener raised, where the key is not contained.

        Spec:
            EVT-EMIT-01, EVT-EMIT-02, EVT-EMIT-03, EVENTS-EMIT-01
        """
        self._listeners.emit(key, payload, self.scope if scope is _OWN else scope)

    def prepare(self, key: Emit[P], payload: P, *, scope: object | None = _OWN) -> Callable[[], None]:
        """Settle now who an emit reaches, for an event that takes effect in between.

        Returns:
            Tells them, as `emit` does.

        Spec:
            EVT-SNAP-01, LOG-OBS-02
        """
        return self._listeners.prepare(key, payload, self.scope if scope is _OWN else scope)

    async def serial(self, key: Serial[P, R], payload: P, *, scope: object | None = _OWN) -> R | None:
        """Call the listeners, each awaited before the next.

        Returns:
            The first answer other than none and false, where the key lets it win; else none.

        Raises:
            Exception: What a listener raised; those behind it were not called.

        Cancellation:
            Delivered to the listener that is being awaited; those behind it are not called.

        Spec:
            EVT-SER-01, EVT-SER-02, EVENTS-SERIAL-01, EVENTS-SERIAL-02
        """
        return await self._listeners.serial(key, payload, self.scope if scope is _OWN else scope)

    def parallel(self, key: Parallel[P], payload: P, *, scope: object | None = _OWN) -> Awaitable[None]:
        """Start all listeners now; the answer waits until all have ended.

        Raises:
            ListenersFailed: Through the answer, when some failed; all have ended.

        Cancellation:
            Every listener is cancelled, and the answer ends when all have ended.

        Spec:
            EVT-PAR-01, EVT-PAR-02
        """
        return self._listeners.parallel(key, payload, self.scope if scope is _OWN else scope)

    def waterfall(
        self, key: Waterfall[P, R], payload: P, default: Callable[[], R], *, scope: object | None = _OWN
    ) -> R:
        """Answer what the outermost listener answers, or the default where there is none.

        Args:
            key: The event.
            payload: Given to every listener as it is.
            default: The innermost layer.
            scope: What the event is about.

        Raises:
            Exception: What a listener or the default raised and nobody around it caught.

        Spec:
            EVT-WF-01, EVT-WF-02, EVT-WF-03, EVT-WF-04, EVT-WF-05, EVENTS-WATER-01, EVENTS-WATER-02
        """
        return self._listeners.waterfall(key, payload, default, self.scope if scope is _OWN else scope)

    def reaches(self, key: EventKey[Any], *, scope: object | None = _OWN) -> bool:
        """Tell whether a dispatch of an event would now reach anybody."""
        return self._listeners.reaches(key, self.scope if scope is _OWN else scope)

    def __repr__(self) -> str:
        return f"<Context {self.name} {self._lifetime.state.value}>"
