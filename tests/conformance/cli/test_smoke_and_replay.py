"""`dshconform smoke` says what to fix next; `dshconform replay` shows every row of a saved example."""

from pathlib import Path

import pytest

from tests.conformance.cli.conftest import Call


def test_nothing_to_fix(dshconform: Call) -> None:
    """The reference holds."""
    result = dshconform("smoke", "reference")
    assert result.exit_code == 0, result.output
    assert "nothing to fix" in result.output


def test_what_to_fix_next(dshconform: Call) -> None:
    """One line names the clause and the difference, and how many clauses that unlocks."""
    result = dshconform("smoke", fake=("good",))
    assert result.exit_code == 1, result.output
    told = " ".join(result.output.split())
    assert "next: AGENT-SEND-01" in told
    assert ": log agent/inbox/spliced is missing" in told
    assert "(scenario/plain-turn); unlocks" in told


@pytest.mark.parametrize(
    ("behaviour", "more"), [("no-profile", ""), ("unknown-profile", "there is no profile 'cor'; did you mean core?")]
)
def test_nothing_ran(dshconform: Call, behaviour: str, more: str) -> None:
    """Without the profile `core` nothing is said of the implementation: what to declare, and status 3."""
    result = dshconform("smoke", fake=(behaviour,))
    assert result.exit_code == 3, result.output
    assert "next: declare the profile `core`" in result.output
    assert more in result.output
    assert "nothing to fix" not in result.output
    run = dshconform("run", "--check", "plain-turn", fake=(behaviour,))
    assert run.exit_code == 3, run.output
    assert "profile core is not declared (1)" in run.output
    assert "verdict: unknown" in run.output


def test_the_adapter_comes_first(dshconform: Call) -> None:
    """A command that the adapter does not know is the next thing to mend."""
    result = dshconform("smoke", fake=("fault", "agent.followup"))
    assert result.exit_code == 2, result.output
    assert "next: mend the adapter; unlocks" in result.output
    assert "agent.followup" in result.output


def test_a_saved_scenario_is_replayed(dshconform: Call) -> None:
    """The example that a failure saved leads to the same difference again."""
    assert dshconform("run", "--check", "plain-turn", fake=("good",)).exit_code == 1
    file = ".dshconform/failures/scenario-plain-turn.yaml"
    result = dshconform("replay", file, fake=("good",))
    assert result.exit_code == 1, result.output
    assert "> agent.followup agent=a message=<A>" in result.output
    assert "first difference: log agent/inbox/spliced is missing" in result.output
    assert dshconform("replay", file).exit_code == 0


def test_commands_of_a_contract_are_replayed(dshconform: Call) -> None:
    """Commands alone are judged by the contract's model; `--until` stops early."""
    file = Path("commands.yaml")
    file.write_text(
        "contract: inbox\nsteps:\n"
        "- {do: agent.followup, args: {agent: a, message: {$message: A}}}\n"
        "- {do: agent.cancel, args: {agent: a, cause: {kind: user}}}\n",
        encoding="utf-8",
    )
    whole = dshconform("replay", str(file))
    assert whole.exit_code == 0, whole.output
    assert "> agent.cancel" in whole.output
    assert "no difference" in whole.output
    part = dshconform("replay", str(file), "--until", "1")
    assert "> agent.followup" in part.output
    assert "> agent.cancel" not in part.output


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("contract: inbx\nsteps: [{do: agent.inspect}]\n", "there is no contract 'inbx'; did you mean inbox?"),
        ("contract: inbox\nsteps: 1\n", "`steps` must be a list of commands"),
        ("contract: inbox\nsteps: []\n", "`steps` must be a list of commands, at least one"),
        ("contract: inbox\nsteps: [{do: agent.fly}]\n", "agent.fly"),
        ("scenario: x\n", "`steps` must be a list"),
        ("a: [", "file.yaml"),
    ],
)
def test_a_file_that_is_none(dshconform: Call, text: str, message: str) -> None:
    """The error names the file or the value, and the exit status is 2."""
    Path("file.yaml").write_text(text, encoding="utf-8")
    result = dshconform("replay", "file.yaml")
    assert result.exit_code == 2, result.output
    assert message in " ".join(result.output.split())
