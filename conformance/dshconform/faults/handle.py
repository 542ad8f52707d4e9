"""Faults of the handle: what a send does, and what the status says."""

from typing import Final

from dshconform.faults.edit import edit, together
from dshconform.faults.fault import Fault
from dshconform.faults.latch import cells
from dshcore.agent.handle import Agent
from dshcore.agent.inbox import Inbox
from dshcore.agent.registry import AgentRegistry
from dshcore.agent_loop.agent import DrivenAgent
from dshcore.agent_loop.driver import Driver
from dshcore.agent_loop.phase import Action, Cell, Input, Row

HANDLE_FAULTS: Final[tuple[Fault, ...]] = (
    Fault(
        "agent-with-an-id-of-its-own",
        "AGENT-ID-01",
        "The handle's id is not that of its session.",
        together(
            edit(DrivenAgent, "id", ("self._session.id", 'SessionId("agent of " + self._session.id)')),
            edit(AgentRegistry, "enter", ("agent.id != agent.session.id", "False")),
        ),
    ),
    Fault(
        "maintenance-reads-running",
        "AGENT-STATUS-01",
        "The status is running during a maintenance task.",
        edit(DrivenAgent, "status", ("self._state.running", "self._activity is not None")),
    ),
    Fault(
        "maintenance-emits-idle",
        "AGENT-STATUS-02",
        "A status event is emitted when a maintenance task ends.",
        lambda: cells({(Row.MAINTENANCE, Input.SETTLE): Cell(Row.IDLE, (Action.EMIT_IDLE, Action.REPLAY))}),
    ),
    Fault(
        "running-is-told-later",
        "AGENT-STATUS-03",
        "A wake tells of running when the turn has started already.",
        edit(
            DrivenAgent,
            "_start_driver",
            ('self._emit_status("running")', 'asyncio.get_running_loop().call_soon(self._emit_status, "running")'),
        ),
    ),
    Fault(
        "idle-between-turns",
        "AGENT-STATUS-04",
        "The status goes through idle between the turns of a run.",
        edit(
            DrivenAgent,
            "_feed",
            (
                "self._activity.signal = CancelSignal()",
                'self._activity.signal = CancelSignal(); self._emit_status("idle"); self._emit_status("running")',
            ),
        ),
    ),
    Fault(
        "steer-waits-for-a-turn",
        "AGENT-SEND-01",
        "A steer is filed under next-turn.",
        edit(Agent, "steer", ('"next-step"', '"next-turn"')),
    ),
    Fault(
        "inject-wakes",
        "AGENT-SEND-02",
        "Injecting into an idle agent opens a turn.",
        edit(Agent, "inject", ("wakeup=False", "wakeup=True")),
    ),
    Fault(
        "refused-send-wakes",
        "AGENT-SEND-03",
        "A driver is woken although the insertion was refused.",
        edit(
            DrivenAgent,
            "send",
            ("    self._inbox.append(", "    try: self._inbox.append("),
            ("    if wakeup:\n        self._feed(", "    finally: wakeup and self._feed("),
        ),
    ),
    Fault(
        "claim-comes-later",
        "AGENT-SEND-04",
        "A waking send opens the turn, and a later task claims.",
        edit(
            Driver,
            "_run_steps",
            ('    target: Target = "next-turn"\n', '    target: Target = "next-turn"\n    await asyncio.sleep(0)\n'),
        ),
    ),
    Fault(
        "wake-of-a-running-agent-opens-a-turn",
        "AGENT-SEND-05",
        "A wake during a live turn is remembered too, and replayed although its message was claimed.",
        together(
            lambda: cells(
                {
                    (Row.RUNNING, Input.WAKE): Cell(Row.RUNNING, (Action.LATCH,)),
                    (Row.RUNNING, Input.TURN_CLOSED_ON): Cell(Row.RUNNING, (Action.NEXT_TURN,)),
                }
            ),
            edit(DrivenAgent, "_feed", ("if self._inbox.has_pending:", "if True:")),
        ),
    ),
    Fault(
        "unknown-target-means-next-turn",
        "AGENT-SEND-06",
        "A message for a list that is none waits in next-turn.",
        edit(
            Inbox,
            "append",
            (
                "    pending = self._list(target)",
                '    target = target if target in _TARGETS else "next-turn"\n    pending = self._list(target)',
            ),
        ),
    ),
    Fault(
        "driver-runs-ahead",
        "AGENT-SEND-07",
        "A waking send runs on up to the model request.",
        edit(Driver, "_assemble", ("    await asyncio.sleep(0)\n", "")),
    ),
)
"""Each is a wrong implementation that the *violation* of its clause describes; so in every module of this package."""
