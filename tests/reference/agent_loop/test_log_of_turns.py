"""What turns leave in their log, field by field."""

import json
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.reference.toolbox import Toolbox, content
from tests.reference.world import (
    USER,
    Model,
    Script,
    World,
    cut,
    do,
    fail,
    finish,
    hang,
    message,
    stream,
    text,
)

from dshcore.agent import AGENT_PRE_STEP, Agent, AgentOptions, Reject
from dshcore.events import Emit, Parallel
from dshcore.json import freeze
from dshcore.llm import LLM
from dshcore.session import SESSION_FLUSH, Session, SessionFlush
from dshcore.session.invariants import Position
from dshcore.system_prompt import PromptOptions
from dshcore.tools import ToolOutput

SHEET = Path(__file__).parents[3] / "docs/spec/40-session.md"

DELTA = {"type": "tool-call-delta", "index": 0, "id": "c1", "name": "echo", "argumentsDelta": "{}"}
SAID = {"type": "text-delta", "index": 0, "text": "done"}
USAGE = {"type": "usage", "usage": {"inputTokens": 5, "outputTokens": 1}}


class KnownModel(Model):
    """A model whose context has a size."""

    async def resolve(self, provider: str, model: str, _signal: object) -> Mapping[str, object]:
        return {"provider": provider, "id": model, "name": model, "context": {"contextWindow": 1000}}


def recorded_example() -> list[Any]:
    """The log of the sheet's recorded example; its last event, a mark, belongs to the fork that it was read from."""
    block = re.search(r"### Recorded example.*?```json\n(.*?)```", SHEET.read_text("utf-8"), re.DOTALL)
    assert block is not None
    return [freeze(json.loads(line)) for line in block[1].splitlines()][:-1]


def comparable(events: Any) -> list[Any]:
    """Events without what differs between runs: times, minted message ids, and the text of prompt and tools."""
    ids: dict[str, str] = {}

    def walk(name: str, value: Any) -> Any:
        if isinstance(value, Mapping):
            return {key: walk(key, member) for key, member in value.items() if key != "time"}
        if isinstance(value, (list, tuple)) and name != "tools":
            return [walk("", item) for item in value]
        if name in ("system", "tools"):
            return "…"
        return ids.setdefault(value, f"m{len(ids)}") if name == "id" and value != "c1" else value

    return [walk("", event) for event in events]


def test_recorded_example() -> None:
    """A turn with a tool call leaves the log that the specification shows (LOG-EVT-01 to -13, HEADER-CTX-02)."""
    world = World(prompt=PromptOptions())
    model = KnownModel()
    world.run(lambda: world.root[LLM].register(world.root, ["p"], model))
    output = ToolOutput(schema={}, render=lambda _, value: content(str(value)))
    Toolbox(world).add("echo", output=output)
    model.follow(stream(DELTA, finish("tool-calls")), stream(SAID, USAGE, finish()))
    agent = world.create(agent_options=AgentOptions(provider="p", model="m"))
    world.run(lambda: agent.followup(message("hi")))
    assert comparable(agent.session.events) == comparable(recorded_example())
    world.close()


def data_of(agent: Agent, kind: str) -> list[Any]:
    return [event["data"] for event in agent.session.events if event["type"] == kind]


def reject(world: World) -> None:
    async def listener(_hook: object, _next_layer: object) -> Reject:
        return Reject()

    world.root.on(AGENT_PRE_STEP, listener)


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        (text("x"), {"kind": "completed"}),
        (cut("x"), {"kind": "max-tokens"}),
        (fail("E1"), {"kind": "error", "error": {"message": "busy", "code": "E1"}}),
        (stream(error=ValueError("boom")), {"kind": "error", "error": {"message": "boom", "code": "UNKNOWN"}}),
    ],
)
def test_endings_of_turns(world: World, script: Script, reason: dict[str, Any]) -> None:
    """A start names the turn alone, an end the turn and the reason (LOG-EVT-01, LOG-EVT-02, LOG-EVT-04)."""
    agent = world.create()
    world.model.follow(script)
    world.followup("A")
    assert data_of(agent, "turn/start") == [{"turn": 1}]
    assert data_of(agent, "turn/end") == [freeze({"turn": 1, "reason": reason})]


def test_rejected_turn_is_blocked(world: World) -> None:
    """And opens no step (LOG-EVT-02)."""
    agent = world.create()
    reject(world)
    world.followup("A")
    assert data_of(agent, "turn/end") == [{"turn": 1, "reason": {"kind": "blocked"}}]


@pytest.mark.parametrize("cause", [USER, {"kind": "hook", "reason": "x"}, None])
def test_who_cancelled_is_not_recorded(world: World, cause: Any) -> None:
    """Neither for a cause nor for the disposal (LOG-EVT-03)."""
    agent = world.create()
    world.model.follow(hang())
    world.followup("A")
    if cause is None:
        world.dispose()
    else:
        world.run(lambda: agent.cancel(cause))
    assert data_of(agent, "turn/end") == [{"turn": 1, "reason": {"kind": "aborted"}}]


def test_a_failed_call_leaves_its_chunks_and_the_ending(world: World) -> None:
    """There is no separate error event, and no message (LOG-EVT-04)."""
    agent = world.create()
    world.model.follow(stream(SAID, finish("error", failure={"message": "boom", "code": "E1", "status": 500})))
    world.followup("A")
    assert world.log()[-4:] == ["chunk text-delta", "chunk finish", "step/end 1.1", "turn/end 1 error E1"]
    assert data_of(agent, "turn/end")[0]["reason"]["error"] == {"message": "boom", "code": "E1", "status": 500}


def test_messages_are_logged_as_they_were_delivered(world: World) -> None:
    """Steered and injected ones too: one type, told apart by their sources alone (LOG-EVT-06, LOG-EVT-07)."""
    agent = world.create()
    plugin = {**message("I"), "source": {"kind": "plugin", "plugin": "p", "v": 1}, "x": [1]}
    agent.inject(plugin)
    world.run(do(lambda: agent.steer(message("S")), lambda: agent.followup(message("A"))))
    entered = data_of(agent, "user/message")
    assert entered == [freeze(one) for one in (plugin, message("S"), message("A"))]
    for history in (agent.session.derive_messages(), world.model.requests[-1].messages):
        assert [one for one in history if one["role"] == "user"] == entered
    assert {row.partition(" ")[0] for row in world.log()} & {"steering/message", "context/message"} == set()


def test_boundaries_are_log_events_alone(world: World) -> None:
    """Of all that is emitted while a turn runs, `session/event` alone tells of its boundaries (LOG-EVT-05)."""
    told: set[str] = set()
    keys: set[Any] = {
        key
        for name, module in [*sys.modules.items()]
        if name.startswith("dshcore.")
        for key in vars(module).values()
        if isinstance(key, (Emit, Parallel)) and not key.name.startswith("internal/")
    }
    assert len(keys) > 10
    world.create()

    def tell(name: str) -> Callable[[object], None]:
        return lambda _: told.add(name)

    for key in keys:
        world.root.on(key, tell(key.name))
    world.followup("A")
    assert told == {"agent/inbox/inserted", "agent/status", "agent/inbox/claimed", "session/event"}
    assert [row for row in world.log() if row.startswith(("turn", "step"))] == [
        "turn/start 1",
        "step/start 1.1",
        "step/end 1.1",
        "turn/end 1 completed",
    ]


def test_the_driver_asks_for_no_flush(world: World) -> None:
    """Turns complete although a flush would never end (LOOP-FLUSH-01)."""
    asked: list[SessionFlush] = []

    async def never(flush: SessionFlush) -> None:
        asked.append(flush)
        await world.loop.create_future()

    world.root.on(SESSION_FLUSH, never)
    agent = world.create()
    world.followup("A", "B")
    assert (agent.status, len(data_of(agent, "turn/end")), asked) == ("idle", 2, [])


@pytest.mark.parametrize("script", [text("x"), cut("x"), fail("E1"), hang()])
def test_every_ending_leaves_a_balanced_log(world: World, script: Script) -> None:
    """On every path, also when it goes on from a seed or in a fork (INV-TURN-01 to INV-ENC-01)."""
    agent = world.create()
    world.model.follow(script, text("y"))
    world.followup("A", "B")
    world.run(lambda: agent.cancel(USER))
    world.followup("C")
    world.dispose()
    again = world.create("b", seed=agent.session.events)
    world.run(lambda: again.followup(message("D")))
    turns = [last_turn_of_a_kept_log(session) for session in (agent.session, again.session)]
    assert turns == [agent.session.last_turn, again.session.last_turn]


def last_turn_of_a_kept_log(session: Session) -> int:
    position = Position()
    for event in session.events:
        assert position.broken_by(event) is None
        position.follow(event)
    assert position.turn is None
    return position.next_turn - 1
