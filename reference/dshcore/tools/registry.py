"""The registry: which tools there are, for whom, and the way to call one."""

from collections.abc import Callable, Collection, Coroutine, Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Any, Final, Literal, TypeAlias

from dshcore import eager
from dshcore.context import Context, Disposer, ServiceKey
from dshcore.host import is_contained
from dshcore.json import Json, JsonObject, NotJson, freeze
from dshcore.scope import Layers, scope_target
from dshcore.tools.definitions import ToolDefinition, check_definition
from dshcore.tools.errors import DuplicateTool, InvalidTool
from dshcore.tools.events import TOOLS_CHANGE
from dshcore.tools.executions import ToolCallRequest
from dshcore.tools.pipeline import PendingCall
from dshcore.tools.results import ToolResult
from dshcore.tools.views import CallView, ResultView, generic_call, generic_result
from dshcore.tools.visibility import (
    Guard,
    ToolLayer,
    guards_around,
    known_names,
    listed,
    read_restriction,
    resolve,
)

Mode: TypeAlias = Literal["parallel", "exclusive"]
"""Whether a call may overlap others of the same answer."""


class ToolRegistry:
    """The tools of an application, in layers: one that everybody sees, and one for every scope with tools of its own.

    Args:
        ctx: Where its events are dispatched.

    Every registration, restriction and guard belongs to the layer of its owner's scope, answers a disposer, and ends
    with its owner.

    Spec:
        TOOL-SCOPE-01, TOOL-SCOPE-02, TOOL-DISPOSE-01, TOOL-DISPOSE-02, TOOL-DISPOSE-03
    """

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx
        self._layers = Layers(ToolLayer, self._announce)
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

        def file(layer: ToolLayer) -> Callable[[], None]:
            if definition.name in layer.tools:
                raise DuplicateTool(definition.name, scoped=owner.scope is not None)
            take_out = layer.tools.insert(definition.name, definition)

            def withdraw() -> None:
                take_out()
                self._schemas.pop(id(definition), None)

            return withdraw

        return self._layers.register(owner, file, label=f"tool {definition.name}")

    def restrict(
        self, owner: Context, *, allow: Collection[str] | None = None, deny: Collection[str] | None = None
    ) -> Disposer:
        """Narrow what the owner's scope, and every scope nested in it, inherits, until the owner ends.

        Restrictions intersect. They go by name, whatever is registered under it later, and hide nothing that the scope
        itself registers.

        Args:
            owner: Whose scope it is.
            allow: Nothing inherited but these.
            deny: None of these.

        Returns:
            Lifts it earlier, and no other one.

        Raises:
            InvalidRestriction: The owner has no scope, neither list is given, or a name is reserved or not inherited.
            InactiveContext: The owner is inactive.
            Exception: What a listener of `tools/change` raised; nothing is restricted then.

        Spec:
            RESTRICT-SET-01, RESTRICT-SET-02, TOOL-CHANGE-01, TOOL-CHANGE-03
        """
        restriction = read_restriction(self._layers, owner.scope, allow, deny)
        return self._layers.register(
            owner, lambda layer: layer.restrictions.append(restriction), label="restriction of tools"
        )

    def guard(self, owner: Context, guard: Guard) -> Disposer:
        """Have a function asked about every call, or about those of the owner's scope, until the owner ends.

        It is asked when policy has allowed a call, and nobody can undo its denial.

        Args:
            owner: Whose guard it is.
            guard: Answers why a call may not go on, or nothing. Given twice it counts twice.

        Returns:
            Lifts it earlier.

        Raises:
            InvalidTool: It is no function.
            InactiveContext: The owner is inactive.

        Spec:
            PIPE-GUARD-01, PIPE-GUARD-04, TOOL-CHANGE-01
        """
        if not callable(guard):
            raise InvalidTool(f"a guard is a function of an execution, not {guard!r}")
        return self._layers.register(
            owner, lambda layer: layer.guards.append(guard), label="guard of tools", notify=False
        )

    def get(self, name: str, scope: object | None = None) -> ToolDefinition | None:
        """Answer the definition that a scope resolves a name to, if any.

        Spec:
            TOOL-DEF-01, TOOL-SCOPE-01, TOOL-SCOPE-02, TOOL-SCOPE-03, RESTRICT-SET-05, TRACE-READ-01
        """
        return resolve(self._layers, name, scope)

    def present_call(self, name: str, arguments: Json, scope: object | None = None) -> CallView:
        """Show a call to people: as the tool that the scope resolves does, else generically.

        Args:
            name: The tool.
            arguments: Those of the call.
            scope: For whom.

        Returns:
            The view; none where there is none.

        Spec:
            PRESENT-CALL-01, PRESENT-CALL-03
        """
        definition = self.get(name, scope)
        present = None if definition is None else definition.present_call
        view = None if present is None else present(arguments)
        return generic_call(name, arguments) if view is None else view

    def present_result(
        self, name: str, arguments: Json, logged: Mapping[str, Json], scope: object | None = None
    ) -> ResultView:
        """Show a logged result to people: as the tool that the scope resolves does, else generically.

        Args:
            name: The tool.
            arguments: Those of the call.
            logged: The result as `logged_result` reads it.
            scope: Who looks.

        Returns:
            The view; none where there is none.

        Spec:
            PRESENT-CALL-01, PRESENT-CALL-03
        """
        definition = self.get(name, scope)
        present = None if definition is None else definition.present_result
        view = None if present is None else present(arguments, logged)
        return generic_result(name, logged) if view is None else view

    def guards(self, scope: object | None = None) -> Iterator[Guard]:
        """Walk the guards of calls for a scope, live.

        Args:
            scope: For whom.

        Returns:
            The global ones, then those of its chain from the farthest scope inwards.
        """
        return guards_around(self._layers, scope)

    def known_names(self, scope: object | None = None) -> AbstractSet[str]:
        """Answer the names of all tools that a scope inherits or has, those included that it does not see.

        Spec:
            TOOL-LIST-04
        """
        return known_names(self._layers, scope)

    def schemas(self, scope: object | None = None) -> tuple[JsonObject, ...]:
        """Answer what a model is told of the tools that a scope sees: ``{name, description, parameters}`` of each.

        Raises:
            InvalidTool: The parameters of a tool are no lossless JSON.

        Spec:
            TOOL-LIST-01, TOOL-LIST-02, TOOL-LIST-03
        """
        return tuple(self._schema_of(tool) for tool in listed(self._layers, scope))

    def mode(self, call: ToolCallRequest, scope: object | None = None) -> Mode:
        """Answer whether a call may overlap others; computed anew each time.

        Args:
            scope: For whom.
            call: What is to be executed.

        Spec:
            MODE-CLASS-01, MODE-CLASS-03, MODE-CLASS-04
        """
        definition = self.get(call.name, scope)  # as the scope sees it now: MODE-CLASS-03
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
        """Begin a call whose parts are passed one by one, as `execute` does in a row (PIPE-ORDER-08).

        Args:
            call: What to execute.
            scope: For whom.

        Returns:
            The call, nothing of which has run.
        """
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
