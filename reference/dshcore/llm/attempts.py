"""One attempt: from a request to the chunks of its adapter, with failures turned into a terminal finish."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import dataclass
from typing import Final

from dshcore.json import JsonObject, freeze
from dshcore.llm.adapters import AdapterRegistry, ModelAdapter, Route
from dshcore.llm.calls import CallConfig, GenerateOptions
from dshcore.llm.failures import ABORTED_CODE, LlmError, normalise
from dshcore.llm.models import complete, resolve_model
from dshcore.prefix import Prefix

_NO_SOURCE: Final = freeze({})


@dataclass(frozen=True, eq=False, slots=True)
class Binding:
    """What a prepared call is bound to, whatever becomes of its route.

    Spec:
        CALL-BIND-01
    """

    route: Route
    config: CallConfig


async def attempt(
    registry: AdapterRegistry, request: GenerateOptions, binding: Binding | None
) -> AsyncGenerator[JsonObject, None]:
    """Dispatch a request and deliver its chunks as they come.

    Nothing happens before the first pull. Chunks are neither checked nor repaired. A failure on the way to the
    adapter, or of the adapter, is delivered as one terminal finish, then the stream ends.

    Args:
        registry: Who serves which provider.
        request: The request, as the listeners of ``llm/stream`` left it.
        binding: For a prepared call, what it is bound to.

    Raises:
        Exception: What closing the adapter's iterator raised, when the consumer stopped early.

    Cancellation:
        Cancelling the consumer's task closes the adapter's iterator. A cancellation that the adapter makes for itself
        is its failure.

    Spec:
        STREAM-LAZY-01, STREAM-DEFAULT-01, STREAM-FAIL-01, STREAM-FAIL-02, STREAM-ABORT-01, STREAM-ABORT-02,
        STREAM-CLOSE-01, STREAM-WF-03, CHUNK-PASS-01
    """
    try:
        adapter, effective = await _effective(registry, request, binding)
        chunks = aiter(adapter.stream(effective))
    except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 - STREAM-FAIL-01: whatever it is
        yield _terminal(error, request)
        return
    failure: JsonObject | None = None
    stopped_early = True
    try:
        while failure is None:
            try:
                chunk = await anext(chunks)
            except StopAsyncIteration:
                stopped_early = False
                return
            except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 - STREAM-FAIL-02: whatever it is
                failure = _terminal(error, request)
                stopped_early = False
            else:
                yield chunk
        yield failure
    finally:
        if stopped_early:
            await close_stream(chunks)


async def close_stream(stream: AsyncIterator[JsonObject]) -> None:
    """Tell a stream that its consumer stops before its end.

    Spec:
        STREAM-CLOSE-01, CANCEL-STREAM-04
    """
    aclose = getattr(stream, "aclose", None)
    if aclose is not None:
        await aclose()


async def _effective(
    registry: AdapterRegistry, request: GenerateOptions, binding: Binding | None
) -> tuple[ModelAdapter, GenerateOptions]:
    if binding is None:
        route = registry.lookup(request.config.provider)
        config, _ = complete(request.config, await resolve_model(route, request.config.model, request.signal))
    else:
        route, config = binding.route, binding.config
        if request.config != config:  # CALL-MATCH-02
            raise LlmError("prepared LLM call config changed before adapter dispatch", "INVALID_PREPARED_CALL")
    if config != request.config:
        request = request.copy(config=config)
    return route.adapter, _without_foreign_replay(registry, request, route.adapter)


def _without_foreign_replay(
    registry: AdapterRegistry, request: GenerateOptions, adapter: ModelAdapter
) -> GenerateOptions:
    """Keep replay state from adapters that did not make it.

    Spec:
        ADAPTER-REPLAY-01
    """
    messages = request.messages
    # history is not walked for this: it is long, and only grows (the other sequences are made by hand)
    makers = messages.distinct(_state_of) if isinstance(messages, Prefix) else frozenset(map(_state_of, messages))
    foreign = {maker for maker in makers if isinstance(maker, str) and not registry.serves(maker, adapter)}
    if not foreign:
        return request
    return request.copy(
        messages=tuple(_without_state(message) if _state_of(message) in foreign else message for message in messages)
    )


def _state_of(message: JsonObject) -> str | None:
    """Answer the provider of whose adapter a message carries replay state, if it carries any."""
    source = message.get("source", _NO_SOURCE)
    if message.get("role") != "assistant" or source.get("kind") != "model" or "replayState" not in source:
        return None  # a source of another kind may have a member of that name
    provider: str = source["provider"]
    return provider


def _without_state(message: JsonObject) -> JsonObject:
    source = message["source"]
    plain = {"kind": "model", "provider": source["provider"], "model": source["model"]}
    shown: JsonObject = freeze({**message, "source": plain})
    return shown


def _terminal(error: BaseException, request: GenerateOptions) -> JsonObject:
    task = asyncio.current_task()
    if isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling():
        raise error  # from whoever runs the consumer's task; any other cancellation is the adapter's own failure
    failure = normalise(error)
    signal = request.signal
    aborted = (signal is not None and signal.aborted) or failure["code"] == ABORTED_CODE  # STREAM-ABORT-01
    return freeze({"type": "finish", "reason": {"kind": "aborted" if aborted else "error", "failure": failure}})
