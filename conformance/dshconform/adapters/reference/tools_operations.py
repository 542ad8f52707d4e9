"""The `tools` command table: which call of `dshcore` each command makes."""

from collections.abc import Mapping
from typing import Any, Final, cast

from dshconform.adapters.reference.commands import Arguments, Operation, Started
from dshconform.adapters.reference.endings import Answer, Fail, Kind, Settled
from dshconform.adapters.reference.functions import SuiteFunction
from dshconform.adapters.reference.tool_forms import ExecutionFields
from dshconform.adapters.reference.world import World
from dshcore.context import Context
from dshcore.settings import SETTINGS, MemorySettings
from dshcore.tools import (
    APPROVAL,
    TOOLS,
    ApprovalRequest,
    ToolExecution,
    assert_object,
    assert_supported,
    compile_parameters,
    compile_value,
    validate_arguments,
    violations_of,
)

_GUARD: Final = Kind("tool/guard", waits=False)
_APPROVE: Final = Kind("tool/approval", awaited=True, passing=lambda _: "unavailable")


class SuiteApproval:
    """An approval service that asks a function of the suite.

    Args:
        function: Is called with each request, and answers it.
    """

    def __init__(self, function: SuiteFunction) -> None:
        self._function: Final = function

    def request(self, request: ApprovalRequest, /) -> Any:  # noqa: ANN401 - as the function answers
        """Ask.

        Args:
            request: What is to be approved.

        Returns:
            As the function answers.
        """
        fields: dict[str, object] = {
            "toolName": request.tool_name,
            "callId": request.call_id,
            "reason": request.reason,
            "signal": request.signal,
        }
        known = {name: value for name, value in fields.items() if value is not None}
        return self._function.call(_APPROVE, known, agent=request.agent)


def _restrict(world: World, args: Arguments) -> None:
    """Restrict what a scope inherits."""
    context = _context(world, args)
    lists: dict[str, Any] = {name: args.raw(name) for name in ("allow", "deny") if name in args}
    world.names.disposers[args.text("as")] = context[TOOLS].restrict(context, **lists)


def _guard(world: World, args: Arguments) -> None:
    """Register a guard."""
    context, function = _context(world, args), _function(args)

    def ask(execution: ToolExecution) -> Any:  # noqa: ANN401 - as the function answers
        return function.call(_GUARD, ExecutionFields(execution), agent=execution.agent, payload=execution)

    world.names.disposers[args.text("as")] = context[TOOLS].guard(context, ask)


def _present(world: World, args: Arguments) -> object:
    """Have a presenter make a view."""
    scope: object = world.composition.scope(args.raw_or("scope", "root"))
    definition = _context(world, args)[TOOLS].get(cast("Any", args.raw("name")), scope)
    arguments = cast("Any", args.raw("arguments"))
    if definition is None:
        return None
    if "result" in args:
        made = definition.present_result
        return None if made is None else made(arguments, cast("Any", args.raw("result")))
    return None if definition.present_call is None else definition.present_call(arguments)


def _provide_approval(world: World, args: Arguments) -> None:
    """Provide an approval service."""
    service = SuiteApproval(_function(args))
    world.names.disposers[args.text("as")] = _context(world, args).provide(APPROVAL, service)


def _compile_schema(world: World, args: Arguments) -> object:  # noqa: ARG001 - a schema needs no world
    """Compile a specification."""
    return _one_of(args, "what", {"value": compile_value, "parameters": compile_parameters})(args.raw("spec"))


def _assert_schema(world: World, args: Arguments) -> None:  # noqa: ARG001 - a schema needs no world
    """Assert that a raw schema is one."""
    _one_of(args, "what", {"supported": assert_supported, "object": assert_object})(args.raw("schema"))


def _validate(world: World, args: Arguments) -> list[str]:  # noqa: ARG001 - a schema needs no world
    """Tell how a value does not fit."""
    value = args.raw("value")
    if "spec" in args:
        return validate_arguments(args.raw("spec"), value)
    root: dict[str, Any] = {"root": args.raw("root")} if "root" in args else {}
    return violations_of(cast("Any", args.raw("schema")), value, **root)


def _write_settings(world: World, args: Arguments) -> Started:
    """Store a section of the settings, or clear it."""
    settings = cast("MemorySettings", world.composition.root[SETTINGS])
    try:
        settings.write(args.text("section"), cast("Any", args.raw("value")))
    except Exception as error:  # noqa: BLE001 - whatever refused it
        return Started(Settled(Fail(error)))
    return Started(Settled(Answer(None)))


TOOLS_OPERATIONS: Final[Mapping[str, Operation]] = {
    "tool.restrict": Operation(_restrict, ("as",), ("allow", "deny", "in")),
    "tool.guard": Operation(_guard, ("as", "fn"), ("in",)),
    "tool.present": Operation(_present, ("name", "arguments"), ("result", "scope", "in")),
    "approval.provide": Operation(_provide_approval, ("as", "fn"), ("in",)),
    "schema.compile": Operation(_compile_schema, ("what", "spec")),
    "schema.assert": Operation(_assert_schema, ("what", "schema")),
    "schema.validate": Operation(_validate, ("value",), ("schema", "root", "spec")),
    "settings.write": Operation(_write_settings, ("section", "value"), ("task",)),
}
"""Every operation of the tools beyond the core."""


def _context(world: World, args: Arguments) -> Context:
    return world.composition.context(args.raw_or("in", "root"))


def _function(args: Arguments) -> SuiteFunction:
    value = args.raw("fn")
    if not isinstance(value, SuiteFunction):
        raise args.wrong("fn", "must be a function of the suite")
    return value


def _one_of(args: Arguments, name: str, known: Mapping[str, Any]) -> Any:  # noqa: ANN401 - as the table has it
    found = known.get(args.text(name))
    if found is None:
        raise args.wrong(name, f"must be one of {', '.join(known)}")
    return found
