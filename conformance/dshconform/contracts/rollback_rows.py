"""The rows that the rollback contract demands, and which of them have an order.

Lives go on side by side, and nothing says how their rows are mixed. So each life has a strand of its own, and where a
clause orders the end of a life before something else, a further strand has these two.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from dshconform.contracts.inbox_rows import Clauses, by
from dshconform.contracts.rollback_commands import ANNOUNCEMENTS, IDS, model_of
from dshconform.contracts.rollback_state import Life
from dshconform.protocol.json_value import Json, JsonMap
from dshconform.trace.rows import ExpectedRow, row_subject

COMPARED: Final = frozenset(
    {
        *("return", "task", "unhandled"),
        *("live agent/*", "live session/*", "script agent/*", "script session/*", "gate agent/*", "gate session/*"),
        *("script setup", "gate setup", "script commit", "gate commit", "script undo", "gate undo"),
        *(
            "gate store/load",
            "gate maintenance",
            "gate model/stream",
            "abort model *",
            "abort load",
            *(f"abort {identity}*" for identity in IDS),
        ),
        *("log turn/start", "log turn/end", "log agent/inbox/spliced"),
    }
)
"""What is told of a life; what a step of a turn logs is the affair of other contracts."""

CALL: Final = "4 the call"
"""The strand of what a call does before it returns."""
_GONE: Final = frozenset({"agent/disposed", "session/disposed"})
_MILESTONES: Final = frozenset(
    {*_GONE, "session/created", "agent/created", "agent/session-start", "turn/start", "undo"}
)
"""What a creation is over behind."""
_AT_ONCE: Final = frozenset({"agent/inbox/spliced", "agent/inbox/inserted", "agent/inbox/discarded"})
"""What a call does to an agent before it returns."""


@dataclass(slots=True)
class Strands:
    """Says of the rows of one command in which strands they stand.

    Args:
        lives: By function or task, the life to which it belongs.
        caller: The life that the command is about, if it acts on that before it returns.
        behind: By life or task, the lives whose end it comes after.
        first: Who says that a row may not come now: by its function, its task, the status that it tells, or its strand.
    """

    lives: dict[str, str] = field(default_factory=dict)
    caller: str | None = None
    behind: dict[str, set[str]] = field(default_factory=dict)
    first: dict[str, Clauses] = field(default_factory=dict)

    def surplus(self, row: JsonMap, _: Sequence[ExpectedRow]) -> Clauses:
        """Who says first that a row may not come now."""
        subject = str(row_subject(row))
        match row["on"]:
            case "task":
                key = subject
            case "return" if "part" not in row:
                key = CALL
            case "script" | "gate" if subject in {"setup", *ANNOUNCEMENTS}:
                key = begins(self._life(row))
            case "script" | "gate" if subject in _GONE:
                key = ends(self._life(row))
            case _ if subject in {"agent/status", "model/stream"}:
                key = status_of(self._life(row))
            case _:
                return ()
        return self.first.get(key, ())

    def __call__(self, rows: Sequence[JsonMap]) -> Sequence[Sequence[str]]:
        """The strands of each row."""
        return [list(self._strands(row)) for row in rows]

    def _strands(self, row: JsonMap) -> Iterable[str]:
        subject = row_subject(row)
        if row["on"] == "task":
            lives = self.behind.get(str(subject), set())
            if subject not in self.behind and str(subject).startswith("t."):
                return [_outcome_of(str(subject)[2:])]
            return [f"3 {subject} behind {life}" for life in sorted(lives)] or [f"3 {subject}"]
        if row["on"] == "return" and "part" not in row:
            return [CALL]
        life = self._life(row)
        if row["on"] == "gate" and row.get("kind") == "model/stream":
            return [status_of(life)]
        found = [f"1 {life}"]
        if subject == "agent/status" and row["on"] == "live":
            found.append(status_of(life))
        if subject in _MILESTONES:
            found.append(_outcome_of(life))
        if life == self.caller and (row["on"] == "abort" or subject in _AT_ONCE):
            found.append(CALL)
        if row["on"] == "live" and subject in _GONE:
            found += [f"3 {later} behind {life}" for later, lives in self.behind.items() if life in lives]
            found += [f"3 {life} behind {earlier}" for earlier in sorted(self.behind.get(life, ()))]
        return found

    def _life(self, row: JsonMap) -> str:
        for name in ("agent", "session"):
            if isinstance(row.get(name), str):
                return str(row[name])
        part = str(row.get("part"))
        payload = row.get("payload")
        session = payload.get("session") if isinstance(payload, Mapping) else None
        return self.lives.get(part) or self.lives.get(f"{part} {session}") or part.partition(".")[0]


def status_of(life: str) -> str:
    """The strand of an agent's status, and of its requests.

    Args:
        life: The handle.
    """
    return f"0 status of {life}"


def _outcome_of(life: str) -> str:
    """The strand of how a transaction ends, and of what that comes after."""
    return f"2 outcome of {life}"


def begins(life: str) -> str:
    """The strand of the setup of a life, and of those who listen to its announcements."""
    return f"beginning of {life}"


def ends(life: str) -> str:
    """The strand of those who listen to the disposals of a life."""
    return f"end of {life}"


@dataclass(slots=True)
class Record:
    """What one command leads to.

    Args:
        rows: What must be observed, each row with the number of the list in which it comes first.
        lists: The number of the list that is being written; all but the first one leave out nothing of those before.
        strands: Which rows have an order.
        after: Who says that nothing more happens.
        cells: The cells that were visited, the last one being what the command is about.
        blame: By id, who answers for what the registries say of it behind the command.
        answers: Who answers for the refusal of the call, where others do than for what comes behind it.
        limit: Who says that the call of an action in a script does no more before it returns.
        departed: The variants that were followed.
        only: The rows that are compared.
        inside: Whether the call is made inside a function, where it is all the same whether, and when, it fails.
        unsure: The ids of which nobody can say any more whether they are found.
    """

    rows: list[tuple[int, ExpectedRow]] = field(default_factory=list)
    lists: int = 0
    strands: Strands = field(default_factory=Strands)
    after: Clauses = ()
    cells: list[str] = field(default_factory=list)
    blame: dict[str, Clauses] = field(default_factory=dict)
    answers: Clauses = ()
    limit: Clauses = ()
    departed: list[str] = field(default_factory=list)
    only: frozenset[str] = COMPARED
    inside: bool = False
    unsure: set[str] = field(default_factory=set)

    def add(self, row: JsonMap, clauses: Clauses, *, number: int | None = None) -> None:
        """Demand a row, in the list that is being written and all behind it, or from another list on.

        Args:
            row: A pattern for it.
            clauses: Demand it.
            number: The first list that it stands in; the one that is being written unless given.
        """
        self.rows.append((self.lists if number is None else number, ExpectedRow(row, clauses)))

    def list_of(self, number: int) -> tuple[ExpectedRow, ...]:
        """One of the lists.

        Args:
            number: Which, counted from 0.
        """
        return tuple(row for first, row in self.rows if first <= number)

    @property
    def last(self) -> int:
        """The number of the last list."""
        return max((number for number, _ in self.rows), default=0)

    def cell(self, *parts: str) -> None:
        """Visit a cell.

        Args:
            *parts: Phase or place, act, and window.
        """
        self.cells.append(" / ".join(parts))


def live(life: Life, event: str, payload: JsonMap | None = None) -> JsonMap:
    """What is told of an agent, or of its session.

    Args:
        life: Whose it is.
        event: The event's name in the specification.
        payload: A pattern for its fields; none where they do not matter.
    """
    subject = "session" if event.startswith("session/") else "agent"
    carried: JsonMap = {} if payload is None else {"payload": payload}
    return {"on": "live", "name": event, subject: life.handle, **carried}


def log(life: Life, event: str, data: JsonMap) -> JsonMap:
    """What is logged of an agent.

    Args:
        life: Whose session it is.
        event: The type of the event.
        data: A pattern for its data.
    """
    return {"on": "log", "session": life.handle, "event": {"type": event, "data": data}}


def splice(
    life: Life, target: str, inserted: Sequence[str] = (), removed: int = 0, *, canceled: bool = False
) -> JsonMap:
    """A change of the inbox.

    Args:
        life: Whose inbox it is.
        target: The list.
        inserted: The ids of the messages that come in.
        removed: How many leave.
        canceled: Whether they leave because they are canceled.
    """
    data: dict[str, Json] = {"target": target, "inserted": [{"id": identity} for identity in inserted]}
    if removed:
        data["removedCount"] = removed
    if canceled:
        data["outcome"] = "canceled"
    return log(life, "agent/inbox/spliced", data)


def note(life: Life, what: str, identity: str) -> JsonMap:
    """A message was inserted, claimed or discarded.

    Args:
        life: Whose inbox it is.
        what: Which of the three.
        identity: The message's id.
    """
    return live(life, f"agent/inbox/{what}", {"message": {"id": identity}})


def status(life: Life, value: str) -> JsonMap:
    """`agent/status`.

    Args:
        life: Whose it is.
        value: `running` or `idle`.
    """
    return live(life, "agent/status", {"status": value})


def turn_end(life: Life, kind: str) -> JsonMap:
    """`turn/end`.

    Args:
        life: Whose turn it is.
        kind: Why it ends.
    """
    reason: JsonMap = {"kind": kind}
    return log(life, "turn/end", {"turn": life.turn, "reason": reason})


def abort(life: Life, what: str, cause: str, clauses: Clauses) -> JsonMap:
    """The signal of the model's call, or of a maintenance task, fires; the clauses answer for its reason.

    Args:
        life: Whose it is.
        what: `model`, or the name of the task's function behind the handle.
        cause: The kind of the cause that it fires with.
        clauses: Answer for the reason.
    """
    return abort_of(model_of(life.identity) if what == "model" else f"{life.handle}.{what}", cause, clauses)


def abort_of(part: str, cause: str, clauses: Clauses) -> JsonMap:
    """The signal fires that a function has.

    Args:
        part: The name of the function.
        cause: The kind of the cause that it fires with.
        clauses: Answer for the reason.
    """
    return {"on": "abort", "part": part, "reason": by(clauses, {"$exact": {"kind": cause}})}


def request(life: Life) -> JsonMap:
    """The model is asked, and waits.

    Args:
        life: Whose model it is.
    """
    return {"on": "gate", "kind": "model/stream", "agent": life.handle}


def called(part: str, kind: str, *, waits: bool = False) -> JsonMap:
    """A function is called, or comes to its gate.

    Args:
        part: The name of the function.
        kind: Its kind, as the protocol calls it.
        waits: Whether it waits for the suite.
    """
    return {"on": "gate" if waits else "script", "part": part, "kind": kind}


def returned(op: str, outcome: Mapping[str, Json], part: str | None = None, at: str | None = None) -> JsonMap:
    """A command has returned.

    Args:
        op: The operation.
        outcome: A pattern for its `result` or `error`, where that is looked at.
        part: The function in which it was called, if it was in one.
        at: Its place in a burst or a script.
    """
    place = {name: value for name, value in (("part", part), ("at", at)) if value is not None}
    return {"on": "return", "op": op, **place, **outcome}


def settled(task: str, **outcome: Json) -> JsonMap:
    """A task is over.

    Args:
        task: The name that the command gave it.
        **outcome: Patterns for `value` or `error`.
    """
    return {"on": "task", "task": task, **outcome}
