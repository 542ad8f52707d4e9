import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType

import msgspec
import pytest
from click.testing import CliRunner, Result

from dshconform.cli import cli
from dshconform.protocol.json_value import Json, JsonMap
from dshconform.report.json_report import versions, write_report
from dshconform.spec import load_specification

Explain = Callable[..., Result]
Cited = Callable[..., None]


@pytest.fixture
def explain(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Explain:
    """Run `dshconform explain` in a folder of its own, beside a catalog of checks that cite INBOX-CLAIM-01 only."""
    monkeypatch.chdir(tmp_path)
    catalog = ModuleType("dshconform.checks.catalog")

    def checks_for(clause: str) -> Sequence[str]:
        return ["scenario/queue", "machine/inbox"] if clause == "INBOX-CLAIM-01" else []

    catalog.__dict__["checks_for"] = checks_for
    monkeypatch.setitem(sys.modules, catalog.__name__, catalog)
    return lambda *arguments: CliRunner().invoke(cli, ["explain", *arguments])


@pytest.fixture
def cited(explain: Explain, monkeypatch: pytest.MonkeyPatch) -> Cited:
    """A function that says which checks cite INBOX-CLAIM-01, in place of those that the catalog has."""
    del explain
    catalog = sys.modules["dshconform.checks.catalog"]
    return lambda *names: monkeypatch.setattr(catalog, "checks_for", lambda _: list(names))


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
faults     claim-takes-the-prompt-first: A claim at a turn boundary takes the
           first prompt and then the pending context.
evidence   none yet: `dshconform run` leaves it in the work folder
"""
    )


def test_a_clause_that_a_ruling_decides_is_shown_with_the_ruling(explain: Explain) -> None:
    """The reader need not look it up."""
    output = explain("cancel-idle-02").output
    assert "basis      ruling R-04\nR-04       Does `cancel` while idle touch the inbox?" in output


def test_a_clause_without_checks_says_so(explain: Explain) -> None:
    """No check, and no fault, is not shown as an empty list."""
    output = explain("FREEZE-DEEP-02").output
    assert "\nchecks     none yet\nfaults     none yet\n" in output


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


def test_the_evidence_of_the_last_run_is_shown(explain: Explain) -> None:
    """How often the clause held, in each check; examples and commands of a machine that cites it, and its grid."""
    Path(".dshconform").mkdir()
    write_report(Path(".dshconform/report.json"), evidence())
    output = explain("INBOX-CLAIM-01").output
    assert "checks     scenario/queue (once)\n           machine/inbox (1,234 times)\n" in output
    assert (
        output.partition("\nevidence\n")[2]
        == """\
fake 1, seed 3, 2 of 5 checks: unknown
pass; held 1,235 times

machine/inbox: 40 examples, 2,000 commands, 3 of 4 cells visited
  cells: 8 where all 8 were visited, 6/8 where 6 were, · where there are none
  idle streaming
     1         ·  empty
     ·       1/2  live
     ·         1  kept
  not visited: streaming / fail / live

`--all` shows every check, every grid, and how often each cell was visited
"""
    )


def test_the_machine_that_is_most_about_the_clause_shows_its_grid(explain: Explain, cited: Cited) -> None:
    """Of the others the figures are told, unless everything is asked for."""
    cited("machine/inbox", "machine/turn")
    write_report(Path("r.json"), evidence(another=True))
    output = explain("INBOX-CLAIM-01", "--report", "r.json").output
    assert output.endswith(
        """\
               examples  commands  cells visited
machine/inbox        40     2,000         3 of 4

`--all` shows every check, every grid, and how often each cell was visited
"""
    )
    assert "machine/turn: 40 examples, 2,000 commands, 2 of 2 cells visited\n  cells:" in output
    assert "  visited least (2 times): one / a / b\n\n" in output


def test_everything_can_be_shown(explain: Explain, cited: Cited) -> None:
    """The grid of each machine, and how often each cell was visited; nothing is left to be asked for."""
    cited("machine/inbox", "machine/turn")
    write_report(Path("r.json"), evidence(another=True))
    output = explain("INBOX-CLAIM-01", "--report", "r.json", "--all").output
    assert "  streaming / live: steer 1; fail 0\n  streaming / kept: steer 1,000\n\nmachine/turn: 40" in output
    assert output.endswith("  one / b: a 2\n  two / b: a 3\n")


def test_of_many_checks_those_that_held_most_are_named(explain: Explain, cited: Cited) -> None:
    """In their order, and how many there are besides; all of them, if everything is asked for."""
    names = [f"scenario/{number}" for number in range(14)]
    cited(*names)
    ran: JsonMap = {"worlds": 1, "commands": 1, "stopped": 0, "failed": False}
    checks: list[Json] = [
        {**ran, "name": name, "held": {"INBOX-CLAIM-01": 1 + (number > 1)}} for number, name in enumerate(names)
    ]
    write_report(Path("r.json"), {**evidence(), "checks": checks})
    shown = explain("INBOX-CLAIM-01", "--report", "r.json").output
    assert re.findall(r"scenario/\d+", shown) == names[2:]
    assert "           scenario/13 (2 times)\n           and 2 more\n" in shown
    assert shown.endswith("how often each cell was visited\n")
    everything = explain("INBOX-CLAIM-01", "--report", "r.json", "--all").output
    assert re.findall(r"scenario/\d+", everything) == names
    assert "more\n" not in everything


def test_what_is_left_out_is_said_only_where_something_is(explain: Explain) -> None:
    """A clause without a machine is shown in full."""
    write_report(Path("r.json"), evidence())
    assert "--all" not in explain("FREEZE-DEEP-02", "--report", "r.json").output


def test_another_report_may_be_asked(explain: Explain) -> None:
    """`--report` goes before what the work folder has."""
    write_report(Path("other.json"), {**evidence(), "seed": 8})
    assert "fake 1, seed 8" in explain("INBOX-CLAIM-01", "--report", "other.json").output


def test_evidence_of_another_suite_is_said_to_be(explain: Explain) -> None:
    """Its figures may be of other clauses."""
    old: JsonMap = {"suite": "0.0.1", "specification": "0.0.1", "protocol": 1, "clauses": "0"}
    write_report(Path("old.json"), {**evidence(), "versions": old})
    told = " ".join(explain("INBOX-CLAIM-01", "--report", "old.json").output.split())
    assert "made by another suite, or for other clauses: run it again" in told


def test_a_clause_that_was_not_in_the_run_says_so(explain: Explain) -> None:
    """Its profile was not declared."""
    write_report(Path("r.json"), {**evidence(), "clauses": []})
    output = explain("INBOX-CLAIM-01", "--report", "r.json").output
    assert "the profile of INBOX-CLAIM-01 is not declared" in output


@pytest.mark.parametrize("text", ["{", "[]", '{"seed": 1}'])
def test_a_file_that_is_no_report_is_wrong_usage(explain: Explain, text: str) -> None:
    """The file is named, and what makes one."""
    Path("r.json").write_text(text, encoding="utf-8")
    result = explain("INBOX-CLAIM-01", "--report", "r.json")
    assert result.exit_code == 2
    assert "r.json: is no report of dshconform" in result.stderr
    assert "`run --json` makes one" in result.stderr


def evidence(*, another: bool = False) -> JsonMap:
    """The report of a run that has seen INBOX-CLAIM-01 in two checks, `machine/turn` apart.

    Args:
        another: Whether `machine/turn`, which cites nothing else, has run too; `machine/inbox` cites another area then.
    """
    grid: JsonMap = {
        "idle / steer / empty": 2,
        "streaming / steer / live": 1,
        "streaming / fail / live": 0,
        "streaming / steer / kept": 1000,
    }
    ran: JsonMap = {"worlds": 40, "commands": 2000, "stopped": 0, "failed": False}
    clause: JsonMap = {
        "id": "INBOX-CLAIM-01",
        "level": "must",
        "profile": "core",
        "status": "pass",
        "held": 1235,
        "checks": ["scenario/queue", "machine/inbox", "machine/turn"],
    }
    of_another_area: JsonMap = {**clause, "id": "WAKE-LATCH-01", "checks": ["machine/inbox"]}
    turn: JsonMap = {**ran, "name": "machine/turn", "grid": {"one / a / b": 2, "two / a / b": 3}}
    made_by: JsonMap = msgspec.to_builtins(versions())
    return {
        "versions": made_by,
        "implementation": {"name": "fake", "version": "1", "language": "Python"},
        "target": "--implementation fake",
        "profiles": ["core"],
        "features": [],
        "seed": 3,
        "examples": 40,
        "verdict": "unknown",
        "counts": {},
        "selected": [],
        "clauses": [clause, of_another_area] if another else [clause],
        "checks": [
            {**ran, "name": "scenario/queue", "held": {"INBOX-CLAIM-01": 1}},
            {**ran, "name": "machine/inbox", "held": {"INBOX-CLAIM-01": 1234}, "grid": grid},
            *([turn] if another else []),
        ],
        "failures": [],
        "deviations": [],
        "stale_deviations": [],
        "ledger": [],
        "footer": {"complete": False, "checks": 5, "selected": 2, "ran": 2, "seconds": 1.5},
    }


def test_no_clause_needs_more_than_80_columns(explain: Explain) -> None:
    """What has no space is broken rather than left to run over."""
    output = explain(*load_specification().clauses).output
    assert max(len(line) for line in output.splitlines()) <= 80
    assert output.count("evidence") == len(load_specification().clauses)
