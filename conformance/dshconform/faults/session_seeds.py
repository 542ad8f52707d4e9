"""Faults of seeds: what a log may begin with, and the mark behind it."""

from typing import Final

from dshconform.faults.edit import edit
from dshconform.faults.fault import Fault
from dshcore.agent_loop.driver import Driver
from dshcore.session import seed, shapes
from dshcore.session.log import Session
from dshcore.session.store import SessionStore

SESSION_SEED_FAULTS: Final[tuple[Fault, ...]] = (
    Fault(
        "numbers-of-a-seed-are-not-checked",
        "SEED-VAL-01",
        "A seed may have gaps.",
        edit(seed, "read_seed", ('if event["seq"] != index:', "if False:")),
    ),
    Fault(
        "unknown-keys-pass",
        "SEED-VAL-02",
        "An event of a seed may have keys that nobody knows.",
        edit(seed, "_is_envelope", ("event.keys() <= _ENVELOPE", "True")),
    ),
    Fault(
        "surfaces-of-seeds-are-trusted",
        "SEED-VAL-03",
        "What an event of a seed says of the surface is not checked.",
        edit(seed, "read_seed", ("place = surface.check(event)", "place = surface.check(event) if index else None")),
    ),
    Fault(
        "open-turns-are-refused",
        "SEED-VAL-04",
        "A session cannot begin in the middle of a turn.",
        edit(Session, "__init__", ("if balanced and (problem", "if (problem")),
    ),
    Fault(
        "a-failed-creation-leaves-a-session",
        "SEED-VAL-05",
        "When a seed is refused, an empty session is left.",
        edit(
            SessionStore,
            "create",
            (
                "session = self.prepare(session_id, meta=meta, seed=seed)",
                (
                    "try:\n"
                    "        session = self.prepare(session_id, meta=meta, seed=seed)\n"
                    "    except Exception:\n"
                    "        self.create(owner)\n"
                    "        raise"
                ),
            ),
        ),
    ),
    Fault(
        "negative-zero-in-a-seed",
        "SEED-VAL-06",
        "Negative zero in a seed is taken for zero.",
        edit(
            seed,
            "read_seed",
            (
                "event = freeze(given)",
                'event = freeze({**given, "data": {}} if given.get("data") == {"a": [-0.0]} else given)',
            ),
        ),
    ),
    Fault(
        "numbers-first",
        "SEED-VAL-09",
        "The number of an event is checked before its message.",
        edit(
            seed,
            "read_seed",
            (
                'if problem := shape_problem(kind, event["data"]):',
                (
                    'if event["seq"] != index:\n'
                    '            raise InvalidSeed("wrong number")\n'
                    '        if problem := shape_problem(kind, event["data"]):'
                ),
            ),
        ),
    ),
    Fault(
        "empty-ids-pass",
        "SEED-MSG-01",
        "A message of a seed may have an empty id.",
        edit(shapes, "_message_problem", ('not is_text(message.get("id"))', 'not isinstance(message.get("id"), str)')),
    ),
    Fault(
        "any-source-is-a-model",
        "SEED-MSG-02",
        "A message of the model need not name its model.",
        edit(shapes, "_assistant_problem", ('for name in ("provider", "model")', 'for name in ("provider",)')),
    ),
    Fault(
        "ids-of-calls-may-differ",
        "SEED-MSG-03",
        "The block of a result may be of another call.",
        edit(shapes, "_result_problem", ('if member(block, "toolCallId") != call:', "if False:")),
    ),
    Fault(
        "marks-of-absent-fields",
        "SEED-MSG-04",
        "A field that the configuration lacks may be marked as a default.",
        edit(shapes, "_header_problem", (" and name in config", "")),
    ),
    Fault(
        "unknown-sources-are-refused",
        "SEED-MSG-05",
        "A message whose source nobody knows is refused.",
        edit(
            shapes,
            "_message_problem",
            (
                'not is_text(member(message.get("source"), "kind"))',
                'member(message.get("source"), "kind") not in ("user", "model", "tool")',
            ),
        ),
    ),
    Fault(
        "an-empty-seed-is-none",
        "SEED-MARK-01",
        "A session of an empty seed has no mark.",
        edit(Session, "__init__", ("if seed is not None and not", "if seed and not")),
    ),
    Fault(
        "one-mark-is-enough",
        "SEED-MARK-02",
        "No mark is written where there is one anywhere in the seed.",
        edit(
            Session,
            "__init__",
            ('self._events[-1]["type"] == END_SEED', 'any(event["type"] == END_SEED for event in self._events)'),
        ),
    ),
    Fault(
        "live-from-the-last-mark",
        "SEED-MARK-03",
        "What is live begins at the last mark in the log.",
        edit(
            Session,
            "__init__",
            (
                "self.first_live_seq: Final = len(self._events)",
                (
                    'marks = [event["seq"] for event in self._events if event["type"] == END_SEED]\n'
                    "    self.first_live_seq: Final = max(marks, default=len(self._events))"
                ),
            ),
        ),
    ),
    Fault(
        "agents-over-open-turns",
        "SEED-VAL-07",
        "An agent is created over a seed that leaves something open.",
        edit(Session, "__init__", ("if balanced and (", "if False and (")),
    ),
    Fault(
        "the-length-of-a-seed-is-inferred",
        "SEED-MARK-04",
        "The header says how long the seed was, although nobody told it to.",
        edit(
            SessionStore,
            "prepare",
            ("meta=meta, seed=seed,", 'meta={"seedLength": len(seed or ()), **(meta or {})}, seed=seed,'),
        ),
    ),
    Fault(
        "turns-are-marked",
        "SEED-MARK-05",
        "The loop writes a mark in front of each turn.",
        edit(
            Driver,
            "_run_turn",
            (
                'session.append("turn/start"',
                'session.append("session/end-seed", {})\n        session.append("turn/start"',
            ),
        ),
    ),
)
