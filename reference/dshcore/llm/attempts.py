"""One attempt: from a request to the chunks of its adapter, with failures turned into a terminal finish."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from dataclasses import dataclass
from functools import wraps
from typing import Final, ParamSpec

from dshcore.json import JsonObject, freeze
from dshcore.llm.adapters import AdapterRegistry, ModelAdapter, Route
from dshcore.llm.calls import CallConfig, GenerateOptions
from dshcore.llm.failures import ABORTED_CODE, LlmError, normalise
from dshcore.llm.models import complete, resolve_model
from dshcore.prefix import Prefix

P = ParamSpec("P")

_NO_SOURCE: Final = freeze({})


@dataclass(frozen=True, eq=False, slots=True)
class Binding:
    """What a prepared call is bound to, whatever becomes of its route.

    Attributes:
        config: The effective configuration.

    Spec:
        CALL-BIND-01
    """

    route: Route
    config: CallConfig


class _OneAtATime(AsyncIterator[JsonObject]):
    """A stream that does what is asked of it in the order in which it was asked.

    A generator refuses whoever comes while a pull is pending: a close would fail, and leave the adapter open.

    Args:
        chunks: What delivers the chunks.

    Spec:
        STREAM-CLOSE-01
    """

    __slots__ = ("_busy", "_chunks", "_waiting")

    def __init__(self, chunks: AsyncGenerator[JsonObject, None]) -> None:
        self._chunks = chunks
        self._busy = False
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def __anext__(self) -> JsonObject:
        await self._turn()
        try:
            return await anext(self._chunks)
        finally:
            self._leave()

    async def aclose(self) -> None:
        """End the stream; a pull that is pending gets its chunk first."""
        await self._turn()
        try:
            await self._chunks.aclose()
        finally:
            self._leave()

    async def _turn(self) -> None:
        if self._busy:
            turn = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            try:
                await turn
            except BaseException:
                if not turn.cancel() and not turn.cancelled():  # its turn had come already
                    self._pass_on()
                raise
        self._busy = True

    def _leave(self) -> None:
        """Hand the turn on, when whoever waits for what has just ended was told of it."""
        if not self._waiting:
            self._busy = False
        elif not (loop := self._waiting[0].get_loop()).is_closed():
            loop.call_soon(self._pass_on)

    def _pass_on(self) -> None:
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self._busy = False


def _one_at_a_time(
    generator: Callable[P, AsyncGenerator[JsonObject, None]],
) -> Callable[P, AsyncIterator[JsonObject]]:
    @wraps(generator)
    def queued(*args: P.args, **kwargs: P.kwargs) -> AsyncIterator[JsonObject]:
        return _OneAtATime(generator(*args, **kwargs))

    return queued


@_one_at_a_time
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

    Returns:
        The chunks of the response.

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

    Args:
        stream: What was pulled from. A pull that is still pending gets its chunk first; later ones get the end.

    Raises:
        Exception: What closing the adapter's iterator raised.

    Cancellation:
        Delivered to the closing of the adapter's iterator, which is not tried again.

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
    without = _WithoutState(frozenset(foreign))
    if isinstance(messages, Prefix):  # what was taken off for one request is off for the next one too
        return request.copy(messages=messages.mapped(without))
    return request.copy(messages=tuple(map(without, messages)))


@dataclass(frozen=True, slots=True)
class _WithoutState:
    """Takes the replay state of some makers off a message. Two that are made alike are equal: see `Prefix.mapped`."""

    makers: frozenset[str]

    def __call__(self, message: JsonObject) -> JsonObject:
        return _without_state(message) if _state_of(message) in self.makers else message


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
