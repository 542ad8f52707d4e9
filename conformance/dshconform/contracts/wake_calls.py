"""What each command of the wake contract does before it returns, inside callbacks too, and when the clauses say so."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Final

from dshconform.contracts.callbacks import ABORT, Listeners, Script
from dshconform.contracts.inbox_calls import IDLE_CANCEL_KEEPS_INPUT, VARIANTS, Answer, Calls
from dshconform.contracts.inbox_commands import PRESETS, STREAM_ANSWERS, items_of, read_command
from dshconform.contracts.inbox_rows import AGENT, Clauses, return_row
from dshconform.contracts.model import CommandError
from dshconform.contracts.scripted_agent import LeftOpen
from dshconform.contracts.turn_commands import kind_of_gate
from dshconform.contracts.wake_agent import WakeAgent
from dshconform.contracts.wake_scripts import JOB_ANSWERS, LISTENERS, read_job
from dshconform.protocol.json_value import Json, JsonMap
from dshconform.running.step import UNCHECKED

_IDLE_CANCEL_SPARES_DRIVER: Final = "idle-cancel-spares-new-driver"
WAKE_VARIANTS: Final[Mapping[str, str]] = {
    IDLE_CANCEL_KEEPS_INPUT: VARIANTS[IDLE_CANCEL_KEEPS_INPUT],
    _IDLE_CANCEL_SPARES_DRIVER: "CANCEL-REENTRY-03",  # a driver that a listener woke during the clearing goes on
}
"""Where the model can follow an implementation rather than the clause."""

ARMED: Final = 2
"""Listeners that wait for their call, at most."""

_SCRIPTED: Final = frozenset({*PRESETS, "agent.send", "agent.cancel", "agent.maintain", "inbox.remove"})
"""What a callback may do."""

WAKE_CALLS: Final = _SCRIPTED | {"listen", "agent.whenIdle", "agent.inspect", "burst", *STREAM_ANSWERS, *JOB_ANSWERS}

_REENTERED: Final[JsonMap] = {"message": "session append cannot reenter while another append is being published"}
_BUSY: Final[JsonMap] = {"message": f'agent "{AGENT}" already has active work'}


@dataclass(slots=True)
class WakeCalls(Calls):
    """The calls of one agent, those of callbacks among them."""

    answers: ClassVar[frozenset[str]] = STREAM_ANSWERS | JOB_ANSWERS

    listeners: ClassVar[Listeners] = LISTENERS
    """Reads and writes the listeners of the contract."""
    known: ClassVar[frozenset[str]] = WAKE_CALLS
    """Every operation."""

    agent: WakeAgent
    _tried: dict[tuple[str, int], tuple[JsonMap, WakeAgent | None]] = field(default_factory=dict)
    """What commands would make of the agent as it is; the arguments are held, so that they keep their identity."""

    def __post_init__(self) -> None:
        self.agent.play = self._play

    # ------------------------------------------------------------------ what may be done

    def legal(self, op: str, args: JsonMap) -> bool:
        """Whether the clauses say what a command does now, callbacks included.

        Raises:
            CommandError: It is no command of this contract.
        """
        if op not in self.known:
            raise CommandError(f"{op!r} is no command of this contract; known: {', '.join(sorted(self.known))}")
        for one in self._scripted(op, args):
            inner, inner_args = read_command(one)
            if inner not in _SCRIPTED or self._scripted(inner, inner_args):
                raise CommandError(f"{inner!r} is nothing that a callback of this contract does")
        if op == "listen":
            return self._may_listen(self.listeners.read(args))
        if op == "burst":
            items = [read_command(item) for item in items_of(args)]
            if any(inner in {"burst", "listen", "agent.whenIdle"} for inner, _ in items):
                return False
        elif not self._allowed(op, args):
            return False
        elif self._is_plain(op):
            return True
        return self._try(op, args) is not None

    def visits(self, op: str, args: JsonMap) -> Sequence[tuple[str, str, str]]:
        """The moments, acts and windows that a legal command visits.

        Args:
            op: The operation.
            args: Its arguments.
        """
        if self._is_plain(op):
            return [(self.agent.when(), self.act_of(op, args), self.agent.window)]
        tried = self._try(op, args)
        return () if tried is None else tried.visited

    def _scripted(self, op: str, args: JsonMap) -> Sequence[JsonMap]:
        """The commands that run inside a command's callbacks."""
        if op == "listen":
            return self.listeners.read(args).commands
        return [one for script in read_job(args) for one in script.commands] if op == "agent.maintain" else ()

    def _is_plain(self, op: str) -> bool:
        """Whether a command calls nothing back, and nothing stands between its calls."""
        return not self.agent.armed and not self.agent.on_abort and op not in {"burst", "agent.maintain"}

    def _try(self, op: str, args: JsonMap) -> WakeAgent | None:
        """What a command would make of the agent; nothing where that is left open."""
        key = op, id(args)
        if key not in self._tried:
            self._tried[key] = args, self._played(op, args)
        return self._tried[key][1]

    def _played(self, op: str, args: JsonMap) -> WakeAgent | None:
        agent = self.agent.copy()
        assert isinstance(agent, WakeAgent)
        trial = type(self)(agent, self.switches)
        agent.begin()
        try:
            trial.call(op, args)
            agent.settle()
        except LeftOpen:
            return None
        return agent

    def _may_listen(self, script: Script) -> bool:
        named = script.turn in {None, self.agent.turn + 1} and all(one.part != script.part for one in self.agent.armed)
        told = script.place == ABORT and any(one.place == ABORT for one in self.agent.armed)
        return named and not told and len(self.agent.armed) < ARMED

    def _allowed(self, op: str, args: JsonMap) -> bool:
        """Whether a command makes sense now, whatever it leads to."""
        agent = self.agent
        if op in STREAM_ANSWERS:
            return agent.gate_open and agent.phase == "streaming"
        if op in JOB_ANSWERS:
            return agent.phase == "maintaining" and kind_of_gate(args) in agent.waiting
        if op == "agent.whenIdle":
            return not agent.waiter
        if op == "agent.cancel":
            return Calls.legal(self, op, args)
        return True

    # ------------------------------------------------------------------ what is done

    def call(self, op: str, args: JsonMap) -> Answer:
        """Do a command: everything up to its return, and not the `return` row.

        Raises:
            LeftOpen: The clauses do not say what it does now.
        """
        agent = self.agent
        self._tried.clear()
        if op == "burst":
            return Calls.call(self, op, args)
        if agent.loose or not self._allowed(op, args):
            raise LeftOpen
        self._visit(op, args)
        match op:
            case "listen":
                agent.armed.append(self.listeners.read(args))
                return Answer(by=("AGENT-STATUS-04",))
            case "agent.whenIdle":
                agent.waiter = True
                return Answer(by=("IDLE-RES-01",))
            case "agent.maintain":
                return self._maintain(args)
            case _:
                return Calls.call(self, op, args)

    def _visit(self, op: str, args: JsonMap) -> None:
        """Note the cell in which a command is done."""
        agent, act = self.agent, self.act_of(op, args)
        if agent.running:
            run = agent.running[-1]
            run.acts.append(act)
            agent.visited.append((run.moment, " then ".join(run.acts), run.window))
        else:
            agent.visited.append((agent.when(), act, agent.window))

    def act_of(self, op: str, args: JsonMap) -> str:
        """What a command is called in the grid.

        Args:
            op: Its operation.
            args: Its arguments.
        """
        match op:
            case "agent.cancel":
                return "keep" if args.get("keepInbox") is True else "cancel"
            case "agent.send":
                return "send waking" if args.get("wakeup") is True else "send quiet"
            case _:
                return _ACTS.get(op, op)

    def _play(self, script: Script) -> None:
        """Run a script."""
        for index, written in enumerate(script.commands):
            op, args = read_command(written)
            done = self.call(op, args)
            if done.departed is not None:
                self.agent.departed.append(done.departed)
            row = return_row(op, done.limit, f"{script.at}{index}", done.shown, script.part)
            self.agent.rows.append(row)

    def _maintain(self, args: JsonMap) -> Answer:
        if self.agent.phase != "idle":
            return Answer(by=("MAINT-EXCL-01",), error=_BUSY)
        self.agent.interrupted = True
        self.agent.maintain(*read_job(args))
        return Answer(by=("MAINT-START-01",))

    def _send(self, message: JsonMap, target: Json, *, wakeup: bool) -> Answer:
        agent = self.agent
        outer, agent.interrupted = agent.interrupted, False
        answer = Calls._send(self, message, target, wakeup=wakeup)  # noqa: SLF001 - the base class's own; a class with slots has no `super()`
        agent.interrupted = outer
        return answer

    def _cancel(self, args: JsonMap) -> Answer:
        agent = self.agent
        keep = args.get("keepInbox") is True
        if not keep and agent.publishing and agent.pending and not self._leaves_inbox():
            agent.refused = True
            return Answer(by=("CANCEL-REENTRY-01",), error=_REENTERED)
        agent.interrupted = True
        if agent.closing and agent.cause is None:
            return self._cancel_too_late(keep=keep)
        idle = agent.phase == "idle"
        if keep and agent.latch:
            agent.latched_by = ("WAKE-CLEAR-01", *agent.latched_by)
        answer = Calls._cancel(self, args)  # noqa: SLF001
        if agent.phase == "idle" and agent.tasked:
            return replace(answer, more=("MAINT-CANCEL-02", *answer.more))
        return self._met_activity(answer) if idle else answer

    def _met_activity(self, answer: Answer) -> Answer:
        """A listener started an activity while the inbox of an idle agent was cleared, and the cancel aborted it."""
        agent = self.agent
        aborted = replace(answer, by=("CANCEL-REENTRY-03", *answer.by))
        if agent.phase == "maintaining":
            return aborted
        if _IDLE_CANCEL_SPARES_DRIVER in self.switches:
            agent.cause = None  # nobody was told: before its claim is over, nothing of the suite holds the signal
            return Answer(by=("CANCEL-REENTRY-03",), departed=_IDLE_CANCEL_SPARES_DRIVER, result=UNCHECKED)
        agent.condemned = True
        return aborted

    def _leaves_inbox(self) -> bool:
        return self.agent.phase == "idle" and IDLE_CANCEL_KEEPS_INPUT in self.switches

    def _cancel_too_late(self, *, keep: bool) -> Answer:
        """The turn has ended as it has; whether its signal is still aborted is left open."""
        if self.agent.holders:
            raise LeftOpen
        if not keep:
            self.agent.forget()
        return Answer(by=("CANCEL-END-01",))

    def _edit(self, op: str, args: JsonMap) -> Answer:
        agent = self.agent
        pending = any(message["id"] == args.get("id") for held in agent.lists.values() for message in held)
        if agent.publishing and pending:
            return Answer(by=("INBOX-DUR-04",), error=_REENTERED)
        return Calls._edit(self, op, args)  # noqa: SLF001

    def _refused(self, inserted: Sequence[JsonMap], clauses: Clauses) -> Answer | None:
        refused = Calls._refused(self, inserted, clauses)  # noqa: SLF001
        if refused is None and self.agent.publishing:
            return Answer(by=("INBOX-DUR-04",), error=_REENTERED)
        return refused


_ACTS: Final[Mapping[str, str]] = {
    "agent.maintain": "maintain",
    "agent.whenIdle": "whenIdle",
    "inbox.remove": "remove",
    "stream.end": "end",
    "stream.fail": "fail",
    "stream.chunk": "text",
    "gate.resolve": "end",
    "gate.reject": "fail",
    **{preset: preset.removeprefix("agent.") for preset in PRESETS},
}
