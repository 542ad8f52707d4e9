"""The abstract agent of the wake contract: phase, signal and latch, whoever calls and from wherever.

Of turns there is only what decides about phase and latch; steps and requests are the affair of other contracts.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from dshconform.contracts import inbox_rows as rows
from dshconform.contracts.callbacks import ABORT, Place, Script
from dshconform.contracts.inbox_agent import AbstractAgent
from dshconform.contracts.inbox_rows import Clauses
from dshconform.contracts.scripted_agent import LeftOpen, ScriptedAgent
from dshconform.contracts.wake_scripts import JOB, PLACES, WAITER
from dshconform.protocol.json_value import Json, JsonMap
from dshconform.trace.rows import ExpectedRow

_SENT_FROM: Final = {
    ABORT: "WAKE-LATCH-04",
    "running listener": "WAKE-RUN-01",
    "error listener": "WAKE-FAIL-02",
}
"""Who says that a wake is remembered that comes from there, after an abort."""

_ONE_RUN: Final[Clauses] = ("AGENT-STATUS-04",)
"""Who says that nothing follows while a turn waits for its model."""


@dataclass(slots=True)
class WakeAgent(ScriptedAgent):
    """The state of one agent.

    Args:
        open: Whether a turn is open.
        replaying: Whether the latch was set when the last activity settled.
        settled: Whether the script that was called last is of a listener of `idle`.
        heard: Whether there was one since the last activity settled.
        interrupted: Whether there was a call, during the insertion of the send under way, that bears upon its wake.
        latched_by: Who says that the latch is set.
        latched_from: The place of the script that set it last, if any.
        parked_by: Who says that wakes of this activity are not remembered.
        settling: Whether all calls of the command have returned.
        swept: Whether a listener of a clearing has run a script.
        refused: Whether an observer's clearing cancel was refused in this command.
        condemned: Whether a listener has woken the driver while the inbox of an idle agent was cleared, and the rest of
            that cancel has aborted it.
        waiter: Whether somebody waits for idle.
        tasked: Whether there was a maintenance task.
        task_ended: Whether the maintenance task has ended in this command.
        unordered: Whether the wait for idle ended with it: which of the two is told first is not said.
        unwoken_by: Who says that no driver starts behind the task that has ended in this command.
    """

    places: ClassVar[Mapping[str, Place]] = PLACES

    open: bool = False
    replaying: bool = False
    settled: bool = False
    heard: bool = False
    interrupted: bool = False
    latched_by: Clauses = ()
    latched_from: str = ""
    parked_by: Clauses = ()
    settling: bool = False
    swept: bool = False
    refused: bool = False
    condemned: bool = False
    waiter: bool = False
    tasked: bool = False
    task_ended: bool = False
    unordered: bool = False
    unwoken_by: Clauses = ()

    def begin(self) -> None:
        """A command comes: what it leads to is written down from here on."""
        ScriptedAgent.begin(self)
        self.settled = self.task_ended = self.unordered = self.refused = False
        self.unwoken_by = ()

    @property
    def waiting(self) -> tuple[str, ...]:
        """The kinds of the gates that wait for the suite: one at most."""
        kind = "maintenance" if self.phase == "maintaining" else "model/stream"
        return (kind,) if self.gate_open else ()

    def when(self) -> str:
        """When something is done from outside, as the grid says it."""
        return self.phase

    @property
    def window(self) -> str:
        """The signal, and whether a wake is remembered; while `idle` is told, whether one was."""
        if self.phase == "idle":
            return "latched" if self.settled and self.replaying else "no signal"
        aborted = "disposed" if self.disposed else "cancelled keep" if self.kept else "cancelled"
        return f"{'live' if self.cause is None else aborted}{' latched' if self.latch else ''}"

    def compared(self, whole: frozenset[str]) -> frozenset[str]:
        """What is compared of the rows that a command leads to, of all that the contract speaks about."""
        compared = ScriptedAgent.compared(self, whole)
        return compared - {"task"} | {f"task {JOB}"} if self.unordered else compared

    def surplus(self, row: JsonMap, ahead: Sequence[ExpectedRow]) -> Clauses:
        """Who says first of a row that it may not come now: a driver starts before the end of its task is told.

        Args:
            row: One that is not expected where it stands.
            ahead: What is expected from there on.
        """
        del ahead
        return self.unwoken_by if row["on"] in {"live", "log"} else ()

    # ------------------------------------------------------------------ callbacks

    def run(self, script: Script) -> None:
        """A script runs."""
        self.settled = script.place == "idle listener"
        self.heard = self.heard or self.settled
        self.swept = self.swept or script.place == "discarded listener"
        ScriptedAgent.run(self, script)  # a class with slots has no `super()`

    def aborted(self, clauses: Clauses) -> None:
        """The activity's signal fires."""
        ScriptedAgent.aborted(self, ("MAINT-CANCEL-01", *clauses) if self.phase == "maintaining" else clauses)

    def _fresh_signal(self) -> None:
        self.cause, self.kept, self.condemned = None, True, False
        self.holders.clear()
        self.on_abort.clear()

    # ------------------------------------------------------------------ the lists

    def clear(self, row: Clauses) -> None:
        """Everything pending is canceled, and what listeners deliver meanwhile as well, where it is still to come."""
        self.swept = False
        AbstractAgent.clear(self, row)

    def replace(
        self,
        target: str,
        start: int,
        removed: Sequence[JsonMap],
        inserted: Sequence[JsonMap],
        *,
        row: Clauses,
        place: Clauses,
        counted: Clauses,
        noted: Clauses = (),
    ) -> None:
        """Messages are canceled; see the base class."""
        swept: Clauses = ("CANCEL-REENTRY-02",) if self.swept and self.phase != "idle" else ()
        AbstractAgent.replace(
            self,
            target,
            start,
            removed,
            inserted,
            row=_why(swept, row),
            place=place,
            counted=_why(swept, counted),
            noted=noted,
        )

    # ------------------------------------------------------------------ wakes

    def waken(self, message: JsonMap, *, late: bool) -> Clauses:
        """A message is in that was sent waking: what becomes of the wake, the phase that is in force decides."""
        if self.phase == "maintaining":
            if self.disposed:
                return self._park_wake("WAKE-DISP-01")
            self.remember(message)
            self._latched("MAINT-CANCEL-01" if late else "MAINT-LATCH-01", "WAKE-RACE-03")
            return ("WAKE-LATCH-02",) if late else ("MAINT-LATCH-01",)
        if self.phase == "idle":
            gone = not self._still_pending({str(message["id"])})
            status: Clauses = ("AGENT-STATUS-03",)
            opened: Clauses = ("AGENT-SEND-04", "LOOP-OPEN-01", *(("LOOP-ERR-04",) if self.failed else ()))
            if gone:
                status, opened = ("WAKE-IDLE-01", *status), ("WAKE-IDLE-01", *opened)
            self.wake(status, opened, ("INBOX-CLAIM-01",))
            return ("WAKE-IDLE-01", "AGENT-SEND-07") if gone else ("AGENT-SEND-07",)
        if not late and self.cause is not None:
            return self._park_wake("WAKE-RACE-01")
        if late and self.disposed:
            self._park_wake("WAKE-DISP-01")
        elif late:
            self._latched("WAKE-LATCH-01", "WAKE-RACE-02")
        return AbstractAgent.waken(self, message, late=late)

    def _latched(self, clause: str, interrupted: str) -> None:
        """Note who says that a wake is remembered, `interrupted` where a call came during the insertion."""
        self.latched_from = self.running[-1].place if self.running else ""
        raced = (interrupted,) if self.interrupted else ()
        sent_from = (_SENT_FROM[self.latched_from],) if self.latched_from in _SENT_FROM else ()
        self.latched_by = _why((*raced, *sent_from, clause), self.latched_by)

    def _park_wake(self, clause: str) -> Clauses:
        self.parked_by = _why((clause,), self.parked_by)
        return (clause,)

    def forget(self) -> None:
        """A clearing cancel drops the latch."""
        if self.latch:
            self._park_wake("CANCEL-REENTRY-02" if self.latched_from == "discarded listener" else "WAKE-CLEAR-01")
        AbstractAgent.forget(self)
        self.latched_by = ()

    # ------------------------------------------------------------------ the driver

    def wake(self, status: Clauses, opened: Clauses, batch: Clauses) -> None:
        """A driver starts, on a fresh signal and with the latch off; a listener of `running` may stop it."""
        self.phase = "opening"
        self._take_latch()
        self._fresh_signal()
        self._tell_status("running", status)
        if self.cause is None:
            self._open_turn(opened, batch)
        else:
            self._stop_early()

    def _open_turn(self, opened: Clauses, batch: Clauses) -> None:
        """A turn is opened, and claims its batch unless an observer stops it."""
        self.phase, self.open = "opening", True
        self._fresh_signal()
        self._begin_turn(opened)
        self.armed = [script for script in self.armed if script.turn is None or script.turn >= self.turn]
        if self.cause is None:
            self._claim(1, ("CANCEL-REENTRY-01", "INBOX-CLAIM-02") if self.refused else ("INBOX-CLAIM-02",), batch)
        else:
            self._stop_early()

    def _stop_early(self) -> None:
        """The driver finds its signal aborted before it has claimed anything."""
        if self.running:
            raise LeftOpen  # whether it settles before the script goes on
        if not self.settling:
            self.loose = True
            self.apart = self.apart | {"return"}

    def settle(self) -> Clauses:
        """Go on until the model or a task is waited for, or nothing is left to do.

        Returns:
            Who says that nothing follows.
        """
        self.settling = True
        clauses: Clauses = ()
        while True:
            if self.phase == "opening":
                clauses = self._close_early()
            elif self.phase == "claimed":
                clauses = self._propose()
            elif self.items:
                clauses = self._answered(*self.items.pop(0))
            else:
                break
        self.settling = False
        if self.task_ended and self.rows[-1].pattern["on"] != "task":
            self.apart = self.apart | {"task"}  # that it ended may be told some ticks late
        if not self.waiter:
            return clauses
        if self.phase != "idle":
            return (*clauses, "IDLE-FOLLOW-01", *(() if self.cause is None else ("CANCEL-COOP-01",)))
        self.waiter = False
        if self.task_ended:
            self.unordered = True
        else:
            clauses = _why(clauses, ("IDLE-RES-02",))
            waited: Clauses = ("IDLE-RES-01", "IDLE-RES-02", "IDLE-FOLLOW-01")
            self.rows.append(_ended(WAITER, waited, value=rows.by(("IDLE-FAIL-01",), None)))
        return (*clauses, "IDLE-RES-01")

    def _close_early(self) -> Clauses:
        if not self.open:
            return self._run_ends(("CANCEL-PHASE-01",), ("CANCEL-PHASE-01",))
        return self._close_aborted(("CANCEL-PHASE-02",))

    def _propose(self) -> Clauses:
        """The batch is proposed to the listeners of `agent/pre-step`; an empty first one opens no step."""
        if self.cause is not None:
            return self._close_aborted(("CANCEL-REENTRY-03",) if self.condemned else ("CANCEL-PHASE-03",))
        self.call_back("pre-step listener", ABORT)
        return self._decided()

    def _decided(self) -> Clauses:
        """The listeners of `agent/pre-step` have answered."""
        if self.cause is not None:
            return self._close_aborted(("CANCEL-PHASE-04", "CANCEL-PHASE-03"))
        if self.batch:
            return self._enter()
        self.tell(rows.turn_end(self.turn, {"kind": "completed"}, ("WAKE-IDLE-01", "LOOP-PRE-08")))
        if not self.pending:
            return self._run_ends(("WAKE-IDLE-01", "AGENT-STATUS-04"))
        parked: Clauses = ("WAKE-FAIL-01",) if self._still_pending(self.woken) else ("LOOP-PRE-08", "LOOP-NEXT-02")
        return self._run_ends(parked, parked)

    def _enter(self, owed: Clauses = ()) -> Clauses:
        del owed
        self.step += 1
        self.rows.append(rows.boundary("step/start", self.turn, self.step, ("LOOP-PRE-01", "LOOP-STEP-01")))
        self.calls += 1
        self.phase, self.gate_open = "streaming", True
        self.text, self.finish = None, None
        return _ONE_RUN

    def _take(self, op: str, args: JsonMap) -> Clauses:
        if op == "stream.chunk" and self.cause is None:
            return _ONE_RUN
        return AbstractAgent._take(self, op, args)  # noqa: SLF001

    def _answered(self, op: str, args: JsonMap) -> Clauses:
        return self._task_ends(op, args) if self.phase == "maintaining" else self._take(op, args)

    def _stop(self, outcome: str, ending: Clauses) -> Clauses:
        """Nothing keeps the turn open: the listeners of `agent/turn-stopping` are asked."""
        self.call_back("stopping listener")
        return self._stopped(outcome, ending)

    def _stopped(self, outcome: str, ending: Clauses) -> Clauses:
        """The listeners of `agent/turn-stopping` have answered."""
        if self.cause is not None:
            return self._close_aborted(("CANCEL-STOP-01",))
        if self.lists["next-step"]:
            self._claim(0, ("LOOP-STOP-02", "INBOX-CLAIM-02"), ("LOOP-STOP-02", "INBOX-CLAIM-01"))
            return ()
        return AbstractAgent._stop(self, outcome, ending)  # noqa: SLF001

    def _abort_step(self, why: str) -> Clauses:
        del why
        self._end_step()
        return self._close_aborted(("CANCEL-ERR-01",))

    def _parked_by(self) -> Clauses:
        return _why(self.parked_by, AbstractAgent._parked_by(self))  # noqa: SLF001

    # ------------------------------------------------------------------ settling

    def _take_latch(self) -> Clauses | None:
        """The latch is taken, with all that is known of it."""
        why, self.latched_by, self.parked_by, self.heard = self.latched_by, (), (), False
        self.replaying, self.open = self.latch, False
        gone: Clauses = () if all(map(self._is_pending, self.latched)) else ("WAKE-EMPTY-02",)
        replayed = AbstractAgent._take_latch(self)  # noqa: SLF001
        self.holders.clear()
        self.on_abort.clear()
        if replayed is None:
            return None
        return _why(replayed, why) if replayed == gone else _why(_why(why, gone), replayed)

    def _is_pending(self, identity: str) -> bool:
        return self._still_pending({identity})

    def _replay(self, replayed: Clauses, after: Clauses) -> Clauses:
        """A wake that was remembered is replayed, unless a listener of `idle` has done something about it."""
        stolen: Clauses = ("WAKE-STEAL-02",) if self.heard else ()
        if not self.pending:
            return (*stolen, *after)
        if self.phase == "idle":
            return AbstractAgent._replay(self, (*stolen, *replayed), after)  # noqa: SLF001
        if self.phase == "maintaining" and not self.disposed:
            self.latch = True
            self.latched_by = ("WAKE-STEAL-01",)
        elif self.cause is not None:
            self._park_wake("WAKE-DISP-01" if self.phase == "maintaining" else "WAKE-STEAL-01")
        return ("WAKE-STEAL-01",)

    # ------------------------------------------------------------------ maintenance

    def maintain(self, start: Script, on_abort: Script) -> None:
        """A maintenance task takes the phase, and is called at once.

        Args:
            start: What it runs before it waits.
            on_abort: What it runs when its signal fires.
        """
        self.phase, self.gate_open = "maintaining", False
        self._take_latch()
        self._fresh_signal()
        self.holders.append(JOB)
        if on_abort.commands:
            self.on_abort.append(on_abort)
        if start.commands:
            self.run(start)
        signal: Json = {"aborted": self.cause is not None}
        row: JsonMap = {"on": "gate", "part": JOB, "kind": "maintenance", "payload": {"signal": signal}}
        self.rows.append(ExpectedRow(row, ("MAINT-START-01", "MAINT-STATUS-01")))
        self.gate_open = True

    def _task_ends(self, op: str, args: JsonMap) -> Clauses:
        """The phase is released, a remembered wake is replayed, and then the task's awaitable completes."""
        ended: JsonMap = {"value": "done"} if op == "gate.resolve" else {"error": {"message": "broken"}}
        del args
        failed: Clauses = ("MAINT-FAIL-01",) if op == "gate.reject" else ()
        after: Clauses = ("MAINT-LATCH-02", "MAINT-STATUS-01")
        parked = self.parked_by
        replayed = self._take_latch()
        self.phase, self.gate_open, self.task_ended, self.tasked = "idle", False, True, True
        self._fresh_signal()
        clauses = _why(failed, _why(parked, after) if replayed is None else self._replay(_why(failed, replayed), after))
        self.unwoken_by = clauses if self.status == "idle" else ()
        self.rows.append(_ended(JOB, ("MAINT-RES-01", *failed), **ended))
        return clauses

    # ------------------------------------------------------------------ what other contracts tell

    def _log_chunk(self, chunk: JsonMap, clauses: Clauses) -> None:
        pass

    def _log_message(self, *, interrupted: bool, content: Clauses) -> None:
        pass


def _why(first: Clauses, then: Clauses) -> Clauses:
    """Clauses one behind the other, each once."""
    return tuple(dict.fromkeys((*first, *then)))


def _ended(task: str, clauses: Clauses, **how: Json) -> ExpectedRow:
    return ExpectedRow({"on": "task", "task": task, **how}, clauses)
