"""The store: the live sessions of one process, by id, and what is announced about them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Final

from dshcore.context import Context, ServiceKey
from dshcore.events import Emit
from dshcore.ids import SessionId
from dshcore.scope import Carrier, scope_target
from dshcore.session.log import Session, epoch_milliseconds
from dshcore.session.vocabulary import SessionError, SessionEvent


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


SESSION_CREATED: Final = Emit[SessionCreated](
    "session/created", report='session "{payload.session.id}": session/created'
)
SESSION_EVENT: Final = Emit[SessionPublished](
    "session/event", contained=True, report='session "{payload.session.id}": session/event'
)
SESSION_DISPOSED: Final = Emit[SessionDisposed](
    "session/disposed", contained=True, report='session "{payload.session.id}": session/disposed'
)


class SessionExists(SessionError):
    """The id belongs to a live session."""

    default_code = "SESSION_ALREADY_EXISTS"

    def __init__(self, session_id: str) -> None:
        super().__init__(f'session "{session_id}" already exists')


@dataclass(eq=False, slots=True)
class _Entry:
    """One life of a session in the store."""

    session: Session
    via: Context
    to: Carrier
    """Whom it concerns: the scope through which it was entered, as it was then (SCOPE-EVT-09)."""
    announced: bool = False
    announcing: bool = False
    leaving: bool = False


@dataclass(eq=False)
class SessionStore:
    """The live sessions of one process.

    A session comes to life in three steps: `prepare` makes it, `enter` makes it visible, `announce` tells of it. What
    is announced and published goes to the listeners of the scope through which it was entered (STORE-SCOPE-02).
    """

    now: Callable[[], int] = epoch_milliseconds
    _entries: dict[SessionId, _Entry] = field(default_factory=dict[SessionId, _Entry])
    _numbers: "count[int]" = field(default_factory=lambda: count(1))

    def get(self, session_id: str) -> Session | None:
        """Answer the live session of an id (STORE-ID-03)."""
        entry = self._entries.get(SessionId(session_id))
        return None if entry is None else entry.session

    def list(self) -> tuple[Session, ...]:
        """Answer the live sessions in the order in which they were entered (STORE-ID-03)."""
        return tuple(entry.session for entry in self._entries.values())

    def prepare(
        self,
        session_id: str | None = None,
        *,
        meta: Mapping[str, object] | None = None,
        seed: Sequence[object] | None = None,
        balanced: bool = False,
    ) -> Session:
        """Make a session that nobody sees yet.

        Args:
            session_id: Its id; by default the next free `session-<n>`.
            meta: What its header says beside version, id and time.
            seed: The events that its log begins with.
            balanced: Whether the seed has to be one that an agent can go on from.

        Returns:
            The session. It does not occupy its id before it is entered.

        Raises:
            SessionExists: The id belongs to a live session.
            InvalidSeed: The seed cannot be the beginning of a log.
            InvalidHeader: The metadata has a value that no header may have.

        Spec:
            STORE-ID-01, STORE-ID-02, SEED-VAL-05, SEED-VAL-09, LIFE-CREATE-04
        """
        if session_id is None:
            session_id = next(name for n in self._numbers if (name := f"session-{n}") not in self._entries)
        if session_id in self._entries:
            raise SessionExists(session_id)
        return Session(SessionId(session_id), meta=meta, seed=seed, balanced=balanced, now=self.now)

    def enter(self, session: Session, via: Context) -> Callable[[], None]:
        """Make a session visible and publish its events from now on, without announcing it.

        Args:
            session: A session that is in no store.
            via: The context whose scope hears of it, for this whole life.

        Returns:
            The detach: the session leaves the store, and `session/disposed` follows if it was announced. While its
            creation is dispatched or an append is published, that happens as soon as they have unwound. It works
            once.

        Raises:
            SessionExists: The id belongs to a live session.
            SessionError: The session is in a store already.

        Spec:
            STORE-ID-02, STORE-ID-04, STORE-SCOPE-01, SCOPE-EVT-09, STORE-LIFE-06, STORE-LIFE-07, STORE-LIFE-08,
            STORE-LIFE-09
        """
        if session.id in self._entries:
            raise SessionExists(session.id)
        session.attach(self)
        entry = self._entries[session.id] = _Entry(session, via, scope_target(session, via.scope))

        def detach() -> None:
            if not entry.leaving:
                entry.leaving = True
                self._leave(entry)

        return detach

    def announce(self, session: Session) -> None:
        """Dispatch `session/created` for a session that was entered, once in its life.

        Raises:
            SessionError: The session is not live here, or was announced before.
            Exception: What a listener raised: a veto. The entry stays until its detach.

        Spec:
            STORE-LIFE-02, STORE-LIFE-05, STORE-LIFE-08
        """
        entry = self._entries.get(session.id)
        if entry is None or entry.session is not session:
            raise SessionError(f'session "{session.id}" is not live in this store')
        if entry.announced:
            raise SessionError(f'session "{session.id}" was already announced')
        entry.announced = entry.announcing = True
        try:
            entry.via.emit(SESSION_CREATED, SessionCreated(session), to=entry.to)
        finally:
            entry.announcing = False
            if entry.leaving:
                self._leave(entry)

    def publish(self, session: Session, event: SessionEvent) -> None:
        """Call the listeners of a committed event; the session's operation.

        Spec:
            LOG-APPEND-05, LOG-OBS-01, LOG-OBS-02, LOG-OBS-04, LOG-OBS-07
        """
        entry = self._entries[session.id]
        entry.via.emit(SESSION_EVENT, SessionPublished(session, event), to=entry.to)

    def _leave(self, entry: _Entry) -> None:
        """Carry out a detach, or leave it to what is being dispatched."""
        session = entry.session

        def leave() -> None:
            if entry.announcing or self._entries.get(session.id) is not entry:
                return  # STORE-LIFE-09: inside a creation dispatch it waits for that one as well
            del self._entries[session.id]
            session.detach()
            if entry.announced:
                entry.via.emit(SESSION_DISPOSED, SessionDisposed(session), to=entry.to)

        if not entry.announcing:
            session.when_unwound(leave)


SESSIONS: Final = ServiceKey[SessionStore]("sessions")
