"""One run from the command line: open, run, print, save, and the exit status."""

import gc
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import click
from rich.console import Console

from dshconform import __version__
from dshconform.adapters.catalog import CannotStart
from dshconform.checks.catalog import VARIANTS
from dshconform.cli.exit_status import FAULT_EXIT_STATUS, INTERRUPTED_EXIT_STATUS, suite_fault_lines
from dshconform.cli.target import Target, fault_lines, started_as
from dshconform.cli.work import report_in
from dshconform.links.link import AdapterFault, Link
from dshconform.protocol.json_value import JsonMap
from dshconform.report.failure_text import failure_lines
from dshconform.report.json_report import report, write_report
from dshconform.report.progress import RunProgress
from dshconform.report.table import print_report
from dshconform.report.text import wrapped
from dshconform.running.check import Check, Failure, Outcome
from dshconform.running.ledger import Ledger, LedgerError, read_ledger
from dshconform.running.run import RunResult, run_checks
from dshconform.running.verdict import EXIT_STATUS
from dshconform.spec.clause import Clause
from dshconform.yaml_text import write_yaml


@dataclass(slots=True)
class Session:
    """What one call of the command line does with one implementation.

    Args:
        target: The implementation.
        clauses: The specification, by id.
        checks: All checks that exist.
        console: Where a person reads.
    """

    target: Target
    clauses: Mapping[str, Clause]
    checks: Sequence[Check]
    console: Console = field(default_factory=lambda: Console(highlight=False, soft_wrap=True))

    def ledger(self) -> Ledger:
        """The implementation's known differences.

        Raises:
            click.UsageError: Its file cannot be used.
        """
        try:
            return read_ledger(
                self.target.implementation.ledger, self.clauses, [check.name for check in self.checks], VARIANTS
            )
        except LedgerError as error:
            raise click.UsageError(str(error)) from error

    def run(
        self,
        selected: Sequence[Check],
        *,
        seed: int,
        examples: int,
        stop_at: Callable[[Outcome], bool] = lambda _: False,
    ) -> RunResult | None:
        """Open the implementation and run checks; nothing when it could not be opened, which is then printed."""
        ledger = self.ledger()
        gc.freeze()  # what is loaded by now stays: no collection has to walk the checks and the specification
        try:
            with RunProgress(self.console, self.clauses) as progress:
                return run_checks(
                    self._opened(seed),
                    specification=list(self.clauses.values()),
                    checks=self.checks,
                    selected=selected,
                    ledger=ledger,
                    seed=seed,
                    examples=examples,
                    progress=progress,
                    stop_at=stop_at,
                )
        except AdapterFault as fault:
            self.tell_fault(fault)
        except CannotStart as error:
            self.console.print(f"error: {error.message}\n  remedy: {error.remedy}", markup=False)
        return None

    @contextmanager
    def _opened(self, seed: int) -> Iterator[Link]:
        with self.target.open(self._say) as link:
            self._headline(link, seed)
            yield link

    def report(self, result: RunResult, *, json_file: Path | None, seconds: float) -> int:
        """Print a run, save its counterexamples and its report.

        Returns:
            The exit status.
        """
        replays: dict[str, list[str]] = {}
        for outcome in result.outcomes:
            if not outcome.cut_short:
                self.forget(outcome.check)
            for number, failure in enumerate(outcome.failures, 1):
                self.console.rule(outcome.check, style="red")
                path = self.save(outcome.check, failure, number)
                if path is not None:
                    replays.setdefault(outcome.check, []).append(str(path))
                for line in failure_lines(failure, self.clauses, self.replay_line(path)):
                    self.console.print(line, markup=False)
                self.console.print()
        print_report(self.console, result)
        footer = f"suite {__version__}, seed {result.seed}, {len(result.finished)} of {result.judgement.checks} checks"
        self.console.print(f"{footer}, {seconds:.1f} s", markup=False)
        document = report(result, replays=replays, seconds=seconds)
        self._keep(document)
        if json_file is not None:
            write_report(json_file, document)
            self.console.print(f"report: {json_file}", markup=False)
        return self.tell_end(result, EXIT_STATUS[result.judgement.verdict])

    def tell_end(self, result: RunResult, status: int) -> int:
        """Print by what a run was cut short, if it was, and what the suite did not do as it promises.

        Returns:
            The exit status: `status` for a run that came to a good end.
        """
        at = f", during {result.outcomes[-1].check}" if result.outcomes and result.outcomes[-1].cut_short else ""
        if result.fault is not None:
            self.console.print(f"the run was cut short{at}:", markup=False)
            self.tell_fault(result.fault)
            return FAULT_EXIT_STATUS
        if result.interrupted:
            self.console.print(f"the run was cut short{at}: interrupted", markup=False)
            return INTERRUPTED_EXIT_STATUS
        for fault in result.suite_faults:
            for line in suite_fault_lines(fault):
                self.console.print(line, markup=False)
        return FAULT_EXIT_STATUS if result.suite_faults else status

    def save(self, check: str, failure: Failure, number: int = 1) -> Path | None:
        """Keep the `number`-th counterexample of a check for `dshconform replay`; nothing if it cannot be kept."""
        path = self._failures / f"{_stem(check)}{'' if number == 1 else f'-{number}'}.yaml"
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(write_yaml(failure.document), encoding="utf-8")
        except (OSError, UnicodeEncodeError) as error:
            self._say(f"the example cannot be saved: {error}")
            return None
        return path

    def _keep(self, document: JsonMap) -> None:
        """Keep a report for `dshconform explain`; nothing if it cannot be kept."""
        path = report_in(self.target.work)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_report(path, document)
        except OSError as error:
            self._say(f"the report cannot be kept: {error}")

    def forget(self, check: str) -> None:
        """Remove the counterexamples of earlier runs of a check."""
        ours = re.compile(re.escape(_stem(check)) + r"(-\d+)?\.yaml")
        for path in self._failures.glob("*.yaml"):
            if ours.fullmatch(path.name):
                path.unlink()

    @property
    def _failures(self) -> Path:
        return self.target.work / "failures"

    def replay_line(self, path: Path | None) -> str | None:
        """The command line that replays a saved counterexample."""
        return None if path is None else f"{started_as()} replay {shlex.quote(str(path))} {self.target.spelled}"

    def tell_fault(self, fault: AdapterFault) -> None:
        """Print a fault of the adapter."""
        for line in fault_lines(fault):
            self.console.print(line, markup=False)

    def _headline(self, link: Link, seed: int) -> None:
        info = link.hello.implementation
        profiles = ", ".join(link.hello.profiles)
        for line in wrapped(
            f"{info.name} {info.version} ({info.language}), profiles {profiles}, seed {seed}", hanging="  "
        ):
            self._say(line)

    def _say(self, line: str) -> None:
        self.console.print(line, markup=False)


def _stem(check: str) -> str:
    return check.replace("/", "-")
