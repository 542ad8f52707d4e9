"""Faults of a turn that is cancelled: its signal, and its course and ending, wherever the abort lands."""

from typing import Final

from dshconform.faults.edit import edit, together
from dshconform.faults.fault import Fault
from dshconform.faults.pieces import CHECK
from dshcore.agent_loop.agent import DrivenAgent
from dshcore.agent_loop.driver import Driver
from dshcore.agent_loop.request import Requests

_FRESH: Final = ("turn.signal)", "CancelSignal())")
_NO_NEXT_SIGNAL: Final = ("self._activity.signal = CancelSignal()", "pass")
_CEILING_FIRST: Final = 'if signal.aborted and turn.outcome == "max-tokens":\n            return turn.outcome\n'

CANCELLED_TURN_FAULTS: Final[tuple[Fault, ...]] = (
    Fault(
        "one-signal-per-run",
        "CANCEL-SIGNAL-01",
        "The next turn of a run has the signal of the one before.",
        edit(DrivenAgent, "_feed", _NO_NEXT_SIGNAL),
    ),
    Fault(
        "signal-of-the-turn-before-fires-too",
        "CANCEL-SIGNAL-01",
        "Who holds the signal of an earlier turn of the run is told of the abort of a later one.",
        edit(
            DrivenAgent,
            "_feed",
            (
                "                self._activity.signal = CancelSignal()",
                (
                    "                last, self._activity.signal = self._activity.signal, CancelSignal()\n"
                    "                self._activity.signal.on_abort(lambda: last.abort(cause))"
                ),
            ),
        ),
    ),
    Fault(
        "pre-step-has-another-signal",
        "CANCEL-SIGNAL-01",
        "The signal that agent/pre-step is given is not that of the turn.",
        edit(Driver, "_decide", _FRESH),
    ),
    Fault(
        "request-has-another-signal",
        "CANCEL-SIGNAL-01",
        "The signal that agent/request is given is not that of the turn.",
        edit(Requests, "attempt", ("turn, step, signal), proposal)", "turn, step, CancelSignal()), proposal)")),
    ),
    Fault(
        "recovery-has-another-signal",
        "CANCEL-SIGNAL-01",
        "The signal that agent/request-error is given is not that of the turn.",
        edit(Driver, "_may_retry", ("retry_policy, turn.signal\n", "retry_policy, CancelSignal()\n")),
    ),
    Fault(
        "stopping-has-another-signal",
        "CANCEL-SIGNAL-01",
        "The signal that agent/turn-stopping is given is not that of the turn.",
        edit(Driver, "_run_steps", ("turn.number, signal))", "turn.number, CancelSignal()))")),
    ),
    Fault(
        "ending-is-chosen-after-the-listeners",
        "CANCEL-ERR-02",
        "A cancel by a listener of agent/error makes an aborted turn of a failed one.",
        edit(
            Driver,
            "_ending_of",
            (
                "turn.opened, failure))\n",
                "turn.opened, failure))\n    if turn.signal.aborted:\n        return _ABORTED\n",
            ),
        ),
    ),
    Fault(
        "cancelled-run-opens-a-turn",
        "CANCEL-PHASE-01",
        "A run that was cancelled before its first turn opens it and closes it as aborted.",
        edit(Driver, "run", ("not agent.signal.aborted and ", "")),
    ),
    Fault(
        "cancelled-turn-claims",
        "CANCEL-PHASE-02",
        "A turn that was cancelled at its start claims its batch.",
        edit(Driver, "_run_steps", (f"        {CHECK}        batch", "        batch")),
    ),
    Fault(
        "cancelled-turn-opens-its-step",
        "CANCEL-PHASE-03",
        "A turn that was cancelled after its claim opens the step and enters the batch.",
        edit(
            Driver,
            "_run_steps",
            (f"        {CHECK}        decision", "        decision"),
            (f"        {CHECK}        if isinstance", "        if isinstance"),
        ),
    ),
    Fault(
        "cancelled-turn-asks-its-hook",
        "CANCEL-PHASE-03",
        "agent/pre-step is asked although the abort came before it.",
        edit(Driver, "_run_steps", (f"        {CHECK}        decision", "        decision")),
    ),
    Fault(
        "rejection-wins-over-an-abort",
        "CANCEL-PHASE-04",
        "A turn that is cancelled and rejected ends blocked.",
        edit(
            Driver,
            "_run_steps",
            (f"        {CHECK}        if isinstance(decision, Reject):", "        if isinstance(decision, Reject):"),
            ('            return "blocked"\n', f'            return "blocked"\n        {CHECK}'),
        ),
    ),
    Fault(
        "abort-cuts-the-batch",
        "CANCEL-PHASE-05",
        "Of the messages of a step that is cancelled meanwhile only some are recorded.",
        edit(
            Driver,
            "_run_step",
            (
                '            session.append("user/message"',
                f'            turn.{CHECK}            session.append("user/message"',
            ),
        ),
    ),
    Fault(
        "abort-leaves-the-step-open",
        "CANCEL-PHASE-05",
        "A step that is cancelled has no end.",
        edit(
            Driver,
            "_run_step",
            (
                '        session.append("step/end", place)',
                '        turn.signal.aborted or session.append("step/end", place)',
            ),
        ),
    ),
    Fault(
        "cancelled-request-has-a-header",
        "CANCEL-PHASE-06",
        "A cancel during agent/request does not prevent the header.",
        edit(
            Requests,
            "attempt",
            (f"    {CHECK}    if not isinstance(config", "    if not isinstance(config"),
            (f"    {CHECK}    if call is not None", "    if call is not None"),
        ),
    ),
    Fault(
        "cancelled-request-is-sent",
        "CANCEL-PHASE-06",
        "A request is sent although the abort landed on its header.",
        together(
            edit(Requests, "attempt", (f"    {CHECK}    request =", "    request =")),
            edit(Requests, "_receive", (f"        {CHECK}        async for", "        async for")),
        ),
    ),
    Fault(
        "complete-turn-stays-completed",
        "CANCEL-STOP-01",
        "A turn that is cancelled after its answer ends completed.",
        edit(
            Driver,
            "_run_steps",
            (f"        {CHECK}        target", "        target"),
            (f"        {CHECK}        if not inbox.has_next_step", "        if not inbox.has_next_step"),
        ),
    ),
    Fault(
        "ceiling-outlasts-an-abort",
        "CANCEL-STOP-01",
        "A turn that is cancelled after an answer that reached its ceiling ends max-tokens.",
        edit(
            Driver,
            "_run_steps",
            (f"        {CHECK}        target", f"        {_CEILING_FIRST}        {CHECK}        target"),
        ),
    ),
    Fault(
        "cancelled-turn-is-asked-to-stop",
        "CANCEL-STOP-01",
        "The stopping hook runs although the turn was cancelled at the end of its step.",
        edit(Driver, "_run_steps", (f"        {CHECK}        target", "        target")),
    ),
    Fault(
        "late-cancel-hits-the-next-turn",
        "CANCEL-END-01",
        "A cancel that lands on the end of a turn aborts the one behind it.",
        edit(DrivenAgent, "_feed", _NO_NEXT_SIGNAL),
    ),
    Fault(
        "late-cancel-changes-the-ending",
        "CANCEL-END-01",
        "A cancel that lands on the end of a turn keeps the run from going on.",
        edit(DrivenAgent, "turn_closed", ("may_go_on and ", "may_go_on and not self.signal.aborted and ")),
    ),
)
