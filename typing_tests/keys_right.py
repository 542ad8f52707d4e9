"""What has to type-check."""

from collections.abc import Awaitable
from typing import assert_type

from typing_tests.declarations import (
    ASK,
    FLUSH,
    NOTHING,
    PRE_STEP,
    REGISTRY,
    RENDER,
    STATUS,
    STOPPING,
    Enter,
    PreStep,
    Registry,
    StatusChanged,
    ctx,
)

from dshcore.context import Disposer
from dshcore.events import Next

heard: list[StatusChanged] = []

assert_type(ctx.on(STATUS, heard.append), Disposer)
ctx.on(STATUS, lambda event: event.agent + event.status)
ctx.on(STATUS, heard.append, prepend=True, global_=True, once=True)
ctx.on(NOTHING, lambda _: None)
ctx.on(RENDER, lambda text, next_: text + next_())


async def on_status(event: StatusChanged) -> None: ...


async def on_stopping(event: PreStep) -> None: ...


async def on_ask(event: PreStep) -> str | None:
    return None if event.step else "first"


async def on_flush(session: str) -> None: ...


async def on_pre_step(event: PreStep, next_: Next[Awaitable[Enter]]) -> Enter:
    decision = await next_()
    return Enter((*decision.messages, str(event.step)))


def pass_on(_: PreStep, next_: Next[Awaitable[Enter]]) -> Awaitable[Enter]:
    return next_()


ctx.on(STATUS, on_status)
ctx.on(STOPPING, on_stopping)
ctx.on(ASK, on_ask)
ctx.on(FLUSH, on_flush)
ctx.on(PRE_STEP, on_pre_step)
ctx.on(PRE_STEP, pass_on)


async def default() -> Enter:
    return Enter(())


async def dispatch() -> None:
    ctx.emit(STATUS, StatusChanged("a", "idle"))
    ctx.emit(STATUS, StatusChanged("a", "idle"), to=ctx.receiver(REGISTRY))
    ctx.emit(NOTHING, None)
    assert_type(await ctx.serial(ASK, PreStep(1)), str | None)
    await ctx.serial(STOPPING, PreStep(1))
    await ctx.parallel(FLUSH, "session")
    assert_type(await ctx.waterfall(PRE_STEP, PreStep(1), default), Enter)
    assert_type(ctx.waterfall(RENDER, "x", lambda: "y"), str)


assert_type(ctx[REGISTRY], Registry)
assert_type(ctx.get(REGISTRY), Registry | None)
assert_type(ctx.provide(REGISTRY, Registry()), Disposer)
assert_type(ctx[REGISTRY].lookup("x"), int | None)
