"""The kill matrix as text and as JSON."""

import io
import json
from contextlib import nullcontext

from rich.console import Console

from dshconform.faults import ALL_FAULTS, Fault
from dshconform.faults.coverage import Coverage, Unfaulted
from dshconform.faults.killing import Trial
from dshconform.report.kill_matrix import coverage_document, coverage_text, percent, print_coverage, print_trial
from dshconform.spec import Profile

CORE = Coverage(
    must=("INBOX-LIST-01", "INBOX-DUR-01", "LOG-EVT-05"), covered=("INBOX-LIST-01",), excepted=("LOG-EVT-05",)
)
WHOLE = Coverage(must=("PROMPT-SEC-01",), covered=("PROMPT-SEC-01",), excepted=())


def trial(fault_id: str, clause: str, killed_by: str | None, *collateral: str) -> Trial:
    fault = Fault(fault_id, clause, "It is wrong.", nullcontext)
    return Trial(fault=fault, killed_by=killed_by, collateral=collateral)


def printed(*trials: Trial) -> list[str]:
    text = io.StringIO()
    console = Console(file=text, width=80, soft_wrap=True, highlight=False)
    for one in trials:
        print_trial(console, one)
    return text.getvalue().splitlines()


def test_a_fault_is_told_with_what_kills_it() -> None:
    """Its name, its clause, the check that kills it, and what others were blamed for."""
    assert printed(
        trial("one", "INBOX-LIST-01", "scenario/queue", "INBOX-DUR-01", "AGENT-ID-01"),
        trial("two", "INBOX-LIST-01", "scenario/queue"),
        trial("three", "INBOX-LIST-01", None, "INBOX-DUR-01"),
        trial("four", "INBOX-LIST-01", None),
    ) == [
        "  killed    one (INBOX-LIST-01)",
        "            by scenario/queue; collateral: INBOX-DUR-01, AGENT-ID-01",
        "  killed    two (INBOX-LIST-01)",
        "            by scenario/queue",
        "  SURVIVES  three (INBOX-LIST-01)",
        "            collateral: INBOX-DUR-01",
        "  SURVIVES  four (INBOX-LIST-01)",
        "            no check found anything",
    ]


def test_no_line_is_longer_than_80_columns() -> None:
    """However long names are, and however many clauses were blamed."""
    clauses = [fault.clause for fault in ALL_FAULTS[:20]]
    lines = printed(*(trial(fault.id, fault.clause, "scenario/" + "x" * 40, *clauses) for fault in ALL_FAULTS))
    assert max(map(len, lines)) <= 80


def test_coverage_is_a_table_with_what_is_missing_and_excepted() -> None:
    """A profile that is covered has no line among what is missing; an exception has its reason."""
    text = io.StringIO()
    console = Console(file=text, width=80, highlight=False)
    exceptions = [
        Unfaulted(clause="LOG-EVT-05", reason="Nobody sees it."),
        Unfaulted(clause="REG-READ-02", reason="Of another profile."),
    ]
    print_coverage(console, {Profile.CORE: CORE, Profile.PROMPT: WHOLE}, exceptions)
    assert [line.rstrip() for line in text.getvalue().splitlines()] == [
        "profile              must    covered   excepted    missing      share",
        "core                    3          1          1          1     33.3 %",
        "prompt                  1          1          0          0    100.0 %",
        "not covered",
        "  core: INBOX-DUR-01",
        "exceptions",
        "  LOG-EVT-05: Nobody sees it.",
    ]


def test_a_share_is_never_rounded_up() -> None:
    """Only what is covered whole has a hundred."""
    must = tuple(f"AREA-TOPIC-{number}" for number in range(3000))
    assert percent(Coverage(must=must, covered=must[1:], excepted=())) == "99.9 %"
    assert percent(Coverage(must=(), covered=(), excepted=())) == "100.0 %"


def test_the_document_has_one_line_for_each_fault_in_the_order_of_the_clauses() -> None:
    """Faults of one clause by name; the same trials in another order give the same text."""
    trials = [
        trial("z", "PROMPT-SEC-01", "scenario/queue"),
        trial("b", "INBOX-DUR-01", None, "AGENT-ID-01"),
        trial("a", "INBOX-DUR-01", "machine/inbox"),
        trial("y", "INBOX-LIST-01", "table/phase"),
    ]
    coverage = {Profile.CORE: CORE, Profile.PROMPT: WHOLE}
    text = coverage_text(coverage_document(trials, coverage))
    assert text == coverage_text(coverage_document(trials[::-1], coverage))
    document = json.loads(text)
    assert document == {
        "profiles": {
            "core": {"must": 3, "covered": 1, "excepted": 1},
            "prompt": {"must": 1, "covered": 1, "excepted": 0},
        },
        "faults": [
            {"id": "y", "clause": "INBOX-LIST-01", "killed_by": "table/phase", "collateral": []},
            {"id": "a", "clause": "INBOX-DUR-01", "killed_by": "machine/inbox", "collateral": []},
            {"id": "b", "clause": "INBOX-DUR-01", "killed_by": None, "collateral": ["AGENT-ID-01"]},
            {"id": "z", "clause": "PROMPT-SEC-01", "killed_by": "scenario/queue", "collateral": []},
        ],
    }
    assert len(text.splitlines()) == 2 + 2 + 2 + 4 + 2
