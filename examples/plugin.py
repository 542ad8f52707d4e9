"""A plugin with an event of its own: it logs what the user keeps, and reads it back with a type.

The log takes events of any type; whoever does not know one leaves it alone. Registering a variant gives it a reading.
Needs nothing but the package; prints the readings of the log, with the plugin and without it.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator

import msgspec

from dshcore.agent import AGENT_INBOX_CLAIMED, AGENTS, AgentInboxClaimed, AgentOptions, CreateAgentOptions
from dshcore.context import Context, Plugin, Undo
from dshcore.json import JsonObject, freeze
from dshcore.llm import LLM, GenerateOptions, user_message
from dshcore.session import SESSION_EVENTS, SessionEvent
from dshcore.session.readings import LoggedEvent
from dshcore.spine import compose
from dshcore.variants import Unknown


class Note(msgspec.Struct, frozen=True):
    """The payload: what is kept."""

    text: str


class NoteKept(LoggedEvent, frozen=True, tag="notes/kept"):
    """Something was kept."""

    data: Note


def keep_notes(ctx: Context, prefix: str) -> Iterator[Undo]:
    """Keep what begins with a prefix. Everything that is handed over here is undone when the plugin ends."""

    def note(claimed: AgentInboxClaimed) -> None:
        text = claimed.message["content"][0]["text"]
        if text.startswith(prefix):
            claimed.agent.session.append("notes/kept", {"text": text.removeprefix(prefix).strip()})

    yield SESSION_EVENTS.register(NoteKept)
    yield ctx.on(AGENT_INBOX_CLAIMED, note)


NOTES = Plugin(keep_notes, name="notes")


class ScriptedModel:
    """Agrees to everything. Yours asks a provider here."""

    async def stream(self, request: GenerateOptions) -> AsyncIterator[JsonObject]:
        """Answer one request, chunk by chunk."""
        answer = f"All right, that is message {len(request.messages)}."
        yield freeze({"type": "block-end", "index": 0, "block": {"type": "text", "text": answer}})
        yield freeze({"type": "finish", "reason": {"kind": "stop"}})


def show(events: tuple[SessionEvent, ...]) -> None:
    """Print what the log says of notes."""
    for event in events:
        match SESSION_EVENTS.read(event):
            case NoteKept(seq=seq, data=note):
                print(f"{seq}: a note, {note.text!r}")
            case Unknown(tag="notes/kept" as tag, json=json):
                print(f"{json['seq']}: {tag}, which nobody here knows")
            case _:
                pass


async def main() -> None:
    """Let an agent hear two messages, one of which is kept; then take the plugin away."""
    root = compose()
    root[LLM].register(root, ["scripted"], ScriptedModel())
    notes = root.mount(NOTES, "note:")
    await notes.fiber
    options = CreateAgentOptions(session_id="demo", agent_options=AgentOptions(provider="scripted", model="m1"))
    agent = (await root[AGENTS].create(root, options)).agent
    for text in ("Good morning.", "note: the door sticks"):
        agent.followup(user_message(text))
    await agent.when_idle()
    show(tuple(agent.session.events))
    await notes.dispose()
    show(tuple(agent.session.events))
    await root.dispose()


if __name__ == "__main__":
    asyncio.run(main())
