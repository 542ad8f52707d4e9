"""Runtime-context snapshots: when the model has to be told of its contexts again.

What it was told stands in the log, as user messages of this part; nothing is remembered beside that. The projection
reads each event of the log once.
"""

from collections.abc import Mapping
from typing import Final

from dshcore.json import Json, JsonObject
from dshcore.llm import user_message
from dshcore.session import Session, SessionEvent
from dshcore.system_prompt.assembly import Assembly
from dshcore.system_prompt.rendering import render_contexts

PLUGIN: Final = "@deepseek-ai/dsh-system-prompt"
"""Who speaks in a snapshot, as its source tells."""

SNAPSHOT: Final = "Current runtime context. This snapshot supersedes earlier runtime-context snapshots."
"""The source of a message that holds runtime contexts."""

CLEARED: Final = "Current runtime context: none. Earlier runtime-context snapshots no longer apply."
"""The text of a snapshot where there is no runtime context any more."""


class SnapshotProjection:
    """What of the runtime context the model of one session has been told.

    Args:
        session: The log. What it holds already counts as far as it is visible (PROMPT-SNAP-06).

    Spec:
        PROMPT-SNAP-01, PROMPT-SNAP-02, PROMPT-SNAP-03, PROMPT-SNAP-04, PROMPT-SNAP-05, PROMPT-SNAP-06
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._read = session.seq
        visible = set(session.surface.nodes)
        told = [event for event in session.events if _is_told(event)]
        self._ever = bool(told)
        self._retained = next((event for event in reversed(told) if event["seq"] in visible), None)

    def due(self, assembly: Assembly) -> JsonObject | None:
        """Answer the message that the model has to be told now, if any. It counts once it is in the log.

        Args:
            assembly: What the prompt of the proposed step is made of.

        Raises:
            UnrenderablePrompt: A context cannot be rendered.

        Spec:
            PROMPT-CTX-01, PROMPT-SNAP-02, PROMPT-SNAP-03
        """
        self._follow()
        contexts = render_contexts(assembly)
        if not contexts and not self._ever:
            return None
        text = "\n\n".join((SNAPSHOT, *(context.text for context in contexts))) if contexts else CLEARED
        if self._retained is not None and text == _text_of(self._retained["data"]):
            return None
        source: dict[str, Json] = {"kind": "plugin", "plugin": PLUGIN}
        if contexts:
            sections = [{"name": context.name, "text": context.text} for context in contexts]
            source |= {"form": "snapshot", "sections": sections}
        return user_message(text, source)

    def _follow(self) -> None:
        """Read what was logged since the last time."""
        events = self._session.events
        for seq in range(self._read, len(events)):
            event = events[seq]
            if _is_told(event):
                self._ever, self._retained = True, event
            elif self._retained is not None and _replaces(event, self._retained["seq"]):
                self._retained = None
        self._read = len(events)


def _is_told(event: SessionEvent) -> bool:
    if event["type"] != "user/message":
        return False
    source: JsonObject = event["data"]["source"]
    return source.get("kind") == "plugin" and source.get("plugin") == PLUGIN


def _text_of(message: JsonObject) -> str | None:
    """Answer the text of a message of exactly one text block; any other equals no text (PROMPT-SNAP-04)."""
    content = message["content"]
    text = content[0].get("text") if len(content) == 1 and content[0].get("type") == "text" else None
    return text if isinstance(text, str) else None


def _replaces(event: SessionEvent, seq: int) -> bool:
    return isinstance(event.get("surfaceOp"), Mapping) and seq in event.get("sourceEventSeqs", ())
