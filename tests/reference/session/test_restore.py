"""Restoring: a session out of a header and a log that were stored."""

from collections.abc import Mapping
from typing import Any

import pytest
from tests.reference.session.logs import log, turn_end, turn_start, user
from tests.reference.world import World

from dshcore.json import decode, encode, freeze
from dshcore.session import SESSIONS, InvalidHeader, InvalidSeed, SessionExists, SessionStore

HEADER = {"version": 0, "id": "x", "createdAt": 7, "cwd": "/a", "seedLength": 1}


@pytest.fixture
def store(world: World) -> SessionStore:
    return world.root[SESSIONS]


def test_takes_over_what_is_frozen(store: SessionStore) -> None:
    """Decoded events and header are the session's own, not copies of them (SEED-OWN-01)."""
    header = decode(encode(freeze(HEADER)))
    events = [decode(encode(event)) for event in log(user(), turn_start(), turn_end())]
    session = store.restore("x", header, events)
    assert session.header is header
    assert all(ours is theirs for ours, theirs in zip(session.events, events, strict=False))
    assert (session.first_live_seq, session.events[3]["type"]) == (3, "session/end-seed")
    assert store.get("x") is None


def test_reopening_is_idempotent(store: SessionStore) -> None:
    """A log that ends with the mark gets no other; a mark in the middle does not count (SEED-MARK-02)."""
    first = store.restore("x", HEADER, log(user()))
    second = store.restore("x", first.header, first.events)
    assert (list(second.events), second.first_live_seq) == (list(first.events), 2)
    second.append("x/y", {})
    third = store.restore("x", HEADER, second.events)
    assert [event["type"] for event in third.events[1:]] == ["session/end-seed", "x/y", "session/end-seed"]
    assert third.header["seedLength"] == 1


def without(name: str, **more: Any) -> dict[str, Any]:
    return {**{key: value for key, value in HEADER.items() if key != name}, **more}


@pytest.mark.parametrize(
    ("header", "text"),
    [
        (None, "is not a plain JSON record"),
        ([], "is not a plain JSON record"),
        (type("Record", (Mapping,), {}), "is not a plain JSON record"),
        ({**HEADER, "x": -0.0}, "is not losslessly JSON-serializable"),
        ({**HEADER, "version": 1}, "version must be 0, got 1"),
        ({**HEADER, "version": False}, "version must be 0, got false"),
        (without("version"), "version must be 0, got undefined"),
        ({**HEADER, "id": "y"}, 'id "y" does not match session id "x"'),
        (without("id"), 'id "undefined" does not match session id "x"'),
        (without("createdAt"), "createdAt must be a non-negative safe integer"),
        ({**HEADER, "cwd": "rel"}, 'cwd must be an absolute path, got "rel"'),
        ({**HEADER, "origin": "fork"}, 'origin must be "subagent"'),
    ],
)
def test_header_that_is_none(store: SessionStore, header: Any, text: str) -> None:
    """Each defect has its text, and is reported before a bad log (HEADER-META-05, SEED-OWN-01)."""
    with pytest.raises(InvalidHeader, match=f"session header {text}"):
        store.restore("x", header, [5])


def test_log_that_is_none(store: SessionStore) -> None:
    """All rules of a seed apply, those of the surface too (SEED-OWN-01)."""
    for events, text in (
        (log(("user/message", user()[1])), "requires a surfaceOp marker"),
        (log(user())[:1] * 2, "contiguous"),
    ):
        with pytest.raises(InvalidSeed, match=text):
            store.restore("x", HEADER, events)


def test_live_id_is_not_restored(world: World, store: SessionStore) -> None:
    """It is reported before anything else (STORE-ID-02)."""
    store.create(world.root, "x")
    with pytest.raises(SessionExists):
        store.restore("x", None, [])
