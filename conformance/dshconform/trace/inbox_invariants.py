"""Invariants of the inbox: splices fold to the lists, and every message that comes or goes is told of once."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from dshconform.protocol.json_value import Json, JsonMap, same
from dshconform.protocol.messages import Row
from dshconform.trace.fold import Invariant, Place, SettlingFold, event_of, items_of, members_of, whole_number
from dshconform.trace.pattern import MISSING, Difference, Matching

Lists: TypeAlias = dict[str, list[Json]]
"""The messages of both lists of an inbox, by the name of the list."""

_SHOWN: Final[Mapping[str, str]] = {"next-turn": "nextTurn", "next-step": "nextStep"}
_ALWAYS: Final = frozenset({"target", "start", "inserted"})
_KNOWN: Final = _ALWAYS | {"removedCount", "outcome"}
_PAST: Final[Mapping[str, str]] = {"inserted": "inserted", "claimed": "claimed", "discarded": "canceled"}
_BLAMED: Final[Mapping[str, tuple[str, ...]]] = {
    "inserted": ("INBOX-NOTE-01",),
    "discarded": ("INBOX-NOTE-01",),
    "claimed": ("INBOX-CLAIM-03",),
}


@dataclass(slots=True)
class _Inbox(SettlingFold):
    """The lists of every session, folded from its splices, and the notifications that are still owed.

    A message that a claim removes is to be told of as claimed, one that anything else removes as discarded: so none
    is both. Lists of which the first splice seen is not the session's first event are unknown.
    """

    lists: dict[str, Lists | None] = field(default_factory=dict)
    turns: dict[str, Json] = field(default_factory=dict)
    owed: dict[tuple[str, str], int] = field(default_factory=dict)
    live: set[str] = field(default_factory=set)
    """The sessions that have begun and not left: what is logged in others is not published."""
    last: Row | None = None

    def __call__(self, row: Row, matching: Matching) -> Difference | None:
        match row["on"]:
            case "log":
                return self._logged(row, matching)
            case "return":
                return self._shown(row, matching)
            case _ if str(row["name"]).startswith("agent/inbox/"):
                return self._told(row, matching)
            case _:  # the session begins or ends
                session = str(row.get("session"))
                self.lists.pop(session, None)
                if row["name"] == "session/disposed":
                    self.live.discard(session)
                else:
                    self.live.add(session)
                return None

    def _logged(self, row: Row, matching: Matching) -> Difference | None:
        session, event = str(row.get("session")), event_of(row)
        self.live.add(session)
        data = members_of(event.get("data"))
        if event["type"] == "turn/start":
            self.turns[session] = data.get("turn")
            return None
        if session not in self.lists:
            self.lists[session] = {target: [] for target in _SHOWN} if event.get("seq") == 0 else None
        lists = self.lists[session]
        found = _shape(row, data, matching)
        return found if found is not None or lists is None else self._splice(row, lists, matching)

    def _splice(self, row: Row, lists: Lists, matching: Matching) -> Difference | None:
        event = event_of(row)
        data = members_of(event.get("data"))
        held = lists[str(data["target"])]
        start, count = whole_number(data["start"]) or 0, whole_number(data.get("removedCount")) or 0
        if not (start >= 0 and start + count <= len(held)):
            sentence = f"a splice removes {count} at {start} from {data['target']}, which has {len(held)}"
            place = Place(row, "event.data", ("INBOX-DUR-01",))
            return place.violated(matching, sentence, expected=len(held), found=dict(data))
        kind = "discarded" if "outcome" in data else "claimed"
        for message in held[start : start + count]:
            self._owe(kind, _identity(message))
        inserted = items_of(data["inserted"])
        held[start : start + count] = inserted
        self.last = row
        if inserted:
            for message in inserted:
                self._owe("inserted", _identity(message))
            pending = [_identity(message) for one in lists.values() for message in one]
            if len(set(pending)) < len(pending):
                twice = next(identity for identity in pending if pending.count(identity) > 1)
                sentence = f"after the splice {event.get('seq')} the message {twice!r} is pending twice"
                place = Place(row, "event.data.inserted", ("INBOX-DUP-01",))
                return place.violated(matching, sentence, expected="other ids", found=twice)
            matching.hold(("INBOX-DUP-01",))
        matching.hold(("INBOX-DUR-01",))
        return None

    def _owe(self, kind: str, identity: str) -> None:
        self.owed[kind, identity] = self.owed.get((kind, identity), 0) + 1

    def _shown(self, row: Row, matching: Matching) -> Difference | None:
        result = members_of(row.get("result"))
        lists = self.lists.get(str(result.get("session")))
        if lists is None or "part" in row:  # inside an observer of a splice its list has not changed yet
            return None
        for target, member in _SHOWN.items():
            shown = result.get(member)
            if lists[target] != shown and not same(lists[target], shown):  # the first is cheap, and mostly enough
                sentence = f"the splices of the log leave other messages in {target} than the agent shows"
                place = Place(row, f"result.{member}", ("INBOX-DUR-01",))
                return place.violated(matching, sentence, expected=lists[target], found=shown)
        matching.hold(("INBOX-DUR-01",))
        return None

    def _told(self, row: Row, matching: Matching) -> Difference | None:
        if row.get("agent") not in self.live:
            return None
        kind = str(row["name"]).removeprefix("agent/inbox/")
        payload = members_of(row.get("payload"))
        identity = _identity(payload.get("message"))
        key = kind, identity
        owed = self.owed.get(key, 0)
        if owed <= 0:
            if None in self.lists.values():  # it may have been pending before the first row
                return None
            other = next((past for past in _PAST if self.owed.get((past, identity), 0) > 0), None)
            instead = "" if other is None else f": it was {_PAST[other]}"
            sentence = f"{row['name']} tells of the message {identity!r}, which no splice has {_PAST[kind]}{instead}"
            place = Place(row, "payload.message", _BLAMED[kind])
            return place.violated(matching, sentence, expected=f"a message that was {_PAST[kind]}", found=identity)
        self.owed[key] = owed - 1
        turn = self.turns.get(str(row.get("agent")))
        if kind == "claimed" and turn is not None and payload.get("turn") != turn:
            sentence = f"agent/inbox/claimed names turn {payload.get('turn')}, the open turn is {turn}"
            place = Place(row, "payload.turn", _BLAMED[kind])
            return place.violated(matching, sentence, expected=turn, found=payload.get("turn"))
        matching.hold(_BLAMED[kind])
        return None

    def settled(self, matching: Matching) -> Difference | None:
        """Nothing may be owed when the implementation has settled."""
        if not self.owed:
            return None
        missing = [key for key, times in self.owed.items() if times > 0]
        self.owed.clear()
        if not missing or self.last is None:
            return None
        kind, identity = missing[0]
        sentence = f"the message {identity!r} was {_PAST[kind]}, and no agent/inbox/{kind} tells of it"
        place = Place(self.last, "", _BLAMED[kind])
        return place.violated(matching, sentence, expected=f"live agent/inbox/{kind}", found=MISSING)


def _shape(row: Row, data: JsonMap, matching: Matching) -> Difference | None:
    """The members of a splice, as far as they need no list to be judged."""
    keys, removed, outcome = data.keys(), data.get("removedCount"), data.get("outcome")
    if not (keys >= _ALWAYS and keys <= _KNOWN):
        sentence = f"a splice has the members {', '.join(data)}"
        place = Place(row, "event.data", ("INBOX-SHAPE-01",))
        return place.violated(matching, sentence, expected=sorted(_KNOWN), found=sorted(data))
    if data["target"] not in _SHOWN or whole_number(data["start"]) is None:
        sentence = f"a splice names the list {data['target']!r} and the start {data['start']!r}"
        place = Place(row, "event.data", ("INBOX-SHAPE-01",))
        return place.violated(matching, sentence, expected=sorted(_SHOWN), found=dict(data))
    if "removedCount" in keys and (whole_number(removed) or 0) < 1:
        place = Place(row, "event.data.removedCount", ("INBOX-SHAPE-01",))
        sentence = f"a splice has the removedCount {removed!r}"
        return place.violated(matching, sentence, expected="a positive integer", found=removed)
    if "outcome" in keys and (outcome != "canceled" or removed is None):
        sentence = f"a splice that removes {removed or 'nothing'} has the outcome {outcome!r}"
        place = Place(row, "event.data.outcome", ("INBOX-SHAPE-02",))
        return place.violated(matching, sentence, expected="canceled", found=outcome)
    if removed is not None and outcome is None and (data["start"] != 0 or items_of(data["inserted"])):
        sentence = "a splice without an outcome is a claim, and this one does more than delete from the front"
        place = Place(row, "event.data", ("INBOX-CLAIM-02",))
        return place.violated(matching, sentence, expected="start 0, inserted []", found=dict(data))
    if removed is not None and outcome is None:
        matching.hold(("INBOX-CLAIM-02",))
    matching.hold(("INBOX-SHAPE-01", "INBOX-SHAPE-02"))
    return None


def _identity(message: Json) -> str:
    return str(members_of(message).get("id"))


INBOX_INVARIANTS: Final[tuple[Invariant, ...]] = (
    Invariant(
        "inbox",
        (
            *("INBOX-DUR-01", "INBOX-SHAPE-01", "INBOX-SHAPE-02", "INBOX-DUP-01", "INBOX-CLAIM-02"),
            *("INBOX-NOTE-01", "INBOX-CLAIM-03"),
        ),
        frozenset({"live session/created", "live session/disposed", "return agent.inspect"})
        | {"log turn/start", "log agent/inbox/spliced"}
        | {f"live agent/inbox/{kind}" for kind in _PAST},
        _Inbox,
    ),
)
"""What every inbox keeps."""
