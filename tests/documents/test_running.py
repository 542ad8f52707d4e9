"""What the documents tell a reader to type works, and prints what they say."""

import ast
import asyncio
import builtins
import contextlib
import inspect
import io
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FunctionType
from typing import Final

import pytest

from tests.documents.blocks import CHECKOUT, Block, all_blocks, is_printed, output_behind

BLOCKS: Final = all_blocks()
CI: Final = (CHECKOUT / ".ci" / "run").read_text(encoding="utf-8")


SCRIPTS: Final = "scripts/"
"""What the commands begin with that make the environment they need: .ci/run tries them, once for each change."""


def commands() -> list[object]:
    """The commands that are run here, each with what it prints, if the page says so; one that stands twice once."""
    found: dict[str, object] = {}
    for block in BLOCKS:
        if block.language != "sh":
            continue
        of_page = [one for one in BLOCKS if one.page == block.page]
        shown = output_behind(of_page, of_page.index(block))
        for command in block.commands:
            if command.reason is None and not command.line.startswith(SCRIPTS):
                identity = f"{block.place} {command.line}"
                found.setdefault(command.line, pytest.param(block.page, command.line, shown, id=identity))
    return list(found.values())


def pages_with_python() -> Sequence[str]:
    """The pages that have Python to run."""
    return sorted({block.page for block in BLOCKS if block.language == "python" and block.reason is None})


def test_scripts_are_called_in_ci() -> None:
    """As the documents have them, perhaps by several processes and with a report besides."""
    told = {one.line for block in BLOCKS if block.language == "sh" for one in block.commands if one.reason is None}
    scripts = {line for line in told if line.startswith(SCRIPTS)}
    assert len(scripts) >= 3
    for line in scripts:
        assert re.search(rf"(?m)^{re.escape(line)}(?: --jobs \d)?(?: --json \S+)?$", CI), line


@pytest.fixture
def reader(tmp_path: Path) -> dict[str, str]:
    """The environment of a reader who has followed the documents: an installed checkout, and an adapter."""
    for name in ("examples", "scripts", "docs", "reference", "conformance"):
        (tmp_path / name).symlink_to(CHECKOUT / name)
    (tmp_path / ".venv-3.11").symlink_to(sys.prefix)
    adapter = tmp_path / "my-adapter"
    adapter.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m dshconform.adapters.reference\n', encoding="utf-8")
    adapter.chmod(0o755)
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    unmeasured = {name: value for name, value in os.environ.items() if not name.startswith("COV")}  # it is slow enough
    return {**unmeasured, "PATH": path, "COLUMNS": "80", "XDG_STATE_HOME": str(tmp_path / "state")}


@pytest.mark.parametrize(("page", "command", "shown"), commands())
def test_a_command_runs(page: str, command: str, shown: str | None, reader: dict[str, str], tmp_path: Path) -> None:
    """It ends with status 0 and prints what the page says; files that the page shows are there."""
    for block in BLOCKS:
        if block.page == page and re.fullmatch(r"[\w-]+\.\w+", block.title):
            (tmp_path / block.title).write_text(block.text, encoding="utf-8")
    done = subprocess.run(
        ["sh", "-c", command],
        cwd=tmp_path,
        env=reader,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert shown is None or is_printed(shown, done.stdout), done.stdout


def run_page(blocks: Sequence[Block]) -> list[tuple[Block, str]]:
    """Run the Python of a page as the cells of a notebook are run, in one session; answer what each block prints."""

    async def session() -> list[tuple[Block, str]]:
        printed = []
        names: dict[str, object] = {"__name__": "__page__", "__builtins__": builtins}
        for block in blocks:
            source = "\n" * block.line + block.text
            flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
            code = compile(source, str(CHECKOUT / block.page), "exec", flags=flags, dont_inherit=True)
            with contextlib.redirect_stdout(io.StringIO()) as told:
                answer = FunctionType(code, names)()
                if inspect.isawaitable(answer):
                    await answer
            printed.append((block, told.getvalue()))
        return printed

    return asyncio.run(session())


@pytest.mark.parametrize("page", pages_with_python())
def test_the_python_of_a_page_runs(page: str) -> None:
    """From top to bottom, as one session; each block prints what the page says."""
    of_page = [block for block in BLOCKS if block.page == page]
    for block, printed in run_page([one for one in of_page if one.language == "python" and one.reason is None]):
        shown = output_behind(of_page, of_page.index(block))
        assert is_printed(shown or "", printed), f"{block.place} prints\n{printed}"
