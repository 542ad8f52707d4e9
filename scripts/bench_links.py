"""Measures how many commands a second a link carries.

    scripts/bench_links.py                                     the links alone, against an adapter that does nothing
    scripts/bench_links.py -- node adapter.mjs                 any adapter, over standard streams
    scripts/bench_links.py --in-process package.module:make    any adapter in process; `make()` answers it

With a real adapter the command is `agent.inspect` of an idle agent, so the figure is that of the link, the adapter's
dispatch and its settling, not that of a turn.
"""

import argparse
import importlib
import sys
import time

from dshconform.links.in_process import InProcessLink
from dshconform.links.link import AdapterFault, Link
from dshconform.links.subprocess import SubprocessLink
from dshconform.protocol.messages import Command, Reply

IDLE_ADAPTER = """
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
        """Answers one command."""
        if command.op == "hello":
            info = {"name": "idle", "version": "1", "language": "Python"}
            return Reply(id=command.id, result={"protocol": 1, "implementation": info, "profiles": []})
        return Reply(id=command.id, result=None, observed=[{"on": "return", "op": command.op, "result": None}])

    def close(self) -> None:
        """Has nothing to end."""


def measure(link: Link, seconds: float) -> float:
    """Commands a second of one link, which is closed afterwards."""
    with link:
        link.call("world.open", {})
        link.call("agent.create", {"task": "created", "agent": "a"})
        args = {"agent": "a"}
        for _ in range(100):
            link.call("agent.inspect", args)
        count, start = 0, time.perf_counter()
        while (taken := time.perf_counter() - start) < seconds:
            for _ in range(100):
                link.call("agent.inspect", args)
            count += 100
        return count / taken


def main() -> None:
    """Measures what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=2.0, help="how long to measure each link")
    parser.add_argument("--in-process", metavar="MODULE:CALLABLE", help="a factory of an in-process adapter")
    parser.add_argument("command", nargs="*", help="the command of an adapter, after --")
    options = parser.parse_args()
    links: list[tuple[str, Link]] = []
    if options.in_process:
        module, _, name = options.in_process.partition(":")
        links.append((options.in_process, InProcessLink(getattr(importlib.import_module(module), name)())))
    if options.command:
        links.append((" ".join(options.command), SubprocessLink(options.command)))
    if not links:
        links.append(("in process, idle adapter", InProcessLink(IdleAdapter())))
        links.append(("in process, idle adapter, typed", InProcessLink(IdleAdapter(), typed=True)))
        links.append(("stdio, idle adapter", SubprocessLink([sys.executable, "-c", IDLE_ADAPTER])))
    for title, link in links:
        print(f"{measure(link, options.seconds):10,.0f} commands/s  {title}")


if __name__ == "__main__":
    try:
        main()
    except AdapterFault as fault:
        sys.exit(str(fault))
