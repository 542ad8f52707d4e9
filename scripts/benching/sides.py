"""The sides that are measured: the reference without anything between, and any implementation over a link."""

import itertools
import time
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Final, Literal, Protocol

from msgspec import UNSET

from dshconform.links.link import Link
from dshconform.protocol.json_value import Json, JsonMap
from dshconform.scenarios.macros import message
from dshcore.agent import AGENTS, Agent, AgentOptions, CreateAgentOptions
from dshcore.ids import SessionId
from dshcore.json import JsonObject, freeze
from dshcore.llm import LLM, GenerateOptions
from dshcore.settling import SettlingLoop
from dshcore.spine import compose

CHUNK: Final[JsonMap] = {"type": "text-delta", "index": 0, "text": "x"}
ROUTE: Final[JsonMap] = {"provider": "mock", "model": "m1"}


class Refused(Exception):
    """An implementation refused a command that the measurement needs."""


class Side(Protocol):
    """A place where one agent lives, driven from here."""

    name: str
    clock: Callable[[], float]

    def open(self) -> None:
        """Begin anew, with an agent that has done nothing."""
        ...

    def turn(self) -> None:
        """Run a turn, from its prompt to idle."""
        ...

    def append_event(self) -> None:
        """Append an event of no particular type to the log."""
        ...

    def insert(self, op: Literal["append", "prepend"], identity: str) -> None:
        """Insert a message into `next-turn`."""
        ...

    def swap(self, at: int, identity: str) -> None:
        """Splice a message in for another one."""
        ...

    def waiting(self) -> list[str]:
        """The ids in `next-turn`."""
        ...

    def replace(self, old: str, new: str) -> None:
        """Replace a pending message."""
        ...

    def remove(self, identity: str) -> None:
        """Remove a pending message."""
        ...


class Direct:
    """`dshcore` on a loop that is stepped from here."""

    def __init__(self) -> None:
        self.name = "reference, direct"
        self.clock: Callable[[], float] = time.process_time
        self._loop: SettlingLoop | None = None

    def open(self) -> None:
        self.close()
        self._loop = SettlingLoop()
        self._names = map("m{}".format, itertools.count())
        made: list[Agent] = []

        async def begin() -> None:
            root = compose()
            root[LLM].register(root, ["mock"], self)
            options = CreateAgentOptions(session_id=SessionId("a"), agent_options=AgentOptions(**ROUTE))  # type: ignore[arg-type]
            made.append((await root[AGENTS].create(root, options)).agent)

        self._loop.run_until_complete(begin())
        (self._agent,) = made

    def close(self) -> None:
        """End what was begun."""
        if self._loop is not None:
            self._loop.finish()
            self._loop = None

    async def stream(self, request: GenerateOptions) -> AsyncIterator[JsonObject]:
        """Answer as a model with one chunk."""
        del request
        yield freeze(CHUNK)

    def turn(self) -> None:
        assert self._loop is not None
        self._loop.call_soon(self._agent.followup, message(next(self._names)))
        self._loop.settle()

    def append_event(self) -> None:
        self._agent.session.append("bench/event", {"value": 1})

    def insert(self, op: Literal["append", "prepend"], identity: str) -> None:
        insert = self._agent.inbox.append if op == "append" else self._agent.inbox.prepend
        insert("next-turn", message(identity))

    def swap(self, at: int, identity: str) -> None:
        self._agent.inbox.splice("next-turn", at, 1, [message(identity)])

    def waiting(self) -> list[str]:
        return [pending["id"] for pending in self._agent.inbox.next_turn]

    def replace(self, old: str, new: str) -> None:
        self._agent.inbox.replace(old, message(new))

    def remove(self, identity: str) -> None:
        self._agent.inbox.remove(identity)


class Linked:
    """An implementation behind its adapter.

    Args:
        link: The link.
        name: How the figures call it.
        clock: Tells the time that its commands take.
    """

    def __init__(self, link: Link, name: str, clock: Callable[[], float]) -> None:
        self._link = link
        self.name = name
        self.clock = clock

    def open(self) -> None:
        self._call("world.open")
        self._names = map("m{}".format, itertools.count())
        never: JsonMap = {"provider": "nobody"}
        self._register({"$fn": "silent", "when": never})  # a call that it does not count is answered with nothing
        self._call("agent.create", task="created", agent="a", options=ROUTE)

    def tell(self) -> None:
        """From now on the model answers with one chunk, and every request is told."""
        self._call("undo", of="model")
        self._register({"$fn": "model", "do": [{"do": "chunk", "chunk": CHUNK}]})

    def turn(self) -> None:
        self._call("agent.followup", agent="a", message=message(next(self._names)))

    def compact(self) -> None:
        """Replace the conversation by one message; the log keeps everything, and grows."""
        read = self._call("session.read", session="a", what=["nodes"])
        nodes = read["nodes"] if isinstance(read, Mapping) else None
        if not isinstance(nodes, list | tuple) or not nodes:
            raise Refused(f"{self.name} shows no surface: session.read answered {read!r}")
        replace: JsonMap = {"op": "replace", "start": nodes[0], "end": nodes[-1]}
        intent: JsonMap = {"surfaceOp": replace, "sourceEventSeqs": nodes}
        self._call("session.append", session="a", type="user/message", data=message(next(self._names)), intent=intent)

    def append_event(self) -> None:
        self._call("session.append", session="a", type="bench/event", data={"value": 1})

    def insert(self, op: Literal["append", "prepend"], identity: str) -> None:
        self._call(f"inbox.{op}", agent="a", target="next-turn", message=message(identity))

    def swap(self, at: int, identity: str) -> None:
        inserted = [message(identity)]
        self._call("inbox.splice", agent="a", target="next-turn", start=at, deleteCount=1, inserted=inserted)

    def waiting(self) -> list[str]:
        pending = self.inspect().get("nextTurn")
        assert isinstance(pending, list | tuple)
        return [str(one["id"]) for one in pending if isinstance(one, Mapping)]

    def replace(self, old: str, new: str) -> None:
        self._call("inbox.replace", agent="a", id=old, message=message(new))

    def remove(self, identity: str) -> None:
        self._call("inbox.remove", agent="a", id=identity)

    def inspect(self) -> JsonMap:
        """Look at the agent."""
        seen = self._call("agent.inspect", agent="a")
        return seen if isinstance(seen, Mapping) else {}

    def close(self) -> None:
        """End the link."""
        self._link.close()

    def _register(self, stream: JsonMap) -> None:
        self._call("model.register", **{"as": "model"}, routes=["mock"], stream=stream)

    def _call(self, op: str, **arguments: Json) -> Json:
        reply = self._link.call(op, arguments)
        if reply.error is not UNSET:
            raise Refused(f"{self.name} refused {op}: {reply.error}")
        return None if reply.result is UNSET else reply.result
