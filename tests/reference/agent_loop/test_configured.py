"""Configured agents: their identities, how they start with the loop, and what is said of those that do not."""

import asyncio
import re
from collections.abc import Iterator
from typing import Any

import pytest
from tests.reference.shelf import Shelf
from tests.reference.world import World, message

from dshcore.agent import AGENT_CREATED, AGENT_SESSION_START, AGENTS, AgentOptions
from dshcore.agent_loop import (
    CONFIG_START_FAILED,
    ConfiguredAgent,
    FixedIdentity,
    InvalidMaxTokens,
    LoopMisconfigured,
    settle_identities,
)
from dshcore.context import Context
from dshcore.session import SESSION_CREATED, SESSIONS, InvalidHeader
from dshcore.spine import compose, mount_loop

FRESH = re.compile(r"^x-session-[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$")


@pytest.fixture
def world() -> Iterator[World]:
    """A world without a loop."""
    made = World(without={"loop"})
    yield made
    made.close()


@pytest.fixture
def failed(world: World) -> list[tuple[str, Any]]:
    """What was announced of agents that did not start."""
    seen: list[tuple[str, Any]] = []
    world.root.on(CONFIG_START_FAILED, lambda p: seen.append((p.session_id, p.error)))
    return seen


def load(world: World, *entries: ConfiguredAgent, **identities: FixedIdentity) -> Context:
    return world.run(lambda: mount_loop(world.root, agents=entries, identities=identities))


def live(world: World) -> list[str]:
    return [agent.id for agent in world.root[AGENTS].list()]


def entry(label: str = "x", **given: Any) -> ConfiguredAgent:
    return ConfiguredAgent(id=label, **given)


# --- identities ------------------------------------------------------------------------------------------------------


def test_fresh_entries_have_new_ids(world: World) -> None:
    """A label is no id: two entries may have one, and each start makes new ones (CONF-ID-01)."""
    loop = load(world, entry(), entry())
    first = live(world)
    assert all(FRESH.match(one) for one in first)
    world.run(loop.dispose)
    assert live(world) == []
    load(world, entry(), entry())
    assert len({*first, *live(world)}) == 4


def test_one_identity_for_each_entry() -> None:
    """Two are refused; an empty one to resume counts as absent (CONF-ID-02)."""
    with pytest.raises(LoopMisconfigured, match=r'^agent "x": sessionId and resumeSessionId are mutually exclusive$'):
        settle_identities([entry(session_id="s", resume_session_id="r")], {})
    settled = settle_identities([entry(session_id="s", resume_session_id="")], {})
    assert settled == (entry(session_id="s"),)


@pytest.mark.parametrize("second", ["session_id", "resume_session_id"])
def test_one_entry_for_each_identity(second: str) -> None:
    """Whichever of the two fields says it (CONF-ID-03)."""
    with pytest.raises(LoopMisconfigured, match=r'^agents "x" and "y" use duplicate exact session identity "s"$'):
        settle_identities([entry(session_id="s"), entry("z"), entry("y", **{second: "s"})], {})


def test_conflicts_are_found_before_anything_starts(world: World) -> None:
    """The loop does not load, and nothing was announced (CONF-ID-04)."""
    with pytest.raises(LoopMisconfigured):
        load(world, entry(), entry("y", session_id="s"), entry("z", session_id="s"))
    assert (world.take(), live(world)) == ([], [])
    load(world)


def test_launcher_fixes_identities() -> None:
    """What it says replaces both fields, before conflicts are looked for; others are untouched (CONF-ID-05)."""
    both = entry(session_id="s", resume_session_id="r")
    other = entry("y", session_id="s")
    assert settle_identities([both, other], {"x": FixedIdentity(id="n", resume=True)}) == (
        entry(resume_session_id="n"),
        other,
    )
    assert settle_identities([both, other], {"x": FixedIdentity(id="n")})[0] == entry(session_id="n")
    with pytest.raises(LoopMisconfigured, match="duplicate"):
        settle_identities([both, other], {"x": FixedIdentity(id="s")})


@pytest.mark.parametrize(
    ("given", "fixed", "what", "value"),
    [
        ({"id": ""}, None, "the label of a configured agent", ""),
        ({"id": None}, None, "the label of a configured agent", None),
        ({"session_id": ""}, None, 'agent "x": sessionId', ""),
        ({"session_id": 5}, None, 'agent "x": sessionId', 5),
        ({"resume_session_id": 5}, None, 'agent "x": resumeSessionId', 5),
        ({}, {"id": ""}, 'agent "x": the fixed id', ""),
        ({}, {"id": "", "resume": True}, 'agent "x": the fixed id', ""),
    ],
)
def test_ids_and_labels_are_texts(given: Any, fixed: Any, what: str, value: object) -> None:
    """Also an empty one is refused, but for an entry's own id to resume, which counts as absent (CONF-ID-02)."""
    identities = {} if fixed is None else {"x": FixedIdentity(**fixed)}
    with pytest.raises(LoopMisconfigured) as refused:
        settle_identities([ConfiguredAgent(**{"id": "x", **given})], identities)
    assert str(refused.value) == f"{what} must be a text of at least one character, not {value!r}"


def test_an_identity_is_fixed_for_an_entry() -> None:
    """A label that no entry has is a mistake of the launcher, and is named."""
    with pytest.raises(LoopMisconfigured, match='an identity is fixed for "y", and no configured agent has that label'):
        settle_identities([entry()], {"x": FixedIdentity(id="n"), "y": FixedIdentity(id="m")})


# --- at once ---------------------------------------------------------------------------------------------------------


def test_entries_start_with_the_loop(world: World) -> None:
    """In order, as a startup, before the loop has loaded; what the entry says is kept (CONF-START-01)."""
    seen: list[Any] = []

    def mount() -> None:
        entries = [entry(session_id="s", provider="mock", model="m1", max_tokens=7, cwd="/w"), entry("y")]
        mount_loop(world.root, agents=entries)
        seen.extend(live(world))

    world.run(mount)
    assert (seen[0], len(seen)) == ("s", 2)
    agent = world.root[AGENTS].get("s")
    assert agent is not None
    assert agent.options == AgentOptions(provider="mock", model="m1", max_tokens=7)
    assert (agent.session.header["cwd"], "cwd" in world.session(seen[1]).header) == ("/w", False)
    assert world.take()[:3] == ["session/created s", "agent/created s", "agent/session-start s startup"]
    world.run(lambda: agent.followup(message("A")))
    assert world.log("s")[-1] == "turn/end 1 completed"


@pytest.mark.parametrize(("bad", "error"), [({"cwd": "rel"}, InvalidHeader), ({"max_tokens": 0}, InvalidMaxTokens)])
def test_entry_that_cannot_be_created(world: World, bad: Any, error: Any) -> None:
    """The loop fails with its error, and those before are torn down, paired (CONF-START-02, LIFE-SYNC-01)."""
    with pytest.raises(error):
        load(world, entry(session_id="s"), entry("y", **bad))
    assert world.take() == [
        *("session/created s", "agent/created s", "agent/session-start s startup"),
        *("agent/disposed s", "session/disposed s"),
    ]
    load(world, entry(session_id="s"))
    assert live(world) == ["s"]


def test_vetoed_entry_fails_the_loop(world: World) -> None:
    """The rollback of the synchronous creation completes by itself (LIFE-SYNC-01, CONF-START-02)."""
    occupied: list[bool] = []

    def veto(_: object) -> None:
        raise ValueError("no")

    remove = world.root.on(AGENT_CREATED, veto)

    def mount() -> None:
        with pytest.raises(ValueError, match="no"):
            mount_loop(world.root, agents=[entry(session_id="s")])
        occupied.append(world.root[SESSIONS].get("s") is not None)

    world.run(mount)
    assert (occupied, world.registered("s")) == ([True], (False, False))
    assert world.take() == ["session/created s", "agent/created s", "agent/disposed s", "session/disposed s"]
    remove()


def test_compose_starts_them_too(world: World) -> None:
    """The composition passes them on."""
    roots: list[Context] = []
    world.run(lambda: roots.append(compose(agents=[entry()], identities={"x": FixedIdentity(id="n")})))
    assert [agent.id for agent in roots[0][AGENTS].list()] == ["n"]
    world.run(roots[0].dispose)


def test_they_belong_to_the_loop(world: World) -> None:
    """Its end tears them down, and no handle is needed (CONF-OWN-01)."""
    loop = load(world, entry(session_id="s"))
    world.take()
    world.run(loop.dispose)
    assert (world.take(), world.registered("s")) == (["agent/disposed s", "session/disposed s"], (False, False))


# --- with persistence ------------------------------------------------------------------------------------------------


@pytest.fixture
def shelf(world: World) -> Shelf:
    """A store of sessions that the test fills."""
    made = Shelf(world)
    made.mount()
    return made


def test_stored_identity_is_resumed(world: World, shelf: Shelf) -> None:
    """With its own header; one that is not stored is created (CONF-START-03)."""
    shelf.put("s", cwd="/old")
    load(world, entry(session_id="s", cwd="/new"), entry("y", session_id="t", cwd="/new"))
    starts = [row for row in world.take() if row.startswith("agent/session-start")]
    assert sorted(starts) == ["agent/session-start s resume", "agent/session-start t startup"]
    assert (world.session("s").header["cwd"], world.session("t").header["cwd"]) == ("/old", "/new")


def test_loading_does_not_wait_for_a_restore(world: World, shelf: Shelf) -> None:
    """The loop is there at once, the agent later (CONF-START-03)."""
    shelf.put("s")
    gate = shelf.hold()
    load(world, entry(session_id="s"), entry("y", session_id="z"))
    assert live(world) == ["z"]
    world.run(lambda: gate.set_result(None))
    assert live(world) == ["z", "s"]


@pytest.mark.parametrize("listing", ["lists it", "fails"])
def test_stored_identity_that_cannot_be_resumed(
    world: World, shelf: Shelf, failed: list[Any], caplog: pytest.LogCaptureFixture, listing: str
) -> None:
    """Nothing is created for it, the failure is told once, the others start (CONF-START-04, CONF-FAIL-01)."""
    corrupt, unlisted = ValueError("corrupt"), ValueError("unlisted")
    shelf.put("s")
    shelf.failure = corrupt
    shelf.listing = None if listing == "lists it" else unlisted
    load(world, entry(session_id="s"), entry("y"))
    told = corrupt if listing == "lists it" else unlisted
    assert failed == [("s", told)]
    assert [one for one in live(world) if one == "s"] == []
    assert len(live(world)) == 1
    assert caplog.messages == [f'agent "x": config-driven restore of "s" failed: ValueError: {told}']


def test_creation_that_follows_a_failed_restore_may_fail(world: World, shelf: Shelf, failed: list[Any]) -> None:
    """It is told as the restore's failure, before the paired events of the rollback (CONF-START-03, LIFE-SYNC-01)."""
    veto = ValueError("no")

    def refuse(_: object) -> None:
        raise veto

    world.root.on(SESSION_CREATED, refuse)
    world.root.on(CONFIG_START_FAILED, lambda _: world.rows.append("failed"))
    load(world, entry(session_id="s"))
    assert (failed, world.take()) == ([("s", veto)], ["session/created s", "failed", "session/disposed s"])
    assert shelf.asked == ["s"]


def test_occupied_identity_is_waited_for(world: World, shelf: Shelf) -> None:
    """Until it has left both registries (CONF-START-05)."""
    shelf.put("s")
    first = load(world, entry(session_id="s"))
    gate = world.loop.create_future()
    agent = world.root[AGENTS].get("s")
    assert agent is not None
    agent.ctx.effect(lambda: gate, label="test")
    world.run(first.dispose)
    second = load(world, entry(session_id="s"))
    assert world.root[AGENTS].get("s") is agent
    world.run(lambda: gate.set_result(None))
    again = world.root[AGENTS].get("s")
    assert again is not None
    assert again is not agent
    assert again.ctx.closing is second.closing is False


def test_identity_of_a_registered_agent_is_waited_for(world: World, shelf: Shelf) -> None:
    """Also where it is the registry alone that holds it (CONF-START-05)."""
    shelf.put("s")
    first = load(world, entry(session_id="s"))
    agent = world.root[AGENTS].get("s")
    assert agent is not None
    world.run(first.dispose)
    detach = world.root[AGENTS].enter(agent, None)
    world.root[AGENTS].announce(agent)
    load(world, entry(session_id="s"))
    assert world.root[AGENTS].get("s") is agent
    world.run(detach)
    assert world.root[AGENTS].get("s") not in (agent, None)


@pytest.mark.usefixtures("shelf")
def test_silent_occupant_is_waited_for(world: World) -> None:
    """Neither its session nor its agent was announced, so that no event tells of their leaving (CONF-START-05)."""
    sessions, agents = world.root[SESSIONS], world.root[AGENTS]
    first = load(world, entry(session_id="s"))
    agent = agents.get("s")
    assert agent is not None
    world.run(first.dispose)
    leave = [sessions.enter(agent.session, world.root), agents.enter(agent, None)]
    load(world, entry(session_id="s"))
    for one in leave:
        assert agents.get("s") is agent
        world.run(one)
    assert agents.get("s") not in (agent, None)


def test_waiting_ends_with_the_loop(world: World, shelf: Shelf, failed: list[Any]) -> None:
    """Nothing starts, and nothing is told (CONF-START-05, CONF-FAIL-03)."""
    shelf.put("s")
    first = load(world, entry(session_id="s"))
    gate = world.loop.create_future()
    agent = world.root[AGENTS].get("s")
    assert agent is not None
    agent.ctx.effect(lambda: gate, label="test")
    world.run(first.dispose)
    closing = world.start(load(world, entry(session_id="s")).dispose)
    assert closing.done()
    assert not [task for task in asyncio.all_tasks(world.loop) if "ConfiguredAgents" in repr(task)]
    world.run(lambda: gate.set_result(None))
    assert (live(world), failed, shelf.asked) == ([], [], ["s"])


def test_resuming_waits_for_persistence(world: World, failed: list[Any]) -> None:
    """The agent belongs to the loop, and survives the persistence (CONF-START-06)."""
    shelf = Shelf(world)
    shelf.put("s")
    loop = load(world, entry(resume_session_id="s"))
    assert live(world) == []
    persistence = shelf.mount()
    assert (live(world), failed) == (["s"], [])
    world.run(persistence.dispose)
    assert live(world) == ["s"]
    world.run(loop.dispose)
    assert live(world) == []


def test_unknown_session_to_resume(
    world: World, shelf: Shelf, failed: list[Any], caplog: pytest.LogCaptureFixture
) -> None:
    """It is never created; the loop and its other entries stay (CONF-START-06, CONF-FAIL-01)."""
    load(world, entry(resume_session_id="s"), entry("y", session_id="t"))
    assert (live(world), [session_id for session_id, _ in failed]) == (["t"], ["s"])
    assert caplog.messages == ['agent "x": config-driven resume of "s" failed: LookupError: session "s" not found']
    assert shelf.asked.count("s") == 1


def test_failing_listeners_of_a_failed_start(
    world: World, shelf: Shelf, failed: list[Any], caplog: pytest.LogCaptureFixture
) -> None:
    """They are logged, and keep nobody from being called (CONF-FAIL-02)."""

    def throw(_: object) -> None:
        raise ValueError("thrown")

    async def reject(_: object) -> None:
        raise ValueError("rejected")

    world.root.on(CONFIG_START_FAILED, throw, prepend=True)
    world.root.on(CONFIG_START_FAILED, reject, prepend=True)
    load(world, entry(resume_session_id="s"))
    assert [session_id for session_id, _ in failed] == ["s"]
    assert sorted(caplog.messages[1:]) == [
        "config-start-failed listener rejected: ValueError: rejected",
        "config-start-failed listener threw: ValueError: thrown",
    ]
    assert shelf.released == 0


@pytest.mark.parametrize("given", ["session_id", "resume_session_id"])
def test_closing_loop_reports_nothing(
    world: World, shelf: Shelf, failed: list[Any], caplog: pytest.LogCaptureFixture, given: str
) -> None:
    """It does not wait for the pending load, whose failure is nobody's affair (CONF-FAIL-03)."""
    shelf.put("s")
    gate = shelf.hold()
    loop = load(world, entry(**{given: "s"}))
    closing = world.start(loop.dispose)
    assert closing.done()
    world.run(lambda: gate.set_exception(ValueError("late")))
    assert (failed, caplog.messages, live(world), shelf.listings) == ([], [], [], 0)


def test_veto_of_a_restore_is_told_after_the_rollback(world: World, shelf: Shelf, failed: list[Any]) -> None:
    """Nothing is created in its place, for it is stored (CONF-START-04)."""
    shelf.put("s")

    def refuse(_: object) -> None:
        raise ValueError("no")

    world.root.on(AGENT_SESSION_START, refuse)  # contained: no veto
    remove = world.root.on(AGENT_CREATED, refuse)
    world.root.on(CONFIG_START_FAILED, lambda _: world.rows.append("failed"))
    load(world, entry(session_id="s"))
    remove()
    assert world.take() == [
        *("session/created s", "agent/created s", "agent/disposed s", "session/disposed s"),
        "failed",
    ]
    assert (len(failed), shelf.released) == (1, 1)
