"""Creating sessions in one step: announcement, vetoes, owners, and what listeners may do meanwhile."""

from typing import Any

import pytest
from tests.reference.world import World, do

from dshcore.context import InactiveContext
from dshcore.session import (
    SESSION_CREATED,
    SESSION_DISPOSED,
    SESSION_EVENT,
    SESSIONS,
    InvalidHeader,
    InvalidSeed,
    Session,
    SessionCreated,
    SessionExists,
    SessionStore,
)


@pytest.fixture
def store(world: World) -> SessionStore:
    return world.root[SESSIONS]


def marker(kind: str = "x") -> dict[str, Any]:
    return {"type": kind, "seq": 0, "time": 0, "data": {}}


def test_created_session_is_live_and_announced(world: World, store: SessionStore) -> None:
    """When the call returns, every created-listener has run and the session is found (STORE-LIFE-01)."""
    session = store.create(world.root, "x")
    assert (store.get("x"), world.take()) == (session, ["session/created x"])


def test_seed_is_there_at_the_announcement_and_never_published(world: World, store: SessionStore) -> None:
    """Listeners find the whole seed with its mark; only later appends are delivered (STORE-LIFE-02)."""
    seen: list[tuple[bool, int, int]] = []

    def created(payload: SessionCreated) -> None:
        session = payload.session
        seen.append((store.get("x") is session, session.seq, session.first_live_seq))

    world.root.on(SESSION_CREATED, created)
    session = store.create(world.root, "x", seed=[marker()])
    session.append("x/y", {})
    assert seen == [(True, 2, 1)]
    assert world.take() == ["session/created x", "x/y"]


def test_throwing_listener_vetoes(world: World, store: SessionStore) -> None:
    """Later ones are not called, the disposal precedes the error, and the id is free again (STORE-LIFE-03)."""

    def veto(_: object) -> None:
        raise ValueError("no")

    world.root.on(SESSION_CREATED, veto, once=True)
    world.root.on(SESSION_CREATED, do(lambda: world.rows.append("third")))
    with pytest.raises(ValueError, match="no"):
        store.create(world.root, "x")
    assert (store.get("x"), world.take()) == (None, ["session/created x", "session/disposed x"])
    store.create(world.root, "x")
    assert world.take() == ["session/created x", "third"]


def test_late_rejection_is_only_reported(world: World, store: SessionStore, caplog: pytest.LogCaptureFixture) -> None:
    """The session stays live (STORE-LIFE-04)."""

    async def reject(_: object) -> None:
        raise ValueError("late")

    world.root.on(SESSION_CREATED, reject)
    session = world.run(lambda: store.create(world.root, "x"))
    assert store.get("x") is session
    assert caplog.messages == ['session "x": session/created listener rejected: ValueError: late']


def test_failing_disposed_listeners_are_contained(
    world: World, store: SessionStore, caplog: pytest.LogCaptureFixture
) -> None:
    """Thrown or rejected, each is reported, and the session is gone (STORE-LIFE-10)."""

    def throw(_: object) -> None:
        raise ValueError("at once")

    async def reject(_: object) -> None:
        raise ValueError("late")

    world.root.on(SESSION_DISPOSED, throw, prepend=True)
    world.root.on(SESSION_DISPOSED, reject, prepend=True)
    detach = store.enter(session := store.prepare("x"), world.root)
    store.announce(session)
    world.run(detach)
    assert (store.get("x"), world.take()) == (None, ["session/created x", "session/disposed x"])
    assert caplog.messages == [
        'session "x": session/disposed listener threw: ValueError: at once',
        'session "x": session/disposed listener rejected: ValueError: late',
    ]


def test_sessions_leave_with_their_owner(world: World, store: SessionStore) -> None:
    """Newest first; none is live when the disposal has settled (STORE-LIFE-11)."""
    owner = world.root.open(scope=None, name="owner")
    store.create(owner, "a")
    store.create(owner, "b")
    world.take()
    world.run(owner.dispose)
    assert (store.list(), world.take()) == ((), ["session/disposed b", "session/disposed a"])
    with pytest.raises(InactiveContext):
        store.create(owner, "c")
    assert (store.get("c"), world.take()) == (None, [])


def test_owner_disposed_while_it_is_announced(world: World, store: SessionStore) -> None:
    """The dispatch goes on, the call answers the session, and its disposal follows."""
    owner = world.root.open(scope=None, name="owner")
    world.root.on(SESSION_CREATED, do(lambda: world.rows.append("disposing"), owner.dispose), prepend=True)
    session = world.run(lambda: store.create(owner, "x"))
    assert session.id == "x"
    assert world.take() == ["disposing", "session/created x", "session/disposed x"]


def test_created_listener_creates_another(world: World, store: SessionStore) -> None:
    """Its whole announcement is nested inside (STORE-LIFE-12)."""
    heard: list[str] = []

    def one(payload: SessionCreated) -> None:
        heard.append(f"{payload.session.id}:one")
        if payload.session.id == "A":
            store.create(world.root, "B")

    world.root.on(SESSION_CREATED, one)
    world.root.on(SESSION_CREATED, lambda p: heard.append(f"{p.session.id}:two"))
    store.create(world.root, "A")
    assert heard == ["A:one", "B:one", "B:two", "A:two"]


def test_disposed_listener_creates_the_id_again(world: World, store: SessionStore) -> None:
    """The id is free by then (STORE-LIFE-12)."""
    made: list[Session] = []
    world.root.on(SESSION_DISPOSED, lambda _: made.append(store.create(world.root, "x")), once=True)
    detach = store.enter(session := store.prepare("x"), world.root)
    store.announce(session)
    detach()
    assert store.get("x") is made[0] is not session


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"seed": [marker(), marker()]}, InvalidSeed),
        ({"seed": [5]}, InvalidSeed),
        ({"meta": {"cwd": "rel"}}, InvalidHeader),
    ],
)
def test_failed_creation_creates_nothing(
    world: World, store: SessionStore, options: dict[str, Any], error: type[Exception]
) -> None:
    """No listener is called, and the id stays free (SEED-VAL-05)."""
    with pytest.raises(error):
        store.create(world.root, "x", **options)
    assert (store.get("x"), world.take()) == (None, [])
    store.create(world.root, "x")


def test_taken_id_is_reported_before_a_bad_seed(world: World, store: SessionStore) -> None:
    """The id comes first (SEED-VAL-09, STORE-ID-02)."""
    store.create(world.root, "x")
    with pytest.raises(SessionExists):
        store.create(world.root, "x", seed=[5])


def test_numbers_of_failed_creations_are_used_up(world: World, store: SessionStore) -> None:
    """Also by a veto (STORE-ID-01)."""

    def veto(_: object) -> None:
        raise ValueError("no")

    world.root.on(SESSION_CREATED, veto, once=True)
    with pytest.raises(ValueError, match="no"):
        store.create(world.root)
    assert store.create(world.root).id == "session-2"


def test_one_more_life(world: World, store: SessionStore) -> None:
    """Having entered again it is announced again; the old detach does not reach it (STORE-ID-04, STORE-LIFE-07)."""
    first = store.enter(session := store.prepare("x"), world.root)
    store.announce(session)
    first()
    second = store.enter(session, world.root)
    store.announce(session)
    first()
    assert store.get("x") is session
    second()
    assert world.take() == ["session/created x", "session/disposed x"] * 2


def test_unbalanced_seed_is_kept_as_it_is(world: World, store: SessionStore) -> None:
    """Sessions, unlike agents, may begin with anything that is a log (SEED-VAL-04)."""
    for turn in (1, 7):
        start = {**marker("turn/start"), "data": {"turn": turn}}
        session = store.create(world.root, seed=[start])
        assert [event["type"] for event in session.events] == ["turn/start", "session/end-seed"]
        assert session.events[0] == start


def test_events_of_a_listener_between_two_created_ones(world: World, store: SessionStore) -> None:
    """What the first created-listener appends is delivered before the second is called (LOG-OBS-07)."""
    heard: list[str] = []
    world.root.on(SESSION_CREATED, lambda p: p.session.append("x/y", {}))
    world.root.on(SESSION_EVENT, lambda p: heard.append(p.event["type"]))
    world.root.on(SESSION_CREATED, lambda p: heard.append(f"seq {p.session.seq}"))
    store.create(world.root, "x")
    assert heard == ["x/y", "seq 1"]


def test_append_inside_a_disposed_listener(world: World, store: SessionStore) -> None:
    """The session has left by then: the event is logged, and nobody hears of it (LOG-OBS-06)."""
    detach = store.enter(session := store.prepare("x"), world.root)
    store.announce(session)
    world.root.on(SESSION_DISPOSED, lambda p: p.session.append("x/late", {}))
    detach()
    assert (world.take(), session.seq) == (["session/created x", "session/disposed x"], 1)
