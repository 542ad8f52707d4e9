"""Uses of tools that must type-check."""

from collections.abc import Sequence
from typing import TypedDict

from dshcore.cancel_signal import CancelSignal
from dshcore.context import Context
from dshcore.json import Json
from dshcore.tools import (
    APPROVAL,
    TOOLS,
    ApprovalOutcome,
    ApprovalRequest,
    Content,
    ToolCallRequest,
    ToolDefinition,
    ToolExecution,
    ToolRun,
    define_tool,
)


class Found(TypedDict):
    path: str


def show(_: Json, found: Sequence[Found]) -> Content:
    return [{"type": "text", "text": one["path"]} for one in found]


@define_tool
async def greet(who: str, times: int = 1) -> str:
    return who * times


@define_tool(name="find", render=show, is_concurrency_safe=lambda _: True)
async def find(pattern: str, run: ToolRun) -> list[Found]:
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


async def use(ctx: Context) -> str:
    registry = ctx[TOOLS]
    registry.register(ctx, find)
    registry.restrict(ctx, allow=["find"], deny=())
    registry.guard(ctx, deny)
    ctx.provide(APPROVAL, Never())
    call = ToolCallRequest(call_id="c", name="find", arguments={}, signal=CancelSignal())
    result = await registry.execute(call)
    return result.error.message if result.is_error else str(result.value)
