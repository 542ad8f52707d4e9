"""A run in several processes, each with a link of its own; what comes of it is the same whatever their number is."""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass

import msgspec

from dshconform.adapters.catalog import CannotStart
from dshconform.checks.catalog import all_checks
from dshconform.cli.jobs import Done, advance, perform
from dshconform.cli.session import Session
from dshconform.links.link import Link
from dshconform.report.entries import FaultEntry, LedgerEntry, Report, ShardEntry
from dshconform.report.json_report import as_report, fault_entry
from dshconform.report.merging import Part, merge
from dshconform.report.progress import RunProgress, bar
from dshconform.running.budget import Budget
from dshconform.running.check import Check, Outcome
from dshconform.running.ledger import Deviation, Ledger
from dshconform.running.run import RunResult, run_checks
from dshconform.running.shard import Shard
from dshconform.spec.specification import load_specification


def run_jobs(
    session: Session,
    selected: Sequence[Check],
    *,
    jobs: int,
    seed: int,
    examples: int,
    shard: Shard,
    budget: float | None,
) -> RunResult | None:
    """Divide a run, or one shard of one, among processes; nothing when the implementation could not be opened.

    Args:
        session: Whose run it is.
        selected: The checks to run.
        jobs: How many processes there are.
        seed: Every random choice follows from it.
        examples: Worlds that each machine opens, all processes together.
        shard: What is divided.
        budget: The seconds that each of them may take.

    Returns:
        The run, as if one process had made it.

    Raises:
        KeyboardInterrupt: The user interrupted before any of them had begun.
    """
    shards = _Shards(
        selected=tuple(check.name for check in selected),
        known=tuple(session.ledger().entries),
        seed=seed,
        examples=examples,
        shards=tuple(Shard(shard.number + shard.of * index, shard.of * jobs) for index in range(jobs)),
        budget=budget,
    )
    with bar(session.console) as shown:
        task = shown.add_task(f"{jobs} jobs", total=sum(check.worlds(examples) for check in selected))
        try:
            done = perform(
                session.target, shards, jobs, lambda worlds: shown.update(task, completed=worlds), within=True
            )
        except CannotStart as error:
            session.tell_no_start(error)
            return None
    parts = _parts(done, shards)
    if not parts:
        if done.fault is None:
            raise KeyboardInterrupt
        session.tell_fault(done.fault)
        return None
    result = merge(parts, specification=list(session.clauses.values()), checks=session.checks, shard=shard)
    session.headline(result.hello, seed)
    progress = RunProgress(session.console, session.clauses)
    for outcome in result.finished:
        progress.finish(outcome)
    return result


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shards:
    """The parts of a run as pieces of work; each process does one, so that a fault ends no other."""

    selected: tuple[str, ...]
    known: tuple[Deviation, ...]
    seed: int
    examples: int
    shards: tuple[Shard, ...]
    budget: float | None

    def __len__(self) -> int:
        return len(self.shards)

    def perform(self, number: int, link: Link) -> tuple[Report, bool]:
        """Run one part; the others are needed whatever it says."""
        checks, chosen = all_checks(), frozenset(self.selected)
        result = run_checks(
            nullcontext(link),
            specification=list(load_specification().clauses.values()),
            checks=checks,
            selected=[check for check in checks if check.name in chosen],
            ledger=Ledger(self.known),
            seed=self.seed,
            examples=self.examples,
            progress=_Telling(),
            shard=self.shards[number],
            budget=Budget(self.budget),
        )
        return as_report(result, spelled="", replays={}, seconds=0), False


class _Telling:
    """Tells the parent of the worlds that are done."""

    def start(self, check: Check, worlds: int) -> None:
        """Nothing is told of a beginning."""

    def advance(self, worlds: int) -> None:
        """So many worlds are done."""
        advance(worlds)

    def finish(self, outcome: Outcome) -> None:
        """What it has said is in the report."""


def _parts(done: Done[Report], shards: _Shards) -> list[Part]:
    """The report of each part; one that did not begin has seen nothing. None where not one began."""
    if not done.results:
        return []
    interrupted = done.interrupted or any(one.footer.interrupted for one in done.results.values())
    fault = None if done.fault is None or interrupted else fault_entry(done.fault)  # what is interrupted ends badly
    example = next(iter(done.results.values()))
    reports: Mapping[int, Report] = done.results
    parts = [
        Part(f"job {number + 1}", reports.get(number) or _nothing_seen(example, shard, fault))
        for number, shard in enumerate(shards.shards)
    ]
    if fault is not None and len(reports) == len(parts):  # it came behind the last part
        parts[-1] = Part(parts[-1].name, _faulty(parts[-1].report, fault))
    return parts


def _nothing_seen(other: Report, shard: Shard, fault: FaultEntry | None) -> Report:
    """The report of a part that was not begun, made from another one's."""
    empty = msgspec.structs.replace(
        other,
        checks=[],
        failures=[],
        ledger=[LedgerEntry(entry=one.entry, met=0) for one in other.ledger],
        footer=msgspec.structs.replace(other.footer, fault=None, interrupted=fault is None, suite_faults=[]),
        shard=ShardEntry(number=shard.number, of=shard.of),
    )
    return empty if fault is None else _faulty(empty, fault)


def _faulty(report: Report, fault: FaultEntry) -> Report:
    return msgspec.structs.replace(report, footer=msgspec.structs.replace(report.footer, fault=fault))
