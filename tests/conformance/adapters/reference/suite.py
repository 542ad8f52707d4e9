from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from dshconform.adapters.reference.adapter import ReferenceAdapter
from dshconform.adapters.reference.stdio import encode_reply
from dshconform.links.in_process import InProcessLink
from dshconform.links.link import AdapterFault
from dshconform.protocol.observations import read_reply

_TITLES = {
    "return": "op",
    "live": "name",
    "gate": "kind",
    "script": "kind",
    "next": "part",
    "abort": "part",
    "pull": "n",
    "closed": "why",
    "task": "task",
    "report": "level",
}

FINISH = {"type": "finish", "reason": {"kind": "stop"}}


def message(message_id: str, **members: Any) -> dict[str, Any]:
    """A user message whose text is its id."""
    content = [{"type": "text", "text": message_id}]
    return {"id": message_id, "role": "user", "content": content, "source": {"kind": "user"}, **members}


def short(row: Mapping[str, Any]) -> str:
    """A row as its kind and what it is about."""
    on = row["on"]
    about = row["event"]["type"] if on == "log" else row[_TITLES[on]] if on in _TITLES else ""
    return f"{on} {about}".strip() + (f" at {row['at']}" if "at" in row else "")


class Suite:
    """A suite that drives one adapter; every reply goes over the wire's encoding and is checked against its types."""

    def __init__(self) -> None:
        self.adapter = ReferenceAdapter()
        self.link = InProcessLink(self.adapter)
        self._gates: dict[str, str] = {}
        self._open: list[str] = []

    def call(self, op: str, args: Mapping[str, Any] | None = None) -> Any:
        """Send one command; the reply."""
        reply = read_reply(encode_reply(self.link.call(op, args or {})))
        self._gates |= {str(row["gate"]): str(row["kind"]) for row in reply.observed if row["on"] == "gate"}
        self._open = list(reply.open)
        return reply

    def told(self, op: str, args: Mapping[str, Any] | None = None) -> list[str]:
        """The rows of one command in short."""
        return [short(row) for row in self.call(op, args).observed]

    def rows(self, on: str, op: str, args: Mapping[str, Any] | None = None) -> list[Any]:
        """The rows of one command that are of one kind."""
        return [row for row in self.call(op, args).observed if row["on"] == on]

    def fault(self, op: str, args: Mapping[str, Any] | None = None) -> str:
        """What the adapter says of a command that it cannot execute."""
        with pytest.raises(AdapterFault) as caught:
            self.call(op, args)
        assert caught.value.kind == "fault"
        return caught.value.message

    def burst(self, *commands: tuple[str, Mapping[str, Any]]) -> Any:
        """Commands in one uninterrupted stretch."""
        return self.call("burst", {"do": [{"op": op, "args": args} for op, args in commands]})

    def open(self, stream: Any = "gate", agents: Sequence[str] = ("a",), **model: Any) -> None:
        """A world with agents over one model, whose stream waits for the suite unless it has a script."""
        self.call("world.open")
        function = stream if isinstance(stream, dict) else {"$fn": "model", "do": stream}
        self.call("model.register", {"as": "model", "routes": ["p"], "stream": function, **model})
        for agent in agents:
            self.create(agent)

    def create(self, agent: str, **more: Any) -> Any:
        """Create an agent with a route."""
        options = {"provider": "p", "model": "m"}
        return self.call("agent.create", {"task": f"create {agent}", "agent": agent, "options": options, **more})

    def listen(self, event: str, do: Any = None, name: str = "f", **more: Any) -> None:
        """A listener of an event, with a script."""
        members = {key: more.pop(key) for key in ("calls", "when", "abort", "onAbort", "watch") if key in more}
        script = {} if do is None else {"do": do}
        self.call("listen", {"as": name, "event": event, "fn": {"$fn": name, **script, **members}, **more})

    def followup(self, message_id: str, agent: str = "a") -> Any:
        """Send a message for a turn of its own."""
        return self.call("agent.followup", {"agent": agent, "message": message(message_id)})

    def gate(self, kind: str) -> str:
        """The id of the only open gate of a kind."""
        (gate,) = [gate for gate in self._open if self._gates[gate] == kind]
        return gate

    def answer_model(self, *chunks: Mapping[str, Any]) -> Any:
        """Give the waiting model stream its chunks, a normal finish and its end."""
        gate = self.gate("model/stream")
        given = [("stream.chunk", {"gate": gate, "chunk": chunk}) for chunk in (*chunks, FINISH)]
        return self.burst(*given, ("stream.end", {"gate": gate}))

    def inspect(self, agent: str = "a") -> Any:
        """What the handle of an agent tells."""
        return self.call("agent.inspect", {"agent": agent}).result
