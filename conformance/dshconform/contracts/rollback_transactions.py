"""One transaction, from the call to its handle or its rejection: its steps, and what may end it at each."""

from collections.abc import Mapping
from typing import Final

from dshconform.contracts import rollback_rows as rows
from dshconform.contracts.inbox_rows import Clauses, by
from dshconform.contracts.model import CommandError
from dshconform.contracts.rollback_commands import ANNOUNCEMENTS, LOOP, OWNER, WAIT, id_of
from dshconform.contracts.rollback_reading import error_name, owner_in, script_of, stored_in, text_in
from dshconform.contracts.rollback_state import OUTLIVES_ITS_COMMIT, OUTLIVES_ITS_OWNER, Cause, Life, State, Undecided
from dshconform.contracts.rollback_teardowns import ENDING
from dshconform.contracts.rollback_turns import Turns
from dshconform.protocol.json_value import Json, JsonMap

_FAILED: Final[Mapping[str, Clauses]] = {
    "setup": ("LIFE-ROLL-01",),
    "setup awaited": ("LIFE-ROLL-01",),
    "commit": ("LIFE-ROLL-02",),
    "session/created": ("LIFE-ROLL-03", "LIFE-PUB-07"),
    "agent/created": ("LIFE-ROLL-04", "LIFE-PUB-07"),
}
"""Who says that a failure ends a transaction, by its step; that of a load is handed on (LIFE-ROLL-07)."""
_ABORTED: Final[Mapping[str, Clauses]] = {
    "before": ("LIFE-ABORT-01",),
    "load": ("LIFE-RES-05",),
    "setup": ("LIFE-ABORT-04",),
    "setup awaited": ("LIFE-ABORT-03",),
    "commit": ("LIFE-ABORT-04",),
    **dict.fromkeys(ANNOUNCEMENTS, ("LIFE-ABORT-05",)),
}
_CLOSED: Final[Mapping[str, Clauses]] = {
    "load": ("LIFE-OWN-02", "LIFE-RES-05"),
    **dict.fromkeys(("setup", "setup awaited"), ("LIFE-OWN-02",)),
    "commit": ("LIFE-OWN-11", "LIFE-OWN-03"),
    **dict.fromkeys(ANNOUNCEMENTS, ("LIFE-OWN-03",)),
}
_UNLOADED: Final[Mapping[str, Clauses]] = {
    **_CLOSED,
    **dict.fromkeys(("load", "setup", "setup awaited"), ("LIFE-OWN-06",)),
}
_INACTIVE: Final[JsonMap] = {"message": "agent loop is not active"}
_NO_FACTORY: Final[JsonMap] = {"message": "no agent factory registered (load an agent-loop plugin)"}


class Transactions(Turns):
    """One command, as far as it creates and resumes."""

    def __init__(self, state: State, switches: frozenset[str]) -> None:
        super().__init__(state, switches)
        self.unloaded = False
        """Whether the loop began to close in this very stretch."""
        self.raced: set[str] = set()
        """The lives in whose setup another creation of their ids began."""

    def settle(self) -> None:
        """Go on until nothing more can happen."""
        self.unloaded = False
        super().settle()

    # ------------------------------------------------------------------ the beginning

    def begin(self, form: str, args: JsonMap, caller: Life | None) -> Mapping[str, Json]:
        """A transaction begins, perhaps in a function of another life.

        Args:
            form: Whether it creates or resumes.
            args: The arguments of the call.
            caller: The life in whose function it is called; none at the top.

        Returns:
            A pattern for the error of a call that throws; nothing else.

        Raises:
            CommandError: Id and task are not named after the handle, or there is no setup.
            Undecided: No clause says how it goes on.
        """
        handle, setup, signal, meta = text_in(args, "handle"), args.get("setup"), args.get("signal"), args.get("meta")
        identity = id_of(handle)
        if args.get("agent") != identity or args.get("task") != f"t.{handle}" or not isinstance(setup, Mapping):
            raise CommandError(f"a creation names id, task and setup after its handle {handle!r}")
        aborts = text_in(signal, "$signal") if isinstance(signal, Mapping) else None
        life = Life(handle, form, owner_in(args), aborts, setup)
        life.lineage = isinstance(meta, Mapping) and "parentSession" in meta
        self.record.strands.lives[f"t.{handle}"] = handle
        if caller is not None and self.state.store.get(identity, caller.handle) != caller.handle:
            raise Undecided  # whether the one that began a moment before, in the same stretch, has entered already
        refusal = self._refusal(life, args, nested=caller is not None)
        if refusal is not None:
            self._refused(life, refusal)
        else:
            self.state.lives[handle] = life
            if form == "create":
                self.compose(life)
            else:
                self._load(life)
        if caller is not None:
            self._nested(life, caller)
        return {"error": by(refusal.clauses, refusal.error)} if refusal is not None and self.record.inside else {}

    def _refusal(self, life: Life, args: JsonMap, *, nested: bool) -> Cause | None:
        """What is wrong with a transaction before it begins; the first one counts (LIFE-CREATE-04)."""
        state, loop = self.state, self.state.owners[LOOP]
        accepted, live = state.accepts(life.owner), life.identity in state.store
        if not accepted and (nested or live or loop != "open"):
            raise Undecided
        if loop == "closed":
            return Cause("no loop", {"$by": "FACT-SET-02", "is": _NO_FACTORY}, ("LIFE-OWN-09",))
        found: list[Cause] = []
        if live and life.form == "create":
            found.append(self._taken(life))
        options = args.get("options")
        if isinstance(options, Mapping) and "maxTokens" in options:
            if life.form == "resume":
                raise Undecided  # it is looked at behind the load
            error: JsonMap = {"message": "agent maxTokens must be a positive safe integer"}
            found.append(Cause("is invalid", error, ("LIFE-CREATE-04",)))
        if not accepted:
            self.record.inside = True  # the refusal may come at once
            gone = life.owner in state.lives
            name = "owner disposed of" if gone else "owner closed"
            found.append(Cause(name, {"code": "INACTIVE_EFFECT"} if gone else {}, ("LIFE-OWN-09",)))
        if loop == "closing":
            if not self.unloaded:  # whether the slot of the factory is cleared already is open
                known = found[0].error if found else _INACTIVE
                return Cause("loop closes", {"$oneOf": [known, _NO_FACTORY]}, ("LIFE-OWN-09",))
            if life.form == "resume":
                raise Undecided  # a resume may have begun to load before it sees that
            found.append(Cause("loop closes", _INACTIVE, ("LIFE-OWN-09",)))
        if life.signal is not None and state.signals[life.signal]:
            found.append(_aborted(life, "before", state.signals[life.signal][0]))
        if live and life.form == "resume":
            found.append(Cause("id is live", {}, ("LIFE-RES-08",)))
        if len(found) > 1:
            order: Clauses = ("LIFE-CREATE-04",) if life.form == "create" else ()
            return Cause("several", found[0].error, (*order, *found[0].clauses))
        return found[0] if found else None

    def _taken(self, life: Life) -> Cause:
        holder = self.state.lives.get(self.state.store[life.identity])
        ending: Clauses = ("LIFE-DISP-18", "LIFE-DISP-09") if holder is not None and holder.ending else ()
        error: JsonMap = {"message": f'session "{life.identity}" already exists'}
        return Cause("id is live", error, (*ending, "LIFE-ROLL-08"))

    def _refused(self, life: Life, cause: Cause) -> None:
        life.phase, life.failure = "gone", cause
        holder = self.state.lives.get(self.state.store.get(life.identity, ""))
        if cause.name == "id is live" and holder is not None and holder.ending:
            told = holder.registered and life.identity not in self.state.registry
            self.record.cell("id", "agent/disposed" if told else ENDING[holder.phase], life.form)
        else:
            self.record.cell(life.form, "before", cause.name)
        self.record.after = self.record.strands.first[rows.begins(life.handle)] = cause.clauses
        self.record.blame.setdefault(life.identity, cause.clauses)
        if not self.record.inside:
            self.reject(life)

    def _nested(self, life: Life, caller: Life) -> None:
        """What comes of a transaction inside a function of another life with the same id."""
        if caller.identity != life.identity or caller.step == "commit":
            raise Undecided  # which of two lives goes on first
        leaving = caller.identity in self.state.store and caller.identity not in self.state.registry
        if life.form == "resume" and leaving:
            raise Undecided  # whether the session has left when the storage looks
        if caller.step == "setup":
            self.raced.add(caller.handle)
        self.record.unsure.add(life.identity)
        if caller.phase in {"announcing", "composing"}:
            self.record.cell(caller.form, caller.step, "the same id")
        elif life.failure is None:
            self.record.cell("id", "session/disposed", life.form)

    # ------------------------------------------------------------------ load and setup

    def _load(self, life: Life) -> None:
        """The storage is asked."""
        for other in self.state.lives.values():
            rival = other is not life and other.identity == life.identity and other.form == life.form
            if rival and (other.phase == "loading" or other.waits):
                raise Undecided  # who of the two gets the stored session is the affair of the storage
        life.phase, life.step = "loading", "load"
        self.state.loads.append(life.handle)
        self.record.strands.lives[f"load {life.identity}"] = life.handle
        row: JsonMap = {**rows.called("load", "store/load", waits=True), "payload": {"session": life.identity}}
        again: Clauses = ("LIFE-RES-07",) if life.identity in self.state.failed else ()
        self.record.after = self.record.blame[life.identity] = (*again, "LIFE-RES-01")
        self.record.add(row, self.record.after)

    def loaded(self, identity: str, place: int, args: JsonMap, *, failed: bool) -> None:
        """The storage answers, in time or too late.

        Args:
            identity: The id that was loaded.
            place: The place of the load among those of the id that are open.
            args: What it answers.
            failed: Whether it fails instead.

        Raises:
            Undecided: There is no such load, or the id has been taken in the meantime.
        """
        waiting = [handle for handle in self.state.loads if id_of(handle) == identity]
        if place >= len(waiting):
            raise Undecided
        life = self.state.lives[waiting[place]]
        self.state.loads.remove(life.handle)
        if life.phase == "gone":
            self.record.cell("late", "load", "fails" if failed else "returns")
            self.record.after = self.record.blame[identity] = ("LIFE-RES-06",)
            if not failed and identity not in self.state.store:  # else the store of sessions has refused it
                self.record.only = rows.COMPARED | {"script store/release"}
                row: JsonMap = {**rows.called("release", "store/release"), "payload": {"session": identity}}
                self.record.add(row, self.record.after)
        elif failed:
            self._fail(life, "fails", args.get("error"))
        elif identity in self.state.store:
            raise Undecided  # whether it is composed nevertheless
        else:
            self._cell(life, "passes")
            stored = stored_in(args)
            life.turn, life.seq = stored.turn, stored.length
            life.lists["next-step"] += stored.pending
            self.compose(life)

    def compose(self, life: Life) -> None:
        """Run the setup.

        Args:
            life: The one that begins.

        Raises:
            Undecided: Another life of the same id may be the first to enter.
        """
        life.phase, life.step = "composing", "setup"
        again: Clauses = ("LIFE-RES-07",) if life.identity in self.state.failed else ()
        begun: Clauses = ("LIFE-SETUP-01",) if life.form == "create" else (*again, "LIFE-RES-01")
        kind, value = self.run(life.setup, "setup", begun)
        if kind != "gate":
            if life.handle in self.raced:
                raise Undecided  # who of the two enters first
            self.composed(life, kind, value)
            return
        life.open.add("setup")
        if life.causes:
            self._give_up(life)
            return
        life.step, life.waits = "setup awaited", True
        self.record.after = self.record.blame[life.identity] = ("LIFE-SETUP-01",)

    def composed(self, life: Life, kind: str, value: Json) -> None:
        """The setup has ended: commit, and publish.

        Args:
            life: The one that begins.
            kind: How the setup has ended.
            value: What it answered, or failed with.

        Raises:
            Undecided: Whether a commit is called, where the setup has closed its own owner.
        """
        life.waits = False
        if kind in {"throw", "reject"}:
            self._fail(life, "fails" if kind == "throw" else "rejects", value)
            return
        commit = value.get("commit") if isinstance(value, Mapping) else None
        if life.causes:
            if commit is not None and any(cause.closes for cause in life.causes):
                raise Undecided  # whether the commit of a setup that closed its owner is called
            self._give_up(life)
            return
        self._cell(life, "passes")
        if isinstance(commit, Mapping):
            life.step, life.committed = "commit", True
            kind, value = self.run(commit, "commit", ("LIFE-SETUP-03",))
            if kind == "throw":
                self._fail(life, "fails", value)
                return
            if kind == "reject":
                raise Undecided  # nobody says who hears of it
            if kind == "gate":
                life.open.add("commit")
            self._cell(life, "passes")
        self._enter(life)

    # ------------------------------------------------------------------ publication

    def _enter(self, life: Life) -> None:
        """Session and agent become visible, if nothing is in the way, and are announced."""
        state, identity = self.state, life.identity
        if any(not cause.closes for cause in life.causes):
            self._give_up(life)
            return
        if life.causes:  # LIFE-OWN-11: the owner closed in the commit; whether anything is entered is open
            if identity in state.store or identity in state.registry or _waits(life.cleanup):
                raise Undecided
            self.record.unsure.add(identity)
        else:
            life.step = "entering"
        if identity in state.store:
            error: JsonMap = {"message": f'session "{identity}" already exists'}
            self._end(life, Cause("session exists", error, ("LIFE-ROLL-09",)))
            return
        state.store[identity], life.entered = life.handle, True
        if identity in state.registry:
            error = {"message": f'agent "{identity}" is already registered'}
            self._end(life, Cause("agent registered", error, ("LIFE-ROLL-10",)))
            return
        state.registry[identity], life.registered = life.handle, True
        self._publish(life)

    def _publish(self, life: Life) -> None:
        life.phase = "announcing"
        veto = self._announce(life)
        last, self.record.lists = self.record.lists, 0
        if veto is not None:
            self._fail(life, "vetoes", veto)
        elif not life.causes:
            self._go_live(life)
        elif all(cause.closes for cause in life.causes) and self.switches.issuperset(map(_outliving, life.causes)):
            self.record.lists = last
            self._outlive(life)
        else:
            self._give_up(life)

    def _announce(self, life: Life) -> Json:
        """Make the announcements; answer the veto, if any."""
        for event in ANNOUNCEMENTS:
            if any(not cause.closes for cause in life.causes):
                break  # LIFE-ABORT-05
            if life.causes:  # LIFE-OWN-03: whether later announcements are made is open
                self.record.lists += 1
            else:
                life.step = event
            life.told[event] = self.record.lists
            veto = self._tell_of_creation(life, event)
            if veto is not None:
                return veto
        return None

    def _tell_of_creation(self, life: Life, event: str) -> Json:
        clauses: Clauses = ("LIFE-PUB-01",) if life.form == "create" else ("LIFE-RES-01", "LIFE-PUB-01")
        if life.committed and event == "session/created":
            clauses = ("LIFE-SETUP-03", *clauses)
        payload: JsonMap | None = None
        if event == "agent/session-start":
            payload = {"source": by(("LIFE-PUB-03",), "startup" if life.form == "create" else "resume")}
        self.record.add(rows.live(life, event, payload), clauses)
        heard: Clauses = ()
        before = len(life.causes)
        for listener in self.state.hearing(event, life):
            scoped: Clauses = ("LIFE-SETUP-02",) if listener.scoped else ()
            seen: Clauses = (*heard, "LIFE-PUB-02")
            kind, value = self.run(listener.fn, event, (*heard, *scoped, "LIFE-PUB-01"), seen)
            if kind == "throw" and event != "agent/session-start":
                return value
            if len(life.causes) > before:
                heard = life.causes[-1].clauses
                continue
            if kind == "throw":
                heard = ("LIFE-PUB-04",)
            elif kind == "reject":
                heard = ("LIFE-PUB-05",)
            if not life.causes:
                self._cell(life, {"throw": "fails", "reject": "rejects"}.get(kind, "passes"))
        return None

    def _go_live(self, life: Life) -> None:
        life.phase, life.step, life.handed = "live", "live", True
        value: Clauses = ("LIFE-CREATE-01",) if life.form == "create" else ("LIFE-RES-01",)
        self.record.blame[life.identity] = value
        self.record.after = ("LIFE-CREATE-02",) if life.form == "create" else ("LIFE-RES-02",)
        self.record.strands.first[rows.status_of(life.handle)] = self.record.after
        self.wake_if_latched(life, ("LIFE-PUB-06", "LIFE-PUB-08"))
        self.record.add(rows.settled(f"t.{life.handle}", value=by(value, life.handle)), value)

    def _outlive(self, life: Life) -> None:
        """The handle arrives, and the agent is torn down all the same."""
        self.record.departed += map(_outliving, life.causes)
        cause, life.handed = life.causes[-1], True
        self.record.strands.behind[f"t.{life.handle}"] = set()
        self.record.add(rows.settled(f"t.{life.handle}", value=life.handle), cause.clauses)
        self.wake_if_latched(life, ())
        self.jobs.appendleft(lambda: self.end_life(life, cause.starter, cause.clauses))

    # ------------------------------------------------------------------ ends

    def interrupt(self, life: Life, owner: str) -> None:
        """The owner of a life closes while its transaction lasts, or the loop does."""
        if life.failure is None:
            self._interrupt(life, _closed(life, owner))

    def abort(self, life: Life, reason: Json) -> None:
        """The signal of a transaction is aborted.

        Args:
            life: The one that begins.
            reason: What the signal is fired with.
        """
        if life.failure is None:
            self._interrupt(life, _aborted(life, life.step, reason))

    def _interrupt(self, life: Life, cause: Cause) -> None:
        """A transaction ends at once where it waits, else where it looks next."""
        life.causes.append(cause)
        if life.phase == "loading" and len(life.causes) == 1:
            self.record.add({"on": "abort", "part": "load"}, ("LIFE-RES-09",))
        if life.waits or life.phase == "loading":
            self.jobs.append(lambda: None if life.failure else self._give_up(life))

    def _fail(self, life: Life, name: str, error: Json) -> None:
        """A function fails, and its transaction with it."""
        if life.causes:
            raise Undecided  # what else has ended it may count as well
        thrown: JsonMap = {"$by": "LIFE-ROLL-07", "is": {"is": error_name(error)}}
        self._end(life, Cause(name, thrown, _FAILED.get(life.step, ("LIFE-ROLL-07",))))

    def _give_up(self, life: Life) -> None:
        """End a transaction for the reason that it has, or for one of several."""
        first, *others = life.causes
        if others:
            options: Json = [_bare(cause.error) for cause in life.causes]
            clauses = tuple(dict.fromkeys(clause for cause in life.causes for clause in cause.clauses))
            first = Cause(first.name, {"$oneOf": options}, clauses, first.starter)
        self._end(life, first)

    def _end(self, life: Life, cause: Cause) -> None:
        """End a transaction, and roll it back."""
        self._cell(life, cause.name)
        life.failure, life.waits = cause, False
        self.record.strands.first[f"t.{life.handle}"] = ("LIFE-ROLL-06",)
        if cause.name == "vetoes":
            self.record.strands.first[rows.begins(life.handle)] = ("LIFE-PUB-07",)
        if life.sent:
            idle: Clauses = ("LIFE-ROLL-11",) if cause.starter == "rollback" and cause.name != "aborted" else ()
            self.record.strands.first[rows.status_of(life.handle)] = (*idle, "LIFE-PUB-09")
        self.record.after = self.record.blame[life.identity] = cause.clauses
        if life.phase == "loading":
            life.phase = "gone"
            self.reject(life)
            self.ended(life)
        else:
            if life.form == "resume":
                self.state.failed.add(life.identity)
            self.end_life(life, cause.starter, cause.clauses)

    def _cell(self, life: Life, cause: str) -> None:
        self.record.cell(life.form, life.step, f"sends, {cause}" if life.sent else cause)


def _aborted(life: Life, step: str, reason: Json) -> Cause:
    """What the caller gets whose signal is aborted."""
    name = error_name(reason)
    error: JsonMap = {"is": name}
    if not name:
        error = {"message": f'agent "{life.identity}" creation aborted', "cause": {"value": reason}}
    return Cause("aborted", {"$by": "LIFE-ABORT-02", "is": error}, _ABORTED[step])


def _closed(life: Life, owner: str) -> Cause:
    """What the caller gets whose owner begins to close, or the loop."""
    error: JsonMap = {"message": f'agent "{life.identity}" setup aborted: owner disposed during setup'}
    if owner == LOOP:  # with it closes the scope of an agent that owns this one: which is seen first is open
        either: JsonMap = {"$oneOf": [_INACTIVE, error]}
        return Cause("loop closes", _INACTIVE if life.owner in {"root", OWNER} else either, _UNLOADED[life.step], LOOP)
    return Cause("owner closes" if owner == OWNER else "owner disposed of", error, _CLOSED[life.step], owner)


def _outliving(cause: Cause) -> str:
    """The variant in which a closing ends a transaction only when its agent is handed out."""
    return OUTLIVES_ITS_COMMIT if "LIFE-OWN-11" in cause.clauses else OUTLIVES_ITS_OWNER


def _waits(fn: JsonMap | None) -> bool:
    """Whether a function comes to a gate."""
    return fn is not None and WAIT in script_of(fn)[1]


def _bare(error: JsonMap) -> Json:
    return error["is"] if "$by" in error else error
