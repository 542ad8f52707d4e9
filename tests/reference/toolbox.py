"""Tools whose bodies do what a test says, or wait until it says how they end; the world's rows tell of them."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from tests.reference.world import Script, World, finish, message, stream

from dshcore.cancel_signal import CancelSignal
from dshcore.context import Context, Disposer
from dshcore.events import Layer, Next
from dshcore.json import Json, JsonObject, freeze
from dshcore.tools import (
    TOOLS,
    TOOLS_EXECUTE,
    TOOLS_POST_EXECUTE,
    TOOLS_PRE_EXECUTE,
    TOOLS_RESULT,
    ErrorFacts,
    ErrorInfo,
    ToolCallRequest,
    ToolDefinition,
    ToolExecution,
    ToolOutcome,
    ToolOutput,
    ToolResult,
    ToolRun,
    ToolToken,
)

Body = Callable[[Json, ToolRun], Any]
"""What a body does at once; an awaitable is waited for."""

ABORTED = ErrorFacts("tool call aborted", ErrorInfo("AbortError", "ABORTED"))
BEFORE = ErrorFacts("tool call aborted before dispatch", ErrorInfo("AbortError", "ABORTED_BEFORE_DISPATCH"))


def calls(*wanted: str, arguments: str = "{}") -> Script:
    """Answer with tool calls; each is `id:name`."""
    blocks = []
    for index, each in enumerate(wanted):
        call_id, name = each.split(":")
        block = {"type": "tool-call", "id": call_id, "name": name, "arguments": arguments}
        blocks.append({"type": "block-end", "index": index, "block": block})
    return stream(*blocks, finish("tool-calls"))


def content(text: str) -> tuple[dict[str, str], ...]:
    return ({"type": "text", "text": text},)


def definition(name: str = "t", body: Body | None = None, **members: Any) -> ToolDefinition:
    """Make a tool that answers `ok`, or what its body does."""

    async def execute(arguments: Json, run: ToolRun) -> object:
        answer = "ok" if body is None else body(arguments, run)
        return await answer if asyncio.isfuture(answer) or asyncio.iscoroutine(answer) else answer

    made: dict[str, Any] = {
        "name": name,
        "description": f"about {name}",
        "parameters": {"type": "object"},
        "output": ToolOutput(schema={}, render=lambda _, value: content(f"<{value}>")),
        "execute": execute,
    }
    return ToolDefinition(**(made | members))


class Toolbox:
    """The tools of a world, and the calls whose bodies wait."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.tools = world.root[TOOLS]
        self.waiting: dict[str, asyncio.Future[object]] = {}

    def add(
        self, name: str = "t", body: Body | None = None, *, owner: Context | None = None, **members: Any
    ) -> Disposer:
        """Register a tool whose calls are noted."""

        def noted(arguments: Json, run: ToolRun) -> Any:
            self._world.rows.append(f"> body {run.call_id}")
            return "ok" if body is None else body(arguments, run)

        made = definition(name, noted, **members)
        disposer: Disposer = self._world.run(
            lambda: self.tools.register(self._world.root if owner is None else owner, made)
        )
        return disposer

    def add_held(self, name: str = "slow", **members: Any) -> Disposer:
        """Register a parallel-safe tool whose bodies wait for `end`, whatever their signal says."""

        def hold(_: Json, run: ToolRun) -> Any:
            future = self.waiting[run.call_id] = self._world.loop.create_future()
            return future

        members.setdefault("is_concurrency_safe", lambda _: True)
        return self.add(name, hold, **members)

    def end(self, *call_ids: str, value: object = "ok", error: BaseException | None = None) -> None:
        """Let bodies end, all in one stretch."""

        def stretch() -> None:
            for call_id in call_ids:
                future = self.waiting.pop(call_id)
                if error is None:
                    future.set_result(value)
                else:
                    future.set_exception(error)

        self._world.run(stretch)

    def start(
        self,
        name: str = "t",
        *,
        arguments: object = None,
        scope: object | None = None,
        signal: CancelSignal | None = None,
        call_id: str = "c",
        parent: ToolToken | None = None,
    ) -> "asyncio.Task[ToolResult]":
        """Start a call, and let it come as far as it can."""
        call = ToolCallRequest(
            call_id=call_id,
            name=name,
            arguments={} if arguments is None else arguments,
            signal=CancelSignal() if signal is None else signal,
            parent=parent,
        )
        return self._world.start(lambda: self.tools.execute(call, scope))

    def execute(self, name: str = "t", **call: Any) -> ToolResult:
        """Make a call that has to come to its end."""
        return self.start(name, **call).result()

    def record_stages(self, *, of: Sequence[str] = ("pre", "around", "post", "result")) -> None:
        """Note the stages that calls pass."""
        note, on = self._world.rows.append, self._world.root.on

        async def pre(execution: ToolExecution, proceed: Next[Any]) -> Any:
            note(f"> pre {execution.call_id}")
            return await proceed()

        async def around(execution: ToolExecution, proceed: Next[Any]) -> Any:
            note(f"> around {execution.call_id}")
            result = await proceed()
            note(f"< around {execution.call_id} {shown(result)}")
            return result

        async def post(outcome: ToolOutcome, proceed: Next[Any]) -> Any:
            note(f"> post {outcome.execution.call_id} {shown(outcome.result)}")
            return await proceed()

        def result(outcome: ToolOutcome) -> None:
            note(f"tools/result {outcome.execution.call_id} {shown(outcome.result)}")

        if "pre" in of:
            on(TOOLS_PRE_EXECUTE, pre)
        if "around" in of:
            on(TOOLS_EXECUTE, around)
        if "post" in of:
            on(TOOLS_POST_EXECUTE, post)
        if "result" in of:
            on(TOOLS_RESULT, result)


def shown(result: ToolResult) -> str:
    """A result in one word or two."""
    if result.is_error:
        info = result.error.info
        return "error" if info is None else f"error {info.code}"
    return "ok"


def error_of(result: ToolResult) -> ErrorFacts:
    """The error of a call that failed."""
    assert result.is_error
    return result.error


def value_of(result: ToolResult) -> Any:
    """The value of a call that succeeded."""
    assert not result.is_error
    return result.value


def context(name: str) -> JsonObject:
    """A message as results hold it."""
    said: JsonObject = freeze(message(name))
    return said


def concluding(_: object, run: ToolRun) -> str:
    """A body that concludes."""
    run.conclude_turn()
    return "v"


def finalizing(world: World, answer: object = None) -> Callable[..., object]:
    """A finalizer that notes what it is given."""

    def finalize(_: ToolExecution, result: ToolResult) -> object:
        world.rows.append(f"> finalize {shown(result)}")
        return answer

    return finalize


def raising(error: BaseException) -> Callable[..., Any]:
    """A callback that raises, whatever it is called with."""

    def raise_it(*_: object) -> Any:
        raise error

    return raise_it


def answering(answer: Any) -> Layer[Any, Any]:
    """A listener of a waterfall that decides alone."""

    async def listener(*_: object) -> Any:
        return answer

    return listener


def around(world: World, act: Callable[[ToolExecution, ToolResult], Any]) -> None:
    """A wrapper that answers what it makes of the result."""

    async def wrapper(execution: ToolExecution, proceed: Next[Any]) -> Any:
        return act(execution, await proceed())

    world.root.on(TOOLS_EXECUTE, wrapper)


def deferring(then: Callable[[ToolRun], object]) -> Callable[[object, ToolRun], object]:
    """A body that defers a context, concludes, and then does something."""

    def body(_: object, run: ToolRun) -> object:
        run.defer_context(message("d"))
        run.conclude_turn()
        return then(run)

    return body
