"""Embed the reference: an application of a model that follows a script, one tool, and one agent.

Needs nothing but the package; prints the log of the session and what the model said at the end.
"""

import asyncio
from collections.abc import AsyncIterator

from dshcore.agent import AGENTS, AgentOptions, CreateAgentOptions
from dshcore.json import JsonObject, freeze
from dshcore.llm import LLM, GenerateOptions, user_message
from dshcore.spine import compose
from dshcore.tools import TOOLS, ToolRun, define_tool


class ScriptedModel:
    """Answers a text with a call of the tool, and what the tool said with a text. Yours asks a provider here."""

    async def stream(self, request: GenerateOptions) -> AsyncIterator[JsonObject]:
        """Answer one request, chunk by chunk. One that waits for something has to heed `request.signal`."""
        last = request.messages[-1]["content"][0]
        block = {"type": "tool-call", "id": "c1", "name": "greet", "arguments": '{"who": "Ann"}'}
        if last["type"] == "tool-result":
            block = {"type": "text", "text": f"The tool says: {last['content'][0]['text']}"}
        yield freeze({"type": "block-end", "index": 0, "block": block})
        yield freeze({"type": "finish", "reason": {"kind": "stop" if block["type"] == "text" else "tool-calls"}})


@define_tool
async def greet(who: str, run: ToolRun) -> str:
    """Greets somebody."""  # what the model is told; its arguments have been validated
    return f"hello {who} ({run.call_id})"


async def main() -> None:
    """Compose the application, let an agent do one turn, and take it all down again."""
    root = compose()
    root[LLM].register(root, ["scripted"], ScriptedModel())
    root[TOOLS].register(root, greet)
    options = CreateAgentOptions(session_id="demo", agent_options=AgentOptions(provider="scripted", model="m1"))
    handle = await root[AGENTS].create(root, options)
    handle.agent.followup(user_message("Greet Ann."))
    await handle.agent.when_idle()
    for event in handle.agent.session.events:
        print(event["seq"], event["type"])
    ended = handle.agent.session.events[-1]["data"]["reason"]  # a turn that failed raises nothing here: its end says so
    if ended["kind"] == "completed":
        print(handle.agent.session.derive_messages()[-1]["content"][0]["text"])
    else:
        print(f"the turn ended otherwise: {ended}")
    await root.dispose()


if __name__ == "__main__":
    asyncio.run(main())
