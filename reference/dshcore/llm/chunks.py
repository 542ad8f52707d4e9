"""The chunks of a stream: a closed union, told apart by ``type``.

Spec:
    CHUNK-UNKNOWN-01
"""

from typing import Final, TypeAlias

from msgspec import UNSET, UnsetType

from dshcore.json import Json, JsonObject
from dshcore.variants import OpenUnion, Variant


class _Chunk(Variant, frozen=True, tag_field="type", rename="camel"):
    """What a stream delivers piece by piece."""


class BlockStart(_Chunk, frozen=True, tag="block-start"):
    """A block of this type begins.

    Attributes:
        index: The number of the block.
        block_type: Which kind of block begins.
    """

    index: int
    block_type: str


class TextDelta(_Chunk, frozen=True, tag="text-delta"):
    """More text of a block.

    Attributes:
        index: The number of the block.
    """

    index: int
    text: str


class ReasoningDelta(_Chunk, frozen=True, tag="reasoning-delta"):
    """More reasoning of a block.

    Attributes:
        index: The number of the block.
        text: What is added.
    """

    index: int
    text: str


class ToolCallDelta(_Chunk, frozen=True, tag="tool-call-delta"):
    """More of a tool call.

    Attributes:
        index: The number of the block.
        id: The id of the call.
        arguments_delta: What is added to the text of its arguments.
        name: The tool.
    """

    index: int
    id: str
    arguments_delta: str
    name: str | UnsetType = UNSET


class BlockEnd(_Chunk, frozen=True, tag="block-end"):
    """A block is complete, and is this.

    Attributes:
        index: The number of the block.
    """

    index: int
    block: JsonObject


class UsageReport(_Chunk, frozen=True, tag="usage"):
    """Tokens used so far.

    Attributes:
        usage: What was used.
    """

    usage: JsonObject


class Finish(_Chunk, frozen=True, tag="finish"):
    """The attempt is over.

    Attributes:
        reason: Why the response ends.
        replay_state: What the adapter wants to see again with the message.
    """

    reason: JsonObject
    replay_state: Json | UnsetType = UNSET


Chunk: TypeAlias = BlockStart | TextDelta | ReasoningDelta | ToolCallDelta | BlockEnd | UsageReport | Finish
"""One piece of a response."""

CHUNKS: Final = OpenUnion[Chunk](
    "type", BlockStart, TextDelta, ReasoningDelta, ToolCallDelta, BlockEnd, UsageReport, Finish
)
"""Readings of chunks. Nobody else registers here: whoever reads a chunk knows them all."""
