"""Fibers: the life of what is mounted.

A fiber loads when everything that it requires is available, and is unloaded when that changes, when it is restarted, or
when it is disposed of. Its states are those of the specification's table; between two states of rest it is on a
*journey* of loading and unloading, which looks at the end of each leg where to go next.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import count
from typing import Any, Final

from dshcore import eager
from dshcore.context.effects import Disposer, Effects, gather
from dshcore.context.errors import InactiveContext, ServiceInactive, ServiceMissing, require_loop
from dshcore.context.listeners import Listeners
from dshcore.context.services import OUTER, Place, Provision, Realm, ServiceKey, Services
from dshcore.errors import describe
from dshcore.events import Emit
from dshcore.host import end_of, host_is_cancelling, is_cancellation, is_contained, wind_down

_log = logging.getLogger(__name__)


class State(Enum):
    """Where a fiber stands."""

    PENDING = "pending"
    LOADING = "loading"
    ACTIVE = "active"
    FAILED = "failed"
    UNLOADING = "unloading"
    DISPOSED = "disposed"


@dataclass(frozen=True, slots=True)
class StatusChange:
    """A fiber has changed its state; it shows the new one.

    Attributes:
        previous: The state before.
    """

    fiber: "Fiber"
    previous: State


FIBER_STATUS: Final = Emit[StatusChange]("internal/status", scoped=False)
"""Every change of the state of every fiber, in the moment in which it happens."""


@dataclass(frozen=True, eq=False, slots=True)
class Application:
    """What all contexts and fibers of one application share.

    Attributes:
        listeners: Who listens to what.
        services: What is provided.
        numbers: Counts what has to be told apart.
    """

    listeners: Listeners[Any] = field(default_factory=Listeners[Any])
    services: "Services[Fiber]" = field(default_factory=lambda: Services[Fiber]())  # noqa: PLW0108 - a subscripted class is no type to pyright
    numbers: "count[int]" = field(default_factory=lambda: count(1))


class Fiber:
    """The lifetime of one mounted plugin. Awaiting it waits until no transition is in progress.

    Made by `Context`; the root's fiber is made with it.

    Args:
        app: The application.
        parent: The fiber that owns or encloses it; none for the root.
        owned: Whether the parent's end is its end.
        name: Its name; by default the parent's.
        requires: The services that it needs.
        realms: The realms of the context that it is mounted at.

    Attributes:
        id: A unique number, 0 for the root; none from the moment disposal begins.
        requires: The services that it needs.
        state: Where it stands.
        error: What the last load failed with.

    Spec:
        FIBER-STATE-01, FIBER-MOUNT-02
    """

    def __init__(
        self,
        app: Application,
        *,
        parent: "Fiber | None" = None,
        owned: bool = True,
        name: str | None = None,
        requires: Sequence[ServiceKey[Any]] = (),
        realms: Mapping[ServiceKey[Any], Realm],
    ) -> None:
        self._app: Final = app
        self._parent: Final = parent
        self._name: Final = name
        self.requires: Final = tuple(requires)
        self._places: Final = tuple((key, realms.get(key, OUTER)) for key in requires)
        self.state = State.PENDING
        self.error: BaseException | None = None
        self._body: Callable[[], object] | None = None
        self._effects: Final = Effects()
        self._provided: Final[dict[Place, Provision]] = {}
        self._held: dict[Place, Provision] = {}
        """What it is loaded with."""
        self._wanted: tuple[object, ...] | None = None
        """By whom its requirements are provided, while it ought to be loaded."""
        self._loading: tuple[object, ...] | None = None
        """The same, as it was when the load began."""
        self._journey: asyncio.Task[None] | None = None
        self._failure: Exception | None = None
        """What a status observer failed with, until the journey tells of it."""
        if parent is None:
            self.id: int | None = 0
            self.state, self._wanted = State.ACTIVE, ()
            return
        owner = parent.effects  # FIBER-MOUNT-03, SCOPE-MINT-02: refused while it unloads
        if not owned:
            owner = Effects()
        self.id = next(app.numbers)
        self._disposer = owner.own(self._begin_disposal, f"plugin {self.name}")  # FIBER-DISP-03: at its place
        app.services.enlist(self, self._places)

    # --- reading -----------------------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """Its own name, else that of the nearest named enclosing fiber, else ``root``."""
        if self._name is not None:
            return self._name
        return "root" if self._parent is None else self._parent.name

    @property
    def is_root(self) -> bool:
        """Whether it is the root's fiber."""
        return self._parent is None

    @property
    def is_loaded(self) -> bool:
        """Whether what it provides counts (FIBER-INJECT-02)."""
        return self.state is State.ACTIVE

    @property
    def accepting(self) -> bool:
        """Whether registrations are accepted: also while it waits, loads, or has failed (EFFECT-INACT-01)."""
        return self.id is not None and self.state is not State.UNLOADING

    @property
    def closing(self) -> bool:
        """Whether it, or a fiber around it, unloads or was disposed of: it ends, if only in a moment."""
        return not self.accepting or (self._parent is not None and self._parent.closing)

    def assert_accepting(self) -> None:
        """Refuse to go on unless registrations are accepted.

        Raises:
            InactiveContext: It unloads, or its disposal has begun.

        Spec:
            EFFECT-INACT-01, FIBER-DISP-01, FIBER-DISP-06
        """
        if not self.accepting:
            raise InactiveContext

    def assert_active(self) -> None:
        """Refuse to go on if disposal has begun.

        Raises:
            InactiveContext: It has.

        Spec:
            FIBER-ACTIVE-01
        """
        if self.id is None:
            raise InactiveContext

    # --- effects -----------------------------------------------------------------------------------------------------

    @property
    def effects(self) -> Effects:
        """What it owns, to be added to.

        Raises:
            InactiveContext: Registrations are not accepted.
        """
        self.assert_accepting()
        return self._effects

    # --- services ----------------------------------------------------------------------------------------------------

    def provide(self, place: Place, value: object) -> Disposer:
        """Offer a service in a place, until this fiber unloads.

        Args:
            value: The service.
            place: The key and the realm.

        Returns:
            Withdraws it.

        Raises:
            InactiveContext: Registrations are not accepted.
            KeyDeclared: The key is an accessor.
            ServiceTaken: Something stands there already, and stays.
            NoEventLoop: Others wait for it, and no event loop is running to load them in.

        Spec:
            CTX-PROVIDE-01, CTX-PROVIDE-02, FIBER-DISP-08
        """
        effects = self.effects
        services = self._app.services
        if self.is_loaded and services.is_required(place):
            require_loop()
        provision = Provision(place, value, self)
        services.add(provision)
        self._provided[place] = provision

        def withdraw() -> Awaitable[None] | None:
            if services.is_required(place):
                require_loop()
            services.remove(provision)
            unloading = [one for one in services.changed(place) if one.in_transition]
            if unloading:
                return gone(unloading)
            forget()
            return None

        async def gone(unloading: Sequence[Fiber]) -> None:
            cancelled: asyncio.CancelledError | None = None
            for dependent in unloading:  # FIBER-DISP-08
                cancelled = await dependent.wind_down() or cancelled
            forget()  # not before: its own undos can read it (CTX-READ-04)
            if cancelled is not None:
                raise cancelled

        def forget() -> None:
            if self._provided.get(place) is provision:  # by now it may provide the key anew (CTX-PROVIDE-01)
                del self._provided[place]

        disposer = effects.own(withdraw, f'service "{place[0].name}"')
        if self.is_loaded:
            services.changed(place)
        return disposer

    def read(self, place: Place) -> object:
        """Answer what this fiber requires or provides in a place, or else what an enclosing one does.

        The root's own contexts read whatever is provided, and nothing for the rest.

        Raises:
            ServiceInactive: The fiber that requires it is not loaded with it.
            ServiceMissing: Nobody on the way up has declared it.

        Spec:
            CTX-READ-01, CTX-READ-02, CTX-READ-03, CTX-READ-04, SCOPE-DEPS-01
        """
        if not self.is_root:
            return self.declared(place).value
        provision = self._app.services.find(place)
        return None if provision is None else provision.value

    def declared(self, place: Place) -> Provision:
        """Find what this fiber, or else the nearest one around it, requires or provides in a place. See `read`.

        Raises:
            ServiceMissing: Nobody provides it.
            ServiceInactive: Its provider is not active.
        """
        provision = self._provided.get(place) or self._held.get(place)
        if provision is not None:
            return provision
        if place in self._places:
            raise ServiceInactive(place[0].name)
        if self._parent is None:
            raise ServiceMissing(place[0].name)
        return self._parent.declared(place)

    # --- life --------------------------------------------------------------------------------------------------------

    def begin(self, body: Callable[[], object]) -> None:
        """Load as soon as everything required is available; never inside this call.

        Args:
            body: What loads it.

        Raises:
            NoEventLoop: Everything required is available, and no event loop is running.

        Spec:
            FIBER-MOUNT-01, FIBER-INJECT-01
        """
        self._body = body
        self._want(self._providers())

    def begin_bodyless(self) -> None:
        """Be active at once: there is nothing to load, and everything required is available."""
        self._wanted = self._providers()
        self._hold()
        self.state = State.ACTIVE

    @property
    def dispose(self) -> Disposer:
        """The exact disposer of this fiber: single-shot, and adoptable by a composite of the fiber that owns it.

        Called on a loaded fiber it takes effect at once; the undos start one turn of the loop later. The root stays
        usable: everything in it is undone, and each look at this property answers a new disposer.

        Spec:
            FIBER-DISP-01, FIBER-DISP-05, FIBER-DISP-09
        """
        if self.is_root:
            return Disposer(Effects(), self.restart, "root")
        return self._disposer

    def end(self) -> Awaitable[None]:
        """Dispose of it, or join its disposal.

        Returns:
            The shared completion.

        Raises:
            NoEventLoop: No event loop is running; nothing has changed.
            Exception: Through the answer, what a status observer failed with; everything is undone all the same.

        Cancellation:
            Cancelling a caller that awaits the completion does not stop the undoing.

        Spec:
            SCOPE-DISP-02, SCOPE-DISP-04
        """
        loop = require_loop()
        disposer = self.dispose
        disposer.begin()
        if self._journey is not None:
            completion = asyncio.shield(self._journey)
            for outcome in (completion, disposer.running):
                if outcome is not None:
                    outcome.add_done_callback(eager.outcome_seen)  # it is in the log, whether or not anybody waits
            return completion
        done: asyncio.Future[None] = loop.create_future()
        done.set_result(None)
        return done

    def restart(self) -> Awaitable[None]:
        """Unload it, children included, and load it again.

        While it loads or waits this changes nothing.

        Returns:
            What waits until it is at rest again, as awaiting the fiber does.

        Raises:
            InactiveContext: Its disposal has begun.
            NoEventLoop: No event loop is running; nothing has changed.

        Spec:
            FIBER-RESTART-01, FIBER-FAIL-02
        """
        self.assert_active()
        require_loop()
        self._want(None)
        self._want(self._providers())
        return self

    async def wait(self) -> None:
        """Wait until no transition is in progress. Children do not count.

        Raises:
            Exception: What the last load failed with, or an observer of a transition.

        Cancellation:
            Nothing but the waiting ends.

        Spec:
            FIBER-AWAIT-01, FIBER-AWAIT-02, FIBER-FAIL-01
        """
        await self._arrival()
        if self.error is not None:
            raise self.error

    def __await__(self) -> Generator[Any, None, None]:
        return self.wait().__await__()

    @property
    def in_transition(self) -> bool:
        """Whether it is loading or unloading."""
        return self._journey is not None

    async def wind_down(self) -> asyncio.CancelledError | None:
        """Wait until no transition is in progress, however it went, as a part of what ends: see `host.wind_down`.

        Returns:
            Completes when it is at rest.

        Cancellation:
            Handed on once to what is waited for.
        """
        cancelled: asyncio.CancelledError | None = None
        while self._journey is not None:
            cancelled = await wind_down((self._journey,)) or cancelled
        return cancelled

    # --- transitions -------------------------------------------------------------------------------------------------

    def refresh(self) -> None:
        """Look again at what is available, and set out if that calls for it.

        Spec:
            FIBER-INJECT-01, FIBER-INJECT-03, FIBER-INJECT-04
        """
        try:
            self._want(self._providers())
        except Exception as error:  # noqa: BLE001 - a status observer's, and no affair of the provider
            _log.error("%s failed: %s", self, describe(error), exc_info=error)

    def _providers(self) -> tuple[object, ...] | None:
        if self.id is None:
            return None
        found = [self._app.services.available(place) for place in self._places]
        providers = tuple(provision.provider for provision in found if provision is not None)
        return providers if len(providers) == len(found) else None

    def _want(self, wanted: tuple[object, ...] | None) -> None:
        """Change what the fiber ought to be loaded with. A journey that is under way sees it at its next stop."""
        before = self._wanted
        if wanted == before:
            return
        if self._journey is not None:  # FIBER-INJECT-05, FIBER-DISP-06
            self._wanted = wanted
            return
        require_loop()
        self._wanted = wanted
        self._set_out(State.LOADING if before is None else State.UNLOADING)

    def _set_out(self, leg: State) -> None:
        self._journey = eager.start(self._travel(leg), name=f"{self.name}: {leg.value}")
        self._journey.add_done_callback(_report_journey)
        self._enter(leg)

    async def _arrival(self) -> None:
        """Wait until no transition is in progress, and fail as the journey fails."""
        while self._journey is not None:
            await asyncio.shield(self._journey)

    async def _travel(self, leg: State) -> None:
        """Load or unload, and whatever that leads to, until the fiber is at rest.

        A status observer that fails stops nothing; its failure goes to whoever waits for the journey.

        Cancellation:
            A body that runs is cancelled, and its load has failed. Undos are cancelled once, and waited for. The
            cancellation comes out, like everything that is more than an exception, when the fiber is at rest.
        """
        stopped: BaseException | None = None
        going: State | None = leg
        try:
            await asyncio.sleep(0)  # FIBER-MOUNT-01, FIBER-DISP-01: nothing of it happens inside the call
        except asyncio.CancelledError as error:
            stopped = error
            if leg is State.LOADING:
                self._fail(error)
        while going is not None:
            leg = going
            try:
                going = await self._next_leg(leg)
            except BaseException as error:
                if not self._is_travelling():
                    self._journey = None
                    raise
                stopped = stopped or error
                going = self._behind(leg)
            if going is None:
                self._journey = None
            try:
                self._enter(self._rest() if going is None else going)
            except Exception as error:  # noqa: BLE001 - an observer's
                self._failure = self._failure or error
            except BaseException as error:  # noqa: BLE001 - raised below
                stopped = stopped or error
        failure, self._failure = self._failure, None
        if stopped is not None:
            raise stopped
        if failure is not None:
            raise failure

    def _is_travelling(self) -> bool:
        """Whether the journey is being driven, and not closed by the end of its loop: then it can wait for nothing."""
        try:
            return asyncio.current_task() is self._journey
        except RuntimeError:
            return False

    async def _next_leg(self, leg: State) -> State | None:
        """Carry out one leg, and answer the next one, or none at rest."""
        if leg is State.LOADING:
            await self._load()
            return self._behind(leg)
        await self._effects.undo_all()
        return self._behind(leg)

    def _behind(self, leg: State) -> State | None:
        """Answer what follows a leg that is over."""
        if leg is State.LOADING:
            return None if self._wanted == self._loading else State.UNLOADING
        self._held = {}  # CTX-READ-04: not before
        return None if self._wanted is None else State.LOADING

    def _enter(self, state: State) -> None:
        """Be in a state, tell of it, and have dependents look at what that changes for them.

        Spec:
            FIBER-STATE-01, FIBER-INJECT-02, FIBER-INJECT-03, FIBER-DISP-01
        """
        if state is State.LOADING:
            self._loading = self._wanted
            self._hold()
        previous, self.state = self.state, state  # never the same: every leg is a change
        try:
            self._app.listeners.emit(FIBER_STATUS, StatusChange(self, previous), None)
        finally:
            if State.ACTIVE in (previous, state):
                self._tell_dependents()

    def _tell_dependents(self) -> None:
        for place in tuple(self._provided):
            self._app.services.changed(place)

    def _rest(self) -> State:
        if self.id is None:
            return State.DISPOSED
        if self.error is not None:
            return State.FAILED
        return State.PENDING if self._wanted is None else State.ACTIVE

    def _hold(self) -> None:
        """Keep what is available now for as long as the fiber is loaded (CTX-READ-04)."""
        found = [self._app.services.available(place) for place in self._places]
        self._held = {provision.place: provision for provision in found if provision is not None}

    async def _load(self) -> None:
        """Run the body, unless it ought not to be loaded any more.

        Raises:
            BaseException: What the body ended with, where that is not its affair alone; the load has failed then.

        Spec:
            FIBER-MOUNT-01, FIBER-BODY-01, FIBER-FAIL-01, FIBER-FAIL-02, FIBER-INJECT-05, FIBER-DISP-06,
            FIBER-DISP-07, SVC-INIT-01
        """
        if self._wanted != self._loading:  # FIBER-DISP-07
            return
        try:
            answer = None if self._body is None else self._body()
            later = gather(answer, self._effects.take)
            if later is not None:
                await later
        except BaseException as error:
            if not self._is_travelling():
                raise
            self._fail(error)
            if not is_contained(error):
                raise
        else:
            self.error = None

    def _fail(self, error: BaseException) -> None:
        """Let the load have failed; what it had registered is undone next."""
        if not (is_cancellation(error) and host_is_cancelling()):
            _log.error("plugin %s failed: %s", self.name, describe(error), exc_info=error)
        self.error = error
        self._wanted = None

    def _begin_disposal(self) -> Awaitable[None]:
        """Be disposed of: refuse registrations, and unload as soon as a running body has ended.

        Spec:
            FIBER-DISP-01, FIBER-DISP-02, FIBER-DISP-06, FIBER-DISP-10
        """
        require_loop()
        self.id = None
        self._app.services.dismiss(self, self._places)
        try:
            self._want(None)
            if self._journey is None:  # FIBER-DISP-10: it waits or has failed; what it owns is undone all the same
                self._set_out(State.UNLOADING)
        except Exception as error:  # noqa: BLE001 - a status observer's; the transition stands
            self._failure = self._failure or error
        return self._end_of_disposal()

    async def _end_of_disposal(self) -> None:
        """Wait until it is at rest, and fail as its journey fails.

        Cancellation:
            It is handed on to the journey.
        """
        while self._journey is not None:
            await end_of(self._journey)

    def __repr__(self) -> str:
        return f"<Fiber {self.name} {self.state.value}>"


def _report_journey(journey: asyncio.Task[None]) -> None:
    error = None if journey.cancelled() else journey.exception()
    if error is not None:
        _log.error("%s failed: %s", journey.get_name(), describe(error), exc_info=error)
