"""Whether a call may go on: the decision of policy, the approval that it may ask for, and the guards."""

from collections.abc import Iterable
from reprlib import repr as shortened

from dshcore import eager
from dshcore.cancel_signal import CancelSignal
from dshcore.tools.approval import Approval, ApprovalRequest, denial_after
from dshcore.tools.events import Allow, Ask, Deny
from dshcore.tools.executions import ToolExecution
from dshcore.tools.results import ABORTED_BEFORE_DISPATCH, ToolFailure, phrased
from dshcore.tools.visibility import Guard


async def denial_of(
    decision: object, execution: ToolExecution, signal: CancelSignal, approval: Approval | None
) -> ToolFailure | None:
    """Answer what a call comes to where policy does not let it go on; none if it does.

    Args:
        decision: What policy has decided.
        execution: The call.
        signal: Asks for the call to stop.
        approval: Who is asked, if there is anybody.

    Raises:
        TypeError: It is no decision, or the approval service answered no outcome.
        Exception: What the approval service raised.

    Cancellation:
        Delivered to the approval service.

    Spec:
        PIPE-PRE-01, PIPE-PRE-02
    """
    match decision:
        case Allow():
            return None
        case Deny(reason=str(reason)):
            return phrased(reason)
        case Ask(reason=None) if approval is None:
            return phrased(f'tool "{execution.name}" requires approval (not yet supported)')
        case Ask(reason=str(reason)) if approval is None:
            return phrased(reason)
        case Ask(reason=None | str()) if approval is not None:
            return await _denial_unless_approved(decision.reason, execution, signal, approval)
        case _:
            raise TypeError(f"tools/pre-execute was answered with {decision!r}: answer Allow(), Deny(reason) or Ask()")


async def _denial_unless_approved(
    reason: str | None, execution: ToolExecution, signal: CancelSignal, approval: Approval
) -> ToolFailure | None:
    """Have somebody decide about a call.

    Spec:
        PIPE-PRE-03, PIPE-PRE-05, PIPE-CANCEL-03
    """
    name, agent = execution.name, execution.agent
    if agent is None:
        return phrased(f'tool "{name}" requires approval, but the call has no agent to route it through')
    request = ApprovalRequest(agent=agent, tool_name=name, call_id=execution.call_id, signal=signal, reason=reason)
    outcome = await eager.answer_of(approval.request(request), "the approval service")
    denial = denial_after(outcome, name)
    if outcome == "cancelled" and signal.aborted:
        return ABORTED_BEFORE_DISPATCH  # the one denial that an abort wins over
    return None if denial is None else phrased(denial)


def guard_denial(guards: Iterable[Guard], execution: ToolExecution) -> ToolFailure | None:
    """Answer what a call comes to where a guard denies it: the first reason counts, an empty one too.

    Args:
        guards: Are asked one after another.
        execution: The call.

    Raises:
        TypeError: A guard answered something else than a reason or nothing.
        Exception: What a guard raised.

    Spec:
        PIPE-GUARD-01, PIPE-GUARD-02, PIPE-GUARD-03
    """
    for guard in guards:
        reason: object = guard(execution)
        if isinstance(reason, str):
            return phrased(reason)
        if reason is not None:
            eager.discard(reason)
            raise TypeError(f"a guard answered {shortened(reason)}: answer why the call may not go on, or nothing")
    return None
