"""Faults of creations: their order, what undoes them, and what aborts them."""

from types import MappingProxyType
from typing import Final

from dshconform.faults.edit import edit
from dshconform.faults.fault import Fault, replaced
from dshcore.agent.registry import AgentRegistry
from dshcore.agent_loop import creation_ends, life, phase
from dshcore.agent_loop.creation import AgentLoop
from dshcore.agent_loop.driver import Driver
from dshcore.agent_loop.life import Life
from dshcore.agent_loop.phase import Action, Stage
from dshcore.context.fiber import Fiber
from dshcore.context.listeners import Listeners
from dshcore.session.store import SessionStore

COUNTED_LATE: Final = edit(
    AgentRegistry,
    "announce",
    (
        "        agent.ctx.emit(AGENT_CREATED, AgentCreated(agent))\n",
        (
            "        entry.announced = False\n"
            "        agent.ctx.emit(AGENT_CREATED, AgentCreated(agent))\n"
            "        entry.announced = True\n"
        ),
    ),
)
"""An agent counts as announced only when its announcement is over."""

CREATION_FAULTS: Final[tuple[Fault, ...]] = (
    Fault(
        "signal-is-tested-first",
        "LIFE-CREATE-04",
        "An aborted signal is reported before everything else that is wrong.",
        edit(
            AgentLoop,
            "create_agent",
            (
                "    session = self._prepare(options)\n",
                (
                    "    if options.signal is not None and options.signal.aborted:\n"
                    '        raise RuntimeError("aborted")\n'
                    "    session = self._prepare(options)\n"
                ),
            ),
        ),
    ),
    Fault(
        "owner-is-looked-at-first",
        "LIFE-CREATE-04",
        "A closed owner is reported before what is wrong with the options.",
        edit(
            AgentLoop,
            "create_agent",
            (
                "    session = self._prepare(options)\n",
                "    owner.assert_accepting()\n    session = self._prepare(options)\n",
            ),
        ),
    ),
    Fault(
        "loop-is-not-looked-at",
        "LIFE-CREATE-04",
        "A creation in a closing loop is told of its aborted signal.",
        edit(Life, "__init__", ("closing(owner, loop)", "closing(owner, owner)")),
    ),
    Fault(
        "session-is-announced-to-the-loop-alone",
        "LIFE-SETUP-02",
        "What setup listens to in the agent's scope does not hear of its session.",
        edit(
            Life,
            "publish",
            ("sessions.enter(agent.session, agent.ctx)", "sessions.enter(agent.session, self._loop)"),
        ),
    ),
    Fault(
        "commit-is-called-twice",
        "LIFE-SETUP-03",
        "The commit of a setup is called two times.",
        edit(Life, "compose", ("        commit.commit()", "        commit.commit()\n        commit.commit()")),
    ),
    Fault(
        "commit-is-chained-to-the-setup",
        "LIFE-SETUP-04",
        "The commit of a setup that outlived its creation is called.",
        edit(
            life,
            "_awaited",
            (
                "    return await answer",
                "    late = await answer\n    if late is not None:\n        late.commit()\n    return late",
            ),
        ),
    ),
    Fault(
        "start-listener-vetoes",
        "LIFE-PUB-04",
        "A listener of the session's start that throws ends the creation.",
        edit(
            Listeners, "_tell", ("if not key.contained:", 'if not key.contained or key.name == "agent/session-start":')
        ),
    ),
    Fault(
        "late-failures-of-creation-listeners-are-silent",
        "LIFE-PUB-05",
        "Nobody hears of a creation listener that fails later.",
        edit(
            Listeners,
            "_let_run",
            (
                "        self._unawaited.discard(task)\n",
                (
                    "        self._unawaited.discard(task)\n"
                    '        if key.name.endswith("/created"):\n'
                    "            return\n"
                ),
            ),
        ),
    ),
    Fault(
        "wakes-of-announcements-are-lost",
        "LIFE-PUB-06",
        "A message that was sent while an agent is announced does not wake it.",
        lambda: replaced(
            phase, {"STAGES": MappingProxyType({**phase.STAGES, Stage.ANNOUNCING: {Action.START_DRIVER: ()}})}
        ),
    ),
    Fault(
        "driver-starts-inside-an-announcement",
        "LIFE-PUB-08",
        "A message that is sent while an agent is announced starts its driver at once.",
        lambda: replaced(phase, {"STAGES": MappingProxyType({**phase.STAGES, Stage.ANNOUNCING: {}})}),
    ),
    Fault(
        "veto-is-thrown-at-the-end",
        "LIFE-PUB-07",
        "The listeners behind one that vetoes are called.",
        edit(
            Listeners,
            "emit",
            (
                "        self._tell(listener, key, payload)",
                (
                    "        try:\n"
                    "            self._tell(listener, key, payload)\n"
                    "        except Exception as error:\n"
                    "            failure = error\n"
                    '    if "failure" in locals():\n'
                    "        raise failure"
                ),
            ),
        ),
    ),
    Fault(
        "driver-is-released-unseen",
        "LIFE-PUB-09",
        "Nobody looks at owner and signal again before the driver is released.",
        edit(
            Life,
            "publish",
            ("    self.check()\n    self._forget_signal()", "    self._forget_signal()"),
        ),
    ),
    Fault(
        "commit-error-is-swallowed",
        "LIFE-ROLL-02",
        "A creation goes on when its commit has thrown.",
        edit(
            Life,
            "compose",
            (
                "        commit.commit()",
                "        try:\n            commit.commit()\n        except Exception:\n            pass\n       ",
            ),
        ),
    ),
    Fault(
        "unannounced-agent-is-disposed-aloud",
        "LIFE-ROLL-03",
        "The disposal of an agent is told though its creation was not.",
        edit(AgentRegistry, "_leave", ("if entry.announced:", "if True:")),
    ),
    Fault(
        "vetoed-agent-is-not-disposed-aloud",
        "LIFE-ROLL-05",
        "The disposal of an agent whose announcement was cut short is not told.",
        COUNTED_LATE,
    ),
    Fault(
        "rejected-before-it-is-undone",
        "LIFE-ROLL-06",
        "A creation is rejected while its rollback goes on.",
        edit(Life, "__aexit__", ("await self.dispose()", "self.dispose()")),
    ),
    Fault(
        "failures-are-wrapped",
        "LIFE-ROLL-07",
        "The caller of a creation gets an error of the loop's own.",
        edit(
            Life,
            "__aexit__",
            (
                "        await self.dispose()",
                "        await self.dispose()\n        raise RuntimeError(str(failure)) from failure",
            ),
        ),
    ),
    Fault(
        "second-creation-takes-the-id",
        "LIFE-ROLL-09",
        "A session enters the store though its id is live.",
        edit(
            SessionStore,
            "enter",
            ("    if session.id in self._entries:\n        raise SessionExists(session.id)\n", ""),
        ),
    ),
    Fault(
        "session-of-a-refused-agent-stays",
        "LIFE-ROLL-10",
        "The session of an agent that the registry refuses stays in the store.",
        edit(
            Life,
            "publish",
            (
                (
                    "    self._detach.append(sessions.enter(agent.session, agent.ctx))\n"
                    "    self._detach.append(agents.enter(agent, self._owning_agent))\n"
                ),
                (
                    "    leave = sessions.enter(agent.session, agent.ctx)\n"
                    "    self._detach.append(agents.enter(agent, self._owning_agent))\n"
                    "    self._detach.insert(0, leave)\n"
                ),
            ),
        ),
    ),
    Fault(
        "rollback-lets-the-driver-run",
        "LIFE-ROLL-11",
        "A wake that was latched before a veto starts its driver.",
        edit(
            Life,
            "__aexit__",
            (
                "        await self.dispose()",
                (
                    "        if self._agent is not None:\n"
                    "            self._agent.go_live()\n"
                    "            for _ in range(50):\n"
                    "                await asyncio.sleep(0)\n"
                    "        await self.dispose()"
                ),
            ),
        ),
    ),
    Fault(
        "closed-scope-registers",
        "LIFE-ROLL-12",
        "What a setup registers after its creation has ended is accepted.",
        edit(Fiber, "assert_accepting", ("if not self.accepting:", "if False:")),
    ),
    Fault(
        "vetoed-synchronous-creation-stays",
        "LIFE-SYNC-01",
        "Nobody rolls a synchronous creation back that has thrown.",
        edit(AgentLoop, "create_now", ("        life.dispose()\n", "")),
    ),
    Fault(
        "earlier-abort-is-missed",
        "LIFE-ABORT-01",
        "A signal that was aborted before the call is not noticed before setup.",
        edit(Life, "__init__", ("if signal is not None and signal.aborted:", "if False:")),
    ),
    Fault(
        "reason-of-an-abort-is-lost",
        "LIFE-ABORT-02",
        "An aborted creation is rejected with an error of its own, whatever the reason was.",
        edit(creation_ends, "abort_error", ("if isinstance(signal.reason, BaseException):", "if False:")),
    ),
    Fault(
        "abort-waits-for-setup",
        "LIFE-ABORT-03",
        "An aborted creation is rejected when its setup has ended.",
        edit(Life, "_while_it_lasts", ("(work, self._ended)", "(work,)")),
    ),
    Fault(
        "abort-by-setup-is-missed",
        "LIFE-ABORT-04",
        "The commit of a setup that aborted the creation is called.",
        edit(Life, "compose", ("    self.check()  # LIFE-SETUP-04\n", "")),
    ),
    Fault(
        "abort-by-a-listener-is-missed",
        "LIFE-ABORT-05",
        "The agent is announced when a listener of its session has aborted the creation.",
        edit(
            Life,
            "publish",
            ("    sessions.announce(agent.session)\n    self.check()\n", "    sessions.announce(agent.session)\n"),
        ),
    ),
    Fault(
        "signal-stays-linked",
        "LIFE-ABORT-06",
        "The signal of a creation disposes of the live agent.",
        edit(
            Life,
            "publish",
            (
                "    self._forget_signal()  # LIFE-ABORT-06\n",
                "    if self._signal is not None:\n        self._signal.on_abort(self.dispose)\n",
            ),
        ),
    ),
    Fault(
        "resume-creates",
        "LIFE-RES-04",
        "A resume without persistence creates an empty session.",
        edit(
            AgentLoop,
            "resume",
            (
                "        raise PersistenceMissing\n",
                (
                    "        fresh = CreateAgentOptions(session_id=options.resume_session_id)\n"
                    "        return await self.create_agent(owner, fresh)\n"
                ),
            ),
        ),
    ),
    Fault(
        "session-is-entered-before-setup",
        "LIFE-SETUP-01",
        "The session is in the store while setup runs.",
        edit(
            AgentLoop,
            "create_agent",
            (
                "        await life.compose(",
                "        self._sessions.enter(session, self._ctx)\n        await life.compose(",
            ),
        ),
    ),
    Fault(
        "agent-is-entered-after-its-session",
        "LIFE-PUB-02",
        "The agent is not found when its session is announced.",
        edit(
            Life,
            "publish",
            (
                (
                    "    self._detach.append(agents.enter(agent, self._owning_agent))\n"
                    "    sessions.announce(agent.session)\n"
                ),
                (
                    "    sessions.announce(agent.session)\n"
                    "    self._detach.append(agents.enter(agent, self._owning_agent))\n"
                ),
            ),
        ),
    ),
    Fault(
        "failed-setup-is-not-undone",
        "LIFE-ROLL-01",
        "The scope of an agent whose setup failed is not unwound.",
        edit(Life, "__aexit__", ("if failure is None:", "if failure is None or not self._detach:")),
    ),
    Fault(
        "vetoed-agent-leaves-silently",
        "LIFE-ROLL-04",
        "The disposal of a vetoed agent is not told.",
        edit(AgentRegistry, "_leave", ("if entry.announced:", "if False:")),
    ),
    Fault(
        "live-id-is-found-too-late",
        "LIFE-ROLL-08",
        "Setup runs for an id that is live.",
        edit(
            SessionStore,
            "prepare",
            ("    if session_id in self._entries:\n        raise SessionExists(session_id)\n", ""),
        ),
    ),
    Fault(
        "resume-has-no-setup",
        "LIFE-RES-01",
        "The setup of a resumed agent is not run.",
        edit(AgentLoop, "resume", ("options.agent_options), options.setup)", "options.agent_options), None)")),
    ),
    Fault(
        "stored-log-is-cut",
        "LIFE-RES-02",
        "The last event of a stored log is not restored.",
        edit(SessionStore, "restore", ("seed=events,", "seed=events[:-1],")),
    ),
    Fault(
        "resumed-turns-begin-anew",
        "LIFE-RES-03",
        "The turns of a resumed agent are numbered from 1.",
        edit(Driver, "_run_turn", ("session.last_turn + 1", "1")),
    ),
    Fault(
        "cancelled-load-is-waited-for",
        "LIFE-RES-05",
        "A resume that was cancelled waits for its load.",
        edit(Life, "load", ("await self._while_it_lasts(loading)", "await loading")),
    ),
    Fault(
        "late-load-is-kept",
        "LIFE-RES-06",
        "What is loaded for a resume that has ended is not released.",
        edit(Life, "load", ("        loading.add_done_callback(self._release_late)\n", "")),
    ),
    Fault(
        "abandoned-load-is-not-told",
        "LIFE-RES-09",
        "Storage does not learn that nobody wants the session any more.",
        edit(Life, "_end", ("    self._given_up.abort(", "    repr(")),
    ),
    Fault(
        "failed-resume-keeps-the-id",
        "LIFE-RES-07",
        "The session of a resume that failed in setup stays in the store.",
        edit(
            AgentLoop,
            "resume",
            (
                "        await life.compose(",
                "        self._sessions.enter(session, self._ctx)\n        await life.compose(",
            ),
        ),
    ),
)
"""Those of creations, clause by clause."""
