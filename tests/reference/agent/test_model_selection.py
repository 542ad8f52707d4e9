"""The selection of an agent's model: what the prompt says and where the request goes, step by step."""

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import pytest
from tests.reference.world import Model, World, finish, stream

from dshcore.agent import (
    AGENT_PRE_STEP,
    AGENT_REQUEST,
    AGENT_REQUEST_ERROR,
    AgentRequest,
    ModelSelection,
    Retry,
    SelectedModel,
)
from dshcore.cancel_signal import CancelSignal
from dshcore.context import InactiveContext
from dshcore.ids import ReasoningEffortId
from dshcore.llm import LLM, CallConfig
from dshcore.scope import scope_target
from dshcore.system_prompt import (
    SYSTEM_PROMPT,
    SYSTEM_PROMPT_ASSEMBLE,
    AssembleContext,
    Assembly,
    PromptAssembling,
    PromptOptions,
)

T = TypeVar("T")

FAR = SelectedModel(provider="far", model="mA")
NEAR = SelectedModel(provider="mock", model="mB")


@pytest.fixture
def world() -> Iterator[World]:
    made = World(prompt=PromptOptions(include_harness_identity=False, persona="on {{provider}}/{{model}}"))
    made.create()
    made.run(lambda: made.root[LLM].register(made.root, ["far"], made.model))
    yield made
    made.close()


def installed(world: World, current: SelectedModel | None = None) -> ModelSelection:
    selection = ModelSelection(current)
    selection.install(world.handles["a"].agent)
    return selection


async def done(value: T) -> T:
    return value


def asked(world: World) -> list[str]:
    """Where each request went, and what its prompt says of that."""
    return [f"{sent.config.provider}/{sent.config.model}: {sent.system}" for sent in world.model.requests]


def before_the_step(world: World, act: Callable[[], object]) -> None:
    async def listener(_: Any, proceed: Any) -> Any:
        act()
        return await proceed()

    world.root.on(AGENT_PRE_STEP, listener, once=True)


def test_text_and_route_name_the_selected_model(world: World) -> None:
    """A switch inside a step waits for the next one, for both (MODEL-SEL-01)."""
    selection = installed(world, FAR)
    before_the_step(world, lambda: setattr(selection, "current", NEAR))
    world.followup("A")
    world.followup("B")
    assert asked(world) == ["far/mA: on far/mA", "mock/mB: on mock/mB"]


def test_retry_keeps_the_model_of_its_step(world: World) -> None:
    """A repeated attempt belongs to the step that it repeats (MODEL-SEL-01)."""
    selection = installed(world, FAR)
    world.model.follow(stream(finish("error", failure={"message": "m", "code": "X"})), stream(finish()))

    async def recover(*_: Any) -> Retry:
        selection.current = NEAR
        return Retry()

    world.root.on(AGENT_REQUEST_ERROR, recover)
    world.followup("A")
    assert asked(world) == ["far/mA: on far/mA"] * 2


def test_looking_at_the_prompt_changes_no_step(world: World) -> None:
    """Whoever assembles the prompt while a step is open sees the new model; the step keeps its own (MODEL-SEL-01)."""
    selection = installed(world, FAR)
    seen: list[Any] = []

    async def look(_: Any, proceed: Any) -> Any:
        selection.current = NEAR
        agent = world.handles["a"].agent
        seen.append(await world.root[SYSTEM_PROMPT].assemble(AssembleContext(scope=agent)))
        return await proceed()

    world.root.on(AGENT_PRE_STEP, look, once=True)
    world.followup("A")
    assert seen[0].variables["model"] == "mB"
    assert asked(world) == ["far/mA: on far/mA"]


def test_selection_replaces_the_route_and_the_effort_alone(world: World) -> None:
    """Also an effort that is inherited, where none is selected (MODEL-SEL-02)."""
    agent = world.handles["a"].agent
    efforts = {"efforts": [{"id": "lo", "name": "L"}, {"id": "hi", "name": "H"}], "defaultEffort": "lo"}

    class Own(Model):
        async def resolve(self, provider: str, model: str, _: Any) -> dict[str, Any]:
            return {"provider": provider, "id": model, "name": model, "reasoning": efforts}

    own = Own()
    world.run(lambda: world.root[LLM].register(world.root, ["own"], own))
    selection = ModelSelection(SelectedModel(provider="own", model="mA", reasoning_effort=ReasoningEffortId("hi")))
    selection.install(agent)

    async def warm(_: Any, proceed: Any) -> CallConfig:
        config: CallConfig = await proceed()
        return CallConfig.read({**config.to_json(), "temperature": 0.5})

    agent.ctx.on(AGENT_REQUEST, warm)
    world.followup("A")
    selection.current = SelectedModel(provider="own", model="mA")
    world.followup("B")
    configs = [sent.config.to_json() for sent in own.requests]
    assert configs == [
        {"provider": "own", "model": "mA", "reasoningEffort": "hi", "temperature": 0.5},
        {"provider": "own", "model": "mA", "reasoningEffort": "lo", "temperature": 0.5},
    ]


def test_without_a_selection_the_last_route_stays(world: World) -> None:
    """At first, after clearing and after disposal; the text then names the agent's own model (MODEL-SEL-03)."""
    selection = ModelSelection()
    uninstall = selection.install(world.handles["a"].agent)
    world.followup("A")
    selection.current = FAR
    world.followup("B")
    selection.current = None
    world.followup("C")
    selection.current = NEAR
    world.followup("D")
    world.run(uninstall)
    world.followup("E")
    assert asked(world) == [
        "mock/m1: on mock/m1",
        "far/mA: on far/mA",
        "far/mA: on mock/m1",
        "mock/mB: on mock/mB",
        "mock/mB: on mock/m1",
    ]


def test_selection_is_of_one_agent(world: World) -> None:
    """Others are left alone, and it ends with its agent (MODEL-SEL-01)."""
    installed(world, FAR)
    other = world.create("b")
    world.run(lambda: other.followup({"id": "B", "role": "user", "content": [], "source": {"kind": "user"}}))
    assert asked(world) == ["mock/m1: on mock/m1"]
    own = world.handles["a"].agent

    async def ask() -> tuple[CallConfig, Assembly]:  # even where what is another's reaches it
        request = AgentRequest(other, 1, 1, CancelSignal())
        assembling = PromptAssembling(Assembly(), AssembleContext(scope=other, agent=other))
        return (
            await own.ctx.waterfall(AGENT_REQUEST, request, lambda: done(CallConfig(provider="mock", model="m1"))),
            await own.ctx.waterfall(
                SYSTEM_PROMPT_ASSEMBLE, assembling, lambda: done(assembling.assembly), to=scope_target(own, own)
            ),
        )

    world.followup("A")
    config, assembly = world.start(ask).result()
    assert (config.model, assembly.variables) == ("m1", {})
    ended = own
    world.dispose()
    with pytest.raises(InactiveContext):
        ModelSelection().install(ended)
