"""The pages about messages are fresh, whole, and their examples are messages."""

import json
import re
from pathlib import Path
from typing import Any

import gen_protocol_pages
import jsonschema
import pytest

from dshconform.protocol.check import check_command
from dshconform.protocol.commands import OPERATIONS
from dshconform.protocol.observations import read_reply
from dshconform.protocol.schema import schema

PAGES = {name: (gen_protocol_pages.FOLDER / name).read_text(encoding="utf-8") for name in ("commands.md", "replies.md")}
VALIDATOR = jsonschema.Draft202012Validator(schema())
EXAMPLES = {
    name: [json.loads(block) for block in re.findall(r"(?ms)^```json\n(.*?)\n```$", text)]
    for name, text in PAGES.items()
}


def test_the_pages_are_fresh() -> None:
    """They say what the types say."""
    assert gen_protocol_pages.pages() == PAGES


def test_a_stale_page_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The check writes nothing; without it the pages are written, and then they are fresh."""
    monkeypatch.setattr(gen_protocol_pages, "FOLDER", tmp_path)
    monkeypatch.setattr(gen_protocol_pages, "pages", lambda: PAGES)
    (tmp_path / "commands.md").write_text(PAGES["commands.md"], encoding="utf-8")
    monkeypatch.setattr("sys.argv", ["gen_protocol_pages.py", "--check"])
    assert gen_protocol_pages.main() == 1
    assert "replies.md is stale: run scripts/gen_protocol_pages.py" in capsys.readouterr().err
    assert not (tmp_path / "replies.md").exists()
    monkeypatch.setattr("sys.argv", ["gen_protocol_pages.py"])
    assert gen_protocol_pages.main() == 0
    assert (tmp_path / "replies.md").read_text(encoding="utf-8") == PAGES["replies.md"]


def test_every_operation_has_an_example_that_is_a_command() -> None:
    """As the schema and the suite judge it."""
    assert {example["op"] for example in EXAMPLES["commands.md"]} == set(OPERATIONS)
    for example in EXAMPLES["commands.md"]:
        VALIDATOR.validate(example)
        check_command(example["op"], example["args"])


def test_every_row_has_an_example_that_is_one() -> None:
    """In a reply, as the schema and the suite judge it."""
    for row in EXAMPLES["replies.md"]:
        reply: dict[str, Any] = {"id": 1, "result": None, "observed": [row], "open": []}
        VALIDATOR.validate(reply)
        read_reply(json.dumps(reply).encode())
    kinds = {row["on"] for row in EXAMPLES["replies.md"]}
    assert kinds == {
        *("return", "log", "live", "gate", "script", "next", "abort", "pull", "closed", "task", "status"),
        *("report", "unhandled"),
    }


def test_every_part_of_the_schema_is_described() -> None:
    """Each has a heading, and whatever names it leads there."""
    headings = {name: set(re.findall(r"(?m)^### .* \{: #(\S+) \}$", text)) for name, text in PAGES.items()}
    arguments = {operation.args.__name__ for operation in OPERATIONS.values()}
    assert headings["replies.md"] == schema()["$defs"].keys() - arguments - {"Command", "Call"}
    assert headings["commands.md"] == set(OPERATIONS)
    for text in PAGES.values():
        assert set(re.findall(r"\(replies\.md#(\w+)\)", text)) <= headings["replies.md"]
