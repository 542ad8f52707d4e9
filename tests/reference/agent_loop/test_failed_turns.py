"""Turns that fail: what fails them, what the log and the listeners are told, and what is left of their input."""

from typing import Any

import pytest
from tests.reference.world import (
    USER,
    World,
    do,
    fail,
    finish,
    message,
    pending,
    stream,
    text,
)

from dshcore.agent import (
    AGENT_ERROR,
    AGENT_PRE_STEP,
    AGENT_TURN_STOPPING,
    AgentPreStep,
    Enter,
)
from dshcore.errors import DshError
from dshcore.ids import SessionId
from dshcore.llm import LlmError
from dshcore.session import SESSION_EVENT, Session, SessionPublished, unbalanced


def test_refused_turn_start(world: World) -> None:
    """Nothing was claimed, the number is free, and agent/error names the previous turn (LOOP-OPEN-03)."""
    agent = world.create()
    world.refuse("turn/start")
    world.take()
    world.followup("A")
    assert world.take()[2:] == ["running", "agent/error 0.0 refused turn/start", "idle"]
    assert pending(agent) == "A"
    world.followup("B")
    assert world.take_only("turn/start") == ["turn/start 1", "turn/start 2"]


def test_calls_of_an_aborted_turn_are_answered_and_not_started(world: World) -> None:
    """An abort on the assistant message leaves it whole; its calls get synthetic results (SCHED-ABORT-01)."""
    agent = world.create()
    call = {"type": "block-end", "index": 0, "block": {"type": "tool-call", "id": "c1", "name": "t", "arguments": ""}}
    world.model.follow(stream(call, finish("tool-calls")))
    world.on_event("assistant/message", lambda: agent.cancel(USER))
    world.followup("A")
    assert world.log()[-5:] == [
        "assistant/message <tool-call>",
        "tool/call c1",
        "tool/result c1 ABORTED_BEFORE_DISPATCH",
        "step/end 1.1",
        "turn/end 1 aborted",
    ]
    assert world.session().events[-3]["data"]["error"] == {"name": "AbortError", "code": "ABORTED_BEFORE_DISPATCH"}


@pytest.mark.parametrize("decision", ["nothing", Enter(None)])  # type: ignore[arg-type]
def test_no_decision_fails_the_turn(world: World, decision: Any) -> None:
    """A missing decision, or an entry without a list, is an error before any step (LOOP-PRE-11)."""
    world.create()

    async def answer(*_: Any) -> Any:
        return None if decision == "nothing" else decision

    world.root.on(AGENT_PRE_STEP, answer)
    world.followup("A")
    assert [row.split(" agent/pre-step")[0] for row in world.take_only("agent/error", "turn/end", "step")] == [
        "agent/error 1.0",
        "turn/end 1 error UNKNOWN",
    ]


def test_failing_stop_fails_the_turn(world: World) -> None:
    """Its error ends the turn; input it had added is parked (LOOP-STOP-03)."""
    agent = world.create()

    async def add_and_throw(_: Any) -> None:
        agent.steer(message("S"))
        raise ValueError("boom")

    world.root.on(AGENT_TURN_STOPPING, add_and_throw)
    world.followup("A")
    assert world.take_only("agent/error", "turn/end") == ["agent/error 1.1 boom", "turn/end 1 error UNKNOWN"]
    assert pending(agent) == "S"


def test_failed_turn_parks_the_queue(world: World) -> None:
    """After an error the run settles; the next wake takes what is parked in order (LOOP-NEXT-02)."""
    agent = world.create()
    world.model.follow(fail("X"), text("ok"))
    world.followup("A", "B")
    assert pending(agent) == "B"
    world.take()
    world.run(lambda: agent.steer(message("C")))
    assert world.take_only("> pre-step") == ["> pre-step 2.1 C,B"]


class CodedError(DshError):
    default_code = "CODED"


def chain(*texts: str) -> BaseException:
    """Make an error caused by the next, caused by the next."""
    error: BaseException | None = None
    for said in reversed(texts):
        outer = ValueError(said)
        outer.__cause__ = error
        error = outer
    assert error is not None
    return error


@pytest.mark.parametrize(
    ("error", "facts"),
    [
        (LlmError("busy", "RATE", status=429), {"message": "busy", "code": "RATE", "status": 429}),
        (CodedError("mine"), {"message": "mine", "code": "UNKNOWN"}),
        (ValueError("plain"), {"message": "plain", "code": "UNKNOWN"}),
        (ValueError(), {"message": "ValueError", "code": "UNKNOWN"}),
        (chain("outer", "inner", "inner"), {"message": "outer: inner", "code": "UNKNOWN"}),
        (chain("outer", "outer"), {"message": "outer", "code": "UNKNOWN"}),
        (ExceptionGroup("agg", [ValueError("x"), ValueError("y")]), {"message": "agg [x; y]", "code": "UNKNOWN"}),
    ],
)
def test_facts_of_a_failed_turn(world: World, error: BaseException, facts: dict[str, Any]) -> None:
    """A model error gives its facts, anything else its text under UNKNOWN (LOOP-ERR-01, LOOP-ERR-02)."""
    world.create()

    async def throw(*_: Any) -> Any:
        raise error

    raised: list[BaseException] = []
    world.root.on(AGENT_ERROR, lambda p: raised.append(p.error))
    world.root.on(AGENT_PRE_STEP, throw)
    world.followup("A")
    assert world.session().events[-1]["data"]["reason"] == {"kind": "error", "error": facts}
    assert raised == [error]


def test_cancellation_of_a_callee_is_a_failure(world: World) -> None:
    """A hook that awaits a cancelled task of its own fails its turn; the driver lives on (LOOP-ERR-04)."""
    world.create()

    async def throw(*_: Any) -> Any:
        future = world.loop.create_future()
        future.cancel()
        await future

    stop = world.root.on(AGENT_PRE_STEP, throw)
    world.followup("A")
    assert world.take()[-3:] == ["agent/error 1.0 ", "turn/end 1 error UNKNOWN", "idle"]
    stop()
    world.followup("B")
    assert world.log()[-1] == "turn/end 2 completed"


def test_failure_is_reported_between_step_and_turn_end(world: World) -> None:
    """agent/error stands after step/end and before turn/end, with the last opened step (LOOP-ERR-03)."""
    world.create()
    world.model.follow(fail("X"))
    world.followup("A")
    assert world.take()[-5:] == [
        "> request-error 1.1 X",
        "step/end 1.1",
        "agent/error 1.1 busy",
        "turn/end 1 error X",
        "idle",
    ]


def test_failure_before_the_step_loses_the_batch(world: World) -> None:
    """It is neither put back nor discarded nor entered; later input stays parked (LOOP-ERR-05)."""
    agent = world.create()
    thrown: list[None] = []

    def decide(_: AgentPreStep) -> None:
        if not thrown:
            thrown.append(None)
            raise ValueError("boom")

    world.decide(decide)
    world.run(do(lambda: agent.followup(message("A")), lambda: agent.steer(message("S"))))
    assert (pending(agent), world.take_only("discarded", "user/message")) == ("S", [])
    world.followup("B")
    assert world.take_only("user/message") == ["user/message S", "user/message B"]


@pytest.mark.parametrize(
    ("kind", "missing"),
    [
        ("user/message", "request/header initial"),
        ("request/header", "request/context"),
        ("request/context", "chunk block-start"),
        ("assistant/chunk", "assistant/message hi"),
        ("assistant/message", "assistant/message hi"),
    ],
)
def test_refused_append_inside_a_step_fails_the_turn(world: World, kind: str, missing: str) -> None:
    """step/end is still appended, and nothing after the refused append is done (LOOP-APP-01)."""
    world.create()
    world.refuse(kind)
    world.followup("A")
    assert world.log()[-2:] == ["step/end 1.1", "turn/end 1 error UNKNOWN"]
    assert missing not in world.log()


def test_refused_step_start_opens_no_step(world: World) -> None:
    """The batch is lost, and no step/end follows (LOOP-APP-02)."""
    agent = world.create()
    world.refuse("step/start")
    world.followup("A")
    assert world.log()[-2:] == ["splice next-turn 0 -1", "turn/end 1 error UNKNOWN"]
    assert not agent.inbox.has_pending


def test_refused_claim_leaves_the_rest_pending(world: World) -> None:
    """What was not taken stays, and the turn fails (LOOP-APP-02)."""
    agent = world.create()
    agent.inject(message("I"))
    world.refuse("agent/inbox/spliced", nth=3)
    world.followup("A")
    assert (pending(agent), world.log()[-1]) == ("A", "turn/end 1 error UNKNOWN")


@pytest.mark.parametrize("script", [text("x"), fail("X")])
def test_refused_step_end_is_the_failure(world: World, script: Any) -> None:
    """It takes the place of any failure of the step itself; turn/end is still appended (LOOP-APP-03)."""
    world.create()
    world.model.follow(script)
    world.refuse("step/end")
    world.followup("A")
    assert world.take_only("agent/error", "turn/end") == [
        "agent/error 1.1 refused step/end",
        "turn/end 1 error UNKNOWN",
    ]


@pytest.mark.parametrize(("script", "failures"), [(text("x"), []), (fail("X"), ["agent/error 1.1 busy"])])
def test_refused_turn_end_ends_the_run(world: World, script: Any, failures: list[str]) -> None:
    """It is reported, the log keeps no ending, pending input is parked (LOOP-APP-04)."""
    agent = world.create()
    world.model.follow(script)
    world.refuse("turn/end")
    world.followup("A", "B")
    assert world.take_only("agent/error") == [*failures, "agent/error 1.1 refused turn/end"]
    assert (pending(agent), agent.status, world.log()[-1]) == ("B", "idle", "step/end 1.1")
    world.followup("C")
    assert world.take_only("turn/start")[0] == "turn/start 2"


def test_failing_observer_changes_nothing(world: World) -> None:
    """The event is committed, other observers run, the turn proceeds (LOOP-OBS-01)."""
    world.create()

    def throw(_: SessionPublished) -> None:
        raise ValueError("observer")

    world.root.on(SESSION_EVENT, throw, prepend=True)
    world.followup("A")
    assert world.take()[-2:] == ["turn/end 1 completed", "idle"]


@pytest.mark.parametrize(
    ("chunk", "problem"),
    [
        ({"type": "tool-call-delta", "index": 0, "id": "", "name": "t", "argumentsDelta": "{}"}, "id ''"),
        ({"type": "block-end", "index": 0, "block": {"type": "tool-call", "id": "c", "name": "t"}}, "arguments None"),
    ],
)
def test_calls_that_cannot_be_answered_fail_the_step(world: World, chunk: dict[str, Any], problem: str) -> None:
    """Nothing of the answer is logged but its chunks, nothing runs, and the log can be loaded again (ASM-OPEN-02)."""
    world.create()
    world.model.follow(stream(chunk, finish("tool-calls")), text("ok"))
    world.followup("A")
    log = world.log()
    assert not [line for line in log if line.startswith(("assistant/message", "tool/"))]
    assert log[-2:] == ["step/end 1.1", "turn/end 1 error UNKNOWN"]
    error = world.session().events[-1]["data"]["reason"]["error"]
    assert error["code"] == "UNKNOWN"
    assert problem in error["message"]
    world.followup("B")
    seed = list(world.session().events)
    assert unbalanced(seed) is None
    assert Session(SessionId("again"), seed=seed).last_turn == 2
