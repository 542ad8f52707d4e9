"""The tool calls of an answer that is aborted, or whose scheduling fails."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from tests.reference.toolbox import Toolbox, calls, content
from tests.reference.world import USER, World, do, message, text

from dshcore.cancel_signal import CancelSignal
from dshcore.events import Next
from dshcore.tools import (
    TOOLS_PRE_EXECUTE,
    PendingCall,
    ToolExecution,
    ToolRun,
)


@pytest.fixture
def tools(world: World) -> Toolbox:
    world.create()
    return Toolbox(world)


def tool_rows(rows: list[str]) -> list[str]:
    """The rows about tools, and what ends the turn."""
    return [row for row in rows if row.startswith(("tool", "> body", "turn/end", "splice next-step", "agent/error"))]


def run(world: World, *wanted: str, arguments: str = "{}") -> list[str]:
    """Let the model call tools and then say something; the rows about tools."""
    world.model.follow(calls(*wanted, arguments=arguments), text("done"))
    world.followup("A")
    return tool_rows(world.take())


def result_events(world: World) -> list[Any]:
    return [event for event in world.session().events if event["type"] == "tool/result"]


@pytest.fixture
def two_places() -> Iterator[World]:
    """A world in which two bodies may run at once."""
    made = World(max_parallel_tool_calls=2)
    made.create()
    yield made
    made.close()


# --- aborts ----------------------------------------------------------------------------------------------------------


def test_an_abort_before_a_group_starts_none_of_it(world: World, tools: Toolbox) -> None:
    """Every call gets its pair, in model order, and passes no stage (SCHED-ABORT-01, SCHED-ABORT-03, CANCEL-MSG-01)."""
    tools.record_stages()
    tools.add("t")
    agent = world.handles["a"].agent
    world.on_event("assistant/message", lambda: agent.cancel(USER, keep_inbox=True))
    assert run(world, "c1:t", "c2:t") == [
        "tool/call c1",
        "tool/result c1 ABORTED_BEFORE_DISPATCH",
        "tool/call c2",
        "tool/result c2 ABORTED_BEFORE_DISPATCH",
        "turn/end 1 aborted",
    ]
    (event, _) = result_events(world)
    assert event["data"]["error"] == {"name": "AbortError", "code": "ABORTED_BEFORE_DISPATCH"}
    told = event["data"]["message"]["content"][0]
    assert (told["isError"], told["content"]) == (True, content("Error: tool call aborted before dispatch"))


def test_an_abort_within_a_group_waits_commits_and_then_fills_up(two_places: World) -> None:
    """No more starts; results of the started calls, then the pairs of the others (SCHED-ABORT-02, CANCEL-COOP-01)."""
    tools = Toolbox(two_places)
    tools.add_held()
    tools.add("alone")
    run(two_places, "c1:slow", "c2:slow", "c3:slow", "c4:alone")
    agent = two_places.handles["a"].agent
    two_places.run(lambda: agent.cancel(USER))
    tools.end("c2", error=ValueError("own failure"))
    assert [*tool_rows(two_places.take()), str(agent.status)] == ["running"]
    tools.end("c1")
    assert tool_rows(two_places.take()) == [
        "tool/result c1 ABORTED",
        "tool/result c2 error",
        "tool/call c3",
        "tool/result c3 ABORTED_BEFORE_DISPATCH",
        "tool/call c4",
        "tool/result c4 ABORTED_BEFORE_DISPATCH",
        "turn/end 1 aborted",
    ]
    assert agent.status == "idle"


def test_an_abort_during_policy_lets_that_call_through(world: World, tools: Toolbox) -> None:
    """It ends as aborted before dispatch, having passed its policy (sheet 70, traps)."""
    tools.record_stages(of=("post", "result"))
    tools.add("t")
    agent = world.handles["a"].agent

    def cancel(_: ToolExecution, proceed: Next[Any]) -> Any:
        agent.cancel(USER)
        return proceed()

    world.root.on(TOOLS_PRE_EXECUTE, cancel)
    world.model.follow(calls("c1:t", "c2:t"))
    world.followup("A")
    rows = [row for row in world.take() if "c1" in row or "c2" in row]
    assert rows == [
        "tool/call c1",
        "> post c1 error ABORTED_BEFORE_DISPATCH",
        "tools/result c1 error ABORTED_BEFORE_DISPATCH",
        "tool/result c1 ABORTED_BEFORE_DISPATCH",
        "tool/call c2",
        "tool/result c2 ABORTED_BEFORE_DISPATCH",
    ]


def test_an_abort_on_the_call_event_skips_its_policy(world: World, tools: Toolbox) -> None:
    """An observer cancels on `tool/call`: the pipeline is entered aborted (PIPE-CANCEL-01)."""
    tools.record_stages()
    tools.add("t")
    agent = world.handles["a"].agent
    world.on_event("tool/call", lambda: agent.cancel(USER, keep_inbox=True))
    world.model.follow(calls("c1:t"))
    world.followup("A")
    rows = [row for row in world.take() if "c1" in row]
    assert rows == [
        "tool/call c1",
        "tools/result c1 error ABORTED_BEFORE_DISPATCH",
        "tool/result c1 ABORTED_BEFORE_DISPATCH",
    ]


def test_contexts_of_an_aborted_group_are_parked(world: World, tools: Toolbox) -> None:
    """They are queued as usual, wake nothing, and the next wake has them (SCHED-ABORT-04)."""

    def body(_: object, call: ToolRun) -> Any:
        call.defer_context(message("ctx"))
        future = tools.waiting[call.call_id] = world.loop.create_future()
        return future

    tools.add("slow", body)
    run(world, "c:slow")
    agent = world.handles["a"].agent
    world.run(lambda: agent.cancel(USER))
    tools.end("c")
    assert (agent.status, [message["id"] for message in agent.inbox.next_step]) == ("idle", ["ctx"])
    world.model.follow(text("hi"))
    world.followup("B")
    assert [row for row in world.log() if row.startswith("user/message")][-2:] == ["user/message ctx", "user/message B"]


def test_bodies_hear_the_cause(world: World, tools: Toolbox) -> None:
    """The body's signal carries the cause, and is aborted when `cancel` returns (CANCEL-CAUSE-01, CANCEL-SYNC-01)."""
    seen: list[CancelSignal] = []

    def body(_: object, call: ToolRun) -> Any:
        seen.append(call.signal)
        future = tools.waiting[call.call_id] = world.loop.create_future()
        return future

    tools.add("slow", body)
    run(world, "c:slow")
    agent = world.handles["a"].agent
    told: list[bool] = []
    cause = {"kind": "hook", "reason": "why"}
    world.run(do(lambda: agent.cancel(cause), lambda: told.append(seen[0].aborted)))
    assert told == [True]
    assert seen[0].reason == {"kind": "hook", "reason": "why"}
    tools.end("c")


# --- failures of the scheduler ---------------------------------------------------------------------------------------


def test_a_refused_result_stops_everything(world: World, tools: Toolbox) -> None:
    """What runs is waited for, nothing more is committed or started, the turn fails (SCHED-FAIL-01, LOOP-APP-01)."""
    tools.add_held()
    tools.add("alone")
    world.refuse("tool/result")
    run(world, "c1:slow", "c2:slow", "c3:alone")
    tools.end("c1")
    assert tool_rows(world.take()) == []
    tools.end("c2")
    assert tool_rows(world.take()) == ["agent/error 1.1 refused tool/result", "turn/end 1 error UNKNOWN"]
    assert world.log()[-2] == "step/end 1.1"


def test_a_refused_call_is_not_started(world: World, tools: Toolbox) -> None:
    """The calls before it keep running to their ends (SCHED-FAIL-01)."""
    tools.add_held()
    world.refuse("tool/call", nth=2)
    assert run(world, "c1:slow", "c2:slow") == ["tool/call c1", "> body c1"]
    tools.end("c1")
    assert tool_rows(world.take()) == ["agent/error 1.1 refused tool/call", "turn/end 1 error UNKNOWN"]


def test_a_failure_of_dispatch_itself_fails_the_turn(
    world: World, tools: Toolbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An internal failure is no result; what runs is waited for, and nothing is committed (SCHED-FAIL-01)."""
    dispatch = PendingCall.dispatch

    async def failing(self: PendingCall) -> None:
        if self.execution.call_id == "c2":
            await asyncio.sleep(0)
            raise RuntimeError("internal")
        await dispatch(self)

    monkeypatch.setattr(PendingCall, "dispatch", failing)
    tools.add_held()
    tools.add("alone")
    run(world, "c1:slow", "c2:slow", "c3:alone")
    assert tool_rows(world.take()) == []
    tools.end("c1")
    assert tool_rows(world.take()) == ["agent/error 1.1 internal", "turn/end 1 error UNKNOWN"]


def test_no_body_starts_after_a_failure(world: World, tools: Toolbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """A call whose policy was being asked meanwhile is given up (SCHED-FAIL-01)."""
    held: Any = world.run(world.loop.create_future)
    dispatch = PendingCall.dispatch

    async def failing(self: PendingCall) -> None:
        if self.execution.call_id == "c1":
            await asyncio.sleep(0)
            raise RuntimeError("internal")
        await dispatch(self)

    async def wait(execution: ToolExecution, proceed: Next[Any]) -> Any:
        if execution.call_id == "c2":
            await held
        return await proceed()

    monkeypatch.setattr(PendingCall, "dispatch", failing)
    world.root.on(TOOLS_PRE_EXECUTE, wait)
    tools.add_held()
    run(world, "c1:slow", "c2:slow")
    world.run(lambda: held.set_result(None))
    assert tool_rows(world.take()) == ["agent/error 1.1 internal", "turn/end 1 error UNKNOWN"]


def test_a_failure_while_aborted_ends_the_turn_aborted(world: World, tools: Toolbox) -> None:
    """The cancellation wins (CANCEL-ERR-01)."""
    tools.add_held()
    world.refuse("tool/result")
    run(world, "c1:slow")
    agent = world.handles["a"].agent
    world.run(lambda: agent.cancel(USER))
    tools.end("c1")
    assert tool_rows(world.take()) == ["turn/end 1 aborted"]


def test_a_body_that_cancels_its_own_task_ends_as_aborted(world: World, tools: Toolbox) -> None:
    """It is the body's affair, and no failure of the turn."""

    async def body(*_: object) -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(0)

    tools.add("t", body)
    assert run(world, "c:t")[-2:] == ["tool/result c ABORTED", "turn/end 1 completed"]


def test_results_of_a_failed_body_are_results(world: World, tools: Toolbox) -> None:
    """A failing tool fails its call and not its turn (PIPE-ORDER-03)."""

    def body(*_: object) -> None:
        raise ValueError("own")

    tools.add("t", body)
    assert run(world, "c:t")[-2:] == ["tool/result c error", "turn/end 1 completed"]
