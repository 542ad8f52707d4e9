"""What a prompt is made of: contributions, scopes, the order of evaluation, the listeners."""

from collections.abc import Callable
from typing import Any

import pytest
from tests.reference.prompting import assemble
from tests.reference.world import World

from dshcore.cancel_signal import CancelSignal
from dshcore.context import Context, Disposer, InactiveContext
from dshcore.events import Next
from dshcore.json import freeze
from dshcore.spine import compose
from dshcore.system_prompt import (
    SYSTEM_PROMPT,
    SYSTEM_PROMPT_ASSEMBLE,
    SYSTEM_PROMPT_CHANGE,
    AssembleContext,
    Assembly,
    DuplicateContribution,
    InvalidContribution,
    InvalidToolOrder,
    PromptAssembling,
    PromptError,
    PromptOptions,
    PromptText,
    SystemPrompt,
    ToolOffer,
    render_system,
)


def names(assembly: Assembly) -> list[str]:
    return [section.name for section in assembly.sections]


def tool(name: str) -> dict[str, Any]:
    return {"name": name, "description": f"about {name}", "parameters": {}}


IDENTITY = "You are an AI agent powered by DeepSeek Harness."


@pytest.mark.parametrize(
    ("options", "system"),
    [
        (PromptOptions(), IDENTITY),
        (PromptOptions(persona="Be kind."), f"{IDENTITY}\n\nBe kind."),
        (PromptOptions(include_harness_identity=False, persona="Be kind."), "Be kind."),
        (PromptOptions(include_harness_identity=False), ""),
    ],
)
def test_built_in_sections(options: PromptOptions, system: str) -> None:
    """The identity and the persona, in this order; an empty persona is a section all the same (PROMPT-SEC-01)."""
    world = World(prompt=options)
    assembly = assemble(world)
    assert names(assembly)[-1] == "deployment:persona"
    assert (render_system(assembly), len(assembly.sections)) == (system, 1 + options.include_harness_identity)
    world.close()


def test_sections_stand_in_order(world: World, prompts: SystemPrompt) -> None:
    """Ascending; equal ones as the merged layers have them (PROMPT-SEC-02, PROMPT-SCOPE-01)."""
    agent = world.create()
    prompts.section(world.root, "z", 5, "global z")
    prompts.section(world.root, "a", 5, "a")
    prompts.section(agent.ctx, "own", 5, "own")
    prompts.section(agent.ctx, "z", 5, "own z")
    prompts.section(world.root, "first", -0.5, "first")
    assert names(assemble(world, agent)) == ["first", "deployment:persona", "z", "a", "own"]
    assert assemble(world, agent).sections[2] == PromptText("z", "own z")
    assert names(assemble(world)) == ["first", "deployment:persona", "z", "a"]


@pytest.mark.parametrize("order", [float("nan"), float("inf"), -float("inf"), True])
def test_an_order_is_a_finite_number(world: World, prompts: SystemPrompt, order: Any) -> None:
    """Nothing is registered or announced otherwise (PROMPT-SEC-03)."""
    changes: list[None] = []
    world.root.on(SYSTEM_PROMPT_CHANGE, changes.append)
    with pytest.raises(InvalidContribution, match='prompt section "s" order must be a finite number'):
        prompts.section(world.root, "s", order, "x")
    with pytest.raises(InvalidContribution, match='prompt context "c" order must be a finite number'):
        prompts.context(world.root, "c", order, "x")
    assert changes == []


def test_a_name_is_taken_once_per_layer_and_kind(world: World, prompts: SystemPrompt) -> None:
    """The three kinds have names of their own (PROMPT-SEC-04)."""
    agent = world.create()
    register: dict[str, Callable[[Context], Disposer]] = {
        "section": lambda owner: prompts.section(owner, "n", 0, "x"),
        "context": lambda owner: prompts.context(owner, "n", 0, "x"),
        "variable": lambda owner: prompts.variable(owner, "n", lambda _: "x"),
    }
    for kind, do in register.items():
        do(world.root)
        do(agent.ctx)
        what = "value" if kind == "variable" else "override"
        with pytest.raises(DuplicateContribution) as globally:
            do(world.root)
        assert str(globally.value) == (
            f'prompt {kind} "n" is already registered (for a per-agent {what}, register through that agent\'s '
            "`agent.ctx` instead)"
        )
        with pytest.raises(DuplicateContribution, match=f'prompt {kind} "n" is already registered in this scope'):
            do(agent.ctx)


@pytest.mark.parametrize("name", ["A", "_a", "1a", "a-b", "", "a\n", "ä"])
def test_a_variable_name_is_checked(world: World, prompts: SystemPrompt, name: str) -> None:
    """Over its whole length (PROMPT-VAR-01)."""
    with pytest.raises(InvalidContribution, match="invalid prompt variable name"):
        prompts.variable(world.root, name, lambda _: "x")


def test_providers_get_the_very_context(world: World, prompts: SystemPrompt) -> None:
    """Each is evaluated once per assembly in which it counts (PROMPT-SEC-05, PROMPT-SCOPE-02)."""
    agent = world.create()
    seen: list[AssembleContext] = []

    def provider(context: AssembleContext) -> str:
        seen.append(context)
        return "x"

    def never(_: AssembleContext) -> str:
        raise AssertionError

    prompts.section(world.root, "s", 0, never)
    prompts.section(agent.ctx, "s", 0, provider)
    prompts.context(agent.ctx, "c", 0, provider)
    signal = CancelSignal()
    signal.abort("why")  # PROMPT-ASM-04: it is not looked at
    assemble(world, agent, agent=agent, signal=signal)
    assert [(context.scope, context.agent, context.signal) for context in seen] == [(agent, agent, signal)] * 2


def test_assemblies_are_independent(world: World, prompts: SystemPrompt) -> None:
    """Changing one changes no other (PROMPT-SEC-06, PROMPT-TOOL-06)."""
    parameters: dict[str, Any] = {"type": "object"}
    prompts.tools(world.root, lambda _: ToolOffer([{**tool("t"), "parameters": parameters, "more": 1}]))
    first = assemble(world)
    first.sections.clear()
    first.variables["x"] = "y"
    first.tools.append(freeze(tool("u")))
    second = assemble(world)
    parameters["later"] = True
    assert (names(second), "x" in second.variables) == (["deployment:persona"], False)
    assert second.tools == [{"name": "t", "description": "about t", "parameters": {"type": "object"}}]


def test_variables_are_all_evaluated_and_the_nearest_counts(world: World, prompts: SystemPrompt) -> None:
    """Having no value shadows a value (PROMPT-VAR-02)."""
    agent = world.create()
    ran: list[str] = []

    def value(name: str, answer: str | None) -> Any:
        def provide(_: AssembleContext) -> str | None:
            ran.append(name)
            return answer

        return provide

    prompts.variable(world.root, "v", value("global", "x"))
    prompts.variable(agent.ctx, "v", value("own", None))
    assert assemble(world, agent).variables["v"] is None
    assert assemble(world).variables["v"] == "x"
    assert ran == ["global", "own", "global"]


def test_tool_providers_never_shadow(world: World, prompts: SystemPrompt) -> None:
    """All along the chain contribute (PROMPT-SCOPE-03)."""
    agent = world.create()
    prompts.tools(world.root, lambda _: ToolOffer([tool("g")]))
    prompts.tools(agent.ctx, lambda _: ToolOffer([tool("g"), tool("a")]))
    assert [schema["name"] for schema in assemble(world, agent).tools] == ["a", "g", "g"]
    assert [schema["name"] for schema in assemble(world).tools] == ["g"]


def test_contributions_end_with_their_scope(world: World, prompts: SystemPrompt) -> None:
    """What they shadowed is back, and nothing can be contributed through it any more (PROMPT-SCOPE-04)."""
    agent = world.create()
    prompts.section(world.root, "s", 0, "global")
    prompts.section(agent.ctx, "s", 0, "own")
    world.dispose()
    assert assemble(world, agent).sections[-1].text == "global"
    with pytest.raises(InactiveContext):
        prompts.section(agent.ctx, "s", 0, "late")


def test_every_change_is_announced_once(world: World, prompts: SystemPrompt) -> None:
    """Of all five kinds, to everybody (PROMPT-CHANGE-01, PROMPT-DISP-01)."""
    one, other = world.create("a"), world.create("b")
    changes: list[None] = []
    world.run(lambda: one.ctx.on(SYSTEM_PROMPT_CHANGE, changes.append))
    disposers = [
        prompts.section(other.ctx, "s", 0, "x"),
        prompts.context(other.ctx, "c", 0, "x"),
        prompts.variable(other.ctx, "v", lambda _: "x"),
        prompts.tools(other.ctx, lambda _: ToolOffer(())),
        prompts.suppress_contexts(other.ctx),
    ]
    for dispose in disposers * 2:
        world.run(dispose)
    assert len(changes) == 10


def test_a_change_that_is_refused_is_undone(world: World, prompts: SystemPrompt) -> None:
    """PROMPT-CHANGE-02."""
    refusals = [ValueError("no")]

    def refuse(_: None) -> None:
        if refusals:
            raise refusals.pop()

    world.root.on(SYSTEM_PROMPT_CHANGE, refuse)
    with pytest.raises(ValueError, match="no"):
        prompts.section(world.root, "s", 0, "x")
    assert "s" not in names(assemble(world))
    prompts.section(world.root, "s", 0, "x")


# --- complete sections, suppressed contexts --------------------------------------------------------------------------


def test_a_complete_section_is_the_whole_text(world: World, prompts: SystemPrompt) -> None:
    """The listeners run on everything, and cannot touch it (PROMPT-COMPLETE-01, PROMPT-COMPLETE-02)."""
    prompts.section(world.root, "all", 3, "whole", complete=True)

    async def edit(hook: PromptAssembling, proceed: Next[Any]) -> Any:
        assert names(hook.assembly) == ["deployment:persona", "all"]
        hook.assembly.sections = [PromptText("all", "edited")]
        hook.assembly.variables["v"] = "kept"
        return await proceed()

    world.root.on(SYSTEM_PROMPT_ASSEMBLE, edit)
    assembly = assemble(world)
    assert (assembly.sections, assembly.variables["v"]) == ([PromptText("all", "whole")], "kept")


def test_two_complete_sections_are_a_conflict(world: World, prompts: SystemPrompt) -> None:
    """Found before any text is evaluated; only what counts in the scope does (PROMPT-COMPLETE-03, -04)."""
    agent = world.create()

    def never(_: AssembleContext) -> str:
        raise AssertionError

    prompts.section(world.root, "one", 1, never, complete=True)
    lift = prompts.section(agent.ctx, "two", 2, "x", complete=True)
    with pytest.raises(PromptError, match='multiple complete prompt sections are active: "one", "two"'):
        assemble(world, agent)
    world.run(lift)
    prompts.section(agent.ctx, "one", 1, "plain")
    assert names(assemble(world, agent)) == ["deployment:persona", "one"]


def test_suppressed_contexts(world: World, prompts: SystemPrompt) -> None:
    """None is evaluated, none can be added; until the last suppressor is gone (PROMPT-CTX-02, PROMPT-CTX-03)."""
    agent = world.create()
    evaluated: list[AssembleContext] = []

    def provide(context: AssembleContext) -> str:
        evaluated.append(context)
        return "text"

    prompts.context(world.root, "c", 0, provide)
    lifts = [prompts.suppress_contexts(world.root), prompts.suppress_contexts(agent.ctx)]

    async def add(hook: PromptAssembling, proceed: Next[Any]) -> Any:
        hook.assembly.contexts.append(PromptText("added", "x"))
        return await proceed()

    off = world.root.on(SYSTEM_PROMPT_ASSEMBLE, add)
    assert assemble(world, agent).contexts == []
    world.run(off)
    world.run(lifts[0])
    assert (assemble(world, agent).contexts, evaluated) == ([], [])
    assert assemble(world).contexts == [PromptText("c", "text")]
    world.run(lifts[1])
    assert assemble(world, agent).contexts == [PromptText("c", "text")]


def test_contexts_can_be_off_altogether() -> None:
    """PROMPT-CTX-03."""
    world = World(prompt=PromptOptions(include_runtime_context=False))
    world.root[SYSTEM_PROMPT].context(world.root, "c", 0, "text")
    assert assemble(world).contexts == []
    world.close()


# --- evaluation and listeners ----------------------------------------------------------------------------------------


def test_the_order_of_evaluation(world: World, prompts: SystemPrompt) -> None:
    """Variables, tools, sections, contexts, listeners, all in the call up to the first that waits (PROMPT-ASM-01)."""
    ran: list[str] = []

    def note(name: str, answer: Any = "x") -> Any:
        def provide(*_: object) -> Any:
            ran.append(name)
            return answer

        return provide

    async def listen(_: PromptAssembling, proceed: Next[Any]) -> Any:
        ran.append("listener")
        return await proceed()

    prompts.context(world.root, "c", 0, note("context"))
    prompts.section(world.root, "later", 2, note("later"))
    prompts.section(world.root, "sooner", 1, note("sooner"))
    prompts.tools(world.root, note("tools", ToolOffer(())))
    prompts.variable(world.root, "v", note("variable"))
    world.root.on(SYSTEM_PROMPT_ASSEMBLE, listen)
    assemble(world)
    assert ran == ["variable", "tools", "sooner", "later", "context", "listener"]


def test_who_takes_part_is_fixed_after_the_variables(world: World, prompts: SystemPrompt) -> None:
    """What a variable registers is in, what a section registers is in the next one (PROMPT-ASM-05)."""

    def once(name: str) -> Any:
        def provide(_: AssembleContext) -> str:
            if name not in done:
                done.add(name)
                prompts.section(world.root, f"by {name}", 9, "x")
            return "x"

        return provide

    done: set[str] = set()
    prompts.variable(world.root, "variable", once("variable"))
    prompts.section(world.root, "section", 0, once("section"))
    assert names(assemble(world)) == ["deployment:persona", "section", "by variable"]
    assert names(assemble(world))[-1] == "by section"


def test_a_failing_provider_fails_the_assembly_alone(world: World, prompts: SystemPrompt) -> None:
    """Through its awaitable; no listener runs, and the next assembly works (PROMPT-ASM-02)."""
    failures = [ValueError("no")]

    def fail(_: AssembleContext) -> str:
        if failures:
            raise failures.pop()
        return "x"

    async def listen(_: PromptAssembling, proceed: Next[Any]) -> Any:
        heard.append("listener")
        return await proceed()

    heard: list[str] = []
    prompts.section(world.root, "s", 0, fail)
    world.root.on(SYSTEM_PROMPT_ASSEMBLE, listen)
    task = world.start(prompts.assemble)
    assert (str(task.exception()), heard) == ("no", [])
    assert names(assemble(world)) == ["deployment:persona", "s"]


def test_listeners_share_one_assembly(world: World) -> None:
    """Changes before `next` show to the inner ones; what the outermost answers counts (PROMPT-WF-01, PROMPT-WF-02)."""
    seen: list[list[str]] = []
    other = Assembly(sections=[PromptText("W", "W")], tools=[freeze(tool("t2")), freeze(tool("t1"))])

    async def outer(hook: PromptAssembling, proceed: Next[Any]) -> Any:
        hook.assembly.sections.append(PromptText("added", "x"))
        await proceed()
        return other

    async def inner(hook: PromptAssembling, proceed: Next[Any]) -> Any:
        seen.append(names(hook.assembly))
        return await proceed()

    world.root.on(SYSTEM_PROMPT_ASSEMBLE, outer)
    world.root.on(SYSTEM_PROMPT_ASSEMBLE, inner)
    assert assemble(world) is other
    assert seen == [["deployment:persona", "added"]]


def test_listeners_hear_their_scope(world: World) -> None:
    """A scoped one its own assemblies, a plain one all (PROMPT-WF-03)."""
    one, other = world.create("a"), world.create("b")
    heard: list[object] = []

    async def hear(hook: PromptAssembling, proceed: Next[Any]) -> Any:
        heard.append(hook.scope)
        return await proceed()

    world.run(lambda: one.ctx.on(SYSTEM_PROMPT_ASSEMBLE, hear))
    for scope in (one, other, None):
        assemble(world, scope)
    assert heard == [one]


def test_what_is_no_assembly_is_refused(world: World) -> None:
    """Sheet 50, traps."""

    async def wrong(*_: object) -> Any:
        return None

    world.root.on(SYSTEM_PROMPT_ASSEMBLE, wrong)
    task = world.start(world.root[SYSTEM_PROMPT].assemble)
    assert "system-prompt/assemble was answered with None" in str(task.exception())


# --- the order of tools ----------------------------------------------------------------------------------------------


def ordered(order: list[str] | None, *tools: str, known: set[str] | None = None) -> list[str]:
    world = World(prompt=PromptOptions(tool_order=order))
    try:
        offer = ToolOffer([tool(name) for name in tools], known)
        world.root[SYSTEM_PROMPT].tools(world.root, lambda _: offer)
        return [schema["name"] for schema in assemble(world).tools]
    finally:
        world.close()


def test_tools_are_sorted_by_code_units() -> None:
    """PROMPT-TOOL-01: UTF-16, not code points."""
    assert ordered(None, "b", "A", "a", "_", "10", "9") == ["10", "9", "A", "_", "a", "b"]
    assert ordered(None, "\uff5e", "\U0001f600") == ["\U0001f600", "\uff5e"]


def test_a_configured_order() -> None:
    """Listed tools in their places, all others at the rest entry (PROMPT-TOOL-02)."""
    assert ordered(["z", "<unlisted-tools>", "a"], "a", "m", "z", "b") == ["z", "b", "m", "a"]


@pytest.mark.parametrize(
    ("order", "text"),
    [
        ([], 'toolOrder must contain the "<unlisted-tools>" rest entry'),
        (["a"], 'toolOrder must contain the "<unlisted-tools>" rest entry'),
        (["a", "a"], 'toolOrder lists "a" more than once'),
        (["<unlisted-tools>", "<unlisted-tools>"], 'toolOrder lists "<unlisted-tools>" more than once'),
    ],
)
def test_an_order_that_is_none(world: World, order: list[str], text: str) -> None:
    """It is refused when the application is composed (PROMPT-TOOL-03)."""
    with pytest.raises(InvalidToolOrder, match=text):
        world.run(lambda: compose(prompt=PromptOptions(tool_order=order)))


def test_an_order_lists_known_tools() -> None:
    """Known is what providers say, on offer or not (PROMPT-TOOL-04)."""
    rest = "<unlisted-tools>"
    assert ordered([rest, "bash"], "read", known={"read", "bash"}) == ["read"]
    with pytest.raises(InvalidToolOrder, match='lists unregistered tool "basj"; known tools: bash, read'):
        ordered([rest, "basj"], "read", known={"read", "bash"})
    with pytest.raises(InvalidToolOrder, match=r'lists unregistered tools "x", "y"; known tools: \(none\)'):
        ordered(["x", rest, "y"])


def test_the_name_of_the_rest_is_reserved() -> None:
    """With or without an order (PROMPT-TOOL-05)."""
    with pytest.raises(InvalidToolOrder, match='reserved tool name "<unlisted-tools>"'):
        ordered(None, "<unlisted-tools>")
