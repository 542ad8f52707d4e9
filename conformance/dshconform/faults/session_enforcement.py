"""Faults of the enforcement of relations."""

from typing import Final

from dshconform.faults.edit import edit
from dshconform.faults.fault import Fault
from dshcore.session import enforcement
from dshcore.session.invariants import Position

SESSION_ENFORCEMENT_FAULTS: Final[tuple[Fault, ...]] = (
    Fault(
        "turns-may-be-skipped",
        "INV-TURN-01",
        "With enforcement a turn may have any number.",
        edit(Position, "broken_by", ("if not _is(turn, self.next_turn):", "if False:")),
    ),
    Fault(
        "turns-may-nest",
        "INV-TURN-02",
        "With enforcement any turn may be ended.",
        edit(Position, "broken_by", ('"turn/end":\n            if not', '"turn/end":\n            if False and not')),
    ),
    Fault(
        "steps-may-be-skipped",
        "INV-STEP-01",
        "With enforcement a step may have any number.",
        edit(Position, "broken_by", ("if not _is(step, self.next_step):", "if False:")),
    ),
    Fault(
        "anything-between-steps",
        "INV-STEP-03",
        "With enforcement chunks and messages may stand in any step.",
        edit(Position, "broken_by", ('"assistant/chunk" | "assistant/message" | ', "")),
    ),
    Fault(
        "a-turn-may-end-in-its-step",
        "INV-STEP-02",
        "With enforcement a turn may end while its step is open.",
        edit(
            Position,
            "broken_by",
            (
                'if self.step is not None:\n                return f"turn/end',
                'if False:\n                return f"turn/end',
            ),
        ),
    ),
    Fault(
        "calls-outlive-their-step",
        "INV-CALL-01",
        "With enforcement a call may be answered in a later step.",
        edit(Position, "follow", ("self.calls.clear()", "pass")),
    ),
    Fault(
        "every-result-needs-a-call",
        "INV-CALL-02",
        "With enforcement a call that was not started cannot be closed.",
        edit(Position, "broken_by", (" and not _was_not_started(data)", "")),
    ),
    Fault(
        "every-call-needs-a-result",
        "INV-CALL-03",
        "With enforcement a step cannot end before its calls have results.",
        edit(
            Position,
            "broken_by",
            (
                'if kind == "tool/result" and',
                (
                    'if kind == "step/end" and self.calls:\n                return "open"\n'
                    '            if kind == "tool/result" and'
                ),
            ),
        ),
    ),
    Fault(
        "headers-between-turns",
        "INV-ENC-01",
        "With enforcement a request header may stand outside of turns.",
        edit(Position, "broken_by", ("kind in _ENCLOSED and", 'kind == "todo/write" and')),
    ),
    Fault(
        "nothing-between-turns",
        "INV-ENC-02",
        "With enforcement nothing may stand outside of turns.",
        edit(Position, "broken_by", ("kind in _ENCLOSED and", 'kind != "session/end-seed" and')),
    ),
    Fault(
        "a-refused-turn-counts",
        "INV-MODE-02",
        "What was checked and then vetoed has moved the position of the checks.",
        edit(
            enforcement,
            "enforce_invariants",
            (
                "_check(caught_up(session), candidate)",
                "_check(position := caught_up(session), candidate)\n        position.follow(candidate)",
            ),
        ),
    ),
)
