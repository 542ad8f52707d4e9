"""A tiny implementation of one agent behind the in-process adapter interface, for tests of the machine.

It shares nothing with the model nor with the reference: two lists, a turn, a latch, and a list of items that the
model's stream was given and the driver has not seen. `wrong` names what it does wrongly.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from dshconform.protocol.json_value import Json, JsonMap
from dshconform.protocol.messages import Command, Reply, Row

HELLO: JsonMap = {
    "protocol": 1,
    "implementation": {"name": "fake", "version": "0", "language": "python"},
    "profiles": ["core"],
    "features": [],
}
PRESETS = {"followup": ("next-turn", True), "steer": ("next-step", True), "inject": ("next-step", False)}


class Refused(Exception):
    """The call raises."""


class FakeAgent:
    """One agent, `a`, with a model that waits for the suite."""

    def __init__(self, wrong: frozenset[str]) -> None:
        self.wrong = wrong
        self.rows: list[Row] = []
        self.lists: dict[str, list[Any]] = {"next-turn": [], "next-step": []}
        self.seq = self.turn = self.step = self.calls = 0
        self.running = self.latch = self.waiting = False
        self.cause: Any = None
        self.batch: list[Any] | None = None
        self.items: list[tuple[str, Any]] = []
        self.chunks: list[tuple[int, Any]] = []
        self.history: list[Any] = []
        self.outcome = ""

    # what is told

    def log(self, kind: str, data: Json, **more: Json) -> int:
        event: JsonMap = {"type": kind, "seq": self.seq, "time": 0, "data": data, **more}
        self.rows.append({"on": "log", "session": "a", "event": event})
        self.seq += 1
        return self.seq - 1

    def live(self, name: str, **payload: Json) -> None:
        self.rows.append({"on": "live", "name": name, "agent": "a", "payload": payload})

    # the inbox

    def splice(self, target: str, start: int, count: int, inserted: Sequence[Any]) -> list[Any]:
        held = self.lists[target]
        removed = held[start : start + count]
        if not removed and not inserted:
            return []
        for at, message in enumerate(inserted):
            others = [one["id"] for each in self.lists.values() for one in each if one not in removed]
            if message["id"] in others + [one["id"] for one in inserted[:at]]:
                raise Refused(f'message "{message["id"]}" is already pending')
        data: dict[str, Json] = {"target": target, "start": start, "inserted": list(inserted)}
        if removed:
            data |= {"removedCount": len(removed), "outcome": "canceled"}
        self.log("agent/inbox/spliced", data)
        held[start : start + count] = inserted
        notes = [("discarded", one) for one in removed] + [("inserted", one) for one in inserted]
        for kind, message in reversed(notes) if "notes reversed" in self.wrong else notes:
            self.live(f"agent/inbox/{kind}", message=message)
        return removed

    def clear(self) -> None:
        for target in ("next-step", "next-turn"):
            self.splice(target, 0, len(self.lists[target]), [])

    def claim(self, prompts: int) -> None:
        steps, turns = self.lists["next-step"], self.lists["next-turn"]
        taken = [("next-step", steps[:]), ("next-turn", turns[:prompts])]
        for target, messages in reversed(taken) if "prompt first" in self.wrong else taken:
            if messages:
                data: JsonMap = {"target": target, "start": 0, "removedCount": len(messages), "inserted": []}
                self.log("agent/inbox/spliced", data)
        del steps[:], turns[:prompts]
        self.batch = taken[0][1] + taken[1][1]
        for message in self.batch:
            self.live("agent/inbox/claimed", message=message, turn=self.turn)

    # the driver

    def wake(self) -> None:
        self.running = True
        self.live("agent/status", status="running")
        self.open_turn()

    def open_turn(self) -> None:
        self.turn, self.step, self.outcome = self.turn + 1, 0, ""
        self.cause, self.latch = None, False
        self.log("turn/start", {"turn": self.turn})
        self.claim(1)

    def settle(self) -> None:
        while self.batch is not None or (self.items and self.running):
            if self.batch is None:
                self.take(*self.items.pop(0))
            elif self.cause is not None:
                self.batch = None
                self.close({"kind": "aborted"})
            else:
                self.enter()

    def enter(self) -> None:
        self.step += 1
        place: JsonMap = {"turn": self.turn, "step": self.step}
        self.log("step/start", place)
        for message in self.batch or ():
            self.log("user/message", message, surfaceOp="append")
            self.history.append(message)
        self.batch = None
        if not self.calls:
            self.log("request/header", {"header": {"config": dict(ROUTE)}, "reason": "initial"})
            self.log("request/context", dict(ROUTE))
        self.calls += 1
        self.chunks, self.waiting = [], True
        payload: JsonMap = {
            **ROUTE,
            "request": {**ROUTE, "messages": list(self.history)},
            "signal": {"signal": None, "aborted": False},
        }
        gate: JsonMap = {"gate": f"g{self.calls}", "part": "model", "kind": "model/stream", "n": self.calls}
        self.rows.append({"on": "gate", **gate, "agent": "a", "payload": payload})

    def take(self, op: str, args: Any) -> None:
        if self.cause is not None:
            self.items.clear()
            if op == "stream.chunk":
                self.waiting = False
                self.rows.append({"on": "closed", "gate": f"g{self.calls}", "why": "left"})
            self.finish(interrupted=True)
            self.close({"kind": "aborted"})
        elif op == "stream.chunk":
            self.chunk(args["chunk"])
        elif op == "stream.end":
            finishes = [chunk["reason"]["kind"] for _, chunk in self.chunks if chunk["type"] == "finish"]
            self.finish(interrupted=False)
            if finishes[-1:] == ["max-tokens"] or not self.outcome:
                self.outcome = "max-tokens" if finishes[-1:] == ["max-tokens"] else "completed"
            if self.lists["next-step"]:
                self.claim(0)
            else:
                self.close({"kind": self.outcome}, goes_on=True)
        else:
            failure = {key: args["error"]["$error"][key] for key in ("message", "code")}
            self.chunk({"type": "finish", "reason": {"kind": "error", "failure": failure}})
            self.log("step/end", {"turn": self.turn, "step": self.step})
            self.live("agent/error", turn=self.turn, step=self.step, error={"type": "E", **failure})
            self.close({"kind": "error", "error": failure})

    def chunk(self, chunk: Any) -> None:
        seq = self.log("assistant/chunk", {"turn": self.turn, "step": self.step, "chunk": chunk})
        self.chunks.append((seq, chunk))

    def finish(self, *, interrupted: bool) -> None:
        deltas = [chunk["text"] for _, chunk in self.chunks if chunk["type"] == "text-delta"]
        text = "".join(deltas)
        content: list[Json] = [{"type": "text", "text": text}] if deltas else []
        if text.strip() or not interrupted:
            source: JsonMap = {"kind": "model", **ROUTE}
            message: JsonMap = {"id": f"r{self.calls}", "role": "assistant", "content": content, "source": source}
            data: JsonMap = {"turn": self.turn, "step": self.step, "message": message}
            more: JsonMap = {"interrupted": True} if interrupted else {}
            cites: list[Json] = [seq for seq, _ in self.chunks]
            self.log("assistant/message", {**data, **more}, sourceEventSeqs=cites, surfaceOp="append")
            if content:
                self.history.append(message)
        self.log("step/end", {"turn": self.turn, "step": self.step})

    def close(self, reason: JsonMap, *, goes_on: bool = False) -> None:
        pending = any(self.lists.values())
        if "cause told" in self.wrong and reason["kind"] == "aborted":
            reason = {**reason, "reason": self.cause}
        self.log("turn/end", {"turn": self.turn, "reason": reason})
        if goes_on and pending:
            self.open_turn()
            return
        replays, self.latch, self.running, self.cause = self.latch and pending, False, False, None
        self.live("agent/status", status="idle")
        if replays:
            self.wake()

    # calls

    def send(self, message: Any, target: Any, wakeup: Any) -> None:
        late = wakeup and self.cause is not None
        if target not in self.lists:
            raise Refused("no such list")
        self.splice("next-turn" if late else target, len(self.lists["next-turn" if late else target]), 0, [message])
        if wakeup and not self.running:
            self.wake()
        elif late and self.cause["kind"] != "disposed":
            self.latch = True

    def cancel(self, cause: Any, *, keep: bool) -> None:
        idle_keeps = "idle cancel keeps" in self.wrong and not self.running
        if not keep and not idle_keeps:
            self.clear()
            if "latch survives" not in self.wrong:
                self.latch = False
        if self.running and self.cause is None:
            self.cause = cause
            if self.waiting:
                self.rows.append({"on": "abort", "part": "model", "n": self.calls, "reason": cause})

    def find(self, identity: Any) -> tuple[str, int] | None:
        for target, held in self.lists.items():
            for at, message in enumerate(held):
                if message["id"] == identity:
                    return target, at
        return None

    def call(self, op: str, args: Any) -> Json:
        area, _, name = op.partition(".")
        match name:
            case "followup" | "steer" | "inject":
                self.send(args["message"], *PRESETS[name])
            case "send":
                self.send(args["message"], args["target"], args["wakeup"])
            case "cancel":
                self.cancel(args["cause"], keep=args.get("keepInbox") is True)
            case "inspect":
                shown = {"nextTurn": self.lists["next-turn"][:], "nextStep": self.lists["next-step"][:]}
                status = "running" if self.running else "idle"
                return {"id": "a", "session": "a", "status": status, **shown, "hasPending": any(shown.values())}
            case "clear":
                self.clear()
            case "remove" | "replace":
                found = self.find(args["id"])
                if found is not None:
                    self.splice(*found, 1, [args["message"]] if name == "replace" else [])
                return found is not None
            case _ if area == "stream":
                self.items.append((op, args))
                self.waiting = name == "chunk"
            case _:
                return self.insert(name, args)
        return None

    def insert(self, name: str, args: Any) -> Json:
        if args["target"] not in self.lists:
            raise Refused("no such list")
        length = len(self.lists[args["target"]])
        if name == "splice":
            start = index(args.get("start"), length)
            count = min(max(clamped(number(args["deleteCount"]), length), 0), length - start)
            return self.splice(args["target"], start, count, args["inserted"])
        self.splice(args["target"], length if name == "append" else 0, 0, [args["message"]])
        return None


ROUTE: JsonMap = {"provider": "mock", "model": "m1"}


def number(value: Any) -> float:
    named = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
    return named[value["$value"]] if isinstance(value, Mapping) else math.nan if value is None else value


def clamped(value: float, length: int) -> int:
    return 0 if math.isnan(value) else int(max(min(value, 10 * length + 10), -10 * length - 10))


def index(value: Any, length: int) -> int:
    whole = clamped(number(value), length)
    return max(length + whole, 0) if whole < 0 else min(whole, length)


class FakeAdapter:
    """The adapter; every world has one agent."""

    def __init__(self, *wrong: str) -> None:
        self.wrong = frozenset(wrong)
        self.worlds = 0
        self.agent = FakeAgent(self.wrong)

    def handle(self, command: Command) -> Reply:
        op, args = command.op, cast("Any", command.args)
        if op == "hello":
            return Reply(id=command.id, result=HELLO)
        if op == "world.open":
            self.worlds += 1
            odd_world = "every other world" in self.wrong and self.worlds % 2 == 0
            self.agent = FakeAgent(frozenset() if odd_world else self.wrong)
        if op.startswith("world.") or op in {"model.register", "agent.create"}:
            return Reply(id=command.id, result=None, observed=[{"on": "return", "op": op, "result": None}])
        agent = self.agent
        agent.rows = []
        outcome = self.burst(args["do"]) if op == "burst" else self.perform(op, args, None)
        if op == "burst":
            agent.rows.append({"on": "return", "op": op, **outcome})
        agent.settle()
        return Reply(
            id=command.id,
            observed=agent.rows,
            open=[f"g{agent.calls}"] if agent.waiting else [],
            **cast("Any", outcome),
        )

    def burst(self, items: Any) -> JsonMap:
        return {"result": [self.perform(item["op"], item["args"], str(at)) for at, item in enumerate(items)]}

    def perform(self, op: str, args: Any, at: str | None) -> JsonMap:
        outcome = outcome_of(lambda: self.agent.call(op, args))
        if not op.startswith("stream."):
            place: JsonMap = {} if at is None else {"at": at}
            self.agent.rows.append({"on": "return", "op": op, **place, **outcome})
        return outcome

    def close(self) -> None:
        pass


def outcome_of(call: Callable[[], Json]) -> JsonMap:
    try:
        return {"result": call()}
    except Refused as refusal:
        return {"error": {"type": "Refused", "message": str(refusal), "code": None}}
