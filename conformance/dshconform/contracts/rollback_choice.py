"""Which command of the rollback contract comes next: transactions with all sorts of functions, and what cuts across."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from dshconform.contracts import rollback_commands as write
from dshconform.contracts.rollback_commands import ANNOUNCEMENTS, DISPOSALS, IDS, LOOP, OWNER, SIGNALS, top
from dshconform.contracts.rollback_state import Life, State
from dshconform.contracts.source import Source
from dshconform.protocol.json_value import Json, JsonMap

_HABITS: Final[Sequence[Mapping[str, int]]] = (
    {"begin": 8, "answer": 12, "dispose": 4, "close": 2, "abort": 2, "send": 3, "listen": 2, "burst": 2, "register": 1},
    {"begin": 8, "answer": 12, "dispose": 2, "close": 6, "abort": 1, "send": 3, "listen": 1, "burst": 2, "register": 1},
    {
        "begin": 10,
        "answer": 10,
        "dispose": 1,
        "close": 1,
        "abort": 6,
        "send": 2,
        "listen": 1,
        "burst": 1,
        "register": 2,
    },
    {"begin": 5, "answer": 10, "dispose": 8, "close": 1, "abort": 1, "send": 7, "listen": 4, "burst": 4, "register": 1},
)
_TRIES: Final = 8


@dataclass(slots=True)
class Standing:
    """What an example keeps from its beginning to its end.

    Args:
        source: The habit is the first choice read from it.
        state: Names are new that it has not used.
    """

    source: Source
    habit: Mapping[str, int] = field(init=False)
    made: int = 0
    """How many names there are so far."""

    def __post_init__(self) -> None:
        self.habit = self.source.choose(_HABITS)

    def choose(self, source: Source, state: State, legal: Callable[[JsonMap], bool]) -> JsonMap:
        """Choose a legal command; one that changes nothing, if none is found soon.

        Args:
            source: Where choices come from.
            state: The state of the world.
            legal: Says of a command whether it makes sense in that state.

        Returns:
            The command.
        """
        for _ in range(_TRIES):
            proposed = _Choice(source, state, self).command()
            if proposed is not None and legal(proposed):
                return proposed
        return write.NOTHING

    def name(self, prefix: str) -> str:
        """A name that nothing has.

        Args:
            prefix: What it begins with.
        """
        self.made += 1
        return f"{prefix}{self.made}"


@dataclass(slots=True)
class _Choice:
    source: Source
    state: State
    standing: Standing

    def command(self) -> JsonMap | None:
        family = self.source.weighted([(weight, name) for name, weight in self.standing.habit.items()])
        return _FAMILIES[family](self)

    # ------------------------------------------------------------------ transactions

    def begin(self) -> JsonMap:
        free = [identity for identity in IDS if identity not in self.state.store]
        identity = self.source.choose(free if free and self.source.below(4) else IDS)
        handle = self.handle(identity)
        form = self.source.weighted([(3, "create"), (2, "resume")])
        owner = self.source.weighted([(4, None), (4, OWNER), (4, self.some(lambda life: life.phase == "live"))])
        more: dict[str, Json] = {} if owner is None else dict(write.within(owner))
        signal = self.source.weighted([(2, None), (2, SIGNALS[0]), (1, SIGNALS[1])])
        if signal is not None:
            more |= write.aborted_by(signal)
        if form == "create" and self.source.below(6) == 0:
            more["meta"] = {"parentSession": self.source.choose(IDS)}
        return top(write.created(handle, *self.setup(handle, signal), form=form, more=more))

    def setup(self, handle: str, signal: str | None) -> list[JsonMap]:
        script: list[JsonMap] = []
        if self.source.below(4) == 0:
            script += [*write.read(handle), *write.look(handle[:1])]
        how = self.source.weighted([(3, "none"), (4, "look"), (2, "waits"), (1, "throws"), (1, "sends")])
        if how != "none":
            script.append(write.cleanup(handle, *self.undo(handle, how)))
        for number in range(self.source.below(4)):
            script.append(self.listener(handle, signal, number))
        if self.source.below(5) == 0:
            script += self.act(handle, signal)
        return script + self.source.weighted(
            [
                (5, []),
                (6, [write.WAIT]),
                (3, [write.commit(handle, *write.look(handle[:1]), *self.act(handle, signal))]),
                (1, [write.throw()]),
                (1, [write.reject()]),
            ]
        )

    def undo(self, handle: str, how: str) -> list[JsonMap]:
        return [
            *write.look(handle[:1]),
            *{
                "look": [],
                "waits": [write.WAIT],
                "throws": [write.throw()],
                "sends": [write.sent(handle, self.standing.name("m"), "inject")],
            }[how],
        ]

    def listener(self, handle: str, signal: str | None, number: int) -> JsonMap:
        event = self.source.weighted([*((3, event) for event in ANNOUNCEMENTS), *((1, event) for event in DISPOSALS)])
        script = self.act(handle, signal) if event in ANNOUNCEMENTS else self.farewell(handle)
        seen = write.look(handle[:1]) if self.source.below(2) else []
        scoped = self.source.below(2) == 0
        return write.on(handle, event, *seen, *script, name=f"on{number + 1}", scoped=scoped)

    def act(self, handle: str, signal: str | None) -> list[JsonMap]:
        identity = handle[:1]
        match self.source.weighted(
            [
                *((8, "nothing"), (3, "send"), (1, "inject"), (3, "throw"), (1, "reject"), (3, "abort")),
                *((3, "close"), (1, "unload"), (2, "same id")),
            ]
        ):
            case "send":
                return [write.sent(handle, self.standing.name("m"))]
            case "inject":
                return [write.sent(handle, self.standing.name("m"), "inject")]
            case "throw":
                return [write.throw(self.standing.name("e"))]
            case "reject":
                return [write.reject()]
            case "abort":
                return [write.aborted(signal or self.source.choose(SIGNALS), self.reason())]
            case "close":
                return [write.closed(self.standing.name("c"))]
            case "unload":
                return [write.closed(self.standing.name("c"), LOOP)]
            case "same id":
                return [write.created(self.handle(identity))]
            case _:
                return []

    def farewell(self, handle: str) -> list[JsonMap]:
        return self.source.weighted(
            [(3, []), (2, [write.throw()]), (1, [write.reject()]), (2, [write.created(self.handle(handle[:1]))])]
        )

    # ------------------------------------------------------------------ what waits

    def answer(self) -> JsonMap | None:
        options: list[JsonMap] = []
        for life in self.state.lives.values():
            options += [self.answered(life, what) for what in sorted(life.open)]
        for identity in IDS:
            waiting = [handle for handle in self.state.loads if handle[:1] == identity]
            for at in range(len(waiting)):
                options.append(self.loaded(identity, at))
        return self.source.choose(options) if options else None

    def answered(self, life: Life, what: str) -> JsonMap:
        part = f"{life.handle}.{what}"
        match what:
            case "model" | "driver":
                return write.end_stream(life.handle)
            case "setup":
                how = self.source.weighted([(4, "none"), (3, "commit"), (2, "fails"), (1, "inside")])
                if how == "fails":
                    return write.refuse(part)
                if how == "inside":
                    return write.inside(part, write.on(life.handle, ANNOUNCEMENTS[0], name="late", scoped=True))
                script = self.act(life.handle, life.signal) if how == "commit" else []
                commit: JsonMap = {"$fn": f"{life.handle}.commit", "do": script}
                return write.answer(part, {"commit": commit} if how == "commit" else None)
            case "undo" if self.source.below(4) == 0:
                return write.refuse(part)
            case "job":
                return write.answer(part, "done")
            case _:
                return write.answer(part)

    def loaded(self, identity: str, at: int) -> JsonMap:
        log = self.source.choose(("empty", "one turn", "pending", ""))
        return write.loaded(identity, log, at) if log else write.not_loaded(identity, at)

    # ------------------------------------------------------------------ what cuts across

    def dispose(self) -> JsonMap | None:
        handle = self.some(lambda life: life.handed and (life.phase != "gone" or not self.source.below(4)))
        return None if handle is None else top(write.disposed(handle, self.standing.name("d")))

    def close(self) -> JsonMap:
        if self.state.owners.get(OWNER, "closed") == "closed":
            return write.open_owner()
        if self.state.owners[LOOP] == "closed":
            return write.command("world.load", task=self.standing.name("l"), part=LOOP)
        return top(write.closed(self.standing.name("c"), self.source.weighted([(3, OWNER), (1, LOOP)])))

    def abort(self) -> JsonMap:
        signal = self.source.choose(SIGNALS)
        if self.state.signals[signal]:
            return write.renew(signal)
        return top(write.aborted(signal, self.reason()))

    def reason(self) -> Json:
        return write.PLAIN if self.source.below(4) == 0 else write.ENOUGH

    def send(self) -> JsonMap | None:
        handle = self.some(lambda life: life.handed and (life.phase != "gone" or not self.source.below(8)))
        if handle is None:
            return None
        if "model" in self.state.lives[handle].open and self.source.below(3) == 0:
            return write.cancel(handle)
        how = self.source.weighted([(6, "followup"), (2, "steer"), (3, "inject"), (3, "maintain")])
        match how:
            case "maintain":
                return write.maintain(handle, self.standing.name("m"))
            case _:
                return top(write.sent(handle, self.standing.name("m"), how))

    def listen(self) -> JsonMap | None:
        handle = self.some(lambda life: life.phase == "live")
        if handle is None:
            return None
        name, leave = self.standing.name("on"), write.disposed(handle, self.standing.name("d"))
        when: JsonMap
        match self.source.below(5):
            case 0:
                when, event, act = {"status": "running"}, "agent/status", leave
            case 1:
                when, event, act = {}, "agent/pre-step", leave
            case 2:
                when, event, act = {"event.type": "step/start"}, "session/event", leave
            case 3:
                act = write.sent(handle, self.standing.name("m"), self.source.choose(("steer", "followup")))
                when, event = {"status": "idle"}, "agent/status"
            case _:
                return top(write.on(handle, self.source.choose(DISPOSALS), *self.farewell(handle), name=name))
        return top(write.on(handle, event, act, name=name, when=when))

    def burst(self) -> JsonMap | None:
        handle = self.some(lambda life: life.phase == "live")
        if handle is None:
            return write.together(write.aborted(SIGNALS[0]), write.closed(self.standing.name("c")))
        leave = write.disposed(handle, self.standing.name("d"))
        late = write.sent(handle, self.standing.name("m"), self.source.choose(("followup", "steer", "inject")))
        again = write.disposed(handle, self.standing.name("d"))
        return write.together(*self.source.choose(((leave, late), (late, leave), (leave, again), (leave, late, again))))

    def register(self) -> JsonMap:
        return write.WITHDRAW if self.state.registry.get("b") == write.STUB else write.REGISTER

    # ------------------------------------------------------------------ names

    def some(self, which: Callable[[Life], bool]) -> str | None:
        """One of the lives, the younger ones rather."""
        found = [life.handle for life in self.state.lives.values() if which(life)]
        return self.source.choose(found[-3:]) if found else None

    def handle(self, identity: str) -> str:
        """A handle that nothing has."""
        self.standing.made += 1
        return f"{identity}{self.standing.made + 10}"


_FAMILIES: Final[Mapping[str, Callable[[_Choice], JsonMap | None]]] = {
    "begin": _Choice.begin,
    "answer": _Choice.answer,
    "dispose": _Choice.dispose,
    "close": _Choice.close,
    "abort": _Choice.abort,
    "send": _Choice.send,
    "listen": _Choice.listen,
    "burst": _Choice.burst,
    "register": _Choice.register,
}
