"""The ledger tolerates what is listed, where it is listed and as it is listed, and nothing else."""

from pathlib import Path

import pytest

from dshconform.running.ledger import Deviation, Ledger, LedgerError, read_ledger
from dshconform.trace.pattern import Difference

ENTRY = Deviation(
    clause="LOG-EVT-03",
    check="scenario/x",
    at="log turn/end.event.data.reason",
    found={"kind": "aborted", "reason": {"$any": True}},
    after="accept",
    reason="because",
    reviewed="2026-01-01",
)
TEXT = """
- clause: LOG-EVT-03
  check: scenario/x
  at: log turn/end.event.data.reason
  found: {kind: aborted}
  after: accept
  reason: because
  reviewed: '2026-01-01'
"""


def difference(**changes: object) -> Difference:
    members: dict[str, object] = {
        "clauses": ("LOG-EVT-03",),
        "at": ENTRY.at,
        "found": {"kind": "aborted", "reason": {"kind": "user"}},
        "path": ("reason",),
        "expected": None,
        "observed": None,
        "sentence": "",
    }
    return Difference(**{**members, **changes})  # type: ignore[arg-type]


def test_the_listed_difference_is_accepted_and_counted() -> None:
    """Clause, place and pattern agree: it is met, and its clause deviates."""
    ledger = Ledger([ENTRY])
    assert ledger.accepts(difference())
    assert ledger.deviating() == {"LOG-EVT-03": [ENTRY]}
    assert ledger.stale(["scenario/x"]) == []


@pytest.mark.parametrize(
    "changes",
    [{"clauses": ("LOG-EVT-02",)}, {"at": "log turn/end"}, {"found": {"kind": "aborted"}}, {"found": {"kind": "x"}}],
)
def test_anything_else_is_not(changes: dict[str, object]) -> None:
    """Another clause, place or value fails the run although an entry exists."""
    ledger = Ledger([ENTRY])
    assert not ledger.accepts(difference(**changes))
    assert ledger.deviating() == {}


def test_an_entry_that_was_not_met_is_stale_once_its_check_ran() -> None:
    """A deviation that has gone is reported; one whose check did not run is not."""
    ledger = Ledger([ENTRY])
    assert ledger.stale(["scenario/other"]) == []
    assert ledger.stale(["scenario/x"]) == [ENTRY]


def test_a_file_is_read(tmp_path: Path) -> None:
    """The YAML form has the members of an entry."""
    file = tmp_path / "deviations.yaml"
    file.write_text(TEXT, encoding="utf-8")
    ledger = read_ledger(file, {"LOG-EVT-03": None}, ["scenario/x"], {"known-switch": "LOG-EVT-02"})
    assert [entry.title for entry in ledger.entries] == ["LOG-EVT-03 at log turn/end.event.data.reason"]
    assert read_ledger(None, {}, [], {}).entries == ()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("LOG-EVT-03", "LOG-EVT-99", "entry 1: there is no clause 'LOG-EVT-99'"),
        ("scenario/x", "scenario/y", "entry 1: there is no check 'scenario/y'"),
        ("accept", "variant", "entry 1: `variant` belongs to `after: variant`"),
        (
            "after: accept",
            "after: variant\n  variant: known-switch",
            "no model declares the variant 'known-switch' for LOG-EVT-03; known: known-switch \\(LOG-EVT-02\\)",
        ),
        ("because", "''", "entry 1: a deviation needs a reason"),
        ("{kind: aborted}", "{$type: thing}", "entry 1: `found` is no pattern: unknown \\$type 'thing'"),
        ("after:", "afterwards:", "unknown field `afterwards`"),
        ("after: accept", "after: ignore", "Invalid enum value 'ignore'"),
        ("- clause", "clause", "deviations.yaml"),
    ],
)
def test_a_wrong_entry_is_an_error(tmp_path: Path, old: str, new: str, message: str) -> None:
    """Each mistake is named with the file and the entry."""
    file = tmp_path / "deviations.yaml"
    file.write_text(TEXT.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(LedgerError, match=message):
        read_ledger(file, {"LOG-EVT-03": None}, ["scenario/x"], {"known-switch": "LOG-EVT-02"})


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    """A ledger that was named must be there."""
    with pytest.raises(LedgerError, match="cannot be read"):
        read_ledger(tmp_path / "nothing.yaml", {}, [], {})
