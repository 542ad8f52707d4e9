"""One call from its input to its one result: the stages, what they see, what a result is."""

import logging
from dataclasses import FrozenInstanceError
from typing import Any, cast

import pytest
from msgspec import UNSET
from tests.reference.toolbox import (
    Toolbox,
    answering,
    content,
    definition,
    error_of,
    finalizing,
    raising,
    value_of,
)
from tests.reference.world import World, message

from dshcore.cancel_signal import CancelSignal
from dshcore.errors import DshError
from dshcore.events import Next
from dshcore.json import freeze
from dshcore.tools import (
    TOOLS_EXECUTE,
    TOOLS_POST_EXECUTE,
    TOOLS_PRE_EXECUTE,
    TOOLS_RESULT,
    Deny,
    ErrorFacts,
    ErrorInfo,
    FrozenExecution,
    ToolCallRequest,
    ToolExecution,
    ToolFailure,
    ToolOutcome,
    ToolOutput,
    ToolResult,
    ToolRun,
    ToolSuccess,
    ToolToken,
)


def staged(world: World, tools: Toolbox, **members: Any) -> None:
    """A tool that notes its parts, and a record of all stages."""
    tools.record_stages()

    def render(_: object, value: object) -> Any:
        world.rows.append("> render")
        return content(f"<{value}>")

    def meta(*_: object) -> Any:
        world.rows.append("> meta")
        return {"n": 1}

    output = ToolOutput(schema={}, render=render, presentation_meta=meta)
    tools.add("t", **{"output": output, "finalize_content": finalizing(world), **members})
    world.take()


# --- order -----------------------------------------------------------------------------------------------------------


def test_an_allowed_call_passes_every_stage_once(world: World, tools: Toolbox) -> None:
    """Policy, wrappers, body, renderer, projector, policy, finalizer, observers (PIPE-ORDER-01)."""
    staged(world, tools)
    result = tools.execute()
    assert world.take() == [
        "> pre c",
        "> around c",
        "> body c",
        "> render",
        "> meta",
        "< around c ok",
        "> post c ok",
        "> finalize ok",
        "tools/result c ok",
    ]
    assert result == ToolSuccess(value="ok", content=content("<ok>"), meta={"n": 1})


@pytest.mark.parametrize(
    ("prepare", "stages"),
    [
        pytest.param({"arguments": float("nan")}, "finalize result", id="lossy arguments"),
        pytest.param({"aborted": True}, "finalize result", id="aborted at entry"),
        pytest.param({TOOLS_PRE_EXECUTE: raising(ValueError())}, "pre finalize result", id="policy raises"),
        pytest.param({TOOLS_PRE_EXECUTE: answering(Deny("no"))}, "pre post finalize result", id="denied"),
        pytest.param({TOOLS_PRE_EXECUTE: answering("?")}, "pre finalize result", id="no decision"),
        pytest.param({TOOLS_EXECUTE: raising(ValueError())}, "pre around finalize result", id="wrapper raises"),
        pytest.param(
            {TOOLS_EXECUTE: answering(ToolSuccess(value=1))},
            "pre around render meta post finalize result",
            id="wrapper answers",
        ),
        pytest.param(
            {TOOLS_EXECUTE: answering(ToolSuccess(value=float("nan")))},
            "pre around finalize result",
            id="wrapper answers wrongly",
        ),
        pytest.param({"name": "ghost"}, "pre around post result", id="unknown tool"),
        pytest.param({"body": raising(ValueError())}, "pre around body post finalize result", id="body raises"),
        pytest.param({"body": lambda *_: {1}}, "pre around body post finalize result", id="no JSON"),
        pytest.param(
            {TOOLS_POST_EXECUTE: raising(ValueError())},
            "pre around body render meta post finalize result",
            id="policy on the result raises",
        ),
        pytest.param(
            {TOOLS_POST_EXECUTE: answering(None)},
            "pre around body render meta post finalize result",
            id="no decision on the result",
        ),
    ],
)
def test_every_outcome_passes_its_stages(world: World, tools: Toolbox, prepare: dict[Any, Any], stages: str) -> None:
    """One result and one notification each; whatever fails, the registry stays usable (PIPE-ORDER-02, -03, -04)."""
    call = {key: value for key, value in prepare.items() if key in ("arguments", "name")}
    if prepare.get("aborted"):
        call["signal"] = CancelSignal()
        call["signal"].abort("why")
    staged(world, tools, **({"body": prepare["body"]} if "body" in prepare else {}))
    offs = [world.root.on(key, prepare[key]) for key in prepare if not isinstance(key, str)]
    seen: list[ToolResult] = []
    world.root.on(TOOLS_RESULT, lambda outcome: seen.append(outcome.result))
    result = tools.execute(**call)
    passed = [row.split()[1 if row[0] in "<>" else 0].split("/")[-1] for row in world.take() if row[0] != "<"]
    assert passed == stages.split()
    assert seen == [result]
    assert seen[0] is result
    for off in offs:
        world.run(off)
    if "body" not in prepare:
        assert not tools.execute().is_error


def test_only_the_finalizer_visible_at_entry_counts(world: World, tools: Toolbox) -> None:
    """A tool replaced by policy: the new body runs, the old finalizer applies (PIPE-FINAL-02, TOOL-LIVE-01)."""
    dispose = tools.add("t", finalize_content=lambda *_: content("old"))

    async def replace(_: ToolExecution, proceed: Next[Any]) -> Any:
        dispose()
        tools.tools.register(world.root, definition("t", lambda *_: "new", finalize_content=lambda *_: content("new")))
        return await proceed()

    world.root.on(TOOLS_PRE_EXECUTE, replace)
    result = tools.execute()
    assert (value_of(result), result.content) == ("new", content("old"))


def test_a_tool_withdrawn_by_policy_is_unknown(world: World, tools: Toolbox) -> None:
    """Which definition runs is decided when the body is reached (TOOL-LIVE-01)."""
    dispose = tools.add("t")

    async def withdraw(_: ToolExecution, proceed: Next[Any]) -> Any:
        dispose()
        return await proceed()

    world.root.on(TOOLS_PRE_EXECUTE, withdraw)
    assert error_of(tools.execute()).info == ErrorInfo("ToolNotFoundError", "UNKNOWN_TOOL")


def test_a_tool_may_withdraw_itself(tools: Toolbox) -> None:
    """Its call is completed by the definition that was dispatched (TOOL-LIVE-02)."""
    disposers: list[Any] = []
    disposers.append(tools.add("t", lambda *_: disposers[0]() or "done"))
    assert tools.execute().content == content("<done>")


# --- executions ------------------------------------------------------------------------------------------------------


def test_every_call_has_a_token_of_its_own(world: World, tools: Toolbox) -> None:
    """One for all its stages, whatever its id (PIPE-ID-01); the root is the call itself by default (PIPE-ID-02)."""
    seen: list[ToolExecution] = []
    tools.add("t", lambda _, run: seen.append(run))
    world.root.on(TOOLS_RESULT, lambda outcome: seen.append(outcome.execution))
    tools.execute(call_id="same")
    tools.execute(call_id="same")
    first, told, second, _ = seen
    assert first.token is told.token
    assert first.token is not second.token
    assert (first.root_call_id, first.parent, first.agent) == ("same", None, None)


def test_what_was_given_is_passed_on(world: World, tools: Toolbox) -> None:
    """Parent, root and agent; nothing is inferred from the parent (PIPE-ID-02)."""
    agent, token = world.create(), ToolToken()
    seen: list[ToolExecution] = []
    world.root.on(TOOLS_RESULT, lambda outcome: seen.append(outcome.execution))
    asked = ToolCallRequest(
        call_id="c", name="ghost", arguments=None, signal=CancelSignal(), root_call_id="root", parent=token
    )
    world.start(lambda: tools.tools.execute(asked, agent))
    tools.execute("ghost", parent=token)
    assert (seen[0].parent, seen[0].root_call_id, seen[0].agent) == (token, "root", agent)
    assert (seen[1].root_call_id, seen[1].agent) == ("c", None)


def test_an_execution_cannot_be_changed(world: World, tools: Toolbox) -> None:
    """Not by policy, not by the body, not by observers (PIPE-ID-03, RESULT-FREEZE-01)."""
    refused: list[str] = []

    def attempt(execution: ToolExecution) -> None:
        for name in ("name", "arguments", "token", "scope", "signal"):
            try:
                setattr(execution, name, None)
            except FrozenExecution as error:
                refused.append(str(error).split()[2])
        with pytest.raises(TypeError):
            cast("Any", execution.arguments)["x"] = 2

    async def pre(execution: ToolExecution, proceed: Next[Any]) -> Any:
        attempt(execution)
        return await proceed()

    def told(outcome: ToolOutcome) -> None:
        attempt(outcome.execution)
        with pytest.raises(FrozenInstanceError):
            outcome.result.content = ()  # type: ignore[misc]

    world.root.on(TOOLS_PRE_EXECUTE, pre)
    world.root.on(TOOLS_RESULT, told)
    tools.add("t", lambda _, run: attempt(run))
    assert not tools.execute(arguments={"x": 1}).is_error
    assert refused == ["name", "arguments", "token", "scope", "signal"] * 3


def test_arguments_are_those_of_the_moment_of_the_call(world: World, tools: Toolbox) -> None:
    """What the caller changes later is not seen (PIPE-ARGS-01)."""
    arguments = {"x": [1]}
    tools.add("t", lambda given, _: given)
    asked = ToolCallRequest(call_id="c", name="t", arguments=arguments, signal=CancelSignal())

    def begin() -> Any:
        begun = tools.tools.execute(asked)
        arguments["x"].append(2)
        return begun

    assert value_of(world.start(begin).result()) == {"x": (1,)}


@pytest.mark.parametrize("arguments", [None, "raw{", [1], 5, {}])
def test_any_json_is_an_argument(tools: Toolbox, arguments: object) -> None:
    """Nothing is wrapped or replaced (PIPE-ARGS-03, SCHEMA-ARGS-03)."""
    seen: list[object] = []
    tools.add("t", lambda given, _: seen.append(given))
    asked = ToolCallRequest(call_id="c", name="t", arguments=arguments, signal=CancelSignal())
    tools._world.start(lambda: tools.tools.execute(asked))
    assert seen == [freeze(arguments)]


def test_lossy_arguments_are_told_before_an_abort(world: World, tools: Toolbox) -> None:
    """Also of a call that was aborted at its entry; the execution has no arguments then (PIPE-ARGS-02)."""
    signal = CancelSignal()
    signal.abort("why")
    seen: list[object] = []
    world.root.on(TOOLS_RESULT, lambda outcome: seen.append(outcome.execution.arguments))
    tools.add("t")
    failed = error_of(tools.execute(arguments={"a": -0.0}, signal=signal))
    assert failed == ErrorFacts("tool execution arguments must be losslessly JSON-serializable")
    assert seen == [UNSET]


# --- results ---------------------------------------------------------------------------------------------------------


def test_a_plain_failure_is_its_text(tools: Toolbox) -> None:
    """A code that an error happens to have is none of the harness (PIPE-BODY-01, RESULT-TEXT-01)."""
    error = ValueError("broken")
    error.code = "X"  # type: ignore[attr-defined]
    tools.add("t", raising(error))
    result = tools.execute()
    assert result == ToolFailure(error=ErrorFacts("broken"), content=content("Error: broken"))


def test_a_coded_failure_has_its_identity(tools: Toolbox) -> None:
    """The class and the code of an error of the harness (PIPE-BODY-01)."""

    class QuotaError(DshError):
        default_code = "QUOTA"

    tools.add("t", raising(QuotaError("too much")))
    assert error_of(tools.execute()) == ErrorFacts("too much", ErrorInfo("QuotaError", "QUOTA"))


def test_an_error_without_a_text(tools: Toolbox) -> None:
    """One whose text cannot be told is a failure all the same (sheet 60, traps)."""

    class Unprintable(Exception):
        def __str__(self) -> str:
            raise ValueError

    tools.add("t", raising(Unprintable()))
    assert error_of(tools.execute()).message == "<unprintable thrown value>"


def test_an_unknown_tool(tools: Toolbox) -> None:
    """UNKNOWN-TOOL-01."""
    result = tools.execute("nope")
    assert result == ToolFailure(
        error=ErrorFacts('unknown tool "nope"', ErrorInfo("ToolNotFoundError", "UNKNOWN_TOOL")),
        content=content('Error: unknown tool "nope"'),
    )


def test_a_value_is_a_snapshot(tools: Toolbox) -> None:
    """What the tool changes afterwards does not show (PIPE-BODY-02); null is a value (RESULT-SHAPE-01)."""
    mutable: list[int] = [1]

    def render(*_: object) -> Any:
        mutable.append(2)
        return content("x")

    tools.add("t", lambda *_: mutable, output=ToolOutput(schema={}, render=render))
    tools.add("null", lambda *_: None)
    assert value_of(tools.execute()) == (1,)
    assert value_of(tools.execute("null")) is None


@pytest.mark.parametrize(
    ("members", "violation"),
    [
        ({"body": lambda *_: {1}}, "value is not lossless JSON"),
        ({"render": raising(ValueError("r"))}, "output.render failed: r"),
        ({"render": lambda *_: {1}}, "output.render returned non-lossless JSON"),
        ({"meta": raising(ValueError("m"))}, "output.presentationMeta failed: m"),
        ({"meta": lambda *_: {1}}, "output.presentationMeta returned non-lossless JSON"),
        ({"render": raising(ValueError("r")), "meta": raising(AssertionError())}, "output.render failed: r"),
    ],
)
def test_an_output_that_breaks_its_contract(tools: Toolbox, members: dict[str, Any], violation: str) -> None:
    """It fails the call, and has no value (SCHEMA-OUT-01, SCHEMA-OUT-02)."""
    render, meta = members.get("render", lambda *_: ()), members.get("meta", UNSET)
    output = ToolOutput(schema={}, render=render, presentation_meta=meta)
    tools.add("t", members.get("body"), output=output)
    assert error_of(tools.execute()) == ErrorFacts(
        f'tool "t" returned invalid output: {violation}', ErrorInfo("ToolOutputError", "INVALID_TOOL_OUTPUT")
    )


def test_a_nested_call_has_no_meta(tools: Toolbox) -> None:
    """Everything else of it runs (PIPE-BODY-03)."""
    tools.add("t", output=ToolOutput(schema={}, render=lambda *_: (), presentation_meta=lambda *_: None))
    assert tools.execute().meta is None
    assert tools.execute(parent=ToolToken()).meta is UNSET


def test_a_call_within_a_call(world: World, tools: Toolbox) -> None:
    """It is a call of its own: its contexts and its conclusion are the outer body's affair (PIPE-NEST-01)."""
    tools.record_stages(of=("result",))

    def inner(_: object, run: ToolRun) -> str:
        run.defer_context(message("inner"))
        run.conclude_turn()
        return "inner"

    async def outer(_: object, run: ToolRun) -> Any:
        asked = ToolCallRequest(call_id="in", name="inner", arguments={}, signal=run.signal, parent=run.token)
        return value_of(await tools.tools.execute(asked, run.scope))

    tools.add("inner", inner)
    tools.add("outer", outer)
    result = tools.execute("outer", call_id="out")
    assert result == ToolSuccess(value="inner", content=content("<inner>"))
    assert [row for row in world.take() if row.startswith("tools/result")] == [
        "tools/result in ok",
        "tools/result out ok",
    ]


def test_an_inner_call_is_made_in_the_scope_of_the_outer_one(world: World, tools: Toolbox) -> None:
    """What the agent may not call, its tools do not call for it (PIPE-NEST-01, RESTRICT-CHAIN-01)."""
    agent = world.create()

    async def outer(_: object, run: ToolRun) -> str:
        result = await run.call_inner(tools.tools, "secret", {}, call_id="inner")
        return result.error.message if result.is_error else "called"

    tools.add("secret")
    tools.add("t", outer)
    world.run(lambda: tools.tools.restrict(agent.ctx, deny=["secret"]))
    call = ToolCallRequest(call_id="c", name="t", arguments={}, signal=CancelSignal())
    result = world.start(lambda: tools.tools.execute(call, agent)).result()
    assert result.value == 'unknown tool "secret"'


def test_where_an_unexpected_failure_was_raised_is_in_the_log(tools: Toolbox, caplog: pytest.LogCaptureFixture) -> None:
    """The result has the error's text; an error with a code is an answer, and is not logged."""
    caplog.set_level(logging.INFO, "dshcore")
    tools.add("t", raising(KeyError("missing")))
    tools.add("u", raising(DshError("no", code="NO")))
    tools.execute("t")
    tools.execute("u")
    assert [(record.message, record.exc_info is not None) for record in caplog.records] == [
        ("tool \"t\" (c): KeyError: 'missing'", True)
    ]
