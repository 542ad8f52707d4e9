"""Tools over the wire: definitions, their functions, calls, decisions, tokens."""

from typing import Any

import pytest
from tests.conformance.adapters.reference.suite import FINISH, Suite, message

TEXT = [{"type": "text", "text": "shown"}]


def returning(value: Any) -> list[dict[str, Any]]:
    return [{"do": "return", "value": value}]


def definition(name: str = "t", do: Any = None, **members: Any) -> dict[str, Any]:
    """A raw definition whose functions are the suite's."""
    script = {} if do is None else {"do": do}
    return {
        "name": name,
        "description": "d",
        "parameters": {"type": "object"},
        "output": {"schema": {}, "render": {"$fn": f"render {name}", "do": returning(TEXT)}},
        "execute": {"$fn": name, **script},
        **members,
    }


def register(suite: Suite, name: str = "t", do: Any = None, *, in_: Any = "root", **members: Any) -> Any:
    return suite.call("tool.register", {"as": name, "definition": definition(name, do, **members), "in": in_})


def call(name: str = "t", arguments: Any = None, **members: Any) -> dict[str, Any]:
    return {"callId": "k", "name": name, "arguments": {} if arguments is None else arguments, **members}


def execute(suite: Suite, name: str = "t", **args: Any) -> Any:
    """Execute a call that comes to its end; its result."""
    (task,) = suite.rows("task", "tool.execute", {"task": "x", "call": call(name), **args})
    return task["value"]


def tool_calls(*wanted: str) -> list[dict[str, Any]]:
    """The chunks of an answer that asks for calls; each is `id:name`."""
    blocks = []
    for index, each in enumerate(wanted):
        call_id, name = each.split(":")
        block = {"type": "tool-call", "id": call_id, "name": name, "arguments": '{"x":1}'}
        blocks.append({"type": "block-end", "index": index, "block": block})
    return [*blocks, FINISH]


def open_with(suite: Suite, *wanted: str) -> None:
    """A world in which the model asks for calls once, and then is done."""
    scripts = [[{"do": "chunks", "list": tool_calls(*wanted)}], [{"do": "chunks", "list": [FINISH]}]]
    suite.open({"$fn": "model", "calls": scripts})


def part(reply: Any, kind: str) -> Any:
    """The one row of a call of a kind."""
    (row,) = [row for row in reply.observed if row["on"] in ("script", "gate") and row["kind"] == kind]
    return row


# --- registering and asking ------------------------------------------------------------------------------------------


def test_a_registration_is_found_by_its_name(suite: Suite) -> None:
    """`tool.get` shows a definition by the name of its registration, another one by the tool's."""
    suite.open()
    assert suite.told("tool.register", {"as": "mine", "definition": definition()}) == [
        "live tools/change",
        "return tool.register",
    ]
    assert suite.call("tool.get", {"name": "t"}).result == "mine"
    assert suite.call("tool.get", {"name": "ghost"}).result is None
    schema = {"name": "t", "description": "d", "parameters": {"type": "object"}}
    assert suite.call("tool.schemas").result == [schema]
    register(suite, "mine")
    assert suite.call("tool.get", {"name": "t"}).result == {"other": "t"}
    suite.call("undo", {"of": "mine"})
    assert suite.call("tool.schemas").result == [schema]


def test_a_refused_registration_is_an_error(suite: Suite) -> None:
    """Definitions are passed on unchecked: what is wrong is the implementation's affair."""
    suite.open()
    register(suite)
    again = suite.call("tool.register", {"as": "again", "definition": definition()})
    assert 'tool "t" is already registered' in again.error["message"]
    bare = suite.call("tool.register", {"as": "bare", "definition": {"name": "bare"}})
    assert bare.error["message"] == 'tool "bare" must declare output { schema, render, presentationMeta? }'
    assert suite.call("tool.get", {"name": "t"}).result == "t"


def test_scopes_are_those_of_agents(suite: Suite) -> None:
    """`in` says through which context, `scope` for whom; inside a function the agent of the call is one, too."""
    suite.open(agents=("a", "b"))
    register(suite, in_={"agent": "a"})
    assert suite.call("tool.get", {"name": "t", "scope": {"agent": "a"}}).result == "t"
    assert suite.call("tool.get", {"name": "t", "scope": {"agent": "b"}}).result is None
    asked = {"op": "tool.schemas", "args": {"scope": {"agent": {"$arg": "agent"}}}}
    suite.listen("agent/inbox/inserted", [asked])
    reply = suite.call("agent.inject", {"agent": "a", "message": message("I")})
    (row,) = [row for row in reply.observed if row["on"] == "return" and row["op"] == "tool.schemas"]
    assert [schema["name"] for schema in row["result"]] == ["t"]
    assert "there is no scope" in suite.fault("tool.schemas", {"scope": 5})


@pytest.mark.parametrize(("answer", "mode"), [(True, "parallel"), (1, "exclusive")])
def test_a_mode_is_asked_of_the_classifier(suite: Suite, answer: Any, mode: str) -> None:
    """The classifier sees the arguments and no agent."""
    suite.open()
    register(suite, isConcurrencySafe={"$fn": "safe", "do": returning(answer)})
    reply = suite.call("tool.mode", {"call": call(arguments={"x": 1})})
    assert reply.result == {"kind": mode}
    row = part(reply, "tool/safe")
    assert (row["payload"], "agent" in row) == ({"arguments": {"x": 1}}, False)


# --- calls -----------------------------------------------------------------------------------------------------------


def test_a_call_passes_the_functions_of_its_tool(suite: Suite) -> None:
    """Body, renderer, projector and finalizer with the fields of their kinds; the task has the result."""
    suite.open()
    output = {
        "schema": {},
        "render": {"$fn": "render", "do": returning(TEXT)},
        "presentationMeta": {"$fn": "meta", "do": returning({"n": 1})},
    }
    register(suite, do=returning("v"), output=output, finalizeContent={"$fn": "final"})
    reply = suite.call("tool.execute", {"task": "x", "call": call(arguments=[1]), "scope": {"agent": "a"}})
    execution = {
        "callId": "k",
        "name": "t",
        "arguments": [1],
        "rootCallId": "k",
        "token": "t1",
        "signal": {"signal": None, "aborted": False},
    }
    result = {"isError": False, "value": "v", "content": TEXT, "meta": {"n": 1}}
    body, final = part(reply, "tool/execute"), part(reply, "tool/finalize")
    assert (body["payload"], body["agent"]) == (execution, "a")
    assert part(reply, "tool/render")["payload"] == {"arguments": [1], "value": "v"}
    assert part(reply, "tool/meta")["payload"] == {"arguments": [1], "value": "v"}
    assert (final["payload"], final["agent"]) == ({**execution, "result": result}, "a")
    (told,) = [row for row in reply.observed if row["on"] == "live"]
    assert (told["name"], told["payload"]["result"], told["agent"]) == ("tools/result", result, "a")
    (task,) = [row for row in reply.observed if row["on"] == "task"]
    assert task["value"] == result


def test_functions_without_a_script_pass(suite: Suite) -> None:
    """A body answers null, a renderer an empty list, a projector null, a finalizer nothing."""
    suite.open()
    output = {"schema": {}, "render": {"$fn": "render"}, "presentationMeta": {"$fn": "meta"}}
    register(suite, output=output, finalizeContent={"$fn": "final"})
    assert execute(suite) == {"isError": False, "value": None, "content": [], "meta": None}


def test_a_failure_shows_its_identity(suite: Suite) -> None:
    """A coded error has the name that the suite gave it; a plain one has none."""
    suite.open()
    coded = {"$error": {"kind": "coded", "name": "QuotaError", "message": "no", "code": "QUOTA"}}
    register(suite, "coded", [{"do": "throw", "error": coded}])
    register(suite, "plain", [{"do": "throw", "error": {"$error": {"message": "no", "code": "X"}}}])
    content = [{"type": "text", "text": "Error: no"}]
    info = {"name": "QuotaError", "code": "QUOTA"}
    assert execute(suite, "coded") == {"isError": True, "error": {"message": "no", "info": info}, "content": content}
    assert execute(suite, "plain") == {"isError": True, "error": {"message": "no"}, "content": content}


def test_a_body_may_defer_contexts_and_conclude(suite: Suite) -> None:
    """The actions of bodies, also before a gate; elsewhere they are a fault."""
    suite.open()
    defer = {"do": "context", "message": message("ctx")}
    register(suite, do=[defer, {"do": "conclude"}, {"do": "gate"}])
    suite.call("tool.execute", {"task": "x", "call": call()})
    (task,) = suite.rows("task", "gate.resolve", {"gate": suite.gate("tool/execute"), "value": 1})
    assert task["value"]["additionalContexts"] == [message("ctx")]
    assert task["value"]["concludesTurn"] is True
    suite.listen("agent/inbox/inserted", [{"do": "conclude"}])
    fault = suite.fault("agent.inject", {"agent": "a", "message": message("I")})
    assert "the action 'conclude' makes no sense for this kind" in fault


def test_a_call_has_the_signal_and_the_parent_that_it_is_given(suite: Suite) -> None:
    """Tokens are named in order of appearance, and can be handed on."""
    suite.open()
    nested = {"op": "tool.execute", "await": True, "args": {"call": call("inner", parent={"$arg": "token"})}}
    register(suite, "inner")
    register(suite, "outer", [nested])
    suite.call("signal.new", {"signal": "s"})
    given = call("outer", rootCallId="root", signal={"$signal": "s"})
    reply = suite.call("tool.execute", {"task": "x", "call": given})
    outer, inner = [row["payload"] for row in reply.observed if row["on"] == "script" and row["kind"] == "tool/execute"]
    assert (outer["token"], outer["rootCallId"], outer["signal"]["signal"]) == ("t1", "root", "s")
    assert (inner["token"], inner["parent"], inner["rootCallId"]) == ("t2", "t1", "k")
    assert "parent" not in outer
    again = suite.call("tool.execute", {"task": "y", "call": call("inner", parent={"$token": "t1"})})
    assert part(again, "tool/execute")["payload"]["parent"] == "t1"
    assert "names nothing" in suite.fault("tool.execute", {"task": "z", "call": call(parent={"$token": "t9"})})


def test_lossy_arguments_are_absent(suite: Suite) -> None:
    """What JSON cannot carry is refused by the implementation, and the execution has no arguments."""
    suite.open()
    register(suite)
    lossy = call(arguments={"a": {"$value": "-0"}})
    (told,) = suite.rows("live", "tool.execute", {"task": "x", "call": lossy})
    assert "arguments" not in told["payload"]
    assert told["payload"]["result"]["isError"] is True


def test_a_typed_definition_is_written_in_the_schema_language(suite: Suite) -> None:
    """What it comes to is listed, and arguments are validated before the suite's function is called."""
    suite.open()
    parameters = {"path": {"type": "string", "required": True}}
    typed = {"as": "t", "definition": definition(parameters=parameters, **_output()), "typed": True}
    assert suite.call("tool.register", typed).result is None
    (schema,) = suite.call("tool.schemas").result
    assert schema["parameters"] == {
        "type": "object",
        "properties": {"path": {"type": "string"}},
        "required": ["path"],
    }
    told = suite.told("tool.execute", {"task": "x", "call": call()})
    assert "script tool/execute" not in told
    wrong = {"as": "u", "definition": definition("u", parameters={"a": {"type": "weird"}}, **_output()), "typed": True}
    assert suite.call("tool.register", wrong).error["code"] == "UNSUPPORTED_SCHEMA"


def _output() -> dict[str, Any]:
    return {"output": {"schema": {"type": "json"}, "render": {"$fn": "render"}}}


# --- decisions -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("event", "answer", "wanted"),
    [
        ("tools/pre-execute", {"kind": "allow"}, {"isError": False, "value": "v", "content": TEXT}),
        (
            "tools/pre-execute",
            {"kind": "deny", "reason": "no"},
            {"isError": True, "error": {"message": "no"}, "content": [{"type": "text", "text": "Error: no"}]},
        ),
        (
            "tools/pre-execute",
            {"kind": "ask", "reason": "why"},
            {"isError": True, "error": {"message": "why"}, "content": [{"type": "text", "text": "Error: why"}]},
        ),
        (
            "tools/execute",
            {"isError": False, "value": "own", "additionalContexts": [message("w")]},
            {"isError": False, "value": "own", "content": TEXT, "additionalContexts": [message("w")]},
        ),
        (
            "tools/execute",
            {"isError": True, "error": {"message": "f", "info": {"name": "N", "code": "C"}}, "content": [], "meta": 1},
            {"isError": True, "error": {"message": "f", "info": {"name": "N", "code": "C"}}, "content": [], "meta": 1},
        ),
        ("tools/post-execute", {"kind": "accept"}, {"isError": False, "value": "v", "content": TEXT}),
        ("tools/post-execute", {"kind": "accept", "value": "n"}, {"isError": False, "value": "n", "content": TEXT}),
        ("tools/post-execute", {"kind": "accept", "content": []}, {"isError": False, "value": "v", "content": []}),
        (
            "tools/post-execute",
            {"kind": "block", "feedback": TEXT, "additionalContexts": [message("b")]},
            {
                "isError": True,
                "error": {"message": "shown"},
                "content": TEXT,
                "additionalContexts": [message("b")],
            },
        ),
    ],
)
def test_answers_are_decisions(suite: Suite, event: str, answer: Any, wanted: Any) -> None:
    """What the suite writes is read as the decision that it is, and shown again as it was written."""
    suite.open()
    register(suite, do=returning("v"))
    suite.listen(event, [{"do": "next"}], name="outer")
    suite.listen(event, returning(answer))
    reply = suite.call("tool.execute", {"task": "x", "call": call()})
    (task,) = [row for row in reply.observed if row["on"] == "task"]
    assert task["value"] == wanted
    (seen,) = [row["value"] for row in reply.observed if row["on"] == "next"]
    assert seen == {**({"content": []} if event == "tools/execute" else {}), **answer}


@pytest.mark.parametrize("event", ["tools/pre-execute", "tools/execute", "tools/post-execute"])
@pytest.mark.parametrize("answer", [5, {"kind": "other"}, {"kind": "deny"}])
def test_what_is_no_decision_is_passed_on(suite: Suite, event: str, answer: Any) -> None:
    """A wrong answer is a test: the implementation sees it as it is."""
    suite.open()
    register(suite)
    suite.listen(event, returning(answer))
    assert f"{event} was answered with" in execute(suite)["error"]["message"]


def test_a_wrapper_may_replace_the_signal(suite: Suite) -> None:
    """`set` assigns to the execution; everything else of it refuses."""
    suite.open()
    register(suite)
    suite.call("signal.new", {"signal": "s"})
    suite.call("signal.abort", {"signal": "s", "reason": "why"})
    replace = {"do": "set", "path": "signal", "value": {"$signal": "s"}}
    rename = {"do": "set", "path": "name", "value": "u"}
    suite.listen("tools/execute", [rename, replace, {"do": "next"}])
    reply = suite.call("tool.execute", {"task": "x", "call": call()})
    (refusal,) = [row for row in reply.observed if row["on"] == "return" and row["op"] == "set"]
    assert refusal["error"]["type"] == "FrozenExecution"
    (row,) = [row for row in reply.observed if row["on"] == "next"]
    assert row["value"]["error"]["info"]["code"] == "ABORTED_BEFORE_DISPATCH"


# --- in the loop -----------------------------------------------------------------------------------------------------


def test_the_loop_calls_tools(suite: Suite) -> None:
    """A turn with two calls, one of them gated: its rows, and the log."""
    open_with(suite, "c1:quick", "c2:slow")
    register(suite, "quick", returning(1))
    register(suite, "slow", "gate")
    told = suite.told("agent.followup", {"agent": "a", "message": message("A")})
    assert told[told.index("log assistant/message") + 1 :] == [
        "log tool/call",
        "script tool/execute",
        "script tool/render",
        "live tools/result",
        "log tool/result",
        "log tool/call",
        "gate tool/execute",
    ]
    told = suite.told("gate.resolve", {"gate": suite.gate("tool/execute"), "value": 2})
    assert told[:4] == ["script tool/render", "live tools/result", "log tool/result", "log step/end"]
    assert told[-2:] == ["log turn/end", "live agent/status"]


@pytest.mark.parametrize("abort", ["manual", "auto"])
def test_a_cancelled_body_ends_when_its_gate_does(suite: Suite, abort: str) -> None:
    """A manual gate outlives its signal, an automatic one ends with it; either is an aborted call."""
    open_with(suite, "c:t")
    register(suite, execute={"$fn": "t", "do": "gate", "abort": abort})
    suite.followup("A")
    gate = suite.gate("tool/execute")
    rows = suite.call("agent.cancel", {"agent": "a", "cause": {"kind": "user"}}).observed
    if abort == "manual":
        assert [row["on"] for row in rows] == ["abort", "return"]
        rows = suite.call("gate.resolve", {"gate": gate, "value": 1}).observed
    (result,) = [row for row in rows if row["on"] == "log" and row["event"]["type"] == "tool/result"]
    assert result["event"]["data"]["error"] == {"name": "AbortError", "code": "ABORTED"}
