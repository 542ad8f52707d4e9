import sys
from collections.abc import Callable, Sequence
from types import ModuleType

import pytest
from click.testing import CliRunner, Result

from dshconform.cli import cli
from dshconform.spec import load_specification

Explain = Callable[..., Result]


@pytest.fixture
def explain(monkeypatch: pytest.MonkeyPatch) -> Explain:
    """Run `dshconform explain` beside a catalog of checks that cite INBOX-CLAIM-01 only."""
    catalog = ModuleType("dshconform.checks.catalog")

    def checks_for(clause: str) -> Sequence[str]:
        return ["scenario/queue", "machine/inbox"] if clause == "INBOX-CLAIM-01" else []

    catalog.__dict__["checks_for"] = checks_for
    monkeypatch.setitem(sys.modules, catalog.__name__, catalog)
    return lambda *arguments: CliRunner().invoke(cli, ["explain", *arguments])


def test_a_clause_is_shown_with_its_parts_and_the_checks_that_cite_it(explain: Explain) -> None:
    """Everything that the specification says about it, and where."""
    line = load_specification().clauses["INBOX-CLAIM-01"].line
    result = explain("INBOX-CLAIM-01")
    assert result.exit_code == 0
    assert (
        result.output
        == f"""\
INBOX-CLAIM-01 · must · core
70-agent-and-loop.md, line {line}: INBOX — pending messages

A claim at a turn boundary takes all of `next-step` followed by at most the
first message of `next-turn`; a claim between steps takes all of `next-step`
only.

observe    I in `next-step`, Q1,Q2 in `next-turn`: turn 1 claims `I,Q1`, turn 2
           claims `Q2`.
violation  a turn boundary claims the queued prompt before the pending context.
basis      seed+rc.8
checks     scenario/queue
           machine/inbox
"""
    )


def test_a_clause_that_a_ruling_decides_is_shown_with_the_ruling(explain: Explain) -> None:
    """The reader need not look it up."""
    output = explain("cancel-idle-02").output
    assert "basis      ruling R-04\nR-04       Does `cancel` while idle touch the inbox?" in output


def test_a_clause_without_checks_says_so(explain: Explain) -> None:
    """No check is not shown as an empty list."""
    assert explain("CANCEL-IDLE-02").output.endswith("checks     none yet\n")


def test_several_clauses_are_shown_one_after_another(explain: Explain) -> None:
    """An empty line stands between them."""
    output = explain("INBOX-CLAIM-01", "INBOX-CLAIM-02").output
    assert output.startswith("INBOX-CLAIM-01 ·")
    assert "\n\nINBOX-CLAIM-02 ·" in output


@pytest.mark.parametrize(
    ("clause", "message"),
    [
        ("INBOX-CLAM-01", "no clause 'INBOX-CLAM-01' in the specification; near misses: INBOX-CLAIM-01"),
        ("INBOX-CLAIM", "near misses: INBOX-CLAIM-01, INBOX-CLAIM-02"),
        ("CTX-SNAP-02", "clause 'CTX-SNAP-02' is retired; the fact stands now in PROMPT-SNAP-01"),
    ],
)
def test_an_unknown_clause_is_wrong_usage(explain: Explain, clause: str, message: str) -> None:
    """Status 2, the near misses, and nothing of the clauses that were found."""
    result = explain("INBOX-CLAIM-01", clause)
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stdout == ""


def test_no_clause_needs_more_than_80_columns(explain: Explain) -> None:
    """What has no space is broken rather than left to run over."""
    output = explain(*load_specification().clauses).output
    assert max(len(line) for line in output.splitlines()) <= 80
