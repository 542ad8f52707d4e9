"""Faults of a cancel itself: what it clears and keeps, whom it reaches, and when."""

from typing import Final

from dshconform.faults.edit import edit, together
from dshconform.faults.fault import Fault
from dshconform.faults.latch import cells
from dshconform.faults.pieces import KEEP_BATCH, put_back
from dshcore.agent.inbox import Inbox
from dshcore.agent_loop.agent import DrivenAgent
from dshcore.agent_loop.driver import Driver
from dshcore.agent_loop.phase import Action, Cell, Input, Row
from dshcore.agent_loop.scheduling import Scheduler
from dshcore.cancel_signal import CancelSignal

CANCEL_CALL_FAULTS: Final[tuple[Fault, ...]] = (
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
        "signal-fires-twice",
        "CANCEL-FIRST-01",
        "Whoever holds the signal is told of one abort two times.",
        edit(
            CancelSignal,
            "abort",
            (
                "        _call(self._callbacks.pop(mark))",
                "        callback = self._callbacks.pop(mark)\n        _call(callback)\n        _call(callback)",
            ),
        ),
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
            edit(Driver, "_run_turn", put_back("turn.signal.aborted")),
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
