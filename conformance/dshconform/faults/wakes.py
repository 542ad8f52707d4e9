"""Faults of remembered wakes, of waiting for idle, and of maintenance, that scenarios find; others stand in `latch`."""

from typing import Final

from dshconform.faults.edit import edit, together
from dshconform.faults.fault import Fault
from dshconform.faults.latch import cells
from dshcore.agent_loop.agent import DrivenAgent
from dshcore.agent_loop.driver import Driver
from dshcore.agent_loop.phase import Action, Cell, Input, Row

_APPEND: Final = '    self._inbox.append("next-turn" if late and target == "next-step" else target, message)'
_WAKE_AFTER: Final = "        self._feed(Input.LATE_WAKE if late else Input.WAKE)"

_UNLATCH: Final = "__import__('dataclasses').replace(agent._state, latch=False)"

WAKE_FAULTS: Final[tuple[Fault, ...]] = (
    Fault(
        "replay-begins-with-the-latched-message",
        "WAKE-LATCH-03",
        "The turn that a remembered wake brings about claims the message of that wake first.",
        edit(
            DrivenAgent,
            "_feed",
            (
                "                    self._feed(Input.WAKE)",
                (
                    '                    waiting = self._inbox._lists["next-turn"]\n'
                    "                    newest = waiting.part(len(waiting) - 1, len(waiting) > 1)\n"
                    "                    waiting.splice(len(waiting) - 1, len(newest), ())\n"
                    "                    waiting.splice(0, 0, newest)\n"
                    "                    self._feed(Input.WAKE)"
                ),
            ),
        ),
    ),
    Fault(
        "latch-is-cleared-by-the-abort",
        "WAKE-LATCH-04",
        "The wake of a message that an abort listener sends is forgotten when the cancel ends.",
        edit(
            DrivenAgent,
            "cancel",
            ("Input.ABORT, cause)", "Input.ABORT, cause)\n    keep_inbox or self._feed(Input.CLEARED)"),
        ),
    ),
    Fault(
        "keep-inbox-drops-the-latch",
        "WAKE-CLEAR-01",
        "A cancel that keeps the inbox forgets a remembered wake.",
        edit(
            DrivenAgent,
            "cancel",
            ("    if not keep_inbox:\n", "    self._feed(Input.CLEARED)\n    if not keep_inbox:\n"),
        ),
    ),
    Fault(
        "clearing-nothing-keeps-the-latch",
        "WAKE-CLEAR-01",
        "A cancel that finds nothing to clear leaves a remembered wake set.",
        edit(
            DrivenAgent,
            "cancel",
            (
                "    if not keep_inbox:\n",
                "    if not (keep_inbox or (self._activity is not None and not self._inbox.has_pending)):\n",
            ),
        ),
    ),
    Fault(
        "replay-of-nothing",
        "WAKE-EMPTY-01",
        "A remembered wake is replayed although nothing is pending.",
        edit(DrivenAgent, "_feed", ("if self._inbox.has_pending:", "if True:")),
    ),
    Fault(
        "latch-dies-with-its-message",
        "WAKE-EMPTY-02",
        "A remembered wake is not replayed when its own message was removed.",
        together(
            edit(
                DrivenAgent,
                "send",
                (
                    "    if wakeup:\n        self._feed",
                    '    if wakeup:\n        self.latched = message["id"]\n        self._feed',
                ),
            ),
            edit(DrivenAgent, "_feed", ("if self._inbox.has_pending:", "if self._inbox._holds(self.latched):")),
        ),
    ),
    Fault(
        "nothing-pending-opens-no-turn",
        "WAKE-IDLE-01",
        "A wake whose message is gone opens no turn.",
        edit(
            Driver,
            "_run_turn",
            (
                "    session = agent.session\n",
                "    if not agent.inbox.has_pending:\n        return False\n    session = agent.session\n",
            ),
        ),
    ),
    Fault(
        "wake-of-a-run-without-a-turn-is-parked",
        "WAKE-RUN-01",
        "What is sent to a run that was cancelled before its first turn is parked.",
        edit(
            Driver,
            "run",
            ("    try:\n", f"    try:\n        if agent.signal.aborted:\n            agent._state = {_UNLATCH}\n"),
        ),
    ),
    Fault(
        "abort-is-tested-after-the-insertion",
        "WAKE-RACE-01",
        "A send that is interrupted by a cancel counts as sent after it.",
        edit(
            DrivenAgent,
            "send",
            (_WAKE_AFTER, _WAKE_AFTER.replace("if late", "if self._activity is not None and self.signal.aborted")),
        ),
    ),
    Fault(
        "latch-is-set-before-the-insertion",
        "WAKE-RACE-02",
        "A cancel during the insertion forgets the wake of a send that came after an abort.",
        edit(
            DrivenAgent,
            "send",
            (_APPEND, f"    late and self._feed(Input.LATE_WAKE)\n{_APPEND}"),
            ("    if wakeup:\n        self._feed", "    if wakeup and not late:\n        self._feed"),
        ),
    ),
    Fault(
        "row-is-read-before-the-insertion",
        "WAKE-RACE-03",
        "What becomes of a wake during maintenance is decided before its insertion.",
        edit(
            DrivenAgent,
            "send",
            (
                _APPEND,
                (
                    "    ahead = wakeup and self._activity is not None and not self._state.running and not late\n"
                    "    ahead and self._feed(Input.WAKE)\n"
                    f"{_APPEND}"
                ),
            ),
            ("    if wakeup:\n        self._feed", "    if wakeup and not ahead:\n        self._feed"),
        ),
    ),
    Fault(
        "task-from-a-listener-loses-the-wake",
        "WAKE-RACE-03",
        "The wake of a send from idle is lost when a listener of its insertion starts a task.",
        edit(
            DrivenAgent,
            "send",
            (_APPEND, f"    idle = self._activity is None\n{_APPEND}"),
            (
                "    if wakeup:\n        self._feed",
                "    if wakeup and not (idle and self._activity is not None):\n        self._feed",
            ),
        ),
    ),
    Fault(
        "failed-turn-forgets-the-latch",
        "WAKE-FAIL-02",
        "A remembered wake is replayed only behind a turn that ended aborted.",
        edit(
            Driver,
            "_run_turn",
            (
                "reason = self._ending_of(agent, turn, failure)\n",
                (
                    "reason = self._ending_of(agent, turn, failure)\n"
                    '        if reason["kind"] == "error":\n'
                    f"            agent._state = {_UNLATCH}\n"
                ),
            ),
        ),
    ),
    Fault(
        "driver-waits-before-it-settles",
        "WAKE-GAP-01",
        "Between the last look at the inbox and idle there is a moment in which a wake is parked.",
        edit(
            Driver,
            "run",
            (
                "            pass\n",
                "            pass\n        await asyncio.sleep(0)\n        await asyncio.sleep(0)\n",
            ),
        ),
    ),
    Fault(
        "task-of-an-idle-listener-loses-the-wake",
        "WAKE-STEAL-01",
        "A remembered wake is lost when a listener of idle starts a maintenance task.",
        edit(
            DrivenAgent,
            "_feed",
            ("if self._inbox.has_pending:", "if self._inbox.has_pending and self._activity is None:"),
        ),
    ),
    Fault(
        "replay-beside-the-driver-of-a-listener",
        "WAKE-STEAL-01",
        "A remembered wake starts a driver beside the one that a listener of idle has woken.",
        edit(
            DrivenAgent,
            "_feed",
            (
                "                    self._feed(Input.WAKE)",
                "                    self._feed(Input.WAKE) if self._activity is None else self._start_driver()",
            ),
        ),
    ),
    Fault(
        "pending-is-tested-before-idle",
        "WAKE-STEAL-02",
        "Whether anything is pending is tested before the listeners of idle run.",
        edit(
            DrivenAgent,
            "_feed",
            ("    left: Action | None = None\n", "    left: Action | None = None\n    had_pending = None\n"),
            (
                '                self._emit_status("idle")',
                '                had_pending = self._inbox.has_pending\n                self._emit_status("idle")',
            ),
            ("if self._inbox.has_pending:", "if self._inbox.has_pending if had_pending is None else had_pending:"),
        ),
    ),
    Fault(
        "waiting-for-an-empty-inbox",
        "IDLE-RES-01",
        "whenIdle waits until nothing is pending.",
        edit(
            DrivenAgent,
            "when_idle",
            (
                "    while ",
                (
                    "    if self._activity is None and self._inbox.has_pending:\n"
                    "        await asyncio.Event().wait()\n"
                    "    while "
                ),
            ),
        ),
    ),
    Fault(
        "waiting-ends-with-the-turn",
        "IDLE-RES-02",
        "whenIdle ends when the turn has ended, and idle is told later.",
        together(
            edit(
                DrivenAgent,
                "when_idle",
                ("    while ", "    if "),
                ("self._activity is not None:", "self._activity is not None and self._activity.retired is not None:"),
            ),
            edit(
                Driver,
                "run",
                (
                    "            pass\n",
                    (
                        "            pass\n"
                        "        agent._activity.retired.set()\n"
                        "        for _ in range(5):\n"
                        "            await asyncio.sleep(0)\n"
                    ),
                ),
            ),
        ),
    ),
    Fault(
        "waiting-for-one-activity",
        "IDLE-FOLLOW-01",
        "whenIdle ends with the first idle, although a remembered wake is replayed.",
        edit(DrivenAgent, "when_idle", ("    while ", "    if ")),
    ),
    Fault(
        "waiting-fails-with-the-turn",
        "IDLE-FAIL-01",
        "whenIdle raises the failure of the turn.",
        together(
            edit(Driver, "_ending_of", ("    if turn", "    agent.failed_last = failure\n    if turn")),
            edit(
                DrivenAgent,
                "when_idle",
                (
                    "retired.wait()",
                    'retired.wait()\n    if hasattr(self, "failed_last"):\n        raise self.failed_last',
                ),
            ),
        ),
    ),
    Fault(
        "task-is-scheduled",
        "MAINT-START-01",
        "A maintenance task starts after runMaintenance has returned.",
        edit(DrivenAgent, "run_maintenance", ("eager.start(", "asyncio.create_task(")),
    ),
    Fault(
        "second-task-is-queued",
        "MAINT-EXCL-01",
        "A second maintenance task waits for the first.",
        edit(
            DrivenAgent,
            "run_maintenance",
            (
                "    self._feed(Input.MAINTAIN)\n",
                (
                    "    if self._activity is not None:\n"
                    "        async def later():\n"
                    "            await self.when_idle()\n"
                    "            return await self.run_maintenance(task)\n"
                    "        return asyncio.ensure_future(later())\n"
                    "    self._feed(Input.MAINTAIN)\n"
                ),
            ),
        ),
    ),
    Fault(
        "value-of-a-task-is-lost",
        "MAINT-RES-01",
        "The awaitable of a maintenance task carries no value.",
        edit(DrivenAgent, "_maintain", ("return cast(", "cast(")),
    ),
    Fault(
        "failure-of-a-task-is-another",
        "MAINT-RES-01",
        "The awaitable of a maintenance task fails with an error of its own.",
        edit(
            DrivenAgent,
            "_maintain",
            (
                "    finally:",
                '    except Exception as error: raise RuntimeError("maintenance failed") from error\n    finally:',
            ),
        ),
    ),
    Fault(
        "task-is-a-turn",
        "MAINT-STATUS-01",
        "Maintenance opens a turn without steps.",
        edit(
            DrivenAgent,
            "_maintain",
            (
                "    try:\n",
                (
                    '    turn = self._session.append("turn/start", {"turn": self._session.last_turn + '
                    '1})["data"]["turn"]\n'
                    '    self._session.append("turn/end", {"turn": turn, "reason": {"kind": "completed"}})\n'
                    "    try:\n"
                ),
            ),
        ),
    ),
    Fault(
        "driver-beside-the-task",
        "MAINT-LATCH-01",
        "A wake during maintenance starts a driver at once.",
        lambda: cells({(Row.MAINTENANCE, Input.WAKE): Cell(Row.RUNNING, (Action.START_DRIVER,))}),
    ),
    Fault(
        "driver-behind-the-awaitable",
        "MAINT-LATCH-01",
        "The driver that a task held up starts when the awaitable of the task has completed.",
        edit(
            DrivenAgent,
            "_feed",
            (
                "                    self._feed(Input.WAKE)",
                "                    asyncio.get_running_loop().call_later(0.001, self._feed, Input.WAKE)",
            ),
        ),
    ),
    Fault(
        "maintenance-always-wakes",
        "MAINT-LATCH-02",
        "The end of a maintenance task wakes the driver whenever something is pending.",
        edit(
            DrivenAgent,
            "_maintain",
            ("        self.settle()", "        self._feed(Input.LATE_WAKE)\n        self.settle()"),
        ),
    ),
    Fault(
        "maintenance-cannot-be-cancelled",
        "MAINT-CANCEL-01",
        "A cancel does not reach a maintenance task.",
        edit(DrivenAgent, "_feed", ("self.signal.abort(cause)", "self._state.running and self.signal.abort(cause)")),
    ),
    Fault(
        "last-signal-is-aborted",
        "MAINT-CANCEL-02",
        "A cancel of an idle agent aborts the signal of its last activity.",
        together(
            edit(
                DrivenAgent,
                "settle",
                ("    self._activity = None\n", "    self._activity = None\n    self.last_signal = activity.signal\n"),
            ),
            edit(
                DrivenAgent,
                "cancel",
                (
                    "    if not keep_inbox:\n",
                    (
                        '    if self._activity is None and hasattr(self, "last_signal"):\n'
                        "        self.last_signal.abort(cause)\n"
                        "    if not keep_inbox:\n"
                    ),
                ),
            ),
        ),
    ),
    Fault(
        "failed-task-keeps-the-phase",
        "MAINT-FAIL-01",
        "The agent stays in maintenance when its task fails.",
        edit(
            DrivenAgent,
            "_maintain",
            (
                "        return cast(",
                "        value = cast(",
            ),
            ("    finally:\n", "    except ZeroDivisionError:\n        raise\n    else:\n"),
            ("        self.settle()", "        self.settle()\n        return value"),
        ),
    ),
)
"""Those that a scenario finds."""

SPENT_WAKE_FAULTS: Final[tuple[Fault, ...]] = (
    Fault(
        "disposed-task-remembers-a-wake",
        "WAKE-DISP-01",
        "A wake is remembered although its task is disposed of while the message is inserted.",
        lambda: cells({(Row.MAINTENANCE_DISPOSED, Input.WAKE): Cell(Row.MAINTENANCE_DISPOSED, (Action.LATCH,))}),
    ),
    Fault(
        "wake-outlives-the-driver-of-a-listener",
        "WAKE-STEAL-01",
        "A remembered wake is replayed behind a driver that a listener of idle has woken and cancelled.",
        edit(
            DrivenAgent,
            "_feed",
            (
                "                    self._feed(Input.WAKE)",
                (
                    "                    gone = self._activity is not None and self.signal.aborted\n"
                    "                    self._feed(Input.LATE_WAKE if gone else Input.WAKE)"
                ),
            ),
        ),
    ),
)
"""Those that the wake machine alone finds."""
