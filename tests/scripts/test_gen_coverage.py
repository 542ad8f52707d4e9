"""The published coverage: about the faults that there are, and the page is what follows from it.

Whether each fault is still killed so is measured by `scripts/gen_coverage.py --check`, which tries them all.
"""

import json
import re

import gen_coverage as script

from dshconform.faults import ALL_FAULTS
from dshconform.faults.coverage import Unfaulted, load_exceptions, measure
from dshconform.faults.killing import Trial
from dshconform.report.kill_matrix import coverage_document, coverage_text
from dshconform.spec import load_specification

DATA = script.DATA.read_text(encoding="utf-8")
PUBLISHED: script.Coverage = json.loads(DATA)


def test_the_published_page_is_fresh() -> None:
    """The page says what the data says."""
    assert script.PAGE.read_text(encoding="utf-8") == script.published(DATA)


def test_the_data_is_of_all_faults_and_follows_from_what_it_says_of_them() -> None:
    """Each fault stands there once, with its clause; the counts are those of the clauses that are killed."""
    known = {fault.id: fault for fault in ALL_FAULTS}
    trials = [
        Trial(fault=known[row["id"]], killed_by=row["killed_by"], collateral=tuple(row["collateral"]))
        for row in PUBLISHED["faults"]
    ]
    assert len(trials) == len(known)
    clauses = load_specification().clauses
    coverage = measure(trials, clauses.values(), load_exceptions(clauses, ALL_FAULTS))
    assert coverage_text(coverage_document(trials, coverage)) == DATA


def test_no_published_fault_survives() -> None:
    """A fault that nothing kills is a hole in the suite."""
    assert [row["id"] for row in PUBLISHED["faults"] if row["killed_by"] is None] == []


def test_core_and_lifecycle_are_covered() -> None:
    """Whole, but for the exceptions; of the other profiles that are checked, four clauses in five."""
    for name in ("core", "lifecycle"):
        counts = PUBLISHED["profiles"][name]
        assert counts["covered"] + counts["excepted"] == counts["must"]
    for name in ("session", "tools", "prompt", "llm", "context"):
        counts = PUBLISHED["profiles"][name]
        assert counts["covered"] >= 0.8 * counts["must"]


def test_the_page_has_every_profile_and_every_exception() -> None:
    """A line for each profile, what survives among what kills, and the reason of each exception."""
    coverage: script.Coverage = {
        "profiles": {
            "core": {"must": 300, "covered": 298, "excepted": 1},
            "llm": {"must": 2, "covered": 2, "excepted": 0},
        },
        "faults": [
            {"id": "a", "clause": "INBOX-LIST-01", "killed_by": "scenario/x", "collateral": ["INBOX-DUR-01"]},
            {"id": "b", "clause": "INBOX-LIST-01", "killed_by": "scenario/y", "collateral": []},
            {"id": "c", "clause": "INBOX-DUR-01", "killed_by": None, "collateral": []},
        ],
    }
    page = script.page(coverage, [Unfaulted(clause="LOG-EVT-05", reason="Nobody\nsees it.")])
    assert re.findall(r"^\| (?:core|llm) .*", page, flags=re.MULTILINE) == [
        "| core | 300 | 298 | 1 | 1 | 99.3 % |",
        "| llm | 2 | 2 | 0 | 0 | 100.0 % |",
    ]
    assert "| scenario | 2 |\n| nothing: it survives | 1 |" in page
    assert "3 faults; 1 of them with collateral." in page
    assert "- LOG-EVT-05: Nobody sees it.\n" in page
