"""The abstract state of the initiator contract: places with their initiators, agents that run, and the closing.

A place is where commands can be given: outside of everything, or inside a call of a function that waits. What is called
from a place, or started there, gets the place's initiator, unless a boundary or a driver stands between.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from dshconform.contracts import initiator_commands as write
from dshconform.contracts.inbox_rows import Clauses
from dshconform.contracts.initiator_commands import AGENTS, GATE, PRE_STEP, TOOL, items_of, of_call, of_driver, waits
from dshconform.contracts.script_calls import BROKEN, actions_of, together
from dshconform.contracts.session_state import exactly, members_of
from dshconform.protocol.json_value import Json, JsonMap
from dshconform.trace.rows import ExpectedRow

_NOBODY: Final = "no initiating agent is active"
_CLOSED: Final = "agent initiator scope is disposed"

Spec: TypeAlias = JsonMap | None
"""How a command names a place; nothing is outside."""


@dataclass(slots=True, eq=False)
class Boundary:
    """An open boundary, or one that has settled."""

    settled: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """Where commands can be given.

    Args:
        name: What the grid calls it.
        value: The initiator there.
        clauses: Who says so.
        within: The boundaries that it is directly in, the innermost last; nothing where other work stands between,
            since of a closing that such work begins the clauses do not say whom it waits for.
    """

    name: str
    value: str | None
    clauses: Clauses
    within: tuple[Boundary, ...] | None = None


_OUTSIDE: Final = Place("outside", None, ("INIT-READ-01",), ())


@dataclass(frozen=True, slots=True, eq=False)
class Gate:
    """A call that waits for the suite.

    Args:
        kind: Of its function.
        spec: How commands name it.
        place: What is read inside.
        part: The function.
        task: What settles with it.
        agent: Whom it is about.
        boundary: What ends with it.
    """

    kind: str
    spec: JsonMap
    place: Place
    part: str
    task: str | None = None
    agent: str | None = None
    boundary: Boundary | None = None


@dataclass(slots=True, eq=False)
class Agent:
    """An agent that is live.

    Args:
        busy: `maintenance`, or where its turn waits; nothing when it is idle.
        cancelled: Whether its turn is.
        latched: Whether it is woken again when that ends.
        sender: The initiator of whoever woke it.
    """

    busy: str | None = None
    cancelled: bool = False
    latched: bool = False
    sender: str | None = None


@dataclass(slots=True, eq=False)
class AbstractInitiators:
    """Who causes what, in one world.

    Args:
        agents: By name.
        gates: The calls that wait, in order.
        boundaries: Those that are open.
        closing: The task of the registry's closing, once it has begun.
        exempt: The boundaries that it does not wait for.
        closed: Whether it is over.
        used: Names that were given.
        rows: What must be seen, since the last command.
    """

    agents: dict[str, Agent] = field(default_factory=lambda: {name: Agent() for name in AGENTS})
    gates: list[Gate] = field(default_factory=list)
    boundaries: list[Boundary] = field(default_factory=list)
    closing: str | None = None
    exempt: tuple[Boundary, ...] = ()
    closed: bool = False
    used: set[str] = field(default_factory=lambda: set(AGENTS))
    rows: list[ExpectedRow] = field(default_factory=list)

    # ------------------------------------------------------------------ what is there

    def gate(self, spec: Json) -> Gate | None:
        """The call that a command names.

        Args:
            spec: As a command names a gate.
        """
        return next((gate for gate in self.gates if gate.spec == spec), None)

    def place(self, spec: Json) -> Place | None:
        """The place that a command names.

        Args:
            spec: As a command names a gate; none for outside of any.
        """
        if spec is None:
            return _OUTSIDE
        gate = self.gate(spec)
        return None if gate is None else gate.place

    def held(self, exempt: tuple[Boundary, ...]) -> bool:
        """Whether a closing that does not wait for some boundaries waits for others.

        Args:
            exempt: Those that it does not wait for.
        """
        return any(boundary not in exempt for boundary in self.boundaries)

    # ------------------------------------------------------------------ commands

    def perform(self, op: str, args: JsonMap) -> None:
        """Do a command.

        Args:
            op: The operation.
            args: Its arguments.
        """
        items = items_of(op, args)
        if op in {"gate.resolve", "gate.reject"} or items[0][0] == "gate.next":
            self._end(items[-1][0], items[-1][1])
            return
        spec = args.get("gate")
        gate, place = self.gate(spec), self.place(spec)
        assert place is not None, spec
        said: Clauses = ()
        for number, (what, given) in enumerate(items):
            at: JsonMap = {"at": str(number)} if gate is None else {"at": f"do.{number}", "part": gate.part}
            said = self._do(what, given, place, at, said)

    def _do(self, op: str, args: JsonMap, place: Place, at: JsonMap, said: Clauses) -> Clauses:
        """Do something at a place; who says what is read there next."""
        match op:
            case "initiator.current" | "initiator.require":
                self._read(op, place, at, said)
                return said
            case "initiator.run":
                return self._run(args, place, at)
            case "run":
                return self._start(args, place)
            case "agent.followup" | "agent.inject":
                self.used.add(str(members_of(args["message"])["id"]))
                return self._send(str(args["agent"]), place, waking=op == "agent.followup")
            case "agent.cancel":
                self.agents[str(args["agent"])].cancelled = True
            case "agent.create":
                return self._create(args, place)
            case "agent.maintain":
                return self._maintain(args, place)
            case _:
                assert op == "world.unload", op
                self.closing, self.exempt = str(args["task"]), place.within or ()
                self.used.add(self.closing)
                self._check_closed()
        return ()

    def _read(self, op: str, place: Place, at: JsonMap, said: Clauses = ()) -> None:
        row: dict[str, Json] = {"on": "return", "op": op, **at}
        clauses = together(said, place.clauses)
        if self.closed:
            row["error"], clauses = {"message": _CLOSED}, ("INIT-CLOSE-04",)
        elif op == "initiator.require" and place.value is None:
            row["error"] = {"message": _NOBODY}
        else:
            row["result"] = place.value
        if self.closing is not None and not self.closed:
            clauses = together(("INIT-CLOSE-02",), clauses)
        self.rows.append(ExpectedRow(row, clauses))

    def _told(self, part: str, value: str | None, clauses: Clauses) -> None:
        """A function of the suite reads the initiator when it is called."""
        self.rows.append(
            ExpectedRow({"on": "return", "op": "initiator.current", "part": part, "result": value}, clauses)
        )

    def _settled(self, task: str | None, how: JsonMap, clauses: Clauses) -> None:
        if task is not None:
            self.rows.append(ExpectedRow({"on": "task", "task": task, **how}, clauses))

    # ------------------------------------------------------------------ boundaries and work

    def _run(self, args: JsonMap, place: Place, at: JsonMap) -> Clauses:
        called = members_of(args["fn"])
        part, task = str(called["$fn"]), args.get("task")
        self.used |= {part, *([] if task is None else [str(task)])}
        row: dict[str, Json] = {"on": "return", "op": "initiator.run", **at}
        if self.closing is not None:
            row["error"] = {"message": _CLOSED}
            self.rows.append(ExpectedRow(row, ("INIT-CLOSE-01",)))
            return ()
        boundary = Boundary()
        inner = _inside(place, None if args["agent"] is None else str(args["agent"]), boundary)
        last = self._follow(actions_of(called), inner, part)
        match last.get("do"):
            case "throw":
                row["error"] = BROKEN
            case "return":
                row["result"] = exactly(last["value"])
            case "gate" | "reject":
                row["result"] = {"$value": "awaitable"}
            case _:
                row["result"] = None
        self.rows.append(ExpectedRow(row, ("INIT-READ-06",)))
        if last == GATE:
            self.boundaries.append(boundary)
            name = None if task is None else str(task)
            self.gates.append(Gate("boundary", of_call(part), inner, part, task=name, boundary=boundary))
        else:
            boundary.settled = True
            if last.get("do") == "reject":
                self._settled(None if task is None else str(task), {"error": BROKEN}, ("INIT-READ-06",))
        return ("INIT-READ-03",) if last.get("do") == "throw" else ("INIT-READ-02",)

    def _follow(self, script: Sequence[JsonMap], place: Place, part: str) -> JsonMap:
        """Follow a script; its last action."""
        said: Clauses = ()
        for number, one in enumerate(script):
            if "op" in one:
                at: JsonMap = {"at": str(number), "part": part}
                said = self._do(str(one["op"]), members_of(one.get("args", {})), place, at, said)
        return script[-1]

    def _start(self, args: JsonMap, place: Place) -> Clauses:
        """Work begins that nobody waits for."""
        task = str(args["task"])
        self.used.add(task)
        name = "causeless work" if place.value is None else "work"
        inner = Place(name, place.value, ("INIT-READ-05",))
        self._told(task, place.value, inner.clauses)
        self.gates.append(Gate("run", of_call(task), inner, task, task=task))
        return ()

    # ------------------------------------------------------------------ agents

    def _create(self, args: JsonMap, place: Place) -> Clauses:
        agent, task, setup = str(args["agent"]), str(args["task"]), members_of(args["setup"])
        part = str(setup["$fn"])
        self.used |= {agent, task, part}
        inner = Place("setup" if place.value is None else "caused setup", place.value, ("INIT-DRIVE-04",))
        self._told(part, place.value, inner.clauses)
        gate = Gate(write.SETUP, of_call(part), inner, part, task=task, agent=agent)
        if waits(setup):
            self.gates.append(gate)
        else:
            self._publish(gate)
        return ("INIT-DRIVE-04",)

    def _publish(self, gate: Gate) -> None:
        """The setup of an agent is over."""
        assert gate.agent is not None
        for part in ("announced", "created", "started"):
            self._told(part, gate.place.value, ("INIT-DRIVE-04",))
        self.agents[gate.agent] = Agent()
        self._settled(gate.task, {"value": gate.agent}, ("INIT-DRIVE-04",))

    def _maintain(self, args: JsonMap, place: Place) -> Clauses:
        agent, task, job = str(args["agent"]), str(args["task"]), members_of(args["fn"])
        part = str(job["$fn"])
        self.used |= {task, part}
        name = "maintenance" if place.value is None else "caused maintenance"
        inner = Place(name, place.value, ("INIT-DRIVE-04",))
        self._told(part, place.value, inner.clauses)
        if waits(job):
            self.agents[agent].busy = "maintenance"
            self.gates.append(Gate("maintenance", of_call(part), inner, part, task=task, agent=agent))
        else:
            self._settled(task, {}, ("INIT-DRIVE-04",))
        return ("INIT-DRIVE-04",)

    def _send(self, name: str, place: Place, *, waking: bool) -> Clauses:
        agent = self.agents[name]
        self._told("inserted", place.value, ("INIT-DRIVE-02",))
        if not waking:
            return ("INIT-DRIVE-02",)
        if agent.busy is not None:
            agent.latched = True
            return ("INIT-DRIVE-02",)
        agent.sender = place.value
        self._told("runs", place.value, ("INIT-DRIVE-02", "LOOP-INIT-01"))
        self._open_turn(name)
        return ("INIT-DRIVE-02", "INIT-DRIVE-03")

    def _open_turn(self, name: str) -> None:
        agent = self.agents[name]
        self._drives(name, "opens")
        agent.busy, agent.cancelled, agent.latched = PRE_STEP, False, False
        self._wait(name, PRE_STEP, "pre")

    def _wait(self, name: str, kind: str, part: str) -> None:
        clauses: Clauses = together(("LOOP-INIT-01",), self._clauses_of(name))
        place = Place("pre-step" if kind == PRE_STEP else "tool", name, clauses)
        self.gates.append(Gate(kind, of_driver(kind, name), place, part, agent=name))

    def _clauses_of(self, name: str) -> Clauses:
        """Who says that a turn reads its own agent: it is the affair of INIT-DRIVE-03 if another agent woke it."""
        woken: Clauses = ("INIT-DRIVE-03",) if self.agents[name].sender not in {None, name} else ()
        return (*woken, "INIT-DRIVE-01", "LOOP-INIT-01")

    def _drives(self, name: str, *parts: str) -> None:
        for part in parts:
            self._told(part, name, self._clauses_of(name))

    # ------------------------------------------------------------------ endings

    def _end(self, op: str, args: JsonMap) -> None:
        """A call that waits is ended, and what it held goes on."""
        gate = self.gate(args["gate"])
        assert gate is not None
        self.gates.remove(gate)
        how: JsonMap = {"error": BROKEN} if op == "gate.reject" else {"value": exactly(args.get("value"))}
        match gate.kind:
            case "boundary":
                assert gate.boundary is not None
                gate.boundary.settled = True
                self.boundaries.remove(gate.boundary)
                self._settled(gate.task, how, ("INIT-READ-06",))
                self._check_closed()
            case "run":
                self._settled(gate.task, how, ("INIT-READ-05",))
            case write.SETUP:
                self._publish(gate)
            case "maintenance":
                assert gate.agent is not None
                self.agents[gate.agent].busy = None
                self._settled(gate.task, how, ("INIT-DRIVE-04",))
            case _:
                assert gate.agent is not None
                self._go_on(gate.agent)

    def _go_on(self, name: str) -> None:
        """A turn goes on to its tool, or to its end."""
        agent = self.agents[name]
        if agent.busy == PRE_STEP and not agent.cancelled:
            self._drives(name, "steps", "asks", "model")
            agent.busy = TOOL
            self._wait(name, TOOL, "tool")
            return
        if agent.busy == TOOL:
            self._drives(name, "step ends")
        if not agent.cancelled:
            self._drives(name, "stops")
        self._drives(name, "ends", "idles")
        agent.busy, agent.cancelled = None, False
        if agent.latched:
            self._told("runs", name, ("INIT-DRIVE-02", "LOOP-INIT-01"))
            agent.sender = name
            self._open_turn(name)

    def _check_closed(self) -> None:
        if self.closing is not None and not self.closed and not self.held(self.exempt):
            self.closed = True
            clauses: Clauses = ("INIT-CLOSE-05", "INIT-CLOSE-03") if self.exempt else ("INIT-CLOSE-03",)
            self._settled(self.closing, {}, clauses)


def _inside(place: Place, value: str | None, boundary: Boundary) -> Place:
    """What is read inside a boundary."""
    within = None if place.within is None else (*place.within, boundary)
    nested = "nested " if place.value is not None else ""
    if value is None:
        return Place(f"{nested}clearing", None, ("INIT-READ-04",), within)
    clauses: Clauses = ("INIT-READ-02", "INIT-READ-03") if nested else ("INIT-READ-02",)
    return Place(f"{nested}boundary", value, clauses, within)


@dataclass(frozen=True, slots=True)
class Strands:
    """What each function reads is a matter of its own: nothing is said here of who is called first.

    Args:
        closing: The task of the registry's end, if that was begun.
    """

    closing: str | None

    def __call__(self, rows: Sequence[JsonMap]) -> Sequence[Sequence[str]]:
        """The function, or the task, that a row tells of.

        Args:
            rows: Rows of one command.
        """
        return [[str(row.get("part", row.get("task", "")))] for row in rows]

    def surplus(self, row: JsonMap, _: Sequence[ExpectedRow]) -> Clauses:
        """Who says first that a row may not come now: only of the end of a closing, what it has to wait for.

        Args:
            row: One that is not demanded.

        Returns:
            The clauses that say so.
        """
        too_early = self.closing is not None and row.get("task") == self.closing
        return ("INIT-CLOSE-03",) if too_early else ()
