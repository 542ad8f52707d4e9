"""What tools and listeners answer wrongly: it fails the call, says what is wrong, and leaves nothing behind."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.reference.toolbox import Toolbox, answering, content, definition, error_of, raising
from tests.reference.world import World
from typeguard import suppress_type_checks

from dshcore.events import Next
from dshcore.tools import (
    TOOLS_EXECUTE,
    TOOLS_POST_EXECUTE,
    TOOLS_PRE_EXECUTE,
    TOOLS_RESULT,
    Accept,
    Block,
    Deny,
    ErrorFacts,
    FrozenExecution,
    InvalidTool,
    ToolExecution,
    ToolFailure,
    ToolOutcome,
    ToolOutput,
    ToolSuccess,
    define_tool,
)


@pytest.fixture(autouse=True)
def wrong_types() -> Iterator[None]:
    """Wrong types are the subject."""
    with suppress_type_checks():
        yield


class Unreadable:
    """A list of contexts whose reading fails."""

    def __iter__(self) -> Iterator[Any]:
        raise RuntimeError("unreadable")


# --- results and decisions -------------------------------------------------------------------------------------------

WRONG_RESULTS: list[tuple[Any, str]] = [
    (5, "tools/execute was answered with 5: answer ToolSuccess"),
    (ToolFailure(error="f"), "tools/execute was answered with ToolFailure(error='f'"),  # type: ignore[arg-type]
    (ToolFailure(error=ErrorFacts(5)), "tools/execute was answered with ToolFailure("),  # type: ignore[arg-type]
    (ToolFailure(error=ErrorFacts("f", "C")), "tools/execute was answered with"),  # type: ignore[arg-type]
    (ToolFailure(error=ErrorFacts("f"), additional_contexts=None), "gave the contexts None: give a list"),  # type: ignore[arg-type]
    (ToolSuccess(value=1, additional_contexts=Unreadable()), "a listener of tools/execute gave the contexts <"),  # type: ignore[arg-type]
    (ToolSuccess(value=1, additional_contexts=["hello"]), "a context is a message, not 'hello'"),  # type: ignore[list-item]
]


@pytest.mark.parametrize(("answer", "text"), WRONG_RESULTS)
def test_a_wrapper_that_answers_no_result_fails(world: World, tools: Toolbox, answer: Any, text: str) -> None:
    """The call has its one result, which policy does not see (PIPE-ORDER-03, PIPE-ORDER-04, PIPE-AROUND-05)."""
    tools.record_stages(of=("post", "result"))
    tools.add("t")
    world.root.on(TOOLS_EXECUTE, answering(answer))
    world.take()
    result = tools.execute()
    assert text in error_of(result).message
    assert world.take() == [f"tools/result c {'error' if 'a context' not in text else 'error MALFORMED_MESSAGE'}"]


WRONG_DECISIONS: list[tuple[Any, str]] = [
    (5, "tools/post-execute was answered with 5: answer Accept() or Block(feedback)"),
    (Block(feedback="no"), "a listener of tools/post-execute blocked with the feedback 'no'"),  # type: ignore[arg-type]
    (Block(feedback=(), additional_contexts=None), "a listener of tools/post-execute gave the contexts None"),  # type: ignore[arg-type]
    (Accept(additional_contexts="no"), "a listener of tools/post-execute gave the contexts 'no'"),  # type: ignore[arg-type]
    (Accept(value=1, content=()), "tools/post-execute accept decision cannot replace both value and content"),
]


@pytest.mark.parametrize(("decision", "text"), WRONG_DECISIONS)
def test_a_decision_that_is_none_fails(world: World, tools: Toolbox, decision: Any, text: str) -> None:
    """It is the failure of the stage, and has no identity (PIPE-POST-03, PIPE-POST-05, RESULT-SHAPE-01)."""
    tools.record_stages(of=("result",))
    tools.add("t")
    world.root.on(TOOLS_POST_EXECUTE, answering(decision))
    world.take()
    error = error_of(tools.execute())
    assert text in error.message
    assert error.info is None
    assert world.take() == ["> body c", "tools/result c error"]


def test_a_value_for_a_failed_result_has_no_identity(world: World, tools: Toolbox) -> None:
    """Nothing of the harness failed (PIPE-POST-03)."""
    tools.add("t", raising(ValueError("x")))
    world.root.on(TOOLS_POST_EXECUTE, answering(Accept(value=1)))
    assert error_of(tools.execute()) == ErrorFacts("tools/post-execute cannot replace the value of a failed result")


def test_a_policy_that_decides_nothing_has_no_identity(world: World, tools: Toolbox) -> None:
    """It is the failure of the stage (PIPE-PRE-05)."""
    tools.add("t")
    world.root.on(TOOLS_PRE_EXECUTE, answering("yes"))
    error = error_of(tools.execute())
    assert "tools/pre-execute was answered with 'yes': answer Allow(), Deny(reason) or Ask()" in error.message
    assert error.info is None


def test_a_result_whose_own_code_fails_is_lossy(world: World, tools: Toolbox) -> None:
    """Whatever it is, the call comes to its one result (PIPE-ORDER-03, PIPE-FINAL-03)."""

    class Odd(dict[str, Any]):
        pass

    tools.record_stages(of=("result",))
    tools.add("t")
    failure = ToolFailure(error=ErrorFacts("f"), content=[Odd()])
    world.root.on(TOOLS_EXECUTE, answering(failure))
    world.take()
    assert error_of(tools.execute()) == ErrorFacts("tool result must be losslessly JSON-serializable")
    assert world.take() == ["tools/result c error"]


# --- who is not asynchronous, and who should not be ------------------------------------------------------------------


def test_a_body_has_to_be_asynchronous(world: World, tools: Toolbox) -> None:
    """The failure names the tool and the remedy."""
    tool = definition("s", execute=lambda *_: "done")
    world.run(lambda: tools.tools.register(world.root, tool))
    text = 'the body of tool "s" answered a str, which cannot be awaited: write it with async def'
    assert error_of(tools.execute("s")) == ErrorFacts(text)


@pytest.mark.parametrize(
    ("event", "answer"),
    [(TOOLS_PRE_EXECUTE, Deny("no")), (TOOLS_EXECUTE, ToolSuccess(value=1)), (TOOLS_POST_EXECUTE, Accept())],
    ids=lambda value: getattr(value, "name", None),
)
def test_a_listener_has_to_be_asynchronous(world: World, tools: Toolbox, event: Any, answer: Any) -> None:
    """The failure names the event and the remedy."""
    tools.add("t")
    world.root.on(event, lambda *_: answer)
    text = f"a listener of {event.name} answered a {type(answer).__name__}, which cannot be awaited"
    assert text in error_of(tools.execute()).message


async def _late(*_: object) -> Any:
    return ()


@pytest.mark.parametrize(
    ("members", "text"),
    [
        ({"output": ToolOutput(schema={}, render=_late)}, "output.render returned non-lossless JSON"),  # type: ignore[arg-type]
        (
            {"output": ToolOutput(schema={}, render=lambda *_: (), presentation_meta=_late)},  # type: ignore[arg-type]
            "output.presentationMeta returned non-lossless JSON",
        ),
        ({"finalize_content": _late}, "tool result must be losslessly JSON-serializable"),
        ({"body": lambda *_: {"late": 1, "coroutine": {2}}}, "value is not lossless JSON"),
    ],
)
def test_an_asynchronous_callback_is_closed(tools: Toolbox, members: dict[str, Any], text: str) -> None:
    """A pending computation is lossy, and Python complains of none that never ran (SCHEMA-OUT-02, PIPE-FINAL-03)."""
    tools.add("t", **members)
    assert text in error_of(tools.execute()).message


# --- texts -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (TimeoutError(), "TimeoutError"),
        (AssertionError(), "AssertionError"),
        (asyncio.CancelledError(), "cancelled"),
        (asyncio.CancelledError("by its owner"), "by its owner"),
        (ValueError(""), ""),
    ],
)
@pytest.mark.parametrize("part", ["body", "render", "finalizer", "policy"])
def test_an_error_without_a_message_is_named(
    world: World, tools: Toolbox, error: BaseException, text: str, part: str
) -> None:
    """The model is told something; a message that is empty on purpose stays (PIPE-BODY-01, SCHEMA-OUT-02)."""
    fail = raising(error)
    match part:
        case "body":
            tools.add("t", fail)
        case "render":
            tools.add("t", output=ToolOutput(schema={}, render=fail))
            text = f'tool "t" returned invalid output: output.render failed: {text}'
        case "finalizer":
            tools.add("t", finalize_content=fail)
        case _:
            tools.add("t")
            world.root.on(TOOLS_PRE_EXECUTE, fail)
    result = tools.execute()
    assert error_of(result).message == text
    assert result.content == content(f"Error: {text}")


# --- definitions -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("timeout", [None, 10**400, -(10**400)])
def test_a_timeout_that_is_there_is_a_number(world: World, tools: Toolbox, timeout: Any) -> None:
    """Nothing else is read as having none (TOOL-DEF-04, SCHEMA-OUT-03)."""
    tool = definition("t", timeout_ms=timeout)
    with pytest.raises(InvalidTool, match=r'^tool "t" timeoutMs must be a positive finite number$'):
        tools.tools.register(world.root, tool)
    with pytest.raises(InvalidTool, match=r"^defineTool\(t\): timeoutMs must be a positive finite number$"):
        define_tool(tool)


def test_a_projector_that_is_there_can_be_called(world: World, tools: Toolbox) -> None:
    """Nothing else is read as there being none (TOOL-DEF-02)."""
    output = ToolOutput(schema={}, render=lambda *_: (), presentation_meta=None)  # type: ignore[arg-type]
    with pytest.raises(InvalidTool, match='tool "t" must declare output'):
        tools.tools.register(world.root, definition("t", output=output))


# --- what cannot be changed ------------------------------------------------------------------------------------------


def in_every_stage(world: World, tools: Toolbox, act: Callable[[Any], None]) -> list[str]:
    """Have every stage and the body do something to what it is given; the refusals."""
    refusals: list[str] = []

    def attempt(given: object) -> None:
        try:
            act(given)
        except AttributeError as refusal:
            refusals.append(str(refusal))

    async def listener(given: object, proceed: Next[Any]) -> Any:
        attempt(given)
        return await proceed()

    for event in (TOOLS_PRE_EXECUTE, TOOLS_EXECUTE, TOOLS_POST_EXECUTE):
        world.root.on(event, listener)
    world.root.on(TOOLS_RESULT, attempt)
    tools.add("t", lambda _, run: attempt(run))
    assert not tools.execute().is_error
    return refusals


def test_nothing_of_an_execution_can_be_deleted(world: World, tools: Toolbox) -> None:
    """Not in any stage (PIPE-ID-03)."""

    def forget(given: object) -> None:
        execution = given if isinstance(given, ToolExecution) else getattr(given, "execution", None)
        with pytest.raises(FrozenExecution):
            del execution.name  # type: ignore[union-attr]
        del execution.signal  # type: ignore[union-attr]

    refusals = in_every_stage(world, tools, forget)
    assert refusals == ["cannot delete signal of a tool execution: nothing of it can be taken away"] * 5


def test_nothing_can_be_added_to_an_outcome(world: World, tools: Toolbox) -> None:
    """The refusal names the member, whether there is one of that name or not (PIPE-ID-03)."""

    def redirect(given: object) -> None:
        if isinstance(given, ToolOutcome):
            with pytest.raises(AttributeError, match="result"):
                given.result = None  # type: ignore[misc, assignment]
            given.signal = None  # type: ignore[attr-defined]

    assert in_every_stage(world, tools, redirect) == ["cannot assign to field 'signal'"] * 2
