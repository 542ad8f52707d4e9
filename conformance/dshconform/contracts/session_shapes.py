"""The appends of the session contract: those that are accepted, and one for each way in which one is refused."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from dshconform.contracts.session_appends import RETIRED
from dshconform.contracts.session_commands import NO_DATA, append, note, replace, result, say, turn
from dshconform.contracts.session_state import AbstractSession, members_of
from dshconform.protocol.json_value import JsonMap
from dshconform.scenarios.logs import assistant
from dshconform.scenarios.macros import message


@dataclass(frozen=True, slots=True)
class Kind:
    """One way to append.

    Args:
        why: What of it a clause speaks about.
        write: Writes it for a session; nothing where the session's log does not allow it.
    """

    why: str
    write: Callable[[AbstractSession, str], JsonMap | None]


def _results(session: AbstractSession) -> list[int]:
    return [seq for seq in session.nodes if session.events[seq].kind == "tool/result"]


def _shadowed(session: AbstractSession) -> int:
    """A number that stands on no surface: the oldest such event, or one to come."""
    return next((event.seq for event in session.events if event.seq not in session.nodes), len(session.events))


def _replacing(session: AbstractSession, identity: str) -> JsonMap | None:
    nodes = session.nodes[:2]
    if not nodes:
        return None
    return say(session.name, identity, surface=replace(nodes[0], nodes[-1]), cites=[*reversed(nodes)])


def _citing(session: AbstractSession, identity: str) -> JsonMap | None:
    seqs = list(range(len(session.events)))[-2:]
    return say(session.name, identity, surface="append", cites=[*reversed(seqs)]) if seqs else None


def _rewriting(text: str, identity: str | None) -> Callable[[AbstractSession, str], JsonMap | None]:
    def write(session: AbstractSession, _: str) -> JsonMap | None:
        at = next(iter(_results(session)), None)
        if at is None:
            return None
        written = members_of(members_of(session.events[at].data)["message"])
        call = str(members_of(written["source"])["callId"])
        data = result(call, text, identity)
        return append(session.name, "tool/result", data, surface=replace(at, at), cites=[at])

    return write


def _uncited(session: AbstractSession, identity: str) -> JsonMap | None:
    nodes = session.nodes
    if not nodes:
        return None
    cites: JsonMap = {"cites": [nodes[0], nodes[-1]]} if len(nodes) > 2 else {}  # noqa: PLR2004 - more than its ends
    return say(session.name, identity, surface=replace(nodes[0], nodes[-1]), **cites)


def _message_by_result(session: AbstractSession, identity: str) -> JsonMap | None:
    at = next((seq for seq in session.nodes if session.events[seq].kind != "tool/result"), None)
    if at is None:
        return None
    return append(session.name, "tool/result", result(identity), surface=replace(at, at), cites=[at])


def _two_nodes(session: AbstractSession) -> JsonMap | None:
    if len(session.nodes) < 2:  # noqa: PLR2004 - two
        return None
    first, last = session.nodes[0], session.nodes[1]
    return append(session.name, "tool/result", result("R"), surface=replace(first, last), cites=[first, last])


ACCEPTED: Final[Mapping[str, Kind]] = {
    "note": Kind("a type that nobody knows is logged and takes no place on the surface", lambda s, _: note(s.name)),
    "plain note": Kind("a type is any text", lambda s, _: append(s.name, "memo", {})),
    "turn": Kind("a fork may not end inside a turn", lambda s, _: turn(s)),
    "message": Kind("the end of the surface", lambda s, m: say(s.name, m)),
    "citing message": Kind("sources in any order", _citing),
    "empty answer": Kind(
        "an empty list of sources",
        lambda s, m: append(
            s.name,
            "assistant/message",
            {"turn": 1, "step": 1, "message": assistant({"$assistant": m})},
            surface="append",
            cites=[],
        ),
    ),
    "result": Kind("what can be rewritten", lambda s, m: append(s.name, "tool/result", result(m), surface="append")),
    "replacement": Kind("a range of nodes, by position", _replacing),
    "rewrite": Kind("a result with other content", _rewriting("shorter", None)),
}
"""Appends that are accepted, by the name that `accepted_name` gives them."""

REFUSED: Final[Mapping[str, Kind]] = {
    "no data": Kind("negative zero is not JSON", lambda s, _: append(s.name, "x/note", NO_DATA, surface="append")),
    "retired": Kind("a type of old, before its intent", lambda s, _: append(s.name, RETIRED, {}, surface="append")),
    "no metadata": Kind("before the marker is missed", lambda s, m: say(s.name, m, cites=[-0.0])),
    "marked note": Kind("no type but three has a marker", lambda s, _: append(s.name, "x/note", {}, surface="append")),
    "citing note": Kind("and none cites, be it nothing", lambda s, _: append(s.name, "x/note", {}, cites=[])),
    "unmarked": Kind("a message needs a marker", lambda s, m: append(s.name, "user/message", message(m))),
    "bad marker": Kind("a marker that there is not", lambda s, m: say(s.name, m, surface="prepend")),
    "bad replacement": Kind(
        "a marker that says more", lambda s, m: say(s.name, m, surface={**replace(0, 0), "x": 1}, cites=[0])
    ),
    "no start": Kind(
        "a range begins at a node; that is looked at before the sources",
        lambda s, m: say(s.name, m, surface=replace(_shadowed(s), _shadowed(s)), cites="text"),
    ),
    "no end": Kind(
        "a range ends at a node",
        lambda s, m: (
            say(s.name, m, surface=replace(s.nodes[0], len(s.events)), cites=[s.nodes[0]]) if s.nodes else None
        ),
    ),
    "reversed": Kind(
        "a range is one of positions",
        lambda s, m: (
            say(s.name, m, surface=replace(s.nodes[-1], s.nodes[0]), cites=[*s.nodes]) if len(s.nodes) > 1 else None
        ),
    ),
    "no list of sources": Kind("sources are a list", lambda s, m: say(s.name, m, surface="append", cites="text")),
    "no sources": Kind("an empty list says something", lambda s, m: say(s.name, m, surface="append", cites=[])),
    "same source twice": Kind(
        "before a later source is seen",
        lambda s, m: say(s.name, m, surface="append", cites=[len(s.events), len(s.events)]),
    ),
    "later source": Kind("its own number", lambda s, m: say(s.name, m, surface="append", cites=[len(s.events)])),
    "uncited": Kind("what is removed is cited, not its ends alone", _uncited),
    "rewrite of two": Kind("a result replaces one node", lambda s, _: _two_nodes(s)),
    "rewrite of a message": Kind("which is a result", _message_by_result),
    "other rewrite": Kind("and only its content changes", _rewriting("ok", "another")),
}
"""Appends that are refused, by the name of the refusal."""
