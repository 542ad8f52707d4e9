"""One session with every operation on owners, scopes and contexts, and every kind of call that they lead to."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from msgspec import UNSET

from dshconform.protocol.check import check_command
from dshconform.protocol.commands.context import CONTEXT
from dshconform.protocol.commands.owners import OWNERS
from dshconform.protocol.json_value import Json
from dshconform.protocol.kinds import FUNCTIONS
from dshconform.protocol.messages import Reply

Command: TypeAlias = dict[str, Any]
Send: TypeAlias = Callable[[str, Mapping[str, Any]], Reply]

OPERATIONS: Final = frozenset({*OWNERS, *CONTEXT})
KINDS: Final = ("body", "effect", "filter", "observer", "default", "undo")

YIELDS: Final[Command] = {"do": "yield", "value": {"$fn": "undo"}}
BODY: Final[Command] = {"$fn": "body", "do": [YIELDS]}
SLOW: Final[Command] = {"$fn": "slow", "do": [YIELDS, {"do": "pause", "ticks": 1}, {"do": "return"}]}

SESSION: Final[Sequence[tuple[str, Command]]] = [
    ("world.open", {"config": {"bare": True}}),
    ("owner.open", {"owner": "p", "plugin": "twin", "body": BODY, "config": {"n": 1}}),
    ("owner.open", {"owner": "q", "plugin": "twin", "in": "p", "config": {"n": 2}}),
    ("owner.wait", {"task": "t", "owner": "p"}),
    ("owner.restart", {"task": "t", "owner": "p"}),
    ("owner.state", {"owner": "p"}),
    ("ctx.assertActive", {"in": "p"}),
    ("ctx.provide", {"as": "c", "key": "clock", "value": 7, "in": "p"}),
    ("ctx.accessor", {"as": "a", "key": "bell", "value": 8, "in": "p"}),
    ("ctx.derive", {"context": "derived", "values": {"colour": "red"}, "in": "p"}),
    ("ctx.isolate", {"context": "inside", "key": "clock", "label": "L", "in": "p"}),
    ("ctx.get", {"key": "clock"}),
    ("ctx.read", {"key": "colour", "in": "derived"}),
    ("effect", {"as": "e", "in": "p", "body": BODY | {"$fn": "parts"}}),
    ("undo", {"of": "e"}),
    ("effect", {"as": "e", "in": "p", "async": True, "task": "setup", "body": SLOW}),
    ("scope.open", {"scope": "s", "parent": "team", "in": "p"}),
    ("scope.bind", {"as": "b", "key": "team", "parent": "firm"}),
    ("scope.rebind", {"of": "b", "parent": "house"}),
    ("scope.of", {"in": "s"}),
    ("scope.parent", {"key": "s"}),
    ("scope.chain", {"key": "s"}),
    ("listen", {"as": "l", "event": "ping", "in": "s", "fn": {"$fn": "heard"}}),
    ("observe", {"as": "o", "fn": {"$fn": "observer"}}),
    ("target.new", {"target": "to", "filter": {"$fn": "filter", "do": [{"do": "return", "value": True}]}}),
    ("target.new", {"target": "carrier", "base": "to", "key": "s"}),
    ("dispatch", {"mode": "emit", "event": "ping", "args": [1], "to": "carrier"}),
    ("dispatch", {"mode": "serial", "event": "ping", "task": "t"}),
    ("dispatch", {"mode": "parallel", "event": "ping", "task": "t"}),
    (
        "dispatch",
        {"mode": "waterfall", "event": "flow", "args": [1], "default": {"$fn": "default", "do": "gate"}, "task": "w"},
    ),
    ("gate.resolve", {"gate": "g1", "value": 9}),
    ("service.open", {"service": "inner", "key": "inner"}),
    ("service.open", {"service": "outer", "key": "outer", "forwards": "inner"}),
    ("owner.open", {"owner": "caller", "requires": ["outer"]}),
    ("service.add", {"key": "outer", "as": "n", "name": "entry", "in": "caller"}),
    ("dispatch", {"mode": "emit", "event": "ping", "to": {"service": "inner"}}),
    ("service.view", {"service": "inner", "scope": "s"}),
    ("scope.close", {"task": "t", "scope": "s"}),
    ("owner.close", {"owner": "p", "task": "t"}),
    ("world.close", {}),
]
"""The commands, in order."""

RESULTS: Final[Mapping[str, Json]] = {
    "ctx.get": 7,
    "ctx.read": "red",
    "scope.of": "s",
    "scope.parent": "team",
    "scope.chain": ["s", "team", "house"],
    "service.view": ["entry"],
    "owner.close": "awaitable",
}
"""What those operations answer whose result says something."""


def play(send: Send) -> tuple[dict[str, object], dict[str, set[str]], list[tuple[str, str]]]:
    """Play the session.

    Returns:
        What each operation answered first, the fields that each kind was seen with, and the tasks with their ends.
    """
    answered: dict[str, object] = {}
    seen: dict[str, set[str]] = {}
    tasks: list[tuple[str, str]] = []
    for op, args in SESSION:
        check_command(op, args)
        reply = send(op, args)
        assert reply.error is UNSET, (op, reply.error)
        answered.setdefault(op, reply.result)
        for row in reply.observed:
            if row["on"] in {"gate", "script"}:
                payload = row["payload"]
                assert isinstance(payload, Mapping)
                seen.setdefault(str(row["kind"]), set()).update(payload)
            if row["on"] == "task":
                tasks.append((str(row["task"]), "error" if "error" in row else "value"))
    return answered, seen, tasks


def check_operations(send: Send) -> None:
    """Every operation is executed, and answers what the table says; every task comes to a good end."""
    answered, _, tasks = play(send)
    assert set(answered) >= OPERATIONS
    assert {op: answered[op] for op in RESULTS} == RESULTS
    started = [args["task"] for _, args in SESSION if "task" in args]
    assert sorted(tasks) == sorted((task, "value") for task in started)


def check_kinds(send: Send) -> None:
    """Every kind of call is seen, with the fields of its kind and no others."""
    _, seen, _ = play(send)
    assert {kind: seen[kind] for kind in KINDS} == {kind: set(FUNCTIONS[kind].fields or ()) for kind in KINDS}
