"""The default composition: every part wired into an application that can run agents."""

from collections.abc import Set as AbstractSet
from typing import Final

from dshcore.agent import AGENTS, AgentRegistry
from dshcore.agent_loop import AGENT_LOOP, AgentLoop
from dshcore.context import Context
from dshcore.errors import DshError
from dshcore.llm import LLM, LlmRuntime
from dshcore.session import SESSIONS, SessionStore

PARTS: Final = ("sessions", "llm", "agents", "loop")
"""What a composition is made of; each stands on those before it."""


class UnknownPart(DshError):
    """A composition was asked to leave out what it does not have."""

    default_code = "UNKNOWN_PART"


def compose(*, max_parallel_tool_calls: int = 10, without: AbstractSet[str] = frozenset()) -> Context:
    """Compose an application.

    Args:
        max_parallel_tool_calls: How many tool calls of one answer may run at once.
        without: Parts to leave out, of `PARTS`. The loop needs all others, and is left out with any of them.

    Returns:
        The root context, with every part as a service. `await root.dispose()` ends it: agents are torn down first.

    Raises:
        UnknownPart: `without` names something else.
    """
    if unknown := sorted(without - set(PARTS)):
        raise UnknownPart(f"no part {unknown[0]!r} to leave out: there are {', '.join(PARTS)}")
    root = Context()
    if "sessions" not in without:
        root.provide(SESSIONS, SessionStore())
    if "llm" not in without:
        root.provide(LLM, LlmRuntime(root))
    if "agents" not in without:
        root.provide(AGENTS, AgentRegistry())
    if not without:
        mount_loop(root, max_parallel_tool_calls=max_parallel_tool_calls)
    return root


def mount_loop(root: Context, *, max_parallel_tool_calls: int = 10) -> Context:
    """Mount the agent loop: it makes the agents of the application from now on.

    Args:
        root: An application with sessions, model seam and registry.
        max_parallel_tool_calls: How many tool calls of one answer may run at once.

    Returns:
        The loop's own context, whose end tears down every agent that the loop made.

    Raises:
        ServiceMissing: A part that the loop needs is not there.
        AgentError: A loop is mounted already.
        LoopMisconfigured: The cap is no positive integer.
    """
    own = root.derive(scope=None, name="agent-loop")
    loop = AgentLoop(
        own, root, root[SESSIONS], root[AGENTS], root[LLM], max_parallel_tool_calls=max_parallel_tool_calls
    )
    root[AGENTS].set_factory(own, loop)
    own.provide(AGENT_LOOP, loop)
    return own
