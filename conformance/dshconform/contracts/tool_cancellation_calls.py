"""What each command of the tool cancellation contract does before it returns, and when the clauses say so at all."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from dshconform.contracts.callbacks import Listeners
from dshconform.contracts.cancellation_calls import CancellationCalls
from dshconform.contracts.cancellation_commands import type_of
from dshconform.contracts.inbox_calls import Answer
from dshconform.contracts.inbox_commands import PRESETS, kind_of, message_of
from dshconform.contracts.scheduling_commands import BODY, called_kind, error_of, value_of
from dshconform.contracts.tool_cancellation_agent import ToolCancellationAgent
from dshconform.contracts.tool_cancellation_commands import BODY_ENDS, ENDINGS, LISTENERS, TOOLS
from dshconform.protocol.json_value import JsonMap

_SENDS: Final = frozenset({"agent.send", *PRESETS})


@dataclass(slots=True)
class ToolCancellationCalls(CancellationCalls):
    """The calls of one agent, and the ends of its tools' bodies."""

    listeners: ClassVar[Listeners] = LISTENERS
    """Reads and writes the listeners of the contract."""
    endings: ClassVar[Mapping[str, Sequence[JsonMap]]] = ENDINGS

    agent: ToolCancellationAgent

    def call(self, op: str, args: JsonMap) -> Answer:
        """Do a command: everything up to its return, and not the `return` row.

        Args:
            op: Its operation.
            args: Its arguments.

        Raises:
            LeftOpen: The clauses do not say what it does now.
        """
        answer = CancellationCalls.call(self, op, args)
        chunk = args.get("chunk")
        if op == "stream.chunk" and isinstance(chunk, Mapping) and "index" in chunk:
            self.agent.indices.add(chunk["index"])
            if isinstance(block := chunk.get("block"), Mapping):
                self.agent.known.add(str(block["id"]))
        return answer

    def act_of(self, op: str, args: JsonMap) -> str:
        """What a command is called in the grid.

        Args:
            op: Its operation.
            args: Its arguments.
        """
        if op in BODY_ENDS and self.agent.phase == "calling":
            return "return" if op == "gate.resolve" else "throw"
        return CancellationCalls.act_of(self, op, args)

    def _allowed(self, op: str, args: JsonMap) -> bool:
        """Whether a command makes sense now, whatever it leads to."""
        if op in _SENDS and message_of(args)["id"] in self.agent.known:
            return False  # a context could have the id of its call
        if op not in BODY_ENDS or self.agent.phase != "calling":
            return CancellationCalls._allowed(self, op, args)  # noqa: SLF001 - its own base; slots spoil `super()`
        if not self.agent.gate_open or called_kind(args) != (BODY, self.agent.call["id"]):
            return False
        return bool(error_of(args)) if op == "gate.reject" else value_of(args) is not None

    def _streams(self, op: str, args: JsonMap) -> bool:
        """Whether an item fits the answer so far: no text behind a call, and no id twice."""
        agent = self.agent
        chunk, kind = args.get("chunk"), type_of(args)
        if agent.cause is not None or op != "stream.chunk" or not isinstance(chunk, Mapping):
            return CancellationCalls._streams(self, op, args)  # noqa: SLF001
        if kind == "block-end":
            fresh = chunk.get("index") not in agent.indices
            return agent.finish is None and fresh and self._may_ask(chunk.get("block"))
        if kind == "finish":
            return agent.finish is None and kind_of(chunk.get("reason")) in {"stop", "tool-calls", "max-tokens"}
        return not agent.asking and CancellationCalls._streams(self, op, args)  # noqa: SLF001

    def _may_ask(self, block: object) -> bool:
        """Whether a call has an id that nothing has, and a tool of the contract."""
        if not isinstance(block, Mapping) or block.keys() != {"type", "id", "name", "arguments"}:
            return False
        pending = {message["id"] for held in self.agent.lists.values() for message in held}
        return (
            block["type"] == "tool-call"
            and block["id"] not in self.agent.known | pending
            and block["name"] in TOOLS
            and block["arguments"] == "{}"
        )
