"""Faults of the store of sessions, and of forks."""

from typing import Final

from dshconform.faults.edit import edit, together
from dshconform.faults.fault import Fault
from dshcore.context.listeners import Listeners
from dshcore.session import fork
from dshcore.session.log import Session
from dshcore.session.store import SessionStore

_PLACED: Final = "session = self.prepare("

SESSION_STORE_FAULTS: Final[tuple[Fault, ...]] = (
    Fault(
        "ids-are-counted-from-the-living",
        "STORE-ID-01",
        "The number of a session is that of the live ones and one more.",
        edit(SessionStore, "prepare", ("for n in self._numbers if", "for n in count(len(self._entries) + 1) if")),
    ),
    Fault(
        "the-second-one-wins",
        "STORE-ID-02",
        "A session that enters takes the place of the one that has its id.",
        edit(SessionStore, "enter", ("if session.id in self._entries:", "if False:")),
    ),
    Fault(
        "sessions-are-sorted",
        "STORE-ID-03",
        "Live sessions are listed by their ids.",
        edit(
            SessionStore,
            "list",
            ("in self._entries.values()", "in (self._entries[name] for name in sorted(self._entries))"),
        ),
    ),
    Fault(
        "no-second-life",
        "STORE-ID-04",
        "A session that has left cannot enter again.",
        edit(Session, "detach", ("self._publisher = None", "pass")),
    ),
    Fault(
        "creations-are-silent",
        "STORE-LIFE-01",
        "A creation does not announce its session.",
        edit(SessionStore, "create", ("self.announce(session)", "pass")),
    ),
    Fault(
        "the-seed-is-published",
        "STORE-LIFE-02",
        "Behind the announcement of a session its seed is published.",
        edit(
            SessionStore,
            "announce",
            (
                "SessionCreated(session), to=entry.to)",
                (
                    "SessionCreated(session), to=entry.to)\n"
                    "        for event in session.events:\n"
                    "            entry.via.emit(SESSION_EVENT, SessionPublished(session, event), to=entry.to)"
                ),
            ),
        ),
    ),
    Fault(
        "vetoed-sessions-live-on",
        "STORE-LIFE-03",
        "A session whose creation was vetoed stays in the store.",
        edit(SessionStore, "create", ("        leave()\n", "")),
    ),
    Fault(
        "late-vetoes",
        "STORE-LIFE-04",
        "A listener of a creation that fails later ends the session.",
        edit(
            Listeners,
            "_let_run",
            (
                "elif (error := task.exception()) is not None:",
                (
                    "elif (error := task.exception()) is not None:\n"
                    '            if key.name == "session/created":\n'
                    "                store = payload.session._publisher\n"
                    "                store._leave(store._entries[payload.session.id])"
                ),
            ),
        ),
    ),
    Fault(
        "announced-again",
        "STORE-LIFE-05",
        "A session can be announced again when the first time is over.",
        edit(SessionStore, "announce", ("if entry.announced:", "if entry.announcing:")),
    ),
    Fault(
        "disposed-without-creation",
        "STORE-LIFE-06",
        "The disposal of a session that was never announced is told.",
        edit(SessionStore, "_leave", ("if entry.announced:", "if True:")),
    ),
    Fault(
        "old-detaches-work",
        "STORE-LIFE-07",
        "The detach of a former life ends the present one.",
        together(
            edit(SessionStore, "enter", ("if not entry.leaving:", "if True:")),
            edit(
                SessionStore,
                "_leave",
                ("if self._entries.get(session.id) is not entry:", "if session.id not in self._entries:"),
            ),
        ),
    ),
    Fault(
        "detached-in-the-announcement",
        "STORE-LIFE-08",
        "A detach inside the announcement takes effect at once.",
        edit(SessionStore, "_leave", ("if not entry.announcing:", "if True:")),
    ),
    Fault(
        "detached-in-the-append",
        "STORE-LIFE-09",
        "A detach inside an append takes effect at once.",
        edit(SessionStore, "_leave", ("session.when_unwound(leave)", "leave()")),
    ),
    Fault(
        "a-disposal-can-fail",
        "STORE-LIFE-10",
        "What a listener of a disposal throws reaches the caller.",
        edit(Listeners, "_tell", ("if not key.contained:", 'if not key.contained or key.name == "session/disposed":')),
    ),
    Fault(
        "sessions-outlive-their-owner",
        "STORE-LIFE-11",
        "A session stays when what it was created through has ended.",
        edit(
            SessionStore,
            "create",
            ("leave = owner.effect(self.enter(session, owner), ", "leave = self.enter(session, owner)\n    dict("),
        ),
    ),
    Fault(
        "one-creation-at-a-time",
        "STORE-LIFE-12",
        "While a session is announced no other can be created.",
        edit(
            SessionStore,
            "create",
            (
                _PLACED,
                (
                    "if any(entry.announcing for entry in self._entries.values()):\n"
                    '        raise SessionError("busy")\n'
                    f"    {_PLACED}"
                ),
            ),
        ),
    ),
    Fault(
        "flushes-start-later",
        "STORE-FLUSH-01",
        "When a flush has answered, nobody has been asked yet.",
        edit(
            SessionStore,
            "_flush",
            ("await entry.via.parallel(", 'await __import__("asyncio").sleep(0)\n        await entry.via.parallel('),
        ),
    ),
    Fault(
        "somebody-always-takes-part",
        "STORE-FLUSH-02",
        "A flush without listeners says that somebody took part.",
        edit(SessionStore, "_flush", ("heard = entry.via.reaches(SESSION_FLUSH, to=entry.to)", "heard = True")),
    ),
    Fault(
        "the-last-failure-counts",
        "STORE-FLUSH-03",
        "A flush fails with the error of its last failing listener.",
        edit(SessionStore, "_flush", ("failures.exceptions[0]", "failures.exceptions[-1]")),
    ),
    Fault(
        "flushing-what-has-left",
        "STORE-FLUSH-04",
        "The flush of a session that is not live says that nobody took part.",
        edit(
            SessionStore,
            "_flush",
            (
                "entry = self._live(session)",
                "if self.get(session.id) is not session:\n        return False\n    entry = self._live(session)",
            ),
        ),
    ),
    Fault(
        "a-detach-changes-a-flush",
        "STORE-FLUSH-05",
        "A session that leaves during its flush was flushed by nobody.",
        edit(SessionStore, "_flush", ("return heard", "return heard and self.get(session.id) is session")),
    ),
    Fault(
        "one-scope-for-all",
        "STORE-SCOPE-01",
        "Every session is heard where the first one entered.",
        edit(
            SessionStore,
            "enter",
            (
                "scope_target(session, via.scope)",
                "next((one.to for one in self._entries.values()), scope_target(session, via.scope))",
            ),
        ),
    ),
    Fault(
        "flushes-go-where-the-store-is",
        "STORE-SCOPE-02",
        "A flush goes to the scope from which the store is used, and that is none.",
        edit(
            SessionStore,
            "_flush",
            ("SessionFlush(session), to=entry.to)", "SessionFlush(session), to=scope_target(session, None))"),
        ),
    ),
    Fault(
        "the-boundary-is-exclusive",
        "FORK-CUT-01",
        "A fork ends in front of its boundary.",
        edit(fork, "fork_seed", ("return copied", "return copied[:-1]")),
    ),
    Fault(
        "open-turns-are-cut-off",
        "FORK-CUT-02",
        "A boundary inside a turn is moved in front of it.",
        edit(
            fork,
            "fork_seed",
            ("# FORK-CUT-02\n", '# FORK-CUT-02\n        return events[: closing["seq"]]\n'),
        ),
    ),
    Fault(
        "only-the-end-of-a-turn",
        "FORK-CUT-03",
        "A fork has to end with the end of a turn.",
        edit(
            fork,
            "fork_seed",
            (
                "return copied",
                (
                    'if events[last]["type"] != "turn/end":\n'
                    '        raise SessionForkError("not the end of a turn", ForkProblem.OPEN_TURN)\n'
                    "    return copied"
                ),
            ),
        ),
    ),
    Fault(
        "depth-is-inherited",
        "FORK-CHILD-01",
        "A fork has the depth of its source.",
        edit(
            fork,
            "fork_meta",
            (
                '{"cwd": source.header["cwd"]} if "cwd" in source.header else {}',
                '{name: source.header[name] for name in ("cwd", "delegationDepth") if name in source.header}',
            ),
        ),
    ),
    Fault(
        "every-fork-has-a-mark-of-its-own",
        "FORK-CHILD-02",
        "A fork of a fork has a second mark behind the first.",
        edit(
            Session,
            "__init__",
            (
                'if seed is not None and not (self._events and self._events[-1]["type"] == END_SEED):',
                "if seed is not None:",
            ),
        ),
    ),
    Fault(
        "the-source-is-marked-too",
        "FORK-CHILD-03",
        "A fork leaves a mark in its source.",
        edit(SessionStore, "fork", ("return self.create(", 'live.append("x/forked", {})\n    return self.create(')),
    ),
    Fault(
        "what-has-left-is-forked",
        "FORK-ERR-01",
        "A session that is not live is forked from its own log.",
        edit(
            SessionStore,
            "_fork_source",
            ("live = self.get(session_id)", "live = source if isinstance(source, Session) else self.get(session_id)"),
        ),
    ),
    Fault(
        "what-never-entered-is-forked",
        "FORK-ERR-04",
        "A session that is only prepared is forked from its own log.",
        together(
            edit(
                Session,
                "detach",
                ("self._publisher = None", "self._publisher = None\n    self.__dict__['left'] = True"),
            ),
            edit(
                SessionStore,
                "_fork_source",
                (
                    "live = self.get(session_id)",
                    (
                        "prepared = isinstance(source, Session) and 'left' not in source.__dict__\n"
                        "    live = source if prepared else self.get(session_id)"
                    ),
                ),
            ),
        ),
    ),
    Fault(
        "behind-the-end-is-all",
        "FORK-ERR-02",
        "A boundary behind the last event means the whole log.",
        edit(
            fork,
            "fork_seed",
            (
                "last = len(events) - 1 if boundary is UNSET",
                "last = len(events) - 1 if boundary is UNSET or boundary == len(events)",
            ),
        ),
    ),
    Fault(
        "the-taken-id-comes-last",
        "FORK-ERR-03",
        "The id of the child is looked at when everything else is right.",
        edit(SessionStore, "fork", ("if child_id is not None and child_id in self._entries:", "if False:")),
    ),
)
