"""Faults that the rollback machine finds: lives that begin or end otherwise than they must."""

from typing import Final

from dshconform.faults.creations import COUNTED_LATE, CREATION_FAULTS
from dshconform.faults.edit import edit, together
from dshconform.faults.fault import Fault
from dshconform.faults.latch import cells
from dshconform.faults.lifecycle import LIFECYCLE_FAULTS
from dshconform.faults.registrations import REGISTRATION_FAULTS
from dshconform.faults.teardowns import TEARDOWN_FAULTS
from dshcore.agent.registry import AgentRegistry
from dshcore.agent_loop.agent import DrivenAgent
from dshcore.agent_loop.creation import AgentLoop
from dshcore.agent_loop.life import Life
from dshcore.agent_loop.phase import Action, Cell, Input, Row
from dshcore.cancel_signal import CancelSignal
from dshcore.context.context import Context
from dshcore.context.listeners import Listeners
from dshcore.session.store import SessionStore

_OWN: Final[tuple[Fault, ...]] = (
    Fault(
        "rejection-of-a-listener-vetoes",
        "LIFE-PUB-05",
        "A listener of a creation whose answer has failed already vetoes it.",
        edit(
            Listeners,
            "_let_run",
            (
                "    try:\n        task: ",
                '    if key.name.endswith("/created"):\n        coroutine.send(None)\n    try:\n        task: ',
            ),
        ),
    ),
    Fault(
        "vetoed-agent-leaves-unseen",
        "LIFE-ROLL-04",
        "The disposal of an agent whose announcement was vetoed is not told.",
        COUNTED_LATE,
    ),
    Fault(
        "disposal-is-told-twice",
        "LIFE-ROLL-05",
        "The disposal of an agent is told two times.",
        edit(
            AgentRegistry,
            "_leave",
            (
                "        entry.agent.ctx.emit(AGENT_DISPOSED, AgentDisposal(entry.agent))",
                (
                    "        entry.agent.ctx.emit(AGENT_DISPOSED, AgentDisposal(entry.agent))\n"
                    "        entry.agent.ctx.emit(AGENT_DISPOSED, AgentDisposal(entry.agent))"
                ),
            ),
        ),
    ),
    Fault(
        "failed-resume-locks-the-id",
        "LIFE-RES-07",
        "An id of which a resume has failed behind its load cannot be resumed any more.",
        edit(
            AgentLoop,
            "resume",
            (
                "        check_max_tokens(options.agent_options.max_tokens)\n",
                (
                    "        check_max_tokens(options.agent_options.max_tokens)\n"
                    '        locked = vars(self).setdefault("locked", set())\n'
                    "        if session.id in locked:\n"
                    '            raise AgentError("locked")\n'
                    "        locked.add(session.id)\n"
                ),
            ),
            (
                '        life.publish(self._sessions, self._agents, "resume")\n',
                ('        life.publish(self._sessions, self._agents, "resume")\n        locked.discard(session.id)\n'),
            ),
        ),
    ),
    Fault(
        "resume-answers-the-live-agent",
        "LIFE-RES-08",
        "The resume of an id that is live answers a handle of the live agent.",
        edit(
            AgentLoop,
            "resume",
            (
                "    async with Life(",
                (
                    "    live = self._agents.get(options.resume_session_id)\n"
                    "    if live is not None:\n"
                    "        life = Life(live.id, owner, self._ctx, options.signal)\n"
                    "        life.hold(live)\n"
                    "        return life\n"
                    "    async with Life("
                ),
            ),
        ),
    ),
    Fault(
        "disposal-fires-again",
        "LIFE-DISP-05",
        "Holders of a signal that has fired are told of the disposal as well.",
        together(
            lambda: cells({(Row.RUNNING_ABORTED, Input.ABORT_DISPOSED): Cell(Row.RUNNING_ABORTED, (Action.FIRE,))}),
            edit(
                CancelSignal,
                "abort",
                (
                    "        return False",
                    (
                        "        for callback in self._callbacks.values():\n"
                        "            _call(callback)\n"
                        "        return False"
                    ),
                ),
                (
                    (
                        "    while self._callbacks:  # a callback taken back by an earlier one is not called\n"
                        "        mark = next(iter(self._callbacks))\n"
                        "        _call(self._callbacks.pop(mark))\n"
                    ),
                    "    for callback in list(self._callbacks.values()):\n        _call(callback)\n",
                ),
            ),
        ),
    ),
    Fault(
        "slow-cleanup-is-given-up",
        "LIFE-DISP-09",
        "An agent leaves while a cleanup of its scope goes on.",
        edit(
            Life,
            "_tear_down",
            (
                "            cancelled = await _unwind(agent.ctx) or cancelled",
                (
                    "            asyncio.ensure_future(_unwind(agent.ctx))\n"
                    "            for _ in range(50):\n"
                    "                await asyncio.sleep(0)\n"
                    "            cancelled = None"
                ),
            ),
        ),
    ),
    Fault(
        "disposal-listeners-outlive-their-scope",
        "LIFE-DISP-16",
        "What listens to disposals through the scope of an agent stays when that is unwound.",
        edit(
            Context,
            "on",
            (
                "lambda: listeners.remove(key, entry)",
                'lambda: None if key.name.endswith("/disposed") else listeners.remove(key, entry)',
            ),
        ),
    ),
    Fault(
        "id-is-free-with-its-agent",
        "LIFE-DISP-18",
        "The session is removed together with the agent, and its disposal told behind that of the agent.",
        together(
            edit(
                Life,
                "publish",
                (
                    "    self._detach.append(agents.enter(agent, self._owning_agent))\n",
                    (
                        "    leave = agents.enter(agent, self._owning_agent)\n"
                        "    self._detach.append(lambda: (sessions._entries.pop(agent.id, None), leave()))\n"
                    ),
                ),
            ),
            edit(
                SessionStore,
                "_leave",
                ("        if self._entries.get(session.id) is not entry:\n", "        if False:\n"),
                (
                    "        del self._entries[session.id]\n",
                    "        if self._entries.get(session.id) is entry:\n            del self._entries[session.id]\n",
                ),
            ),
        ),
    ),
    Fault(
        "gone-session-publishes",
        "LIFE-DISP-19",
        "A message to a disposed agent is logged and published before it is refused.",
        together(
            edit(
                SessionStore,
                "_leave",
                ("        session.detach()\n", '        vars(self).setdefault("gone", {})[session.id] = entry\n'),
            ),
            edit(
                SessionStore,
                "admit",
                ("self._entries[session.id]", 'self._entries.get(session.id) or vars(self)["gone"][session.id]'),
            ),
            edit(
                DrivenAgent,
                "send",
                (
                    "    if wakeup:\n        asyncio",
                    (
                        "    if self._state.stage is Stage.GONE:\n"
                        '        data = {"target": target, "start": 0, "inserted": [message]}\n'
                        '        self._session.append("agent/inbox/spliced", data)\n'
                        "    if wakeup:\n        asyncio"
                    ),
                ),
            ),
        ),
    ),
)

_KNOWN: Final = frozenset(
    {
        *("created-agent-is-not-found", "creation-emits-idle", "creation-opens-a-turn", "signal-is-tested-first"),
        *("session-is-entered-before-setup", "session-is-announced-to-the-loop-alone", "commit-is-called-twice"),
        *("commit-is-chained-to-the-setup", "agent-is-announced-before-its-session", "session-start-is-a-resume"),
        *("agent-is-entered-after-its-session", "start-listener-vetoes", "wakes-of-announcements-are-lost"),
        *("driver-starts-inside-an-announcement", "veto-is-thrown-at-the-end", "driver-is-released-unseen"),
        *("failed-setup-is-not-undone", "commit-error-is-swallowed", "unannounced-agent-is-disposed-aloud"),
        *("rejected-before-it-is-undone", "failures-are-wrapped", "live-id-is-found-too-late"),
        *("second-creation-takes-the-id", "session-of-a-refused-agent-stays", "rollback-lets-the-driver-run"),
        *("closed-scope-registers", "earlier-abort-is-missed", "reason-of-an-abort-is-lost", "abort-waits-for-setup"),
        *("abort-by-setup-is-missed", "abort-by-a-listener-is-missed", "signal-stays-linked", "owner-does-not-wait"),
        *("closing-waits-for-setup", "closing-owner-is-overlooked", "closing-in-the-commit-is-overlooked"),
        *("agent-of-an-agent-is-a-root", "lineage-is-ownership", "loop-leaves-its-agents", "owner-remembers-the-id"),
        *("closing-loop-says-something-else", "session-leaves-before-its-agent", "agent-is-found-while-it-is-disposed"),
        *("disposal-keeps-the-inbox", "disposal-has-another-cause", "disposal-does-not-wait"),
        *("idle-disposal-tells-a-status", "second-disposal-does-not-wait", "old-handle-disposes-by-id"),
        *("maintenance-sees-another-cause", "late-steering-stays-steering", "leaving-agent-wakes"),
        *("disposal-keeps-what-woke-it", "disposal-lets-the-turn-go-on", "disposal-listener-stops-the-teardown"),
        *("scope-of-a-disposed-agent-registers", "disposal-inside-an-append-is-refused", "disposed-agent-takes-input"),
        *("parked-messages-survive-a-disposal", "disposal-is-a-task-of-its-own", "disposal-waits-for-a-late-wake"),
        *("resume-has-no-setup", "stored-log-is-cut", "resumed-turns-begin-anew", "cancelled-load-is-waited-for"),
        *(
            "late-load-is-kept",
            "abandoned-load-is-not-told",
            "missing-factory-says-something-else",
            "list-is-sorted",
            "ownership-outlives-the-life",
        ),
        "silent-entry-leaves-aloud",
    }
)
"""The faults of scenarios that the machine finds as well."""

ROLLBACK_FAULTS: Final[tuple[Fault, ...]] = (
    *_OWN,
    *(
        fault
        for fault in (*CREATION_FAULTS, *TEARDOWN_FAULTS, *LIFECYCLE_FAULTS, *REGISTRATION_FAULTS)
        if fault.id in _KNOWN
    ),
)
"""Those that the rollback machine finds: by the clause that they violate, before others."""
