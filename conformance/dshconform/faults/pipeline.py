"""Faults of the pipeline that no scenario needs: the pipeline machine finds them."""

from typing import Final

from dshconform.faults.edit import edit
from dshconform.faults.fault import Fault
from dshcore.tools.pipeline import PendingCall

PIPELINE_FAULTS: Final[tuple[Fault, ...]] = (
    Fault(
        "an-empty-reason-is-none",
        "PIPE-PRE-01",
        "A call that is denied without a word goes on.",
        edit(
            PendingCall,
            "prepare",
            ("    if denial is not None:\n", "    if denial is not None and denial.error.message:\n"),
        ),
    ),
    Fault(
        "an-abort-ends-the-wait",
        "PIPE-BODY-04",
        "A call whose signal was aborted ends while its body still runs.",
        edit(
            PendingCall,
            "_attempt_body",
            (
                "value = await eager.answer_of(body, ",
                (
                    "import asyncio\n"
                    "        fired = asyncio.get_running_loop().create_future()\n"
                    "        signal.on_abort(lambda: fired.done() or fired.set_result(None))\n"
                    "        if asyncio.iscoroutine(body) or asyncio.isfuture(body):\n"
                    "            body = asyncio.ensure_future(body)\n"
                    "            await asyncio.wait([body, fired], return_when=asyncio.FIRST_COMPLETED)\n"
                    "            if not body.done():\n"
                    "                return ABORTED\n"
                    "        value = await eager.answer_of(body, "
                ),
            ),
        ),
    ),
    Fault(
        "conclusions-are-forgotten",
        "PIPE-CONCLUDE-01",
        "A call whose body concludes the turn does not.",
        edit(PendingCall, "dispatch", ("concludes_turn=self._concluded", "concludes_turn=False")),
    ),
    Fault(
        "other-content-drops-the-projection",
        "PIPE-POST-01",
        "A result of which policy replaces the content loses what is no content.",
        edit(
            PendingCall,
            "_decided",
            (
                "            result = replace(result, content=content)\n",
                (
                    "            kept = {} if result.is_error else {'meta': UNSET}\n"
                    "            result = replace(result, content=content, **kept)\n"
                ),
            ),
        ),
    ),
    Fault(
        "a-body-that-ends-was-not-aborted",
        "PIPE-CANCEL-05",
        "A body that ends well behind the abort of its call is told to wrappers as a success.",
        edit(
            PendingCall,
            "_attempt_body",
            (
                "return ABORTED if _any_aborted(call.signal, own) else result",
                "return ABORTED if own is not call.signal and own.aborted else result",
            ),
        ),
    ),
)
"""Each is a wrong implementation that the *violation* of its clause, or its text, rules out."""
