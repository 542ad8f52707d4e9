"""The relations of a log, and the enforcement that refuses what would break them."""

from typing import Any

import pytest
from tests.reference.session.logs import (
    PLACE,
    answer,
    call,
    log,
    result,
    step_end,
    step_start,
    turn_end,
    turn_start,
    user,
)
from tests.reference.world import World

from dshcore.json import JsonObject, freeze
from dshcore.session import (
    SESSION_CREATED,
    SESSIONS,
    InvariantError,
    Session,
    SessionStore,
    enforce_invariants,
)
from dshcore.session.invariants import Position

CHUNK: tuple[str, Any] = ("assistant/chunk", {**PLACE, "chunk": {"type": "text-delta", "index": 0, "text": "x"}})
REPLACED = result("c", {"op": "replace", "start": 4, "end": 4})
CONFIG = {"provider": "p", "model": "m"}


def broken(*entries: Any) -> tuple[int, str] | None:
    """The first relation that a log breaks, and where."""
    position = Position()
    for event in log(*entries):
        if relation := position.broken_by(event):
            return event["seq"], relation
        position.follow(event)
    return None


@pytest.mark.parametrize(
    "entries",
    [
        [turn_start(), turn_end(), turn_start(2), turn_end(2)],
        [turn_start(), step_start(), answer(), step_end(), step_start(2), step_end(2), turn_end()],
        [turn_start(), step_start(), step_end(), turn_end(), turn_start(2), step_start(1, 2)],
        [
            turn_start(),
            step_start(),
            CHUNK,
            answer("c", "d"),
            call("c"),
            call("d"),
            result("c"),
            result("d"),
            step_end(),
        ],
        [turn_start(), step_start(), call("c"), step_end(), turn_end()],
        [turn_start(), step_start(), result("c", is_error=True, code="TOOL_NOT_STARTED"), step_end()],
        [turn_start(), step_start(), call("c"), result("c"), step_end(), turn_end(), turn_start(2), REPLACED],
        [
            turn_start(),
            ("todo/write", {"todos": []}),
            ("request/header", {"header": {"config": CONFIG}}),
            ("request/context", CONFIG),
        ],
        [user(), ("session/end-seed", {}), ("agent/inbox/spliced", {}), ("x/y", None), turn_start(), ("x/y", 5)],
        [turn_start(), ("session/end-seed", {}), turn_end()],
        [("steering/message", None), ("subagent/descriptor", 5), turn_start(), turn_end(), user(), turn_start(2)],
    ],
)
def test_logs_that_keep_all_relations(entries: list[Any]) -> None:
    """Turns, steps, calls, unstarted and replaced results, what may stand anywhere (INV-TURN-01 to INV-ENC-02)."""
    assert broken(*entries) is None


@pytest.mark.parametrize(
    ("entries", "relation"),
    [
        ([turn_start(2)], "turn/start expected turn 1, got 2"),
        ([turn_start(), turn_end(), turn_start()], "turn/start expected turn 2, got 1"),
        ([turn_start(), turn_start(3)], "turn/start 3 while turn 1 is still open"),
        ([turn_end()], "turn/end 1 does not match open turn null"),
        ([("turn/end", None)], "turn/end null does not match open turn null"),
        ([turn_start(), turn_end(2)], "turn/end 2 does not match open turn 1"),
        ([turn_start(), step_start(), turn_end()], "turn/end 1 while step 1 is still open"),
        ([step_start()], "step/start in turn 1 but open turn is null"),
        ([turn_start(), step_start(1, 2)], "step/start in turn 2 but open turn is 1"),
        ([turn_start(), step_start(), step_start(3)], "step/start 3 while step 1 is still open"),
        ([turn_start(), step_start(2)], "step/start expected step 1 in turn 1, got 2"),
        ([turn_start(), step_start(), step_end(), step_start()], "step/start expected step 2 in turn 1, got 1"),
        ([turn_start(), step_start(), step_end(2)], "step/end names turn 1/step 2 but open is turn 1/step 1"),
        ([turn_start(), step_end()], "step/end names turn 1/step 1 but open is turn 1/step null"),
        ([CHUNK], "assistant/chunk names turn 1/step 1 but open is turn null/step null"),
        ([("assistant/chunk", None)], "assistant/chunk names turn null/step null but open is turn null/step null"),
        ([answer()], "assistant/message names turn 1/step 1 but open is turn null/step null"),
        ([turn_start(), step_start(), call("c", step=2)], "tool/call names turn 1/step 2 but open is turn 1/step 1"),
        ([result("c")], "tool/result names turn 1/step 1 but open is turn null/step null"),
        ([turn_start(), step_start(), result("c")], "tool/result for c with no prior tool/call in this step"),
        (
            [turn_start(), step_start(), call("c"), result("c"), result("c")],
            "tool/result for c with no prior tool/call in this step",
        ),
        (
            [turn_start(), step_start(), call("c"), step_end(), step_start(2), result("c", step=2)],
            "tool/result for c with no prior tool/call in this step",
        ),
        (
            [turn_start(), step_start(), result("c", code="TOOL_NOT_STARTED")],
            "tool/result for c with no prior tool/call in this step",
        ),
        (
            [turn_start(), step_start(), result("c", is_error=True, code="OTHER")],
            "tool/result for c with no prior tool/call in this step",
        ),
        (
            [("todo/write", {"todos": []})],
            "todo/write appended outside any open turn (core execution events must be turn-enclosed)",
        ),
        (
            [turn_start(), turn_end(), ("request/context", CONFIG)],
            "request/context appended outside any open turn (core execution events must be turn-enclosed)",
        ),
        ([REPLACED], "tool/result surface replacement appended outside any open turn"),
    ],
)
def test_broken_relations(entries: list[Any], relation: str) -> None:
    """The last event breaks one, and is told which; nesting is looked at before numbering (INV-*)."""
    assert broken(*entries) == (len(entries) - 1, relation)


@pytest.mark.parametrize(
    "entries",
    [
        [("turn/start", {"turn": True})],
        [turn_start(), ("turn/end", {"turn": True, "reason": {"kind": "completed"}})],
        [turn_start(), ("step/start", {"turn": True, "step": 1})],
        [turn_start(), ("step/start", {"turn": 1, "step": True})],
        [turn_start(), step_start(), ("step/end", {"turn": 1, "step": True})],
        [turn_start(), step_start(), ("assistant/chunk", {"turn": True, "step": 1, "chunk": {}})],
    ],
)
def test_a_boolean_is_no_number(entries: list[Any]) -> None:
    """INV-TURN-01, INV-TURN-02, INV-STEP-01, INV-STEP-03: Python's own comparison takes it for 1."""
    found = broken(*entries)
    assert found is not None
    assert found[0] == len(entries) - 1


def test_calls_without_a_name_are_nobodys() -> None:
    """A malformed call cannot be answered, and breaks nothing (INV-CALL-03)."""
    assert broken(turn_start(), step_start(), ("tool/call", {**PLACE, "callId": [{}]}), step_end()) is None


# --- enforcement -----------------------------------------------------------------------------------------------------


@pytest.fixture
def store(world: World) -> SessionStore:
    """A store that enforces."""
    enforce_invariants(world.root, world.root[SESSIONS])
    return world.root[SESSIONS]


def append(session: Session, entry: Any) -> JsonObject:
    kind, data, *more = entry
    return session.append(kind, data, **({"surface_op": more[0]["surfaceOp"]} if more else {}))


def refused(session: Session, entry: Any) -> str:
    with pytest.raises(InvariantError) as caught:
        append(session, entry)
    assert caught.value.code == "INVARIANT"
    return str(caught.value)


def test_violations_are_refused_before_the_commit(world: World, store: SessionStore) -> None:
    """The log is unchanged, nobody hears of it, the position has not moved (INV-MODE-01, INV-MODE-02)."""
    session = store.create(world.root, "x")
    world.take()
    text = 'invariant violated by "dshcore.session": turn/start expected turn 1, got 2'
    assert refused(session, turn_start(2)) == text
    assert (session.seq, world.take()) == (0, [])
    append(session, turn_start())
    assert refused(session, turn_start(2)).endswith("turn/start 2 while turn 1 is still open")
    append(session, turn_end())
    append(session, turn_start(2))
    assert world.take() == ["turn/start 1", "turn/end 1 completed", "turn/start 2"]


def test_a_candidate_that_another_vetoes_does_not_count(world: World, store: SessionStore) -> None:
    """Also when the relation was kept (INV-MODE-02)."""
    session = store.create(world.root, "x")
    world.refuse("turn/start")
    with pytest.raises(Exception, match="refused turn/start"):
        append(session, turn_start())
    append(session, turn_start())
    assert session.seq == 1


def test_sessions_do_not_mix(world: World, store: SessionStore) -> None:
    """Each has a position of its own (INV-MODE-02)."""
    one, other = store.create(world.root, "a"), store.create(world.root, "b")
    append(one, turn_start())
    append(other, turn_start())
    assert refused(other, turn_start(2)).endswith("while turn 1 is still open")


def test_seeds_are_checked_as_a_whole(world: World, store: SessionStore) -> None:
    """A broken one vetoes the creation, and its id is free; a good one goes on from where it ends (INV-MODE-02)."""
    heard: list[str] = []
    world.root.on(SESSION_CREATED, lambda p: heard.append(p.session.id))
    with pytest.raises(InvariantError, match="turn/start expected turn 1, got 2"):
        store.create(world.root, "x", seed=log(turn_start(2), turn_end(2)))
    assert (store.get("x"), heard) == (None, [])
    session = store.create(world.root, "x", seed=log(turn_start(), turn_end()))
    append(session, turn_start(2))


def test_sessions_that_are_live_already(world: World) -> None:
    """They are covered from where they stand; a broken one is found at once (INV-MODE-02)."""
    store = world.root[SESSIONS]
    session = store.create(world.root, "x")
    append(session, turn_start())
    enforce_invariants(world.root, store)
    assert refused(session, turn_start(2)).endswith("while turn 1 is still open")
    append(session, turn_end())
    broken = SessionStore()
    append(broken.create(world.root, "y"), turn_end())
    with pytest.raises(InvariantError, match="turn/end 1 does not match open turn null"):
        enforce_invariants(world.root, broken)


def test_what_was_appended_unpublished_counts(world: World, store: SessionStore) -> None:
    """The position follows the log, not the deliveries (INV-MODE-02)."""
    session = store.prepare("x")
    append(session, turn_start())
    detach = store.enter(session, world.root)
    assert refused(session, turn_start(2)).endswith("while turn 1 is still open")
    detach()
    append(session, turn_end())
    append(session, turn_end(9))
    store.enter(session, world.root)
    assert refused(session, ("x/y", None)).endswith("turn/end 9 does not match open turn null")


def test_enforcement_through_a_scope_covers_all_scopes(world: World) -> None:
    """Whose enforcement it is does not matter (INV-MODE-02)."""
    store = world.root[SESSIONS]
    enforce_invariants(world.root.open(scope=object(), name="enforcing"), store)
    with pytest.raises(InvariantError):
        store.create(world.root, "x", seed=log(turn_end()))
    refused(store.create(world.root.open(scope=object(), name="other"), "x"), turn_end())


def test_enforcement_ends_with_its_owner(world: World) -> None:
    """Afterwards anything may be appended again."""
    store = world.root[SESSIONS]
    owner = world.root.open(scope=None, name="enforcement")
    enforce_invariants(owner, store)
    session = store.create(world.root, "x")
    refused(session, turn_end())
    world.run(owner.dispose)
    append(session, turn_end())


def test_a_composed_loop_keeps_all_relations() -> None:
    """An application that enforces runs turns as one that does not (INV-TURN-01 to INV-ENC-01)."""
    world = World(enforce=True)
    agent = world.create()
    world.followup("A", "B")
    assert [row for row in world.log() if row.startswith("turn/end")] == [
        "turn/end 1 completed",
        "turn/end 2 completed",
    ]
    with pytest.raises(InvariantError):
        agent.session.append("turn/end", {"turn": 2, "reason": freeze({"kind": "completed"})})
    world.close()
