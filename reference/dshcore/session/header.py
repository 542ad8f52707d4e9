"""The header of a session: who it is and where it came from. Immutable, and no part of the log."""

from collections.abc import Callable, Mapping
from pathlib import PurePath
from typing import Final, TypeGuard

from msgspec import UNSET

from dshcore.json import JsonObject, NotJson, freeze
from dshcore.session.vocabulary import SessionError, is_count, shown

FORMAT_VERSION: Final = 0
"""The version of the format of headers and logs."""

_COUNTS: Final = ("createdAt", "seedLength", "delegationDepth")
_TEXTS: Final = ("parentSession", "agentPreset")
_META: Final = ("cwd", "parentSession", "createdAt", "seedLength", "origin", "delegationDepth", "agentPreset")


class InvalidHeader(SessionError):
    """The metadata of a session, or its header, is not what a header may hold."""

    default_code = "INVALID_HEADER"


def make_header(session_id: str, meta: Mapping[str, object], now: Callable[[], int]) -> JsonObject:
    """Make the header of a new session.

    Args:
        session_id: The session's id.
        meta: What the creator gives; fields that no header has are ignored, and so are `id` and `version`.
        now: Tells the time in epoch milliseconds, where `createdAt` is not given.

    Returns:
        The header. Fields that were not given are absent: nothing is inferred, `seedLength` from a seed least of all.

    Raises:
        InvalidHeader: A field has a value that it may not have.

    Spec:
        HEADER-META-01, HEADER-META-02, HEADER-META-03, HEADER-META-04, SEED-MARK-04, LIFE-CREATE-03
    """
    given = {name: meta[name] for name in _META if name in meta}
    return read_header(session_id, {"version": FORMAT_VERSION, "id": session_id, "createdAt": now(), **given})


def read_header(session_id: str, given: object) -> JsonObject:
    """Take over the header of a session, as it is.

    Args:
        session_id: The session's id.
        given: The header.

    Returns:
        The frozen header; the same one, where it is frozen already.

    Raises:
        InvalidHeader: It is no record, of another version or session, or a field has a value that it may not have.

    Spec:
        HEADER-META-03, HEADER-META-04, HEADER-META-05, HEADER-META-06
    """
    if not _is_record(given):
        raise InvalidHeader("session header is not a plain JSON record")
    try:
        header = freeze(given)
    except NotJson as error:
        raise InvalidHeader("session header is not losslessly JSON-serializable") from error
    if not _is_version(version := header.get("version", UNSET)):
        raise InvalidHeader(f"session header version must be {FORMAT_VERSION}, got {shown(version)}")
    if (named := header.get("id", UNSET)) != session_id:
        raise InvalidHeader(f'session header id "{shown(named)}" does not match session id "{session_id}"')
    cwd = header.get("cwd", "/")
    if not isinstance(cwd, str):
        raise InvalidHeader("session header cwd must be a string")
    if "cwd" in header and not PurePath(cwd).is_absolute():  # HEADER-META-03: as given, not normalised
        raise InvalidHeader(f'session header cwd must be an absolute path, got "{cwd}"')
    for name in _COUNTS:
        if (name in header or name == "createdAt") and not is_count(header.get(name)):
            raise InvalidHeader(f"session header {name} must be a non-negative safe integer")
    for name in _TEXTS:
        if name in header and not isinstance(header[name], str):
            raise InvalidHeader(f"session header {name} must be a string")
    if header.get("origin", "subagent") != "subagent":
        raise InvalidHeader('session header origin must be "subagent"')
    return header


def _is_record(value: object) -> TypeGuard[Mapping[str, object]]:
    return type(value) is dict or isinstance(value, JsonObject)


def _is_version(value: object) -> bool:
    return type(value) is int and value == FORMAT_VERSION
