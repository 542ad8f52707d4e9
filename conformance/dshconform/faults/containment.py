"""Faults of what must not spread: a failure beyond its turn, an observer, one agent to another."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final
from weakref import WeakKeyDictionary

from dshconform.faults.edit import edit, together
from dshconform.faults.fault import Fault, replaced
from dshconform.faults.pieces import KEEP_BATCH, put_back
from dshcore.agent_loop.agent import DrivenAgent
from dshcore.agent_loop.driver import Driver
from dshcore.context.listeners import Listeners

_run: Final[Callable[[Driver, DrivenAgent], Awaitable[None]]] = Driver.run
_locks: Final[WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock]] = WeakKeyDictionary()


async def _one_at_a_time(self: Driver, agent: DrivenAgent) -> None:
    async with _locks.setdefault(asyncio.get_running_loop(), asyncio.Lock()):
        await _run(self, agent)


CONTAINMENT_FAULTS: Final[tuple[Fault, ...]] = (
    Fault(
        "failure-ends-the-driver",
        "LOOP-ERR-04",
        "After a failed turn the agent never comes to rest, and what is sent to it is not claimed.",
        edit(
            Driver,
            "_run_turn",
            (
                "    return agent.turn_closed(",
                (
                    '    if reason["kind"] == "error":\n'
                    "        await asyncio.Event().wait()\n"
                    "    return agent.turn_closed("
                ),
            ),
        ),
    ),
    Fault(
        "failed-batch-is-put-back",
        "LOOP-ERR-05",
        "What was claimed for a step that failed before it began returns to the inbox.",
        together(
            edit(Driver, "_run_steps", KEEP_BATCH),
            edit(Driver, "_run_turn", put_back("not turn.signal.aborted")),
        ),
    ),
    Fault(
        "error-after-the-ending",
        "LOOP-ERR-03",
        "agent/error is emitted when the turn has closed.",
        together(
            edit(Driver, "_ending_of", ("    agent.ctx.emit(", "    agent.failure_report = (")),
            edit(
                Driver,
                "_run_turn",
                (
                    "    if leaving is not None:",
                    (
                        '    if isinstance(reason, dict) and reason["kind"] == "error":\n'
                        "        agent.ctx.emit(*agent.failure_report)\n"
                        "    if leaving is not None:"
                    ),
                ),
            ),
        ),
    ),
    Fault(
        "one-driver-at-a-time",
        "LOOP-ISO-01",
        "An agent has to wait until no other one is running.",
        lambda: replaced(Driver, {"run": _one_at_a_time}),
    ),
    Fault(
        "failing-observer-fails-the-turn",
        "LOOP-OBS-01",
        "What an observer of the log raises fails the turn.",
        edit(Listeners, "_tell", ("if not key.contained:", 'if not key.contained or key.name == "session/event":')),
    ),
)
