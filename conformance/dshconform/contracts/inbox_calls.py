"""What each call of the inbox contract does before it returns, and when the clauses say so at all."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Final

from dshconform.contracts.inbox_agent import AbstractAgent
from dshconform.contracts.inbox_commands import (
    PRESETS,
    STREAM_ANSWERS,
    TARGETS,
    items_of,
    kind_of,
    message_of,
    messages_in,
    number,
    read_command,
)
from dshconform.contracts.inbox_rows import AGENT, Clauses, by, return_row, whole
from dshconform.contracts.model import CommandError
from dshconform.protocol.json_value import Json, JsonMap
from dshconform.running.step import UNCHECKED

IDLE_CANCEL_KEEPS_INPUT: Final = "idle-cancel-keeps-input"
"""A variant: a cancel of an idle agent leaves what is pending where it is."""
_UNKNOWN_TARGET_AFTER_ABORT: Final = "unknown-target-after-abort"
VARIANTS: Final[Mapping[str, str]] = {
    IDLE_CANCEL_KEEPS_INPUT: "CANCEL-IDLE-02",  # a `cancel` without an activity leaves the inbox alone
    _UNKNOWN_TARGET_AFTER_ABORT: "AGENT-SEND-06",  # a waking send, of which the target is not looked at, is accepted
}
"""Where the model can follow an implementation rather than the clause."""

_EDITS: Final = frozenset({"append", "prepend", "splice", "replace", "remove", "clear"})
_CALLS: Final = frozenset({"agent.send", *PRESETS, "agent.cancel", "agent.inspect", *(f"inbox.{op}" for op in _EDITS)})


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """How a call ends.

    Args:
        by: Answer for that.
        more: Answer for its doing no more than what is expected; `by` when empty.
        result: What it answers.
        error: How it is refused, if it is.
        departed: The variant that was followed, if any.
    """

    by: Clauses = ()
    more: Clauses = ()
    result: Json = None
    error: JsonMap | None = None
    departed: str | None = None

    @property
    def limit(self) -> Clauses:
        """Who answers for a row that stands before the return and should not."""
        return () if self.departed else self.more or self.by

    @property
    def shown(self) -> JsonMap:
        """How a `return` row shows it."""
        return {"result": self.result} if self.error is None else {"error": self.error}


@dataclass(slots=True)
class Calls:
    """The calls of one agent, on their way through the model.

    Args:
        agent: On which they are made.
        switches: The variants that are followed.
    """

    answers: ClassVar[frozenset[str]] = STREAM_ANSWERS
    """The operations that answer the gate that waits."""

    agent: AbstractAgent
    switches: frozenset[str] = field(default_factory=frozenset)

    def legal(self, op: str, args: JsonMap) -> bool:
        """Whether the clauses say what a call does now.

        Args:
            op: The operation.
            args: Its arguments.

        Raises:
            CommandError: It is no command of this contract.
        """
        if op == "burst":
            return self._legal_burst(args)
        if op in self.answers:
            return self.agent.gate_open
        if op not in _CALLS:
            known = ", ".join(sorted({"burst", *self.answers, *_CALLS}))
            raise CommandError(f"{op!r} is no command of this contract; known: {known}")
        if op == "agent.cancel":
            # A `disposed` cause after another one has won is left open (sheet 70, phase machine).
            late = self.agent.cause is not None and not self.agent.disposed
            return not (late and kind_of(args.get("cause")) == "disposed")
        if op == "inbox.splice":
            # Whether a splice may put in again what it takes out is not specified; that `replace` may is INBOX-DUP-02.
            held = self.agent.lists.get(str(args.get("target")), [])
            start, count = _range(args, len(held))
            removed = {message["id"] for message in held[start : start + count]}
            return all(message["id"] not in removed for message in messages_in(args.get("inserted", [])))
        return True

    def _legal_burst(self, args: JsonMap) -> bool:
        trial = type(self)(self.agent.copy(), self.switches)
        for item in items_of(args):
            op, item_args = read_command(item)
            if op == "burst" or not trial.legal(op, item_args):
                return False
            trial.call(op, item_args)
        return True

    def call(self, op: str, args: JsonMap) -> Answer:
        """Make a legal call: everything up to its return, and not the `return` row.

        Args:
            op: The operation.
            args: Its arguments.

        Returns:
            What the call returns or throws, and the clauses that say so.
        """
        match op:
            case "burst":
                return self._burst(args)
            case "agent.inspect":
                return Answer(by=("INBOX-LIST-01",), result=inspected(self.agent))
            case "agent.cancel":
                return self._cancel(args)
            case "agent.send":
                return self._send(message_of(args), args.get("target"), wakeup=args.get("wakeup") is True)
            case _ if op in PRESETS:
                target, wakeup = PRESETS[op]
                return self._send(message_of(args), target, wakeup=wakeup)
            case "inbox.clear":
                nothing = not self.agent.pending
                self.agent.clear(("INBOX-CLEAR-01", "INBOX-DUR-01"))
                return Answer(by=("INBOX-NOOP-01",) if nothing else ("INBOX-CLEAR-01",), more=_asleep(nothing=nothing))
            case "inbox.remove" | "inbox.replace":
                return self._edit(op.removeprefix("inbox."), args)
            case _ if op in self.answers:
                self.agent.items.append((op, args))
                self.agent.gate_open = op == "stream.chunk"
                return Answer()
            case _:
                return self._insert(op.removeprefix("inbox."), args)

    def _burst(self, args: JsonMap) -> Answer:
        last = Answer()
        departed: str | None = None
        for index, item in enumerate(items_of(args)):
            op, item_args = read_command(item)
            done = self.call(op, item_args)
            departed = departed or done.departed
            if op not in self.answers:
                last = done
                self.agent.rows.append(return_row(op, done.limit, str(index), done.shown))
        return Answer(by=last.by, more=last.more, departed=departed, result=UNCHECKED)

    # ------------------------------------------------------------------ deliveries and cancellation

    def _send(self, message: JsonMap, target: Json, *, wakeup: bool) -> Answer:
        agent = self.agent
        late = wakeup and agent.cause is not None
        known = target in TARGETS
        if not (known or (late and _UNKNOWN_TARGET_AFTER_ABORT in self.switches)):
            return Answer(by=("AGENT-SEND-06",), error={})
        refused = self._refused([message], ("INBOX-DUP-01", "AGENT-SEND-03") if known else ("AGENT-SEND-06",))
        if refused is not None:
            return refused
        clauses: Clauses = (*self._again([message]), "AGENT-SEND-01")
        filed: Clauses = ("AGENT-SEND-01",)
        if late:
            target = "next-turn"
            filed = ("WAKE-LATCH-02", "WAKE-DISP-01") if agent.disposed else ("WAKE-LATCH-02",)
        target = str(target)
        row: Clauses = ("AGENT-SEND-01", "INBOX-DUR-01")
        agent.insert(target, len(agent.lists[target]), [message], row=row, place=("AGENT-SEND-01",), filed=filed)
        if not wakeup:
            return Answer(by=clauses, more=("AGENT-SEND-02",))
        more = agent.waken(message, late=late)
        if not known:
            return Answer(by=("AGENT-SEND-06",), departed=_UNKNOWN_TARGET_AFTER_ABORT, result=UNCHECKED)
        return Answer(by=clauses, more=more)

    def _cancel(self, args: JsonMap) -> Answer:
        agent = self.agent
        keep, idle = args.get("keepInbox") is True, agent.phase == "idle"
        keeping: Clauses = ("CANCEL-KEEP-01",) if keep else ()
        kept = keeping if agent.pending else ()  # who keeps nothing proves nothing
        if not keep:
            if idle and agent.pending and IDLE_CANCEL_KEEPS_INPUT in self.switches:
                return Answer(by=("CANCEL-IDLE-02",), departed=IDLE_CANCEL_KEEPS_INPUT, result=UNCHECKED)
            busy: Clauses = ("CANCEL-CLEAR-01",) if agent.cause is None else ("CANCEL-CLEAR-02",)
            agent.clear(("CANCEL-IDLE-02",) if idle else busy)
            agent.forget()
        if agent.phase == "idle":
            return Answer(by=("CANCEL-IDLE-01",), more=(*kept, "CANCEL-IDLE-01"))
        if agent.cause is not None:
            return Answer(by=("CANCEL-FIRST-01",), more=(*kept, "CANCEL-FIRST-01"))
        cause = args.get("cause")
        agent.cause = cause if isinstance(cause, Mapping) else {}
        if agent.told:
            agent.aborted((*keeping, "CANCEL-CAUSE-01"))
        return Answer(by=("CANCEL-SYNC-01",), more=(*kept, "CANCEL-SYNC-01", "CANCEL-COOP-01"))

    # ------------------------------------------------------------------ inbox operations

    def _insert(self, op: str, args: JsonMap) -> Answer:
        target = args.get("target")
        if not isinstance(target, str) or target not in TARGETS:
            return Answer(by=("AGENT-SEND-06",), error={})
        if op == "splice":
            return self._splice(target, args)
        message = message_of(args)
        refused = self._refused([message], ("INBOX-DUP-01",))
        if refused is not None:
            return refused
        clauses: Clauses = (*self._again([message]), "INBOX-OPS-01")
        start = len(self.agent.lists[target]) if op == "append" else 0
        row: Clauses = ("INBOX-OPS-01", "INBOX-DUR-01")
        self.agent.insert(target, start, [message], row=row, place=("INBOX-OPS-01",), filed=("INBOX-OPS-01",))
        return Answer(by=clauses, more=_asleep())

    def _splice(self, target: str, args: JsonMap) -> Answer:
        held = self.agent.lists[target]
        inserted = messages_in(args.get("inserted", []))
        refused = self._refused(inserted, ("INBOX-DUP-01",))
        if refused is not None:
            return refused
        start, count = _range(args, len(held))
        place, counted = _start_clauses(args.get("start"), start), _count_clauses(args.get("deleteCount"), count)
        rules: Clauses = tuple(dict.fromkeys((*place, *counted))) or ("INBOX-OPS-01",)
        if not count and not inserted:
            return Answer(by=("INBOX-NOOP-01",), more=("INBOX-NOOP-01", *counted), result=[])
        clauses: Clauses = (*self._again(inserted), "INBOX-OPS-01")
        removed = held[start : start + count]
        row: Clauses = (*rules, "INBOX-DUR-01")
        place = place or ("INBOX-OPS-01",)
        if count:
            counted = counted or ("INBOX-OPS-01",)
            self.agent.replace(target, start, removed, inserted, row=row, place=place, counted=counted)
        else:
            filed: Clauses = ("INBOX-OPS-01",)
            zero: Clauses = ("INBOX-SHAPE-01", *counted)
            self.agent.insert(target, start, inserted, row=row, place=place, filed=filed, nothing_removed=zero)
        return Answer(by=clauses, more=_asleep(), result=by(rules, [whole(message) for message in removed]))

    def _edit(self, op: str, args: JsonMap) -> Answer:
        clause = "INBOX-REM-01" if op == "remove" else "INBOX-REPL-01"
        identity = str(args.get("id"))
        found = [
            (target, index)
            for target, held in self.agent.lists.items()
            for index, message in enumerate(held)
            if message["id"] == identity
        ]
        if not found:
            return Answer(by=(clause,), result=False)
        inserted: list[JsonMap] = []
        clauses: Clauses = (clause,)
        row: Clauses = (clause, "INBOX-DUR-01")
        if op == "replace":
            inserted = [message_of(args)]
            row = ("INBOX-REPL-02", "INBOX-DUR-01")
            if inserted[0]["id"] == identity:
                clauses = ("INBOX-DUP-02", clause)
            else:
                refused = self._refused(inserted, ("INBOX-DUP-02",))
                if refused is not None:
                    return refused
                clauses = (*self._again(inserted), clause)
        target, index = found[0]
        removed = self.agent.lists[target][index : index + 1]
        self.agent.replace(target, index, removed, inserted, row=row, place=(clause,), counted=row[:1])
        return Answer(by=clauses, more=_asleep(), result=True)

    def _refused(self, inserted: Sequence[JsonMap], clauses: Clauses) -> Answer | None:
        """The refusal of messages of which an id is pending, or stands twice."""
        identities = [str(message["id"]) for message in inserted]
        pending = {str(message["id"]) for held in self.agent.lists.values() for message in held}
        refused = [
            identity
            for index, identity in enumerate(identities)
            if identity in pending or identity in identities[:index]
        ]
        if not refused:
            return None
        twice = len(set(identities)) < len(identities)
        texts: list[Json] = [f'message "{identity}" is already pending' for identity in refused]
        error: JsonMap = {"message": texts[0] if len(texts) == 1 else {"$oneOf": texts}}
        return Answer(by=("INBOX-DUP-02",) if twice else clauses, error=error)

    def _again(self, inserted: Sequence[JsonMap]) -> Clauses:
        """Who says that an id that was pending once may be inserted again."""
        return ("INBOX-DUP-03",) if any(message["id"] in self.agent.gone for message in inserted) else ()


def inspected(agent: AbstractAgent) -> JsonMap:
    """A pattern for what `agent.inspect` answers now."""
    lists: JsonMap = {
        name: by(("INBOX-LIST-01",), [whole(message) for message in agent.lists[target]])
        for name, target in (("nextTurn", "next-turn"), ("nextStep", "next-step"))
    }
    return {
        "id": by(("AGENT-ID-01",), AGENT),
        "session": by(("AGENT-ID-01",), AGENT),
        "status": by(("AGENT-STATUS-01",) if agent.cause is None else ("CANCEL-STATUS-01",), agent.status),
        **lists,
        "hasPending": by(("INBOX-LIST-01",), agent.pending),
    }


def _asleep(*, nothing: bool = False) -> Clauses:
    """Who says that an operation of the inbox does nothing else: it never wakes."""
    return ("INBOX-NOOP-01",) if nothing else ("INBOX-WAKE-01",)


def _range(args: JsonMap, length: int) -> tuple[int, int]:
    """Where a splice begins and how much it removes, normalised as the clauses say."""
    start, count = number(args.get("start")), number(args.get("deleteCount"))
    if math.isnan(start):
        begin = 0
    elif math.isinf(start):
        begin = length if start > 0 else 0
    else:
        begin = math.trunc(start)
        begin = max(length + begin, 0) if begin < 0 else min(begin, length)
    room = length - begin
    if math.isnan(count) or count <= 0:
        return begin, 0
    return begin, room if math.isinf(count) else min(math.trunc(count), room)


def _start_clauses(written: Json, start: int) -> Clauses:
    """The rules that the normalisation of a start needs."""
    if written == start:
        return ()
    plain_number = isinstance(written, int | float) and not isinstance(written, bool)
    return ("INBOX-NORM-01",) if plain_number else ("INBOX-NORM-02",)


def _count_clauses(written: Json, count: int) -> Clauses:
    """The rule that the normalisation of a count needs."""
    return () if written == count else ("INBOX-NORM-03",)
