"""Uses of tools that must not type-check."""

from collections.abc import Awaitable, Sequence

from dshcore.context import Context
from dshcore.events import Next
from dshcore.json import Json
from dshcore.tools import (
    APPROVAL,
    TOOLS,
    TOOLS_CHANGE,
    TOOLS_EXECUTE,
    TOOLS_POST_EXECUTE,
    TOOLS_PRE_EXECUTE,
    TOOLS_RESULT,
    Accept,
    Ask,
    Block,
    Content,
    PostExecuteDecision,
    PreExecuteDecision,
    ToolExecution,
    ToolOutcome,
    ToolResult,
    ToolRun,
    ToolSuccess,
    define_tool,
)


def show(_: Json, texts: Sequence[str]) -> Content:
    return [{"type": "text", "text": text} for text in texts]


@define_tool  # error: arg-type
async def number() -> int:
    return 5


@define_tool(name="five")  # error: arg-type
async def named() -> int:
    return 5


@define_tool(render=show)  # error: arg-type
async def numbers() -> list[int]:
    return [5]


@define_tool(colour="red")  # error: call-overload, untyped-decorator
async def coloured() -> str:
    return "red"


async def waits(execution: ToolExecution) -> str:
    return execution.name


def count(_: Json, texts: Sequence[str]) -> Json:
    return len(texts)


def finalize(result: ToolResult) -> Content:
    return result.content


@define_tool(render=show, presentation_meta=count)  # error: arg-type
async def bare() -> int:
    return 5


@define_tool(finalize_content=finalize)  # error: arg-type
async def finalized(run: ToolRun) -> str:
    run.defer_context("text")  # error: arg-type
    return ""


def sync_policy(execution: ToolExecution, _: Next[Awaitable[PreExecuteDecision]]) -> PreExecuteDecision:
    return Ask(execution.name)


async def review(outcome: ToolOutcome, _: Next[Awaitable[PostExecuteDecision]]) -> PostExecuteDecision:
    if outcome.agent is None:
        return Accept(content="text")  # error: arg-type
    return Block(feedback="text")  # error: arg-type


async def wrap(_: ToolExecution, proceed: Next[Awaitable[ToolResult]]) -> Json:
    result = await proceed()
    return result.value  # error: union-attr


async def replaces(execution: ToolExecution, _: Next[Awaitable[ToolResult]]) -> ToolResult:
    execution.signal = None  # error: assignment
    return ToolSuccess(value=5, content="text")  # error: arg-type


def listen(ctx: Context) -> None:
    ctx.on(TOOLS_PRE_EXECUTE, sync_policy)  # error: arg-type
    ctx.on(TOOLS_PRE_EXECUTE, review)  # error: arg-type
    ctx.on(TOOLS_EXECUTE, wrap)  # error: arg-type
    ctx.on(TOOLS_POST_EXECUTE, replaces)  # error: arg-type
    ctx.on(TOOLS_RESULT, waits)  # error: arg-type
    ctx.on(TOOLS_CHANGE, lambda: None)  # error: arg-type, misc


class Yes:
    async def request(self, request: object, /) -> bool:
        return bool(request)


async def use(ctx: Context) -> None:
    ctx[TOOLS].guard(ctx, waits)  # error: arg-type
    ctx[TOOLS].restrict(ctx, allow=[5])  # error: list-item
    ctx[TOOLS].register(number, ctx)  # error: arg-type
    ctx.provide(APPROVAL, Yes())  # error: misc
    ctx[TOOLS].get("t").name  # error: union-attr
