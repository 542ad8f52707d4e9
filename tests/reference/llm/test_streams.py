import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from typing import Any

import msgspec
import pytest

from dshcore.cancel_signal import CancelSignal
from dshcore.context import Context
from dshcore.json import JsonObject, freeze
from dshcore.llm import (
    LLM,
    LLM_STREAM,
    CallConfig,
    GenerateOptions,
    LlmError,
    LlmRuntime,
    assistant_message,
    attempts,
    close_stream,
    user_message,
)
from dshcore.prefix import Growing, Prefix
from dshcore.settling import SettlingLoop

CONFIG = CallConfig(provider="p", model="m")
Script = Callable[[GenerateOptions], AsyncIterable[JsonObject]]


def text(of: str) -> JsonObject:
    return freeze({"type": "text-delta", "index": 0, "text": of})


STOP = freeze({"type": "finish", "reason": {"kind": "stop"}})


class Scripted:
    """An adapter that does what its script does."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self.requests: list[GenerateOptions] = []

    def stream(self, request: GenerateOptions) -> AsyncIterable[JsonObject]:
        self.requests.append(request)
        return self._script(request)


class ByHand:
    """An iterator that counts its closings."""

    def __init__(self, *chunks: JsonObject | BaseException, closing: BaseException | None = None) -> None:
        self._chunks = list(chunks)
        self._closing = closing
        self.closed = 0

    def __aiter__(self) -> "ByHand":
        return self

    async def __anext__(self) -> JsonObject:
        if not self._chunks:
            raise StopAsyncIteration
        chunk = self._chunks.pop(0)
        if isinstance(chunk, BaseException):
            raise chunk
        return chunk

    async def aclose(self) -> None:
        await asyncio.sleep(0)
        self.closed += 1
        if self._closing is not None:
            raise self._closing


def yielding(*chunks: JsonObject | BaseException) -> Script:
    return lambda _: ByHand(*chunks)


def failing(error: BaseException) -> Script:
    def script(_: GenerateOptions) -> AsyncIterable[JsonObject]:
        raise error

    return script


class Bench:
    def __init__(self, loop: SettlingLoop) -> None:
        self.root = Context()
        self.llm = LlmRuntime(self.root)
        self.run = loop.run_until_complete

    def serve(self, script: Script, *routes: str) -> Scripted:
        adapter = Scripted(script)
        self.llm.register(self.root, routes or ("p",), adapter)
        return adapter

    def chunks(self, stream: AsyncIterator[JsonObject]) -> list[Any]:
        async def collect() -> list[JsonObject]:
            return [chunk async for chunk in stream]

        return self.run(collect())


@pytest.fixture
def bench(loop: SettlingLoop) -> Bench:
    return Bench(loop)


def request(config: CallConfig = CONFIG, **parts: Any) -> GenerateOptions:
    return GenerateOptions(config, parts.pop("messages", ()), **parts)


def test_chunks_pass_as_they_come(bench: Bench) -> None:
    """CHUNK-PASS-01: neither checked nor repaired, also behind a finish; STREAM-CLOSE-01: not closed at the end."""
    chunks = (STOP, freeze({"type": "rogue"}), text("late"), STOP)
    stream = ByHand(*chunks)
    bench.serve(lambda _: stream)
    received = bench.chunks(bench.llm.stream(request()))
    assert all(one is other for one, other in zip(received, chunks, strict=True))
    assert stream.closed == 0


def test_listeners_run_inside_the_call_and_the_adapter_at_the_first_pull(bench: Bench) -> None:
    """STREAM-WF-01, STREAM-LAZY-01: outermost first; closing an unpulled stream leaves the adapter alone."""
    heard: list[str] = []
    adapter = bench.serve(yielding(STOP))

    def listener(
        name: str,
    ) -> Callable[[GenerateOptions, Callable[[], AsyncIterator[JsonObject]]], AsyncIterator[JsonObject]]:
        def listen(_: GenerateOptions, next_: Callable[[], AsyncIterator[JsonObject]]) -> AsyncIterator[JsonObject]:
            heard.append(name)
            return next_()

        return listen

    bench.root.on(LLM_STREAM, listener("a"))
    bench.root.open(scope="agent").on(LLM_STREAM, listener("b"))
    bench.root.on(LLM_STREAM, listener("c"), prepend=True)
    stream = bench.llm.stream(request())
    assert heard == ["c", "a", "b"]
    assert adapter.requests == []
    bench.run(close_stream(stream))
    assert adapter.requests == []
    assert bench.chunks(stream) == []


def test_a_listener_may_serve_the_call_itself(bench: Bench) -> None:
    """STREAM-WF-02: no adapter is looked up."""
    bench.root.on(LLM_STREAM, lambda _, __: ByHand(text("mine"), STOP))
    assert bench.chunks(bench.llm.stream(request(CallConfig(provider="nobody")))) == [text("mine"), STOP]


def test_a_listener_may_re_route_a_hand_built_request(bench: Bench) -> None:
    """STREAM-WF-03: the adapter is selected after the listeners."""
    first, other = bench.serve(yielding(STOP), "p"), bench.serve(yielding(STOP), "q")

    def re_route(made: GenerateOptions, next_: Callable[[], AsyncIterator[JsonObject]]) -> AsyncIterator[JsonObject]:
        made.config = msgspec.structs.replace(made.config, provider="q")
        return next_()

    bench.root.on(LLM_STREAM, re_route)
    bench.chunks(bench.llm.stream(request()))
    assert (len(first.requests), len(other.requests)) == (0, 1)


def test_a_prepared_request_that_drifts_reaches_no_adapter(bench: Bench) -> None:
    """CALL-MATCH-02."""
    first, other = bench.serve(yielding(STOP), "p"), bench.serve(yielding(STOP), "q")
    prepared = bench.run(bench.llm.prepare(CONFIG))
    made = request()
    stream = prepared.stream(made)
    made.config = CallConfig(provider="q", model="m")
    (chunk,) = bench.chunks(stream)
    assert chunk["reason"]["kind"] == "error"
    assert chunk["reason"]["failure"] == {
        "message": "prepared LLM call config changed before adapter dispatch",
        "code": "INVALID_PREPARED_CALL",
    }
    assert (first.requests, other.requests) == ([], [])


class _Uniterable:
    def __aiter__(self) -> AsyncIterator[JsonObject]:
        raise ValueError("no iterator")


class _Unresolving(Scripted):
    async def resolve(self, provider: str, model: str, signal: CancelSignal | None) -> dict[str, object]:
        raise LlmError(f"{provider} has no {model}, {signal}", "SERVER")


@pytest.mark.parametrize(
    ("adapter", "failure"),
    [
        (None, {"message": 'no adapter registered for provider "p"', "code": "NO_ADAPTER"}),
        (_Unresolving(yielding(STOP)), {"message": "p has no m, None", "code": "SERVER"}),
        (
            Scripted(failing(LlmError("slow down", "RATE_LIMIT", status=429))),
            {"message": "slow down", "code": "RATE_LIMIT", "status": 429},
        ),
        (Scripted(lambda _: _Uniterable()), {"message": "no iterator", "code": "UNKNOWN"}),
        (Scripted(failing(asyncio.CancelledError())), {"message": "LLM adapter failed", "code": "UNKNOWN"}),
    ],
)
def test_a_failure_on_the_way_to_the_adapter_is_the_one_chunk(
    bench: Bench, adapter: Scripted | None, failure: dict[str, Any]
) -> None:
    """STREAM-FAIL-01: the call itself does not raise."""
    if adapter is not None:
        bench.llm.register(bench.root, ["p"], adapter)
    chunks = bench.chunks(bench.llm.stream(request()))
    assert chunks == [{"type": "finish", "reason": {"kind": "error", "failure": failure}}]


@pytest.mark.parametrize("error", [ValueError("broken"), asyncio.CancelledError()])
def test_a_failure_while_iterating_comes_behind_the_chunks_so_far(bench: Bench, error: BaseException) -> None:
    """STREAM-FAIL-02: the iterator is not closed again; ASM-FINISH-01: an earlier finish stays."""
    stream = ByHand(text("a"), STOP, error)
    bench.serve(lambda _: stream)
    chunks = bench.chunks(bench.llm.stream(request()))
    assert chunks[:2] == [text("a"), STOP]
    assert [chunk["reason"]["kind"] for chunk in chunks[1:]] == ["stop", "error"]
    assert stream.closed == 0


@pytest.mark.parametrize(
    ("error", "abort", "kind", "code"),
    [
        (LlmError("m", "RATE_LIMIT"), True, "aborted", "RATE_LIMIT"),
        (LlmError("m", "ABORTED"), False, "aborted", "ABORTED"),
        (LlmError("m", "RATE_LIMIT"), False, "error", "RATE_LIMIT"),
        (ValueError("m"), True, "aborted", "UNKNOWN"),
    ],
)
def test_a_failure_after_an_abort_is_the_abort(
    bench: Bench, error: BaseException, abort: bool, kind: str, code: str
) -> None:
    """STREAM-ABORT-01: the choice falls when the failure is normalised; message and code stay."""
    signal = CancelSignal()

    def script(_: GenerateOptions) -> AsyncIterator[JsonObject]:
        if abort:
            signal.abort("why")
        raise error

    bench.serve(script)
    (chunk,) = bench.chunks(bench.llm.stream(request(signal=signal)))
    assert chunk["reason"] == {"kind": kind, "failure": {"message": "m", "code": code}}


def test_a_foreign_code_does_not_make_an_abort(bench: Bench) -> None:
    """STREAM-ABORT-01."""
    error = ValueError("m")
    error.code = "ABORTED"  # type: ignore[attr-defined]
    bench.serve(failing(error))
    (chunk,) = bench.chunks(bench.llm.stream(request(signal=CancelSignal())))
    assert chunk["reason"] == {"kind": "error", "failure": {"message": "m", "code": "UNKNOWN"}}


def test_an_abort_cuts_nothing_that_is_still_delivered(bench: Bench) -> None:
    """STREAM-ABORT-02: in-band finishes stay what they are."""
    signal = CancelSignal()
    signal.abort("why")
    bench.serve(yielding(text("a"), STOP))
    assert bench.chunks(bench.llm.stream(request(signal=signal))) == [text("a"), STOP]


@pytest.mark.parametrize("at_the_call", [True, False])
def test_a_failure_of_a_listener_stays_an_exception(bench: Bench, at_the_call: bool) -> None:
    """STREAM-THROW-01: no finish is made of it."""

    async def broken() -> AsyncIterator[JsonObject]:
        yield text("a")
        raise ValueError("mid")

    def listen(_: GenerateOptions, __: object) -> AsyncIterator[JsonObject]:
        if at_the_call:
            raise ValueError("mid")
        return broken()

    bench.serve(yielding(STOP))
    bench.root.on(LLM_STREAM, listen)
    received: list[JsonObject] = []

    async def consume() -> None:
        async for chunk in bench.llm.stream(request()):
            received.append(chunk)  # noqa: PERF401 - what came before the failure counts

    with pytest.raises(ValueError, match="mid"):
        bench.run(consume())
    assert received == ([] if at_the_call else [text("a")])


def test_a_consumer_that_stops_early_closes_the_adapters_iterator(bench: Bench) -> None:
    """STREAM-CLOSE-01: once, and the closing is awaited."""
    stream = ByHand(text("a"), text("b"))
    bench.serve(lambda _: stream)

    async def consume() -> None:
        chunks = bench.llm.stream(request())
        assert await anext(chunks) == text("a")
        await close_stream(chunks)
        assert stream.closed == 1
        await close_stream(chunks)

    bench.run(consume())
    assert stream.closed == 1


def test_a_failing_close_reaches_the_consumer(bench: Bench) -> None:
    """STREAM-CLOSE-01."""
    bench.serve(lambda _: ByHand(text("a"), closing=ValueError("stuck")))

    async def consume() -> None:
        chunks = bench.llm.stream(request())
        await anext(chunks)
        await close_stream(chunks)

    with pytest.raises(ValueError, match="stuck"):
        bench.run(consume())


class _Unclosable:
    """An iterator that has no `aclose`."""

    def __aiter__(self) -> "_Unclosable":
        return self

    async def __anext__(self) -> JsonObject:
        return text("a")


def test_an_iterator_without_a_close_is_left(bench: Bench) -> None:
    bench.serve(lambda _: _Unclosable())

    async def consume() -> None:
        chunks = bench.llm.stream(request())
        await anext(chunks)
        await close_stream(chunks)

    bench.run(consume())


def test_a_host_that_cancels_the_consumer_gets_its_cancellation_back(bench: Bench, loop: SettlingLoop) -> None:
    """It is not delivered as a failure of the adapter."""
    trace: list[str] = []

    async def script(_: GenerateOptions) -> AsyncIterator[JsonObject]:
        try:
            await asyncio.Event().wait()
            yield STOP
        finally:
            trace.append("adapter cleaned")

    bench.serve(script)

    async def consume() -> None:
        trace.extend([f"got {chunk}" async for chunk in bench.llm.stream(request())])

    task = loop.create_task(consume())
    loop.settle()
    task.cancel()
    loop.settle()
    assert task.cancelled()
    assert trace == ["adapter cleaned"]


def test_disposing_a_registration_leaves_running_attempts_alone(bench: Bench) -> None:
    """ADAPTER-DISPOSE-02."""
    adapter = Scripted(yielding(text("a"), text("b"), STOP))
    registration = bench.llm.register(bench.root, ["p"], adapter)

    async def consume() -> list[JsonObject]:
        async with aclosing(bench.llm.stream(request())) as chunks:  # type: ignore[type-var]  # it is a generator here
            first = await anext(chunks)
            registration()
            return [first, *[chunk async for chunk in chunks]]

    assert bench.run(consume()) == [text("a"), text("b"), STOP]


@pytest.mark.parametrize("frozen", [False, True])
def test_replay_state_reaches_the_adapter_that_made_it_only(bench: Bench, frozen: bool) -> None:
    """ADAPTER-REPLAY-01: same id and content otherwise; the caller's messages keep the state."""
    mine = bench.serve(yielding(STOP), "h", "t")
    other = bench.serve(yielding(STOP), "o")
    asked = user_message("q")
    past = assistant_message([{"type": "text", "text": "x"}], provider="h", model="m", replay_state=None)
    plain = assistant_message([], provider="h", model="m")
    messages = (asked, past, plain)
    for route in ("t", "o"):
        made = request(CallConfig(provider=route, model="m"), messages=messages)
        bench.chunks(bench.llm.stream(made.freeze() if frozen else made))
        assert made.messages[1] is past
    (same,), (stripped,) = mine.requests, other.requests
    assert tuple(same.messages) == messages
    assert stripped.messages[1] == {**past, "source": {"kind": "model", "provider": "h", "model": "m"}}
    assert stripped.messages[0] is asked
    assert stripped.messages[2] is plain
    assert stripped.frozen is frozen


@pytest.mark.parametrize(
    "source",
    [
        {"kind": "plugin", "plugin": "p", "replayState": 1},
        {"kind": "custom", "provider": "h", "replayState": 1},
        {"kind": "model", "provider": "h", "model": "m", "replayState": 1},
    ],
)
def test_what_a_sender_calls_replay_state_is_none(bench: Bench, source: dict[str, object]) -> None:
    """ADAPTER-REPLAY-01, MSG-SRC-01: only answers have it; the source of a user's message goes out as it came."""
    adapter = bench.serve(yielding(STOP), "o")
    asked = user_message("q", source)
    bench.chunks(bench.llm.stream(request(CallConfig(provider="o", model="m"), messages=(asked,))))
    assert adapter.requests[0].messages[0] is asked


def test_replay_state_of_a_vanished_route_is_withheld(bench: Bench) -> None:
    """Although the call is still bound to the adapter that made it."""
    adapter = Scripted(yielding(STOP))
    registration = bench.llm.register(bench.root, ["p"], adapter)
    prepared = bench.run(bench.llm.prepare(CONFIG))
    registration()
    past = assistant_message([], provider="p", model="m", replay_state={"response": 1})
    bench.chunks(prepared.stream(request(messages=(past,))))
    assert "replayState" not in adapter.requests[0].messages[0]["source"]


def test_the_seam_is_a_service(bench: Bench) -> None:
    bench.root.provide(LLM, bench.llm)
    assert bench.root[LLM] is bench.llm


def test_what_is_asked_of_a_stream_is_done_in_turn(bench: Bench) -> None:
    """STREAM-CLOSE-01: a pull that is pending when the consumer leaves gets its chunk, then the adapter is closed."""
    gate, done = asyncio.Event(), list[object]()
    adapters = ByHand(text("a"), text("b"))

    async def slow() -> AsyncIterator[JsonObject]:
        try:
            await gate.wait()
            async for chunk in adapters:
                yield chunk
        finally:
            await adapters.aclose()

    bench.serve(lambda _: slow())

    async def consume() -> None:
        chunks = bench.llm.stream(request())

        async def ask(of: Awaitable[object]) -> None:
            done.append(await of)

        asked = [anext(chunks), anext(chunks), close_stream(chunks), anext(chunks, "end")]
        tasks = [asyncio.ensure_future(ask(one)) for one in asked]
        await asyncio.sleep(0)
        assert (done, adapters.closed) == ([], 0)
        gate.set()
        await asyncio.gather(*tasks)

    bench.run(consume())
    assert (done, adapters.closed) == ([text("a"), text("b"), None, "end"], 1)


def test_who_no_longer_waits_is_passed_over(bench: Bench) -> None:
    """STREAM-CLOSE-01: a queued pull that is cancelled takes no chunk, and the close behind it still happens."""
    gate = asyncio.Event()
    adapters = ByHand(text("b"))

    async def slow() -> AsyncIterator[JsonObject]:
        try:
            await gate.wait()
            yield text("a")
            async for chunk in adapters:
                yield chunk
        finally:
            await adapters.aclose()

    bench.serve(lambda _: slow())

    async def consume() -> None:
        chunks = bench.llm.stream(request())
        first, queued = (asyncio.ensure_future(_next(chunks)) for _ in range(2))
        closing = asyncio.ensure_future(close_stream(chunks))
        await asyncio.sleep(0)
        queued.cancel()
        gate.set()
        assert await first == text("a")
        await closing
        assert queued.cancelled()

    bench.run(consume())
    assert adapters.closed == 1


def test_who_is_cancelled_in_its_turn_passes_it_on(bench: Bench) -> None:
    """STREAM-CLOSE-01: a pull that is cancelled between its turn and its start strands nobody."""
    gate = asyncio.Event()

    async def slow() -> AsyncIterator[JsonObject]:
        await gate.wait()
        yield text("a")
        yield text("b")

    bench.serve(lambda _: slow())

    async def consume() -> None:
        chunks = bench.llm.stream(request())
        first, queued, last = (asyncio.ensure_future(_next(chunks)) for _ in range(3))
        first.add_done_callback(lambda _: queued.cancel())
        await asyncio.sleep(0)
        gate.set()
        assert await last == text("b")
        assert queued.cancelled()

    bench.run(consume())


async def _next(chunks: AsyncIterator[JsonObject]) -> JsonObject:
    return await anext(chunks)


def test_foreign_replay_state_is_taken_off_each_message_once(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """ADAPTER-REPLAY-01: a later request of the same history costs what is new in it."""
    looked: list[JsonObject] = []
    plain = attempts._without_state

    def counted(message: JsonObject) -> JsonObject:
        looked.append(message)
        return plain(message)

    monkeypatch.setattr(attempts, "_without_state", counted)
    bench.serve(yielding(STOP), "other")
    adapter = bench.serve(yielding(STOP))
    history: Growing[JsonObject] = Growing()
    content = [{"type": "text", "text": "x"}]

    def said() -> JsonObject:
        return assistant_message(content, provider="other", model="m", replay_state={"response": 1})

    for told in (3, 1, 0):
        history.extend(said() for _ in range(told))
        early = Prefix(history)
        history.append(user_message("later"))
        bench.chunks(bench.llm.stream(request(messages=early)))
        (shown,) = (made.messages for made in adapter.requests[-1:])
        assert len(shown) == len(early)
        assert not any("replayState" in message["source"] for message in shown)
    assert len(looked) == 4
    assert "replayState" in history[0]["source"]
