"""What the session contract knows of a store: sessions, their lives, their logs and what is folded from them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from dshconform.protocol.json_value import Json, JsonMap

Clauses = tuple[str, ...]
"""The ids of those that demand something; the first one answers for a difference."""


@dataclass(frozen=True, slots=True, eq=False)
class Event:
    """An accepted event.

    Args:
        seq: Its number.
        kind: Its type.
        data: Its payload.
        time: A pattern for its time; equal wherever this event is seen again.
        marker: Its `surfaceOp`, if it has one.
        sources: Its `sourceEventSeqs`, if it has some.
        pattern: A pattern for the whole, when it is published.
        answered: The same where who asks answers for its number and time: of an append, and of a log that is read.
        message: A pattern for what it contributes to the history, if it stands on the surface.
    """

    seq: int
    kind: str
    data: Json
    time: Json
    marker: Json = None
    sources: Sequence[Json] | None = None
    pattern: JsonMap = field(init=False)
    answered: JsonMap = field(init=False)
    message: Json = field(init=False)

    def __post_init__(self) -> None:
        members: dict[str, Json] = {"type": self.kind, "seq": self.seq, "time": self.time, "data": exactly(self.data)}
        if self.marker is not None:
            members["surfaceOp"] = exactly(self.marker)
            held = self.data if self.kind == "user/message" else members_of(self.data)["message"]
            object.__setattr__(self, "message", exactly(held))
        if self.sources is not None:
            clause = "SURF-SRC-02" if self.sources else "SURF-SRC-05"
            members["sourceEventSeqs"] = {"$by": clause, "is": list(self.sources)}
        object.__setattr__(self, "answered", {"$exact": members})
        numbered: JsonMap = {
            "seq": {"$by": "LOG-ENV-01", "is": self.seq},
            "time": {"$by": "LOG-ENV-02", "is": self.time},
        }
        object.__setattr__(self, "pattern", {**_UNMARKED, **members, **numbered})


_UNMARKED: Final[JsonMap] = {"surfaceOp": {"$absent": True}, "sourceEventSeqs": {"$absent": True}}


@dataclass(slots=True, eq=False)
class Life:
    """One stay of a session in the store, from its entering on.

    Args:
        announced: Whether its announcement has begun.
        announcing: Whether it is going on.
        vetoed: Whether a listener vetoed it.
        leaving: Whether a detach waits for the end of a dispatch.
        ended: Whether it has left.
    """

    announced: bool = False
    announcing: bool = False
    vetoed: bool = False
    leaving: bool = False
    ended: bool = False


@dataclass(slots=True, eq=False)
class AbstractSession:
    """One session, in the store or not.

    Args:
        name: The suite's name for it.
        id: Its id.
        header: What its header says beside its version, its id and the time of its creation.
        events: Its log.
        nodes: The numbers on its surface.
        generation: How many replacements were committed.
        first_live: The number of seed events.
        life: Its stay in the store, or the last one.
        publishing: Whether an append is being published.
    """

    name: str
    id: str
    header: JsonMap = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    nodes: list[int] = field(default_factory=list)
    generation: int = 0
    first_live: int = 0
    life: Life | None = None
    publishing: bool = False

    @property
    def live(self) -> bool:
        """Whether it is in the store."""
        return self.life is not None and not self.life.ended

    @property
    def state(self) -> str:
        """What the grid calls its state."""
        if self.life is None:
            return "prepared"
        if self.life.ended:
            return "detached"
        if self.life.vetoed:
            return "vetoed"
        return "announced" if self.life.announced else "entered"

    @property
    def open_turn(self) -> int | None:
        """The turn that is open at the end of the log."""
        return open_turn(self.events)

    @property
    def messages(self) -> list[Json]:
        """The history: what the surface's nodes contribute, in the order of the surface."""
        return [self.events[seq].message for seq in self.nodes]

    def commit(self, event: Event) -> None:
        """Take an accepted event into the log and its folds."""
        self.events.append(event)
        if isinstance(event.marker, Mapping):
            first, last = (self.nodes.index(whole_number(event.marker[end])) for end in ("start", "end"))
            self.nodes[first : last + 1] = [event.seq]
            self.generation += 1
        elif event.marker is not None:
            self.nodes.append(event.seq)


def open_turn(events: Sequence[Event]) -> int | None:
    """The turn inside which a log ends.

    Args:
        events: The log.

    Returns:
        The number of the turn; none where the log ends outside of any.
    """
    last = next((event for event in reversed(events) if event.kind in {"turn/start", "turn/end"}), None)
    return whole_number(members_of(last.data)["turn"]) if last is not None and last.kind == "turn/start" else None


def view(session: AbstractSession, what: str) -> tuple[Clauses, Json]:
    """What can be read of a session, and who says what it shows.

    Args:
        session: The session.
        what: Which view, as `session.read` names it.
    """
    forked = "parentSession" in session.header
    match what:
        case "events":
            clauses: Clauses = ("FORK-CUT-01", "FORK-CHILD-02") if forked else ("LOG-IMM-04", "SEED-MARK-01")
            return clauses, [event.answered for event in session.events]
        case "seq":
            return ("LOG-ENV-01", "LOG-APPEND-04"), len(session.events)
        case "header":
            created: JsonMap = {"$type": "integer"}
            header: JsonMap = {"version": 0, "id": session.id, "createdAt": created, **session.header}
            return ("FORK-CHILD-01", "SEED-MARK-04"), {"$exact": header}
        case "messages":
            return ("DERIVE-PROJ-04", "DERIVE-PROJ-01"), session.messages
        case "firstLiveSeq":
            return ("FORK-CHILD-02", "FORK-CUT-01", "SEED-MARK-03") if forked else ("SEED-MARK-03",), session.first_live
        case "nodes":
            return ("SURF-OP-03", "SURF-OP-04"), list[Json](session.nodes)
        case _:
            return ("SURF-OP-08",), session.generation


def exactly(value: Json) -> Json:
    """A pattern for this very value: objects have these members and no others, at any depth."""
    if isinstance(value, Mapping):
        return {"$exact": {key: exactly(item) for key, item in value.items()}}
    if isinstance(value, list | tuple):
        return [exactly(item) for item in value]
    return value


def members_of(value: Json) -> JsonMap:
    """A value that is known to be an object."""
    assert isinstance(value, Mapping), value
    return value


def whole_number(value: Json) -> int:
    """A value that is known to be an integer."""
    assert isinstance(value, int), value
    return value
