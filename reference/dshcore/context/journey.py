"""Journeys: how a fiber is loaded when all that it requires is available, and unloaded when that changes.

Its states are those of the specification's table. Between two states of rest it is on a *journey* of loading and
unloading, which looks at the end of each leg where to go next: whatever is asked of it meanwhile only changes what is
wanted.
"""

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Sequence
from enum import Enum
from typing import Any, Final

from dshcore import eager
from dshcore.context.application import Application
from dshcore.context.effects import Effects, gather
from dshcore.context.errors import require_loop
from dshcore.context.services import Place, Provision
from dshcore.errors import describe
from dshcore.host import host_is_cancelling, is_cancellation, is_contained, wind_down

_log = logging.getLogger(__name__)


class State(Enum):
    """Where a fiber stands."""

    PENDING = "pending"
    LOADING = "loading"
    ACTIVE = "active"
    FAILED = "failed"
    UNLOADING = "unloading"
    DISPOSED = "disposed"


class Traveller(ABC):
    """A fiber as far as it is loaded and unloaded, on one journey at a time. Awaiting it waits until it is on none.

    Args:
        app: The application.
        number: Tells it apart.
        places: What it requires, and where it looks for that.

    Attributes:
        id: Its number; none from the moment disposal begins.
        state: Where it stands.
        error: What the last load failed with.

    Spec:
        FIBER-STATE-01
    """

    def __init__(self, app: Application, number: int, places: Sequence[Place]) -> None:
        self._app: Final = app
        self._places: Final = tuple(places)
        self.id: int | None = number
        self.state = State.PENDING
        self.error: BaseException | None = None
        self._body: Callable[[], object] | None = None
        self._effects: Final = Effects()
        self._held: dict[Place, Provision] = {}
        """What it is loaded with."""
        self._wanted: tuple[object, ...] | None = None
        """By whom its requirements are provided, while it ought to be loaded."""
        self._loading: tuple[object, ...] | None = None
        """The same, as it was when the load began."""
        self._journey: asyncio.Task[None] | None = None
        self._failure: Exception | None = None
        """What a status observer failed with, until the journey tells of it."""

    @property
    @abstractmethod
    def name(self) -> str:
        """What the log calls it."""

    @abstractmethod
    def _tell_status(self, previous: State) -> None:
        """Tell the observers of the state that it has entered."""

    @abstractmethod
    def _tell_dependents(self) -> None:
        """Have those look again who require what it provides."""

    # --- what is asked of it -----------------------------------------------------------------------------------------

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

    def refresh(self) -> None:
        """Look again at what is available, and set out if that calls for it.

        Spec:
            FIBER-INJECT-01, FIBER-INJECT-03, FIBER-INJECT-04
        """
        try:
            self._want(self._providers())
        except Exception as error:  # noqa: BLE001 - a status observer's, and no affair of the provider
            _log.error("%s failed: %s", self, describe(error), exc_info=error)

    # --- where it is -------------------------------------------------------------------------------------------------

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
            self._tell_status(previous)
        finally:
            if State.ACTIVE in (previous, state):
                self._tell_dependents()

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


def _report_journey(journey: asyncio.Task[None]) -> None:
    error = None if journey.cancelled() else journey.exception()
    if error is not None:
        _log.error("%s failed: %s", journey.get_name(), describe(error), exc_info=error)
