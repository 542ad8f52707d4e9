"""Contexts: the handles through which everything is found, registered and undone."""

from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeAlias, TypeVar, cast, overload

from dshcore.context.application import Application
from dshcore.context.dispatcher import Dispatcher
from dshcore.context.effects import AsyncDisposer, AsyncParts, Disposer, Parts, Undo
from dshcore.context.errors import InvalidPlugin, ServiceMissing, require_loop
from dshcore.context.fiber import Fiber
from dshcore.context.services import OUTER, Place, Realm, ServiceKey

C = TypeVar("C")
T = TypeVar("T")


class Receiver(Protocol):
    """Whom a dispatch is for: it admits a listener, or not, by the context that the listener was registered through."""

    def admits(self, context: "Context", /) -> bool:
        """Decide about a listener. What this raises ends the dispatch before anybody is called (EVT-SNAP-02).

        Args:
            context: Where a listener is registered.

        Returns:
            Whether it hears of the event.
        """
        ...


Body: TypeAlias = Callable[["Context", C], object]
"""Sets up what a plugin does. It answers nothing, an undo, an awaitable of these, or an iterator of undos."""


@dataclass(frozen=True, eq=False)
class Plugin(Generic[C]):
    """Something to mount. Each mount of it has a life of its own.

    Attributes:
        body: Run with the plugin's own context and its configuration each time the plugin loads.
        name: For error texts; by default it goes by the name of what it is mounted in.
        requires: The services without which it does not load.
        validate: Answers the configuration that the body gets, or raises `InvalidConfig`.
    """

    body: "Body[C]"
    name: str | None = None
    requires: Sequence[ServiceKey[Any]] = ()
    validate: Callable[[object], C] | None = None


class _Inherit:
    """Stands for the scope of the context that something is opened through."""


_INHERIT = _Inherit()


class Context(Dispatcher):
    """A place in the application: who owns what is registered here, where services are found, which scope it is in.

    The root comes from `Context()`; all others come from it. All contexts of one application share services and
    listeners. `derive` and `isolate` answer another view of the same owner; `mount` and `open` answer the context of a
    new one, which ends with this context's owner. What is registered through a context ends with its owner.

    Attributes:
        fiber: The owner.
        scope: The tag of the scope that it is in, if any; the nearest one counts (SCOPE-TAG-01).

    Spec:
        CTX-TREE-01, CTX-TREE-02
    """

    __slots__ = ("_realms", "_values", "scope")

    scope: object | None
    _realms: Mapping[ServiceKey[Any], Realm]
    _values: Mapping[ServiceKey[Any], object]

    def __init__(self) -> None:
        app = Application()
        self._realms = {}
        self._values = {}
        self.scope = None
        super().__init__(app, Fiber(app, realms=self._realms))

    @property
    def name(self) -> str:
        """What the owner is called in error texts."""
        return self.fiber.name

    @property
    def active(self) -> bool:
        """Whether registrations are accepted."""
        return self.fiber.accepting

    @property
    def closing(self) -> bool:
        """Whether the owner, or one around it, has begun to end: it may be reached by that only in a moment."""
        return self.fiber.closing

    def assert_active(self) -> None:
        """Refuse to go on if the disposal of the owner has begun (FIBER-ACTIVE-01).

        Raises:
            InactiveContext: It has.
        """
        self.fiber.assert_active()

    def assert_accepting(self) -> None:
        """Refuse to go on unless registrations are accepted.

        Raises:
            InactiveContext: The owner unloads, or was disposed of.
        """
        self.fiber.assert_accepting()

    # --- other contexts ----------------------------------------------------------------------------------------------

    @overload
    def derive(self) -> "Context": ...
    @overload
    def derive(self, key: ServiceKey[T], value: T) -> "Context": ...
    def derive(self, key: ServiceKey[Any] | None = None, value: object = None) -> "Context":
        """Make another context of the same owner.

        Args:
            key: Names a value that it has, and with it everything derived from it or mounted under it.
            value: The value. It is read as a service is, and hides an accessor of that key.

        Spec:
            CTX-TREE-01, CTX-TREE-02
        """
        return self._with(values=self._values if key is None else {**self._values, key: value})

    def isolate(self, key: ServiceKey[Any], label: Hashable | None = None) -> "Context":
        """Make another context of the same owner, below which a service is provided and looked up in its own realm.

        Args:
            key: The service.
            label: Realms of the same label are one; without a label it is a realm that nobody else has.

        Spec:
            SVC-REALM-01, SVC-REALM-02
        """
        return self._with(realms={**self._realms, key: Realm(object() if label is None else label)})

    @overload
    def mount(self, plugin: "Plugin[C] | Body[C]", config: C) -> "Context": ...
    @overload
    def mount(self, plugin: "Plugin[Any] | Body[Any]", config: object = ...) -> "Context": ...
    def mount(self, plugin: "Plugin[Any] | Body[Any]", config: object = None) -> "Context":
        """Mount a plugin under the owner of this context. Its body runs later, when what it requires is available.

        Args:
            plugin: The plugin, or just its body.
            config: Its configuration.

        Returns:
            The plugin's own context, which can be used at once; await its fiber to see the plugin loaded.

        Raises:
            InvalidPlugin: It is no plugin.
            InactiveContext: The owner unloads, or was disposed of.
            NoEventLoop: No event loop is running; nothing is mounted.

        Spec:
            FIBER-MOUNT-01, FIBER-MOUNT-02, FIBER-MOUNT-03, FIBER-CONFIG-01
        """
        made = _plugin(plugin)
        require_loop()  # FIBER-MOUNT-01: before anything is owned
        mounted = self._with(
            fiber=Fiber(
                self._app,
                parent=self.fiber,
                name=made.name,
                requires=made.requires,
                realms=self._realms,
            )
        )

        def load() -> object:
            return made.body(mounted, config if made.validate is None else made.validate(config))

        mounted.fiber.begin(load)
        return mounted

    def open(
        self,
        *,
        name: str | None = None,
        scope: object | None = _INHERIT,
        requires: Sequence[ServiceKey[Any]] = (),
        owned: bool = True,
    ) -> "Context":
        """Open an owner that has no body, so that it is active at once.

        Args:
            name: What to call it; by default as this one.
            scope: The tag of its scope; by default that of this context.
            requires: The services that may be read through it. When one of them goes, what is registered through the
                context is undone; when it comes back, the context is active again, and empty.
            owned: Whether it ends with the owner of this context. Where it has to end later than that, whoever opens
                it sees to its end.

        Returns:
            Its context.

        Raises:
            InactiveContext: The owner unloads, or was disposed of.
            ServiceMissing: A required service is not available.

        Spec:
            SCOPE-MINT-01, SCOPE-MINT-02, SCOPE-MINT-03, SCOPE-TAG-01
        """
        self.assert_accepting()
        for key in requires:
            if self._app.services.available(self.place(key)) is None:
                raise ServiceMissing(key.name)
        opened = self._with(
            fiber=Fiber(self._app, parent=self.fiber, owned=owned, name=name, requires=requires, realms=self._realms)
        )
        if scope is not _INHERIT:
            opened.scope = scope
        opened.fiber.begin_bodyless()
        return opened

    def _with(
        self,
        *,
        fiber: Fiber | None = None,
        realms: Mapping[ServiceKey[Any], Realm] | None = None,
        values: Mapping[ServiceKey[Any], object] | None = None,
    ) -> "Context":
        """Make a context that is as this one but for what is given."""
        made = copy(self)
        if fiber is not None:
            made.fiber = fiber
        if realms is not None:
            made._realms = realms  # noqa: SLF001 - of this class
        if values is not None:
            made._values = values  # noqa: SLF001 - of this class
        return made

    # --- effects -----------------------------------------------------------------------------------------------------

    def effect(self, undo: Undo, *, label: str) -> Disposer:
        """Have something undone when the owner ends.

        Args:
            undo: Called once. It may answer an awaitable; the end of the owner waits for it.
            label: What it is, for the log.

        Returns:
            Undoes it earlier.

        Raises:
            InactiveContext: The owner unloads, or was disposed of.
            InvalidEffect: The undo cannot be called.

        Spec:
            EFFECT-SINGLE-01, EFFECT-INACT-01
        """
        return self.fiber.effects.own(undo, label)

    def composite(self, body: Callable[[], Parts], *, label: str) -> Disposer:
        """Set something up that consists of parts, which are undone one after another, the last one first.

        Args:
            body: Runs now. It answers an undo, or is a generator function that yields one undo after another. The
                exact disposer of another effect of this owner is undone at that place, and no longer by the owner.
            label: What it is, for the log.

        Returns:
            Undoes the parts earlier.

        Raises:
            InactiveContext: The owner unloads, or was disposed of.
            InvalidEffect: A part is no undo. The parts before it are undone.
            Exception: What the body raised, when the parts before it are undone. It comes at once: what takes time
                goes on, and the owner's end waits for it.

        Spec:
            EFFECT-RUN-01, EFFECT-GEN-01, EFFECT-GEN-02, EFFECT-NEST-01, EFFECT-NEST-02, EFFECT-INACT-01
        """
        return self.fiber.effects.composite(body, label)

    def async_composite(self, body: Callable[[], AsyncParts], *, label: str) -> AsyncDisposer:
        """Set something up that takes time, as `composite` does.

        Args:
            body: A coroutine function, or an asynchronous generator function. It begins now.
            label: What it is, for the log.

        Returns:
            Await it to see the setup done. Called, it undoes the parts as soon as the setup is done.

        Raises:
            InactiveContext: The owner unloads, or was disposed of.
            NoEventLoop: No event loop is running; nothing has begun.

        Spec:
            EFFECT-ASYNC-01
        """
        return self.fiber.effects.async_composite(body, label)

    def dispose(self) -> Awaitable[None]:
        """Undo everything that the owner of this context owns, and end it. The root stays usable.

        Registrations are refused when this returns; the undos start one turn of the loop later, in reverse order of
        registration. Dispatches and optional look-ups through a disposed context still work.

        Returns:
            The shared completion: however often it is called.

        Cancellation:
            Cancelling a caller that awaits the completion does not stop the undoing.

        Raises:
            NoEventLoop: No event loop is running; nothing has changed.
            Exception: Through the answer, what a status observer failed with; everything is undone all the same.

        Spec:
            SCOPE-DISP-01, SCOPE-DISP-02, SCOPE-DISP-03, CTX-DEAD-01
        """
        return self.fiber.end()

    # --- services ----------------------------------------------------------------------------------------------------

    def __getitem__(self, key: ServiceKey[T]) -> T:
        """Return what has to be there: as `read` does, and never nothing.

        Raises:
            ServiceMissing: The owner does not require it, or there is none.
            ServiceInactive: The owner is not loaded with it.

        Spec:
            CTX-READ-01, CTX-READ-02, CTX-READ-03
        """
        found = self.read(key)
        if found is None:
            raise ServiceMissing(key.name)
        return found

    def read(self, key: ServiceKey[T]) -> T | None:
        """Return an own value of this context, what an accessor says, or a service that the owner has declared.

        Args:
            key: The key.

        Returns:
            What was found. Nothing where that is the value, and where the root reads what nobody provides.

        Raises:
            ServiceMissing: The owner does not require or provide it, nor does any owner around it.
            ServiceInactive: The owner is not loaded with it.

        Spec:
            CTX-OWN-01, CTX-READ-01, CTX-READ-02, CTX-READ-03
        """
        if key in self._values:  # CTX-OWN-01: before the accessor
            return cast("T", self._values[key])
        accessor = self._app.services.accessor(key)
        if accessor is not None:
            return cast("T", accessor(self))
        return cast("T | None", self.fiber.read(self.place(key)))

    def get(self, key: ServiceKey[T]) -> T | None:
        """Return a service if an active owner provides it now. Needs no declaration, and never fails.

        Args:
            key: The key.

        Spec:
            CTX-GET-01, CTX-DEAD-01
        """
        provision = self._app.services.available(self.place(key))
        return None if provision is None else cast("T", provision.value)

    def provide(self, key: ServiceKey[T], value: T) -> Disposer:
        """Offer a service in this context's realm until the owner unloads. It counts once the owner is active.

        Args:
            key: The key.
            value: The service.

        Returns:
            Withdraws it earlier.

        Raises:
            KeyDeclared: The key is an accessor.
            ServiceTaken: Somebody provides it already; that provision stays.
            InactiveContext: The owner unloads, or was disposed of.

        Spec:
            CTX-PROVIDE-01, CTX-PROVIDE-02, SVC-CLAIM-01
        """
        return self.fiber.provide(self.place(key), value)

    def accessor(self, key: ServiceKey[T], get: "Callable[[Context], T]") -> Disposer:
        """Let a key be read by a function of the reading context, until the owner unloads.

        Args:
            key: The key.
            get: Answers the value for a context.

        Returns:
            Takes it back earlier.

        Raises:
            KeyDeclared: The key is a service or an accessor already; nothing has changed.
            InactiveContext: The owner unloads, or was disposed of.

        Spec:
            CTX-ACC-02
        """
        effects = self.fiber.effects
        return effects.own(self._app.services.declare_accessor(key, get), f'accessor "{key.name}"')

    def receiver(self, key: ServiceKey[Any]) -> Receiver:
        """Make the receiver of what a service dispatches: listeners in the realm in which this context finds it.

        Args:
            key: The key.

        Spec:
            SVC-REALM-03
        """
        return _InRealm(self.place(key))

    def place(self, key: ServiceKey[Any]) -> Place:
        """Answer where this context provides a service, and looks for it.

        Args:
            key: The key.
        """
        return key, self._realms.get(key, OUTER)

    def __repr__(self) -> str:
        return f"<Context {self.name} {self.fiber.state.value}>"


def _plugin(given: object) -> Plugin[Any]:
    """Make a plugin of what is to be mounted: a body alone goes by the name of its function."""
    if isinstance(given, Plugin):
        plugin: Plugin[Any] = given  # pyright: ignore[reportUnknownVariableType] - of any configuration
        if not callable(plugin.body):
            raise InvalidPlugin(plugin)
        return plugin
    if not callable(given):
        raise InvalidPlugin(given)
    name = getattr(given, "__name__", None)
    return Plugin(given, name=None if name == "<lambda>" else name)


@dataclass(frozen=True, slots=True)
class _InRealm:
    """Admits the listeners whose contexts find a service in one place (SVC-REALM-03)."""

    place: Place

    def admits(self, context: Context) -> bool:
        return context.place(self.place[0]) == self.place
