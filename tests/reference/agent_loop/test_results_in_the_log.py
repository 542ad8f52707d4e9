"""Every call that is logged gets its result, whatever tools, listeners and classifiers do."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from tests.reference.tool_turns import result_events, run, tool_rows
from tests.reference.toolbox import Toolbox, answering, context, raising
from tests.reference.world import USER, World, message, text
from typeguard import suppress_type_checks

from dshcore.agent_loop.scheduling import parse_arguments
from dshcore.json import NotJson, freeze
from dshcore.tools import (
    TOOLS_EXECUTE,
    TOOLS_POST_EXECUTE,
    Accept,
    ErrorFacts,
    ToolFailure,
    ToolOutput,
    ToolRun,
)

# --- content that no log can hold ------------------------------------------------------------------------------------


def rendering(_: World, tools: Toolbox) -> None:
    def body(_: object, run: ToolRun) -> str:
        run.defer_context(message("d"))
        run.conclude_turn()
        return "v"

    tools.add("t", body, output=ToolOutput(schema={}, render=lambda *_: "text"))  # type: ignore[arg-type]


def finalizing(_: World, tools: Toolbox) -> None:
    tools.add("t", finalize_content=lambda *_: "text")


def replacing(world: World, tools: Toolbox) -> None:
    tools.add("t")
    world.root.on(TOOLS_POST_EXECUTE, answering(Accept(content="text")))  # type: ignore[arg-type]


def wrapping(world: World, tools: Toolbox) -> None:
    tools.add("t")
    world.root.on(TOOLS_EXECUTE, answering(ToolFailure(error=ErrorFacts("f"), content="text")))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("arrange", "part"),
    [
        (rendering, "output.render"),
        (finalizing, "finalize_content"),
        (replacing, "a listener of tools/post-execute"),
        (wrapping, "a listener of tools/execute"),
    ],
)
def test_content_that_is_no_list_is_an_invalid_output(
    world: World, tools: Toolbox, arrange: Callable[[World, Toolbox], None], part: str
) -> None:
    """The log takes lists of blocks alone (LOG-APPEND-07): the failure names tool and part, and the turn goes on.

    Nothing of the result counts then: neither its contexts nor its conclusion.
    """
    with suppress_type_checks():
        arrange(world, tools)
        rows = run(world, "c1:t", "c2:ghost")
    assert rows == [
        "tool/call c1",
        *(["> body c1"] if arrange is not wrapping else []),
        "tool/result c1 INVALID_TOOL_OUTPUT",
        "tool/call c2",
        f"tool/result c2 {'UNKNOWN_TOOL' if arrange not in (replacing, wrapping) else 'INVALID_TOOL_OUTPUT'}",
        "turn/end 1 completed",
    ]
    told = result_events(world)[0]["data"]["message"]["content"][0]
    assert told["isError"] is True
    assert told["content"][0]["text"] == (
        f"Error: tool \"t\" returned invalid output: {part} gave 'text' for content: give a list of blocks"
    )
    world.model.follow(text("again"))
    world.followup("B")
    assert world.take_only("turn/end") == ["turn/end 2 completed"]


def test_what_observers_get_is_the_result_of_the_pipeline(world: World, tools: Toolbox) -> None:
    """There the content is any JSON (PIPE-FINAL-01), and it is a success."""
    tools.record_stages(of=("result",))
    tools.add("t", finalize_content=lambda *_: "text")
    assert run(world, "c1:t")[2:4] == ["tools/result c1 ok", "tool/result c1 INVALID_TOOL_OUTPUT"]


WRONG_FAILURES: list[dict[str, Any]] = [{"error": "f"}, {"error": ErrorFacts("f"), "additional_contexts": None}]


@pytest.mark.parametrize("members", WRONG_FAILURES)
def test_a_malformed_result_fails_its_call(world: World, tools: Toolbox, members: dict[str, Any]) -> None:
    """And not the turn (PIPE-ORDER-03)."""
    tools.add("t")
    world.root.on(TOOLS_EXECUTE, answering(ToolFailure(**members)))
    assert run(world, "c1:t") == ["tool/call c1", "tool/result c1 error", "turn/end 1 completed"]


def test_a_malformed_context_fails_its_call(world: World, tools: Toolbox) -> None:
    """And not the turn: the calls behind it run."""
    tools.add("t", lambda _, run: run.defer_context({"role": "user", "content": []}))
    tools.add("u", lambda _, run: run.defer_context(context("d")))
    assert run(world, "c1:t", "c2:u")[:5] == [
        "tool/call c1",
        "> body c1",
        "tool/result c1 MALFORMED_MESSAGE",
        "tool/call c2",
        "> body c2",
    ]


# --- classifiers -----------------------------------------------------------------------------------------------------


def test_a_classifier_that_was_cancelled_makes_its_call_exclusive(world: World, tools: Toolbox) -> None:
    """The turn goes on (MODE-CLASS-01, SCHED-CLASS-01)."""
    tools.add("t", is_concurrency_safe=raising(asyncio.CancelledError()))
    assert run(world, "c1:t") == ["tool/call c1", "> body c1", "tool/result c1 ok", "turn/end 1 completed"]


@pytest.mark.parametrize("safe", [True, False])
def test_a_cancel_made_by_a_classifier_starts_nothing_more(world: World, tools: Toolbox, safe: bool) -> None:
    """The call that is being classified is the first that does not run (SCHED-ABORT-01, SCHED-ABORT-03)."""
    tools.record_stages()
    agent = world.handles["a"].agent

    def cancels(_: object) -> bool:
        agent.cancel(USER, keep_inbox=True)
        return safe

    tools.add("first")
    tools.add("t", is_concurrency_safe=cancels)
    rows = run(world, "c1:first", "c2:t", "c3:t")
    assert rows[rows.index("tool/result c1 ok") :] == [
        "tool/result c1 ok",
        "tool/call c2",
        "tool/result c2 ABORTED_BEFORE_DISPATCH",
        "tool/call c3",
        "tool/result c3 ABORTED_BEFORE_DISPATCH",
        "turn/end 1 aborted",
    ]


def test_a_cancel_made_by_a_classifier_waits_for_what_runs(world: World, tools: Toolbox) -> None:
    """What was started is committed first (SCHED-ABORT-02)."""
    agent = world.handles["a"].agent
    tools.add_held()
    tools.add("t", is_concurrency_safe=lambda _: agent.cancel(USER, keep_inbox=True))
    assert run(world, "c1:slow", "c2:t") == ["tool/call c1", "> body c1"]
    tools.end("c1")
    assert tool_rows(world.take()) == [
        "tool/result c1 ABORTED",
        "tool/call c2",
        "tool/result c2 ABORTED_BEFORE_DISPATCH",
        "turn/end 1 aborted",
    ]


# --- arguments -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "raw",
    [
        "1" * 5_000,
        "-" + "9" * 5_000,
        f'{{"n": {"1" * 5_000}}}',
        "[" * 3_000 + "1e999" + "]" * 3_000,
        "[" * 3_000 + "-0.0" + "]" * 3_000,
    ],
    ids=["digits", "negative", "member", "deep", "deep negative zero"],
)
def test_arguments_with_a_loss_are_json_all_the_same(world: World, tools: Toolbox, raw: str) -> None:
    """However long or deep they are; the pipeline refuses them (SCHED-ARGS-01, PIPE-ARGS-02)."""
    parsed: Any = parse_arguments(raw)
    assert not isinstance(parsed, str)
    with pytest.raises(NotJson):
        freeze(parsed)
    tools.add("t")
    assert run(world, "c1:t", arguments=raw) == ["tool/call c1", "tool/result c1 error", "turn/end 1 completed"]
    told = result_events(world)[0]["data"]["message"]["content"][0]
    assert told["content"][0]["text"] == "Error: tool execution arguments must be losslessly JSON-serializable"


@pytest.mark.parametrize("raw", ["NaN", "[1,]", "{'a': 1}", "[" * 3_000, '"\\x"', "01", "\ufeff1", "1 2"])
def test_a_text_that_is_no_json_stands_for_itself(raw: str) -> None:
    """Other than the lossy ones (SCHED-ARGS-01)."""
    assert parse_arguments(raw) == raw
