"""The inbox: what was delivered to an agent and not yet claimed, as two lists that the log can rebuild.

Every operation is written in the same four parts. *Accept*: check the arguments; a refusal changes nothing. *Log*:
append the splice, so that observers of it still see the lists as they were (INBOX-DUR-02). *Change*: the same splice on
the live list. *Notify*: tell the listeners, who see the lists as they are and may call any operation again.
"""

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from math import isnan
from typing import Final, Literal, Protocol, TypeAlias, TypeGuard, get_args

from dshcore.agent.pending import Pending
from dshcore.errors import DshError
from dshcore.json import Json, JsonObject, is_object
from dshcore.session import Session, SessionEvent
from dshcore.session.vocabulary import is_array

Target: TypeAlias = Literal["next-turn", "next-step"]
"""Which of the two lists a message waits in."""

SPLICED: Final = "agent/inbox/spliced"
"""The type of the events that change the lists."""

_TARGETS: Final[tuple[Target, ...]] = get_args(Target)


class InboxError(DshError):
    """An inbox operation was refused; nothing has changed."""

    default_code = "INBOX"


class DuplicateMessage(InboxError):
    """The id of a message is already pending.

    Args:
        message_id: The id.
    """

    default_code = "DUPLICATE_MESSAGE"

    def __init__(self, message_id: str) -> None:
        super().__init__(f'message "{message_id}" is already pending')


class InvalidInboxLog(InboxError):
    """A log holds a splice that does not fit what its earlier splices left.

    Args:
        seq: The number of the splice in the log.
    """

    default_code = "INVALID_INBOX_LOG"

    def __init__(self, seq: int) -> None:
        super().__init__(f"invalid persisted inbox splice at session seq {seq}")


class InboxListener(Protocol):
    """Who is told what became of messages."""

    def inserted(self, message: JsonObject) -> None:
        """Take note that a message has entered a list."""
        ...

    def claimed(self, message: JsonObject, turn: int) -> None:
        """Take note that a claim of a turn has taken a message."""
        ...

    def discarded(self, message: JsonObject) -> None:
        """Take note that a message was removed in another way."""
        ...


class Inbox:
    """The pending messages of one agent.

    Construction folds the splices of the log; nothing is logged or notified for them.

    Args:
        session: The log that holds the splices.
        listener: Told of every message that enters or leaves.
        at_rest: Called when an operation has ended during which something waited for the lists (see `changing`).

    Raises:
        InvalidInboxLog: A splice of the log does not fit.

    Spec:
        INBOX-LIST-01, INBOX-DUR-01, INBOX-REPLAY-01, INBOX-REPLAY-02, INBOX-REPLAY-03
    """

    def __init__(self, session: Session, listener: InboxListener, at_rest: Callable[[], None]) -> None:
        self._session = session
        self._listener = listener
        self._at_rest = at_rest
        self._refusal: DshError | None = None
        self._changing = False
        self._lists = fold_inbox(session)

    # --- readers ---------------------------------------------------------------------------------------------------

    @property
    def next_turn(self) -> tuple[JsonObject, ...]:
        """What waits for a turn of its own, oldest first."""
        return tuple(self._lists["next-turn"])

    @property
    def next_step(self) -> tuple[JsonObject, ...]:
        """What waits for the next step, oldest first."""
        return tuple(self._lists["next-step"])

    @property
    def has_pending(self) -> bool:
        """Whether either list holds a message."""
        return bool(self._lists["next-turn"] or self._lists["next-step"])

    @property
    def has_next_step(self) -> bool:
        """Whether the next step has input."""
        return bool(self._lists["next-step"])

    @property
    def changing(self) -> bool:
        """Whether a splice is logged and its list not yet changed: whoever would change the lists has to wait."""
        return self._changing

    # --- operations ------------------------------------------------------------------------------------------------

    def append(self, target: Target, message: Mapping[str, object]) -> None:
        """Insert a message at the end of a list.

        Args:
            target: The list.
            message: An identified user message; the log keeps an immutable copy of its own.

        Raises:
            InboxError: The target is none, the message has no id, or its id is pending already.
            AppendRefused: The splice cannot be logged.

        Spec:
            INBOX-OPS-01, INBOX-NOTE-02, INBOX-WAKE-01, AGENT-SEND-06
        """
        pending = self._list(target)
        self._splice(target, len(pending), 0, (message,))

    def prepend(self, target: Target, message: Mapping[str, object]) -> None:
        """Insert a message at the beginning of a list. Arguments and errors are those of `append`.

        Args:
            target: The list.
            message: An identified user message.

        Spec:
            INBOX-OPS-01
        """
        self._splice(target, 0, 0, (message,))

    def splice(
        self,
        target: Target,
        start: float | None = None,
        delete_count: float = 0,
        inserted: Sequence[Mapping[str, object]] = (),
    ) -> tuple[JsonObject, ...]:
        """Remove and insert messages at one place of a list, with the index rules of an ECMAScript splice.

        Args:
            target: The list.
            start: Where; truncated, counted from the end when negative, clamped to the list. None and NaN mean 0.
            delete_count: How many messages to remove from there; clamped. NaN and negative values mean 0.
            inserted: What to insert there.

        Returns:
            The removed messages, in list order.

        Raises:
            InboxError: The target is none, a message has no id, or its id is pending already.
            AppendRefused: The splice cannot be logged.

        Spec:
            INBOX-NORM-01, INBOX-NORM-02, INBOX-NORM-03, INBOX-NORM-04, INBOX-NOOP-01, INBOX-OPS-01, INBOX-NOTE-01
        """
        length = len(self._list(target))
        first = _clamp(start, 0, length, from_end=True)
        return self._splice(target, first, _clamp(delete_count, 0, length - first), inserted)

    def replace(self, message_id: str, message: Mapping[str, object]) -> bool:
        """Put a message where another one waits.

        Args:
            message_id: Who is replaced, in either list.
            message: What takes its place; it may have the same id.

        Returns:
            Whether `message_id` was pending; if not, nothing has happened.

        Raises:
            InboxError: The message has no id, or its id is pending elsewhere.
            AppendRefused: The splice cannot be logged.

        Spec:
            INBOX-REPL-01, INBOX-REPL-02, INBOX-DUP-02
        """
        found = self._find(message_id)
        if found is None:
            return False
        target, index = found
        self._splice(target, index, 1, (message,))
        return True

    def remove(self, message_id: str) -> bool:
        """Cancel one pending message.

        Args:
            message_id: Which, in either list.

        Returns:
            Whether it was pending; if not, nothing has happened.

        Raises:
            AppendRefused: The splice cannot be logged.

        Spec:
            INBOX-REM-01
        """
        found = self._find(message_id)
        if found is None:
            return False
        target, index = found
        self._splice(target, index, 1, ())
        return True

    def clear(self) -> None:
        """Cancel everything pending: the whole `next-step` list, then the whole `next-turn` list.

        Raises:
            AppendRefused: A splice cannot be logged; the lists that were not reached are as they were.

        Spec:
            INBOX-CLEAR-01, INBOX-NOOP-01
        """
        for target in ("next-step", "next-turn"):
            self._splice(target, 0, len(self._lists[target]), ())

    def claim(self, target: Target, turn: int) -> tuple[JsonObject, ...]:
        """Take the batch for one step; the driver's operation.

        Args:
            target: `next-turn` at a turn boundary: all of `next-step`, then the first of `next-turn`. `next-step`
                between steps: all of `next-step`.
            turn: The open turn.

        Returns:
            The batch. What listeners deliver meanwhile is not in it.

        Raises:
            AppendRefused: A splice cannot be logged; what was not yet taken stays pending.

        Spec:
            INBOX-CLAIM-01, INBOX-CLAIM-02, INBOX-CLAIM-03, INBOX-CLAIM-04
        """
        with self._operation():
            batch = self._take("next-step", len(self._lists["next-step"]))
            if target == "next-turn":
                batch += self._take("next-turn", min(1, len(self._lists["next-turn"])))
            for message in batch:
                self._listener.claimed(message, turn)
        return batch

    def retire(self, refusal: DshError) -> None:
        """Refuse every insertion from now on; the lists stay readable (LIFE-DISP-22).

        Args:
            refusal: What every later change is refused with.
        """
        self._refusal = refusal

    # --- internals -------------------------------------------------------------------------------------------------

    def _splice(
        self, target: Target, start: int, count: int, inserted: Sequence[Mapping[str, object]]
    ) -> tuple[JsonObject, ...]:
        # accept
        pending = self._list(target)
        if count == 0 and not inserted:
            return ()  # INBOX-NOOP-01
        removed = pending.part(start, count)
        self._accept(inserted, removed)
        with self._operation():
            # log, change
            data: dict[str, object] = {"target": target, "start": start, "inserted": list(inserted)}
            if count:
                data |= {"removedCount": count, "outcome": "canceled"}  # INBOX-SHAPE-01, INBOX-SHAPE-02
            entered = self._commit(target, data)
            # notify
            for message in removed:
                self._listener.discarded(message)
            for message in entered:
                self._listener.inserted(message)
        return removed

    def _accept(self, inserted: Sequence[Mapping[str, object]], removed: Sequence[JsonObject]) -> None:
        if not inserted:
            return
        if self._refusal is not None:
            raise self._refusal
        leaving = {message["id"] for message in removed}
        entering: set[str] = set()
        for message in inserted:
            if not is_object(message):
                raise InboxError(f'a message is an object, not {message!r}: make one by user_message("…")')
            if not isinstance(message_id := message.get("id"), str):
                raise InboxError(f"a message needs a text as its id, to be found by it: {message!r} has none")
            if message_id in entering or (self._holds(message_id) and message_id not in leaving):
                raise DuplicateMessage(message_id)  # INBOX-DUP-01, INBOX-DUP-02; INBOX-DUP-03: of the pending alone
            entering.add(message_id)

    def _take(self, target: Target, count: int) -> tuple[JsonObject, ...]:
        taken = self._lists[target].part(0, count)
        if taken:
            self._commit(target, {"target": target, "start": 0, "removedCount": count, "inserted": []})
        return taken

    def _commit(self, target: Target, data: Mapping[str, object]) -> tuple[JsonObject, ...]:
        """Log a splice, then do the same to the list; answer the inserted messages as they were logged.

        A refused append leaves the list as it is, and its error goes on to the caller (INBOX-DUR-03).
        """
        self._changing = True
        try:
            event = self._session.append(SPLICED, data)  # INBOX-DUR-03, INBOX-DUR-04: a refusal changes nothing
            _apply(self._lists[target], event["data"])
        finally:
            self._changing = False
        inserted: tuple[JsonObject, ...] = event["data"]["inserted"]
        return inserted

    @contextmanager
    def _operation(self) -> Generator[None, None, None]:
        try:
            yield
        finally:
            self._at_rest()

    def _list(self, target: object) -> Pending:
        if not _is_target(target):  # AGENT-SEND-06
            raise InboxError(f"no inbox list {target!r}: a message waits in {' or '.join(_TARGETS)}")
        return self._lists[target]

    def _holds(self, message_id: str) -> bool:
        return any(message_id in pending for pending in self._lists.values())

    def _find(self, message_id: str) -> tuple[Target, int] | None:
        for target, pending in self._lists.items():
            if (place := pending.place(message_id)) is not None:
                return target, place
        return None


def fold_inbox(session: Session) -> dict[Target, Pending]:
    """Fold the splices of a log into the two lists; those that a fork inherited are not its own.

    Args:
        session: The log, and the header that tells how much of it was inherited.

    Returns:
        The lists.

    Raises:
        InvalidInboxLog: A splice does not fit the lists that those before it left.

    Spec:
        INBOX-REPLAY-01, INBOX-REPLAY-02, INBOX-REPLAY-03
    """
    lists: dict[Target, Pending] = {target: Pending() for target in _TARGETS}
    events = session.events
    for seq in range(session.header.get("seedLength", 0), len(events)):
        event: SessionEvent = events[seq]
        if event["type"] != SPLICED:
            continue
        try:
            _check_persisted(lists, event["data"])
        except InboxError as error:
            raise InvalidInboxLog(seq) from error
        _apply(lists[event["data"]["target"]], event["data"])
    return lists


def _check_persisted(lists: Mapping[Target, Pending], data: Json) -> None:
    if not isinstance(data, JsonObject) or not _is_target(target := data.get("target")):
        raise InboxError("invalid inbox splice")
    start, count, inserted = data.get("start"), data.get("removedCount", 0), data.get("inserted")
    length = len(lists[target])
    if (
        type(start) is not int
        or type(count) is not int
        or not 0 <= start <= length
        or not 0 <= count <= length - start
        or not is_array(inserted)
    ):
        raise InboxError("invalid inbox splice")
    leaving = {message["id"] for message in lists[target].part(start, count)}
    entering: set[str] = set()
    for message in inserted:
        if not isinstance(message, Mapping) or not isinstance(message_id := message.get("id"), str):
            raise InboxError("invalid inbox splice")
        waits = message_id not in leaving and any(message_id in pending for pending in lists.values())
        if waits or message_id in entering:
            raise DuplicateMessage(message_id)
        entering.add(message_id)


def _apply(pending: Pending, data: JsonObject) -> None:
    """Do one logged splice to its list."""
    pending.splice(data["start"], data.get("removedCount", 0), data["inserted"])


def _is_target(value: object) -> TypeGuard[Target]:
    return value in _TARGETS


def _clamp(value: float | None, low: int, high: int, *, from_end: bool = False) -> int:
    """Read an index or a count by the rules of an ECMAScript splice: truncate, then clamp."""
    if value is None or isnan(value):
        return low
    if value in (float("inf"), float("-inf")):
        return high if value > 0 else low
    whole = int(value)  # toward zero, and -0.5 is 0 (INBOX-NORM-04)
    return min(max(whole + high if from_end and whole < 0 else whole, low), high)
