"""Invariants of a session's tool calls: each is of the step's answer, and gets one result, in the model's order."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from dshconform.protocol.json_value import Json, JsonMap
from dshconform.protocol.messages import Row
from dshconform.trace.fold import Invariant, Place, event_of, items_of, members_of
from dshconform.trace.pattern import Difference, Matching


@dataclass(slots=True)
class _Step:
    """The calls that a step's answer asks for, those that were logged (with their seqs), and how many have a result."""

    asked: list[Json] = field(default_factory=list)
    logged: list[tuple[Json, Json]] = field(default_factory=list)
    answered: int = 0

    @property
    def owed(self) -> list[Json]:
        """The calls without a result, those included that were never logged."""
        return self.asked[self.answered :]


@dataclass(slots=True)
class _Calls:
    """Calls and results of a driver, step by step; nothing is known of a step that was opened in a seed."""

    steps: dict[str, _Step] = field(default_factory=dict)

    def __call__(self, row: Row, matching: Matching) -> Difference | None:
        session, event = str(row.get("session")), event_of(row)
        kind, data = event["type"], members_of(event.get("data"))
        step = self.steps.get(session)
        if kind == "step/start":
            self.steps[session] = _Step()
            return None if step is None else _done(row, step, "goes on", ("SCHED-COMMIT-01",), matching)
        if step is None:
            return None
        if kind == "turn/end":
            del self.steps[session]
            return _turn_ends(row, step, data, matching)
        if kind == "assistant/message":
            step.asked = _calls_of(data)
            return None
        return _call(row, step, matching) if kind == "tool/call" else _result(row, step, matching)


def _call(row: Row, step: _Step, matching: Matching) -> Difference | None:
    """The calls of an answer are logged in its order, each once."""
    event = event_of(row)
    call = members_of(event.get("data")).get("callId")
    wanted = step.asked[len(step.logged)] if len(step.logged) < len(step.asked) else None
    step.logged.append((call, event.get("seq")))
    if call != wanted:
        sentence = f"tool/call names {call!r}; " + (f"{wanted!r} is next" if wanted else "the answer has no more calls")
        return Place(row, "event.data.callId", ("SCHED-CALL-01", "SCHED-PAR-01")).violated(
            matching, sentence, expected=wanted, found=call
        )
    matching.hold(("SCHED-CALL-01", "SCHED-PAR-01"))
    return None


def _result(row: Row, step: _Step, matching: Matching) -> Difference | None:
    """A result answers the next call that has none, and cites it."""
    event = event_of(row)
    if event.get("surfaceOp") != "append" or _never_started(members_of(event.get("data"))):
        return None
    call = _answered_by(members_of(event.get("data")))
    unanswered = [logged for logged, _ in step.logged[step.answered :]]
    if call not in unanswered:
        sentence = f"tool/result answers {call!r}; the calls of the step without a result are {unanswered}"
        return Place(row, "event.data", ("INV-CALL-01",)).violated(matching, sentence, expected=unanswered, found=call)
    if call != unanswered[0]:
        sentence = f"tool/result answers {call!r} before {unanswered[0]!r}"
        return Place(row, "event.data", ("SCHED-COMMIT-01",)).violated(
            matching, sentence, expected=unanswered[0], found=call
        )
    seqs = [step.logged[step.answered][1]]
    step.answered += 1
    if items_of(event.get("sourceEventSeqs")) != seqs:
        sentence = f"tool/result for {call!r} cites {event.get('sourceEventSeqs')}; its call is {seqs}"
        return Place(row, "event.sourceEventSeqs", ("LOG-EVT-13", "SCHED-CALL-01")).violated(
            matching, sentence, expected=list(seqs), found=event.get("sourceEventSeqs")
        )
    matching.hold(("INV-CALL-01", "SCHED-COMMIT-01", "LOG-EVT-13", "SCHED-CALL-01"))
    return None


def _turn_ends(row: Row, step: _Step, data: JsonMap, matching: Matching) -> Difference | None:
    """Only a turn that failed may leave calls without a result (SCHED-FAIL-01)."""
    kind = members_of(data.get("reason")).get("kind")
    if kind == "error":
        return None
    clauses = ("SCHED-ABORT-01", "SCHED-ABORT-02") if kind == "aborted" else ("SCHED-COMMIT-01",)
    return _done(row, step, f"ends {kind}", clauses, matching)


def _done(row: Row, step: _Step, what: str, clauses: tuple[str, ...], matching: Matching) -> Difference | None:
    if not step.asked:
        return None
    if step.owed:
        sentence = f"the turn {what}, and the calls {step.owed} of its last step have no result"
        return Place(row, "", clauses).violated(matching, sentence, expected=[], found=step.owed)
    matching.hold(clauses)
    return None


def _calls_of(data: JsonMap) -> list[Json]:
    blocks = [members_of(block) for block in items_of(members_of(data.get("message")).get("content"))]
    return [block.get("id") for block in blocks if block.get("type") == "tool-call"]


def _answered_by(data: JsonMap) -> Json:
    content: Sequence[Json] = items_of(members_of(data.get("message")).get("content"))
    return members_of(content[0]).get("toolCallId") if content else None


def _never_started(data: JsonMap) -> bool:
    """Whether crash repair says so of a call (INV-CALL-02): it needs no `tool/call`."""
    return members_of(data.get("error")).get("code") == "TOOL_NOT_STARTED"


CALL_INVARIANTS: Final[tuple[Invariant, ...]] = (
    Invariant(
        "tool-calls",
        (
            *("INV-CALL-01", "LOG-EVT-13"),
            *("SCHED-CALL-01", "SCHED-PAR-01", "SCHED-COMMIT-01", "SCHED-ABORT-01", "SCHED-ABORT-02"),
        ),
        frozenset(
            f"log {kind}" for kind in ("step/start", "assistant/message", "tool/call", "tool/result", "turn/end")
        ),
        _Calls,
        profile="tools",
    ),
)
"""What the log of every driver that runs tools keeps."""
