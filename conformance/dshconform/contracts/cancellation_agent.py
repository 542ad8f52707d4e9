"""The abstract agent of the cancellation contract: as that of the wake contract, with the whole course of a turn.

Wherever something is logged, told or asked, a cancel can land; what the driver does next is decided where the sheet has
an abort check. Which answers hooks can give, and how requests fail, is the affair of the turn contract.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Final

from dshconform.contracts import inbox_rows as rows
from dshconform.contracts import turn_rows
from dshconform.contracts.agent_grid import signal_of
from dshconform.contracts.callbacks import ABORT, Place, Script
from dshconform.contracts.cancellation_commands import HOLD, HOOKS, PLACES, WAITING
from dshconform.contracts.inbox_agent import AbstractAgent, Phase
from dshconform.contracts.inbox_commands import FAILURE, kind_of
from dshconform.contracts.inbox_rows import ROUTE, Clauses, whole
from dshconform.contracts.scripted_agent import LeftOpen, ScriptedAgent
from dshconform.contracts.wake_agent import WakeAgent
from dshconform.contracts.wake_scripts import JOB
from dshconform.protocol.json_value import Json, JsonMap
from dshconform.trace.rows import ExpectedRow

_OBSERVED: Final = {"text-delta": "chunk observer", "finish": "finish observer"}
_DELTAS: Final = {"text-delta": "text", "reasoning-delta": "reasoning"}
_ENDS: Final = frozenset({"step end observer", "turn end observer"})


@dataclass(slots=True)
class CancellationAgent(WakeAgent):
    """The state of one agent.

    Args:
        ended: How the listener of the hook that was asked last has ended its call, if it did not pass.
        asked: Whether the hook that waits has called its `next()`.
        early: Whether a listener of the assembly waits that may be called inside the call under way, or behind it.
        blocks: The blocks of the answer, each its type and text, in order of appearance.
        calling: Whether the answer asks for a tool.
        replay: What the answer's finish says of the adapter's state, if anything.
        header: The configuration of the last header, if there is one.
        context: The route of the last context, if there is one.
        overtaken: Whether a cancel came too late for the turn that ends.
        spared: Whether it was cancelled since there was an activity.
        stopping_by: Who says how the turn ends that is being stopped.
    """

    places: ClassVar[Mapping[str, Place]] = PLACES
    gates: ClassVar[Mapping[Phase, str]] = {"maintaining": "maintenance", **WAITING}
    """By phase, the kind of the gate that waits in it, if it is not the model's."""

    ended: JsonMap | None = None
    asked: bool = False
    early: bool = False
    blocks: dict[Json, tuple[str, str]] = field(default_factory=dict)
    calling: bool = False
    replay: JsonMap | None = None
    header: JsonMap | None = None
    context: JsonMap | None = None
    overtaken: bool = False
    spared: bool = False
    stopping_by: Clauses = ()

    def begin(self) -> None:
        """A command comes: what it leads to is written down from here on."""
        WakeAgent.begin(self)
        self.early = False

    def copy(self) -> "CancellationAgent":
        """An agent to try commands on, to the end."""
        other = WakeAgent.copy(self)
        assert isinstance(other, CancellationAgent)
        other.blocks, other.chunks, other.history = dict(self.blocks), list(self.chunks), list(self.history)
        return other

    @property
    def waiting(self) -> tuple[str, ...]:
        """The kinds of the gates that wait for the suite: one at most."""
        return (self.gates.get(self.phase, "model/stream"),) if self.gate_open else ()

    @property
    def seed(self) -> JsonMap:
        """What `agent/request` proposes."""
        return ROUTE if self.header is None else self.header

    def when(self) -> str:
        """When something is done from outside, as the grid says it."""
        if self.phase == "streaming":
            return "finished" if self.finish else "answering" if self._blocks(interrupted=True) else "streaming"
        return self.phase

    @property
    def window(self) -> str:
        """In which window something is done: the signal where it is aborted, and otherwise what is pending."""
        if self.cause is not None:
            return signal_of(self)
        steps, turns = bool(self.lists["next-step"]), bool(self.lists["next-turn"])
        return "both" if steps and turns else "context" if steps else "prompt" if turns else "nothing"

    def moment_of(self, script: Script) -> str:
        """When a script runs, as the grid says it."""
        moment = ScriptedAgent.moment_of(self, script)
        failed = self.finish == "error" and self.cause is None
        return f"{moment} of a failure" if failed and script.place in _ENDS else moment

    # ------------------------------------------------------------------ hooks

    def returned(self, script: Script) -> None:
        """The call of an awaited hook is over, or waits from here on.

        Args:
            script: What the hook did.
        """
        if script.ending is not None:
            self.ended = script.ending
        if script.ending != HOLD:
            ScriptedAgent.returned(self, script)

    def _waits(self, place: str, *others: str) -> bool:
        """A hook is asked; answer whether it waits for the suite.

        Raises:
            LeftOpen: It answers in a way that is another contract's affair.
        """
        armed = list(self.armed)
        ended = self._ask(place, *others)
        if ended != HOLD:
            if ended is not None and not self.fired() and place != "request listener":
                raise LeftOpen
            return False
        part = next(script.part for script in armed if script.place == place and script not in self.armed)
        self.phase, self.gate_open = HOOKS[place], True
        signal: dict[str, Json] = {"aborted": rows.by(("CANCEL-SIGNAL-01",), self.cause is not None)}
        if self.cause is not None:
            signal["reason"] = rows.by(("CANCEL-FIRST-01", "CANCEL-CAUSE-01"), {"$exact": self.cause})
        row: JsonMap = {"on": "gate", "part": part, "kind": WAITING[self.phase], "payload": {"signal": signal}}
        self.rows.append(ExpectedRow(row, ("LOOP-PRE-01",)))
        return True

    def _ask(self, *places: str) -> JsonMap | None:
        """The listeners of a hook are asked; how the one ended its call that did not pass, if there is one."""
        self.ended, self.asked = None, False
        self.call_back(*places)
        return self.ended

    def _answered(self, op: str, args: JsonMap) -> Clauses:
        if self.phase not in WAITING:
            return WakeAgent._answered(self, op, args)  # noqa: SLF001 - its own base; slots spoil `super()`
        self.holders = [one.part for one in self.on_abort]
        self.ended = {**args, "do": "throw"} if op == "gate.reject" else {**args, "do": "return"}
        return _GOES_ON[self.phase](self)

    def telling(self, part: str, clauses: Clauses) -> Clauses:
        """Who demands that a holder of the signal is told: that a hook has the turn's, before what it reads there.

        Args:
            part: The holder.
            clauses: Demand it of every holder.
        """
        if part in {rows.MODEL, JOB}:
            return clauses
        at = clauses.index("CANCEL-CAUSE-01")
        return (*clauses[:at], "CANCEL-SIGNAL-01", *clauses[at:])

    def surplus(self, row: JsonMap, ahead: Sequence[ExpectedRow]) -> Clauses:
        """Who says first of a row that it may not come now: where a turn's signal fires, who else is told has another.

        Args:
            row: One that is not expected where it stands.
            ahead: What is expected from there on.
        """
        told = {one.pattern["part"] for one in self.rows if one.pattern["on"] == "abort"}
        if row["on"] == "abort" and told and not told & {row["part"], JOB}:
            return ("CANCEL-SIGNAL-01",)
        return WakeAgent.surplus(self, row, ahead)

    def _observed(self, place: str, row: ExpectedRow) -> None:
        """Something is logged, and its observers are called."""
        self.rows.append(row)
        if self.armed:
            self.call_back(place)

    # ------------------------------------------------------------------ the driver

    def wake(self, status: Clauses, opened: Clauses, batch: Clauses) -> None:
        """A driver starts: that the agent was cancelled while it was idle makes no difference."""
        spared: Clauses = ("CANCEL-IDLE-01",) if self.spared else ()
        self.spared = False
        WakeAgent.wake(self, status, (*spared, *opened), batch)

    def _open_turn(self, opened: Clauses, batch: Clauses) -> None:
        late: Clauses = ("CANCEL-END-01", "CANCEL-SIGNAL-01") if self.overtaken else ()
        self.overtaken = False
        WakeAgent._open_turn(self, (*late, *opened), batch)  # noqa: SLF001

    def _run_ends(self, after: Clauses, parked: Clauses = ()) -> Clauses:
        self.overtaken = False
        return WakeAgent._run_ends(self, after, parked)  # noqa: SLF001

    def _claim(self, prompts: int, row: Clauses, batch: Clauses) -> None:
        WakeAgent._claim(self, prompts, row, batch)  # noqa: SLF001
        if any(script.place == "assembly listener" for script in self.armed):
            if self.running:
                raise LeftOpen  # whether the prompt is assembled before the script goes on
            if not self.settling:
                self.early = True

    def _propose(self) -> Clauses:
        return ("LOOP-PRE-01",) if self._waits("assembly listener") else self._assembled()

    def _assembled(self) -> Clauses:
        if self.fired():
            return self._close_aborted(("CANCEL-REENTRY-03",) if self.condemned else ("CANCEL-PHASE-03",))
        self.phase = "claimed"
        return ("LOOP-PRE-01",) if self._waits("pre-step listener", ABORT) else self._decided()

    def _enter(self, owed: Clauses = ()) -> Clauses:
        """The step is opened and the batch recorded, wherever a cancel lands meanwhile."""
        self.step += 1
        self.phase = "claimed"
        begun: Clauses = (*owed, "LOOP-PRE-01", "LOOP-STEP-01")
        self._observed("step start observer", rows.boundary("step/start", self.turn, self.step, begun))
        for message in self.batch:
            entered: Clauses = ("LOOP-PRE-04",) if not self.fired() else ("CANCEL-PHASE-05", "LOOP-PRE-04")
            self._observed("entered observer", rows.user_message(message, entered))
        self.history.extend(whole(message) for message in self.batch)
        if self.fired():
            return self._abort_open_step(("CANCEL-PHASE-05",))
        return ("LOOP-PRE-01",) if self._waits("request listener") else self._requested()

    def _requested(self) -> Clauses:
        if self.fired():
            return self._abort_open_step(("CANCEL-PHASE-06", "CANCEL-ERR-01"))
        config = self.seed if self.ended is None else self.ended.get("value")
        if not isinstance(config, Mapping):
            raise LeftOpen
        if config != self.header:
            row = turn_rows.header_row(config, first=self.header is None)
            self.header = config
            self._observed("header observer", row)
        route: JsonMap = {name: config[name] for name in ROUTE}
        if route != self.context:
            row, self.context = turn_rows.context_row(config), route
            caught: Clauses = () if not self.fired() else ("CANCEL-PHASE-06",)
            self._observed("context observer", ExpectedRow(row.pattern, (*caught, *row.clauses)))
        if self.fired():
            return self._abort_open_step(("CANCEL-PHASE-06",))
        self.calls += 1
        self.rows.append(rows.model_gate(self.calls, self.history, ("REQ-HEAD-02", "REQ-CTX-01", "LOOP-PRE-01")))
        self.phase, self.gate_open, self.route = "streaming", True, config
        self.chunks, self.text, self.finish, self.usage, self.replay = [], None, None, None, None
        self.blocks, self.calling = {}, False
        return ("LOOP-PRE-01",)

    # ------------------------------------------------------------------ the answer

    def _take(self, op: str, args: JsonMap) -> Clauses:
        chunk = args.get("chunk")
        if not self.fired() and isinstance(chunk, Mapping):
            self._read(chunk)
        return AbstractAgent._take(self, op, args)  # noqa: SLF001

    def _read(self, chunk: JsonMap) -> None:
        """Take in an item of the answer."""
        kind, index = str(chunk.get("type")), chunk.get("index")
        if kind in _DELTAS:
            _, before = self.blocks.get(index, ("", ""))
            self.blocks[index] = _DELTAS[kind], before + str(chunk.get("text"))
        elif kind == "block-end":
            self.calling = True
        for name in ("usage", "replayState"):
            told = chunk.get(name)
            if isinstance(told, Mapping):
                self.usage, self.replay = (told, self.replay) if name == "usage" else (self.usage, told)

    def _blocks(self, *, interrupted: bool) -> list[Json]:
        return [{"type": kind, "text": text} for kind, text in self.blocks.values() if not interrupted or text.strip()]

    def _source(self, *, interrupted: bool) -> JsonMap:
        source = AbstractAgent._source(self, interrupted=interrupted)  # noqa: SLF001
        if self.replay is None or interrupted:
            return source
        return {**source, "replayState": self.replay}

    def _log_chunk(self, chunk: JsonMap, clauses: Clauses) -> None:
        AbstractAgent._log_chunk(self, chunk, clauses)  # noqa: SLF001
        place = _OBSERVED.get(str(chunk.get("type")))
        if place is not None and self.armed:
            self.call_back(place)

    def _log_message(self, *, interrupted: bool, content: Clauses) -> None:
        AbstractAgent._log_message(self, interrupted=interrupted, content=content)  # noqa: SLF001
        if self.armed:
            self.call_back("answer observer")

    def _end_step(self, clauses: Clauses = ("INV-STEP-02",)) -> None:
        AbstractAgent._end_step(self, clauses)  # noqa: SLF001
        if self.armed:
            self.call_back("step end observer")

    def _complete_step(self) -> Clauses:
        self._log_message(interrupted=False, content=("LOOP-MSG-01",))
        self._end_step()
        if self.fired():
            return self._close_aborted(("CANCEL-STOP-01",))
        return self._step_ended(ceiling=self.finish == "max-tokens")

    def _stop(self, outcome: str, ending: Clauses) -> Clauses:
        self.stopping_by = ending
        if self._waits("stopping listener"):
            return ("LOOP-STOP-01",)
        return self._stopped(outcome, ending)

    def _released(self) -> Clauses:
        assert self.outcome is not None
        return self._stopped(self.outcome, self.stopping_by)

    # ------------------------------------------------------------------ failures and aborts

    def _fail_step(self) -> Clauses:
        failure: JsonMap = {"kind": "error", "failure": {"$exact": FAILURE}}
        self.finish = "error"
        self._log_chunk({"type": "finish", "reason": failure}, ("STREAM-FAIL-02",))
        if self.fired():
            return self._abort_step("CANCEL-STREAM-06")
        return ("RERR-POS-01",) if self._waits("recovery listener") else self._recovered()

    def _recovered(self) -> Clauses:
        if not self.fired():
            return self._fail_request()
        retried = self.ended is not None and kind_of(self.ended.get("value")) == "retry"
        return self._abort_open_step((*(("RERR-CANCEL-01",) if retried else ()), "CANCEL-RERR-01"))

    def _abort_step(self, why: str) -> Clauses:
        return AbstractAgent._abort_step(self, why)  # noqa: SLF001


_GOES_ON: Final[Mapping[Phase, Callable[[CancellationAgent], Clauses]]] = {
    "assembling": CancellationAgent._assembled,  # noqa: SLF001 - this module's own class
    "deciding": CancellationAgent._decided,  # noqa: SLF001
    "requesting": CancellationAgent._requested,  # noqa: SLF001
    "recovering": CancellationAgent._recovered,  # noqa: SLF001
    "stopping": CancellationAgent._released,  # noqa: SLF001
}
"""By phase, what an answer of the hook that waits leads to."""
