"""Faults of what tools, wrappers and policy may say: definitions, arguments, values, decisions, errors."""

from typing import Final

from dshconform.faults.edit import edit
from dshconform.faults.fault import Fault
from dshcore.tools import definitions, pipeline, results
from dshcore.tools.pipeline import PendingCall

TOOL_CONTRACT_FAULTS: Final[tuple[Fault, ...]] = (
    Fault(
        "null-is-no-projector",
        "TOOL-DEF-02",
        "A projector that is null is taken for one that is not there.",
        edit(definitions, "check_output", ("(meta is UNSET or", "(meta is None or meta is UNSET or")),
    ),
    Fault(
        "null-is-no-timeout",
        "TOOL-DEF-04",
        "A timeout that is null is taken for one that is not there.",
        edit(definitions, "is_duration", ("return value is UNSET or", "return value is None or value is UNSET or")),
    ),
    Fault(
        "policy-is-asked-about-lossy-arguments",
        "PIPE-ARGS-02",
        "Arguments that cannot be kept are policy's affair.",
        edit(
            PendingCall,
            "__init__",
            ("        self._settle(phrased(LOSSY_ARGUMENTS), needs_post=False)\n", "        shown = None\n"),
        ),
    ),
    Fault(
        "replacement-detaches-the-body",
        "PIPE-AROUND-07",
        "A body whose signal a wrapper replaced does not see the cancel of its turn.",
        edit(pipeline, "_either", ("else (follow(own), follow(callers))", "else (follow(own),)")),
    ),
    Fault(
        "replacement-ends-with-the-wrappers",
        "PIPE-AROUND-07",
        "Policy is shown the caller's signal, and not the one that a wrapper has put in its place.",
        edit(
            PendingCall,
            "dispatch",
            (
                "        self._is_around = False\n",
                "        self.execution.signal = self._call.signal\n        self._is_around = False\n",
            ),
        ),
    ),
    Fault(
        "policy-sees-what-a-wrapper-broke",
        "PIPE-AROUND-03",
        "Policy is asked about a wrapper's own success that breaks the contract of the tool.",
        edit(
            PendingCall,
            "dispatch",
            (", needs_post=False)\n        return\n    finally", ")\n        return\n    finally"),
        ),
    ),
    Fault(
        "contexts-outlive-a-broken-answer",
        "PIPE-AROUND-03",
        "What a body has deferred goes with the failure of a wrapper's own success that breaks the contract.",
        edit(
            PendingCall,
            "dispatch",
            (
                "    self._settle(self._failure(error, self.execution.signal), needs_post=False)\n",
                (
                    "    broken = isinstance(error, ToolOutputError)\n"
                    "        failure = self._failure(error, self.execution.signal)\n"
                    "        failure = replace(failure, additional_contexts=tuple(self._deferred) if broken else ())\n"
                    "        self._settle(failure, needs_post=False)\n"
                ),
            ),
        ),
    ),
    Fault(
        "replaced-value-is-not-validated",
        "PIPE-POST-02",
        "The value that policy puts in the place of another is taken as it is.",
        edit(
            PendingCall,
            "_decided",
            ("return replace(self._completed(definition, value), ", "return replace(result, value=value, "),
        ),
    ),
    Fault(
        "replaced-value-revives-a-failure",
        "PIPE-POST-03",
        "A failed call to which policy gives a value succeeds.",
        edit(PendingCall, "_decided", ("    if not isinstance(result, ToolSuccess):\n", "    if False:\n")),
    ),
    Fault(
        "a-failed-result-is-looked-at-first",
        "PIPE-POST-03",
        "Of two things that are wrong with a decision the second is told.",
        edit(
            PendingCall,
            "_decided",
            ("    if content is not UNSET:\n", "    if content is not UNSET and isinstance(result, ToolSuccess):\n"),
        ),
    ),
    Fault(
        "aborted-wrapper-ran-the-body",
        "PIPE-CANCEL-07",
        "A wrapper's own success of an aborted call counts as one of the body.",
        edit(
            PendingCall,
            "_unless_aborted",
            ("replace(self._abortion(), ", "replace(ABORTED, "),
        ),
    ),
    Fault(
        "failed-review-keeps-its-contexts",
        "PIPE-CTX-03",
        "What the body deferred is delivered although policy decided what cannot be.",
        edit(
            PendingCall,
            "_apply_policy",
            (
                "self._settle(self._failure(error))",
                "self._settle(replace(self._failure(error), additional_contexts=result.additional_contexts))",
            ),
        ),
    ),
    Fault(
        "any-code-is-an-identity",
        "PIPE-BODY-01",
        "An error that is none of the harness has an identity if it carries a code.",
        edit(
            results,
            "failure_of",
            (
                "ErrorInfo(type(error).__name__, error.code) if isinstance(error, DshError) else None",
                'ErrorInfo(type(error).__name__, str(error.code)) if hasattr(error, "code") else None',
            ),
        ),
    ),
)
"""Each is a wrong implementation that the *violation* of its clause, or its text, rules out."""
