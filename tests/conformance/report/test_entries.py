"""What is written into a report is read back as it was."""

import json
from typing import TypeVar

import msgspec

from dshconform.report.entries import CheckEntry, FailureEntry
from dshconform.running.check import Failure, Outcome
from dshconform.running.step import Step
from dshconform.trace.compare import Alignment
from dshconform.trace.pattern import MISSING, Difference

E = TypeVar("E", bound=msgspec.Struct)


def test_an_outcome_is_read_back() -> None:
    """All that a judgement, or a merge, needs."""
    outcome = Outcome(
        check="machine/inbox",
        held={"INBOX-CLAIM-01": 3, "AGENT-ID-01": 1},
        not_run={"WAKE-LATCH-01": "behind it"},
        stopped=2,
        examples=7,
        commands=70,
        cells={"cell": "held"},
        grid={"idle / steer / empty": 4},
        prologues=5,
        blamed={"": 1, "INBOX-CLAIM-01": 2},
        suite_fault="none",
        cut_short=True,
    )
    entry = through_json(CheckEntry.of(outcome), CheckEntry)
    assert entry.outcome([]) == outcome


def test_a_failure_is_read_back() -> None:
    """With its rows, its document, and what was missing as missing."""
    for found in (MISSING, "(nothing)", {"kind": "aborted"}, None):
        failure = Failure(
            difference=Difference(("A-B-01",), "log x", found, ("data", 0), 1, MISSING, "x differs"),
            steps=(Step("world.open", {}), Step("agent.inspect", {"agent": "a"})),
            rows=Alignment((("a", "b"), ("c", MISSING)), 0),
            document={"contract": "inbox", "steps": []},
            reproduced=None,
            again=Alignment((("a", "a"),), None),
            found_after=9,
            index=3,
            met=("A-B-01", "C-D-01"),
        )
        entry = through_json(FailureEntry.of("machine/inbox", failure, "f.yaml"), FailureEntry)
        again = entry.failure()
        assert again == failure
        assert (again.difference.found is MISSING) == (found is MISSING)
        assert entry.replay == "f.yaml"


def through_json(entry: msgspec.Struct, kind: type[E]) -> E:
    """Written to a text, and read."""
    return msgspec.convert(json.loads(json.dumps(msgspec.to_builtins(entry))), kind)
