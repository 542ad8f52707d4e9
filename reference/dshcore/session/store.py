"""The store: the live sessions of one process, by id, and what is announced about them."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Final, TypeAlias

from msgspec import UNSET

from dshcore import eager
from dshcore.context import Context, Disposer, ListenersFailed, ServiceKey
from dshcore.ids import SessionId
from dshcore.json import abridged
from dshcore.scope import Carrier, scope_target
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
from dshcore.session.fork import ForkProblem, SessionForkError, fork_meta, fork_seed
from dshcore.session.log import Session, epoch_milliseconds
from dshcore.session.vocabulary import SessionError, SessionEvent

Validator: TypeAlias = Callable[[Session, SessionEvent], object]
"""Sees the event that a live session is about to commit; what it raises refuses it."""


class SessionExists(SessionError):
    """The id belongs to a live session.

    Args:
        session_id: The id.
    """

    default_code = "SESSION_ALREADY_EXISTS"

    def __init__(self, session_id: str) -> None:
        super().__init__(f'session "{session_id}" already exists')


class SessionNotLive(SessionError):
    """The session is not in this store: it was never entered, or has left.

    Args:
        session_id: The session.
    """

    default_code = "SESSION_NOT_LIVE"

    def __init__(self, session_id: str) -> None:
        super().__init__(f'session "{session_id}" is not live in this store')


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
    left: "list[Callable[[], object]]" = field(default_factory=list["Callable[[], object]"])


@dataclass(eq=False)
class SessionStore:
    """The live sessions of one process.

    A session comes to life in three steps: `prepare` makes it, `enter` makes it visible, `announce` tells of it;
    `create` takes them in one. What is announced and published goes to the listeners of the scope through which it was
    entered (STORE-SCOPE-02). Nothing is locked: listeners may call the store as anybody may.

    Args:
        now: Tells the time in epoch milliseconds.
    """

    now: Callable[[], int] = epoch_milliseconds
    _validators: tuple[Validator, ...] = field(default=(), init=False)
    _entries: dict[SessionId, _Entry] = field(default_factory=dict[SessionId, _Entry], init=False)
    _numbers: "count[int]" = field(default_factory=lambda: count(1), init=False)

    def get(self, session_id: str) -> Session | None:
        """Answer the live session of an id (STORE-ID-03).

        Args:
            session_id: The id.
        """
        entry = self._entries.get(SessionId(session_id))
        return None if entry is None else entry.session

    def list(self) -> tuple[Session, ...]:
        """Answer the live sessions in the order in which they were entered (STORE-ID-03)."""
        return tuple(entry.session for entry in self._entries.values())

    def create(
        self,
        owner: Context,
        session_id: str | None = None,
        *,
        meta: Mapping[str, object] | None = None,
        seed: Sequence[object] | None = None,
    ) -> Session:
        """Make a session, and publish it: prepared, entered and announced in one.

        Args:
            owner: Who the session belongs to: it leaves when this context ends. Its scope hears of it.
            session_id: Its id; by default the next free `session-<n>`.
            meta: What its header says beside version, id and time.
            seed: The events that its log begins with.

        Returns:
            The session, live and announced.

        Raises:
            SessionExists: The id belongs to a live session.
            InvalidSeed: The seed cannot be the beginning of a log.
            InvalidHeader: The metadata has a value that no header may have.
            InactiveContext: The owner is inactive.
            Exception: What a listener raised: a veto. The session has left again, and its id is free.

        Spec:
            STORE-LIFE-01, STORE-LIFE-03, STORE-LIFE-11, STORE-LIFE-12, SEED-VAL-05
        """
        session = self.prepare(session_id, meta=meta, seed=seed)
        owner.assert_accepting()
        leave = owner.effect(self.enter(session, owner), label=f"session {session.id}")
        try:
            self.announce(session)
        except BaseException:
            leave()
            raise
        return session

    def fork(
        self, owner: Context, source: Session | str, boundary: object = UNSET, child_id: str | None = None
    ) -> Session:
        """Make a session out of the beginning of another one, which stays as it is.

        Args:
            owner: As of `create`.
            source: A live session, or its id.
            boundary: The seq of the last event that is copied; by default the last one there is.
            child_id: The id of the new session; by default the next free `session-<n>`.

        Returns:
            The new session, live and announced.

        Raises:
            SessionForkError: The child's id is taken, the source is not live, or its log cannot be cut there.
            InactiveContext: The owner is inactive.
            Exception: What a listener raised: a veto.

        Spec:
            FORK-CUT-01, FORK-CUT-02, FORK-CUT-03, FORK-CHILD-01, FORK-CHILD-02, FORK-CHILD-03, FORK-ERR-01,
            FORK-ERR-02, FORK-ERR-03, FORK-ERR-04
        """
        if child_id is not None and child_id in self._entries:
            raise SessionForkError(f'session "{child_id}" already exists', ForkProblem.EXISTS)
        live = self._fork_source(source)
        seed = fork_seed(live, boundary)
        return self.create(owner, child_id, meta=fork_meta(live, len(seed)), seed=seed)

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

    def restore(self, session_id: str, header: object, events: Sequence[object]) -> Session:
        """Make a session again out of its header and its whole log; nobody sees it yet.

        Args:
            session_id: Its id.
            header: Its header; checked before the events.
            events: Its log. What is frozen is taken over, not copied.

        Returns:
            The session. It does not occupy its id before it is entered.

        Raises:
            SessionExists: The id belongs to a live session.
            InvalidHeader: The header is none, or that of another session or format.
            InvalidSeed: The events are no log.

        Spec:
            SEED-OWN-01, HEADER-META-05
        """
        if session_id in self._entries:
            raise SessionExists(session_id)
        return Session(SessionId(session_id), header=header, seed=events, now=self.now)

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
            STORE-ID-02, STORE-ID-04, STORE-SCOPE-01, STORE-SCOPE-02, SCOPE-EVT-09, STORE-LIFE-06, STORE-LIFE-07,
            STORE-LIFE-08, STORE-LIFE-09
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
            SessionNotLive: The session is not live here.
            SessionError: It was announced before in this life.
            Exception: What a listener raised: a veto. The entry stays until its detach.

        Spec:
            STORE-LIFE-02, STORE-LIFE-03, STORE-LIFE-05, STORE-LIFE-08
        """
        entry = self._live(session)
        if entry.announced:
            raise SessionError(f'session "{session.id}" was already announced')
        entry.announced = entry.announcing = True
        try:
            entry.via.emit(SESSION_CREATED, SessionCreated(session), to=entry.to)
        finally:
            entry.announcing = False
            if entry.leaving:
                self._leave(entry)

    def when_left(self, session_id: str, callback: Callable[[], object]) -> None:
        """Have a callback called once the session that is live under an id has left, announced or not.

        Args:
            session_id: The id.
            callback: Called without arguments.

        Raises:
            SessionNotLive: The id is free.

        Spec:
            CONF-START-05
        """
        entry = self._entries.get(SessionId(session_id))
        if entry is None:
            raise SessionNotLive(session_id)
        entry.left.append(callback)

    def flush(self, session: Session) -> Awaitable[bool]:
        """Have everything durable that a session has logged: the listeners of `session/flush` see to it.

        All of them have been started when this returns. Appends and a detach meanwhile change nothing.

        Args:
            session: A live session.

        Returns:
            The completion, when all listeners have ended: whether there was one. It fails with `SessionNotLive`, and
            with the error of the first listener that failed, in the order of registration.

        Raises:
            RuntimeError: No event loop is running.

        Cancellation:
            Cancelling the completion cancels the listeners.

        Spec:
            STORE-FLUSH-01, STORE-FLUSH-02, STORE-FLUSH-03, STORE-FLUSH-04, STORE-FLUSH-05
        """
        return eager.start(self._flush(session), name=f"flush of {session.id}")

    def validate(self, owner: Context, validator: Validator) -> Disposer:
        """Have every event of a live session validated before it is committed, until the owner ends.

        Args:
            owner: Whose validator it is.
            validator: Called with the session and the stamped event, which is not in the log yet. What it raises
                reaches the caller of the append, and nothing has happened. It hears the sessions of all scopes.

        Returns:
            Removes it earlier.

        Raises:
            InactiveContext: The owner is inactive.
            TypeError: The validator is a coroutine function, which an append could not wait for.

        Spec:
            LOG-APPEND-06
        """
        if eager.answers_coroutine(validator):
            raise TypeError(f"{abridged(validator)} is a coroutine function: validators of appends are synchronous")

        def admit(session: Session, candidate: SessionEvent) -> None:  # its own, so that one can be removed twice
            validator(session, candidate)

        def remove() -> None:
            self._validators = tuple(entry for entry in self._validators if entry is not admit)

        disposer = owner.effect(remove, label="validator of session events")
        self._validators = (*self._validators, admit)
        return disposer

    # --- the sessions' side ----------------------------------------------------------------------------------------

    def admit(self, session: Session, candidate: SessionEvent) -> Callable[[], None]:
        """Settle who hears of an event that is about to be committed, and call the validators; the session's operation.

        Args:
            candidate: What is to be appended.
            session: The log.

        Returns:
            Calls the listeners, when it is committed.

        Spec:
            LOG-APPEND-05, LOG-APPEND-06, LOG-OBS-01, LOG-OBS-02, LOG-OBS-04, LOG-OBS-07
        """
        entry = self._entries[session.id]
        publish = entry.via.prepare(SESSION_EVENT, SessionPublished(session, candidate), to=entry.to)
        for validator in self._validators:
            validator(session, candidate)
        return publish

    # --- internals -------------------------------------------------------------------------------------------------

    def _live(self, session: Session) -> _Entry:
        entry = self._entries.get(session.id)
        if entry is None or entry.session is not session:
            raise SessionNotLive(session.id)
        return entry

    def _fork_source(self, source: Session | str) -> Session:
        """Answer the live session that is forked: none that is merely at hand (FORK-ERR-01, FORK-ERR-04)."""
        session_id = source.id if isinstance(source, Session) else source
        live = self.get(session_id)
        if live is None:
            raise SessionForkError(f'session "{session_id}" not found', ForkProblem.NOT_FOUND)
        if isinstance(source, Session) and live is not source:
            raise SessionForkError(f'session "{session_id}" is not the live store instance', ForkProblem.NOT_LIVE)
        return live

    async def _flush(self, session: Session) -> bool:
        entry = self._live(session)
        heard = entry.via.reaches(SESSION_FLUSH, to=entry.to)
        failed: Exception | None = None
        try:
            await entry.via.parallel(SESSION_FLUSH, SessionFlush(session), to=entry.to)
        except ListenersFailed as failures:
            failed = failures.exceptions[0]  # STORE-FLUSH-03: the first in order, as it is
        if failed is not None:
            raise failed
        return heard

    def _leave(self, entry: _Entry) -> None:
        """Carry out a detach, when what is being dispatched has ended: a creation, an append, one inside the other.

        Spec:
            STORE-LIFE-06, STORE-LIFE-08, STORE-LIFE-09
        """
        session = entry.session

        def leave() -> None:
            if self._entries.get(session.id) is not entry:
                return  # asked for in an append, and again at the end of a creation inside it
            del self._entries[session.id]
            session.detach()
            if entry.announced:
                entry.via.emit(SESSION_DISPOSED, SessionDisposed(session), to=entry.to)
            for callback in entry.left:
                callback()

        if not entry.announcing:  # whoever announces comes here again
            session.when_unwound(leave)


SESSIONS: Final = ServiceKey[SessionStore]("sessions")
"""The live sessions of an application."""
