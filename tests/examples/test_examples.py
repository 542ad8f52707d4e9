"""The examples run as they stand, with nothing but the package."""

import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]


def run(name: str) -> list[str]:
    """The lines that an example prints; warnings are errors, and standard error stays empty."""
    command = [sys.executable, "-W", "error", f"examples/{name}"]
    ended = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
    return ended.stdout.splitlines()


def test_the_embedded_agent_calls_its_tool_and_answers() -> None:
    """One turn of two steps, and what the model made of the result."""
    *log, said = run("embedding.py")
    types = [line.partition(" ")[2] for line in log]
    kept = [kind for kind in types if kind.startswith(("turn/", "step/", "tool/"))]
    assert kept == [
        *("turn/start", "step/start", "tool/call", "tool/result", "step/end"),
        *("step/start", "step/end", "turn/end"),
    ]
    assert said == "The tool says: hello Ann (c1)"


@pytest.mark.parametrize("example", sorted(path.name for path in (REPOSITORY / "examples").glob("*.py")))
def test_every_example_is_linked_from_the_readme(example: str) -> None:
    """Nobody finds it otherwise."""
    assert f"(examples/{example})" in (REPOSITORY / "README.md").read_text(encoding="utf-8")
