"""The rollback contract: creation and resume as transactions, ownership, and the one teardown of an agent.

Two ids, a plugin and agents that own others, a storage that asks the suite, and functions of the suite wherever a
transaction or a teardown calls one. Whatever happens to a transaction, at whichever of its steps, either the agent is
live and announced, or nothing of it is left. A command is performed on a copy of the state first (`Calls`): so it is
known whether the clauses say what happens at all, and which cell of the grid is visited.
"""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from dshconform.contracts.inbox_commands import read_command
from dshconform.contracts.inbox_rows import Clauses, by
from dshconform.contracts.rollback_calls import Calls, inspected
from dshconform.contracts.rollback_choice import Standing
from dshconform.contracts.rollback_commands import IDS, STUB, model_of
from dshconform.contracts.rollback_grid import cells, way_to
from dshconform.contracts.rollback_reading import simpler
from dshconform.contracts.rollback_rows import Record, returned
from dshconform.contracts.rollback_state import OUTLIVES_ITS_COMMIT, OUTLIVES_ITS_OWNER, VARIANTS, State, Undecided
from dshconform.contracts.rollback_surroundings import Outcome
from dshconform.contracts.source import Source
from dshconform.protocol.json_value import Json, JsonMap
from dshconform.running.step import UNCHECKED, Expectation, Step
from dshconform.trace.rows import ExpectedRow


class RollbackModel:
    """The abstract state of a world with lives of agents.

    Args:
        switches: Variants in which the implementation is followed rather than the clause.
    """

    name: ClassVar[str] = "rollback"
    """The name of the contract."""
    profile: ClassVar[str] = "lifecycle"
    """The profile that an implementation must declare."""
    features: ClassVar[tuple[str, ...]] = ("stub-store",)
    """What it must declare besides."""
    variants: ClassVar[Mapping[str, str]] = VARIANTS
    """The departures that a ledger may turn on."""
    clauses: ClassVar[tuple[str, ...]] = (
        *("LIFE-CREATE-01", "LIFE-CREATE-02", "LIFE-CREATE-04"),
        *("LIFE-SETUP-01", "LIFE-SETUP-02", "LIFE-SETUP-03", "LIFE-SETUP-04"),
        *(f"LIFE-PUB-0{number}" for number in range(1, 10)),
        *(f"LIFE-ROLL-{number:02}" for number in range(1, 13)),
        *(f"LIFE-ABORT-0{number}" for number in range(1, 7)),
        *(f"LIFE-OWN-0{number}" for number in (1, 2, 3, 4, 5, 6, 8, 9)),
        "LIFE-OWN-11",
        *(f"LIFE-DISP-{number:02}" for number in range(1, 25) if number != 22),  # noqa: PLR2004 - not over the wire
        *(f"LIFE-RES-0{number}" for number in (1, 2, 3, 5, 6, 7, 8, 9)),
        *("FACT-SET-02", "REG-READ-01", "REG-READ-03", "REG-DET-01"),
        *("AGENT-STATUS-01", "AGENT-STATUS-03", "AGENT-STATUS-04", "AGENT-SEND-01", "AGENT-SEND-04"),
        *("INBOX-CLAIM-01", "INBOX-CLAIM-02", "LOOP-OPEN-01", "LOOP-OPEN-02", "LOOP-PRE-01", "LOG-EVT-02"),
        *("CANCEL-CAUSE-01", "CANCEL-STREAM-01", "CANCEL-IDLE-02"),
        *("WAKE-DISP-02", "MAINT-START-01", "MAINT-RES-01", "MAINT-LATCH-01"),
    )
    """Every clause that its expectations cite."""
    cells: ClassVar[tuple[str, ...]] = cells()
    """Every cell that a command can visit."""

    def __init__(self, switches: frozenset[str] = frozenset()) -> None:
        self.departed: list[str] = []
        """The variants that the last command took."""
        self._state = State()
        self._standing: Standing | None = None
        self._trial: tuple[JsonMap, tuple[Calls, Outcome] | None] | None = None
        self._switches = switches

    def opening(self) -> list[Step]:
        """A world with a storage that asks, a model for each id, two signals, and what can be registered as `b`."""
        load: JsonMap = {"$fn": "load", "do": "gate", "abort": "manual"}
        persistence: JsonMap = {"kind": "stub", "load": load, "release": {"$fn": "release"}}
        return [
            Step("world.open", {"config": {"persistence": persistence}}),
            *(Step("model.register", _model(identity)) for identity in IDS),
            *(Step("signal.new", {"signal": signal}) for signal in self._state.signals),
            Step("session.prepare", {"session": "prepared", "id": "b"}),
            Step("registry.stub", {"agent": STUB, "id": "b", "session": "prepared"}),
        ]

    def prologues(self) -> list[list[JsonMap]]:
        """One for each cell of the grid."""
        return [way_to(cell) for cell in self.cells]

    def propose(self, source: Source) -> JsonMap:
        """Choose a legal command.

        Args:
            source: Where choices come from.
        """
        if self._standing is None:
            self._standing = Standing(source)
        return self._standing.choose(source, self._state, self.legal)

    def legal(self, command: JsonMap) -> bool:
        """Whether the clauses say what a command does now.

        Raises:
            CommandError: It is no command of this contract.
        """
        return self._tried(command) is not None

    def cell(self, command: JsonMap) -> str | None:
        """What a command is about, as the grid has it."""
        calls = self._tried(command)
        visited = [] if calls is None else calls[0].record.cells
        return next((cell for cell in reversed(visited) if not cell.endswith("passes")), next(reversed(visited), None))

    def apply(self, command: JsonMap) -> list[Step]:
        """Advance by a legal command and answer its step, behind which both registries are looked at."""
        tried = self._tried(command)
        assert tried is not None, f"{command} is not legal"
        calls, outcome = tried
        self._state, self._trial = calls.state, None
        record = calls.record
        self.departed = list(dict.fromkeys(record.departed))
        last = record.last
        chosen = last if {OUTLIVES_ITS_OWNER, OUTLIVES_ITS_COMMIT} & {*record.departed} else 0
        op, args = read_command(command)
        if record.inside:
            return [_inside(op, args, record, outcome), self._look(calls)]
        expect = Expectation(
            clauses=record.answers or record.after,
            after=record.after,
            result=outcome.get("result", UNCHECKED),
            error=_object(outcome.get("error")),
            rows=record.list_of(chosen),
            otherwise=tuple(record.list_of(number) for number in range(1, last + 1)) if chosen == 0 else (),
            only=record.only,
            strands=record.strands,
            surplus=record.strands.surplus,
        )
        return [Step(op, args, expect), self._look(calls)]

    def simpler(self, command: JsonMap) -> list[JsonMap]:
        """Commands that say less than this one.

        Args:
            command: A command that led to a difference.
        """
        return simpler(command)

    def tidied(self, commands: Sequence[JsonMap]) -> list[JsonMap]:
        """The same commands: their names say already what is whose."""
        return list(commands)

    # ------------------------------------------------------------------ trying

    def _tried(self, command: JsonMap) -> tuple[Calls, Outcome] | None:
        """A command, performed on a copy of the state; nothing where the clauses leave open what it does."""
        if self._trial is None or self._trial[0] is not command:
            calls = Calls(self._state.copy(), self._switches)
            try:
                self._trial = command, (calls, calls.perform(*read_command(command)))
            except Undecided:
                self._trial = command, None
        return self._trial[1]

    def _look(self, calls: Calls) -> Step:
        """A look at both registries, and at the agents that are registered."""
        state, blame = calls.state, calls.record.blame
        do: list[Json] = []
        shown: list[Json] = []

        def ask(clauses: Clauses, result: Json, op: str, **args: Json) -> None:
            do.append({"op": op, "args": args})
            shown.append({"result": by(clauses, result)})

        for identity in IDS:
            clauses = (*blame.get(identity, ()), "LIFE-CREATE-01")
            ask(clauses, state.store.get(identity), "session.get", id=identity)
            ask(clauses, state.registry.get(identity), "registry.get", id=identity)
        names = list(state.registry.values())
        ask(("REG-READ-01",), list(names), "registry.list")
        lives = [state.lives[name] for name in names if name in state.lives]
        roots: list[Json] = [name for name in names if name not in state.lives or not state.owning(state.lives[name])]
        lineage: Clauses = ("LIFE-OWN-05",) if any(life.lineage and not state.owning(life) for life in lives) else ()
        ask((*lineage, "LIFE-OWN-04", "REG-READ-01"), roots, "registry.roots")
        for owner in lives:
            for identity in (one for one in IDS if one != owner.identity):
                owned = state.lives.get(state.registry.get(identity, ""))
                clauses = ("REG-READ-03",) if owned is None else (*lineage, "LIFE-OWN-04", "REG-READ-03")
                answer = owned is not None and owned.owner == owner.handle
                ask(clauses, answer, "registry.owns", id=identity, owner=owner.handle)
            clauses = (*blame.get(owner.identity, ()), "AGENT-STATUS-01")
            ask(clauses, inspected(owner), "agent.inspect", agent=owner.handle)
        return Step("burst", {"do": do}, Expectation(clauses=("REG-READ-01",), result=shown))


def _inside(op: str, args: JsonMap, record: Record, outcome: Outcome) -> Step:
    """A call inside a function that waits for it: there it is all the same whether it fails at once or later.

    What is looked at beside its outcome is that nothing is published; where nothing is said of that, no more than this.
    """
    given = {name: value for name, value in args.items() if name != "task"}
    script: JsonMap = {"op": op, "args": given, **({"await": True} if "task" in args else {})}
    rows: tuple[ExpectedRow, ...] = ()
    only = record.only
    if outcome:
        rows = (ExpectedRow(returned(op, outcome, at="0"), record.after),)
        only = only - {"return", "task"} | {f"return {op}"}
    return Step("run", {"task": "inside", "do": [script]}, Expectation(clauses=record.after, rows=rows, only=only))


def _object(pattern: Json) -> JsonMap | None:
    return pattern if isinstance(pattern, Mapping) else None


def _model(identity: str) -> JsonMap:
    stream: JsonMap = {"$fn": model_of(identity), "do": "gate", "abort": "manual"}
    return {"as": f"m.{identity}", "routes": [f"mock-{identity}"], "stream": stream}
