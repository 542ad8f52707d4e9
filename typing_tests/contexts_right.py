"""What has to type-check: owners, plugins, effects, scopes."""

from collections.abc import AsyncIterator, Iterator
from typing import assert_type

from typing_tests.declarations import FLUSH, REGISTRY, RENDER, STATUS, STOPPING, PreStep, Registry, StatusChanged, ctx

from dshcore.context import (
    DISPATCH,
    FIBER_STATUS,
    AsyncDisposer,
    Context,
    Disposer,
    Plugin,
    Receiver,
    ServiceKey,
    Undo,
)
from dshcore.scope import Carrier, Scope, bind_scope_parent, create_scope, is_carrier, scope_target


def body(own: Context, config: int) -> Iterator[Undo]:
    yield own.provide(REGISTRY, Registry())
    yield own.effect(lambda: None, label=str(config))


def validate(raw: object) -> int:
    return int(str(raw))


async def body_later(own: Context, _: object) -> Undo:
    await own.fiber
    return own.effect(lambda: None, label="e")


counted = Plugin(body, name="counted", requires=[REGISTRY], validate=validate)
assert_type(counted, Plugin[int])
assert_type(ctx.mount(counted, 3), Context)
assert_type(ctx.mount(counted, "raw, to be validated"), Context)
ctx.mount(body_later)
ctx.mount(lambda own, _: own.on(STATUS, print))

assert_type(ctx.derive(REGISTRY, Registry())[REGISTRY], Registry)
assert_type(ctx.read(REGISTRY), Registry | None)
assert_type(ctx.isolate(REGISTRY, "label").get(REGISTRY), Registry | None)
assert_type(ctx.accessor(ServiceKey[int]("number"), lambda own: len(own.name)), Disposer)
assert_type(ctx.open(name="o", requires=[REGISTRY]), Context)


def parts() -> Iterator[Undo | None]:
    yield None
    yield ctx.effect(lambda: None, label="inner")


async def parts_later() -> AsyncIterator[Undo]:
    yield lambda: None


async def setup() -> Undo | None:
    return None


assert_type(ctx.composite(parts, label="c"), Disposer)
assert_type(ctx.composite(lambda: None, label="c"), Disposer)
assert_type(ctx.async_composite(setup, label="c"), AsyncDisposer)
assert_type(ctx.async_composite(parts_later, label="c"), AsyncDisposer)

ctx.on(DISPATCH, lambda told: told.name + told.mode)
ctx.on(FIBER_STATUS, lambda change: (change.fiber.id, change.previous.value))

scope = create_scope(ctx, "key", parent="parent")
assert_type(scope, Scope)
assert_type(scope.raw_dispose, Disposer)
bind_scope_parent("a", "b").rebind("c")
carrier = scope_target(scope, "key")
assert_type(carrier, Carrier)
receiver: Receiver = carrier
assert is_carrier(receiver)


class Unmarked:
    def admits(self, context: Context) -> bool:
        return context.scope is None


async def dispatch() -> None:
    ctx.emit(STATUS, StatusChanged("a", "idle"), to=carrier)
    await ctx.serial(STOPPING, PreStep(1), to=Unmarked())
    await ctx.parallel(FLUSH, "session", to=ctx.receiver(REGISTRY))
    assert_type(ctx.waterfall(RENDER, "x", lambda: "y", to=None), str)
