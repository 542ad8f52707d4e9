"""What must not type-check: wrong values, plugins, effects, receivers."""

from collections.abc import AsyncIterator, Iterator

from typing_tests.declarations import REGISTRY, STATUS, Registry, StatusChanged, ctx

from dshcore.context import Context, Plugin, Undo
from dshcore.scope import create_scope, scope_target


def body(own: Context, config: int) -> None: ...


def body_without_config(own: Context) -> None: ...


def validate(raw: object) -> str:
    return str(raw)


Plugin(body_without_config)  # error: arg-type
Plugin(body, validate=validate)  # error: misc
Plugin(body, requires=["registry"])  # error: list-item
ctx.mount(5)  # error: call-overload

ctx.derive(REGISTRY, "registry")  # error: misc
ctx.derive(REGISTRY)  # error: call-overload
ctx.accessor(REGISTRY, lambda own: own.name)  # error: arg-type, return-value
ctx.read("registry")  # error: arg-type
ctx.read(REGISTRY).lookup("x")  # error: union-attr


def numbers() -> Iterator[int]:
    yield 5


async def parts_later() -> AsyncIterator[Undo]:
    yield lambda: None


ctx.effect("undo", label="e")  # error: arg-type
ctx.effect(lambda: None)  # error: call-arg
ctx.composite(numbers, label="c")  # error: arg-type
ctx.composite(lambda: 5, label="c")  # error: arg-type, return-value
ctx.composite(parts_later, label="c")  # error: arg-type
ctx.async_composite(lambda: None, label="c")  # error: arg-type, return-value


class Filter:
    def admits(self, _: Registry) -> bool:
        return True


ctx.emit(STATUS, StatusChanged("a", "idle"), to="bot")  # error: arg-type
ctx.emit(STATUS, StatusChanged("a", "idle"), to=Filter())  # error: arg-type
ctx.emit(STATUS, StatusChanged("a", "idle"), scope="bot")  # error: call-arg
scope_target("subject")  # error: call-arg
create_scope("key")  # error: arg-type, call-arg
create_scope(ctx, "key").raw_dispose = lambda: None  # error: assignment, misc
