"""What ends a creation before its handle is out, and what its caller is told of that."""

from dshcore.agent import AgentError
from dshcore.cancel_signal import CancelSignal
from dshcore.context import Context


class LoopInactive(AgentError):
    """The agent loop is closing, or closed (LIFE-OWN-06)."""

    default_code = "LOOP_INACTIVE"

    def __init__(self) -> None:
        super().__init__("agent loop is not active")


class CreationAborted(AgentError):
    """A creation was given up because of its owner or its caller.

    Attributes:
        reason: What the caller's signal was aborted with; none where the owner closed.
    """

    default_code = "CREATION_ABORTED"

    def __init__(self, message: str, reason: object = None) -> None:
        super().__init__(message)
        self.reason = reason


def closing(owner: Context, loop: Context) -> Context | None:
    """Answer who of the two has begun to end, which its effects learn of only later. The owner counts before the loop.

    What is around the owner counts last: for the scope of an agent that is the loop (LIFE-OWN-06).
    """
    if not owner.active:
        return owner
    if loop.closing:
        return loop
    return owner if owner.closing else None


def abort_error(agent_id: str, signal: CancelSignal) -> BaseException:
    """Answer what a creation rejects with when its signal is aborted (LIFE-ABORT-02).

    Args:
        agent_id: The id of the agent that was being made.
        signal: The aborted signal.
    """
    if isinstance(signal.reason, BaseException):
        return signal.reason
    return CreationAborted(f'agent "{agent_id}" creation aborted', signal.reason)
