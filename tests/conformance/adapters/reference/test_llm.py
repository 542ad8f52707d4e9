"""The operations of the profile `llm` on the reference: what they answer, and what is the suite's fault."""

from typing import Any

import pytest
from tests.conformance.adapters.reference.suite import FINISH, Suite

REQUEST = {"provider": "p", "model": "m", "messages": []}
CONFIG = {"provider": "p", "model": "m"}
TEXT = {"type": "text-delta", "index": 0, "text": "hi"}


def outcome(suite: Suite, op: str, args: dict[str, Any]) -> Any:
    """What the task of a command came to."""
    [row] = suite.rows("task", op, {"task": "t", **args})
    return row.get("value", row.get("error"))


def test_stream_is_pulled_chunk_by_chunk(suite: Suite) -> None:
    """To its end, and behind it there is nothing."""
    suite.open([{"do": "chunks", "list": [TEXT, FINISH]}], agents=())
    assert suite.call("llm.stream", {"stream": "s", "request": REQUEST}).result is None
    pulled = [outcome(suite, "llm.pull", {"stream": "s"}) for _ in range(4)]
    assert pulled == [{"chunk": TEXT}, {"chunk": FINISH}, {"end": True}, {"end": True}]
    assert outcome(suite, "llm.close", {"stream": "s"}) is None


def test_request_is_made_of_all_its_members(suite: Suite) -> None:
    """What is absent stays absent, and what is there reaches the adapter."""
    suite.open(agents=())
    suite.call("signal.new", {"signal": "x"})
    more = {"system": "S", "tools": [{"name": "t"}], "purpose": "compaction", "sessionId": "s1", "temperature": 0.5}
    suite.call("llm.stream", {"stream": "s", "request": {**REQUEST, **more, "signal": {"$signal": "x"}}})
    [gate] = suite.rows("gate", "llm.pull", {"task": "t", "stream": "s"})
    assert gate["payload"]["request"] == {**REQUEST, **more}
    assert gate["payload"]["signal"] == {"signal": "x", "aborted": False}


def test_prepared_call_is_shown_and_kept(suite: Suite) -> None:
    """With its context where it has one; kept, it is the very call, which cannot be changed."""
    window = {"m": {**CONFIG, "id": "m", "name": "M", "context": {"contextWindow": 7}}}
    suite.open(agents=(), resolve=window)
    suite.call(
        "burst", {"do": [{"op": "llm.prepare", "args": {"task": "t", "call": "c", "config": CONFIG}, "keep": "k"}]}
    )
    assert suite.call("value.get", {"of": "k"}).result["context"] == {"contextWindow": 7}
    assert set(outcome(suite, "llm.prepare", {"call": "c", "config": CONFIG})) == {
        "config",
        "adapterDefaults",
        "retryPolicy",
        "context",
    }
    for path in ("config", "config.model", "context.contextWindow", "retryPolicy.maxRetries"):
        assert suite.call("value.set", {"of": "k", "path": path, "value": 1}).error, path


def test_listener_turns_a_request_elsewhere(suite: Suite) -> None:
    """`set` reaches the configuration of a request as if it were the request's own; a frozen one refuses it."""
    suite.open([{"do": "chunks", "list": [TEXT, FINISH]}])
    suite.call("model.register", {"as": "n", "routes": ["q"], "stream": {"$fn": "other"}})
    suite.listen("llm/stream", [{"do": "set", "path": "request.provider", "value": "q"}, {"do": "next"}])
    suite.call("llm.stream", {"stream": "s", "request": REQUEST})
    [row] = suite.rows("script", "llm.pull", {"task": "t", "stream": "s"})
    assert (row["part"], row["payload"]["provider"]) == ("other", "q")
    [refused, *_] = [row for row in suite.followup("A").observed if row.get("op") == "set"]
    assert refused["error"]["code"] == "FROZEN_REQUEST"


def test_selection_is_installed_once_and_changed(suite: Suite) -> None:
    """From then on the agent's requests go where it says."""
    suite.open([{"do": "chunks", "list": [TEXT, FINISH]}])
    chosen = {"provider": "p", "model": "n"}
    suite.call("model.select", {"agent": "a", "as": "sel", "selection": chosen})
    [row] = [row for row in suite.followup("A").observed if row.get("kind") == "model/stream"]
    assert row["payload"]["model"] == "n"
    suite.call("model.select", {"agent": "a", "selection": None})
    assert suite.call("undo", {"of": "sel"}).result == "nothing"


def test_aggregate_with_a_name(suite: Suite) -> None:
    """An aggregate of the suite may have a class of its own, and a cause can be set afterwards."""
    suite.open("gate", agents=())
    group = {"$error": {"kind": "aggregate", "name": "Both", "message": "", "members": [{"$error": {"message": "x"}}]}}
    suite.call("value.keep", {"as": "e", "value": group})
    suite.call("value.keep", {"as": "c", "value": {"$error": {"message": "why"}}})
    suite.call("value.set", {"of": "e", "path": "cause", "value": {"$kept": "c"}})
    shown = suite.call("value.get", {"of": "e"}).result
    assert (shown["type"], shown["cause"]["message"]) == ("Both", "why")
    assert suite.call("value.get", {"of": "e", "path": "cause"}).result["message"] == "why"


@pytest.mark.parametrize(
    ("op", "args", "problem"),
    [
        ("model.replace", {"of": "e", "routes": []}, "must be the `as` of a model.register"),
        ("llm.prepare", {"task": "t", "call": "c", "config": 5}, "must be an object"),
        ("llm.stream", {"stream": "s", "request": []}, "must be an object"),
        ("llm.stream", {"stream": "s", "call": "no", "request": REQUEST}, "must be a call made by llm.prepare"),
        ("llm.pull", {"task": "t", "stream": "no"}, "must be a stream made by llm.stream"),
        ("llm.close", {"task": "t", "stream": "no"}, "must be a stream made by llm.stream"),
        ("model.select", {"agent": "a", "as": "s", "selection": 5}, "must be an object"),
        ("model.select", {"agent": "a", "selection": None}, "is needed the first time"),
    ],
)
def test_arguments_that_are_none(suite: Suite, op: str, args: dict[str, Any], problem: str) -> None:
    """They are the suite's fault, and named."""
    suite.open()
    suite.call("effect", {"as": "e", "undo": {"$fn": "undo"}})
    assert problem in suite.fault(op, args)
