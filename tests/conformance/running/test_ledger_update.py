"""A ledger is rewritten by a whole run; what is new in it hides nothing before a person has said why."""

from dataclasses import replace
from pathlib import Path

import pytest

from dshconform.protocol.json_value import Json
from dshconform.running.check import Failure, Outcome
from dshconform.running.ledger import Ledger, LedgerError, read_ledger
from dshconform.running.ledger_update import update_ledger
from dshconform.running.run import RunResult, judged
from dshconform.running.shard import Shard
from dshconform.spec.clause import Level
from dshconform.trace.compare import Alignment
from dshconform.trace.pattern import MISSING, Difference
from tests.conformance.running.judging import FakeCheck, clause, hello

SPECIFICATION = (clause("A-A-01"), clause("B-B-01"), clause("C-C-01", Level.SHOULD))
CLAUSES = {one.id: one for one in SPECIFICATION}
CHECKS = tuple(FakeCheck(name, tuple(CLAUSES)) for name in ("scenario/one", "scenario/two"))
LISTED = """\
# What this implementation does otherwise.

- clause: A-A-01
  check: scenario/one
  at: log x
  found: {a: 1}   # as it was
  after: accept
  reason: Because.
  reviewed: '2026-01-01'
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "deviations.yaml"
    file.write_text(LISTED, encoding="utf-8")
    return file


def failure(*clauses: str, found: Json = 2, reproduced: bool | None = True) -> Failure:
    difference = Difference(clauses, "log y.event", found, (), 1, found, "y differs")
    return Failure(difference=difference, steps=(), rows=Alignment(), document={}, reproduced=reproduced)


def ran(path: Path, *failures: Failure, met: bool = True, **members: object) -> RunResult:
    """A run of both checks; the first one failed so."""
    ledger = read(path)
    if met:
        ledger.meet(ledger.entries[0])
    arguments: dict[str, object] = {
        "hello": hello(),
        "specification": SPECIFICATION,
        "checks": CHECKS,
        "selected": CHECKS,
        "outcomes": [
            Outcome(check="scenario/one", failures=list(failures), held={"B-B-01": 1}),
            Outcome(check="scenario/two", failures=list(failures[:1])),
        ],
        "ledger": ledger,
        "seed": 1,
        "examples": 1,
    }
    return judged(**{**arguments, **members})  # type: ignore[arg-type]


def read(path: Path) -> Ledger:
    return read_ledger(path, CLAUSES, [check.name for check in CHECKS], {})


def test_an_entry_that_was_met_stays_as_it_was_written(path: Path) -> None:
    """Nothing is new, and nothing has gone."""
    update = update_ledger(path, ran(path), CLAUSES)
    assert (update.removed, update.added, update.left) == ((), (), ())
    assert path.read_text(encoding="utf-8") == LISTED


def test_an_entry_that_has_gone_is_taken_out(path: Path) -> None:
    """The rest of the file stays."""
    update = update_ledger(path, ran(path, met=False), CLAUSES)
    assert [entry.clause for entry in update.removed] == ["A-A-01"]
    assert path.read_text(encoding="utf-8") == "# What this implementation does otherwise.\n\n[]\n"


@pytest.mark.parametrize("found", [2, None, "text", {"a": [1, 2]}, MISSING])
def test_a_new_difference_is_listed_and_refused_until_somebody_says_why(path: Path, found: Json) -> None:
    """Once, at the first check that shows it; with a reason and a day it lists just that difference."""
    failed = failure("B-B-01", "A-A-01", found=found)
    update = update_ledger(path, ran(path, failed), CLAUSES)
    assert update.added == ("B-B-01 at log y.event",)
    with pytest.raises(LedgerError, match=r"entry 2: a deviation needs a reason: say why B-B-01 is not followed"):
        read(path)
    text = path.read_text(encoding="utf-8")
    assert text.startswith(LISTED)
    path.write_text(text.replace("reason: TODO", "reason: So."), encoding="utf-8")
    with pytest.raises(LedgerError, match="`reviewed` is a day"):
        read(path)
    path.write_text(text.replace("reason: TODO", "reason: So.").replace("TODO", "'2026-01-02'"), encoding="utf-8")
    entry = read(path).entries[1]
    assert (entry.check, entry.after) == ("scenario/one", "stop")
    assert entry.tells_of(failed.difference)


@pytest.mark.parametrize(
    ("failed", "why"),
    [
        (failure(), "no clause is blamed for it"),
        (failure("C-C-01"), "C-C-01 is advice"),
        (failure("B-B-01", reproduced=False), "it did not come again"),
        (failure("B-B-01", found=[{"a": {"$any": False}}]), "what was found would be read as a pattern"),
    ],
)
def test_what_cannot_be_listed_is_told(path: Path, failed: Failure, why: str) -> None:
    """The file stays as it is."""
    update = update_ledger(path, ran(path, failed), CLAUSES)
    assert update.added == ()
    assert f"scenario/one: y differs: {why}" in update.left[0]
    assert path.read_text(encoding="utf-8") == LISTED


@pytest.mark.parametrize(
    ("members", "why"),
    [
        ({"selected": CHECKS[:1]}, "1 of 2 checks were selected"),
        ({"shard": Shard(1, 2)}, "this is shard 1/2"),
        ({"behind_budget": True}, "the budget ended the run"),
        ({"outcomes": [Outcome(check="scenario/one", cut_short=True)], "interrupted": True}, "the run was cut short"),
    ],
)
def test_a_run_that_is_not_whole_changes_nothing(path: Path, members: dict[str, object], why: str) -> None:
    """Of what it has not met, it cannot say that it has gone."""
    with pytest.raises(LedgerError, match=f"is not changed: {why}; only a whole run tells"):
        update_ledger(path, ran(path, met=False, **members), CLAUSES)
    assert path.read_text(encoding="utf-8") == LISTED


def test_a_ledger_that_is_not_there_is_made(tmp_path: Path, path: Path) -> None:
    """With what is new alone."""
    made = tmp_path / "new.yaml"
    result = replace(ran(path, failure("B-B-01")), ledger=Ledger())
    assert update_ledger(made, result, CLAUSES).added == ("B-B-01 at log y.event",)
    assert made.read_text(encoding="utf-8").startswith("- clause: B-B-01\n")
