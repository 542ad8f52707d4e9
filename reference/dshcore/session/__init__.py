"""Sessions: the append-only log, the folds over it, and the store of the live ones."""

from dshcore.session.chunk_rows import MalformedRow, decode_storage_record, pack_chunk_runs
from dshcore.session.enforcement import InvariantError, enforce_invariants
from dshcore.session.events import (
    SESSION_CREATED,
    SESSION_DISPOSED,
    SESSION_EVENT,
    SESSION_FLUSH,
    SessionCreated,
    SessionDisposed,
    SessionFlush,
    SessionPublished,
)
from dshcore.session.fork import SessionForkError
from dshcore.session.header import InvalidHeader
from dshcore.session.history import derive_event_message
from dshcore.session.log import Session
from dshcore.session.readings import SESSION_EVENTS, TURN_END_REASONS, TURN_TRIGGERS
from dshcore.session.repair import interrupted_turn_closers
from dshcore.session.request_header import canonical_header, fold_request_header, header_equals
from dshcore.session.seed import InvalidSeed, unbalanced
from dshcore.session.storage import SESSION_PERSISTENCE, Preparation, SessionPersistence
from dshcore.session.store import SESSIONS, SessionExists, SessionNotLive, SessionStore
from dshcore.session.surface import Replacement, SurfaceFold, SurfaceReader, fold_surface
from dshcore.session.todos import fold_todos
from dshcore.session.vocabulary import AppendReentered, AppendRefused, SessionError, SessionEvent

__all__ = [
    "SESSIONS",
    "SESSION_CREATED",
    "SESSION_DISPOSED",
    "SESSION_EVENT",
    "SESSION_EVENTS",
    "SESSION_FLUSH",
    "SESSION_PERSISTENCE",
    "TURN_END_REASONS",
    "TURN_TRIGGERS",
    "AppendReentered",
    "AppendRefused",
    "InvalidHeader",
    "InvalidSeed",
    "InvariantError",
    "MalformedRow",
    "Preparation",
    "Replacement",
    "Session",
    "SessionCreated",
    "SessionDisposed",
    "SessionError",
    "SessionEvent",
    "SessionExists",
    "SessionFlush",
    "SessionForkError",
    "SessionNotLive",
    "SessionPersistence",
    "SessionPublished",
    "SessionStore",
    "SurfaceFold",
    "SurfaceReader",
    "canonical_header",
    "decode_storage_record",
    "derive_event_message",
    "enforce_invariants",
    "fold_request_header",
    "fold_surface",
    "fold_todos",
    "header_equals",
    "interrupted_turn_closers",
    "pack_chunk_runs",
    "unbalanced",
]
