"""The shorthands of scenario files: scripts of the model, definitions of tools, groups of expected rows, sweeps."""

import pytest

from dshconform.protocol.json_value import Json, JsonMap
from dshconform.scenarios.macros import expand, message, shorten
from dshconform.scenarios.model_scripts import MacroError, read_scripts, text_chunks
from dshconform.scenarios.row_groups import is_group, rows_of
from dshconform.scenarios.sweep import at_tick, ticks_of

CALL: JsonMap = {"type": "tool-call", "id": "c1", "name": "echo", "arguments": "{}"}


def test_a_script_of_tool_calls() -> None:
    """Each call is a complete block; the finish says that tools were called."""
    written: Json = [{"$calls": ["c1:echo", {"call": "c2", "tool": "write", "arguments": "not json"}]}]
    assert read_scripts(written) == [
        [
            {
                "do": "chunks",
                "list": [
                    {"type": "block-start", "index": 0, "blockType": "tool-call"},
                    {"type": "block-end", "index": 0, "block": CALL},
                    {"type": "block-start", "index": 1, "blockType": "tool-call"},
                    {
                        "type": "block-end",
                        "index": 1,
                        "block": {"type": "tool-call", "id": "c2", "name": "write", "arguments": "not json"},
                    },
                    {"type": "finish", "reason": {"kind": "tool-calls"}},
                ],
            }
        ]
    ]


def test_a_failing_script_may_have_text_before() -> None:
    """`after` is streamed, then the stream fails with the code."""
    [script] = read_scripts([{"$fail": "SERVER", "after": "par"}])
    assert isinstance(script, list)
    chunks, failure = script
    assert chunks == {"do": "chunks", "list": text_chunks("par")[:2]}
    error: Json = {"kind": "model", "message": "failed with SERVER", "code": "SERVER"}
    assert failure == {"do": "throw", "error": {"$error": error}}


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        ([], "`model` must be `gate` or a list"),
        ([{"$text": 1}], r"\$text needs a text, not 1"),
        ([{"$calls": []}], r"\$calls needs a list of calls"),
        ([{"$calls": ["echo"]}], "'echo' is no call"),
        ([{"$calls": [{"call": "c1", "tool": "echo"}]}], "is no call"),
        ([{"$other": "x"}], "is no model script"),
    ],
)
def test_a_wrong_script_is_an_error(written: Json, problem: str) -> None:
    """The error says what is needed."""
    with pytest.raises(MacroError, match=problem):
        read_scripts(written)


def test_the_definition_of_a_tool() -> None:
    """The body follows the script, and `safe` is the classifier's answer."""
    assert expand({"$tool": "echo", "do": "gate", "safe": True}) == {
        "name": "echo",
        "description": "echo",
        "parameters": {"type": "object"},
        "output": {
            "schema": {},
            "render": {"$fn": "echo.render", "do": [{"do": "return", "value": [{"type": "text", "text": "echo"}]}]},
        },
        "execute": {"$fn": "echo", "do": "gate"},
        "isConcurrencySafe": {"$fn": "echo.safe", "do": [{"do": "return", "value": True}]},
    }


def test_a_tool_without_a_classifier() -> None:
    """Without `safe` there is none; a script there is the classifier's own."""
    throws: Json = [{"do": "throw", "error": {"$error": {"message": "no"}}}]
    assert "isConcurrencySafe" not in expand({"$tool": "echo"})  # type: ignore[operator]  # it is an object
    safe = expand({"$tool": "echo", "safe": throws})
    assert isinstance(safe, dict)
    assert safe["isConcurrencySafe"] == {"$fn": "echo.safe", "do": throws}


def test_a_tool_with_an_unknown_member_is_an_error() -> None:
    """The error names the member and those that there are."""
    with pytest.raises(MacroError, match="a \\$tool has no 'mode': it has safe, do"):
        expand({"$tool": "echo", "mode": "parallel"})


def test_scripts_stand_inside_a_registration_too() -> None:
    """`$scripts` is the list of scripts for a function that is written out, with its messages expanded."""
    script: Json = [{"op": "agent.steer", "args": {"agent": "a", "message": {"$message": "S"}}}]
    assert expand({"calls": {"$scripts": ["gate", script]}}) == {
        "calls": [[{"do": "gate"}], [{"op": "agent.steer", "args": {"agent": "a", "message": message("S")}}]]
    }


def test_a_turn_is_written_out() -> None:
    """Every row of a plain turn stands there in its order, each with the clause that speaks of such rows."""
    rows = rows_of({"$turn": 2, "prompt": "A", "steering": ["I"], "answer": "hi", "first": True})
    named = [next(iter(row.items())) for row in rows]
    assert named == [
        ("log", "turn/start"),
        ("log", "agent/inbox/spliced"),
        ("log", "agent/inbox/spliced"),
        ("live", "agent/inbox/claimed"),
        ("live", "agent/inbox/claimed"),
        ("log", "step/start"),
        ("log", "user/message"),
        ("log", "user/message"),
        ("log", "request/header"),
        ("log", "request/context"),
        *[("log", "assistant/chunk")] * 4,
        ("log", "assistant/message"),
        ("log", "step/end"),
        ("log", "turn/end"),
    ]
    entered = [row["data"] for row in rows if row.get("log") == "user/message"]
    assert entered == [message("I"), message("A")]
    assert all("by" in row for row in rows)
    assert rows[0]["by"] == "LOOP-OPEN-01"


def test_a_group_may_be_the_affair_of_one_clause() -> None:
    """`by` is then blamed for each of its rows."""
    rows = rows_of({"$sent": "A", "target": "next-step", "start": 2, "by": "X-Y-01"})
    assert [row["by"] for row in rows] == ["X-Y-01"] * 2
    assert rows[0]["data"] == {"$exact": {"target": "next-step", "start": 2, "inserted": [message("A")]}}


def test_a_step_that_calls_tools() -> None:
    """The message has the calls, and with `end: false` the step is left open for the rows of the tools."""
    rows = rows_of({"$step": 1, "turn": 1, "calls": ["c1:echo"], "end": False})
    assert rows[-1]["log"] == "assistant/message"
    data = rows[-1]["data"]
    assert isinstance(data, dict)
    assert data["message"] == {"role": "assistant", "content": [CALL]}


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ({"$turn": 1, "prompt": "A"}, "one of `answer` .* and `calls`"),
        ({"$turn": "1", "answer": "x"}, r"\$turn needs a number"),
        ({"$turn": 1, "answer": "x", "calls": ["c1:echo"]}, r"\$turn has no 'calls'"),
        ({"$step": 1, "turn": 1, "answer": "x", "steering": "S"}, "`steering` needs a list"),
        ({"$sent": 1}, r"\$sent needs a text"),
    ],
)
def test_a_wrong_group_is_an_error(row: JsonMap, problem: str) -> None:
    """The error names the member."""
    assert is_group(row)
    with pytest.raises(MacroError, match=problem):
        rows_of(row)


@pytest.mark.parametrize(("written", "ticks"), [({"ticks": 3}, (1, 2, 3)), ({"ticks": [5, 2]}, (5, 2))])
def test_the_moments_of_a_sweep(written: Json, ticks: tuple[int, ...]) -> None:
    """A number is a count from 1; a list is taken as it is."""
    assert ticks_of(written) == ticks


@pytest.mark.parametrize(
    "written", [3, {"ticks": 0}, {"ticks": True}, {"ticks": []}, {"ticks": ["1"]}, {"ticks": 1, "x": 1}]
)
def test_a_wrong_sweep_is_an_error(written: Json) -> None:
    """What it must be is said."""
    with pytest.raises(MacroError, match="`sweep` must be"):
        ticks_of(written)


def test_a_moment_is_put_in_everywhere() -> None:
    """Only the whole object `{$tick: true}` stands for the number."""
    steps: Json = [{"a": {"$tick": True}, "b": [{"$tick": True}, "x"]}]
    assert at_tick(steps, 4) == [{"a": 4, "b": [4, "x"]}]


def test_what_is_shortened_reads_back() -> None:
    """`shorten` and `expand` are inverse on messages."""
    written: Json = [message("A"), {"m": message("B", "text")}, {**message("C"), "source": {"kind": "plugin"}}]
    assert shorten(written)[0] == {"$message": "A"}  # type: ignore[index]  # it is a list
    assert expand(shorten(written)) == written
