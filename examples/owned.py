"""Two agents, of which one owns the other: a tool of the first has the second do a part of the work.

Needs nothing but the package; prints who exists, who has caused what, and in which order they leave.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping

from dshcore.agent import AGENT_DISPOSED, AGENTS, Agent, AgentOptions, CreateAgentOptions
from dshcore.context import Context
from dshcore.json import Json, JsonObject, freeze
from dshcore.llm import LLM, GenerateOptions, user_message
from dshcore.spine import compose
from dshcore.tools import TOOLS, ToolDefinition, ToolOutput, ToolRun, define_tool


class ScriptedModel:
    """Delegates what it is asked; the helper answers. Yours asks a provider here."""

    async def stream(self, request: GenerateOptions) -> AsyncIterator[JsonObject]:
        """Answer one request, chunk by chunk."""
        last = request.messages[-1]["content"][0]
        if last["type"] == "tool-result":
            block = {"type": "text", "text": f"My helper says: {last['content'][0]['text']}"}
        elif request.session_id == "helper":
            block = {"type": "text", "text": "42"}
        else:
            block = {"type": "tool-call", "id": "c1", "name": "delegate", "arguments": '{"task": "Compute it."}'}
        yield freeze({"type": "block-end", "index": 0, "block": block})
        yield freeze({"type": "finish", "reason": {"kind": "stop" if block["type"] == "text" else "tool-calls"}})


OPTIONS = AgentOptions(provider="scripted", model="m1")


def delegation(root: Context) -> ToolDefinition:
    """Make the tool. Which agent calls it, it reads from the initiator; the helper is made through that one's scope."""
    agents = root[AGENTS]

    async def delegate(arguments: Json, run: ToolRun) -> str:
        assert isinstance(arguments, Mapping)
        caller = agents.initiators.require()
        meta = {"parentSession": caller.id, "origin": "subagent", "delegationDepth": 1}
        helper = (
            agents.get("helper")
            or (
                await agents.create(
                    caller.ctx,
                    CreateAgentOptions(session_id="helper", meta=meta, agent_options=OPTIONS, signal=run.signal),
                )
            ).agent
        )
        print(f"{caller.id} delegates to {helper.id}, which it owns: {agents.is_owned_by(helper.id, caller)}")
        helper.followup(user_message(str(arguments["task"])))
        # who waits for another agent hands its own cancellation on: an owner's end waits for this tool, and only then
        # comes to what it owns
        forget = run.signal.on_abort(lambda: helper.cancel({"kind": "parent"}))
        try:
            await helper.when_idle()
        finally:
            forget()
        return said(helper)

    return ToolDefinition(
        name="delegate",
        description="Has a helper do a task.",
        parameters={"task": {"type": "string", "required": True}},
        output=ToolOutput(schema={"type": "string"}, render=lambda _, text: [{"type": "text", "text": text}]),
        execute=delegate,
    )


def said(agent: Agent) -> str:
    """Answer what an agent said last."""
    text = agent.session.derive_messages()[-1]["content"][0]["text"]
    assert isinstance(text, str)
    return text


async def main() -> None:
    """Let one agent delegate a task; then dispose of it, and the helper goes first."""
    root = compose()
    root[LLM].register(root, ["scripted"], ScriptedModel())
    root[TOOLS].register(root, define_tool(delegation(root)))
    root.on(AGENT_DISPOSED, lambda gone: print(f"{gone.agent.id} has left"))
    handle = await root[AGENTS].create(root, CreateAgentOptions(session_id="chief", agent_options=OPTIONS))
    handle.agent.followup(user_message("What is the answer?"))
    await handle.agent.when_idle()
    print(said(handle.agent))
    print("alive:", *(agent.id for agent in root[AGENTS].list()))
    print("roots:", *(agent.id for agent in root[AGENTS].roots()))
    await handle.dispose()
    await root.dispose()


if __name__ == "__main__":
    asyncio.run(main())
