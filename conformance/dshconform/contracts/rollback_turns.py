"""What arrives for an agent, and its turns, as far as a teardown has to do with them: one at a time, of one request."""

from collections.abc import Mapping
from typing import Final

from dshconform.contracts import rollback_rows as rows
from dshconform.contracts.inbox_rows import Clauses, by
from dshconform.contracts.rollback_reading import script_of
from dshconform.contracts.rollback_state import (
    DRIVES_WHILE_ANNOUNCED,
    REPLAYS_WHILE_LEAVING,
    TAKES_INPUT_WHEN_GONE,
    WAKES_WHILE_LEAVING,
    Life,
    Undecided,
)
from dshconform.contracts.rollback_teardowns import Teardowns
from dshconform.protocol.json_value import Json, JsonMap

PUBLISHED: Final = frozenset({"log agent/inbox/spliced", "log turn/start", "live session/created"})
"""What would show that a session which has left is in a store again."""

_TOLD: Final[Mapping[str, Clauses]] = {
    "running": ("LIFE-DISP-13",),
    "pre-step": ("LIFE-DISP-14",),
    "step/start": ("LIFE-DISP-14",),
    "idle": ("LIFE-DISP-12",),
}
"""Who says what becomes of a turn, and of its agent, when those who are told of it do something about it."""


class Turns(Teardowns):
    """One command, as far as it delivers, and runs turns."""

    # ------------------------------------------------------------------ deliveries

    def deliver(self, life: Life, identity: str, preset: str) -> Mapping[str, Json]:
        """A message arrives.

        Args:
            life: Whose inbox it is.
            identity: The message's id.
            preset: How it is delivered.

        Returns:
            A pattern for the error of an agent that refuses it; nothing else.
        """
        if life.phase == "gone":
            return self._deliver_late(life, preset)
        waking = preset != "inject"
        place, clauses = self._place(life)
        if place:
            self.record.cell("input", place, preset)
            self.record.after = (*clauses, "LIFE-DISP-04")
            life.why = (*clauses, *life.why)
        late = waking and place == "quiescing"
        target = "next-turn" if late or preset == "followup" else "next-step"
        life.lists[target].append(identity)
        self.log(life, rows.splice(life, target, [identity]), clauses)
        self.record.add(rows.note(life, "inserted", identity), clauses)
        if waking:
            self._woken(life, place)
        return {}

    def _place(self, life: Life) -> tuple[str, Clauses]:
        """What a message meets, where that is a cell, and who says what becomes of it.

        Raises:
            Undecided: That is the affair of other contracts.
        """
        if life.handle in self.stopping:
            raise Undecided  # whether it is idle again at once, or behind this stretch (LIFE-DISP-13)
        if life.ending:
            if life.active and not life.cancelled:
                raise Undecided  # it runs a turn that it should not: see `_woken`
            if life.phase == "unwinding" or not life.active:
                return "idle told" if life.phase == "quiescing" else "cleanup held", ("LIFE-DISP-12",)
            earlier: Clauses = () if life.cancelled == "disposed" else ("WAKE-DISP-02",)
            return "quiescing", (*earlier, "LIFE-DISP-11")
        if life.phase == "announcing":
            return "", ("LIFE-PUB-06",)
        if life.phase != "live" or life.cancelled or (life.active and life.pending):
            raise Undecided
        return "", ("AGENT-SEND-01",)

    def _woken(self, life: Life, place: str) -> None:
        """A waking message was inserted."""
        if place in {"idle told", "cleanup held"} and WAKES_WHILE_LEAVING in self.switches:
            self.record.departed.append(WAKES_WHILE_LEAVING)
            self.wake(life, ())
        elif place == "quiescing" and life.cancelled == "user" and REPLAYS_WHILE_LEAVING in self.switches:
            self.record.departed.append(REPLAYS_WHILE_LEAVING)
            life.latched = True
        elif life.phase == "announcing":
            life.sent = True
            self.record.limit = ("LIFE-PUB-08",)
            if DRIVES_WHILE_ANNOUNCED not in self.switches:
                life.latched = True  # LIFE-PUB-08
            elif not life.active:
                self.record.departed.append(DRIVES_WHILE_ANNOUNCED)
                self.wake(life, ())
        elif life.phase == "live" and "job" in life.open:
            life.latched = True
        elif life.phase == "live" and not life.active:
            self.wake(life, ("AGENT-SEND-04",))

    def _deliver_late(self, life: Life, preset: str) -> Mapping[str, Json]:
        """Nothing of a message to an agent that is gone is published, and it is refused."""
        if not life.handed:
            raise Undecided  # nobody has it
        self.record.cell("input", "gone", preset)
        self.record.after = self.record.blame[life.identity] = ("LIFE-DISP-19",)
        self.record.answers = ("LIFE-DISP-21",)
        if TAKES_INPUT_WHEN_GONE not in self.switches:
            return {"error": by(("LIFE-DISP-21",), {"message": f'agent "{life.identity}" is disposed'})}
        self.record.departed.append(TAKES_INPUT_WHEN_GONE)
        if preset != "inject":
            if any(other.active for other in self.state.lives.values() if other.identity == life.identity):
                raise Undecided
            self.state.haunted.add(life.identity)
        self.record.only = PUBLISHED
        self.record.inside = True  # what else becomes of it, and whether the call fails, nobody says
        return {}

    def cancel_turn(self, life: Life) -> None:
        """The user cancels a turn.

        Args:
            life: Whose turn it is.

        Raises:
            Undecided: No model is waiting, it is cancelled already, or something is pending.
        """
        if life.phase != "live" or "model" not in life.open or life.cancelled or life.pending:
            raise Undecided
        life.cancelled = "user"
        self.record.after = ("CANCEL-CAUSE-01",)
        self.record.add(rows.abort(life, "model", "user", self.record.after), self.record.after)

    # ------------------------------------------------------------------ a turn

    def wake(self, life: Life, clauses: Clauses) -> None:
        """A driver starts for what is pending: status, turn and claim.

        Args:
            life: The one that runs.
            clauses: Demand it.

        Raises:
            Undecided: An agent that is gone may run with the same id, and nothing tells the requests of the two apart.
        """
        if life.identity in self.state.haunted:
            raise Undecided
        life.cancelled = None
        life.open.add("driver")
        self.record.strands.first[rows.status_of(life.handle)] = ()
        self.record.add(rows.status(life, "running"), (*clauses, "AGENT-STATUS-03"))
        self.starting = life
        self._tell(life, "agent/status", {"status": "running"}, "running")
        self.starting = None
        if _is_cancelled(life):
            self.record.after = ("LIFE-DISP-13",)
            self.stopping.add(life.handle)
            self.jobs.append(lambda: self._rest(life, ("LIFE-DISP-13",)))
            return
        life.turn += 1
        number: Clauses = ("LIFE-RES-03",) if life.form == "resume" and not life.driven else ("LOOP-OPEN-02",)
        life.driven = True
        self.record.add(rows.log(life, "turn/start", {"turn": by(number, life.turn)}), (*clauses, "LOOP-OPEN-01"))
        self._claim(life)
        self.jobs.append(lambda: self._drive(life))

    def wake_if_latched(self, life: Life, clauses: Clauses) -> None:
        """A wake that was remembered starts its driver, if anything is pending.

        Args:
            life: The one that may run.
            clauses: Demand it.

        Raises:
            Undecided: An agent that is gone may run with the same id.
        """
        latched, life.latched = life.latched, False
        if latched and life.pending:
            self.wake(life, clauses)

    def _claim(self, life: Life) -> None:
        batch: list[str] = []
        for target, most in (("next-step", len(life.lists["next-step"])), ("next-turn", 1)):
            taken = life.lists[target][:most]
            if taken:
                del life.lists[target][: len(taken)]
                self.record.add(rows.splice(life, target, removed=len(taken)), ("INBOX-CLAIM-02",))
            batch += taken
        stored: Clauses = ("LIFE-RES-02",) if "kept" in batch else ()
        for identity in batch:
            self.record.add(rows.note(life, "claimed", identity), (*stored, "LIFE-PUB-06", "INBOX-CLAIM-01"))

    def _drive(self, life: Life) -> None:
        """The driver goes on behind its claim, up to the request."""
        late: Clauses = ()
        if not life.cancelled:
            self._tell(life, "agent/pre-step", {}, "pre-step")
        if not life.cancelled:
            self.publishing = life
            self._tell(life, "session/event", {"event.type": "step/start"}, "step/start")
            if self.postponed:
                self.discard(life)
                life.cancelled, self.postponed, late = "disposed", False, ("LIFE-DISP-20",)
            self.publishing = None
        if life.cancelled:
            self._end_turn(life, "aborted", (*late, "LIFE-DISP-14", "LIFE-ROLL-11", "LIFE-PUB-09"))
            return
        life.open.discard("driver")
        life.open.add("model")
        self.record.add(rows.request(life), ("LOOP-PRE-01",))

    def end_stream(self, life: Life) -> None:
        """The model's stream ends, and the turn with it.

        Args:
            life: Whose model it is.

        Raises:
            Undecided: No model is waiting, or another turn would follow.
        """
        if "model" not in life.open or life.phase == "gone" or (life.pending and not life.cancelled):
            raise Undecided
        if life.cancelled is None:
            self.record.after = ("AGENT-STATUS-04",)
            self._end_turn(life, "completed", ("LOG-EVT-02",))
        else:
            self.record.after = ("LIFE-DISP-04", "LIFE-DISP-11")
            self._end_turn(life, "aborted", ("LIFE-DISP-04",) if life.ending else ("CANCEL-STREAM-01",))

    def _end_turn(self, life: Life, kind: str, clauses: Clauses) -> None:
        self.record.add(rows.turn_end(life, kind), clauses)
        self._rest(life, clauses)

    def _rest(self, life: Life, clauses: Clauses) -> None:
        """The driver has nothing left to do."""
        idle: JsonMap = {"status": "idle"}
        if life.handle in self.stopping and any(one.when == idle for one in self.state.hearing("agent/status", life)):
            raise Undecided  # whether they act before the call returns that made it run, or behind it
        life.open -= {"driver", "model"}
        self.stopping.discard(life.handle)
        self.record.add(rows.status(life, "idle"), (*clauses, "AGENT-STATUS-04"))
        if life.phase == "live":
            life.cancelled = None
        self._tell(life, "agent/status", idle, "idle")
        if life.phase == "quiescing" and not life.active:
            self.wake_if_latched(life, ())
        self.unwind_next(life)

    def _tell(self, life: Life, event: str, when: JsonMap, place: str) -> None:
        """Call those who are told of a turn, or asked about it."""
        for listener in self.state.hearing(event, life):
            if listener.when != when:
                continue
            before = life.phase
            self.hook = script_of(listener.fn)[0] if event == "agent/pre-step" else None
            postpones = place == "step/start" and life.pending
            kind, _ = self.run(listener.fn, event, ("LIFE-DISP-20",) if postpones else _TOLD[place])
            self.hook = None
            if life.phase != before:
                self.record.cell("disposal", place, "itself, with messages" if life.pending else "itself")
            if kind == "throw" and event == "agent/status":
                self.record.cell("failure", event, kind)
            elif kind != "pass":
                raise Undecided

    # ------------------------------------------------------------------ maintenance

    def maintain(self, life: Life, task: str) -> None:
        """A maintenance task starts.

        Args:
            life: The one that is maintained.
            task: What the suite calls it.

        Raises:
            Undecided: The agent is busy, or something is pending.
        """
        if life.phase != "live" or life.active or life.pending:
            raise Undecided
        life.open.add("job")
        life.job = task
        self.record.after = ("MAINT-START-01",)
        self.record.add(rows.called(f"{life.handle}.job", "maintenance", waits=True), self.record.after)

    def maintained(self, life: Life, value: Json) -> None:
        """It ends.

        Args:
            life: The one that was maintained.
            value: What the task answered.
        """
        clauses: Clauses = ("LIFE-DISP-10",) if life.cancelled else ("MAINT-RES-01",)
        self.record.after = clauses
        self.record.strands.behind[life.job] = set()
        self.record.add(rows.settled(life.job, value=by(clauses, value)), clauses)
        if life.phase == "live":
            life.cancelled = None
            self.wake_if_latched(life, ("MAINT-LATCH-01",))
        self.unwind_next(life)


def _is_cancelled(life: Life) -> bool:
    """Whether its activity is, be it since a moment ago."""
    return life.cancelled is not None
