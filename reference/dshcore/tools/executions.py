"""One call of a tool: what asks for it, what every stage sees of it, and what its body can do besides."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from msgspec import UnsetType

from dshcore.agent import Agent
from dshcore.cancel_signal import CancelSignal
from dshcore.json import Json
from dshcore.tools.errors import FrozenExecution
from dshcore.tools.results import ToolResult, checked_context


class Executes(Protocol):
    """Executes calls: the registry of tools."""

    def execute(self, call: "ToolCallRequest", scope: object | None = None) -> Awaitable[ToolResult]:
        """Call a tool; see `ToolRegistry.execute`.

        Args:
            call: What to execute.
            scope: For whom.

        Returns:
            The result, when it is awaited.
        """
        ...


class ToolToken:
    """Stands for one execution. Compared by identity; nothing can be read from it (PIPE-ID-01)."""

    __slots__ = ("__weakref__",)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallRequest:
    """A call to be executed.

    Attributes:
        call_id: Correlates the call with its result; need not be unique.
        name: The tool.
        arguments: Any JSON.
        signal: Asks for the call to stop.
        root_call_id: The outermost call that this one serves; by default the call itself.
        parent: The execution that makes this call, if one does.
    """

    call_id: str
    name: str
    arguments: object
    signal: CancelSignal
    root_call_id: str | None = None
    parent: ToolToken | None = None


def _never() -> bool:
    return False


class ToolExecution:
    """One call as every stage sees it.

    It cannot be changed, but for the signal, which a listener of `tools/execute` may replace for what it delegates to.

    Args:
        call: What was asked for.
        arguments: Its arguments, as they were when it was asked for.
        scope: For whom it is made: an agent, an enclosing scope, or nobody.
        token: Stands for it; by default a new one.
        may_replace_signal: Tells whether the signal may be replaced now.

    Attributes:
        call_id: As in the request. So are the others.
        arguments: The arguments, immutable; `UNSET` where they were no lossless JSON.
        root_call_id: The outermost call that this one serves.
        token: Stands for this execution, in all its stages and in no other.
        scope: For whom the call is made.
        signal: Asks for the call to stop.
        name: The tool.
        parent: The execution that makes this call, if one does.

    Spec:
        PIPE-ID-01, PIPE-ID-02, PIPE-ID-03
    """

    __slots__ = (
        "__weakref__",
        "_may_replace_signal",
        "arguments",
        "call_id",
        "name",
        "parent",
        "root_call_id",
        "scope",
        "signal",
        "token",
    )

    call_id: str
    name: str
    arguments: Json | UnsetType
    root_call_id: str
    parent: ToolToken | None
    token: ToolToken
    scope: object | None
    signal: CancelSignal
    _may_replace_signal: Callable[[], bool]

    def __init__(
        self,
        call: ToolCallRequest,
        arguments: Json | UnsetType,
        scope: object | None,
        *,
        token: ToolToken | None = None,
        may_replace_signal: Callable[[], bool] = _never,
    ) -> None:
        members: dict[str, object] = {
            "call_id": call.call_id,
            "name": call.name,
            "arguments": arguments,
            "root_call_id": call.call_id if call.root_call_id is None else call.root_call_id,
            "parent": call.parent,
            "token": ToolToken() if token is None else token,
            "scope": scope,
            "signal": call.signal,
            "_may_replace_signal": may_replace_signal,
        }
        for name, member in members.items():
            object.__setattr__(self, name, member)

    def __setattr__(self, name: str, value: object) -> None:
        if name != "signal" or not self._may_replace_signal():
            raise FrozenExecution(
                f"cannot set {name} of a tool execution: only a listener of tools/execute may replace something, "
                "and only the signal"
            )
        if not isinstance(value, CancelSignal):
            raise TypeError(f"the signal of a tool execution is a CancelSignal, not {value!r}: replace it by one")
        object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        raise FrozenExecution(f"cannot delete {name} of a tool execution: nothing of it can be taken away")

    @property
    def agent(self) -> Agent | None:
        """The agent that the call is made for, if it is one."""
        return self.scope if isinstance(self.scope, Agent) else None

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name} {self.call_id}>"


class ToolRun(ToolExecution):
    """One call as its body sees it: the execution, and what the body can do besides returning.

    Args:
        execution: What the stages see.
        call: What was asked for.
        signal: Aborts when the caller's signal does, or that of a listener around the body.
        defer: Takes the contexts.
        conclude: Takes the conclusion.
    """

    __slots__ = ("_conclude", "_defer")

    _defer: Callable[[Mapping[str, Json]], None]
    _conclude: Callable[[], None]

    def __init__(
        self,
        execution: ToolExecution,
        call: ToolCallRequest,
        signal: CancelSignal,
        defer: Callable[[Mapping[str, Json]], None],
        conclude: Callable[[], None],
    ) -> None:
        super().__init__(call, execution.arguments, execution.scope, token=execution.token)
        object.__setattr__(self, "signal", signal)
        object.__setattr__(self, "_defer", defer)
        object.__setattr__(self, "_conclude", conclude)

    def defer_context(self, message: Mapping[str, Json]) -> None:
        """Have a message go with the result, for the agent's next step.

        Args:
            message: An identified user message.

        Raises:
            MalformedMessage: It is none.

        Spec:
            PIPE-CTX-01, PIPE-CTX-02
        """
        self._defer(checked_context(message))

    def conclude_turn(self) -> None:
        """Let the turn end with this call, if it succeeds, as far as the call is concerned.

        Spec:
            PIPE-CONCLUDE-01, PIPE-CONCLUDE-02
        """
        self._conclude()

    def inner_call(self, name: str, arguments: object, *, call_id: str) -> ToolCallRequest:
        """Write a call of another tool that serves this one; the registry executes it, for the scope that it is given.

        It stops when this one is asked to. Nothing is inferred of its scope: `call_inner` executes it for that of this
        call, whose restrictions, guards and policy then hold.

        Args:
            name: The tool.
            arguments: Any JSON.
            call_id: Tells it from the other calls of this body.

        Returns:
            The call, to be executed.

        Spec:
            PIPE-NEST-01
        """
        return ToolCallRequest(
            call_id=call_id,
            name=name,
            arguments=arguments,
            signal=self.signal,
            root_call_id=self.root_call_id,
            parent=self.token,
        )

    def call_inner(self, tools: Executes, name: str, arguments: object, *, call_id: str) -> Awaitable[ToolResult]:
        """Call another tool for this call, in its scope: its restrictions, guards and policy hold.

        Args:
            tools: The registry.
            name: The tool.
            arguments: Any JSON.
            call_id: Tells it from the other calls of this body.

        Returns:
            The result, when it is awaited; a failed call has one as well.

        Spec:
            PIPE-NEST-01, PIPE-ID-02
        """
        return tools.execute(self.inner_call(name, arguments, call_id=call_id), self.scope)
