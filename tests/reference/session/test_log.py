"""The session log: what an append accepts, in which order it checks, and what observers see of it."""

from enum import StrEnum
from typing import Any

import pytest
from tests.reference.world import World, do, message
from typeguard import suppress_type_checks

from dshcore.ids import SessionId
from dshcore.json import freeze
from dshcore.prefix import Growing
from dshcore.session import SESSION_EVENT, SESSIONS, AppendReentered, AppendRefused, Session, SessionPublished, history


class _Kind(StrEnum):
    X = "x/y"


@pytest.fixture
def session() -> Session:
    """A session in no store, whose clock counts."""
    ticks = iter(range(1000, 2000))
    return Session(SessionId("s"), now=lambda: next(ticks))


def said(text: str) -> dict[str, Any]:
    source = {"kind": "model", "provider": "p", "model": "m"}
    content = [{"type": "text", "text": text}] if text else []
    return {
        "turn": 1,
        "step": 1,
        "message": {"id": f"a-{text}", "role": "assistant", "content": content, "source": source},
    }


def result(text: str, **members: Any) -> dict[str, Any]:
    block = {"type": "tool-result", "toolCallId": "c", "content": [{"type": "text", "text": text}], "isError": False}
    source = {"kind": "tool", "callId": "c"}
    return {
        "turn": 1,
        "step": 1,
        "message": {"id": "r", "role": "user", "content": [block], "source": source},
        **members,
    }


def test_envelope(session: Session) -> None:
    """Seqs count events, times are integers, and no other keys appear (LOG-ENV-01 to -04)."""
    first = session.append("x/y", {"a": 1})
    second = session.append("user/message", message("A"), surface_op="append")
    assert first == {"type": "x/y", "seq": 0, "time": 1001, "data": {"a": 1}}
    assert sorted(second) == ["data", "seq", "surfaceOp", "time", "type"]
    assert (session.seq, list(session.events)) == (2, [first, second])
    assert session.events[1] is second


@pytest.mark.parametrize("data", [None, True, "x", 1.5, [1], {}, {"__proto__": {"x": 1}, "": 2}])
def test_any_json_is_data(session: Session, data: Any) -> None:
    """The payload may be any JSON value, with any member names (LOG-JSON-01, LOG-JSON-08)."""
    expected = tuple(data) if isinstance(data, list) else data
    assert session.append("x/y", data)["data"] == expected


def test_deep_data(session: Session) -> None:
    """Nesting is bounded by memory alone (LOG-JSON-06)."""
    deep: Any = 0
    for _ in range(20_000):
        deep = [deep]
    session.append("x/y", deep)
    assert session.seq == 1


def test_log_holds_its_own_copy(session: Session) -> None:
    """Changing the input does not change the log, and nobody can change an event (LOG-IMM-01, LOG-IMM-02)."""
    data: dict[str, Any] = {"a": [1]}
    event: Any = session.append("x/y", data)
    data["a"].append(2)
    assert event["data"] == {"a": (1,)}
    with pytest.raises(TypeError):
        event["data"]["b"] = 1


def test_events_are_a_snapshot(session: Session) -> None:
    """A sequence obtained from events does not grow (LOG-IMM-03)."""
    before = session.events
    session.append("x/y", {})
    assert (len(before), len(session.events)) == (0, 1)


@pytest.mark.parametrize(
    ("append", "text"),
    [
        (("user/message", {**message("A"), "x": -0.0}, {"surface_op": 7}), "carries non-JSON-serializable data"),
        (("user/message", message("A"), {"source_event_seqs": [-0.0]}), "carries non-JSON-serializable surface meta"),
        (("request/header-delta", {}, {}), "uses unsupported legacy request/header-delta format"),
        (("request/header", {"reason": "fallback"}, {}), 'uses unsupported legacy request/header reason "fallback"'),
        (("user/message", message("A"), {}), "is surface-eligible and requires a surfaceOp marker"),
        (("user/message", {}, {"surface_op": "append"}), "lacks an identified message"),
        (("turn/end", {"turn": 1, "reason": {"kind": "completed", "x": 1}}, {}), "could not be loaded again"),
        (("turn/start", {"turn": 0}, {}), "could not be loaded again"),
        (("turn/start", {"turn": 1, "trigger": {}}, {}), "could not be loaded again"),
        (("mode/set", {}, {}), "could not be loaded again"),
        (("", {}, {}), "could not be loaded again"),
        (("turn/start", 5, {}), "could not be loaded again"),
        (("turn/end", 5, {}), "could not be loaded again"),
        (("turn/end", {"turn": 1, "reason": 5}, {}), "could not be loaded again"),
        (("turn/end", {"turn": 1, "reason": {"kind": 5}}, {}), "could not be loaded again"),
        (("turn/end", {"turn": 1, "reason": {"kind": "error"}}, {}), "could not be loaded again"),
        (("turn/end", {"turn": 1, "reason": {"kind": "aborted", "x": 1}}, {}), "could not be loaded again"),
        (("steering/message", {}, {}), "could not be loaded again"),
        (("text-chunks", {}, {}), "could not be loaded again"),
        (("reasoning-chunks", {}, {}), "could not be loaded again"),
        (("tool-call-chunks", {}, {}), "could not be loaded again"),
    ],
)
def test_refused_append_changes_nothing(session: Session, append: tuple[str, Any, Any], text: str) -> None:
    """The first failing check names the error, and the next append takes the seq (LOG-APPEND-01, -02, -07)."""
    kind, data, intent = append
    with pytest.raises(AppendRefused, match=f'session event "{kind}".*{text}'):
        session.append(kind, data, **intent)
    assert (session.seq, session.surface.nodes, len(session.derive_messages())) == (0, (), 0)
    assert session.append("x/y", {})["seq"] == 0


@suppress_type_checks  # the type checkers refuse it, and so does the log
def test_types_are_texts(session: Session) -> None:
    """After the payload was looked at, and before it would have to be stamped (LOG-APPEND-07)."""
    kind: Any
    for kind in (5, None, ["x"], float("nan"), _Kind.X):
        with pytest.raises(AppendRefused, match="could not be loaded again"):
            session.append(kind, {})
        with pytest.raises(AppendRefused, match="non-JSON-serializable data"):
            session.append(kind, {"x": -0.0})
    assert session.seq == 0


@pytest.mark.parametrize(
    "data",
    [
        {"turn": 1, "trigger": {"kind": "foreign", "x": 1}},
        {"turn": 1, "reason": {"kind": "aborted", "reason": {"kind": "user"}}},
        {"turn": 1, "reason": {"kind": "foreign", "x": 1}},
    ],
)
def test_loadable_turn_boundaries_are_accepted(session: Session, data: Any) -> None:
    """Triggers, reasons of aborted endings and foreign kinds are kept as given (LOG-EVT-15, LOG-EVT-16)."""
    kind = "turn/end" if "reason" in data else "turn/start"
    assert session.append(kind, data)["data"] == data


def test_surface_is_in_order_of_appending(session: Session) -> None:
    """Log-only events take no place, and history is the messages of the surface (SURF-OP-03, DERIVE-PROJ-01)."""
    session.append("x/y", {})
    session.append("user/message", message("A"), surface_op="append")
    session.append("assistant/message", said(""), surface_op="append", source_event_seqs=[])
    session.append("assistant/message", said("hi"), surface_op="append")
    session.append("tool/result", result("ok"), surface_op="append", source_event_seqs=[0])
    assert session.surface.nodes == (1, 2, 3, 4)
    assert [m["id"] for m in session.derive_messages()] == ["A", "a-hi", "r"]
    assert session.events[2]["sourceEventSeqs"] == ()


def fill(session: Session, count: int = 4) -> None:
    for number in range(count):
        session.append("user/message", message(str(number)), surface_op="append")


def replace(start: Any, end: Any) -> dict[str, Any]:
    return {"op": "replace", "start": start, "end": end}


def test_replacement_stands_where_its_range_began(session: Session) -> None:
    """Positions count, not seqs; history that was handed out stays (SURF-OP-04, SURF-OP-05, DERIVE-SNAP-01)."""
    fill(session)
    before = session.derive_messages()
    session.append("user/message", message("R"), surface_op=replace(1, 2), source_event_seqs=[2, 1, 0])
    between = session.derive_messages()
    assert (session.surface.nodes, session.surface.replace_generation) == ((0, 4, 3), 1)
    session.append("user/message", message("S"), surface_op=replace(4, 3), source_event_seqs=[4, 3])
    assert (session.surface.nodes, session.surface.replace_generation) == ((0, 5), 2)
    assert [m["id"] for m in session.derive_messages()] == ["0", "S"]
    session.append("user/message", message("T"), surface_op="append")
    assert [m["id"] for m in session.derive_messages()] == ["0", "S", "T"]
    assert [m["id"] for m in between] == ["0", "R", "3"]
    assert [m["id"] for m in before] == ["0", "1", "2", "3"]
    assert session.events[4]["sourceEventSeqs"] == (2, 1, 0)


@pytest.mark.parametrize(
    ("kind", "intent", "text"),
    [
        ("x/y", {"surface_op": "append"}, 'event "x/y" is not surface-eligible and cannot carry surfaceOp'),
        ("x/y", {"surface_op": None}, "cannot carry surfaceOp"),
        ("tool/call", {"source_event_seqs": []}, "cannot carry sourceEventSeqs"),
        ("user/message", {"surface_op": "prepend"}, "carries an invalid surfaceOp"),
        ("user/message", {"surface_op": []}, "carries an invalid surfaceOp"),
        ("user/message", {"surface_op": {**replace(1, 1), "x": 1}}, "carries an invalid replace surfaceOp"),
        ("user/message", {"surface_op": replace(True, 1)}, "carries an invalid replace surfaceOp"),
        ("user/message", {"surface_op": replace(9, 1), "source_event_seqs": "x"}, "start seq 9 not found in surface"),
        ("user/message", {"surface_op": replace(1, 9)}, "end seq 9 not found in surface"),
        ("user/message", {"surface_op": replace(3, 1)}, r"start seq 3 \(index 3\) is after end seq 1 \(index 1\)"),
        ("user/message", {"surface_op": "append", "source_event_seqs": "x"}, "must be an array when present"),
        ("user/message", {"surface_op": "append", "source_event_seqs": []}, "must not be empty except on assistant"),
        ("user/message", {"surface_op": "append", "source_event_seqs": [9, 0.5]}, "densely contain non-negative safe"),
        ("user/message", {"surface_op": "append", "source_event_seqs": [9, 9]}, "must not contain duplicates"),
        ("user/message", {"surface_op": "append", "source_event_seqs": [0, 4]}, "earlier events: 4 >= current seq 4"),
        ("user/message", {"surface_op": replace(0, 2), "source_event_seqs": [1]}, "surface node; missing 0, 2"),
    ],
)
def test_surface_rules(session: Session, kind: str, intent: dict[str, Any], text: str) -> None:
    """Each rule has its text, and the first broken one is reported (SURF-OP-01 to -10, SURF-SRC)."""
    fill(session)
    with pytest.raises(AppendRefused, match=text):
        session.append(kind, message("R"), **intent)
    assert session.surface.nodes == (0, 1, 2, 3)


def test_tool_results_rewrite_their_content_alone(session: Session) -> None:
    """One node, itself a tool result, and nothing else of it may differ (SURF-TOOL-01, SURF-TOOL-02)."""
    fill(session, 2)
    session.append("tool/result", result("long"), surface_op="append")
    for start, text in ((0, "exactly one current node"), (1, "must rewrite exactly one")):
        with pytest.raises(AppendRefused, match=text):
            session.append("tool/result", result("x"), surface_op=replace(start, 2), source_event_seqs=[0, 1, 2])
    with pytest.raises(AppendRefused, match="must target a current tool/result"):
        session.append("tool/result", result("x"), surface_op=replace(1, 1), source_event_seqs=[1])
    two_blocks = result("x")
    two_blocks["message"]["content"] *= 2
    for changed in (result("x", meta=1), {**result("x"), "step": 2}, two_blocks, {**result("x"), "message": 5}, None):
        with pytest.raises(AppendRefused, match="may change only content"):
            session.append("tool/result", changed, surface_op=replace(2, 2), source_event_seqs=[2])
    session.append("tool/result", result("short"), surface_op=replace(2, 2), source_event_seqs=[2])
    assert session.surface.nodes == (0, 1, 3)


def test_request_header_and_context_in_force(session: Session) -> None:
    """The last one counts, whole and in canonical form; its event keeps what was appended (HEADER-REQ-02, -CTX-01)."""
    config = {"provider": "p", "model": "m"}
    assert (session.request_header(), session.request_context()) == (None, None)
    session.append("request/header", {"header": {"config": config, "system": "S"}, "reason": "initial"})
    empty = {"config": config, "system": "", "tools": [], "adapterDefaults": {}, "x": 1}
    session.append("request/header", {"header": empty, "reason": "change"})
    assert session.request_header() == freeze({"config": config})
    assert session.events[1]["data"]["header"]["system"] == ""
    session.append("request/context", {**config, "contextWindow": 10})
    session.append("request/context", config)
    assert session.request_context() == freeze(config)


def test_observers_run_after_the_commit_in_order(world: World) -> None:
    """Prepended first; the event is last in the log and on the surface by then (LOG-APPEND-04, LOG-OBS-01)."""
    session = world.create().session
    seen: list[tuple[str, int, tuple[int, ...]]] = []
    for name in "ab":
        world.root.on(SESSION_EVENT, lambda _, name=name: seen.append((name, session.seq, session.surface.nodes)))  # type: ignore[misc]
    world.root.on(SESSION_EVENT, lambda _: seen.append(("c", session.seq, session.surface.nodes)), prepend=True)
    session.append("user/message", message("A"), surface_op="append")
    assert seen == [("c", 1, (0,)), ("a", 1, (0,)), ("b", 1, (0,))]


def test_set_of_observers_is_fixed(world: World) -> None:
    """One added during a dispatch misses this event, one removed still gets it (LOG-OBS-02)."""
    session = world.create().session
    heard: list[str] = []

    def first(_: object) -> None:
        remove()
        world.root.on(SESSION_EVENT, lambda p: heard.append(f"added {p.event['seq']}"))

    world.root.on(SESSION_EVENT, first, once=True)
    remove = world.root.on(SESSION_EVENT, lambda p: heard.append(f"removed {p.event['seq']}"))
    session.append("x/y", {})
    session.append("x/y", {})
    assert heard == ["removed 0", "added 1"]


def test_reentrant_append_is_refused_and_not_queued(world: World) -> None:
    """Bad data is reported before it, a bad surface op after it; other sessions are open (LOG-OBS-03, -04)."""
    session, other = world.create("a").session, world.create("b").session
    errors: list[str] = []

    def nested(published: SessionPublished) -> None:
        if published.session is not session:
            return
        for data, intent in (({"x": float("nan")}, {}), ({}, {"surface_op": 7})):
            with pytest.raises(AppendRefused) as caught:
                session.append("x/z", data, **intent)
            errors.append(type(caught.value).__name__)
        other.append("x/other", {})

    world.root.on(SESSION_EVENT, nested)
    world.take()
    session.append("x/y", {})
    assert errors == ["AppendRefused", "AppendReentered"]
    assert world.take() == ["x/y", "x/other"]
    assert [event["type"] for event in session.events] == ["x/y"]


def test_guard_ends_with_the_dispatch(world: World) -> None:
    """Deferred work may append, and so may whoever waits for the unwinding (LOG-OBS-05)."""
    session = world.create().session
    world.on_event("x/y", lambda: session.when_unwound(do(lambda: session.append("x/then", {}))))
    world.on_event("x/y", lambda: world.loop.call_soon(lambda: session.append("x/later", {})))
    world.run(lambda: session.append("x/y", {}))
    assert world.log() == ["x/y", "x/then", "x/later"]


def test_who_waits_for_an_append_cannot_spoil_it(world: World, caplog: pytest.LogCaptureFixture) -> None:
    """What fails behind it is reported, the others run, and the append answers or refuses as ever (LOG-APPEND-05)."""
    session = world.create().session
    store, ran = world.root[SESSIONS], list[str]()

    def fail() -> None:
        ran.append("failed")
        raise ValueError("late")

    def wait(*_: object) -> None:
        session.when_unwound(fail)
        session.when_unwound(lambda: ran.append("other"))

    world.on_event("x/y", wait)
    assert session.append("x/y", {})["type"] == "x/y"

    def veto(waiting: Session, _: object) -> None:
        wait()
        raise KeyError(waiting.id)

    store.validate(world.root, veto)
    with pytest.raises(KeyError, match="a"):
        session.append("x/z", {})
    assert ran == ["failed", "other"] * 2
    assert caplog.messages == ['session "a": what waited for an append failed: ValueError: late'] * 2


def test_a_host_that_stops_strands_nobody(world: World) -> None:
    """LIFE-DISP-20: what is no error of the callback goes on to the host, when all have run."""
    session = world.create().session
    ran: list[str] = []

    def stop() -> None:
        raise KeyboardInterrupt

    def wait() -> None:
        session.when_unwound(stop)
        session.when_unwound(lambda: ran.append("other"))

    world.on_event("x/y", wait)
    with pytest.raises(KeyboardInterrupt):
        session.append("x/y", {})
    assert ran == ["other"]


def test_nothing_that_is_handed_out_changes_the_session(session: Session) -> None:
    """Neither its surface nor its header can be changed or replaced through it (LOG-IMM-02)."""
    session.append("user/message", message("A"), surface_op="append")
    handed: Any = session
    for name in ("surface", "header", "events"):
        with pytest.raises(AttributeError):
            setattr(handed, name, None)
    assert {name for name in dir(handed.surface) if not name.startswith("_")} == {"nodes", "replace_generation"}
    held = session.surface
    session.append("user/message", message("B"), surface_op="append")
    assert (held.nodes, session.surface.nodes) == ((0, 1), (0, 1))


def test_failing_observers_change_nothing(world: World, caplog: pytest.LogCaptureFixture) -> None:
    """One that throws and one that rejects are reported by name, the others hear it (LOG-APPEND-05)."""
    session = world.create().session

    def throw(_: object) -> None:
        session.append("x/z", {})

    async def reject(_: object) -> None:
        raise ValueError("late")

    world.root.on(SESSION_EVENT, throw, prepend=True)
    world.root.on(SESSION_EVENT, reject, prepend=True)
    world.take()
    world.run(lambda: session.append("x/y", {}))
    assert world.take() == ["x/y"]
    assert caplog.messages == [
        (
            'session "a": session/event listener threw: AppendReentered: session append cannot reenter while another '
            "append is being published"
        ),
        'session "a": session/event listener rejected: ValueError: late',
    ]
    assert issubclass(AppendReentered, AppendRefused)


def test_appending_costs_the_same_however_long_the_log(session: Session) -> None:
    """Neither an append nor a history walks the log: no work is done for what is there already."""
    walked: list[str] = []

    class Events(list[Any]):
        def __iter__(self) -> Any:
            walked.append("events")
            return super().__iter__()

    class Messages(Growing[Any]):
        def __iter__(self) -> Any:
            walked.append("messages")
            return super().__iter__()

    fill(session, 200)
    session._events = Events(session._events)
    session._surface._events = Events(session._surface._events)
    messages = Messages()
    messages.extend(session._history._messages)
    session._history._messages = messages
    walked.clear()
    with suppress_type_checks():  # which walk the lists themselves
        for number in range(50):
            session.append("user/message", message(f"n{number}"), surface_op="append")
            history = session.derive_messages()
            assert history[-1]["id"] == f"n{number}"
    assert walked == []


def test_replacements_of_a_long_seed_project_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many there are, the history is built once, when it is asked for (DERIVE-SNAP-02)."""
    projected: list[int] = []
    derive = history.derive_event_message

    def counted(event: Any) -> Any:
        projected.append(event["seq"])
        return derive(event)

    monkeypatch.setattr(history, "derive_event_message", counted)
    first = {"type": "user/message", "seq": 0, "time": 0, "data": message("0"), "surfaceOp": "append"}
    seed = [first] + [
        {**first, "seq": seq, "surfaceOp": replace(seq - 1, seq - 1), "sourceEventSeqs": [seq - 1]}
        for seq in range(1, 50)
    ]
    session = Session(SessionId("s"), seed=seed)
    session.append("user/message", message("1"), surface_op="append")
    assert [len(session.derive_messages()), len(session.derive_messages())] == [2, 2]
    session.append("user/message", message("2"), surface_op="append")
    assert projected == [0, 49, 51, 52]
