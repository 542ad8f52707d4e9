"""Faults of an agent's coming and going."""

from types import MappingProxyType
from typing import Final

from dshconform.faults.edit import edit
from dshconform.faults.fault import Fault, replaced
from dshcore.agent.registry import AgentRegistry
from dshcore.agent_loop import creation, phase
from dshcore.agent_loop.agent import DrivenAgent
from dshcore.agent_loop.life import Life
from dshcore.agent_loop.phase import Stage

TOLD_BEFORE_IT_LEFT: Final = edit(
    AgentRegistry,
    "_leave",
    (
        (
            "    del self._entries[entry.agent.id]\n"
            "    if entry.announced:\n"
            "        entry.agent.ctx.emit(AGENT_DISPOSED, AgentDisposal(entry.agent))"
        ),
        (
            "    if entry.announced:\n"
            "        entry.agent.ctx.emit(AGENT_DISPOSED, AgentDisposal(entry.agent))\n"
            "    del self._entries[entry.agent.id]"
        ),
    ),
)
"""The registry holds an agent until its disposal was told."""
SESSION_FIRST: Final = edit(Life, "_leave", ("*reversed(self._detach)", "*self._detach"))
"""A teardown detaches the session before the agent."""

LIFECYCLE_FAULTS: Final[tuple[Fault, ...]] = (
    Fault(
        "agent-is-found-while-it-is-disposed",
        "LIFE-DISP-02",
        "The agent is still found in agent/disposed.",
        TOLD_BEFORE_IT_LEFT,
    ),
    Fault(
        "session-leaves-before-its-agent",
        "LIFE-DISP-01",
        "The session is disposed before the agent.",
        SESSION_FIRST,
    ),
    Fault(
        "disposal-waits-for-the-driver",
        "LIFE-DISP-01",
        "Disposal lets the driver finish.",
        edit(DrivenAgent, "request_disposal", ("    self._cancel_due = True\n", "    return\n")),
    ),
    Fault(
        "disposal-keeps-the-inbox",
        "LIFE-DISP-03",
        "Pending messages are not cancelled by a disposal.",
        edit(DrivenAgent, "_cancel_disposed", ("self.cancel(DISPOSED)", "self.cancel(DISPOSED, keep_inbox=True)")),
    ),
    Fault(
        "disposal-has-another-cause",
        "LIFE-DISP-04",
        "A disposal cancels as if the user had.",
        edit(DrivenAgent, "_cancel_disposed", ("self.cancel(DISPOSED)", 'self.cancel({"kind": "user"})')),
    ),
    Fault(
        "disposal-does-not-wait",
        "LIFE-DISP-04",
        "The agent leaves before its turn has closed.",
        edit(Life, "_tear_down", ("            cancelled = await outlast(agent.when_idle) or cancelled\n", "")),
    ),
    Fault(
        "agent-is-announced-before-its-session",
        "LIFE-PUB-01",
        "agent/created comes before session/created.",
        edit(
            Life,
            "publish",
            (
                "    sessions.announce(agent.session)\n    self.check()\n    agents.announce(agent)\n",
                "    agents.announce(agent)\n    self.check()\n    sessions.announce(agent.session)\n",
            ),
        ),
    ),
    Fault(
        "session-start-is-a-resume",
        "LIFE-PUB-03",
        "A new agent starts its session as if resumed.",
        edit(Life, "publish", ("AgentSessionStart(agent, source)", 'AgentSessionStart(agent, "resume")')),
    ),
    Fault(
        "header-forgets-its-origin",
        "LIFE-CREATE-03",
        "What the creator says of the session is not in its header.",
        edit(creation.AgentLoop, "_prepare", ("meta=options.meta", "meta=None")),
    ),
    Fault(
        "created-agent-is-not-found",
        "LIFE-CREATE-01",
        "The registry knows an agent by another id than the one that it was created with.",
        edit(AgentRegistry, "get", ("SessionId(agent_id)", 'SessionId("agent of " + agent_id)')),
    ),
    Fault(
        "creation-emits-idle",
        "LIFE-CREATE-02",
        "A new agent tells that it is idle.",
        edit(Life, "publish", ("    agent.go_live()", '    agent._emit_status("idle")\n    agent.go_live()')),
    ),
    Fault(
        "creation-opens-a-turn",
        "LIFE-CREATE-02",
        "A new agent runs a turn although nobody has sent anything.",
        edit(Life, "publish", ("    agent.go_live()", "    agent.go_live()\n    agent._start_driver()")),
    ),
    Fault(
        "disposal-waits-for-a-late-wake",
        "WAKE-DISP-02",
        "A wake after disposal was requested is remembered where another cause than disposal came first.",
        lambda: replaced(phase, {"STAGES": MappingProxyType({**phase.STAGES, Stage.CLOSING: {}})}),
    ),
)
"""Those of comings and goings, clause by clause."""
