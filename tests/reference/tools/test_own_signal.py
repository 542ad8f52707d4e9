"""Whose abort it is: that of the call's own signal, or a failure like any other."""

import asyncio
from typing import Any

import pytest
from tests.reference.toolbox import ABORTED, BEFORE, Toolbox, error_of, raising, shown
from tests.reference.world import World
from typeguard import suppress_type_checks

from dshcore.cancel_signal import CancelSignal
from dshcore.events import Next
from dshcore.tools import (
    TOOLS_EXECUTE,
    TOOLS_POST_EXECUTE,
    TOOLS_PRE_EXECUTE,
    ErrorFacts,
    ErrorInfo,
    ToolCallRequest,
    ToolExecution,
    ToolOutcome,
    ToolOutput,
    ToolRun,
)


def aborted_signal(reason: object) -> CancelSignal:
    signal = CancelSignal()
    signal.abort(reason)
    return signal


def test_a_policy_that_gives_up_comes_before_dispatch(world: World, tools: Toolbox) -> None:
    """The body was not invoked, and the reason does not show (PIPE-CANCEL-02, PIPE-CANCEL-08)."""
    signal = CancelSignal()
    tools.add("t")

    async def policy(execution: ToolExecution, _: Next[Any]) -> Any:
        signal.abort({"kind": "why"})
        execution.signal.raise_if_aborted()

    world.root.on(TOOLS_PRE_EXECUTE, policy)
    assert error_of(tools.execute(signal=signal)) == BEFORE


@pytest.mark.parametrize(("delegates", "wanted"), [(False, BEFORE), (True, ABORTED)])
def test_a_wrapper_that_gives_up(world: World, tools: Toolbox, delegates: bool, wanted: ErrorFacts) -> None:
    """Before the body it is before dispatch, behind it after (PIPE-CANCEL-07)."""
    signal = CancelSignal()
    tools.add("t")

    async def wrapper(execution: ToolExecution, proceed: Next[Any]) -> Any:
        if delegates:
            await proceed()
        signal.abort("why")
        execution.signal.raise_if_aborted()

    world.root.on(TOOLS_EXECUTE, wrapper)
    assert error_of(tools.execute(signal=signal)) == wanted


def test_a_body_that_gives_up_over_a_wrappers_signal(world: World, tools: Toolbox) -> None:
    """The wrapper sees the abort of the signal that it gave (PIPE-AROUND-07, PIPE-CANCEL-09)."""
    budget, seen = CancelSignal(), []

    def body(_: object, run: ToolRun) -> None:
        budget.abort("too long")
        run.signal.raise_if_aborted()

    async def wrapper(execution: ToolExecution, proceed: Next[Any]) -> Any:
        execution.signal = budget
        result = await proceed()
        seen.append(shown(result))
        return result

    tools.add("t", body)
    world.root.on(TOOLS_EXECUTE, wrapper)
    assert error_of(tools.execute()) == ABORTED
    assert seen == ["error ABORTED"]


@pytest.mark.parametrize("cancelled", [False, True])
@pytest.mark.parametrize("event", [None, TOOLS_PRE_EXECUTE, TOOLS_EXECUTE, TOOLS_POST_EXECUTE])
def test_an_abort_of_somebody_elses_signal_is_a_failure(
    world: World, tools: Toolbox, event: Any, cancelled: bool
) -> None:
    """It keeps its text and its code, also when the call is aborted (PIPE-BODY-01, PIPE-CANCEL-03, PIPE-CANCEL-06)."""
    signal = CancelSignal()

    def give_up(*_: object) -> Any:
        if cancelled:
            signal.abort("why")
        aborted_signal("a deadline of its own").raise_if_aborted()

    tools.add("t", give_up if event is None else None)
    if event is not None:
        world.root.on(event, give_up)
    wanted = ErrorFacts("aborted: 'a deadline of its own'", ErrorInfo("Aborted", "ABORTED"))
    assert error_of(tools.execute(signal=signal)) == wanted


@pytest.mark.parametrize("event", [None, TOOLS_PRE_EXECUTE, TOOLS_POST_EXECUTE])
def test_signals_are_not_told_apart_by_their_reasons(world: World, tools: Toolbox, event: Any) -> None:
    """Two calls cancelled for the same reason have two aborts (PIPE-CANCEL-11)."""
    signal = CancelSignal()

    def give_up(*_: object) -> Any:
        signal.abort("why")
        aborted_signal("why").raise_if_aborted()

    tools.add("t", give_up if event is None else None)
    if event is not None:
        world.root.on(event, give_up)
    assert error_of(tools.execute(signal=signal)).message == "aborted: 'why'"


def test_behind_the_wrappers_the_callers_signal_alone_counts(world: World, tools: Toolbox) -> None:
    """One that a wrapper left in place is nobody's any more (PIPE-CANCEL-11)."""
    budget = aborted_signal("too long")

    async def wrapper(execution: ToolExecution, proceed: Next[Any]) -> Any:
        result = await proceed()
        execution.signal = budget
        return result

    async def policy(outcome: ToolOutcome, _: Next[Any]) -> Any:
        outcome.execution.signal.raise_if_aborted()

    tools.add("t")
    world.root.on(TOOLS_EXECUTE, wrapper)
    world.root.on(TOOLS_POST_EXECUTE, policy)
    assert error_of(tools.execute()).message == "aborted: 'too long'"


def test_a_signal_is_replaced_by_a_signal(world: World, tools: Toolbox) -> None:
    """What is none is refused where it is assigned (PIPE-AROUND-01)."""

    async def wrapper(execution: ToolExecution, proceed: Next[Any]) -> Any:
        execution.signal = "stop"  # type: ignore[assignment]
        return await proceed()

    tools.add("t")
    world.root.on(TOOLS_EXECUTE, wrapper)
    with suppress_type_checks():
        assert error_of(tools.execute()).message == (
            "the signal of a tool execution is a CancelSignal, not 'stop': replace it by one"
        )


# --- cancellations that nobody ordered -------------------------------------------------------------------------------


def test_a_classifier_that_was_cancelled_cannot_tell(world: World, tools: Toolbox) -> None:
    """The call is exclusive (MODE-CLASS-01)."""
    tools.add("t", is_concurrency_safe=raising(asyncio.CancelledError()))
    call = ToolCallRequest(call_id="c", name="t", arguments={}, signal=CancelSignal())
    assert world.run(lambda: tools.tools.mode(call)) == "exclusive"


@pytest.mark.parametrize("part", ["render", "presentation_meta"])
def test_a_renderer_that_was_cancelled_has_failed(world: World, tools: Toolbox, part: str) -> None:
    """The wrapper gets a result, and the call has one (PIPE-AROUND-01, SCHEMA-OUT-02, PIPE-ORDER-04)."""
    tools.record_stages()
    parts: dict[str, Any] = {"render": lambda *_: (), part: raising(asyncio.CancelledError())}
    tools.add("t", output=ToolOutput(schema={}, **parts))
    world.take()
    name = "render" if part == "render" else "presentationMeta"
    error = error_of(tools.execute())
    assert error.message == f'tool "t" returned invalid output: output.{name} failed: cancelled'
    assert world.take() == [
        "> pre c",
        "> around c",
        "> body c",
        "< around c error INVALID_TOOL_OUTPUT",
        "> post c error INVALID_TOOL_OUTPUT",
        "tools/result c error INVALID_TOOL_OUTPUT",
    ]
