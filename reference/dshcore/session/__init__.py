"""Sessions: the append-only log, the folds over it, and the store of the live ones."""

from dshcore.session.header import InvalidHeader, canonical_header, header_equals
from dshcore.session.log import Session
from dshcore.session.readings import SESSION_EVENTS, TURN_END_REASONS, TURN_TRIGGERS
from dshcore.session.seed import InvalidSeed, unbalanced
from dshcore.session.store import (
    SESSION_CREATED,
    SESSION_DISPOSED,
    SESSION_EVENT,
    SESSIONS,
    SessionCreated,
    SessionDisposed,
    SessionExists,
    SessionPublished,
    SessionStore,
)
from dshcore.session.surface import Surface, derive_event_message
from dshcore.session.vocabulary import AppendReentered, AppendRefused, SessionError, SessionEvent

__all__ = [
    "SESSIONS",
    "SESSION_CREATED",
    "SESSION_DISPOSED",
    "SESSION_EVENT",
    "SESSION_EVENTS",
    "TURN_END_REASONS",
    "TURN_TRIGGERS",
    "AppendReentered",
    "AppendRefused",
    "InvalidHeader",
    "InvalidSeed",
    "Session",
    "SessionCreated",
    "SessionDisposed",
    "SessionError",
    "SessionEvent",
    "SessionExists",
    "SessionPublished",
    "SessionStore",
    "Surface",
    "canonical_header",
    "derive_event_message",
    "header_equals",
    "unbalanced",
]
