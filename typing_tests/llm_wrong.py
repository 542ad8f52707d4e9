"""What must not type-check of the model seam."""

from collections.abc import AsyncIterator
from typing import assert_never

from typing_tests.declarations import ctx

from dshcore.ids import CallId
from dshcore.json import JsonObject
from dshcore.llm import BLOCKS, CHUNKS, LLM, LLM_STREAM, CallConfig, GenerateOptions, LlmError, PreparedCall
from dshcore.llm.chunks import BlockEnd, BlockStart, Finish, ReasoningDelta, TextDelta, UsageReport
from dshcore.variants import Unknown, Variant


class Foreign(Variant, frozen=True, tag_field="type", tag="foreign"):
    """A variant of no map."""


class Silent:
    def stream(self, request: CallConfig) -> AsyncIterator[JsonObject]:
        raise NotImplementedError


async def route(request: GenerateOptions, next_: object) -> JsonObject:
    raise NotImplementedError


async def wrong_calls(config: CallConfig, request: GenerateOptions, prepared: PreparedCall) -> None:
    ctx[LLM].register(ctx, ["mock"], Silent())  # error: arg-type
    ctx[LLM].stream(config)  # error: arg-type
    ctx[LLM].prepare(config).stream(request)  # error: attr-defined
    prepared.stream(config)  # error: arg-type
    prepared.config = config  # error: misc
    config.provider = "other"  # error: misc
    CallConfig(provider="mock", model="m1", reasoning_effort="high")  # error: arg-type
    CallConfig(provider="mock", model="m1", reasoning_effort=CallId("high"))  # error: arg-type
    CallConfig("mock", "m1")  # error: call-arg
    request.provider  # error: attr-defined
    LlmError("busy")  # error: call-arg
    LlmError("busy", "RATE_LIMIT", status="429")  # error: arg-type
    ctx.on(LLM_STREAM, route)  # error: arg-type
    BLOCKS.register(Foreign)  # error: arg-type


def forgets_a_chunk(chunk: JsonObject) -> None:
    reading = CHUNKS.read(chunk)
    match reading:
        case BlockStart() | TextDelta() | ReasoningDelta() | BlockEnd() | UsageReport() | Finish() | Unknown():
            return
        case _:
            assert_never(reading)  # error: arg-type


def takes_any_block_for_a_text(block: JsonObject) -> str:
    return BLOCKS.read(block).text  # error: no-any-return, union-attr
