"""The worlds of the second phase table: when a batch is claimed, how a turn closes, how an activity settles."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Final, TypeAlias

from dshconform.contracts.phase_script import DISPOSED, FAILURE, USER, Script, Target, call, text
from dshconform.contracts.phase_table import (
    EVENTS,
    IDLE,
    MAINTENANCE_ANY,
    RUNNING,
    RUNNING_ABORTED,
    Clauses,
    Event,
    Row,
)
from dshconform.protocol.json_value import Json, JsonMap

World: TypeAlias = Callable[[Script], None]
"""Writes what leads to a row of the table."""

_CAUSES: Final = (USER, DISPOSED)
_TASKS: Final[Mapping[str, JsonMap | None]] = {"live": None, "c0 user": USER, "c0 disposed": DISPOSED}


def event_worlds() -> Iterator[Script]:
    """Every world of the second table."""
    for row, line in EVENTS.items():
        for event in line:
            for variant, (by, world) in WORLDS[row, event].items():
                script = Script(f"{row.title}: {event}{f' ({variant})' if variant else ''}", by)
                world(script)
                yield script


# ---------------------------------------------------------------------- idle


def _wait(script: Script) -> None:
    """Nothing happens to an idle agent by itself, whatever waits."""
    script.fill()
    returned: JsonMap = {"return": "agent.whenIdle", "result": None}
    script.observe("agent.whenIdle", {"task": "idle"}, [returned, {"task": "idle", "value": None}])
    script.look()


def _cancel_and_wait(script: Script) -> None:
    script.observe("agent.cancel", {"cause": USER}, [{"return": "agent.cancel", "result": None}])
    _wait(script)


# ---------------------------------------------------------------------- a task, a turn


def _task(cause: JsonMap | None, then: World) -> World:
    """A task runs, aborted or not, and messages wait."""

    def world(script: Script) -> None:
        script.maintain()
        if cause is not None:
            script.abort(cause)
        script.fill()
        then(script)

    return world


def _turn(cause: JsonMap | None, *then: World) -> World:
    """A turn runs, aborted or not."""

    def world(script: Script) -> None:
        script.run()
        if cause is not None:
            script.abort(cause)
        for part in then:
            part(script)

    return world


def _end(script: Script) -> None:
    script.end()
    script.look()


def _wake(script: Script) -> None:
    """A wake is sent, and nothing is claimed as long as the activity goes on."""
    target: Target = "next-step" if script.cause is None else "next-turn"
    rows = [*script.inserted(target, "sent"), {"return": "agent.steer", "result": None}]
    script.observe("agent.steer", {"message": text("sent")}, rows)
    script.latch = script.cause != DISPOSED
    script.look()


def _remembered(then: World) -> World:
    """A wake is latched."""

    def world(script: Script) -> None:
        script.remember()
        then(script)

    return world


def _lose_and_end(script: Script) -> None:
    """The message that set the latch is removed before the activity ends."""
    script.do("inbox.remove", {"id": "wake"}, by="INBOX-REM-01", result=True)
    script.lists["next-turn"].remove("wake")
    _end(script)


def _clear_and_end(script: Script) -> None:
    """Nothing waits any more; clearing the inbox leaves the latch alone."""
    script.do("inbox.clear", by="INBOX-CLEAR-01")
    script.cleared()
    _end(script)


# ---------------------------------------------------------------------- claims


def _claims(script: Script) -> None:
    """What steers goes into the next step, then one prompt into each turn."""
    script.fill()
    script.quiet("next-turn", "last")
    for _ in range(4):
        _end(script)


def _aborted_before_claim(cause: JsonMap, script: Script) -> None:
    """An observer of `turn/start` cancels: the check before the claim finds the signal aborted."""
    _cancelling_observer(script, cause, {"event.type": "turn/start"})
    rows = script.inserted("next-turn", "sent")
    script.turn = 1
    rows += [
        {"live": "agent/status", "status": "running"},
        {"log": "turn/start", "data": {"turn": 1}},
        script.turn_ends("aborted"),
        {"live": "agent/status", "status": "idle"},
    ]
    # nowhere is it said whether that turn is over before the call returns
    without_returns: list[Json] = ["log agent/inbox/*", "log turn/*", "live agent/*", "abort"]
    script.observe("agent.followup", {"message": text("sent")}, rows, only=without_returns)
    script.look()


def _cancelling_observer(script: Script, cause: JsonMap, when: JsonMap) -> None:
    keep = call("agent.cancel", cause=cause, keepInbox=True)
    script.listen("session/event", "observer", when=when, do=[keep])


# ---------------------------------------------------------------------- how turns close


def _goes_on(script: Script) -> None:
    """The next turn runs on a fresh signal."""
    script.quiet("next-turn", "queued")
    script.end()
    script.look_at_signal()
    script.look()


def _goes_on_after_ceiling(script: Script) -> None:
    """As behind a complete answer."""
    script.quiet("next-turn", "queued")
    ceiling: JsonMap = {"type": "finish", "reason": {"kind": "max-tokens"}}
    script.steps.append({"do": "stream.chunk", "args": {"gate": {"kind": "model/stream"}, "chunk": ceiling}})
    script.answer("stream.end", [script.turn_ends("max-tokens"), *script.next_turn()])
    script.look_at_signal()


def _guarded(decision: JsonMap, kind: str, script: Script) -> None:
    """A listener decides on the first batch; what was queued behind it stays."""
    script.listen("agent/pre-step", "guard", calls=[[{"do": "return", "value": decision}], None])
    rows = [*script.inserted("next-turn", "sent"), *script.woken(), {"return": "agent.followup", "at": "0"}]
    rows += [*script.inserted("next-turn", "parked"), {"return": "agent.followup", "at": "1"}, {"return": "burst"}]
    rows += [script.turn_ends(kind), *script.settled()]
    sends: list[Json] = [call("agent.followup", message=text(identity)) for identity in ("sent", "parked")]
    script.steps.append({"do": "burst", "args": {"do": sends}, "by": list(script.by), "observed": rows, "open": []})
    script.look()


def _fails(script: Script) -> None:
    """What is queued stays."""
    script.quiet("next-turn", "parked")
    script.fail()
    script.look()


def _aborted_at_turn_end(cause: JsonMap, script: Script) -> None:
    """An observer of `turn/end` cancels: the turn has ended as it has, and the next one runs on a fresh signal."""
    script.quiet("next-turn", "queued")
    _cancelling_observer(script, cause, {"event.type": "turn/end", "event.data.turn": 1})
    returned: JsonMap = {"return": "agent.cancel", "at": "0", "part": "observer", "result": None}
    script.answer("stream.end", [script.turn_ends("completed"), returned, *script.next_turn()])
    script.look_at_signal()
    script.look()
    script.end()


# ---------------------------------------------------------------------- how activities settle


def _latched_by_error_listener(cause: JsonMap, script: Script) -> None:
    """A listener of `agent/error` cancels and then sends: that wake is remembered, although the turn fails."""
    cancel = call("agent.cancel", cause=cause, keepInbox=True)
    script.listen("agent/error", "listener", do=[cancel, call("agent.steer", message=text("sent"))])
    rows: list[Json] = [
        {"live": "agent/error", "turn": 1, "step": 1},
        {"return": "agent.cancel", "at": "0", "part": "listener"},
        *script.inserted("next-turn", "sent"),
        {"return": "agent.steer", "at": "1", "part": "listener"},
        script.turn_ends("error"),
    ]
    script.latch = cause != DISPOSED
    script.answer("stream.fail", [*rows, *script.settled()], error=FAILURE)
    script.look()


def _idle_listener(injects: bool, script: Script) -> None:
    """The latch is taken before the listeners of `idle` run; whether anything waits is looked at after them."""
    cancel = call("agent.cancel", cause=USER)
    does: list[Json] = [cancel, call("agent.inject", message=text("injected"))] if injects else [cancel]
    script.listen("agent/status", "listener", when={"status": "idle"}, calls=[does, None])
    rows: list[Json] = [script.turn_ends("aborted"), {"live": "agent/status", "status": "idle"}]
    rows += [*script.cleared(), {"return": "agent.cancel", "at": "0", "part": "listener"}]
    script.phase, script.cause = "idle", None
    if injects:
        rows += [*script.inserted("next-step", "injected"), {"return": "agent.inject", "at": "1", "part": "listener"}]
        rows += script.woken()
    script.answer("stream.end", rows)
    script.look()


def _idle_listener_maintains(script: Script) -> None:
    """A task that a listener of `idle` starts takes the wake over as its own latch."""
    job: JsonMap = {"$fn": "job", "do": "gate"}
    does: list[Json] = [call("agent.maintain", task="job", fn=job)]
    script.listen("agent/status", "listener", when={"status": "idle"}, calls=[does, None])
    rows: list[Json] = [script.turn_ends("aborted"), {"live": "agent/status", "status": "idle"}]
    rows.append({"return": "agent.maintain", "at": "0", "part": "listener"})
    gate: JsonMap = {"gate": {"kind": "model/stream"}}
    script.steps.append(
        {"do": "stream.end", "args": gate, "by": list(script.by), "observed": rows, "open": ["maintenance"]}
    )
    script.phase, script.cause = "maintenance", None
    script.look()
    _end(script)


WORLDS: Final[Mapping[tuple[Row, Event], Mapping[str, tuple[Clauses, World]]]] = {
    (IDLE, "claim"): {"": (("INBOX-WAKE-01", "IDLE-RES-01"), _wait)},
    (IDLE, "turn closes"): {"": (("CANCEL-IDLE-01", "INBOX-WAKE-01"), _cancel_and_wait)},
    (IDLE, "activity settles"): {"": (("AGENT-STATUS-02", "IDLE-RES-01"), _wait)},
    (MAINTENANCE_ANY, "claim"): {
        name: (("MAINT-LATCH-01",) if cause is None else ("MAINT-CANCEL-01",), _task(cause, _wake))
        for name, cause in _TASKS.items()
    },
    (MAINTENANCE_ANY, "turn closes"): {
        name: (("MAINT-STATUS-01",), _task(cause, _end)) for name, cause in _TASKS.items()
    },
    (MAINTENANCE_ANY, "activity settles"): {
        f"{name}, {variant}": (by, _task(cause, world))
        for name, cause in _TASKS.items()
        for variant, by, world in (
            ("latch on", ("MAINT-LATCH-01", "AGENT-STATUS-01"), _remembered(_end)),
            ("latch on, its message gone", ("MAINT-LATCH-01",), _remembered(_lose_and_end)),
            ("latch on, nothing pending", ("MAINT-LATCH-02",), _remembered(_clear_and_end)),
            ("latch off", ("MAINT-LATCH-02",), _end),
        )
        if cause != DISPOSED or variant == "latch off"
    },
    (RUNNING, "claim"): {"": (("INBOX-CLAIM-01", "INBOX-CLAIM-02", "INBOX-CLAIM-03"), _turn(None, _claims))},
    (RUNNING, "turn closes"): {
        "completed, pending": (("LOOP-NEXT-01", "CANCEL-SIGNAL-01"), _turn(None, _goes_on)),
        "max-tokens, pending": (("LOOP-NEXT-01", "LOOP-END-01"), _turn(None, _goes_on_after_ceiling)),
        "completed, nothing pending": (("AGENT-STATUS-04", "LOOP-NEXT-01"), _turn(None, _end)),
        "blocked": (("LOOP-NEXT-02", "LOOP-PRE-07"), partial(_guarded, {"kind": "reject"}, "blocked")),
        "error": (("LOOP-NEXT-02", "LOOP-ERR-04"), _turn(None, _fails)),
        "empty first batch": (
            ("LOOP-NEXT-02", "LOOP-PRE-08"),
            partial(_guarded, {"kind": "enter", "messages": []}, "completed"),
        ),
    },
    (RUNNING, "activity settles"): {
        "latch off": (("AGENT-STATUS-04",), _turn(None, _end)),
        "latch on": (("WAKE-FAIL-02",), _turn(None, partial(_latched_by_error_listener, USER))),
        "latch off, disposed": (("WAKE-DISP-01",), _turn(None, partial(_latched_by_error_listener, DISPOSED))),
    },
    (RUNNING_ABORTED, "claim"): {
        f"c0 {cause['kind']}": (("CANCEL-PHASE-02",), partial(_aborted_before_claim, cause)) for cause in _CAUSES
    },
    (RUNNING_ABORTED, "turn closes"): {
        **{
            f"c0 {cause['kind']}": (("LOOP-NEXT-02", "CANCEL-KEEP-02"), _turn(cause, Script.fill, _end))
            for cause in _CAUSES
        },
        **{
            f"c0 {cause['kind']}, while turn/end is published": (
                ("CANCEL-END-01",),
                _turn(None, partial(_aborted_at_turn_end, cause)),
            )
            for cause in _CAUSES
        },
    },
    (RUNNING_ABORTED, "activity settles"): {
        "latch on": (("WAKE-LATCH-01",), _turn(USER, _remembered(_end))),
        "latch on, nothing pending": (("WAKE-EMPTY-01",), _turn(USER, _remembered(_lose_and_end))),
        "latch on, something else pending": (("WAKE-EMPTY-02",), _turn(USER, Script.fill, _remembered(_lose_and_end))),
        "latch on, a listener cancels": (("WAKE-STEAL-02",), _turn(USER, _remembered(partial(_idle_listener, False)))),
        "latch on, a listener cancels and injects": (
            ("WAKE-STEAL-02",),
            _turn(USER, _remembered(partial(_idle_listener, True))),
        ),
        "latch on, a listener starts a task": (("WAKE-STEAL-01",), _turn(USER, _remembered(_idle_listener_maintains))),
        "latch off": (("CANCEL-KEEP-02", "WAKE-LATCH-02"), _turn(USER, Script.fill, _end)),
        "latch off, c0 disposed": (("CANCEL-KEEP-02", "WAKE-DISP-01"), _turn(DISPOSED, Script.fill, _end)),
    },
}
"""By cell, its variants: the clauses, and the world."""
