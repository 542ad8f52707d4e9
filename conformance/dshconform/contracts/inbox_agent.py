"""The abstract agent of the inbox contract: two lists, at most one turn, a signal and a latch.

What is done to it is written down as the rows that must be observed. `settle` is the driver: it goes on until the model
is asked and waits, or until nothing is left to do.
"""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from dshconform.contracts import inbox_rows as rows
from dshconform.contracts.inbox_commands import FAILURE, TARGETS, kind_of
from dshconform.contracts.inbox_rows import ROUTE, Clauses, whole
from dshconform.protocol.json_value import Json, JsonMap
from dshconform.trace.rows import ExpectedRow

Phase: TypeAlias = Literal[
    "idle",
    "maintaining",
    "opening",
    "claimed",
    "assembling",
    "deciding",
    "requesting",
    "streaming",
    "recovering",
    "calling",
    "stopping",
]
"""`claimed`: a step's batch is claimed and nothing else of the step has happened. Hooks are waited for in the turn
and cancellation contracts alone: `agent/pre-step`, `agent/request`, `agent/request-error` and `agent/turn-stopping`, in
this order; before them `system-prompt/assemble`, in the latter. Tools are called in the scheduling contract alone. In
the wake and cancellation contracts alone there is maintenance, and the moment in which a driver is `opening`: it has
started, and claimed nothing yet."""

_CUT: Final[Mapping[str, str]] = {
    "stream.chunk": "CANCEL-STREAM-04",
    "stream.end": "CANCEL-STREAM-01",
    "stream.fail": "CANCEL-ERR-01",
}
"""Who says that an aborted turn ends so when its stream goes on like this."""


@dataclass(slots=True)
class AbstractAgent:
    """The state of one agent.

    Args:
        lists: What is pending, by list.
        gone: Ids whose message was claimed or discarded.
        phase: What the driver is at.
        cause: Why the turn's signal is aborted, if it is.
        kept: Whether every cancel of the turn so far kept the inbox.
        latch: Whether a wake is remembered.
        latched: The ids of the messages that set the latch.
        woken: The ids of the messages that were sent waking while the turn's signal was live.
        latch_dropped: Whether a clearing cancel dropped a latch in this turn.
        turn: The number of the last turn.
        step: The number of the turn's last step.
        batch: What the step being proposed has claimed.
        outcome: The turn's outcome so far.
        failed: Whether the last turn failed.
        gate_open: Whether the model, or a hook, waits for the suite.
        items: Answers to the gate that the driver has not got yet.
        left: Whether the driver left a stream that was not at its end.
        calls: Requests made.
        chunks: The names to which the seqs of this request's chunks are bound.
        text: The text of this request's deltas, nothing without any.
        finish: The kind of this request's last finish.
        usage: What this request's answer has reported of its usage, if anything.
        route: The configuration of this request.
        history: Patterns for the messages of the next request.
        rows: What must be observed.
        apart: The rows of which nothing says where they stand among the others.
    """

    lists: dict[str, list[JsonMap]] = field(default_factory=lambda: {target: [] for target in TARGETS})
    gone: set[str] = field(default_factory=set)
    phase: Phase = "idle"
    cause: JsonMap | None = None
    kept: bool = True
    latch: bool = False
    latched: set[str] = field(default_factory=set)
    woken: set[str] = field(default_factory=set)
    latch_dropped: bool = False
    turn: int = 0
    step: int = 0
    batch: list[JsonMap] = field(default_factory=list)
    outcome: str | None = None
    failed: bool = False
    gate_open: bool = False
    items: list[tuple[str, JsonMap]] = field(default_factory=list)
    left: bool = False
    calls: int = 0
    chunks: list[str] = field(default_factory=list)
    text: str | None = None
    finish: str | None = None
    usage: JsonMap | None = None
    route: JsonMap = field(default_factory=lambda: ROUTE)
    history: list[Json] = field(default_factory=list)
    rows: list[ExpectedRow] = field(default_factory=list)
    apart: frozenset[str] = frozenset()

    def begin(self) -> None:
        """A command comes: what it leads to is written down from here on."""
        self.rows = []
        self.left = False

    def copy(self) -> "AbstractAgent":
        """An agent to try calls on; what `settle` alone changes is shared with this one."""
        other = copy.copy(self)
        other.lists = {target: list(held) for target, held in self.lists.items()}
        other.gone, other.latched, other.woken = set(self.gone), set(self.latched), set(self.woken)
        other.items, other.rows = list(self.items), []
        return other

    @property
    def waiting(self) -> tuple[str, ...]:
        """The kinds of the gates that wait for the suite, in order of opening."""
        return ("model/stream",) if self.gate_open else ()

    @property
    def status(self) -> str:
        """What the agent says of itself."""
        return "idle" if self.phase in {"idle", "maintaining"} else "running"

    @property
    def pending(self) -> bool:
        """Whether anything is in either list."""
        return any(self.lists.values())

    @property
    def disposed(self) -> bool:
        """Whether the turn was aborted with the cause `disposed`."""
        return kind_of(self.cause) == "disposed"

    def fired(self) -> bool:
        """Whether the turn's signal is aborted; calls from inside whatever is told can do that."""
        return self.cause is not None

    @property
    def told(self) -> bool:
        """Whether something of the suite holds the signal, and is told when it fires."""
        return self.gate_open

    def compared(self, whole: frozenset[str]) -> frozenset[str]:
        """What is compared of the rows that a command leads to, of all that the contract speaks about.

        Args:
            whole: The kinds of rows that the contract speaks about.
        """
        return whole - {"closed"} if self.left else whole  # the stream may be closed before or after the commit

    def surplus(self, row: JsonMap, ahead: Sequence[ExpectedRow]) -> Clauses:
        """Who says first of a row that it may not come now; nothing where that is the affair of what is expected.

        Args:
            row: One that is not expected where it stands.
            ahead: What is expected from there on.
        """
        del row, ahead
        return ()

    def tell(self, row: ExpectedRow) -> None:
        """Something happens that must be observed; of a splice, before the list changes.

        Args:
            row: What it looks like.
        """
        self.rows.append(row)

    # ------------------------------------------------------------------ the lists

    def insert(
        self,
        target: str,
        start: int,
        messages: Sequence[JsonMap],
        *,
        row: Clauses,
        place: Clauses,
        filed: Clauses,
        nothing_removed: Clauses = ("INBOX-SHAPE-01",),
    ) -> None:
        """Messages are inserted: splice and notifications; for the clauses see `inbox_rows.insertion`.

        Args:
            target: The list.
            start: The place of the first of them.
            messages: What is inserted, in order.
            row: Demand the logged splice.
            place: Demand that it is there.
            filed: Demand that it goes into this list.
            nothing_removed: Demand that nothing leaves.
        """
        self.tell(
            rows.insertion(target, start, messages, row=row, place=place, filed=filed, nothing_removed=nothing_removed)
        )
        self.lists[target][start:start] = messages
        for message in messages:
            self.tell(rows.note("agent/inbox/inserted", message))

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
        """Messages are canceled, and others put in their place; see `inbox_rows.cancellation`.

        Args:
            target: The list.
            start: The place of the first of those that leave.
            removed: The messages that leave.
            inserted: Those that come in their place.
            row: Demand the logged splice.
            place: Demand that it is there.
            counted: Demand that so many leave.
            noted: Demand the notifications, beside the clause that all of them have.
        """
        self.tell(rows.cancellation(target, start, len(removed), inserted, row=row, place=place, counted=counted))
        self.lists[target][start : start + len(removed)] = inserted
        self.gone.update(str(message["id"]) for message in removed)
        for name, messages in (("discarded", removed), ("inserted", inserted)):
            for message in messages:
                self.tell(rows.note(f"agent/inbox/{name}", message, noted))

    def clear(self, row: Clauses) -> None:
        """Everything pending is canceled, `next-step` first.

        Args:
            row: Demand the logged splices.
        """
        order: Clauses = ("INBOX-CLEAR-01",)
        for target in ("next-step", "next-turn"):
            held = list(self.lists[target])
            if held:
                self.replace(target, 0, held, (), row=row, place=order, counted=order, noted=order)

    # ------------------------------------------------------------------ wakes

    def waken(self, message: JsonMap, *, late: bool) -> Clauses:
        """A message is in that was sent waking: `late` if the signal was aborted when it was sent.

        Returns:
            Who says that the wake does no more than it does.
        """
        if self.phase == "idle":
            opened: Clauses = ("AGENT-SEND-04", "LOOP-OPEN-01", *(("LOOP-ERR-04",) if self.failed else ()))
            self.wake(("AGENT-STATUS-03",), opened, ("INBOX-CLAIM-01",))
            return ("AGENT-SEND-07",)
        if not late:
            self.woken.add(str(message["id"]))
            return ("AGENT-SEND-05",)
        if self.disposed:
            return ("WAKE-LATCH-02", "WAKE-DISP-01")
        self.remember(message)
        return ("WAKE-LATCH-02",)

    def remember(self, message: JsonMap) -> None:
        """The wake of a message is latched."""
        self.latch = True
        self.latched.add(str(message["id"]))

    def forget(self) -> None:
        """A clearing cancel drops the latch."""
        self.latch_dropped = self.latch_dropped or self.latch
        self.kept = self.latch = False

    # ------------------------------------------------------------------ the driver

    def aborted(self, clauses: Clauses) -> None:
        """The signal that the waiting model holds fires.

        Args:
            clauses: Demand that its holder is told.
        """
        assert self.cause is not None
        self.rows.append(rows.abort_row(self.calls, self.cause, clauses))

    def wake(self, status: Clauses, opened: Clauses, batch: Clauses) -> None:
        """A driver starts: status, turn and first claim, each with the clauses that answer for it.

        Args:
            status: Demand that it is running.
            opened: Demand the new turn.
            batch: Demand what its first step is given.
        """
        self._tell_status("running", status)
        self._open_turn(opened, batch)

    def _tell_status(self, status: str, clauses: Clauses) -> None:
        self.tell(rows.status_row(status, clauses))

    def _open_turn(self, opened: Clauses, batch: Clauses) -> None:
        self._begin_turn(opened)
        self._claim(1, ("INBOX-CLAIM-02",), batch)

    def _begin_turn(self, opened: Clauses) -> None:
        self.turn += 1
        self.step = 0
        self.cause, self.outcome = None, None
        self.kept = True
        self.latch = self.latch_dropped = self.failed = False
        self.latched.clear()
        self.woken.clear()
        self.tell(rows.turn_start(self.turn, opened))

    def _claim(self, prompts: int, row: Clauses, batch: Clauses) -> None:
        steps, turns = self.lists["next-step"], self.lists["next-turn"][:prompts]
        for splice in rows.claim_splices(steps, turns, row=row, batch=batch):
            self.tell(splice)
        self.batch = [*steps, *turns]
        self.lists["next-step"] = []
        del self.lists["next-turn"][:prompts]
        self.gone.update(str(message["id"]) for message in self.batch)
        self.phase = "claimed"
        for message in list(self.batch):
            self.tell(rows.claimed_note(self.turn, message, batch))

    def settle(self) -> Clauses:
        """Go on until the driver waits for the model or is idle; answer who says that nothing comes after that."""
        clauses: Clauses = ()
        while True:
            if self.phase == "claimed":
                clauses = self._close_aborted(("CANCEL-PHASE-03",)) if self.cause is not None else self._enter()
            elif self.items:
                clauses = self._take(*self.items.pop(0))
            else:
                return clauses

    def _enter(self, owed: Clauses = ()) -> Clauses:
        """The step begins; `owed` says that it has to, where that is in doubt."""
        self.step += 1
        opened: Clauses = (*owed, "LOOP-PRE-01", "LOOP-STEP-01")
        self.rows.append(rows.boundary("step/start", self.turn, self.step, opened))
        self.rows.extend(rows.user_message(message) for message in self.batch)
        self.history.extend(whole(message) for message in self.batch)
        first = not self.calls
        self._log_request()
        self.calls += 1
        asked: Clauses = ("LOOP-PRE-01",) if first else ("REQ-HEAD-02", "REQ-CTX-01", "LOOP-PRE-01")
        self.rows.append(rows.model_gate(self.calls, self.history, asked))
        self.phase, self.gate_open = "streaming", True
        self.chunks, self.text, self.finish = [], None, None
        return ("LOOP-PRE-01",)

    def _log_request(self) -> None:
        """Header and context of a request, where they are due."""
        if not self.calls:
            self.rows.extend(rows.request_rows())

    def _take(self, op: str, args: JsonMap) -> Clauses:
        """The driver gets the stream's next item, end or failure."""
        if self.cause is not None:
            self.items.clear()
            self.gate_open = False
            self.left = op == "stream.chunk"
            return self._abort_step(_CUT[op])
        if op == "stream.chunk":
            chunk = args.get("chunk")
            assert isinstance(chunk, Mapping)
            self._log_chunk(chunk, ("LOOP-CHUNK-01",))
            if chunk.get("type") == "text-delta":
                self.text = (self.text or "") + str(chunk.get("text"))
            elif chunk.get("type") == "finish":
                self.finish = kind_of(chunk.get("reason"))
            return ("LOOP-CHUNK-01",)
        return self._complete_step() if op == "stream.end" else self._fail_step()

    def _log_chunk(self, chunk: JsonMap, clauses: Clauses) -> None:
        name = f"chunk {self.calls}.{len(self.chunks) + 1}"
        self.chunks.append(name)
        self.rows.append(rows.chunk_row(self.turn, self.step, chunk, name, clauses))

    def _blocks(self, *, interrupted: bool) -> list[Json]:
        """The content of the answer."""
        if self.text is None or (interrupted and not self.text.strip()):
            return []
        return [{"type": "text", "text": self.text}]

    def _source(self, *, interrupted: bool) -> JsonMap:
        """The source of the answer."""
        del interrupted
        return {"kind": "model", **{name: self.route[name] for name in ROUTE}}

    def _log_message(self, *, interrupted: bool, content: Clauses) -> None:
        blocks = self._blocks(interrupted=interrupted)
        message: JsonMap = {
            "$exact": {
                "id": {"$bind": f"reply {self.calls}"},
                "role": "assistant",
                "content": blocks,
                "source": {"$exact": self._source(interrupted=interrupted)},
            }
        }
        place = self.turn, self.step
        told = rows.assistant_message(
            *place, message, self.chunks, usage=self.usage, interrupted=interrupted, content=content
        )
        self.rows.append(told)
        if blocks:
            self.history.append(message)

    def _end_step(self, clauses: Clauses = ("INV-STEP-02",)) -> None:
        self.rows.append(rows.boundary("step/end", self.turn, self.step, clauses))

    def _complete_step(self) -> Clauses:
        self._log_message(interrupted=False, content=("LOOP-MSG-01",))
        self._end_step()
        return self._step_ended(ceiling=self.finish == "max-tokens")

    def _step_ended(self, *, ceiling: bool = False, why: Clauses = ()) -> Clauses:
        """A step is over that owes no request: a further step for what was steered, else the turn closes.

        Args:
            ceiling: Whether its answer hit the ceiling.
            why: Answer for its owing none, where that is not the answer's own end.
        """
        ending: Clauses = (*why, "LOG-EVT-02")
        if ceiling:
            self.outcome, ending = "max-tokens", ("LOOP-END-01",)
        elif self.outcome == "max-tokens":
            ending = (*why, "LOOP-END-02")
        else:
            self.outcome = "completed"
        if self.lists["next-step"]:
            steered: Clauses = (*why, "LOOP-STEER-01")
            self._claim(0, (*steered, "INBOX-CLAIM-02"), (*steered, "INBOX-CLAIM-01"))
            return ()
        return self._stop(self.outcome, ending)

    def _stop(self, outcome: str, ending: Clauses) -> Clauses:
        """Nothing keeps the turn open: it ends, and the run goes on as long as anything is pending."""
        self.tell(rows.turn_end(self.turn, {"kind": outcome}, ending))
        if self.pending:
            self._open_turn(("LOOP-NEXT-01",), ("INBOX-CLAIM-01",))
            return ()
        return self._run_ends(("AGENT-STATUS-04",))

    def _fail_step(self) -> Clauses:
        failure: JsonMap = {"kind": "error", "failure": {"$exact": FAILURE}}
        self._log_chunk({"type": "finish", "reason": failure}, ("STREAM-FAIL-02",))
        return self._fail_request()

    def _fail_request(self) -> Clauses:
        self._end_step()
        if self.fired():
            return self._close_aborted(("CANCEL-ERR-01",))
        self.tell(rows.agent_error(self.turn, self.step, str(FAILURE["message"])))
        reason: JsonMap = {"kind": "error", "error": {"$exact": FAILURE}}
        settled: Clauses = ("CANCEL-ERR-02",) if self.fired() else ()
        self.tell(rows.turn_end(self.turn, reason, (*settled, "RERR-TERM-01", "LOG-EVT-04")))
        self.failed = True
        if self._still_pending(self.woken):
            return self._run_ends(("WAKE-FAIL-01",))
        return self._run_ends(("LOOP-NEXT-02",) if self.pending else ("AGENT-STATUS-04",))

    def _abort_step(self, why: str) -> Clauses:
        if self._blocks(interrupted=True):
            content: Clauses = ("CANCEL-STREAM-06",) if self.finish else ("CANCEL-STREAM-02",)
            self._log_message(interrupted=True, content=content)
            self._end_step()
        else:
            self._end_step(("CANCEL-STREAM-03", "INV-STEP-02"))
        return self._close_aborted((why,))

    def _abort_open_step(self, why: Clauses) -> Clauses:
        self._end_step((*why, "INV-STEP-02"))
        return self._close_aborted(why)

    def _close_aborted(self, why: Clauses) -> Clauses:
        """The aborted turn ends; what is pending is replayed if a wake was latched, and parked otherwise."""
        self.tell(rows.turn_end(self.turn, {"kind": "aborted"}, why))
        if not self.pending:
            after = ("WAKE-EMPTY-01",) if self.latch else ("CANCEL-KEEP-03",) if self.step == 0 else why
        else:
            after = self._parked_by()
        return self._run_ends(after, after if self.pending and not self.latch else ())

    def _parked_by(self) -> Clauses:
        """Who says that what is pending when an aborted turn ends is no reason to go on."""
        if self.latch_dropped:
            return ("WAKE-CLEAR-01",)
        return ("WAKE-DISP-01",) if self.disposed else ("CANCEL-KEEP-02",)

    def _run_ends(self, after: Clauses, parked: Clauses = ()) -> Clauses:
        """The driver settles: the latch is taken, `idle` is emitted, and a latched wake is replayed.

        Args:
            after: Who says that nothing comes after that.
            parked: Who says that the run does not go on with what is pending, where that is the driver's decision.

        Returns:
            `after`, or who says that nothing comes after a replay.
        """
        replayed = self._take_latch()
        aborted, self.cause = self.cause is not None, None
        self.phase = "idle"
        self._tell_status("idle", (*parked, "AGENT-STATUS-04", *(("CANCEL-STATUS-01",) if aborted else ())))
        return after if replayed is None else self._replay(replayed, after)

    def _take_latch(self) -> Clauses | None:
        """The latch is taken, with all that is known of it; answer who says that a wake is replayed, if it was set."""
        latched, self.latch, self.latch_dropped = self.latch, False, False
        still = self._still_pending(self.latched)
        self.latched.clear()
        return None if not latched else ("WAKE-LATCH-01",) if still else ("WAKE-EMPTY-02",)

    def _replay(self, replayed: Clauses, after: Clauses) -> Clauses:
        """A wake that was remembered is replayed if anything is pending; answer who says that nothing follows."""
        if not self.pending:
            return after
        self.wake(replayed, replayed, ("WAKE-LATCH-03", "INBOX-CLAIM-01"))
        return ("WAKE-LATCH-03",)

    def _still_pending(self, identities: set[str]) -> bool:
        return any(str(message["id"]) in identities for held in self.lists.values() for message in held)
