"""Which tools there are, for whom, and how their calls are classified."""

import asyncio
import re
from dataclasses import replace
from typing import Any

import pytest
from tests.reference.toolbox import Toolbox, definition, error_of
from tests.reference.world import World
from typeguard import suppress_type_checks

from dshcore.cancel_signal import CancelSignal
from dshcore.context import InactiveContext
from dshcore.tools import TOOLS, TOOLS_CHANGE, DuplicateTool, InvalidTool, ToolCallRequest, ToolOutput


def names(tools: Toolbox, scope: object | None = None) -> list[str]:
    return [schema["name"] for schema in tools.tools.schemas(scope)]


def call(name: str = "t", arguments: object = None) -> ToolCallRequest:
    return ToolCallRequest(call_id="c", name=name, arguments=arguments, signal=CancelSignal())


# --- registration ----------------------------------------------------------------------------------------------------


def test_a_tool_is_there_when_its_registration_returns(world: World, tools: Toolbox) -> None:
    """It is listed, found and executable at once (TOOL-DEF-01)."""
    made = definition("t")

    def register() -> tuple[Any, Any]:
        tools.tools.register(world.root, made)
        return tools.tools.get("t"), tools.tools.schemas()

    found, listed = world.run(register)
    assert found is made
    assert listed == ({"name": "t", "description": "about t", "parameters": {"type": "object"}},)
    assert tools.execute().is_error is False


def test_a_listing_has_three_members(tools: Toolbox) -> None:
    """Nothing else of a definition is told, and the parameters as they are (TOOL-LIST-01, TOOL-DEF-06)."""
    parameters = {"type": "object", "properties": {"p": {"type": "string", "pattern": "^a"}}}
    tools.add("t", parameters=parameters, timeout_ms=5, is_concurrency_safe=lambda _: True, present_call=lambda _: None)
    (schema,) = tools.tools.schemas()
    assert set(schema) == {"name", "description", "parameters"}
    assert schema["parameters"] == parameters
    assert schema is tools.tools.schemas()[0]


def test_a_raw_tool_takes_what_comes(tools: Toolbox) -> None:
    """Its parameters are for the model; any JSON reaches the body (SCHEMA-ARGS-03, PIPE-ARGS-03)."""
    tools.add("t", lambda arguments, _: arguments, parameters={"type": "object", "required": ["path"]})
    given: tuple[Any, ...] = ({}, "raw{", [1], 5)
    for arguments in given:
        result = tools.execute(arguments=arguments)
        assert not result.is_error
        assert result.value == (tuple(arguments) if isinstance(arguments, list) else arguments)


def test_a_timeout_is_only_declared(tools: Toolbox) -> None:
    """The body goes on as long as it takes; whoever enforces budgets is a wrapper (TOOL-DEF-05)."""
    tools.add_held("slow", timeout_ms=0.001)
    waiting = tools.start("slow")
    assert not waiting.done()
    tools.end("c")
    assert not waiting.result().is_error


def test_listings_are_detached(tools: Toolbox) -> None:
    """Changing what was handed in does not show, and what was handed out cannot be changed (TOOL-LIST-03)."""
    parameters: dict[str, Any] = {"type": "object"}
    tools.add("t", parameters=parameters)
    tools.tools.schemas()
    parameters["more"] = True
    assert tools.tools.schemas()[0]["parameters"] == {"type": "object"}


def test_a_withdrawn_tool_is_forgotten(world: World, tools: Toolbox) -> None:
    """Nothing of it is kept, its projection included."""
    dispose = tools.add("t")
    tools.tools.schemas()
    world.run(dispose)
    assert tools.tools._schemas == {}


def test_lossy_parameters_fail_the_listing(tools: Toolbox) -> None:
    """They are not checked at registration (TOOL-LIST-03, TOOL-DEF-06)."""
    tools.add("t", parameters={"default": float("nan")})
    with pytest.raises(InvalidTool, match='tool "t" parameters must be lossless JSON before schema projection'):
        tools.tools.schemas()


@pytest.mark.parametrize(
    ("members", "text"),
    [
        ({"output": None}, r'tool "t" must declare output \{ schema, render, presentationMeta\? \}'),
        ({"output": ToolOutput(schema={}, render="no")}, "must declare output"),  # type: ignore[arg-type]
        (
            {"output": ToolOutput(schema={}, render=lambda *_: [], presentation_meta=5)},  # type: ignore[arg-type]
            "must declare output",
        ),
        ({"timeout_ms": 0}, 'tool "t" timeoutMs must be a positive finite number'),
        ({"timeout_ms": -1}, "timeoutMs"),
        ({"timeout_ms": float("inf")}, "timeoutMs"),
        ({"timeout_ms": "1"}, "timeoutMs"),
        ({"timeout_ms": True}, "timeoutMs"),
        ({"name": "run_code"}, 'tool name "run_code" is reserved'),
        ({"name": "run_code", "timeout_ms": 0}, "timeoutMs"),
    ],
)
def test_a_definition_that_cannot_be_is_refused(tools: Toolbox, members: dict[str, Any], text: str) -> None:
    """The first thing that is wrong is told; nothing is registered or announced (TOOL-DEF-02, -04, -07, -08)."""
    changes: list[None] = []
    tools._world.root.on(TOOLS_CHANGE, changes.append)
    with pytest.raises(InvalidTool, match=text):
        tools.tools.register(tools._world.root, definition(**members))
    assert (names(tools), changes) == ([], [])


@pytest.mark.parametrize(
    ("members", "text"),
    [
        ({"name": 5}, 'tool "5" has the name 5: give a plain text'),
        ({"name": None}, 'tool "None" has the name None: give a plain text'),
        ({"description": None}, 'tool "t" has the description None: give a plain text'),
        ({"description": b"d"}, "tool \"t\" has the description b'd': give a plain text"),
    ],
)
def test_what_a_tool_is_called_is_a_text(tools: Toolbox, members: dict[str, Any], text: str) -> None:
    """Otherwise each listing, and with it the prompt of every agent, would fail."""
    with pytest.raises(InvalidTool, match=re.escape(text)):
        tools.tools.register(tools._world.root, replace(definition(), **members))
    assert tools.tools.schemas() == ()


@pytest.mark.parametrize("given", [test_listings_are_detached, None, {"name": "x"}])
def test_what_is_no_definition_is_told_so(world: World, tools: Toolbox, given: Any) -> None:
    """A function that nobody decorated is the commonest."""
    with (
        suppress_type_checks(),
        pytest.raises(InvalidTool, match=r"^register needs a ToolDefinition, not .*: make one with @define_tool$"),
    ):
        tools.tools.register(world.root, given)


def test_the_contract_of_a_tool_is_that_of_its_registration(tools: Toolbox) -> None:
    """Who changes the schema afterwards changes nothing."""
    schema: dict[str, Any] = {"type": "string"}
    tools.add("t", lambda *_: 5, output=ToolOutput(schema=schema, render=lambda *_: ()))
    schema["type"] = "integer"
    assert error_of(tools.execute()).message == 'tool "t" returned invalid output: "value" must be a string'


def test_fractions_and_any_name_are_fine(tools: Toolbox) -> None:
    """A timeout may be a fraction, and names are free (TOOL-DEF-04)."""
    tools.add("", timeout_ms=0.5)
    assert names(tools) == [""]


def test_a_name_is_taken_once_per_layer(world: World, tools: Toolbox) -> None:
    """The second registration is refused and the first one stays (TOOL-DUP-01, TOOL-DUP-02)."""
    agent = world.create()
    tools.add("x", lambda *_: "first")
    with pytest.raises(DuplicateTool) as globally:
        tools.add("x", lambda *_: "second")
    assert str(globally.value) == (
        'tool "x" is already registered (for a per-agent variant, register through that agent\'s `agent.ctx` instead)'
    )
    result = tools.execute("x")
    assert not result.is_error
    assert result.value == "first"
    tools.add("x", owner=agent.ctx)
    with pytest.raises(DuplicateTool, match='tool "x" is already registered in this scope'):
        tools.add("x", owner=agent.ctx)


def test_a_tool_of_an_agent_is_its_own(world: World, tools: Toolbox) -> None:
    """For everybody else it does not exist (TOOL-SCOPE-01)."""
    one, other = world.create("a"), world.create("b")
    tools.add("mine", owner=one.ctx)
    tools.add("everybodys")
    assert (names(tools, one), names(tools, other), names(tools)) == (
        ["everybodys", "mine"],
        ["everybodys"],
        ["everybodys"],
    )
    assert not tools.execute("mine", scope=one).is_error
    for scope in (other, None):
        failed = tools.execute("mine", scope=scope)
        assert failed.is_error
        assert failed.error.message == 'unknown tool "mine"'
        assert tools.tools.get("mine", scope) is None


def test_a_scope_shadows_what_it_inherits(world: World, tools: Toolbox) -> None:
    """Whichever came first; without the shadow the inherited one is back (TOOL-SCOPE-02, TOOL-LIST-02)."""
    agent = world.create()
    unshadow = tools.add("bash", lambda *_: "own", owner=agent.ctx)
    tools.add("ls")
    tools.add("bash", lambda *_: "global")
    tools.add("cat")

    def value(scope: object | None) -> object:
        result = tools.execute("bash", scope=scope)
        assert not result.is_error
        return result.value

    assert (value(agent), value(None), names(tools, agent)) == ("own", "global", ["ls", "bash", "cat"])
    world.run(unshadow)
    assert value(agent) == "global"


def test_a_disposer_takes_back_its_own_registration(world: World, tools: Toolbox) -> None:
    """Once; the name can be registered again and stands last (TOOL-DISPOSE-01, TOOL-LIST-02)."""
    first = tools.add("p")
    tools.add("q")
    world.run(first)
    tools.add("p")
    world.run(first)
    assert names(tools) == ["q", "p"]


def test_tools_end_with_their_owner(world: World, tools: Toolbox) -> None:
    """Newest first, one change each; registering through the ended owner is refused (TOOL-DISPOSE-02, -03)."""
    owner = world.run(lambda: world.root.open(scope=None, name="plugin"))
    tools.add("p1", owner=owner)
    tools.add("p2", owner=owner)
    seen: list[list[str]] = []
    world.root.on(TOOLS_CHANGE, lambda _: seen.append(names(tools)))
    world.run(owner.dispose)
    assert seen == [["p1"], []]
    with pytest.raises(InactiveContext):
        tools.add("p3", owner=owner)
    assert names(tools) == []


def test_an_agent_takes_its_tools_along(world: World, tools: Toolbox) -> None:
    """Calls under its scope fall back to the inherited view (TOOL-DISPOSE-02)."""
    agent = world.create()
    tools.add("t", lambda *_: "own", owner=agent.ctx)
    tools.add("t", lambda *_: "global")
    world.dispose()
    result = tools.execute(scope=agent)
    assert not result.is_error
    assert result.value == "global"


# --- change ----------------------------------------------------------------------------------------------------------


def test_a_change_is_told_everybody_when_it_is_done(world: World, tools: Toolbox) -> None:
    """Once for each registration and withdrawal, of whatever layer (TOOL-CHANGE-01, TOOL-CHANGE-02)."""
    one, other = world.create("a"), world.create("b")
    seen: list[list[str]] = []
    world.run(lambda: one.ctx.on(TOOLS_CHANGE, lambda _: seen.append(names(tools, other))))
    dispose = tools.add("t")
    tools.add("own", owner=other.ctx)
    world.run(dispose)
    assert seen == [["t"], ["t", "own"], ["own"]]


def test_a_change_that_is_refused_is_undone(world: World, tools: Toolbox) -> None:
    """The caller gets the listener's error, and can try again (TOOL-CHANGE-03)."""
    seen: list[list[str]] = []

    def once(_: None) -> None:
        seen.append(names(tools))
        if len(seen) == 1:
            raise ValueError("no")

    world.root.on(TOOLS_CHANGE, once)
    with pytest.raises(ValueError, match="no"):
        tools.add("t")
    assert seen == [["t"], []]
    tools.add("t")
    assert names(tools) == ["t"]


def test_a_listener_that_always_refuses(world: World, tools: Toolbox) -> None:
    """The error is that of the undo; a withdrawal is done all the same (TOOL-CHANGE-03)."""
    dispose = tools.add("there")
    count = 0

    def always(_: None) -> None:
        nonlocal count
        count += 1
        raise ValueError(f"no {count}")

    world.root.on(TOOLS_CHANGE, always)
    with pytest.raises(ValueError, match="no 2"):
        tools.add("t")
    with pytest.raises(ValueError, match="no 3"):
        world.run(dispose)
    assert world.run(dispose) is None
    assert names(tools) == []


# --- modes -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "mode"),
    [(True, "parallel"), (False, "exclusive"), (1, "exclusive"), ("true", "exclusive"), (None, "exclusive")],
)
def test_only_true_lets_calls_overlap(tools: Toolbox, answer: object, mode: str) -> None:
    """Whatever else a classifier answers is exclusive (MODE-CLASS-01)."""
    tools.add("t", is_concurrency_safe=lambda _: answer)
    assert tools.tools.mode(call()) == mode


def test_who_cannot_tell_is_exclusive(tools: Toolbox) -> None:
    """No classifier, one that raises, one that would have to be awaited, an unknown tool (MODE-CLASS-01)."""

    def fails(_: object) -> bool:
        raise ValueError

    async def later(_: object) -> bool:
        return await asyncio.sleep(0, True)

    tools.add("none")
    tools.add("fails", is_concurrency_safe=fails)
    tools.add("later", is_concurrency_safe=later)
    assert [tools.tools.mode(call(name)) for name in ("none", "fails", "later", "ghost")] == ["exclusive"] * 4


def test_a_mode_is_computed_afresh_for_its_scope(world: World, tools: Toolbox) -> None:
    """The scope's own definition decides, now; no event, whatever the signal (MODE-CLASS-03, MODE-CLASS-04)."""
    agent = world.create()
    tools.record_stages()
    tools.add("t")
    unshadow = tools.add("t", owner=agent.ctx, is_concurrency_safe=lambda arguments: arguments == {"safe": 1})
    aborted = CancelSignal()
    aborted.abort("why")
    asked = ToolCallRequest(call_id="c", name="t", arguments={"safe": 1}, signal=aborted)
    world.take()
    assert (tools.tools.mode(asked, agent), tools.tools.mode(asked)) == ("parallel", "exclusive")
    world.run(unshadow)
    assert tools.tools.mode(asked, agent) == "exclusive"
    assert world.take() == []


def test_the_registry_is_a_service(world: World, tools: Toolbox) -> None:
    """Every context of the application finds it."""
    assert world.create().ctx[TOOLS] is tools.tools
