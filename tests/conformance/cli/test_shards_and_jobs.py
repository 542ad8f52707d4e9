"""A divided run: whatever it is divided into, it says the same, and nothing is lost where a part ends early."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.cli.conftest import FAKE, Call

SOME = ("--contract", "inbox", "--check", "plain-turn", "--examples", "30")
"""Scenarios and a machine."""


def read(name: str) -> Any:
    """A report, without what is not the same twice."""
    report = json.loads(Path(name).read_text(encoding="utf-8"))
    del report["footer"]["seconds"]
    return report


def test_jobs_and_shards_say_what_one_run_says(dshconform: Call) -> None:
    """The reports agree, failures and their examples among them; so do the exit statuses."""
    assert dshconform("run", *SOME, "--json", "one.json", fake=("good",)).exit_code == 1
    result = dshconform("run", *SOME, "--jobs", "3", "--json", "jobs.json", fake=("good",))
    assert result.exit_code == 1, result.output
    assert "  machine/inbox: FAILED\n" in result.output
    assert result.output.count("machine/inbox: FAILED") == 1
    assert "fake 1" in result.output.splitlines()[0]
    for number in ("1", "2"):
        part = dshconform("run", *SOME, "--shard", f"{number}/2", "--json", f"{number}.json", fake=("good",))
        assert f"shard {number}/2: " in part.output
        assert "no verdict: `dshconform merge` judges the reports of all 2 shards together" in part.output
    result = dshconform("merge", "1.json", "2.json", "--json", "merged.json")
    assert result.exit_code == 1, result.output
    assert "verdict: not-conformant (partial run:" in result.output
    assert read("one.json") == read("jobs.json") == read("merged.json")
    assert any("machine" in failure["replay"] for failure in read("merged.json")["failures"])


def test_a_shard_that_holds_is_no_failure(dshconform: Call) -> None:
    """Its exit status is 0, its verdict is none; together they are conformant."""
    chosen = ("--check", "plain-turn", "--check", "queue")
    for number in ("1", "2"):
        result = dshconform("run", *chosen, "--shard", f"{number}/2", "--json", f"{number}.json")
        assert result.exit_code == 0, result.output
        assert "verdict: conformant" not in result.output
        assert read(f"{number}.json")["verdict"] == "unknown"
    assert dshconform("merge", "2.json", "1.json").exit_code == 0
    assert dshconform("merge", "2.json").exit_code == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("run", "--shard", "3/2"), "'3/2' is no part of a run: write k/n"),
        (("run", "--budget", "soon"), "'soon' is no time: write a number above 0 with s, m or h"),
        (("run", "--jobs", "0"), "0 is not in the range 1<=x<=64"),
        (("merge",), "Missing argument 'REPORT...'"),
        (("merge", "text"), "text: is no report of dshconform"),
        (("merge", "text", "--json", "nowhere/x"), "--json: there is no folder nowhere"),
    ],
)
def test_a_wrong_value_is_named(dshconform: Call, arguments: tuple[str, ...], message: str) -> None:
    """With what is right; nothing has run then."""
    Path("text").write_text("no", encoding="utf-8")
    result = dshconform(*arguments)
    assert result.exit_code == 2, result.output
    assert message in " ".join(result.output.split())


def test_a_fault_in_one_job_leaves_what_the_others_found(dshconform: Call) -> None:
    """The fault is named, the checks of the other one count, and the exit status is 2."""
    chosen = ("--check", "plain-turn", "--check", "queue", "--check", "inject")
    result = dshconform("run", *chosen, "--jobs", "3", "--json", "r.json", fake=("crash", "agent.inject"))
    assert result.exit_code == 2, result.output
    assert "the run was cut short, during scenario/inject:" in result.output
    assert "adapter fault (died)" in result.output
    report = read("r.json")
    assert report["footer"]["fault"]["kind"] == "died"
    assert {check["name"]: check.get("cut_short", False) for check in report["checks"]} == {
        "scenario/plain-turn": False,
        "scenario/queue": False,
        "scenario/inject": True,
    }


@pytest.mark.parametrize("adapter", [("crash", "hello"), ("garbage", "hello")])
def test_an_adapter_that_does_not_greet_is_told_once(dshconform: Call, adapter: tuple[str, ...]) -> None:
    """There is nothing to report."""
    result = dshconform("run", "--check", "plain-turn", "--jobs", "2", "--json", "r.json", fake=adapter)
    assert result.exit_code == 2, result.output
    assert result.output.count("adapter fault (") == 1
    assert "remedy:" in result.output
    assert not Path("r.json").exists()


def test_control_c_reports_what_all_jobs_know(tmp_path: Path) -> None:
    """The parent alone is told; it passes that on, and joins what comes back."""
    report, waiting = tmp_path / "report.json", tmp_path / "waiting"
    os.mkfifo(waiting)
    command = [sys.executable, "-m", "dshconform", "run", "--work", str(tmp_path), "--json", str(report)]
    command += ["--jobs", "2", "--check", "plain-turn", "--check", "queue", "--check", "inject", "--timeout", "600"]
    command += ["--", sys.executable, str(FAKE), "tell-and-hang", "agent.inject"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "FAKE_WAITING": str(waiting)}
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
    waiting.read_text(encoding="utf-8")  # until the adapter has got as far
    process.send_signal(signal.SIGINT)
    told = process.communicate()[0]
    assert process.returncode == 130, told
    assert "interrupted" in told
    document = json.loads(report.read_text(encoding="utf-8"))
    assert document["footer"]["interrupted"] is True
    assert {"scenario/plain-turn": False, "scenario/inject": True}.items() <= {
        check["name"]: check.get("cut_short", False) for check in document["checks"]
    }.items()
