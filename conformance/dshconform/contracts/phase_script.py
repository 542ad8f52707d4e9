"""A world of the phase table in the making: commands, and what the table says about each.

A `Script` keeps what the table needs to know of the agent (lists, latch, cause, turn) and writes a scenario document.
What a cell says is written into it by `phase_calls` and `phase_events`; what is written here holds of every cell: how a
state is reached, what a wake does, and how an activity comes to its end, which shows whether a wake was remembered.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from dshconform.contracts.phase_table import Clauses
from dshconform.protocol.json_value import Json, JsonMap
from dshconform.scenarios.load import Scenario, build_scenario

Target: TypeAlias = Literal["next-turn", "next-step"]
"""The lists of an inbox."""

COMPARED: Final[list[Json]] = [
    *("log agent/inbox/*", "log turn/*", "live agent/status", "live agent/inbox/*", "live agent/error"),
    *("abort", "return", "task"),
]
"""Steps and requests are the affair of other checks."""

_GATES: Final = {"maintenance": "maintenance", "running": "model/stream"}
HOLDERS: Final = {"maintenance": "job", "running": "model"}
"""By phase, the gate at which its activity waits, and the function that waits there."""

FAILURE: Final[JsonMap] = {"$error": {"kind": "model", "message": "busy", "code": "SERVER"}}
"""What the model fails with."""
USER: Final[JsonMap] = {"kind": "user"}
"""The cause of a cancel by the user."""
DISPOSED: Final[JsonMap] = {"kind": "disposed"}
"""The cause of a cancel by a disposal."""


def text(identity: str) -> JsonMap:
    """A message in short.

    Args:
        identity: The message's id, which is its text too.
    """
    return {"$message": identity}


def call(op: str, **args: Json) -> JsonMap:
    """A call that a listener makes.

    Args:
        op: The operation.
        **args: Its arguments beside the agent.
    """
    return {"op": op, "args": {"agent": "a", **args}}


@dataclass(slots=True)
class Script:
    """A scenario, and what is known of its agent.

    Args:
        title: The cell, and which of its worlds this is: `running · live: send waking (next-turn)`.
        by: The clauses of the cell.
        steps: The steps so far.
        phase: The phase.
        cause: Why the activity's signal is aborted, if it is.
        latch: Whether a wake is remembered.
        turn: The number of the last turn.
        lists: The ids that wait, by list.
    """

    title: str
    by: Clauses
    steps: list[Json] = field(default_factory=list)
    phase: Literal["idle", "maintenance", "running"] = "idle"
    cause: JsonMap | None = None
    latch: bool = False
    turn: int = 0
    lists: dict[Target, list[str]] = field(default_factory=lambda: {"next-step": [], "next-turn": []})

    def scenario(self) -> Scenario:
        """The finished scenario."""
        document: JsonMap = {
            "scenario": f"phase table, {self.title}",
            "title": self.title,
            "contract": "phase table",
            "model": "gate",
            "abort": "manual",
            "only": COMPARED,
            "steps": self.steps,
        }
        return build_scenario(document, self.title)

    # ------------------------------------------------------------------ steps

    def do(self, op: str, args: JsonMap | None = None, **expected: Json) -> None:
        """Write one step.

        Args:
            op: The operation.
            args: Its arguments beside the agent.
            **expected: What the step demands, as scenarios write it.
        """
        self.steps.append({"do": op, "args": {"agent": "a", **(args or {})}, **expected})

    def observe(self, op: str, args: JsonMap, rows: Sequence[Json], by: Clauses | None = None, **more: Json) -> None:
        """Write one step and everything that must be observed.

        Args:
            op: The operation.
            args: Its arguments beside the agent.
            rows: Everything that must be observed.
            by: The clauses; those of the cell if not given.
            **more: Further members of the step.
        """
        self.do(op, args, by=list(by or self.by), observed=list(rows), **more)

    def listen(self, event: str, name: str, **function: Json) -> None:
        """Write a listener.

        Args:
            event: What it hears.
            name: What the suite calls it.
            **function: Members of its function, as scenarios write them.
        """
        listener: JsonMap = {"as": name, "event": event, "fn": {"$fn": name, **function}}
        self.steps.append({"do": "listen", "args": listener})

    # ------------------------------------------------------------------ states

    def maintain(self) -> None:
        """A task runs, and waits."""
        self.do(
            "agent.maintain",
            {"task": "job", "fn": {"$fn": "job", "do": "gate"}},
            by="MAINT-START-01",
            open=["maintenance"],
        )
        self.phase = "maintenance"

    def run(self, identity: str = "first") -> None:
        """A turn runs, and its model waits.

        Args:
            identity: The id of the message that begins it.
        """
        self.do("agent.followup", {"message": text(identity)}, by="AGENT-SEND-04", open=["model/stream"])
        self.phase, self.turn = "running", 1

    def abort(self, cause: JsonMap) -> None:
        """The activity is aborted; what waits is kept.

        Args:
            cause: Why.
        """
        self.do("agent.cancel", {"cause": cause, "keepInbox": True}, by="CANCEL-KEEP-01", open=[_GATES[self.phase]])
        self.cause = cause

    def fill(self) -> None:
        """A message waits in each list, and nobody was woken for it."""
        self.quiet("next-step", "step")
        self.quiet("next-turn", "turn")

    def quiet(self, target: Target, identity: str) -> None:
        """A message is inserted without waking.

        Args:
            target: The list.
            identity: The message's id.
        """
        self.do("inbox.append", {"target": target, "message": text(identity)}, by="INBOX-WAKE-01")
        self.lists[target].append(identity)

    def remember(self, identity: str = "wake") -> None:
        """A wake is latched.

        Args:
            identity: The id of the message that wakes.
        """
        self.do("agent.followup", {"message": text(identity)}, by="WAKE-LATCH-02")
        self.lists["next-turn"].append(identity)
        self.latch = True

    def look(self) -> None:
        """The agent shows what waits, and its status."""
        lists = {"nextStep": "next-step", "nextTurn": "next-turn"}
        shown: JsonMap = {name: [text(identity) for identity in self.lists[target]] for name, target in lists.items()}  # type: ignore[index]
        status = "running" if self.phase == "running" else "idle"
        self.do("agent.inspect", by=list(self.by), result={"status": {"$by": "AGENT-STATUS-01", "is": status}, **shown})

    def look_at_signal(self) -> None:
        """The signal that the activity holds is live, or aborted with the first cause."""
        if self.phase == "idle":
            return
        clause = "CANCEL-SIGNAL-01" if self.cause is None else "CANCEL-FIRST-01"
        seen: JsonMap = {"aborted": self.cause is not None}
        if self.cause is not None:
            seen = {**seen, "reason": {"$exact": self.cause}}
        read: JsonMap = {"op": "signal.read", "args": {"signal": {"$arg": "signal"}}}
        gate: JsonMap = {"gate": {"kind": _GATES[self.phase]}, "do": [read]}
        self.steps.append({"do": "gate.do", "args": gate, "by": clause, "result": [{"result": seen}]})

    # ------------------------------------------------------------------ what follows, as rows

    def inserted(self, target: Target, identity: str, by: Clauses | None = None) -> list[Json]:
        """A message enters a list, at its end.

        Args:
            target: The list.
            identity: The message's id.
            by: The clauses; those of the cell if not given.

        Returns:
            The row of the splice and its notification, in short.
        """
        place = len(self.lists[target])
        self.lists[target].append(identity)
        return [{"$sent": identity, "target": target, "start": place, "by": list(by or self.by)}]

    def cleared(self) -> list[Json]:
        """Everything that waits is cancelled.

        Returns:
            For each list that was not empty, the splice that clears it and the notices of what it held.
        """
        rows: list[Json] = []
        for target, held in self.lists.items():
            if held:
                splice: JsonMap = {
                    "target": target,
                    "start": 0,
                    "removedCount": len(held),
                    "inserted": [],
                    "outcome": "canceled",
                }
                rows.append({"log": "agent/inbox/spliced", "data": {"$exact": splice}})
                rows += [{"live": "agent/inbox/discarded", "message": text(identity)} for identity in held]
                held.clear()
        return rows

    def fired(self, cause: JsonMap) -> Json:
        """The signal is aborted, and its holder told.

        Args:
            cause: Why.

        Returns:
            The row that tells its holder.
        """
        self.cause = cause
        return {"abort": HOLDERS[self.phase], "reason": {"$exact": cause}}

    def claimed(self, *, prompt: bool) -> list[Json]:
        """The batch of a step is claimed.

        Args:
            prompt: Whether it is the first step of a turn, which takes one message of `next-turn` too.

        Returns:
            The rows of the splices and the notifications.
        """
        steps, turns = self.lists["next-step"][:], self.lists["next-turn"][:prompt]
        del self.lists["next-step"][:], self.lists["next-turn"][:prompt]
        rows: list[Json] = []
        for target, taken in (("next-step", steps), ("next-turn", turns)):
            if taken:
                splice: JsonMap = {"target": target, "start": 0, "removedCount": len(taken), "inserted": []}
                rows.append({"log": "agent/inbox/spliced", "data": {"$exact": splice}})
        return rows + [
            {"live": "agent/inbox/claimed", "message": text(identity), "turn": self.turn}
            for identity in (*steps, *turns)
        ]

    def next_turn(self) -> list[Json]:
        """A turn is opened, on a fresh signal and with the latch off, and claims its batch."""
        self.turn += 1
        self.cause, self.latch = None, False
        return [{"log": "turn/start", "data": {"turn": self.turn}}, *self.claimed(prompt=True)]

    def woken(self) -> list[Json]:
        """A driver starts."""
        self.phase = "running"
        return [{"live": "agent/status", "status": "running"}, *self.next_turn()]

    def turn_ends(self, kind: str) -> Json:
        """A turn is closed.

        Args:
            kind: Why it ends.

        Returns:
            The row that says so.
        """
        error: JsonMap = {"error": {"$any": True}} if kind == "error" else {}
        reason: JsonMap = (
            {"$by": "LOG-EVT-03", "is": {"$exact": {"kind": kind}}} if kind == "aborted" else {"kind": kind, **error}
        )
        return {"log": "turn/end", "data": {"turn": self.turn, "reason": reason}}

    def settled(self) -> list[Json]:
        """The activity settles: phase idle, the status told if it was a driver's, then the latched wake."""
        rows: list[Json] = [{"live": "agent/status", "status": "idle"}] if self.phase == "running" else []
        latched, self.latch = self.latch, False
        self.phase, self.cause = "idle", None
        if latched and any(self.lists.values()):
            rows += self.woken()
        return rows

    # ------------------------------------------------------------------ bringing an activity to its end

    def end(self, by: Clauses | None = None) -> None:
        """The activity does what it would do by itself: the task is done, the model's answer is complete.

        Args:
            by: The clauses; those of the cell if not given.
        """
        if self.phase == "maintenance":
            self.answer("gate.resolve", [*self.settled(), {"task": "job", "value": "done"}], by, value="done")
        elif self.cause is not None:
            self.answer("stream.end", [self.turn_ends("aborted"), *self.settled()], by)
        elif self.lists["next-step"]:
            self.answer("stream.end", self.claimed(prompt=False), by)
        elif self.lists["next-turn"]:
            self.answer("stream.end", [self.turn_ends("completed"), *self.next_turn()], by)
        else:
            self.answer("stream.end", [self.turn_ends("completed"), *self.settled()], by)

    def fail(self, by: Clauses | None = None) -> None:
        """The model fails, and with it the turn.

        Args:
            by: The clauses; those of the cell if not given.
        """
        failure: JsonMap = {"live": "agent/error", "turn": self.turn, "step": 1}
        self.answer("stream.fail", [failure, self.turn_ends("error"), *self.settled()], by, error=FAILURE)

    def answer(self, op: str, rows: Sequence[Json], by: Clauses | None = None, **args: Json) -> None:
        """Write an answer to the gate of the activity that was; the rows were made when it was still there.

        Args:
            op: The operation.
            rows: Everything that must be observed.
            by: The clauses; those of the cell if not given.
            **args: Its arguments beside the gate.
        """
        kind = "maintenance" if op == "gate.resolve" else "model/stream"
        waiting: list[Json] = ["model/stream"] if self.phase == "running" else []
        gate: JsonMap = {"gate": {"kind": kind}, **args}
        self.steps.append({"do": op, "args": gate, "by": list(by or self.by), "observed": list(rows), "open": waiting})
