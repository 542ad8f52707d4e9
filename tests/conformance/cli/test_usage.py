"""What a newcomer gets wrong is answered in lines of 80 columns, with the value and the remedy."""

import subprocess
import sys
from pathlib import Path

import click
import pytest

from dshconform.cli.usage import usage_lines
from dshconform.near_misses import hint
from tests.conformance.cli.conftest import Call


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("smok",), "there is no command 'smok'; did you mean smoke?"),
        (("frobnicate",), "there is no command 'frobnicate'; known: diff, exhaust, explain,"),
        (("run", "--contract", "wakelatch"), "there is no contract 'wakelatch'; did you mean wake latch?"),
        (
            ("run", "--check", "zzzzzzzz"),
            "there is no check 'zzzzzzzz'; none of the",
        ),
        (("run", "--check", "zzzzzzzz"), "names is like it; `dshconform list checks` names all"),
        (("run", "--check", "plain-tern"), "? `dshconform list checks` names all"),
        (("run", "refrence"), "there is no implementation 'refrence'; did you mean reference or reference-stdio?"),
        (("run", "--clause", "INBOX-CLAM-01"), "no clause 'INBOX-CLAM-01' in the specification; near misses: INBOX-"),
        (("run", "--shard", "5/3"), "'5/3' is no part of a run: write k/n"),
        (("run", "--json", "-"), "--json writes a file, and `-` is none: name one"),
        (("faults", "--json", "-"), "--json writes a file, and `-` is none: name one"),
        (("diff", "reference", "reference", "--json", "-"), "--json writes a file, and `-` is none: name one"),
        (("faults", "zzzzzzzz"), "names is like it; `dshconform explain CLAUSE` names those of a clause"),
        (("list", "clauses", "--profile", "kernel"), "'kernel' is not one of 'core', 'lifecycle', 'session',"),
        (("explain", "inbox-claim"), "near misses: INBOX-CLAIM-01, INBOX-CLAIM-02"),
        (("replay", "r.json"), "r.json: unknown member 'versions'; known: abort, about,"),
        (("merge", "r.json"), "r.json: is no report of dshconform"),
    ],
)
def test_wrong_usage_is_told_in_lines_that_fit(dshconform: Call, arguments: tuple[str, ...], message: str) -> None:
    """Exit status 2; the line of the command's usage comes first, and the error behind it."""
    Path("r.json").write_text('{"versions": 1}', encoding="utf-8")
    result = dshconform(*arguments)
    assert result.exit_code == 2, result.output
    assert result.output.startswith("Usage: python -m dshconform ")
    assert message in " ".join(result.output.split())
    assert max(map(len, result.output.splitlines())) <= 80


def test_lines_of_an_error_that_fit_stay_as_they_are() -> None:
    """What is laid out is not laid out anew; what does not fit is wrapped behind its own indentation."""
    long = " ".join(["word"] * 20)
    lines = list(usage_lines(click.ClickException(f"first\n    at  here\n  {long}")))
    assert lines[:2] == ["Error: first", "    at  here"]
    assert lines[2].startswith("  word word")
    assert lines[3].startswith("    word")
    assert len(lines) == 4


def test_names_that_are_too_many_are_counted() -> None:
    """Few are listed."""
    assert hint("zzz", ["b", "a"]) == "known: a, b"
    assert hint("zzz", map(str, range(41))) == "none of the 41 names is like it"


@pytest.mark.parametrize(
    "arguments", [("list", "clauses"), ("run", "--contract", "inbox", "--examples", "2"), ("replay", "s.yaml")]
)
def test_a_reader_that_goes_away_is_no_verdict(dshconform: Call, arguments: tuple[str, ...]) -> None:
    """Nothing more is said, and the exit status is that of a closed pipe."""
    assert dshconform("--version").exit_code == 0  # in a folder of the test's own
    steps = "".join("- {do: agent.inspect, args: {agent: a}}\n" for _ in range(2))
    Path("s.yaml").write_text(f"contract: inbox\nsteps:\n{steps}", encoding="utf-8")
    process = subprocess.Popen(
        [sys.executable, "-u", "-m", "dshconform", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )
    assert process.stdout is not None
    process.stdout.close()
    assert process.communicate()[1] == ""
    assert process.returncode == 141
