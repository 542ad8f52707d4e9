"""A bare application on a loop that settles, whose plugins, effects and fibers write rows to a trace."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

from dshcore.context import FIBER_STATUS, Context, Disposer, Fiber, Plugin, ServiceKey, StatusChange
from dshcore.settling import SettlingLoop

T = TypeVar("T")


class Stage:
    """One application.

    Attributes:
        rows: What happened: ``body NAME``, ``undo NAME``, ``NAME: before → after``, and what a test adds.
    """

    def __init__(self, loop: SettlingLoop) -> None:
        self.loop = loop
        self.root = Context()
        self.rows: list[str] = []
        self._gates: dict[str, asyncio.Future[None]] = {}
        self.root.open(name="observer", owned=False).on(FIBER_STATUS, self._status)

    def _status(self, change: StatusChange) -> None:
        self.rows.append(f"{change.fiber.name}: {change.previous.value} → {change.fiber.state.value}")

    # --- running -----------------------------------------------------------------------------------------------------

    def run(self, act: Callable[[], T]) -> T:
        """Call something inside the loop, and settle."""
        task = self.start(act)
        result: T = task.result()
        return result

    def start(self, act: Callable[[], Any]) -> "asyncio.Task[Any]":
        """Call something inside the loop, wait for what it answers, and settle."""

        async def main() -> Any:
            answer = act()
            return await answer if isinstance(answer, Awaitable) and not isinstance(answer, Context) else answer

        task = self.loop.create_task(main())
        self.loop.settle()
        return task

    def settle(self) -> None:
        self.loop.settle()

    def note(self, row: str) -> Callable[..., None]:
        """Make a function that writes a row."""
        return lambda *_: self.rows.append(row)

    def take(self) -> list[str]:
        """Answer the rows since the last time."""
        rows, self.rows = self.rows, []
        return rows

    # --- gates -------------------------------------------------------------------------------------------------------

    async def gate(self, name: str) -> None:
        """Wait until the test opens a gate."""
        self._gates[name] = self.loop.create_future()
        await self._gates[name]

    def release(self, name: str, error: BaseException | None = None) -> None:
        """Open a gate, or let it fail."""
        if error is None:
            self._gates[name].set_result(None)
        else:
            self._gates[name].set_exception(error)
        self.loop.settle()

    # --- undos -------------------------------------------------------------------------------------------------------

    def undo(self, name: str) -> Callable[[], None]:
        return self.note(f"undo {name}")

    def slow(self, name: str) -> Callable[[], Awaitable[None]]:
        """Make an undo that waits at a gate of its name."""

        async def undo() -> None:
            self.rows.append(f"undo {name} …")
            await self.gate(name)
            self.rows.append(f"undo {name}")

        return undo

    def failing(self, name: str) -> Callable[[], None]:
        def undo() -> None:
            self.rows.append(f"undo {name}")
            raise ValueError(name)

        return undo

    def effect(self, ctx: Context, name: str) -> Disposer:
        return ctx.effect(self.undo(name), label=name)

    # --- plugins -----------------------------------------------------------------------------------------------------

    def plugin(
        self,
        name: str | None = None,
        body: Callable[[Context], object] = lambda _: None,
        requires: Sequence[ServiceKey[Any]] = (),
    ) -> Plugin[Any]:
        def told(ctx: Context, _: object) -> object:
            self.rows.append(f"body {name}")
            return body(ctx)

        return Plugin(told, name=name, requires=requires)

    def mount(
        self,
        name: str | None = None,
        body: Callable[[Context], object] = lambda _: None,
        requires: Sequence[ServiceKey[Any]] = (),
        under: Context | None = None,
    ) -> Context:
        """Mount a plugin, and settle."""
        plugin = self.plugin(name, body, requires)
        return self.run(lambda: (self.root if under is None else under).mount(plugin))

    def dispose(self, ctx: Context) -> "asyncio.Task[Any]":
        """Dispose of a fiber by its exact disposer, and settle."""
        return self.start(ctx.fiber.dispose)


def state(of: Context | Fiber) -> str:
    fiber = of.fiber if isinstance(of, Context) else of
    return fiber.state.value
