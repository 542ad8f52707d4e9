"""The commands of the profile `session`: the store of live sessions, and the folds over a log."""

from collections.abc import Mapping
from typing import Final

import msgspec
from msgspec import UNSET, UnsetType

from dshconform.protocol.commands.arguments import Arguments, Placed, Which
from dshconform.protocol.commands.operation import Operation
from dshconform.protocol.json_value import Json
from dshconform.protocol.names import Name, Path


class SessionCreate(Placed, frozen=True, kw_only=True):
    """The suite's name for the session; without `id`, the store makes one up."""

    session: Name
    id: Json | UnsetType = UNSET
    meta: Json | UnsetType = UNSET
    """Members of the header, raw."""
    seed: Json | UnsetType = UNSET
    """Events that the log begins with, raw."""


class SessionRestore(Placed, frozen=True, kw_only=True):
    """A session as it was stored: its header and its events."""

    session: Name
    id: Json
    """The id that it is asked for by, which may not be that of the header; raw."""
    header: Json
    events: Json


class OfSession(Placed, frozen=True, kw_only=True):
    """An operation of the store on one session."""

    session: Which


class SessionEnter(OfSession, frozen=True, kw_only=True):
    """A prepared session; `as` names its detach."""

    as_: Name = msgspec.field(name="as")


class SessionGet(Placed, frozen=True, kw_only=True):
    """The id of the session."""

    id: Json


class SessionFork(Placed, frozen=True, kw_only=True):
    """What to fork: a session by its name, or `{"id": …}`, which is looked up; and the suite's name for the child."""

    source: Json
    """The name of the parent, or `{"id": …}`."""
    session: Name
    boundary: Json | UnsetType = UNSET
    """The sequence number at which the child's log ends, raw; the parent's last unless given."""
    id: Json | UnsetType = UNSET


class SessionFlush(OfSession, frozen=True, kw_only=True):
    """The session to store."""

    task: Name | UnsetType = UNSET
    """The name of the operation, in the row that says whether it was stored."""


class SessionRefuse(Arguments, frozen=True, kw_only=True):
    """The next event of a session that meets `when` (paths over the event) is refused, with `error`."""

    session: Which
    when: dict[Path, Json]
    error: Json | UnsetType = UNSET


SESSION: Final[Mapping[str, Operation]] = {
    "session.create": Operation(SessionCreate, "the id"),
    "session.prepare": Operation(SessionCreate, "the id"),
    "session.restore": Operation(SessionRestore, "the id"),
    "session.enter": Operation(SessionEnter, "nothing"),
    "session.announce": Operation(OfSession, "nothing"),
    "session.get": Operation(SessionGet, "the session, or null"),
    "session.list": Operation(Placed, "sessions"),
    "session.fork": Operation(SessionFork, "the id"),
    "session.flush": Operation(SessionFlush, "true or false", asynchronous=True),
    "session.refuse": Operation(SessionRefuse, "nothing", feature="refusal"),
}
"""Every operation of the profile, in the order of the protocol page."""
