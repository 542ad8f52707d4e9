"""Which commands of the session contract make sense in a state, and which cell of the grid each visits."""

from collections.abc import Mapping, Sequence
from typing import Final

from dshconform.contracts.grid import spelled
from dshconform.contracts.model import CommandError
from dshconform.contracts.script_calls import actions_of
from dshconform.contracts.session_appends import Refused, accepted_name, judge
from dshconform.contracts.session_commands import CREATED, DISPOSED, EVENT, FLUSH, META, SEEDS, listener_in
from dshconform.contracts.session_forks import UNBOUNDED, ForkRefused, judge_fork
from dshconform.contracts.session_observers import DOINGS, HEARD, doing_of, names_in
from dshconform.contracts.session_state import AbstractSession, members_of
from dshconform.contracts.session_store import AbstractStore
from dshconform.protocol.json_value import JsonMap

LISTENERS: Final = 3
"""Listeners of one event at a time, at most: what they do nests."""

NOBODY: Final = "nobody"
"""An id that no session has."""
STAGED: Final = ("note", "message", "replacement")
"""The appends for which the grid says what the first listener does."""

STAGES: Final[Mapping[str, tuple[str, Sequence[str]]]] = {
    "create": (CREATED, ("new",)),
    "announce": (CREATED, ("entered",)),
    "fork": (CREATED, ("announced",)),
    "append": (EVENT, ("entered", "announced")),
    "detach": (DISPOSED, ("announced",)),
    "flush": (FLUSH, ("entered", "announced")),
}
"""By what is done: who hears of it, and the states in which the grid says what the first listener does."""

_MAKING: Final = frozenset({"session.create", "session.prepare", "session.fork"})
_ON_SESSION: Final = frozenset({"session.enter", "session.announce", "session.append", "session.read", "session.flush"})
ANSWERS: Final = frozenset({"gate.resolve", "gate.reject"})
"""The operations that end the call of a listener."""
_OPS: Final = _MAKING | _ON_SESSION | ANSWERS | {"undo", "listen", "session.get", "session.list"}


def legal(store: AbstractStore, op: str, args: JsonMap) -> bool:
    """Whether the clauses say what a command does now.

    Args:
        store: Its state before the command.
        op: The operation.
        args: Its arguments.

    Raises:
        CommandError: It is no command of this contract.
    """
    if op not in _OPS:
        raise CommandError(f"{op!r} is no command of this contract: {', '.join(sorted(_OPS))}")
    if op in ANSWERS:
        listener = store.listener(listener_in(args))
        return listener is not None and listener.waits
    if op == "listen":
        return _may_listen(store, args)
    if op == "undo":
        listener = store.listener(str(args.get("of")))
        return not listener.waits if listener is not None else args.get("of") in store.leaves
    return _may_act(store, op, args)


def _may_act(store: AbstractStore, op: str, args: JsonMap) -> bool:
    if op in _MAKING:
        if args.get("seed") not in SEEDS.values():
            raise CommandError(f"a seed of the session contract is one of its own, not {args.get('seed')!r}")
        if args.get("meta", META) != META:
            raise CommandError(f"a creation of the session contract says {META!r} or nothing, not {args['meta']!r}")
        source = args.get("source")
        return args.get("session") not in store.used and (not isinstance(source, str) or source in store.sessions)
    if op in _ON_SESSION and args.get("session") not in store.sessions:
        return False
    match op:
        case "session.enter":
            return args.get("as") not in store.used
        case "session.flush":
            return args.get("task") not in store.used and not any(one.waits for one in store.of(FLUSH))
        case _:
            return True


def _may_listen(store: AbstractStore, args: JsonMap) -> bool:
    """Whether a listener is one of the alphabet, and what it names is there."""
    event = str(args.get("event"))
    if event not in DOINGS:
        raise CommandError(f"no observer of the session contract hears {event!r}: {', '.join(DOINGS)}")
    function = members_of(args.get("fn", {}))
    doing = doing_of(event, function)
    if doing not in DOINGS[event]:
        raise CommandError(f"an observer of {event} {doing} in no example: {', '.join(DOINGS[event])}")
    others = store.of(event)
    named = {str(args.get("as")), *names_in(function)}
    if not named.isdisjoint(store.used) or len(others) >= LISTENERS:
        return False
    if args.get("prepend") is True and (event == CREATED or any(other.prepended for other in others)):
        return False  # it would hear of a session without a name yet; which of two is first, another sheet says
    return all(_is_there(store, action) for action in actions_of(function))


def _is_there(store: AbstractStore, action: JsonMap) -> bool:
    args = action.get("args")
    if not isinstance(args, Mapping):
        return True
    match action.get("op"):
        case "undo":
            return args["of"] in store.leaves or store.listener(str(args["of"])) is not None
        case "session.fork":
            return args["source"] in store.sessions
        case "session.append":
            return args["session"] == HEARD or args["session"] in store.sessions
        case _:
            return True


# ---------------------------------------------------------------------- cells


def cell(store: AbstractStore, op: str, args: JsonMap) -> str | None:
    """The cell that a legal command visits, if it visits one: `announced / append note / throws`.

    Args:
        store: Its state before the command.
        op: The operation.
        args: Its arguments.
    """
    match op:
        case "session.create" | "session.prepare":
            taken = args.get("id") in store.live
            name = op.partition(".")[2]
            if taken:
                return spelled("new", f"{name} taken id")
            return _staged(store, "new", name) if op == "session.create" else spelled("new", name)
        case "session.fork":
            return _cell_of_fork(store, args)
        case "undo":
            return _cell_of_undo(store, str(args["of"]))
        case "gate.resolve" | "gate.reject":
            return spelled("flushing", op.partition(".")[2])
        case "listen" | "session.get" | "session.list":
            return None
        case _:
            return _cell_of_session(store, store.sessions[str(args["session"])], op, args)


def _cell_of_session(store: AbstractStore, session: AbstractSession, op: str, args: JsonMap) -> str:
    state = session.state
    match op:
        case "session.append":
            kind, intent = str(args["type"]), members_of(args.get("intent", {}))
            refused = judge(session, kind, args["data"], intent)
            if isinstance(refused, Refused):
                return spelled(state, f"append {refused.name}")
            name = accepted_name(kind, intent)
            named = f"append {name}"
            return _staged(store, state, "append", named) if name in STAGED else spelled(state, named)
        case "session.announce":
            return _staged(store, state, "announce")
        case "session.flush":
            return _staged(store, state, "flush")
        case "session.enter":
            return spelled(state, "enter taken id" if session.id in store.live else "enter")
        case _:
            return spelled(state, "read")


def _cell_of_fork(store: AbstractStore, args: JsonMap) -> str:
    source = args["source"]
    named = store.sessions[source] if isinstance(source, str) else None
    wanted = str(members_of(source)["id"]) if named is None else named.id
    judged = judge_fork(store.live, named, wanted, args.get("id"), args.get("boundary", UNBOUNDED))
    if isinstance(judged, ForkRefused):
        return spelled("store", f"fork {judged.name}")
    return _staged(store, judged.state, "fork")


def _cell_of_undo(store: AbstractStore, name: str) -> str | None:
    if store.listener(name) is not None:
        return None
    session, life = store.leaves[name]
    if life.ended:
        return spelled(session.state, "detach again")
    return _staged(store, session.state, "detach")


def _staged(store: AbstractStore, state: str, op: str, name: str = "") -> str:
    """A cell, with what the first listener does where the grid tells that apart."""
    event, states = STAGES[op]
    if state not in states:
        return spelled(state, name or op)
    first = next(iter(store.of(event)), None)
    return spelled(state, name or op, NOBODY if first is None else first.doing)
