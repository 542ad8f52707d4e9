"""A call whose signal is aborted, wherever it is; and one whose caller is cancelled by the host."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from tests.reference.toolbox import (
    ABORTED,
    BEFORE,
    Toolbox,
    answering,
    content,
    deferring,
    error_of,
    raising,
    shown,
)
from tests.reference.world import World

from dshcore.cancel_signal import CancelSignal
from dshcore.errors import DshError
from dshcore.events import Next
from dshcore.json import JsonObject
from dshcore.tools import (
    TOOLS_EXECUTE,
    TOOLS_POST_EXECUTE,
    TOOLS_PRE_EXECUTE,
    Block,
    Deny,
    ErrorFacts,
    ToolExecution,
    ToolFailure,
    ToolRun,
    ToolSuccess,
)


@pytest.mark.parametrize("name", ["t", "ghost"])
def test_aborted_at_entry(tools: Toolbox, name: str) -> None:
    """No policy, no body; unknown tools too (PIPE-CANCEL-01)."""
    signal = CancelSignal()
    signal.abort({"kind": "user"})
    tools.add("t")
    result = tools.execute(name, signal=signal)
    assert result == ToolFailure(error=BEFORE, content=content("Error: tool call aborted before dispatch"))


def test_a_started_body_is_waited_for(world: World, tools: Toolbox) -> None:
    """The abort does not end the call before it, and its success is replaced (PIPE-BODY-04, PIPE-CANCEL-05)."""
    signal = CancelSignal()
    tools.add_held()
    running = tools.start("slow", signal=signal)
    world.run(lambda: signal.abort("why"))
    assert not running.done()
    tools.end("c")
    assert running.result() == ToolFailure(error=ABORTED, content=content("Error: tool call aborted"))


def test_an_aborted_success_keeps_its_contexts(tools: Toolbox) -> None:
    """Value, meta and conclusion are dropped (PIPE-CANCEL-05)."""
    signal = CancelSignal()
    tools.add("t", deferring(lambda _: signal.abort("why")))
    result = tools.execute(signal=signal)
    assert (error_of(result), [each["id"] for each in result.additional_contexts]) == (ABORTED, ["d"])


def test_a_failure_is_never_replaced_by_an_abort(world: World, tools: Toolbox) -> None:
    """Of the body, of its output, of policy (PIPE-CANCEL-06, PIPE-CANCEL-03)."""

    def abort_and(then: Callable[..., Any]) -> Callable[..., Any]:
        def act(*given: Any) -> Any:
            signals[0].abort("why")
            return then(*given)

        return act

    signals = [CancelSignal()]
    tools.add("fails", abort_and(raising(DshError("own", code="OWN"))))
    tools.add("lossy", abort_and(lambda *_: {1}))
    tools.add("t")
    assert error_of(tools.execute("fails", signal=signals[0])).message == "own"
    signals[0] = CancelSignal()
    assert "lossless" in error_of(tools.execute("lossy", signal=signals[0])).message
    for key, policy in (
        (TOOLS_PRE_EXECUTE, abort_and(answering(Deny("denied")))),
        (TOOLS_EXECUTE, abort_and(raising(ValueError("denied")))),
        (TOOLS_POST_EXECUTE, abort_and(answering(Block(feedback=content("denied"))))),
    ):
        signals[0] = CancelSignal()
        off = world.root.on(key, policy)
        assert error_of(tools.execute(signal=signals[0])).message == "denied"
        world.run(off)


def test_work_given_up_for_its_signal_is_the_abort(tools: Toolbox) -> None:
    """A body that stops because it was asked to: the cause does not show (PIPE-CANCEL-08)."""
    signal = CancelSignal()

    def body(_: object, run: ToolRun) -> None:
        signal.abort({"kind": "user"})
        run.signal.raise_if_aborted()

    tools.add("t", body)
    assert error_of(tools.execute(signal=signal)) == ABORTED


def aborting(world: World, key: Any, *, after: bool) -> CancelSignal:
    """A listener that aborts the call's signal before or after it delegates."""
    signal = CancelSignal()

    async def listener(_: object, proceed: Next[Any]) -> Any:
        if not after:
            signal.abort("why")
        answer = await proceed()
        signal.abort("why")
        return answer

    world.root.on(key, listener)
    return signal


@pytest.mark.parametrize(
    ("key", "after", "outcome"),
    [
        (TOOLS_PRE_EXECUTE, False, (BEFORE, [])),
        (TOOLS_EXECUTE, False, (BEFORE, ["> around c"])),
        (TOOLS_EXECUTE, True, (ABORTED, ["> around c", "> body c"])),
        (TOOLS_POST_EXECUTE, False, (ABORTED, ["> around c", "> body c"])),
    ],
)
def test_an_abort_in_a_stage(world: World, tools: Toolbox, key: Any, after: bool, outcome: Any) -> None:
    """The code tells whether the body had begun (PIPE-CANCEL-02, PIPE-CANCEL-04, PIPE-CANCEL-07)."""
    tools.record_stages(of=("around",))
    tools.add("t")
    signal = aborting(world, key, after=after)
    error = error_of(tools.execute(signal=signal))
    assert (error, [row for row in world.take() if row[0] == ">"]) == outcome


def test_an_abort_of_a_call_that_a_wrapper_answered(world: World, tools: Toolbox) -> None:
    """Its body never began (PIPE-CANCEL-07)."""
    signal = CancelSignal()

    async def answer(*_: object) -> ToolSuccess:
        signal.abort("why")
        return ToolSuccess(value=1)

    tools.add("t")
    world.root.on(TOOLS_EXECUTE, answer)
    assert error_of(tools.execute(signal=signal)) == BEFORE


def test_an_abort_after_policy_changes_nothing(tools: Toolbox) -> None:
    """In the finalizer the result stands (PIPE-CANCEL-08)."""
    signal = CancelSignal()
    tools.add("t", finalize_content=lambda *_: signal.abort("why") and None)
    assert not tools.execute(signal=signal).is_error


def test_a_deadline_of_a_wrapper_and_its_second_attempt(world: World, tools: Toolbox) -> None:
    """A wrapper's own abort is its own affair (PIPE-CANCEL-09)."""
    told: list[str] = []
    deadlines: list[CancelSignal] = []

    async def deadline(execution: ToolExecution, proceed: Next[Any]) -> Any:
        callers = execution.signal
        execution.signal = CancelSignal()
        deadlines.append(execution.signal)
        told.append(shown(await proceed()))
        execution.signal = callers
        return await proceed()

    tools.add("t", lambda *_: deadlines[0].abort("late") and "ok")
    world.root.on(TOOLS_EXECUTE, deadline)
    assert not tools.execute().is_error
    assert told == ["error ABORTED"]


def test_a_cancelled_caller_has_no_result(world: World, tools: Toolbox) -> None:
    """The host's cancellation is delivered to the body and goes on."""
    ended: list[str] = []

    async def body(*_: object) -> None:
        try:
            await world.loop.create_future()
        finally:
            ended.append("body")

    tools.record_stages(of=("result",))
    tools.add("t", body)
    running = tools.start()
    world.run(running.cancel)
    assert (running.cancelled(), ended) == (True, ["body"])
    assert [row for row in world.take() if row.startswith("tools")] == []


def test_awaiting_what_was_cancelled_is_the_bodys_own_failure(world: World, tools: Toolbox) -> None:
    """It is no cancellation of the call (PIPE-ORDER-03)."""

    async def body(*_: object) -> None:
        future: asyncio.Future[JsonObject] = world.loop.create_future()
        future.cancel()
        await future

    tools.add("t", body)
    assert error_of(tools.execute()) == ErrorFacts("cancelled")
