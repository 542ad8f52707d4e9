"""Seeds: which logs a session may begin with, and which an agent may go on from."""

from typing import Any

import pytest
from typeguard import suppress_type_checks

from dshcore.ids import SessionId
from dshcore.json import freeze
from dshcore.session import InvalidHeader, InvalidSeed, Session, unbalanced


def event(kind: str, data: Any, seq: int = 0, **members: Any) -> dict[str, Any]:
    return {"type": kind, "seq": seq, "time": 0, "data": data, **members}


def user(**changes: Any) -> dict[str, Any]:
    return {"id": "u", "role": "user", "content": [], "source": {"kind": "user"}, **changes}


def assistant(**changes: Any) -> dict[str, Any]:
    source = {"kind": "model", "provider": "p", "model": "m"}
    return {"message": {"id": "a", "role": "assistant", "content": [], "source": source, **changes}}


def result(**changes: Any) -> dict[str, Any]:
    block = {"type": "tool-result", "toolCallId": "c", "content": []}
    source = {"kind": "tool", "callId": "c"}
    return {"message": {"id": "r", "role": "user", "content": [block], "source": source, **changes}}


def header(config: dict[str, Any] | None = None, **changes: Any) -> dict[str, Any]:
    return {"header": {"config": {"provider": "p", "model": "m"} if config is None else config, **changes}}


CAPPED = {"provider": "p", "model": "m", "maxTokens": 5, "x": 1}


def seeded(*events: Any, **options: Any) -> Session:
    return Session(SessionId("s"), seed=list(events), now=lambda: 7, **options)


@pytest.mark.parametrize("seed", [{}, "", 0, False, 5, {"a": 1}, "ab", iter(())])
def test_a_seed_is_an_array(seed: Any) -> None:
    """Whatever counts as empty (SEED-VAL-01)."""
    with suppress_type_checks(), pytest.raises(InvalidSeed, match="a seed must be an array of events, not"):
        Session(SessionId("s"), seed=seed)


def test_mark_follows_the_seed_once() -> None:
    """An empty seed has one mark, none has none, a marked one is left as it is (SEED-MARK)."""
    assert Session(SessionId("s")).seq == 0
    empty = seeded()
    assert [(e["type"], dict(e["data"])) for e in empty.events] == [("session/end-seed", {})]
    assert empty.first_live_seq == 0
    again = seeded(*empty.events)
    assert (list(again.events), again.first_live_seq) == (list(empty.events), 1)
    empty.append("x/y", {})
    more = seeded(*empty.events)
    assert [e["type"] for e in more.events] == ["session/end-seed", "x/y", "session/end-seed"]


def test_seed_is_kept_as_it_is() -> None:
    """Unknown types, blocks, sources and ignorable marks pass; times may decrease (SEED-MSG-05, PATTERN-EXT-03)."""
    given = [
        event("x/y", None, 0, ignorable=True),
        event("user/message", user(content=[{"type": "x-block"}], source={"kind": "x"}), 1, surfaceOp="append"),
        {**event("turn/start", {"turn": 3, "trigger": {"kind": "retry"}}, 2), "time": -5},
        {
            **event("user/message", user(), 3, surfaceOp="append", sourceEventSeqs=[0], ignorable=True),
            "time": 2**53 - 1,
        },
        {**event("x/y", None, 4), "time": 1 - 2**53},
        event("request/header", header(CAPPED, adapterDefaults={"maxTokens": True}), 5),
    ]
    session = seeded(*given)
    assert list(session.events)[:6] == [freeze(one) for one in given]
    assert (session.last_turn, [m["id"] for m in session.derive_messages()]) == (3, ["u", "u"])


SURFACE: dict[str, Any] = {"surfaceOp": "append"}
MSG = "seed user/message at index 0"


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (event("x", {"a": -0.0}), "seed event at index 0 is not losslessly JSON-serializable"),
        (7, "seed event at index 0 has an invalid event envelope"),
        (event("request/header-delta", {}, 5, junk=1), "uses unsupported legacy request/header-delta format"),
        (event("x", {}, junk=1), "has an invalid event envelope"),
        (event("x", {}, ignorable=False), "has an invalid event envelope"),
        (event("x", {}, True), "has an invalid event envelope"),
        ({"type": "x", "seq": 0, "time": 0}, "has an invalid event envelope"),
        ({**event("x", {}), "time": 0.5}, "has an invalid event envelope"),
        ({**event("x", {}), "type": 7}, "has an invalid event envelope"),
        (event("user/message", user(id=""), 9, **SURFACE), f"{MSG} lacks an identified message"),
        (event("user/message", user(role="assistant"), **SURFACE), f'{MSG} message must have role "user"'),
        (event("user/message", user(source={}), **SURFACE), f"{MSG} message has invalid source"),
        (event("user/message", user(content="x"), **SURFACE), f"{MSG} message has invalid content"),
        (event("assistant/message", assistant(source={"kind": "user"}), **SURFACE), "message must have model source"),
        (event("tool/result", result(source={"kind": "tool"}), **SURFACE), "message must have tool source"),
        (event("tool/result", result(content=[]), **SURFACE), "message must contain one tool-result block"),
        *(
            (event("tool/result", result(content=[block]), **SURFACE), "message must contain one tool-result block")
            for block in (
                {"type": "x", "toolCallId": "c", "content": []},
                {"type": "tool-result", "toolCallId": "c", "content": "x"},
            )
        ),
        *(
            (event("assistant/message", assistant(source=source), **SURFACE), "message must have model source")
            for source in ({"kind": "user", "provider": "p", "model": "m"}, {"kind": "model", "provider": "p"})
        ),
        (
            event("tool/result", result(source={"kind": "tool", "callId": "d"}), **SURFACE),
            "message has mismatched tool call ids",
        ),
        (event("request/header", header({"provider": "p"})), "at index 0 lacks provider/model"),
        (
            event("request/header", header({"provider": "p", "model": "m", "reasoningEffort": ""})),
            "has an invalid reasoningEffort",
        ),
        (event("request/header", None), "at index 0 lacks provider/model"),
        (
            event("request/header", header({"provider": "p", "model": "m", "reasoningEffort": None})),
            "has an invalid reasoningEffort",
        ),
        (event("request/header", header(adapterDefaults={"maxTokens": True})), "has invalid adapterDefaults"),
        (event("request/header", header(adapterDefaults={"x": True})), "has invalid adapterDefaults"),
        (event("request/header", header(adapterDefaults=None)), "has invalid adapterDefaults"),
        *(
            (event("request/header", header(CAPPED, adapterDefaults=marks)), "has invalid adapterDefaults")
            for marks in ({"x": True}, {"maxTokens": False}, {"maxTokens": True, "reasoningEffort": True})
        ),
        (event("assistant/message", assistant(id=""), **SURFACE), "lacks an identified message"),
        (event("assistant/message", None, **SURFACE), "lacks an identified message"),
        (event("tool/result", result(role="tool"), **SURFACE), 'message must have role "user"'),
        (event("request/header", {**header(), "reason": "fallback"}), 'legacy request/header reason "fallback"'),
        (event("x", {}, 1), r"index 0 has seq 1 \(expected 0\); seed must be contiguous from 0"),
        (event("user/message", user()), "invalid seed event at index 0: .* requires a surfaceOp marker"),
    ],
)
def test_seed_that_is_no_log(given: Any, text: str) -> None:
    """Each rule of a seed has its text; of several broken ones the first is reported (SEED-VAL, SEED-MSG)."""
    with pytest.raises(InvalidSeed, match=text):
        seeded(given)


def test_seed_is_checked_before_the_metadata() -> None:
    """A bad second event and a relative cwd: the event is reported (SEED-VAL-09)."""
    with pytest.raises(InvalidSeed, match="index 1"):
        seeded(event("x", {}), event("x", {}, 5), meta={"cwd": "rel"})
    with pytest.raises(InvalidHeader, match='cwd must be an absolute path, got "rel"'):
        seeded(event("x", {}), meta={"cwd": "rel"})


def test_seed_is_copied() -> None:
    """Later changes of the caller's events do not reach the session (SEED-VAL-06)."""
    given = event("x", {"a": [1]})
    session = seeded(given)
    given["data"]["a"].append(2)
    assert session.events[0]["data"] == {"a": (1,)}


Z = 'tool call "z" has no result'
CALL = {"type": "tool-call", "id": "c", "name": "t", "arguments": ""}
START = event("turn/start", {"turn": 1})
STEP = event("step/start", {"turn": 1, "step": 1})
ASKED = event("assistant/message", assistant(content=[CALL]))
ANSWERED = event("tool/result", result())
STEP_END = event("step/end", {"turn": 1, "step": 1})
END = event("turn/end", {"turn": 1, "reason": {"kind": "completed"}})


def numbered(event: dict[str, Any], **numbers: int) -> dict[str, Any]:
    return {**event, "data": {**event["data"], **numbers}}


@pytest.mark.parametrize(
    ("log", "what"),
    [
        ([], None),
        ([START, END], None),
        ([START, STEP, ASKED, ANSWERED, STEP_END, END], None),
        ([event("x", {}), END], None),
        ([START], "turn 1 is open"),
        ([START, START], "turn 1 is open"),
        ([START, STEP, END], "step 1 of turn 1 is open"),
        ([START, STEP], "turn 1 is open"),
        ([START, STEP, ASKED, STEP_END, END], 'tool call "c" has no result'),
        ([START, STEP, ASKED, STEP_END, ANSWERED, END], 'tool call "c" has no result'),
        ([START, STEP, ASKED], "turn 1 is open"),
        ([START, numbered(START, turn=2), numbered(END, turn=2)], "turn 1 is open"),
        ([START, STEP, numbered(STEP, step=2), numbered(STEP_END, step=2), END], "step 1 of turn 1 is open"),
        ([START, ASKED, STEP, ANSWERED, STEP_END, END], None),
        ([START, STEP, event("assistant/message", assistant(content=[{**CALL, "id": "z"}, CALL])), STEP_END, END], Z),
        ([START, STEP, event("assistant/message", assistant(content=[{**CALL, "id": ""}])), STEP_END, END], None),
        ([START, STEP, END, numbered(START, turn=2), STEP_END, numbered(END, turn=2)], "step 1 of turn 1 is open"),
    ],
)
def test_what_a_log_leaves_open(log: list[dict[str, Any]], what: str | None) -> None:
    """The first thing left open, in log order of the event that opened it (SEED-VAL-08)."""
    events = [freeze({**one, "seq": seq}) for seq, one in enumerate(log)]
    assert unbalanced(events) == what


def test_payloads_that_nobody_checks_break_nothing() -> None:
    """What is folded out of a log bears payloads of any shape, and keeps them (SEED-MSG-05, SEED-VAL-04)."""
    kinds = ["turn/start", "turn/end", "step/start", "step/end", "tool/call", "request/context", "todo/write"]
    given = [event(kind, data, 0) for kind in kinds for data in (None, 5, {}, {"turn": "x"})]
    session = seeded(*({**one, "seq": seq} for seq, one in enumerate(given)))
    assert [one["data"] for one in session.events[: len(given)]] == [one["data"] for one in given]
    assert (session.last_turn, session.request_context()) == (0, freeze({"turn": "x"}))
    with pytest.raises(InvalidSeed, match='seed of session "s" is unbalanced: turn null is open'):
        seeded(event("turn/start", None), balanced=True)
