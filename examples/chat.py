"""Chat in a terminal, with a model that follows a script: the blocking surface, from a plain script.

Needs nothing but the package. Say something and press return; an empty line, the end of input or Ctrl-C ends the chat.
"""

import sys
from collections.abc import AsyncIterator

from dshcore.agent import AgentOptions, CreateAgentOptions
from dshcore.blocking import Application
from dshcore.context import Context
from dshcore.json import JsonObject, freeze
from dshcore.llm import LLM, GenerateOptions, user_message
from dshcore.session import SESSION_EVENT, SessionPublished


class ScriptedModel:
    """Repeats what it is told, word by word, and counts. Yours asks a provider here."""

    async def stream(self, request: GenerateOptions) -> AsyncIterator[JsonObject]:
        """Answer one request, chunk by chunk. One that waits for something has to heed `request.signal`."""
        said = [message for message in request.messages if message["role"] == "user"]
        answer = f"You said {said[-1]['content'][0]['text']!r}; that makes {len(said)}."
        yield freeze({"type": "block-start", "index": 0, "blockType": "text"})
        for word in answer.split(" "):
            yield freeze({"type": "text-delta", "index": 0, "text": f" {word}"})
        yield freeze({"type": "block-end", "index": 0, "block": {"type": "text", "text": answer}})
        yield freeze({"type": "finish", "reason": {"kind": "stop"}})


def install(root: Context) -> None:
    """Register the model, and print what it says while it says it. Runs in the application's thread."""
    root[LLM].register(root, ["scripted"], ScriptedModel())

    def show(published: SessionPublished) -> None:
        event = published.event
        if event["type"] == "assistant/chunk" and event["data"]["chunk"]["type"] == "text-delta":
            print(event["data"]["chunk"]["text"], end="", flush=True)
        elif event["type"] == "turn/end":
            reason = event["data"]["reason"]
            print("" if reason["kind"] == "completed" else f" the turn ended otherwise: {reason}")

    root.on(SESSION_EVENT, show)


def main() -> None:
    """Send line after line to one agent, and wait for each answer."""
    options = CreateAgentOptions(session_id="chat", agent_options=AgentOptions(provider="scripted", model="m1"))
    with Application() as app:
        app.call(install)
        agent = app.create(options).agent
        print("you> ", end="", flush=True)
        for line in sys.stdin:
            if not line.strip():
                break
            print("model>", end="", flush=True)
            agent.followup(user_message(line.strip()))
            agent.when_idle()
            print("you> ", end="", flush=True)
        print(f"\n{len(agent.events)} events logged")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:  # the application is closed by now
        print()
