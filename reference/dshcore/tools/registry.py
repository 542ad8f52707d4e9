"""The registry: which tools there are, for whom, and the way to call one."""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

from dshcore import eager
from dshcore.context import Context, Disposer, ServiceKey
from dshcore.host import is_contained
from dshcore.json import JsonObject, NotJson, freeze
from dshcore.scope import Layers, NamedTable, scope_target
from dshcore.tools.definitions import ToolDefinition, check_definition
from dshcore.tools.errors import DuplicateTool, InvalidTool
from dshcore.tools.events import TOOLS_CHANGE
from dshcore.tools.executions import ToolCallRequest
from dshcore.tools.pipeline import PendingCall
from dshcore.tools.results import ToolResult

Mode: TypeAlias = Literal["parallel", "exclusive"]
"""Whether a call may overlap others of the same answer."""


@dataclass(slots=True)
class _Layer:
    tools: NamedTable[ToolDefinition] = field(default_factory=NamedTable[ToolDefinition])


class ToolRegistry:
    """The tools of an application, in layers: one that everybody sees, and one for every scope with tools of its own.

    Args:
        ctx: Where its events are dispatched.

    Spec:
        TOOL-SCOPE-01, TOOL-SCOPE-02
    """

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx
        self._layers = Layers(_Layer, self._announce)
        self._schemas: dict[int, tuple[ToolDefinition, JsonObject]] = {}
        """Projections that were made, by the identity of the definition, which is held for that."""

    def register(self, owner: Context, definition: ToolDefinition) -> Disposer:
        """Offer a tool to everybody, or where the owner has a scope to that scope, until the owner ends.

        Args:
            owner: Whose registration it is.
            definition: The tool; it is listed and can be called when this returns.

        Returns:
            Withdraws it earlier.

        Raises:
            InvalidTool: No tool can have this definition.
            DuplicateTool: The name is taken in that layer.
            InactiveContext: The owner is inactive.
            Exception: What a listener of `tools/change` raised; the tool is not registered then.

        Spec:
            TOOL-DEF-01, TOOL-DEF-02, TOOL-DEF-04, TOOL-DEF-07, TOOL-DEF-08, TOOL-DUP-01, TOOL-DUP-02, TOOL-CHANGE-01,
            TOOL-CHANGE-03, TOOL-DISPOSE-01, TOOL-DISPOSE-03
        """
        check_definition(definition)

        def file(layer: _Layer) -> Callable[[], None]:
            if definition.name in layer.tools:
                raise DuplicateTool(definition.name, scoped=owner.scope is not None)
            take_out = layer.tools.insert(definition.name, definition)

            def withdraw() -> None:
                take_out()
                self._schemas.pop(id(definition), None)

            return withdraw

        return self._layers.register(owner, file, label=f"tool {definition.name}")

    def get(self, name: str, scope: object | None = None) -> ToolDefinition | None:
        """Answer the definition that a scope resolves a name to, if any.

        Spec:
            TOOL-DEF-01, TOOL-SCOPE-01, TOOL-SCOPE-02, TRACE-READ-01
        """
        for layer in reversed(self._layers.visible(scope)):
            definition = layer.tools.get(name)
            if definition is not None:
                return definition
        return None

    def schemas(self, scope: object | None = None) -> tuple[JsonObject, ...]:
        """Answer what a model is told of the tools that a scope sees: ``{name, description, parameters}`` of each.

        Raises:
            InvalidTool: The parameters of a tool are no lossless JSON.

        Spec:
            TOOL-LIST-01, TOOL-LIST-02, TOOL-LIST-03
        """
        return tuple(self._schema_of(tool) for tool in self._layers.merge(scope, lambda layer: layer.tools).values())

    def mode(self, call: ToolCallRequest, scope: object | None = None) -> Mode:
        """Answer whether a call may overlap others; computed anew each time.

        Spec:
            MODE-CLASS-01, MODE-CLASS-04
        """
        definition = self.get(call.name, scope)
        if definition is None or definition.is_concurrency_safe is None:
            return "exclusive"
        try:
            safe = definition.is_concurrency_safe(call.arguments)  # type: ignore[arg-type]  # as given: MODE-CLASS-02
        except BaseException as error:
            if not is_contained(error):
                raise
            return "exclusive"  # MODE-CLASS-01: who cannot tell is not safe
        eager.discard(safe)  # a pending computation is no answer
        return "parallel" if safe is True else "exclusive"

    def execute(self, call: ToolCallRequest, scope: object | None = None) -> Coroutine[Any, Any, ToolResult]:
        """Call a tool.

        The arguments are those at the time of this call. No failure of a tool, listener or finalizer makes it fail.

        Args:
            call: What to execute.
            scope: For whom: it decides which tools and which listeners there are.

        Returns:
            The result, when it is awaited.

        Cancellation:
            Delivered to the body or the listener that is being awaited; there is no result then. Whoever wants the
            call to end with a result aborts its signal.

        Spec:
            PIPE-ARGS-01, PIPE-ORDER-03, PIPE-ORDER-04
        """
        return self.open(call, scope).run()

    def open(self, call: ToolCallRequest, scope: object | None = None) -> PendingCall:
        """Begin a call whose parts are passed one by one, as `execute` does in a row (PIPE-ORDER-08)."""
        return PendingCall(self, self._ctx, call, scope, scope_target(self._ctx.receiver(TOOLS), scope))

    def _schema_of(self, definition: ToolDefinition) -> JsonObject:
        known = self._schemas.get(id(definition))
        if known is not None:
            return known[1]
        try:
            parameters = freeze(definition.parameters)
        except NotJson as error:
            raise InvalidTool(
                f'tool "{definition.name}" parameters must be lossless JSON before schema projection'
            ) from error
        schema = freeze({"name": definition.name, "description": definition.description, "parameters": parameters})
        self._schemas[id(definition)] = (definition, schema)
        return schema

    def _announce(self) -> None:
        self._ctx.emit(TOOLS_CHANGE, None)


TOOLS: Final = ServiceKey[ToolRegistry]("tools")
"""The tools of an application."""
