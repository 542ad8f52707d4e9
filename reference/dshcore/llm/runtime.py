"""The seam through which everybody reaches a model."""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Final

from dshcore.cancel_signal import CancelSignal
from dshcore.context import Context, ServiceKey
from dshcore.json import JsonObject
from dshcore.llm.adapters import DEFAULT_RETRY, AdapterRegistry, ModelAdapter, Registration, RetryPolicy
from dshcore.llm.attempts import Binding, attempt
from dshcore.llm.calls import CallConfig, GenerateOptions
from dshcore.llm.events import ADAPTERS_UPDATED, LLM_STREAM
from dshcore.llm.failures import LlmError
from dshcore.llm.models import ResolvedModel, complete, list_models, resolve_model

_INVALID_CALL: Final = "INVALID_PREPARED_CALL"


class LlmRuntime:
    """Adapters, and dispatch to them.

    Args:
        ctx: Where its events are dispatched.
    """

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx
        self._registry = AdapterRegistry(self._announce)

    def register(
        self,
        owner: Context,
        routes: Sequence[str],
        adapter: ModelAdapter,
        *,
        retry_policy: RetryPolicy | None = None,
        names: Mapping[str, Mapping[str, object]] | None = None,
    ) -> Registration:
        """Have an adapter serve some providers until the registration, or its owner, ends.

        Args:
            owner: Whose registration it is.
            routes: The providers' ids.
            adapter: Who serves them.
            retry_policy: How their failures are to be retried.
            names: For providers with metadata of their own, ``{id, name}``.

        Returns:
            The registration; calling it releases the routes.

        Raises:
            LlmError: ``INVALID_ADAPTER`` or ``DUPLICATE_ADAPTER``; nothing was registered.
            InactiveContext: The owner is inactive.

        Spec:
            ADAPTER-REG-01, ADAPTER-REG-02, ADAPTER-REG-03, ADAPTER-RETRY-01
        """
        policy = DEFAULT_RETRY if retry_policy is None else retry_policy
        registration = Registration(self._registry, adapter, policy, {} if names is None else names)
        registration.open(owner, routes)
        return registration

    def providers(self) -> tuple[JsonObject, ...]:
        """Return ``{id, name}`` of every registered provider, in commit order.

        Spec:
            ADAPTER-LIST-01
        """
        return self._registry.providers()

    async def models(self, provider: str) -> tuple[JsonObject, ...]:
        """Return which models an adapter offers; others can be called too.

        Args:
            provider: The route.

        Raises:
            LlmError: ``NO_ADAPTER`` or ``INVALID_CATALOG``.
            Exception: What the adapter raised.

        Cancellation:
            Delivered to the adapter's listing.

        Spec:
            ADAPTER-MODELS-01
        """
        return await list_models(self._registry.lookup(provider))

    async def resolve(self, provider: str, model: str, signal: CancelSignal | None = None) -> ResolvedModel:
        """Return what an adapter says about one exact model.

        Args:
            provider: The route.
            signal: Asks for the resolution to stop.
            model: The model's id.

        Raises:
            LlmError: ``NO_ADAPTER``, or the code of the part that is wrong.
            Exception: What the adapter raised.

        Cancellation:
            Delivered to the adapter's look-up.

        Spec:
            ADAPTER-RESOLVE-01
        """
        return await resolve_model(self._registry.lookup(provider), model, signal)

    async def prepare(self, config: CallConfig, signal: CancelSignal | None = None) -> "PreparedCall":
        """Look up the route, ask its adapter once for the model, and settle the effective configuration.

        Args:
            config: The call.
            signal: Handed to the adapter's look-up.

        Returns:
            The call, bound to what was looked up.

        Raises:
            LlmError: ``NO_ADAPTER``, ``UNSUPPORTED_REASONING_EFFORT``, or the code of wrong metadata.
            Exception: What the adapter's look-up raised.

        Cancellation:
            Delivered to the adapter's look-up.

        Spec:
            CALL-PREP-01, CALL-PREP-02, CALL-PREP-03, CALL-PREP-04, CALL-BIND-01
        """
        route = self._registry.lookup(config.provider)
        model = await resolve_model(route, config.model, signal)
        effective, adapter_defaults = complete(config, model)
        return PreparedCall(self, Binding(route, effective), adapter_defaults, model.context)

    def stream(self, request: GenerateOptions) -> AsyncIterator[JsonObject]:
        """Dispatch a request.

        The listeners of ``llm/stream`` run inside the call; everything on the adapter's side waits for the first pull.

        Returns:
            The chunks. A consumer that stops before their end closes them with `close_stream`.

        Raises:
            Exception: What a listener raised.

        Spec:
            STREAM-WF-01, STREAM-WF-02, STREAM-WF-03, STREAM-FAIL-01, STREAM-THROW-01
        """
        return self.dispatch(request, None)

    def dispatch(self, request: GenerateOptions, binding: Binding | None) -> AsyncIterator[JsonObject]:
        """Dispatch a request, for a prepared call along what it is bound to.

        Args:
            binding: What a prepared call is bound to, if it is one.
            request: The request.

        Returns:
            The stream of its response.
        """
        return self._ctx.waterfall(
            LLM_STREAM, request, lambda: attempt(self._registry, request, binding), to=self._ctx.receiver(LLM)
        )

    def _announce(self) -> None:
        self._ctx.emit(ADAPTERS_UPDATED, None)


LLM: Final = ServiceKey[LlmRuntime]("llm")
"""The seam through which everybody reaches a model."""


class PreparedCall:
    """A call whose configuration is settled and whose adapter is known. Made by `LlmRuntime.prepare`.

    Args:
        runtime: What dispatches it.
        binding: The configuration and the adapter.
        adapter_defaults: Which members of the configuration the adapter supplied.
        context: What the adapter states of the context window, if anything.

    Spec:
        CALL-PREP-02
    """

    __slots__ = ("_adapter_defaults", "_binding", "_context", "_runtime", "_used")

    def __init__(
        self, runtime: LlmRuntime, binding: Binding, adapter_defaults: JsonObject, context: JsonObject | None
    ) -> None:
        self._runtime = runtime
        self._binding = binding
        self._used = False
        self._adapter_defaults = adapter_defaults
        self._context = context

    @property
    def config(self) -> CallConfig:
        """The effective configuration."""
        return self._binding.config

    @property
    def adapter_defaults(self) -> JsonObject:
        """Which of its members the adapter supplied: ``{maxTokens: true, reasoningEffort: true}``."""
        return self._adapter_defaults

    @property
    def retry_policy(self) -> RetryPolicy:
        """How failures are to be retried."""
        return self._binding.route.retry_policy

    @property
    def context(self) -> JsonObject | None:
        """``{contextWindow}``, if the adapter states one."""
        return self._context

    def stream(self, request: GenerateOptions) -> AsyncIterator[JsonObject]:
        """Dispatch the request of this call, once. See `LlmRuntime.stream`.

        Returns:
            The stream of the response.

        Raises:
            LlmError: ``INVALID_PREPARED_CALL``: it was dispatched already, or the request's configuration is not the
                one that was prepared. After the latter the call can still be used.
            Exception: What a listener raised; the call is used up.

        Spec:
            CALL-ONCE-01, CALL-MATCH-01, CALL-BIND-01
        """
        if self._used:
            raise LlmError("a prepared LLM call can only be dispatched once", _INVALID_CALL)
        if request.config != self.config:
            raise LlmError("prepared LLM call config changed before adapter dispatch", _INVALID_CALL)
        self._used = True
        return self._runtime.dispatch(request, self._binding)
