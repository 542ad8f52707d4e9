"""The adapter over standard streams: one line in, one line out, until the input ends."""

import os
import sys
from typing import BinaryIO, Final

import msgspec

from dshconform.adapters.reference.adapter import ReferenceAdapter
from dshconform.protocol.json_value import Json
from dshconform.protocol.messages import Command, Reply
from dshcore import json

_COMMANDS: Final = msgspec.json.Decoder(Command)


def serve(commands: BinaryIO, replies: BinaryIO) -> None:
    """Answer every line until the end of the input.

    Args:
        commands: One JSON object per line.
        replies: Gets exactly one line for each.
    """
    adapter = ReferenceAdapter()
    try:
        for line in commands:
            replies.write(encode_reply(_answer(adapter, line)) + b"\n")
            replies.flush()
    finally:
        adapter.close()


def main() -> None:
    """Serve this process's own streams. What the implementation prints goes to standard error."""
    with os.fdopen(os.dup(sys.stdout.fileno()), "wb") as replies:
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
        serve(sys.stdin.buffer, replies)


def encode_reply(reply: Reply) -> bytes:
    """Write a reply as one line of JSON, whatever it holds: any depth, lone surrogates."""
    try:
        return msgspec.json.encode(reply)
    except (RecursionError, UnicodeEncodeError):
        members = {name: getattr(reply, name) for name in reply.__struct_fields__}
        return json.encode({name: value for name, value in members.items() if value is not msgspec.UNSET})


def _answer(adapter: ReferenceAdapter, line: bytes) -> Reply:
    try:
        command = _COMMANDS.decode(line)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return _answer_unusual(adapter, line)
    return adapter.handle(command)


def _answer_unusual(adapter: ReferenceAdapter, line: bytes) -> Reply:
    """Answer a line that is malformed, or JSON that only a slower reader takes."""
    try:
        value = json.decode(line)
    except json.NotJson as error:
        return Reply(id=0, fault=f"the line is no JSON: {error}", observed=[], open=[])
    try:
        command = msgspec.convert(value, Command)
    except msgspec.ValidationError as error:
        return Reply(id=_id_of(value), fault=f"the line is no command: {error}", observed=[], open=[])
    return adapter.handle(command)


def _id_of(value: Json) -> int:
    number = value.get("id") if isinstance(value, json.JsonObject) else None
    return number if isinstance(number, int) and not isinstance(number, bool) else 0
