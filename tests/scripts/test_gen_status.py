"""What is published of runs: whole, about the clauses that there are, and what fresh runs say."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gen_status as script
import msgspec
import pytest
from check_citations import Listed, Sheet, read_listed
from evidencing.statuses import (
    EMPTY,
    Run,
    Standing,
    Statuses,
    UnfitReport,
    defects,
    differences,
    published,
    read_statuses,
    standings,
    statuses_text,
)

from dshconform.report.entries import Report
from dshconform.spec import load_specification
from dshconform.spec.clause import Profile

CLAUSES = ["PLAY-A-01", "PLAY-A-02", "PLAY-B-01"]
REPORT: Mapping[str, Any] = {
    "versions": {"suite": "0.2.0", "specification": "0.1.0", "protocol": 1, "clauses": "abc"},
    "implementation": {"name": "player", "version": "3.0", "language": "python"},
    "target": "--implementation player",
    "profiles": ["core"],
    "features": [],
    "seed": 7,
    "examples": 12,
    "verdict": "conformant-with-deviations",
    "counts": {},
    "selected": [],
    "clauses": [
        {"id": "PLAY-A-01", "level": "must", "profile": "core", "status": "pass", "held": 3, "checks": []},
        {
            "id": "PLAY-A-02",
            "level": "must",
            "profile": "core",
            "status": "deviation",
            "held": 0,
            "checks": [],
            "reason": "It is\nlate.",
        },
    ],
    "checks": [],
    "failures": [],
    "deviations": [],
    "stale_deviations": [],
    "ledger": [],
    "footer": {"complete": True, "checks": 4, "selected": 4, "ran": 3, "seconds": 1.5},
}
SINGER = Run(
    name="singer",
    implementation="singer",
    version="1",
    suite="0.1.0",
    specification="0.1.0",
    seed=1,
    examples=1,
    verdict="conformant",
    reasons={},
)
BEFORE = Statuses(runs=[SINGER], clauses={"PLAY-A-01": {"singer": "pass"}, "PLAY-B-01": {"singer": "unchecked"}})


def report(**changes: Any) -> Report:
    """The report with other members; those of an object are changed one by one."""
    document = dict(REPORT)
    for name, value in changes.items():
        document[name] = {**document.get(name, {}), **value} if isinstance(value, dict) else value
    return msgspec.convert(document, Report)


def test_a_run_is_published_beside_those_that_are() -> None:
    """Every clause is listed in the order of the specification; of what does not bind, nothing is said."""
    now = published([report()], BEFORE, CLAUSES)
    assert [run.name for run in now.runs] == ["singer", "player"]
    assert now.clauses == {
        "PLAY-A-01": {"singer": "pass", "player": "pass"},
        "PLAY-A-02": {"player": "deviation"},
        "PLAY-B-01": {"singer": "unchecked"},
    }
    assert list(now.clauses) == CLAUSES
    player = now.runs[1]
    assert (player.implementation, player.version, player.suite, player.seed) == ("player", "3.0", "0.2.0", 7)
    assert player.reasons == {"PLAY-A-02": "It is\nlate."}


def test_a_run_that_is_published_again_takes_the_place_of_the_old_one() -> None:
    """All of it: no status of the old run stays."""
    before = published([report()], BEFORE, CLAUSES)
    now = published([report(clauses=[dict(REPORT["clauses"][0], status="fail")])], before, CLAUSES)
    assert [run.name for run in now.runs] == ["singer", "player"]
    assert now.runs[1].reasons == {}
    assert now.clauses["PLAY-A-01"] == {"singer": "pass", "player": "fail"}
    assert "player" not in now.clauses["PLAY-A-02"]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"footer": {"selected": 3}}, "not of a whole run"),
        ({"footer": {"complete": False}}, "not of a whole run"),
        ({"shard": {"number": 1, "of": 2}}, "not of a whole run"),
        ({"target": "-- ./player"}, "is of '-- ./player'"),
    ],
)
def test_what_cannot_be_published_is_refused(changes: dict[str, Any], said: str) -> None:
    """Parts of runs, and what nobody can find by its name."""
    with pytest.raises(UnfitReport, match=said):
        published([report(**changes)], EMPTY, CLAUSES)


def test_the_file_is_read_as_it_was_written(tmp_path: Path) -> None:
    """With a line for each clause, so that a change of one is a change of one line."""
    now = published([report()], BEFORE, CLAUSES)
    text = statuses_text(now)
    assert '\n  "PLAY-A-01": {"singer": "pass", "player": "pass"},\n' in text
    (tmp_path / "status.json").write_text(text, encoding="utf-8")
    assert read_statuses(tmp_path / "status.json") == now


def test_a_clause_stands_as_each_run_says() -> None:
    """With the reason where it does not hold, and unbound where a run says nothing."""
    now = published([report()], BEFORE, CLAUSES)
    assert standings(now, "PLAY-A-02") == [Standing("singer", None), Standing("player", "deviation", "It is\nlate.")]
    assert [one.word for one in standings(now, "PLAY-A-02")] == ["not bound", "deviates"]


def test_what_is_wrong_with_the_file_is_named() -> None:
    """A clause that is missing or unknown, a status of no run, and one that no report gives."""
    assert list(defects(published([report()], BEFORE, CLAUSES), CLAUSES)) == []
    wrong = Statuses(runs=[SINGER], clauses={"PLAY-A-01": {"singer": "fine"}, "PLAY-C-01": {"player": "pass"}})
    assert list(defects(wrong, ["PLAY-A-01", "PLAY-A-02"])) == [
        "PLAY-A-02 is not listed",
        "PLAY-A-01 has the status 'fine', which no report gives",
        "PLAY-C-01 is listed, but there is no such clause",
        "PLAY-C-01 has a status of 'player', of which no run is listed",
    ]


def test_what_a_fresh_run_says_otherwise_is_named() -> None:
    """The clause, the implementation, what is published and what is the case."""
    before = published([report()], BEFORE, CLAUSES)
    now = published([report(clauses=[dict(REPORT["clauses"][0], status="fail")])], before, CLAUSES)
    assert list(differences(before, now)) == [
        "PLAY-A-01 is published as 'holds' for player, and now it is 'fails'",
        "PLAY-A-02 is published as 'deviates' for player, and now it is 'not bound'",
    ]


def test_the_published_files_are_whole_and_fresh() -> None:
    """They list every clause of the specification and no other, of both implementations; the page follows."""
    specification = load_specification()
    now = read_statuses(script.DATA)
    assert list(defects(now, specification.clauses)) == []
    assert [run.name for run in now.runs] == ["reference", "dsh-node"]
    assert script.DATA.read_text("utf-8") == statuses_text(published([], now, specification.clauses))
    assert script.PAGE.read_text("utf-8") == script.page(now, specification, read_listed(script.LISTED))


def test_what_is_not_built_yet_is_named() -> None:
    """The profiles of which most clauses stand on sheets that are implemented later, or are left out of one."""
    specification = load_specification()
    now = read_statuses(script.DATA)
    pages = {clause.page for clause in specification.clauses.values()}
    whole = Listed(complete=[Sheet(page=page) for page in sorted(pages)], uncited=[])
    assert "are not built yet" not in script.page(now, specification, whole)
    assert script.unbuilt(specification, whole) == []
    without = [Sheet(page=page, later=("llm",)) for page in sorted(pages - {"90-presets-and-default-model.md"})]
    partly = Listed(complete=without, uncited=[])
    assert script.unbuilt(specification, partly) == [Profile.LLM, Profile.PRESETS]
    said = "Clauses of `llm` and `presets` stand under *no check* because these parts are not built yet."
    assert said in script.page(now, specification, partly)


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The script writes there."""
    monkeypatch.setattr(script, "DATA", tmp_path / "status.json")
    monkeypatch.setattr(script, "PAGE", tmp_path / "status.md")
    return tmp_path


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr("sys.argv", ["gen_status.py", *arguments])
    return script.main()


def test_a_fresh_report_is_compared(
    files: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What was published from it agrees with it; one that says something else is a failure that names the clause."""
    clauses = [
        {**REPORT["clauses"][0], "id": clause.id, "profile": clause.profile.value}
        for clause in load_specification().clauses.values()
    ]
    (files / "report.json").write_text(json.dumps({**REPORT, "clauses": clauses}), encoding="utf-8")
    assert run(monkeypatch, str(files / "report.json")) == 0
    assert run(monkeypatch, "--check", str(files / "report.json")) == 0
    assert run(monkeypatch, "--check") == 0
    assert "| player | player 3.0 | 0.2.0 | 0.1.0 | 7 | 12 | conformant-with-deviations |" in script.PAGE.read_text()
    clauses[0] |= {"status": "fail"}
    (files / "report.json").write_text(json.dumps({**REPORT, "clauses": clauses}), encoding="utf-8")
    assert run(monkeypatch, "--check", str(files / "report.json")) == 1
    assert (
        f"{clauses[0]['id']} is published as 'holds' for player, and now it is 'fails': run" in capsys.readouterr().err
    )


def test_a_page_that_was_edited_is_stale(
    files: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It says which file."""
    del files
    assert run(monkeypatch) == 0
    script.PAGE.write_text("edited", encoding="utf-8")
    assert run(monkeypatch, "--check") == 1
    assert capsys.readouterr().err.startswith("status.md is stale: run scripts/publish")


def test_a_file_that_is_no_report_is_wrong_usage(
    files: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is written."""
    (files / "report.json").write_text("{}", encoding="utf-8")
    assert run(monkeypatch, str(files / "report.json")) == 2
    assert "is no report of dshconform" in capsys.readouterr().err
    assert not script.DATA.exists()
