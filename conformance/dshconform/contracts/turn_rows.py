"""The rows that the turn contract demands beside those of the inbox contract: hooks that wait, and failures."""

from collections.abc import Mapping, Sequence
from typing import Final

from dshconform.contracts.inbox_rows import AGENT, Clauses, by, live_row, log_row, whole
from dshconform.protocol.json_value import Json, JsonMap
from dshconform.trace.rows import ExpectedRow

LIVE_SIGNAL: Final[Json] = {"$by": "CANCEL-SIGNAL-01", "is": {"aborted": False}}
"""A pattern for a signal that has not fired."""


def hook_gate(part: str, kind: str, call: int, payload: JsonMap, clauses: Clauses) -> ExpectedRow:
    """A hook is asked, on the turn's live signal, and waits for the suite.

    Args:
        part: The function of the suite.
        kind: The event.
        call: How often it was asked, this time included.
        payload: The event's other fields.
        clauses: Answer for its being asked now.
    """
    row: JsonMap = {
        "on": "gate",
        "part": part,
        "kind": kind,
        "n": call,
        "agent": AGENT,
        "payload": {**payload, "signal": LIVE_SIGNAL},
    }
    return ExpectedRow(row, clauses)


def pre_step_payload(turn: int, step: int, batch: Sequence[JsonMap]) -> JsonMap:
    """The fields of `agent/pre-step`: the batch alone, and the proposed number.

    Args:
        turn: The number of the turn.
        step: The number that the step would have.
        batch: The messages that were claimed.
    """
    messages: list[Json] = [whole(message) for message in batch]
    return {"turn": turn, "step": by(("LOOP-STEP-01",), step), "messages": by(("LOOP-PRE-02",), messages)}


def model_payload(config: JsonMap, history: Sequence[Json]) -> JsonMap:
    """The fields of a model's call.

    Args:
        config: The configuration of the request.
        history: Patterns for its messages.
    """
    request: JsonMap = {**config, "messages": by(("REQ-MSG-01",), list(history))}
    route: JsonMap = {name: config[name] for name in ("provider", "model")}
    return {**route, "request": by(("REQ-SHAPE-01",), request)}


def next_row(part: str, call: int, value: Json, clauses: Clauses) -> ExpectedRow:
    """The hook's `next()` answered.

    Args:
        part: The name of the hook's function.
        call: Which call of it, counted from 1.
        value: A pattern for what it answered.
        clauses: Demand it.
    """
    return ExpectedRow({"on": "next", "part": part, "n": call, "call": 0, "value": value}, clauses)


def header_row(config: JsonMap, *, first: bool) -> ExpectedRow:
    """`request/header`.

    Args:
        config: The configuration of the request, whole.
        first: Whether it is the first one of the log.
    """
    header: JsonMap = {"config": {"$exact": config}}
    reason = by(("REQ-HEAD-01",) if first else ("REQ-HEAD-02",), "initial" if first else "change")
    clauses: Clauses = ("REQ-HEAD-03", "REQ-HEAD-01" if first else "REQ-HEAD-02")
    return log_row("request/header", {"header": header, "reason": reason}, clauses)


def context_row(config: JsonMap) -> ExpectedRow:
    """`request/context`.

    Args:
        config: The configuration of the request.
    """
    return log_row("request/context", {"provider": config["provider"], "model": config["model"]}, ("REQ-CTX-01",))


def agent_error(turn: int, step: int, error: JsonMap, clauses: Clauses) -> ExpectedRow:
    """`agent/error`, with the original value.

    Args:
        turn: The number of the turn.
        step: The turn's last opened step.
        error: A pattern for the value.
        clauses: Answer for the failure, and for its being this one.
    """
    place: JsonMap = {"turn": by(("LOOP-ERR-03",), turn), "step": by(("LOOP-ERR-03",), step)}
    return live_row("agent/error", {**place, "error": error}, clauses)


def script_row(part: str, kind: str, call: int, payload: JsonMap, clauses: Clauses, *, agent: bool) -> ExpectedRow:
    """A listener of the suite was called, and follows its script.

    Args:
        part: The name of the function.
        kind: Its kind, as the protocol calls it.
        call: Which call of it, counted from 1.
        payload: A pattern for the fields of the call.
        clauses: Demand it.
        agent: Whether the row names the agent.
    """
    beside: Mapping[str, Json] = {"agent": AGENT} if agent else {}
    row: JsonMap = {"on": "script", "part": part, "kind": kind, "n": call, **beside, "payload": payload}
    return ExpectedRow(row, clauses)
