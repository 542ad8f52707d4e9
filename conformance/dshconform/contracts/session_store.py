"""The abstract store of the session contract: what each command does, and who hears of it in which order.

Observers are scripts of the store's own commands, so one interpreter performs both: a command from outside, and one
inside the dispatch that another has begun. Each leaves its rows in the order in which they must be seen.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeAlias

from dshconform.contracts.inbox_rows import by
from dshconform.contracts.script_calls import BROKEN, Outcome, failed, follow, together
from dshconform.contracts.session_appends import Refused, accepted_name, judge
from dshconform.contracts.session_commands import CREATED, DISPOSED, EVENT, FLUSH, listener_in
from dshconform.contracts.session_forks import UNBOUNDED, ForkRefused, copied, judge_fork
from dshconform.contracts.session_observers import Listener, names_in
from dshconform.contracts.session_state import AbstractSession, Clauses, Event, Life, members_of, view, whole_number
from dshconform.protocol.json_value import Json, JsonMap
from dshconform.trace.rows import ExpectedRow

_CONTAINED: Final[Mapping[str, Clauses]] = {
    EVENT: ("LOG-APPEND-05",),
    CREATED: ("STORE-LIFE-04",),
    DISPOSED: ("STORE-LIFE-10",),
}
"""By event, who says that a listener's failure changes nothing: of a creation only a late one."""

_BY_DOING: Final[Mapping[str, Clauses]] = {
    "removes": ("LOG-OBS-02",),
    "adds": ("LOG-OBS-02",),
    "creates": ("STORE-LIFE-12",),
}
"""Who says what becomes of a dispatch behind a listener that did this."""

_ACCEPTED: Final[Mapping[str, Clauses]] = {
    "note": ("PATTERN-EXT-02",),
    "plain note": ("PATTERN-EXT-02",),
    "turn": (),
    "message": ("SURF-OP-03",),
    "citing message": ("SURF-SRC-02",),
    "empty answer": ("SURF-SRC-05",),
    "result": ("SURF-OP-03",),
    "replacement": ("SURF-OP-04", "SURF-OP-05"),
    "rewrite": ("SURF-TOOL-01", "SURF-TOOL-02"),
}
"""Who says that an append is accepted."""


class Dispatched(NamedTuple):
    """Whether a listener's failure ended a dispatch, and who else has a say in what comes behind."""

    vetoed: bool
    """Whether the failure of a listener ended it."""
    clauses: Clauses
    """Those that answer for what comes behind it."""


@dataclass(slots=True, eq=False)
class Flush:
    """A flush that is going on: its task, the listeners that it waits for, and the failures by place."""

    task: str
    waiting: dict[str, int] = field(default_factory=dict)
    """By the name of each listener that waits, its place among those that were asked."""
    failures: dict[int, Json] = field(default_factory=dict)


_Order: TypeAlias = list[Listener | None]


def _orders() -> dict[str, _Order]:
    return {event: [None] for event in (CREATED, EVENT, DISPOSED, FLUSH)}


@dataclass(slots=True, eq=False)
class AbstractStore:
    """The sessions of one world, and their listeners.

    Args:
        sessions: By the suite's name.
        live: By id, in the order of entering.
        leaves: By name, the detaches: each of one life of one session.
        listeners: By event, in the order in which they are called; nothing stands for the adapter's own.
        flushes: Those that wait.
        minted: The last number of an id that the store made up.
        used: Names that stand for something, or did.
        rows: What must be seen, since the last command from outside.
        later: What must be seen behind its return.
    """

    sessions: dict[str, AbstractSession] = field(default_factory=dict)
    live: dict[str, AbstractSession] = field(default_factory=dict)
    leaves: dict[str, tuple[AbstractSession, Life]] = field(default_factory=dict)
    listeners: dict[str, _Order] = field(default_factory=_orders)
    flushes: list[Flush] = field(default_factory=list)
    minted: int = 0
    used: set[str] = field(default_factory=set)
    rows: list[ExpectedRow] = field(default_factory=list)
    later: list[ExpectedRow] = field(default_factory=list)
    _stamped: int = 0

    # ------------------------------------------------------------------ what is there

    def of(self, event: str) -> list[Listener]:
        """The suite's listeners of an event, in the order in which they are called."""
        return [listener for listener in self.listeners[event] if listener is not None]

    def listener(self, name: str) -> Listener | None:
        """The listener of that name, if it listens."""
        return next((one for event in self.listeners for one in self.of(event) if one.name == name), None)

    def perform(self, op: str, args: JsonMap) -> Outcome:
        """Do a command: everything up to its return, and not the `return` row.

        Args:
            op: The operation.
            args: Its arguments.

        Returns:
            What it answers or fails with, and the clauses that say so.
        """
        match op:
            case "session.create" | "session.prepare":
                return self._make(args, announced=op == "session.create")
            case "session.enter":
                return self._enter(self.sessions[str(args["session"])], str(args["as"]))
            case "session.announce":
                return self._announce(self.sessions[str(args["session"])])
            case "session.append":
                return self._append(args)
            case "session.fork":
                return self._fork(args)
            case "session.read":
                return self._read(args)
            case "session.get":
                found = self.live.get(str(args["id"]))
                return Outcome(None if found is None else found.name, clauses=("STORE-ID-03",))
            case "session.list":
                return Outcome([one.name for one in self.live.values()], clauses=("STORE-ID-03",))
            case "session.flush":
                return self._flush(self.sessions[str(args["session"])], str(args["task"]))
            case "gate.resolve" | "gate.reject":
                return self._answer(args)
            case "undo":
                return self._undo(str(args["of"]))
            case _:
                assert op == "listen", op
                return self._listen(args)

    # ------------------------------------------------------------------ making, entering, announcing

    def _make(self, args: JsonMap, *, announced: bool) -> Outcome:
        name = str(args["session"])
        self.used.add(name)
        identity = args.get("id")
        if identity is not None and identity in self.live:
            return failed(f'session "{identity}" already exists', "STORE-ID-02")
        clauses: Clauses = ("STORE-LIFE-01",) if announced else ("STORE-ID-02",)
        if identity is None:
            identity, clauses = self._mint(), ("STORE-ID-01", *clauses)
        seed = args.get("seed")
        events = None if not isinstance(seed, list | tuple) else [_seeded(members_of(event)) for event in seed]
        session = self._made(AbstractSession(name, str(identity), members_of(args.get("meta", {}))), events)
        if not announced:
            return Outcome(session.id, clauses=clauses)
        return self._created(session, clauses, ("STORE-LIFE-03",))

    def _mint(self) -> str:
        while True:
            self.minted += 1
            if f"session-{self.minted}" not in self.live:
                return f"session-{self.minted}"

    def _made(self, session: AbstractSession, seed: Sequence[Event] | None) -> AbstractSession:
        """A session with its seed, and the mark behind it unless it ends with one."""
        self.sessions[session.name] = session
        for event in seed or ():
            session.commit(event)
        session.first_live = len(session.events)
        if seed is not None and not (seed and seed[-1].kind == "session/end-seed"):
            session.commit(self._stamp(session, "session/end-seed", {}, {}))
        return session

    def _created(self, session: AbstractSession, clauses: Clauses, vetoed: Clauses) -> Outcome:
        """Enter and announce a session in one; it is gone when that is vetoed."""
        life = self._begin(session)
        told = self._tell_creation(session, life, clauses)
        if not told.vetoed:
            return Outcome(session.id, clauses=(*clauses, *told.clauses, "STORE-LIFE-02"))
        extra = self._leave(session, life, vetoed)
        del self.sessions[session.name]
        return Outcome(error=BROKEN, clauses=(*vetoed, *told.clauses, *extra))

    def _begin(self, session: AbstractSession) -> Life:
        session.life = Life()
        self.live[session.id] = session
        return session.life

    def _enter(self, session: AbstractSession, leave: str) -> Outcome:
        self.used.add(leave)
        if session.id in self.live:
            return failed(f'session "{session.id}" already exists', "STORE-ID-02")
        clauses: Clauses = ("LOG-OBS-06",) if session.life is None else ("STORE-ID-04", "LOG-OBS-06")
        self.leaves[leave] = (session, self._begin(session))
        return Outcome(None, clauses=clauses)

    def _announce(self, session: AbstractSession) -> Outcome:
        life = session.life
        if life is None or life.ended:
            return failed(f'session "{session.id}" is not live in this store', "STORE-LIFE-05")
        if life.announced:
            return failed(f'session "{session.id}" was already announced', "STORE-LIFE-05")
        told = self._tell_creation(session, life, ("STORE-LIFE-05", "STORE-ID-04"))
        if told.vetoed:
            return Outcome(error=BROKEN, clauses=("STORE-LIFE-05", *told.clauses))
        return Outcome(None, clauses=("STORE-LIFE-05", *told.clauses, "STORE-LIFE-02"))

    def _tell_creation(self, session: AbstractSession, life: Life, clauses: Clauses) -> Dispatched:
        nested = any(one.life is not None and one.life.announcing for one in self.live.values())
        life.announced = life.announcing = True
        if nested:
            clauses = (*clauses, "STORE-LIFE-12")
        told = self._dispatch(CREATED, session, _told_of(CREATED, session, clauses), clauses)
        life.announcing = False
        life.vetoed = told.vetoed
        if not life.leaving:
            return told
        extra = self._leave(session, life, ("STORE-LIFE-08",))
        return told._replace(clauses=together(told.clauses, extra))

    # ------------------------------------------------------------------ leaving

    def _undo(self, name: str) -> Outcome:
        listener = self.listener(name)
        if listener is not None:
            self.listeners[listener.event].remove(listener)
            return Outcome()
        if name not in self.leaves:
            return Outcome()  # a listener that was removed before
        session, life = self.leaves[name]
        if life.ended or life.leaving:
            return Outcome(clauses=("STORE-LIFE-07",))
        if life.announcing or session.publishing:
            life.leaving = True
            return Outcome(clauses=("STORE-LIFE-08",) if life.announcing else ("STORE-LIFE-09",))
        return Outcome(clauses=("STORE-LIFE-06", *self._leave(session, life, ("STORE-LIFE-06",))))

    def _leave(self, session: AbstractSession, life: Life, clauses: Clauses) -> Clauses:
        """A session leaves the store; who has a say in what comes behind, listeners considered."""
        if life.ended:
            return ()
        life.ended, life.leaving = True, False
        del self.live[session.id]
        if not life.announced:
            return ()
        return self._dispatch(DISPOSED, session, _told_of(DISPOSED, session, clauses), clauses).clauses

    # ------------------------------------------------------------------ appending

    def _append(self, args: JsonMap) -> Outcome:
        session = self.sessions[str(args["session"])]
        kind, data, intent = str(args["type"]), args["data"], members_of(args.get("intent", {}))
        refused = judge(session, kind, data, intent)
        if isinstance(refused, Refused):
            return Outcome(error={"message": refused.text}, clauses=refused.clauses)
        clauses: Clauses = ("LOG-ENV-04", *_ACCEPTED[accepted_name(kind, intent)])
        outer = any(one.publishing for one in self.live.values())
        event = self._stamp(session, kind, data, intent)
        session.commit(event)
        life = session.life
        if life is None or life.ended:
            return Outcome(event.answered, clauses=(*clauses, "LOG-OBS-06"))
        published: Clauses = ("LOG-OBS-01",)
        if not life.announced or life.announcing:
            published = ("LOG-OBS-01", "LOG-OBS-07")
        if outer:
            published = (*published, "LOG-OBS-04")
        row: JsonMap = {"on": "log", "session": session.name, "event": event.pattern}
        session.publishing = True
        told = self._dispatch(EVENT, session, ExpectedRow(row, published), published, event)
        session.publishing = False
        if life.leaving and not life.announcing:
            clauses = (*clauses, *self._leave(session, life, ("STORE-LIFE-09",)))
        return Outcome(event.answered, clauses=(*clauses, *told.clauses, *published[1:]))

    def _stamp(self, session: AbstractSession, kind: str, data: Json, intent: JsonMap) -> Event:
        self._stamped += 1
        time: JsonMap = {"$bind": f"time {self._stamped}"}
        sources = intent.get("sourceEventSeqs")
        assert sources is None or isinstance(sources, list | tuple)
        return Event(len(session.events), kind, data, time, intent.get("surfaceOp"), sources)

    # ------------------------------------------------------------------ forking

    def _fork(self, args: JsonMap) -> Outcome:
        source, name, identity = args["source"], str(args["session"]), args.get("id")
        self.used.add(name)
        named = self.sessions[source] if isinstance(source, str) else None
        wanted = str(members_of(source)["id"]) if named is None else named.id
        judged = judge_fork(self.live, named, wanted, identity, args.get("boundary", UNBOUNDED))
        if isinstance(judged, ForkRefused):
            return Outcome(error=judged.error, clauses=judged.clauses)
        prefix = copied(judged, args.get("boundary", UNBOUNDED))
        clauses: Clauses = ("FORK-CHILD-01", "FORK-CUT-01", "FORK-CUT-03")
        kept: JsonMap = {"cwd": judged.header["cwd"]} if "cwd" in judged.header else {}
        header: JsonMap = {**kept, "parentSession": judged.id, "seedLength": len(prefix)}
        child = AbstractSession(name, self._mint() if identity is None else str(identity), header)
        return self._created(self._made(child, prefix), clauses, ("FORK-CHILD-01",))

    # ------------------------------------------------------------------ reading

    def _read(self, args: JsonMap) -> Outcome:
        session, what = self.sessions[str(args["session"])], args["what"]
        assert isinstance(what, list | tuple)
        clauses: Clauses = ("STORE-LIFE-02",) if session.life is not None and session.life.announcing else ()
        if session.publishing:
            clauses = ("LOG-APPEND-04",)
        shown: JsonMap = {str(one): by(*view(session, str(one))) for one in what}
        return Outcome(shown, clauses=clauses or ("LOG-IMM-04",))

    # ------------------------------------------------------------------ listeners

    def _listen(self, args: JsonMap) -> Outcome:
        name, event = str(args["as"]), str(args["event"])
        listener = Listener(name, event, members_of(args["fn"]), args.get("prepend") is True)
        self.used |= {name, *names_in(listener.function)}
        order = self.listeners[event]
        order.insert(0 if listener.prepended else len(order), listener)
        return Outcome()

    def _dispatch(
        self, event: str, session: AbstractSession, told: ExpectedRow, clauses: Clauses, logged: Event | None = None
    ) -> Dispatched:
        """Call the listeners of a notification, in order; the adapter's own is among them."""
        extra: Clauses = ()
        payload: dict[str, Json] = {"session": session.name}
        if logged is not None:
            payload["event"] = logged.pattern
        for listener in tuple(self.listeners[event]):
            if listener is None:
                self.rows.append(ExpectedRow(told.pattern, (*told.clauses, *extra)))
                continue
            failure = self._call(listener, session, payload, (*clauses, *extra))
            if failure == "throw" and event == CREATED:
                return Dispatched(vetoed=True, clauses=extra)
            extra = together(extra, _CONTAINED[event] if failure else _BY_DOING.get(listener.doing, ()))
            if session.life is not None and session.life.leaving:
                extra = together(extra, ("STORE-LIFE-09",) if event == EVENT else ("STORE-LIFE-08",))
        return Dispatched(vetoed=False, clauses=extra)

    def _call(self, listener: Listener, session: AbstractSession, payload: JsonMap, clauses: Clauses) -> str | None:
        """A listener is called and follows its script; how it fails, if it does."""
        listener.calls += 1
        call = listener.calls
        row: JsonMap = {"part": listener.name, "kind": listener.event, "n": call, "payload": payload}
        self.rows.append(ExpectedRow({"on": "gate" if listener.doing == "waits" else "script", **row}, clauses))
        called, heard = (listener.name, call), {"session": session.name}
        return follow(listener.script(), called, self.perform, self.rows, heard=heard, clauses=clauses)

    # ------------------------------------------------------------------ flushing

    def _flush(self, session: AbstractSession, task: str) -> Outcome:
        """Ask every listener; what the flush comes to is seen behind the return."""
        self.used.add(task)
        if not session.live:
            error: JsonMap = {"message": f'session "{session.id}" is not live in this store'}
            self._settled(task, {"error": error}, ("STORE-FLUSH-04",))
            return Outcome(clauses=("STORE-FLUSH-04",))
        flush = Flush(task)
        asked = self.of(FLUSH)
        for place, listener in enumerate(asked):
            failure = self._call(listener, session, {"session": session.name}, ("STORE-FLUSH-01", "STORE-FLUSH-03"))
            if failure is not None:
                flush.failures[place] = BROKEN
            elif listener.doing == "waits":
                listener.waits = True
                flush.waiting[listener.name] = place
        if flush.waiting:
            self.flushes.append(flush)
        else:
            self._ends(flush, heard=bool(asked))
        return Outcome(clauses=("STORE-FLUSH-01", "STORE-FLUSH-05"))

    def _answer(self, args: JsonMap) -> Outcome:
        """The call of a listener that waits ends, with a failure if there is one."""
        name = listener_in(args)
        flush = next(one for one in self.flushes if name in one.waiting)
        place = flush.waiting.pop(name)
        listener = self.listener(name)
        assert listener is not None
        listener.waits = False
        if "error" in args:
            flush.failures[place] = {"is": members_of(members_of(args["error"])["$error"])["as"]}
        if not flush.waiting:
            self.flushes.remove(flush)
            self._ends(flush, heard=True)
        return Outcome(clauses=("STORE-FLUSH-01", "STORE-FLUSH-03"))

    def _ends(self, flush: Flush, *, heard: bool) -> None:
        if flush.failures:
            self._settled(flush.task, {"error": flush.failures[min(flush.failures)]}, ("STORE-FLUSH-03",))
        else:
            self._settled(flush.task, {"value": heard}, ("STORE-FLUSH-02", "STORE-FLUSH-05"))

    def _settled(self, task: str, how: JsonMap, clauses: Clauses) -> None:
        self.later.append(ExpectedRow({"on": "task", "task": task, **how}, clauses))


def _seeded(event: JsonMap) -> Event:
    return Event(whole_number(event["seq"]), str(event["type"]), event["data"], event["time"], event.get("surfaceOp"))


def _told_of(event: str, session: AbstractSession, clauses: Clauses) -> ExpectedRow:
    row: JsonMap = {"on": "live", "name": event, "session": session.name, "payload": {"session": session.name}}
    return ExpectedRow(row, clauses)
