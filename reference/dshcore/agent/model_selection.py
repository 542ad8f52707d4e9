"""Which model an agent uses, where that is chosen while it lives: by a person in a menu, by a command.

A choice counts for whole steps. It is read once, when the prompt of a step is assembled, and what was read then decides
both what the prompt says about the model and where the request goes.
"""

from collections.abc import Awaitable

import msgspec
from msgspec import UNSET, UnsetType

from dshcore.agent.events import AGENT_REQUEST, AgentRequest
from dshcore.agent.handle import Agent
from dshcore.context import Disposer
from dshcore.events import Next
from dshcore.ids import ReasoningEffortId
from dshcore.llm import CallConfig
from dshcore.system_prompt import SYSTEM_PROMPT_ASSEMBLE, Assembly, PromptAssembling


class SelectedModel(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A model, and how hard it shall think.

    Attributes:
        provider: The route.
        model: The model's id.
        reasoning_effort: One of its adapter's efforts; without it the model's own default applies.
    """

    provider: str
    model: str
    reasoning_effort: ReasoningEffortId | UnsetType = UNSET


class ModelSelection:
    """The choice of a model for one agent. It has an effect once it is installed.

    Attributes:
        current: What is selected for the steps that begin from now on; none leaves requests as they are proposed.
    """

    def __init__(self, current: SelectedModel | None = None) -> None:
        self.current = current
        self._held: SelectedModel | None = None  # what the open step was assembled with

    def install(self, agent: Agent) -> Disposer:
        """Let it decide the model of an agent's steps until the agent ends.

        Returns:
            Takes it out earlier; from then on requests stay as they are proposed, which is on the last logged route.

        Raises:
            InactiveContext: The agent has ended.

        Spec:
            MODEL-SEL-01, MODEL-SEL-02, MODEL-SEL-03
        """

        async def on_assembling(event: PromptAssembling, next_: Next[Awaitable[Assembly]]) -> Assembly:
            selected = self.current  # MODEL-SEL-01: read as assembly starts, whatever is selected while it goes on
            assembly = await next_()
            if event.scope is not agent:
                return assembly
            if event.agent is agent:  # others may have a look at the prompt in between
                self._held = selected
            if selected is not None:
                assembly.variables.update(provider=selected.provider, model=selected.model)
            return assembly

        async def on_request(event: AgentRequest, next_: Next[Awaitable[CallConfig]]) -> CallConfig:
            config = await next_()
            held = self._held
            if held is None or event.agent is not agent:  # MODEL-SEL-03
                return config
            return msgspec.structs.replace(  # MODEL-SEL-02: an inherited effort goes where none is selected
                config, provider=held.provider, model=held.model, reasoning_effort=held.reasoning_effort
            )

        stop_assembling = agent.ctx.on(SYSTEM_PROMPT_ASSEMBLE, on_assembling)
        stop_requests = agent.ctx.on(AGENT_REQUEST, on_request)

        def uninstall() -> None:
            stop_assembling()
            stop_requests()

        return agent.ctx.effect(uninstall, label="model selection")
