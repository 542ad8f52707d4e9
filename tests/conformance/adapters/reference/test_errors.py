from typing import Any

import pytest
from tests.conformance.adapters.reference.suite import Suite


def shown(suite: Suite, error: Any) -> Any:
    """How an error looks that a listener of the suite throws into a veto."""
    suite.open(agents=())
    suite.listen("session/created", [{"do": "throw", "error": {"$error": error}}])
    (row,) = [row for row in suite.create("a").observed if row["on"] == "task"]
    return row["error"]


@pytest.mark.parametrize(
    ("error", "form"),
    [
        ({"message": "m"}, {"type": "Exception", "message": "m", "code": None}),
        ({"message": "m", "name": "Odd", "code": "C"}, {"type": "Odd", "message": "m", "code": "C"}),
        ({"kind": "coded", "message": "m", "code": "C"}, {"type": "DshError", "message": "m", "code": "C"}),
        (
            {"kind": "model", "message": "m", "code": "C", "status": 500, "requestId": "r"},
            {
                "type": "LlmError",
                "message": "m",
                "code": "C",
                "failure": {"message": "m", "code": "C", "status": 500, "requestId": "r"},
            },
        ),
        (
            {"kind": "aggregate", "message": "m", "members": [{"$error": {"message": "x"}}]},
            {
                "type": "ExceptionGroup",
                "message": "m",
                "code": None,
                "members": [{"type": "Exception", "message": "x", "code": None}],
            },
        ),
        (
            {"message": "m", "cause": {"$error": {"message": "why", "as": "why"}}, "as": "mine"},
            {
                "type": "Exception",
                "message": "m",
                "code": None,
                "cause": {"type": "Exception", "message": "why", "code": None, "is": "why"},
                "is": "mine",
            },
        ),
        (
            {"message": "m", "code": "C", "failure": {"message": "m", "code": "C"}},
            {"type": "Exception", "message": "m", "code": "C", "failure": {"message": "m", "code": "C"}},
        ),
    ],
)
def test_errors_have_one_form(suite: Suite, error: Any, form: Any) -> None:
    """What the suite throws comes back unchanged, in the one form of errors, recognised by its name."""
    assert shown(suite, error) == form


def test_refusal_of_the_implementation_is_the_error_of_the_reply(suite: Suite) -> None:
    """A call that raises is answered with `error`, and its `return` row has the same form."""
    suite.open()
    message = {"id": "A", "role": "user", "content": [], "source": {"kind": "user"}}
    suite.call("inbox.append", {"agent": "a", "target": "next-turn", "message": message})
    reply = suite.call("inbox.append", {"agent": "a", "target": "next-step", "message": message})
    form = {"type": "DuplicateMessage", "message": 'message "A" is already pending', "code": "DUPLICATE_MESSAGE"}
    assert reply.error == form
    assert reply.observed == [{"on": "return", "op": "inbox.append", "error": form}]


def test_failure_of_an_asynchronous_operation_is_its_task_row(suite: Suite) -> None:
    """The call answers; the failure comes with the task."""
    suite.open()
    reply = suite.create("a")
    assert reply.result is None
    (row,) = [row for row in reply.observed if row["on"] == "task"]
    assert row["error"]["message"] == 'session "a" already exists'
