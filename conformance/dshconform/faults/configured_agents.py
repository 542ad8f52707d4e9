"""Faults of the agents of a configuration."""

from typing import Final

from dshconform.faults.edit import edit
from dshconform.faults.fault import Fault
from dshcore import spine
from dshcore.agent_loop import configured
from dshcore.agent_loop.configured import ConfiguredAgents
from dshcore.agent_loop.life import Life
from dshcore.context.listeners import Listeners

CONFIGURED_AGENT_FAULTS: Final[tuple[Fault, ...]] = (
    Fault(
        "fresh-id-has-another-form",
        "CONF-ID-01",
        "The id of a fresh agent is made of its label in another way.",
        edit(ConfiguredAgents, "start", ('f"{entry.id}-session-{uuid4()}"', 'f"{entry.id}-{uuid4()}"')),
    ),
    Fault(
        "empty-id-counts",
        "CONF-ID-02",
        "An empty id to resume is one.",
        edit(configured, "_with_identity", ('if entry.resume_session_id == "":', "if False:")),
    ),
    Fault(
        "duplicates-are-looked-for-in-one-field",
        "CONF-ID-03",
        "An id to create and the same one to resume are no conflict.",
        edit(
            configured,
            "settle_identities",
            ("identity = entry.session_id or entry.resume_session_id", "identity = entry.session_id"),
        ),
    ),
    Fault(
        "conflict-is-found-on-the-way",
        "CONF-ID-04",
        "The entry before a conflict has started when that is found.",
        edit(
            spine,
            "mount_loop",
            ("    entries = settle_identities(agents, identities)\n", "    entries = agents\n"),
            (
                "        ConfiguredAgents(own, loop, own[SESSIONS], own[AGENTS]).start(entries)\n",
                (
                    "        ConfiguredAgents(own, loop, own[SESSIONS], own[AGENTS]).start(entries[:1])\n"
                    "        settle_identities(agents, identities)\n"
                ),
            ),
        ),
    ),
    Fault(
        "fixed-identity-stands-beside",
        "CONF-ID-05",
        "What a launcher fixes is added to what the entry says.",
        edit(
            configured,
            "_with_identity",
            (
                "session_id=exact, resume_session_id=stored",
                "session_id=exact or entry.session_id, resume_session_id=stored or entry.resume_session_id",
            ),
        ),
    ),
    Fault(
        "entries-start-backwards",
        "CONF-START-01",
        "The last entry of a configuration starts first.",
        edit(ConfiguredAgents, "start", ("for entry in entries:", "for entry in reversed(entries):")),
    ),
    Fault(
        "failing-entry-is-skipped",
        "CONF-START-02",
        "The loop loads without an agent that could not be created.",
        edit(
            ConfiguredAgents,
            "start",
            (
                "            self._create(entry, entry.session_id)\n",
                (
                    "            try:\n"
                    "                self._create(entry, entry.session_id)\n"
                    "            except Exception:\n"
                    "                pass\n"
                ),
            ),
        ),
    ),
    Fault(
        "failure-names-the-label",
        "CONF-FAIL-01",
        "The failure of a start is announced with the label.",
        edit(
            ConfiguredAgents,
            "_report",
            ("ConfigStartFailed(session_id, error)", "ConfigStartFailed(entry.id, error)"),
        ),
    ),
    Fault(
        "failure-is-announced-twice",
        "CONF-FAIL-01",
        "The failure of a start is announced twice.",
        edit(
            ConfiguredAgents,
            "_report",
            (
                "    self._ctx.emit(CONFIG_START_FAILED,",
                "    for _ in range(2): self._ctx.emit(CONFIG_START_FAILED,",
            ),
        ),
    ),
    Fault(
        "failing-listener-of-a-failure-is-the-last",
        "CONF-FAIL-02",
        "A listener of a failed start that throws is the last that is called.",
        edit(
            Listeners,
            "_tell",
            ("if not key.contained:", 'if not key.contained or key.name == "agent-loop/config-start-failed":'),
        ),
    ),
    Fault(
        "configured-agents-belong-to-nobody",
        "CONF-OWN-01",
        "The agents of a configuration stay when the loop has ended.",
        edit(Life, "__init__", ("dict.fromkeys((loop, owner))", "()")),
    ),
)
