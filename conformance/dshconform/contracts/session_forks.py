"""Which forks are refused, in the order of FORK-ERR-03, and what the others copy."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from dshconform.contracts.session_state import AbstractSession, Clauses, Event, open_turn
from dshconform.protocol.json_value import Json, JsonMap

UNBOUNDED: Final[JsonMap] = {}
"""Stands for a boundary that is not given."""


@dataclass(frozen=True, slots=True)
class ForkRefused:
    """A fork that is refused.

    Args:
        name: What the grid calls it.
        code: The error's.
        text: The error's.
        clauses: Who refuses.
    """

    name: str
    code: str
    text: str
    clauses: Clauses

    @property
    def error(self) -> JsonMap:
        """A pattern for the error."""
        return {"code": self.code, "message": self.text}


def judge_fork(
    live: Mapping[str, AbstractSession], source: AbstractSession | None, wanted: str, child: Json, boundary: Json
) -> AbstractSession | ForkRefused:
    """Say what is forked, or why nothing is.

    Args:
        live: The sessions of the store, by id.
        source: What is to be forked; nothing where only its id is given.
        wanted: Its id.
        child: The id of the child, if one is given.
        boundary: The last event to be copied, or `UNBOUNDED`.

    Returns:
        The session that is forked, or what refuses it, with the clauses that say so.
    """
    if child is not None and child in live:
        text = f'session "{child}" already exists'
        return ForkRefused("taken id", "SESSION_ALREADY_EXISTS", text, ("FORK-ERR-03", "FORK-ERR-01"))
    found = live.get(wanted)
    gone: Clauses = ("FORK-ERR-04",) if source is not None and source.life is None else ("FORK-ERR-01",)
    if found is None:
        text = f'session "{wanted}" not found'
        return ForkRefused("not found", "SESSION_NOT_FOUND", text, gone)
    if source is not None and found is not source:
        text = f'session "{wanted}" is not the live store instance'
        return ForkRefused("not live", "SESSION_NOT_LIVE", text, gone)
    if boundary is UNBOUNDED:
        boundary = len(found.events) - 1
    elif not isinstance(boundary, int) or isinstance(boundary, bool) or boundary < 0:
        text = f'fork boundary for session "{wanted}" must be a non-negative safe integer, got {boundary}'
        return ForkRefused("no boundary", "INVALID_BOUNDARY", text, ("FORK-ERR-02",))
    elif boundary >= len(found.events):
        last = len(found.events) - 1 if found.events else "none"
        text = f'fork boundary {boundary} does not exist in session "{wanted}" (last seq: {last})'
        return ForkRefused("beyond the end", "INVALID_BOUNDARY", text, ("FORK-ERR-02",))
    opened = open_turn(found.events[: boundary + 1])
    if opened is None:
        return found
    text = f'fork boundary {boundary} in session "{wanted}" ends inside open turn {opened}'
    return ForkRefused("open turn", "OPEN_TURN", text, ("FORK-CUT-02",))


def copied(source: AbstractSession, boundary: Json) -> Sequence[Event]:
    """What a fork that is not refused takes over.

    Args:
        source: The session that is forked.
        boundary: The last event to be copied, or `UNBOUNDED`.
    """
    return source.events[: boundary + 1] if isinstance(boundary, int) else tuple(source.events)
