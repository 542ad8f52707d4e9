"""The tour of the reference names the functions that are called, in their order, and clauses that these implement."""

import importlib
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

from dshconform.spec.mentions import mentioned_ids
from tests.documents.blocks import CHECKOUT, blocks_of
from tests.documents.test_running import run_page

PAGE = "docs/guide/read-the-reference.md"
TEXT = (CHECKOUT / PAGE).read_text(encoding="utf-8")


@dataclass(frozen=True)
class Step:
    """A step of the tour: its heading, the functions it names by module and qualified name, its clauses."""

    heading: str
    functions: Sequence[tuple[str, str]]
    clauses: Sequence[str]


def steps(text: str) -> Iterator[Step]:
    """The steps of a part of the page."""
    for heading, body in re.findall(r"(?ms)^### (.*?)$(.*?)(?=^##|\Z)", text):
        [code] = re.findall(r"(?ms)^- code: (.*?)$\n- clauses: ", body)
        [clauses] = re.findall(r"(?ms)^- clauses: (.*?)$\n\n", body)
        links = re.findall(r"\[`([\w.]+)`\]\((?:\.\./api|\.\./\.\./reference)/(dshcore/[\w/]+)\.(?:md|py)#\1\)", code)
        assert len(links) == code.count("](")
        yield Step(heading, [(page.replace("/", "."), name) for name, page in links], list(mentioned_ids(clauses)))


def parts() -> dict[str, tuple[int, list[Step]]]:
    """The parts that have steps, each with the index of its Python block."""
    found: dict[str, tuple[int, list[Step]]] = {}
    blocks = 0
    for title, body in re.findall(r"(?ms)^## (.*?)$(.*?)(?=^## |\Z)", TEXT):
        if of_part := list(steps(body)):
            found[title] = (blocks, of_part)
        blocks += len(re.findall(r"(?m)^```python$", body))
    return found


PARTS = parts()


def code_of(module: str, name: str) -> CodeType:
    """The code of a function that a step names."""
    found: Any = importlib.import_module(module)
    for attribute in name.split("."):
        found = vars(found)[attribute]
    code = getattr(found, "__code__", None)
    assert isinstance(code, CodeType), f"{module}.{name} is no function"
    return code


@pytest.mark.parametrize("title", PARTS)
def test_the_functions_are_there_and_cite_the_clauses(title: str) -> None:
    """Every step names both; each clause is cited by a module that the part goes through."""
    _, of_part = PARTS[title]
    assert all(step.functions and step.clauses for step in of_part)
    files = {code_of(module, name).co_filename for step in of_part for module, name in step.functions}
    cited = {clause for file in files for clause in mentioned_ids(Path(file).read_text(encoding="utf-8"))}
    assert {clause for step in of_part for clause in step.clauses} - cited == set()


@pytest.fixture(scope="module")
def called() -> list[list[tuple[str, str]]]:
    """Which functions of the reference each block of the page calls or goes on with, by file and qualified name."""
    blocks = [block for block in blocks_of(TEXT, PAGE) if block.language == "python"]
    seen: list[list[tuple[str, str]]] = []
    begun: set[CodeType] = set()
    page = str(CHECKOUT / PAGE)

    def profile(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event != "call":
            return
        if code.co_filename == page and code.co_name == "<module>":
            if code not in begun:
                begun.add(code)
                seen.append([])
        elif seen and "/dshcore/" in code.co_filename:
            seen[-1].append((code.co_filename, code.co_qualname))

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        run_page(blocks)
    finally:
        sys.setprofile(before)
    assert len(seen) == len(blocks)
    return seen


@pytest.mark.parametrize("title", PARTS)
def test_the_functions_are_called_in_this_order(title: str, called: list[list[tuple[str, str]]]) -> None:
    """From step to step, and within each; others are called in between."""
    block, of_part = PARTS[title]
    calls = iter(called[block])
    for step in of_part:
        for module, name in step.functions:
            code = code_of(module, name)
            assert (code.co_filename, code.co_qualname) in calls, f"{step.heading}: {name} is not called here"
