"""The rows that the scheduling contract demands beside those of the inbox contract: calls, policy and results."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from dshconform.contracts.inbox_rows import AGENT, Clauses, by, live_row, log_row
from dshconform.contracts.turn_rows import LIVE_SIGNAL
from dshconform.protocol.json_value import Json, JsonMap
from dshconform.trace.rows import ExpectedRow

STARTS: Final = frozenset({"log tool/call", "gate tools/pre-execute", "gate tool/execute"})
"""The rows of a call that starts. Which comes first is not said where a body's end frees a place for one call and lets
another one be committed: the first is done as soon as it may be, and so is the second."""

ARGUMENTS: Final[Mapping[str, Json]] = {
    "{}": {},
    '{"x":1}': {"x": 1},
    "": {},
    "not json": "not json",
    "[1]": [1],
    "null": None,
}
"""What the model writes, and what a tool gets for it."""


DROPPED: Final = ("PIPE-CTX-03",)
"""Who says that a result has lost what its body deferred."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What a call comes to.

    Args:
        content: Its text.
        clauses: Answer for that.
        error: The message of the failure; none for a success.
        info: The name and the code of a failure that has them.
        value: The value of a success.
        reviewed: Whether policy on results has still to be asked.
        contexts: What goes to the next step with it.
        contexts_by: Answer for the contexts.
        at_once: Whether it comes without a body: then `clauses` answer for its coming at all.
        concludes: Whether it ends the turn.
    """

    content: str
    clauses: Clauses
    error: str | None = None
    info: tuple[str, str] | None = None
    value: Json = None
    reviewed: bool = True
    contexts: tuple[JsonMap, ...] = ()
    contexts_by: Clauses = ("PIPE-CTX-02", "PIPE-CTX-01")
    at_once: bool = False
    concludes: bool = False


def call_row(place: JsonMap, block: JsonMap, clauses: Clauses) -> ExpectedRow:
    """`tool/call`; its seq is bound to the call, under which the result cites it.

    Args:
        place: The turn and the step.
        block: What the model asked for.
        clauses: Demand it, beside the clause that all of them have.
    """
    data: JsonMap = {
        **place,
        "callId": block["id"],
        "name": block["name"],
        "arguments": by(("LOG-EVT-12", "SCHED-ARGS-01"), block["arguments"]),
    }
    return log_row("tool/call", {"$exact": data}, (*clauses, "SCHED-CALL-01"), seq={"$bind": f"call {block['id']}"})


def gate_row(kind: str, part: str, block: JsonMap, clauses: Clauses, **payload: Json) -> ExpectedRow:
    """A function of the suite that has to do with a call is asked, and waits.

    Args:
        kind: The kind of its gate.
        part: The function.
        block: What the model asked for.
        clauses: Answer for its being asked now.
        **payload: Further fields.

    Returns:
        The row.
    """
    row: JsonMap = {
        "on": "gate",
        "part": part,
        "kind": kind,
        "agent": AGENT,
        "payload": {**_execution(block), "signal": LIVE_SIGNAL, **payload},
    }
    return ExpectedRow(row, clauses)


def abort_row(part: str, cause: JsonMap, clauses: Clauses) -> ExpectedRow:
    """The signal that a function holds fires.

    Args:
        part: The name of the function.
        cause: What the signal is fired with, whole.
        clauses: Demand it.
    """
    reason = by(("CANCEL-CAUSE-01",), {"$exact": cause})
    return ExpectedRow({"on": "abort", "part": part, "reason": reason}, clauses)


def result_rows(place: JsonMap, block: JsonMap, result: Result) -> list[ExpectedRow]:
    """A call is committed: its result is told, then logged.

    Args:
        place: The turn and the step.
        block: What the model asked for.
        result: What it came to.
    """
    clauses: Clauses = (*(result.clauses if result.at_once else ()), "PIPE-ORDER-04", "SCHED-PAR-02")
    told = live_row("tools/result", {**_execution(block), "result": shown(result)}, clauses)
    return [told, logged_result(place, block, result, ("SCHED-COMMIT-01",))]


def logged_result(place: JsonMap, block: JsonMap, result: Result, clauses: Clauses) -> ExpectedRow:
    """`tool/result`.

    Args:
        place: The turn and the step.
        block: What the model asked for.
        result: What it came to.
        clauses: Demand it.
    """
    error: Json = {"$absent": True}
    if result.info is not None:
        error = {"$exact": _info(result.info)}
    data: JsonMap = {
        **place,
        "message": _result_message(block, result),
        "error": by(("LOG-EVT-13", *result.clauses), error),
    }
    cites: Json = [{"$bind": f"call {block['id']}"}]
    return log_row(
        "tool/result",
        by(("RESULT-LOCAL-01",), {"$exact": data}),
        clauses,
        sourceEventSeqs=by(("LOG-EVT-13", "SCHED-CALL-01"), cites),
        surfaceOp="append",
    )


def _result_message(block: JsonMap, result: Result) -> Json:
    """A pattern for the message of a result."""
    identity = block["id"]
    answer: JsonMap = {
        "type": "tool-result",
        "toolCallId": identity,
        "isError": by((*result.clauses, "MSG-BLOCK-03"), result.error is not None),
        "content": by(result.clauses, [{"type": "text", "text": result.content}]),
    }
    source: JsonMap = {"kind": "tool", "callId": identity}
    message: JsonMap = {"id": {"$bind": f"result {identity}"}, "role": "user", "content": [answer], "source": source}
    return by(("MSG-SRC-03",), {"$exact": message})


def remembered(block: JsonMap, result: Result) -> JsonMap:
    """The same message in later requests, where one clause answers for all of it.

    Args:
        block: What the model asked for.
        result: What it came to.
    """
    identity = block["id"]
    answer: JsonMap = {
        "type": "tool-result",
        "toolCallId": identity,
        "isError": result.error is not None,
        "content": [{"type": "text", "text": result.content}],
    }
    return {"id": {"$bind": f"result {identity}"}, "role": "user", "content": [answer]}


def shown(result: Result) -> Json:
    """A pattern for a result as listeners get it."""
    members: dict[str, Json] = {
        "isError": by(result.clauses, result.error is not None),
        "content": by(result.clauses, [{"type": "text", "text": result.content}]),
    }
    if result.error is None:
        members["value"] = result.value
    else:
        info: JsonMap = {} if result.info is None else {"info": {"$exact": _info(result.info)}}
        members["error"] = by(result.clauses, {"$exact": {"message": result.error, **info}})
    if result.contexts or result.contexts_by == DROPPED:
        members["additionalContexts"] = by(result.contexts_by, list(result.contexts) or {"$absent": True})
    if result.concludes:
        members["concludesTurn"] = by(("PIPE-CONCLUDE-01",), True)
    return by(("RESULT-SHAPE-01",), {"$exact": members})


def change_row() -> ExpectedRow:
    """`tools/change`."""
    return ExpectedRow({"on": "live", "name": "tools/change"}, ("TOOL-CHANGE-01",))


def changed_header() -> ExpectedRow:
    """The header of a request that offers other tools than the last one."""
    return log_row("request/header", {"reason": by(("REQ-HEAD-02",), "change")}, ("REQ-HEAD-02",))


def _execution(block: JsonMap) -> JsonMap:
    parsed = ARGUMENTS[str(block["arguments"])]
    return {
        "callId": block["id"],
        "name": block["name"],
        "arguments": by(("SCHED-ARGS-01",), {"$exact": parsed} if isinstance(parsed, Mapping) else parsed),
    }


def _info(info: tuple[str, str]) -> JsonMap:
    name, code = info
    return {"name": name, "code": code}
