"""Faults of what a call comes to: from its registration to the form of its result."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Final

from dshconform.faults.edit import edit, together
from dshconform.faults.fault import Fault, replaced
from dshcore import eager
from dshcore.tools import ToolRegistry, ToolResult, results
from dshcore.tools.pipeline import PendingCall

_attempt: Final[Callable[[PendingCall], Coroutine[Any, Any, ToolResult]]] = PendingCall._attempt_body  # noqa: SLF001
_finish: Final[Callable[[PendingCall], Coroutine[Any, Any, ToolResult]]] = PendingCall.finish


async def _race(self: PendingCall) -> ToolResult:
    """Whichever comes first: the end of the body, or the abort."""
    body = eager.start(_attempt(self))
    aborted = asyncio.Event()
    waiting = eager.start(aborted.wait())
    release = self._call.signal.on_abort(aborted.set)
    await asyncio.wait([body, waiting], return_when=asyncio.FIRST_COMPLETED)
    release()
    waiting.cancel()
    return body.result() if body.done() else results.ABORTED


async def _look_again(self: PendingCall) -> ToolResult:
    """Policy sees what has become of a result while it waited for its commit."""
    assert self._result is not None
    self._result = self._unless_aborted(self._result)
    return await _finish(self)


TOOL_RESULT_FAULTS: Final[tuple[Fault, ...]] = (
    Fault(
        "registered-a-tick-later",
        "TOOL-DEF-01",
        "A tool is there when the loop turns next, not when its registration returns.",
        edit(
            ToolRegistry,
            "register",
            (
                "return self._layers.register(owner, file, ",
                (
                    "from asyncio import get_running_loop\n"
                    "    made = []\n"
                    "    file_it = lambda: made.append(self._layers.register(owner, file, label=definition.name))\n"
                    "    get_running_loop().call_soon(file_it)\n"
                    "    return (lambda: made[0](), "
                ),
            ),
            ('label=f"tool {definition.name}")', "None)[0]"),
        ),
    ),
    Fault(
        "body-races-the-abort",
        "PIPE-BODY-04",
        "A call ends with the abort, although its body has not ended.",
        lambda: replaced(PendingCall, {"_attempt_body": _race}),
    ),
    Fault(
        "concluding-twice-is-not-concluding",
        "PIPE-CONCLUDE-01",
        "A body that concludes the turn a second time takes it back.",
        edit(PendingCall, "_conclude", ("self._concluded = True", "self._concluded = not self._concluded")),
    ),
    Fault(
        "body-wins-over-the-abort",
        "PIPE-CANCEL-05",
        "A body that ends well behind an abort has succeeded.",
        together(
            edit(
                PendingCall,
                "_attempt_body",
                ("return ABORTED if _any_aborted(call.signal, own) else result", "return result"),
            ),
            edit(PendingCall, "_unless_aborted", ("or not self._call.signal.aborted", "or True")),
        ),
    ),
    Fault(
        "deferred-contexts-go-with-the-abort",
        "PIPE-CANCEL-05",
        "What a body deferred is dropped with its value when the call was aborted.",
        edit(
            PendingCall, "dispatch", ("(*self._deferred, ", "(*(() if self._call.signal.aborted else self._deferred), ")
        ),
    ),
    Fault(
        "no-meta-is-an-empty-one",
        "RESULT-SHAPE-01",
        "A result without data for display has an empty member for it.",
        edit(PendingCall, "_completed", ("meta: Json | UnsetType = UNSET", "meta = None")),
    ),
    Fault(
        "prefix-is-part-of-the-message",
        "RESULT-TEXT-01",
        "The message of a failure begins with `Error: `, as its text for the model does.",
        edit(results, "phrased", ("ErrorFacts(message, info)", 'ErrorFacts(f"Error: {message}", info)')),
    ),
    Fault(
        "guards-are-asked-about-denied-calls",
        "PIPE-PRE-01",
        "A guard is asked about a denied call too, and its reason takes the place of the denial.",
        edit(
            PendingCall,
            "prepare",
            ("if denial is None:", "if True:"),
            (
                "denial = guard_denial(self._tools.guards(self._scope), self.execution)",
                "denial = guard_denial(self._tools.guards(self._scope), self.execution) or denial",
            ),
        ),
    ),
    Fault(
        "accepted-failure-is-a-success",
        "PIPE-POST-01",
        "A failed result of which policy replaces the content is a success.",
        edit(
            PendingCall,
            "_decided",
            ("result = replace(result, content=content)", "result = ToolSuccess(value=None, content=content)"),
        ),
    ),
    Fault(
        "waiting-results-are-looked-at-again",
        "PIPE-CANCEL-10",
        "Policy is told of an abort that came while a result waited for the calls before it.",
        lambda: replaced(PendingCall, {"finish": _look_again}),
    ),
)
"""Each is a wrong implementation that the *violation* of its clause describes."""
