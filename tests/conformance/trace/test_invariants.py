"""Trace invariants are silent about good traces, and name the clause and the place of what a bad one violates."""

import copy
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from dshconform.protocol.messages import Row
from dshconform.running.ledger import Deviation, Ledger
from dshconform.spec import load_specification
from dshconform.trace.invariants import INVARIANTS, Watch
from dshconform.trace.pattern import Difference, Matching
from dshconform.trace.rows import row_title
from tests.conformance.trace.sheet_traces import recorded_traces

TRACES = recorded_traces()
SIGNALS = {"CANCEL-FIRST-01", "CANCEL-STREAM-04"}
"""The clauses about live signals, of which logs say nothing."""
ABORTED_TOOLS = {"SCHED-ABORT-01", "SCHED-ABORT-02"}
"""No recorded trace cancels tools; `test_call_invariants` has them."""
LATCHED = "cancel mid-stream with a latched wake"
Rows = list[dict[str, Any]]
Change = Callable[[Rows], object]


def seen(rows: Sequence[Row], matching: Matching | None = None) -> Difference | None:
    """What the invariants say of rows that all came in one reply."""
    return Watch(INVARIANTS).see(rows, Matching() if matching is None else matching)


def changed(trace: str, change: Change) -> Rows:
    """A recorded trace with something changed in it."""
    rows: Rows = copy.deepcopy([dict(row) for row in TRACES[trace]])
    change(rows)
    return rows


def at(rows: Rows, title: str, index: int = 0) -> int:
    """The place of the `index`-th row with a title."""
    return [place for place, row in enumerate(rows) if row_title(row) == title][index]


def data(title: str, index: int = 0, **members: object) -> Change:
    """Other members in an event's data."""

    def change(rows: Rows) -> None:
        rows[at(rows, title, index)]["event"]["data"].update(members)

    return change


def event(title: str, index: int = 0, **members: object) -> Change:
    """Other members in an event's envelope."""

    def change(rows: Rows) -> None:
        rows[at(rows, title, index)]["event"].update(members)

    return change


def payload(title: str, index: int = 0, **members: object) -> Change:
    """Other members in a notification's payload."""

    def change(rows: Rows) -> None:
        rows[at(rows, title, index)]["payload"].update(members)

    return change


def dropped(title: str, index: int = 0) -> Change:
    """A row less, and the numbers behind it closed up."""

    def change(rows: Rows) -> None:
        del rows[at(rows, title, index)]
        renumbered(rows)

    return change


def moved(title: str, index: int, before: str, before_index: int = 0) -> Change:
    """A row in front of another one."""

    def change(rows: Rows) -> None:
        row = rows.pop(at(rows, title, index))
        rows.insert(at(rows, before, before_index), row)
        renumbered(rows)

    return change


def repeated(title: str, index: int = 0) -> Change:
    """A row twice."""

    def change(rows: Rows) -> None:
        place = at(rows, title, index)
        rows.insert(place, copy.deepcopy(rows[place]))
        renumbered(rows)

    return change


def renumbered(rows: Rows) -> None:
    """Give the events their numbers again, and let messages cite the same chunks as before."""
    logged = [row["event"] for row in rows if row["on"] == "log"]
    numbers = {one["seq"]: seq for seq, one in enumerate(logged)}
    for seq, one in enumerate(logged):
        one["seq"] = seq
        if "sourceEventSeqs" in one:
            one["sourceEventSeqs"] = [numbers[cited] for cited in one["sourceEventSeqs"]]


def without(member: str, title: str, index: int = 0) -> Change:
    """An event's data without a member."""

    def change(rows: Rows) -> None:
        del rows[at(rows, title, index)]["event"]["data"][member]

    return change


@pytest.mark.parametrize("name", TRACES)
def test_the_recorded_traces_are_good(name: str) -> None:
    """Nothing is said of what the release was seen doing and the specification records."""
    matching = Matching()
    assert TRACES[name]
    assert seen(TRACES[name], matching) is None
    assert matching.held


def test_the_traces_evaluate_the_clauses() -> None:
    """Silence is no accident: almost every clause of the invariants was evaluated over the recorded traces."""
    matching = Matching()
    for rows in TRACES.values():
        assert seen(rows, matching) is None
    clauses = {clause for invariant in INVARIANTS for clause in invariant.clauses}
    assert clauses - set(matching.held) == SIGNALS | ABORTED_TOOLS


def test_invariants_are_named_once_and_cite_clauses_of_their_profile() -> None:
    """They are on for every implementation that declares their profile, so each clause must bind every such one."""
    specification = load_specification()
    assert len({invariant.name for invariant in INVARIANTS}) == len(INVARIANTS)
    for invariant in INVARIANTS:
        for clause in invariant.clauses:
            found = specification.clause(clause)
            assert found.level == "must", clause
            assert found.profile in {"core", invariant.profile}, clause


SPLICE = "log agent/inbox/spliced"
TOOLS = "two tool calls (exclusive)"
VIOLATIONS = [
    # envelopes
    ("plain turn", event("log step/start", seq=4), "LOG-ENV-01", "log step/start.event.seq"),
    ("plain turn", event(SPLICE, seq=-1), "LOG-ENV-01", "log agent/inbox/spliced.event.seq"),
    ("plain turn", event("log turn/end", seq=True), "LOG-ENV-01", "log turn/end.event.seq"),
    ("plain turn", event("log turn/start", time=1.5), "LOG-ENV-02", "log turn/start.event.time"),
    ("plain turn", event("log turn/start", surfaceOp=None), "LOG-ENV-03", "log turn/start.event"),
    ("plain turn", event("log turn/start", surfaceOp="append"), "LOG-ENV-03", "log turn/start.event"),
    ("plain turn", event("log turn/start", extra=1), "LOG-ENV-03", "log turn/start.event"),
    # turns and steps
    ("steering mid-turn", data("log turn/start", 1, turn=3), "LOOP-OPEN-02", "log turn/start.event.data.turn"),
    ("plain turn", data("log turn/start", turn=2), "INV-TURN-01", "log turn/start.event.data.turn"),
    ("plain turn", data("log turn/start", messages=[]), "LOG-EVT-01", "log turn/start.event.data"),
    ("steering mid-turn", dropped("log turn/end"), "INV-TURN-02", "log turn/start"),
    ("plain turn", data("log turn/end", turn=2), "INV-TURN-02", "log turn/end.event.data.turn"),
    ("plain turn", repeated("log turn/end"), "INV-TURN-02", "log turn/end.event.data.turn"),
    ("plain turn", dropped("log step/end"), "INV-STEP-02", "log turn/end"),
    ("plain turn", data("log step/end", step=2), "INV-STEP-02", "log step/end.event.data"),
    ("steering mid-turn", data("log step/start", 1, step=3), "LOOP-STEP-01", "log step/start.event.data"),
    ("steering mid-turn", data("log step/start", 2, step=3), "INV-STEP-01", "log step/start.event.data"),
    ("two tool calls (exclusive)", dropped("log step/end"), "INV-STEP-01", "log step/start.event.data"),
    ("plain turn", data("log assistant/chunk", step=2), "INV-STEP-03", "log assistant/chunk.event.data"),
    (
        "two tool calls (exclusive)",
        moved("log tool/result", 1, "log step/end", 0),
        None,
        "",
    ),
    (
        "two tool calls (exclusive)",
        moved("log step/end", 0, "log tool/result", 1),
        "INV-STEP-03",
        "log tool/result.event.data",
    ),
    ("plain turn", moved("log request/header", 0, "log turn/start"), "INV-ENC-01", "log request/header"),
    # calls and results
    (TOOLS, data("log tool/call", callId="c2"), "SCHED-CALL-01", "log tool/call.event.data.callId"),
    (TOOLS, data("log tool/call", 1, callId="c3"), "SCHED-PAR-01", "log tool/call.event.data.callId"),
    (TOOLS, moved("log tool/result", 0, "log tool/call"), "INV-CALL-01", "log tool/result.event.data"),
    (TOOLS, event("log tool/result", 1, sourceEventSeqs=[13]), "LOG-EVT-13", "log tool/result.event.sourceEventSeqs"),
    (TOOLS, dropped("log tool/result", 1), "SCHED-COMMIT-01", "log step/start"),
    # endings
    ("plain turn", data("log turn/end", why="x"), "LOG-EVT-02", "log turn/end.event.data"),
    ("plain turn", data("log turn/end", reason={"kind": "interrupted"}), "LOG-EVT-02", "log turn/end.event.data"),
    (
        LATCHED,
        data("log turn/end", reason={"kind": "aborted", "reason": {"kind": "user"}}),
        "LOG-EVT-03",
        "log turn/end.event.data.reason",
    ),
    # messages
    (
        LATCHED,
        data("log assistant/message", 1, message={"id": "answer 1"}),
        "MSG-ID-01",
        "log assistant/message.event.data.message.id",
    ),
    ("plain turn", data("log user/message", id=""), "MSG-ID-01", "log user/message.event.data.id"),
    (
        "plain turn",
        event("log assistant/message", sourceEventSeqs=[7, 8, 9]),
        "LOG-EVT-10",
        "log assistant/message.event.sourceEventSeqs",
    ),
    (
        "plain turn",
        event("log assistant/message", surfaceOp={"op": "replace", "start": 0, "end": 1}),
        "LOOP-MSG-01",
        "log assistant/message.event.surfaceOp",
    ),
    # the inbox
    ("plain turn", data(SPLICE, start=1), "INBOX-DUR-01", f"{SPLICE}.event.data"),
    ("plain turn", data(SPLICE, 1, removedCount=2), "INBOX-DUR-01", f"{SPLICE}.event.data"),
    ("plain turn", data(SPLICE, removedCount=0), "INBOX-SHAPE-01", f"{SPLICE}.event.data.removedCount"),
    ("plain turn", data(SPLICE, why="x"), "INBOX-SHAPE-01", f"{SPLICE}.event.data"),
    ("plain turn", without("inserted", SPLICE), "INBOX-SHAPE-01", f"{SPLICE}.event.data"),
    ("plain turn", data(SPLICE, target="other"), "INBOX-SHAPE-01", f"{SPLICE}.event.data"),
    ("plain turn", data(SPLICE, outcome="canceled"), "INBOX-SHAPE-02", f"{SPLICE}.event.data.outcome"),
    ("plain turn", data(SPLICE, 1, outcome="claimed"), "INBOX-SHAPE-02", f"{SPLICE}.event.data.outcome"),
    ("plain turn", data(SPLICE, 1, start=1), "INBOX-CLAIM-02", f"{SPLICE}.event.data"),
    ("steering mid-turn", repeated(SPLICE, 2), "INBOX-DUP-01", f"{SPLICE}.event.data.inserted"),
    ("plain turn", dropped("live agent/inbox/inserted"), "INBOX-NOTE-01", SPLICE),
    ("plain turn", repeated("live agent/inbox/inserted"), "INBOX-NOTE-01", "live agent/inbox/inserted.payload.message"),
    ("plain turn", dropped("live agent/inbox/claimed"), "INBOX-CLAIM-03", SPLICE),
    (
        "plain turn",
        payload("live agent/inbox/claimed", turn=2),
        "INBOX-CLAIM-03",
        "live agent/inbox/claimed.payload.turn",
    ),
    # status
    ("plain turn", payload("live agent/status", status="busy"), "AGENT-STATUS-01", "live agent/status.payload.status"),
    ("plain turn", repeated("live agent/status"), "AGENT-STATUS-02", "live agent/status.payload.status"),
    ("plain turn", moved("live agent/status", 1, "log turn/end"), "AGENT-STATUS-04", "live agent/status"),
    (LATCHED, moved("log turn/start", 1, "live agent/status", 2), "AGENT-STATUS-03", "log turn/start"),
]


@pytest.mark.parametrize(("trace", "change", "clause", "place"), VIOLATIONS)
def test_a_violation_is_found_and_named(trace: str, change: Change, clause: str | None, place: str) -> None:
    """The clause is blamed, at the place that a ledger entry would name, in a sentence."""
    found = seen(changed(trace, change))
    if clause is None:
        assert found is None
        return
    assert found is not None
    assert clause in found.clauses
    assert found.at == place
    assert len(found.sentence.split()) > 3


def test_every_clause_of_an_invariant_can_be_violated() -> None:
    """For each there is a trace that violates it: here, among the live signals below, or in the tests of calls."""
    violated = {clause for _, _, clause, _ in VIOLATIONS} | SIGNALS | ABORTED_TOOLS
    assert {clause for invariant in INVARIANTS for clause in invariant.clauses} - violated == set()


def test_a_discarded_claim_is_told_in_words() -> None:
    """No message is both claimed and discarded: the sentence says what it really was."""

    def change(rows: Rows) -> None:
        rows[at(rows, "live agent/inbox/claimed")]["name"] = "agent/inbox/discarded"

    found = seen(changed("plain turn", change))
    assert found is not None
    assert found.clauses == ("INBOX-NOTE-01",)
    assert "it was claimed" in found.sentence


def test_a_listed_deviation_is_accepted_here_as_in_comparisons() -> None:
    """One ledger entry covers the place, whoever comes upon it."""
    entry = Deviation(
        clause="LOG-EVT-03",
        check="machine/inbox",
        at="log turn/end.event.data.reason",
        found={"kind": "aborted", "reason": {"$any": True}},
        after="accept",
        reason="for the test",
        reviewed="2026-01-01",
    )
    ledger = Ledger([entry])
    reason = {"kind": "aborted", "reason": {"kind": "user"}}
    assert seen(changed(LATCHED, data("log turn/end", reason=reason)), Matching(ledger.accepts)) is None
    assert list(ledger.deviating()) == ["LOG-EVT-03"]


def inspected(rows: Rows, next_turn: list[Any]) -> Rows:
    """A look at the agent behind some rows."""
    shown = {"session": "a", "nextTurn": next_turn, "nextStep": []}
    return [*rows, {"on": "return", "op": "agent.inspect", "result": shown}]


def test_what_the_agent_shows_is_what_its_log_folds_to() -> None:
    """Lists that the splices do not lead to are a difference; inside a listener of a splice they are not compared."""
    rows = changed("plain turn", lambda rows: rows.__delitem__(slice(2, None)))
    message = rows[0]["event"]["data"]["inserted"][0]
    assert seen(inspected(rows, [message])) is None
    found = seen(inspected(rows, []))
    assert found is not None
    assert (found.clauses, found.at) == (("INBOX-DUR-01",), "return agent.inspect.result.nextTurn")
    nested = inspected(rows, [])
    nested[-1] |= {"part": "observer", "n": 1}
    assert seen(nested) is None


def test_a_session_seen_from_the_middle_is_not_judged_by_what_was_before() -> None:
    """Behind a seed, turns go on from any number, and lists and open turns are unknown."""
    rows = TRACES["steering mid-turn"]
    for start, row in enumerate(rows):
        if row["on"] == "log":
            assert seen(rows[start:]) is None, row_title(row)


def test_a_new_session_of_the_same_name_begins_anew() -> None:
    """After `session/disposed` and `agent/disposed` of the old one, numbers, turns, lists and status start again."""
    ended: list[Row] = [
        {"on": "live", "name": f"{what}/disposed", what: "a", "payload": {}} for what in ("agent", "session")
    ]
    rows = TRACES["plain turn"]
    assert seen([*rows, *ended, *rows]) is None
    assert seen([*rows, *rows]) is not None


def test_what_a_session_logs_that_has_left_is_not_published() -> None:
    """A notification about its inbox is no surprise then; while it is live, it is."""
    told: Row = {"on": "live", "name": "agent/inbox/inserted", "agent": "a", "payload": {"message": {"id": "Z"}}}
    gone: Row = {"on": "live", "name": "session/disposed", "session": "a", "payload": {}}
    rows = TRACES["plain turn"]
    assert seen([*rows, gone, told]) is None
    assert seen([*rows, told]) is not None
    assert seen([told]) is None, "a resume that failed has never been published"


def test_a_status_that_was_told_before_the_agent_is_announced_counts() -> None:
    """A driver may have been started by a listener of its session; then the agent runs when its creation is told."""
    created: Row = {"on": "live", "name": "agent/created", "agent": "a", "payload": {}}
    running: Row = {"on": "live", "name": "agent/status", "agent": "a", "payload": {"status": "running"}}
    idle: Row = {**running, "payload": {"status": "idle"}}
    assert seen([running, created, idle]) is None
    assert seen([created, running, idle]) is None
    assert seen([created, idle]) is not None


def test_a_log_into_which_the_suite_wrote_is_no_evidence_of_its_driver() -> None:
    """After `session.append` only envelopes and numbers are looked at."""
    by_hand: Row = {"on": "return", "op": "session.append", "result": {}}
    assert seen([*changed("plain turn", repeated("log turn/end")), by_hand]) is None
    found = seen([*changed("plain turn", event("log step/start", seq=9)), by_hand])
    assert found is not None
    assert found.clauses == ("LOG-ENV-01",)


def test_a_session_may_have_been_appended_to_before_it_entered() -> None:
    """LOG-OBS-06: one that left without a word is appended to unpublished; its numbers go on when it is back."""
    by_hand: Row = {"on": "return", "op": "session.append", "result": {}}
    entered: Row = {"on": "return", "op": "session.enter", "result": None}
    note: dict[str, Any] = {"type": "x/note", "seq": 0, "time": 1, "data": {}}
    logged: Rows = [{"on": "log", "session": "s", "event": {**note, "seq": seq}} for seq in (0, 2)]
    first, third = logged
    assert seen([by_hand, first, entered, third]) is None
    assert seen([by_hand, entered, first, third]) is not None


def test_a_listener_that_was_told_first_leaves_the_order_open() -> None:
    """A prepended listener that works on the status makes rows in nested order: alternation proves nothing then."""
    created = {"on": "live", "name": "agent/created", "agent": "a", "payload": {}}
    rows = [created, *changed("plain turn", moved("live agent/status", 1, "live agent/status", 0))]
    assert seen(rows) is not None
    told: dict[str, Any] = {"on": "script", "part": "f", "kind": "agent/status", "n": 1, "agent": "a"}
    first = {**told, "payload": {"status": "idle"}}
    watch, matching = Watch(INVARIANTS), Matching()
    running = rows[at(rows, "live agent/status", 1)]
    nested = {**told, "n": 2, "payload": {"status": "running"}}
    idle = rows[at(rows, "live agent/status", 0)]
    assert watch.see([running, first, nested, running, idle], matching) is None


GATE: Row = {"on": "gate", "gate": "g1", "part": "model", "kind": "model/stream", "n": 1, "agent": "a", "payload": {}}
ABORT: Row = {"on": "abort", "gate": "g1", "part": "model", "n": 1, "reason": {"kind": "user"}}


def streamed(*signals: Row) -> Rows:
    """The plain turn, the model's gate before its chunks, and signals behind the first of them."""
    rows: Rows = [dict(row) for row in TRACES["plain turn"]]
    first = at(rows, "log assistant/chunk")
    return [*rows[:first], dict(GATE), rows[first], *map(dict, signals), *rows[first + 1 :]]


def test_a_signal_fires_once() -> None:
    """A second `abort` of one call is a difference, one of the next call of the same function is not."""
    matching = Matching()
    assert seen([GATE, ABORT, {**GATE, "n": 2}, {**ABORT, "n": 2}], matching) is None
    assert matching.held["CANCEL-FIRST-01"] == 2
    assert seen([GATE, ABORT, GATE, ABORT]) is None, "a function of the same name counts from 1 again"
    found = seen([GATE, ABORT, ABORT])
    assert found is not None
    assert (found.clauses, found.at) == (("CANCEL-FIRST-01",), "abort model")


def test_no_chunk_is_logged_behind_an_abort() -> None:
    """Once the request's signal has fired, its chunks are over, until the next turn."""
    assert seen(streamed()) is None
    found = seen(streamed(ABORT))
    assert found is not None
    assert (found.clauses, found.at) == (("CANCEL-STREAM-04",), "log assistant/chunk")
