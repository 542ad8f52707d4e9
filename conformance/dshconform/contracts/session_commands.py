"""The alphabet of the session contract: the store's commands, appends of every kind, and what observers do."""

from collections.abc import Mapping, Sequence
from typing import Final

from dshconform.contracts.session_state import AbstractSession
from dshconform.protocol.json_value import Json, JsonMap
from dshconform.scenarios.logs import answer
from dshconform.scenarios.macros import message

CREATED: Final = "session/created"
EVENT: Final = "session/event"
DISPOSED: Final = "session/disposed"
FLUSH: Final = "session/flush"

NO_DATA: Final[JsonMap] = {"a": -0.0}
"""What no log can hold."""

META: Final[JsonMap] = {"cwd": "/x", "delegationDepth": 2}
"""What a creation may say in the header: a fork takes over the first member alone."""

READ: Final = ("firstLiveSeq", "events", "seq", "header", "messages", "nodes", "replaceGeneration")
GLANCE: Final = ("seq", "nodes", "replaceGeneration")

# ---------------------------------------------------------------------- sessions

_NOTE: Final[JsonMap] = {"type": "x/note", "data": {}}
_END: Final[JsonMap] = {"type": "session/end-seed", "data": {}}


def result(call: str, text: str = "ok", identity: str | None = None) -> JsonMap:
    """The payload of a `tool/result`."""
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
    """Make a session outside the store; without an id, the store makes one up."""
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
    """Make a session and announce it."""
    return prepare(name, identity, seed, op="session.create")


def enter(name: str, leave: str) -> JsonMap:
    """Put a session into the store; `leave` is its detach."""
    return {"do": "session.enter", "args": {"session": name, "as": leave}}


def announce(name: str) -> JsonMap:
    """Announce a session."""
    return {"do": "session.announce", "args": {"session": name}}


def undo(name: str) -> JsonMap:
    """Detach a session, or remove a listener."""
    return {"do": "undo", "args": {"of": name}}


def fork(source: Json, name: str, identity: str | None, *boundary: Json) -> JsonMap:
    """Fork a session, by its name or as `{"id": …}`."""
    args: dict[str, Json] = {"source": source, "session": name}
    if identity is not None:
        args["id"] = identity
    if boundary:
        args["boundary"] = boundary[0]
    return {"do": "session.fork", "args": args}


def read(name: Json, what: Sequence[str] = READ) -> JsonMap:
    """Read a session."""
    return {"do": "session.read", "args": {"session": name, "what": list(what)}}


def get(identity: str) -> JsonMap:
    """Look an id up."""
    return {"do": "session.get", "args": {"id": identity}}


LIST: Final[JsonMap] = {"do": "session.list", "args": {}}


def flush(name: str, task: str) -> JsonMap:
    """Flush a session."""
    return {"do": "session.flush", "args": {"session": name, "task": task}}


def settle(listener: str, *, failing: bool = False) -> JsonMap:
    """End the call of a listener that waits in a flush."""
    gate: JsonMap = {"gate": {"kind": FLUSH, "part": listener}}
    if failing:
        error: JsonMap = {"$error": {"message": listener, "as": f"{listener}-failed"}}
        return {"do": "gate.reject", "args": {**gate, "error": error}}
    return {"do": "gate.resolve", "args": gate}


def listener_in(args: JsonMap) -> str:
    """The listener whose call a command ends."""
    gate = args.get("gate")
    return str(gate.get("part")) if isinstance(gate, Mapping) else ""


# ---------------------------------------------------------------------- appends


def append(name: Json, kind: str, data: Json, **intent: Json) -> JsonMap:
    """Append an event; `surface` and `cites` are its intent."""
    names = {"surface": "surfaceOp", "cites": "sourceEventSeqs"}
    args: dict[str, Json] = {"session": name, "type": kind, "data": data}
    if intent:
        args["intent"] = {names[key]: value for key, value in intent.items()}
    return {"do": "session.append", "args": args}


def note(name: Json) -> JsonMap:
    """Append an event that is only logged, of a type that nobody knows."""
    return append(name, "x/note", {})


def say(name: Json, identity: str, **intent: Json) -> JsonMap:
    """Append a user message, at the end of the surface unless told otherwise."""
    return append(name, "user/message", message(identity), **(intent or {"surface": "append"}))


def replace(start: int, end: int) -> JsonMap:
    """A marker of a replacement."""
    return {"op": "replace", "start": start, "end": end}


def turn(session: AbstractSession) -> JsonMap:
    """Append the end of the turn that is open, or the start of the next one."""
    opened = session.open_turn
    if opened is not None:
        return append(session.name, "turn/end", {"turn": opened, "reason": {"kind": "completed"}})
    begun = sum(event.kind == "turn/start" for event in session.events)
    return append(session.name, "turn/start", {"turn": begun + 1})
