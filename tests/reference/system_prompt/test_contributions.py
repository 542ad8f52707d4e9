"""Contributions one by one: how long they last, what is told of them, what assemblies make of them."""

import asyncio
from typing import Any

import pytest
from tests.reference.prompting import assemble
from tests.reference.world import World

from dshcore.agent_loop import AGENT_LOOP
from dshcore.events import Next
from dshcore.spine import mount_loop
from dshcore.system_prompt import (
    SYSTEM_PROMPT_ASSEMBLE,
    SYSTEM_PROMPT_CHANGE,
    AssembleContext,
    Assembly,
    PromptAssembling,
    PromptError,
    PromptText,
    SystemPrompt,
    ToolOffer,
    render_system,
)


def texts(assembly: Assembly) -> list[str]:
    """The sections without the persona, which is empty."""
    return [section.text for section in assembly.sections if section.text]


def counting(answers: list[str]) -> Any:
    """A provider that answers another text each time."""
    return lambda _: answers.pop(0)


# --- how long they last ----------------------------------------------------------------------------------------------


def test_a_name_that_is_free_again_comes_last(world: World, prompts: SystemPrompt) -> None:
    """Its old disposer does nothing to the new one (PROMPT-DISP-01)."""
    first = prompts.section(world.root, "a", 1, "a")
    prompts.section(world.root, "b", 1, "b")
    world.run(first)
    prompts.section(world.root, "a", 1, "a again")
    world.run(first)
    assert texts(assemble(world)) == ["b", "a again"]


def test_all_that_an_agent_contributed_ends_with_it(world: World, prompts: SystemPrompt) -> None:
    """Each kind, and each end is told (PROMPT-SCOPE-04, PROMPT-CHANGE-01)."""
    agent = world.create()
    prompts.context(world.root, "c", 0, "global")
    prompts.section(agent.ctx, "s", 0, "own")
    prompts.context(agent.ctx, "c", 0, "own")
    prompts.variable(agent.ctx, "v", lambda _: "own")
    prompts.tools(agent.ctx, lambda _: ToolOffer([{"name": "t", "description": "", "parameters": {}}]))
    prompts.suppress_contexts(agent.ctx)
    changes: list[None] = []
    world.root.on(SYSTEM_PROMPT_CHANGE, changes.append)
    world.dispose()
    assembly = assemble(world, agent)
    assert (texts(assembly), assembly.contexts, assembly.tools) == ([], [PromptText("c", "global")], [])
    assert ("v" in assembly.variables, len(changes)) == (False, 5)


def test_the_built_in_sections_belong_to_nobody_else(world: World, prompts: SystemPrompt) -> None:
    """They are there for every agent and outlive each (PROMPT-SEC-01, TRACE-OWNER-03)."""
    one, other = world.create("a"), world.create("b")
    prompts.section(one.ctx, "deployment:persona", 0, "own")
    world.dispose("a")
    for scope in (one, other, None):
        assert [section.name for section in assemble(world, scope).sections] == ["deployment:persona"]
        assert texts(assemble(world, scope)) == []


def test_a_setup_contributes_to_its_agent_alone(world: World, prompts: SystemPrompt) -> None:
    """Whatever the kind: the global layer has none of it (PROMPT-SCOPE-05)."""

    def setup(ctx: Any) -> None:
        prompts.section(ctx, "s", 0, "{{v}}")
        prompts.variable(ctx, "v", lambda _: "own")
        prompts.suppress_contexts(ctx)

    prompts.context(world.root, "c", 0, "text")
    agent = world.create(setup=setup)
    assert (render_system(assemble(world, agent)), assemble(world, agent).contexts) == ("own", [])
    assert (render_system(assemble(world)), assemble(world).contexts) == ("", [PromptText("c", "text")])


# --- what is told of them --------------------------------------------------------------------------------------------


def test_what_is_told_has_happened(world: World, prompts: SystemPrompt) -> None:
    """A listener that assembles finds the registration, and after the disposal does not (PROMPT-CHANGE-01)."""
    seen: list[list[str]] = []
    loop_tasks: list[asyncio.Task[Assembly]] = []

    def look(_: None) -> None:
        loop_tasks.append(asyncio.ensure_future(prompts.assemble()))

    world.root.on(SYSTEM_PROMPT_CHANGE, look)
    dispose: Any = world.run(lambda: prompts.section(world.root, "s", 0, "x"))
    seen.append(texts(loop_tasks[0].result()))
    world.run(dispose)
    seen.append(texts(loop_tasks[1].result()))
    assert seen == [["x"], []]


def test_an_undone_registration_is_told_too(world: World, prompts: SystemPrompt) -> None:
    """A listener that refuses it makes two changes of it (PROMPT-CHANGE-02)."""
    changes: list[None] = []
    refusals = [ValueError("no")]

    def refuse(_: None) -> None:
        changes.append(None)
        if refusals:
            raise refusals.pop()

    world.root.on(SYSTEM_PROMPT_CHANGE, refuse)
    with pytest.raises(ValueError, match="no"):
        prompts.variable(world.root, "v", lambda _: "x")
    assert (len(changes), "v" in assemble(world).variables) == (2, False)


def test_a_listener_cannot_bring_back_what_is_disposed(world: World, prompts: SystemPrompt) -> None:
    """Sheet 50, traps: its failure reaches who disposed."""
    dispose = prompts.section(world.root, "s", 0, "x")

    def fail(_: None) -> None:
        raise ValueError("no")

    off = world.root.on(SYSTEM_PROMPT_CHANGE, fail)
    with pytest.raises(ValueError, match="no"):
        dispose()
    off()
    assert texts(assemble(world)) == []


# --- what assemblies make of them ------------------------------------------------------------------------------------


def test_a_text_is_asked_for_each_time(world: World, prompts: SystemPrompt) -> None:
    """Nothing is remembered between assemblies (PROMPT-SEC-05)."""
    prompts.section(world.root, "s", 0, counting(["one", "two"]))
    prompts.context(world.root, "c", 0, counting(["three", "four"]))
    found = [(texts(assembly), assembly.contexts[0].text) for assembly in (assemble(world), assemble(world))]
    assert found == [(["one"], "three"), (["two"], "four")]


def test_what_an_assembly_holds_is_its_own(world: World, prompts: SystemPrompt) -> None:
    """Texts and schemas cannot be changed in place, and lists are new ones (PROMPT-SEC-06)."""
    parameters: dict[str, Any] = {"type": "object", "properties": {"x": {}}}
    prompts.tools(world.root, lambda _: ToolOffer([{"name": "t", "description": "", "parameters": parameters}]))
    first, second = assemble(world), assemble(world)
    for change in (
        lambda: setattr(first.sections[0], "text", "other"),
        lambda: first.tools[0]["parameters"]["properties"].update(y={}),
    ):
        with pytest.raises((AttributeError, TypeError)):
            change()
    first.sections.clear()
    first.tools.clear()
    assert (len(second.sections), second.tools[0]["parameters"]) == (1, parameters)


def test_names_of_complete_sections_are_quoted(world: World, prompts: SystemPrompt) -> None:
    """As JSON strings, in the order of the sections (PROMPT-COMPLETE-03)."""
    prompts.section(world.root, "two", 2, "x", complete=True)
    prompts.section(world.root, 'one "1" \\', 1, "x", complete=True)
    task = world.start(prompts.assemble)
    error = task.exception()
    assert isinstance(error, PromptError)
    assert str(error) == r'multiple complete prompt sections are active: "one \"1\" \\", "two"'


def test_a_hidden_complete_section_does_not_count(world: World, prompts: SystemPrompt) -> None:
    """Nor does one of an agent anywhere else (PROMPT-COMPLETE-04)."""
    one, other = world.create("a"), world.create("b")
    prompts.section(world.root, "s", 0, "global", complete=True)
    prompts.section(one.ctx, "s", 0, "plain")
    prompts.section(other.ctx, "o", 1, "other")
    assert texts(assemble(world, one)) == ["plain"]
    assert texts(assemble(world, other)) == ["global"]


def test_suppression_is_decided_first(world: World, prompts: SystemPrompt) -> None:
    """Suppressors that providers and listeners register or dispose count in the next assembly (PROMPT-CTX-02)."""
    lifts: list[Any] = []

    def late(_: AssembleContext) -> None:
        if not lifts:
            lifts.append(prompts.suppress_contexts(world.root))

    async def lift(_: PromptAssembling, proceed: Next[Any]) -> Any:
        assembly = await proceed()
        if len(lifts) == 2:
            lifts[0]()
        lifts.append(None)
        return assembly

    prompts.variable(world.root, "v", late)
    prompts.context(world.root, "c", 0, "text")
    world.root.on(SYSTEM_PROMPT_ASSEMBLE, lift)
    assert [len(assemble(world).contexts) for _ in range(3)] == [1, 0, 1]


def test_variables_of_the_loop_end_with_it() -> None:
    """They are its contributions, and those of the next loop (PROMPT-VAR-03)."""
    world = World()
    assert list(assemble(world).variables) == ["provider", "model", "cwd"]
    loop = world.root[AGENT_LOOP]
    assert loop is not None
    world.run(loop._ctx.dispose)
    assert assemble(world).variables == {}
    world.run(lambda: mount_loop(world.root))
    assert list(assemble(world).variables) == ["provider", "model", "cwd"]
    world.close()
