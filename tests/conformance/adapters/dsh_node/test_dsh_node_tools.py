"""Tools over the adapter of the published packages: their functions, their executions, and who sees them."""

from typing import Any

import pytest
from tests.conformance.adapters.dsh_node.talk import Command, ask, listens, message, told, with_agent

from dshconform.links.subprocess import SubprocessLink
from dshconform.protocol.json_value import Json

pytestmark = pytest.mark.node

ROUTE: Command = {"provider": "mock", "model": "m1"}
OUT = [{"type": "text", "text": "out"}]


def definition(name: str, *script: Json, **members: Any) -> Command:
    """A raw definition whose functions are named after the tool; its body follows the script."""
    render: Command = {"$fn": f"{name}.render", "do": [{"do": "return", "value": OUT}]}
    return {
        "name": name,
        "description": name,
        "parameters": {"type": "object"},
        "execute": {"$fn": name, "do": list(script)},
        **members,
        "output": {"schema": {}, "render": render, **members.get("output", {})},
    }


def register(link: SubprocessLink, name: str, *script: Json, **members: Any) -> None:
    """Register such a tool under its own name."""
    ask(link, "tool.register", {"as": name, "definition": definition(name, *script, **members)})


def call(name: str, **members: Json) -> Command:
    """A call of a tool."""
    return {"callId": "c", "name": name, "arguments": {"x": 1}, **members}


def execute(link: SubprocessLink, name: str, **members: Json) -> Any:
    """What a call that nothing holds up comes to."""
    reply = ask(link, "tool.execute", {"task": "t", "call": call(name, **members)})
    return next(row for row in reply.observed if row["on"] == "task")["value"]


def payloads(reply: Any, kind: str) -> list[Any]:
    """The fields of all calls of a kind."""
    return [row["payload"] for row in reply.observed if row["on"] in {"gate", "script"} and row["kind"] == kind]


class TestDefinitions:
    def test_functions_of_a_definition(self, dsh_node: SubprocessLink) -> None:
        """Each function of a definition is called as what it is, with its fields; scripted answers reach the result."""
        meta: Command = {"$fn": "meta", "do": [{"do": "return", "value": {"seen": True}}]}
        final: Command = {"$fn": "final", "do": [{"do": "return", "value": [*OUT, *OUT]}]}
        value: Command = {"do": "return", "value": {"v": 1}}
        register(dsh_node, "full", value, output={"presentationMeta": meta}, finalizeContent=final)
        reply = ask(dsh_node, "tool.execute", {"task": "t", "call": call("full")})
        assert told(reply) == [
            "return tool.execute",
            "script tool/execute",
            "script tool/render",
            "script tool/meta",
            "script tool/finalize",
            "live tools/result",
            "task t",
        ]
        execution = {"callId": "c", "name": "full", "arguments": {"x": 1}, "rootCallId": "c", "token": "t1"}
        signal = {"signal": None, "aborted": False}
        assert payloads(reply, "tool/execute") == [{**execution, "signal": signal}]
        assert payloads(reply, "tool/render") == [{"arguments": {"x": 1}, "value": {"v": 1}}]
        assert payloads(reply, "tool/meta") == payloads(reply, "tool/render")
        before = {"isError": False, "value": {"v": 1}, "content": OUT, "meta": {"seen": True}}
        assert payloads(reply, "tool/finalize") == [{**execution, "signal": signal, "result": before}]
        final_result = {**before, "content": [*OUT, *OUT]}
        assert reply.observed[-2]["payload"] == {**execution, "signal": signal, "result": final_result}
        assert reply.observed[-1] == {"on": "task", "task": "t", "value": final_result}

    def test_passing(self, dsh_node: SubprocessLink) -> None:
        """Functions without a script pass: the value is null, the content empty, the call exclusive."""
        functions = {name: {"$fn": name} for name in ("execute", "isConcurrencySafe", "finalizeContent")}
        output = {"schema": {}, "render": {"$fn": "render"}, "presentationMeta": {"$fn": "meta"}}
        plain: Command = {"name": "plain", "description": "", "parameters": {}, "output": output, **functions}
        ask(dsh_node, "tool.register", {"as": "plain", "definition": plain})
        assert execute(dsh_node, "plain") == {"isError": False, "value": None, "content": [], "meta": None}
        assert ask(dsh_node, "tool.mode", {"call": call("plain")}).result == {"kind": "exclusive"}

    def test_typed(self, dsh_node: SubprocessLink) -> None:
        """A typed definition goes through `defineTool`: its parameters are compiled, its arguments checked."""
        parameters = {"p": {"type": "string", "required": True}}
        output: Command = {"schema": {"type": "null"}}
        typed = definition("typed", {"do": "return"}, parameters=parameters, output=output)
        ask(dsh_node, "tool.register", {"as": "typed", "typed": True, "definition": typed})
        schemas = ask(dsh_node, "tool.schemas").result
        assert schemas[0]["parameters"]["required"] == ["p"]
        assert execute(dsh_node, "typed")["error"]["info"]["code"] == "INVALID_ARGS"

    def test_what_is_no_definition(self, dsh_node: SubprocessLink) -> None:
        """A raw value that is no definition is passed on, and what the implementation says of it is its error."""
        bad = definition("bad", output={"render": None})
        refusals = [
            ask(dsh_node, "tool.register", {"as": "bad", "definition": value}).error for value in (bad, None, 7, "tool")
        ]
        assert refusals[0]["message"] == 'tool "bad" must declare output { schema, render, presentationMeta? }'
        assert {refusal["type"] for refusal in refusals[1:]} <= {"Error", "TypeError"}

    def test_get_tells_which_one(self, dsh_node: SubprocessLink) -> None:
        """A definition is shown by the name of its registration, or by its own where that name has moved on."""
        ask(dsh_node, "tool.register", {"as": "mine", "definition": definition("tool")})
        assert ask(dsh_node, "tool.get", {"name": "tool"}).result == "mine"
        assert ask(dsh_node, "tool.get", {"name": "mine"}).result is None
        ask(dsh_node, "tool.register", {"as": "mine", "definition": definition("other")})
        assert ask(dsh_node, "tool.get", {"name": "tool"}).result == {"other": "tool"}
        ask(dsh_node, "undo", {"of": "mine"})
        assert ask(dsh_node, "tool.get", {"name": "other"}).result is None

    def test_mode(self, dsh_node: SubprocessLink) -> None:
        """A classifier is asked for the mode, with the arguments of the call."""
        safe: Command = {"$fn": "safe", "when": {"arguments.x": 1}, "do": [{"do": "return", "value": True}]}
        register(dsh_node, "tool", isConcurrencySafe=safe)
        assert ask(dsh_node, "tool.mode", {"call": call("tool")}).result == {"kind": "parallel"}
        other = {"callId": "c", "name": "tool", "arguments": {"x": 2}}
        assert ask(dsh_node, "tool.mode", {"call": other}).result == {"kind": "exclusive"}


class TestBodies:
    def test_contexts_and_conclusion(self, dsh_node: SubprocessLink) -> None:
        """A body defers contexts and concludes the turn, also before it waits."""
        context: Command = {"do": "context", "message": message("C")}
        register(dsh_node, "tool", context, {"do": "conclude"}, {"do": "gate"})
        opened = ask(dsh_node, "tool.execute", {"task": "t", "call": call("tool")})
        (result,) = ask(dsh_node, "gate.resolve", {"gate": opened.open[0], "value": 1}).observed[-1:]
        assert result["value"] == {
            "isError": False,
            "value": 1,
            "content": OUT,
            "additionalContexts": [message("C")],
            "concludesTurn": True,
        }

    def test_failures(self, dsh_node: SubprocessLink) -> None:
        """What a body throws, and what it rejects, fails the call."""
        error = {"$error": {"kind": "coded", "message": "no", "code": "NO"}}
        register(dsh_node, "throws", {"do": "throw", "error": error})
        register(dsh_node, "rejects", {"do": "reject", "error": error})
        failures = [execute(dsh_node, name)["error"] for name in ("throws", "rejects")]
        assert failures == [{"message": "no", "info": {"name": "HarnessError", "code": "NO"}}] * 2

    @pytest.mark.parametrize("abort", ["manual", "auto"])
    def test_signal_of_a_call(self, dsh_node: SubprocessLink, abort: str) -> None:
        """A call has the signal that it is given; a body that waits learns of it, and fails by itself if it is auto."""
        body = {"$fn": "body", "do": "gate", "abort": abort}
        register(dsh_node, "tool", execute=body)
        ask(dsh_node, "signal.new", {"signal": "s"})
        held: Command = {"task": "t", "call": call("tool", signal={"$signal": "s"})}
        opened = ask(dsh_node, "tool.execute", held)
        assert payloads(opened, "tool/execute")[0]["signal"] == {"signal": "s", "aborted": False}
        aborted = ask(dsh_node, "signal.abort", {"signal": "s", "reason": "why"})
        assert aborted.observed[0] == {"on": "abort", "part": "body", "n": 1, "gate": "g1", "reason": "why"}
        assert aborted.open == ([] if abort == "auto" else ["g1"])
        done = aborted if abort == "auto" else ask(dsh_node, "gate.resolve", {"gate": "g1"})
        assert done.observed[-1]["value"]["isError"] is True


class TestExecutions:
    def test_tokens(self, dsh_node: SubprocessLink) -> None:
        """Tokens are named in order of appearance, and a call can be made the child of another."""
        nested = call("inner", callId="n", parent={"$arg": "token"}, rootCallId={"$arg": "rootCallId"})
        register(dsh_node, "inner", output={"presentationMeta": {"$fn": "meta"}})
        register(dsh_node, "outer", {"op": "tool.execute", "args": {"call": nested}, "await": True})
        reply = ask(dsh_node, "tool.execute", {"task": "t", "call": call("outer")})
        outer, inner = payloads(reply, "tool/execute")
        assert (outer["token"], "parent" in outer) == ("t1", False)
        assert (inner["callId"], inner["rootCallId"], inner["token"], inner["parent"]) == ("n", "c", "t2", "t1")
        assert payloads(reply, "tool/meta") == []
        again = ask(dsh_node, "tool.execute", {"task": "t", "call": call("inner", parent={"$token": "t1"})})
        assert payloads(again, "tool/execute")[0]["parent"] == "t1"

    def test_stages(self, dsh_node: SubprocessLink) -> None:
        """The stages of the pipeline are heard with the execution, and with the result where there is one."""
        register(dsh_node, "tool")
        stages = ("tools/pre-execute", "tools/execute", "tools/post-execute", "tools/result")
        for stage in stages:
            listens(dsh_node, stage)
        reply = ask(dsh_node, "tool.execute", {"task": "t", "call": call("tool")})
        for stage in stages:
            (fields,) = payloads(reply, stage)
            assert fields["callId"] == "c"
            assert ("result" in fields) is (stage in {"tools/post-execute", "tools/result"})

    def test_wrapper_replaces_the_signal(self, dsh_node: SubprocessLink) -> None:
        """A field of an execution is assigned in place: the body hears the wrapper's signal."""
        register(dsh_node, "tool", {"do": "gate"})
        ask(dsh_node, "signal.new", {"signal": "own"})
        replace: Command = {"do": "set", "path": "signal", "value": {"$signal": "own"}}
        listens(dsh_node, "tools/execute", do=[replace, {"do": "next"}])
        ask(dsh_node, "tool.execute", {"task": "t", "call": call("tool")})
        rows = ask(dsh_node, "signal.abort", {"signal": "own", "reason": "why"}).observed
        assert [(row["part"], row["reason"]) for row in rows if row["on"] == "abort"] == [("tool", "why")]

    def test_a_finished_execution_refuses(self, dsh_node: SubprocessLink) -> None:
        """Assigning to an execution that is over is refused, which is a row."""
        register(dsh_node, "tool")
        listens(dsh_node, "tools/result", do=[{"do": "set", "path": "name", "value": "other"}])
        rows = told(ask(dsh_node, "tool.execute", {"task": "t", "call": call("tool")}))
        assert rows[-2:] == ["return set at 0 failed", "task t"]


class TestScopes:
    def test_scoped_tool(self, dsh_node: SubprocessLink) -> None:
        """A tool of an agent is seen in its scope; the rows of its executions name the agent."""
        with_agent(dsh_node)
        ask(dsh_node, "tool.register", {"as": "mine", "definition": definition("tool"), "in": {"agent": "a"}})
        for scope, seen in (({"scope": {"agent": "a"}}, 1), ({}, 0), ({"scope": "root"}, 0)):
            schemas = ask(dsh_node, "tool.schemas", scope).result
            assert len(schemas) == seen
            assert ask(dsh_node, "tool.get", {"name": "tool", **scope}).result == ("mine" if seen else None)
            reply = ask(dsh_node, "tool.execute", {"task": "t", "call": call("tool"), **scope})
            about = [row.get("agent") for row in reply.observed if row["on"] == "live"]
            assert (reply.observed[-1]["value"]["isError"], about) == (not seen, ["a"] if seen else [None])

    def test_agent_of_the_call(self, dsh_node: SubprocessLink) -> None:
        """Inside a function, the agent that the call is about can be used as if by name: also in scopes."""
        with_agent(dsh_node)
        ask(dsh_node, "agent.create", {"task": "t", "agent": "b", "handle": "second"})
        agent: Command = {"agent": {"$arg": "agent"}}
        steer: Command = {"op": "agent.steer", "args": {**agent, "message": message("S")}}
        inspect: Command = {"op": "agent.inspect", "args": agent}
        own: Command = {"op": "tool.register", "args": {"as": "own", "definition": definition("own"), "in": agent}}
        listed: Command = {"op": "tool.schemas", "args": {"scope": agent}}
        dispose: Command = {"op": "agent.dispose", "args": {**agent, "task": "end"}}
        register(dsh_node, "tool", steer, inspect, own, listed, dispose)
        reply = ask(dsh_node, "tool.execute", {"task": "t", "call": call("tool"), "scope": {"agent": "second"}})
        results = {row["op"]: row.get("result") for row in reply.observed if row.get("part") == "tool" and "op" in row}
        assert results["agent.inspect"]["id"] == "b"
        assert [schema["name"] for schema in results["tool.schemas"]] == ["tool", "own"]
        assert "task end" in told(reply)
        assert ask(dsh_node, "registry.list").result == ["a"]

    def test_agent_and_session_of_other_calls(self, dsh_node: SubprocessLink) -> None:
        """The same in listeners, and where the implementation gives an id only, which may be another's name."""
        with_agent(dsh_node)
        ask(dsh_node, "agent.create", {"task": "t", "agent": "b", "handle": "named", "options": ROUTE})
        ask(dsh_node, "agent.create", {"task": "t", "agent": "c", "handle": "b"})
        inspect: Command = {"op": "agent.inspect", "args": {"agent": {"$arg": "agent"}}}
        read: Command = {"op": "session.read", "args": {"session": {"$arg": "session"}, "what": ["seq"]}}
        listens(dsh_node, "agent/status", when={"status": "running"}, do=[inspect])
        listens(dsh_node, "llm/stream", do=[inspect])
        listens(dsh_node, "session/event", when={"event.type": "turn/start"}, do=[read])
        rows = ask(dsh_node, "agent.followup", {"agent": "named", "message": message("A")}).observed
        results = {row["part"]: row["result"] for row in rows if row["on"] == "return" and "part" in row}
        assert (results["agent/status"]["id"], results["llm/stream"]["id"]) == ("b", "b")
        assert results["session/event"] == {"seq": 2}
        model = next(row for row in rows if row.get("kind") == "model/stream")
        assert model["agent"] == "named"
