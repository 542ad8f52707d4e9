"""The abstract agent of the turn contract: as that of the inbox contract, with a driver that waits at four hooks.

Every step is proposed to `agent/pre-step`, every request to `agent/request`, every failed response to
`agent/request-error`, and every stop to `agent/turn-stopping`; each waits for the suite. Only what the clauses say of
the order and the effect of those answers is written here.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from dshconform.contracts import inbox_rows, turn_rows
from dshconform.contracts.inbox_agent import AbstractAgent, Phase
from dshconform.contracts.inbox_commands import FAILURE, kind_of
from dshconform.contracts.inbox_rows import AGENT, ROUTE, Clauses, whole
from dshconform.contracts.turn_commands import BY_NEXT, FAILURES, HOOKS, entered, error_of
from dshconform.protocol.json_value import Json, JsonMap
from dshconform.trace.rows import ExpectedRow

_NO_ROUTE: Final = (
    f'agent "{AGENT}" has no provider/model: set AgentOptions.provider and AgentOptions.model or supply both via the '
    "agent/request waterfall"
)
Step: TypeAlias = "Callable[[TurnAgent, str, JsonMap], Clauses]"
"""What an answer to a gate does to an agent; answers the clauses for what follows."""


@dataclass(slots=True)
class TurnAgent(AbstractAgent):
    """The state of one agent.

    Args:
        asked: Whether the hook that waits has called its `next()`.
        times: How often each function of the suite was called.
        header: The configuration of the last header, if there is one.
        context: The route of the last context, if there is one.
        failure: The facts of the failed response.
        retried: Whether the request that is being made repeats a failed one.
        faulty: The listeners that always throw.
    """

    asked: bool = False
    times: dict[str, int] = field(default_factory=dict)
    header: JsonMap | None = None
    context: JsonMap | None = None
    failure: JsonMap = field(default_factory=dict)
    retried: bool = False
    faulty: set[str] = field(default_factory=set)

    def copy(self) -> "TurnAgent":
        """An agent to try calls on; what `settle` alone changes is shared with this one."""
        other = AbstractAgent.copy(self)
        assert isinstance(other, TurnAgent)
        other.times = dict(self.times)
        return other

    @property
    def waiting(self) -> tuple[str, ...]:
        """The kinds of the gates that wait for the suite: one at most."""
        kind = HOOKS[self.phase][1] if self.phase in HOOKS else "model/stream"
        return (kind,) if self.gate_open else ()

    @property
    def seed(self) -> JsonMap:
        """What `agent/request` proposes without listeners."""
        return ROUTE if self.header is None else self.header

    @property
    def default(self) -> Json:
        """What the `next()` of the hook that waits answers."""
        if self.phase == "deciding":
            return {"kind": "enter", "messages": [whole(message) for message in self.batch]}
        return {"$exact": self.seed} if self.phase == "requesting" else None

    def aborted(self, clauses: Clauses) -> None:
        """The signal that the waiting function holds fires."""
        assert self.cause is not None
        part = HOOKS[self.phase][0] if self.phase in HOOKS else inbox_rows.MODEL
        call = self.times[part]
        row: JsonMap = {
            "on": "abort",
            "part": part,
            "n": call,
            "reason": inbox_rows.by(("CANCEL-CAUSE-01",), {"$exact": self.cause}),
        }
        self.rows.append(ExpectedRow(row, clauses))

    # ------------------------------------------------------------------ the driver

    def settle(self) -> Clauses:
        """Go on until a function of the suite is waited for or the agent is idle.

        Returns:
            Who says that nothing follows.
        """
        clauses: Clauses = ()
        while True:
            if self.phase == "claimed":
                clauses = self._propose()
            elif self.items:
                clauses = _ANSWERED[self.phase](self, *self.items.pop(0))
            else:
                return clauses

    def _wait(self, phase: Phase, payload: JsonMap, clauses: Clauses) -> Clauses:
        """A hook is asked."""
        part, kind = HOOKS[phase]
        self.phase, self.gate_open, self.asked = phase, True, False
        self.rows.append(turn_rows.hook_gate(part, kind, self._count(part), payload, clauses))
        return clauses

    def _count(self, part: str) -> int:
        self.times[part] = self.times.get(part, 0) + 1
        return self.times[part]

    def _propose(self) -> Clauses:
        if self.cause is not None:
            return self._close_aborted(("CANCEL-PHASE-03",))
        payload = turn_rows.pre_step_payload(self.turn, self.step + 1, self.batch)
        return self._wait("deciding", payload, ("LOOP-PRE-01",))

    def _decided(self, op: str, args: JsonMap) -> Clauses:
        if self.cause is not None:
            return self._close_aborted(("CANCEL-PHASE-04", "CANCEL-PHASE-03"))
        if op == "gate.reject":
            return self._fail_turn(error_of(args), ("LOOP-ERR-05", "LOOP-ERR-01"))
        if args.get("value") == BY_NEXT:
            return self._enter_step(self.batch, ("LOOP-PRE-04",))
        if kind_of(args.get("value")) == "reject":
            return self._close("blocked", ("LOOP-PRE-05",) if self.step == 0 else ("LOOP-PRE-06",), ("LOOP-PRE-07",))
        messages = entered(args)
        if messages is None:
            return self._fail_turn(None, ("LOOP-PRE-11", "LOOP-ERR-05"))
        if messages:
            return self._enter_step(messages, ("LOOP-PRE-04",) if messages == self.batch else ("LOOP-PRE-03",))
        if self.step == 0:
            return self._close("completed", ("LOOP-PRE-08",), ("LOOP-PRE-08",))
        assert self.outcome is not None
        return self._close(self.outcome, ("LOOP-PRE-09",), None)

    def _enter_step(self, messages: Sequence[JsonMap], clauses: Clauses) -> Clauses:
        self.step += 1
        self.retried = False
        self.rows.append(inbox_rows.boundary("step/start", self.turn, self.step, ("LOOP-PRE-01", "LOOP-STEP-01")))
        self.rows.extend(inbox_rows.user_message(message, clauses) for message in messages)
        self.history.extend(whole(message) for message in messages)
        return self._ask_request(("LOOP-PRE-01",))

    def _ask_request(self, clauses: Clauses) -> Clauses:
        return self._wait("requesting", {"turn": self.turn, "step": self.step}, clauses)

    def _requested(self, op: str, args: JsonMap) -> Clauses:
        if self.cause is not None:
            return self._abort_open_step(("CANCEL-PHASE-06", "CANCEL-ERR-01"))
        if op == "gate.reject":
            return self._fail_open_step(error_of(args), ("RERR-WHEN-01", "LOOP-ERR-01"))
        value = args.get("value")
        config = self.seed if value == BY_NEXT else value
        assert isinstance(config, Mapping)
        if not config.get("provider") or not config.get("model"):
            return self._fail_open_step({"message": _NO_ROUTE}, ("REQ-ROUTE-01",))
        if config != self.header:
            self.rows.append(turn_rows.header_row(config, first=self.header is None))
            self.header = config
        route: JsonMap = {name: config[name] for name in ROUTE}
        if route != self.context:
            self.rows.append(turn_rows.context_row(config))
            self.context = route
        self.calls = self._count(inbox_rows.MODEL)
        payload = turn_rows.model_payload(config, self.history)
        clauses: Clauses = ("REQ-HEAD-02", "REQ-CTX-01", "REQ-SEED-02") if self.calls > 1 else ("REQ-HEAD-03",)
        if self.retried:
            clauses = ("RERR-RETRY-03", *clauses)
        self.rows.append(turn_rows.hook_gate(inbox_rows.MODEL, "model/stream", self.calls, payload, clauses))
        self.phase, self.gate_open, self.route = "streaming", True, config
        self.chunks, self.text, self.finish, self.failure = [], None, None, {}
        return clauses

    def _streamed(self, op: str, args: JsonMap) -> Clauses:
        if self.cause is None:
            chunk = args.get("chunk")
            reason = chunk.get("reason") if isinstance(chunk, Mapping) else None
            if isinstance(reason, Mapping) and isinstance(failure := reason.get("failure"), Mapping):
                self.failure = failure
            if op == "stream.fail":
                told: JsonMap = {"kind": "error", "failure": {"$exact": FAILURE}}
                self._log_chunk({"type": "finish", "reason": told}, ("STREAM-FAIL-02",))
                self.finish, self.failure = "error", FAILURE
            if op != "stream.chunk" and self.finish in FAILURES:
                return self._recover()
        return self._take(op, args)

    def _recover(self) -> Clauses:
        failure = inbox_rows.by(("LERR-TURN-02",), {"$exact": self.failure})
        payload: JsonMap = {"turn": self.turn, "step": self.step, "provider": "mock", "failure": failure}
        return self._wait("recovering", payload, ("RERR-WHEN-01", "RERR-POS-01"))

    def _recovered(self, op: str, args: JsonMap) -> Clauses:
        if self.cause is not None:
            return self._abort_open_step(("RERR-CANCEL-01", "CANCEL-RERR-01"))
        if op == "gate.reject":
            return self._fail_open_step(error_of(args), ("RERR-THROW-01",))
        if kind_of(args.get("value")) == "retry":
            self.retried = True
            return self._ask_request(("RERR-RETRY-01", "RERR-RETRY-02"))
        return self._fail_open_step({"kind": "model", **self.failure}, ("RERR-TERM-01", "RERR-TERM-02"))

    def _complete_step(self) -> Clauses:
        self._log_message(interrupted=False, content=("LOOP-MSG-01",))
        self._end_step()
        if self.outcome != "max-tokens":
            self.outcome = "max-tokens" if self.finish == "max-tokens" else "completed"
        if self.lists["next-step"]:
            return self._steered()
        return self._wait("stopping", {"turn": self.turn}, ("LOOP-STOP-01",))

    def _stopped(self, op: str, args: JsonMap) -> Clauses:
        if self.cause is not None:
            return self._close_aborted(("CANCEL-STOP-01",))
        if op == "gate.reject":
            return self._fail_turn(error_of(args), ("LOOP-STOP-03",))
        if self.lists["next-step"]:
            self._claim(0, ("LOOP-STOP-02", "INBOX-CLAIM-02"), ("LOOP-STOP-02", "INBOX-CLAIM-01"))
            return ()
        assert self.outcome is not None
        ceiling: Clauses = ("LOOP-END-01", "LOOP-END-02") if self.outcome == "max-tokens" else ()
        return self._close(self.outcome, ("LOOP-STOP-04", "LOG-EVT-02", *ceiling), None)

    def _steered(self) -> Clauses:
        self._claim(0, ("LOOP-STEER-01", "INBOX-CLAIM-02"), ("LOOP-STEER-01", "INBOX-CLAIM-01"))
        return ()

    # ------------------------------------------------------------------ endings

    def _close(self, kind: str, ending: Clauses, parked: Clauses | None) -> Clauses:
        """The turn ends without failure; `parked` says why the run does not go on, where it does not."""
        self.rows.append(inbox_rows.turn_end(self.turn, {"kind": kind}, ending))
        if parked is not None:
            return self._park(parked)
        if self.pending:
            self._open_turn(("LOOP-NEXT-01",), ("INBOX-CLAIM-01",))
            return ()
        return self._run_ends(("AGENT-STATUS-04",))

    def _park(self, parked: Clauses) -> Clauses:
        """The run ends whatever is pending, wakes among it."""
        if not self.pending:
            return self._run_ends(("AGENT-STATUS-04",))
        parked = (*parked, "WAKE-FAIL-01") if self._still_pending(self.woken) else parked
        return self._run_ends(parked, parked)

    def _fail_open_step(self, error: JsonMap, clauses: Clauses) -> Clauses:
        self._end_step((*clauses, "INV-STEP-02"))
        return self._fail_turn(error, clauses)

    def _fail_turn(self, error: JsonMap | None, clauses: Clauses) -> Clauses:
        """The turn fails; of an answer that is none, the text is not said."""
        told: JsonMap = {} if error is None else {"message": error["message"]}
        if error is not None and "as" in error:
            told = {**told, "is": error["as"]}
        self.rows.append(turn_rows.agent_error(self.turn, self.step, told, (*clauses, "LOOP-ERR-03")))
        facts: JsonMap = {"code": "UNKNOWN"} if error is None else {"$exact": facts_of(error)}
        reason: JsonMap = {"kind": "error", "error": facts}
        self.rows.append(inbox_rows.turn_end(self.turn, reason, (*clauses, "LOG-EVT-04")))
        self.failed = True
        return self._park(("LOOP-NEXT-02",))

    # ------------------------------------------------------------------ listeners that throw

    def _end_step(self, clauses: Clauses = ("INV-STEP-02",)) -> None:
        AbstractAgent._end_step(self, clauses)  # noqa: SLF001 - the base class's own; a class with slots has no `super()`
        if "faulty-observer" in self.faulty:
            payload: JsonMap = {"session": AGENT, "event": {"type": "step/end"}}
            self._tell_faulty("faulty-observer", "session/event", payload, ("LOOP-OBS-01",), agent=False)

    def _tell_status(self, status: str, clauses: Clauses) -> None:
        AbstractAgent._tell_status(self, status, clauses)  # noqa: SLF001
        if "faulty-status" in self.faulty:
            self._tell_faulty("faulty-status", "agent/status", {"status": status}, ("EVENTS-EMIT-01",), agent=True)

    def _tell_faulty(self, part: str, kind: str, payload: JsonMap, clauses: Clauses, *, agent: bool) -> None:
        self.rows.append(turn_rows.script_row(part, kind, self._count(part), payload, clauses, agent=agent))


_ANSWERED: Final[Mapping[Phase, Step]] = {
    "deciding": TurnAgent._decided,  # noqa: SLF001 - this module's own class
    "requesting": TurnAgent._requested,  # noqa: SLF001
    "streaming": TurnAgent._streamed,  # noqa: SLF001
    "recovering": TurnAgent._recovered,  # noqa: SLF001
    "stopping": TurnAgent._stopped,  # noqa: SLF001
}
"""By phase, what an answer of the function that waits leads to."""


def facts_of(error: JsonMap) -> JsonMap:
    """The facts of a failure: a model error's own, any other's text with the code `UNKNOWN`."""
    if error.get("kind") == "model":
        return {"message": error["message"], "code": error["code"]}
    text: Json = _chain(error)
    return {"message": inbox_rows.by(("LOOP-ERR-02",), text) if "cause" in error else text, "code": "UNKNOWN"}


def _chain(error: JsonMap) -> str:
    message, cause = str(error["message"]), error.get("cause")
    inner = cause.get("$error") if isinstance(cause, Mapping) else None
    if not isinstance(inner, Mapping) or _chain(inner) == message:
        return message
    return f"{message}: {_chain(inner)}"
