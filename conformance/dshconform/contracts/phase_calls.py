"""The worlds of the first phase table: what each call does in each state.

A world reaches the state, makes the call, looks at lists, status and signal, and then brings the activity to its end,
which alone shows whether a wake is remembered. Causes are `user` and `disposed`, targets both lists.
"""

from collections.abc import Iterator
from typing import Final

from dshconform.contracts.phase_script import DISPOSED, USER, Script, Target, call, text
from dshconform.contracts.phase_table import CALLS, RUNNING, Clauses, Effect, Row
from dshconform.protocol.json_value import Json, JsonMap

_TARGETS: Final[tuple[Target, ...]] = ("next-turn", "next-step")
_CAUSES: Final = (USER, DISPOSED)


def call_worlds() -> Iterator[Script]:
    """Every world of the first table."""
    for row, line in CALLS.items():
        for name, effect in line.items():
            for aborted in _CAUSES if row.aborted else (None,):
                if name.startswith("send"):
                    yield from _sends(row, name, effect, aborted)
                else:
                    yield from _cancels(row, name, effect, aborted)


def _reach(row: Row, name: str, effect: Effect, aborted: JsonMap | None, *variants: str) -> Script:
    """A script that stands in a state, in front of the call."""
    told = [*([] if aborted is None else [f"c0 {aborted['kind']}"]), *filter(None, variants)]
    script = Script(f"{row.title}: {name} ({', '.join(told)})", effect.by)
    if row.phase == "maintenance":
        script.maintain()
    elif row.phase == "running":
        script.run()
    if aborted is not None:
        script.abort(aborted)
    return script


# ---------------------------------------------------------------------- sends


def _sends(row: Row, name: str, effect: Effect, aborted: JsonMap | None) -> Iterator[Script]:
    for target in _TARGETS:
        # a live turn closes normally or fails: what was sent is claimed, or parked
        for ending in ("claimed", "parked") if row == RUNNING else ("",):
            script = _reach(row, name, effect, aborted, target, ending)
            script.fill()
            _send(script, effect, target, waking=name == "send waking")
            script.look()
            script.look_at_signal()
            if ending == "parked":
                script.fail(("WAKE-FAIL-01", "LOOP-NEXT-02"))
            elif ending == "claimed":
                script.end(("AGENT-SEND-05", "LOOP-STEER-01"))
            elif row.phase != "idle":
                script.end()
            script.look()
            yield script
    if effect.wakes:
        yield _gone(_reach(row, name, effect, aborted, "the message is gone"))


def _send(script: Script, effect: Effect, target: Target, *, waking: bool) -> None:
    """Make the call, with everything that it does."""
    latches = effect.latches and script.cause != DISPOSED
    if effect.latches and not latches:
        script.by = ("WAKE-DISP-01", "WAKE-LATCH-02")
    rows = script.inserted(target if effect.to == "asked" else "next-turn", "sent")
    if effect.wakes:
        rows += script.woken()
    script.latch = script.latch or latches
    rows.append({"return": "agent.send", "result": None})
    script.observe("agent.send", {"message": text("sent"), "target": target, "wakeup": waking}, rows)


def _gone(script: Script) -> Script:
    """A listener removes the message as it is inserted; the turn is opened all the same, and has nothing to do."""
    script.by = ("WAKE-IDLE-01",)
    script.listen("agent/inbox/inserted", "remover", do=[call("inbox.remove", id="sent")])
    rows = script.inserted("next-turn", "sent")
    rows += script.cleared()
    rows.append({"return": "inbox.remove", "at": "0", "part": "remover", "result": True})
    rows += script.woken()
    rows.append({"return": "agent.send", "result": None})
    rows += [script.turn_ends("completed"), *script.settled()]
    script.observe("agent.send", {"message": text("sent"), "target": "next-turn", "wakeup": True}, rows, open=[])
    script.look()
    return script


# ---------------------------------------------------------------------- cancels


def _cancels(row: Row, name: str, effect: Effect, aborted: JsonMap | None) -> Iterator[Script]:
    latchable = (row.phase == "maintenance" or row.aborted) and aborted != DISPOSED
    for cause in _CAUSES:
        if aborted == USER and cause == DISPOSED:
            continue  # left open
        for before in ("", "a wake is latched") if latchable else ("",):
            script = _reach(row, name, effect, aborted, f"c {cause['kind']}", before)
            script.fill()
            if before:
                script.remember()
            _cancel(script, effect, cause)
            if row.phase == "idle":
                _wake_normally(script)
            else:
                if not any(script.lists.values()):
                    script.quiet("next-step", "later")  # without anything pending the latch would not show
                script.end()
                script.look()
            yield script
        if effect.aborts:
            script = _reach(row, name, effect, aborted, f"c {cause['kind']}", "a wake follows")
            script.fill()
            _cancel(script, effect, cause)
            _send(script, CALLS[Row(row.phase, aborted=True)]["send waking"], "next-step", waking=True)
            script.end()
            script.look()
            yield script


def _cancel(script: Script, effect: Effect, cause: JsonMap) -> None:
    """Make the call, with everything that it does."""
    rows: list[Json] = []
    if effect.clears:
        rows += script.cleared()
        script.latch = False
    if effect.aborts:
        rows.append(script.fired(cause))
    rows.append({"return": "agent.cancel", "result": None})
    keep: JsonMap = {} if effect.clears else {"keepInbox": True}
    script.observe("agent.cancel", {"cause": cause, **keep}, rows)
    script.look()
    script.look_at_signal()


def _wake_normally(script: Script) -> None:
    """An idle agent that was cancelled runs its next turn on a live signal."""
    by: Clauses = ("CANCEL-IDLE-01",)
    rows = script.inserted("next-turn", "next", by)
    rows += script.woken()
    rows.append({"return": "agent.followup", "result": None})
    script.observe("agent.followup", {"message": text("next")}, rows, by, open=["model/stream"])
    script.look_at_signal()
