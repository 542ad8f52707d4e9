"""What a run leaves: on the console, its report, its counterexamples, and the exit status."""

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console

from dshconform import __version__
from dshconform.adapters.catalog import CannotStart
from dshconform.cli.exit_status import FAULT_EXIT_STATUS, INTERRUPTED_EXIT_STATUS, suite_fault_lines
from dshconform.cli.target import fault_lines, started_as
from dshconform.cli.work import report_in
from dshconform.links.link import AdapterFault
from dshconform.protocol.json_value import Json, JsonMap
from dshconform.protocol.messages import Hello
from dshconform.report.failure_text import failure_lines
from dshconform.report.json_report import report, write_report
from dshconform.report.table import print_report, print_shard
from dshconform.report.text import wrapped
from dshconform.running.run import RunResult
from dshconform.running.verdict import EXIT_STATUS, Verdict
from dshconform.spec.clause import Clause
from dshconform.yaml_text import write_yaml


class _Reader(Console):
    """A console whose reader may go away: that is for the command line to tell."""

    def on_broken_pipe(self) -> None:
        self.quiet = True
        raise BrokenPipeError("nobody reads the output any more")


def new_console() -> Console:
    """Where a person reads; wider than 80 columns, nothing is told differently."""
    return _Reader(highlight=False, soft_wrap=True)


@dataclass(slots=True)
class Teller:
    """Tells of runs against one implementation.

    Args:
        clauses: The specification, by id.
        spelled: How the command line names the implementation.
        work: The folder in which reports and counterexamples are kept.
        console: Where a person reads.
    """

    clauses: Mapping[str, Clause]
    spelled: str
    work: Path
    console: Console = field(default_factory=new_console)

    def headline(self, hello: Hello, seed: int | None = None) -> None:
        """Print what the adapter declared of itself.

        Args:
            hello: Its greeting.
            seed: The seed of the run, where it has one.
        """
        info = hello.implementation
        told = f"{info.name} {info.version} ({info.language}), profiles {', '.join(hello.profiles)}"
        for line in wrapped(told if seed is None else f"{told}, seed {seed}", hanging="  "):
            self.say(line)

    def report(self, result: RunResult, *, json_file: Path | None, seconds: float) -> int:
        """Print a run, save its counterexamples and its report.

        Args:
            result: The run.
            json_file: Where the report goes besides.
            seconds: How long the run took.

        Returns:
            The exit status.
        """
        replays: dict[str, list[str]] = {}
        for outcome in result.outcomes:
            if not outcome.cut_short:
                self.forget(outcome.check)
            for number, failure in enumerate(outcome.failures, 1):
                self.console.rule(outcome.check, style="red")
                path = self.save(outcome.check, failure.document, number)
                if path is not None:
                    replays.setdefault(outcome.check, []).append(str(path))
                for line in failure_lines(failure, self.clauses, self.replay_line(path)):
                    self.say(line)
                self.say("")
        if result.shard.whole:
            print_report(self.console, result)
        else:
            print_shard(self.console, result)
        footer = f"suite {__version__}, seed {result.seed}, {len(result.finished)} of {result.judgement.checks} checks"
        self.say(f"{footer}, {seconds:.1f} s")
        document = report(result, spelled=self.spelled, replays=replays, seconds=seconds)
        self._keep(document)
        if json_file is not None:
            write_report(json_file, document)
            self.say(f"report: {json_file}")
        return self.tell_end(result, _status(result))

    def tell_end(self, result: RunResult, status: int) -> int:
        """Print by what a run was cut short, if it was, and what the suite did not do as it promises.

        Args:
            result: The run.
            status: What its verdict says.

        Returns:
            The exit status: `status` for a run that came to a good end.
        """
        cut = [outcome.check for outcome in result.outcomes if outcome.cut_short]
        at = f", during {', '.join(cut)}" if cut else ""
        if result.fault is not None:
            self.say(f"the run was cut short{at}:")
            self.tell_fault(result.fault)
            return FAULT_EXIT_STATUS
        if result.interrupted:
            self.say(f"the run was cut short{at}: interrupted")
            return INTERRUPTED_EXIT_STATUS
        for fault in result.suite_faults:
            for line in suite_fault_lines(fault):
                self.say(line)
        return FAULT_EXIT_STATUS if result.suite_faults else status

    def save(self, check: str, document: Mapping[str, Json], number: int = 1) -> Path | None:
        """Keep the `number`-th counterexample of a check for `dshconform replay`; nothing if it cannot be kept.

        Args:
            check: The check's name.
            document: What is to be replayed.
            number: Counted from 1.

        Returns:
            The file that it was written to.
        """
        path = self._failures / f"{_stem(check)}{'' if number == 1 else f'-{number}'}.yaml"
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(write_yaml(document), encoding="utf-8")
        except (OSError, UnicodeEncodeError) as error:
            self.say(f"the example cannot be saved: {error}")
            return None
        return path

    def forget(self, check: str) -> None:
        """Remove the counterexamples of earlier runs of a check."""
        ours = re.compile(re.escape(_stem(check)) + r"(-\d+)?\.yaml")
        for path in self._failures.glob("*.yaml"):
            if ours.fullmatch(path.name):
                path.unlink()

    def replay_line(self, path: Path | None) -> str | None:
        """The command line that replays a saved counterexample.

        Args:
            path: The file with it.
        """
        return None if path is None else f"{started_as()} replay {shlex.quote(str(path))} {self.spelled}"

    def tell_fault(self, fault: AdapterFault) -> None:
        """Print a fault of the adapter."""
        for line in fault_lines(fault):
            self.say(line)

    def tell_no_start(self, error: CannotStart) -> None:
        """Print why an implementation cannot be started.

        Args:
            error: What is missing, with the remedy.
        """
        self.say(f"error: {error.message}\n  remedy: {error.remedy}")

    def say(self, line: str) -> None:
        """Print a line as it is."""
        self.console.print(line, markup=False)

    def _keep(self, document: JsonMap) -> None:
        """Keep a report for `dshconform explain`; nothing if it cannot be kept."""
        path = report_in(self.work)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_report(path, document)
        except OSError as error:
            self.say(f"the report cannot be kept: {error}")

    @property
    def _failures(self) -> Path:
        return self.work / "failures"


def _status(result: RunResult) -> int:
    """The exit status: the verdict, of which one shard alone can only say that it is bad."""
    verdict = result.judgement.verdict
    if not result.shard.whole and verdict is not Verdict.NOT_CONFORMANT:
        return 0
    return EXIT_STATUS[verdict]


def _stem(check: str) -> str:
    return check.replace("/", "-")
