"""One session: an append-only log of events, and the folds over it."""

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final, Protocol

from msgspec import UNSET, UnsetType

from dshcore.errors import describe
from dshcore.ids import SessionId
from dshcore.json import Json, JsonObject, NotJson, freeze
from dshcore.prefix import Prefix
from dshcore.session.header import make_header, read_header
from dshcore.session.history import History
from dshcore.session.request_header import canonical_header
from dshcore.session.seed import InvalidSeed, read_seed, unbalanced
from dshcore.session.shapes import loadable, retired_problem, shape_problem
from dshcore.session.surface import Placement, Surface, SurfaceReader
from dshcore.session.vocabulary import (
    END_SEED,
    AppendReentered,
    AppendRefused,
    SessionError,
    SessionEvent,
    is_count,
    member,
)

_log: Final = logging.getLogger(__name__)


def epoch_milliseconds() -> int:
    """Answer the wall clock's time as events carry it (LOG-ENV-02)."""
    return time.time_ns() // 1_000_000


class Publisher(Protocol):
    """What a store does with the events of a session that is live in it."""

    def admit(self, session: "Session", candidate: SessionEvent) -> Callable[[], None]:
        """Settle who hears of an event, and let the validators see it; what they raise refuses it.

        Args:
            session: The log.
            candidate: What is to be appended.

        Returns:
            Publishes it, when it is committed; failures of listeners are contained.
        """
        ...


class Session:
    """The log of one conversation, with everything that is folded from it.

    A session in no store is readable and takes appends, but publishes nothing (LOG-OBS-06).

    Args:
        session_id: The one identity of the session, and of the agent over it.
        meta: What the creator gives for the header.
        header: A header that exists already, in place of `meta`: the session is restored, and its header is checked
            before its seed.
        seed: The events that the log begins with; none for a log of its own.
        balanced: Whether the seed may leave no turn, step or tool call open (SEED-VAL-07). By default it may: it is
            kept as it is.
        now: Tells the time in epoch milliseconds.
        id: Its identity.

    Raises:
        InvalidSeed: An event of the seed cannot stand where it stands.
        InvalidHeader: The metadata has a value that no header may have. The seed is checked before.

    Spec:
        HEADER-META-06, SEED-VAL-04, SEED-VAL-08, SEED-VAL-09, SEED-MARK-01, SEED-MARK-02, SEED-MARK-03, SEED-MARK-05,
        SEED-OWN-01, STORE-LIFE-02
    """

    def __init__(
        self,
        session_id: SessionId,
        *,
        meta: Mapping[str, object] | None = None,
        header: object = UNSET,
        seed: Sequence[object] | None = None,
        balanced: bool = False,
        now: Callable[[], int] = epoch_milliseconds,
    ) -> None:
        self.id: Final = session_id
        self._now = now
        self._events: list[SessionEvent] = []
        self._surface = Surface()
        self._history = History(self._surface)
        self._request_header: JsonObject | None = None
        self._request_context: JsonObject | None = None
        self._last_turn = 0
        self._publisher: Publisher | None = None
        self._publishing = False
        self._unwound: list[Callable[[], None]] = []
        restored = None if header is UNSET else read_header(session_id, header)  # SEED-OWN-01: before the seed
        for event, place in read_seed(() if seed is None else seed, self._surface):
            self._commit(event, place)
        if balanced and (problem := unbalanced(self._events)):
            raise InvalidSeed(f'seed of session "{session_id}" is unbalanced: {problem}')  # SEED-VAL-08
        self._header: Final = make_header(session_id, meta or {}, now) if restored is None else restored
        self.first_live_seq: Final = len(self._events)
        """How many events the session was constructed over; its own begin here (SEED-MARK-03)."""
        if seed is not None and not (self._events and self._events[-1]["type"] == END_SEED):
            self.append(END_SEED, {})  # SEED-MARK-01, SEED-MARK-02; nobody else writes one (SEED-MARK-05)

    # --- readers ---------------------------------------------------------------------------------------------------

    @property
    def header(self) -> JsonObject:
        """Who the session is and where it came from; no part of the log (HEADER-META-06)."""
        return self._header

    @property
    def events(self) -> Prefix[SessionEvent]:
        """The log as it is now: a snapshot that does not grow, and costs nothing to take (LOG-IMM-03)."""
        return Prefix(self._events)

    @property
    def seq(self) -> int:
        """The length of the log, which is the seq that the next event gets (LOG-ENV-01)."""
        return len(self._events)

    @property
    def surface(self) -> SurfaceReader:
        """The ordered surface of the log, to be read."""
        return SurfaceReader(self._surface)

    @property
    def publishing(self) -> bool:
        """Whether an append is being validated or published right now, so that no other is accepted."""
        return self._publishing

    @property
    def last_turn(self) -> int:
        """The number of the last `turn/start` in the whole log, seed included; 0 without one (LOOP-OPEN-02)."""
        return self._last_turn

    def derive_messages(self) -> Prefix[JsonObject]:
        """Answer the history that a model request starting now would see, as a snapshot.

        Returns:
            The messages of the surface, as they were logged.

        Spec:
            DERIVE-PROJ-01, DERIVE-PROJ-06, DERIVE-SNAP-01, DERIVE-SNAP-02
        """
        return self._history.view()

    def request_header(self) -> JsonObject | None:
        """Answer the request header in force: the canonical form of the last one logged (HEADER-REQ-02)."""
        return self._request_header

    def request_context(self) -> JsonObject | None:
        """Answer the request context in force: the last one logged, whole (HEADER-CTX-01)."""
        return self._request_context

    # --- append ----------------------------------------------------------------------------------------------------

    def append(
        self,
        kind: str,
        data: object,
        *,
        surface_op: object = UNSET,
        source_event_seqs: object = UNSET,
    ) -> SessionEvent:
        """Append one event, publish it, and answer it as it was logged.

        The checks run in the specification's order, so that the first that fails names the error, and a refused
        append changes nothing.

        Args:
            kind: The event's type: any non-empty name but the retired ones.
            data: Its payload: any lossless JSON. The log keeps a copy of its own.
            surface_op: How a surface event enters the surface; required on the surface types, absent elsewhere.
            source_event_seqs: The earlier events that it cites.

        Returns:
            The logged event, with its seq and time.

        Raises:
            AppendRefused: The event does not fit this log.
            AppendReentered: Another append of this session is being validated or published.
            Exception: What a validator of the store raised.

        Spec:
            LOG-APPEND-01, LOG-APPEND-02, LOG-APPEND-03, LOG-APPEND-04, LOG-APPEND-06, LOG-APPEND-07, LOG-ENV-01,
            LOG-ENV-02, LOG-ENV-03, LOG-ENV-04, LOG-IMM-01, LOG-IMM-02, LOG-OBS-03, LOG-OBS-05, LOG-OBS-06,
            PATTERN-EXT-02
        """
        payload = _lossless(kind, data, "data")  # 1
        if problem := retired_problem(kind, payload):  # 2: LOG-APPEND-03
            raise AppendRefused(f'session event "{kind}" {problem}')
        metadata: dict[str, Json] = {}  # 3
        for name, given in (("surfaceOp", surface_op), ("sourceEventSeqs", source_event_seqs)):
            if not isinstance(given, UnsetType):
                metadata[name] = _lossless(kind, given, "surface metadata")
        if self._publishing:  # 4: LOG-OBS-03
            raise AppendReentered
        if type(kind) is not str:  # it could not even be stamped (a subclass could not either: it is no JSON)
            _refuse_unloadable(kind, payload)
        event = freeze({"type": kind, "seq": len(self._events), "time": self._now(), "data": payload, **metadata})  # 5
        place = self._surface.check(event)  # 6
        _refuse_unloadable(kind, payload)
        if self._publisher is None:
            self._commit(event, place)
            return event
        self._publishing = True
        try:
            publish = self._publisher.admit(self, event)  # 7: LOG-APPEND-06
            self._commit(event, place)  # 8
            publish()  # 9
        finally:
            self._publishing = False  # LOG-OBS-05
            self._run_unwound()  # 10
        return event

    def when_unwound(self, callback: Callable[[], None]) -> None:
        """Run a callback as soon as no append of this session is being published: at once, or when the current ends.

        Args:
            callback: Called once; it may append. Behind an append, what it raises is reported and changes nothing: the
                others still run, and the append answers what it came to.

        Raises:
            Exception: What the callback raised, if it was run at once.

        Spec:
            LOG-APPEND-05, LIFE-DISP-20
        """
        if self._publishing:
            self._unwound.append(callback)
        else:
            callback()

    # --- the store's side ------------------------------------------------------------------------------------------

    def attach(self, publisher: Publisher) -> None:
        """Publish the events that follow through a store; the store's operation, when it enters the session.

        Args:
            publisher: Who admits and publishes what is appended.

        Raises:
            SessionError: The session is in a store already.

        Spec:
            STORE-ID-04
        """
        if self._publisher is not None:
            raise SessionError(f'session "{self.id}" is already attached to a store')
        self._publisher = publisher

    def detach(self) -> None:
        """Publish nothing any more; the store's operation, when the session leaves it."""
        self._publisher = None

    # --- internals -------------------------------------------------------------------------------------------------

    def _commit(self, event: SessionEvent, place: Placement | None) -> None:
        """Add a checked event to the log and to every fold, each in constant time (replacements aside).

        Nothing else writes the log (LOG-IMM-04).
        """
        self._events.append(event)
        if place is not None:
            self._surface.place(event, place)
            self._history.follow(event, place)
        data: Json = event["data"]
        match event["type"]:
            case "turn/start" if is_count(turn := member(data, "turn")):
                self._last_turn = turn
            case "request/header":
                self._request_header = canonical_header(event["data"]["header"])
            case "request/context":
                self._request_context = data if isinstance(data, JsonObject) else None
            case _:
                pass

    def _run_unwound(self) -> None:
        while self._unwound:
            try:
                self._unwound.pop(0)()
            except Exception as error:  # noqa: BLE001 - the append's outcome is settled, and the others wait
                _log.warning(
                    'session "%s": what waited for an append failed: %s', self.id, describe(error), exc_info=error
                )
            except BaseException:  # the host wants to stop: the others are not stranded for that
                self._run_unwound()
                raise


def _lossless(kind: str, value: object, what: str) -> Json:
    try:
        return freeze(value)
    except NotJson as error:
        raise AppendRefused(f'session event "{kind}" carries non-JSON-serializable {what}') from error


def _refuse_unloadable(kind: object, payload: Json) -> None:
    """Refuse what a load would refuse (LOG-APPEND-07)."""
    if type(kind) is str and (problem := shape_problem(kind, payload)):
        raise AppendRefused(f'session event "{kind}" {problem}')
    if type(kind) is not str or not loadable(kind, payload):
        raise AppendRefused(f'session event "{kind}" has a payload that could not be loaded again')
