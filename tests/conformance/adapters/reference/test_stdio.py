import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from tests.conformance.adapters.reference.suite import message, short


class Program:
    """The adapter as a program of its own, driven line by line."""

    def __init__(self, *arguments: str) -> None:
        command = [sys.executable, *(arguments or ("-m", "dshconform.adapters.reference"))]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def send(self, line: str) -> Any:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def call(self, number: int, op: str, **args: Any) -> Any:
        return self.send(json.dumps({"id": number, "op": op, "args": args}))

    def end(self) -> tuple[bytes, bytes, int]:
        """End the input; what it still said on either stream, and its exit status."""
        rest, complaints = self.process.communicate(timeout=30)
        return rest, complaints, self.process.returncode


@pytest.fixture
def program() -> Iterator[Program]:
    program = Program()
    yield program
    program.process.kill()
    program.process.communicate()


def test_one_line_is_answered_by_one_line_until_the_input_ends(program: Program) -> None:
    """A whole turn over the pipe; the end of the input ends the program with status 0 and nothing more to say."""
    hello = program.call(1, "hello", protocol=1)
    assert hello["result"]["profiles"] == ["core", "tools", "session", "reference"]
    assert (hello["observed"], hello["open"]) == ([], [])
    program.call(2, "world.open")
    program.call(3, "model.register", **{"as": "m", "routes": ["p"], "stream": {"$fn": "model", "do": "gate"}})
    program.call(4, "agent.create", task="t", agent="a", options={"provider": "p", "model": "m"})
    reply = program.call(5, "agent.followup", agent="a", message=message("A"))
    assert (reply["id"], reply["result"], reply["open"]) == (5, None, ["g1"])
    assert [short(row) for row in reply["observed"]][-2:] == ["gate model/stream", "pull 1"]
    assert program.end() == (b"", b"", 0)


@pytest.mark.parametrize(
    ("line", "number", "problem"),
    [
        ("not json", 0, "no JSON"),
        ("[]", 0, "no command"),
        ('{"id": 7}', 7, "op"),
        ('{"id": 7, "op": "hello", "colour": 1}', 7, "colour"),
        ('{"id": 7, "op": "hello", "args": []}', 7, "args"),
        ('{"id": 7, "op": "agent.fly", "args": {}}', 7, "no world is open"),
    ],
)
def test_malformed_line_is_answered_with_a_fault(program: Program, line: str, number: int, problem: str) -> None:
    """Whatever comes in, one reply goes out, and the program goes on."""
    reply = program.send(line)
    assert reply["id"] == number
    assert problem in reply["fault"]
    assert "result" not in reply
    assert program.call(8, "hello", protocol=1)["id"] == 8


def test_what_only_unusual_json_can_say_is_carried(program: Program) -> None:
    """Depth beyond the usual codecs and lone surrogates cross the pipe."""
    program.call(1, "world.open")
    program.call(2, "agent.create", task="t", agent="a")
    deep = "[" * 3000 + "]" * 3000
    line = (
        f'{{"id": 3, "op": "session.append", "args": {{"session": "a", "type": "x/y", "data": ["\\ud800", {deep}]}}}}'
    )
    assert program.process.stdin is not None
    assert program.process.stdout is not None
    program.process.stdin.write(line.encode() + b"\n")
    program.process.stdin.flush()
    reply = program.process.stdout.readline().decode()
    assert deep in reply
    assert "\\ud800" in reply
    assert program.call(4, "session.read", session="a", what=["seq"])["result"] == {"seq": 1}


def test_what_the_implementation_prints_does_not_get_among_the_replies() -> None:
    """Standard output belongs to the protocol; everything else is on standard error."""
    noisy = """
from dshconform.adapters.reference import adapter, stdio

handle = adapter.ReferenceAdapter.handle
adapter.ReferenceAdapter.handle = lambda self, command: print("noise") or handle(self, command)
stdio.main()
"""
    program = Program("-c", noisy)
    assert program.call(1, "hello", protocol=1)["id"] == 1
    assert program.call(2, "world.close")["id"] == 2
    assert program.end() == (b"", b"noise\nnoise\n", 0)
