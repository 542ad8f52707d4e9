"""What the driver does with prompts: when it assembles, what it sends and logs, which step a failure falls in."""

from functools import partial
from typing import Any

import pytest
from tests.reference.toolbox import Toolbox, calls, definition
from tests.reference.world import USER, World, do, fail, message, text

from dshcore.agent import (
    AGENT_INBOX_CLAIMED,
    AGENT_INBOX_INSERTED,
    AGENT_PRE_STEP,
    AGENT_REQUEST_ERROR,
    AGENT_TURN_STOPPING,
    AgentOptions,
    AgentPreStep,
    Enter,
    Reject,
    Retry,
)
from dshcore.context import Context
from dshcore.events import Next
from dshcore.json import freeze
from dshcore.system_prompt import (
    SYSTEM_PROMPT,
    SYSTEM_PROMPT_ASSEMBLE,
    AssembleContext,
    Assembly,
    PromptAssembling,
    PromptOptions,
    PromptText,
    SystemPrompt,
    ToolOffer,
)


@pytest.fixture
def prompts(world: World) -> SystemPrompt:
    world.create()
    return world.root[SYSTEM_PROMPT]


def record_assemblies(world: World) -> list[PromptAssembling]:
    seen: list[PromptAssembling] = []

    async def assemble(hook: PromptAssembling, proceed: Next[Any]) -> Any:
        world.rows.append("> assemble")
        seen.append(hook)
        return await proceed()

    world.root.on(SYSTEM_PROMPT_ASSEMBLE, assemble)
    return seen


def marked(world: World) -> list[str]:
    marks = ("> ", "turn", "step", "user", "splice next-turn 0 -1", "claimed")
    return [row for row in world.take() if row.startswith(marks)]


def sent(world: World) -> list[tuple[str | None, list[str]]]:
    """The system text and the tools of each request."""
    return [(each.system, [tool["name"] for tool in each.tools or ()]) for each in world.model.requests]


@pytest.mark.usefixtures("prompts")
def test_the_prompt_is_assembled_between_claim_and_proposal(world: World) -> None:
    """Once per proposal, for the agent and on its turn's signal (REQ-PROMPT-01, PROMPT-ASM-04, LOOP-PRE-01)."""
    signals: list[object] = []
    seen = record_assemblies(world)
    world.decide(lambda hook: signals.append(hook.signal))
    world.take()
    world.followup("A")
    assert marked(world) == [
        "turn/start 1",
        "splice next-turn 0 -1",
        "claimed 1 A",
        "> assemble",
        "> pre-step 1.1 A",
        "step/start 1.1",
        "user/message A",
        "> request 1.1",
        "step/end 1.1",
        "> stopping 1",
        "turn/end 1 completed",
    ]
    agent = world.handles["a"].agent
    (hook,) = seen
    assert (hook.agent, hook.scope, [hook.signal]) == (agent, agent, signals)


def test_system_text_and_tools_are_sent_and_logged(world: World, prompts: SystemPrompt) -> None:
    """In header and request; what is empty is absent from both (REQ-HEAD-03, REQ-SHAPE-01)."""
    world.followup("A")
    assert sent(world) == [(None, [])]
    assert "tools" not in world.model.requests[0].to_json()
    header = world.session().request_header()
    assert header is not None
    assert set(header) == {"config"}
    prompts.section(world.root, "s", 1, "You are {{model}}.")
    Toolbox(world).add("t")
    world.followup("B")
    header = world.session().request_header()
    assert header is not None
    schema = freeze({"name": "t", "description": "about t", "parameters": {"type": "object"}})
    assert (header["system"], header["tools"]) == ("You are m1.", (schema,))
    assert sent(world)[1] == ("You are m1.", ["t"])
    assert world.model.requests[1].tools == (schema,)


def test_a_header_is_logged_when_the_prompt_has_changed(world: World, prompts: SystemPrompt) -> None:
    """The system text, the tools, and their order (REQ-HEAD-02)."""
    order = ["t", "u"]

    async def shuffle(_: PromptAssembling, proceed: Next[Any]) -> Any:
        assembly: Assembly = await proceed()
        assembly.tools.sort(key=lambda tool: order.index(tool["name"]))
        return assembly

    tools = Toolbox(world)
    tools.add("t")
    tools.add("u")
    world.root.on(SYSTEM_PROMPT_ASSEMBLE, shuffle)
    world.followup("A", "B")
    lift = prompts.section(world.root, "s", 1, "text")
    world.followup("C", "D")
    order.reverse()
    world.followup("E")
    world.run(lift)
    world.followup("F")
    reasons = [row for row in world.log() if row.startswith("request/header")]
    assert reasons == ["request/header initial"] + ["request/header change"] * 3


def test_what_a_proposal_registers_counts_from_the_next_step(world: World, prompts: SystemPrompt) -> None:
    """The request is made of the assembly before the proposal (REQ-PROMPT-01)."""
    tools = Toolbox(world)

    def register(hook: AgentPreStep) -> None:
        if hook.step == 1:
            prompts.section(world.root, "s", 1, "new")
            tools.tools.register(world.root, definition("u"))

    tools.add("t")
    world.decide(register)
    world.model.follow(calls("c:t"), text("done"))
    world.followup("A")
    assert sent(world) == [(None, ["t"]), ("new", ["t", "u"])]


def test_a_retry_keeps_the_prompt_of_its_step(world: World, prompts: SystemPrompt) -> None:
    """What recovery registers counts from the next step (RERR-RETRY-03)."""
    assemblies = record_assemblies(world)

    async def recover(*_: object) -> Retry:
        prompts.section(world.root, f"s{len(world.model.requests)}", 1, "new")
        return Retry()

    world.root.on(AGENT_REQUEST_ERROR, recover)
    world.model.follow(fail("X"), text("ok"), text("later"))
    world.followup("A")
    world.followup("B")
    assert (sent(world), len(assemblies)) == ([(None, []), (None, []), ("new", [])], 2)


@pytest.mark.usefixtures("prompts")
def test_no_assembly_after_the_last_step(world: World) -> None:
    """One plain answer, one assembly (LOOP-STOP-04)."""
    seen = record_assemblies(world)
    world.followup("A")
    assert len(seen) == 1


def test_the_loop_contributes_variables(world: World) -> None:
    """Provider and model of the options, the session's cwd, each without value where there is none (PROMPT-VAR-03)."""
    prompts = world.root[SYSTEM_PROMPT]
    world.create("a", meta={"cwd": "/project"})
    world.create("b", agent_options=AgentOptions())
    for name, values in (
        ("a", {"provider": "mock", "model": "m1", "cwd": "/project"}),
        ("b", {"provider": None, "model": None, "cwd": None}),
    ):
        agent = world.handles[name].agent
        assembly = world.start(partial(prompts.assemble, AssembleContext(scope=agent, agent=agent))).result()
        assert assembly.variables == values
    nobody = world.start(prompts.assemble).result()
    assert nobody.variables == {"provider": None, "model": None, "cwd": None}


def test_a_setup_contributes_to_the_first_prompt(world: World) -> None:
    """PROMPT-SCOPE-05."""
    prompts = world.root[SYSTEM_PROMPT]

    def setup(ctx: Context) -> None:
        prompts.section(ctx, "s", 1, "own")

    world.create(setup=setup)
    world.followup("A")
    assert sent(world) == [("own", [])]


def test_a_persona_without_a_value_fails_the_turn() -> None:
    """The text names the reference (PROMPT-VAR-03, PROMPT-INT-05)."""
    world = World(prompt=PromptOptions(include_harness_identity=False, persona="{{cwd}}"))
    world.create()
    world.followup("A")
    assert world.take()[-3] == (
        'agent/error 1.1 prompt variable "{{cwd}}" has no value for this assembly (section "deployment:persona")'
    )
    world.close()


# --- failures and aborts ---------------------------------------------------------------------------------------------


def test_a_failing_assembly_fails_before_the_step(world: World, prompts: SystemPrompt) -> None:
    """No proposal, no step, the batch is lost (REQ-PROMPT-02)."""
    prompts.tools(
        world.root, lambda _: ToolOffer([freeze({"name": "<unlisted-tools>", "description": "", "parameters": {}})])
    )
    world.take()
    world.followup("A")
    rows = marked(world)
    assert rows == ["turn/start 1", "splice next-turn 0 -1", "claimed 1 A", "turn/end 1 error UNKNOWN"]
    assert not world.handles["a"].agent.inbox.has_pending


def test_a_failing_context_fails_before_the_proposal(world: World, prompts: SystemPrompt) -> None:
    """As assembly itself (REQ-PROMPT-02)."""
    prompts.context(world.root, "c", 0, "{{nope}}")
    world.take()
    world.followup("A")
    assert marked(world)[-2:] == ["claimed 1 A", "turn/end 1 error UNKNOWN"]


def test_a_failing_section_fails_within_the_step(world: World, prompts: SystemPrompt) -> None:
    """The batch is recorded, no listener of the request is asked (REQ-PROMPT-02)."""
    prompts.section(world.root, "s", 0, "{{nope}}")
    world.take()
    world.followup("A")
    assert marked(world)[-5:] == [
        "> pre-step 1.1 A",
        "step/start 1.1",
        "user/message A",
        "step/end 1.1",
        "turn/end 1 error UNKNOWN",
    ]


@pytest.mark.parametrize("where", ["claimed", "assembly", "context"])
def test_an_abort_around_the_assembly(world: World, prompts: SystemPrompt, where: str) -> None:
    """The assembly goes on; then the turn closes without a proposal (CANCEL-PHASE-03, PROMPT-ASM-04)."""
    agent = world.handles["a"].agent
    ran: list[str] = []

    def cancel(*_: object) -> str:
        agent.cancel(USER)
        return "text"

    async def listener(hook: PromptAssembling, proceed: Next[Any]) -> Any:
        if where == "assembly":
            cancel()
        assert hook.signal is not None
        ran.append(f"aborted {hook.signal.aborted}")
        return await proceed()

    async def inner(_: PromptAssembling, proceed: Next[Any]) -> Any:
        ran.append("inner")
        return await proceed()

    if where == "claimed":
        world.root.on(AGENT_INBOX_CLAIMED, cancel)
    if where == "context":
        prompts.context(world.root, "c", 0, cancel)
    world.root.on(SYSTEM_PROMPT_ASSEMBLE, listener)
    world.root.on(SYSTEM_PROMPT_ASSEMBLE, inner)
    world.take()
    world.followup("A")
    assert marked(world)[-2:] == ["claimed 1 A", "turn/end 1 aborted"]
    assert ran == ["aborted True", "inner"]


@pytest.mark.usefixtures("prompts")
def test_nothing_later_than_the_assembly_happens_inside_the_wake(world: World) -> None:
    """The proposal comes after the call and the code around it (AGENT-SEND-07)."""
    agent = world.handles["a"].agent
    record_assemblies(world)
    world.take()
    world.run(do(lambda: agent.followup(message("A")), lambda: world.rows.append("> returned")))
    rows = marked(world)
    assert rows.index("> assemble") < rows.index("> returned") < rows.index("> pre-step 1.1 A")


# --- snapshots -------------------------------------------------------------------------------------------------------


class Changing:
    """A context whose text a test changes."""

    def __init__(self, world: World) -> None:
        self.text = "one"
        world.root[SYSTEM_PROMPT].context(world.root, "c", 0, lambda _: self.text)


def entered(world: World) -> list[str]:
    """The messages of each step, snapshots by their last paragraph."""
    rows = [row for row in world.take() if row.startswith(("step/start", "user/message", "turn/end"))]
    return [row.replace("\n", "|").split("||")[-1] for row in rows]


@pytest.mark.usefixtures("prompts")
def test_a_snapshot_stands_at_the_end_of_the_default_batch(world: World) -> None:
    """Listeners find it in what `next` answers, not among what was claimed (PROMPT-SNAP-01, LOOP-PRE-02)."""
    seen: list[Any] = []

    async def listener(hook: AgentPreStep, proceed: Next[Any]) -> Any:
        decision = await proceed()
        seen.append([message["id"] for message in hook.messages])
        seen.append([message["source"]["kind"] for message in decision.messages])
        return decision

    Changing(world)
    world.root.on(AGENT_PRE_STEP, listener)
    world.take()
    world.followup("A")
    assert seen == [["A"], ["user", "plugin"]]
    assert entered(world) == ["step/start 1.1", "user/message A", "one", "turn/end 1 completed"]


@pytest.mark.usefixtures("prompts")
def test_snapshots_follow_their_contexts(world: World) -> None:
    """One while it does not change; a changed one within the turn too (PROMPT-SNAP-02)."""
    context = Changing(world)
    Toolbox(world).add("t", lambda *_: setattr(context, "text", "two"))
    world.followup("A")
    world.take()
    world.model.follow(calls("c:t"), text("done"))
    world.followup("B")
    assert entered(world) == [
        "step/start 2.1",
        "user/message B",
        "step/start 2.2",
        "two",
        "turn/end 2 completed",
    ]


@pytest.mark.usefixtures("prompts")
def test_a_rejected_snapshot_is_offered_again(world: World) -> None:
    """It counts when it is in the log (PROMPT-SNAP-04)."""
    Changing(world)
    world.decide(lambda hook: Reject() if hook.turn == 1 else None)
    world.followup("A")
    world.take()
    world.followup("B")
    assert entered(world) == ["step/start 2.1", "user/message B", "one", "turn/end 2 completed"]


@pytest.mark.usefixtures("prompts")
def test_a_snapshot_makes_a_step_of_an_empty_batch(world: World) -> None:
    """At the first boundary; but a context that merely changed leads to no step (PROMPT-SNAP-07, WAKE-IDLE-01)."""
    context = Changing(world)
    agent = world.handles["a"].agent

    async def change(*_: object) -> None:
        context.text = "two"

    world.root.on(AGENT_TURN_STOPPING, change)
    world.root.on(AGENT_INBOX_INSERTED, lambda hook: agent.inbox.remove(hook.message["id"]))
    world.take()
    world.followup("A")
    assert entered(world) == ["step/start 1.1", "one", "turn/end 1 completed"]


@pytest.mark.usefixtures("prompts")
def test_a_dropped_message_leaves_the_snapshot(world: World) -> None:
    """Emptiness is judged with it (PROMPT-SNAP-07)."""
    context = Changing(world)
    agent = world.handles["a"].agent

    async def steer(*_: object) -> None:
        if context.text == "one":
            context.text = "two"
            agent.steer(message("S"))

    async def drop(hook: AgentPreStep, proceed: Next[Any]) -> Any:
        decision = await proceed()
        return Enter(decision.messages[1:]) if hook.step == 2 else decision

    world.root.on(AGENT_TURN_STOPPING, steer)
    world.root.on(AGENT_PRE_STEP, drop)
    world.take()
    world.followup("A")
    assert entered(world)[3:] == ["step/start 1.2", "two", "turn/end 1 completed"]


def test_listeners_shape_what_is_rendered(world: World, prompts: SystemPrompt) -> None:
    """Variables and contexts that they add count (PROMPT-WF-04)."""
    prompts.section(world.root, "s", 1, "{{model}}")

    async def shape(hook: PromptAssembling, proceed: Next[Any]) -> Any:
        hook.assembly.variables["model"] = "sel"
        hook.assembly.contexts.append(PromptText("added", "ctx {{model}}"))
        return await proceed()

    world.root.on(SYSTEM_PROMPT_ASSEMBLE, shape)
    world.take()
    world.followup("A")
    assert sent(world)[0][0] == "sel"
    assert "ctx sel" in entered(world)
