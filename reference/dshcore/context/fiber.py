"""Fibers: who owns what is registered, and where in the tree of owners.

A fiber is the lifetime of one mounted plugin. It owns effects, provides services, reads what it or a fiber around it
has declared, and ends when it is disposed of. How it is loaded and unloaded until then is the affair of its journeys.
"""

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from dshcore import eager
from dshcore.context.application import Application
from dshcore.context.effects import Disposer, Effects
from dshcore.context.errors import InactiveContext, ServiceInactive, ServiceMissing, require_loop
from dshcore.context.journey import State, Traveller
from dshcore.context.services import OUTER, Dependent, Place, Provision, Realm, ServiceKey
from dshcore.events import Emit
from dshcore.host import end_of


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


class Fiber(Traveller):
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
        self._parent: Final = parent
        self._name: Final = name
        self.requires: Final = tuple(requires)
        self._provided: Final[dict[Place, Provision]] = {}
        places = tuple((key, realms.get(key, OUTER)) for key in requires)
        if parent is None:
            super().__init__(app, 0, places)
            self.begin_bodyless()
            return
        owner = parent.effects  # FIBER-MOUNT-03, SCOPE-MINT-02: refused while it unloads
        if not owned:
            owner = Effects()
        super().__init__(app, next(app.numbers), places)
        self._disposer = owner.own(self._begin_disposal, f"plugin {self.name}")  # FIBER-DISP-03: at its place
        app.services.enlist(self, places)

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

        async def gone(unloading: Sequence[Dependent]) -> None:
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

    # --- end and restart ---------------------------------------------------------------------------------------------

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

    # --- telling -----------------------------------------------------------------------------------------------------

    def _tell_status(self, previous: State) -> None:
        self._app.listeners.emit(FIBER_STATUS, StatusChange(self, previous), None)

    def _tell_dependents(self) -> None:
        for place in tuple(self._provided):
            self._app.services.changed(place)

    def __repr__(self) -> str:
        return f"<Fiber {self.name} {self.state.value}>"
