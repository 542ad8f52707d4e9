"""Contributions to prompts: what type-checks, and what must not."""

from typing import Any

from dshcore.agent import Agent
from dshcore.context import Context
from dshcore.events import Next
from dshcore.system_prompt import (
    SYSTEM_PROMPT,
    SYSTEM_PROMPT_ASSEMBLE,
    SYSTEM_PROMPT_CHANGE,
    AssembleContext,
    Assembly,
    PromptAssembling,
    PromptOptions,
    PromptText,
    SystemPrompt,
    ToolOffer,
    render_system,
)

ctx = Context()
prompts: SystemPrompt = ctx[SYSTEM_PROMPT]


def cwd(context: AssembleContext) -> str | None:
    return context.agent.session.header.get("cwd") if isinstance(context.agent, Agent) else None


def offer(_: AssembleContext) -> ToolOffer:
    return ToolOffer([{"name": "t", "description": "", "parameters": {}}], frozenset({"t", "u"}))


async def late(_: AssembleContext) -> str:
    return "x"


def contribute(owner: Context) -> None:
    prompts.section(owner, "guide", 100, "Use {{tool}}.")
    prompts.section(owner, "guide", 0.5, lambda context: repr(context.scope), complete=True)
    prompts.context(owner, "place", 0, "in {{cwd}}")
    prompts.variable(owner, "cwd", cwd)
    prompts.variable(owner, "tool", lambda _: "t")
    prompts.tools(owner, offer)
    prompts.suppress_contexts(owner)()

    prompts.section("owner", "guide", 100, "x")  # error: arg-type
    prompts.section(owner, "guide", "100", "x")  # error: arg-type
    prompts.section(owner, "guide", 100, None)  # error: arg-type
    prompts.section(owner, "guide", 100, cwd)  # error: arg-type
    prompts.section(owner, "guide", 100, late)  # error: arg-type
    prompts.section(owner, "guide", 100)  # error: call-arg
    prompts.context(owner, "place", 0, "x", complete=True)  # error: call-arg
    prompts.variable(owner, "tool", "t")  # error: arg-type
    prompts.tools(owner, [{"name": "t"}])  # error: arg-type
    prompts.tools(owner, lambda _: {"schemas": []})  # error: arg-type, return-value


async def assemble() -> None:
    assembly = await prompts.assemble(AssembleContext(scope=object()))
    text: str = render_system(assembly)
    value: str | None = assembly.variables["cwd"]
    assembly.sections = [PromptText("all", text), *assembly.sections]
    assembly.sections[0].text = "other"  # error: misc
    sure: str = assembly.variables["cwd"]  # error: assignment
    render_system(prompts.assemble())  # error: arg-type
    AssembleContext(object())  # error: call-arg
    PromptOptions(persona=None)  # error: arg-type
    PromptOptions("persona")  # error: arg-type, call-arg
    del value, sure


async def shape(hook: PromptAssembling, proceed: Next[Any]) -> Assembly:
    hook.assembly.variables["model"] = "chosen"
    assembled: Assembly = await proceed()
    return assembled


async def forgets(_: PromptAssembling, proceed: Next[Any]) -> None:
    await proceed()


ctx.on(SYSTEM_PROMPT_ASSEMBLE, shape)
ctx.on(SYSTEM_PROMPT_CHANGE, lambda _: None)
ctx.on(SYSTEM_PROMPT_ASSEMBLE, forgets)  # error: arg-type
ctx.on(SYSTEM_PROMPT_CHANGE, shape)  # error: arg-type, misc
