"""One job of a run with several: a process with a link of its own, which runs one part and tells the parent of it.

The parent writes a task as one line of JSON; what comes back is one line of JSON for each event.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

import msgspec

from dshconform.adapters.catalog import IMPLEMENTATIONS, CannotStart, command_implementation
from dshconform.checks.catalog import all_checks
from dshconform.cli.exit_status import INTERRUPTED_EXIT_STATUS
from dshconform.cli.session import ledger_of
from dshconform.cli.target import Target, fault_lines
from dshconform.links.link import AdapterFault, FaultKind, Limits, Link
from dshconform.protocol.messages import Hello
from dshconform.report.entries import CheckEntry, FailureEntry, Report
from dshconform.report.json_report import as_report
from dshconform.running.budget import Budget
from dshconform.running.check import Check, Outcome
from dshconform.running.run import run_checks
from dshconform.running.shard import Shard
from dshconform.spec.specification import load_specification


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """What a job is to do."""

    implementation: str | None
    command: list[str]
    deviations: str | None
    spelled: str
    timeout: float
    work: str
    selected: list[str]
    seed: int
    examples: int
    number: int
    of: int
    budget: float | None


class Greeted(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The implementation has greeted."""

    hello: Hello


class Said(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The adapter is being installed, or such."""

    line: str


class Advanced(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """So many worlds are done."""

    worlds: int


class Finished(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """A check has come to its end."""

    check: CheckEntry
    failures: list[FailureEntry]


class Refused(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """There was nothing to run: the implementation cannot be started, or did not greet."""

    kind: FaultKind | None
    message: str
    remedy: str
    wire_log: str | None = None

    @property
    def told(self) -> str:
        """As a person reads it."""
        if self.kind is None:
            return f"error: {self.message}\n  remedy: {self.remedy}"
        wire_log = None if self.wire_log is None else Path(self.wire_log)
        return "\n".join(fault_lines(AdapterFault(self.kind, self.message, self.remedy, wire_log)))


class Ended(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The part is over, for whatever reason."""

    report: Report


Event: TypeAlias = Greeted | Said | Advanced | Finished | Refused | Ended


def tell(event: Event) -> None:
    """Write an event for the parent."""
    sys.stdout.buffer.write(msgspec.json.encode(event) + b"\n")
    sys.stdout.buffer.flush()


class _Telling:
    """Progress, told to the parent."""

    def start(self, check: Check, worlds: int) -> None:
        """Nothing is told of a beginning."""

    def advance(self, worlds: int) -> None:
        """So many worlds are done."""
        tell(Advanced(worlds=worlds))

    def finish(self, outcome: Outcome) -> None:
        """A check is done."""
        failures = [FailureEntry.of(outcome.check, failure, None) for failure in outcome.failures]
        tell(Finished(check=CheckEntry.of(outcome), failures=failures))


def run(task: Task) -> None:
    """Run one part, and tell of it.

    Raises:
        KeyboardInterrupt: The parent ended it before the implementation had greeted.
    """
    clauses, checks = load_specification().clauses, all_checks()
    ledger_file = None if task.deviations is None else Path(task.deviations)
    implementation = (
        command_implementation(task.command, ledger_file)
        if task.implementation is None
        else IMPLEMENTATIONS[task.implementation]
    )
    target = Target(implementation, task.spelled, Limits(seconds_per_reply=task.timeout), Path(task.work))

    @contextmanager
    def opened() -> Iterator[Link]:
        with target.open(lambda line: tell(Said(line=line))) as link:
            tell(Greeted(hello=link.hello))
            yield link

    try:
        result = run_checks(
            opened(),
            specification=list(clauses.values()),
            checks=checks,
            selected=[check for check in checks if check.name in set(task.selected)],
            ledger=ledger_of(target, clauses, checks),
            seed=task.seed,
            examples=task.examples,
            progress=_Telling(),
            shard=Shard(task.number, task.of),
            budget=Budget(task.budget),
        )
    except AdapterFault as fault:
        wire_log = None if fault.wire_log is None else str(fault.wire_log)
        tell(Refused(kind=fault.kind, message=fault.message, remedy=fault.remedy, wire_log=wire_log))
    except CannotStart as error:
        tell(Refused(kind=None, message=error.message, remedy=error.remedy))
    else:
        tell(Ended(report=as_report(result, spelled=task.spelled, replays={}, seconds=0)))


if __name__ == "__main__":
    try:
        run(msgspec.json.decode(sys.stdin.buffer.readline(), type=Task))
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED_EXIT_STATUS)
