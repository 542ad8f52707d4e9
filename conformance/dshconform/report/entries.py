"""The members of a report, typed: it is written in this form, and read back to be merged or asked about."""

from collections.abc import Mapping, Sequence

import msgspec

from dshconform.links.link import FaultKind
from dshconform.protocol.json_value import Json, JsonMap
from dshconform.protocol.messages import ImplementationInfo
from dshconform.running.check import Failure, Outcome
from dshconform.running.ledger import Deviation
from dshconform.running.step import Step
from dshconform.running.world import command_of
from dshconform.trace.compare import Alignment
from dshconform.trace.pattern import MISSING, Difference, Path

_ABSENT: JsonMap = {"$absent": True}


class Versions(msgspec.Struct, frozen=True, kw_only=True):
    """What two reports must have in common to be compared: releases, and which clauses there are."""

    suite: str
    specification: str
    protocol: int
    clauses: str


class ShardEntry(msgspec.Struct, frozen=True, kw_only=True):
    """The part of a divided run that a report tells of."""

    number: int
    of: int


class ClauseEntry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A clause after a run, and how often it was evaluated and held."""

    id: str
    level: str
    profile: str
    status: str
    held: int
    checks: list[str]
    reason: str | None = None


class CheckEntry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What one check said; see `Outcome`."""

    name: str
    worlds: int
    commands: int
    stopped: int
    failed: bool
    cut_short: bool = False
    prologues: int = 0
    suite_fault: str | None = None
    held: Mapping[str, int] = {}
    not_run: Mapping[str, str] = {}
    blamed: Mapping[str, int] = {}
    cells: Mapping[str, str] = {}
    grid: Mapping[str, int] = {}

    @classmethod
    def of(cls, outcome: Outcome) -> "CheckEntry":
        """Write an outcome, its failures apart."""
        return cls(
            name=outcome.check,
            worlds=outcome.examples,
            commands=outcome.commands,
            stopped=outcome.stopped,
            failed=bool(outcome.failures),
            cut_short=outcome.cut_short,
            prologues=outcome.prologues,
            suite_fault=outcome.suite_fault,
            held=dict(sorted(outcome.held.items())),
            not_run=outcome.not_run,
            blamed=dict(sorted(outcome.blamed.items())),
            cells=outcome.cells,
            grid=outcome.grid,
        )

    def outcome(self, failures: Sequence[Failure]) -> Outcome:
        """Read it back."""
        return Outcome(
            check=self.name,
            held=dict(self.held),
            failures=list(failures),
            not_run=dict(self.not_run),
            stopped=self.stopped,
            examples=self.worlds,
            commands=self.commands,
            cells=dict(self.cells),
            grid=dict(self.grid),
            prologues=self.prologues,
            blamed=dict(self.blamed),
            suite_fault=self.suite_fault,
            cut_short=self.cut_short,
        )


class RowsEntry(msgspec.Struct, frozen=True, kw_only=True):
    """Rows beside each other: expected and observed, and the first pair that differs."""

    pairs: list[tuple[str, str]]
    first: int | None

    @classmethod
    def of(cls, rows: Alignment) -> "RowsEntry | None":
        """Write rows, if there are any."""
        pairs = [(str(left), str(right)) for left, right in rows.pairs]  # what is missing is a text of its own class
        return cls(pairs=pairs, first=rows.first) if pairs else None


def _rows(entry: RowsEntry | None) -> Alignment:
    return Alignment() if entry is None else Alignment(tuple(entry.pairs), entry.first)


class FailureEntry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The smallest example of a difference; see `Failure` and `Difference`."""

    check: str
    clauses: list[str]
    at: str
    path: list[str | int]
    sentence: str
    expected: Json
    observed: Json
    commands: list[JsonMap]
    reproduced: bool | None
    found: Json
    document: JsonMap
    replay: str | None = None
    rows: RowsEntry | None = None
    again: RowsEntry | None = None
    found_after: int = 0
    example: int = 0
    met: list[str] = []

    @classmethod
    def of(cls, check: str, failure: Failure, replay: str | None) -> "FailureEntry":
        """Write a failure of a check."""
        difference = failure.difference
        return cls(
            check=check,
            clauses=list(difference.clauses),
            at=difference.at,
            path=list(difference.path),
            sentence=difference.sentence,
            expected=_told(difference.expected),
            observed=_told(difference.observed),
            commands=[command_of(step) for step in failure.steps],
            reproduced=failure.reproduced,
            found=_ABSENT if difference.found is MISSING else difference.found,
            document=failure.document,
            replay=replay,
            rows=RowsEntry.of(failure.rows),
            again=RowsEntry.of(failure.again),
            found_after=failure.found_after,
            example=failure.index,
            met=list(failure.met),
        )

    def failure(self) -> Failure:
        """Read it back; of the steps, only what was sent."""
        path: Path = tuple(self.path)
        difference = Difference(
            tuple(self.clauses),
            self.at,
            MISSING if self.found == _ABSENT else self.found,
            path,
            self.expected,
            self.observed,
            self.sentence,
        )
        return Failure(
            difference=difference,
            steps=tuple(_step(command) for command in self.commands),
            rows=_rows(self.rows),
            document=self.document,
            reproduced=self.reproduced,
            again=_rows(self.again),
            found_after=self.found_after,
            index=self.example,
            met=tuple(self.met),
        )


def _told(value: Json) -> Json:
    return str(value) if value is MISSING else value


def _step(command: JsonMap) -> Step:
    args = command.get("args", {})
    assert isinstance(args, Mapping)
    return Step(str(command["do"]), args)


class LedgerEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A known difference, and how often it was met."""

    entry: Deviation
    met: int


class FaultEntry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What ended a run: a fault of the adapter."""

    kind: FaultKind
    message: str
    remedy: str
    wire_log: str | None = None


class Footer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How a run ended."""

    complete: bool
    checks: int
    selected: int
    ran: int
    seconds: float
    fault: FaultEntry | None = None
    interrupted: bool = False
    behind_budget: bool = False
    suite_faults: list[str] = []


class Report(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One run, or one part of it; `target` is how the command line named the implementation."""

    versions: Versions
    implementation: ImplementationInfo
    target: str
    profiles: list[str]
    features: list[str]
    seed: int
    examples: int
    verdict: str
    counts: Mapping[str, int]
    selected: list[str]
    clauses: list[ClauseEntry]
    checks: list[CheckEntry]
    failures: list[FailureEntry]
    deviations: list[JsonMap]
    stale_deviations: list[JsonMap]
    ledger: list[LedgerEntry]
    footer: Footer
    shard: ShardEntry | None = None
