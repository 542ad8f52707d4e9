"""Faults of a session's log: what is appended, who hears of it, what a log may say."""

from typing import Final

from dshconform.faults.edit import edit, together
from dshconform.faults.fault import Fault
from dshcore.agent_loop import scheduling
from dshcore.agent_loop.driver import Driver
from dshcore.context.listeners import Listeners
from dshcore.session import history, log, seed, shapes, todos
from dshcore.session.log import Session
from dshcore.session.store import SessionStore

_ENTRY: Final = "entry = self._entries[session.id] = _Entry(session, via, scope_target(session, via.scope))"

SESSION_LOG_FAULTS: Final[tuple[Fault, ...]] = (
    Fault(
        "time-in-seconds",
        "LOG-ENV-02",
        "Events are stamped in fractional seconds.",
        edit(Session, "append", ('"time": self._now()', '"time": self._now() / 1000 + 0.5')),
    ),
    Fault(
        "intent-is-taken-over",
        "LOG-ENV-03",
        "An event that stands on the surface is marked as one that may be ignored.",
        edit(
            Session,
            "append",
            (
                '"data": payload, **metadata})',
                '"data": payload, **metadata, **({"ignorable": True} if metadata else {})})',
            ),
        ),
    ),
    Fault(
        "append-answers-the-next-number",
        "LOG-ENV-04",
        "What an append answers has the number of the event after it.",
        edit(
            Session,
            "append",
            ("# 10\n    return event", '# 10\n    return freeze({**event, "seq": event["seq"] + 1})'),
        ),
    ),
    Fault(
        "turns-carry-their-messages",
        "LOG-EVT-01",
        "The start of a turn says more than its number.",
        together(
            edit(Driver, "_run_turn", ('{"turn": turn.number})', '{"turn": turn.number, "messages": []})')),
            edit(shapes, "_is_turn_start", ('return set(data) == {"turn"} or', "return True or")),
        ),
    ),
    Fault(
        "results-tell-what-went-wrong",
        "LOG-EVT-13",
        "The text of a failure stands beside its code.",
        edit(
            scheduling._Batch,  # noqa: SLF001 - planted inside
            "_log_result",
            ('"code": result.error.info.code}', '"code": result.error.info.code, "message": "no"}'),
        ),
    ),
    Fault(
        "lists-of-things-to-do-are-merged",
        "LOG-EVT-14",
        "A list of things to do is added to the one before.",
        edit(todos, "fold_todos", ("todos = written", "todos = (*todos, *written)")),
    ),
    Fault(
        "triggers-are-dropped",
        "LOG-EVT-15",
        "The start of a turn in a seed loses what started it.",
        edit(
            seed,
            "read_seed",
            (
                "event = freeze(event)",
                'event = freeze({**event, "data": {"turn": 1}} if event.get("type") == "turn/start" else event)',
            ),
        ),
    ),
    Fault(
        "an-abort-gets-a-reason",
        "LOG-EVT-16",
        "The bare end of an aborted turn in a seed gets a reason that nobody gave.",
        edit(
            seed,
            "read_seed",
            (
                "event = freeze(event)",
                (
                    'bare = event.get("type") == "turn/end" and len(event["data"]["reason"]) == 1\n'
                    '        legacy = {"turn": 1, "reason": {"kind": "aborted", "reason": {"kind": "legacy"}}}\n'
                    '        event = freeze({**event, "data": legacy} if bare else event)'
                ),
            ),
        ),
    ),
    Fault(
        "data-must-be-an-object",
        "LOG-JSON-01",
        "Only an object is taken as the data of an event.",
        edit(
            log,
            "_lossless",
            ("return freeze(value)", "return freeze(value if isinstance(value, Mapping | str) else None)"),
        ),
    ),
    Fault(
        "negative-zero-is-zero",
        "LOG-JSON-02",
        "Negative zero is stored as zero.",
        edit(
            log,
            "_lossless",
            ("return freeze(value)", 'return freeze(value if value != {"a": -0.0} else {"a": 0})'),
        ),
    ),
    Fault(
        "special-names-disappear",
        "LOG-JSON-08",
        "A member that is called __proto__ is left out.",
        edit(
            log,
            "_lossless",
            (
                "return freeze(value)",
                (
                    "return freeze(\n"
                    '            {name: item for name, item in value.items() if name != "__proto__"}\n'
                    "            if isinstance(value, Mapping) else value\n"
                    "        )"
                ),
            ),
        ),
    ),
    Fault(
        "a-refused-replacement-counts",
        "LOG-APPEND-01",
        "A replacement is counted before it is clear that it is accepted.",
        edit(Session, "append", ("# 5", "# 5\n    self._surface._generation += 'surfaceOp' in metadata")),
    ),
    Fault(
        "surface-before-data",
        "LOG-APPEND-02",
        "The rules of the surface are checked before the data.",
        edit(
            Session,
            "append",
            (
                'payload = _lossless(kind, data, "data")',
                (
                    "if isinstance(surface_op, str):\n"
                    '        self._surface.check(freeze({"type": kind, "seq": 0, "surfaceOp": surface_op}))\n'
                    '    payload = _lossless(kind, data, "data")'
                ),
            ),
        ),
    ),
    Fault(
        "deltas-of-headers-are-accepted",
        "LOG-APPEND-03",
        "A retired type is taken for one that nobody knows.",
        edit(shapes, "retired_problem", ('if kind == "request/header-delta":', "if False:")),
    ),
    Fault(
        "published-before-the-commit",
        "LOG-APPEND-04",
        "Listeners hear of an event that is not in the log yet.",
        edit(
            Session,
            "append",
            (
                "self._commit(event, place)  # 8\n        publish()  # 9",
                "publish()\n        self._commit(event, place)",
            ),
        ),
    ),
    Fault(
        "the-first-failure-ends-a-dispatch",
        "LOG-APPEND-05",
        "Behind a listener that throws nobody hears of the event.",
        together(
            edit(Listeners, "_tell", ("        return\n", "        return True\n")),
            edit(
                Listeners,
                "prepare",
                (
                    "            self._tell(listener, key, payload)",
                    "            if self._tell(listener, key, payload):\n                return",
                ),
            ),
        ),
    ),
    Fault(
        "validated-after-the-commit",
        "LOG-APPEND-06",
        "A refused event is in the log.",
        edit(
            Session,
            "append",
            ("publish = self._publisher", "self._events.append(event)\n        publish = self._publisher"),
        ),
    ),
    Fault(
        "last-listener-first",
        "LOG-OBS-01",
        "Listeners are called in the reverse order of their registration.",
        edit(Listeners, "prepare", ("for listener in audience:", "for listener in reversed(audience):")),
    ),
    Fault(
        "removed-listeners-are-skipped",
        "LOG-OBS-02",
        "A listener that was removed during the dispatch does not get the event.",
        edit(
            Listeners,
            "prepare",
            (
                "for listener in audience:",
                "for listener in (one for one in audience if one in self._lists.get(key, ())):",
            ),
        ),
    ),
    Fault(
        "an-append-may-reenter",
        "LOG-OBS-03",
        "A listener may append to the session that it hears of.",
        edit(Session, "append", ("if self._publishing:", "if False:")),
    ),
    Fault(
        "one-guard-for-all-sessions",
        "LOG-OBS-04",
        "While any session publishes, no other can be appended to.",
        edit(
            Session,
            "append",
            ("if self._publishing:", 'if getattr(Session, "_any", None):'),
            ("self._publishing = True", "self._publishing = Session._any = True"),
            ("self._publishing = False", "self._publishing = Session._any = False"),
        ),
    ),
    Fault(
        "a-veto-leaves-the-guard",
        "LOG-OBS-05",
        "After an append was vetoed no other is accepted.",
        edit(Session, "append", ("self._publishing = False", "self._publishing = event not in self._events[-1:]")),
    ),
    Fault(
        "entering-replays-the-log",
        "LOG-OBS-06",
        "When a session enters a store, what was appended before is published.",
        edit(
            SessionStore,
            "enter",
            (
                _ENTRY,
                (
                    f"{_ENTRY}\n"
                    "    for event in session.events:\n"
                    "        via.emit(SESSION_EVENT, SessionPublished(session, event), to=entry.to)"
                ),
            ),
        ),
    ),
    Fault(
        "silent-until-announced",
        "LOG-OBS-07",
        "Between entering and being announced nothing is published.",
        edit(
            SessionStore,
            "admit",
            (
                "for validator in self._validators:",
                (
                    "if not self._entries[session.id].announced:\n"
                    "        return lambda: None\n"
                    "    for validator in self._validators:"
                ),
            ),
        ),
    ),
    Fault(
        "the-payload-stays-the-callers",
        "LOG-IMM-01",
        "The log holds the very object that was appended.",
        edit(
            Session,
            "append",
            (
                "place = self._surface.check(event)",
                'event = {**event, "data": data}\n    place = self._surface.check(event)',
            ),
        ),
    ),
    Fault(
        "the-log-itself-is-handed-out",
        "LOG-IMM-03",
        "The events that somebody holds grow with the log.",
        edit(Session, "events", ("return Prefix(self._events)", "return self._events")),
    ),
    Fault(
        "a-replacement-changes-the-log",
        "LOG-IMM-04",
        "What is replaced on the surface is changed in the log.",
        edit(
            Session,
            "_commit",
            (
                "self._history.follow(event, place)",
                (
                    "self._history.follow(event, place)\n"
                    "        if place.replaces:\n"
                    '            self._events[4] = freeze({**self._events[4], "ignorable": True})'
                ),
            ),
        ),
    ),
    Fault(
        "unknown-blocks-are-left-out",
        "PATTERN-EXT-01",
        "A block that nobody knows is no part of the history.",
        edit(
            history,
            "derive_event_message",
            (
                'message = event["data"]\n',
                (
                    'known = [block for block in event["data"]["content"] if block["type"] == "text"]\n'
                    '            message = {**event["data"], "content": known}\n'
                ),
            ),
        ),
    ),
    Fault(
        "rejected-turns-stay-open",
        "INV-TURN-03",
        "A turn that was rejected has no end.",
        edit(
            Driver,
            "_run_turn",
            ('session.append("turn/end"', 'reason == {"kind": "blocked"} or session.append("turn/end"'),
        ),
    ),
    Fault(
        "types-are-checked",
        "PATTERN-EXT-02",
        "Only types that look like those of the core are accepted.",
        edit(shapes, "loadable", ("if not kind or", 'if "/" not in kind or')),
    ),
    Fault(
        "ignorable-is-lost",
        "PATTERN-EXT-03",
        "A seed loses the mark of what may be ignored.",
        edit(
            seed,
            "read_seed",
            ("event = freeze(event)", 'event = freeze({key: event[key] for key in event if key != "ignorable"})'),
        ),
    ),
    Fault(
        "ids-are-lower-cased",
        "PATTERN-ID-01",
        "The id of a session is changed to lower case.",
        edit(SessionStore, "create", ("self.prepare(session_id,", "self.prepare(session_id and session_id.lower(),")),
    ),
)
