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
    """The release of the suite."""
    specification: str
    """The version of the specification."""
    protocol: int
    """The version of the protocol."""
    clauses: str
    """A digest of the ids, levels, profiles and texts of all clauses."""


class ShardEntry(msgspec.Struct, frozen=True, kw_only=True):
    """The part of a divided run that a report tells of."""

    number: int
    """Which part, counted from 1."""
    of: int
    """How many parts there are."""


class ClauseEntry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A clause after a run, and how often it was evaluated and held."""

    id: str
    """Its id in the specification."""
    level: str
    """Whether it is a `must` or a `should`."""
    profile: str
    """The profile that it belongs to."""
    status: str
    """What is known of it, a `Status`."""
    held: int
    """How often all checks together evaluated it and it held."""
    checks: list[str]
    """The checks that cite it."""
    reason: str | None = None
    """Why nothing is known of it, where that is so."""


class CheckEntry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What one check said; see `Outcome`."""

    name: str
    """The check's name."""
    worlds: int
    """Worlds opened."""
    commands: int
    """Commands sent."""
    stopped: int
    """How many of its examples ended at a deviation listed with `after: stop`."""
    failed: bool
    """Whether there is an entry for it among the failures."""
    cut_short: bool = False
    """Whether the run ended before the check did."""
    prologues: int = 0
    """How many prologues of a machine began an example that was run."""
    suite_fault: str | None = None
    """What the suite itself did not do as it promises."""
    held: Mapping[str, int] = {}
    """How often each clause was evaluated and held."""
    not_run: Mapping[str, str] = {}
    """Clauses that it cites and could not evaluate, with the reason."""
    blamed: Mapping[str, int] = {}
    """For a machine, by the clause that answers first for a difference, the first example with one."""
    cells: Mapping[str, str] = {}
    """For a table, what each of its worlds said."""
    grid: Mapping[str, int] = {}
    """For a machine, how often its commands visited each cell of its grid."""

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
        """Read it back.

        Args:
            failures: Its failures, read from their own entries.
        """
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
    """The rows as lines of text."""
    first: int | None
    """The place of the first pair that differs, counted from 0; none where none does."""

    @classmethod
    def of(cls, rows: Alignment) -> "RowsEntry | None":
        """Write rows, if there are any.

        Args:
            rows: Expected and observed rows beside each other.
        """
        pairs = [(str(left), str(right)) for left, right in rows.pairs]  # what is missing is a text of its own class
        return cls(pairs=pairs, first=rows.first) if pairs else None


def _rows(entry: RowsEntry | None) -> Alignment:
    return Alignment() if entry is None else Alignment(tuple(entry.pairs), entry.first)


class FailureEntry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The smallest example of a difference; see `Failure` and `Difference`."""

    check: str
    """The check that found it."""
    clauses: list[str]
    """Those that demand what was not observed, the one that answers first for it before the others."""
    at: str
    """The annotated place at which it differs."""
    path: list[str | int]
    """What leads from that place to the difference."""
    sentence: str
    """What the clauses demand, in words."""
    expected: Json
    """What the pattern has there."""
    observed: Json
    """What the implementation has there."""
    commands: list[JsonMap]
    """The commands that lead to it, minimised."""
    reproduced: bool | None
    """Whether it came again in a fresh world; none where that was not tried."""
    found: Json
    """What stands at the annotated place; `{"$absent": true}` for nothing."""
    document: JsonMap
    """What `dshconform replay` reads."""
    replay: str | None = None
    """The file that the document was written to, if it was."""
    rows: RowsEntry | None = None
    """The rows of the last step."""
    again: RowsEntry | None = None
    """The rows of the same step in another world, where the difference did not come again."""
    found_after: int = 0
    """Commands of the example before it was minimised."""
    example: int = 0
    """The number of the example, counted from 0."""
    met: list[str] = []
    """The clauses that were blamed when it was met, before it was minimised."""

    @classmethod
    def of(cls, check: str, failure: Failure, replay: str | None) -> "FailureEntry":
        """Write a failure of a check.

        Args:
            check: The check's name.
            failure: What it found.
            replay: The file that its document was written to, if it was.
        """
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
    """The difference, as the ledger lists it."""
    met: int
    """How often the run met it."""


class FaultEntry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What ended a run: a fault of the adapter."""

    kind: FaultKind
    """In what way the adapter broke the protocol."""
    message: str
    """What was wrong, at which command."""
    remedy: str
    """What the author of the adapter can do about it."""
    wire_log: str | None = None
    """The file with everything that was said on the wire, if there is one."""
    promise: str | None = None
    """The promise that it broke, by its id."""


class Footer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How a run ended."""

    complete: bool
    """Whether all that was selected ran to its end."""
    checks: int
    """How many checks there are."""
    selected: int
    """How many of them were selected."""
    ran: int
    """How many of those came to their end."""
    seconds: float
    """How long the run took."""
    fault: FaultEntry | None = None
    """What the adapter did, where that ended the run."""
    interrupted: bool = False
    """Whether the user ended the run."""
    behind_budget: bool = False
    """Whether its time was over before it was done."""
    suite_faults: list[str] = []
    """What the suite itself did not do as it promises."""


class Report(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One run, or one part of it; `target` is how the command line named the implementation."""

    versions: Versions
    """What the suite, the specification and the protocol were."""
    implementation: ImplementationInfo
    """What the adapter said that it drives."""
    target: str
    """How the command line named it."""
    profiles: list[str]
    """Those that the implementation declared."""
    features: list[str]
    """Those that the adapter declared."""
    seed: int
    """Every random choice followed from it."""
    examples: int
    """Worlds that each machine opens."""
    verdict: str
    """What the run says of the implementation, a `Verdict`."""
    counts: Mapping[str, int]
    """How many clauses have each status."""
    selected: list[str]
    """The names of the checks that were selected."""
    clauses: list[ClauseEntry]
    """What is known of each clause."""
    checks: list[CheckEntry]
    """What each check said that began."""
    failures: list[FailureEntry]
    """The smallest example of each difference that no ledger lists."""
    deviations: list[JsonMap]
    """The known differences that were met, as the ledger has them."""
    stale_deviations: list[JsonMap]
    """The known differences that were not met, though their check came to its end."""
    ledger: list[LedgerEntry]
    """All known differences, each with how often it was met."""
    footer: Footer
    """How the run ended."""
    shard: ShardEntry | None = None
    """The part of a divided run that it is; none for a whole one."""
