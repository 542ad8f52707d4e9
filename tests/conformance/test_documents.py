"""The documents that speak about the whole project agree with it."""

import re
import tomllib
from pathlib import Path

import pytest

import dshconform
from dshconform.protocol.messages import PROTOCOL_VERSION
from dshconform.spec import SPECIFICATION_VERSION, load_specification

CHECKOUT = Path(__file__).parents[2]


def test_every_dependency_has_its_reason() -> None:
    """What `pyproject.toml` requires and what `dependencies.md` explains is the same set."""
    configuration = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))
    project = configuration["project"]
    required = [*configuration["build-system"]["requires"], *project["dependencies"]]
    required += [requirement for extra in project["optional-dependencies"].values() for requirement in extra]
    names = {re.split(r"[^\w-]", requirement, maxsplit=1)[0] for requirement in required}
    page = (CHECKOUT / "docs" / "design" / "dependencies.md").read_text(encoding="utf-8")
    explained = set(re.findall(r"(?m)^\| ([\w-]+) \| \S", page)) - {"package"}
    assert explained == names


@pytest.mark.parametrize(
    ("stream", "version"),
    [
        ("Specification", SPECIFICATION_VERSION),
        ("Protocol", str(PROTOCOL_VERSION)),
        ("Suite", dshconform.__version__),
        ("Reference", dshconform.__version__),
    ],
)
def test_the_newest_entry_of_each_stream_is_the_version_at_hand(stream: str, version: str) -> None:
    """Each stream of the changelog has a version of its own, and the newest stands first."""
    text = (CHECKOUT / "CHANGELOG.md").read_text(encoding="utf-8")
    newest = re.search(rf"(?ms)^## {stream}\n(?:(?!^## ).)*?^### (\S+)", text)
    assert newest is not None
    assert newest[1] == version


def test_the_changelog_counts_the_clauses_that_there_are() -> None:
    """The newest entry of the specification's stream states the size of the set."""
    text = (CHECKOUT / "CHANGELOG.md").read_text(encoding="utf-8")
    specification = load_specification()
    stated = re.search(r"with (\d+) clauses, (\d+) rulings", text)
    assert stated is not None
    assert [int(number) for number in stated.groups()] == [len(specification.clauses), len(specification.rulings)]
