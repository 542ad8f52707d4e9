"""Faults of ownership and disposal."""

from types import MappingProxyType
from typing import Final

from dshconform.faults.edit import edit, together
from dshconform.faults.fault import Fault, replaced
from dshconform.faults.latch import cells
from dshconform.faults.lifecycle import SESSION_FIRST
from dshcore.agent.registry import AgentRegistry
from dshcore.agent_loop import phase
from dshcore.agent_loop.agent import DrivenAgent
from dshcore.agent_loop.life import Life
from dshcore.agent_loop.phase import Action, Cell, Input, Row, Stage
from dshcore.cancel_signal import CancelSignal
from dshcore.context.fiber import Fiber
from dshcore.context.listeners import Listeners
from dshcore.session.store import SessionStore

DETACHES_BY_ID: Final = edit(
    AgentRegistry,
    "enter",
    (
        (
            "        if not entry.leaving:\n"
            "            entry.leaving = True\n"
            "            if not entry.announcing:\n"
            "                self._leave(entry)"
        ),
        (
            "        entry.leaving = True\n"
            "        if not entry.announcing and entry.agent.id in self._entries:\n"
            "            self._leave(self._entries[entry.agent.id])"
        ),
    ),
)
"""A detach removes whoever has its id."""


NEVER_GONE: Final = edit(
    DrivenAgent,
    "leave",
    (
        ("    self._state = replace(self._state, stage=Stage.GONE)\n    self._inbox.retire(AgentDisposed(self.id))"),
        "    return",
    ),
)
"""An agent that has left takes input as before."""

TEARDOWN_FAULTS: Final[tuple[Fault, ...]] = (
    Fault(
        "owner-does-not-wait",
        "LIFE-OWN-01",
        "The closing of an owner ends before its agents are gone.",
        edit(
            Life,
            "_closed_from_above",
            ("    return self._end_with(self._begin_teardown())", "    self._begin_teardown()\n    return None"),
        ),
    ),
    Fault(
        "closing-waits-for-setup",
        "LIFE-OWN-02",
        "An owner that closes waits for the setup of an agent.",
        edit(Life, "_closed_from_above", ("    self._end(context)\n", "")),
    ),
    Fault(
        "closing-owner-is-overlooked",
        "LIFE-OWN-03",
        "A creation goes on when its owner begins to close.",
        edit(Life, "check", ("if closed is not None:", "if False:")),
    ),
    Fault(
        "closing-in-the-commit-is-overlooked",
        "LIFE-OWN-11",
        "What begins to close before the first announcement is not looked at any more.",
        together(
            edit(
                Life,
                "compose",
                (
                    "commit.commit()",
                    "commit.commit()\n        self.__dict__['early'] = closing(self._owner, self._loop) is not None",
                ),
            ),
            edit(
                Life,
                "check",
                (
                    "else closing(self._owner, self._loop)",
                    "else closing(self._owner, self._loop)\n    if self.__dict__.get('early'):\n        closed = None",
                ),
            ),
        ),
    ),
    Fault(
        "agent-of-an-agent-is-a-root",
        "LIFE-OWN-04",
        "An agent that is created through the scope of another one has no owner.",
        edit(Life, "publish", ("agents.enter(agent, self._owning_agent)", "agents.enter(agent, None)")),
    ),
    Fault(
        "lineage-is-ownership",
        "LIFE-OWN-05",
        "An agent owns whose header names it as the parent.",
        edit(
            AgentRegistry,
            "is_owned_by",
            (
                "entry.owner is owner",
                '(entry.owner is owner or entry.agent.session.header.get("parentSession") == owner.id)',
            ),
        ),
    ),
    Fault(
        "loop-leaves-its-agents",
        "LIFE-OWN-06",
        "The end of the loop is none of its agents' business.",
        edit(Life, "__init__", ("dict.fromkeys((loop, owner))", "(owner,)")),
    ),
    Fault(
        "owner-remembers-the-id",
        "LIFE-OWN-08",
        "An owner that closes removes whoever has the id of an agent that it once had.",
        together(
            DETACHES_BY_ID,
            edit(Life, "_leave", ("        *self._holds,\n", "")),
            edit(
                Life,
                "_closed_from_above",
                (
                    "    if self._gone.done():\n",
                    "    if self._gone.done():\n        for detach in self._detach:\n            detach()\n",
                ),
            ),
        ),
    ),
    Fault(
        "closing-loop-says-something-else",
        "LIFE-OWN-09",
        "A creation while the loop closes is not told so.",
        edit(Life, "__init__", ("if closed is loop:", "if False:")),
    ),
    Fault(
        "old-handle-disposes-by-id",
        "LIFE-DISP-08",
        "The handle of a finished life removes whoever has the id now.",
        together(
            DETACHES_BY_ID,
            edit(
                Life,
                "dispose",
                (
                    "    self._begin_teardown()\n",
                    (
                        "    if self._gone.done():\n"
                        "        for detach in self._detach:\n"
                        "            detach()\n"
                        "    self._begin_teardown()\n"
                    ),
                ),
            ),
        ),
    ),
    Fault(
        "teardown-gives-up-waiting",
        "LIFE-DISP-09",
        "A teardown does not wait for work that ignores its signal.",
        edit(Life, "_tear_down", ("            cancelled = await outlast(agent.when_idle) or cancelled\n", "")),
    ),
    Fault(
        "maintenance-sees-another-cause",
        "LIFE-DISP-10",
        "A maintenance task sees the disposal as a cancellation by the user.",
        edit(DrivenAgent, "_cancel_disposed", ("self.cancel(DISPOSED)", 'self.cancel({"kind": "user"})')),
    ),
    Fault(
        "late-steering-stays-steering",
        "LIFE-DISP-11",
        "A waking message that comes while a disposed turn ends is filed at its own target.",
        lambda: cells({(Row.RUNNING_DISPOSED, Input.SEND_WAKING): Cell(Row.RUNNING_DISPOSED, (Action.INSERT,))}),
    ),
    Fault(
        "leaving-agent-wakes",
        "LIFE-DISP-12",
        "An idle agent whose disposal was requested starts a driver.",
        lambda: replaced(phase, {"STAGES": MappingProxyType({**phase.STAGES, Stage.CLOSING: {}})}),
    ),
    Fault(
        "disposal-keeps-what-woke-it",
        "LIFE-DISP-13",
        "The message that made an agent run stays pending when its disposal is requested.",
        edit(DrivenAgent, "_cancel_disposed", ("self.cancel(DISPOSED)", "self.cancel(DISPOSED, keep_inbox=True)")),
    ),
    Fault(
        "disposal-lets-the-turn-go-on",
        "LIFE-DISP-14",
        "A disposal that is requested inside a turn does not stop it.",
        edit(DrivenAgent, "request_disposal", ("    self._cancel_due = True\n", "    return\n")),
    ),
    Fault(
        "disposal-listener-stops-the-teardown",
        "LIFE-DISP-15",
        "A listener of agent/disposed that throws ends the teardown.",
        edit(Listeners, "_tell", ("if not key.contained:", 'if not key.contained or key.name == "agent/disposed":')),
    ),
    Fault(
        "scope-outlives-its-agent",
        "LIFE-DISP-16",
        "The scope of an agent is unwound after its disposal was told.",
        edit(
            Life,
            "_tear_down",
            (
                "            cancelled = await _unwind(agent.ctx) or cancelled",
                "            pass",
            ),
            ("        self._leave()\n", "        self._leave()\n        await _unwind(agent.ctx)\n"),
        ),
    ),
    Fault(
        "scope-of-a-disposed-agent-registers",
        "LIFE-DISP-17",
        "What is registered through the scope of a disposed agent is accepted.",
        edit(Fiber, "assert_accepting", ("if not self.accepting:", "if False:")),
    ),
    Fault(
        "id-is-free-too-early",
        "LIFE-DISP-18",
        "The session leaves before the agent's disposal is told.",
        SESSION_FIRST,
    ),
    Fault(
        "disposed-agent-still-publishes",
        "LIFE-DISP-19",
        "A message to a disposed agent is logged and published.",
        together(
            NEVER_GONE,
            edit(SessionStore, "_leave", ("        del self._entries[session.id]\n        session.detach()\n", "")),
        ),
    ),
    Fault(
        "disposal-inside-an-append-is-refused",
        "LIFE-DISP-20",
        "A disposal that an observer of an event requests does not clear the inbox.",
        edit(
            DrivenAgent,
            "request_disposal",
            (
                (
                    "    if self._inbox.has_pending:\n"
                    "        self._session.when_unwound(self._carry_out_due_cancel)\n"
                    "    else:\n"
                    "        self._cancel_disposed()"
                ),
                "    self._cancel_disposed()",
            ),
        ),
    ),
    Fault(
        "disposed-agent-takes-input",
        "LIFE-DISP-21",
        "A message to a disposed agent is accepted.",
        NEVER_GONE,
    ),
    Fault(
        "disposal-is-a-task-of-its-own",
        "LIFE-DISP-24",
        "A disposal cancels nothing before the call has returned.",
        together(
            edit(
                Life,
                "_begin_teardown",
                ("    if self._agent is not None:\n        self._agent.request_disposal()\n", ""),
            ),
            edit(
                Life,
                "_tear_down",
                (
                    "        if agent is not None:\n",
                    "        if agent is not None:\n            agent.request_disposal()\n",
                ),
            ),
        ),
    ),
    Fault(
        "disposal-overwrites-the-cause",
        "LIFE-DISP-05",
        "The signal of a turn that the user has cancelled has the disposal for its reason.",
        together(
            lambda: cells({(Row.RUNNING_ABORTED, Input.ABORT_DISPOSED): Cell(Row.RUNNING_ABORTED, (Action.FIRE,))}),
            edit(
                CancelSignal, "abort", ("        return False", "        self._reason = reason\n        return False")
            ),
        ),
    ),
    Fault(
        "idle-disposal-tells-a-status",
        "LIFE-DISP-06",
        "The disposal of an idle agent tells that it is idle.",
        edit(
            DrivenAgent,
            "request_disposal",
            ("    self._cancel_due = True\n", '    self._cancel_due = True\n    self._emit_status("idle")\n'),
        ),
    ),
    Fault(
        "second-disposal-does-not-wait",
        "LIFE-DISP-07",
        "A disposal ends at once where one is under way.",
        edit(
            Life,
            "dispose",
            (
                "    self._begin_teardown()\n",
                "    if self._teardown is not None:\n        return asyncio.sleep(0)\n    self._begin_teardown()\n",
            ),
        ),
    ),
    Fault(
        "parked-messages-survive-a-disposal",
        "LIFE-DISP-23",
        "The disposal of an idle agent leaves its messages pending.",
        edit(DrivenAgent, "_cancel_disposed", ("self.cancel(DISPOSED)", "self.cancel(DISPOSED, keep_inbox=True)")),
    ),
)
"""Those of ownership and disposal, clause by clause."""
