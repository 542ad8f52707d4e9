"""`dshconform run --update-deviations`: what it needs is asked for before the run, and what it did is told."""

from pathlib import Path

import pytest

from tests.conformance.cli.conftest import Call


@pytest.mark.parametrize(
    ("arguments", "fake", "message"),
    [
        ((), (), "reference has no ledger; name an adapter's by --deviations FILE"),
        (
            ("--deviations", "d.yaml", "--check", "queue"),
            ("good",),
            "only a whole run tells which deviations have gone",
        ),
        (("--deviations", "d.yaml", "--budget", "9s"), ("good",), "leave out --check, --contract, --clause, --shard"),
        (("--deviations", "no/d.yaml"), ("good",), "--deviations: there is no folder no: make it first"),
    ],
)
def test_what_cannot_be_updated_is_refused(
    dshconform: Call, arguments: tuple[str, ...], fake: tuple[str, ...], message: str
) -> None:
    """Before the run."""
    result = dshconform("run", "--update-deviations", *arguments, fake=fake)
    assert result.exit_code == 2, result.output
    assert message in " ".join(result.output.split())
    assert not Path("d.yaml").exists()


def test_new_differences_are_listed_and_the_next_run_asks_for_their_reasons(dshconform: Call) -> None:
    """The verdict of this run is as without; the ledger is begun where there is none."""
    arguments = ("--deviations", "d.yaml")
    result = dshconform("run", "--update-deviations", *arguments, fake=("good",))
    assert result.exit_code == 1, result.output
    assert "ledger d.yaml: 0 removed, " in result.output
    assert "  added: AGENT-SEND-01 at log agent/inbox/spliced" in result.output
    assert "with TODO there the ledger is refused" in " ".join(result.output.split())
    again = dshconform("run", *arguments, fake=("good",))
    assert again.exit_code == 2, again.output
    assert "d.yaml: entry 1: a deviation needs a reason" in " ".join(again.output.split())
