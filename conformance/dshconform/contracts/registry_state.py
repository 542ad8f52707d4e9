"""The abstract registry of the registry contract: what each command does, and who hears of it in which order."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from dshconform.contracts.inbox_rows import Clauses, by
from dshconform.contracts.registry_commands import (
    CREATED,
    DISPOSED,
    HOSTS,
    MADE,
    ODD,
    ODD_ID,
    ODD_SESSION,
    STUBS,
    doing_of,
    names_in,
)
from dshconform.contracts.script_calls import BROKEN, Outcome, failed, follow, script_of, together
from dshconform.contracts.session_state import members_of
from dshconform.protocol.json_value import Json, JsonMap
from dshconform.trace.rows import ExpectedRow

_NO_FACTORY: Final = "no agent factory registered (load an agent-loop plugin)"
_NOTHING: Final[Json] = by(("REG-LIFE-02",), "nothing")


@dataclass(slots=True, eq=False)
class Life:
    """One stay of an agent in the registry.

    Args:
        agent: The agent.
        owner: The agent that owns it, if one does.
        announced: Whether its announcement has begun.
        announcing: Whether it is going on.
        vetoed: Whether a listener vetoed it.
        leaving: Whether a detach waits for the end of the announcement.
        ended: Whether it has left.
    """

    agent: str
    owner: str | None
    announced: bool = False
    announcing: bool = False
    vetoed: bool = False
    leaving: bool = False
    ended: bool = False


@dataclass(slots=True, eq=False)
class Leave:
    """What ends a life: a detach, or the disposer of a registration.

    Args:
        life: The life.
        registered: Whether it is a disposer.
    """

    life: Life
    registered: bool


@dataclass(slots=True, eq=False)
class Factory:
    """A factory of the suite: its functions, and how often each was called."""

    name: str
    """What the suite calls it."""
    functions: Mapping[str, JsonMap]
    calls: dict[str, int] = field(default_factory=dict)
    """By operation, how often it was called so far."""


@dataclass(slots=True, eq=False)
class Listener:
    """A listener of the suite: its function, and how often that was called."""

    name: str
    """What the suite calls it."""
    event: str
    """What it hears."""
    function: JsonMap
    calls: int = 0
    """How often it was called so far."""

    @property
    def doing(self) -> str:
        """What the grid calls what it does."""
        return doing_of(self.function)


class Dispatched(NamedTuple):
    """Whether a listener's failure ended a dispatch, and who else has a say in what comes behind."""

    vetoed: bool
    """Whether the failure of a listener ended it."""
    clauses: Clauses
    """Those that answer for what comes behind it."""


@dataclass(slots=True, eq=False)
class AbstractRegistry:
    """The registry of one world.

    Args:
        live: By id, in the order of entering.
        latest: By agent, its stay in the registry, or the last one.
        leaves: By name.
        plugins: By plugin that is open, the names of what is registered through it.
        factories: By name.
        slot: The factory that is in force.
        listeners: In the order in which they are called.
        used: Names that stand for something, or did.
        rows: What must be seen, since the last command from outside.
        later: What must be seen behind its return.
    """

    live: dict[str, Life] = field(default_factory=dict)
    latest: dict[str, Life] = field(default_factory=dict)
    leaves: dict[str, Leave] = field(default_factory=dict)
    plugins: dict[str, list[str]] = field(default_factory=dict)
    factories: dict[str, Factory] = field(default_factory=dict)
    slot: Factory | None = None
    listeners: list[Listener] = field(default_factory=list)
    used: set[str] = field(default_factory=set)
    rows: list[ExpectedRow] = field(default_factory=list)
    later: list[ExpectedRow] = field(default_factory=list)

    # ------------------------------------------------------------------ what is there

    def of(self, event: str) -> list[Listener]:
        """The listeners of an event.

        Args:
            event: The event.
        """
        return [listener for listener in self.listeners if listener.event == event]

    def listener(self, name: str) -> Listener | None:
        """The listener of that name, if it listens.

        Args:
            name: Its name.
        """
        return next((one for one in self.listeners if one.name == name), None)

    def state(self, agent: str) -> str:
        """What the grid calls the state of an agent.

        Args:
            agent: The agent.
        """
        life = self.latest.get(agent)
        if life is not None and not life.ended:
            return "vetoed" if life.vetoed else "announced" if life.announced else "entered"
        if id_of(agent) in self.live:
            return "taken"
        return "new" if life is None else "gone"

    def roots(self) -> list[str]:
        """The live agents that nobody owns, in order."""
        return [life.agent for life in self.live.values() if life.owner is None]

    def registration(self, plugin: str) -> Life | None:
        """The living registration that ends with a plugin.

        Args:
            plugin: A plugin that is open.
        """
        lives = (self.leaves[name].life for name in self.plugins[plugin] if name in self.leaves)
        return next((life for life in lives if not life.ended), None)

    def perform(self, op: str, args: JsonMap) -> Outcome:
        """Do a command: everything up to its return, and not the `return` row.

        Args:
            op: The operation.
            args: Its arguments.

        Returns:
            What it answers or fails with, and the clauses that say so.
        """
        match op:
            case "registry.enter":
                return self._enter(args)
            case "registry.announce":
                return self._announce(str(args["agent"]))
            case "registry.register":
                return self._register(args)
            case "registry.setFactory":
                return self._fill(args)
            case "agent.create" | "agent.resume":
                return self._make(op.partition(".")[2], args)
            case "undo":
                return self._undo(str(args["of"]))
            case "owner.open":
                plugin = str(args["owner"])
                self.used.add(plugin)
                self.plugins[plugin] = []
                return Outcome()
            case "owner.close":
                return self._close(str(args["owner"]))
            case "listen":
                listener = Listener(str(args["as"]), str(args["event"]), members_of(args["fn"]))
                self.used |= {listener.name, *names_in(listener.function)}
                self.listeners.append(listener)
                return Outcome()
            case _:
                return self._look(op, args)

    def _look(self, op: str, args: JsonMap) -> Outcome:
        match op:
            case "registry.get":
                life = self.live.get(str(args["id"]))
                waits: Clauses = ("REG-DET-03",) if life is not None and life.leaving else ()
                return Outcome(None if life is None else life.agent, clauses=(*waits, "REG-READ-01"))
            case "registry.list":
                lives = self.live.values()
                wait: Clauses = ("REG-DET-03",) if any(life.leaving for life in lives) else ()
                return Outcome([life.agent for life in lives], clauses=(*wait, "REG-READ-01"))
            case "registry.roots":
                return Outcome(list[Json](self.roots()), clauses=("REG-READ-01", "REG-ENTER-03"))
            case _:
                assert op == "registry.owns", op
                life = self.live.get(str(args["id"]))
                owned = life is not None and life.owner == args["owner"]
                return Outcome(owned, clauses=("REG-READ-03", "REG-ENTER-03"))

    # ------------------------------------------------------------------ entering and announcing

    def _enter(self, args: JsonMap) -> Outcome:
        owner = args.get("owner")
        entered = self._begin(str(args["agent"]), None if owner is None else str(owner))
        self.used.add(str(args["as"]))
        if isinstance(entered, Outcome):
            return entered
        self.leaves[str(args["as"])] = Leave(entered, registered=False)
        return Outcome(None, clauses=("REG-ENTER-01",))

    def _begin(self, agent: str, owner: str | None) -> Life | Outcome:
        """A stay of an agent begins, or is refused."""
        if agent == ODD:
            text = f'agent id "{ODD_ID}" does not match session id "{ODD_SESSION}"'
            return failed(text, "REG-ENTER-02")
        identity = id_of(agent)
        if identity in self.live:
            return failed(f'agent "{identity}" is already registered', "REG-ENTER-02")
        life = self.live[identity] = self.latest[agent] = Life(agent, owner)
        return life

    def _announce(self, agent: str) -> Outcome:
        life = self.latest.get(agent)
        if life is None or life.ended:
            return failed(f'agent "{id_of(agent)}" is not live in this registry', "REG-ANN-01")
        if life.announced:
            vetoed: Clauses = ("REG-ANN-02",) if life.vetoed else ()
            return failed(f'agent "{id_of(agent)}" was already announced', *vetoed, "REG-ANN-01")
        told = self._tell(life, ("REG-ANN-01",))
        if told.vetoed:
            return Outcome(error=BROKEN, clauses=together(("REG-ANN-02",), told.clauses))
        return Outcome(None, clauses=together(("REG-ANN-01",), told.clauses))

    def _tell(self, life: Life, clauses: Clauses) -> Dispatched:
        """A life is announced; a detach that was called meanwhile is carried out."""
        life.announced = life.announcing = True
        told = self._dispatch(CREATED, life, clauses)
        life.announcing, life.vetoed = False, told.vetoed
        if not life.leaving:
            return told
        waited: Clauses = ("REG-DET-04",) if told.vetoed else ("REG-DET-03",)
        return told._replace(clauses=together((*told.clauses, *waited), self._leave(life, waited)))

    def _register(self, args: JsonMap) -> Outcome:
        through, leave = args.get("in"), str(args["as"])
        self.used.add(leave)
        life = self._begin(str(args["agent"]), HOSTS.get(str(through)))
        if isinstance(life, Outcome):
            return life
        told = self._tell(life, ("REG-LIFE-01",))
        if told.vetoed:
            return Outcome(error=BROKEN, clauses=together(told.clauses, self._leave(life, ("REG-LIFE-01",))))
        self.leaves[leave] = Leave(life, registered=True)
        if through in self.plugins:
            self.plugins[str(through)].append(leave)
        return Outcome(None, clauses=together(("REG-LIFE-01",), told.clauses))

    # ------------------------------------------------------------------ leaving

    def _undo(self, name: str) -> Outcome:
        listener = self.listener(name)
        if listener is not None:
            self.listeners.remove(listener)
            return Outcome()
        if name in self.factories:
            if self.slot is self.factories[name]:
                self.slot = None
            return Outcome()
        if name not in self.leaves:
            return Outcome()  # a listener that was removed before
        leave = self.leaves[name]
        life = leave.life
        if life.ended or life.leaving:
            return Outcome(_NOTHING, clauses=("REG-LIFE-02",)) if leave.registered else Outcome(clauses=("REG-DET-02",))
        if life.announcing:
            life.leaving = True
            return Outcome(clauses=("REG-DET-03",))
        clauses: Clauses = ("REG-LIFE-01",) if leave.registered else ("REG-DET-01",)
        if life.vetoed:
            clauses = (*clauses, "REG-ANN-02")
        return Outcome(clauses=together(self._leave(life, clauses), clauses))

    def _leave(self, life: Life, clauses: Clauses) -> Clauses:
        """A life ends; who has a say in what comes behind."""
        if life.ended:
            return ()
        life.ended, life.leaving = True, False
        del self.live[id_of(life.agent)]
        if not life.announced:
            return ()
        return self._dispatch(DISPOSED, life, clauses).clauses

    def _close(self, plugin: str) -> Outcome:
        """A plugin ends, and with it what was registered through it."""
        clauses: Clauses = ()
        for name in reversed(self.plugins.pop(plugin)):
            if name in self.factories:
                clauses = together(clauses, ("FACT-SET-03",))
                self.slot = None if self.slot is self.factories[name] else self.slot
            elif not self.leaves[name].life.ended:
                left = self._leave(self.leaves[name].life, ("REG-LIFE-01",))
                clauses = together(left, ("REG-LIFE-01", *clauses))
        return Outcome(clauses=clauses)

    # ------------------------------------------------------------------ listeners

    def _dispatch(self, event: str, life: Life, clauses: Clauses) -> Dispatched:
        """Call the listeners of a notification, in order, behind the adapter's own."""
        extra: Clauses = ()
        live: JsonMap = {"on": "live", "name": event, "agent": life.agent}
        self.rows.append(ExpectedRow(live, clauses))
        for listener in self.of(event):
            ending = self._call(listener, life, together(extra, clauses))
            if ending == "throw" and event == CREATED:
                return Dispatched(vetoed=True, clauses=extra)
            if ending == "throw":
                extra = together(extra, ("LIFE-DISP-15",))
            if event == DISPOSED and listener.doing in {"enters", "registers"}:
                extra = together(extra, ("REG-DET-05",))
            if life.leaving:
                extra = together(extra, ("REG-DET-03",))
        return Dispatched(vetoed=False, clauses=extra)

    def _call(self, listener: Listener, life: Life, clauses: Clauses) -> str | None:
        """A listener is called and follows its script; how it ends, if before its end."""
        listener.calls += 1
        called = listener.name, listener.calls
        row: JsonMap = {"on": "script", "part": listener.name, "kind": listener.event, "n": listener.calls}
        self.rows.append(ExpectedRow({**row, "agent": life.agent}, clauses))
        script = script_of(listener.function, listener.calls)
        gone: Clauses = ("REG-DET-05", "REG-READ-01") if listener.event == DISPOSED else ()

        def perform(op: str, args: JsonMap) -> Outcome:
            outcome = self.perform(op, args)
            return outcome._replace(clauses=together(gone, outcome.clauses)) if gone else outcome

        return follow(script, called, perform, self.rows, heard={"agent": life.agent}, clauses=clauses)

    # ------------------------------------------------------------------ the factory

    def _fill(self, args: JsonMap) -> Outcome:
        name, through = str(args["as"]), args.get("in")
        self.used.add(name)
        if self.slot is not None:
            return failed("an agent factory is already registered", "FACT-SET-01")
        functions = {op: members_of(args[op]) for op in ("create", "resume")}
        self.slot = self.factories[name] = Factory(name, functions)
        if through in self.plugins:
            self.plugins[str(through)].append(name)
        return Outcome(None, clauses=("FACT-SET-03", "FACT-SET-01"))

    def _make(self, op: str, args: JsonMap) -> Outcome:
        task = str(args["task"])
        self.used.add(task)
        if self.slot is None:
            clauses: Clauses = ("FACT-SET-02", "FACT-SET-03") if self.factories else ("FACT-SET-02",)
            self._settled(task, {"error": {"message": _NO_FACTORY}}, clauses)
            return Outcome(None, clauses=clauses)
        function = self.slot.functions[op]
        calls = self.slot.calls[op] = self.slot.calls.get(op, 0) + 1
        through = str(args.get("in", "root"))
        payload: JsonMap = {
            "owner": by(("FACT-CALL-01",), HOSTS.get(through, through)),
            "op": op,
            "options": by(("FACT-CALL-01",), _options(op, args)),
        }
        in_force: Clauses = ("FACT-CALL-01", "FACT-SET-01", "FACT-SET-03")
        part = by(in_force, function["$fn"])
        script: JsonMap = {"on": "script", "part": part, "kind": "factory", "n": calls, "payload": payload}
        self.rows.append(ExpectedRow(script, in_force))
        ending = script_of(function, calls)[0]
        how: JsonMap = {"value": MADE} if ending["do"] == "return" else {"error": BROKEN}
        self._settled(task, how, ("FACT-CALL-01", "FACT-SET-03"))
        return Outcome(None, clauses=("FACT-CALL-01",))

    def _settled(self, task: str, how: JsonMap, clauses: Clauses) -> None:
        self.later.append(ExpectedRow({"on": "task", "task": task, **how}, clauses))


def _options(op: str, args: JsonMap) -> JsonMap:
    """What a factory is told."""
    identity = {"sessionId" if op == "create" else "resumeSessionId": args["agent"]}
    names: Sequence[tuple[str, str]] = (("meta", "meta"), ("options", "agentOptions"))
    told = {name: args.get(said, {"$absent": True}) for said, name in names}
    return {**identity, **told}


def id_of(agent: str) -> str:
    """The id of an agent.

    Args:
        agent: The agent.
    """
    return ODD_ID if agent == ODD else STUBS[agent]
