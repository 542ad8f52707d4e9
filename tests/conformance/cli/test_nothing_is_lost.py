"""Whatever goes wrong around a run, it is said before it or told with what is known, and its lines work as printed."""

import json
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conformance.cli.conftest import FAKE, Call

COMMANDS = "contract: inbox\nsteps:\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("run", "--json", "nowhere/report.json"), "--json: there is no folder nowhere"),
        (("run", "--work", "file/x"), "nothing can be written in file/x (Not a directory)"),
        (("smoke", "--work", "file/x"), "nothing can be written in file/x (Not a directory)"),
        (("smoke", "reference", "-i", "dsh-node"), "two implementations are named: 'reference' and 'dsh-node'"),
    ],
)
def test_what_cannot_work_is_refused_before_the_run(dshconform: Call, arguments: tuple[str, ...], message: str) -> None:
    """Nothing has run then: exit status 2 and the remedy."""
    Path("file").write_text("", encoding="utf-8")
    result = dshconform(*arguments)
    assert result.exit_code == 2, result.output
    assert message in " ".join(result.output.split())
    assert "held" not in result.output


def test_a_counterexample_that_cannot_be_kept_is_told_all_the_same(dshconform: Call) -> None:
    """The run is reported, without a line to replay it."""
    Path(".dshconform").mkdir()
    Path(".dshconform/failures").write_text("", encoding="utf-8")
    result = dshconform("run", "--check", "plain-turn", fake=("good",))
    assert result.exit_code == 1, result.output
    assert "the example cannot be saved" in result.output
    assert "replay:" not in result.output
    assert "verdict: not-conformant" in result.output


@pytest.mark.parametrize("arguments", [("replay", "binary"), ("run", "--deviations", "binary")])
def test_a_file_that_is_no_text(dshconform: Call, arguments: tuple[str, ...]) -> None:
    """The error names the file and the byte."""
    Path("binary").write_bytes(b"- \xff\xfe\x00")
    result = dshconform(*arguments, fake=("good",))
    assert result.exit_code == 2, result.output
    assert "binary: no UTF-8 text (invalid start byte at byte 2)" in " ".join(result.output.split())


def test_the_replay_line_works_as_printed(dshconform: Call) -> None:
    """With a space in the folder, with the ledger, and started as this run was."""
    Path("led ger.yaml").write_text("[]", encoding="utf-8")
    result = dshconform(
        "run", "--check", "plain-turn", "--work", "a folder", "--deviations", "led ger.yaml", fake=("good",)
    )
    line = next(line for line in result.output.splitlines() if "replay: " in line).partition("replay: ")[2]
    assert "--deviations 'led ger.yaml'" in line
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(shlex.split(line), env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "first difference: log agent/inbox/spliced is missing" in done.stdout


def test_counterexamples_of_earlier_runs_go_when_their_check_has_run(dshconform: Call) -> None:
    """Those of other checks stay."""
    folder = Path(".dshconform/failures")
    folder.mkdir(parents=True)
    for name in ("scenario-plain-turn.yaml", "scenario-plain-turn-2.yaml", "scenario-queue.yaml", "mine.yaml"):
        (folder / name).write_text("", encoding="utf-8")
    assert dshconform("run", "--check", "plain-turn").exit_code == 0
    assert sorted(path.name for path in folder.iterdir()) == ["mine.yaml", "scenario-queue.yaml"]


def test_a_wire_log_outlives_the_next_run(dshconform: Call) -> None:
    """Each run writes its own."""
    dshconform("run", "--check", "plain-turn", fake=("crash", "world.open"))
    (log,) = Path(".dshconform").glob("wire-*.jsonl")
    before = log.read_bytes()
    dshconform("run", "--check", "plain-turn", fake=("good",))
    assert log.read_bytes() == before
    assert list(Path(".dshconform").glob("wire-*.jsonl")) == [log]


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_reports_what_is_known(tmp_path: Path, sent: signal.Signals) -> None:
    """By control-C, `kill` or `timeout`: the table, the report with `complete: false`, and the exit status 130."""
    report = tmp_path / "report.json"
    command = [sys.executable, "-m", "dshconform", "run", "--work", str(tmp_path), "--json", str(report)]
    command += ["--timeout", "600", "--", sys.executable, str(FAKE), "hang", "agent.inject"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    told = ""
    while "scenario/steering: " not in told:  # the scenario behind it injects, and hangs
        line = process.stdout.readline()
        assert line, told
        told += line
    process.send_signal(sent)
    told += process.communicate()[0]
    assert process.returncode == 130, told
    assert "the run was cut short" in told
    assert "interrupted" in told
    footer = json.loads(report.read_text(encoding="utf-8"))["footer"]
    assert (footer["complete"], footer["interrupted"]) == (False, True)


def test_a_fault_of_the_suite_is_told_as_such(tmp_path: Path) -> None:
    """The traceback, that it says nothing about the implementation, what to do, and the exit status 2."""
    program = (
        "import sys, dshconform.spec.specification as s, dshconform.cli as cli\n"
        "def broken(): raise ZeroDivisionError('out of cheese')\n"
        "s.load_specification = broken\n"
        "sys.argv = ['dshconform', 'explain', 'INBOX-CLAIM-01']\n"
        "cli.main()\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "ZeroDivisionError: out of cheese" in done.stderr
    assert "fault of the suite" in done.stderr
    assert "remedy: report it" in done.stderr


def test_a_run_that_misses_a_cell_proves_nothing(tmp_path: Path) -> None:
    """What was not visited is told as a fault of the suite, in the report too; no clause is blamed for it."""
    program = (
        "import sys, dshconform.cli as cli\n"
        "from dshconform.contracts.inbox import InboxModel\n"
        "InboxModel.cells = (*InboxModel.cells, 'asleep / steer / live')\n"
        "sys.argv = ['dshconform', 'run', '--check', 'machine/inbox', '--json', 'r.json']\n"
        "cli.main()\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2, done.stdout
    assert "fault of the suite: no example of machine/inbox visited asleep / steer / live" in done.stdout
    assert "remedy: report it" in done.stdout
    report = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))
    assert report["verdict"] == "unknown"
    assert report["footer"]["complete"] is False
    assert len(report["footer"]["suite_faults"]) == 1
    grid = report["checks"][0]["grid"]
    assert grid.pop("asleep / steer / live") == 0
    assert min(grid.values()) > 0


def test_a_bad_end_of_the_adapter_is_in_the_report(dshconform: Call) -> None:
    """The run is not complete, though every check ran; exit status and report agree."""
    result = dshconform("run", "--check", "plain-turn", "--json", "r.json", fake=("bad-exit-status",))
    assert result.exit_code == 2, result.output
    report = json.loads(Path("r.json").read_text(encoding="utf-8"))
    assert (report["footer"]["complete"], report["footer"]["fault"]["kind"]) == (False, "died")
    assert report["footer"]["ran"] == report["footer"]["selected"] == 1


def test_a_replay_tells_its_difference_though_the_adapter_ends_badly(dshconform: Call) -> None:
    """Both are told; the adapter's fault decides the exit status."""
    assert dshconform("run", "--check", "plain-turn", fake=("good",)).exit_code == 1
    result = dshconform("replay", ".dshconform/failures/scenario-plain-turn.yaml", fake=("bad-exit-status",))
    assert result.exit_code == 2, result.output
    assert "first difference: log agent/inbox/spliced is missing" in result.output
    assert "adapter fault (died)" in result.output


def test_commands_that_a_replay_leaves_out_are_told(dshconform: Call) -> None:
    """A skip is no pass: the exit status is 3."""
    Path("c.yaml").write_text(
        COMMANDS + "- {do: stream.end, args: {gate: {kind: model/stream, agent: a}}}\n"
        "- {do: agent.followup, args: {agent: a, message: {$message: A}}}\n",
        encoding="utf-8",
    )
    result = dshconform("replay", "c.yaml")
    assert "> agent.followup" in result.output, result.output
    assert "left out, as it makes no sense there: 1. stream.end" in result.output
    assert "no difference" not in result.output
    assert result.exit_code == 3


def test_until_counts_the_commands_of_the_file(dshconform: Call) -> None:
    """What a scenario's world needs first is not counted."""
    Path("s.yaml").write_text(
        "scenario: x\ntitle: X\ncontract: turn\nmodel: gate\nsteps:\n"
        "- {do: agent.followup, args: {agent: a, message: {$message: A}}}\n"
        "- {do: agent.cancel, args: {agent: a, cause: {kind: user}}}\n",
        encoding="utf-8",
    )
    result = dshconform("replay", "s.yaml", "--until", "1")
    assert "> agent.followup" in result.output, result.output
    assert "> agent.cancel" not in result.output


@pytest.mark.parametrize(
    ("needs", "message"),
    [("features: [flying]", "feature flying is not declared"), ("profile: lifecycle", "profile lifecycle is not")],
)
def test_a_replay_needs_what_its_file_needs(dshconform: Call, needs: str, message: str) -> None:
    """An implementation that does not declare it cannot be judged by it."""
    Path("s.yaml").write_text(
        f"scenario: x\ntitle: X\ncontract: turn\n{needs}\nsteps: [{{do: world.open}}]\n", encoding="utf-8"
    )
    result = dshconform("replay", "s.yaml", fake=("good",))
    assert result.exit_code == 2, result.output
    assert message in " ".join(result.output.split())


def test_a_missing_return_row_is_the_adapters_fault(dshconform: Call) -> None:
    """No clause is blamed for it."""
    result = dshconform("run", "--check", "plain-turn", fake=("no-return", "agent.followup"))
    assert result.exit_code == 2, result.output
    assert "adapter fault (malformed)" in result.output
    assert "not-conformant" not in result.output


def test_a_fault_of_the_adapter_is_told_in_eighty_columns(dshconform: Call) -> None:
    """What was seen, which promise it breaks, and the remedy; nothing is said of the difference that led to it."""
    result = dshconform("run", "--check", "plain-turn", fake=("stray-task", "agent.create"))
    assert result.exit_code == 2, result.output
    lines = result.output.splitlines()
    told = lines[next(at for at, line in enumerate(lines) if line.startswith("adapter fault")) :]
    assert told[:-1] == [
        "adapter fault (malformed): at $.observed of the reply to command 3 of the world",
        "  (agent.create): no command has named this task: {'on': 'task', 'task': 't9',",
        "  'value': None}",
        "  promise: names (Rows are of functions that the suite has given, and of tasks",
        "    that it has named.)",
        "  remedy: see docs/protocol/lockstep.md, What an adapter promises",
    ]
    assert told[-1].startswith("  wire log: .dshconform/wire-")
    assert "not-conformant" not in result.output
