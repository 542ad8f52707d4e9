"""What each command of the turn contract does before it returns, and when the clauses say so at all."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Final

from dshconform.contracts import turn_rows
from dshconform.contracts.inbox_calls import Answer, Calls
from dshconform.contracts.inbox_commands import STREAM_ANSWERS, items_of, kind_of
from dshconform.contracts.inbox_rows import Clauses
from dshconform.contracts.model import CommandError
from dshconform.contracts.turn_agent import TurnAgent
from dshconform.contracts.turn_commands import (
    BY_NEXT,
    FAILURES,
    FAULTY,
    HOOK_ANSWERS,
    HOOKS,
    entered,
    error_of,
    kind_of_gate,
)
from dshconform.protocol.json_value import JsonMap

_BY_DEFAULT: Final[Mapping[str, Clauses]] = {
    "deciding": ("LOOP-PRE-04",),
    "requesting": ("REQ-SEED-01", "REQ-SEED-02"),
    "recovering": ("RERR-TERM-01",),
}
"""Who says what a hook's `next()` answers."""


@dataclass(slots=True)
class TurnCalls(Calls):
    """The calls of one agent, the answers to its hooks among them."""

    answers: ClassVar[frozenset[str]] = STREAM_ANSWERS | HOOK_ANSWERS

    agent: TurnAgent

    def legal(self, op: str, args: JsonMap) -> bool:
        """Whether the clauses say what a command does now.

        Raises:
            CommandError: It is no command of this contract.
        """
        if op == "listen":
            return self._may_listen(args)
        if op in self.answers:
            return self.agent.gate_open and self._answers(op, args)
        if op == "burst" and any(item.get("op") in {"listen", "gate.next"} for item in items_of(args)):
            return False  # a `next()` may be told late, so nothing is said of what stands around it
        if op == "agent.cancel" and self.agent.phase == "streaming" and self.agent.finish in FAILURES:
            return False  # whether a response that has told its failure can still be cut is not said
        return Calls.legal(self, op, args)

    def call(self, op: str, args: JsonMap) -> Answer:
        """Do a legal command: everything up to its return, and not the `return` row."""
        agent = self.agent
        if op == "listen":
            agent.faulty.add(str(args["as"]))
            return Answer(by=("EVENTS-EMIT-01",))
        if op == "gate.next":
            agent.asked = True
            part = HOOKS[agent.phase][0]
            clauses = _BY_DEFAULT[agent.phase]
            agent.rows.append(turn_rows.next_row(part, agent.times[part], agent.default, clauses))
            return Answer(by=clauses)
        return Calls.call(self, op, args)

    def _may_listen(self, args: JsonMap) -> bool:
        if not any(args == known["args"] for known in FAULTY):
            raise CommandError(f"a listener of the turn contract is one of its own, not {args!r}")
        return args["as"] not in self.agent.faulty

    def _answers(self, op: str, args: JsonMap) -> bool:
        """Whether a command answers the function that waits, in a way that the clauses speak of."""
        agent = self.agent
        waiting = HOOKS[agent.phase][1] if agent.phase in HOOKS else "model/stream"
        if kind_of_gate(args) != waiting:
            return False
        if op in STREAM_ANSWERS:
            return agent.phase == "streaming" and (agent.finish not in FAILURES or op == "stream.end")
        if op == "gate.reject":
            return agent.phase in HOOKS and bool(error_of(args))
        if op == "gate.next":
            return agent.phase in _BY_DEFAULT and not agent.asked
        if args.get("value") == BY_NEXT:
            return agent.asked
        match agent.phase:
            case "deciding":
                return self._decides(args)
            case "requesting":
                value = args.get("value")  # what anything else than a configuration does is not said
                return isinstance(value, Mapping) and value.get("provider", "mock") in {"mock", ""}
            case "recovering":
                return True
            case _:
                return agent.phase == "stopping" and "value" not in args

    def _decides(self, args: JsonMap) -> bool:
        """Whether a decision enters no id twice; an empty one for a step that owes a request is the tools' affair."""
        messages = entered(args)
        if messages is None:
            return kind_of(args.get("value")) in {None, "reject", "enter"}
        return len({message["id"] for message in messages}) == len(messages)
