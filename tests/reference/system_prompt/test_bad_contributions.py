"""Contributions that nobody can make a prompt of are refused with their name, as early as they can be."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.reference.prompting import assemble
from tests.reference.world import World
from typeguard import suppress_type_checks

from dshcore.spine import compose
from dshcore.system_prompt import (
    SYSTEM_PROMPT_ASSEMBLE,
    SYSTEM_PROMPT_CHANGE,
    AssembleContext,
    Assembly,
    InvalidContribution,
    InvalidToolOrder,
    PromptError,
    PromptOptions,
    PromptText,
    SystemPrompt,
    ToolOffer,
)


@pytest.fixture(autouse=True)
def wrong_types() -> Iterator[None]:
    """Wrong types are the subject."""
    with suppress_type_checks():
        yield


async def _late(_: object) -> str:
    return "x"


@pytest.mark.parametrize(
    ("contribute", "text"),
    [
        (lambda p, o: p.section(o, "s", 1, None), 'prompt section "s" needs a text, or a function'),
        (
            lambda p, o: p.context(o, "c", 1, 5),
            'prompt context "c" needs a text, or a function that answers one, not 5',
        ),
        (
            lambda p, o: p.variable(o, "v", "x"),
            "prompt variable \"v\" needs a function that answers its value, not 'x'",
        ),
        (lambda p, o: p.section(o, "s", 10**400, "x"), 'prompt section "s" order must be a finite number'),
        (lambda p, o: p.context(o, "c", "1", "x"), 'prompt context "c" order must be a finite number'),
        (lambda p, o: p.section(o, 5, 1, "x"), "the name of a prompt section is a text, not 5"),
        (lambda p, o: p.variable(o, 5, lambda _: "x"), 'invalid prompt variable name "5"'),
        (lambda p, o: p.tools(o, "x"), "a prompt tool provider answers a ToolOffer when it is called; 'x' cannot be"),
    ],
)
def test_what_is_wrong_from_the_start_is_refused(
    world: World, prompts: SystemPrompt, contribute: Callable[..., object], text: str
) -> None:
    """Nothing is registered or announced (PROMPT-SEC-03)."""
    changes: list[None] = []
    world.root.on(SYSTEM_PROMPT_CHANGE, changes.append)
    before = assemble(world)
    with pytest.raises(InvalidContribution, match=text):
        contribute(prompts, world.root)
    assert (changes, assemble(world)) == ([], before)


@pytest.mark.parametrize(
    ("contribute", "text"),
    [
        (lambda p, o: p.section(o, "s", 1, lambda _: None), 'the provider of prompt section "s" answered None: a text'),
        (lambda p, o: p.section(o, "s", 1, _late), 'the provider of prompt section "s" answered <coroutine'),
        (lambda p, o: p.context(o, "c", 1, lambda _: 5), 'the provider of prompt context "c" answered 5: a text'),
        (lambda p, o: p.variable(o, "v", lambda _: 5), 'the provider of prompt variable "v" answered 5: a text is due'),
        (lambda p, o: p.variable(o, "v", _late), 'the provider of prompt variable "v" answered <coroutine'),
        (lambda p, o: p.tools(o, _late), "the prompt tool provider <function _late .* answered <coroutine"),
        (lambda p, o: p.tools(o, lambda _: []), r"answered \[\]: a ToolOffer is due"),
        (lambda p, o: p.tools(o, lambda _: ToolOffer([{"name": "t"}])), "offers a tool without 'description'"),
    ],
)
def test_what_a_provider_answers_wrongly_fails_the_assembly(
    world: World, prompts: SystemPrompt, contribute: Callable[..., object], text: str
) -> None:
    """The failure has the name of the contribution (PROMPT-ASM-02); what is asynchronous is closed."""
    contribute(prompts, world.root)
    with pytest.raises(InvalidContribution, match=text):
        assemble(world)


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"persona": None}, InvalidContribution, 'prompt section "deployment:persona" needs a text'),
        ({"tool_order": "x<unlisted-tools>y"}, InvalidToolOrder, "toolOrder must be a list of names, not 'x<unl"),
        ({"tool_order": ["<unlisted-tools>", 5]}, InvalidToolOrder, "toolOrder must be a list of names, not "),
    ],
)
def test_options_are_checked_when_the_application_is_composed(
    options: dict[str, Any], error: type[PromptError], text: str
) -> None:
    """And not with the first prompt (PROMPT-TOOL-03)."""
    with pytest.raises(error, match=text):
        compose(prompt=PromptOptions(**options))


def test_an_order_is_kept_as_it_was_checked(world: World) -> None:
    """What is done to the list afterwards changes nothing (PROMPT-TOOL-03)."""
    order = ["b", "<unlisted-tools>"]
    prompts = SystemPrompt(world.root.open(name="other"), PromptOptions(tool_order=order))
    order.clear()
    schemas: list[dict[str, Any]] = [{"name": name, "description": "", "parameters": {}} for name in "ab"]
    world.run(lambda: prompts.tools(world.root, lambda _: ToolOffer(schemas)))
    assembling = world.start(prompts.assemble)
    assert [tool["name"] for tool in assembling.result().tools] == ["b", "a"]


def test_a_listener_that_is_not_async_is_named(world: World) -> None:
    """With what to write."""
    world.root.on(SYSTEM_PROMPT_ASSEMBLE, lambda assembling, _: assembling.assembly)  # type: ignore[arg-type, return-value]
    with pytest.raises(TypeError, match="a listener of system-prompt/assemble answered a Assembly, which cannot be"):
        assemble(world)


# --- the listener's own object ---------------------------------------------------------------------------------------


def test_the_assembly_of_a_listener_stays_as_it_is(world: World, prompts: SystemPrompt) -> None:
    """It is kept and answered again: what overrides it is in a copy (PROMPT-WF-01, PROMPT-SEC-06)."""
    kept = Assembly(sections=[PromptText("W", "w")], contexts=[PromptText("c", "ctx")])
    kept.more = [1]  # type: ignore[attr-defined]

    async def listener(*_: object) -> Assembly:
        return kept

    world.root.on(SYSTEM_PROMPT_ASSEMBLE, listener)
    complete = world.run(lambda: prompts.section(world.root, "all", 1, "everything", complete=True))
    suppressor = world.run(lambda: prompts.suppress_contexts(world.root))
    assembled = assemble(world)
    assert (assembled.sections, assembled.contexts) == ([PromptText("all", "everything")], [])
    assert assembled.more is kept.more  # type: ignore[attr-defined]
    assert (kept.sections, kept.contexts) == ([PromptText("W", "w")], [PromptText("c", "ctx")])
    world.run(complete)
    world.run(suppressor)
    assert assemble(world) is kept


def test_tool_providers_are_asked_before_complete_sections_are_counted(world: World, prompts: SystemPrompt) -> None:
    """The conflict is found before any section text, and behind the providers (PROMPT-ASM-01, PROMPT-COMPLETE-03)."""
    asked: list[str] = []

    def noting(name: str, answer: Any) -> Callable[[AssembleContext], Any]:
        def provide(_: AssembleContext) -> Any:
            asked.append(name)
            return answer

        return provide

    prompts.tools(world.root, noting("tools", ToolOffer(schemas=())))
    for name in ("one", "two"):
        prompts.section(world.root, name, 1, noting(name, "x"), complete=True)
    with pytest.raises(PromptError, match='multiple complete prompt sections are active: "one", "two"'):
        assemble(world)
    assert asked == ["tools"]
