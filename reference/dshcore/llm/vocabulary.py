"""The open maps of a conversation: content blocks, message sources, finish reasons.

The record holds them as JSON; these are readings. What is not listed here passes through unread.

Spec:
    PATTERN-EXT-01, MSG-SRC-01, MSG-BLOCK-01
"""

from typing import Final

from msgspec import UNSET, UnsetType

from dshcore.json import Json, JsonObject
from dshcore.variants import OpenUnion, Variant


class Block(Variant, frozen=True, tag_field="type"):
    """A part of a message's content."""


class Text(Block, frozen=True, tag="text"):
    """Text.

    Attributes:
        text: What it says.
    """

    text: str


class Reasoning(Block, frozen=True, tag="reasoning"):
    """What the model thought on the way.

    Attributes:
        text: What it says.
    """

    text: str


class Image(Block, frozen=True, tag="image"):
    """A picture that is kept elsewhere: ``{attachmentId, mediaType, bytes, width, height, name?}``.

    Attributes:
        attachment: Where the picture is.
    """

    attachment: JsonObject


class ToolCall(Block, frozen=True, tag="tool-call"):
    """A call that the model asks for. ``arguments`` is its text, unparsed.

    Attributes:
        id: Correlates it with its result.
        name: The tool.

    Spec:
        MSG-BLOCK-02
    """

    id: str
    name: str
    arguments: str


class ToolResult(Block, frozen=True, tag="tool-result", rename="camel"):
    """What a call came to.

    Attributes:
        tool_call_id: The id of the call.
        is_error: Whether the call failed.
    """

    tool_call_id: str
    content: tuple[JsonObject, ...]
    is_error: bool | UnsetType = UNSET


BLOCKS: Final = OpenUnion[Block]("type", Text, Reasoning, Image, ToolCall, ToolResult)
"""Readings of content blocks."""


class Source(Variant, frozen=True, tag_field="kind"):
    """Who produced a message."""


class FromUser(Source, frozen=True, tag="user"):
    """A human, or the program that embeds the harness."""


class FromPlugin(Source, frozen=True, tag="plugin"):
    """Context that a plugin supplied; ``form`` says of which kind."""

    plugin: str
    form: str | UnsetType = UNSET


class FromModel(Source, frozen=True, tag="model", rename="camel"):
    """A model; ``replay_state`` is what its adapter wants back with this message, any JSON.

    Attributes:
        provider: The route.
    """

    provider: str
    model: str
    replay_state: Json | UnsetType = UNSET


class FromTool(Source, frozen=True, tag="tool", rename="camel"):
    """A tool call.

    Attributes:
        call_id: The call that it belongs to.
    """

    call_id: str


SOURCES: Final = OpenUnion[Source]("kind", FromUser, FromPlugin, FromModel, FromTool)
"""Readings of message sources."""


class FinishReason(Variant, frozen=True, tag_field="kind"):
    """Why a stream ended. A kind that is unknown counts as a normal completion (CHUNK-FINISH-01)."""


class Stop(FinishReason, frozen=True, tag="stop"):
    """The model was done."""


class ToolCalls(FinishReason, frozen=True, tag="tool-calls"):
    """The model wants results of calls."""


class MaxTokens(FinishReason, frozen=True, tag="max-tokens"):
    """The response was cut at its ceiling."""


class FinishAborted(FinishReason, frozen=True, tag="aborted"):
    """The attempt was given up; ``failure`` has the facts as they were delivered, unchecked."""

    failure: Json = None


class FinishFailed(FinishReason, frozen=True, tag="error"):
    """The attempt failed; ``failure`` has the facts as they were delivered, unchecked."""

    failure: Json = None


FINISH_REASONS: Final = OpenUnion[FinishReason]("kind", Stop, ToolCalls, MaxTokens, FinishAborted, FinishFailed)
"""Readings of finish reasons."""
