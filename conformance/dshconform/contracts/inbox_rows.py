"""The rows that the inbox contract demands, each with the clauses that demand it and its members.

A builder takes what the model decided and writes it down as a pattern. The row's own clauses answer for its being
there and for its place; an annotation inside (`$by`) answers for that member.
"""

from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

from dshconform.protocol.json_value import Json, JsonMap
from dshconform.trace.rows import ExpectedRow

AGENT: Final = "a"
"""The name of the agent of an example, and of its session."""
MODEL: Final = "model"
"""The name of the function that is the agent's model."""
ROUTE: Final[JsonMap] = {"provider": "mock", "model": "m1"}
"""The route that leads to it."""

Clauses: TypeAlias = tuple[str, ...]
"""The ids of those that demand something; the first one answers for a difference."""

_NO_OUTCOME: Final[Json] = {"$by": "INBOX-SHAPE-02", "is": {"$absent": True}}
_CANCELED: Final[Json] = {"$by": "INBOX-SHAPE-02", "is": "canceled"}


def by(clauses: Clauses, pattern: Json) -> Json:
    """A pattern for which these clauses answer."""
    return {"$by": clauses, "is": pattern}


def whole(message: JsonMap) -> JsonMap:
    """A message with its four members and no others."""
    return {"$exact": message}


def log_row(event: str, data: Json, clauses: Clauses, **members: Json) -> ExpectedRow:
    """A logged event; `members` are further members of its envelope.

    Args:
        event: The type of the event.
        data: A pattern for its data.
        clauses: Demand it.
        **members: Patterns for them, by name.
    """
    return ExpectedRow(
        {"on": "log", "session": AGENT, "event": {"type": event, "data": data, **members}},
        clauses,
    )


def live_row(name: str, payload: JsonMap, clauses: Clauses) -> ExpectedRow:
    """A notification about the agent.

    Args:
        name: The event's name in the specification.
        payload: A pattern for its fields.
        clauses: Demand it.
    """
    return ExpectedRow({"on": "live", "name": name, "agent": AGENT, "payload": payload}, clauses)


def insertion(
    target: str,
    start: int,
    messages: Sequence[JsonMap],
    *,
    row: Clauses,
    place: Clauses,
    filed: Clauses,
    nothing_removed: Clauses,
) -> ExpectedRow:
    """A splice that only inserts.

    Args:
        target: The list.
        start: Where the messages go.
        messages: What is inserted, in order.
        row: Answer for the splice being there.
        place: Answer for `start`.
        filed: Answer for `target`.
        nothing_removed: Answer for `removedCount` not being there.
    """
    data: JsonMap = {
        "target": by(filed, target),
        "start": by(place, start),
        "removedCount": by(nothing_removed, {"$absent": True}),
        "inserted": [whole(message) for message in messages],
        "outcome": _NO_OUTCOME,
    }
    return log_row("agent/inbox/spliced", by(("INBOX-SHAPE-01",), {"$exact": data}), row)


def cancellation(
    target: str,
    start: int,
    count: int,
    inserted: Sequence[JsonMap] = (),
    *,
    row: Clauses,
    place: Clauses,
    counted: Clauses,
) -> ExpectedRow:
    """A splice that removes messages other than by a claim, and may insert others.

    Args:
        target: The list.
        start: The first message removed.
        count: How many are removed.
        inserted: What is put in their place.
        row: Answer for the splice being there.
        place: Answer for `target` and `start`.
        counted: Answer for `removedCount`.
    """
    data: JsonMap = {
        "target": by(place, target),
        "start": by(place, start),
        "removedCount": by(counted, count),
        "inserted": [whole(message) for message in inserted],
        "outcome": _CANCELED,
    }
    return log_row("agent/inbox/spliced", by(("INBOX-SHAPE-01",), {"$exact": data}), row)


def claim_splices(
    steps: Sequence[JsonMap], turns: Sequence[JsonMap], *, row: Clauses, batch: Clauses
) -> list[ExpectedRow]:
    """The deletion splices of one claim.

    Args:
        steps: What is taken from `next-step`.
        turns: What is taken from `next-turn`.
        row: Answer for the splices being there.
        batch: Answer for what is in the batch, and for its order.
    """
    both = bool(steps and turns)
    return [
        _claimed(target, len(messages), row, batch, (*batch, *(("INBOX-CLAIM-02",) if both else ())))
        for target, messages in (("next-step", steps), ("next-turn", turns))
        if messages
    ]


def claimed_note(turn: int, message: JsonMap, batch: Clauses) -> ExpectedRow:
    """`agent/inbox/claimed`; for `batch` see `claim_splices`.

    Args:
        turn: The number of the turn.
        message: The message that was claimed.
        batch: Demand that it is this message.
    """
    payload: JsonMap = {"message": by(batch, whole(message)), "turn": turn}
    return live_row("agent/inbox/claimed", payload, ("INBOX-CLAIM-03",))


def _claimed(target: str, count: int, row: Clauses, batch: Clauses, order: Clauses) -> ExpectedRow:
    data: JsonMap = {
        "target": by(order, target),
        "start": by(("INBOX-CLAIM-02",), 0),
        "removedCount": by(batch, count),
        "inserted": [],
        "outcome": _NO_OUTCOME,
    }
    return log_row("agent/inbox/spliced", by(("INBOX-SHAPE-01",), {"$exact": data}), row)


def note(name: str, message: JsonMap, clauses: Clauses = ()) -> ExpectedRow:
    """`agent/inbox/inserted` or `agent/inbox/discarded`.

    Args:
        name: Which of the two.
        message: The message that it is about.
        clauses: Demand it, beside the clause that all of them have.
    """
    return live_row(name, {"message": whole(message)}, (*clauses, "INBOX-NOTE-01"))


def status_row(status: str, clauses: Clauses) -> ExpectedRow:
    """`agent/status`.

    Args:
        status: `running` or `idle`.
        clauses: Demand it.
    """
    return live_row("agent/status", {"status": status}, clauses)


def turn_start(turn: int, clauses: Clauses) -> ExpectedRow:
    """`turn/start`.

    Args:
        turn: The number of the turn.
        clauses: Demand it.
    """
    return log_row("turn/start", {"turn": by(("LOOP-OPEN-02",), turn)}, clauses)


def turn_end(turn: int, reason: JsonMap, clauses: Clauses) -> ExpectedRow:
    """`turn/end`; that a cancelled turn's reason says no more than that is LOG-EVT-03 (see the ledgers).

    Args:
        turn: The number of the turn.
        reason: Why it ended, whole.
        clauses: Demand it.
    """
    aborted = reason.get("kind") == "aborted"
    written: JsonMap = {**reason, "kind": by(clauses, reason["kind"])} if aborted else reason
    ending = by(("LOG-EVT-03",) if aborted else clauses, {"$exact": written})
    return log_row("turn/end", {"turn": turn, "reason": ending}, clauses)


def boundary(event: str, turn: int, step: int, clauses: Clauses) -> ExpectedRow:
    """`step/start` or `step/end`.

    Args:
        event: Which of the two.
        turn: The number of the turn.
        step: The number of the step in it.
        clauses: Demand it.
    """
    return log_row(event, {"turn": turn, "step": by(("LOOP-STEP-01",), step)}, clauses)


def user_message(message: JsonMap, clauses: Clauses = ("LOOP-PRE-04",)) -> ExpectedRow:
    """`user/message`.

    Args:
        message: The message, whole.
        clauses: Demand it.
    """
    return log_row("user/message", by(("LOG-EVT-06",), whole(message)), clauses, surfaceOp="append")


def request_rows() -> list[ExpectedRow]:
    """The header and the context of an agent's first request."""
    header: JsonMap = {"header": {"config": {"$exact": ROUTE}}, "reason": "initial"}
    return [
        log_row("request/header", header, ("REQ-HEAD-01",)),
        log_row("request/context", ROUTE, ("REQ-CTX-01",)),
    ]


def model_gate(call: int, history: Sequence[Json], clauses: Clauses) -> ExpectedRow:
    """The model is asked and waits for the suite.

    Args:
        call: How many requests there were, this one included.
        history: The messages of the request.
        clauses: Answer for the request being made now.
    """
    payload: JsonMap = {
        "request": {"messages": by(("REQ-MSG-01",), list(history))},
        "signal": by(("CANCEL-SIGNAL-01",), {"aborted": False}),
    }
    row: JsonMap = {
        "on": "gate",
        "part": MODEL,
        "kind": "model/stream",
        "n": call,
        "agent": AGENT,
        "payload": payload,
    }
    return ExpectedRow(row, clauses)


def chunk_row(turn: int, step: int, chunk: JsonMap, name: str, clauses: Clauses) -> ExpectedRow:
    """`assistant/chunk`; its seq is bound to `name`, under which the message cites it.

    Args:
        turn: The number of the turn.
        step: The number of the step in it.
        chunk: The item of the stream, whole.
        name: What its seq is called from here on.
        clauses: Demand it.
    """
    data: JsonMap = {"turn": turn, "step": step, "chunk": {"$exact": chunk}}
    return log_row("assistant/chunk", data, clauses, seq={"$bind": name})


def assistant_message(
    turn: int,
    step: int,
    message: JsonMap,
    cites: Sequence[str],
    *,
    usage: JsonMap | None = None,
    interrupted: bool,
    content: Clauses,
) -> ExpectedRow:
    """`assistant/message`.

    Args:
        turn: The number of the turn.
        step: The number of the step in it.
        message: A pattern for the message.
        cites: The names to which the chunks' seqs are bound.
        usage: What it used, if that was reported.
        interrupted: Whether an abort cut the stream.
        content: Answer for the message's content.

    Returns:
        The row; what demands it depends on whether the stream was cut.
    """
    clauses = ("CANCEL-STREAM-01",) if interrupted else ("LOOP-MSG-01",)
    data: dict[str, Json] = {"turn": turn, "step": step, "message": by(content, message)}
    if interrupted:
        data["interrupted"] = True
    if usage is not None:
        data["usage"] = by(("CANCEL-STREAM-05",) if interrupted else clauses, usage)
    sources: list[Json] = [{"$bind": name} for name in cites]
    return log_row(
        "assistant/message", {"$exact": data}, clauses, sourceEventSeqs=by(clauses, sources), surfaceOp="append"
    )


def agent_error(turn: int, step: int, text: str) -> ExpectedRow:
    """`agent/error`.

    Args:
        turn: The number of the turn.
        step: The number of the step in it.
        text: The text of the error.
    """
    return live_row("agent/error", {"turn": turn, "step": step, "error": {"message": text}}, ("LOOP-ERR-03",))


def abort_row(call: int | None, cause: JsonMap, clauses: Clauses, part: str = MODEL) -> ExpectedRow:
    """The signal fires that a call holds, by default the model's; which call of the function, if that is said.

    Args:
        call: Which call of the function, counted from 1.
        cause: What the signal is fired with, whole.
        clauses: Demand it.
        part: The name of the function.
    """
    which: JsonMap = {} if call is None else {"n": call}
    row: JsonMap = {"on": "abort", "part": part, **which, "reason": by(("CANCEL-CAUSE-01",), {"$exact": cause})}
    return ExpectedRow(row, clauses)


def return_row(
    op: str, clauses: Clauses, at: str | None = None, outcome: Mapping[str, Json] | None = None, part: str | None = None
) -> ExpectedRow:
    """The call of a command returned.

    Args:
        op: The operation.
        clauses: Answer for its returning now.
        at: Its place in a burst or a script.
        outcome: Its `result` or `error`, where the reply itself does not say it.
        part: The function whose script it is of.
    """
    place: JsonMap = {name: value for name, value in (("at", at), ("part", part)) if value is not None}
    return ExpectedRow({"on": "return", "op": op, **place, **(outcome or {})}, clauses)
