"""The tool calls of one answer. No tools are mounted here: every call is one of an unknown tool.

This is the place of the scheduler. It gets the calls of one answer in model order, and has to leave one `tool/call`
and one `tool/result` for each of them, whatever happens, so that no later request carries a call without its result.
"""

from collections.abc import Sequence
from typing import Final

from dshcore.agent import Agent
from dshcore.cancel_signal import CancelSignal
from dshcore.ids import mint_message_id
from dshcore.json import JsonObject

_ABORTED: Final = ("tool call aborted before dispatch", {"name": "AbortError", "code": "ABORTED_BEFORE_DISPATCH"})


def calls_of(message: JsonObject) -> tuple[JsonObject, ...]:
    """Return the tool-call blocks of an answer, in model order; they alone decide whether tools run (LOOP-MSG-02)."""
    return tuple(block for block in message["content"] if block.get("type") == "tool-call")


async def run_calls(agent: Agent, turn: int, step: int, signal: CancelSignal, calls: Sequence[JsonObject]) -> bool:
    """Answer every call of one model answer, in model order.

    Args:
        agent: Whose step it is.
        turn: The open turn.
        step: The open step.
        signal: The turn's signal; once it is aborted, calls are answered without being started.
        calls: The tool-call blocks.

    Returns:
        Whether a result concludes the turn, so that no follow-up request is owed.

    Raises:
        AppendRefused: A call or result cannot be logged; nothing after it is.

    Spec:
        SCHED-CALL-01, SCHED-COMMIT-01, SCHED-ABORT-01, SCHED-ABORT-03, LOG-EVT-12, LOG-EVT-13
    """
    place = {"turn": turn, "step": step}
    for call in calls:
        name, call_id = call["name"], call["id"]
        logged = agent.session.append(
            "tool/call", {**place, "callId": call_id, "name": name, "arguments": call["arguments"]}
        )
        text, error = (
            _ABORTED
            if signal.aborted
            else (f'unknown tool "{name}"', {"name": "ToolNotFoundError", "code": "UNKNOWN_TOOL"})
        )
        block = {
            "type": "tool-result",
            "toolCallId": call_id,
            "content": [{"type": "text", "text": f"Error: {text}"}],
            "isError": True,
        }
        message = {
            "id": mint_message_id(),
            "role": "user",
            "source": {"kind": "tool", "callId": call_id},
            "content": [block],
        }
        agent.session.append(
            "tool/result",
            {**place, "message": message, "error": error},
            surface_op="append",
            source_event_seqs=[logged["seq"]],
        )
    return False
