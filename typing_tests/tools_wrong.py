"""Uses of tools that must not type-check."""

from collections.abc import Sequence

from dshcore.context import Context
from dshcore.json import Json
from dshcore.tools import APPROVAL, TOOLS, Content, ToolExecution, define_tool


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


class Yes:
    async def request(self, request: object, /) -> bool:
        return bool(request)


async def use(ctx: Context) -> None:
    ctx[TOOLS].guard(ctx, waits)  # error: arg-type
    ctx[TOOLS].restrict(ctx, allow=[5])  # error: list-item
    ctx[TOOLS].register(number, ctx)  # error: arg-type
    ctx.provide(APPROVAL, Yes())  # error: misc
    ctx[TOOLS].get("t").name  # error: union-attr
