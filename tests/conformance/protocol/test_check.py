"""What no type can tell of a command, told before it is sent."""

from typing import Any

import pytest
from tests.conformance.protocol.messages import Message, burst, listener

from dshconform.protocol.check import BadCommandError, check_command

IDLE = {"op": "agent.whenIdle", "args": {"agent": "a"}}


def bad(op: str, args: Message, *words: str) -> None:
    with pytest.raises(BadCommandError) as caught:
        check_command(op, args)
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize("ending", ["return", "pass", "gate"])
def test_nothing_follows_an_ending(ending: str) -> None:
    """Actions behind the end of a call would never run."""
    bad(*listener("agent/status", {"do": ending}, {"do": "pass"}), f"'{ending}'", "`$.fn.do[0]`")
    check_command(*listener("agent/status", {"do": ending}))


@pytest.mark.parametrize("action", [{"do": "gate"}, {"do": "pause", "ticks": 1}, IDLE | {"await": True}])
@pytest.mark.parametrize(
    ("op", "args", "path"),
    [
        ("listen", {"as": "l", "event": "llm/stream"}, ("fn",)),
        ("model.register", {"as": "m", "routes": [], "stream": {"$fn": "m"}}, ("start",)),
        ("tool.register", {"as": "t", "definition": {"output": {}}}, ("definition", "output", "render")),
        ("tool.register", {"as": "t", "definition": {}}, ("definition", "isConcurrencySafe")),
    ],
)
def test_nobody_waits_for_some_kinds(op: str, args: Message, path: tuple[str, ...], action: Message) -> None:
    """A function of a kind that does not wait can neither gate, nor pause, nor await."""

    def with_function(value: Any, steps: tuple[str, ...]) -> Any:
        if not steps:
            return {"$fn": "f", "do": [action]}
        return value | {steps[0]: with_function(value.get(steps[0], {}), steps[1:])}

    bad(op, with_function(args, path), "nobody waits", f"`$.{'.'.join(path)}.do[0]`")


def test_a_synchronous_chain_can_be_walked() -> None:
    """`llm/stream` does not wait, and has a `next` all the same."""
    check_command(*listener("llm/stream", {"do": "next"}, {"do": "return", "value": {"$next": 0}}))


@pytest.mark.parametrize(
    ("event", "action", "word"),
    [
        ("agent/turn-stopping", {"do": "next"}, "has no `next`"),
        ("agent/status", {"do": "next"}, "has no `next`"),
        ("agent/pre-step", {"do": "chunk", "chunk": {}}, "for streams"),
        ("agent/pre-step", {"do": "conclude"}, "for bodies of tools"),
        ("agent/pre-step", {"do": "set", "path": "mesages.0", "value": 1}, "no field 'mesages'"),
        ("agent/pre-step", {"do": "return", "value": {"x": {"$arg": "steps"}}}, "it has turn, step, messages, signal"),
    ],
)
def test_an_action_fits_its_kind(event: str, action: Message, word: str) -> None:
    """An action that the kind cannot perform, and a field that it does not have, are named with what there is."""
    bad(*listener(event, action), event, word)


def test_conditions_name_fields() -> None:
    """A misspelt path in `when` would silently never match."""
    bad(*listener("agent/inbox/claimed", when={"messages.id": "m1"}), "no field 'messages'", "`$.fn.when`")
    check_command(*listener("agent/inbox/claimed", when={"message.id": "m1", "turn": 1, "agent": "a"}))


def test_fields_belong_to_calls() -> None:
    """`$arg` and `$next` mean something inside a function and in an answer to a gate, and nothing elsewhere."""
    for notation in ({"$arg": "turn"}, {"$next": 0}):
        bad("agent.cancel", {"agent": "a", "cause": [notation]}, "`$.cause[0]`")
        check_command("gate.resolve", {"gate": "g1", "value": [notation]})
        check_command(*listener("my/event", {"op": "agent.cancel", "args": {"agent": "a", "cause": notation}}))


def test_asynchronous_operations_are_followed() -> None:
    """What an asynchronous operation came to must show up somewhere: in a task, or in the script that awaits it."""
    bad("agent.whenIdle", {"agent": "a"})
    bad(*burst(IDLE), "give it a `task`", "`$.do[0]`")
    bad(*listener("agent/status", IDLE), "give it a `task` or `await` it")
    check_command(*listener("agent/status", IDLE | {"await": True}))
    check_command(*burst({"op": "agent.whenIdle", "args": {"agent": "a", "task": "t"}}))
    bad(*listener("agent/status", {"op": "inbox.clear", "args": {"agent": "a"}, "await": True}), "leave out `await`")


def test_what_runs_at_once_waits_for_nothing() -> None:
    """Bursts and `onAbort` take commands only; inside a waiting call there is room for what does not wait."""
    gate = {"do": "gate"}
    bad(*burst(gate), "`$.do[0]`")
    bad(*listener("agent/pre-step", onAbort=[gate]), "`$.fn.onAbort[0]`")
    bad("gate.do", {"gate": "g1", "do": [{"do": "pause", "ticks": 1}]}, "answer the gate instead")
    bad("gate.do", {"gate": "g1", "do": [IDLE | {"await": True}]}, "here nothing waits")


def test_a_function_has_one_kind_of_script() -> None:
    """`do` is for every call and `calls` for each: both together contradict each other."""
    bad("effect", {"as": "e", "undo": {"$fn": "f", "do": [], "calls": [[]]}}, "not both", "`$.undo`")


def test_gates_are_named_by_what_they_are_where_allowed() -> None:
    """A scenario may name a gate by its kind; what is sent may not."""
    args: Message = {"gate": {"kind": "agent/pre-step"}, "value": None}
    check_command("gate.resolve", args, symbolic=True)
    check_command(*burst({"op": "gate.resolve", "args": args}), symbolic=True)
    bad("gate.resolve", args, "`$.gate`")
    bad(*burst({"op": "gate.resolve", "args": args}), "`$.do[0].args.gate`")


def test_unknown_operations_are_answered_with_the_known() -> None:
    """A misspelt operation is answered with all there are."""
    bad("agent.folowup", {}, "'agent.folowup'", "agent.followup")
