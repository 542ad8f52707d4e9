"""An adapter that misbehaves in one named way, in the standard library alone: `python fake_adapter.py BEHAVIOUR [OP]`.

It greets as it should and answers every command with null; the command OP, by default `misbehave`, makes it do what it
was named for.
"""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

Message = dict[str, Any]


def say(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def reply(command: Message, **members: Any) -> str:
    outcome: Message = {} if members.keys() & {"result", "error", "fault"} else {"result": None}
    told = []
    if command["op"] == "burst" and outcome:
        items = command["args"].get("do", [])
        told = [returned(item, outcome) | {"at": str(place)} for place, item in enumerate(items)]
        outcome = {"result": [outcome for _ in items]}
    if command["op"] != "hello":
        told.append(returned(command, outcome | members))
    return json.dumps({"id": command["id"], "observed": told, "open": []} | outcome | members) + "\n"


def returned(command: Message, members: Message) -> Message:
    """The row that every command has."""
    outcome = {name: members[name] for name in ("result", "error") if name in members}
    return {"on": "return", "op": command["op"]} | (outcome or {"result": None})


def row(command: Message, observed: Message) -> str:
    return reply(command, observed=[{"on": "pull", "gate": "g1", "n": 1}, observed])


def good(command: Message) -> None:
    echo = {"result": command["args"]["echo"]} if "echo" in command["args"] else {}
    say(reply(command, **echo))


def crash(_: Message) -> None:
    sys.stderr.write("about to fail\nout of cheese\n")
    sys.stderr.flush()
    os._exit(3)


def die_in_mid_line(command: Message) -> None:
    say(reply(command)[:10])
    os.kill(os.getpid(), signal.SIGKILL)


def close_output(_: Message) -> None:
    os.close(1)
    threading.Event().wait()


def close_input_and_wait(_: Message) -> None:
    os.close(0)
    threading.Event().wait()


def tell_and_hang(command: Message) -> None:
    """Open the named pipe for which a test waits."""
    Path(os.environ["FAKE_WAITING"]).write_text("here\n", encoding="utf-8")
    hang(command)


def hang(_: Message) -> None:
    sys.stderr.write("thinking\n")
    sys.stderr.flush()
    threading.Event().wait()


def die_before_a_child(command: Message) -> None:
    """The child keeps the output open, and the file that it is given, for as long as the suite lets it."""
    wait = (
        "import sys, threading; held = open(sys.argv[1], 'w'); print(file=held, flush=True); threading.Event().wait()"
    )
    subprocess.Popen([sys.executable, "-I", "-S", "-c", wait, command["args"]["hold"]])
    os._exit(4)


def flood_bytes(_: Message) -> None:
    while True:
        say("x" * 65536)


def flood_lines(command: Message) -> None:
    while True:
        say(reply(command))


def talk_to_stderr(command: Message) -> None:
    for _ in range(64):
        sys.stderr.write("chatter " * 1000 + "\n")
    say(reply(command, result="done"))


BEHAVIOURS: dict[str, Callable[[Message], None]] = {
    "good": good,
    "garbage": lambda command: say("starting up...\n" + reply(command)),
    "not-a-number": lambda command: say(reply(command, result=float("nan"))),
    "no-object": lambda _: say("[]\n"),
    "two-replies": lambda command: say(reply(command) * 2),
    "repeat-itself": lambda command: say(reply(command | {"id": command["id"] - 1}) + reply(command)),
    "words-after-reply": lambda command: say(reply(command) + "done!\n"),
    "hang": hang,
    "tell-and-hang": tell_and_hang,
    "half-a-line": lambda command: say(reply(command)[:10]),
    "crash": crash,
    "die-in-mid-line": die_in_mid_line,
    "die-before-a-child": die_before_a_child,
    "close-output": close_output,
    "close-input": close_input_and_wait,
    "flood-bytes": flood_bytes,
    "long-line": lambda command: say(reply(command, result="x" * 300_000)),
    "flood-lines": flood_lines,
    "late": lambda command: say(reply(command, late=[{"on": "task", "task": "t1", "value": 1}])),
    "wrong-id": lambda command: say(reply(command | {"id": command["id"] + 7})),
    "no-outcome": lambda command: say(json.dumps({"id": command["id"], "observed": [], "open": []}) + "\n"),
    "two-outcomes": lambda command: say(reply(command, result=1, error={"type": "E", "message": "m", "code": None})),
    "unknown-member": lambda command: say(reply(command, observd=[])),
    "no-open": lambda command: say(json.dumps({"id": command["id"], "result": None, "observed": []}) + "\n"),
    "unknown-row": lambda command: say(row(command, {"on": "logged", "session": "a", "event": {}})),
    "malformed-row": lambda command: say(
        row(command, {"on": "gate", "gate": "g2", "part": "f", "kind": "setup", "n": 0, "payload": {}})
    ),
    "free-member": lambda command: say(row(command, {"on": "log", "session": "a", "event": {}, "turn": 1})),
    "row-without-outcome": lambda command: say(row(command, {"on": "task", "task": "t1"})),
    "row-with-both": lambda command: say(row(command, {"on": "return", "op": "x", "result": 1, "error": {"value": 1}})),
    "formless-error": lambda command: say(reply(command, error={"message": "no type"})),
    "formless-error-in-row": lambda command: say(row(command, {"on": "task", "task": "t1", "error": {"type": "E"}})),
    "no-return": lambda command: say(reply(command, observed=[])),
    "stray-task": lambda command: say(
        reply(command, observed=[{"on": "task", "task": "t9", "value": None}, returned(command, {})])
    ),
    "gate-from-nowhere": lambda command: say(reply(command, open=["g9"])),
    "fault": lambda command: say(reply(command, fault="unknown operation")),
    "unsettled": lambda command: say(reply(command, fault="unsettled")),
    "talk-to-stderr": talk_to_stderr,
    "bad-exit-status": good,
    "ignore-end-of-input": good,
    "talk-at-the-end": good,
    "another-version": good,
    "no-greeting": good,
    "no-profile": good,
    "unknown-profile": good,
    "dead-on-arrival": good,
}


def main(behaviour: str, trigger: str = "misbehave") -> None:
    if behaviour == "dead-on-arrival":
        sys.exit("no such model")
    for line in sys.stdin:
        command: Message = json.loads(line)
        if command["op"] == trigger:
            BEHAVIOURS[behaviour](command)
        elif command["op"] == "hello":
            implementation = {"name": "fake", "version": "1", "language": "Python"}
            hello = {"protocol": 1, "implementation": implementation, "profiles": ["core"], "features": []}
            if behaviour == "another-version":
                hello["protocol"] = 2
            elif behaviour == "no-greeting":
                del hello["implementation"]
            elif behaviour == "no-profile":
                hello["profiles"] = []
            elif behaviour == "unknown-profile":
                hello["profiles"] = ["cor", "presets"]
            say(reply(command, result=hello))
        else:
            good(command)
    if behaviour == "ignore-end-of-input":
        threading.Event().wait()
    elif behaviour == "bad-exit-status":
        sys.exit(5)
    elif behaviour == "talk-at-the-end":
        say("bye\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
