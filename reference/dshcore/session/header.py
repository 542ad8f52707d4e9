"""The header of a session: who it is and where it came from. Immutable, and no part of the log."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePath
from typing import Final

from dshcore.json import Json, JsonObject, NotJson, freeze
from dshcore.session.vocabulary import SessionError, is_count

FORMAT_VERSION: Final = 0

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
        The header. Fields that were not given are absent.

    Raises:
        InvalidHeader: A field has a value that it may not have.

    Spec:
        HEADER-META-01, HEADER-META-02, HEADER-META-03, HEADER-META-04, LIFE-CREATE-03
    """
    given = {name: meta[name] for name in _META if name in meta}
    try:
        header = freeze({"version": FORMAT_VERSION, "id": session_id, "createdAt": now(), **given})
    except NotJson as error:
        raise InvalidHeader("session header is not losslessly JSON-serializable") from error
    _check(header)
    return header


def _check(header: JsonObject) -> None:
    cwd = header.get("cwd", "/")
    if not isinstance(cwd, str):
        raise InvalidHeader("session header cwd must be a string")
    if "cwd" in header and not PurePath(cwd).is_absolute():  # HEADER-META-03: as given, not normalised
        raise InvalidHeader(f'session header cwd must be an absolute path, got "{cwd}"')
    for name in _COUNTS:
        if name in header and not is_count(header[name]):
            raise InvalidHeader(f"session header {name} must be a non-negative safe integer")
    for name in _TEXTS:
        if name in header and not isinstance(header[name], str):
            raise InvalidHeader(f"session header {name} must be a string")
    if header.get("origin", "subagent") != "subagent":
        raise InvalidHeader('session header origin must be "subagent"')


def canonical_header(header: Mapping[str, Json]) -> JsonObject:
    """Answer the canonical form of a request header: without empty optional fields and unknown ones.

    Args:
        header: A request header as it was appended.

    Returns:
        `config` as it is, and `adapterDefaults`, `system` and `tools` where they say something.

    Spec:
        HEADER-REQ-01
    """
    defaults = header.get("adapterDefaults")
    kept: dict[str, Json] = {"config": header["config"]}
    if isinstance(defaults, Mapping) and any(mark is True for mark in defaults.values()):
        kept["adapterDefaults"] = defaults
    for name in ("system", "tools"):
        if header.get(name):
            kept[name] = header[name]
    return freeze(kept)


_CONFIG_FIELDS: Final = ("provider", "model", "reasoningEffort", "temperature", "maxTokens", "stop")


def header_equals(left: Mapping[str, Json], right: Mapping[str, Json]) -> bool:
    """Tell whether two canonical request headers say the same.

    Unknown fields of `config` do not count; an absent stop list differs from an empty one, absent tools do not.

    Spec:
        HEADER-REQ-03, HEADER-REQ-04
    """
    return _significant(left) == _significant(right)


def _significant(header: Mapping[str, Json]) -> tuple[object, ...]:
    config, defaults, tools = header["config"], header.get("adapterDefaults", {}), header.get("tools") or ()
    assert isinstance(config, Mapping)
    assert isinstance(defaults, Mapping)
    assert isinstance(tools, Sequence)
    return (
        tuple(config.get(name) for name in _CONFIG_FIELDS),
        tuple(defaults.get(name) is True for name in ("reasoningEffort", "maxTokens")),
        header.get("system") or None,
        tuple(tools),
    )
