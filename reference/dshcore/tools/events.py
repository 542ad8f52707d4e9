"""The live events of tools: their keys, payloads and answers."""

from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from msgspec import UNSET, UnsetType

from dshcore.agent import Agent
from dshcore.events import Emit, Waterfall
from dshcore.json import Json
from dshcore.tools.executions import ToolExecution
from dshcore.tools.results import Content, ToolResult


@dataclass(frozen=True, slots=True)
class Allow:
    """Let the call go on."""


@dataclass(frozen=True, slots=True)
class Deny:
    """Do not let the call go on; the model is told the reason."""

    reason: str


@dataclass(frozen=True, slots=True)
class Ask:
    """Let somebody approve the call first.

    Attributes:
        reason: Why somebody is asked.
    """

    reason: str | None = None


PreExecuteDecision: TypeAlias = Allow | Deny | Ask
"""What policy decides about a call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Accept:
    """Let the result stand, with another content or another value where one is given.

    Attributes:
        content: Replaces the content alone.
        value: Replaces the value of a success, which is rendered anew.
        additional_contexts: Messages to go with the result.
    """

    content: Content | UnsetType = UNSET
    value: object = UNSET
    additional_contexts: Sequence[Mapping[str, Json]] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Withhold the result: the model sees the feedback instead, as a failure.

    Attributes:
        additional_contexts: Messages for the agent's next step.
    """

    feedback: Content
    additional_contexts: Sequence[Mapping[str, Json]] = ()


PostExecuteDecision: TypeAlias = Accept | Block
"""What policy decides about a result."""


@dataclass(frozen=True)  # with slots, assigning to what is no field would fail over the dataclass's own machinery
class ToolOutcome:
    """A call and what it came to.

    Attributes:
        execution: The call.
        result: What it came to.
    """

    execution: ToolExecution
    result: ToolResult

    @property
    def agent(self) -> Agent | None:
        """The agent that the call was made for, if it is one."""
        return self.execution.agent


_REPORT: Final = 'tool "{payload.execution.name}" ({payload.execution.call_id}): {name}'

TOOLS_CHANGE: Final = Emit[None]("tools/change", scoped=False)  # TOOL-CHANGE-02: whose change it is does not matter
"""What tools there are has changed; a listener that raises undoes a registration."""

# Listeners of these nest and may keep the inner ones out, and who listens is fixed when a dispatch starts
# (PIPE-ORDER-05, PIPE-ORDER-07); they hear of the calls of their own scope, or of all (PIPE-ORDER-06).
TOOLS_PRE_EXECUTE: Final = Waterfall[ToolExecution, Awaitable[PreExecuteDecision]]("tools/pre-execute")
"""Policy: whether a call may go on, may not, or somebody is asked. `next()` allows it.

Spec:
    PIPE-PRE-01, PIPE-PRE-04, PIPE-ORDER-01
"""

TOOLS_EXECUTE: Final = Waterfall[ToolExecution, Awaitable[ToolResult]]("tools/execute")
"""Around the body: `next()` runs it and always answers a result. A listener may answer its own, or call again.

Spec:
    PIPE-AROUND-01, PIPE-AROUND-02, PIPE-AROUND-03
"""

TOOLS_POST_EXECUTE: Final = Waterfall[ToolOutcome, Awaitable[PostExecuteDecision]]("tools/post-execute")
"""Policy on the result: accept it, in other words perhaps, or block it. `next()` accepts.

Spec:
    PIPE-POST-01, PIPE-POST-02, PIPE-POST-03, PIPE-POST-04
"""

TOOLS_RESULT: Final = Emit[ToolOutcome]("tools/result", contained=True, report=_REPORT)
"""A call has its final result, which nobody changes any more.

Spec:
    PIPE-RESULT-01
"""
