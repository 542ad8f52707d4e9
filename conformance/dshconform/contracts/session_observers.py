"""What the observers of the session contract do when they hear of something."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from dshconform.contracts.script_calls import REJECT, THROW, action, actions_of, always, listen, once, script_of
from dshconform.contracts.session_commands import (
    CREATED,
    DISPOSED,
    EVENT,
    FLUSH,
    GLANCE,
    NO_DATA,
    append,
    create,
    fork,
    get,
    note,
    read,
    undo,
)
from dshconform.protocol.json_value import JsonMap

HEARD: Final[JsonMap] = {"$arg": "session"}
"""In the script of an observer: the session that it hears of."""


@dataclass(frozen=True, slots=True)
class Names:
    """What the script of an observer names.

    Args:
        session: A session that it appends to, creates from or looks for.
        leave: A detach.
        listener: Another listener.
        fresh: A name that nothing has.
    """

    session: str
    leave: str
    listener: str
    fresh: str


def _always(*actions: JsonMap) -> Callable[[Names], JsonMap]:
    return lambda _: always(*actions)


DOINGS: Final[Mapping[str, Mapping[str, Callable[[Names], JsonMap]]]] = {
    CREATED: {
        "hears": _always(),
        "looks": _always(action(read(HEARD, (*GLANCE, "firstLiveSeq")))),
        "throws": _always(THROW),
        "rejects": _always(REJECT),
        "appends": _always(action(note(HEARD))),
        "announces": _always({"op": "session.announce", "args": {"session": HEARD}}),
        "detaches": lambda names: {"do": [action(undo(names.leave))]},
        "creates": lambda names: once(create(names.fresh, names.fresh)),
    },
    EVENT: {
        "hears": _always(),
        "looks": _always(action(read(HEARD, GLANCE))),
        "throws": _always(THROW),
        "rejects": _always(REJECT),
        "appends": _always(action(note(HEARD))),
        "appends no data": _always(action(append(HEARD, "x/note", NO_DATA))),
        "appends elsewhere": lambda names: {"do": [action(note(names.session))]},
        "detaches": lambda names: {"do": [action(undo(names.leave))]},
        "removes": lambda names: once(undo(names.listener)),
        "adds": lambda names: once(listen(names.fresh, EVENT, {"do": []})),
        "forks": lambda names: once(fork(names.session, names.fresh, names.fresh)),
    },
    DISPOSED: {
        "hears": _always(),
        "throws": _always(THROW),
        "rejects": _always(REJECT),
        "appends": _always(action(note(HEARD))),
        "looks for it": lambda names: {"do": [action(get(names.session))]},
        "creates": lambda names: once(create(names.fresh, names.session)),
    },
    FLUSH: {
        "hears": _always(),
        "throws": _always(THROW),
        "rejects": _always(REJECT),
        "waits": lambda _: {"do": "gate"},
        "appends": _always(action(note(HEARD))),
    },
}
"""By event, what an observer of it may do.

What calls the store back does so once where it would otherwise be called by what it does; an observer of a disposal
takes `session` for an id.
"""


_MADE: Final[Mapping[str, str]] = {"session.create": "session", "session.fork": "session", "listen": "as"}


def names_in(function: JsonMap) -> set[str]:
    """The names that a listener will give to what it makes.

    Args:
        function: As `listen` writes it.
    """
    found: set[str] = set()
    for one in actions_of(function):
        args, member = one.get("args"), _MADE.get(str(one.get("op")))
        if member is not None and isinstance(args, Mapping):
            found.add(str(args[member]))
    return found


_BY_OP: Final[Mapping[str, str]] = {
    "session.read": "looks",
    "session.announce": "announces",
    "session.create": "creates",
    "session.fork": "forks",
    "session.get": "looks for it",
    "listen": "adds",
}


def doing_of(event: str, function: JsonMap) -> str:
    """What the grid calls what a listener does.

    Args:
        event: What the listener hears.
        function: As `listen` writes it.
    """
    calls = function.get("calls")
    script = calls[0] if isinstance(calls, list | tuple) else function.get("do")
    if script == "gate":
        return "waits"
    assert isinstance(script, list | tuple)
    if not script:
        return "hears"
    first = script[0]
    assert isinstance(first, Mapping)
    if "op" not in first:
        return f"{first['do']}s"
    op, args = str(first["op"]), first["args"]
    assert isinstance(args, Mapping)
    if op == "undo":
        return "removes" if "calls" in function and event == EVENT else "detaches"
    if op == "session.append":
        return (
            "appends elsewhere" if args["session"] != HEARD else "appends" if args["data"] == {} else "appends no data"
        )
    return _BY_OP[op]


@dataclass(slots=True, eq=False)
class Listener:
    """A listener of the suite: its function, how often that was called, and whether a call waits."""

    name: str
    """What the suite calls it."""
    event: str
    """What it hears."""
    function: JsonMap
    prepended: bool = False
    """Whether it stands before the listeners that were there."""
    calls: int = 0
    """How often it was called so far."""
    waits: bool = False

    @property
    def doing(self) -> str:
        """What the grid calls what it does."""
        return doing_of(self.event, self.function)

    def script(self) -> Sequence[JsonMap]:
        """What the call that is counted last does."""
        return script_of(self.function, self.calls)
