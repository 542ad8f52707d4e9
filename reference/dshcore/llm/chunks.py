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
    """A block of this type begins."""

    index: int
    block_type: str


class TextDelta(_Chunk, frozen=True, tag="text-delta"):
    """More text of a block."""

    index: int
    text: str


class ReasoningDelta(_Chunk, frozen=True, tag="reasoning-delta"):
    """More reasoning of a block."""

    index: int
    text: str


class ToolCallDelta(_Chunk, frozen=True, tag="tool-call-delta"):
    """More of a tool call."""

    index: int
    id: str
    arguments_delta: str
    name: str | UnsetType = UNSET


class BlockEnd(_Chunk, frozen=True, tag="block-end"):
    """A block is complete, and is this."""

    index: int
    block: JsonObject


class UsageReport(_Chunk, frozen=True, tag="usage"):
    """Tokens used so far."""

    usage: JsonObject


class Finish(_Chunk, frozen=True, tag="finish"):
    """The attempt is over."""

    reason: JsonObject
    replay_state: Json | UnsetType = UNSET


Chunk: TypeAlias = BlockStart | TextDelta | ReasoningDelta | ToolCallDelta | BlockEnd | UsageReport | Finish

CHUNKS: Final = OpenUnion[Chunk](
    "type", BlockStart, TextDelta, ReasoningDelta, ToolCallDelta, BlockEnd, UsageReport, Finish
)
"""Readings of chunks. Nobody else registers here: whoever reads a chunk knows them all."""
