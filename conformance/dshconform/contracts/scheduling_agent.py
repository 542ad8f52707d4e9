"""The abstract agent of the scheduling contract: as that of the inbox contract, with answers that call tools.

`_schedule` is the scheduler: it commits what has settled and starts what may start, until something has to be waited
for. Where nothing says which of the two comes first, the rows of a start are told apart (`apart`).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Literal, TypeAlias

from dshconform.contracts import scheduling_rows
from dshconform.contracts.inbox_agent import AbstractAgent
from dshconform.contracts.inbox_rows import Clauses, by
from dshconform.contracts.scheduling_commands import (
    DEFAULT_CAP,
    FINISHES,
    GUARDED,
    OPENING_TOOLS,
    POLICY,
    REVIEW,
    REVIEWED,
    TELLS,
    Classifier,
    called_kind,
    error_of,
    reason_of,
    review_of,
    value_of,
)
from dshconform.contracts.scheduling_rows import DROPPED, Result
from dshconform.protocol.json_value import Json, JsonMap
from dshconform.scenarios.macros import message

State: TypeAlias = Literal["asked", "running", "settled", "reviewed"]
"""`asked`: policy is asked whether the call may go on; `reviewed`: policy is asked about its result."""

NEVER_RAN: Final = Result(
    content="Error: tool call aborted before dispatch",
    clauses=(),
    error="tool call aborted before dispatch",
    info=("AbortError", "ABORTED_BEFORE_DISPATCH"),
)
"""The result of a call that an abort kept from being started."""
ABORTED: Final = Result(
    content="Error: tool call aborted", clauses=(), error="tool call aborted", info=("AbortError", "ABORTED")
)
"""The result of a call that was aborted while it ran."""


@dataclass(slots=True)
class Call:
    """A call that was logged and has no result yet.

    Args:
        block: What the model asked for.
        alone: Who says that it is an exclusive one, if it is.
        state: How far it has come.
        result: What it came to, once its body or policy has settled it.
    """

    block: JsonMap
    alone: Clauses
    state: State = "asked"
    result: Result | None = None

    @property
    def identity(self) -> str:
        """The model's id of the call."""
        return str(self.block["id"])

    @property
    def name(self) -> str:
        """The name of its tool."""
        return str(self.block["name"])


@dataclass(slots=True)
class SchedulingAgent(AbstractAgent):
    """The state of one agent.

    Args:
        cap: How many bodies may run at once; none before the world is open.
        cap_clauses: Who says so, where it is no plain number.
        tools: The registered tools, each with its classifier.
        offered: The names of the tools that the last header listed.
        known: The ids of all calls.
        asking: The calls of the answer that is being streamed.
        finished: Whether the answer has told its finish.
        queue: The calls that are not started.
        modes: By call, whether it was parallel when its answer was complete.
        started: The calls that have no result yet, in model order.
        gates: What waits for the suite, in order of opening: the kind, and the call's id.
        concluded: Whether a result of this answer concludes the turn.
        owed: Who says that a request is owed although a call was to conclude the turn.
        late: The ids of the contexts that came after the abort.
        moved: Whether a parallel call has moved on since the last barrier, in this stretch.
        committed: Whether one was committed.
    """

    cap: int | None = None
    cap_clauses: Clauses = ()
    tools: dict[str, Classifier] = field(default_factory=lambda: dict(OPENING_TOOLS))
    offered: frozenset[str] | None = None
    known: set[str] = field(default_factory=set)
    asking: list[JsonMap] = field(default_factory=list)
    finished: bool = False
    queue: list[JsonMap] = field(default_factory=list)
    modes: dict[str, bool] = field(default_factory=dict)
    started: list[Call] = field(default_factory=list)
    gates: list[tuple[str, str]] = field(default_factory=list)
    concluded: bool = False
    owed: Clauses = ()
    late: set[str] = field(default_factory=set)
    moved: bool = False
    committed: bool = False

    def begin(self) -> None:
        """A command comes: what it leads to is written down from here on."""
        AbstractAgent.begin(self)
        self.apart = frozenset()
        self.moved = self.committed = False

    def copy(self) -> "SchedulingAgent":
        """An agent to try calls on; what `settle` alone changes is shared with this one."""
        other = AbstractAgent.copy(self)
        assert isinstance(other, SchedulingAgent)
        other.tools, other.known = dict(self.tools), set(self.known)
        other.asking, other.gates = list(self.asking), list(self.gates)
        return other

    def open(self, cap: int | None) -> None:
        """The world opens, with a cap or without one."""
        self.cap = DEFAULT_CAP if cap is None else cap
        self.cap_clauses = ("SCHED-CAP-01",) if cap in {None, 1} else ()

    @property
    def waiting(self) -> tuple[str, ...]:
        """The kinds of the gates that wait for the suite, in order of opening."""
        if self.phase == "calling":
            return tuple(kind for kind, _ in self.gates)
        return ("model/stream",) if self.gate_open else ()

    @property
    def place(self) -> JsonMap:
        """Where calls and results stand."""
        return {"turn": self.turn, "step": self.step}

    def parallel(self, block: JsonMap) -> bool:
        """Whether a call may overlap, as its tool is registered now.

        Args:
            block: What the model asked for.
        """
        return self.tools.get(str(block["name"])) == "safe"

    def call_of(self, identity: str) -> Call:
        """A started call.

        Args:
            identity: The call's id.
        """
        return next(call for call in self.started if call.identity == identity)

    def aborted(self, clauses: Clauses) -> None:
        """The signal fires that the waiting functions hold.

        Args:
            clauses: Demand that they are told.
        """
        assert self.cause is not None
        if self.phase != "calling":
            AbstractAgent.aborted(self, clauses)
            return
        parts = sorted(_part(kind, self.call_of(identity)) for kind, identity in self.gates)
        self.rows.extend(scheduling_rows.abort_row(part, self.cause, clauses) for part in parts)

    # ------------------------------------------------------------------ the answer

    def _enter(self, owed: Clauses = ()) -> Clauses:
        clauses = AbstractAgent._enter(self, owed or self.owed)  # noqa: SLF001 - its own base; slots spoil `super()`
        self.asking, self.finished, self.owed = [], False, ()
        return clauses

    def _log_request(self) -> None:
        AbstractAgent._log_request(self)  # noqa: SLF001
        offered = frozenset(self.tools)
        if self.offered not in {None, offered}:
            self.rows.append(scheduling_rows.changed_header())
        self.offered = offered

    def _blocks(self, *, interrupted: bool) -> list[Json]:
        blocks = AbstractAgent._blocks(self, interrupted=interrupted)  # noqa: SLF001
        kept = not interrupted and self.finish != "max-tokens"
        return [*blocks, *self.asking] if kept else blocks

    def _take(self, op: str, args: JsonMap) -> Clauses:
        if self.phase != "calling":
            return AbstractAgent._take(self, op, args)  # noqa: SLF001
        call = self.call_of(called_kind(args)[1])
        _ANSWERED[call.state](self, call, op, args)
        return self._schedule()

    def _complete_step(self) -> Clauses:
        if not self.asking:
            return AbstractAgent._complete_step(self)  # noqa: SLF001
        if self.finish == "max-tokens":
            self._log_message(interrupted=False, content=("LOOP-END-01", "LOOP-MSG-01"))
            self._end_step()
            return self._step_ended(ceiling=True)
        self._log_message(interrupted=False, content=("LOOP-MSG-01", "LOOP-MSG-02"))
        self.phase, self.concluded, self.owed = "calling", False, ()
        self.queue = list(self.asking)
        self.modes = {str(block["id"]): self.parallel(block) for block in self.queue}
        return self._schedule()

    # ------------------------------------------------------------------ the scheduler

    def _schedule(self) -> Clauses:
        """Commit and start what may be; answer who says that nothing more happens now."""
        self.gate_open = True
        while not any(call.state in {"asked", "reviewed"} for call in self.started):
            if self.started and self.started[0].state == "settled":
                self._commit_or_review(self.started[0])
            elif not self.queue or self.cause is not None:
                if self.started:
                    late: Clauses = ("SCHED-ABORT-02", "SCHED-ABORT-01", "CANCEL-COOP-01", "PIPE-BODY-04")
                    return self._held_up(late if self.cause is not None else ())
                return self._calls_ended()
            else:
                held = self._start_or_hold(self.queue[0])
                if held:
                    return self._held_up(held)
        return ("SCHED-PAR-02",)

    def _held_up(self, why: Clauses) -> Clauses:
        """Who says that nothing is committed, behind who says that nothing starts."""
        overtaken = any(call.state == "settled" for call in self.started)
        return (*why, "SCHED-COMMIT-01", "SCHED-PAR-02") if overtaken or not why else why

    def _start_or_hold(self, block: JsonMap) -> Clauses:
        """Start a call; if it has to wait, answer who says so."""
        parallel = self.parallel(block)
        changed: Clauses = ("SCHED-CLASS-01",) if self.modes[str(block["id"])] != parallel else ()
        if not parallel:
            why: Clauses = (*changed, *self._why_exclusive(block)) or ("SCHED-EXCL-01",)
            if self.started:
                return why
        else:
            why = (*changed, *self.cap_clauses, "SCHED-PAR-01")
            if self.started and self.started[-1].alone:
                return self.started[-1].alone
            assert self.cap is not None
            if sum(call.state == "running" for call in self.started) >= self.cap:
                return why
        self._start(Call(block, () if parallel else why), ("LOOP-CONC-01", *why) if self.concluded else why)
        return ()

    def _why_exclusive(self, block: JsonMap) -> Clauses:
        """Who says that a call is exclusive, where its tool does not simply say so or nothing."""
        plain = self.tools.get(str(block["name"])) in {"none", "unsafe"}
        return () if plain else ("MODE-CLASS-01", "SCHED-CLASS-01")

    def _start(self, call: Call, why: Clauses) -> None:
        self.queue.pop(0)
        self.started.append(call)
        self._moves(call)
        self.rows.append(scheduling_rows.call_row(self.place, call.block, why))
        if call.name == GUARDED:
            asked: Clauses = () if call.name in self.tools else ("UNKNOWN-TOOL-03",)
            self._wait("tools/pre-execute", call, "asked", (*asked, "SCHED-PAR-02", "SCHED-CALL-01", "PIPE-ORDER-01"))
        else:
            self._dispatch(call)

    def _dispatch(self, call: Call) -> None:
        """Policy lets a call go on."""
        if self.cause is not None:
            self._settle(call, replace(NEVER_RAN, clauses=("PIPE-CANCEL-02",), at_once=True))
        elif call.name not in self.tools:
            text = f'unknown tool "{call.name}"'
            clauses: Clauses = (*(("TOOL-LIVE-01",) if call.name == GUARDED else ()), "UNKNOWN-TOOL-01")
            info = ("ToolNotFoundError", "UNKNOWN_TOOL")
            self._settle(call, Result(content=f"Error: {text}", clauses=clauses, error=text, info=info, at_once=True))
        else:
            self._wait("tool/execute", call, "running", ("SCHED-CALL-01", "PIPE-ORDER-01"))

    def _wait(self, kind: str, call: Call, state: State, clauses: Clauses, **payload: Json) -> None:
        call.state = state
        self.gates.append((kind, call.identity))
        self.rows.append(scheduling_rows.gate_row(kind, _part(kind, call), call.block, clauses, **payload))

    def _settle(self, call: Call, result: Result) -> None:
        call.state, call.result = "settled", result

    def _commit_or_review(self, call: Call) -> None:
        result = call.result
        assert result is not None
        if result.reviewed and call.name == REVIEWED:
            clauses: Clauses = ("SCHED-PAR-02", "PIPE-ORDER-01", "PIPE-ORDER-02")
            signal: Json = by(("CANCEL-SIGNAL-01",), {"aborted": self.cause is not None})
            self._wait(
                "tools/post-execute",
                call,
                "reviewed",
                clauses,
                result=scheduling_rows.shown(result),
                signal=signal,
            )
            return
        result = self._unless_aborted(result)
        del self.started[0]
        self._moves(call, committed=True)
        self.rows.extend(scheduling_rows.result_rows(self.place, call.block, result))
        self.history.append(scheduling_rows.remembered(call.block, result))
        for context in result.contexts:
            self._deliver(context)
        self.concluded = self.concluded or result.concludes
        if call.name == FINISHES and not result.concludes:
            self.owed = ("LOOP-CONC-01", "PIPE-CONCLUDE-01")

    def _unless_aborted(self, result: Result) -> Result:
        """A result after policy: a success is replaced where the signal was aborted by then."""
        if self.cause is None or result.error is not None:
            return result
        return replace(ABORTED, clauses=("PIPE-CANCEL-07",), contexts=result.contexts)

    def _deliver(self, context: JsonMap) -> None:
        row: Clauses = ("SCHED-CTX-01",)
        if self.cause is not None:
            row = ("SCHED-ABORT-04", "SCHED-CTX-01")
            self.late.add(str(context["id"]))
        end = len(self.lists["next-step"])
        self.insert("next-step", end, [context], row=row, place=row, filed=row)

    def _moves(self, call: Call, *, committed: bool = False) -> None:
        """A call starts, has its body called, or is committed; of parallel ones nothing says which comes first."""
        if call.alone:
            self.moved = self.committed = False
            return
        self.moved, self.committed = self.moved or not committed, self.committed or committed
        if self.moved and self.committed and self.cap != 1:
            self.apart = scheduling_rows.STARTS

    def _calls_ended(self) -> Clauses:
        """Every started call is committed: those that were not started get their results, and the step is over."""
        skipped: Clauses = ("SCHED-ABORT-01", "SCHED-ABORT-02", "SCHED-ABORT-03")
        for block in self.queue:
            result = replace(NEVER_RAN, clauses=("SCHED-ABORT-03",))
            self.rows.append(scheduling_rows.call_row(self.place, block, skipped))
            self.rows.append(scheduling_rows.logged_result(self.place, block, result, skipped))
            self.history.append(scheduling_rows.remembered(block, result))
        self.queue = []
        self.gate_open = False
        self._end_step()
        owed, self.owed = self.owed, ()
        if self.cause is not None:
            return self._close_aborted(("SCHED-ABORT-02",))
        if self.outcome == "max-tokens":
            return self._step_ended(why=() if self.lists["next-step"] else ("LOOP-END-03",))
        if self.concluded:
            return self._step_ended(why=("LOOP-CONC-02",) if self.lists["next-step"] else ("LOOP-CONC-01",))
        self.owed = owed
        self._claim(0, ("LOOP-PRE-01", "INBOX-CLAIM-02"), ("SCHED-CTX-01", "INBOX-CLAIM-01"))
        return ()

    def _parked_by(self) -> Clauses:
        parked = AbstractAgent._parked_by(self)  # noqa: SLF001
        return ("SCHED-ABORT-04", *parked) if self._still_pending(self.late) else parked

    # ------------------------------------------------------------------ answers of policy and bodies

    def _permitted(self, call: Call, op: str, args: JsonMap) -> None:
        """Policy has said whether a call may go on."""
        self._moves(call)
        late: Clauses = ("PIPE-CANCEL-03",) if self.cause is not None else ()
        if op == "gate.reject":
            failed = failure_of(error_of(args), (*late, "PIPE-PRE-05"))
            self._settle(call, replace(failed, reviewed=False, at_once=True))
        elif (reason := reason_of(args)) is not None:
            self._settle(call, replace(failure_of({"message": reason}, (*late, "PIPE-PRE-01")), at_once=True))
        else:
            self._dispatch(call)

    def _ran(self, call: Call, op: str, args: JsonMap) -> None:
        """A body has ended."""
        contexts = (message(call.identity),) if call.name in TELLS else ()
        if op == "gate.reject":
            clauses: Clauses = ("PIPE-CANCEL-06", "PIPE-BODY-01") if self.cause is not None else ("PIPE-BODY-01",)
            result = failure_of(error_of(args), clauses)
        elif self.cause is not None:
            result = replace(ABORTED, clauses=("PIPE-CANCEL-05",))
        else:
            concludes = call.name == FINISHES
            clauses = ("RESULT-SHAPE-01",) if call.name in self.tools else ("TOOL-LIVE-02", "RESULT-SHAPE-01")
            result = Result(content=call.name, clauses=clauses, value=value_of(args), concludes=concludes)
        self._settle(call, replace(result, contexts=contexts))

    def _reviewed(self, call: Call, op: str, args: JsonMap) -> None:
        """Policy has said what becomes of a result."""
        result = call.result
        assert result is not None
        if op == "gate.reject":
            result = replace(failure_of(error_of(args), ("PIPE-POST-05",)), contexts_by=DROPPED)
        else:
            review = review_of(args)
            if review.feedback is not None:
                result = Result(
                    content=review.feedback,
                    clauses=("PIPE-POST-04",),
                    error=review.feedback,
                    contexts=review.contexts,
                    contexts_by=DROPPED,
                )
            elif review.content is not None:
                result = replace(result, content=review.content, clauses=("PIPE-POST-01", *result.clauses))
            result = self._unless_aborted(result)
        self._settle(call, replace(result, reviewed=False))


def _part(kind: str, call: Call) -> str:
    """The function that waits."""
    return {"tools/pre-execute": POLICY, "tools/post-execute": REVIEW}.get(kind, call.name)


def failure_of(error: Mapping[str, Json], clauses: Clauses) -> Result:
    """A call that failed: only a failure of the harness has an identity.

    Args:
        error: What was thrown: its `message`, and `name` and `code` where it is coded.
        clauses: Who says that it fails.

    Returns:
        The result that is logged.
    """
    text = str(error["message"])
    info = (str(error["name"]), str(error["code"])) if error.get("kind") == "coded" else None
    return Result(content=f"Error: {text}", clauses=(*clauses, "RESULT-TEXT-01"), error=text, info=info)


_ANSWERED: Final[Mapping[State, Callable[[SchedulingAgent, Call, str, JsonMap], None]]] = {
    "asked": SchedulingAgent._permitted,  # noqa: SLF001 - this module's own class
    "running": SchedulingAgent._ran,  # noqa: SLF001
    "reviewed": SchedulingAgent._reviewed,  # noqa: SLF001
}
"""By state of a call, what an answer of the function that waits leads to."""
