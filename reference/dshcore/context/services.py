"""The services of one application: what is provided where, and who waits for it.

A service is found by its key in a *realm*: below a context that isolates a key, the key is provided and looked up in a
realm of its own. A key is either a service or an accessor, from its first declaration on.
"""

import asyncio
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

from dshcore.context.errors import KeyDeclared, ServiceTaken

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class ServiceKey(Generic[T]):
    """Names a service and its type: `ctx[KEY]` is a ``T`` to the type checker. Identity is the key.

    Accessors and own values of contexts have such keys as well.

    Attributes:
        name: The service's name in the specification, for error texts.
    """

    name: str


@dataclass(frozen=True, slots=True)
class Realm:
    """Where an isolated key is provided and looked up. Realms of equal labels are one realm (SVC-REALM-02).

    Attributes:
        label: The label by which others reach it too; none where nobody does.
    """

    label: Hashable


OUTER = Realm(None)
"""The realm of a key that nobody has isolated."""

Place: TypeAlias = tuple[ServiceKey[Any], Realm]
"""Where a service stands; at most one is provided there."""


class Provider(Protocol):
    """Who provides a service: a fiber."""

    @property
    def name(self) -> str:
        """What error texts call it."""
        ...

    @property
    def is_loaded(self) -> bool:
        """Whether what it provides counts."""
        ...


class Dependent(Protocol):
    """Who requires services: a fiber."""

    def refresh(self) -> None:
        """Look again at what is available."""
        ...

    @property
    def in_transition(self) -> bool:
        """Whether it is being loaded or unloaded."""
        ...

    async def wind_down(self) -> asyncio.CancelledError | None:
        """Wait until it no longer is, however that goes.

        Returns:
            A cancellation of who waits: it is handed on to what is waited for, and to be raised in the end.
        """
        ...


@dataclass(frozen=True, eq=False, slots=True)
class Provision:
    """One service that somebody provides.

    Attributes:
        place: The key and the realm.
        value: The service.
        provider: Who provides it.
    """

    place: Place
    value: Any
    provider: Provider


class Services:
    """What is declared and provided in one application, and by whom it is required."""

    def __init__(self) -> None:
        self._provisions: dict[Place, Provision] = {}
        self._dependents: dict[Place, dict[Dependent, None]] = {}
        self._services: set[ServiceKey[Any]] = set()
        self._accessors: dict[ServiceKey[Any], Callable[[Any], Any]] = {}

    # --- declarations ------------------------------------------------------------------------------------------------

    def accessor(self, key: ServiceKey[Any]) -> Callable[[Any], Any] | None:
        """Answer what reads an accessor; none for every other key."""
        return self._accessors.get(key)

    def declare_accessor(self, key: ServiceKey[Any], get: Callable[[Any], Any]) -> Callable[[], None]:
        """Let a key be an accessor, and answer what takes that back.

        Args:
            get: Answers the value for a context.
            key: The key.

        Returns:
            Takes it back.

        Raises:
            KeyDeclared: It is a service or an accessor already; nothing has changed.

        Spec:
            CTX-ACC-02
        """
        if key in self._services:
            raise KeyDeclared(key.name, "service")
        if key in self._accessors:
            raise KeyDeclared(key.name, "accessor")
        self._accessors[key] = get

        def take_back() -> None:
            del self._accessors[key]

        return take_back

    # --- provisions --------------------------------------------------------------------------------------------------

    def add(self, provision: Provision) -> None:
        """Let a service stand in its place.

        Args:
            provision: What is provided.

        Raises:
            KeyDeclared: The key is an accessor.
            ServiceTaken: Something stands there already, and stays.

        Spec:
            CTX-ACC-02, CTX-PROVIDE-02, SVC-CLAIM-01
        """
        key, _ = provision.place
        if key in self._accessors:
            raise KeyDeclared(key.name, "accessor")
        self._services.add(key)
        taken = self._provisions.get(provision.place)
        if taken is not None:  # also while its provider is still loading
            raise ServiceTaken(key.name, taken.provider.name)
        self._provisions[provision.place] = provision

    def remove(self, provision: Provision) -> None:
        """Let its place be free again (CTX-PROVIDE-01).

        Args:
            provision: What is provided no longer.
        """
        del self._provisions[provision.place]

    def find(self, place: Place) -> Provision | None:
        """Answer what stands in a place, whether or not it counts yet."""
        return self._provisions.get(place)

    def available(self, place: Place) -> Provision | None:
        """Answer what stands in a place, while its provider is active.

        Spec:
            CTX-GET-01, FIBER-INJECT-02
        """
        provision = self._provisions.get(place)
        return provision if provision is not None and provision.provider.is_loaded else None

    # --- dependents --------------------------------------------------------------------------------------------------

    def enlist(self, dependent: Dependent, places: Iterable[Place]) -> None:
        """Have a dependent look again whenever something changes in one of these places."""
        for place in places:
            self._dependents.setdefault(place, {})[dependent] = None

    def dismiss(self, dependent: Dependent, places: Iterable[Place]) -> None:
        """Have it look no more.

        Args:
            dependent: Who needs nothing any more.
            places: What it needed.
        """
        for place in places:
            rest = self._dependents.get(place, {})
            rest.pop(dependent, None)
            if not rest:
                self._dependents.pop(place, None)

    def is_required(self, place: Place) -> bool:
        """Tell whether anybody looks at this place."""
        return place in self._dependents

    def changed(self, place: Place) -> tuple[Dependent, ...]:
        """Have all dependents of a place look again, and answer them."""
        dependents = tuple(self._dependents.get(place, ()))
        for dependent in dependents:
            dependent.refresh()
        return dependents
