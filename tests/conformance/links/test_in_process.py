"""Adapters in the same process: the same promises, without a wire."""

from typing import Any

import pytest

from dshconform.links.in_process import InProcessLink
from dshconform.links.link import AdapterFault
from dshconform.protocol.messages import Command, Reply

HELLO = {"protocol": 1, "implementation": {"name": "fake", "version": "1", "language": "Python"}, "profiles": ["core"]}
GATE = {"on": "gate", "part": "f", "kind": "setup", "n": 1, "payload": {}}


class FakeAdapter:
    """Greets, then answers each command with the members that were laid out for it."""

    def __init__(self, *replies: dict[str, Any], hello: Any = HELLO) -> None:
        self.replies = list(replies)
        self.hello = hello
        self.seen: list[Command] = []
        self.closed = 0

    def handle(self, command: Command) -> Reply:
        self.seen.append(command)
        if command.op == "hello":
            return Reply(id=command.id, result=self.hello)
        reply = self.replies.pop(0)
        outcome = {} if reply.keys() & {"result", "error", "fault"} else {"result": None}
        members = {"id": command.id} | outcome | reply
        told = {name: members[name] for name in ("result", "error") if name in members}
        row = {"on": "return", "op": command.op, **told}
        return Reply(**{**members, "observed": [*reply.get("observed", []), row]})

    def close(self) -> None:
        self.closed += 1


def gate(name: str) -> dict[str, Any]:
    return GATE | {"gate": name}


def test_commands_reach_the_adapter_one_by_one() -> None:
    """Each call is one command with the next id, and its reply comes back as it is."""
    adapter = FakeAdapter({"result": (1, 2)}, {"error": {"type": "E", "message": "m", "code": None}})
    with InProcessLink(adapter) as link:
        assert link.hello.profiles == ["core"]
        assert link.call("one", {"a": 1}).result == (1, 2)
        assert link.call("two").error == {"type": "E", "message": "m", "code": None}
    assert [(command.id, command.op, dict(command.args)) for command in adapter.seen] == [
        (1, "hello", {"protocol": 1}),
        (2, "one", {"a": 1}),
        (3, "two", {}),
    ]
    assert adapter.closed == 1
    link.close()
    assert adapter.closed == 1
    with pytest.raises(RuntimeError, match="'three' cannot be sent"):
        link.call("three")


@pytest.mark.parametrize(
    ("reply", "kind", "words"),
    [
        ({"id": 7}, "malformed", ["$.id", "command 2 (any)", "7"]),
        ({"result": 1, "fault": "x"}, "malformed", ["`result` and `fault`"]),
        ({"late": [{"on": "task", "task": "t1", "value": None}]}, "late", ["t1"]),
        ({"fault": "unsettled: 3 timers"}, "unsettled", ["3 timers"]),
        ({"fault": "no such op"}, "fault", ["no such op"]),
    ],
)
def test_a_broken_promise_is_named(reply: dict[str, Any], kind: str, words: list[str]) -> None:
    """What a reply says against itself ends the link, whatever the link."""
    link = InProcessLink(FakeAdapter(reply))
    with pytest.raises(AdapterFault) as caught:
        link.call("any")
    assert caught.value.kind == kind
    assert caught.value.wire_log is None
    for word in words:
        assert word in caught.value.message
    with pytest.raises(AdapterFault) as again:
        link.call("any")
    assert again.value is caught.value


RETURN = {"on": "return", "op": "any", "result": 1}


class Verbatim(FakeAdapter):
    """Adds no row of its own."""

    def handle(self, command: Command) -> Reply:
        return super().handle(command) if command.op == "hello" else Reply(id=command.id, **self.replies.pop(0))


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        ({"result": 1, "observed": []}, "no `return` rows"),
        ({"result": 1, "observed": [RETURN | {"at": "0"}]}, "no `return` rows"),
        ({"result": 1, "observed": [RETURN | {"part": "f", "n": 1}]}, "no `return` rows"),
        ({"result": 1, "observed": [RETURN, RETURN]}, "2 `return` rows"),
        ({"result": 1, "observed": [RETURN | {"op": "other"}]}, "`return` row is of 'other'"),
        ({"result": 2, "observed": [RETURN]}, "does not tell what the reply does"),
        ({"error": {"value": 1}, "observed": [RETURN]}, "does not tell what the reply does"),
    ],
)
def test_a_command_has_one_return_row_that_agrees_with_its_reply(reply: dict[str, Any], words: str) -> None:
    """Otherwise the adapter is at fault, not the implementation."""
    link = InProcessLink(Verbatim(reply))
    with pytest.raises(AdapterFault, match=words) as caught:
        link.call("any")
    assert caught.value.kind == "malformed"
    assert "command 2 (any)" in caught.value.message


def test_a_command_that_cannot_be_executed_has_a_remedy() -> None:
    """A core operation cannot be left undeclared: other checks can be run by name."""
    with pytest.raises(AdapterFault) as caught:
        InProcessLink(FakeAdapter({"fault": "no such op"})).call("any")
    assert "`--check`" in caught.value.remedy


def test_answers_to_gates_and_the_end_of_a_world_have_no_return_row() -> None:
    """They are in order without."""
    adapter = Verbatim(
        {"result": 1, "observed": [RETURN, gate("g1")], "open": ["g1"]}, {"result": None}, {"result": None}
    )
    with InProcessLink(adapter) as link:
        link.call("any")
        assert link.call("gate.resolve", {"gate": "g1"}).observed == []
        assert link.call("world.close").observed == []


def test_an_empty_list_of_late_rows_is_no_late_row() -> None:
    """`late` accuses by its rows, not by its presence."""
    with InProcessLink(FakeAdapter({"late": []})) as link:
        assert link.call("any").late == []


def test_an_adapter_that_raises_has_died() -> None:
    """An exception of the adapter is its fault, told with its traceback."""
    link = InProcessLink(FakeAdapter())
    with pytest.raises(AdapterFault, match=r"command 2 \(any\)") as caught:
        link.call("any")
    assert caught.value.kind == "died"
    assert "IndexError: pop from empty list" in caught.value.message
    assert isinstance(caught.value.__cause__, IndexError)


def test_an_adapter_that_cannot_close_has_died() -> None:
    """The end is part of what an adapter promises; after a fault it is not asked for again."""

    class Stubborn(FakeAdapter):
        def close(self) -> None:
            raise OSError("busy")

    with pytest.raises(AdapterFault, match="OSError: busy") as caught:
        InProcessLink(Stubborn()).close()
    assert caught.value.kind == "died"
    with pytest.raises(ZeroDivisionError) as block, InProcessLink(Stubborn()):
        raise ZeroDivisionError
    assert any("OSError: busy" in note for note in block.value.__notes__)


@pytest.mark.parametrize(
    ("hello", "words"), [({}, "`protocol`"), (HELLO | {"protocol": 9}, "version 9"), (HELLO | {"x": 1}, "`x`")]
)
def test_a_bad_greeting_closes_the_adapter(hello: Any, words: str) -> None:
    """A link that cannot be used holds nothing."""
    adapter = FakeAdapter(hello=hello)
    with pytest.raises(AdapterFault, match=words):
        InProcessLink(adapter)
    assert adapter.closed == 1


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"on": "task", "task": "t"}, "neither `value` nor `error`"),
        (GATE, "`gate`"),
        ({"on": "live", "name": "x", "payload": {"a": object()}}, "no JSON"),
        ({"on": "unhandled", "error": {"type": "E", "message": "m"}}, "`code`"),
    ],
)
def test_rows_are_checked_where_asked_for(row: dict[str, Any], words: str) -> None:
    """A typed link holds an in-process adapter to the types of the wire; an untyped one hands on what it gets."""
    with InProcessLink(FakeAdapter({"observed": [row]})) as link:
        assert link.call("any").observed[0] == row
    link = InProcessLink(FakeAdapter({"observed": [row]}), typed=True)
    with pytest.raises(AdapterFault, match=words) as caught:
        link.call("any")
    assert caught.value.kind == "malformed"
    with InProcessLink(FakeAdapter({"result": {"tuple": (1,)}}), typed=True) as typed:
        assert typed.call("any").result == {"tuple": (1,)}


def test_gates_wait_from_their_row_to_their_answer() -> None:
    """Opened, kept open, answered, closed by themselves, ended with the world: all in order."""
    adapter = FakeAdapter(
        {"observed": [gate("g1"), gate("g2")], "open": ["g1", "g2"]},
        {"open": ["g1", "g2"]},
        {"observed": [gate("g3")], "open": ["g2", "g3"]},
        {"observed": [{"on": "closed", "gate": "g2", "why": "left"}], "open": ["g3"]},
        {"open": ["g3"]},
        {"observed": [gate("g4"), {"on": "closed", "gate": "g4", "why": "abort"}], "open": []},
        {"observed": [gate("g5")], "open": ["g5"]},
        {"open": []},
        {"observed": [gate("g5")], "open": ["g5"]},
    )
    with InProcessLink(adapter) as link:
        link.call("agent.followup", {"agent": "a", "message": {}})
        link.call("agent.inspect", {"agent": "a"})
        link.call("gate.resolve", {"gate": "g1"})
        link.call("agent.cancel", {"agent": "a", "cause": None})
        # A task is told of the gate now and answers it later.
        link.call(
            "run", {"task": "t", "do": [{"do": "pause", "ticks": 1}, {"op": "gate.resolve", "args": {"gate": "g3"}}]}
        )
        link.call("any")
        link.call("any")
        link.call("world.close")
        link.call("any")


@pytest.mark.parametrize(
    ("replies", "words"),
    [
        ([{"open": ["g1"]}], "'g1' waits, but no `gate` row has opened it"),
        ([{"observed": [gate("g1")], "open": ["g1"]}, {"open": []}], "'g1' no longer waits"),
        ([{"observed": [gate("g1"), {"on": "closed", "gate": "g1", "why": "left"}, gate("g1")]}], "a second time"),
        ([{"observed": [gate("g1"), gate("g2")], "open": ["g2", "g1"]}], "'g1' does not stand in the order of opening"),
        ([{"observed": [gate("g1")], "open": ["g1", "g1"]}], "'g1' does not stand in the order of opening"),
        (
            [{"observed": [gate("g1")], "open": ["g1"]}, {"observed": [gate("g1")], "open": ["g1"]}],
            "'g1' was opened a second time",
        ),
    ],
)
def test_a_gate_that_contradicts_itself_is_named(replies: list[dict[str, Any]], words: str) -> None:
    """A gate that answers itself, or comes from nowhere, is the adapter's fault and not the implementation's."""
    link = InProcessLink(FakeAdapter(*replies))
    for _ in replies[:-1]:
        link.call("any")
    with pytest.raises(AdapterFault) as caught:
        link.call("any")
    assert caught.value.kind == "malformed"
    assert words in caught.value.message
