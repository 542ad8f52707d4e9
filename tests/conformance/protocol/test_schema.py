"""The published schema: fresh, valid, and of one mind with the suite about every message."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from tests.conformance.protocol.messages import BAD_COMMANDS, BAD_REPLIES, GOOD_COMMANDS, GOOD_REPLIES, Message, reply

from dshconform.protocol.check import BadCommandError, check_command
from dshconform.protocol.commands import OPERATIONS
from dshconform.protocol.observations import MalformedReplyError, read_reply
from dshconform.protocol.schema import FILE_NAME, schema, schema_text

CHECKOUT = Path(__file__).parents[3]
PUBLISHED = CHECKOUT / "docs" / "protocol" / FILE_NAME
VALIDATOR = jsonschema.Draft202012Validator(schema())


def command(op: str, args: Any) -> Message:
    return {"id": 1, "op": op, "args": args}


def test_the_published_file_is_fresh() -> None:
    """The file in the repository says what the types say."""
    assert PUBLISHED.read_text(encoding="utf-8") == schema_text()


def test_the_generator_tells_a_stale_file(tmp_path: Path) -> None:
    """`--check` writes nothing and says what to run; without it the file is written; then it is fresh."""
    script = tmp_path / "scripts" / "gen_schema.py"
    script.parent.mkdir()
    script.write_text((CHECKOUT / "scripts" / "gen_schema.py").read_text())

    def generate(*options: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, str(script), *options], capture_output=True, text=True, check=False)

    stale = generate("--check")
    assert (stale.returncode, "run scripts/gen_schema.py" in stale.stderr) == (1, True)
    assert not (tmp_path / "docs").exists()
    assert generate().returncode == 0
    assert (tmp_path / "docs" / "protocol" / FILE_NAME).read_text() == schema_text()
    assert generate("--check").returncode == 0


def test_the_schema_is_a_schema() -> None:
    """It is valid JSON Schema, and nothing refers to what is not there or stands there for nothing."""
    jsonschema.Draft202012Validator.check_schema(schema())
    text = schema_text()
    for name in schema()["$defs"]:
        assert f'"#/$defs/{name}"' in text or name == "Hello"
    for reference in {part.split('"')[0] for part in text.split('"#/$defs/')[1:]}:
        assert reference in schema()["$defs"]


@pytest.mark.parametrize("name", GOOD_REPLIES)
def test_a_good_reply_is_accepted(name: str) -> None:
    """By the schema and by the suite, which hands it on as it came."""
    message = GOOD_REPLIES[name]
    VALIDATOR.validate(message)
    read = read_reply(json.dumps(message).encode())
    assert {"id": read.id, "observed": read.observed, "open": read.open} == {
        key: message[key] for key in ("id", "observed", "open")
    }


@pytest.mark.parametrize("name", BAD_REPLIES)
def test_a_bad_reply_is_refused(name: str) -> None:
    """By the schema and by the suite alike."""
    message = BAD_REPLIES[name]
    assert not VALIDATOR.is_valid(message)
    with pytest.raises(MalformedReplyError, match=r"\$|field `"):
        read_reply(json.dumps(message).encode())


@pytest.mark.parametrize("members", [{}, {"result": 1, "error": {"value": 1}}, {"result": 1, "fault": "x"}])
def test_a_reply_has_one_outcome(members: Message) -> None:
    """The schema counts outcomes; on a link the promises do (tests of links)."""
    message = {"id": 1, "observed": [], "open": []} | members
    assert not VALIDATOR.is_valid(message)


@pytest.mark.parametrize("value", [{"$value": "Inf"}, {"$up": 0}, [{"deep": {"$value": 1}}], {"$value": "NaN", "x": 1}])
def test_a_malformed_notation_in_a_reply_is_refused_by_the_schema(value: Any) -> None:
    """An adapter's own tests can find a notation that the suite would compare as it is."""
    assert not VALIDATOR.is_valid(reply(result=value))
    assert VALIDATOR.is_valid(reply(result={"$raw": value}))


@pytest.mark.parametrize("name", GOOD_COMMANDS)
def test_a_good_command_is_accepted(name: str) -> None:
    """By the schema and by the suite."""
    op, args = GOOD_COMMANDS[name]
    VALIDATOR.validate(command(op, args))
    check_command(op, args)


@pytest.mark.parametrize("name", BAD_COMMANDS)
def test_a_bad_command_is_refused(name: str) -> None:
    """By the schema and by the suite alike."""
    op, args = BAD_COMMANDS[name]
    assert not VALIDATOR.is_valid(command(op, args))
    with pytest.raises(BadCommandError, match=rf"^{op}: .* - at `\$"):
        check_command(op, args)


def test_every_operation_is_in_the_schema() -> None:
    """The table and the schema have the same operations, each with its own arguments."""
    call = schema()["$defs"]["Call"]["allOf"]
    listed = {one["if"]["properties"]["op"]["const"]: one["then"]["properties"]["args"]["$ref"] for one in call}
    assert listed == {op: f"#/$defs/{operation.args.__name__}" for op, operation in OPERATIONS.items()}
