"""Contexts: which messages go with a result, and which do not."""

import asyncio
from typing import Any

import pytest
from tests.reference import tool_turns
from tests.reference.toolbox import Toolbox, answering, content, context, error_of
from tests.reference.world import World, message

from dshcore.events import Next
from dshcore.json import Json
from dshcore.tools import (
    TOOLS_EXECUTE,
    TOOLS_POST_EXECUTE,
    Accept,
    ErrorFacts,
    ToolOutput,
    ToolResult,
    ToolRun,
    ToolSuccess,
)

TEXTS = ToolOutput(schema={"type": "string"}, render=lambda _, value: content(f"<{value}>"))


def deferring_a_context(_: object, run: ToolRun) -> str:
    run.defer_context(message("d"))
    return "ok"


def ids(result: ToolResult) -> list[Json]:
    return [each["id"] for each in result.additional_contexts]


def test_an_invalid_value_of_policy_drops_all_contexts(world: World, tools: Toolbox) -> None:
    """It is a failing post-execute (PIPE-CTX-03, PIPE-POST-02)."""
    tools.add("t", deferring_a_context, output=TEXTS)
    world.root.on(TOOLS_POST_EXECUTE, answering(Accept(value=5, additional_contexts=[message("p")])))
    result = tools.execute()
    assert error_of(result).message == 'tool "t" returned invalid output: "value" must be a string'
    assert ids(result) == []


def test_an_invalid_value_of_a_wrapper_drops_all_contexts(world: World, tools: Toolbox) -> None:
    """As a wrapper that raises does, it loses what the body deferred (PIPE-AROUND-03, PIPE-AROUND-05)."""
    tools.record_stages(of=("post",))
    tools.add("t", deferring_a_context, output=TEXTS)

    async def wrapper(_: object, proceed: Next[Any]) -> ToolResult:
        await proceed()
        return ToolSuccess(value=5, additional_contexts=[context("w")])

    world.root.on(TOOLS_EXECUTE, wrapper)
    world.take()
    result = tools.execute()
    assert error_of(result).message == 'tool "t" returned invalid output: "value" must be a string'
    assert (ids(result), world.take()) == ([], ["> body c"])


def test_an_invalid_value_of_the_body_keeps_them(tools: Toolbox) -> None:
    """They were deferred before it was returned (PIPE-CTX-02)."""

    def body(arguments: object, run: ToolRun) -> int:
        deferring_a_context(arguments, run)
        return 5

    tools.add("t", body, output=TEXTS)
    result = tools.execute()
    assert (error_of(result).message, ids(result)) == (
        'tool "t" returned invalid output: "value" must be a string',
        ["d"],
    )


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ({"role": "user", "content": [], "source": {"kind": "user"}}, "a message needs a non-empty text as id"),
        ({"id": "i", "content": [], "source": {"kind": "user"}}, 'a context needs the role "user", not None'),
        ({**message("i"), "role": "assistant"}, "a context needs the role \"user\", not 'assistant'"),
        ({**message("i"), "content": "text"}, 'message "i" needs an array of blocks as content'),
        ({**message("i"), "source": None}, 'message "i" needs an object with a kind as source'),
    ],
)
def test_a_context_is_checked_when_it_is_deferred(world: World, tools: Toolbox, said: Any, text: str) -> None:
    """The body is told, and not the turn."""
    caught: list[str] = []

    def body(_: object, run: ToolRun) -> str:
        try:
            run.defer_context(said)
        except Exception as error:
            caught.append(str(error))
            raise
        return "ok"

    tools.add("t", body)
    result = tools.execute()
    assert caught == [error_of(result).message]
    assert text in caught[0]
    world.root.on(TOOLS_POST_EXECUTE, answering(Accept(additional_contexts=[said])))
    tools.add("u")
    assert text in error_of(tools.execute("u")).message


def test_a_lossy_context_is_a_lossy_result(tools: Toolbox) -> None:
    """It is the text of all lossy data (PIPE-FINAL-03)."""
    tools.add("t", lambda _, run: run.defer_context({**message("i"), "more": {1}}))  # type: ignore[dict-item]
    assert error_of(tools.execute()) == ErrorFacts("tool result must be losslessly JSON-serializable")


def test_contexts_survive_a_body_that_cancels_its_task(world: World) -> None:
    """They go to the next step, behind the result (PIPE-CTX-02, SCHED-CTX-01)."""
    world.create()
    tools = Toolbox(world)

    async def body(_: object, run: ToolRun) -> None:
        run.defer_context(message("d"))
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(0)

    tools.add("t", body)
    assert tool_turns.run(world, "c1:t")[:4] == [
        "tool/call c1",
        "> body c1",
        "tool/result c1 ABORTED",
        "splice next-step 0 +d",
    ]
