"""Forks: where a log may be cut, and what the child is."""

from typing import Any

import pytest
from msgspec import UNSET
from tests.reference.session.logs import log, step_end, step_start, turn_end, turn_start, user
from tests.reference.world import World

from dshcore.session import SESSION_CREATED, SESSIONS, Session, SessionForkError, SessionStore

TURN = log(turn_start(), step_start(), user(), step_end(), turn_end(), ("x/standalone", {}))


@pytest.fixture
def store(world: World) -> SessionStore:
    return world.root[SESSIONS]


@pytest.fixture
def source(world: World, store: SessionStore) -> Session:
    """A live session `s` over one closed turn, a standalone event and a mark."""
    return store.create(world.root, "s", seed=TURN)


def types(session: Session) -> list[str]:
    return [event["type"] for event in session.events]


@pytest.mark.parametrize(("boundary", "copied", "length"), [(4, 5, 6), (5, 6, 7), (6, 7, 7), (UNSET, 7, 7)])
def test_copies_through_the_boundary(world: World, source: Session, boundary: Any, copied: int, length: int) -> None:
    """The boundary is included; a mark follows unless it ends with one (FORK-CUT-01, FORK-CUT-03, FORK-CHILD-02)."""
    child = world.root[SESSIONS].fork(world.root, source, boundary)
    assert [*child.events[:copied]] == [*source.events[:copied]]
    assert child.first_live_seq == child.header["seedLength"] == copied
    assert (types(child)[-1], child.seq) == ("session/end-seed", length)


def test_fork_of_nothing(world: World, store: SessionStore) -> None:
    """An empty source gives a child with a mark alone (FORK-CUT-01)."""
    child = store.fork(world.root, store.create(world.root, "s"))
    assert (types(child), child.first_live_seq) == (["session/end-seed"], 0)
    again = store.fork(world.root, child)
    assert (types(again), again.first_live_seq) == (["session/end-seed"], 1)


@pytest.mark.parametrize("boundary", [0, 1, 2, 3])
def test_no_cut_inside_a_turn(world: World, store: SessionStore, source: Session, boundary: int) -> None:
    """It is refused and never clipped (FORK-CUT-02)."""
    with pytest.raises(SessionForkError) as caught:
        store.fork(world.root, source, boundary)
    assert caught.value.code == "OPEN_TURN"
    assert str(caught.value) == f'fork boundary {boundary} in session "s" ends inside open turn 1'


def test_open_turn_at_the_end(world: World, store: SessionStore, source: Session) -> None:
    """The default is refused, an earlier closed boundary is not (FORK-CUT-02, FORK-CUT-03)."""
    source.append("turn/start", {"turn": 2})
    with pytest.raises(SessionForkError, match='fork boundary 7 in session "s" ends inside open turn 2'):
        store.fork(world.root, source)
    assert store.fork(world.root, source, 4).first_live_seq == 5


@pytest.mark.parametrize("kind", ["aborted", "blocked", "max-tokens", "interrupted", "foreign"])
def test_any_ending_closes_a_turn(world: World, store: SessionStore, kind: str) -> None:
    """Whatever the reason (FORK-CUT-03)."""
    store.create(world.root, "s", seed=log(turn_start(), turn_end(1, kind)))
    assert store.fork(world.root, "s", 1).first_live_seq == 2


def test_header_of_a_child(world: World, store: SessionStore) -> None:
    """It says where the child comes from, and inherits the working directory alone (FORK-CHILD-01)."""
    meta = {"cwd": "/x", "origin": "subagent", "delegationDepth": 3, "agentPreset": "p", "createdAt": 7}
    store.create(world.root, "s", meta=meta)
    store.now = lambda: 42
    child = store.fork(world.root, "s", child_id="c")
    assert child.header == {
        "version": 0,
        "id": "c",
        "createdAt": 42,
        "cwd": "/x",
        "parentSession": "s",
        "seedLength": 0,
    }
    assert (store.get("c"), world.take()[-1]) == (child, "session/created c")


def test_fork_of_an_untouched_fork(world: World, store: SessionStore, source: Session) -> None:
    """Its prefix ends with the mark: there is no second one (FORK-CHILD-02)."""
    first = store.fork(world.root, source, 4)
    second = store.fork(world.root, first)
    assert types(second) == types(first) == [*types(source)[:5], "session/end-seed"]
    assert second.header["seedLength"] == second.first_live_seq == 6


def test_source_and_child_are_independent(world: World, store: SessionStore, source: Session) -> None:
    """Neither sees what the other appends, and the source is as before (FORK-CHILD-03)."""
    before = list(source.events)
    child = store.fork(world.root, source)
    child.append("x/child", {})
    assert list(source.events) == before
    source.append("x/source", {})
    assert types(child)[-1] == "x/child"


def test_unknown_things_are_kept(world: World, store: SessionStore) -> None:
    """Types, sources, triggers, reasons and marks of strangers (PATTERN-EXT-03, LOG-EVT-15, LOG-EVT-16)."""
    strange = log(
        ("turn/start", {"turn": 1, "trigger": {"kind": "x-trigger", "v": [1]}}),
        ("x/event", {"a": None}, {"ignorable": True}),
        ("turn/end", {"turn": 1, "reason": {"kind": "aborted", "reason": 5}}),
        turn_start(2),
        turn_end(2, "aborted"),
    )
    store.create(world.root, "s", seed=strange)
    child = store.fork(world.root, "s")
    assert list(child.events[:5]) == strange
    assert list(store.fork(world.root, child).events[:5]) == strange


def test_who_can_be_forked(world: World, store: SessionStore) -> None:
    """A live session, by its id or itself; never one that has left (FORK-ERR-01)."""
    detach = store.enter(stale := store.prepare("x"), world.root)

    def refused(source: Session | str) -> tuple[str, str]:
        with pytest.raises(SessionForkError) as caught:
            store.fork(world.root, source)
        return caught.value.code, str(caught.value)

    assert refused("nobody") == ("SESSION_NOT_FOUND", 'session "nobody" not found')
    detach()
    assert refused(stale) == ("SESSION_NOT_FOUND", 'session "x" not found')
    store.create(world.root, "x")
    assert refused(stale) == ("SESSION_NOT_LIVE", 'session "x" is not the live store instance')


@pytest.mark.parametrize(
    ("boundary", "text"),
    [
        (-1, "must be a non-negative safe integer, got -1"),
        (1.5, "must be a non-negative safe integer, got 1.5"),
        ("4", "must be a non-negative safe integer, got 4"),
        (None, "must be a non-negative safe integer, got null"),
        (True, "must be a non-negative safe integer, got true"),
        (float("nan"), "must be a non-negative safe integer, got nan"),
        (7, r"7 does not exist in session \"s\" \(last seq: 6\)"),
    ],
)
def test_boundary_that_is_none(world: World, store: SessionStore, source: Session, boundary: Any, text: str) -> None:
    """No number, or past the end (FORK-ERR-02)."""
    with pytest.raises(SessionForkError, match=text) as caught:
        store.fork(world.root, source, boundary)
    assert caught.value.code == "INVALID_BOUNDARY"


def test_boundary_of_an_empty_source(world: World, store: SessionStore) -> None:
    """There is no event 0 (FORK-ERR-02)."""
    store.create(world.root, "s")
    with pytest.raises(SessionForkError, match=r'fork boundary 0 does not exist in session "s" \(last seq: none\)'):
        store.fork(world.root, "s", 0)


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        (("nobody", -1, "s"), "SESSION_ALREADY_EXISTS"),
        (("nobody", -1, "c"), "SESSION_NOT_FOUND"),
        (("s", -1, "c"), "INVALID_BOUNDARY"),
        (("s", 2, "c"), "OPEN_TURN"),
    ],
)
def test_order_of_checks(
    world: World, store: SessionStore, source: Session, asked: tuple[str, int, str], code: str
) -> None:
    """The first defect is reported, nothing is published, and no id is taken (FORK-ERR-03)."""
    world.take()
    with pytest.raises(SessionForkError) as caught:
        store.fork(world.root, *asked)
    assert (caught.value.code, world.take(), store.list()) == (code, [], (source,))
    assert store.fork(world.root, "s").id == "session-1"


def test_child_can_be_vetoed(world: World, store: SessionStore, source: Session) -> None:
    """It is created like any other session (FORK-CHILD-01)."""

    def veto(_: object) -> None:
        raise ValueError("no")

    world.root.on(SESSION_CREATED, veto)
    with pytest.raises(ValueError, match="no"):
        store.fork(world.root, source, child_id="c")
    assert store.get("c") is None


def test_fork_inside_a_listener(world: World, store: SessionStore, source: Session) -> None:
    """The event that is being published is part of it."""
    made: list[Session] = []
    world.on_event("x/y", lambda: made.append(store.fork(world.root, source, child_id="c")))
    source.append("x/y", {})
    assert types(made[0])[-2:] == ["x/y", "session/end-seed"]
