"""Invariants of a session's log: numbers, envelopes, turns and steps, messages and what they cite."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from dshconform.protocol.json_value import Json, JsonMap
from dshconform.protocol.messages import Row
from dshconform.trace.fold import Invariant, Place, event_of, items_of, members_of, whole_number
from dshconform.trace.pattern import Difference, Matching

SURFACE_TYPES: Final = frozenset({"user/message", "assistant/message", "tool/result"})
"""The events that stand on the surface."""
_NEEDED: Final = frozenset({"type", "seq", "time", "data"})
_KNOWN: Final = _NEEDED | {"sourceEventSeqs", "surfaceOp", "ignorable"}
_ENDINGS: Final = frozenset({"completed", "max-tokens", "blocked", "aborted", "error"})
_IN_STEP: Final = frozenset({"assistant/chunk", "assistant/message", "tool/call", "tool/result"})
_IN_TURN: Final = frozenset({"request/header", "request/context", "todo/write"})
_SESSION_ENDS: Final = frozenset({"live session/created", "live session/disposed"})
_ENTERS: Final = "return session.enter"


@dataclass(slots=True)
class _Envelopes:
    """Every event has the number after its predecessor's, and the keys of the table, each with a value of its own.

    The first event seen of a session may come after a seed, so it may have any number. So may the first one after a
    session has entered the store: one that left without a word may have been appended to meanwhile.
    """

    last: dict[str, int] = field(default_factory=dict)

    def __call__(self, row: Row, matching: Matching) -> Difference | None:
        session = str(row.get("session"))
        if row["on"] == "live":
            self.last.pop(session, None)
            return None
        if row["on"] == "return":
            self.last.clear()
            return None
        event = event_of(row)
        if event.keys() == _NEEDED:
            odd = None
        elif event.keys() >= _NEEDED and event.keys() <= _KNOWN:
            odd = _empty_key(event)
        else:
            odd = min(event.keys() - _KNOWN, default=None) or min(_NEEDED - event.keys())
        if odd is not None:
            sentence = f"the envelope of {event.get('type')} {'has' if odd in event else 'lacks'} {odd!r}"
            place = Place(row, "event", ("LOG-ENV-03",))
            return place.violated(matching, sentence, expected=sorted(_KNOWN), found=dict(event))
        if whole_number(event["time"]) is None:
            sentence = f"the time of {event['type']} is no whole number of milliseconds"
            place = Place(row, "event.time", ("LOG-ENV-02",))
            return place.violated(matching, sentence, expected="an integer", found=event["time"])
        last, number = self.last.get(session), whole_number(event["seq"])
        if number is None or number < 0 or (last is not None and number != last + 1):
            before = "is the first of its session" if last is None else f"follows number {last}"
            sentence = f"the event {event['type']} has the number {event['seq']!r} and {before}"
            wanted: Json = "a number from 0" if last is None else last + 1
            return Place(row, "event.seq", ("LOG-ENV-01",)).violated(
                matching, sentence, expected=wanted, found=event["seq"]
            )
        self.last[session] = number
        matching.hold(_ENVELOPE_CLAUSES)
        return None


_ENVELOPE_CLAUSES: Final = ("LOG-ENV-01", "LOG-ENV-02", "LOG-ENV-03")


def _empty_key(event: JsonMap) -> str | None:
    """An optional key that says nothing, or stands where it has nothing to say."""
    surface = event["type"] in SURFACE_TYPES
    for key in ("sourceEventSeqs", "surfaceOp", "ignorable"):
        if key in event and (event[key] is None or not (surface or key == "ignorable")):
            return key
    return None


@dataclass(slots=True)
class _Position:
    """Where a session's log stands: its last turn and what is open. Nothing is known at first behind a seed."""

    last_turn: int | None
    turn: int | None = None
    step: int | None = None
    steps: int = 0


@dataclass(slots=True)
class _Structure:
    """Turns and steps are numbered, do not nest, and enclose what belongs to them."""

    positions: dict[str, _Position] = field(default_factory=dict)

    def __call__(self, row: Row, matching: Matching) -> Difference | None:
        session = str(row.get("session"))
        if row["on"] == "live":
            self.positions.pop(session, None)
            return None
        event = event_of(row)
        position = self.positions.get(session)
        if position is None:
            position = self.positions[session] = _Position(last_turn=0 if event["seq"] == 0 else None)
        kind = event["type"]
        if kind in _BOUNDARIES:
            return _BOUNDARIES[str(kind)](row, position, matching)
        if position.last_turn is None:
            return None
        if kind in _IN_STEP and (kind != "tool/result" or event.get("surfaceOp") == "append"):
            return _inside(row, position, ("INV-STEP-03",), matching)
        if kind in _IN_TURN:
            if position.turn is None:
                place = Place(row, "", ("INV-ENC-01",))
                sentence = f"{kind} stands outside any open turn"
                return place.violated(matching, sentence, expected="an open turn", found="none")
            matching.hold(("INV-ENC-01",))
        return None


def _turn_starts(row: Row, position: _Position, matching: Matching) -> Difference | None:
    data = members_of(event_of(row).get("data"))
    turn = whole_number(data.get("turn"))
    expected = None if position.last_turn is None else position.last_turn + 1
    if position.turn is not None:
        sentence = f"turn/start {turn} stands inside the open turn {position.turn}"
        place = Place(row, "", ("INV-TURN-02",))
        return place.violated(matching, sentence, expected="no open turn", found=position.turn)
    if turn is None or (expected is not None and turn != expected):
        sentence = f"turn/start has the number {turn}, the last one was {position.last_turn}"
        place = Place(row, "event.data.turn", ("INV-TURN-01", "LOOP-OPEN-02"))
        return place.violated(matching, sentence, expected=expected, found=turn)
    if not data.keys() <= {"turn", "trigger"}:
        extra = sorted(data.keys() - {"turn", "trigger"})
        sentence = f"turn/start carries {extra[0]!r} beside its turn"
        return Place(row, "event.data", ("LOG-EVT-01",)).violated(matching, sentence, expected=["turn"], found=extra)
    position.turn = position.last_turn = turn
    position.step, position.steps = None, 0
    matching.hold(("INV-TURN-01", "INV-TURN-02", "LOOP-OPEN-02", "LOG-EVT-01"))
    return None


def _turn_ends(row: Row, position: _Position, matching: Matching) -> Difference | None:
    turn = whole_number(members_of(event_of(row).get("data")).get("turn"))
    if position.last_turn is None:  # it was opened in a seed
        position.last_turn = turn
        return None
    opened, position.turn = position.turn, None
    step, position.step = position.step, None
    if opened is None or turn != opened:
        sentence = f"turn/end {turn} stands where {'no turn' if opened is None else f'turn {opened}'} is open"
        return Place(row, "event.data.turn", ("INV-TURN-02",)).violated(matching, sentence, expected=opened, found=turn)
    if step is not None:
        sentence = f"turn/end {turn} stands inside its step {step}"
        return Place(row, "", ("INV-STEP-02",)).violated(matching, sentence, expected="no open step", found=step)
    matching.hold(("INV-TURN-02", "INV-STEP-02"))
    return None


def _step_starts(row: Row, position: _Position, matching: Matching) -> Difference | None:
    if position.last_turn is None:
        return None
    data = members_of(event_of(row).get("data"))
    number = position.steps + 1
    if position.step is not None or data.get("turn") != position.turn or data.get("step") != number:
        sentence = f"step/start names {_named(data)}; open is {_open(position)}, and step {number} is next"
        return Place(row, "event.data", ("INV-STEP-01", "LOOP-STEP-01")).violated(
            matching, sentence, expected={"turn": position.turn, "step": number}, found=dict(data)
        )
    position.step = position.steps = number
    matching.hold(("INV-STEP-01", "LOOP-STEP-01"))
    return None


def _step_ends(row: Row, position: _Position, matching: Matching) -> Difference | None:
    if position.last_turn is None:
        return None
    found = _inside(row, position, ("INV-STEP-02",), matching)
    position.step = None
    return found


_BOUNDARIES: Final[Mapping[str, Callable[[Row, _Position, Matching], Difference | None]]] = {
    "turn/start": _turn_starts,
    "turn/end": _turn_ends,
    "step/start": _step_starts,
    "step/end": _step_ends,
}


def _inside(row: Row, position: _Position, clauses: tuple[str, ...], matching: Matching) -> Difference | None:
    """An event names the open turn and step."""
    event = event_of(row)
    data = members_of(event.get("data"))
    if position.step is None or data.get("turn") != position.turn or data.get("step") != position.step:
        sentence = f"{event['type']} names {_named(data)}; open is {_open(position)}"
        return Place(row, "event.data", clauses).violated(
            matching, sentence, expected={"turn": position.turn, "step": position.step}, found=dict(data)
        )
    matching.hold(clauses)
    return None


def _named(data: JsonMap) -> str:
    return f"turn {data.get('turn')}, step {data.get('step')}"


def _open(position: _Position) -> str:
    if position.turn is None:
        return "no turn"
    return f"turn {position.turn}, " + ("no step" if position.step is None else f"step {position.step}")


def _ending(row: Row, matching: Matching) -> Difference | None:
    """A turn ends with a reason of the table, and a cancelled one with nothing more."""
    data = members_of(event_of(row).get("data"))
    reason = data.get("reason")
    kind = members_of(reason).get("kind")
    if data.keys() != {"turn", "reason"} or kind not in _ENDINGS:
        sentence = f"turn/end carries {sorted(data)} with the reason {kind!r}"
        return Place(row, "event.data", ("LOG-EVT-02",)).violated(
            matching, sentence, expected=["reason", "turn"], found=dict(data)
        )
    matching.hold(("LOG-EVT-02",))
    if kind != "aborted":
        return None
    bare: JsonMap = {"$exact": {"kind": "aborted"}}
    return matching.annotated(bare, reason, ("LOG-EVT-03",), "log turn/end.event.data.reason")


@dataclass(slots=True)
class _Identities:
    """No message that an implementation makes has an id that another message of its session has."""

    known: dict[str, dict[str, str]] = field(default_factory=dict)

    def __call__(self, row: Row, matching: Matching) -> Difference | None:
        session = str(row.get("session"))
        if row["on"] == "live":
            self.known.pop(session, None)
            return None
        known = self.known.setdefault(session, {})
        event = event_of(row)
        data = members_of(event.get("data"))
        made = event["type"] != "user/message"
        identity = (members_of(data.get("message")) if made else data).get("id")
        place = "event.data.message.id" if made else "event.data.id"
        title = f"{event['type']} {event.get('seq')}"
        if not isinstance(identity, str) or not identity:
            sentence = f"the message of {title} has no id"
            return Place(row, place, ("MSG-ID-01",)).violated(
                matching, sentence, expected="a non-empty text", found=identity
            )
        if made and identity in known:
            sentence = f"the message of {title} has the id of {known[identity]}"
            return Place(row, place, ("MSG-ID-01",)).violated(
                matching, sentence, expected="an id of its own", found=identity
            )
        known[identity] = title
        matching.hold(("MSG-ID-01",))
        return None


@dataclass(slots=True)
class _Citations:
    """An assistant message cites all chunks of its attempt, in order; attempts end at a failed finish."""

    chunks: dict[str, list[Json]] = field(default_factory=dict)
    starts: dict[str, list[int]] = field(default_factory=dict)

    def __call__(self, row: Row, matching: Matching) -> Difference | None:
        session = str(row.get("session"))
        event = event_of(row)
        if event["type"] == "step/start":
            self.chunks[session], self.starts[session] = [], [0]
            return None
        seen = self.chunks.get(session)
        if seen is None:  # the step was opened in a seed
            return None
        if event["type"] == "assistant/chunk":
            seen.append(event.get("seq"))
            chunk = members_of(members_of(event.get("data")).get("chunk"))
            reason = members_of(chunk.get("reason"))
            if chunk.get("type") == "finish" and reason.get("kind") in {"error", "aborted"}:
                self.starts[session].append(len(seen))
            return None
        cited = event.get("sourceEventSeqs")
        if event.get("surfaceOp") != "append":
            found = event.get("surfaceOp")
            sentence = "an assistant/message is not appended to the surface"
            return Place(row, "event.surfaceOp", ("LOOP-MSG-01",)).violated(
                matching, sentence, expected="append", found=found
            )
        if not isinstance(cited, list | tuple) or items_of(cited) not in [seen[at:] for at in self.starts[session]]:
            wanted = seen[self.starts[session][-1] :]
            sentence = f"an assistant/message cites {cited}; the chunks of its attempt are {wanted}"
            return Place(row, "event.sourceEventSeqs", ("LOG-EVT-10",)).violated(
                matching, sentence, expected=wanted, found=cited
            )
        matching.hold(("LOG-EVT-10", "LOOP-MSG-01"))
        return None


def _log(*types: str) -> frozenset[str]:
    return frozenset(f"log {one}" for one in types)


LOG_INVARIANTS: Final[tuple[Invariant, ...]] = (
    Invariant("envelopes", _ENVELOPE_CLAUSES, _SESSION_ENDS | {"log", _ENTERS}, _Envelopes, driver=False),
    Invariant(
        "turns-and-steps",
        (
            *("INV-TURN-01", "INV-TURN-02", "INV-STEP-01", "INV-STEP-02", "INV-STEP-03", "INV-ENC-01"),
            *("LOOP-OPEN-02", "LOOP-STEP-01", "LOG-EVT-01"),
        ),
        _SESSION_ENDS | {"log"},
        _Structure,
    ),
    Invariant("endings", ("LOG-EVT-02", "LOG-EVT-03"), _log("turn/end"), lambda: _ending),
    Invariant("message-ids", ("MSG-ID-01",), _SESSION_ENDS | _log(*SURFACE_TYPES), _Identities),
    Invariant(
        "cited-chunks",
        ("LOG-EVT-10", "LOOP-MSG-01"),
        _log("step/start", "assistant/chunk", "assistant/message"),
        _Citations,
    ),
)
"""What every log that a loop wrote keeps."""
