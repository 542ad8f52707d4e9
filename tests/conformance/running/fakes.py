"""A scripted adapter in process: it answers what a test tells it to."""

from collections.abc import Sequence

from dshconform.links.in_process import InProcessLink
from dshconform.protocol.json_value import Json, JsonMap
from dshconform.protocol.messages import Command, Reply, Row

HELLO: JsonMap = {
    "protocol": 1,
    "implementation": {"name": "fake", "version": "1", "language": "python"},
    "profiles": ["core"],
    "features": [],
}


class ScriptedAdapter:
    """Answers the commands of a list of replies in order; everything after it with null.

    Args:
        replies: For each command after `hello`: its result or error, its rows, and the gates that are open.
    """

    def __init__(self, replies: Sequence[JsonMap], hello: JsonMap = HELLO) -> None:
        self._replies = list(replies)
        self._hello = hello
        self.commands: list[tuple[str, JsonMap]] = []

    def handle(self, command: Command) -> Reply:
        if command.op == "hello":
            return Reply(id=command.id, result=self._hello, observed=[], open=[])
        self.commands.append((command.op, command.args))
        scripted = self._replies.pop(0) if self._replies and command.op != "world.close" else {}
        observed = scripted.get("observed", [])
        open_gates = scripted.get("open", [])
        assert isinstance(observed, list)
        assert isinstance(open_gates, list)
        rows: list[Row] = [dict(row) for row in observed]
        if command.op != "world.close" and not any(row["on"] == "return" for row in rows):
            outcome: JsonMap = (
                {"error": scripted["error"]} if "error" in scripted else {"result": scripted.get("result")}
            )
            rows.append({"on": "return", "op": command.op, **outcome})
        names = [str(name) for name in open_gates]
        if "error" in scripted:
            error = scripted["error"]
            assert isinstance(error, dict)
            return Reply(id=command.id, error=error, observed=rows, open=names)
        return Reply(id=command.id, result=scripted.get("result"), observed=rows, open=names)

    def close(self) -> None:
        pass


def link(*replies: JsonMap, hello: JsonMap = HELLO) -> tuple[InProcessLink, ScriptedAdapter]:
    """A link to a scripted adapter, and the adapter, which remembers its commands."""
    adapter = ScriptedAdapter(replies, hello)
    return InProcessLink(adapter), adapter


def gate(identity: str, kind: str, agent: str = "a", **payload: Json) -> JsonMap:
    """A row that tells of a gate."""
    return {"on": "gate", "gate": identity, "part": "f", "kind": kind, "n": 1, "agent": agent, "payload": payload}
