"""The protocol page says what the types, the tables and a real session say."""

import dataclasses
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest

from dshconform.adapters.reference.adapter import ReferenceAdapter
from dshconform.links.in_process import InProcessLink
from dshconform.links.link import FaultKind, Limits
from dshconform.protocol.check import check_command
from dshconform.protocol.commands import OPERATIONS
from dshconform.protocol.functions import AnyScriptedAction, CommandAction, FunctionSpec
from dshconform.protocol.kinds import EVENTS, FUNCTIONS
from dshconform.protocol.messages import ErrorForm, Hello, ImplementationInfo
from dshconform.protocol.observations import AnyObservation, WireReply, read_reply
from dshconform.protocol.promises import PROMISES, Promise
from dshconform.protocol.schema import FILE_NAME
from dshconform.protocol.values import NOTATIONS, ErrorSpec

PAGE = (Path(__file__).parents[3] / "docs" / "protocol" / "lockstep.md").read_text(encoding="utf-8")
EXECUTION = ["callId", "name", "arguments", "rootCallId", "token", "parent?", "signal"]
PROMISED = ("promise", "what is promised", "where a run looks at it")
OTHER_FUNCTIONS = ("kind", "given in", "fields", "waits", "answer (passing)")


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


def rows(*header: str) -> Iterator[list[str]]:
    """The rows of every table of the page that has these columns."""
    lines = iter(PAGE.splitlines())
    for line in lines:
        if line.startswith("|") and cells(line) == list(header):
            next(lines)
            for row in lines:
                if not row.startswith("|"):
                    break
                yield cells(row)


def first(cell: str) -> str:
    """The first word of a cell that is set as code."""
    return listed(cell)[0].removesuffix("?")


def listed(cell: str) -> list[str]:
    """The words of a cell that are set as code, with their question marks; what stands in parentheses aside."""
    bare = re.sub(r"\([^()]*\)", "", cell)
    return [name + mark for name, mark in re.findall(r"`([^`]+)`(\??)", bare)]


def fields(cell: str) -> list[str]:
    """The fields of a kind."""
    return [field for name in listed(cell.replace("execution", "`execution`")) for field in expanded(name)]


def expanded(name: str) -> list[str]:
    return EXECUTION if name == "execution" else [name]


def members(struct: Any) -> list[str]:
    """The members of a struct as a table lists them: the optional ones with a question mark."""
    return [field.encode_name + ("" if field.required else "?") for field in msgspec.structs.fields(struct)]


def tag(struct: Any) -> str:
    return str(struct.__struct_config__.tag)


def session() -> list[tuple[str, str]]:
    """The lines of the worked session, with their directions."""
    lines = PAGE[PAGE.index("## A session, line by line") :].splitlines()
    return [(line[0], line[2:]) for line in lines if line[:2] in {"→ ", "← "}]


def test_the_operations_are_those_of_the_table() -> None:
    """Every operation is listed with its arguments, and nothing else is."""
    found = {first(op): sorted(listed(args)) for op, args, _ in rows("operation", "arguments", "result")}
    assert found == {op: sorted(members(operation.args)) for op, operation in OPERATIONS.items()}


def test_a_task_marks_what_is_asynchronous() -> None:
    """The page says of `task?` that it does."""
    marked = {op for op, operation in OPERATIONS.items() if "task?" in members(operation.args)}
    assert marked == {op for op, operation in OPERATIONS.items() if operation.asynchronous or operation.may_await}


def test_the_answers_to_gates_are_those_of_the_table() -> None:
    """Whatever makes no `return` row is listed as an answer."""
    found = [op for ops, _ in rows("operation", "effect") for op in listed(ops)]
    assert found == [op for op, operation in OPERATIONS.items() if operation.answers_gate]


def test_the_members_of_replies_are_the_type() -> None:
    """`id`, in the text, and the table make up a reply."""
    found = [first(member) for member, _ in rows("member", "meaning")]
    for member in members(WireReply):
        assert member == "id" or member.removesuffix("?") in found


def test_the_rows_are_the_types() -> None:
    """Every kind of row is listed with its members; of two outcomes it has one."""
    found = {first(on): listed(text) for on, text, _ in rows("`on`", "members", "when")}
    for row in get_args(AnyObservation):
        names = members(row)
        outcomes = [name for name in names if name in {"result?", "value?", "error?"}]
        assert len(outcomes) in {0, 2}
        names = [name.removesuffix("?") if name in outcomes else name for name in names]
        assert sorted(found.pop(tag(row))) == sorted(names)
    assert not found


def test_the_events_are_the_table() -> None:
    """Every event has its mode and its fields, and says whether it waits."""
    found = {}
    for name, mode, text, _ in rows("event", "mode", "fields", "a listener answers"):
        if name != "any other name":
            plain = tuple(field.removesuffix("?") for field in fields(text))
            found[first(name)] = (mode.partition(",")[0], plain, "synchronous" not in mode)
    assert found == {name: (kind.mode, kind.fields, kind.waits) for name, kind in EVENTS.items()}


def test_the_other_functions_are_the_table() -> None:
    """Every other kind has its fields, and says whether anybody waits."""
    found = {
        first(name): (tuple(field.removesuffix("?") for field in fields(text)), waits == "yes")
        for name, _, text, waits, _ in rows(*OTHER_FUNCTIONS)
    }
    assert found == {name: (kind.fields, kind.waits) for name, kind in FUNCTIONS.items()}


def test_functions_are_given_where_the_table_says() -> None:
    """A kind's places in commands are those by which the suite checks its scripts."""
    found = {
        (first(kind), place)
        for kind, given, *_ in rows(*OTHER_FUNCTIONS)
        if first(kind) not in {"commit", "run"}
        for place in listed(given)
    }
    operations = {"definition": "tool.register"}
    assert found == {
        (kind, path if path.partition(".")[0] in operations else f"{op}.{path}")
        for op, operation in OPERATIONS.items()
        for path, kind in operation.kinds.items()
    }


def test_actions_and_members_of_functions_are_the_types() -> None:
    """Every action is listed with its members, and so is every member of a function."""
    found: dict[str, list[str]] = {}
    for action, _ in rows("action", "effect"):
        if action.startswith("`{"):
            assert [name + mark for name, mark in re.findall(r'"(\w+)"(\??)', action)] == members(CommandAction)
        else:
            for part in action.split(" · "):
                name, *rest = listed(part)
                found[name] = rest
    assert found == {tag(action): members(action) for action in get_args(AnyScriptedAction)}
    explained = [first(member) for member, _ in rows("member", "meaning")]
    for member in members(FunctionSpec):
        assert member == "$fn" or member.removesuffix("?") in explained


def test_notations_and_errors_are_the_types() -> None:
    """Every notation is listed, and of errors every member, both ways."""
    found = {re.findall(r'"(\$\w+)"', notation)[0]: text for notation, text in rows("notation", "stands for")}
    assert found.keys() == NOTATIONS.keys()
    for member in members(ErrorSpec):
        assert f"`{member.removesuffix('?')}`{'?' * member.endswith('?')}" in found["$error"]
    explained = [name for names, _ in rows("member", "meaning") for name in listed(names)]
    for member in members(ErrorForm):
        assert member.removesuffix("?") in explained


def test_the_promises_are_the_data() -> None:
    """Each by its id, with where it is looked at."""
    found = {first(name): Promise(*told) for name, *told in rows(*PROMISED)}
    assert found == PROMISES


def test_faults_and_limits_are_those_of_the_links() -> None:
    """Every kind of fault is listed, with the limits that hold by default."""
    assert {first(kind) for kind, _ in rows("kind", "what was seen")} == set(get_args(FaultKind))
    limits = dataclasses.asdict(Limits())
    assert f"within {limits['seconds_per_reply']:g} seconds" in PAGE
    assert f"for {limits['seconds_to_end']:g} seconds" in PAGE
    assert f"of more than {limits['bytes_per_reply'] // 2**20} MiB" in PAGE
    assert f"more than {limits['stray_lines']} lines" in PAGE


def test_the_schema_is_named() -> None:
    """The page links to the published schema, and its declaration is one."""
    assert f"]({FILE_NAME})" in PAGE
    [block] = re.findall(r'^{"protocol":1,\n.*?}$', PAGE, re.MULTILINE | re.DOTALL)
    hello = json.loads(block)
    msgspec.convert(hello, Hello)
    assert sorted(hello) == sorted(name.removesuffix("?") for name in members(Hello))
    assert len(hello["implementation"]) == len(members(ImplementationInfo))
    features = [first(feature) for feature, *_ in rows("feature", "what it adds", "where it is missing")]
    assert set(features) >= {operation.feature for operation in OPERATIONS.values() if operation.feature}
    assert set(hello["features"]) <= set(features)


def test_the_session_is_a_session() -> None:
    """Line by line: compact JSON, commands and replies in turn, each of them well-formed."""
    lines = session()
    assert [way for way, _ in lines] == ["→", "←"] * (len(lines) // 2)
    for number, (way, line) in enumerate(lines):
        message = json.loads(line)
        assert line == json.dumps(message, separators=(",", ":"))
        assert message["id"] == 1 + number // 2
        if way == "→":
            assert list(message) == ["id", "op", "args"]
            check_command(message["op"], message["args"])
        else:
            read_reply(line.encode())


def test_the_session_is_true() -> None:
    """The reference answers the session's commands with the session's replies, the times aside."""
    lines = [json.loads(line) for _, line in session()]
    with InProcessLink(ReferenceAdapter(), typed=True) as link:
        for command, expected in list(zip(lines[::2], lines[1::2], strict=True))[1:]:
            reply = link.call(command["op"], command["args"])
            assert timeless(msgspec.json.decode(msgspec.json.encode(reply))) == timeless(expected)


def timeless(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: timeless(member) for key, member in value.items() if key != "time"}
    return [timeless(item) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize("place", ["0", "1.0", "do.0", "abort.0", "2.0"])
def test_the_places_that_are_named_are_places(place: str) -> None:
    """Every example of `at` on the page is one that a row may have."""
    assert f"`{place}`" in PAGE
    row = {"on": "return", "op": "x", "at": place, "result": None}
    read_reply(json.dumps({"id": 1, "result": None, "observed": [row], "open": []}).encode())
