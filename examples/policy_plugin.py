"""A policy plugin: it decides which calls of tools may go on, asks where it must, and reviews what comes back.

- Policy (`tools/pre-execute`) has the user asked about tools that change something.
- A guard denies what must never happen, whatever policy or the user say.
- The review (`tools/post-execute`) keeps private things from the model.
- A restriction takes a tool from one agent altogether.

Prints what became of the calls.
"""

import asyncio
from collections.abc import Awaitable, Mapping
from typing import Final

from dshcore.agent import AGENTS, Agent, AgentOptions, CreateAgentOptions
from dshcore.cancel_signal import CancelSignal
from dshcore.context import Context
from dshcore.events import Next
from dshcore.spine import compose
from dshcore.tools import (
    APPROVAL,
    TOOLS,
    TOOLS_POST_EXECUTE,
    TOOLS_PRE_EXECUTE,
    Accept,
    Allow,
    ApprovalOutcome,
    ApprovalRequest,
    Ask,
    PostExecuteDecision,
    PreExecuteDecision,
    ToolCallRequest,
    ToolExecution,
    ToolOutcome,
    define_tool,
)

CHANGING: Final = frozenset({"write"})
PRIVATE: Final = "0451"


@define_tool
async def read(path: str) -> str:
    """Reads a file."""
    return f"{path} says {PRIVATE}"


@define_tool
async def write(path: str, text: str) -> str:
    """Writes a file."""
    return f"wrote {len(text)} characters to {path}"


class Policy:
    """The plugin. What it registers ends with its owner.

    Args:
        owner: Whose decisions these are.
    """

    def __init__(self, owner: Context) -> None:
        self._tools = owner[TOOLS]
        owner.on(TOOLS_PRE_EXECUTE, self.decide)
        owner.on(TOOLS_POST_EXECUTE, self.review)
        self._tools.guard(owner, self.forbid)

    async def decide(
        self, execution: ToolExecution, proceed: Next[Awaitable[PreExecuteDecision]]
    ) -> PreExecuteDecision:
        """Have the user asked about changes that the agent can make and that nobody else denies."""
        decision = await proceed()
        changes = execution.name in CHANGING and self._tools.get(execution.name, execution.scope) is not None
        return Ask(f"{execution.name} changes files") if changes and isinstance(decision, Allow) else decision

    def forbid(self, execution: ToolExecution) -> str | None:
        """Deny what leaves the workspace."""
        arguments = execution.arguments
        path = arguments.get("path") if isinstance(arguments, Mapping) else None
        return "stay inside of the workspace" if isinstance(path, str) and path.startswith("/") else None

    async def review(self, outcome: ToolOutcome, proceed: Next[Awaitable[PostExecuteDecision]]) -> PostExecuteDecision:
        """Replace the value of a result that has the private part in it; it is validated and rendered anew."""
        result = outcome.result
        if not result.is_error and isinstance(result.value, str) and PRIVATE in result.value:
            return Accept(value=result.value.replace(PRIVATE, "***"))
        return await proceed()


class ScriptedUser:
    """Grants the first request and rejects all others. Yours shows a dialogue here."""

    def __init__(self) -> None:
        self._requests = 0

    async def request(self, request: ApprovalRequest, /) -> ApprovalOutcome:
        """Decide."""
        self._requests += 1
        print(f"{request.agent.id} asks: {request.reason}")
        return "allowed-once" if self._requests == 1 else "rejected"


async def main() -> None:
    """Let two agents call tools; one of them may only read."""
    root = compose()
    root[TOOLS].register(root, read)
    root[TOOLS].register(root, write)
    Policy(root)
    root.provide(APPROVAL, ScriptedUser())
    writer, reader = await agent(root, "writer"), await agent(root, "reader")
    root[TOOLS].restrict(reader.ctx, deny=["write"])
    await call(root, writer, "read", {"path": "notes"})
    await call(root, writer, "write", {"path": "notes", "text": "hello"})
    await call(root, writer, "write", {"path": "notes", "text": "again"})
    await call(root, writer, "read", {"path": "/etc/passwd"})
    await call(root, reader, "write", {"path": "notes", "text": "me too"})
    await root.dispose()


async def agent(root: Context, name: str) -> Agent:
    """Create an agent; what the model is does not matter here."""
    options = CreateAgentOptions(session_id=name, agent_options=AgentOptions(provider="none", model="none"))
    return (await root[AGENTS].create(root, options)).agent


async def call(root: Context, caller: Agent, name: str, arguments: Mapping[str, str]) -> None:
    """Call a tool for an agent, and print the result as the model sees it."""
    request = ToolCallRequest(call_id="c", name=name, arguments=arguments, signal=CancelSignal())
    result = await root[TOOLS].execute(request, caller)
    print(f"{caller.id} {name}: {result.content[0]['text']}")


if __name__ == "__main__":
    asyncio.run(main())
