"""The abstract agent of the tool cancellation contract: as that of the cancellation contract, with calls of tools.

The calls of an answer are exclusive, so one runs behind the other. What overlaps is the scheduling contract's affair.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar, Final

from dshconform.contracts import scheduling_rows
from dshconform.contracts.callbacks import Place, Script
from dshconform.contracts.cancellation_agent import CancellationAgent
from dshconform.contracts.inbox_agent import Phase
from dshconform.contracts.inbox_rows import Clauses
from dshconform.contracts.scheduling_agent import ABORTED, NEVER_RAN, failure_of
from dshconform.contracts.scheduling_commands import BODY, TELLS, error_of, value_of
from dshconform.contracts.scheduling_rows import DROPPED, Result
from dshconform.contracts.scripted_agent import LeftOpen
from dshconform.contracts.tool_cancellation_commands import BREAK, DENY, PLACES
from dshconform.protocol.json_value import Json, JsonMap
from dshconform.scenarios.macros import message
from dshconform.trace.rows import ExpectedRow

_KEPT: Final[Clauses] = ("PIPE-CANCEL-05", "PIPE-CTX-02", "PIPE-CTX-01")
"""Who says that a call which was aborted has what its body deferred."""
_OF_CALLS: Final = frozenset({"answer observer", "step end observer"})


@dataclass(slots=True)
class ToolCancellationAgent(CancellationAgent):
    """The state of one agent.

    Args:
        known: The ids of all calls.
        indices: The indices of the blocks of the answer.
        asking: The calls of the answer.
        queue: Those that are not started.
        call: The one that is started, or was last.
        owes: Whether the turn owes the model the results.
        late: The ids of the contexts that came behind an abort.
    """

    places: ClassVar[Mapping[str, Place]] = PLACES
    gates: ClassVar[Mapping[Phase, str]] = {**CancellationAgent.gates, "calling": BODY}

    known: set[str] = field(default_factory=set)
    indices: set[Json] = field(default_factory=set)
    asking: list[JsonMap] = field(default_factory=list)
    queue: list[JsonMap] = field(default_factory=list)
    call: JsonMap = field(default_factory=dict)
    owes: bool = False
    late: set[str] = field(default_factory=set)

    def copy(self) -> "ToolCancellationAgent":
        """An agent to try commands on, to the end."""
        other = CancellationAgent.copy(self)
        assert isinstance(other, ToolCancellationAgent)
        other.known, other.late, other.indices = set(self.known), set(self.late), set(self.indices)
        other.asking, other.queue = list(self.asking), list(self.queue)
        return other

    def when(self) -> str:
        """When something is done from outside, as the grid says it."""
        return "queued" if self.phase == "calling" and self.queue else CancellationAgent.when(self)

    def moment_of(self, script: Script) -> str:
        """When a script runs, as the grid says it."""
        moment = CancellationAgent.moment_of(self, script)
        return f"{moment} of calls" if self.asking and script.place in _OF_CALLS else moment

    def aborted(self, clauses: Clauses) -> None:
        """The activity's signal fires: a body that waits is told too."""
        held = [str(self.call["name"])] if self.phase == "calling" and self.gate_open else []
        self.holders += held
        CancellationAgent.aborted(self, clauses)
        self.holders = [part for part in self.holders if part not in held]

    # ------------------------------------------------------------------ the answer

    def _requested(self) -> Clauses:
        self.asking = []
        self.indices.clear()
        return CancellationAgent._requested(self)  # noqa: SLF001 - its own base; slots spoil `super()`

    def _read(self, chunk: JsonMap) -> None:
        block = chunk.get("block")
        if isinstance(block, Mapping):
            self.asking.append(block)
        else:
            CancellationAgent._read(self, chunk)  # noqa: SLF001

    def _blocks(self, *, interrupted: bool) -> list[Json]:
        blocks = CancellationAgent._blocks(self, interrupted=interrupted)  # noqa: SLF001
        return blocks if interrupted or self.finish == "max-tokens" else [*blocks, *self.asking]

    def _complete_step(self) -> Clauses:
        if self.finish == "max-tokens":
            self.asking = []
        if not self.asking:
            return CancellationAgent._complete_step(self)  # noqa: SLF001
        self._log_message(interrupted=False, content=("LOOP-MSG-01",))
        self.queue = list(self.asking)
        return self._go_on("CANCEL-MSG-01")

    # ------------------------------------------------------------------ calls

    def _go_on(self, cut: str = "SCHED-ABORT-02") -> Clauses:
        """The next call starts, unless there is none or the signal is aborted; `cut` says what comes then."""
        while self.queue:
            if self.fired():
                return self._skip(cut)
            self.call, cut = self.queue.pop(0), "SCHED-ABORT-02"
            self.phase = "calling"
            self._observed("call observer", scheduling_rows.call_row(self._place, self.call, ("SCHED-EXCL-01",)))
            if self.fired():
                self._commit(replace(NEVER_RAN, clauses=("PIPE-CANCEL-01",), at_once=True))
                continue
            ended = self._policy("policy listener")
            if not self.fired():
                row = scheduling_rows.gate_row(BODY, str(self.call["name"]), self.call, ("SCHED-CALL-01",))
                self.rows.append(row)
                self.gate_open = True
                return ("SCHED-EXCL-01",)
            if ended == BREAK:
                failed = failure_of({"message": "broken"}, ("PIPE-CANCEL-03", "PIPE-PRE-05"))
                self._commit(replace(failed, at_once=True))
            elif ended == DENY:
                failed = failure_of({"message": "not today"}, ("PIPE-CANCEL-03", "PIPE-PRE-01"))
                self._review(replace(failed, at_once=True))
            else:
                self._review(replace(NEVER_RAN, clauses=("PIPE-CANCEL-02",), at_once=True))
        self._end_step()
        if self.fired():
            return self._close_aborted((cut,))
        if self.outcome == "max-tokens":
            return self._step_ended()
        self.owes = True
        self._claim(0, ("LOOP-PRE-01", "INBOX-CLAIM-02"), ("LOOP-PRE-01", "INBOX-CLAIM-01"))
        return ()

    @property
    def _place(self) -> JsonMap:
        return {"turn": self.turn, "step": self.step}

    def _answered(self, op: str, args: JsonMap) -> Clauses:
        if self.phase != "calling":
            return CancellationAgent._answered(self, op, args)  # noqa: SLF001
        name, identity = str(self.call["name"]), str(self.call["id"])
        contexts = (message(identity),) if name in TELLS else ()
        if op == "gate.reject":
            clauses: Clauses = ("PIPE-CANCEL-06", "PIPE-BODY-01") if self.fired() else ("PIPE-BODY-01",)
            result = failure_of(error_of(args), clauses)
        elif self.fired():
            result = replace(ABORTED, clauses=("PIPE-CANCEL-05",), contexts_by=_KEPT)
        else:
            result = Result(content=name, clauses=("RESULT-SHAPE-01",), value=value_of(args))
        self._review(replace(result, contexts=contexts))
        return self._go_on()

    def _policy(self, place: str) -> JsonMap | None:
        """Policy is asked; answer how it ended its call, if it did not pass.

        Raises:
            LeftOpen: What it answers before an abort is another contract's affair.
        """
        ended = self._ask(place)
        if ended is not None and not self.fired():
            raise LeftOpen
        return ended

    def _review(self, result: Result) -> None:
        """Policy on results is asked: a success is replaced where the signal is aborted behind it."""
        ended = self._policy("review listener")
        if ended == BREAK:
            failed = failure_of({"message": "broken"}, ("PIPE-CANCEL-06", "PIPE-POST-05"))
            result = replace(failed, contexts_by=DROPPED, at_once=result.at_once)
        elif self.fired() and result.error is None:
            result = replace(ABORTED, clauses=("PIPE-CANCEL-07",), contexts=result.contexts)
        self._commit(result)

    def _commit(self, result: Result) -> None:
        """A result is told and logged: an abort does not change it any more."""
        before = self.fired()
        told, _ = scheduling_rows.result_rows(self._place, self.call, result)
        first: Clauses = ("SCHED-ABORT-02",) if before and self.queue else ()
        self._observed("result listener", ExpectedRow(told.pattern, (*first, *told.clauses)))
        if self.fired() and not before:
            result = replace(result, clauses=("PIPE-CANCEL-08", *result.clauses))
        _, logged = scheduling_rows.result_rows(self._place, self.call, result)
        self._observed("result observer", logged)
        self.history.append(scheduling_rows.remembered(self.call, result))
        for context in result.contexts:
            row: Clauses = ("SCHED-ABORT-04", "SCHED-CTX-01") if self.fired() else ("SCHED-CTX-01",)
            self.late |= {str(context["id"])} if self.fired() else set()
            end = len(self.lists["next-step"])
            self.insert("next-step", end, [context], row=row, place=row, filed=row)

    def _skip(self, cut: str) -> Clauses:
        """The calls that were not started get their results, and the step is over."""
        why: Clauses = (cut, "SCHED-ABORT-01", "SCHED-ABORT-03")
        for block in self.queue:
            result = replace(NEVER_RAN, clauses=("SCHED-ABORT-03",))
            self._observed("call observer", scheduling_rows.call_row(self._place, block, why))
            logged = scheduling_rows.logged_result(self._place, block, result, why)
            self._observed("result observer", logged)
            self.history.append(scheduling_rows.remembered(block, result))
        self.queue = []
        self._end_step()
        return self._close_aborted((cut,))

    def _decided(self) -> Clauses:
        owes, self.owes = self.owes, False
        if owes and not self.batch and not self.fired():
            return self._enter(("LOOP-PRE-10",))
        return CancellationAgent._decided(self)  # noqa: SLF001

    def _parked_by(self) -> Clauses:
        parked = CancellationAgent._parked_by(self)  # noqa: SLF001
        return ("SCHED-ABORT-04", *parked) if self._still_pending(self.late) else parked
