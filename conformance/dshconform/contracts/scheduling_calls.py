"""What each command of the scheduling contract does before it returns, and when the clauses say so at all."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from dshconform.contracts import scheduling_rows
from dshconform.contracts.inbox_calls import Answer, Calls
from dshconform.contracts.inbox_commands import PRESETS, STREAM_ANSWERS, items_of, kind_of, message_of, read_command
from dshconform.contracts.model import CommandError
from dshconform.contracts.scheduling_agent import Call, SchedulingAgent
from dshconform.contracts.scheduling_commands import (
    BEFORE,
    BEHIND,
    BODY,
    ENDS,
    GUARDED,
    OPENING_TOOLS,
    REGISTRATIONS,
    UNKNOWN,
    called_kind,
    cap_of,
    error_of,
    reason_of,
    registration_of,
    review_of,
    value_of,
)
from dshconform.contracts.scheduling_rows import ARGUMENTS
from dshconform.protocol.json_value import JsonMap
from dshconform.running.step import UNCHECKED

_SENDS: Final = frozenset({"agent.send", *PRESETS})
_REGISTRY: Final = frozenset({"tool.register", "undo"})
_KNOWN: Final = frozenset({"world.open", "agent.cancel", "agent.inspect", "burst", *_SENDS, *_REGISTRY})


@dataclass(slots=True)
class SchedulingCalls(Calls):
    """The calls of one agent, its tools, and the answers to the functions that its calls wait for."""

    answers: ClassVar[frozenset[str]] = STREAM_ANSWERS | ENDS

    agent: SchedulingAgent

    def legal(self, op: str, args: JsonMap) -> bool:
        """Whether the clauses say what a command does now.

        Args:
            op: The operation.
            args: Its arguments.

        Raises:
            CommandError: It is no command of this contract.
        """
        if op not in _KNOWN and op not in self.answers:
            known = ", ".join(sorted({*_KNOWN, *self.answers}))
            raise CommandError(f"{op!r} is no command of this contract; known: {known}")
        if op == "world.open":
            cap_of(args)
            return self.agent.cap is None
        if self.agent.cap is None:
            return False
        if op in ENDS:
            return self.agent.phase == "calling" and self._ends(op, args)
        if op in STREAM_ANSWERS:
            return self.agent.phase != "calling" and Calls.legal(self, op, args) and self._streams(op, args)
        if op in _REGISTRY:
            return self._registers(op, args)
        if op == "burst" and not self._may_burst(items_of(args)):
            return False
        if op in _SENDS and self._names_a_call(message_of(args)):
            return False
        return Calls.legal(self, op, args)

    def call(self, op: str, args: JsonMap) -> Answer:
        """Do a legal command: everything up to its return, and not the `return` row.

        Args:
            op: The operation.
            args: Its arguments.

        Returns:
            What it returns or throws, and the clauses that say so.
        """
        agent = self.agent
        match op:
            case "tool.register" | "undo":
                return self._change(op, args)
            case "gate.resolve" | "gate.reject":
                agent.gates.remove(called_kind(args))
                agent.items.append((op, args))
                agent.gate_open = bool(agent.gates)
                return Answer()
            case "stream.chunk":
                self._read_chunk(args.get("chunk"))
        return Calls.call(self, op, args)

    # ------------------------------------------------------------------ tools

    def _registers(self, op: str, args: JsonMap) -> bool:
        """Whether it is told what becomes of the calls that wait, and of the prompt."""
        agent = self.agent
        if agent.phase == "claimed":
            return False  # the prompt may be assembled inside the call that woke the driver, or behind it
        if op == "undo":
            if args.get("of") not in REGISTRATIONS:
                raise CommandError(f"the scheduling contract takes {', '.join(REGISTRATIONS)} away, not {args!r}")
            return args["of"] in agent.tools
        name, classifier = registration_of(args)
        if name in agent.tools:
            return False
        # Whether an exclusive call that turns parallel joins its neighbours is not said.
        return classifier != "safe" or all(block["name"] != name for block in agent.queue)

    def _change(self, op: str, args: JsonMap) -> Answer:
        if op == "undo":
            del self.agent.tools[str(args["of"])]
        else:
            name, classifier = registration_of(args)
            self.agent.tools[name] = classifier
        self.agent.rows.append(scheduling_rows.change_row())
        return Answer(by=("TOOL-CHANGE-01",), result=UNCHECKED)

    # ------------------------------------------------------------------ the model's answer

    def _streams(self, op: str, args: JsonMap) -> bool:
        """Whether an item fits the answer so far."""
        agent = self.agent
        if op == "stream.fail":
            return not agent.finished
        if op == "stream.end":
            return True
        chunk = args.get("chunk")
        if agent.finished or not isinstance(chunk, Mapping):
            return False
        index = len(agent.asking) + self._text_blocks()
        match chunk.get("type"):
            case "text-delta":
                return not agent.asking and chunk.get("index") == 0
            case "block-end":
                return chunk.get("index") == index and self._may_ask(chunk.get("block"))
            case "finish":
                return kind_of(chunk.get("reason")) in {"stop", "tool-calls", "max-tokens"}
        return False

    def _text_blocks(self) -> int:
        """How many blocks of text the answer has, items that the driver has not got among them."""
        agent = self.agent
        held = any(_type_of(args) == "text-delta" for _, args in agent.items)
        return int(agent.text is not None or held)

    def _may_ask(self, block: object) -> bool:
        """Whether a call has an id that nothing has, a tool of the contract, and arguments that it knows."""
        if not isinstance(block, Mapping) or block.keys() != {"type", "id", "name", "arguments"}:
            return False
        pending = {message["id"] for held in self.agent.lists.values() for message in held}
        return (
            block["type"] == "tool-call"
            and block["id"] not in self.agent.known | pending
            and block["name"] in {*OPENING_TOOLS, UNKNOWN}
            and block["arguments"] in ARGUMENTS
        )

    def _read_chunk(self, chunk: object) -> None:
        assert isinstance(chunk, Mapping)
        agent = self.agent
        match chunk.get("type"):
            case "block-end":
                agent.asking.append(chunk["block"])
                agent.known.add(str(chunk["block"]["id"]))
            case "finish":
                agent.finished = True

    # ------------------------------------------------------------------ calls

    def _ends(self, op: str, args: JsonMap) -> bool:
        """Whether an answer ends a call that waits, in a way that leaves one course to the others."""
        agent = self.agent
        kind, identity = called_kind(args)
        if (kind, identity) not in agent.gates:
            return False
        call = agent.call_of(identity)
        settles = True
        if op == "gate.reject":
            error_of(args)
        elif kind == BODY:
            value_of(args)
        elif kind == BEHIND:
            review = review_of(args)
            if any(self._taken(context) for context in review.contexts):
                return False
        else:
            settles = reason_of(args) is not None or call.name not in agent.tools
        return kind == BEHIND or not (settles and self._contends(call))

    def _contends(self, call: Call) -> bool:
        """Whether the call's end lets it be committed, and another one be started whose policy would hold that up.

        Of the two nothing says which comes first.
        """
        agent = self.agent
        if call.alone or call is not agent.started[0] or agent.cause is not None or agent.cap == 1:
            return False
        for block in agent.queue:
            if not agent.parallel(block):
                break
            if block["name"] == GUARDED:
                return True
        return False

    def _names_a_call(self, message: JsonMap) -> bool:
        return message["id"] in self.agent.known

    def _taken(self, message: JsonMap) -> bool:
        """Whether a context has an id that something has, or could get before it is delivered."""
        pending = {one["id"] for held in self.agent.lists.values() for one in held}
        return self._names_a_call(message) or message["id"] in pending

    def _may_burst(self, items: Sequence[JsonMap]) -> bool:
        """Whether a burst ends one call at most, and no review: of that nothing says whether it is over by the rest."""
        ended = [item for item in items if item.get("op") in ENDS]
        if any(item.get("op") == "world.open" for item in items) or len(ended) > 1:
            return False
        return all(called_kind(read_command(item)[1])[0] in {BODY, BEFORE} for item in ended)


def _type_of(args: JsonMap) -> object:
    chunk = args.get("chunk")
    return chunk.get("type") if isinstance(chunk, Mapping) else None
