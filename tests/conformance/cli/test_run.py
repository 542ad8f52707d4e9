"""`dshconform run`: the verdict, the report, the exit status, and whose fault it is."""

import json
from pathlib import Path

import pytest

from tests.conformance.cli.conftest import Call

SMALL = ("--examples", "3")


@pytest.mark.long
def test_the_reference_is_conformant(dshconform: Call) -> None:
    """Every check holds on the reference; the table fits 80 columns; the exit status is 0."""
    result = dshconform("run", *SMALL)
    assert result.exit_code == 0, result.output
    assert "verdict: conformant\n" in result.output
    assert max(len(line.rstrip()) for line in result.output.splitlines()) <= 80
    assert [path.name for path in Path(".dshconform").iterdir()] == ["report.json"]


@pytest.mark.long
def test_the_report_has_its_parts(dshconform: Call) -> None:
    """Versions, implementation, verdict, counts over the fixed denominator, every clause, and a footer."""
    assert dshconform("run", *SMALL, "--json", "report.json").exit_code == 0
    report = json.loads(Path("report.json").read_text(encoding="utf-8"))
    assert set(report["versions"]) == {"suite", "specification", "protocol", "clauses"}
    assert report["implementation"]["name"] == "dshcore"
    assert report["verdict"] == "conformant"
    counts = report["counts"]
    assert set(counts) == {"pass", "fail", "deviation", "advice", "not_run", "unchecked", "must"}
    assert counts["must"] == sum(counts[key] for key in ("pass", "fail", "deviation", "not_run", "unchecked"))
    assert counts["must"] == sum(clause["level"] == "must" for clause in report["clauses"])
    statuses = {clause["id"]: clause for clause in report["clauses"]}
    assert statuses["INBOX-CLAIM-01"]["status"] == "pass"
    assert "scenario/inject" in statuses["INBOX-CLAIM-01"]["checks"]
    assert set(statuses["INBOX-CLAIM-01"]) == {"id", "level", "profile", "status", "held", "checks"}
    assert report["footer"]["complete"] is True


def test_the_same_seed_gives_the_same_report(dshconform: Call) -> None:
    """Two runs with one seed agree byte for byte, durations aside; another seed sends other commands."""
    texts = []
    for seed in ("7", "7", "8"):
        assert dshconform("run", "--contract", "inbox", *SMALL, "--seed", seed, "--json", "report.json").exit_code == 0
        report = json.loads(Path("report.json").read_text(encoding="utf-8"))
        del report["footer"]["seconds"]
        del report["seed"]
        texts.append(json.dumps(report))
    assert texts[0] == texts[1]
    assert texts[0] != texts[2]


def test_a_partial_run_excuses_what_was_not_selected(dshconform: Call) -> None:
    """One scenario alone: its clauses pass, the others are not run because nobody selected them."""
    result = dshconform("run", "--check", "plain-turn", "--json", "report.json")
    assert result.exit_code == 0
    clauses = json.loads(Path("report.json").read_text(encoding="utf-8"))["clauses"]
    reasons = {clause["id"]: clause.get("reason") for clause in clauses}
    assert reasons["LOOP-OPEN-01"] is None
    assert reasons["LOOP-PRE-05"] == "not selected"


def test_an_implementation_that_does_nothing_fails(dshconform: Call) -> None:
    """An adapter that answers null to everything fails on its clauses, with a saved example and a line to replay it."""
    result = dshconform("run", "--check", "plain-turn", fake=("good",))
    assert result.exit_code == 1, result.output
    assert "verdict: not-conformant" in result.output
    assert "first difference: log agent/inbox/spliced is missing" in result.output
    assert "AGENT-SEND-01 · must · core" in result.output
    replay = next(line for line in result.output.splitlines() if "replay: " in line)
    assert ".dshconform/failures/scenario-plain-turn.yaml -- " in replay
    assert Path(".dshconform/failures/scenario-plain-turn.yaml").exists()


@pytest.mark.parametrize(
    ("behaviour", "kind"),
    [
        ("garbage", "garbage"),
        ("two-replies", "duplicate-reply"),
        ("hang", "no-reply"),
        ("crash", "died"),
        ("flood-bytes", "flood"),
        ("late", "late"),
        ("malformed-row", "malformed"),
        ("fault", "fault"),
        ("unsettled", "unsettled"),
        ("dead-on-arrival", "died"),
        ("another-version", "malformed"),
    ],
)
def test_a_fault_of_the_adapter_is_named(dshconform: Call, behaviour: str, kind: str) -> None:
    """The adapter's fault, the exit status 2, and a wire log that is kept: no clause of the implementation fails."""
    result = dshconform("run", "--check", "plain-turn", "--timeout", "2", fake=(behaviour, "world.open"))
    assert result.exit_code == 2, result.output
    assert f"adapter fault ({kind})" in result.output
    assert "verdict: not-conformant" not in result.output
    log = next(line.split(": ", 1)[1] for line in result.output.splitlines() if line.startswith("  wire log: "))
    assert Path(log).exists()


def test_results_before_a_fault_are_not_lost(dshconform: Call) -> None:
    """What was found until then is in the report, which says that it was cut short."""
    result = dshconform("run", "--json", "report.json", fake=("crash", "agent.inject"))
    assert result.exit_code == 2, result.output
    report = json.loads(Path("report.json").read_text(encoding="utf-8"))
    assert report["footer"]["complete"] is False
    assert report["footer"]["fault"]["kind"] == "died"
    assert 0 < report["footer"]["ran"] < report["footer"]["selected"]
    assert report["failures"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("refrence",), "there is no implementation 'refrence'; did you mean reference"),
        (("--contract", "inbx"), "there is no contract 'inbx'; did you mean inbox?"),
        (("--check", "plain"), "there is no check 'plain'; did you mean scenario/plain-turn?"),
        (("--clause", "INBOX-CLAM-01"), "near misses: INBOX-CLAIM-01"),
        (("--clause", "PER-LRU-01"), "nothing is selected: no check cites PER-LRU-01"),
        (("reference", "-i", "dsh-node"), "two implementations are named"),
        (("--deviations", "x.yaml"), "--deviations belongs to an adapter's command"),
        (("--seed", "-1"), "Invalid value for '--seed'"),
    ],
)
def test_wrong_usage(dshconform: Call, arguments: tuple[str, ...], message: str) -> None:
    """Unknown names are answered with the near misses, and nothing selected is an error: exit status 2."""
    result = dshconform("run", *arguments)
    assert result.exit_code == 2
    assert message in " ".join(result.output.split())


def test_an_adapter_and_a_name_are_one_too_many(dshconform: Call) -> None:
    """Either a named implementation or an adapter's command."""
    result = dshconform("run", "reference", fake=("good",))
    assert result.exit_code == 2
    assert "both 'reference' and an adapter's command are given" in result.output


def test_a_listed_deviation_of_an_adapter(dshconform: Call) -> None:
    """A ledger given with the command is used: a difference that it lists with `stop` is a deviation."""
    Path("deviations.yaml").write_text(
        "- clause: AGENT-SEND-01\n  check: scenario/plain-turn\n  at: log agent/inbox/spliced\n"
        "  found: {$absent: true}\n  after: stop\n  reason: it does nothing yet\n  reviewed: '2026-01-01'\n",
        encoding="utf-8",
    )
    result = dshconform("run", "--check", "plain-turn", "--deviations", "deviations.yaml", fake=("good",))
    assert "AGENT-SEND-01 at log agent/inbox/spliced (stop): it does nothing yet" in result.output
    assert result.exit_code == 3, result.output
    assert "behind the listed deviation" in result.output
