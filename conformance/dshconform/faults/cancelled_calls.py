"""Faults of a call of a tool that is cancelled: at its entry, by its policy, and while its result is told."""

from typing import Final

from dshconform.faults.edit import edit, together
from dshconform.faults.fault import Fault
from dshcore.tools.pipeline import PendingCall

CANCELLED_CALL_FAULTS: Final[tuple[Fault, ...]] = (
    Fault(
        "call-aborted-at-its-entry-is-reviewed",
        "PIPE-CANCEL-01",
        "Policy is asked about the result of a call that was aborted at its entry.",
        edit(PendingCall, "__init__", ("(ABORTED_BEFORE_DISPATCH, needs_post=False)", "(ABORTED_BEFORE_DISPATCH)")),
    ),
    Fault(
        "abort-by-policy-is-noticed-behind-the-body",
        "PIPE-CANCEL-02",
        "The body of a call runs although it was aborted while policy was asked about it.",
        together(
            edit(PendingCall, "prepare", ("    elif self._call.signal.aborted:\n", "    elif False:\n")),
            edit(PendingCall, "_attempt_body", ("    if _any_aborted(call.signal, own):\n", "    if False:\n")),
        ),
    ),
    Fault(
        "abort-while-it-is-told-changes-a-result",
        "PIPE-CANCEL-08",
        "A cancel by a listener of tools/result replaces the result that is logged.",
        edit(
            PendingCall,
            "_finalized",
            ("    return result", "    self._result = self._unless_aborted(result)\n    return result"),
        ),
    ),
)
"""Each is a wrong implementation that the *violation* of its clause describes, for the tool cancellation machine."""
