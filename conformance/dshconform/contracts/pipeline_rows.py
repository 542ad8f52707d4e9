"""The rows that the pipeline contract demands, and results as they are shown."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from dshconform.contracts.inbox_rows import Clauses, by
from dshconform.contracts.pipeline_plan import AGENT, LOSSY, text
from dshconform.protocol.json_value import Json, JsonMap
from dshconform.trace.rows import ExpectedRow

COMPARED: Final = frozenset(
    {
        *("live", "gate", "script", "next", "task"),
        *(f"abort {stage}*" for stage in ("policy", "scoped policy", "guard", "second guard", "around", "body")),
    }
)
"""The rows that the contract speaks about. Where a call of a command returns among the others says no clause; and of
whoever is shown a signal that a wrapper has put there, none is told when it fires."""

_ABSENT: Final[JsonMap] = {"$absent": True}


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is called.

    Args:
        call: Its id.
        tool: The name of its tool.
        arguments: What the model passes.
        scoped: Whether it is a call of the agent.
        parent: The call that makes it, if one is named.
        attempt: Which call of that name it is: the tokens differ.
    """

    call: str
    tool: str
    arguments: Json
    scoped: bool = False
    parent: str | None = None
    attempt: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What a call comes to.

    Args:
        content: What the model sees.
        clauses: Answer for what it is.
        error: The message of the failure; none for a success.
        info: The name and the code of a failure that has them.
        value: The value of a success.
        meta: What is projected, if anything is.
        meta_by: Answer for that.
        contexts: What goes to the next step with it; nothing says what where there are none even of these.
        contexts_by: Answer for the contexts.
        concludes: Whether it ends the turn.
        concludes_by: Answer for that.
    """

    content: Json
    clauses: Clauses
    error: str | None = None
    info: tuple[str, str] | None = None
    value: Json = None
    meta: JsonMap | None = None
    meta_by: Clauses = ("PIPE-BODY-03",)
    contexts: tuple[JsonMap, ...] | None = ()
    contexts_by: Clauses = ("PIPE-CTX-01",)
    concludes: bool = False
    concludes_by: Clauses = ("PIPE-CONCLUDE-01",)


def phrased(message: str, *clauses: str, info: tuple[str, str] | None = None) -> Result:
    """A failure that the registry phrases.

    Args:
        message: What it says behind `Error: `.
        *clauses: Demand it, beside those of every failure that the registry phrases.
        info: The name and the code that it carries, if any.
    """
    return Result(content=text(f"Error: {message}"), clauses=(*clauses, "RESULT-TEXT-01"), error=message, info=info)


def shown(result: Result) -> Json:
    """A pattern for a result."""
    members: dict[str, Json] = {
        "isError": by(result.clauses, result.error is not None),
        "content": by(result.clauses, result.content),
        "concludesTurn": by(result.concludes_by, True if result.concludes else _ABSENT),
    }
    if result.error is None:
        members["value"] = by(result.clauses, result.value)
        members["meta"] = by(result.meta_by, _ABSENT if result.meta is None else {"$exact": result.meta})
    else:
        info: JsonMap = (
            {} if result.info is None else {"info": {"$exact": dict(zip(("name", "code"), result.info, strict=True))}}
        )
        members["error"] = by(result.clauses, {"$exact": {"message": result.error, **info}})
        members["meta"] = by(result.clauses, _ABSENT if result.meta is None else {"$exact": result.meta})
    if result.contexts is None:
        return by(("RESULT-SHAPE-01",), members)
    members["additionalContexts"] = by(result.contexts_by, list(result.contexts) or _ABSENT)
    return by(("RESULT-SHAPE-01",), {"$exact": members})


def _execution(request: Request) -> JsonMap:
    """A call as every stage sees it."""
    parent: Json = _ABSENT if request.parent is None else {"$bind": f"token {request.parent} 1"}
    return {
        "callId": request.call,
        "name": request.tool,
        "arguments": _arguments(request.arguments),
        "rootCallId": by(("PIPE-ID-02",), request.call),
        "parent": by(("PIPE-ID-02",), parent),
        "token": by(("PIPE-ID-01",), {"$bind": f"token {request.call} {request.attempt}"}),
    }


def _arguments(given: Json) -> Json:
    if given == LOSSY:
        return by(("PIPE-ARGS-02",), _ABSENT)
    return by(("PIPE-ARGS-03",), {"$exact": given} if isinstance(given, Mapping) else given)


def function_row(on: str, part: str, kind: str, request: Request, clauses: Clauses, **payload: Json) -> ExpectedRow:
    """A function of a call is asked (`script`), or waits for the suite (`gate`).

    Args:
        on: Which of the two.
        part: The name of the function.
        kind: Its kind, as the protocol calls it.
        request: The call.
        clauses: Demand it.
        **payload: Patterns for the fields that the kind has beside the execution's.
    """
    row: JsonMap = {"on": on, "part": part, "kind": kind, "payload": {**_execution(request), **payload}}
    return ExpectedRow({**row, **_scope(request)}, clauses)


def value_row(part: str, kind: str, request: Request, value: Json, clauses: Clauses) -> ExpectedRow:
    """The renderer or the projector of a tool is asked about a value.

    Args:
        part: The name of the function.
        kind: Its kind, as the protocol calls it.
        request: The call.
        value: The canonical value of the call.
        clauses: Demand it.
    """
    payload: JsonMap = {"arguments": _arguments(request.arguments), "value": value}
    return ExpectedRow({"on": "script", "part": part, "kind": kind, "payload": payload}, clauses)


def approval_row(on: str, part: str, request: Request, reason: Json) -> ExpectedRow:
    """Somebody is asked for an approval.

    Args:
        on: `script`, or `gate` where the answer waits for the suite.
        part: The name of the function.
        request: The call.
        reason: Why it is asked; none where nobody says.

    Returns:
        The row of the function's call.
    """
    payload: JsonMap = {
        "toolName": request.tool,
        "callId": request.call,
        "reason": _ABSENT if reason is None else reason,
    }
    row: JsonMap = {"on": on, "part": part, "kind": "tool/approval", "agent": AGENT, "payload": payload}
    return ExpectedRow(row, ("PIPE-PRE-03",))


def next_row(part: str, call: int, outcome: JsonMap, clauses: Clauses) -> ExpectedRow:
    """What a listener delegated to has settled.

    Args:
        part: The name of the function.
        call: Which of its calls of `next`, counted from 0.
        outcome: A pattern for `value` or `error`.
        clauses: Demand it.
    """
    return ExpectedRow({"on": "next", "part": part, "call": call, **outcome}, clauses)


def abort_row(part: str, clauses: Clauses) -> ExpectedRow:
    """The signal that a function holds fires.

    Args:
        part: The name of the function.
        clauses: Demand it.
    """
    return ExpectedRow({"on": "abort", "part": part, "reason": by(("PIPE-AROUND-07",), "why")}, clauses)


def told_row(request: Request, result: Result, clauses: Clauses) -> ExpectedRow:
    """The result is told to everybody.

    Args:
        request: The call.
        result: What it came to.
        clauses: Demand it.
    """
    payload: JsonMap = {**_execution(request), "result": shown(result)}
    return ExpectedRow({"on": "live", "name": "tools/result", "payload": payload, **_scope(request)}, clauses)


def task_row(call: str, result: Result) -> ExpectedRow:
    """The call returns.

    Args:
        call: The name of the call.
        result: What it came to.
    """
    return ExpectedRow({"on": "task", "task": call, "value": shown(result)}, ("PIPE-ORDER-01", "PIPE-ORDER-03"))


def change_row() -> ExpectedRow:
    """The tools have changed."""
    return ExpectedRow({"on": "live", "name": "tools/change"}, ("TOOL-CHANGE-01",))


def _scope(request: Request) -> JsonMap:
    return {"agent": AGENT if request.scoped else _ABSENT}
