"""Enforcement: an application in which no live session can break the relations of its log."""

from typing import Final
from weakref import WeakKeyDictionary

from dshcore.context import Context
from dshcore.errors import DshError
from dshcore.session.events import SESSION_CREATED
from dshcore.session.invariants import Position
from dshcore.session.log import Session
from dshcore.session.store import SessionStore
from dshcore.session.vocabulary import SessionEvent

OWNER: Final = "dshcore.session"
"""Who owns the relations, for the texts of errors."""


class InvariantError(DshError):
    """A relation that every log keeps would have been broken; nothing has changed.

    Args:
        relation: Which, in words.
    """

    default_code = "INVARIANT"

    def __init__(self, relation: str) -> None:
        super().__init__(f'invariant violated by "{OWNER}": {relation}')


def enforce_invariants(owner: Context, store: SessionStore) -> None:
    """Refuse every event that would break a relation of its log, until the owner ends.

    Sessions that are live now are looked through first. Later ones are, when they are announced, as a whole: a seed
    that breaks a relation vetoes the creation.

    Args:
        owner: Whose enforcement it is.
        store: The store whose sessions are held to the relations.

    Raises:
        InvariantError: A live session is broken already.
        InactiveContext: The owner is inactive.

    Spec:
        INV-MODE-01, INV-MODE-02, LOG-APPEND-06
    """
    positions: WeakKeyDictionary[Session, Position] = WeakKeyDictionary()

    def caught_up(session: Session) -> Position:
        """Answer the position of a session after its last committed event; a refused one has not moved it."""
        position = positions.setdefault(session, Position())
        for event in session.events[position.seq :]:
            _check(position, event)
            position.follow(event)
        return position

    def validate(session: Session, candidate: SessionEvent) -> None:
        _check(caught_up(session), candidate)

    for session in store.list():
        caught_up(session)
    store.validate(owner, validate)
    owner.on(SESSION_CREATED, lambda created: caught_up(created.session), global_=True)


def _check(position: Position, event: SessionEvent) -> None:
    if relation := position.broken_by(event):
        raise InvariantError(relation)
