"""Adapters and their registry: which provider is served by whom."""

from collections.abc import AsyncIterable, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, TypeAlias, runtime_checkable

import msgspec

from dshcore.cancel_signal import CancelSignal
from dshcore.context import Context, Disposer
from dshcore.json import JsonObject, abridged, freeze, is_array
from dshcore.llm.calls import GenerateOptions
from dshcore.llm.failures import LlmError

_INVALID: Final = "INVALID_ADAPTER"


class ModelAdapter(Protocol):
    """Reaches models of one or more providers.

    An adapter may also have the operations of `ResolvesModels` and `ListsModels`.
    """

    def stream(self, request: GenerateOptions) -> AsyncIterable[JsonObject]:
        """Start one attempt and answer its chunks.

        What it raises, and what the iteration raises, becomes the attempt's terminal finish. When the request's
        signal is aborted it should end soon. If its consumer stops early, the iterator's ``aclose`` is awaited,
        where it has one.
        """
        ...


@runtime_checkable
class ResolvesModels(Protocol):
    """Knows the properties of its models."""

    def resolve(self, provider: str, model: str, signal: CancelSignal | None) -> Awaitable[Mapping[str, object]]:
        """Answer ``{provider, id, name}`` of exactly this model, and what else is known of it.

        Cancellation:
            That of the task which asks. The signal is aborted when the turn is: the look-up should end soon then.
        """
        ...


@runtime_checkable
class ListsModels(Protocol):
    """Knows which models there are."""

    def models(self, provider: str) -> Awaitable[Sequence[Mapping[str, object]]]:
        """Answer ``{provider, id, name}`` for each.

        Cancellation:
            That of the task which asks.
        """
        ...


class NormalRetry(msgspec.Struct, frozen=True, kw_only=True, tag="normal", tag_field="mode", rename="camel"):
    """Retry some failures, a limited number of times.

    Attributes:
        max_retries: Attempts behind the first one.
        retryable_codes: The failures that are worth another attempt.
        initial_delay_ms: Milliseconds before the second attempt.
        max_delay_ms: Milliseconds between two attempts, at most.
        jitter_ratio: How much of a delay is left to chance, from 0 to 1.
    """

    max_retries: int
    retryable_codes: tuple[str, ...]
    initial_delay_ms: float
    max_delay_ms: float
    jitter_ratio: float


class AlwaysRetry(msgspec.Struct, frozen=True, kw_only=True, tag="always", tag_field="mode", rename="camel"):
    """Retry every failure, without limit.

    Attributes:
        initial_delay_ms: Milliseconds before the second attempt.
        max_delay_ms: Milliseconds between two attempts, at most.
        jitter_ratio: How much of a delay is left to chance, from 0 to 1.
    """

    initial_delay_ms: float
    max_delay_ms: float
    jitter_ratio: float


RetryPolicy: TypeAlias = NormalRetry | AlwaysRetry
"""How failures of a route are to be retried. The seam itself never retries."""

DEFAULT_RETRY: Final = NormalRetry(
    max_retries=5,
    retryable_codes=("EMPTY_RESPONSE", "RATE_LIMIT", "SERVER", "TIMEOUT", "TRANSPORT"),
    initial_delay_ms=500,
    max_delay_ms=10_000,
    jitter_ratio=0.1,
)
"""The policy of a route whose adapter names none.

Spec:
    ADAPTER-RETRY-01
"""


@dataclass(frozen=True, eq=False, slots=True)
class Route:
    """One registered provider. Its identity matters: a call stays bound to it after it is gone.

    Attributes:
        provider: The provider's id.
        name: What people call it.
        adapter: Who serves it.
        retry_policy: How its failures are to be retried.
    """

    provider: str
    name: str
    adapter: ModelAdapter
    retry_policy: RetryPolicy


class AdapterRegistry:
    """The routes in force, in the order in which they were committed.

    Args:
        changed: Called after every committed change, when the new state already shows.

    Spec:
        ADAPTER-EVENT-01, ADAPTER-LIST-01
    """

    def __init__(self, changed: Callable[[], None]) -> None:
        self._routes: dict[str, Route] = {}
        self._changed = changed

    def get(self, provider: str) -> Route | None:
        """Return the route of a provider, if it has one."""
        return self._routes.get(provider)

    def lookup(self, provider: str) -> Route:
        """Return the route of a provider.

        Raises:
            LlmError: ``NO_ADAPTER``.
        """
        route = self.get(provider)
        if route is None:
            raise LlmError(f'no adapter registered for provider "{provider}"', "NO_ADAPTER")
        return route

    def serves(self, provider: str, adapter: ModelAdapter) -> bool:
        """Return whether a provider is registered to this very adapter now."""
        route = self.get(provider)
        return route is not None and route.adapter is adapter

    def providers(self) -> tuple[JsonObject, ...]:
        """Return ``{id, name}`` of every route, in commit order.

        Spec:
            ADAPTER-LIST-01
        """
        return tuple(freeze({"id": route.provider, "name": route.name}) for route in self._routes.values())

    def swap(self, old: Sequence[Route], new: Sequence[Route]) -> None:
        """Replace some routes by others in one step; the new ones go to the end.

        Args:
            old: The registration that goes, if there is one.
            new: The registration that comes, if there is one.
        """
        for route in old:
            del self._routes[route.provider]
        self._routes.update((route.provider, route) for route in new)
        self._changed()


class Registration:
    """The routes that one adapter holds until the registration is disposed, or the context that owns it ends.

    Args:
        registry: Where it registers.
        adapter: Who serves the routes.
        retry_policy: How failures are to be retried.
        names: For routes with metadata of their own, ``{id, name}``; the id has to be the route.
    """

    def __init__(
        self,
        registry: AdapterRegistry,
        adapter: ModelAdapter,
        retry_policy: RetryPolicy,
        names: Mapping[str, Mapping[str, object]],
    ) -> None:
        self._registry = registry
        self._adapter = adapter
        self._retry_policy = retry_policy
        self._names = names
        self._held: tuple[Route, ...] = ()
        self._disposer: Disposer | None = None
        self._disposed = False

    @property
    def routes(self) -> tuple[str, ...]:
        """The providers that it holds now."""
        return tuple(route.provider for route in self._held)

    def open(self, owner: Context, providers: Sequence[str]) -> None:
        """Take the first routes. All of them or, when one cannot be had, none.

        Args:
            owner: Whose end ends it.
            providers: The routes.

        Raises:
            LlmError: A route is served already, or none is given.

        Spec:
            ADAPTER-REG-01, ADAPTER-REG-03
        """
        if not providers:
            raise LlmError("an adapter must register at least one provider", _INVALID)
        routes = self._checked(providers)
        self._disposer = owner.effect(self._release, label=f"adapter of {', '.join(providers)}")
        self._held = routes
        self._registry.swap((), routes)

    def replace(self, providers: Sequence[str]) -> None:
        """Hold these routes instead, in one step with one event.

        Args:
            providers: The whole new set; it may be empty.

        Raises:
            LlmError: ``REGISTRATION_DISPOSED``, ``DUPLICATE_ADAPTER`` or ``INVALID_ADAPTER``; nothing has changed.

        Spec:
            ADAPTER-REPLACE-01, ADAPTER-REPLACE-02
        """
        if self._disposed:
            raise LlmError("a disposed adapter registration cannot replace its routes", "REGISTRATION_DISPOSED")
        routes = self._checked(providers)
        held, self._held = self._held, routes
        self._registry.swap(held, routes)

    def __call__(self) -> None:
        """Release the routes that are held now; doing it again changes nothing.

        Attempts that were dispatched already run to their end on their adapter.

        Spec:
            ADAPTER-DISPOSE-01, ADAPTER-DISPOSE-02
        """
        if self._disposer is not None:
            self._disposer()

    def _release(self) -> None:
        self._disposed = True
        held, self._held = self._held, ()
        self._registry.swap(held, ())

    def _checked(self, providers: Sequence[str]) -> tuple[Route, ...]:
        """Make the routes of a set that can be held; those that are held already count as free.

        Raises:
            LlmError: ``INVALID_ADAPTER`` or ``DUPLICATE_ADAPTER``, for the first provider that is wrong.

        Spec:
            ADAPTER-REG-02, ADAPTER-REG-03
        """
        if not is_array(providers):
            raise LlmError(f"adapter providers must be a list of names, not {abridged(providers)}", _INVALID)
        routes: dict[str, Route] = {}
        for provider in providers:
            if not provider:
                raise LlmError("adapter provider names must be non-empty", _INVALID)
            holder = self._registry.get(provider)
            if provider in routes or (holder is not None and holder not in self._held):
                raise LlmError(f'an adapter for provider "{provider}" is already registered', "DUPLICATE_ADAPTER")
            routes[provider] = Route(provider, self._name_of(provider), self._adapter, self._retry_policy)
        return tuple(routes.values())

    def _name_of(self, provider: str) -> str:
        metadata = self._names.get(provider, {"id": provider, "name": provider})
        name = metadata.get("name")
        if metadata.get("id") != provider or not isinstance(name, str) or not name:
            raise LlmError(
                f'adapter metadata for provider "{provider}" must preserve its id and have a non-empty name', _INVALID
            )
        return name
