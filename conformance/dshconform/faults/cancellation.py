"""Faults of cancelling: what a cancel does, when, and what is kept of a turn that it ends."""

from typing import Final

from dshconform.faults.edit import edit, together
from dshconform.faults.fault import Fault
from dshconform.faults.latch import cells
from dshcore.agent.inbox import Inbox
from dshcore.agent_loop.agent import DrivenAgent
from dshcore.agent_loop.driver import Driver
from dshcore.agent_loop.phase import Action, Cell, Input, Row
from dshcore.agent_loop.request import Requests
from dshcore.agent_loop.scheduling import Scheduler
from dshcore.cancel_signal import CancelSignal
from dshcore.llm import assembler
from dshcore.llm.assembler import BlockAssembler

CHECK: Final = "signal.raise_if_aborted()\n"

PUT_BACK: Final = (
    "    reason = self._ending_of(agent, turn, failure)\n",
    (
        "    reason = self._ending_of(agent, turn, failure)\n"
        "        for message in agent.claimed_last if {when} and not turn.opened else ():\n"
        '            agent.inbox.append("next-turn", message)\n'
    ),
)
KEEP_BATCH: Final = (
    "        batch = inbox.claim(target, turn.number)\n",
    "        batch = agent.claimed_last = inbox.claim(target, turn.number)\n",
)
FRESH: Final = ("turn.signal)", "CancelSignal())")
NO_NEXT_SIGNAL: Final = ("self._activity.signal = CancelSignal()", "pass")

CANCEL_FAULTS: Final[tuple[Fault, ...]] = (
    Fault(
        "generic-abort-reason",
        "CANCEL-CAUSE-01",
        "Holders of the signal see that it was aborted, and not why.",
        edit(DrivenAgent, "_feed", ("self.signal.abort(cause)", 'self.signal.abort({"name": "AbortError"})')),
    ),
    Fault(
        "reason-of-a-hook-is-lost",
        "CANCEL-CAUSE-01",
        "Of a cause only the kind is handed on.",
        edit(DrivenAgent, "_feed", ("self.signal.abort(cause)", 'self.signal.abort({"kind": cause.get("kind")})')),
    ),
    Fault(
        "last-cause-wins",
        "CANCEL-FIRST-01",
        "A later cause replaces the reason of the signal.",
        together(
            lambda: cells({(Row.RUNNING_ABORTED, Input.ABORT): Cell(Row.RUNNING_ABORTED, (Action.FIRE,))}),
            edit(
                CancelSignal, "abort", ("        return False", "        self._reason = reason\n        return False")
            ),
        ),
    ),
    Fault(
        "one-signal-per-run",
        "CANCEL-SIGNAL-01",
        "The next turn of a run has the signal of the one before.",
        edit(DrivenAgent, "_feed", NO_NEXT_SIGNAL),
    ),
    Fault(
        "pre-step-has-another-signal",
        "CANCEL-SIGNAL-01",
        "The signal that agent/pre-step is given is not that of the turn.",
        edit(Driver, "_decide", FRESH),
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
        "abort-before-clear",
        "CANCEL-CLEAR-01",
        "A cancel aborts first and clears the inbox then.",
        edit(
            DrivenAgent,
            "cancel",
            (
                "    if not keep_inbox:\n",
                (
                    '    self._feed(Input.ABORT_DISPOSED if cause["kind"] == "disposed" else Input.ABORT, cause)\n'
                    "    if not keep_inbox:\n"
                ),
            ),
        ),
    ),
    Fault(
        "second-cancel-does-nothing",
        "CANCEL-CLEAR-02",
        "A cancel of what is aborted already returns early.",
        edit(
            DrivenAgent,
            "cancel",
            (
                "    if not keep_inbox:\n",
                "    if self._activity is not None and self.signal.aborted:\n        return\n    if not keep_inbox:\n",
            ),
        ),
    ),
    Fault(
        "kept-inbox-loses-its-context",
        "CANCEL-KEEP-01",
        "A cancel with keepInbox discards what waits for the next step.",
        edit(
            DrivenAgent,
            "cancel",
            (
                "    if not keep_inbox:\n",
                '    self._inbox.splice("next-step", 0, len(self._inbox.next_step))\n    if not keep_inbox:\n',
            ),
        ),
    ),
    Fault(
        "kept-input-runs-on",
        "CANCEL-KEEP-02",
        "What a cancel kept starts right after the aborted turn.",
        edit(
            Driver,
            "_run_turn",
            (
                "reason = self._ending_of(agent, turn, failure)",
                "reason = self._ending_of(agent, turn, failure)\n        may_go_on = turn.signal.aborted",
            ),
        ),
    ),
    Fault(
        "aborted-batch-is-put-back",
        "CANCEL-KEEP-03",
        "What an aborted turn had claimed returns to the inbox.",
        together(
            edit(Driver, "_run_steps", KEEP_BATCH),
            edit(Driver, "_run_turn", (PUT_BACK[0], PUT_BACK[1].format(when="turn.signal.aborted"))),
        ),
    ),
    Fault(
        "idle-cancel-drops-the-next-turn",
        "CANCEL-IDLE-01",
        "A cancel of an idle agent is remembered, and hits the next turn.",
        together(
            edit(
                DrivenAgent,
                "cancel",
                ("    if not keep_inbox:\n", "    self.marked = self._activity is None\n    if not keep_inbox:\n"),
            ),
            edit(
                DrivenAgent,
                "_start_driver",
                (
                    "    self._activity = activity = Activity()\n",
                    (
                        "    self._activity = activity = Activity()\n"
                        '    if getattr(self, "marked", False):\n'
                        '        self.marked = bool(activity.signal.abort({"kind": "user"})) and False\n'
                    ),
                ),
            ),
        ),
    ),
    Fault(
        "idle-cancel-leaves-the-inbox",
        "CANCEL-IDLE-02",
        "A cancel of an idle agent does not touch the inbox.",
        edit(
            DrivenAgent,
            "cancel",
            ("    if not keep_inbox:\n", "    if not keep_inbox and self._activity is not None:\n"),
        ),
    ),
    Fault(
        "cancelled-reads-idle",
        "CANCEL-STATUS-01",
        "The status is idle as soon as the signal is aborted.",
        edit(DrivenAgent, "status", ("if self._state.running", "if self._state.running and not self.signal.aborted")),
    ),
    Fault(
        "abort-arrives-later",
        "CANCEL-SYNC-01",
        "The abort reaches the holders of the signal after the cancel has returned.",
        edit(
            DrivenAgent,
            "_feed",
            ("self.signal.abort(cause)", "asyncio.get_running_loop().call_soon(self.signal.abort, cause)"),
        ),
    ),
    Fault(
        "waiting-ends-with-the-abort",
        "CANCEL-COOP-01",
        "whenIdle does not wait for what ignores the signal.",
        edit(
            DrivenAgent,
            "when_idle",
            (
                "        await self._activity.retired.wait()",
                (
                    "        self._activity.signal.on_abort(self._activity.retired.set)\n"
                    "        await self._activity.retired.wait()\n"
                    "        return"
                ),
            ),
        ),
    ),
    Fault(
        "running-tool-is-abandoned",
        "CANCEL-COOP-01",
        "The driver does not wait for a tool that ignores the signal.",
        edit(
            Scheduler,
            "run",
            (
                "            await asyncio.wait(batch.running, return_when=asyncio.FIRST_COMPLETED)\n",
                (
                    "            given_up = asyncio.Event()\n"
                    "            signal.on_abort(given_up.set)\n"
                    "            waiter = asyncio.ensure_future(given_up.wait())\n"
                    "            await asyncio.wait([*batch.running, waiter], return_when=asyncio.FIRST_COMPLETED)\n"
                    "            waiter.cancel()\n"
                    "            signal.raise_if_aborted()\n"
                ),
            ),
            ("        await batch.give_up(failure)\n", ""),
        ),
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
        "prefix-stays-in-the-chunks",
        "CANCEL-STREAM-01",
        "What a cut stream had delivered is not made a message.",
        edit(Requests, "_log_interrupted", ("if message is not None:", "if False:")),
    ),
    Fault(
        "prefix-cites-nothing",
        "CANCEL-STREAM-01",
        "An interrupted message does not cite the chunks that it was made of.",
        edit(Requests, "_log_interrupted", ("source_event_seqs=seqs", "source_event_seqs=seqs[:1]")),
    ),
    Fault(
        "cut-call-is-kept",
        "CANCEL-STREAM-02",
        "A complete tool call is kept in an interrupted message.",
        edit(
            assembler,
            "_has_substance",
            ('    return block.get("type")', '    return block.get("type") == "tool-call" or block.get("type")'),
        ),
    ),
    Fault(
        "prefix-in-order-of-indices",
        "CANCEL-STREAM-02",
        "The blocks of an interrupted message are ordered by their indices.",
        edit(
            BlockAssembler,
            "interrupted_message",
            ("    content = [", "    self._blocks = dict(sorted(self._blocks.items()))\n    content = ["),
        ),
    ),
    Fault(
        "blank-prefix-is-kept",
        "CANCEL-STREAM-03",
        "A prefix of blanks is made a message.",
        edit(assembler, "_has_substance", ('text.strip(_BLANK) != ""', "True")),
    ),
    Fault(
        "empty-prefix-is-kept",
        "CANCEL-STREAM-03",
        "A message is made where nothing was delivered.",
        edit(BlockAssembler, "interrupted_message", (" if content else None", "")),
    ),
    Fault(
        "late-chunks-are-logged",
        "CANCEL-STREAM-04",
        "Chunks that come after the abort are logged and extend the prefix.",
        edit(Requests, "_receive", (f"            {CHECK}            event", "            event")),
    ),
    Fault(
        "usage-is-dropped",
        "CANCEL-STREAM-05",
        "An interrupted message has no usage.",
        edit(
            Requests,
            "_log_interrupted",
            ("_message_data(attempt, message, chunks)", 'attempt.place, "message": message'),
        ),
    ),
    Fault(
        "abort-on-the-last-chunk-is-missed",
        "CANCEL-STREAM-06",
        "A text that was complete when the abort came is committed as a normal message.",
        edit(Requests, "_receive", (f"        {CHECK}    except", "    except")),
    ),
    Fault(
        "failed-attempt-leaves-a-message",
        "CANCEL-RERR-01",
        "A cancel during recovery makes a message of what the failed attempt had delivered.",
        together(
            edit(
                Requests,
                "_receive",
                ("        policy = ", "        agent.failed_last = self, attempt, chunks, seqs\n        policy = "),
            ),
            edit(
                Driver,
                "_may_retry",
                (
                    f"    turn.{CHECK}",
                    (
                        "    if turn.signal.aborted:\n"
                        "        requests, *parts = agent.failed_last\n"
                        "        requests._log_interrupted(*parts)\n"
                        f"    turn.{CHECK}"
                    ),
                ),
            ),
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
        "cancelled-turn-is-asked-to-stop",
        "CANCEL-STOP-01",
        "The stopping hook runs although the turn was cancelled at the end of its step.",
        edit(Driver, "_run_steps", (f"        {CHECK}        target", "        target")),
    ),
    Fault(
        "late-cancel-hits-the-next-turn",
        "CANCEL-END-01",
        "A cancel that lands on the end of a turn aborts the one behind it.",
        edit(DrivenAgent, "_feed", NO_NEXT_SIGNAL),
    ),
    Fault(
        "late-cancel-changes-the-ending",
        "CANCEL-END-01",
        "A cancel that lands on the end of a turn keeps the run from going on.",
        edit(DrivenAgent, "turn_closed", ("may_go_on and ", "may_go_on and not self.signal.aborted and ")),
    ),
    Fault(
        "refused-clear-aborts",
        "CANCEL-REENTRY-01",
        "A cancel whose clear is refused aborts all the same.",
        edit(
            DrivenAgent,
            "cancel",
            (
                "        self._feed(Input.CLEAR)",
                (
                    "        try: self._feed(Input.CLEAR)\n"
                    "        except BaseException: self._feed(Input.ABORT, cause); raise"
                ),
            ),
        ),
    ),
    Fault(
        "wake-of-a-discarded-listener-stays",
        "CANCEL-REENTRY-02",
        "A wake that a discarded listener sends is remembered.",
        edit(
            DrivenAgent,
            "cancel",
            ("self._feed(Input.CLEAR)", "self._feed(Input.CLEARED)\n        self._feed(Input.CLEAR)"),
            ("        self._feed(Input.CLEARED)  #", "        #"),
        ),
    ),
    Fault(
        "prompt-of-a-discarded-listener-stays",
        "CANCEL-REENTRY-02",
        "A prompt that a discarded listener sends is not cleared with the others.",
        edit(
            Inbox,
            "clear",
            (
                (
                    'for target in ("next-step", "next-turn"):\n'
                    "        self._splice(target, 0, len(self._lists[target]), ())"
                ),
                (
                    'counts = {target: len(self._lists[target]) for target in ("next-step", "next-turn")}\n'
                    "    for target, count in counts.items():\n"
                    "        self._splice(target, 0, count, ())"
                ),
            ),
        ),
    ),
    Fault(
        "woken-driver-escapes-the-cancel",
        "CANCEL-REENTRY-03",
        "A driver that is woken while an idle agent is cleared is not aborted.",
        edit(
            DrivenAgent,
            "cancel",
            ("    if not keep_inbox:\n", "    idle = self._activity is None\n    if not keep_inbox:\n"),
            ("    self._feed(Input.ABORT_DISPOSED", "    idle or self._feed(Input.ABORT_DISPOSED"),
        ),
    ),
)
