"""How often things happen in a second."""

import gc
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Final

from benching.measuring import Rate, block, still
from benching.sides import Direct, Linked, Side
from dshconform.adapters.reference.adapter import ReferenceAdapter
from dshconform.checks.catalog import MODELS
from dshconform.contracts.machine import MachineCheck
from dshconform.links.in_process import InProcessLink
from dshconform.links.link import Link
from dshconform.links.subprocess import SubprocessLink
from dshconform.protocol.messages import Command, Reply
from dshconform.running.check import RunContext
from dshconform.running.ledger import Ledger

TURNS: Final = 50
COMMANDS: Final = 1_000
BLOCKS: Final = 5


def rate(
    side: Side, what: str, act: Callable[[], object], times: int, *, begin: Callable[[], None] = lambda: None
) -> Rate:
    """Measure how often one thing is done in a second: the median of some blocks."""

    def once() -> float:
        begin()
        return block(side, act, times)

    once()
    return Rate(side.name, what, 1e6 / median(once() for _ in range(BLOCKS)))


def rates(side: Direct | Linked) -> Iterator[Rate]:
    """Measure turns, appends, and over a link its commands."""

    def begin() -> None:
        side.open()
        if isinstance(side, Linked):
            side.tell()

    yield rate(side, "one-chunk turns", side.turn, TURNS, begin=begin)
    yield rate(side, "appends", side.append_event, COMMANDS)
    if isinstance(side, Linked):
        yield rate(side, "commands (agent.inspect)", side.inspect, COMMANDS)


def rules(examples: int) -> Iterator[Rate]:
    """Measure how many commands of each contract machine are made, performed and judged in a second."""
    for name, model in MODELS.items():
        check = MachineCheck(model)
        with InProcessLink(ReferenceAdapter()) as link, still():
            context = RunContext(link=link, ledger=Ledger(), seed=1, examples=examples, progress=lambda _: None)
            began, done = time.process_time(), 0
            for index in range(examples):
                done += len(check.example(context, index, []).performed)
                gc.collect(0)
            yield Rate("reference, link", f"rules of machine/{name}", done / (time.process_time() - began))


_IDLE_ADAPTER: Final = """
import json, sys
hello = {"protocol": 1, "implementation": {"name": "idle", "version": "1", "language": "Python"}, "profiles": []}
for line in sys.stdin:
    command = json.loads(line)
    row = {"on": "return", "op": command["op"], "result": None}
    result = hello if command["op"] == "hello" else None
    print(json.dumps({"id": command["id"], "result": result, "observed": [row], "open": []}), flush=True)
"""


class IdleAdapter:
    """Answers every command with nothing."""

    def handle(self, command: Command) -> Reply:
        """Answer one command."""
        if command.op == "hello":
            info = {"name": "idle", "version": "1", "language": "Python"}
            return Reply(id=command.id, result={"protocol": 1, "implementation": info, "profiles": []})
        return Reply(id=command.id, result=None, observed=[{"on": "return", "op": command.op, "result": None}])

    def close(self) -> None:
        """Have nothing to end."""


def links(command: Sequence[str]) -> Iterator[Rate]:
    """Measure the commands a second of a link to an adapter that is given, or to one that does nothing."""
    what = "commands (agent.inspect)"
    if command:
        with SubprocessLink(command) as link:
            side = Linked(link, Path(command[0]).name, time.perf_counter)
            side.open()
            yield rate(side, what, side.inspect, COMMANDS)
        return
    idle: Sequence[tuple[str, Callable[[], Link], Callable[[], float]]] = (
        ("idle, in process", lambda: InProcessLink(IdleAdapter()), time.process_time),
        ("idle, typed", lambda: InProcessLink(IdleAdapter(), typed=True), time.process_time),
        ("idle, stdio", lambda: SubprocessLink([sys.executable, "-c", _IDLE_ADAPTER]), time.perf_counter),
    )
    for name, open_link, clock in idle:
        with open_link() as link:
            side = Linked(link, name, clock)
            yield rate(side, what, side.inspect, COMMANDS)
