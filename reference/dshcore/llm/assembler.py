"""Folding the chunks of one attempt into a message.

Each index is unseen, open or closed. A start or a delta opens it, deltas accumulate, an end closes it for good.
Blocks stand in the order in which their indices were first seen. Reading the fold changes nothing.

    ============  =====================  =====================================  ===========================
    state         ``block-start``        delta                                  ``block-end``
    ============  =====================  =====================================  ===========================
    unseen        open, of its type      open, of the delta's type; accumulate  closed with its block
    open          ignored                accumulate; the type stays             closed with its block
    closed        ignored                ignored                                ignored
    ============  =====================  =====================================  ===========================

Spec:
    CHUNK-INDEX-01, CHUNK-PASS-01
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, assert_never

from msgspec import UNSET, UnsetType

from dshcore.errors import DshError
from dshcore.json import Json, JsonObject, abridged, encode, freeze, is_array, is_object, is_text
from dshcore.llm.chunks import (
    CHUNKS,
    BlockEnd,
    BlockStart,
    Finish,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
    UsageReport,
)
from dshcore.llm.messages import assistant_message
from dshcore.variants import Unknown

# ASM-INT-03, ASM-INT-04: what ECMAScript takes for white space and line ends, which is not what str.strip() takes
_BLANK: Final = (
    "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)
_STOP: Final = freeze({"kind": "stop"})


class AssemblyError(DshError):
    """A stream that cannot be folded into a message."""

    default_code = "ASSEMBLY"


@dataclass(slots=True)
class _OpenBlock:
    """What has come of a block. Text and reasoning share one accumulator, tool calls have another (ASM-TYPE-01)."""

    type: str
    text: list[str] = field(default_factory=list[str])
    call_id: str | None = None
    name: str = ""
    arguments: list[str] = field(default_factory=list[str])

    def assemble(self, index: int) -> JsonObject | None:
        """Return the block as it would stand, or none for a type that only an end can complete."""
        if self.type in ("text", "reasoning"):
            return freeze({"type": self.type, "text": "".join(self.text)})
        if self.type == "tool-call":
            id_ = f"call-{index}" if self.call_id is None else self.call_id  # ASM-TOOL-02
            arguments = "".join(self.arguments)  # MSG-BLOCK-02: the model's text, unread
            return freeze({"type": self.type, "id": id_, "name": self.name, "arguments": arguments})
        return None


class BlockAssembler:
    """The fold over the chunks of one attempt.

    Spec:
        ASM-ORDER-01, ASM-TEXT-01, ASM-TYPE-01, ASM-END-01, ASM-END-02, ASM-TOOL-01, ASM-TOOL-02, ASM-USAGE-01,
        ASM-FINISH-01
    """

    def __init__(self) -> None:
        self._blocks: dict[int, _OpenBlock | JsonObject] = {}  # in first-seen order (ASM-ORDER-01)
        self._usage: JsonObject | None = None
        self._finish: Finish | None = None

    def push(self, chunk: JsonObject) -> None:
        """Take in the next chunk.

        Raises:
            AssemblyError: A chunk of a type that does not exist, or that is no object.
            Unreadable: A chunk whose members are not those of its type.

        Spec:
            CHUNK-UNKNOWN-01
        """
        _check_object(chunk)
        reading = CHUNKS.read(chunk)
        match reading:
            case BlockStart(index=index, block_type=type_):
                self._opened(index, type_)
            case TextDelta(index=index, text=text):
                self._accumulate_text(index, "text", text)
            case ReasoningDelta(index=index, text=text):
                self._accumulate_text(index, "reasoning", text)
            case ToolCallDelta() as delta:
                self._accumulate_call(delta)
            case BlockEnd(index=index, block=block):
                if not isinstance(self._blocks.get(index), Mapping):  # ASM-END-02: the first end counts
                    self._blocks[index] = block
            case UsageReport(usage=usage):
                self._usage = usage
            case Finish() as finish:
                self._finish = finish
            case Unknown(json=json):
                raise AssemblyError(f"unreachable variant in BlockAssembler.push: {encode(json).decode()}")
            case _:
                assert_never(reading)

    @property
    def usage(self) -> JsonObject | None:
        """The last usage that was reported.

        Spec:
            ASM-USAGE-01
        """
        return self._usage

    @property
    def finish(self) -> JsonObject:
        """The reason of the last finish; a stream without one counts as stopped.

        Spec:
            ASM-FINISH-01
        """
        return _STOP if self._finish is None else self._finish.reason

    def message(self, *, provider: str, model: str) -> JsonObject:
        """Return the message of a response that ended without failure.

        Args:
            provider: The route of the request.
            model: The model of the request.

        Raises:
            AssemblyError: A block is open whose type only an end can complete, or a tool call of the message is one
                that no result could answer.

        Spec:
            ASM-OPEN-01, ASM-OPEN-02, ASM-MAXTOK-01, ASM-REPLAY-01, ASM-REPLAY-02, ASM-REPLAY-03
        """
        emitted = self._complete_blocks()
        cut = self.finish.get("kind") == "max-tokens"
        kept = [at for at, block in enumerate(emitted) if not (cut and block.get("type") == "tool-call")]
        for at in kept:
            _check_call(emitted[at])
        return assistant_message(
            [emitted[at] for at in kept],
            provider=provider,
            model=model,
            replay_state=self._replay_state(kept, len(emitted)),
        )

    def interrupted_message(self, *, provider: str, model: str) -> JsonObject | None:
        """Return the message of a response that was cut off: what of its text and reasoning had come.

        Args:
            provider: The route.
            model: The model's id.

        Returns:
            The message, or none where nothing but blanks had come.

        Spec:
            CANCEL-STREAM-02, CANCEL-STREAM-03, CANCEL-STREAM-05, ASM-INT-03, ASM-INT-04
        """
        content = [block for block in self._assembled() if block is not None and _has_substance(block)]
        return assistant_message(content, provider=provider, model=model) if content else None

    def _opened(self, index: int, type_: str) -> _OpenBlock | None:
        """Return the open block of an index, opening it where the index is new; none where it is closed."""
        block = self._blocks.get(index)
        if block is None:
            block = self._blocks[index] = _OpenBlock(type_)
        return block if isinstance(block, _OpenBlock) else None

    def _accumulate_text(self, index: int, type_: str, text: str) -> None:
        block = self._opened(index, type_)
        if block is not None:
            block.text.append(text)

    def _accumulate_call(self, delta: ToolCallDelta) -> None:
        block = self._opened(delta.index, "tool-call")
        if block is not None:
            block.call_id = delta.id  # ASM-TOOL-01
            block.name = delta.name or block.name
            block.arguments.append(delta.arguments_delta)

    def _assembled(self) -> list[JsonObject | None]:
        return [
            block.assemble(index) if isinstance(block, _OpenBlock) else block for index, block in self._blocks.items()
        ]

    def _complete_blocks(self) -> list[JsonObject]:
        complete: list[JsonObject] = []
        for block, assembled in zip(self._blocks.values(), self._assembled(), strict=True):
            if assembled is None:
                type_ = block.type if isinstance(block, _OpenBlock) else ""
                raise AssemblyError(f'cannot assemble incomplete block of type "{type_}"')
            complete.append(assembled)
        return complete

    def _replay_state(self, kept: list[int], emitted: int) -> Json | UnsetType:
        envelope: Json | UnsetType = UNSET if self._finish is None else self._finish.replay_state
        if not is_object(envelope) or "blocks" not in envelope:
            return envelope
        blocks: Json = envelope["blocks"]
        if not is_array(blocks) or len(blocks) != emitted:  # ASM-REPLAY-02
            return UNSET
        if len(kept) == emitted:
            return envelope
        response = {"response": envelope["response"]} if "response" in envelope else {}
        aligned: Json = freeze({**response, "blocks": [blocks[at] for at in kept]})
        return aligned  # ASM-REPLAY-03


def _check_object(chunk: object) -> None:
    """Refuse a chunk that is none: adapters deliver what they like, and nobody has looked at it (CHUNK-PASS-01)."""
    if not is_object(chunk):
        raise AssemblyError(f"a chunk must be an object, not {abridged(chunk)}")


def _check_call(block: JsonObject) -> None:
    """Refuse a tool call that cannot be run, or whose result could not be logged under its id (ASM-OPEN-02)."""
    if block.get("type") != "tool-call":
        return
    if not is_text(block.get("id")):
        raise AssemblyError(
            f"cannot assemble tool call with id {abridged(block.get('id'))}: a non-empty text is needed"
        )
    for name in ("name", "arguments"):
        if not isinstance(block.get(name), str):
            raise AssemblyError(
                f"cannot assemble tool call {abridged(block['id'])} with {name} {abridged(block.get(name))}: "
                "a text is needed"
            )


def _has_substance(block: JsonObject) -> bool:
    text = block.get("text")
    return block.get("type") in ("text", "reasoning") and isinstance(text, str) and text.strip(_BLANK) != ""
