"""What must not type-check: wrong mode, payload, listener, result, default or service."""

from collections.abc import Awaitable

from typing_tests.declarations import (
    ASK,
    FLUSH,
    PRE_STEP,
    REGISTRY,
    RENDER,
    STATUS,
    STOPPING,
    Enter,
    PreStep,
    StatusChanged,
    ctx,
)

from dshcore.events import Next


async def default() -> Enter:
    return Enter(())


async def wrong_mode() -> None:
    ctx.emit(PRE_STEP, PreStep(1))  # error: arg-type
    ctx.emit(STOPPING, PreStep(1))  # error: arg-type
    ctx.emit(FLUSH, "session")  # error: arg-type
    await ctx.serial(STATUS, StatusChanged("a", "idle"))  # error: arg-type
    await ctx.parallel(STOPPING, PreStep(1))  # error: arg-type
    ctx.waterfall(STATUS, StatusChanged("a", "idle"), default)  # error: arg-type, unused-coroutine


async def wrong_payload() -> None:
    ctx.emit(STATUS, PreStep(1))  # error: misc
    ctx.emit(STATUS, "idle")  # error: misc
    ctx.emit("agent/status", StatusChanged("a", "idle"))  # error: arg-type
    ctx.emit(STATUS)  # error: call-arg
    await ctx.serial(STOPPING, StatusChanged("a", "idle"))  # error: misc
    await ctx.parallel(FLUSH, 1)  # error: misc


async def wrong_default() -> None:
    ctx.waterfall(RENDER, "x", lambda: 1)  # error: arg-type, return-value
    ctx.waterfall(PRE_STEP, PreStep(1), lambda: Enter(()))  # error: arg-type, return-value
    ctx.waterfall(PRE_STEP, PreStep(1))  # error: call-arg


async def on_pre_step(_: PreStep, next_: Next[Awaitable[Enter]]) -> str:
    await next_()
    return "entered"


async def on_pre_step_alone(_: PreStep) -> Enter:
    return Enter(())


def on_status(event: PreStep) -> None: ...


def on_stopping(event: PreStep) -> None: ...


async def on_ask(event: PreStep) -> int:
    return event.step


ctx.on(STATUS, on_status)  # error: arg-type
ctx.on(STOPPING, on_stopping)  # error: arg-type
ctx.on(ASK, on_ask)  # error: arg-type
ctx.on(FLUSH, print)  # error: arg-type
ctx.on(PRE_STEP, on_pre_step)  # error: arg-type
ctx.on(PRE_STEP, on_pre_step_alone)  # error: arg-type
ctx.on("agent/status", print)  # error: call-overload

ctx.provide(REGISTRY, "registry")  # error: misc
ctx["registry"]  # error: index
ctx[STATUS]  # error: index
ctx[REGISTRY].missing()  # error: attr-defined
ctx.get(REGISTRY).lookup("x")  # error: union-attr
