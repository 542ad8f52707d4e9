"""What a session promises for its whole life: nothing that was accepted changes, and nobody reaches into it."""

from collections.abc import Iterator
from typing import Any

import pytest
from tests.reference.session.logs import answer, log, result, turn_end, turn_start, user
from tests.reference.world import USER, World, hang, message

from dshcore.ids import SessionId
from dshcore.json import JsonObject, freeze
from dshcore.session import (
    SESSIONS,
    AppendRefused,
    InvalidSeed,
    Session,
    fold_surface,
    interrupted_turn_closers,
)


def replace(start: int, end: int) -> dict[str, Any]:
    return {"op": "replace", "start": start, "end": end}


def test_the_log_only_grows(world: World) -> None:
    """Replacing, cancelling, forking, repairing and disposing add to it, and change nothing (LOG-IMM-04)."""
    agent = world.create()
    session = agent.session
    dumps: list[list[JsonObject]] = []

    def dump() -> None:
        dumps.append(list(session.events))
        for earlier in dumps:
            assert all(old is new for old, new in zip(earlier, dumps[-1], strict=False))
        assert [len(one) for one in dumps] == sorted(len(one) for one in dumps)

    world.followup("A")
    dump()
    nodes = session.surface.nodes
    session.append("user/message", message("S"), surface_op=replace(nodes[0], nodes[-1]), source_event_seqs=list(nodes))
    dump()
    world.root[SESSIONS].fork(world.root, session)
    dump()
    world.model.follow(hang())
    world.followup("B")
    interrupted_turn_closers(session.events)
    dump()
    world.run(lambda: agent.cancel(USER))
    dump()
    world.dispose()
    dump()
    assert len(dumps[-1]) > len(dumps[0])


def test_nothing_that_is_handed_out_reaches_the_log() -> None:
    """Events, views, messages, folds and the header cannot be written, at any depth (LOG-IMM-02, HEADER-META-06)."""
    session = Session(SessionId("s"), meta={"cwd": "/x"}, seed=log(user("a"), answer("c"), result("c")))
    session.append("request/header", {"header": {"config": {"provider": "p", "model": "m", "stop": ["x"]}}})
    header, context = session.request_header(), session.append("request/context", {"a": [1]})["data"]
    handed_out: list[Any] = [
        *session.events,
        *(event["data"] for event in session.events),
        *session.derive_messages(),
        *(one["content"] for one in session.derive_messages()),
        session.derive_messages(),
        session.events,
        session.surface.nodes,
        fold_surface(session.events).replacements,
        header,
        context,
        context["a"],
        session.header,
    ]
    before = list(session.events)
    for one in handed_out:
        with pytest.raises(TypeError):
            one["x"] = 1
        with pytest.raises(TypeError):
            one[0] = 1
        with pytest.raises(TypeError):
            del one[0]
    assert list(session.events) == before


def test_the_header_is_no_part_of_the_log() -> None:
    """It is detached from what the creator gave, and no event carries it (HEADER-META-06)."""
    meta: dict[str, Any] = {"cwd": "/x", "agentPreset": "p"}
    session = Session(SessionId("s"), meta=meta)
    meta["cwd"] = "/y"
    assert (session.header["cwd"], session.seq, session.request_header()) == ("/x", 0, None)


class Odd(dict[str, Any]):
    """A container with code of its own."""

    def __init__(self) -> None:
        super().__init__(a=1)
        self.called = False

    def items(self) -> Any:
        self.called = True
        return super().items()

    def __iter__(self) -> Iterator[str]:
        self.called = True
        return super().__iter__()

    def toJSON(self) -> str:  # noqa: N802 - the name that a conversion hook has elsewhere
        self.called = True
        return "x"


def test_code_of_values_is_never_run(session: Session) -> None:
    """So that no value can answer differently the second time: containers of classes are refused (LOG-JSON-04, -07)."""
    for wrapped in (odd := Odd(), {"x": odd}, [odd]):
        with pytest.raises(AppendRefused, match="non-JSON-serializable data"):
            session.append("x/y", wrapped)
    assert (odd.called, session.seq) == (False, 0)


def test_a_part_that_is_met_twice(session: Session) -> None:
    """It is stored twice; a value that contains itself is refused (LOG-JSON-05)."""
    part: dict[str, Any] = {"a": [1]}
    event = session.append("x/y", [part, part])
    part["a"].append(part)
    assert event["data"] == ({"a": (1,)}, {"a": (1,)})
    with pytest.raises(AppendRefused):
        session.append("x/y", part)


@pytest.fixture
def session() -> Session:
    return Session(SessionId("s"))


def test_messages_are_projected_as_logged() -> None:
    """Same ids, roles, members and order, nothing merged; an empty answer yields none (DERIVE-PROJ-02, -03)."""
    strange = {**user("b")[1], "x": [1], "source": {"kind": "plugin", "plugin": "p"}}
    empty = {**answer()[1], "message": {**answer()[1]["message"], "content": []}}
    events = log(
        user("a"),
        ("user/message", strange, {"surfaceOp": "append"}),
        ("assistant/message", empty, {"surfaceOp": "append"}),
    )
    session = Session(SessionId("s"), seed=events)
    assert list(session.derive_messages()) == [events[0]["data"], freeze(strange)]
    assert session.surface.nodes == (0, 1, 2)


@pytest.mark.parametrize(
    ("entry", "text"),
    [
        (("request/header-delta", {}), "uses unsupported legacy request/header-delta format"),
        (
            ("request/header", {"header": {"config": {"provider": "p", "model": "m"}}, "reason": "fallback"}),
            'uses unsupported legacy request/header reason "fallback"',
        ),
    ],
)
def test_retired_vocabulary(session: Session, entry: tuple[str, Any], text: str) -> None:
    """It is refused at append and in seeds, there before the envelope is looked at (LOG-APPEND-03)."""
    kind, data = entry
    with pytest.raises(AppendRefused) as appended:
        session.append(kind, data)
    assert str(appended.value) == f'session event "{kind}" {text}'
    seed = log(entry)
    with pytest.raises(InvalidSeed) as seeded:
        Session(SessionId("s"), seed=seed)
    assert str(seeded.value) == f"seed event at index 0 {text}"


def test_retired_type_is_refused_before_its_envelope() -> None:
    """Even where it has none (LOG-APPEND-03, SEED-VAL-09)."""
    with pytest.raises(InvalidSeed, match="header-delta format"):
        Session(SessionId("s"), seed=[{"type": "request/header-delta", "x": 1}])


def test_marks_and_lengths() -> None:
    """A seed sets `first_live_seq` for good, never `seedLength`; marks stand where a construction ended (SEED-MARK)."""
    first = Session(SessionId("a"), seed=log(turn_start(), turn_end()))
    assert (first.first_live_seq, "seedLength" in first.header) == (2, False)
    first.append("x/y", {})
    resumed = Session(SessionId("a"), seed=first.events, meta={"seedLength": 1})
    resumed.append("x/y", {})
    assert (resumed.first_live_seq, resumed.header["seedLength"]) == (4, 1)
    marks = [event["seq"] for event in resumed.events if event["type"] == "session/end-seed"]
    assert marks == [2, 4]
    assert (Session(SessionId("b")).first_live_seq, Session(SessionId("b"), seed=[]).first_live_seq) == (0, 0)


def test_only_constructions_write_marks(world: World) -> None:
    """A run of agents leaves marks where a construction ended, and nowhere else (SEED-MARK-05)."""
    agent = world.create()
    world.followup("A")
    world.dispose()
    again = world.create("b", seed=agent.session.events)
    world.run(lambda: again.followup(message("B")))
    marks = [event["seq"] for event in again.session.events if event["type"] == "session/end-seed"]
    assert marks == [again.session.first_live_seq] == [agent.session.seq]
