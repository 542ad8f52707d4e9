"""Uses of tools that must type-check."""

from collections.abc import Awaitable, Mapping, Sequence
from typing import TypedDict

from dshcore.cancel_signal import CancelSignal
from dshcore.context import Context
from dshcore.events import Next
from dshcore.json import Json
from dshcore.llm import user_message
from dshcore.tools import (
    APPROVAL,
    TOOLS,
    TOOLS_CHANGE,
    TOOLS_EXECUTE,
    TOOLS_POST_EXECUTE,
    TOOLS_PRE_EXECUTE,
    TOOLS_RESULT,
    Accept,
    Allow,
    ApprovalOutcome,
    ApprovalRequest,
    Ask,
    Block,
    Content,
    Deny,
    ErrorFacts,
    PostExecuteDecision,
    PreExecuteDecision,
    ToolCallRequest,
    ToolDefinition,
    ToolExecution,
    ToolFailure,
    ToolOutcome,
    ToolResult,
    ToolRun,
    ToolSuccess,
    define_tool,
)


class Found(TypedDict):
    path: str


def show(_: Json, found: Sequence[Found]) -> Content:
    return [{"type": "text", "text": one["path"]} for one in found]


@define_tool
async def greet(who: str, times: int = 1) -> str:
    return who * times


def count(_: Json, found: Sequence[Found]) -> Json:
    return {"count": len(found)}


def shorten(_: ToolExecution, result: ToolResult) -> Content | None:
    return result.content[:1] if result.is_error else None


@define_tool(
    name="find",
    render=show,
    presentation_meta=count,
    finalize_content=shorten,
    is_concurrency_safe=lambda _: True,
)
async def find(pattern: str, run: ToolRun) -> list[Found]:
    run.defer_context(user_message("found"))
    run.conclude_turn()
    return [{"path": pattern}]


@define_tool(description="Says nothing.", timeout_ms=5)
async def nothing() -> str:
    return ""


tools: tuple[ToolDefinition, ...] = (greet, find, nothing)


class Never:
    async def request(self, request: ApprovalRequest, /) -> ApprovalOutcome:
        return "rejected" if request.reason else "unavailable"


def deny(execution: ToolExecution) -> str | None:
    return None if execution.name == "find" else "no"


async def decide(execution: ToolExecution, proceed: Next[Awaitable[PreExecuteDecision]]) -> PreExecuteDecision:
    if execution.name == "find":
        return Ask("really?")
    return await proceed() if execution.agent else Deny("nobody asks")


async def allow(_: ToolExecution, proceed: Next[Awaitable[PreExecuteDecision]]) -> Allow:
    await proceed()
    return Allow()


async def wrap(execution: ToolExecution, proceed: Next[Awaitable[ToolResult]]) -> ToolResult:
    execution.signal = CancelSignal()
    result = await proceed()
    if result.is_error:
        return ToolFailure(error=ErrorFacts("failed"), content=result.content)
    return ToolSuccess(value=result.value, additional_contexts=[*result.additional_contexts, user_message("seen")])


async def review(outcome: ToolOutcome, proceed: Next[Awaitable[PostExecuteDecision]]) -> PostExecuteDecision:
    if outcome.result.is_error:
        return Block(feedback=[{"type": "text", "text": outcome.result.error.message}])
    decision = await proceed()
    given: Sequence[Mapping[str, Json]] = decision.additional_contexts
    return Accept(value=outcome.result.value, additional_contexts=[*given, user_message("reviewed")])


def told(outcome: ToolOutcome) -> Json:
    return outcome.result.content[0]["text"]


def listen(ctx: Context) -> None:
    ctx.on(TOOLS_PRE_EXECUTE, decide)
    ctx.on(TOOLS_PRE_EXECUTE, allow)
    ctx.on(TOOLS_EXECUTE, wrap)
    ctx.on(TOOLS_POST_EXECUTE, review)
    ctx.on(TOOLS_RESULT, told)
    ctx.on(TOOLS_CHANGE, lambda _: None)


async def use(ctx: Context) -> str:
    registry = ctx[TOOLS]
    registry.register(ctx, find)
    registry.restrict(ctx, allow=["find"], deny=())
    registry.guard(ctx, deny)
    ctx.provide(APPROVAL, Never())
    call = ToolCallRequest(call_id="c", name="find", arguments={}, signal=CancelSignal())
    result = await registry.execute(call)
    return result.error.message if result.is_error else str(result.value)
