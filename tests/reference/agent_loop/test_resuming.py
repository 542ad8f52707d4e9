"""Resuming: the transaction that publishes an agent over a stored session."""

import asyncio
from typing import Any

import pytest
from tests.reference.creating import Commit
from tests.reference.shelf import Shelf
from tests.reference.world import World, do, hang, message
from typeguard import suppress_type_checks

from dshcore.agent import AGENT_CREATED, AGENTS, AgentOptions, ResumeAgentOptions
from dshcore.agent_loop import (
    AGENT_LOOP,
    CreationAborted,
    InvalidMaxTokens,
    InvalidSessionId,
    LoopInactive,
    PersistenceMissing,
)
from dshcore.cancel_signal import CancelSignal
from dshcore.context import Context, InactiveContext

PUBLISHED = ["session/created a", "agent/created a", "agent/session-start a resume"]
OPTIONS = AgentOptions(provider="mock", model="m1")


@pytest.fixture
def shelf(world: World) -> Shelf:
    """A store that has the log of one turn, with a message that is still pending, under the id `a`."""
    agent = world.create()
    world.followup("A")
    agent.inject(message("I"))
    events = list(agent.session.events)
    world.dispose()
    world.model.requests.clear()
    world.take()
    made = Shelf(world)
    made.put("a", events, cwd="/w")
    made.mount()
    return made


def resume(world: World, owner: Context | None = None, **given: Any) -> "asyncio.Task[Any]":
    """Begin to resume agent a, and settle."""
    options = ResumeAgentOptions(resume_session_id="a", agent_options=given.pop("agent_options", OPTIONS), **given)
    return world.start(lambda: world.root[AGENTS].resume(world.root if owner is None else owner, options))


def test_resume_without_persistence(world: World) -> None:
    """It rejects, before anything else is looked at (LIFE-RES-04)."""
    closed = world.root.open(name="closed")
    world.run(closed.dispose)
    error = resume(world, closed).exception()
    assert isinstance(error, PersistenceMissing)
    assert str(error) == (
        "cannot resume: session persistence is not configured (load a dsh-session-persistence backend)"
    )


@pytest.mark.usefixtures("shelf")
def test_resume_publishes_like_create(world: World) -> None:
    """It loads, composes and publishes; setup sees the whole log and what is pending (LIFE-RES-01, LIFE-RES-02)."""
    seen: list[Any] = []

    async def setup(ctx: Context) -> Commit:
        agent: Any = ctx.scope
        for _ in range(2):
            seen.append((world.registered(), list(world.rows)))
            await asyncio.sleep(0)
        seen.append((agent.session.events[-1]["type"], agent.session.header["cwd"], len(agent.inbox.next_step)))
        return Commit(lambda: seen.append(("commit", world.registered())))

    agent = resume(world, setup=setup).result().agent
    assert seen == [
        *[((False, False), [])] * 2,
        ("session/end-seed", "/w", 1),
        ("commit", (False, False)),
    ]
    assert (world.take(), agent.options, agent is world.root[AGENTS].get("a")) == (PUBLISHED, OPTIONS, True)


@pytest.mark.usefixtures("shelf")
def test_numbers_go_on(world: World) -> None:
    """Turns and seqs continue, and the pending message is taken (LIFE-RES-03, LIFE-RES-02)."""
    agent = resume(world).result().agent
    world.take()
    world.run(lambda: agent.followup(message("Q")))
    rows = world.take()
    assert "turn/start 2" in rows
    assert [row for row in rows if row.startswith("claimed")] == ["claimed 2 I", "claimed 2 Q"]
    assert [event["seq"] for event in agent.session.events] == list(range(agent.session.seq))


def test_order_of_the_checks(world: World, shelf: Shelf) -> None:
    """The owner, the signal, the load, and only then the output cap (LIFE-ABORT-01, LIFE-OWN-09)."""
    closed, aborted = world.root.open(name="closed"), CancelSignal()
    world.run(closed.dispose)
    aborted.abort("plain")
    bad = AgentOptions(max_tokens=0)
    assert isinstance(resume(world, closed, signal=aborted).exception(), InactiveContext)
    assert isinstance(resume(world, signal=aborted, agent_options=bad).exception(), CreationAborted)
    assert shelf.asked == []
    assert isinstance(resume(world, agent_options=bad).exception(), InvalidMaxTokens)
    assert (shelf.asked, shelf.released) == (["a"], 1)
    shelf.failure = ValueError("corrupt")
    assert resume(world, agent_options=bad).exception() is shelf.failure


@pytest.mark.parametrize("cause", ["signal", "owner", "loop"])
@pytest.mark.parametrize("ending", ["result", "failure"])
def test_load_that_is_given_up(world: World, shelf: Shelf, cause: str, ending: str) -> None:
    """The call ends with its own reason, the id is free, what comes later is released (LIFE-RES-05, -06)."""
    owner, signal = world.root.open(scope=None, name="owner"), CancelSignal()
    gate = shelf.hold()
    resuming = resume(world, owner, signal=signal, setup=lambda _: pytest.fail("setup was called"))
    assert not resuming.done()
    end = {
        "signal": lambda: signal.abort(ValueError("stop")),
        "owner": owner.dispose,
        "loop": world.root[AGENT_LOOP]._ctx.dispose,
    }
    world.run(end[cause])
    expected = {
        "signal": (ValueError, "stop"),
        "owner": (CreationAborted, 'agent "a" setup aborted: owner disposed during setup'),
        "loop": (LoopInactive, "agent loop is not active"),
    }
    error = resuming.exception()
    assert (type(error), str(error)) == expected[cause]
    assert (world.take(), shelf.signals[0].aborted, shelf.released) == ([], True, 0)
    newer = None if cause == "loop" else resume(world).result().agent
    world.take()
    released = shelf.released
    world.run(lambda: gate.set_result(None) if ending == "result" else gate.set_exception(ValueError("late")))
    assert shelf.released == released + (ending == "result")
    assert (world.take(), world.root[AGENTS].get("a")) == ([], newer)


def test_late_load_is_released(world: World, shelf: Shelf) -> None:
    """A result that nobody waits for is given back once, and published nowhere (LIFE-RES-06)."""
    signal, gate = CancelSignal(), shelf.hold()
    resuming = resume(world, signal=signal)
    world.run(do(lambda: signal.abort("plain"), lambda: gate.set_result(None)))
    assert isinstance(resuming.exception(), CreationAborted)
    assert (shelf.released, world.take()) == (1, [])


@pytest.mark.parametrize("where", ["setup", "commit", "announcement"])
def test_failed_resume_can_be_tried_again(world: World, shelf: Shelf, where: str) -> None:
    """The reserved session is given back before the call rejects, and has the same history (LIFE-RES-07)."""

    def fail(*_: object) -> None:
        raise ValueError(where)

    def setup(_: Context) -> Commit | None:
        if where == "setup":
            fail()
        return Commit(fail) if where == "commit" else None

    remove = world.root.on(AGENT_CREATED, fail) if where == "announcement" else lambda: None
    assert str(resume(world, setup=setup).exception()) == where
    assert (shelf.released, world.registered()) == (1, (False, False))
    remove()
    world.take()
    before = len(shelf._stored["a"][1])
    agent = resume(world).result().agent
    assert (agent.session.seq, world.take()) == (before + 1, PUBLISHED)


@pytest.mark.parametrize("given", ["", 5])
def test_id_that_none_can_have(world: World, shelf: Shelf, given: Any) -> None:
    """It is refused by name, and storage is not asked (LIFE-CREATE-01)."""
    with suppress_type_checks():
        made = ResumeAgentOptions(resume_session_id=given)
        error = world.start(lambda: world.root[AGENTS].resume(world.root, made)).exception()
    assert (type(error), shelf.asked) == (InvalidSessionId, [])


def test_stored_session_is_given_back_by_a_rollback_that_nobody_awaits(world: World, shelf: Shelf) -> None:
    """Not before its old life has left, though the host has cancelled the call long ago (LIFE-RES-07)."""
    gate = world.loop.create_future()

    def veto(_: object) -> None:
        raise ValueError("no")

    def setup(ctx: Context) -> None:
        ctx.effect(lambda: gate, label="test")

    remove = world.root.on(AGENT_CREATED, veto)
    resuming = resume(world, setup=setup)
    world.run(resuming.cancel)
    assert (resuming.cancelled(), world.registered(), shelf.released) == (True, (True, True), 0)
    world.run(lambda: gate.set_result(None))
    assert (world.registered(), shelf.released) == ((False, False), 1)
    remove()


@pytest.mark.parametrize("outcome", ["published", "rolled back", "given up"])
def test_failing_release_is_logged(world: World, shelf: Shelf, caplog: pytest.LogCaptureFixture, outcome: str) -> None:
    """It is the storage's affair: the call ends as it would have (LIFE-ROLL-07)."""
    shelf.refusal = OSError("disk")
    boom, signal, gate = ValueError("boom"), CancelSignal(), shelf.hold()

    def setup(_: Context) -> None:
        if outcome == "rolled back":
            raise boom

    resuming = resume(world, setup=setup, signal=signal)
    if outcome == "given up":
        world.run(lambda: signal.abort(boom))
    world.run(lambda: gate.set_result(None))
    assert resuming.exception() is (None if outcome == "published" else boom)
    assert world.registered() == ((True, True) if outcome == "published" else (False, False))
    assert caplog.messages == ['agent "a": its stored session was not released: OSError: disk']
    assert shelf.released == 1


@pytest.mark.usefixtures("shelf")
def test_live_and_unknown_ids(world: World) -> None:
    """Both reject as the storage says, and the live log is left alone (LIFE-RES-08)."""
    world.create("a")
    world.model.follow(hang())
    world.followup("X")
    before = world.log()
    assert str(resume(world).exception()) == 'cannot prepare session "a" while it is live'
    assert world.log() == before
    options = ResumeAgentOptions(resume_session_id="u")
    error = world.start(lambda: world.root[AGENTS].resume(world.root, options)).exception()
    assert str(error) == 'session "u" not found'


def test_host_cancelling_a_load(world: World, shelf: Shelf) -> None:
    """The load is cancelled with it, and the cancellation goes on."""
    shelf.hold()
    resuming = resume(world)
    world.run(resuming.cancel)
    assert (resuming.cancelled(), world.take()) == (True, [])
    assert resume(world).exception() is None


@pytest.mark.usefixtures("shelf")
def test_owner_of_a_resumed_agent(world: World) -> None:
    """Through another agent's scope it is that agent's own (LIFE-OWN-04)."""
    parent = world.create("p")
    resume(world, parent.ctx)
    assert world.root[AGENTS].is_owned_by("a", parent)
    world.take()
    world.dispose("p")
    assert world.take_only("agent/", "session/") == [
        f"{what}/disposed {name}" for name in "ap" for what in ("agent", "session")
    ]
