"""The one teardown of a life, whoever begins it, and who waits for its end."""

from collections import deque
from collections.abc import Mapping
from typing import Final, TypeAlias

from dshconform.contracts import rollback_rows as rows
from dshconform.contracts.inbox_calls import IDLE_CANCEL_KEEPS_INPUT
from dshconform.contracts.inbox_rows import Clauses, by
from dshconform.contracts.rollback_commands import LOOP, OWNER
from dshconform.contracts.rollback_rows import Record
from dshconform.contracts.rollback_state import UNWINDS_FIRST, Closing, Job, Life, State, Undecided
from dshconform.protocol.json_value import Json, JsonMap
from dshconform.running.step import UNCHECKED

Ending: TypeAlias = tuple[str, Json]
"""How a call of a function ends: `pass`, `return` with a value, `throw` or `reject` with an error, or `gate`."""

ENDING: Final[Mapping[str, str]] = {"quiescing": "quiescing", "unwinding": "cleanup held"}
"""What cells call a teardown that waits."""


class Teardowns:
    """One command, as far as it ends lives.

    Args:
        state: Changed by it.
        switches: Variants in which the implementation is followed.
    """

    def __init__(self, state: State, switches: frozenset[str]) -> None:
        self.state = state
        self.switches = switches
        self.record = Record()
        """What must be observed of the command."""
        self.jobs: deque[Job] = deque()
        """What goes on when the stretch that is under way has ended."""
        self.publishing: Life | None = None
        """The life of which an event of its session is told."""
        self.postponed = False
        """Whether its disposed cancel waits until that is over."""
        self.starting: Life | None = None
        """The life of which it is told that it runs."""
        self.stopping: set[str] = set()
        """The lives that were to run, and have been disposed of before they opened a turn: they are idle soon."""
        self.hook: str | None = None
        """The function that is asked about a step, and has its turn's signal."""

    def run(self, fn: JsonMap, kind: str, clauses: Clauses, looks: Clauses = ()) -> Ending:
        """Call a function of the suite.

        Args:
            fn: The function.
            kind: What it stands for, as the protocol calls it.
            clauses: Answer for its being called now.
            looks: Answer for what it sees, where they are others.

        Returns:
            How the call ends, and with which value or error.
        """
        raise NotImplementedError

    def interrupt(self, life: Life, owner: str) -> None:
        """The owner of a life closes while its transaction lasts."""
        raise NotImplementedError

    def settle(self) -> None:
        """Go on until nothing more can happen.

        Raises:
            Undecided: Somebody waits for a teardown that he has not begun, and need not wait (LIFE-OWN-07).
        """
        while self.jobs:
            self.jobs.popleft()()
        lives = self.state.lives
        for closing in self.state.closings:
            if closing.owner != LOOP and any(lives[handle].ended_by != closing.owner for handle in closing.lives):
                raise Undecided
        for life in lives.values():
            free = life.phase == "unwinding" and "undo" not in life.open
            if free and any(child.ended_by != life.handle for child in self.state.children(life.handle)):
                raise Undecided

    # ------------------------------------------------------------------ the beginning

    def disposal_cell(self, life: Life, who: str) -> None:
        """What a disposal meets.

        Args:
            life: Whose disposal it is.
            who: Who disposes of it.
        """
        if life.phase == "gone":
            place = "id reused" if life.identity in self.state.store else "gone"
        elif life.ending:
            place = ENDING[life.phase]
        elif life.phase == "live":
            activity = "maintenance" if "job" in life.open else "turn" if life.active else ""
            place = "cancelled" if life.cancelled else activity or ("pending" if life.pending else "idle")
        else:
            return
        self.record.cell("disposal", place, who)

    def close(self, life: Life, owner: str) -> None:
        """The owner of a life begins to close, or the loop."""
        if life.phase in {"live", "quiescing"}:
            clauses: Clauses = {LOOP: ("LIFE-OWN-06",), OWNER: ("LIFE-OWN-01",)}.get(owner, ("LIFE-OWN-04",))
            self.jobs.append(lambda: self.end_life(life, owner, clauses))
        elif life.phase not in {"unwinding", "gone"}:
            self.interrupt(life, owner)

    def end_life(self, life: Life, owner: str, clauses: Clauses) -> None:
        """An agent is torn down by its owner, or by the rollback of its transaction.

        Args:
            life: The agent's.
            owner: Who it is.
            clauses: Demand it.
        """
        self.tear_down(life, owner, clauses)
        closes = owner == LOOP or any(cause.starter == LOOP for cause in life.causes)
        if closes and UNWINDS_FIRST in self.switches and life.phase == "quiescing" and life.active:
            self.record.departed.append(UNWINDS_FIRST)
            self._clean_up(life)

    def tear_down(self, life: Life, starter: str, clauses: Clauses) -> None:
        """Cancel what an agent does, and begin its teardown, unless it has begun.

        Args:
            life: The agent's.
            starter: Who begins it.
            clauses: Demand it.
        """
        if life.ending or life.phase == "gone":
            return
        life.ended_by, life.why, life.phase = starter, clauses, "quiescing"
        if self.publishing is life and life.pending:
            self.postponed = True  # LIFE-DISP-20
        else:
            self._cancel(life)
        if life.active:
            earlier: Clauses = () if life.cancelled == "disposed" else ("LIFE-DISP-05",)
            balanced: Clauses = () if "job" in life.open else ("LIFE-DISP-04",)
            self.record.after = (*earlier, *balanced, "LIFE-DISP-09", *clauses)
            self.record.blame[life.identity] = ("LIFE-DISP-09", *clauses)
        else:
            self.record.strands.first.setdefault(rows.status_of(life.handle), ("LIFE-DISP-06",))
            self.unwind_next(life)

    def _cancel(self, life: Life) -> None:
        """The disposed cancel: what is pending is discarded, then the signal aborted."""
        if life.pending:
            self.discard(life)
        life.latched = False
        if life.cancelled is not None:
            return  # LIFE-DISP-05
        life.cancelled = "disposed"
        for what, clause in (("model", "LIFE-DISP-04"), ("job", "LIFE-DISP-10")):
            if what in life.open:
                self.record.add(rows.abort(life, what, "disposed", (clause,)), (clause,))
        if self.hook is not None and self.hook.startswith(f"{life.handle}."):
            clauses: Clauses = ("LIFE-DISP-14", "LIFE-DISP-04")
            self.record.add(rows.abort_of(self.hook, "disposed", clauses), clauses)

    def discard(self, life: Life) -> None:
        """Everything pending is cancelled, `next-step` first.

        Args:
            life: Whose inbox it is.
        """
        clauses: Clauses = ("LIFE-DISP-03", "LIFE-DISP-24")
        if life is self.publishing:
            clauses = ("LIFE-DISP-20",)
        elif life is self.starting:
            clauses = ("LIFE-DISP-13",)
        elif not life.active:
            if IDLE_CANCEL_KEEPS_INPUT in self.switches:
                self.record.departed.append(IDLE_CANCEL_KEEPS_INPUT)
                return
            clauses = ("LIFE-DISP-23", "CANCEL-IDLE-02", *(("LIFE-ROLL-11",) if life.failure is not None else ()))
        for target in ("next-step", "next-turn"):
            held, life.lists[target] = life.lists[target], []
            if held:
                self.log(life, rows.splice(life, target, removed=len(held), canceled=True), clauses)
            for identity in held:
                self.record.add(rows.note(life, "discarded", identity), clauses)

    def log(self, life: Life, row: JsonMap, clauses: Clauses) -> None:
        """An event is logged; nobody is told of it where the session is not in the store.

        Args:
            life: Whose session it is.
            row: A pattern for the event.
            clauses: Demand it.
        """
        if life.entered:
            self.record.add(row, clauses, number=self._first_list(life, "session/created"))

    # ------------------------------------------------------------------ the scope

    def unwind_next(self, life: Life) -> None:
        """The teardown goes on, if that was all it waited for.

        Args:
            life: The one that ends.
        """
        if life.phase == "quiescing" and not life.active:
            self.jobs.append(lambda: self._unwind(life))

    def _unwind(self, life: Life) -> None:
        if life.phase != "quiescing" or life.active:
            return
        life.phase = "unwinding"
        self._clean_up(life)
        for child in self.state.children(life.handle):
            if not child.ending:
                self.disposal_cell(child, "parent")
                self.record.strands.behind.setdefault(life.handle, set()).add(child.handle)
            self.close(child, life.handle)
        self.jobs.append(lambda: self.leave(life))

    def _clean_up(self, life: Life) -> None:
        """What was registered through the scope is undone."""
        self.state.listeners = [one for one in self.state.listeners if not (one.scoped and one.about == life.handle)]
        undo, life.cleanup = life.cleanup, None
        if undo is None:
            return
        failed = life.why if life.failure is not None else ()
        kind, _ = self.run(undo, "undo", (*life.why, "LIFE-DISP-01"), (*failed, "LIFE-DISP-02"))
        if kind == "gate":
            life.open.add("undo")
            self.record.after = self.record.blame[life.identity] = ("LIFE-DISP-09", "LIFE-ROLL-06", *life.why)
        elif kind in {"throw", "reject"}:
            self.cleanup_failed(life, kind)

    def cleanup_failed(self, life: Life, how: str) -> None:
        """It is logged, and the teardown goes on.

        Args:
            life: Whose scope it is.
            how: Whether it throws or rejects.
        """
        self.record.cell("failure", "cleanup", how)
        life.why = (*life.why, "LIFE-DISP-15")

    # ------------------------------------------------------------------ the end

    def leave(self, life: Life) -> None:
        """Agent and session leave, once the scope is unwound.

        Args:
            life: The one that ends.
        """
        state, identity = self.state, life.identity
        if life.phase != "unwinding" or "undo" in life.open or state.children(life.handle):
            return
        clauses: Clauses = (*life.why, "LIFE-DISP-01")
        if life.hears:
            clauses = (*clauses, "LIFE-DISP-16")
            self.record.strands.first[rows.ends(life.handle)] = ("LIFE-DISP-16",)
        self.record.after = (*life.why, "LIFE-DISP-06", "LIFE-DISP-01")
        self.record.blame[identity] = (*life.why, "LIFE-DISP-01")
        if life.registered:
            del state.registry[identity]
            self._tell_of_end(life, "agent/created", "agent/disposed", clauses)
        if life.entered:
            del state.store[identity]
            self._tell_of_end(life, "session/created", "session/disposed", clauses)
        life.phase = "gone"
        if life.failure is not None:
            self.reject(life)
        for task in sorted(life.disposals):
            self._settle_behind(task, {life.handle}, (*life.why, "LIFE-DISP-07"))
        life.disposals.clear()
        self.ended(life)

    def reject(self, life: Life) -> None:
        """The transaction rejects, now that nothing is left of it.

        Args:
            life: The one that has failed to begin.
        """
        cause = life.failure
        assert cause is not None
        error = by(cause.clauses, cause.error)
        self.record.add(rows.settled(f"t.{life.handle}", error=error), cause.clauses)

    def ended(self, life: Life) -> None:
        """Who waits for the end of a life goes on."""
        for closing in self.state.closings:
            closing.lives.discard(life.handle)
            self.close_next(closing)
        owner = self.state.lives.get(life.owner)
        if owner is not None:
            self.jobs.append(lambda: self.leave(owner))

    def close_next(self, closing: Closing) -> None:
        """What closes is closed, as soon as nothing of it is left.

        Args:
            closing: What closes, with what it owned when that began.
        """

        def closed() -> None:
            if closing.lives or closing not in self.state.closings:
                return
            self.state.closings.remove(closing)
            self.state.owners[closing.owner] = "closed"
            lives, owner = self.state.lives, closing.owner
            begun = {
                handle for handle in closing.all if owner == LOOP or lives[handle].ended_by == owner
            }  # LIFE-OWN-07
            self._settle_behind(closing.task, begun, closing.clauses)

        self.jobs.append(closed)

    def _tell_of_end(self, life: Life, begun: str, event: str, clauses: Clauses) -> None:
        """A disposal is told, if the announcement that it belongs to began."""
        if begun not in life.told:
            return
        lists, self.record.lists = self.record.lists, self._first_list(life, begun)
        self.record.add(rows.live(life, event), (*clauses, "LIFE-ROLL-05"))
        heard: Clauses = ("LIFE-DISP-01",)
        for listener in self.state.hearing(event, life):
            kind, _ = self.run(listener.fn, event, heard, ("LIFE-DISP-02",))
            if kind in {"throw", "reject"}:
                self.record.cell("failure", event, kind)
                heard = ("LIFE-DISP-15",)
        self.record.lists = lists

    def _first_list(self, life: Life, begun: str) -> int:
        """The first list of rows in which an announcement was made, from the one that is being written on."""
        return max(life.told.get(begun, 0), self.record.lists)

    def _settle_behind(self, task: str, lives: set[str], clauses: Clauses) -> None:
        self.record.strands.behind[task] = lives
        self.record.strands.first.setdefault(task, clauses[-1:])
        self.record.add(rows.settled(task, value=by(clauses, UNCHECKED)), clauses)
