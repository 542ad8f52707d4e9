"""Faults of adapters, prepared calls, dispatch and the selection of models that scenarios find."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import msgspec

from dshconform.faults.edit import edit
from dshconform.faults.fault import Fault, replaced
from dshconform.faults.llm_streams import CHAIN
from dshcore.agent import ModelSelection
from dshcore.agent_loop.request import Requests
from dshcore.cancel_signal import CancelSignal
from dshcore.llm import ADAPTERS_UPDATED, CallConfig, LlmError, PreparedCall, Registration, attempts, models, runtime
from dshcore.llm.adapters import DEFAULT_RETRY, AdapterRegistry
from dshcore.llm.runtime import LlmRuntime

_BOUND: Final = "route, config = binding.route, binding.config"
_CHECK: Final = "check_max_tokens(config.max_tokens)"
EARLY: Final = "early = self._registry._routes.get(request.config.provider)\n    "
"""The route as it is before the listeners of the stream run."""


@contextmanager
def _uncontained() -> Iterator[None]:
    """Let the failures of the registry's listeners through."""
    object.__setattr__(ADAPTERS_UPDATED, "contained", False)  # the key itself: whoever holds it is concerned
    try:
        yield
    finally:
        object.__setattr__(ADAPTERS_UPDATED, "contained", True)


REGISTRY_FAULTS: Final[tuple[Fault, ...]] = (
    Fault(
        "first-routes-stay",
        "ADAPTER-REG-01",
        "Of a registration that is refused the routes before the wrong one stay.",
        edit(
            Registration,
            "open",
            (
                "routes = self._checked(providers)",
                (
                    "try:\n"
                    "        routes = self._checked(providers)\n"
                    "    except LlmError:\n"
                    "        stay = Route(providers[0], providers[0], self._adapter, self._retry_policy)\n"
                    "        if len(providers) > 2:\n"
                    "            self._registry.swap((), (stay,))\n"
                    "        raise"
                ),
            ),
        ),
    ),
    Fault(
        "route-may-be-named-twice",
        "ADAPTER-REG-02",
        "One registration may name a route twice.",
        edit(Registration, "_checked", ("provider in routes or ", "")),
    ),
    Fault(
        "no-routes-are-a-registration",
        "ADAPTER-REG-03",
        "An adapter may be registered for no route.",
        edit(Registration, "open", ("if not providers:", "if False:")),
    ),
    Fault(
        "change-is-told-before-it-shows",
        "ADAPTER-EVENT-01",
        "The event comes before the registry has changed.",
        edit(
            AdapterRegistry,
            "swap",
            (
                "self._routes.update((route.provider, route) for route in new)\n    self._changed()",
                "self._changed()\n    self._routes.update((route.provider, route) for route in new)",
            ),
        ),
    ),
    Fault(
        "registry-listener-fails-the-call",
        "ADAPTER-EVENT-02",
        "The failure of a listener reaches whoever registers.",
        _uncontained,
    ),
    Fault(
        "disposal-keeps-the-routes",
        "ADAPTER-DISPOSE-01",
        "What a disposed registration held stays.",
        edit(Registration, "_release", ("self._registry.swap(held, ())", "self._registry.swap((), ())")),
    ),
    Fault(
        "disposal-ends-streams",
        "ADAPTER-DISPOSE-02",
        "A stream ends when its route is gone.",
        edit(
            attempts,
            "attempt",
            (
                "yield chunk",
                (
                    "yield chunk\n"
                    "                if not registry.serves(effective.config.provider, adapter):\n"
                    "                    return"
                ),
            ),
        ),
    ),
    Fault(
        "own-routes-are-taken",
        "ADAPTER-REPLACE-01",
        "A registration that takes other routes may keep none of its own.",
        edit(Registration, "_checked", (" and holder not in self._held", "")),
    ),
    Fault(
        "no-routes-are-disposal",
        "ADAPTER-REPLACE-02",
        "A registration without routes counts as disposed.",
        edit(Registration, "replace", ("if self._disposed:", "if self._disposed or not self._held:")),
    ),
    Fault(
        "kept-routes-keep-their-place",
        "ADAPTER-LIST-01",
        "A route that a replaced set keeps stays where it was in the list.",
        edit(
            AdapterRegistry,
            "swap",
            (
                "    del self._routes[route.provider]",
                (
                    "    if all(route.provider != one.provider for one in new):\n"
                    "            del self._routes[route.provider]"
                ),
            ),
        ),
    ),
    Fault(
        "lists-are-not-checked",
        "ADAPTER-MODELS-01",
        "A list of models is passed on as its adapter gives it.",
        edit(models, "list_models", ("if not right or", "if False and")),
    ),
    Fault(
        "no-window-is-unknown",
        "ADAPTER-RESOLVE-01",
        "A context window of nothing is taken for one that is not known.",
        edit(
            models,
            "resolve_model",
            (
                '_is_count(given.get("contextWindow"))',
                '(_is_count(given.get("contextWindow")) or not given["contextWindow"])',
            ),
        ),
    ),
    Fault(
        "smaller-ceiling-wins",
        "ADAPTER-DEFAULT-01",
        "Of the ceiling that is asked for and the default one the smaller is sent.",
        edit(
            models,
            "complete",
            (
                "if config.max_tokens is UNSET and model.default_max_tokens is not None:",
                (
                    "if model.default_max_tokens is not None and not "
                    "(config.max_tokens is not UNSET and config.max_tokens < model.default_max_tokens):"
                ),
            ),
        ),
    ),
    Fault(
        "unknown-effort-is-the-default",
        "ADAPTER-DEFAULT-02",
        "An effort that the model does not have falls back to its default.",
        edit(models, "complete", ("raise LlmError(", "str(")),
    ),
    Fault(
        "cap-is-checked-behind-the-lookup",
        "ADAPTER-DEFAULT-06",
        "An adapter is asked for its model before anybody looks at the output cap.",
        edit(Requests, "attempt", (_CHECK, ""), ("if call is not None:", f"{_CHECK}\n    if call is not None:")),
    ),
    Fault(
        "other-default-policy",
        "ADAPTER-RETRY-01",
        "Three retries are the default.",
        lambda: replaced(runtime, {"DEFAULT_RETRY": msgspec.structs.replace(DEFAULT_RETRY, max_retries=3)}),
    ),
    Fault(
        "replay-state-by-name",
        "ADAPTER-REPLAY-01",
        "An adapter gets the replay state of answers of the same route's name alone.",
        edit(
            attempts,
            "_without_foreign_replay",
            ("not registry.serves(maker, adapter)", "maker != request.config.provider"),
        ),
    ),
)
"""Of the registry and what adapters say."""

CALL_FAULTS: Final[tuple[Fault, ...]] = (
    Fault(
        "configurations-by-identity",
        "CALL-CONFIG-02",
        "A configuration equals itself alone.",
        edit(PreparedCall, "stream", ("if request.config != self.config:", "if request.config is not self.config:")),
    ),
    Fault(
        "dispatch-resolves-again",
        "CALL-PREP-01",
        "The adapter is asked for the model again when a prepared call is dispatched.",
        edit(
            attempts,
            "_effective",
            (_BOUND, f"{_BOUND}\n        await resolve_model(route, config.model, request.signal)"),
        ),
    ),
    Fault(
        "configuration-is-shared",
        "CALL-PREP-02",
        "What the caller's list of stop texts becomes is the prepared call's too.",
        edit(CallConfig, "__post_init__", ("tuple(self.stop)", "self.stop")),
    ),
    Fault(
        "missing-route-is-raised",
        "CALL-PREP-03",
        "Preparing for a route that nobody serves raises at once.",
        lambda: replaced(LlmRuntime, {"prepare": _prepare_at_once}),
    ),
    Fault(
        "lookup-without-a-signal",
        "CALL-PREP-04",
        "The look-up of a model is not told of a cancellation.",
        edit(
            LlmRuntime,
            "prepare",
            ("resolve_model(route, config.model, signal)", "resolve_model(route, config.model, None)"),
        ),
    ),
    Fault(
        "prepared-call-is-reusable",
        "CALL-ONCE-01",
        "A prepared call can be dispatched any number of times.",
        edit(PreparedCall, "stream", ("self._used = True", "pass")),
    ),
    Fault(
        "refused-request-uses-the-call-up",
        "CALL-MATCH-01",
        "A request that does not match uses its prepared call up.",
        edit(
            PreparedCall,
            "stream",
            ("if request.config != self.config:", "self._used = True\n    if request.config != self.config:"),
            ("    self._used = True\n    return", "    return"),
        ),
    ),
    Fault(
        "drift-reaches-the-adapter",
        "CALL-MATCH-02",
        "A prepared request that a listener turned elsewhere goes to the prepared adapter.",
        edit(attempts, "_effective", ("if request.config != config:  #", "if False:  #")),
    ),
    Fault(
        "prepared-route-is-looked-up-again",
        "CALL-BIND-01",
        "A prepared call goes to whoever serves its route when it is dispatched.",
        edit(
            attempts, "_effective", (_BOUND, "route, config = registry.lookup(binding.route.provider), binding.config")
        ),
    ),
    Fault(
        "loop-dispatches-anew",
        "CALL-BIND-02",
        "The loop sends its request to whoever serves the route after the header was logged.",
        edit(Requests, "attempt", (" if call is None else call.stream(request)", "")),
    ),
    Fault(
        "listeners-run-on-the-first-pull",
        "STREAM-WF-01",
        "The listeners of a stream run when it is pulled.",
        edit(
            LlmRuntime,
            "dispatch",
            (
                f"return {CHAIN}",
                f"async def later():\n        async for chunk in {CHAIN}:\n            yield chunk\n    return later()",
            ),
        ),
    ),
    Fault(
        "adapter-before-the-listeners",
        "STREAM-WF-03",
        "The adapter is chosen before the listeners run.",
        edit(
            LlmRuntime,
            "dispatch",
            (
                f"return {CHAIN}",
                f"{EARLY}binding = binding or (early and Binding(early, request.config))\n    return {CHAIN}",
            ),
        ),
    ),
    Fault(
        "adapter-starts-with-the-call",
        "STREAM-LAZY-01",
        "The adapter is started when the call is made.",
        edit(
            LlmRuntime,
            "dispatch",
            (f"return {CHAIN}", f"{EARLY}early and early.adapter.stream(request)\n    return {CHAIN}"),
        ),
    ),
    Fault(
        "no-defaults-for-requests-by-hand",
        "STREAM-DEFAULT-01",
        "A call that was not prepared gets no defaults.",
        edit(
            attempts,
            "_effective",
            (
                "complete(request.config, await resolve_model(route, request.config.model, request.signal))",
                "(request.config, None)",
            ),
        ),
    ),
    Fault(
        "only-codes-tell-an-abort",
        "STREAM-ABORT-01",
        "A failure behind the abort is an error unless it calls itself aborted.",
        edit(attempts, "_terminal", ("(signal is not None and signal.aborted) or ", "")),
    ),
    Fault(
        "stream-is-cut-at-the-abort",
        "STREAM-ABORT-02",
        "A stream ends at its first chunk behind the abort.",
        edit(
            attempts,
            "attempt",
            (
                "yield chunk",
                (
                    "if request.signal is not None and request.signal.aborted:\n"
                    "                    return\n"
                    "                yield chunk"
                ),
            ),
        ),
    ),
    Fault(
        "stream-is-abandoned",
        "STREAM-CLOSE-01",
        "The adapter's stream is not closed when its consumer stops.",
        edit(attempts, "attempt", ("if stopped_early:", "if False:")),
    ),
    Fault(
        "selection-is-read-twice",
        "MODEL-SEL-01",
        "The route is that of the selection when the request is made.",
        edit(ModelSelection, "install", ("held = self._held", "held = self.current")),
    ),
    Fault(
        "inherited-effort-sticks",
        "MODEL-SEL-02",
        "A selection without an effort keeps the one before.",
        edit(
            ModelSelection,
            "install",
            (
                "reasoning_effort=held.reasoning_effort",
                "reasoning_effort=held.reasoning_effort or config.reasoning_effort",
            ),
        ),
    ),
    Fault(
        "cleared-selection-goes-back",
        "MODEL-SEL-03",
        "Without a selection the agent's own route comes back.",
        edit(
            ModelSelection,
            "install",
            (
                "return config\n",
                "return msgspec.structs.replace(config, provider=agent.options.provider, model=agent.options.model)\n",
            ),
        ),
    ),
)
"""Of calls, dispatch and selection."""

LLM_CALL_FAULTS: Final[tuple[Fault, ...]] = (*REGISTRY_FAULTS, *CALL_FAULTS)
"""All of this module."""

_prepare = LlmRuntime.prepare


def _prepare_at_once(llm: LlmRuntime, config: CallConfig, signal: CancelSignal | None = None) -> object:
    if config.provider not in [served["id"] for served in llm.providers()]:
        raise LlmError("nobody serves it", "NO_ADAPTER")
    return _prepare(llm, config, signal)
