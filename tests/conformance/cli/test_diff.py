"""`dshconform diff`: who is compared, what is printed and written, and the exit status."""

import json
import sys
from pathlib import Path

import pytest

from tests.conformance.cli.conftest import FAKE, Call

OTHER_WORDS = """
from dshconform.adapters.reference import stdio

written = stdio.encode_reply
stdio.encode_reply = lambda reply: written(reply).replace(b"no inbox list", b"nowhere a list")
stdio.main()
"""
"""The reference, which says of an unknown list in other words what no clause words."""

PLAIN = ("--check", "plain-turn", "--check", "inject")


def test_one_implementation_twice_has_no_ambiguity(dshconform: Call) -> None:
    """In this process and in another one: the same rows, and the exit status 0."""
    result = dshconform("diff", "reference", "reference-stdio", *PLAIN, "--json", "report.json")
    assert result.exit_code == 0, result.output
    assert "0 places that no clause decides" in result.output
    assert max(len(line) for line in result.output.splitlines()) <= 80
    report = json.loads(Path("report.json").read_text(encoding="utf-8"))
    assert report["footer"]["complete"] is True
    assert [one["called"] for one in report["implementations"]] == ["reference", "reference-stdio"]
    assert report["commands"] > 0


def test_what_no_clause_decides_is_told(dshconform: Call) -> None:
    """The place, both values, the nearest clause, and a line for each side that replays it; the exit status is 1."""
    Path("other.py").write_text(OTHER_WORDS, encoding="utf-8")
    other = ["--", sys.executable, "other.py"]
    result = dshconform("diff", "reference", "--check", "refused-input", "--json", "report.json", *other)
    assert result.exit_code == 1, result.output
    assert "return agent.send.error.message differs, in one world" in " ".join(result.output.split())
    assert "AGENT-SEND-06 · must · core" in result.output
    replays = [line for line in result.output.splitlines() if "replay: " in line and "diff.yaml" in line]
    assert [line.rpartition("diff.yaml ")[2].split()[0] for line in replays] == ["--implementation", "--"]
    assert Path(".dshconform/failures/diff.yaml").exists()
    (first, *_) = json.loads(Path("report.json").read_text(encoding="utf-8"))["ambiguities"]
    assert first["nearest"] == ["AGENT-SEND-06"]
    assert first["replay"] == ".dshconform/failures/diff.yaml"


def test_two_adapters_each_after_dashes_of_its_own(dshconform: Call) -> None:
    """Neither does anything: a clause decides, on both sides."""
    adapter = ["--", sys.executable, str(FAKE), "good"]
    result = dshconform("diff", "--check", "plain-turn", *adapter, *adapter)
    assert result.exit_code == 1, result.output
    assert "decided by a clause, and listed in no ledger" in result.output
    assert result.output.count("AGENT-SEND-01 (must)") == 2


def test_a_fault_says_whose_it_is(dshconform: Call) -> None:
    """The side is named, and the exit status is 2."""
    result = dshconform("diff", "reference", "--check", "plain-turn", fake=("crash", "model.register"))
    assert result.exit_code == 2, result.output
    assert "cut short by python" in result.output
    assert "adapter fault (died)" in result.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("reference",), "two implementations are compared, and 1 are named"),
        (("reference", "dsh-node", "reference-stdio"), "and 3 are named"),
        (("reference", "dsh-nod"), "there is no implementation 'dsh-nod'; did you mean dsh-node?"),
        (("reference", "--"), "no command stands after `--`"),
        (("reference", "dsh-node", "--deviations", "x.yaml"), "--deviations belongs to an adapter's command"),
        (("--deviations", "x.yaml", "--", "a", "--", "b"), "--deviations cannot belong to two adapters' commands"),
        (("reference", "reference-stdio", "--check", "nothing"), "there is no check 'nothing'"),
    ],
)
def test_wrong_usage(dshconform: Call, arguments: tuple[str, ...], message: str) -> None:
    """What is wrong is named: exit status 2."""
    result = dshconform("diff", *arguments)
    assert result.exit_code == 2
    assert message in " ".join(result.output.split())
