"""The events about sessions: what is announced, published and asked for."""

from dataclasses import dataclass
from typing import Final

from dshcore.events import Emit, Parallel
from dshcore.session.log import Session
from dshcore.session.vocabulary import SessionEvent


@dataclass(frozen=True, slots=True)
class SessionCreated:
    """A session is live; a listener that raises vetoes it."""

    session: Session


@dataclass(frozen=True, slots=True)
class SessionPublished:
    """A live session has accepted an event, which is in its log already."""

    session: Session
    event: SessionEvent


@dataclass(frozen=True, slots=True)
class SessionDisposed:
    """A session whose creation was announced has left the store."""

    session: Session


@dataclass(frozen=True, slots=True)
class SessionFlush:
    """What a session has logged is to be made durable; a listener ends when it is."""

    session: Session


SESSION_CREATED: Final = Emit[SessionCreated](
    "session/created", report='session "{payload.session.id}": session/created'
)
"""What a listener raises is a veto (STORE-LIFE-03); what fails later is only reported (STORE-LIFE-04)."""

SESSION_EVENT: Final = Emit[SessionPublished](
    "session/event", contained=True, report='session "{payload.session.id}": session/event'
)
"""Failures of listeners are reported, and change nothing (LOG-APPEND-05, LOOP-OBS-01)."""

SESSION_DISPOSED: Final = Emit[SessionDisposed](
    "session/disposed", contained=True, report='session "{payload.session.id}": session/disposed'
)
"""Failures of listeners are reported one by one (STORE-LIFE-10)."""

SESSION_FLUSH: Final = Parallel[SessionFlush]("session/flush")
"""All listeners are started at once, and all are waited for (STORE-FLUSH-01)."""
