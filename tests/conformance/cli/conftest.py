"""Call the command line as a user does: a process of its own, in a folder of the test's own, 80 columns."""

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

FAKE = Path(__file__).parents[1] / "links" / "fake_adapter.py"
ROOT = Path(__file__).parents[3]


@dataclass(frozen=True)
class Result:
    """What a call printed, both streams together, and its exit status."""

    output: str
    exit_code: int


Call = Callable[..., Result]


@pytest.fixture
def dshconform(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    """A function that calls `dshconform` with arguments; `fake=("crash", "inbox.remove")` adds a fake adapter."""
    monkeypatch.chdir(tmp_path)
    environment = {
        **os.environ,
        "COLUMNS": "80",
        "PYTHONPATH": os.pathsep.join([str(ROOT / "reference"), str(ROOT / "conformance")]),
    }

    def call(*arguments: str, fake: tuple[str, ...] = ()) -> Result:
        adapter = ["--", sys.executable, str(FAKE), *fake] if fake else []
        done = subprocess.run(
            [sys.executable, "-m", "dshconform", *arguments, *adapter],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            check=False,
        )
        return Result(done.stdout, done.returncode)

    return call
