"""Runs mypy over the snippets in `typing_tests/`.

A line of a snippet that must not type-check ends in `# error: code`, with all codes that mypy reports for it, separated
by commas. Every other line has to be clean.
"""

import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SNIPPETS = sorted((ROOT / "typing_tests").glob("*.py"))
EXPECTED = re.compile(r"# error: ([a-z, -]+)$")
REPORTED = re.compile(r"^(?P<path>[^:]+\.py):(?P<line>\d+): error: .*\[(?P<code>[a-z-]+)\]$")

Errors = dict[int, set[str]]


@pytest.fixture(scope="module")
def reported(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Errors]:
    """What mypy says, by file and line."""
    command = [sys.executable, "-m", "mypy", "--config-file", "pyproject.toml", "--no-error-summary", "--no-pretty"]
    cache = tmp_path_factory.mktemp("mypy")
    done = subprocess.run(
        [*command, "--cache-dir", str(cache), *(str(path.relative_to(ROOT)) for path in SNIPPETS)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    errors: dict[str, Errors] = defaultdict(lambda: defaultdict(set))
    for line in done.stdout.splitlines():
        found = REPORTED.match(line)
        if found is not None:
            errors[Path(found["path"]).name][int(found["line"])].add(found["code"])
        else:
            assert ": note: " in line, f"mypy says something unexpected: {line}"
    return errors


@pytest.mark.parametrize("path", SNIPPETS, ids=lambda path: path.stem)
def test_snippet_has_exactly_the_errors_it_names(path: Path, reported: dict[str, Errors]) -> None:
    """PATTERN-ID-02 and the typed keys: what is right passes the type checker, what is wrong does not."""
    expected: Errors = {}
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        found = EXPECTED.search(line)
        if found is not None:
            expected[number] = {code.strip() for code in found[1].split(",")}
    assert dict(reported[path.name]) == expected
