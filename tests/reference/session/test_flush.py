"""The durability checkpoint: who is asked, who is waited for, whose failure counts."""

import asyncio
from typing import Any

import pytest
from tests.reference.world import World

from dshcore.session import SESSION_FLUSH, SESSIONS, Session, SessionNotLive, SessionStore


@pytest.fixture
def store(world: World) -> SessionStore:
    return world.root[SESSIONS]


@pytest.fixture
def session(world: World, store: SessionStore) -> Session:
    return store.create(world.root, "x")


class Gate:
    """A listener that waits until the test lets it go on, with an error or without."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._opened: asyncio.Future[None] = world.run(world.loop.create_future)
        world.root.on(SESSION_FLUSH, self._wait)

    async def _wait(self, _: object) -> None:
        await self._opened

    def open(self, error: Exception | None = None) -> None:
        settle = self._opened.set_result if error is None else self._opened.set_exception
        self._world.run(lambda: settle(error))  # type: ignore[arg-type]  # none for a result


def flush(world: World, store: SessionStore, session: Session) -> "asyncio.Task[Any]":
    """Start a flush, as its only listener-visible caller, and let everything settle."""
    return world.start(lambda: store.flush(session))


def test_all_listeners_start_before_it_returns(world: World, store: SessionStore, session: Session) -> None:
    """They run side by side, and the flush settles when the last one has (STORE-FLUSH-01)."""
    gate, heard = Gate(world), list[Session]()
    world.root.on(SESSION_FLUSH, lambda payload: _note(heard, payload.session))
    seen: list[int] = []

    def stretch() -> Any:
        pending = store.flush(session)
        seen.append(len(heard))
        return pending

    pending = world.run(stretch)
    assert (seen, pending.done()) == ([1], False)
    gate.open()
    assert (pending.result(), heard) == (True, [session])


async def _note(heard: list[Session], session: Session) -> None:
    heard.append(session)


def test_tells_whether_anybody_took_part(world: World, store: SessionStore) -> None:
    """Listeners of a foreign scope do not count (STORE-FLUSH-02)."""
    mine, foreign = (world.root.open(scope=object(), name=name) for name in ("mine", "foreign"))
    session = store.create(mine, "x")
    heard: list[Session] = []
    foreign.on(SESSION_FLUSH, lambda payload: _note(heard, payload.session))
    assert flush(world, store, session).result() is False
    mine.on(SESSION_FLUSH, lambda payload: _note(heard, payload.session))
    assert flush(world, store, session).result() is True
    assert heard == [session]


def test_first_failure_in_order_is_the_one(world: World, store: SessionStore, session: Session) -> None:
    """All others run to their end, and the error is passed on as it is (STORE-FLUSH-03)."""
    slow = Gate(world)
    reason = OSError("disk")

    async def fails_fast(_: object) -> None:
        raise ValueError("later in order")

    world.root.on(SESSION_FLUSH, fails_fast)
    world.root.on(SESSION_FLUSH, _throw)
    pending = flush(world, store, session)
    assert not pending.done()
    error = ValueError("slow")
    error.__cause__ = reason
    slow.open(error)
    assert pending.exception() is error
    assert error.__cause__ is reason


def _throw(_: object) -> Any:
    raise LookupError("at once")


def test_only_live_sessions_are_flushed(world: World, store: SessionStore) -> None:
    """The refusal is the flush's outcome, and no listener is called; announcing does not matter (STORE-FLUSH-04)."""
    heard: list[Session] = []
    world.root.on(SESSION_FLUSH, lambda payload: _note(heard, payload.session))
    session = store.prepare("x")

    def refused(asked: SessionStore) -> str:
        error = flush(world, asked, session).exception()
        assert isinstance(error, SessionNotLive)
        return str(error)

    text = 'session "x" is not live in this store'
    assert refused(store) == text
    detach = store.enter(session, world.root)
    assert refused(SessionStore()) == text
    assert heard == []
    assert flush(world, store, session).result() is True
    detach()
    assert refused(store) == text
    assert heard == [session]


def test_appends_and_a_detach_meanwhile(world: World, store: SessionStore) -> None:
    """They wait for nothing, and change nothing of the outcome (STORE-FLUSH-05)."""
    detach = store.enter(session := store.prepare("x"), world.root)
    gate = Gate(world)
    pending = flush(world, store, session)
    assert session.append("x/y", {})["seq"] == 0
    detach()
    assert store.get("x") is None
    gate.open()
    assert pending.result() is True


def test_flush_asks_the_scope_that_entered(world: World, store: SessionStore) -> None:
    """Not the scope that prepared, announced or asks (STORE-SCOPE-02)."""
    mine, other = (world.root.open(scope=object(), name=name) for name in ("mine", "other"))
    heard: list[Session] = []
    other.on(SESSION_FLUSH, lambda payload: _note(heard, payload.session))
    store.enter(session := store.prepare("x"), mine)
    assert flush(world, store, session).result() is False


def test_cancelled_flush_cancels_its_listeners(world: World, store: SessionStore, session: Session) -> None:
    """Whoever gives up waiting gives up the work."""
    ended: list[str] = []

    async def work(_: object) -> None:
        try:
            await world.loop.create_future()
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise

    world.root.on(SESSION_FLUSH, work)
    pending = flush(world, store, session)
    world.run(pending.cancel)
    assert (pending.cancelled(), ended) == (True, ["cancelled"])
