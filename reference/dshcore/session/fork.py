"""Forks: where a log may be cut, and what the child takes along."""

from collections.abc import Sequence
from enum import Enum
from typing import Final

from msgspec import UNSET

from dshcore.json import Json, NotJson, freeze
from dshcore.session.log import Session
from dshcore.session.vocabulary import SessionError, SessionEvent, is_count, member, shown

_BOUNDARIES: Final = frozenset({"turn/start", "turn/end"})


class ForkProblem(Enum):
    """Why a fork was refused (FORK-ERR-01)."""

    NOT_FOUND = "SESSION_NOT_FOUND"
    NOT_LIVE = "SESSION_NOT_LIVE"
    EXISTS = "SESSION_ALREADY_EXISTS"
    BOUNDARY = "INVALID_BOUNDARY"
    OPEN_TURN = "OPEN_TURN"


class SessionForkError(SessionError):
    """A fork was refused; nothing was made.

    Args:
        message: What is wrong.
        problem: What kind of thing that is; its value is the error's code.
    """

    default_code = "SESSION_FORK"

    def __init__(self, message: str, problem: ForkProblem) -> None:
        super().__init__(message, code=problem.value)


def fork_seed(source: Session, boundary: object = UNSET) -> Sequence[SessionEvent]:
    """Answer the events that a fork copies. Being immutable, they are shared.

    Args:
        source: The session that is forked.
        boundary: The seq of the last event; by default the last one there is.

    Returns:
        The beginning of the log, through the boundary.

    Raises:
        SessionForkError: There is no such event, or the turn that it stands in is open.

    Spec:
        FORK-CUT-01, FORK-CUT-02, FORK-CUT-03, FORK-ERR-02, FORK-ERR-03, PATTERN-EXT-03
    """
    events = source.events
    if boundary is UNSET and not events:
        return ()
    last = len(events) - 1 if boundary is UNSET else boundary
    if not is_count(last):
        raise SessionForkError(
            f'fork boundary for session "{source.id}" must be a non-negative safe integer, got {_shown(last)}',
            ForkProblem.BOUNDARY,
        )
    if last >= len(events):
        end = len(events) - 1 if events else "none"
        raise SessionForkError(
            f'fork boundary {last} does not exist in session "{source.id}" (last seq: {end})', ForkProblem.BOUNDARY
        )
    copied = events[: last + 1]
    boundaries = (event for event in reversed(copied) if event["type"] in _BOUNDARIES)
    closing = next(boundaries, None)
    if closing is not None and closing["type"] == "turn/start":  # FORK-CUT-02
        turn = shown(member(closing["data"], "turn"))
        raise SessionForkError(
            f'fork boundary {last} in session "{source.id}" ends inside open turn {turn}', ForkProblem.OPEN_TURN
        )
    return copied


def fork_meta(source: Session, copied: int) -> dict[str, Json]:
    """Answer what the header of a child says: where it comes from, not what the source was for.

    Args:
        source: The session that is forked.
        copied: How many events the child begins with.

    Spec:
        FORK-CHILD-01
    """
    where = {"cwd": source.header["cwd"]} if "cwd" in source.header else {}
    return {**where, "parentSession": source.id, "seedLength": copied}


def _shown(boundary: object) -> str:
    try:
        return shown(freeze(boundary))
    except NotJson:
        return repr(boundary)
