"""The alphabet of the registry contract: the registry's commands, and what listeners do in them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from dshconform.contracts.inbox_commands import read_command
from dshconform.contracts.script_calls import REJECT, THROW, action, actions_of, always, once
from dshconform.protocol.json_value import Json, JsonMap

CREATED: Final = "agent/created"
"""The event that tells of a new agent."""
DISPOSED: Final = "agent/disposed"
"""The event that tells of the end of an agent."""

STUBS: Final[Mapping[str, str]] = {"y": "y", "x": "x", "x2": "x", "y2": "y", "p": "p", "q": "q", "p2": "p"}
"""What is shaped like an agent, each with its id; three ids have two that look alike."""

IDS: Final = tuple(dict.fromkeys(STUBS.values()))
"""The ids of all of them, each once."""
OWNERS: Final = ("p", "q")
"""The agents that may own others."""
ASKED: Final = (*OWNERS, "p2")
"""The agents of which it is asked whether they own an id; one of them only looks like an owner."""
HOSTS: Final[Mapping[str, str]] = {"in p": "p", "in q": "q"}
"""Plugins in the scopes of the agents that may own others, each with its agent; they are there from the beginning."""

ODD: Final = "odd"
"""The name of an agent whose id is not that of its session."""
ODD_ID: Final = "w"
"""The id of that agent."""
ODD_SESSION: Final = "x"
"""The id of its session."""
MADE: Final = "made"
"""What the suite's factories answer; it is never entered."""

# ---------------------------------------------------------------------- entries


def enter(agent: str, leave: str, owner: str | None = None) -> JsonMap:
    """Make an agent visible.

    Args:
        agent: The name of the agent.
        leave: What the suite calls its detach.
        owner: The name of the agent that owns it, if one does.

    Returns:
        The command.
    """
    args: JsonMap = {"agent": agent, "as": leave}
    return {"do": "registry.enter", "args": args if owner is None else {**args, "owner": owner}}


def announce(agent: Json) -> JsonMap:
    """Announce an agent.

    Args:
        agent: The agent.

    Returns:
        The command.
    """
    return {"do": "registry.announce", "args": {"agent": agent}}


def register(agent: str, leave: str, through: str | None = None) -> JsonMap:
    """Enter and announce an agent, through a plugin, which may be one in the scope of an agent.

    Args:
        agent: The name of the agent.
        leave: What the suite calls the disposer.
        through: The name of the plugin; none for the root.

    Returns:
        The command.
    """
    return {"do": "registry.register", "args": _through({"agent": agent, "as": leave}, through)}


def undo(name: str) -> JsonMap:
    """Call a detach or a disposer, or remove a listener.

    Args:
        name: What the suite calls it.

    Returns:
        The command.
    """
    return {"do": "undo", "args": {"of": name}}


def get(identity: str) -> JsonMap:
    """Look an id up.

    Args:
        identity: An agent's, or one that none has.

    Returns:
        The command.
    """
    return {"do": "registry.get", "args": {"id": identity}}


LIST: Final[JsonMap] = {"do": "registry.list", "args": {}}
"""All agents that are registered."""
ROOTS: Final[JsonMap] = {"do": "registry.roots", "args": {}}
"""Those among them that nobody owns."""


def owns(identity: str, owner: str) -> JsonMap:
    """Ask who owns an id.

    Args:
        identity: The id that is asked for.
        owner: The name of the agent that may own it.

    Returns:
        The command.
    """
    return {"do": "registry.owns", "args": {"id": identity, "owner": owner}}


def opened(plugin: str) -> JsonMap:
    """Mount a plugin through which something can be registered.

    Args:
        plugin: The name of the plugin.

    Returns:
        The command.
    """
    return {"do": "owner.open", "args": {"owner": plugin, "requires": ["agents"]}}


def closed(plugin: str) -> JsonMap:
    """Close a plugin.

    Args:
        plugin: The name of the plugin.

    Returns:
        The command.
    """
    return {"do": "owner.close", "args": {"owner": plugin}}


# ---------------------------------------------------------------------- the factory

ENDINGS: Final[Mapping[str, JsonMap]] = {
    "answers": {"do": "return", "value": {"stub": MADE}},
    "throws": THROW,
    "rejects": REJECT,
}
"""What a factory may do with a call."""

SAID: Final[Mapping[str, JsonMap]] = {
    "nothing": {},
    "a header": {"meta": {"origin": "subagent", "delegationDepth": 2}},
    "a route": {"options": {"provider": "p1", "model": "m1"}},
}
"""What a caller may say besides the id; a resume has no header."""


def fill(name: str, create: str = "answers", resume: str = "answers", through: str | None = None) -> JsonMap:
    """Fill the slot of the factory.

    Args:
        name: What the suite calls the factory.
        create: How its function for new agents ends: a name of `ENDINGS`.
        resume: How its function for stored ones ends.
        through: The name of the plugin; none for the root.

    Returns:
        The command.
    """
    functions: dict[str, Json] = {
        op: {"$fn": f"{name}.{op}", "do": [ENDINGS[how]]} for op, how in (("create", create), ("resume", resume))
    }
    return {"do": "registry.setFactory", "args": _through({"as": name, **functions}, through)}


def make(task: str, op: str = "create", said: str = "nothing", through: str | None = None) -> JsonMap:
    """Ask for an agent: `create` or `resume`.

    Args:
        task: What the suite calls the making, and the id.
        op: Which of the two.
        said: What is asked for: a name of `SAID`.
        through: The name of the plugin; none for the root.

    Returns:
        The command.
    """
    return {"do": f"agent.{op}", "args": _through({"task": task, "agent": task, **SAID[said]}, through)}


def _through(args: JsonMap, through: str | None) -> JsonMap:
    return args if through is None else {**args, "in": through}


# ---------------------------------------------------------------------- listeners


@dataclass(frozen=True, slots=True)
class Names:
    """What the script of a listener names.

    Args:
        leave: A detach or disposer.
        other: An agent that it enters or registers.
        identity: An id that it looks up.
        fresh: A name that nothing has.
    """

    leave: str
    other: str
    identity: str
    fresh: str


def _always(*actions: JsonMap) -> Callable[[Names], JsonMap]:
    return lambda _: always(*actions)


DOINGS: Final[Mapping[str, Mapping[str, Callable[[Names], JsonMap]]]] = {
    CREATED: {
        "hears": _always(),
        "throws": _always(THROW),
        "looks": lambda names: always(action(get(names.identity)), action(LIST)),
        "announces": _always(action(announce({"$arg": "agent"}))),
        "detaches": lambda names: always(action(undo(names.leave))),
        "enters": lambda names: once(enter(names.other, names.fresh)),
        "registers": lambda names: once(register(names.other, names.fresh)),
    },
    DISPOSED: {
        "hears": _always(),
        "throws": _always(THROW),
        "looks": lambda names: always(action(get(names.identity)), action(LIST)),
        "detaches": lambda names: always(action(undo(names.leave))),
        "enters": lambda names: once(enter(names.other, names.fresh)),
        "registers": lambda names: once(register(names.other, names.fresh)),
    },
}
"""By event, what a listener of it may do; what calls the registry back does so once."""

_BY_OP: Final[Mapping[str, str]] = {
    "registry.get": "looks",
    "registry.announce": "announces",
    "undo": "detaches",
    "registry.enter": "enters",
    "registry.register": "registers",
}


def doing_of(function: JsonMap) -> str:
    """What the grid calls what a listener does.

    Args:
        function: As `listen` writes it.
    """
    first = next(iter(actions_of(function)), None)
    if first is None:
        return "hears"
    return _BY_OP.get(str(first["op"]), "?") if "op" in first else f"{first['do']}s"


def names_in(function: JsonMap) -> set[str]:
    """The names that a listener will give to what it enters.

    Args:
        function: As `listen` writes it.
    """
    return {str(args["as"]) for args in map(_args, actions_of(function)) if "as" in args}


def _args(one: JsonMap) -> JsonMap:
    return read_command(one)[1] if "op" in one else {}
