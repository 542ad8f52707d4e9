"""Validators: what sees an event before it is committed."""

from functools import partial
from typing import Any

import pytest
from tests.reference.world import World, do, message

from dshcore.context import InactiveContext
from dshcore.session import (
    SESSION_DISPOSED,
    SESSION_EVENT,
    SESSIONS,
    AppendReentered,
    Session,
    SessionEvent,
    SessionStore,
)


@pytest.fixture
def store(world: World) -> SessionStore:
    return world.root[SESSIONS]


@pytest.fixture
def session(world: World, store: SessionStore) -> Session:
    made = store.create(world.root, "x")
    world.take()
    return made


class Refused(Exception):
    """A validator's own error."""


def refuse(_session: Session, _candidate: SessionEvent) -> None:
    raise Refused


def state(session: Session) -> tuple[Any, ...]:
    surface = session.surface
    return (
        list(session.events),
        session.seq,
        surface.nodes,
        surface.replace_generation,
        list(session.derive_messages()),
    )


def test_sees_the_candidate_before_the_log_does(world: World, store: SessionStore, session: Session) -> None:
    """It is stamped and immutable by then (LOG-APPEND-06)."""
    seen: list[Any] = []

    def validator(published: Session, candidate: SessionEvent) -> None:
        seen.append((published is session, candidate, session.seq, session.surface.nodes))
        with pytest.raises(TypeError):
            candidate["data"]["x"] = 1

    store.validate(world.root, validator)
    event = session.append("user/message", message("A"), surface_op="append")
    assert seen == [(True, event, 0, ())]
    assert seen[0][1] is event


def test_refusal_reaches_the_caller_and_changes_nothing(world: World, store: SessionStore, session: Session) -> None:
    """No listener runs, all folds are as before, the next append takes the seq (LOG-APPEND-01, -06, LOG-OBS-05)."""
    session.append("user/message", message("A"), surface_op="append")
    before = state(session)
    world.take()
    forget = store.validate(world.root, refuse)
    for op, sources in (("append", [0]), ({"op": "replace", "start": 0, "end": 0}, [0])):
        with pytest.raises(Refused):
            session.append("user/message", message("B"), surface_op=op, source_event_seqs=sources)
    for kind, data in (
        ("request/header", {"header": {"config": {"provider": "p", "model": "m"}}}),
        ("request/context", {}),
        ("turn/start", {"turn": 1}),
    ):
        with pytest.raises(Refused):
            session.append(kind, data)
    assert (state(session), world.take()) == (before, [])
    assert (session.request_header(), session.request_context(), session.last_turn) == (None, None, 0)
    forget()
    assert session.append("x/y", {})["seq"] == 1


def test_first_refusal_is_the_one(world: World, store: SessionStore, session: Session) -> None:
    """They run in the order of registration, after all checks of the log itself (LOG-APPEND-02)."""
    seen: list[str] = []
    store.validate(world.root, lambda _, candidate: seen.append(candidate["type"]))
    store.validate(world.root, refuse)
    store.validate(world.root, lambda *_: seen.append("never"))
    with pytest.raises(Refused):
        session.append("x/y", {})
    with pytest.raises(Exception, match="requires a surfaceOp marker"):
        session.append("user/message", message("A"))
    assert seen == ["x/y"]


def test_listeners_are_settled_before_the_validators(world: World, store: SessionStore, session: Session) -> None:
    """One that a validator adds does not get the event, one that it removes does (LOG-OBS-02)."""
    heard: list[str] = []
    remove = world.root.on(SESSION_EVENT, lambda _: heard.append("removed"))

    def validator(*_: object) -> None:
        remove()
        world.root.on(SESSION_EVENT, lambda _: heard.append("added"), once=True)

    store.validate(world.root, validator)
    session.append("x/y", {})
    assert heard == ["removed"]
    session.append("x/y", {})
    assert heard == ["removed", "added"]


def test_validator_cannot_append_to_the_same_session(world: World, store: SessionStore, session: Session) -> None:
    """But it can to another one (LOG-OBS-03, LOG-OBS-04)."""
    other = store.create(world.root, "y")

    def validator(_: Session, candidate: SessionEvent) -> None:
        if candidate["type"] == "x/y":
            other.append("x/other", {})
            session.append("x/z", {})

    store.validate(world.root, validator)
    with pytest.raises(AppendReentered):
        session.append("x/y", {})
    assert (session.seq, other.seq) == (0, 1)


@pytest.mark.parametrize("vetoed", [False, True])
def test_detach_by_a_validator_waits_for_the_append(world: World, store: SessionStore, vetoed: bool) -> None:
    """All listeners get the event with the session live; also a vetoed append ends first (STORE-LIFE-09)."""
    session = store.prepare("x")
    detach = store.enter(session, world.root)
    store.announce(session)
    seen: list[tuple[str, bool]] = []

    def live() -> bool:
        return store.get("x") is session

    store.validate(world.root, do(detach, lambda: seen.append(("validated", live()))))
    if vetoed:
        store.validate(world.root, refuse)
    world.root.on(SESSION_EVENT, lambda _: seen.append(("event", live())))
    world.root.on(SESSION_DISPOSED, lambda _: seen.append(("disposed", live())))
    if vetoed:
        with pytest.raises(Refused):
            session.append("x/y", {})
    else:
        session.append("x/y", {})
    told = [] if vetoed else [("event", True)]
    assert seen == [("validated", True), *told, ("disposed", False)]


def test_sessions_in_no_store_are_not_validated(world: World, store: SessionStore) -> None:
    """Before they enter and after they left (LOG-OBS-06)."""
    store.validate(world.root, refuse)
    session = store.prepare("x")
    session.append("x/y", {})
    detach = store.enter(session, world.root)
    with pytest.raises(Refused):
        session.append("x/y", {})
    detach()
    assert session.append("x/y", {})["seq"] == 1


def test_validators_end_with_their_owner(world: World, store: SessionStore, session: Session) -> None:
    """Each registration is one of its own, also of the same function."""
    owner = world.root.open(scope=None, name="owner")
    first = store.validate(owner, refuse)
    store.validate(owner, refuse)
    first()
    with pytest.raises(Refused):
        session.append("x/y", {})
    world.run(owner.dispose)
    session.append("x/y", {})
    with pytest.raises(InactiveContext):
        store.validate(owner, refuse)


async def later(_session: Session, _candidate: SessionEvent) -> None:
    raise Refused


class Later:
    async def __call__(self, _session: Session, _candidate: SessionEvent) -> None:
        raise Refused


@pytest.mark.parametrize("validator", [later, Later(), partial(later)])
def test_a_validator_is_synchronous(world: World, store: SessionStore, session: Session, validator: Any) -> None:
    """LOG-APPEND-06: one that would never be waited for is refused where it is given."""
    with pytest.raises(TypeError, match="validators of appends are synchronous"):
        store.validate(world.root, validator)
    assert session.append("x/y", {})["seq"] == 0
