"""The approval seam: who is asked when policy wants somebody to decide about a call.

The service is a collaborator. An application that provides none has every such call denied (PIPE-PRE-02).
"""

from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Final, Literal, Protocol, TypeAlias

from dshcore import eager
from dshcore.agent import Agent
from dshcore.cancel_signal import CancelSignal
from dshcore.context import ServiceKey

ApprovalOutcome: TypeAlias = Literal["allowed-once", "rejected", "cancelled", "unavailable"]
"""What became of a request: a grant for this one call, a refusal, a request withdrawn, nobody there to ask."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalRequest:
    """What somebody is to decide about.

    Attributes:
        agent: The agent that the call is made for.
        tool_name: The tool.
        call_id: The call.
        signal: Asks for the request to be withdrawn.
        reason: Why policy asks, if it says so.
    """

    agent: Agent
    tool_name: str
    call_id: str
    signal: CancelSignal
    reason: str | None = None


class Approval(Protocol):
    """Asks whoever may decide."""

    def request(self, request: ApprovalRequest, /) -> Awaitable[ApprovalOutcome]:
        """Answer what was decided.

        Args:
            request: What is asked.
        """
        ...


APPROVAL: Final = ServiceKey[Approval]("approval")
"""Who is asked about calls."""


def denial_after(outcome: object, tool_name: str) -> str | None:
    """Answer why a call may not go on after a request; none where it was granted.

    Args:
        tool_name: The tool.
        outcome: What was decided.

    Raises:
        TypeError: The service answered something else than an outcome.

    Spec:
        PIPE-PRE-03, PIPE-PRE-05
    """
    match outcome:
        case "allowed-once":
            return None
        case "rejected":
            return f'the user rejected tool "{tool_name}"'
        case "cancelled":
            return f'approval for tool "{tool_name}" was cancelled'
        case "unavailable":
            return f'tool "{tool_name}" requires approval, but no approval channel is available'
        case _:
            eager.discard(outcome)
            raise TypeError(
                f"the approval service answered {outcome!r}: answer allowed-once, rejected, cancelled or unavailable"
            )
