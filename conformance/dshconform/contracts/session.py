"""The session contract: logs that are written by hand, the surface, the store with its lives, forks and flushes.

There is no agent: the suite makes sessions, enters, announces and detaches them, appends well-formed events and others,
and its listeners answer each notification with commands of their own. The model is written from the clauses alone. What
a command does is in `session_store`, what becomes of an append in `session_appends`.
"""

from collections.abc import Mapping, Sequence
from typing import ClassVar, Final

from dshconform.contracts import session_calls
from dshconform.contracts.inbox_commands import read_command
from dshconform.contracts.inbox_rows import by, return_row
from dshconform.contracts.model import Model
from dshconform.contracts.script_calls import Outcome, tidied
from dshconform.contracts.session_choice import Standing
from dshconform.contracts.session_commands import FLUSH, LIST, READ, SEEDS, read
from dshconform.contracts.session_grid import CELLS, PROLOGUES
from dshconform.contracts.session_state import AbstractSession, view
from dshconform.contracts.session_store import AbstractStore
from dshconform.contracts.source import Source
from dshconform.protocol.json_value import Json, JsonMap
from dshconform.running.step import Expectation, Step

_LOOK: Final = ("seq", "nodes", "replaceGeneration", "messages")
_MOVES: Final = frozenset({"session.create", "session.prepare", "session.fork", "session.enter", "session.announce"})
"""What may change who is in the store; a detach may as well."""

_MADE: Final = frozenset({"session.create", "session.prepare", "session.fork"})


class SessionModel(Model):
    """The abstract state of a store and its sessions.

    Args:
        switches: None.
    """

    name: ClassVar[str] = "session"
    profile: ClassVar[str] = "session"
    variants: ClassVar[Mapping[str, str]] = {}
    clauses: ClassVar[tuple[str, ...]] = (
        *("LOG-ENV-01", "LOG-ENV-02", "LOG-ENV-04", "LOG-JSON-02", "LOG-IMM-04", "PATTERN-EXT-02"),
        *("LOG-APPEND-01", "LOG-APPEND-02", "LOG-APPEND-03", "LOG-APPEND-04", "LOG-APPEND-05"),
        *("LOG-OBS-01", "LOG-OBS-02", "LOG-OBS-03", "LOG-OBS-04", "LOG-OBS-06", "LOG-OBS-07"),
        *(f"SURF-OP-0{number}" for number in range(1, 9)),
        *(f"SURF-SRC-0{number}" for number in range(1, 6)),
        *("SURF-TOOL-01", "SURF-TOOL-02", "DERIVE-PROJ-01", "DERIVE-PROJ-04"),
        *("STORE-ID-01", "STORE-ID-02", "STORE-ID-03", "STORE-ID-04"),
        *(f"STORE-LIFE-{number:02}" for number in (*range(1, 11), 12)),
        *(f"STORE-FLUSH-0{number}" for number in range(1, 6)),
        *("FORK-CUT-01", "FORK-CUT-02", "FORK-CUT-03", "FORK-CHILD-01", "FORK-CHILD-02"),
        *("FORK-ERR-01", "FORK-ERR-02", "FORK-ERR-03", "FORK-ERR-04", "SEED-MARK-01", "SEED-MARK-03", "SEED-MARK-04"),
    )
    cells: ClassVar[tuple[str, ...]] = CELLS

    def __init__(self, switches: frozenset[str] = frozenset()) -> None:
        del switches
        self.departed: list[str] = []
        self._store = AbstractStore()
        self._standing: Standing | None = None

    @property
    def store(self) -> AbstractStore:
        """The abstract store, to be looked at."""
        return self._store

    def opening(self) -> list[Step]:
        """A world without sessions and listeners."""
        return [Step("world.open", {})]

    def prologues(self) -> list[list[JsonMap]]:
        """The lists that together visit every cell."""
        return [list(prologue) for prologue in PROLOGUES]

    def propose(self, source: Source) -> JsonMap:
        """Choose a legal command."""
        if self._standing is None:
            self._standing = Standing(source)
        proposed = self._standing(source, self._store)
        return proposed if self.legal(proposed) else LIST

    def legal(self, command: JsonMap) -> bool:
        """Whether the clauses say what a command does now.

        Raises:
            CommandError: It is no command of this contract.
        """
        return session_calls.legal(self._store, *read_command(command))

    def cell(self, command: JsonMap) -> str | None:
        """The cell of the grid that a legal command visits in this state; none where the grid says nothing of it."""
        return session_calls.cell(self._store, *read_command(command))

    def apply(self, command: JsonMap) -> list[Step]:
        """Advance by a legal command; the steps are the command, and looks at what it may have changed."""
        store = self._store
        op, args = read_command(command)
        store.rows, store.later = [], []
        outcome = store.perform(op, args)
        clauses = outcome.clauses or ("LOG-OBS-01",)
        back = [] if op in session_calls.ANSWERS else [return_row(op, clauses)]
        expect = Expectation(
            clauses=clauses,
            result=outcome.result,
            error=outcome.error,
            rows=(*store.rows, *back, *store.later),
            open=tuple(FLUSH for flush in store.flushes for _ in flush.waiting),
        )
        return [Step(op, args, expect), *self._looks(op, args, outcome)]

    def simpler(self, command: JsonMap) -> list[JsonMap]:
        """The same with a plainer seed, or with a listener that stands at the end."""
        op, args = read_command(command)
        seed = args.get("seed")
        plainer: list[JsonMap] = [{key: value for key, value in args.items() if key not in {"seed", "prepend"}}]
        if seed and seed != SEEDS["noted"]:
            plainer += [{**args, "seed": SEEDS[name]} for name in ("empty", "noted")]
        return [{"do": op, "args": one} for one in plainer if one != args]

    def tidied(self, commands: Sequence[JsonMap]) -> list[JsonMap]:
        """The same commands, what they name called in order of appearance."""
        return tidied(commands, _NAMING)

    def _looks(self, op: str, args: JsonMap, outcome: Outcome) -> list[Step]:
        store = self._store
        if op == "session.append":
            return [_look(store.sessions[str(args["session"])], refused=outcome.error is not None)]
        if op not in _MOVES and args.get("of") not in store.leaves:
            return []
        names: list[Json] = [one.name for one in store.live.values()]
        listed = Step("session.list", {}, Expectation(clauses=("STORE-ID-03", *outcome.clauses), result=names))
        made = store.sessions.get(str(args["session"])) if op in _MADE else None
        source = store.sessions.get(str(args.get("source")))
        whole = [] if made is None or not made.events else [_look(made, READ)]
        return [listed, *whole, *([] if source is None else [_look(source)])]


_NAMING: Final[Mapping[str, str]] = {
    "session": "s",
    "source": "s",
    "task": "t",
    "as": "l",
    "of": "l",
    "$fn": "l",
    "part": "l",
}
"""The members that name something, each with the letter for what it names."""


def _look(session: AbstractSession, views: Sequence[str] = _LOOK, *, refused: bool = False) -> Step:
    """A look at a session, which must be as the model has it; a refused append has changed nothing."""
    result: dict[str, Json] = {}
    for what in views:
        clauses, shown = view(session, what)
        result[what] = by(("LOG-APPEND-01",) if refused else clauses, shown)
    op, args = read_command(read(session.name, views))
    return Step(op, args, Expectation(clauses=("DERIVE-PROJ-01",), result=result))
