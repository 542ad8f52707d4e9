"""What the tests of the adapter say to it, and its answers in a few words."""

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from dshconform.links.link import NO_ARGS
from dshconform.links.subprocess import SubprocessLink
from dshconform.protocol.json_value import Json
from dshconform.protocol.messages import Reply

Command: TypeAlias = dict[str, Any]

TEXT: Final[list[Command]] = [
    {"type": "block-start", "index": 0, "blockType": "text"},
    {"type": "text-delta", "index": 0, "text": "hi"},
    {"type": "block-end", "index": 0, "block": {"type": "text", "text": "hi"}},
    {"type": "finish", "reason": {"kind": "stop"}},
]
SPEAKS: Final[Command] = {"$fn": "model", "do": [{"do": "chunks", "list": TEXT}]}
INSPECT: Final[Command] = {"op": "agent.inspect", "args": {"agent": "a"}}


def message(text: str) -> Command:
    """A user message."""
    return {"id": text, "role": "user", "content": [{"type": "text", "text": text}], "source": {"kind": "user"}}


def followup(text: str) -> Command:
    """The arguments that give the agent a prompt."""
    return {"agent": "a", "message": message(text)}


def ask(link: SubprocessLink, op: str, args: Mapping[str, Any] = NO_ARGS) -> Any:
    """Send one command; a reply whose rows and result may be taken for anything."""
    return link.call(op, args)


def told(reply: Reply | Mapping[str, Any]) -> list[str]:
    """The rows of a reply, each in a few words."""
    rows = reply.observed if isinstance(reply, Reply) else reply["observed"]
    return [in_words(row) for row in rows]


def in_words(row: Mapping[str, Any]) -> str:
    """A row in a few words."""
    names = {"log": "event", "live": "name", "return": "op", "gate": "kind", "script": "kind"}
    first = row.get(names.get(row["on"], ""), row.get("gate", row.get("task", row.get("part", ""))))
    what = first["type"] if isinstance(first, Mapping) else first
    place = f" at {row['at']}" if "at" in row else ""
    failed = " failed" if "error" in row else ""
    return f"{row['on']} {what}{place}{failed}"


def with_agent(link: SubprocessLink, model: Json = SPEAKS) -> SubprocessLink:
    """Register a model and create an agent."""
    link.call("model.register", {"as": "m", "routes": ["mock"], "stream": model})
    link.call("agent.create", {"task": "t", "agent": "a", "options": {"provider": "mock", "model": "m1"}})
    return link


def listens(link: SubprocessLink, event: str, **function: Json) -> None:
    """Register a listener that is called as its event."""
    link.call("listen", {"as": event, "event": event, "fn": {"$fn": event, **function}})
