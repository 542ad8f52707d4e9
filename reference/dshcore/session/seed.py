"""Seeds: logs that a session begins with. What a seed may hold, and when an agent may live on it."""

from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Final

from dshcore.json import MAX_SAFE_INTEGER, NotJson, abridged, freeze, is_array
from dshcore.session.shapes import retired_problem, shape_problem
from dshcore.session.surface import Placement, Surface
from dshcore.session.vocabulary import (
    AppendRefused,
    SessionError,
    SessionEvent,
    asked_calls,
    is_count,
    member,
    shown,
)

_ENVELOPE: Final = frozenset({"type", "seq", "time", "data", "sourceEventSeqs", "surfaceOp", "ignorable"})
_RETIRED_TYPE: Final = "request/header-delta"


class InvalidSeed(SessionError):
    """A seed holds an event that cannot stand where it stands, or stops where no agent can go on."""

    default_code = "INVALID_SEED"


def read_seed(seed: Sequence[object], surface: Surface) -> Iterator[tuple[SessionEvent, Placement | None]]:
    """Check a seed event by event, each one completely before the next.

    What passes is kept as it is: nothing is filled in, left out, renumbered or closed.

    Args:
        seed: The events, as JSON.
        surface: The surface so far; the caller places each event before it asks for the next.

    Yields:
        The frozen event and its place on the surface.

    Raises:
        InvalidSeed: The seed is no array, or the first rule that an event breaks, in the order of SEED-VAL-09.

    Spec:
        SEED-VAL-01, SEED-VAL-02, SEED-VAL-03, SEED-VAL-04, SEED-VAL-06, SEED-VAL-09, SEED-MSG-01, LOG-APPEND-03,
        LOG-EVT-15, LOG-EVT-16, PATTERN-EXT-03
    """
    if not is_array(seed):
        raise InvalidSeed(f"a seed must be an array of events, not {abridged(seed)}")
    for index, given in enumerate(seed):
        subject = f"seed event at index {index}"
        try:
            event = freeze(given)
        except NotJson as error:
            raise InvalidSeed(f"{subject} is not losslessly JSON-serializable") from error
        if not isinstance(event, Mapping):
            raise InvalidSeed(f"{subject} has an invalid event envelope")
        event = freeze(event)
        kind = event.get("type")
        if kind == _RETIRED_TYPE and (problem := retired_problem(kind, None)):
            raise InvalidSeed(f"{subject} {problem}")
        if not _is_envelope(event):
            raise InvalidSeed(f"{subject} has an invalid event envelope")
        assert isinstance(kind, str)
        if problem := shape_problem(kind, event["data"]):
            raise InvalidSeed(f"seed {kind} at index {index} {problem}")
        if problem := retired_problem(kind, event["data"]):
            raise InvalidSeed(f"{subject} {problem}")
        if event["seq"] != index:
            raise InvalidSeed(f"{subject} has seq {event['seq']} (expected {index}); seed must be contiguous from 0")
        try:
            place = surface.check(event)
        except AppendRefused as error:
            raise InvalidSeed(f"invalid seed event at index {index}: {error}") from error
        yield event, place


def _is_envelope(event: Mapping[str, object]) -> bool:
    """Tell whether an event has the keys and the kinds of values that the envelope has (SEED-VAL-02)."""
    time = event.get("time")
    return (
        event.keys() <= _ENVELOPE
        and isinstance(event.get("type"), str)
        and is_count(event.get("seq"))
        and type(time) is int
        and abs(time) <= MAX_SAFE_INTEGER
        and "data" in event
        and event.get("ignorable", True) is True
    )


def unbalanced(events: Sequence[SessionEvent]) -> str | None:
    """Tell what a log leaves open, so that no agent may go on from it.

    Args:
        events: The log.

    Returns:
        The first in log order of the event that opened it: `turn <n> is open`, `step <s> of turn <n> is open` or
        `tool call "<id>" has no result`; none for a balanced log.

    Spec:
        SEED-VAL-07, SEED-VAL-08
    """
    turn: tuple[int, str] | None = None
    step: tuple[int, str] | None = None
    calls: dict[str, tuple[int, str]] = {}
    left: list[tuple[int, str]] = []

    def boundary(*, of_turn: bool) -> None:
        nonlocal turn
        left.extend(calls.values())
        calls.clear()
        leave_step()
        if of_turn and turn is not None:
            left.append(turn)
            turn = None

    def leave_step() -> None:
        nonlocal step
        if step is not None:
            left.append(step)
            step = None

    for event in events:
        seq, data = event["seq"], event["data"]
        match event["type"]:
            case "turn/start":
                boundary(of_turn=True)
                turn = seq, f"turn {shown(member(data, 'turn'))} is open"
            case "turn/end":
                turn = None
                boundary(of_turn=True)
            case "step/start":
                leave_step()  # no boundary for calls
                step = seq, f"step {shown(member(data, 'step'))} of turn {shown(member(data, 'turn'))} is open"
            case "step/end":
                step = None
                boundary(of_turn=False)
            case "assistant/message":
                for call in asked_calls(data):
                    calls.setdefault(call, (seq, f'tool call "{call}" has no result'))
            case "tool/result":
                calls.pop(data["message"]["source"]["callId"], None)
            case _:
                pass
    boundary(of_turn=True)
    return min(left, key=itemgetter(0))[1] if left else None  # of one seq, the first call of its answer
