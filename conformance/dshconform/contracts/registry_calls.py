"""Which commands of the registry contract make sense in a state, and which cell of the grid each visits."""

from collections.abc import Mapping, Sequence
from typing import Final

from dshconform.contracts.grid import spelled
from dshconform.contracts.model import CommandError
from dshconform.contracts.registry_commands import CREATED, DISPOSED, DOINGS, HOSTS, ODD, STUBS, doing_of, names_in
from dshconform.contracts.registry_state import AbstractRegistry
from dshconform.contracts.script_calls import actions_of, script_of
from dshconform.contracts.session_state import members_of
from dshconform.protocol.json_value import Json, JsonMap

LISTENERS: Final = 3
"""Listeners of one event at a time, at most: what they do nests."""

NOBODY: Final = "nobody"
"""An id that no agent has."""

STAGES: Final[Mapping[str, tuple[str, Sequence[str]]]] = {
    "announce": (CREATED, ("entered",)),
    "register": (CREATED, ("new", "gone")),
    "detach": (DISPOSED, ("announced", "vetoed")),
    "dispose": (DISPOSED, ("announced",)),
    "close": (DISPOSED, ("announced",)),
}
"""By what is done: who hears of it, and the states in which the grid says what the first listener does."""

_LOOKS: Final = frozenset({"registry.get", "registry.list", "registry.roots", "registry.owns"})
_MAKES: Final = frozenset({"agent.create", "agent.resume"})
_ENTERS: Final = frozenset({"registry.enter", "registry.register"})
_OPS: Final = (
    _LOOKS
    | _MAKES
    | _ENTERS
    | {"registry.announce", "registry.setFactory", "undo", "owner.open", "owner.close", "listen"}
)


def legal(registry: AbstractRegistry, op: str, args: JsonMap) -> bool:
    """Whether the clauses say what a command does now.

    Args:
        registry: Its state before the command.
        op: The operation.
        args: Its arguments.

    Raises:
        CommandError: It is no command of this contract.
    """
    if op not in _OPS:
        raise CommandError(f"{op!r} is no command of this contract: {', '.join(sorted(_OPS))}")
    made = args.get("owner" if op == "owner.open" else "task" if op in _MAKES else "as")
    if made is not None and made in registry.used:
        return False
    match op:
        case "listen":
            return _may_listen(registry, args)
        case "undo":
            of = str(args["of"])
            return of in registry.leaves or of in registry.factories or registry.listener(of) is not None
        case "owner.close":
            return args["owner"] in registry.plugins
        case "owner.open":
            return True
        case _:
            return _are_agents(args) and _is_open(registry, op, args.get("in"))


def _are_agents(args: JsonMap) -> bool:
    """Whether the agents that a command names are those of the contract."""
    named = [args[key] for key in ("agent", "owner") if key in args and "task" not in args]
    for agent in named:
        if agent != ODD and agent not in STUBS:
            raise CommandError(f"an agent of the registry contract is one of its own, not {agent!r}")
    return args.get("owner") != ODD


def _is_open(registry: AbstractRegistry, op: str, through: Json) -> bool:
    """Whether something can be done through a context; a plugin has one living registration at a time.

    In which order the registrations of one plugin end is the affair of another sheet.
    """
    if through is None or through in HOSTS:
        return True
    return through in registry.plugins and (op != "registry.register" or registry.registration(str(through)) is None)


def _may_listen(registry: AbstractRegistry, args: JsonMap) -> bool:
    """Whether a listener is one of the alphabet, and what it names is there."""
    event, function = str(args.get("event")), members_of(args.get("fn", {}))
    if event not in DOINGS:
        raise CommandError(f"no listener of the registry contract hears {event!r}: {', '.join(DOINGS)}")
    if doing_of(function) not in DOINGS[event]:
        raise CommandError(f"a listener of {event} {doing_of(function)} in no example: {', '.join(DOINGS[event])}")
    named = {str(args.get("as")), *names_in(function)}
    if not named.isdisjoint(registry.used) or len(registry.of(event)) >= LISTENERS:
        return False
    undone = [members_of(one["args"])["of"] for one in actions_of(function) if one.get("op") == "undo"]
    return all(name in registry.leaves for name in undone)


# ---------------------------------------------------------------------- cells


def cell(registry: AbstractRegistry, op: str, args: JsonMap) -> str | None:
    """The cell that a legal command visits, if it visits one: `entered / announce / throws`.

    Args:
        registry: Its state before the command.
        op: The operation.
        args: Its arguments.
    """
    match op:
        case "registry.enter" | "registry.register":
            return _cell_of_entering(registry, op.partition(".")[2], args)
        case "registry.announce":
            agent = str(args["agent"])
            return _staged(registry, "odd" if agent == ODD else registry.state(agent), "announce")
        case "registry.owns":
            return _cell_of_owning(registry, str(args["id"]), str(args["owner"]))
        case "undo":
            return _cell_of_undo(registry, str(args["of"]))
        case "owner.close":
            plugin = str(args["owner"])
            if registry.registration(plugin) is not None:
                return _staged(registry, "announced", "close")
            in_force = registry.slot is not None and registry.slot.name in registry.plugins[plugin]
            return spelled("filled", "close") if in_force else None
        case "registry.setFactory":
            return spelled(_slot(registry), "set")
        case "agent.create" | "agent.resume":
            return _cell_of_making(registry, op.partition(".")[2], args)
        case _:
            return None


def _cell_of_entering(registry: AbstractRegistry, name: str, args: JsonMap) -> str:
    agent = str(args["agent"])
    if agent == ODD:
        return spelled("odd", name)
    state = registry.state(agent)
    if state not in {"new", "gone"}:
        return spelled(state, name)
    if name == "enter":
        return spelled(state, "enter owned" if "owner" in args else "enter")
    return _staged(registry, state, name) if "in" not in args else spelled(state, f"register in {_through(args)}")


def _through(args: JsonMap) -> str:
    through = args.get("in")
    return "root" if through is None else "agent" if through in HOSTS else "plugin"


def _cell_of_owning(registry: AbstractRegistry, identity: str, owner: str) -> str:
    life = registry.live.get(identity)
    if life is None:
        return spelled("nobody", "owns")
    return spelled("root" if life.owner is None else "owned" if life.owner == owner else "owned by another", "owns")


def _cell_of_undo(registry: AbstractRegistry, name: str) -> str | None:
    if name in registry.factories:
        in_force = registry.slot is registry.factories[name]
        return spelled(_slot(registry), "clear" if in_force else "clear again")
    if name not in registry.leaves:
        return None
    leave = registry.leaves[name]
    state, what = registry.state(leave.life.agent), "dispose" if leave.registered else "detach"
    return spelled(state, f"{what} again") if leave.life.ended else _staged(registry, state, what)


def _slot(registry: AbstractRegistry) -> str:
    return "empty" if registry.slot is None else "filled"


def _cell_of_making(registry: AbstractRegistry, op: str, args: JsonMap) -> str:
    if registry.slot is None:
        return spelled("empty", op)
    ending = script_of(registry.slot.functions[op], 1)[0]["do"]
    how = "answers" if ending == "return" else f"{ending}s"
    return spelled("filled", f"{op} through {_through(args)}", how)


def _staged(registry: AbstractRegistry, state: str, name: str) -> str:
    """A cell, with what the first listener does where the grid tells that apart."""
    event, states = STAGES[name]
    if state not in states:
        return spelled(state, name)
    first = next(iter(registry.of(event)), None)
    return spelled(state, name, NOBODY if first is None else first.doing)
