"""The ledger tolerates what is listed, where it is listed and as it is listed, and nothing else."""

from pathlib import Path

import msgspec
import pytest

from dshconform.running.ledger import Deviation, Ledger, LedgerError, read_ledger
from dshconform.trace.pattern import MISSING, Difference

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
AT = "  at: log turn/end.event.data.reason\n"
FOUND = "  found: {kind: aborted}\n"


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


def test_a_missing_row_is_told_from_a_text_that_reads_like_it() -> None:
    """`$absent` in an entry means that nothing is there; a pattern for a value does not."""
    absent = Ledger([msgspec.structs.replace(ENTRY, found={"$absent": True})])
    assert absent.accepts(difference(found=MISSING))
    assert not absent.accepts(difference(found="(nothing)"))
    for found in ("(nothing)", {"$any": True}):
        assert not Ledger([msgspec.structs.replace(ENTRY, found=found)]).accepts(difference(found=MISSING))


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


def test_a_variant_is_read(tmp_path: Path) -> None:
    """It names the switch of a model in place of what is found somewhere."""
    file = tmp_path / "deviations.yaml"
    text = TEXT.replace(AT + FOUND + "  after: accept\n", "  after: variant\n  variant: switch\n")
    file.write_text(text, encoding="utf-8")
    ledger = read_ledger(file, {"LOG-EVT-03": None}, ["scenario/x"], {"switch": "LOG-EVT-03"})
    assert [entry.title for entry in ledger.entries] == ["LOG-EVT-03 as switch"]
    assert list(ledger.variants()) == ["switch"]
    assert not ledger.accepts(difference())


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("LOG-EVT-03", "LOG-EVT-99", "entry 1: there is no clause 'LOG-EVT-99'; did you mean LOG-EVT-03?"),
        ("scenario/x", "scenario/y", "entry 1: there is no check 'scenario/y'; did you mean scenario/x?"),
        ("accept", "variant", "entry 1: `after: variant` goes with `variant`, not with `at` and `found`"),
        ("after: accept", "after: accept\n  variant: known-switch", "`after: accept` goes with `at` and `found`"),
        (FOUND, "", "`after: accept` goes with `at` and `found`"),
        (AT, "", "`after: accept` goes with `at` and `found`"),
        (AT + FOUND + "  after: accept\n", "  after: variant\n", "`after: variant` goes with `variant`"),
        (
            AT + FOUND + "  after: accept\n",
            "  after: variant\n  variant: known-switch\n",
            "no model declares the variant 'known-switch' for LOG-EVT-03; known: known-switch \\(LOG-EVT-02\\)",
        ),
        ("'2026-01-01'", "yesterday", "entry 1: `reviewed` is a day as YYYY-MM-DD, not 'yesterday'"),
        ("'2026-01-01'", "20260101", "Expected `str`, got `int`"),
        ("{kind: aborted}", "{kind: {$type: bogus}}", "`found` is no pattern: unknown \\$type 'bogus'"),
        ("{kind: aborted}", "{kind: {$regex: x}}", "`found` is no pattern: unknown special form '\\$regex'"),
        (TEXT, TEXT + TEXT, "entry 2: entry 1 says the same already"),
        (TEXT, "", "a ledger is a list of deviations; one without any is `\\[\\]`"),
        (TEXT, "- a: [", "^(?!.*yaml.*deviations.yaml: )"),
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
