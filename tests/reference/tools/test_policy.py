"""What listeners make of a call: policy before and after it, wrappers, contexts, the finalizer, observers."""

import asyncio
import logging
from typing import Any

import pytest
from tests.reference.toolbox import (
    BEFORE,
    Toolbox,
    answering,
    around,
    concluding,
    content,
    context,
    deferring,
    definition,
    error_of,
    finalizing,
    raising,
    value_of,
)
from tests.reference.world import World, message

from dshcore.cancel_signal import CancelSignal
from dshcore.errors import DshError
from dshcore.events import Layer, Next
from dshcore.tools import (
    TOOLS_EXECUTE,
    TOOLS_POST_EXECUTE,
    TOOLS_PRE_EXECUTE,
    TOOLS_RESULT,
    Accept,
    Allow,
    Ask,
    Block,
    Deny,
    ErrorFacts,
    ErrorInfo,
    ToolCallRequest,
    ToolExecution,
    ToolFailure,
    ToolOutcome,
    ToolOutput,
    ToolResult,
    ToolRun,
    ToolSuccess,
)

# --- policy ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("decision", "text"),
    [
        (Deny("no"), "no"),
        (Deny(""), ""),
        (Ask("please"), "please"),
        (Ask(), 'tool "t" requires approval (not yet supported)'),
    ],
)
def test_a_denial_is_a_failure_with_the_reason(world: World, tools: Toolbox, decision: Any, text: str) -> None:
    """No identity, no body (PIPE-PRE-01); without an approval service to ask is to deny (PIPE-PRE-02)."""
    tools.add("t")
    world.root.on(TOOLS_PRE_EXECUTE, answering(decision))
    result = tools.execute()
    assert result == ToolFailure(error=ErrorFacts(text), content=content(f"Error: {text}"))
    assert world.take() == []


def test_listeners_nest_and_the_outermost_decides(world: World, tools: Toolbox) -> None:
    """A denial by an inner listener may be turned into an allowance by an outer one (PIPE-ORDER-05)."""

    async def overrule(_: ToolExecution, proceed: Next[Any]) -> Any:
        assert await proceed() == Deny("no")
        return Allow()

    tools.add("t")
    world.root.on(TOOLS_PRE_EXECUTE, overrule)
    world.root.on(TOOLS_PRE_EXECUTE, answering(Deny("no")))
    world.root.on(TOOLS_PRE_EXECUTE, raising(AssertionError()))
    assert not tools.execute().is_error


def test_stages_reach_the_listeners_of_their_scope(world: World, tools: Toolbox) -> None:
    """A scoped listener hears the calls of its agent, a plain one all (PIPE-ORDER-06)."""
    one, other = world.create("a"), world.create("b")
    heard: list[str] = []

    def listener(name: str) -> Layer[ToolExecution, Any]:
        async def hear(execution: ToolExecution, proceed: Next[Any]) -> Any:
            heard.append(f"{name} {execution.call_id}")
            return await proceed()

        return hear

    world.run(lambda: one.ctx.on(TOOLS_PRE_EXECUTE, listener("one")))
    world.root.on(TOOLS_PRE_EXECUTE, listener("plain"))
    tools.add("t")
    for call_id, scope in (("c1", one), ("c2", other), ("c3", None)):
        tools.execute(call_id=call_id, scope=scope)
    assert heard == ["one c1", "plain c1", "plain c2", "plain c3"]


# --- wrappers --------------------------------------------------------------------------------------------------------


def test_a_wrapper_sees_failures_as_results(world: World, tools: Toolbox) -> None:
    """Whatever the body does (PIPE-AROUND-01)."""
    tools.record_stages(of=("around",))
    tools.add("t", raising(ValueError()))
    tools.execute()
    tools.execute("ghost")
    assert [row for row in world.take() if row.startswith("<")] == ["< around c error", "< around c error UNKNOWN_TOOL"]


def test_of_a_success_of_its_own_only_value_and_contexts_count(world: World, tools: Toolbox) -> None:
    """The tool renders it; nobody else concludes (PIPE-AROUND-02, PIPE-CONCLUDE-02)."""
    own = ToolSuccess(
        value="sc", content=content("other"), meta=1, concludes_turn=True, additional_contexts=(message("w"),)
    )
    tools.add("t")
    world.root.on(TOOLS_EXECUTE, answering(own))
    assert tools.execute() == ToolSuccess(value="sc", content=content("<sc>"), additional_contexts=(context("w"),))


def test_a_success_for_nobody(world: World, tools: Toolbox) -> None:
    """A wrapper may fail an unknown name in its own words, but not answer for it (UNKNOWN-TOOL-04)."""
    tools.record_stages(of=("post",))
    off = world.root.on(TOOLS_EXECUTE, answering(ToolSuccess(value=1)))
    assert error_of(tools.execute("ghost")).info == ErrorInfo("ToolNotFoundError", "UNKNOWN_TOOL")
    assert world.take() == []
    world.run(off)
    own = ToolFailure(error=ErrorFacts("mine"), content=())
    world.root.on(TOOLS_EXECUTE, answering(own))
    assert tools.execute("ghost") == own


def test_a_result_of_another_call_is_one_of_its_own(world: World, tools: Toolbox) -> None:
    """It is rendered by the tool that was called (PIPE-AROUND-03)."""
    tools.add("t")
    kept = tools.execute()
    tools.add("u", output=ToolOutput(schema={}, render=lambda *_: content("u's")))
    world.root.on(TOOLS_EXECUTE, answering(kept))
    assert tools.execute("u").content == content("u's")


def test_a_success_of_its_own_is_rendered_by_the_tool_that_is_there_now(world: World, tools: Toolbox) -> None:
    """Its body may have withdrawn or replaced the tool meanwhile (PIPE-AROUND-02, PIPE-AROUND-03)."""
    disposers: list[Any] = []

    def body(_: object, run: ToolRun) -> None:
        disposers.pop()()
        if run.call_id == "replaced":
            new = ToolOutput(schema={}, render=lambda *_: content("new"))
            disposers.append(tools.tools.register(world.root, definition("t", output=new)))

    async def own(_: ToolExecution, proceed: Next[Any]) -> Any:
        await proceed()
        return ToolSuccess(value="own")

    world.root.on(TOOLS_EXECUTE, own)
    disposers.append(tools.add("t", body))
    assert tools.execute(call_id="replaced").content == content("new")
    world.run(disposers.pop())
    disposers.append(tools.add("t", body))
    assert error_of(tools.execute()).info == ErrorInfo("ToolNotFoundError", "UNKNOWN_TOOL")


def test_the_conclusion_belongs_to_the_execution(world: World, tools: Toolbox) -> None:
    """An earlier result, returned after a later attempt concluded, concludes too (PIPE-CONCLUDE-02)."""
    attempts: list[ToolRun] = []

    def body(_: object, run: ToolRun) -> None:
        attempts.append(run)
        if len(attempts) > 1:
            run.conclude_turn()

    async def twice(_: ToolExecution, proceed: Next[Any]) -> Any:
        first = await proceed()
        await proceed()
        return first

    tools.add("t", body)
    world.root.on(TOOLS_EXECUTE, twice)
    result = tools.execute()
    assert not result.is_error
    assert result.concludes_turn


def test_a_failure_of_its_own_is_taken_as_given(world: World, tools: Toolbox) -> None:
    """Message, content and meta (PIPE-AROUND-04)."""
    tools.add("t")
    own = ToolFailure(error=ErrorFacts("f", ErrorInfo("N", "C")), content=(), meta=[1])
    world.root.on(TOOLS_EXECUTE, answering(own))
    result = tools.execute()
    assert (error_of(result), result.content, result.meta) == (own.error, (), (1,))


def test_a_wrapper_that_fails_after_the_body_loses_its_contexts(world: World, tools: Toolbox) -> None:
    """The call has the wrapper's failure (PIPE-AROUND-05)."""
    tools.add("t", lambda _, run: run.defer_context(message("d")))
    around(world, raising(ValueError("late")))
    result = tools.execute()
    assert (error_of(result).message, result.additional_contexts) == ("late", ())


def test_a_wrapper_may_try_again(world: World, tools: Toolbox) -> None:
    """The last result counts, the contexts of all attempts are kept, a conclusion stays (PIPE-AROUND-06)."""
    attempts: list[ToolRun] = []

    def body(_: object, run: ToolRun) -> str:
        attempts.append(run)
        run.defer_context(message(f"d{len(attempts)}"))
        if len(attempts) == 1:
            run.conclude_turn()
            raise ValueError("first")
        return "second"

    async def retry(_: ToolExecution, proceed: Next[Any]) -> Any:
        result = await proceed()
        return await proceed() if result.is_error else result

    tools.add("t", body)
    world.root.on(TOOLS_EXECUTE, retry)
    result = tools.execute()
    assert value_of(result) == "second"
    assert [each["id"] for each in result.additional_contexts] == ["d1", "d2"]
    assert result == ToolSuccess(
        value="second", content=content("<second>"), concludes_turn=True, additional_contexts=result.additional_contexts
    )
    assert attempts[0].token is attempts[1].token


@pytest.mark.parametrize("aborted", ["callers", "own"])
def test_a_replaced_signal_does_not_detach_the_body(world: World, tools: Toolbox, aborted: str) -> None:
    """Either signal aborts the body's, with its reason; the replacement itself is not touched (PIPE-AROUND-07)."""
    callers, own = CancelSignal(), CancelSignal()
    seen: list[object] = []

    def body(_: object, run: ToolRun) -> None:
        (callers if aborted == "callers" else own).abort(aborted)
        seen.extend((run.signal.aborted, run.signal.reason))

    async def replace(execution: ToolExecution, proceed: Next[Any]) -> Any:
        execution.signal = own
        result = await proceed()
        seen.append(execution.signal)
        return result

    world.root.on(TOOLS_EXECUTE, replace)
    tools.add("t", body)
    tools.execute(signal=callers)
    assert seen == [True, aborted, own]
    assert own.aborted is (aborted == "own")


def test_a_body_that_has_ended_hears_no_more_of_replaced_signals(world: World, tools: Toolbox) -> None:
    """Nothing is left registered with either (PIPE-AROUND-07)."""
    callers, own = CancelSignal(), CancelSignal()
    seen: list[CancelSignal] = []

    async def replace(execution: ToolExecution, proceed: Next[Any]) -> Any:
        execution.signal = own
        return await proceed()

    world.root.on(TOOLS_EXECUTE, replace)
    tools.add("t", lambda _, run: seen.append(run.signal))
    tools.execute(signal=callers)
    callers.abort("late")
    own.abort("late")
    assert not seen[0].aborted


# --- policy on results -----------------------------------------------------------------------------------------------


def test_an_accepted_content_replaces_the_content_alone(world: World, tools: Toolbox) -> None:
    """Of successes and of failures (PIPE-POST-01)."""
    tools.add("t", concluding)
    tools.add("bad", raising(DshError("d", code="C")))
    world.root.on(TOOLS_POST_EXECUTE, answering(Accept(content=content("new"))))
    assert tools.execute() == ToolSuccess(value="v", content=content("new"), concludes_turn=True)
    assert tools.execute("bad") == ToolFailure(
        error=ErrorFacts("d", ErrorInfo("DshError", "C")), content=content("new")
    )


def test_an_accepted_value_is_rendered_anew(world: World, tools: Toolbox) -> None:
    """The conclusion stays with the execution (PIPE-POST-02, PIPE-CONCLUDE-02)."""
    tools.add("t", concluding)
    world.root.on(TOOLS_POST_EXECUTE, answering(Accept(value="nv")))
    assert tools.execute() == ToolSuccess(value="nv", content=content("<nv>"), concludes_turn=True)


@pytest.mark.parametrize(
    ("name", "decision", "text"),
    [
        ("t", Accept(value=1, content=()), "accept decision cannot replace both value and content"),
        ("bad", Accept(value=1, content=()), "accept decision cannot replace both value and content"),
        ("bad", Accept(value=1), "tools/post-execute cannot replace the value of a failed result"),
        ("t", Accept(value=float("nan")), 'tool "t" returned invalid output: value is not lossless JSON'),
    ],
)
def test_a_value_that_cannot_be_accepted(world: World, tools: Toolbox, name: str, decision: Any, text: str) -> None:
    """The call fails (PIPE-POST-02, PIPE-POST-03)."""
    tools.add("t")
    tools.add("bad", raising(ValueError()))
    world.root.on(TOOLS_POST_EXECUTE, answering(decision))
    assert text in error_of(tools.execute(name)).message


@pytest.mark.parametrize(
    ("feedback", "text"),
    [
        (({"type": "text", "text": "a"}, {"type": "image"}, {"type": "text", "text": "b"}), "a\n[image content]\nb"),
        ((), "tool result blocked by post-execute policy"),
    ],
)
def test_a_blocked_result_is_the_feedback(world: World, tools: Toolbox, feedback: Any, text: str) -> None:
    """Nothing else of it is left, contexts included (PIPE-POST-04, PIPE-CTX-03, PIPE-CONCLUDE-01)."""

    def body(_: object, run: ToolRun) -> None:
        run.conclude_turn()
        run.defer_context(message("d"))

    tools.add("t", body)
    world.root.on(TOOLS_POST_EXECUTE, answering(Block(feedback=feedback, additional_contexts=(message("b"),))))
    assert tools.execute() == ToolFailure(error=ErrorFacts(text), content=feedback, additional_contexts=(context("b"),))


# --- contexts and conclusion -----------------------------------------------------------------------------------------


def test_contexts_stand_in_the_order_of_their_sources(world: World, tools: Toolbox) -> None:
    """The body's, the wrapper's, the policy's; the wrapper does not see the body's (PIPE-CTX-01, PIPE-CTX-04)."""
    seen: list[int] = []

    def body(_: object, run: ToolRun) -> str:
        run.defer_context(message("d1"))
        run.defer_context(message("d2"))
        return "ok"

    def wrap(_: ToolExecution, result: ToolResult) -> ToolResult:
        seen.append(len(result.additional_contexts))
        return ToolSuccess(value="w", additional_contexts=(message("w"),))

    async def post(outcome: ToolOutcome, _: Next[Any]) -> Any:
        seen.append(len(outcome.result.additional_contexts))
        return Accept(additional_contexts=(message("p"),))

    tools.add("t", body)
    around(world, wrap)
    world.root.on(TOOLS_POST_EXECUTE, post)
    assert [each["id"] for each in tools.execute().additional_contexts] == ["d1", "d2", "w", "p"]
    assert seen == [0, 3]


def test_contexts_survive_a_failure_and_a_conclusion_does_not(tools: Toolbox) -> None:
    """PIPE-CTX-02, PIPE-CONCLUDE-01."""
    tools.add("fails", deferring(raising(ValueError())))
    tools.add("lossy", deferring(lambda _: {1}))
    for name in ("fails", "lossy"):
        result = tools.execute(name)
        assert result.is_error
        assert [each["id"] for each in result.additional_contexts] == ["d"]
        assert not hasattr(result, "concludes_turn")


def test_a_context_is_the_message_of_that_moment(tools: Toolbox) -> None:
    """Later changes do not show; one that is no JSON makes the result a failure (PIPE-FINAL-03)."""
    said: dict[str, Any] = message("d")

    def body(_: object, run: ToolRun) -> None:
        run.defer_context(said)
        said["id"] = "changed"

    tools.add("t", body)
    tools.add("lossy", lambda _, run: run.defer_context({**message("l"), "x": {1}}))  # type: ignore[dict-item]
    assert tools.execute().additional_contexts[0] == context("d")
    assert error_of(tools.execute("lossy")).message == "tool result must be losslessly JSON-serializable"


# --- finalizer and observers -----------------------------------------------------------------------------------------


def test_the_finalizer_replaces_the_content_alone(world: World, tools: Toolbox) -> None:
    """Of every outcome of a visible tool; answering nothing keeps it (PIPE-FINAL-01)."""
    tools.add("t", finalize_content=finalizing(world, content("final")))
    signal = CancelSignal()
    signal.abort("why")
    assert tools.execute() == ToolSuccess(value="ok", content=content("final"))
    assert tools.execute(signal=signal) == ToolFailure(error=BEFORE, content=content("final"))


@pytest.mark.parametrize(
    ("finalize", "text"),
    [
        (raising(ValueError("f")), "f"),
        (lambda *_: {1}, "tool result must be losslessly JSON-serializable"),
        (lambda *_: asyncio.get_running_loop().create_future(), "tool result must be losslessly JSON-serializable"),
    ],
)
def test_a_finalizer_that_fails(tools: Toolbox, finalize: Any, text: str) -> None:
    """Everything but its failure is dropped (PIPE-FINAL-03)."""
    tools.add("t", deferring(lambda _: "ok"), finalize_content=finalize)
    assert tools.execute() == ToolFailure(error=ErrorFacts(text), content=content(f"Error: {text}"))


def test_observers_change_nothing(world: World, tools: Toolbox, caplog: pytest.LogCaptureFixture) -> None:
    """All are called; one that fails is reported (PIPE-RESULT-01)."""
    heard: list[str] = []
    world.root.on(TOOLS_RESULT, raising(ValueError("observer")))
    world.root.on(TOOLS_RESULT, lambda _: heard.append("second"))
    tools.add("t")
    with caplog.at_level(logging.WARNING):
        assert not tools.execute().is_error
    assert heard == ["second"]
    assert caplog.messages == ['tool "t" (c): tools/result listener threw: ValueError: observer']


def test_stages_are_reentrant(world: World, tools: Toolbox) -> None:
    """Policy may make calls, and observers start them (PIPE-RESULT-02)."""
    tools.record_stages(of=("result",))

    async def pre(execution: ToolExecution, proceed: Next[Any]) -> Any:
        if execution.name == "t":
            asked = ToolCallRequest(call_id="u", name="u", arguments={}, signal=CancelSignal())
            await tools.tools.execute(asked)
        return await proceed()

    world.root.on(TOOLS_PRE_EXECUTE, pre)
    tools.add("t")
    tools.add("u")
    tools.execute()
    assert [row for row in world.take() if row.startswith("tools")] == ["tools/result u ok", "tools/result c ok"]
