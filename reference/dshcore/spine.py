"""The default composition: every part wired into an application that can run agents."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from types import MappingProxyType
from typing import Final, TypedDict, cast

from dshcore.agent import AGENT, AGENTS, AgentRegistry
from dshcore.agent_loop import (
    AGENT_LOOP,
    AgentLoop,
    ConfiguredAgent,
    ConfiguredAgents,
    FixedIdentity,
    settle_identities,
)
from dshcore.context import Context, require_loop
from dshcore.errors import DshError
from dshcore.llm import LLM, LlmRuntime
from dshcore.session import SESSIONS, SessionStore, enforce_invariants
from dshcore.settings import SETTINGS, MemorySettings
from dshcore.system_prompt import SYSTEM_PROMPT, AssembleContext, PromptOptions, SystemPrompt, ToolOffer
from dshcore.tools import TOOLS, ToolRegistry

PARTS: Final = ("sessions", "llm", "prompt", "tools", "agents", "loop")
"""What a composition is made of."""


class UnknownPart(DshError):
    """A composition was asked to leave out what it does not have."""

    default_code = "UNKNOWN_PART"


class Composition(TypedDict, total=False):
    """What `compose` takes, for who hands it on.

    Attributes:
        max_parallel_tool_calls: How many tool calls of one answer may run at once.
        prompt: What the deployment says about its prompts.
        enforce: Whether an event that would break a relation of its log is refused.
        without: Parts to leave out.
        agents: The agents that start with the loop.
        identities: What a launcher says of their identities, by label.
    """

    max_parallel_tool_calls: int
    prompt: PromptOptions | None
    enforce: bool
    without: AbstractSet[str]
    agents: Sequence[ConfiguredAgent]
    identities: Mapping[str, FixedIdentity]


def compose(
    *,
    max_parallel_tool_calls: int = 10,
    prompt: PromptOptions | None = None,
    enforce: bool = False,
    without: AbstractSet[str] = frozenset(),
    agents: Sequence[ConfiguredAgent] = (),
    identities: Mapping[str, FixedIdentity] = MappingProxyType({}),
) -> Context:
    """Compose an application. Each part has an owner of its own, and has to be required by who reads it.

    Args:
        max_parallel_tool_calls: How many tool calls of one answer may run at once.
        prompt: What the deployment says about its prompts.
        enforce: Whether an event that would break a relation of its log is refused (INV-MODE-01).
        without: Parts to leave out, of `PARTS`. The loop needs all others, and is left out with any of them.
        agents: The agents that start with the loop; an event loop has to run for them.
        identities: What a launcher says of their identities, by label.

    Returns:
        The root context, with every part as a service. `await root.dispose()` ends it and waits for all: the teardown
        of the loop and its agents begins first, and the other parts do not wait for that (FIBER-DISP-03).

    Raises:
        UnknownPart: `without` names something else, or what the configured agents need.
        NoEventLoop: There are configured agents, and no event loop runs.
        InvalidToolOrder: The configured order of tools is none.
        LoopMisconfigured: The cap is no positive integer, or two configured agents claim one identity.
        Exception: A configured agent could not be created.
    """
    if isinstance(cast("object", without), str):
        raise UnknownPart(f"without is a set of parts, not a text: write {{{without!r}}}")
    if unknown := sorted(without - set(PARTS)):
        raise UnknownPart(f"no part {unknown[0]!r} to leave out: there are {', '.join(PARTS)}")
    if agents:
        if without:
            left_out = ", ".join(sorted(without))
            raise UnknownPart(f"configured agents need every part: configure none, or keep {left_out}")
        require_loop()
    root = Context()
    if "sessions" not in without:
        mount_sessions(root, enforce=enforce)
    if "llm" not in without:
        mount_llm(root)
    if "prompt" not in without:
        mount_prompt(root, prompt)
    if "tools" not in without:
        mount_tools(root)
    if not without & {"prompt", "tools"}:
        offer_tools(root)
    if "agents" not in without:
        mount_agents(root)
    if not without:
        mount_loop(root, max_parallel_tool_calls=max_parallel_tool_calls, agents=agents, identities=identities)
    return root


# Each part is mounted by a function of its own, which answers the part's context: `await own.dispose()` takes it away.


def mount_sessions(root: Context, *, enforce: bool = False) -> Context:
    """Mount the store of sessions; see `compose`.

    Args:
        root: The application.
        enforce: Whether an event that would break a relation of its log is refused.

    Returns:
        The part's context.
    """
    own = root.open(name="sessions")
    own.provide(SESSIONS, store := SessionStore())
    if enforce:
        enforce_invariants(own, store)
    return own


def mount_llm(root: Context) -> Context:
    """Mount the runtime of models.

    Args:
        root: The application.

    Returns:
        The part's context.
    """
    own = root.open(name="llm")
    own.provide(LLM, LlmRuntime(own))
    return own


def mount_prompt(root: Context, prompt: PromptOptions | None = None) -> Context:
    """Mount the assembly of prompts; see `compose`.

    Args:
        root: The application.
        prompt: What the deployment says about its prompts.

    Returns:
        The part's context.
    """
    own = root.open(name="systemPrompt")
    own.provide(SYSTEM_PROMPT, SystemPrompt(own, prompt))
    return own


def mount_settings(root: Context) -> Context:
    """Mount settings that are kept in memory. They are no part of a composition: a host has its own, or these.

    Args:
        root: The application.

    Returns:
        The part's context.
    """
    own = root.open(name="settings")
    own.provide(SETTINGS, MemorySettings(own))
    return own


def mount_tools(root: Context) -> Context:
    """Mount the registry of tools.

    Args:
        root: The application.

    Returns:
        The part's context.
    """
    own = root.open(name="tools")
    own.provide(TOOLS, ToolRegistry(own))
    return own


def mount_agents(root: Context) -> Context:
    """Mount the registry of agents.

    Args:
        root: The application.

    Returns:
        The part's context.
    """
    own = root.open(name="agents")
    own.provide(AGENTS, AgentRegistry(own))
    own.accessor(AGENT, lambda _: None)  # CTX-ACC-01: a context that belongs to none says so
    return own


def offer_tools(root: Context) -> None:
    """Let the tools of an application be part of its prompts (TOOL-LIST-04).

    Args:
        root: The application.
    """
    tools = root[TOOLS]

    def offer(context: AssembleContext) -> ToolOffer:
        return ToolOffer(tools.schemas(context.scope), tools.known_names(context.scope))

    root[SYSTEM_PROMPT].tools(root, offer)


def mount_loop(
    root: Context,
    *,
    max_parallel_tool_calls: int = 10,
    agents: Sequence[ConfiguredAgent] = (),
    identities: Mapping[str, FixedIdentity] = MappingProxyType({}),
) -> Context:
    """Mount the agent loop: it makes the agents of the application from now on.

    Args:
        root: An application with all other parts.
        max_parallel_tool_calls: How many tool calls of one answer may run at once.
        agents: The agents that start with the loop, and belong to it.
        identities: What a launcher says of their identities, by label.

    Returns:
        The loop's own context, whose end tears down every agent that the loop made.

    Raises:
        ServiceMissing: A part that the loop needs is not there.
        AgentError: A loop is mounted already.
        LoopMisconfigured: The cap is no positive integer, or two agents claim one identity; none has started.
        Exception: An agent could not be created. The loop ends again, and with it those before.

    Spec:
        CONF-ID-04, CONF-START-02
    """
    entries = settle_identities(agents, identities)
    own = root.open(name="agent-loop", requires=(SESSIONS, AGENTS, LLM, SYSTEM_PROMPT, TOOLS))
    try:
        loop = AgentLoop(  # uses what it was given, whoever calls it: TRACE-DEPS-01
            own,
            sessions=own[SESSIONS],
            agents=own[AGENTS],
            llm=own[LLM],
            prompts=own[SYSTEM_PROMPT],
            tools=own[TOOLS],
            max_parallel_tool_calls=max_parallel_tool_calls,
        )
        own.provide(AGENT_LOOP, loop)
        ConfiguredAgents(own, loop, own[SESSIONS], own[AGENTS]).start(entries)
    except BaseException:
        with suppress(RuntimeError):  # no event loop runs: nothing has started either
            own.dispose()
        raise
    return own
