"""Model requests: the proposal, the route, the cap, header and context, and recovery from failures."""

from collections.abc import Callable
from typing import Any

import pytest
from msgspec import UNSET
from msgspec.structs import replace
from tests.reference.world import World, cut, fail, finish, message, stream, text

from dshcore.agent import (
    AGENT_REQUEST,
    AGENT_REQUEST_ERROR,
    AGENT_TURN_STOPPING,
    AGENTS,
    AgentOptions,
    AgentRequestError,
    Retry,
)
from dshcore.agent_loop import InvalidMaxTokens
from dshcore.ids import ReasoningEffortId
from dshcore.json import freeze
from dshcore.llm import DEFAULT_RETRY, LLM, LLM_STREAM, CallConfig, is_loop_built
from dshcore.session import SESSIONS

NO_ROUTE = (
    'agent "a" has no provider/model: set AgentOptions.provider and AgentOptions.model or supply both via the '
    "agent/request waterfall"
)
BAD_CAP = "agent maxTokens must be a positive safe integer"


def on_request(world: World, change: Callable[[int, CallConfig], CallConfig]) -> list[CallConfig]:
    """Change configurations, and record what was offered: the list of all proposals."""
    offered: list[CallConfig] = []

    async def listener(_: Any, next_layer: Any) -> Any:
        offered.append(await next_layer())
        return change(len(offered), offered[-1])

    world.root.on(AGENT_REQUEST, listener)
    return offered


def recover(world: World, action: Callable[[AgentRequestError], Any]) -> None:
    async def listener(hook: AgentRequestError, _: Any) -> Any:
        return action(hook)

    world.root.on(AGENT_REQUEST_ERROR, listener)


def ending(world: World) -> Any:
    return world.session().events[-1]["data"]["reason"]


class Adapter:
    """An adapter that knows its models; it answers like the model of the world."""

    def __init__(self, world: World, **metadata: Any) -> None:
        self.world = world
        self.metadata = metadata

    def stream(self, request: Any) -> Any:
        return self.world.model.stream(request)

    async def resolve(self, provider: str, model: str, _: Any) -> Any:
        return {"provider": provider, "id": model, "name": model, **self.metadata}


def serve(world: World, provider: str, **metadata: Any) -> Any:
    return world.run(lambda: world.root[LLM].register(world.root, [provider], Adapter(world, **metadata)))


def test_first_proposal_is_the_options(world: World) -> None:
    """Absent provider and model are empty texts; the cap is there when it was set (REQ-SEED-01)."""
    world.create("a", agent_options=AgentOptions(max_tokens=4096))
    offered = on_request(world, lambda _, config: replace(config, provider="mock", model="m1"))
    world.followup("A")
    assert offered == [CallConfig(provider="", model="", max_tokens=4096)]


def test_defaults_of_the_adapter_are_not_offered_again(world: World) -> None:
    """They are in header and request, marked, and in no proposal (REQ-SEED-01, REQ-DEF-01)."""
    serve(world, "p", defaultMaxTokens=8192)
    agent = world.create(agent_options=AgentOptions(provider="p", model="m"))
    offered = on_request(world, lambda _, config: config)
    world.followup("A", "B")
    header = agent.session.request_header()
    assert header is not None
    assert header["config"]["maxTokens"] == world.model.requests[1].config.max_tokens == 8192
    assert header["adapterDefaults"] == {"maxTokens": True}
    assert [config.max_tokens for config in offered] == [UNSET, UNSET]


def test_changed_config_is_the_next_proposal(world: World) -> None:
    """What a listener set once stays, since it was logged (REQ-SEED-02)."""
    world.create()
    offered = on_request(
        world, lambda nth, config: replace(config, temperature=0.5, stop=("x",)) if nth == 1 else config
    )
    world.followup("A", "B")
    assert offered[1] == CallConfig(provider="mock", model="m1", temperature=0.5, stop=("x",))
    assert world.model.requests[1].config == offered[1]
    assert world.take_only("request/header") == ["request/header initial"]


def seed(config: dict[str, Any], **header: Any) -> list[dict[str, Any]]:
    data = {"header": {"config": config, **header}, "reason": "initial"}
    return [{"type": "request/header", "seq": 0, "time": 0, "data": data}]


@pytest.mark.parametrize(
    ("model", "header", "restored"),
    [("m1", {}, "high"), ("other", {}, UNSET), ("m1", {"adapterDefaults": {"reasoningEffort": True}}, UNSET)],
)
def test_resumed_agent_restores_an_explicit_effort_alone(
    world: World, model: str, header: dict[str, Any], restored: Any
) -> None:
    """Only for its own route, and only if the adapter had not supplied it (REQ-SEED-03)."""
    config = {"provider": "mock", "model": model, "reasoningEffort": "high", "temperature": 1, "maxTokens": 5}
    world.create(seed=seed(config, **header))
    offered = on_request(world, lambda _, config: replace(config, reasoning_effort=UNSET))
    world.followup("A")
    assert offered == [CallConfig(provider="mock", model="m1", reasoning_effort=restored)]


def test_proposal_cannot_be_changed_in_place(world: World) -> None:
    """A listener changes the call only by answering another configuration (REQ-SEED-04)."""
    world.create()

    async def assign(_: Any, next_layer: Any) -> Any:
        config: Any = await next_layer()
        config.model = "other"

    world.root.on(AGENT_REQUEST, assign)
    world.followup("A")
    assert (ending(world)["kind"], world.model.requests) == ("error", [])


@pytest.mark.parametrize("options", [AgentOptions(), AgentOptions(provider="mock"), AgentOptions(model="m1")])
def test_missing_route_fails_inside_the_step(world: World, options: AgentOptions) -> None:
    """Before any header, with the text that says what to set (REQ-ROUTE-01)."""
    world.create(agent_options=options)
    world.followup("A")
    assert world.log()[-3:] == ["user/message A", "step/end 1.1", "turn/end 1 error UNKNOWN"]
    assert ending(world)["error"] == {"message": NO_ROUTE, "code": "UNKNOWN"}


def test_listener_may_supply_the_route(world: World) -> None:
    """Both parts may come from the waterfall (REQ-ROUTE-01)."""
    world.create(agent_options=AgentOptions())
    on_request(world, lambda _, config: replace(config, provider="mock", model="m9"))
    world.followup("A")
    assert (ending(world), world.model.requests[0].config.model) == ({"kind": "completed"}, "m9")


def test_unserved_route_is_logged_and_fails_as_a_request(world: World) -> None:
    """Header and context are logged, recovery is asked without a policy (REQ-ROUTE-02, CALL-FALLBACK-01)."""
    world.create(agent_options=AgentOptions(provider="nope", model="m"))
    hooks: list[AgentRequestError] = []
    recover(world, hooks.append)
    world.followup("A")
    assert world.take_only("request/", "chunk", "turn/end") == [
        "request/header initial",
        "request/context",
        "chunk finish",
        "turn/end 1 error NO_ADAPTER",
    ]
    assert [(hook.retry_policy, hook.provider) for hook in hooks] == [(None, "nope")]
    assert world.session().request_header() == freeze({"config": {"provider": "nope", "model": "m"}})


def test_failing_preparation_is_not_offered_to_recovery(world: World) -> None:
    """An effort that the model does not support fails before the header (REQ-ROUTE-02)."""
    world.create()
    recover(world, lambda _: pytest.fail("recovery was asked"))
    on_request(world, lambda _, config: replace(config, reasoning_effort=ReasoningEffortId("high")))
    world.followup("A")
    assert world.take_only("request/", "turn/end") == ["turn/end 1 error UNSUPPORTED_REASONING_EFFORT"]


def test_answer_that_is_no_configuration(world: World) -> None:
    """It fails the turn before any header, and the text says what to answer."""
    world.create()

    async def nonsense(*_: Any) -> Any:
        return {"provider": "mock"}

    world.root.on(AGENT_REQUEST, nonsense)
    world.followup("A")
    text_ = "agent/request was answered with {'provider': 'mock'}: answer a CallConfig"
    assert ending(world)["error"] == {"message": text_, "code": "UNKNOWN"}
    assert world.take_only("request/") == []


@pytest.mark.parametrize("cap", [0, -5, 1.5, float("nan"), float("inf"), 2**53, "1", None, True])
def test_cap_is_checked_on_creation(world: World, cap: Any) -> None:
    """A cap that none can be refuses the agent, and publishes nothing (REQ-MAXTOK-01)."""
    world.take()
    with pytest.raises(InvalidMaxTokens) as caught:
        world.create(agent_options=AgentOptions(provider="mock", model="m1", max_tokens=cap))
    assert (str(caught.value), isinstance(caught.value, TypeError)) == (BAD_CAP, True)
    assert (world.root[AGENTS].list(), world.root[SESSIONS].list(), world.take()) == ((), (), [])


def test_cap_stays_in_force(world: World) -> None:
    """It goes with every request, across a switch, ahead of any default, unmarked (REQ-MAXTOK-02)."""
    serve(world, "p", defaultMaxTokens=8192)
    world.create(agent_options=AgentOptions(provider="p", model="m", max_tokens=4096))
    on_request(world, lambda nth, config: config if nth == 1 else replace(config, provider="mock"))
    world.followup("A", "B")
    assert [request.config.max_tokens for request in world.model.requests] == [4096, 4096]
    headers = [e["data"]["header"] for e in world.session().events if e["type"] == "request/header"]
    assert [("adapterDefaults" in header, header["config"]["provider"]) for header in headers] == [
        (False, "p"),
        (False, "mock"),
    ]


@pytest.mark.parametrize("cap", [0, -5, 1.5])
def test_cap_is_checked_after_the_waterfall(world: World, cap: Any) -> None:
    """A bad one fails the turn inside its step, before the header, without recovery (REQ-MAXTOK-03)."""
    world.create()
    recover(world, lambda _: pytest.fail("recovery was asked"))
    on_request(world, lambda _, config: replace(config, max_tokens=cap))
    world.followup("A")
    assert world.log()[-4:] == ["step/start 1.1", "user/message A", "step/end 1.1", "turn/end 1 error UNKNOWN"]
    assert ending(world)["error"]["message"] == BAD_CAP


def test_missing_route_is_reported_before_a_bad_cap(world: World) -> None:
    """The order of the two checks is fixed (REQ-MAXTOK-03)."""
    world.create(agent_options=AgentOptions())
    on_request(world, lambda _, config: replace(config, max_tokens=0))
    world.followup("A")
    assert ending(world)["error"]["message"] == NO_ROUTE


def test_first_request_always_logs_a_header(world: World) -> None:
    """Reason initial on a log without one, resume otherwise, though nothing changed (REQ-HEAD-01, HEADER-REQ-05)."""
    world.create("fresh")
    world.create("resumed", seed=seed({"provider": "mock", "model": "m1"}))
    for name in ("fresh", "resumed"):
        world.run(lambda name=name: world.handles[name].agent.followup(message("A")))  # type: ignore[misc]
    assert world.take_only("request/header") == ["request/header initial", "request/header resume"]


def test_later_headers_need_a_change(world: World) -> None:
    """An equal configuration logs none, a changed one logs change (REQ-HEAD-02)."""
    world.create()
    on_request(world, lambda nth, config: config if nth < 3 else replace(config, stop=("x", str(nth))))
    world.followup("A", "B", "C", "D")
    assert world.take_only("request/header") == [
        "request/header initial",
        "request/header change",
        "request/header change",
    ]


def test_context_follows_route_and_window(world: World) -> None:
    """It is logged when provider, model or window change, a missing window included (REQ-CTX-01)."""
    serve(world, "p", context={"contextWindow": 10})
    world.create(agent_options=AgentOptions(provider="p", model="m"))
    on_request(world, lambda nth, config: config if nth < 3 else replace(config, provider="mock"))
    world.followup("A", "B", "C")
    contexts = [dict(e["data"]) for e in world.session().events if e["type"] == "request/context"]
    assert contexts == [{"provider": "p", "model": "m", "contextWindow": 10}, {"provider": "mock", "model": "m"}]


def test_header_and_request_leave_out_what_is_empty(world: World) -> None:
    """Without system text and tools neither has such a field (REQ-HEAD-03, REQ-SHAPE-01)."""
    world.create()
    world.followup("A")
    (request,) = world.model.requests
    assert sorted(request.to_json()) == ["messages", "model", "provider", "sessionId"]
    assert (request.session_id, request.frozen, is_loop_built(request)) == ("a", True, True)
    assert world.session().request_header() == freeze({"config": {"provider": "mock", "model": "m1"}})


def test_messages_are_the_history_before_the_waterfall(world: World) -> None:
    """What a listener adds to the log or the inbox waits for a later request (REQ-MSG-01, DERIVE-PROJ-06)."""
    agent = world.create()

    async def add(hook: Any, next_layer: Any) -> Any:
        if hook.step == 1:
            agent.inject(message("I"))
            agent.session.append("user/message", message("L"), surface_op="append")
        return await next_layer()

    world.root.on(AGENT_REQUEST, add)
    world.followup("A")
    first, second = world.model.requests
    assert [m["id"] for m in first.messages] == ["A"]
    assert [m["id"] for m in second.messages][:2] == ["A", "L"]
    assert [m["id"] for m in second.messages][-1] == "I"


def test_requests_share_history(world: World) -> None:
    """A request costs no copy of the history, and later messages do not show in it (DERIVE-SNAP-01)."""
    world.create()
    world.followup("A", "B")
    first, second = world.model.requests
    assert (len(first.messages), len(second.messages)) == (1, 3)
    assert first.messages[0] is second.messages[0]


def test_failure_facts_reach_recovery_as_delivered(world: World) -> None:
    """The hook has the raw facts and the policy of its registration; the ending has the known ones (RERR-PAY-01)."""
    world.create()
    failure = {"message": "m", "code": "X", "junk": 1}
    world.model.follow(stream(finish("error", failure=failure)))
    hooks: list[AgentRequestError] = []
    recover(world, hooks.append)
    world.followup("A")
    (hook,) = hooks
    assert (hook.failure, hook.provider, hook.retry_policy) == (failure, "mock", DEFAULT_RETRY)
    assert (hook.turn, hook.step, hook.signal) == (1, 1, world.model.requests[0].signal)
    assert ending(world)["error"] == {"message": "m", "code": "X"}


def test_malformed_facts_are_the_refusal(world: World) -> None:
    """Facts of no failure end the turn with what is wrong with them (LERR-TURN-02)."""
    world.create()
    world.model.follow(stream(finish("error", failure={"message": "", "code": "X"})))
    world.followup("A")
    assert ending(world)["error"] == {"message": "LlmError message must be a non-empty string", "code": "UNKNOWN"}


def test_only_failed_answers_are_offered(world: World) -> None:
    """A failing request hook, or a failing stream listener, bypasses recovery (RERR-WHEN-01)."""
    world.create()
    recover(world, lambda _: pytest.fail("recovery was asked"))

    async def throw(*_: Any) -> Any:
        raise ValueError("hook")

    stop = world.root.on(AGENT_REQUEST, throw)
    world.followup("A")
    assert ending(world)["error"]["message"] == "hook"
    stop()

    def stream_listener(*_: Any) -> Any:
        raise ValueError("stream")

    world.root.on(LLM_STREAM, stream_listener)
    world.followup("B")
    assert ending(world)["error"]["message"] == "stream"


def test_retry_stays_in_its_step(world: World) -> None:
    """It asks for the configuration and the history anew, and cites its own chunks (RERR-RETRY-01, RERR-RETRY-02)."""
    agent = world.create()
    par = {"type": "text-delta", "index": 0, "text": "par"}
    world.model.follow(fail("X", par), fail("Y"), text("ok"))
    steered = [message("S")]

    def retry(_: object) -> Retry:
        if steered:
            agent.steer(steered.pop())
            agent.session.append("user/message", message("L"), surface_op="append")
        return Retry()

    recover(world, retry)
    world.followup("A")
    assert world.take_only("> pre-step", "step/start", "> request") == [
        "> pre-step 1.1 A",
        "step/start 1.1",
        "> request 1.1",
        "> request-error 1.1 X",
        "> request 1.1",
        "> request-error 1.1 Y",
        "> request 1.1",
        "> pre-step 1.2 S",
        "step/start 1.2",
        "> request 1.2",
    ]
    assert [len(request.messages) for request in world.model.requests[:3]] == [1, 2, 2]
    first = next(e for e in agent.session.events if e["type"] == "assistant/message")
    assert first["data"]["message"]["content"][0]["text"] == "ok"
    assert [agent.session.events[seq]["data"]["chunk"]["type"] for seq in first["sourceEventSeqs"]][-1] == "finish"
    assert len(first["sourceEventSeqs"]) == 4


def test_changed_config_of_a_retry_is_logged(world: World) -> None:
    """A retry under another configuration has a change header of its own (RERR-RETRY-03)."""
    world.create()
    world.model.follow(fail("X"), text("ok"))
    recover(world, lambda _: Retry())
    on_request(world, lambda nth, config: replace(config, temperature=float(nth)))
    world.followup("A")
    assert world.take_only("request/header") == ["request/header initial", "request/header change"]


@pytest.mark.parametrize("action", [None, "other"])
def test_anything_else_is_terminal(world: World, action: Any) -> None:
    """The failure stands with its facts, and nothing of the attempt is kept but its chunks (RERR-TERM)."""
    world.create()
    world.model.follow(fail("X", {"type": "text-delta", "index": 0, "text": "par"}))
    recover(world, lambda _: action)
    world.followup("A")
    assert world.take()[-7:] == [
        "chunk text-delta",
        "chunk finish",
        "> request-error 1.1 X",
        "step/end 1.1",
        "agent/error 1.1 busy",
        "turn/end 1 error X",
        "idle",
    ]


def test_aborted_finish_without_a_cancel_is_an_error(world: World) -> None:
    """The turn does not end aborted without anybody having cancelled (RERR-TERM-01)."""
    world.create()
    world.model.follow(stream(finish("aborted", failure={"message": "gone", "code": "ABORTED"})))
    world.followup("A")
    assert ending(world) == {"kind": "error", "error": {"message": "gone", "code": "ABORTED"}}


def test_throwing_recovery_is_the_failure(world: World) -> None:
    """Its own error ends the turn, without a retry (RERR-THROW-01)."""
    world.create()
    world.model.follow(fail("X"))

    def throw(_: object) -> None:
        raise ValueError("recovery")

    recover(world, throw)
    world.followup("A")
    assert world.take_only("agent/error", "turn/end") == ["agent/error 1.1 recovery", "turn/end 1 error UNKNOWN"]
    assert len(world.model.requests) == 1


def test_layers_nest(world: World) -> None:
    """The first registered layer is outermost, a prepended one goes before it (EVENTS-WATER-01)."""
    world.create()
    order: list[str] = []

    def layer(name: str) -> Any:
        async def listener(_: Any, next_layer: Any) -> Any:
            order.append(f"+{name}")
            config = await next_layer()
            order.append(f"-{name}")
            return config

        return listener

    world.root.on(AGENT_REQUEST, layer("b"))
    world.root.on(AGENT_REQUEST, layer("c"))
    world.root.on(AGENT_REQUEST, layer("a"), prepend=True)
    world.followup("A")
    assert order == ["+a", "+b", "+c", "-c", "-b", "-a"]


def test_cut_answer_is_no_failure(world: World) -> None:
    """A ceiling is an outcome, not offered to recovery; the stop runs."""
    world.create()
    world.model.follow(cut("x"))
    recover(world, lambda _: pytest.fail("recovery was asked"))
    stops: list[int] = []

    async def stopping(hook: Any) -> None:
        stops.append(hook.turn)

    world.root.on(AGENT_TURN_STOPPING, stopping)
    world.followup("A")
    assert (stops, ending(world)) == ([1], {"kind": "max-tokens"})
