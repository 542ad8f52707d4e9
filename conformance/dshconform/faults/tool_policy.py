"""Faults of what may keep a call from its body: policy, approvals, guards."""

from typing import Final

from dshconform.faults.edit import edit
from dshconform.faults.fault import Fault
from dshcore.tools import permission, visibility
from dshcore.tools.pipeline import PendingCall

TOOL_POLICY_FAULTS: Final[tuple[Fault, ...]] = (
    Fault(
        "nobody-to-ask-is-a-grant",
        "PIPE-PRE-02",
        "Where nobody can be asked the call goes on.",
        edit(
            permission,
            "denial_of",
            (
                "case Ask(reason=str(reason)) if approval is None:\n            return phrased(reason)",
                "case Ask(reason=str(reason)) if approval is None:\n            return None",
            ),
        ),
    ),
    Fault(
        "a-rejection-has-the-reason-of-policy",
        "PIPE-PRE-03",
        "A call that was rejected is denied for the reason that policy asked for.",
        edit(
            permission,
            "_denial_unless_approved",
            ("phrased(denial)", 'phrased(reason or "not approved")'),
        ),
    ),
    Fault(
        "a-grant-is-the-last-word",
        "PIPE-PRE-04",
        "Guards are not asked about a call that was approved.",
        edit(
            PendingCall,
            "prepare",
            (
                "if denial is None:  # after a grant as well: PIPE-PRE-04",
                "if denial is None and type(decision) is Allow:",
            ),
        ),
    ),
    Fault(
        "failing-policy-is-skipped",
        "PIPE-PRE-05",
        "A call goes on where policy fails.",
        edit(
            PendingCall,
            "prepare",
            ("    self._settle(self._failure(error), needs_post=False)\n        return", "    return"),
        ),
    ),
    Fault(
        "the-nearest-guard-first",
        "PIPE-GUARD-01",
        "The guards of the agent are asked before those of everybody.",
        edit(visibility, "guards_around", ("in layers.visible(scope):", "in reversed(layers.visible(scope)):")),
    ),
    Fault(
        "guards-can-be-outvoted",
        "PIPE-GUARD-02",
        "A listener that allows a call by itself keeps the guards out.",
        edit(
            PendingCall,
            "prepare",
            (
                "async def allow() -> PreExecuteDecision:\n        return Allow()",
                (
                    "asked = []\n\n    async def allow() -> PreExecuteDecision:\n"
                    "        asked.append(True)\n        return Allow()"
                ),
            ),
            ("if denial is None:  # after", "if denial is None and asked:  # after"),
        ),
    ),
    Fault(
        "a-failing-guard-abstains",
        "PIPE-GUARD-03",
        "A guard that fails is taken for one that has nothing to say.",
        edit(
            permission,
            "guard_denial",
            (
                "reason: object = guard(execution)",
                "try:\n            reason = guard(execution)\n        except Exception:\n            continue",
            ),
        ),
    ),
    Fault(
        "added-guards-wait",
        "PIPE-GUARD-04",
        "A guard that an earlier one adds is not asked about the same call.",
        edit(visibility, "guards_around", ("layer.guards", "tuple(layer.guards)")),
    ),
    Fault(
        "a-copy-of-the-guards",
        "PIPE-GUARD-05",
        "A guard that was lifted before its turn is asked.",
        edit(
            visibility,
            "guards_around",
            (
                "yield from layer.guards",
                (
                    "before = tuple(layer.guards)\n"
                    "        yield from before\n"
                    "        yield from (guard for guard in layer.guards if guard not in before)"
                ),
            ),
        ),
    ),
    Fault(
        "an-abort-is-noticed-before-the-guards",
        "PIPE-CANCEL-02",
        "A call that was aborted while policy was asked passes no guard.",
        edit(
            PendingCall,
            "prepare",
            (
                "if denial is None:  # after a grant as well: PIPE-PRE-04",
                "if denial is None and not self._call.signal.aborted:",
            ),
        ),
    ),
    Fault(
        "an-abort-wins-over-policy",
        "PIPE-CANCEL-03",
        "A call that was rejected and aborted is told to be aborted.",
        edit(
            permission,
            "_denial_unless_approved",
            ('outcome == "cancelled" and signal.aborted', "signal.aborted and denial is not None"),
        ),
    ),
)
