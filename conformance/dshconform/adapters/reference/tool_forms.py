"""Tools in the notation of the protocol: executions, results and decisions, read and shown.

Specific to `dshcore`. What is none of them is passed on as it is: a wrong answer is a test.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec import UNSET

from dshconform.adapters.reference.paths import snake_case
from dshcore.tools import (
    Accept,
    Allow,
    Ask,
    Block,
    Deny,
    ErrorFacts,
    ErrorInfo,
    ToolExecution,
    ToolFailure,
    ToolResult,
    ToolSuccess,
)

_EXECUTION: Final = ("callId", "name", "arguments", "rootCallId", "token", "parent", "signal")


class ExecutionFields(Mapping[str, object]):
    """The fields of an execution as they are whenever they are read; what it has not is absent.

    Args:
        execution: The execution.
        more: What stands beside it.
    """

    def __init__(self, execution: ToolExecution, **more: object) -> None:
        self._execution: Final = execution
        self._more: Final = more

    def __getitem__(self, name: str) -> object:
        if name in self._more:
            return self._more[name]
        value = getattr(self._execution, snake_case(name)) if name in _EXECUTION else UNSET
        if value is UNSET or (name == "parent" and value is None):
            raise KeyError(name)
        return value

    def __iter__(self) -> Iterator[str]:
        return (name for name in (*_EXECUTION, *self._more) if name in self)

    def __len__(self) -> int:
        return len(list(iter(self)))


def read_result(value: Any) -> object:  # noqa: ANN401 - raw
    """A result that the suite wrote.

    Args:
        value: As the suite wrote it; what is no result is answered as it is.
    """
    match value:
        case {"isError": False, "value": canonical}:
            return ToolSuccess(
                value=canonical,
                concludes_turn=value.get("concludesTurn") is True,
                **_common(value),
            )
        case {"isError": True, "error": {"message": str(message)} as error}:
            info = error.get("info")
            known = ErrorInfo(info["name"], info["code"]) if isinstance(info, Mapping) else None
            return ToolFailure(error=ErrorFacts(message, known), **_common(value))
    return value


def read_pre_execute(value: Any) -> object:  # noqa: ANN401 - raw
    """A decision about a call that is to start.

    Args:
        value: As the suite wrote it; what is no decision is answered as it is.
    """
    match value:
        case {"kind": "allow"}:
            return Allow()
        case {"kind": "deny", "reason": str(reason)}:
            return Deny(reason)
        case {"kind": "ask"}:
            return Ask(value.get("reason"))
    return value


def read_post_execute(value: Any) -> object:  # noqa: ANN401 - raw
    """A decision about a result.

    Args:
        value: As the suite wrote it; what is no decision is answered as it is.
    """
    match value:
        case {"kind": "accept"}:
            given = {name: value[name] for name in ("content", "value") if name in value}
            return Accept(additional_contexts=value.get("additionalContexts", ()), **given)
        case {"kind": "block", "feedback": Sequence() as feedback}:
            return Block(feedback=feedback, additional_contexts=value.get("additionalContexts", ()))
    return value


def show(value: object) -> dict[str, object] | None:
    """The members of a result or decision; none for everything else.

    Args:
        value: Something of the implementation.
    """
    match value:
        case ToolSuccess() | ToolFailure():
            return _result_members(value)
        case Allow():
            return {"kind": "allow"}
        case Deny(reason=reason):
            return {"kind": "deny", "reason": reason}
        case Ask(reason=reason):
            return {"kind": "ask"} if reason is None else {"kind": "ask", "reason": reason}
        case Accept():
            given = {"content": value.content, "value": value.value}
            return {"kind": "accept", **_present(given), **_contexts(value.additional_contexts)}
        case Block():
            return {"kind": "block", "feedback": value.feedback, **_contexts(value.additional_contexts)}
        case _:
            return None


def _result_members(result: ToolResult) -> dict[str, object]:
    members: dict[str, object] = {"isError": result.is_error}
    if isinstance(result, ToolSuccess):
        members["value"] = result.value
    else:
        info = result.error.info
        known = {} if info is None else {"info": {"name": info.name, "code": info.code}}
        members["error"] = {"message": result.error.message, **known}
    members["content"] = result.content
    members |= {**_present({"meta": result.meta}), **_contexts(result.additional_contexts)}
    if isinstance(result, ToolSuccess) and result.concludes_turn:
        members["concludesTurn"] = True
    return members


def _common(result: Mapping[str, Any]) -> dict[str, Any]:
    members = {"content": result.get("content", ()), "additional_contexts": result.get("additionalContexts", ())}
    return {**members, "meta": result["meta"]} if "meta" in result else members


def _present(members: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name, value in members.items() if value is not UNSET}


def _contexts(contexts: Sequence[object]) -> dict[str, object]:
    return {"additionalContexts": contexts} if contexts else {}
