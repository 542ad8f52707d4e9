"""What each command of the cancellation contract does before it returns, and when the clauses say so at all."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from dshconform.contracts.agent_grid import common_act
from dshconform.contracts.callbacks import Listeners, Script
from dshconform.contracts.cancellation_agent import CancellationAgent
from dshconform.contracts.cancellation_commands import (
    ENDINGS,
    HOLD,
    HOOKS,
    LISTENERS,
    MODELS,
    OTHER_ANSWERS,
    WAITING,
    answer_act,
    going_on,
    type_of,
)
from dshconform.contracts.inbox_calls import Answer
from dshconform.contracts.inbox_commands import STREAM_ANSWERS, kind_of, read_command
from dshconform.contracts.scripted_agent import LeftOpen
from dshconform.contracts.turn_commands import BY_NEXT, HOOK_ANSWERS, kind_of_gate
from dshconform.contracts.wake_calls import ARMED, WAKE_CALLS, WakeCalls
from dshconform.protocol.json_value import JsonMap

_LATER: Final = frozenset({"request listener", "recovery listener", "stopping listener"})
"""The hooks that a turn may ask while its answer is streamed, or behind it."""


@dataclass(slots=True)
class CancellationCalls(WakeCalls):
    """The calls of one agent, those of callbacks among them, and the answers of its hooks."""

    answers: ClassVar[frozenset[str]] = STREAM_ANSWERS | HOOK_ANSWERS
    listeners: ClassVar[Listeners] = LISTENERS
    """Reads and writes the listeners of the contract."""
    known: ClassVar[frozenset[str]] = WAKE_CALLS | HOOK_ANSWERS
    endings: ClassVar[Mapping[str, Sequence[JsonMap]]] = ENDINGS
    """How the script of a hook can end, by its place."""

    agent: CancellationAgent

    def call(self, op: str, args: JsonMap) -> Answer:
        """Do a command: everything up to its return, and not the `return` row.

        Raises:
            LeftOpen: The clauses do not say what it does now.
        """
        agent = self.agent
        if agent.early and (not agent.settling or f"return {op}" in agent.apart):
            raise LeftOpen
        if op != "gate.next":
            answer = WakeCalls.call(self, op, args)
            if agent.early and not agent.settling:
                agent.apart |= {f"return {op}"}
            return answer
        if not self._allowed(op, args):
            raise LeftOpen
        self._tried.clear()
        agent.asked = True
        return Answer()

    def act_of(self, op: str, args: JsonMap) -> str:
        """What a command is called in the grid.

        Args:
            op: Its operation.
            args: Its arguments.
        """
        if op == "gate.reject" and self.agent.phase in WAITING:
            return "throw"
        if op == "gate.resolve" and self.agent.phase in WAITING:
            return answer_act(args)
        if op == "stream.chunk":
            return type_of(args) or op
        return common_act(op, args) or WakeCalls.act_of(self, op, args)

    def _may_listen(self, script: Script) -> bool:
        """Whether a hook with an answer of its own has no other listener, and one answer that the contract knows."""
        event = self.listeners.places[script.place].event
        for one in self.agent.armed:
            if self.listeners.places[one.place].event == event and (script.ending or one.ending) is not None:
                return False
        known = (*((HOLD,) if script.place in HOOKS else ()), *self.endings.get(script.place, ()))
        if script.ending is not None and script.ending not in known:
            return False
        if script.turn == self.agent.turn and script.place in _LATER and self.agent.phase == "streaming":
            return all(one.part != script.part for one in self.agent.armed) and len(self.agent.armed) < ARMED
        return WakeCalls._may_listen(self, script)  # noqa: SLF001 - its own base; slots spoil `super()`

    def _allowed(self, op: str, args: JsonMap) -> bool:
        """Whether a command makes sense now, whatever it leads to."""
        agent = self.agent
        if op in HOOK_ANSWERS and agent.phase in WAITING:
            return agent.gate_open and kind_of_gate(args) == WAITING[agent.phase] and self._answers(op, args)
        if op == "gate.next":
            return False
        if op in STREAM_ANSWERS and agent.phase == "streaming":
            return agent.gate_open and self._streams(op, args)
        return WakeCalls._allowed(self, op, args)  # noqa: SLF001

    def _answers(self, op: str, args: JsonMap) -> bool:
        """Whether a hook answers so: before an abort there is one answer, but for the route of a request."""
        agent = self.agent
        if op == "gate.next":
            return agent.phase == "assembling" and not agent.asked
        if args.get("value") == BY_NEXT:
            return agent.asked
        others = [read_command(one) for one in OTHER_ANSWERS[agent.phase]]
        if agent.cause is not None and (op, args) in others:
            return True
        if op == "gate.reject" or agent.phase == "assembling":
            return False
        if agent.phase == "requesting":
            value = args.get("value")
            return isinstance(value, Mapping) and value.get("provider") == "mock" and value.get("model") in MODELS
        _, goes_on = read_command(going_on(agent.phase, agent.batch, agent.seed))
        return args == goes_on

    def _streams(self, op: str, args: JsonMap) -> bool:
        """Whether an item fits the answer so far: one that asks for a tool is never complete."""
        agent = self.agent
        if agent.cause is not None:
            return True
        if op != "stream.chunk":
            return op == "stream.fail" if agent.calling else not (op == "stream.fail" and agent.finish)
        kind, chunk = type_of(args), args.get("chunk")
        if agent.finish is not None or not isinstance(chunk, Mapping):
            return False
        if kind == "finish":
            return not agent.calling and kind_of(chunk.get("reason")) in {"stop", "max-tokens"}
        return kind in {"text-delta", "reasoning-delta", "usage"} or (kind == "block-end" and not agent.calling)

    def _cancel(self, args: JsonMap) -> Answer:
        answer = WakeCalls._cancel(self, args)  # noqa: SLF001
        self.agent.spared = self.agent.phase == "idle"
        return answer

    def _cancel_too_late(self, *, keep: bool) -> Answer:
        self.agent.overtaken = True
        return WakeCalls._cancel_too_late(self, keep=keep)  # noqa: SLF001
