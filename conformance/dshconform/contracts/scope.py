"""The scope contract: who sees what and hears what through which context, and with whom it ends (sheet 20).

There is no agent and no part of a composition: a plugin that mints scopes, a layered table, a chain of keys with one
beside it. Through contexts in every state of their owners things are registered, ended and dispatched, from outside and
by listeners. The model is written from the clauses alone: what there is, is in `scope_state`, and what commands do to
it in `scope_world`.
"""

from collections.abc import Mapping, Sequence
from typing import ClassVar, Final

from dshconform.contracts import scope_calls
from dshconform.contracts.inbox_commands import items_of, read_command
from dshconform.contracts.inbox_rows import return_row
from dshconform.contracts.model import Model
from dshconform.contracts.scope_choice import NOTHING, Standing
from dshconform.contracts.scope_commands import (
    KEYS,
    MINTER,
    OUTER,
    PARENTS,
    SCOPES,
    TABLE,
    TARGETS,
    adopted_in,
    bind,
    composite,
    mint,
)
from dshconform.contracts.scope_grid import CELLS, cell_of
from dshconform.contracts.scope_owners import VIEWED
from dshconform.contracts.scope_prologues import PROLOGUES
from dshconform.contracts.scope_rows import COMPARED, Strands
from dshconform.contracts.scope_world import ScopeWorld
from dshconform.contracts.source import Source
from dshconform.protocol.json_value import Json, JsonMap
from dshconform.running.step import Expectation, Step

_QUIET: Final = frozenset({"ctx.derive", "listen", "scope.of"})
"""What changes neither a view nor a link."""

_SCOPED: Final = frozenset({"scope.open", "owner.open", "ctx.derive"})


class ScopeModel(Model):
    """The abstract state of one world of scopes.

    Args:
        switches: None.
    """

    name: ClassVar[str] = "scopes"
    profile: ClassVar[str] = "context"
    features: ClassVar[tuple[str, ...]] = ("services",)
    variants: ClassVar[Mapping[str, str]] = {}
    cells: ClassVar[tuple[str, ...]] = CELLS
    clauses: ClassVar[tuple[str, ...]] = (
        *(f"SCOPE-MINT-0{number}" for number in range(1, 6)),
        *("SCOPE-TAG-01", "SCOPE-TAG-02", "SCOPE-TAG-03", "SCOPE-DEPS-01"),
        *(f"SCOPE-DISP-0{number}" for number in range(1, 7)),
        *(f"SCOPE-EVT-0{number}" for number in range(1, 8)),
        *("LAYER-EFF-05", "TRACE-OWNER-01", "TRACE-OWNER-02"),
        *("BIND-ONCE-01", "BIND-CYCLE-01", "BIND-REBIND-01", "BIND-REBIND-02", "BIND-REBIND-03"),
        *("BIND-MINT-01", "BIND-MINT-02"),
        *("CTX-TREE-01", "CTX-DEAD-01", "FIBER-MOUNT-03"),
        *("FIBER-DISP-02", "FIBER-DISP-03", "FIBER-DISP-05", "FIBER-DISP-06", "FIBER-DISP-10"),
        *("EFFECT-RUN-02", "EFFECT-SINGLE-01", "EFFECT-SINGLE-02"),
        *("EVT-ON-01", "EVT-ON-02", "EVT-ON-03", "EVT-ONCE-01", "EVT-SNAP-01", "EVT-SNAP-02"),
        *("EVT-FILT-01", "EVT-FILT-02", "EVT-NEST-01", "EVT-EMIT-01", "EVT-EMIT-02"),
        *("EVT-SER-01", "EVT-SER-02", "EVT-PAR-02", "EVT-WF-01", "EVT-WF-02", "EVT-WF-05"),
    )

    def __init__(self, switches: frozenset[str] = frozenset()) -> None:
        del switches
        self.departed: list[str] = []
        self.world = ScopeWorld()
        self._choice: Standing | None = None

    def opening(self) -> list[Step]:
        """The framework alone, with a table, the minter with its scopes, the links of the keys, and the receivers."""
        commands: list[tuple[str, JsonMap]] = [
            ("service.open", {"service": TABLE, "key": TABLE}),
            ("service.open", {"service": OUTER, "key": OUTER, "forwards": TABLE}),
            ("owner.open", {"owner": MINTER, "requires": [TABLE, OUTER]}),
            *(read_command(bind(f"link-{key}", key, parent)) for key, parent in PARENTS.items()),
            *(read_command(mint(name, key, MINTER)) for name, key in SCOPES.items()),
            *(("target.new", {"target": name, **given}) for name, given in TARGETS.items()),
        ]
        return [Step("world.open", {"config": {"bare": True}}), *(Step(op, args) for op, args in commands)]

    def prologues(self) -> list[list[JsonMap]]:
        """The lists that together reach every clause of the model and every cell of the grid."""
        return [list(prologue) for prologue in PROLOGUES]

    def propose(self, source: Source) -> JsonMap:
        """Choose a legal command."""
        if self._choice is None:
            self._choice = Standing(source)
        proposed = self._choice(source, self.world)
        return proposed if self.legal(proposed) else NOTHING

    def legal(self, command: JsonMap) -> bool:
        """Whether the clauses say what a command does now.

        Raises:
            CommandError: It is no command of this contract.
        """
        return scope_calls.legal(self.world, *read_command(command))

    def cell(self, command: JsonMap) -> str | None:
        """The cell of the grid that a legal command visits in this state; none where the grid says nothing of it."""
        return cell_of(self.world, *read_command(command))

    def apply(self, command: JsonMap) -> list[Step]:
        """Advance by a legal command; behind it, what all keys see and how they hang together is looked at."""
        op, args = read_command(command)
        world = self.world
        before = self._views(), self._chains()
        world.begin()
        done = world.perform(op, args)
        returned = [] if op == "gate.resolve" else [return_row(op, (*done.clauses, *done.deaf))]
        behind = world.behind()
        world.settle()
        strands = self._strands(op, args, behind)
        expect = Expectation(
            clauses=done.clauses,
            result=done.result,
            error=done.error,
            rows=(*world.rows, *returned, *world.late),
            only=COMPARED - world.unsaid,
            strands=strands,
            surplus=strands.surplus,
        )
        return [Step(op, args, expect), *(() if op in _QUIET else self._looks(*before)), *self._tagged(op, args)]

    def simpler(self, command: JsonMap) -> list[JsonMap]:
        """Each command of a burst by itself, the same without flags, and what does not wait or act."""
        op, args = read_command(command)
        if op == "burst":
            return [{"do": one, "args": given} for one, given in map(read_command, items_of(args))]
        adopted = adopted_in(args) if op == "effect" else None
        if adopted is not None:
            plain = composite(str(args["as"]), "root", adopted)
            return [] if plain["args"] == args else [plain]
        plainer: list[JsonMap] = [{key: value for key, value in args.items() if key != flag} for flag in _FLAGS]
        undoes = args.get("undo")
        if isinstance(undoes, Mapping) and "do" in undoes:
            plainer.append({**args, "undo": {"$fn": undoes["$fn"]}})
        function = args.get("fn")
        if isinstance(function, Mapping) and ("do" not in function or function["do"]):
            plainer.append({**args, "fn": {"$fn": args["as"], "do": []}})
        if args.get("mode") in {"serial", "parallel"}:
            plainer.append({**args, "mode": "emit"})
        return [{"do": op, "args": one} for one in plainer if one != args]

    def tidied(self, commands: Sequence[JsonMap]) -> list[JsonMap]:
        """The same commands; their names are plain as they are."""
        return list(commands)

    # ------------------------------------------------------------------ looking

    def _views(self) -> list[list[Json]]:
        return [self.world.view(key) for key in VIEWED]

    def _chains(self) -> list[list[str]]:
        return [self.world.keys.chain(key) for key in KEYS]

    def _looks(self, views: list[list[Json]], chains: list[list[str]]) -> list[Step]:
        """A look at what may have changed: each view and each chain of which a clause says something now."""
        world, found = self.world, list[Step]()
        for key, before, now in zip(VIEWED, views, self._views(), strict=True):
            kept = (world.outside if key is None else ()) or world.kept
            clauses = kept if before == now else (*world.changed, *(world.kept if now else ()))
            if clauses:
                scope: JsonMap = {} if key is None else {"scope": key}
                expect = Expectation(clauses=clauses, result=now)
                found.append(Step("service.view", {"service": TABLE, **scope}, expect, probe=True))
        for key, old, new in zip(KEYS, chains, self._chains(), strict=True):
            clauses = world.changed if old != new else world.kept
            if clauses:
                chain: list[Json] = [*new]
                found.append(Step("scope.chain", {"key": key}, Expectation(clauses=clauses, result=chain), probe=True))
        return found

    def _tagged(self, op: str, args: JsonMap) -> list[Step]:
        """A look at the tag of a context that is new."""
        name = str(args.get("scope", args.get("owner", args.get("context"))))
        if op not in _SCOPED or name not in self.world.contexts:
            return []
        expect = Expectation(clauses=("SCOPE-TAG-01",), result=self.world.contexts[name].tag)
        return [Step("scope.of", {"in": name}, expect, probe=True)]

    def _strands(self, op: str, args: JsonMap, behind: Mapping[str, frozenset[str]]) -> Strands:
        world = self.world
        return Strands(
            owners=world.owners(),
            composites=world.places(),
            behind=behind,
            first=world.surplus(args),
            later=op == "dispatch" and args.get("mode") == "serial",
        )


_FLAGS: Final = ("in", "once", "global", "prepend", "to")
