"""Invariants of an agent's live side: its status, and the signals of its turns."""

from dataclasses import dataclass, field
from typing import Final

from dshconform.protocol.json_value import Json
from dshconform.protocol.messages import Row
from dshconform.trace.fold import Invariant, Place, event_of, members_of
from dshconform.trace.pattern import Difference, Matching


@dataclass(slots=True)
class _Status:
    """`running` and `idle` alternate, and every turn lies within one `running`."""

    status: dict[str, str] = field(default_factory=dict)
    open_turns: dict[str, Json] = field(default_factory=dict)
    nested: set[str] = field(default_factory=set)
    """Agents of which a listener of the suite was told before the rows were made: their order proves nothing."""

    def __call__(self, row: Row, matching: Matching) -> Difference | None:
        if row["on"] == "log":
            return self._turn(row, matching)
        agent = str(row.get("agent"))
        if row["on"] != "live":
            if members_of(row.get("payload")).get("status") != self.status.get(agent):
                self.nested.add(agent)
            return None
        if row["name"] == "agent/created":
            self.status.setdefault(agent, "idle")  # a wake from before may have been told of already
            return None
        if row["name"] == "agent/disposed":
            self.status[agent] = "idle"
            self.open_turns.pop(agent, None)
            self.nested.discard(agent)
            return None
        value = members_of(row.get("payload")).get("status")
        if value not in {"idle", "running"}:
            sentence = f"agent/status tells of the status {value!r}"
            return Place(row, "payload.status", ("AGENT-STATUS-01",)).violated(
                matching, sentence, expected="idle or running", found=value
            )
        before, self.status[agent] = self.status.get(agent), str(value)
        if agent in self.nested:
            return None
        if value == before:
            sentence = f"agent/status {value} is told while the agent is {value}"
            return Place(row, "payload.status", ("AGENT-STATUS-02",)).violated(
                matching, sentence, expected="a change", found=value
            )
        turn = self.open_turns.get(agent)
        if value == "idle" and turn is not None:
            sentence = f"agent/status idle is told while turn {turn} is open"
            return Place(row, "", ("AGENT-STATUS-04",)).violated(
                matching, sentence, expected="no open turn", found=turn
            )
        matching.hold(("AGENT-STATUS-01", "AGENT-STATUS-02", "AGENT-STATUS-04"))
        return None

    def _turn(self, row: Row, matching: Matching) -> Difference | None:
        session, event = str(row.get("session")), event_of(row)
        if event["type"] == "turn/end":
            self.open_turns.pop(session, None)
            return None
        turn = self.open_turns[session] = members_of(event.get("data")).get("turn")
        if session in self.nested or session not in self.status:
            return None
        if self.status[session] == "running":
            matching.hold(("AGENT-STATUS-03",))
            return None
        sentence = f"turn {turn} starts while the agent is idle"
        return Place(row, "", ("AGENT-STATUS-03",)).violated(matching, sentence, expected="running", found="idle")


@dataclass(slots=True)
class _Signals:
    """The signal of a call fires once, and behind it no chunk of that call is logged."""

    fired: set[tuple[str, str]] = field(default_factory=set)
    agents: dict[tuple[str, str], str] = field(default_factory=dict)
    aborted: set[str] = field(default_factory=set)

    def __call__(self, row: Row, matching: Matching) -> Difference | None:
        match row["on"]:
            case "gate" | "script":
                call = str(row.get("part")), str(row.get("n"))
                self.fired.discard(call)
                if row.get("kind") == "model/stream":
                    self.agents[call] = str(row.get("agent"))
                return None
            case "abort":
                return self._fires(row, matching)
            case _:
                return self._logged(row, matching)

    def _fires(self, row: Row, matching: Matching) -> Difference | None:
        call = str(row.get("part")), str(row.get("n"))
        if call in self.fired:
            sentence = f"the signal of call {call[1]} of {call[0]} fires a second time"
            return Place(row, "", ("CANCEL-FIRST-01",)).violated(
                matching, sentence, expected="one abort", found=row.get("reason")
            )
        self.fired.add(call)
        if call in self.agents:
            self.aborted.add(self.agents[call])
        matching.hold(("CANCEL-FIRST-01",))
        return None

    def _logged(self, row: Row, matching: Matching) -> Difference | None:
        session, event = str(row.get("session")), event_of(row)
        if event["type"] == "turn/end":
            if session in self.aborted:
                matching.hold(("CANCEL-STREAM-04",))
            self.aborted.discard(session)
            return None
        if session not in self.aborted:
            return None
        chunk = members_of(event.get("data")).get("chunk")
        sentence = f"the chunk {event.get('seq')} is logged behind the abort of its request"
        return Place(row, "", ("CANCEL-STREAM-04",)).violated(matching, sentence, expected="no chunk", found=chunk)


AGENT_INVARIANTS: Final[tuple[Invariant, ...]] = (
    Invariant(
        "status",
        ("AGENT-STATUS-01", "AGENT-STATUS-02", "AGENT-STATUS-03", "AGENT-STATUS-04"),
        frozenset({"log turn/start", "log turn/end", "gate agent/status", "script agent/status"})
        | {f"live agent/{name}" for name in ("status", "created", "disposed")},
        _Status,
    ),
    Invariant(
        "signals",
        ("CANCEL-FIRST-01", "CANCEL-STREAM-04"),
        frozenset({"gate", "script", "abort", "log assistant/chunk", "log turn/end"}),
        _Signals,
    ),
)
"""What every agent keeps."""
