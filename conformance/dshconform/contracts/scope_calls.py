"""Which commands of the scope contract make sense in a state: those of which the clauses say what they do."""

from collections.abc import Iterable
from typing import Final

from dshconform.contracts.inbox_commands import items_of, read_command
from dshconform.contracts.model import CommandError
from dshconform.contracts.scope_commands import (
    EVENT,
    KEYS,
    MODES,
    OUTER,
    REJECTS,
    TABLE,
    TARGETS,
    act_in,
    adopted_in,
    composite,
    function_in,
    part_in,
    where_in,
)
from dshconform.contracts.scope_owners import made_by
from dshconform.contracts.scope_state import Fiber, Item
from dshconform.contracts.scope_world import ScopeWorld
from dshconform.protocol.json_value import JsonMap

REGISTERS: Final = frozenset({"scope.open", "owner.open", "effect", "service.add", "listen"})
"""The operations that leave something with an owner."""
_ENDS: Final = frozenset({"scope.close", "owner.close"})
_LINKS: Final = frozenset({"scope.bind", "scope.rebind"})
ACTS: Final = (REGISTERS - {"owner.open"}) | _ENDS | {"undo", "scope.rebind", "dispatch", "service.view"}
"""What a listener may do."""

_OPS: Final = REGISTERS | _ENDS | _LINKS | {"burst", "ctx.derive", "undo", "gate.resolve", "scope.of", "dispatch"}


def legal(world: ScopeWorld, op: str, args: JsonMap) -> bool:
    """Whether the clauses say what a command does now.

    Args:
        world: Its state before the command.
        op: The operation.
        args: Its arguments.

    Raises:
        CommandError: It is no command of this contract.
    """
    if op not in _OPS:
        raise CommandError(f"{op!r} is no command of this contract; known: {', '.join(sorted(_OPS))}")
    if op == "burst":
        return _at_once(world, args)
    if where_in(args) not in world.contexts or not world.used.isdisjoint(_names(op, args)):
        return False
    if args.get("task") in {task.name for task in world.tasks}:
        return False
    if op in REGISTERS:
        return _may_register(world, op, args, world.fiber(where_in(args)))
    match op:
        case "dispatch":
            return _may_dispatch(world, args)
        case "gate.resolve":
            return part_in(args) in world.waiting
        case "scope.bind" | "scope.rebind":
            return _may_link(world, op, args)
        case "ctx.derive" | "scope.of":
            return True
        case _:
            return _ended_by(world, op, args) is not None or (op == "undo" and args.get("of") in world.items)


def _names(op: str, args: JsonMap) -> set[str]:
    """The names that a command needs for what it makes, now or later."""
    made = made_by({"do": op, "args": args})
    if op == "effect" and adopted_in(args) is not None:
        made |= {f"{args['as']}.{part}" for part in "se"}
    act = act_in(args) if op == "listen" else None
    return made if act is None else made | made_by(act)


def _may_register(world: ScopeWorld, op: str, args: JsonMap, fiber: Fiber) -> bool:
    match op:
        case "scope.open":
            known = args.get("key") in KEYS and args.get("parent", "a") in KEYS
            return known and not ("parent" in args and fiber.refuses)  # whether the key is bound then, no clause says
        case "service.add":
            if args.get("key") not in {TABLE, OUTER}:
                raise CommandError(f"an entry goes to {TABLE} or {OUTER}, not to {args.get('key')!r}")
            return fiber.reads and not world.layers.has(fiber.tag, str(args["name"]))
        case "effect":
            adopted = adopted_in(args)
            if adopted is not None and args != composite(str(args["as"]), where_in(args), adopted)["args"]:
                raise CommandError(f"a composite of the scope contract adopts {adopted}, not {dict(args)!r}")
            return adopted != "entry" or fiber.reads
        case "listen":
            if args.get("event") != EVENT:
                raise CommandError(f"listeners of the scope contract hear {EVENT}, not {args.get('event')!r}")
            act, (part, shared) = act_in(args), function_in(args)
            if shared:
                return part in world.known and world.known[part].act is None
            return act is None or _may_act(world, *read_command(act))
        case _:
            return True


def _may_act(world: ScopeWorld, op: str, args: JsonMap) -> bool:
    """Whether a listener may do that, if it is called now.

    Raises:
        CommandError: It may never.
    """
    if op not in ACTS:
        raise CommandError(f"no listener of this contract does {op!r}; known: {', '.join(sorted(ACTS))}")
    if op == "dispatch":
        return args.get("mode") == "emit" and args.get("to") in {None, *TARGETS}
    if op == "undo":
        return args.get("of") in world.items
    if op == "scope.rebind":
        return _may_link(world, op, args)
    if op in _ENDS:
        return _ended_by(world, op, args) is not None
    return op == "service.view" or (
        where_in(args) in world.contexts and _may_register(world, op, args, world.fiber(where_in(args)))
    )


def _may_dispatch(world: ScopeWorld, args: JsonMap) -> bool:
    if args.get("mode") not in MODES:
        raise CommandError(f"{args.get('mode')!r} is no mode of dispatch: {', '.join(MODES)}")
    if args.get("to") not in {None, *TARGETS}:
        raise CommandError(f"an event is sent to {', '.join(TARGETS)}, not to {args['to']!r}")
    if args["mode"] == "waterfall" and any(one.doing == REJECTS for one in world.listeners):
        return False  # what it answers then is told by a task, and not part of this contract
    acts = [read_command(one.pending) for one in world.listeners if one.pending is not None]
    if not all(_may_act(world, *act) for act in acts):
        return False
    ended = [fiber for fiber in (_ended_by(world, op, given) for op, given in acts) if fiber is not None]
    if ended and args["mode"] == "serial" and len(acts) > 1:
        return False  # between two listeners undos may have been started, or not
    registering = (world.fiber(where_in(given)) for op, given in acts if op in REGISTERS)
    return not any(_is_below(fiber, ended) for fiber in registering)


def _is_below(fiber: Fiber, ended: Iterable[Fiber]) -> bool:
    """Whether the undos of an owner around this one are about to start: from when on it refuses, no clause says."""
    return not set(list(fiber.line)[1:]).isdisjoint(ended)


def _ended_by(world: ScopeWorld, op: str, args: JsonMap) -> Fiber | None:
    """The owner whose end a command asks for, if it asks for one."""
    if op == "undo":
        item: Item | None = world.items.get(str(args.get("of")))
        found = None if item is None else item.fiber
        return found if found is not None and found.kind == "scope" else None
    if op not in _ENDS:
        return None
    name, kind = (str(args.get("scope")), "scope") if op == "scope.close" else (str(args.get("owner")), "plugin")
    context = world.contexts.get(name)
    if context is None or context.derived or context.fiber.kind != kind:
        return None
    return context.fiber


def _may_link(world: ScopeWorld, op: str, args: JsonMap) -> bool:
    if args.get("parent") not in KEYS:
        return False
    return args.get("of") in world.keys.bindings if op == "scope.rebind" else args.get("key") in KEYS


def _at_once(world: ScopeWorld, args: JsonMap) -> bool:
    """Whether a burst is one of those of the contract: a mint and what is registered at once, an end and what follows.

    Raises:
        CommandError: It is none.
    """
    items = [read_command(item) for item in items_of(args)]
    if len(items) != 2:  # noqa: PLR2004 - a pair
        raise CommandError("a burst of the scope contract has two commands")
    (op, first), (then, second) = items
    if op not in {"scope.open", "undo", *_ENDS} or not legal(world, op, first):
        return False
    if op == "scope.open":
        minted = world.fiber(where_in(first))
        if then not in REGISTERS or where_in(second) != first["scope"] or minted.refuses or "parent" in first:
            return False
        if not world.used.isdisjoint(_names(then, second)) or not _names(then, second).isdisjoint({first["scope"]}):
            return False
        return _may_register(world, then, second, Fiber("", "scope", minted, str(first["key"])))
    ended = _ended_by(world, op, first)
    if ended is None or second.get("task") == first.get("task"):
        return False
    if then == "dispatch":
        pending = any(one.pending is not None for one in world.listeners)
        return not pending and second.get("mode") != "serial" and legal(world, then, second)
    if then not in REGISTERS and _ended_by(world, then, second) is not ended:
        return False
    if then in REGISTERS and (where_in(second) not in world.contexts or world.fiber(where_in(second)) is not ended):
        return False
    refusing = then in REGISTERS and "parent" in second
    return not refusing and act_in(second) is None and legal(world, then, second)
