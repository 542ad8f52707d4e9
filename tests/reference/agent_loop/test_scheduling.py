"""The tool calls of one answer: arguments, order, overlap, commit, contexts, conclusion."""

from typing import Any

import pytest
from tests.reference.tool_turns import result_events, run, tool_rows
from tests.reference.toolbox import Toolbox, calls, content, definition
from tests.reference.world import World, cut, do, finish, message, stream, text

from dshcore.agent import AGENT_PRE_STEP, AgentPreStep
from dshcore.agent_loop import LoopMisconfigured
from dshcore.agent_loop.scheduling import calls_of, parse_arguments
from dshcore.events import Layer, Next
from dshcore.json import freeze
from dshcore.settings import SETTINGS, MemorySettings
from dshcore.tools import (
    TOOLS_PRE_EXECUTE,
    TOOLS_RESULT,
    Deny,
    ToolExecution,
    ToolOutcome,
    ToolOutput,
    ToolRun,
)
from dshcore.variants import Unreadable

# --- arguments -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", {}),
        ("not json", "not json"),
        ("null", None),
        ("[1]", (1,)),
        ('{"a" : 1.0}', {"a": 1}),
        ("NaN", "NaN"),
        ("[Infinity]", "[Infinity]"),
        (" ", " "),
        ('{"a":1,}', '{"a":1,}'),
    ],
)
def test_arguments_are_parsed_leniently(text: str, value: object) -> None:
    """Empty text means no arguments, text that is no JSON stands for itself (SCHED-ARGS-01)."""
    assert parse_arguments(text) == value


def test_the_log_has_the_raw_text_and_policy_the_value(world: World, tools: Toolbox) -> None:
    """The model's text is logged as it is; the pipeline gets it parsed, and a bad one fails no turn (SCHED-ARGS-01)."""
    seen: list[object] = []
    tools.add("t", lambda arguments, _: seen.append(arguments))
    for raw in ("", "not json", "null", '{"a" : 1}'):
        run(world, "c:t", arguments=raw)
    assert seen == [{}, "not json", None, {"a": 1}]
    logged = [event["data"]["arguments"] for event in world.session().events if event["type"] == "tool/call"]
    assert logged == ["", "not json", "null", '{"a" : 1}']


def test_lossy_arguments_fail_their_call_alone(world: World, tools: Toolbox) -> None:
    """Arguments that JSON carries with a loss are refused by the pipeline, and the model is told (PIPE-ARGS-02)."""
    tools.add("t")
    assert run(world, "c:t", arguments='{"a":-0.0}') == ["tool/call c", "tool/result c error", "turn/end 1 completed"]
    told = result_events(world)[0]["data"]["message"]["content"][0]["content"]
    assert told == content("Error: tool execution arguments must be losslessly JSON-serializable")


def test_a_call_without_arguments_fails_the_turn() -> None:
    """A tool-call block without its members is no call: the text says what is missing."""
    with pytest.raises(Unreadable, match="missing required field `arguments`"):
        calls_of(freeze({"content": [{"type": "tool-call", "id": "c", "name": "t"}]}))


# --- one call --------------------------------------------------------------------------------------------------------


def test_a_call_is_logged_before_its_policy_and_its_result_cites_it(world: World, tools: Toolbox) -> None:
    """`tool/call`, policy, body, policy on the result, notification, `tool/result` (SCHED-CALL-01, PIPE-ORDER-04)."""
    tools.record_stages()
    tools.add("t")
    rows = [row for row in run(world, "c:t") if row.startswith("tool")]
    assert rows == ["tool/call c", "tools/result c ok", "tool/result c ok"]
    call, result = (event for event in world.session().events if event["type"] in ("tool/call", "tool/result"))
    assert result["sourceEventSeqs"] == (call["seq"],)
    assert result["surfaceOp"] == "append"
    message = result["data"]["message"]
    assert message["source"] == {"kind": "tool", "callId": "c"}
    assert message["content"] == (
        {"type": "tool-result", "toolCallId": "c", "content": content("<ok>"), "isError": False},
    )


def test_the_value_stays_out_of_the_log(world: World, tools: Toolbox) -> None:
    """Only content, meta and the failure's identity are durable (RESULT-LOCAL-01, LOG-EVT-13)."""
    output = ToolOutput(schema={}, render=lambda *_: content("shown"), presentation_meta=lambda *_: {"n": 1})

    def body(_: object, call: ToolRun) -> str:
        call.defer_context(message("ctx"))
        call.conclude_turn()
        return "secret"

    tools.add("t", body, output=output)
    run(world, "c:t")
    (event,) = result_events(world)
    assert set(event["data"]) == {"turn", "step", "message", "meta"}
    assert event["data"]["meta"] == {"n": 1}
    assert "secret" not in str(event)


def test_a_plain_failure_has_no_identity_in_the_log(world: World, tools: Toolbox) -> None:
    """`error` is there for coded failures only, and never has the text (LOG-EVT-13)."""

    def body(*_: object) -> None:
        raise ValueError("plain")

    tools.add("t", body)
    run(world, "c1:t", "c2:nope")
    plain, unknown = result_events(world)
    assert "error" not in plain["data"]
    assert unknown["data"]["error"] == {"name": "ToolNotFoundError", "code": "UNKNOWN_TOOL"}


def test_every_call_is_made_for_its_agent_on_the_signal_of_its_turn(world: World, tools: Toolbox) -> None:
    """Body and policy see the agent, the turn's signal and one token (CANCEL-SIGNAL-01, PIPE-ID-01)."""
    seen: list[ToolExecution] = []
    signals: list[object] = []

    async def pre_step(hook: AgentPreStep, proceed: Next[Any]) -> Any:
        signals.append(hook.signal)
        return await proceed()

    world.root.on(AGENT_PRE_STEP, pre_step)
    world.root.on(TOOLS_RESULT, lambda outcome: seen.append(outcome.execution))
    tools.add("t", lambda _, call: seen.append(call))
    run(world, "c:t")
    body, execution = seen
    assert body.agent is execution.agent is world.handles["a"].agent
    assert body.token is execution.token
    assert body.signal is execution.signal is signals[0]


# --- overlap ---------------------------------------------------------------------------------------------------------


def test_exclusive_calls_run_one_after_another(world: World, tools: Toolbox) -> None:
    """Each is committed before the next starts (SCHED-EXCL-01)."""
    tools.add("t")
    assert run(world, "c1:t", "c2:t") == [
        "tool/call c1",
        "> body c1",
        "tool/result c1 ok",
        "tool/call c2",
        "> body c2",
        "tool/result c2 ok",
        "turn/end 1 completed",
    ]


def test_an_exclusive_call_is_a_barrier(world: World, tools: Toolbox) -> None:
    """It starts when every earlier call is committed, and is committed before any later one starts (SCHED-EXCL-01)."""
    tools.add_held()
    tools.add_held("alone", is_concurrency_safe=None)
    assert run(world, "r1:slow", "r2:slow", "w:alone", "r3:slow") == [
        "tool/call r1",
        "> body r1",
        "tool/call r2",
        "> body r2",
    ]
    tools.end("r2")
    assert tool_rows(world.take()) == []
    tools.end("r1")
    rows = ["tool/result r1 ok", "tool/result r2 ok", "tool/call w", "> body w"]
    assert tool_rows(world.take()) == rows
    tools.end("w")
    assert tool_rows(world.take()) == ["tool/result w ok", "tool/call r3", "> body r3"]
    tools.end("r3")
    assert tool_rows(world.take()) == ["tool/result r3 ok", "turn/end 1 completed"]


def test_parallel_calls_commit_in_model_order(world: World, tools: Toolbox) -> None:
    """A settled later call waits for the earlier ones (SCHED-COMMIT-01)."""
    tools.add_held()
    run(world, "c1:slow", "c2:slow", "c3:slow")
    tools.end("c3")
    tools.end("c2")
    assert tool_rows(world.take()) == []
    tools.end("c1")
    assert tool_rows(world.take()) == [
        "tool/result c1 ok",
        "tool/result c2 ok",
        "tool/result c3 ok",
        "turn/end 1 completed",
    ]


def test_policy_runs_in_model_order(world: World, tools: Toolbox) -> None:
    """Pre-execution 1, 2, 3 and post-execution 1, 2, 3 with bodies settling 3, 2, 1 (SCHED-PAR-02)."""
    tools.record_stages(of=("pre", "post"))
    tools.add_held()
    world.model.follow(calls("c1:slow", "c2:slow", "c3:slow"), text("done"))
    world.followup("A")
    for call_id in ("c3", "c2", "c1"):
        tools.end(call_id)
    policies = [row for row in world.take() if row.startswith(("> pre c", "> post"))]
    assert policies == ["> pre c1", "> pre c2", "> pre c3", "> post c1 ok", "> post c2 ok", "> post c3 ok"]


def test_policy_that_waits_holds_up_later_starts_and_nothing_that_runs(world: World, tools: Toolbox) -> None:
    """The second call's policy waits: the first body runs on, the third call does not start (SCHED-PAR-02)."""
    held: Any = world.run(world.loop.create_future)

    async def pre(execution: ToolExecution, proceed: Next[Any]) -> Any:
        if execution.call_id == "c2":
            await held
        return await proceed()

    world.root.on(TOOLS_PRE_EXECUTE, pre)
    tools.add_held()
    assert run(world, "c1:slow", "c2:slow", "c3:slow") == ["tool/call c1", "> body c1", "tool/call c2"]
    tools.end("c1")
    world.run(lambda: held.set_result(None))
    assert tool_rows(world.take())[:3] == ["> body c2", "tool/result c1 ok", "tool/call c3"]


def test_a_place_is_filled_as_soon_as_a_body_settles(two_places: World) -> None:
    """Of four calls under a cap of two, the third starts when the second settles (SCHED-PAR-01)."""
    tools = Toolbox(two_places)
    tools.add_held()
    assert run(two_places, "c1:slow", "c2:slow", "c3:slow", "c4:slow") == [
        "tool/call c1",
        "> body c1",
        "tool/call c2",
        "> body c2",
    ]
    tools.end("c2")
    assert tool_rows(two_places.take()) == ["tool/call c3", "> body c3"]
    tools.end("c3")
    assert tool_rows(two_places.take()) == ["tool/call c4", "> body c4"]
    tools.end("c1", "c4")
    results = [row for row in two_places.take() if row.startswith("tool/result")]
    assert results == [f"tool/result c{n} ok" for n in (1, 2, 3, 4)]


def test_a_cap_of_one_is_strictly_serial() -> None:
    """Parallel-safe calls run one after another (SCHED-CAP-01)."""
    world = World(max_parallel_tool_calls=1)
    world.create()
    tools = Toolbox(world)
    tools.add_held()
    assert run(world, "c1:slow", "c2:slow") == ["tool/call c1", "> body c1"]
    tools.end("c1")
    assert tool_rows(world.take()) == ["tool/result c1 ok", "tool/call c2", "> body c2"]
    tools.end("c2")
    world.close()


def test_the_cap_is_ten_by_default(world: World, tools: Toolbox) -> None:
    """Of twelve parallel calls ten start (SCHED-CAP-01)."""
    tools.add_held()
    rows = run(world, *(f"c{n}:slow" for n in range(12)))
    assert rows.count("> body c9") == 1
    assert "> body c10" not in rows
    tools.end(*tools.waiting)
    tools.end(*tools.waiting)


def denying(call_id: str) -> Layer[ToolExecution, Any]:
    """A policy that lets one call not pass."""

    async def policy(execution: ToolExecution, proceed: Next[Any]) -> Any:
        return Deny("no") if execution.call_id == call_id else await proceed()

    return policy


def test_a_call_is_classified_just_before_it_starts(world: World, tools: Toolbox) -> None:
    """A result listener replaces a later call's tool by an exclusive one: it waits for the pool (SCHED-CLASS-01)."""
    dispose = tools.add_held("later")
    tools.add_held()

    def replace(outcome: ToolOutcome) -> None:
        if outcome.execution.call_id == "c1":
            dispose()
            tools.tools.register(world.root, definition("later"))

    world.root.on(TOOLS_RESULT, replace)
    world.root.on(TOOLS_PRE_EXECUTE, denying("c1"))
    rows = run(world, "c1:slow", "c2:slow", "c3:later")
    assert rows == ["tool/call c1", "tool/result c1 error", "tool/call c2", "> body c2"]
    tools.end("c2")
    assert tool_rows(world.take())[:2] == ["tool/result c2 ok", "tool/call c3"]


@pytest.mark.parametrize("answer", [1, "true", None, False])
def test_only_true_means_parallel(world: World, tools: Toolbox, answer: object) -> None:
    """Any other answer of a classifier is exclusive (SCHED-CLASS-01, MODE-CLASS-01)."""
    tools.add_held(is_concurrency_safe=lambda _: answer)
    assert run(world, "c1:slow", "c2:slow") == ["tool/call c1", "> body c1"]


def test_a_call_that_policy_settles_takes_no_place(world: World, tools: Toolbox) -> None:
    """A denied exclusive call is committed at once, and the next one starts (SCHED-COMMIT-01)."""
    world.root.on(TOOLS_PRE_EXECUTE, denying("c1"))
    tools.add("t")
    assert run(world, "c1:t", "c2:t")[:3] == ["tool/call c1", "tool/result c1 error", "tool/call c2"]


# --- contexts and conclusion -----------------------------------------------------------------------------------------


def deferring(_: object, call: ToolRun) -> str:
    call.defer_context(message(f"ctx-{call.call_id}"))
    return "ok"


def test_contexts_follow_their_results_and_reach_the_next_step(world: World, tools: Toolbox) -> None:
    """Each context is queued right after its result, without waking; the next step has them all (SCHED-CTX-01)."""
    tools.add("t", deferring)
    rows = [row for row in run(world, "c1:t", "c2:t") if not row.startswith("> body")]
    assert rows == [
        "tool/call c1",
        "tool/result c1 ok",
        "splice next-step 0 +ctx-c1",
        "tool/call c2",
        "tool/result c2 ok",
        "splice next-step 1 +ctx-c2",
        "splice next-step 0 -2",
        "turn/end 1 completed",
    ]
    assert [message["id"] for message in world.model.requests[1].messages[-2:]] == ["ctx-c1", "ctx-c2"]


def test_a_context_that_is_pending_already_fails_the_turn(world: World, tools: Toolbox) -> None:
    """The result is durable by then; later calls are not started (sheet 70, traps)."""
    tools.add("t", lambda _, call: call.defer_context(message("twice")))
    assert [row for row in run(world, "c1:t", "c2:t", "c3:t") if not row.startswith("> body")] == [
        "tool/call c1",
        "tool/result c1 ok",
        "splice next-step 0 +twice",
        "tool/call c2",
        "tool/result c2 ok",
        'agent/error 1.1 message "twice" is already pending',
        "turn/end 1 error UNKNOWN",
    ]


def test_a_conclusion_ends_the_turn_after_all_calls(world: World, tools: Toolbox) -> None:
    """The remaining calls run, and no follow-up request is made (LOOP-CONC-01)."""
    tools.add("last", lambda _, call: call.conclude_turn())
    tools.add("t")
    rows = run(world, "c1:last", "c2:t")
    assert rows[-2:] == ["tool/result c2 ok", "turn/end 1 completed"]
    assert len(world.model.requests) == 1


def test_a_failed_call_does_not_conclude(world: World, tools: Toolbox) -> None:
    """A body that concludes and then fails owes its answer (LOOP-CONC-01, PIPE-CONCLUDE-01)."""

    def body(_: object, call: ToolRun) -> None:
        call.conclude_turn()
        raise ValueError("no")

    tools.add("t", body)
    run(world, "c:t")
    assert len(world.model.requests) == 2


def test_a_conclusion_does_not_drop_input(world: World, tools: Toolbox) -> None:
    """A context of the same result runs another step (LOOP-CONC-02)."""

    def body(_: object, call: ToolRun) -> None:
        call.conclude_turn()
        call.defer_context(message("ctx"))

    tools.add("t", body)
    run(world, "c:t")
    assert [row for row in world.log() if row.startswith(("step/start", "user/message", "turn/end"))] == [
        "step/start 1.1",
        "user/message A",
        "step/start 1.2",
        "user/message ctx",
        "turn/end 1 completed",
    ]


def test_blocks_decide_whether_tools_run(world: World, tools: Toolbox) -> None:
    """Calls under a normal finish are executed (LOOP-MSG-02)."""
    tools.add("t")
    block = {"type": "tool-call", "id": "c", "name": "t", "arguments": "{}"}
    world.model.follow(stream({"type": "block-end", "index": 0, "block": block}, finish("stop")), text("done"))
    world.followup("A")
    assert "> body c" in world.rows


def test_a_finish_for_tools_without_calls_completes(world: World, tools: Toolbox) -> None:
    """There is nothing to run (LOOP-MSG-02)."""
    tools.add("t")
    world.model.follow(stream(finish("tool-calls")))
    world.followup("A")
    assert (tool_rows(world.take()), len(world.model.requests)) == (["turn/end 1 completed"], 1)


def test_a_ceiling_before_owes_no_answer_to_a_call(world: World, tools: Toolbox) -> None:
    """The tools of a step after the ceiling run, and the turn closes (LOOP-END-03)."""
    tools.add("t")
    agent = world.handles["a"].agent
    world.model.follow(cut("x"), calls("c:t"), text("never"))
    world.run(do(lambda: agent.followup(message("A")), lambda: agent.steer(message("S"))))
    assert tool_rows(world.take())[-2:] == ["tool/result c ok", "turn/end 1 max-tokens"]
    assert len(world.model.requests) == 2


def test_cap_of_the_settings() -> None:
    """It is read for each answer; what is invalid is refused, and the last one stays in force (CONF-PAR-02)."""
    world = World(max_parallel_tool_calls=2)
    world.create()
    tools = Toolbox(world)
    tools.add_held()
    provider = world.root.open(name="settings")
    settings = MemorySettings(world.root)

    def running() -> int:
        """How many of three calls of one answer run at once."""
        world.model.follow(calls("1:slow", "2:slow", "3:slow"), text("end"))
        world.followup(f"m{len(world.model.requests)}")
        count = len(tools.waiting)
        while tools.waiting:
            tools.end(*tools.waiting)
        return count

    seen = [running()]
    world.run(lambda: provider.provide(SETTINGS, settings))
    seen.append(running())
    settings.write("agent-loop", {"maxParallelToolCalls": 1})
    seen.append(running())
    for bad in ({"maxParallelToolCalls": 0}, {"maxParallelToolCalls": "3"}, {"other": 1}):
        with pytest.raises(LoopMisconfigured):
            settings.write("agent-loop", bad)
    settings.write("of somebody else", {"maxParallelToolCalls": 0})
    seen.append(running())
    settings.write("agent-loop", {})
    seen.append(running())
    settings.write("agent-loop", {"maxParallelToolCalls": 3})
    seen.append(running())
    settings.write("agent-loop", None)
    seen.append(running())
    settings.write("agent-loop", {"maxParallelToolCalls": 3})
    world.run(provider.dispose)
    seen.append(running())
    assert seen == [2, 2, 1, 1, 2, 3, 2, 2]
    world.close()
