"""What must type-check of the model seam: adapters, calls, open maps, and chunks, whose union is closed."""

from collections.abc import AsyncIterator, Mapping
from typing import assert_never

from dshcore.agent import Agent, ModelSelection, SelectedModel
from dshcore.cancel_signal import CancelSignal
from dshcore.context import Context
from dshcore.events import Next
from dshcore.ids import ReasoningEffortId
from dshcore.json import JsonObject
from dshcore.llm import (
    BLOCKS,
    CHUNKS,
    LLM,
    LLM_STREAM,
    CallConfig,
    GenerateOptions,
    LlmError,
    ModelAdapter,
    PreparedCall,
    Registration,
    ToolCall,
    close_stream,
)
from dshcore.llm.chunks import BlockEnd, BlockStart, Finish, ReasoningDelta, TextDelta, ToolCallDelta, UsageReport
from dshcore.llm.vocabulary import Block
from dshcore.variants import Unknown


class Adapter:
    async def stream(self, request: GenerateOptions) -> AsyncIterator[JsonObject]:
        for message in request.messages:
            yield message

    async def resolve(self, provider: str, model: str, signal: CancelSignal | None) -> Mapping[str, object]:
        return {"provider": provider, "id": model, "name": model, "cancelled": signal is not None and signal.aborted}


async def call(ctx: Context, request: GenerateOptions) -> None:
    adapter: ModelAdapter = Adapter()
    registration: Registration = ctx[LLM].register(ctx, ["mock"], adapter)
    registration.replace(["mock", "other"])
    effort = ReasoningEffortId("high")
    prepared: PreparedCall = await ctx[LLM].prepare(CallConfig(provider="mock", model="m1", reasoning_effort=effort))
    request.config = prepared.config
    chunks: AsyncIterator[JsonObject] = prepared.stream(request)
    async for chunk in chunks:
        read(chunk)
    await close_stream(chunks)
    registration()


def read(chunk: JsonObject) -> str:
    """Every chunk is one of seven, or of none: there is no eighth to forget."""
    reading = CHUNKS.read(chunk)
    match reading:
        case BlockStart(block_type=type_):
            return type_
        case TextDelta(text=text) | ReasoningDelta(text=text):
            return text
        case ToolCallDelta(arguments_delta=arguments):
            return arguments
        case BlockEnd() | UsageReport() | Finish():
            return ""
        case Unknown(tag=tag):
            return tag
        case _:
            assert_never(reading)


def calls(message: JsonObject) -> list[ToolCall]:
    blocks: list[Block | Unknown] = [BLOCKS.read(block) for block in message["content"]]
    return [block for block in blocks if isinstance(block, ToolCall)]


def route(request: GenerateOptions, next_: Next[AsyncIterator[JsonObject]]) -> AsyncIterator[JsonObject]:
    request.config = CallConfig(provider="other", model=request.config.model)
    return next_()


def select(ctx: Context, agent: Agent) -> None:
    ctx.on(LLM_STREAM, route)
    selection = ModelSelection(SelectedModel(provider="mock", model="m1"))
    uninstall = selection.install(agent)
    selection.current = None
    uninstall()
    raise LlmError("busy", "RATE_LIMIT", status=429, provider_retry_after_ms=1.5)
