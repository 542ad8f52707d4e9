"""The adapter of the published packages keeps what the protocol promises, whatever the implementation does."""

import json
import subprocess
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import pytest
from tests.conformance.adapters.dsh_node.talk import (
    INSPECT,
    SPEAKS,
    TEXT,
    Command,
    ask,
    followup,
    listens,
    message,
    told,
    with_agent,
)

from dshconform.adapters.dsh_node.install import Installation
from dshconform.links.subprocess import SubprocessLink
from dshconform.protocol.json_value import Json

pytestmark = pytest.mark.node

Raw: TypeAlias = Callable[[Sequence[object]], tuple[list[dict[str, Any]], int]]


def answered(link: SubprocessLink, value: Json) -> Any:
    """What the adapter shows of a value that it was given."""
    reply = link.call("run", {"task": "r", "do": [{"do": "return", "value": value}]})
    return next(row for row in reply.observed if row["on"] == "task")["value"]


@pytest.fixture
def raw(installation: Installation) -> Raw:
    """Sends all lines in one piece to a process of its own, and answers its replies and its exit status."""

    def exchange(lines: Sequence[object]) -> tuple[list[dict[str, Any]], int]:
        text = "".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines)
        done = subprocess.run(installation.command, input=text, capture_output=True, text=True, check=False, timeout=60)
        return [json.loads(line) for line in done.stdout.splitlines()], done.returncode

    return exchange


class TestWire:
    def test_hello(self, dsh_node: SubprocessLink) -> None:
        """The greeting names the release, the profiles and what works."""
        hello = dsh_node.hello
        assert (hello.implementation.name, hello.implementation.version) == ("@deepseek-ai/dsh", "0.1.0-rc.8")
        assert hello.profiles == ["core", "session", "tools", "prompt", "llm", "context", "lifecycle"]
        assert hello.features == [
            "ticks",
            "values",
            "throw-any",
            "diagnostics",
            "refusal",
            "enforcement",
            "services",
            "approval",
            "settings",
            "sync-create",
            "identities",
            "stub-store",
        ]

    def test_faults(self, raw: Raw) -> None:
        """What the adapter cannot execute is a fault that says so, and it goes on; the end of input ends it."""
        replies, status = raw(
            [
                "no JSON",
                {"id": 1, "op": "agent.inspect", "args": {"agent": "a"}},
                {"id": 2, "op": "world.open"},
                {"id": 3, "op": "tool.forge", "args": {}},
                {"id": 4, "op": "agent.inspect", "args": {"agent": "a"}},
                {"id": 5, "op": "gate.resolve", "args": {"gate": "g1"}},
                {"id": 6, "op": "world.open", "args": {"config": {"naked": True}}},
                {"id": 7, "op": "hello", "args": {"protocol": 2}},
                {"id": 8, "op": "world.close"},
            ]
        )
        assert status == 0
        assert [reply["id"] for reply in replies] == [0, 1, 2, 3, 4, 5, 6, 7, 8]
        assert ["fault" in reply for reply in replies] == [True, True, False, True, True, True, True, True, False]
        assert "tool.forge" in replies[3]["fault"]
        assert '"a"' in replies[4]["fault"]
        assert '"naked"' in replies[6]["fault"]

    def test_endless_loop(self, raw: Raw) -> None:
        """An implementation that goes round in circles is told from one that works long."""
        endless = {"$fn": "again", "do": [{"do": "return", "value": {"kind": "retry"}}]}
        fails = {"$fn": "model", "do": [{"do": "throw", "error": {"$error": {"message": "no"}}}]}
        replies, _ = raw(
            [
                {"id": 1, "op": "world.open"},
                {"id": 2, "op": "model.register", "args": {"as": "m", "routes": ["r"], "stream": fails}},
                {"id": 3, "op": "listen", "args": {"as": "l", "event": "agent/request-error", "fn": endless}},
                {
                    "id": 4,
                    "op": "agent.create",
                    "args": {"task": "t", "agent": "a", "options": {"provider": "r", "model": "m"}},
                },
                {"id": 5, "op": "agent.followup", "args": followup("A")},
            ]
        )
        assert (replies[-1]["id"], replies[-1]["fault"]) == (5, "unsettled")

    def test_lines_that_come_together(self, raw: Raw) -> None:
        """Lines of one piece are executed one by one, each settled before the next."""
        setup: list[Command] = [
            {"id": 1, "op": "world.open"},
            {"id": 2, "op": "model.register", "args": {"as": "m", "routes": ["mock"], "stream": SPEAKS}},
            {
                "id": 3,
                "op": "agent.create",
                "args": {"task": "t", "agent": "a", "options": {"provider": "mock", "model": "m"}},
            },
        ]
        together, _ = raw([*setup, {"id": 4, "op": "agent.followup", "args": followup("A")}, {"id": 5, **INSPECT}])
        assert told(together[3])[-1] == "live agent/status"
        assert together[4]["result"]["status"] == "idle"
        assert "late" not in together[4]


class TestValues:
    @pytest.mark.parametrize(
        "value",
        [
            *({"$value": name} for name in ("NaN", "Infinity", "-Infinity", "-0", "function", "unprintable")),
            [{"$value": "undefined"}, {"$value": "awaitable"}, None, 1.5, True, "text"],
            {"$raw": {"$fn": "f"}},
            {"plain": {"nested": [1, {"$value": "NaN"}]}, "__proto__": 1},
            {"own": {"self": {"$up": 2}}},
        ],
        ids=str,
    )
    def test_both_ways(self, dsh_node: SubprocessLink, value: Json) -> None:
        """A value comes back as it was sent."""
        assert answered(dsh_node, value) == value

    def test_nothing(self, dsh_node: SubprocessLink) -> None:
        """Nothing is null as an answer, and absent as a member."""
        assert answered(dsh_node, {"$value": "undefined"}) is None
        assert answered(dsh_node, {"a": {"$value": "undefined"}, "b": None}) == {"b": None}

    def test_signal(self, dsh_node: SubprocessLink) -> None:
        """A signal of the suite is shown by its name and what became of it."""
        dsh_node.call("signal.new", {"signal": "s"})
        assert answered(dsh_node, {"$signal": "s"}) == {"signal": "s", "aborted": False}
        dsh_node.call("signal.abort", {"signal": "s", "reason": {"kind": "user"}})
        assert answered(dsh_node, {"$signal": "s"}) == {"signal": "s", "aborted": True, "reason": {"kind": "user"}}
        assert dsh_node.call("signal.read", {"signal": "s"}).result == {"aborted": True, "reason": {"kind": "user"}}

    @pytest.mark.parametrize(
        ("thrown", "shown"),
        [
            ({"$error": {"message": "m"}}, {"type": "Error", "message": "m", "code": None}),
            (
                {"$error": {"kind": "plain", "message": "m", "name": "Odd", "code": "C", "as": "e"}},
                {"type": "Odd", "message": "m", "code": "C", "is": "e"},
            ),
            (
                {"$error": {"kind": "coded", "message": "m", "code": "C"}},
                {"type": "HarnessError", "message": "m", "code": "C"},
            ),
            (
                {
                    "$error": {
                        "kind": "model",
                        "message": "m",
                        "code": "C",
                        "status": 500,
                        "cause": {"$error": {"message": "c"}},
                    }
                },
                {
                    "type": "LlmError",
                    "message": "m",
                    "code": "C",
                    "cause": {"type": "Error", "message": "c", "code": None},
                    "failure": {"message": "m", "code": "C", "status": 500},
                },
            ),
            (
                {"$error": {"kind": "aggregate", "message": "m", "members": [{"$error": {"message": "n"}}, 1]}},
                {
                    "type": "AggregateError",
                    "message": "m",
                    "code": None,
                    "members": [{"type": "Error", "message": "n", "code": None}, {"value": 1}],
                },
            ),
            ({"kind": "no error"}, {"value": {"kind": "no error"}}),
        ],
        ids=["plain", "attributes", "coded", "model", "aggregate", "no error"],
    )
    def test_errors(self, dsh_node: SubprocessLink, thrown: Json, shown: object) -> None:
        """What is thrown has one form."""
        reply = dsh_node.call("run", {"task": "r", "do": [{"do": "throw", "error": thrown}]})
        assert reply.observed[-1] == {"on": "task", "task": "r", "error": shown}

    def test_identity(self, dsh_node: SubprocessLink) -> None:
        """An agent is shown by its name as long as the name is its own, and as another one afterwards."""
        with_agent(dsh_node)
        dsh_node.call("agent.create", {"task": "t", "agent": "b", "handle": "first"})
        assert dsh_node.call("registry.list").result == ["a", "first"]
        dsh_node.call("agent.create", {"task": "t", "agent": "c", "handle": "first"})
        assert dsh_node.call("registry.list").result == ["a", {"other": "b"}, "first"]
        assert dsh_node.call("registry.get", {"id": "nobody"}).result is None

    def test_kept_value(self, dsh_node: SubprocessLink) -> None:
        """A kept value is the object itself: changing what was handed in does not change what is logged."""
        with_agent(dsh_node)
        dsh_node.call("value.keep", {"as": "mine", "value": message("A")})
        dsh_node.call("agent.inject", {"agent": "a", "message": {"$kept": "mine"}})
        dsh_node.call("value.set", {"of": "mine", "path": "content.0.text", "value": "changed"})
        assert dsh_node.call("value.get", {"of": "mine", "path": "content.0.text"}).result == "changed"
        inspected: Any = dsh_node.call("agent.inspect", {"agent": "a", "keep": "seen"}).result
        assert inspected["nextStep"] == [message("A")]
        dsh_node.call("value.remove", {"of": "seen", "path": "options"})
        assert "options" not in str(dsh_node.call("value.get", {"of": "seen"}).result)

    def test_outcomes_are_shown_once(self, dsh_node: SubprocessLink) -> None:
        """A burst and a run answer the outcomes of their commands as these were shown, notation included."""
        do: list[Command] = [
            {"op": "value.keep", "args": {"as": "v", "value": [{"$value": "NaN"}, {"$raw": {"$up": 1}}]}},
            {"op": "value.get", "args": {"of": "v"}},
        ]
        shown = [{"result": None}, {"result": [{"$value": "NaN"}, {"$raw": {"$up": 1}}]}]
        assert dsh_node.call("burst", {"do": do}).result == shown
        assert dsh_node.call("run", {"task": "t", "do": do}).observed[-1]["value"] == shown


class TestFunctions:
    def test_places(self, dsh_node: SubprocessLink) -> None:
        """Each command of a script, a burst in it and a later tick has its own place."""
        with_agent(dsh_node)
        later: Command = {"do": "defer", "ticks": 1, "commands": [INSPECT]}
        listens(
            dsh_node, "agent/inbox/inserted", do=[INSPECT, {"op": "burst", "args": {"do": [INSPECT, INSPECT]}}, later]
        )
        rows = told(dsh_node.call("agent.inject", {"agent": "a", "message": message("A")}))
        assert rows == [
            "log agent/inbox/spliced",
            "live agent/inbox/inserted",
            "script agent/inbox/inserted",
            "return agent.inspect at 0",
            "return agent.inspect at 1.0",
            "return agent.inspect at 1.1",
            "return burst at 1",
            "return agent.inject",
            "return agent.inspect at 2.0",
        ]

    def test_calls_and_conditions(self, dsh_node: SubprocessLink) -> None:
        """Calls that fit the conditions follow their scripts in turn, the last one for good; the others are silent."""
        with_agent(dsh_node)
        listens(dsh_node, "agent/inbox/inserted", when={"message.id": "A"}, calls=[None, [INSPECT]])
        seen = []
        for text in ("A", "B", "A", "A"):
            reply = dsh_node.call("agent.inject", {"agent": "a", "message": message(text)})
            seen.append([(row["on"], row.get("n")) for row in reply.observed if row.get("part")])
            dsh_node.call("inbox.clear", {"agent": "a"})
        assert seen == [[("script", 1)], [], [("script", 2), ("return", 2)], [("script", 3), ("return", 3)]]

    def test_refused_assignment(self, dsh_node: SubprocessLink) -> None:
        """An assignment that the implementation refuses is a row, and the script goes on."""
        with_agent(dsh_node)
        listens(dsh_node, "agent/inbox/inserted", do=[{"do": "set", "path": "message.id", "value": "B"}, INSPECT])
        rows = told(dsh_node.call("agent.inject", {"agent": "a", "message": message("A")}))
        assert rows[-3:] == ["return set at 0 failed", "return agent.inspect at 1", "return agent.inject"]

    def test_script_goes_on_after_errors(self, dsh_node: SubprocessLink) -> None:
        """A command that fails is recorded; only with `raise` it ends the script."""
        with_agent(dsh_node)
        busy: Command = {
            "op": "agent.send",
            "args": {"agent": "a", "message": message("A"), "target": "none", "wakeup": True},
        }
        reply = dsh_node.call("run", {"task": "r", "do": [busy, INSPECT, {**busy, "raise": True}, INSPECT]})
        assert told(reply) == [
            "script run",
            "return agent.send at 0 failed",
            "return agent.inspect at 1",
            "return agent.send at 2 failed",
            "return run",
            "task r failed",
        ]

    def test_awaited_commands(self, dsh_node: SubprocessLink) -> None:
        """An awaited command returns when it has settled, or at once where a task tells of its end."""
        with_agent(dsh_node)
        idle: Command = {"op": "agent.whenIdle", "args": {"agent": "a"}, "await": True}
        named: Command = {**idle, "args": {"agent": "a", "task": "idle"}}
        reply = dsh_node.call("run", {"task": "r", "do": [idle, {"do": "pause", "ticks": 2}, named]})
        assert told(reply) == [
            "script run",
            "return run",
            "return agent.whenIdle at 0",
            "return agent.whenIdle at 2",
            "task idle",
            "task r",
        ]

    def test_setup_and_commit(self, dsh_node: SubprocessLink) -> None:
        """Inside a setup the agent is known by its name; its commit runs before the announcements."""
        commit: Command = {"commit": {"$fn": "commit", "do": [{"op": "registry.list"}]}}
        own: Command = {
            "op": "listen",
            "args": {"as": "l", "event": "agent/created", "fn": {"$fn": "l"}, "in": {"agent": "x"}},
        }
        setup: Command = {"$fn": "setup", "do": [own, {"do": "gate"}]}
        opened = dsh_node.call("agent.create", {"task": "t", "agent": "b", "handle": "x", "setup": setup})
        assert told(opened) == ["script setup", "return listen at 0", "gate setup", "return agent.create"]
        assert told(dsh_node.call("gate.resolve", {"gate": opened.open[0], "value": commit})) == [
            "script commit",
            "return registry.list at 0",
            "live session/created",
            "live agent/created",
            "script agent/created",
            "live agent/session-start",
            "task t",
        ]


class TestGates:
    def test_next_and_resolve(self, dsh_node: SubprocessLink) -> None:
        """A gated waterfall can be asked for what comes next, and answer with that very value."""
        with_agent(dsh_node)
        listens(dsh_node, "agent/pre-step", do="gate")
        gate = dsh_node.call("agent.followup", followup("A")).open[0]
        asked = dsh_node.call("gate.next", {"gate": gate})
        assert asked.observed[0]["value"] == {"kind": "enter", "messages": [message("A")]}
        assert asked.open == [gate]
        assert told(dsh_node.call("gate.resolve", {"gate": gate, "value": {"$next": 0}}))[0] == "log step/start"

    def test_do_runs_inside(self, dsh_node: SubprocessLink) -> None:
        """Actions inside a gate have its place, and the gate goes on waiting."""
        with_agent(dsh_node)
        listens(dsh_node, "agent/turn-stopping", do="gate")
        gate = dsh_node.call("agent.followup", followup("A")).open[0]
        steer: Command = {"op": "agent.steer", "args": {"agent": "a", "message": message("S")}}
        inside = dsh_node.call("gate.do", {"gate": gate, "do": [steer, INSPECT]})
        assert told(inside)[-2:] == ["return agent.steer at do.0", "return agent.inspect at do.1"]
        assert inside.open == [gate]

    def test_do_in_a_stream(self, dsh_node: SubprocessLink) -> None:
        """Actions run inside a stream that waits, too: its signal can be read after it has fired."""
        with_agent(dsh_node, {"$fn": "model", "do": "gate"})
        gate = dsh_node.call("agent.followup", followup("A")).open[0]
        dsh_node.call("agent.cancel", {"agent": "a", "cause": {"kind": "user"}})
        read: Command = {"op": "signal.read", "args": {"signal": {"$arg": "signal"}}}
        (outcome,) = ask(dsh_node, "gate.do", {"gate": gate, "do": [read]}).result
        assert outcome == {"result": {"aborted": True, "reason": {"kind": "user"}}}

    def test_manual_gate_outlives_its_signal(self, dsh_node: SubprocessLink) -> None:
        """A manual gate tells of the abort, runs what it has for it inside, and waits on."""
        with_agent(dsh_node)
        listens(dsh_node, "agent/pre-step", do="gate", onAbort=[INSPECT])
        gate = dsh_node.call("agent.followup", followup("A")).open[0]
        cancelled = dsh_node.call("agent.cancel", {"agent": "a", "cause": {"kind": "user"}})
        assert told(cancelled) == [f"abort {gate}", "return agent.inspect at abort.0", "return agent.cancel"]
        assert cancelled.open == [gate]
        assert "log turn/end" in told(dsh_node.call("gate.resolve", {"gate": gate, "value": {"kind": "reject"}}))

    def test_automatic_gate_ends_with_its_signal(self, dsh_node: SubprocessLink) -> None:
        """An automatic gate fails with the reason, in the reply to what fired the signal."""
        with_agent(dsh_node)
        listens(dsh_node, "agent/pre-step", do="gate", abort="auto")
        gate = dsh_node.call("agent.followup", followup("A")).open[0]
        cancelled = dsh_node.call("agent.cancel", {"agent": "a", "cause": {"kind": "user"}})
        assert told(cancelled)[:4] == [f"abort {gate}", f"closed {gate}", "return agent.cancel", "log turn/end"]
        assert cancelled.open == []

    def test_gate_on_a_fired_signal(self, dsh_node: SubprocessLink) -> None:
        """A gate that opens on a fired signal shows it, and ends at once if it is automatic."""
        with_agent(dsh_node)
        cancel: Command = {"op": "agent.cancel", "args": {"agent": "a", "cause": {"kind": "user"}}}
        job: Command = {"$fn": "job", "do": [cancel, {"do": "gate"}], "abort": "auto"}
        reply = dsh_node.call("agent.maintain", {"task": "t", "agent": "a", "fn": job})
        assert told(reply) == [
            "script maintenance",
            "abort job",
            "return agent.cancel at 0",
            "gate maintenance",
            "closed g1",
            "return agent.maintain",
            "task t failed",
        ]
        opened: Any = reply.observed[3]
        assert opened["payload"]["signal"] == {"signal": None, "aborted": True, "reason": {"kind": "user"}}

    def test_closing_abandons_gates(self, dsh_node: SubprocessLink) -> None:
        """A closed world leaves nothing behind: no gate, no row, and its names mean nothing in the next one."""
        with_agent(dsh_node)
        listens(dsh_node, "agent/pre-step", do="gate")
        dsh_node.call("agent.followup", followup("A"))
        closed = dsh_node.call("world.close")
        assert (told(closed), closed.open) == ([], [])
        assert dsh_node.call("world.open").open == []
        assert dsh_node.call("registry.list").result == []


class TestStreams:
    def test_pulls(self, dsh_node: SubprocessLink) -> None:
        """Each pull of an open stream is counted; what the suite says before it is held."""
        with_agent(dsh_node, {"$fn": "model", "do": "gate"})
        opened = dsh_node.call("agent.followup", followup("A"))
        gate = opened.open[0]
        assert told(opened)[-2:] == ["gate model/stream", f"pull {gate}"]
        items: list[Command] = [{"op": "stream.chunk", "args": {"gate": gate, "chunk": chunk}} for chunk in TEXT]
        end: Command = {"op": "stream.end", "args": {"gate": gate}}
        reply = dsh_node.call("burst", {"do": [*items, end]})
        rows = told(reply)
        assert rows.count("log assistant/chunk") == len(TEXT)
        assert [row for row in rows if row.startswith("pull")] == []
        assert rows[-1] == "live agent/status"
        assert reply.open == []

    def test_script_and_gate(self, dsh_node: SubprocessLink) -> None:
        """A stream follows its script item by item and then the suite."""
        with_agent(dsh_node, {"$fn": "model", "do": [{"do": "chunk", "chunk": TEXT[0]}, {"do": "gate"}]})
        opened = dsh_node.call("agent.followup", followup("A"))
        assert told(opened)[-4:] == ["script model/stream", "log assistant/chunk", "gate model/stream", "pull g1"]
        failed = dsh_node.call("stream.fail", {"gate": "g1", "error": {"$error": {"message": "gone"}}})
        assert told(failed)[0] == "log assistant/chunk"
        assert "live agent/error" in told(failed)

    def test_left(self, dsh_node: SubprocessLink) -> None:
        """A consumer that leaves an open stream ends its gate, and is told to the one that made it."""
        stream: Command = {"$fn": "model", "do": "gate"}
        close: Command = {"$fn": "close"}
        dsh_node.call("model.register", {"as": "m", "routes": ["mock"], "stream": stream, "close": close})
        dsh_node.call("agent.create", {"task": "t", "agent": "a", "options": {"provider": "mock", "model": "m1"}})
        gate = dsh_node.call("agent.followup", followup("A")).open[0]
        cancel: Command = {"op": "agent.cancel", "args": {"agent": "a", "cause": {"kind": "user"}}}
        chunk: Command = {"op": "stream.chunk", "args": {"gate": gate, "chunk": TEXT[0]}}
        rows = told(dsh_node.call("burst", {"do": [cancel, chunk]}))
        assert f"closed {gate}" in rows
        assert rows[rows.index(f"closed {gate}") + 1] == "script model/close"


def test_diagnostics(dsh_node: SubprocessLink) -> None:
    """What the implementation writes to its log is told at its place."""
    with_agent(dsh_node)
    listens(dsh_node, "agent/status", calls=[[{"do": "throw", "error": {"$error": {"message": "no"}}}], None])
    rows = dsh_node.call("agent.followup", followup("A")).observed
    (report,) = (row for row in rows if row["on"] == "report")
    assert report["level"] == "warning"
    assert report["text"] == 'agent event "agent/status" listener threw: Error: no'
