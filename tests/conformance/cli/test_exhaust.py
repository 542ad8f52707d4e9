"""`dshconform exhaust`: what it prints, and its exit status."""

from pathlib import Path

import pytest

from dshconform.checks.catalog import EXHAUSTIBLE
from tests.conformance.cli.conftest import Call


def told(output: str) -> list[str]:
    """The lines that do not tell of time and processes."""
    return [line for line in output.splitlines() if line.strip() and " s, " not in line]


def test_the_same_numbers_come_of_it_however_many_processes(dshconform: Call) -> None:
    """Sequences, commands and states of the inbox, all of them without a difference."""
    alone, together = (dshconform("exhaust", "inbox", "--depth", "2", "--jobs", jobs) for jobs in "12")
    assert alone.exit_code == together.exit_code == 0, alone.output
    assert told(alone.output) == told(together.output)
    assert "exhaust/inbox: 10 commands, depth 2" in alone.output
    assert "  sequences 82, commands 164, distinct states 15" in alone.output
    assert ", 1 process\n" in alone.output
    assert ", 2 processes\n" in together.output
    assert told(alone.output)[-1] == "  no difference"
    assert max(len(line) for line in alone.output.splitlines()) <= 80
    assert not Path(".dshconform").exists()


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_difference_is_told_saved_and_ends_the_work(dshconform: Call, jobs: str) -> None:
    """The first one in the order of the alphabet, with a line to replay it; the exit status is 1."""
    result = dshconform("exhaust", "inbox", "--depth", "3", "--jobs", jobs, fake=("good",))
    assert result.exit_code == 1, result.output
    assert "first difference: agent.inspect result differs" in result.output
    assert "  sequences 1, commands 0" in result.output
    assert "replay: " in result.output
    assert Path(".dshconform/failures/exhaust-inbox.yaml").exists()
    replayed = dshconform("replay", ".dshconform/failures/exhaust-inbox.yaml", fake=("good",))
    assert replayed.exit_code in {1, 2}


def test_a_fault_of_the_adapter_is_named(dshconform: Call) -> None:
    """With what was run until then, and the exit status 2."""
    result = dshconform("exhaust", "inbox", "--depth", "2", "--jobs", "1", fake=("crash", "model.register"))
    assert result.exit_code == 2, result.output
    assert "sequences 0" in result.output
    assert "adapter fault (died)" in result.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("inbx",), "there is no contract 'inbx'; did you mean inbox?"),
        (("scheduling",), "the contract 'scheduling' cannot be run through: give inbox or wake-latch"),
        (("inbox", "--depth", "0"), "Invalid value for '--depth'"),
        (("tool-cancellation",), "the contract 'tool-cancellation' cannot be run through: give inbox or wake-latch"),
        ((), "Missing argument 'CONTRACT'"),
    ],
)
def test_wrong_usage(dshconform: Call, arguments: tuple[str, ...], message: str) -> None:
    """What is wrong is named, with what there is: exit status 2."""
    result = dshconform("exhaust", *arguments)
    assert result.exit_code == 2
    assert message in " ".join(result.output.split())


def test_the_help_names_every_contract_that_can_be_run_through(dshconform: Call) -> None:
    """As the command takes them."""
    told = " ".join(dshconform("exhaust", "--help").output.split())
    assert EXHAUSTIBLE
    named = told.partition("CONTRACT is ")[2].partition(".")[0].split(" or ")
    assert [name.replace("-", " ") for name in named] == list(EXHAUSTIBLE)
