"""Faults of the registry of agents, and of the slot of their factory."""

from typing import Final

from dshconform.faults.creations import COUNTED_LATE
from dshconform.faults.edit import edit, together
from dshconform.faults.fault import Fault
from dshconform.faults.lifecycle import TOLD_BEFORE_IT_LEFT
from dshconform.faults.teardowns import DETACHES_BY_ID
from dshcore import spine
from dshcore.agent.registry import AgentRegistry
from dshcore.agent_loop.creation import AgentLoop
from dshcore.context.context import Context

REGISTRATION_FAULTS: Final[tuple[Fault, ...]] = (
    Fault(
        "accessor-hides-the-own-value",
        "CTX-OWN-01",
        "The context of an agent says what every context says: that it belongs to none.",
        edit(
            Context,
            "read",
            ("if key in self._values:", "if key in self._values and self._app.services.accessor(key) is None:"),
        ),
    ),
    Fault(
        "no-agent-is-an-error",
        "CTX-ACC-01",
        "The agent of a context that belongs to none cannot be read.",
        edit(spine, "mount_agents", ("own.accessor(AGENT, lambda _: None)", "pass")),
    ),
    Fault(
        "owner-is-whoever-has-its-id",
        "REG-READ-03",
        "An agent owns what was entered for another one that has the same id.",
        edit(
            AgentRegistry,
            "is_owned_by",
            ("entry.owner is owner", "entry.owner is not None and entry.owner.id == owner.id"),
        ),
    ),
    Fault(
        "ownership-outlives-the-life",
        "REG-READ-03",
        "An id that has left is owned by everybody.",
        edit(
            AgentRegistry,
            "is_owned_by",
            ("entry is not None and entry.owner is owner", "entry is None or entry.owner is owner"),
        ),
    ),
    Fault(
        "entering-is-announced",
        "REG-ENTER-01",
        "The creation of an agent is told when it is entered.",
        edit(
            AgentRegistry,
            "enter",
            (
                "    def detach() -> None:",
                "    agent.ctx.emit(AGENT_CREATED, AgentCreated(agent))\n\n    def detach() -> None:",
            ),
        ),
    ),
    Fault(
        "last-entered-wins",
        "REG-ENTER-02",
        "An agent that is entered takes the place of the one that has its id.",
        edit(
            AgentRegistry,
            "enter",
            ("    if agent.id in self._entries:\n        raise AlreadyRegistered(agent.id)\n", ""),
        ),
    ),
    Fault(
        "registered-agent-has-no-owner",
        "REG-ENTER-03",
        "An agent that is registered through the scope of another one is a root.",
        edit(AgentRegistry, "register", ("self.enter(agent, owner.read(AGENT))", "self.enter(agent, None)")),
    ),
    Fault(
        "announced-when-all-have-heard",
        "REG-ANN-01",
        "An agent counts as announced when its announcement is over.",
        COUNTED_LATE,
    ),
    Fault(
        "vetoed-announcement-detaches",
        "REG-ANN-02",
        "An agent whose announcement is vetoed leaves at once.",
        edit(
            AgentRegistry,
            "announce",
            (
                "    finally:\n",
                "    except BaseException:\n        entry.leaving = True\n        raise\n    finally:\n",
            ),
        ),
    ),
    Fault(
        "silent-entry-leaves-aloud",
        "REG-DET-01",
        "The disposal of an agent is told that was never announced.",
        edit(AgentRegistry, "_leave", ("if entry.announced:", "if True:")),
    ),
    Fault("detach-goes-by-id", "REG-DET-02", "A detach removes whoever has its id.", DETACHES_BY_ID),
    Fault(
        "leaving-agent-is-not-listed",
        "REG-DET-03",
        "An agent whose detach waits is found by its id, and is not in the list any more.",
        edit(
            AgentRegistry,
            "list",
            ("for entry in self._entries.values()", "for entry in self._entries.values() if not entry.leaving"),
        ),
    ),
    Fault(
        "detach-does-not-wait",
        "REG-DET-03",
        "A detach from inside the announcement removes the entry at once.",
        together(
            edit(
                AgentRegistry,
                "enter",
                (
                    "            if not entry.announcing:\n                self._leave(entry)",
                    "            self._leave(entry)",
                ),
            ),
            edit(AgentRegistry, "announce", ("if entry.leaving:", "if False:")),
        ),
    ),
    Fault(
        "veto-forgets-the-detach",
        "REG-DET-04",
        "A detach from inside an announcement that is vetoed is not carried out.",
        edit(
            AgentRegistry,
            "announce",
            (
                (
                    "    finally:\n"
                    "        entry.announcing = False\n"
                    "        if entry.leaving:\n"
                    "            self._leave(entry)"
                ),
                (
                    "    except BaseException:\n"
                    "        entry.announcing = False\n"
                    "        raise\n"
                    "    entry.announcing = False\n"
                    "    if entry.leaving:\n"
                    "        self._leave(entry)"
                ),
            ),
        ),
    ),
    Fault(
        "entry-is-there-while-it-leaves",
        "REG-DET-05",
        "The id is not free yet when the disposal of its agent is told.",
        TOLD_BEFORE_IT_LEFT,
    ),
    Fault(
        "vetoed-registration-stays",
        "REG-LIFE-01",
        "An agent whose registration is vetoed stays registered.",
        edit(AgentRegistry, "register", ("        leave()\n", "")),
    ),
    Fault(
        "disposer-works-twice",
        "REG-LIFE-02",
        "The disposer of an earlier registration removes a later one.",
        edit(
            AgentRegistry,
            "register",
            (
                "    return leave",
                (
                    "    def again():\n"
                    "        leave()\n"
                    "        if agent.id in self._entries:\n"
                    "            self._leave(self._entries[agent.id])\n\n"
                    "    return again"
                ),
            ),
        ),
    ),
    Fault(
        "newer-factory-wins",
        "FACT-SET-01",
        "A factory takes the place of the one that is registered.",
        edit(
            AgentRegistry,
            "set_factory",
            (
                (
                    "    if self._factory is not None:\n"
                    '        raise AgentError("an agent factory is already registered")\n'
                ),
                "",
            ),
        ),
    ),
    Fault(
        "factory-stays",
        "FACT-SET-03",
        "The slot of the factory is not cleared by its disposer.",
        edit(AgentRegistry, "set_factory", ("        self._factory = None\n", "        pass\n")),
    ),
    Fault(
        "factory-is-told-the-id-alone",
        "FACT-CALL-01",
        "What a caller says besides the id does not reach the factory.",
        edit(
            AgentRegistry,
            "create",
            (
                "self._factory.create_agent(owner, options)",
                "self._factory.create_agent(owner, CreateAgentOptions(session_id=options.session_id))",
            ),
        ),
    ),
    Fault(
        "agent-has-its-creators-services",
        "FACT-CALL-02",
        "The scope of an agent is made of its creator's context.",
        together(
            edit(AgentLoop, "_make", ("create_scope(self._ctx, agent", "create_scope(self._creator, agent")),
            edit(
                AgentLoop,
                "create_agent",
                (
                    "    session = self._prepare(options)\n",
                    "    self._creator = owner\n    session = self._prepare(options)\n",
                ),
            ),
        ),
    ),
    Fault(
        "list-is-sorted",
        "REG-READ-01",
        "Live agents are listed in the order of their ids.",
        edit(
            AgentRegistry,
            "list",
            (
                "entry.agent for entry in self._entries.values()",
                "self._entries[key].agent for key in sorted(self._entries)",
            ),
        ),
    ),
    Fault(
        "missing-factory-says-something-else",
        "FACT-SET-02",
        "A creation without a factory is not told what is missing.",
        edit(AgentRegistry, "create", ("        raise NoFactory\n", '        raise AgentError("no loop")\n')),
    ),
)
