"""The tools of the suite: a definition whose every callback is a function, and the operations of the registry.

Specific to `dshcore`.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, cast

from msgspec import UNSET

from dshconform.adapters.reference.calls import Call
from dshconform.adapters.reference.commands import Arguments, Operation, Started
from dshconform.adapters.reference.endings import Kind
from dshconform.adapters.reference.functions import SuiteFunction
from dshconform.adapters.reference.tool_forms import ExecutionFields
from dshconform.adapters.reference.world import World
from dshconform.protocol.json_value import Json
from dshcore.cancel_signal import CancelSignal
from dshcore.tools import (
    TOOLS,
    ToolCallRequest,
    ToolDefinition,
    ToolExecution,
    ToolOutput,
    ToolRegistry,
    ToolResult,
    ToolRun,
    define_tool,
)


def _defer(call: Call, said: Mapping[str, object]) -> None:
    cast("ToolRun", call.payload).defer_context(cast("Any", said["message"]))


def _conclude(call: Call, _: Mapping[str, object]) -> None:
    cast("ToolRun", call.payload).conclude_turn()


_EXECUTE: Final = Kind("tool/execute", awaited=True, actions={"context": _defer, "conclude": _conclude})
_SAFE: Final = Kind("tool/safe", waits=False)
_RENDER: Final = Kind("tool/render", waits=False, passing=lambda _: [])
_META: Final = Kind("tool/meta", waits=False)
_FINALIZE: Final = Kind("tool/finalize", waits=False)
_PRESENT_CALL: Final = Kind("tool/present-call", waits=False)
_PRESENT_RESULT: Final = Kind("tool/present-result", waits=False)


def _read_definition(raw: Mapping[str, Any]) -> ToolDefinition:
    """The definition of a tool; what of it is no function of the suite stays as it is, what is not there is absent."""
    return ToolDefinition(
        name=raw.get("name"),  # type: ignore[arg-type]  # raw, as everything else
        description=raw.get("description"),  # type: ignore[arg-type]
        parameters=raw.get("parameters", UNSET),
        output=_output(raw.get("output")),
        execute=_called(raw.get("execute"), _execute),
        finalize_content=_called(raw.get("finalizeContent"), _finalize),
        is_concurrency_safe=_called(raw.get("isConcurrencySafe"), _with_arguments(_SAFE)),
        timeout_ms=raw.get("timeoutMs", UNSET),
        present_call=_called(raw.get("presentCall"), _with_arguments(_PRESENT_CALL)),
        present_result=_called(raw.get("presentResult"), _with_arguments(_PRESENT_RESULT, "result")),
    )


def _output(raw: object) -> Any:  # noqa: ANN401 - what is no object is passed on
    if not isinstance(raw, Mapping):
        return raw
    return ToolOutput(
        schema=raw.get("schema"),  # type: ignore[arg-type]  # raw
        render=_called(raw.get("render"), _with_arguments(_RENDER, "value")),
        presentation_meta=_called(raw.get("presentationMeta", UNSET), _with_arguments(_META, "value")),
    )


def _called(value: object, bind: Callable[[SuiteFunction], Callable[..., object]]) -> Any:  # noqa: ANN401 - raw
    return bind(value) if isinstance(value, SuiteFunction) else value


def _execute(function: SuiteFunction) -> Callable[..., object]:
    def execute(_: object, run: ToolRun) -> object:
        return function.call(_EXECUTE, ExecutionFields(run), agent=run.agent, payload=run)

    return execute


def _finalize(function: SuiteFunction) -> Callable[..., object]:
    def finalize(execution: ToolExecution, result: ToolResult) -> object:
        fields = ExecutionFields(execution, result=result)
        return function.call(_FINALIZE, fields, agent=execution.agent, payload=execution)

    return finalize


def _with_arguments(kind: Kind, *more: str) -> Callable[[SuiteFunction], Callable[..., object]]:
    """The binding of a callback that gets the arguments of a call, and no execution."""

    def bind(function: SuiteFunction) -> Callable[..., object]:
        return lambda *given: function.call(kind, dict(zip(("arguments", *more), given, strict=True)))

    return bind


# --- operations ------------------------------------------------------------------------------------------------------


def _register(world: World, args: Arguments) -> None:
    """Register a tool."""
    raw = args.raw("definition")
    if not isinstance(raw, Mapping):
        raise args.wrong("definition", "must be an object")
    context, name = world.composition.context(args.raw_or("in", "root")), args.text("as")
    definition = _read_definition(raw)
    if args.flag("typed"):
        definition = define_tool(definition)
    world.names.disposers[name] = context[TOOLS].register(context, definition)
    world.composition.bind_tool(name, definition)


def execute(world: World, args: Arguments) -> Started:
    """Call a tool.

    Args:
        world: Has the registry that is asked.
        args: The call, and the scope.

    Returns:
        What waits for its result.
    """
    return Started(_registry(world, args).execute(_call(args), _scope(world, args)))


def _mode(world: World, args: Arguments) -> dict[str, object]:
    """Classify a call."""
    return {"kind": _registry(world, args).mode(_call(args), _scope(world, args))}


def _schemas(world: World, args: Arguments) -> object:
    """List the schemas of the visible tools."""
    return _registry(world, args).schemas(_scope(world, args))


def _get(world: World, args: Arguments) -> Json:
    """Look a tool up."""
    found = _registry(world, args).get(cast("Any", args.raw("name")), _scope(world, args))
    return world.composition.refer_tool(found)


TOOL_OPERATIONS: Final[Mapping[str, Operation]] = {
    "tool.register": Operation(_register, ("as", "definition"), ("typed", "in")),
    "tool.execute": Operation(execute, ("task", "call"), ("scope", "in")),
    "tool.mode": Operation(_mode, ("call",), ("scope", "in")),
    "tool.schemas": Operation(_schemas, (), ("scope", "in")),
    "tool.get": Operation(_get, ("name",), ("scope", "in")),
}
"""Every operation of the tool registry."""


def _registry(world: World, args: Arguments) -> ToolRegistry:
    return world.composition.context(args.raw_or("in", "root"))[TOOLS]


def _scope(world: World, args: Arguments) -> object | None:
    return world.composition.scope(args.raw_or("scope", "root"))


def _call(args: Arguments) -> ToolCallRequest:
    raw = args.raw("call")
    if not isinstance(raw, Mapping):
        raise args.wrong("call", "must be an object")
    return ToolCallRequest(
        call_id=raw.get("callId"),  # type: ignore[arg-type]  # raw, as everything else
        name=raw.get("name"),  # type: ignore[arg-type]
        arguments=raw.get("arguments"),
        signal=raw["signal"] if "signal" in raw else CancelSignal(),
        root_call_id=raw.get("rootCallId"),
        parent=raw.get("parent"),
    )
