"""The grid of the scope contract.

Three products: what is registered, through which kind of context, in which state of its owner; who hears what mode of
dispatch, by how the newest listener stands to the key and in which state its owner is; and what ends, by its state. To
them come entries by layer and by what they hide, links by what becomes of them, what listeners do, and what happens in
one stretch.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Final, Literal, TypeAlias

from dshconform.contracts.grid import spelled
from dshconform.contracts.inbox_commands import items_of, read_command
from dshconform.contracts.scope_calls import REGISTERS
from dshconform.contracts.scope_commands import (
    ENDINGS,
    HEARS,
    KEYS,
    MINTER,
    MODES,
    REJECTS,
    THROWS,
    adopted_in,
    part_in,
    where_in,
)
from dshconform.contracts.scope_state import Context, Item, State, receiver, relation
from dshconform.contracts.scope_world import ScopeWorld
from dshconform.protocol.json_value import JsonMap

Owner: TypeAlias = Literal["plugin", "plugin under a scope", "scope", "scope in a scope", "derived"]
"""What something is registered through, in the words of the grid."""

STATES: Final[Mapping[Owner, tuple[State, ...]]] = {
    "plugin": ("waiting", "loading", "active", "leaving", "ending", "gone"),
    "plugin under a scope": ("waiting", "loading", "active", "leaving", "ending", "gone"),
    "scope": ("active", "ending", "gone"),
    "scope in a scope": ("active", "ending", "gone"),
    "derived": ("active", "ending", "gone"),
}
"""The states in which the grid looks at each."""
_REGISTRATIONS: Final = ("effect", "listen", "add", "mint", "mount", "composite")
RELATIONS: Final[Mapping[str, tuple[str | None, str | None]]] = {
    "own": ("C", "to-c"),
    "parent": ("B", "to-c"),
    "far": ("A", "to-c"),
    "below": ("C", "to-b"),
    "beside": ("D", "to-c"),
    "no key": ("C", "to-none"),
    "untagged": (MINTER, "to-c"),
    "everybody": ("C", None),
    "untagged everybody": (MINTER, "bare"),
    "global": ("D", "to-c"),
    "refused": ("C", "no-c"),
}
"""By how a listener stands to what an event is sent to: whose plugin it is of, and the receiver."""

_LAYERS: Final[Mapping[str | None, str]] = {
    None: "global",
    "a": "far",
    "b": "parent",
    "c": "own",
    "d": "beside",
    "e": "alone",
}
_NOTHING_HIDDEN: Final = ("global", "uncovers")
DOINGS: Final = (*ENDINGS, THROWS, REJECTS)
"""What a listener can do."""
NO_TASK: Final = ("waterfall", REJECTS)
"""A mode, and what no listener does in it: what the dispatch answers then is told by a task, in no cell."""
ACTS: Final = ("registers", "adds", "mints", "removes", "ends", "moves", "dispatches", "looks")
"""What a listener can do to the world while an event is dispatched."""
ADOPTED: Final = ("scope", "wrapper", "entry")
"""What a composite can hand over."""
_AT_ONCE: Final = ("effect", "listen", "add", "mint", "dispatch", "end")
_FRESH: Final = ("effect", "listen", "add", "mint", "mount")


def _cells() -> Iterator[str]:
    for owner, states in STATES.items():
        for state, what in product(states, _REGISTRATIONS):
            if not _unsaid(owner, state, what):
                yield spelled(what, owner, state)
        yield from (spelled("end", owner, state) for state in states if owner != "derived")
    yield from (spelled(what, "root", "active") for what in _REGISTRATIONS if what != "add")
    yield from (spelled(*cell) for cell in product(MODES, RELATIONS, STATES["plugin"]))
    yield from (
        spelled(mode, "a listener", doing) for mode, doing in product(MODES, DOINGS) if (mode, doing) != NO_TASK
    )
    yield from (spelled(mode, "a listener", act) for mode, act in product(MODES, ACTS))
    for name in _LAYERS.values():
        yield from (spelled("add", name, how) for how in _hows(name))
        yield from (spelled("remove", name, how) for how in ("uncovers", "leaves") if (name, how) != _NOTHING_HIDDEN)
    yield from (spelled("remove", what, "again") for what in ("entry", "listener", "effect"))
    yield from (spelled("remove", what) for what in ("listener", "effect", "gated effect"))
    yield from (spelled("remove", "composite", adopted) for adopted in ADOPTED)
    yield from (spelled("raw end", state) for state in STATES["scope"])
    yield from (spelled("close", "behind the raw disposer", state) for state in ("ending", "gone"))
    yield from (spelled("release", what) for what in ("body", "body of one that leaves", "undo"))
    yield from (spelled("bind", how) for how in ("free", "bound", "cycle", "bound cycle"))
    yield from (spelled("rebind", how) for how in ("another", "the same", "cycle"))
    yield from (spelled("mint with a parent", how) for how in ("free", "bound", "cycle"))
    yield from (spelled("tag", kind) for kind in ("root", *STATES))
    yield from (spelled("minted", what) for what in _FRESH)
    yield from (spelled("ended", what) for what in _AT_ONCE)


def _unsaid(owner: Owner, state: State, what: str) -> bool:
    """Whether it is no cell: a service that cannot be found, or an entry of which more is said by its layer."""
    if owner in {"scope", "scope in a scope"}:
        return what == "add" and state == "active"
    return what == "add" and owner != "derived" and state in {"waiting", "gone"}


def _hows(layer: str) -> Sequence[str]:
    return {"global": ("is new", "lies hidden"), "own": ("is new", "hides")}.get(
        layer, ("is new", "hides") if layer in {"beside", "alone"} else ("is new", "hides", "lies hidden")
    )


# ---------------------------------------------------------------------- which cell


def cell_of(world: ScopeWorld, op: str, args: JsonMap) -> str | None:
    """The cell that a legal command visits, if it visits one.

    Args:
        world: Its state before the command.
        op: The operation.
        args: Its arguments.
    """
    match op:
        case "burst":
            (first, _), (then, _) = (read_command(item) for item in items_of(args))
            if first == "scope.open":
                return spelled("minted", _REGISTERED[then])
            return spelled("ended", _REGISTERED.get(then, "dispatch" if then == "dispatch" else "end"))
        case "dispatch":
            return _cell_of_dispatch(world, args)
        case "scope.bind" | "scope.rebind":
            return _cell_of_link(world, op, args)
        case "gate.resolve":
            part = part_in(args)
            if not part.startswith("body "):
                return spelled("release", "undo")
            leaves = world.fiber(part.removeprefix("body ")).state == "leaving"
            return spelled("release", "body of one that leaves" if leaves else "body")
        case "scope.of":
            return spelled("tag", kind_of(world.contexts[where_in(args)]))
        case "undo":
            return _cell_of_undo(world, world.items[str(args["of"])])
        case "scope.close" | "owner.close":
            return _cell_of_end(world, str(args.get("scope", args.get("owner"))))
        case "scope.open" if "parent" in args:
            return spelled("mint with a parent", _linked(world, str(args["key"]), str(args["parent"])).split()[0])
        case _ if op in REGISTERS:
            return _cell_of_registration(world, op, args)
        case _:
            return None


_REGISTERED: Final[Mapping[str, str]] = {
    "effect": "effect",
    "listen": "listen",
    "service.add": "add",
    "scope.open": "mint",
    "owner.open": "mount",
}


def kind_of(context: Context) -> str:
    """What the grid calls a context."""
    fiber = context.fiber
    if context.derived:
        return "derived"
    above = fiber.parent
    if above is None:
        return "root"
    if fiber.kind == "scope":
        return "scope" if above.tag is None else "scope in a scope"
    return "plugin" if fiber.tag is None else "plugin under a scope"


def _cell_of_registration(world: ScopeWorld, op: str, args: JsonMap) -> str:
    context = world.contexts[where_in(args)]
    state = context.fiber.state
    if op == "service.add" and not context.fiber.refuses and (context.fiber.kind != "plugin"):
        return spelled("add", _LAYERS[context.tag], _hiding(world, context.tag, str(args["name"]), "hides", "is new"))
    what = "composite" if op == "effect" and adopted_in(args) is not None else _REGISTERED[op]
    if context.derived and state not in STATES["derived"]:
        state = "active"
    return spelled(what, kind_of(context), state)


def _hiding(world: ScopeWorld, key: str | None, name: str, hides: str, new: str) -> str:
    """Whether an entry hides one further up, or is itself hidden by one further down."""
    around = (None, *world.keys.chain(key)[1:]) if key is not None else ()
    if any(world.layers.has(layer, name) for layer in around):
        return hides
    below = [one for one in KEYS if one != key and (key is None or key in world.keys.chain(one))]
    hidden = hides == "hides" and any(world.layers.has(one, name) for one in below)
    return "lies hidden" if hidden and _LAYERS[key] in {"global", "far", "parent"} else new


def _cell_of_undo(world: ScopeWorld, item: Item) -> str:
    if item.fiber is not None:
        return spelled("raw end", item.fiber.state)
    what = "listener" if item.listener is not None else "entry" if item.entry is not None else "effect"
    if item.began:
        return spelled("remove", what, "again")
    if item.entry is not None:
        return spelled("remove", _LAYERS[item.via.tag], _hiding(world, item.via.tag, item.entry, "uncovers", "leaves"))
    if item.adopted is not None:
        return spelled("remove", "composite", item.adopted)
    return spelled("remove", "gated effect" if item.gated else what)


def _cell_of_end(world: ScopeWorld, name: str) -> str:
    context = world.contexts[name]
    fiber = context.fiber
    if fiber.raw:
        return spelled("close", "behind the raw disposer", fiber.state)
    return spelled("end", kind_of(context), fiber.state)


def _linked(world: ScopeWorld, key: str, parent: str) -> str:
    cycle = world.keys.closes_cycle(key, parent)
    if key in world.keys.parents:
        return "bound cycle" if cycle else "bound"
    return "cycle" if cycle else "free"


def _cell_of_link(world: ScopeWorld, op: str, args: JsonMap) -> str:
    parent = str(args["parent"])
    if op == "scope.bind":
        return spelled("bind", _linked(world, str(args["key"]), parent))
    key = world.keys.bindings[str(args["of"])]
    same = world.keys.parents[key] == parent
    return spelled("rebind", "cycle" if world.keys.closes_cycle(key, parent) else "the same" if same else "another")


def _cell_of_dispatch(world: ScopeWorld, args: JsonMap) -> str | None:
    if not world.known:
        return None
    mode, newest = str(args["mode"]), list(world.known.values())[-1]
    if newest.pending is not None:
        return spelled(mode, "a listener", _DOES[str(newest.pending["do"])])
    if newest.doing != HEARS and newest.gone is None:
        return spelled(mode, "a listener", newest.doing)
    stands = relation(world.keys, newest, receiver(str(args["to"]) if "to" in args else None))
    return spelled(mode, stands, newest.via.fiber.state)


_DOES: Final[Mapping[str, str]] = {
    "listen": "registers",
    "effect": "registers",
    "service.add": "adds",
    "scope.open": "mints",
    "undo": "removes",
    "scope.close": "ends",
    "owner.close": "ends",
    "scope.rebind": "moves",
    "dispatch": "dispatches",
    "service.view": "looks",
}

CELLS: Final = tuple(dict.fromkeys(_cells()))
"""Every cell."""
