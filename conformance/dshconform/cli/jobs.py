"""A run in several processes, each with a link of its own; what comes of it is the same whatever their number is."""

import contextlib
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import msgspec

from dshconform.cli.job import Advanced, Ended, Event, Finished, Greeted, Refused, Said, Task
from dshconform.cli.session import Session
from dshconform.protocol.messages import Hello
from dshconform.report.entries import FaultEntry, LedgerEntry, Report, ShardEntry
from dshconform.report.merging import Part, join, merge
from dshconform.report.progress import RunProgress
from dshconform.running.check import Check, Outcome
from dshconform.running.run import RunResult, taken
from dshconform.running.shard import Shard

_ENDING: Final = 10.0
"""Seconds that a job has to end once it is told to."""


class JobError(RuntimeError):
    """A job ended without a word: a fault of the suite."""


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

    Raises:
        JobError: One of them ended without a report.
        KeyboardInterrupt: The user did not wait for its end, or interrupted before any of them had begun.
    """
    tasks = [
        Task(
            implementation=session.target.named,
            command=list(session.target.command),
            deviations=None
            if session.target.implementation.ledger is None
            else str(session.target.implementation.ledger),
            spelled=session.target.spelled,
            timeout=session.target.limits.seconds_per_reply,
            work=str(session.target.work),
            selected=[check.name for check in selected],
            seed=seed,
            examples=examples,
            number=shard.number + shard.of * index,
            of=shard.of * jobs,
            budget=budget,
        )
        for index in range(jobs)
    ]
    with RunProgress(session.teller.console, session.clauses) as progress:
        running = _Jobs(session, selected, tasks, shard, progress)
        try:
            running.follow()
        finally:
            running.end()
    parts = running.parts()
    if not parts:
        return None
    return merge(parts, specification=list(session.clauses.values()), checks=session.checks, shard=shard)


class _Job:
    """One process, and what it has said so far."""

    def __init__(self, task: Task) -> None:
        self.shard = Shard(task.number, task.of)
        self.hello: Hello | None = None
        self.refused: Refused | None = None
        self.report: Report | None = None
        self.process = subprocess.Popen(
            [sys.executable, "-m", "dshconform.cli.job"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # control-C reaches the parent alone, which passes it on once
        )
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # it has ended already, and said why
            self.process.stdin.write(msgspec.json.encode(task) + b"\n")
            self.process.stdin.close()

    def read(self, events: "queue.Queue[tuple[_Job, Event | None]]") -> None:
        """Read what it says; nothing stands for its end."""
        assert self.process.stdout is not None
        try:
            for line in self.process.stdout:
                events.put((self, msgspec.json.decode(line, type=Event)))
        finally:
            events.put((self, None))

    def interrupt(self) -> None:
        """Tell it to end; what it has found by then it still says."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)


@dataclass(slots=True)
class _Jobs:
    """The processes of one run.

    Args:
        session: Whose run it is.
        selected: The checks that were to run.
        tasks: One for each process.
        shard: What is divided.
        progress: Is told how it goes on.
    """

    session: Session
    selected: Sequence[Check]
    tasks: Sequence[Task]
    shard: Shard
    progress: RunProgress
    jobs: list[_Job] = field(default_factory=list)
    said: dict[str, list[Outcome]] = field(default_factory=dict)
    interrupted: bool = False

    def follow(self) -> None:
        """Start them, and follow them until all have ended; an interrupt is passed on, and they are waited for.

        Raises:
            KeyboardInterrupt: The user did not wait for that.
        """
        events: queue.Queue[tuple[_Job, Event | None]] = queue.Queue()
        for task in self.tasks:
            self.jobs.append(_Job(task))
            threading.Thread(target=self.jobs[-1].read, args=(events,), daemon=True).start()
        running = len(self.jobs)
        while running:
            try:
                job, event = events.get()
                if event is None:
                    running -= 1
                else:
                    self._take(job, event)
            except KeyboardInterrupt:
                if self.interrupted:
                    raise
                self.interrupted = True
                for job in self.jobs:
                    job.interrupt()

    def end(self) -> None:
        """End what still runs."""
        for job in self.jobs:
            job.interrupt()
        for job in self.jobs:
            try:
                job.process.wait(_ENDING)
            except subprocess.TimeoutExpired:
                job.process.kill()
                job.process.wait()

    def parts(self) -> list[Part]:
        """The report of each job; none where not one could begin, which is then printed.

        Raises:
            JobError: A job ended without a word.
            KeyboardInterrupt: The user interrupted before one had begun.
        """
        reports = [job.report for job in self.jobs if job.report is not None]
        for job in self.jobs:
            if job.report is None and job.refused is None and not self.interrupted:
                raise JobError(f"job {job.shard} ended with status {job.process.returncode} and without a report")
        if reports:
            return [Part(f"job {job.shard}", job.report or _nothing_seen(job, reports[0])) for job in self.jobs]
        refused = next((job.refused for job in self.jobs if job.refused is not None), None)
        if refused is None:
            raise KeyboardInterrupt
        self.session.teller.say(refused.told)
        return []

    def _take(self, job: _Job, event: Event) -> None:
        match event:
            case Greeted():
                if all(one.hello is None for one in self.jobs):
                    self._begin(event.hello)
                job.hello = event.hello
            case Said():
                self.session.teller.say(event.line)
            case Advanced():
                self.progress.advance(event.worlds)
            case Finished():
                self._finish(event)
            case Refused():
                job.refused = event
            case Ended():
                job.report = event.report

    def _begin(self, hello: Hello) -> None:
        task = self.tasks[0]
        self.session.teller.headline(hello, task.seed)
        worlds = sum(check.worlds(task.examples) for check in taken(self.selected, hello, self.shard))
        self.progress.begin(f"{len(self.tasks)} jobs", worlds)

    def _finish(self, event: Finished) -> None:
        """A check is told of when all jobs that run it are done with it."""
        check = next(one for one in self.selected if one.name == event.check.name)
        said = self.said.setdefault(check.name, [])
        said.append(event.check.outcome([entry.failure() for entry in event.failures]))
        if len(said) == (len(self.jobs) if check.divisible else 1):
            self.progress.tell(join(check, said, parts=len(said), shard=self.shard))


def _nothing_seen(job: _Job, other: Report) -> Report:
    """The report of a job that has not begun, made from another's."""
    refused = job.refused
    fault = None
    if refused is not None:
        kind = refused.kind or "died"
        fault = FaultEntry(kind=kind, message=refused.message, remedy=refused.remedy, wire_log=refused.wire_log)
    return msgspec.structs.replace(
        other,
        checks=[],
        failures=[],
        ledger=[LedgerEntry(entry=one.entry, met=0) for one in other.ledger],
        footer=msgspec.structs.replace(
            other.footer, complete=False, interrupted=fault is None, fault=fault, ran=0, suite_faults=[]
        ),
        shard=ShardEntry(number=job.shard.number, of=job.shard.of),
    )
