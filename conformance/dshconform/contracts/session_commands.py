"""The alphabet of the session contract: the store's commands, appends of every kind, and what observers do."""

from collections.abc import Mapping, Sequence
from typing import Final

from dshconform.contracts.session_state import AbstractSession
from dshconform.protocol.json_value import Json, JsonMap
from dshconform.scenarios.logs import answer
from dshconform.scenarios.macros import message

CREATED: Final = "session/created"
"""The event that tells of a new session."""
EVENT: Final = "session/event"
"""The event that publishes what was appended."""
DISPOSED: Final = "session/disposed"
"""The event that tells of the end of a session."""
FLUSH: Final = "session/flush"
"""The event by which a session is stored."""

NO_DATA: Final[JsonMap] = {"a": -0.0}
"""What no log can hold."""

META: Final[JsonMap] = {"cwd": "/x", "delegationDepth": 2}
"""What a creation may say in the header: a fork takes over the first member alone."""

READ: Final = ("firstLiveSeq", "events", "seq", "header", "messages", "nodes", "replaceGeneration")
"""The views that say everything of a session."""
GLANCE: Final = ("seq", "nodes", "replaceGeneration")
"""The views that are looked at behind every command."""

# ---------------------------------------------------------------------- sessions

_NOTE: Final[JsonMap] = {"type": "x/note", "data": {}}
_END: Final[JsonMap] = {"type": "session/end-seed", "data": {}}


def result(call: str, text: str = "ok", identity: str | None = None) -> JsonMap:
    """The payload of a `tool/result`.

    Args:
        call: The call's id.
        text: What it came to.
        identity: The message's id; made of the call's unless given.
    """
    return {"turn": 1, "step": 1, "message": answer({"$answer": call, "text": text, "id": identity or f"{call}.r"})}


def _seed(*events: JsonMap) -> list[Json]:
    return [{**event, "seq": seq, "time": 9 - seq} for seq, event in enumerate(events)]


def _on_surface(kind: str, data: JsonMap) -> JsonMap:
    return {"type": kind, "data": data, "surfaceOp": "append"}


TALK: Final = _seed(
    *(_on_surface("user/message", message(identity)) for identity in ("A", "B")),
    _on_surface("tool/result", result("C")),
)
"""A log with three nodes: what replaces something needs them."""

SEEDS: Final[Mapping[str, Sequence[Json] | None]] = {
    "empty": [],
    "fresh": None,
    "noted": _seed(_NOTE),
    "ended": _seed(_NOTE, _END),
    "talk": TALK,
}
"""What a session begins with: an empty seed, none, one without and one with a mark at its end, one with a surface.

The times of a seed decrease, since a log gives no order by time.
"""


def prepare(
    name: str, identity: str | None, seed: str = "fresh", *, meta: bool = False, op: str = "session.prepare"
) -> JsonMap:
    """Make a session outside the store; without an id, the store makes one up.

    Args:
        name: What the suite calls it.
        identity: Its id.
        seed: What its log begins with: a name of `SEEDS`.
        meta: Whether it is given metadata for its header.
        op: The operation that makes it.
    """
    args: dict[str, Json] = {"session": name}
    if meta:
        args["meta"] = META
    if identity is not None:
        args["id"] = identity
    events = SEEDS[seed]
    if events is not None:
        args["seed"] = list(events)
    return {"do": op, "args": args}


def create(name: str, identity: str | None, seed: str = "fresh") -> JsonMap:
    """Make a session and announce it.

    Args:
        name: What the suite calls it.
        identity: Its id; without one the store makes it up.
        seed: What its log begins with: a name of `SEEDS`.
    """
    return prepare(name, identity, seed, op="session.create")


def enter(name: str, leave: str) -> JsonMap:
    """Put a session into the store; `leave` is its detach.

    Args:
        name: What the suite calls it.
        leave: What the suite calls its detach.

    Returns:
        The command.
    """
    return {"do": "session.enter", "args": {"session": name, "as": leave}}


def announce(name: str) -> JsonMap:
    """Announce a session.

    Args:
        name: What the suite calls it.

    Returns:
        The command.
    """
    return {"do": "session.announce", "args": {"session": name}}


def undo(name: str) -> JsonMap:
    """Detach a session, or remove a listener.

    Args:
        name: What the suite calls the detach or the listener.

    Returns:
        The command.
    """
    return {"do": "undo", "args": {"of": name}}


def fork(source: Json, name: str, identity: str | None, *boundary: Json) -> JsonMap:
    """Fork a session, by its name or as `{"id": …}`.

    Args:
        source: What is forked.
        name: What the suite calls the child.
        identity: The child's id; without one the store makes it up.
        *boundary: The seq of the last event that it takes over; none for the last one there is.

    Returns:
        The command.
    """
    args: dict[str, Json] = {"source": source, "session": name}
    if identity is not None:
        args["id"] = identity
    if boundary:
        args["boundary"] = boundary[0]
    return {"do": "session.fork", "args": args}


def read(name: Json, what: Sequence[str] = READ) -> JsonMap:
    """Read a session.

    Args:
        name: What the suite calls it.
        what: The views.
    """
    return {"do": "session.read", "args": {"session": name, "what": list(what)}}


def get(identity: str) -> JsonMap:
    """Look an id up.

    Args:
        identity: A session's, or one that none has.

    Returns:
        The command.
    """
    return {"do": "session.get", "args": {"id": identity}}


LIST: Final[JsonMap] = {"do": "session.list", "args": {}}
"""All sessions that are live."""


def flush(name: str, task: str) -> JsonMap:
    """Flush a session.

    Args:
        name: What the suite calls the session.
        task: What the suite calls the flush.

    Returns:
        The command.
    """
    return {"do": "session.flush", "args": {"session": name, "task": task}}


def settle(listener: str, *, failing: bool = False) -> JsonMap:
    """End the call of a listener that waits in a flush.

    Args:
        listener: What the suite calls it.
        failing: Whether it fails.

    Returns:
        The command.
    """
    gate: JsonMap = {"gate": {"kind": FLUSH, "part": listener}}
    if failing:
        error: JsonMap = {"$error": {"message": listener, "as": f"{listener}-failed"}}
        return {"do": "gate.reject", "args": {**gate, "error": error}}
    return {"do": "gate.resolve", "args": gate}


def listener_in(args: JsonMap) -> str:
    """The listener whose call a command ends.

    Args:
        args: The arguments of `gate.resolve` or `gate.reject`.
    """
    gate = args.get("gate")
    return str(gate.get("part")) if isinstance(gate, Mapping) else ""


# ---------------------------------------------------------------------- appends


def append(name: Json, kind: str, data: Json, **intent: Json) -> JsonMap:
    """Append an event.

    Args:
        name: What the suite calls the session.
        kind: The type of the event.
        data: What the event carries, JSON or not.
        **intent: What it says of the surface (`surface`) and of its sources (`cites`).

    Returns:
        The command.
    """
    names = {"surface": "surfaceOp", "cites": "sourceEventSeqs"}
    args: dict[str, Json] = {"session": name, "type": kind, "data": data}
    if intent:
        args["intent"] = {names[key]: value for key, value in intent.items()}
    return {"do": "session.append", "args": args}


def note(name: Json) -> JsonMap:
    """Append an event that is only logged, of a type that nobody knows.

    Args:
        name: What the suite calls the session.

    Returns:
        The command.
    """
    return append(name, "x/note", {})


def say(name: Json, identity: str, **intent: Json) -> JsonMap:
    """Append a user message, at the end of the surface unless told otherwise.

    Args:
        name: What the suite calls the session.
        identity: The message's id, which is its text too.
        **intent: As of `append`.

    Returns:
        The command.
    """
    return append(name, "user/message", message(identity), **(intent or {"surface": "append"}))


def replace(start: int, end: int) -> JsonMap:
    """A marker of a replacement.

    Args:
        start: The seq of the first event that it replaces.
        end: That of the last one.
    """
    return {"op": "replace", "start": start, "end": end}


def turn(session: AbstractSession) -> JsonMap:
    """Append the end of the turn that is open, or the start of the next one.

    Args:
        session: Its state before the command.

    Returns:
        The command.
    """
    opened = session.open_turn
    if opened is not None:
        return append(session.name, "turn/end", {"turn": opened, "reason": {"kind": "completed"}})
    begun = sum(event.kind == "turn/start" for event in session.events)
    return append(session.name, "turn/start", {"turn": begun + 1})
