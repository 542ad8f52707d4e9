"""The store of live sessions: identity, announcement, detaching."""

from typing import Any

import pytest
from tests.reference.world import World, do

from dshcore.context import Context
from dshcore.ids import SessionId
from dshcore.scope import Scope, create_scope
from dshcore.session import (
    SESSION_CREATED,
    SESSION_DISPOSED,
    SESSION_EVENT,
    SESSION_FLUSH,
    SESSIONS,
    InvalidHeader,
    Session,
    SessionError,
    SessionExists,
    SessionStore,
)


@pytest.fixture
def store(world: World) -> SessionStore:
    return world.root[SESSIONS]


def live(world: World, store: SessionStore, name: str) -> tuple[Session, Any]:
    """Make a session live and announced; answer it and its detach."""
    session = store.prepare(name)
    detach = store.enter(session, world.root)
    store.announce(session)
    return session, detach


def test_minted_ids_are_never_given_twice(world: World, store: SessionStore) -> None:
    """They count from 1, skip live ones, and are used up by preparing (STORE-ID-01)."""
    live(world, store, "session-1")
    assert [store.prepare().id, store.prepare().id] == ["session-2", "session-3"]
    with pytest.raises(InvalidHeader):
        store.prepare(meta={"cwd": "rel"})
    assert store.prepare().id == "session-5"


def test_prepared_session_does_not_occupy_its_id(world: World, store: SessionStore) -> None:
    """The first to enter has it (STORE-ID-02)."""
    first, second = store.prepare("x"), store.prepare("x")
    assert store.get("x") is None
    store.enter(first, world.root)
    with pytest.raises(SessionExists, match='session "x" already exists'):
        store.enter(second, world.root)
    with pytest.raises(SessionExists):
        store.prepare("x")
    assert store.get("x") is first


def test_list_is_in_the_order_of_entering(world: World, store: SessionStore) -> None:
    """A session that enters again goes to the end (STORE-ID-03, STORE-ID-04)."""
    first, detach = live(world, store, "a")
    live(world, store, "b")
    with pytest.raises(SessionError, match="already attached to a store"):
        SessionStore().enter(first, world.root)
    detach()
    store.enter(first, world.root)
    assert [session.id for session in store.list()] == ["b", "a"]


def test_unpublished_session_takes_appends(world: World, store: SessionStore) -> None:
    """Before it enters and after it left nothing is delivered, nor afterwards (LOG-OBS-06, LOG-OBS-07)."""
    session = store.prepare("x")
    session.append("x/before", {})
    detach = store.enter(session, world.root)
    session.append("x/entered", {})
    store.announce(session)
    session.append("x/announced", {})
    detach()
    session.append("x/after", {})
    assert world.take() == ["x/entered", "session/created x", "x/announced", "session/disposed x"]
    assert session.seq == 4


def test_announce_works_once_per_life(world: World, store: SessionStore) -> None:
    """Also after a veto, and from inside a listener; only live sessions are announced (STORE-LIFE-05)."""
    session = store.prepare("x")
    with pytest.raises(SessionError, match='session "x" is not live in this store'):
        store.announce(session)
    detach = store.enter(session, world.root)

    def veto(_: object) -> None:
        with pytest.raises(SessionError, match='session "x" was already announced'):
            store.announce(session)
        raise ValueError("no")

    world.root.on(SESSION_CREATED, veto, once=True)
    with pytest.raises(ValueError, match="no"):
        store.announce(session)
    assert store.get("x") is session
    with pytest.raises(SessionError, match="already announced"):
        store.announce(session)
    detach()
    assert world.take() == ["session/created x", "session/disposed x"]


def test_detach_is_silent_without_an_announcement(world: World, store: SessionStore) -> None:
    """A second call does nothing, also when the id was entered again (STORE-LIFE-06, STORE-LIFE-07)."""
    session = store.prepare("x")
    detach = store.enter(session, world.root)
    detach()
    assert (world.take(), store.get("x")) == ([], None)
    again = store.prepare("x")
    store.enter(again, world.root)
    detach()
    assert store.get("x") is again


def test_detach_waits_for_what_is_dispatched(world: World, store: SessionStore) -> None:
    """A creation and an append both end with the session live (STORE-LIFE-08, STORE-LIFE-09)."""
    session = store.prepare("x")
    detach = store.enter(session, world.root)
    seen: list[tuple[str, bool]] = []
    world.root.on(SESSION_CREATED, lambda _: session.append("x/y", {}))
    world.root.on(SESSION_EVENT, lambda _: detach())
    world.root.on(SESSION_EVENT, lambda _: seen.append(("event", store.get("x") is session)))
    world.root.on(SESSION_CREATED, lambda _: seen.append(("created", store.get("x") is session)))
    world.root.on(SESSION_DISPOSED, lambda _: seen.append(("disposed", store.get("x") is session)))
    store.announce(session)
    assert seen == [("event", True), ("created", True), ("disposed", False)]


def test_detach_then_announce_inside_an_append(world: World, store: SessionStore) -> None:
    """The session is live to the end of the append, and leaves once (STORE-LIFE-09)."""
    session = store.prepare("x")
    detach = store.enter(session, world.root)
    world.on_event("x/y", do(detach, lambda: store.announce(session)))
    session.append("x/y", {})
    assert (world.take(), store.get("x")) == (["x/y", "session/created x", "session/disposed x"], None)


def test_scope_is_fixed_by_entering(world: World, store: SessionStore) -> None:
    """The scope of the context through which it entered hears of it, other scopes do not (STORE-SCOPE-01, -02)."""
    heard: list[str] = []

    def scope(name: str, **how: Any) -> Context:
        made = world.root.open(scope=object(), name=name)
        made.on(SESSION_CREATED, lambda _: heard.append(f"{name} created"), **how)
        made.on(SESSION_EVENT, lambda p: heard.append(f"{name} {p.event['type']}"), **how)
        made.on(SESSION_DISPOSED, lambda _: heard.append(f"{name} disposed"), **how)
        return made

    mine, _, _ = scope("mine"), scope("other"), scope("everywhere", global_=True)
    session = store.prepare("x")
    detach = store.enter(session, mine)
    store.announce(session)
    session.append("x/y", {})
    detach()
    told = ["created", "x/y", "disposed"]
    assert heard == [f"{name} {what}" for what in told for name in ("mine", "everywhere")]
    heard.clear()
    store.create(world.root, "y").append("x/z", {})
    assert heard == ["everywhere created", "everywhere x/z"]


def test_events_of_a_session_travel_up(world: World, store: SessionStore) -> None:
    """The scopes around the one that it entered through hear of it, those below and beside do not (STORE-SCOPE-01)."""
    heard: list[str] = []

    def scope(name: str, parent: Scope | None = None) -> Scope:
        made = create_scope(world.root, object(), parent=None if parent is None else parent.key, name=name)
        made.ctx.on(SESSION_CREATED, lambda _: heard.append(f"{name} created"))
        made.ctx.on(SESSION_EVENT, lambda p: heard.append(f"{name} {p.event['type']}"))
        made.ctx.on(SESSION_FLUSH, lambda _: _later(heard, f"{name} flush"))
        made.ctx.on(SESSION_DISPOSED, lambda _: heard.append(f"{name} disposed"))
        return made

    def told(entered: Context) -> list[str]:
        heard.clear()
        session = store.prepare()
        detach = store.enter(session, entered)
        store.announce(session)
        session.append("x/y", {})
        took_part.append(world.start(lambda: store.flush(session)).result())
        detach()
        return heard

    took_part: list[bool] = []
    above = scope("above")
    middle = scope("middle", above)
    scope("below", middle)
    scope("beside", above)
    events = ("created", "x/y", "flush", "disposed")
    assert told(middle.ctx) == [f"{name} {event}" for event in events for name in ("above", "middle")]
    assert told(above.ctx) == [f"above {event}" for event in events]
    assert told(world.root) == []
    assert took_part == [True, True, False]


async def _later(heard: list[str], what: str) -> None:
    heard.append(what)


def test_times_come_from_the_stores_clock() -> None:
    """Header and events are stamped by it (LOG-ENV-02, HEADER-META-01)."""
    session = SessionStore(now=lambda: 42).prepare("x")
    assert session.header == {"version": 0, "id": "x", "createdAt": 42}
    assert session.append("x/y", {})["time"] == 42


@pytest.mark.parametrize(
    ("meta", "text"),
    [
        ({"cwd": "rel"}, 'cwd must be an absolute path, got "rel"'),
        ({"cwd": ""}, "cwd must be an absolute path"),
        ({"cwd": 7}, "cwd must be a string"),
        ({"createdAt": -1}, "createdAt must be a non-negative safe integer"),
        ({"seedLength": 1.5}, "seedLength must be a non-negative safe integer"),
        ({"delegationDepth": True}, "delegationDepth must be a non-negative safe integer"),
        ({"parentSession": 7}, "parentSession must be a string"),
        ({"agentPreset": None}, "agentPreset must be a string"),
        ({"origin": "fork"}, 'origin must be "subagent"'),
        ({"seedLength": -0.0}, "is not losslessly JSON-serializable"),
    ],
)
def test_bad_metadata(meta: dict[str, Any], text: str) -> None:
    """Each field has its refusal (HEADER-META-03, HEADER-META-04)."""
    with pytest.raises(InvalidHeader, match=f"session header {text}"):
        Session(SessionId("x"), meta=meta)


def test_foreign_metadata_is_ignored() -> None:
    """Also a version or id given there; paths stay as given (HEADER-META-02, HEADER-META-03)."""
    session = Session(SessionId("x"), meta={"id": "zz", "version": 9, "foo": 1, "cwd": "/a/../b", "createdAt": 7})
    assert session.header == {"version": 0, "id": "x", "createdAt": 7, "cwd": "/a/../b"}
