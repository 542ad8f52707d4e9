"""The report as JSON: for programs, for `explain`, and for merging the parts of a divided run."""

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from pathlib import Path

import msgspec

from dshconform import __version__
from dshconform.links.link import AdapterFault
from dshconform.protocol.json_value import JsonMap
from dshconform.protocol.messages import PROTOCOL_VERSION
from dshconform.report.entries import (
    CheckEntry,
    ClauseEntry,
    FailureEntry,
    FaultEntry,
    Footer,
    LedgerEntry,
    Report,
    ShardEntry,
    Versions,
)
from dshconform.running.ledger import Deviation, Ledger
from dshconform.running.run import RunResult
from dshconform.running.verdict import ClauseResult
from dshconform.spec import SPECIFICATION_VERSION, load_specification


class ReportError(ValueError):
    """A file that is no report of this suite, with the file and the remedy."""


def report(result: RunResult, *, spelled: str, replays: Mapping[str, Sequence[str]], seconds: float) -> JsonMap:
    """Write a run as JSON; see `as_report`.

    Args:
        result: The run.
        spelled: How the command line names the implementation.
        replays: For a check that failed, the files with its smallest examples, one for each failure.
        seconds: How long the run took.
    """
    document: JsonMap = msgspec.to_builtins(as_report(result, spelled=spelled, replays=replays, seconds=seconds))
    return document


def as_report(result: RunResult, *, spelled: str, replays: Mapping[str, Sequence[str]], seconds: float) -> Report:
    """Make the report of a run. The same run gives the same report, `footer.seconds` aside.

    Args:
        result: The run.
        spelled: How the command line names the implementation.
        replays: For a check that failed, the files with its smallest examples, one for each failure.
        seconds: How long the run took.
    """
    held: Counter[str] = Counter()
    for outcome in result.outcomes:
        held.update(outcome.held)
    return Report(
        versions=versions(),
        implementation=result.hello.implementation,
        target=spelled,
        profiles=result.hello.profiles,
        features=result.hello.features,
        seed=result.seed,
        examples=result.examples,
        verdict=result.judgement.verdict.value,
        counts=result.judgement.counts(),
        selected=[check.name for check in result.selected],
        clauses=[_clause(one, held[one.clause.id]) for one in result.judgement.clauses],
        checks=[CheckEntry.of(outcome) for outcome in result.outcomes],
        failures=[
            FailureEntry.of(outcome.check, failure, replay)
            for outcome in result.outcomes
            for failure, replay in zip_longest(outcome.failures, replays.get(outcome.check, ()))
        ],
        deviations=[_deviation(entry) for entry in result.judgement.deviations],
        stale_deviations=[_deviation(entry) for entry in result.judgement.stale],
        ledger=_ledger(result.ledger),
        footer=Footer(
            complete=result.complete,
            fault=None if result.fault is None else fault_entry(result.fault),
            interrupted=result.interrupted,
            behind_budget=result.behind_budget,
            suite_faults=result.suite_faults,
            checks=result.judgement.checks,
            selected=len(result.selected),
            ran=len(result.finished),
            seconds=round(seconds, 1),
        ),
        shard=None if result.shard.whole else ShardEntry(number=result.shard.number, of=result.shard.of),
    )


def versions() -> Versions:
    """Those of this suite; `clauses` stands for the ids, levels, profiles and texts of all clauses."""
    clauses = load_specification().clauses.values()
    told = "".join(f"{one.id} {one.level} {one.profile} {one.text}\n" for one in clauses)
    return Versions(
        suite=__version__,
        specification=SPECIFICATION_VERSION,
        protocol=PROTOCOL_VERSION,
        clauses=hashlib.sha256(told.encode()).hexdigest()[:16],
    )


def write_report(path: Path, document: JsonMap) -> None:
    """Write the report to a file, indented; members keep their order.

    Args:
        path: The file, which is replaced.
        document: The report as JSON.
    """
    text = json.dumps(document, indent=1, ensure_ascii=False) + "\n"
    path.write_text(text, encoding="utf-8", errors="backslashreplace")  # of a lone surrogate: JSON's own escape


def read_report(path: Path) -> Report:
    """Read a report.

    Args:
        path: A file that `run --json` has written.

    Raises:
        ReportError: It cannot be read, or is none.
    """
    try:
        return msgspec.convert(json.loads(path.read_text(encoding="utf-8")), Report)
    except OSError as error:
        raise ReportError(f"{path}: cannot be read ({error.strerror})") from error
    except (ValueError, msgspec.ValidationError) as error:
        raise ReportError(
            f"{path}: is no report of dshconform {__version__} ({error}); `run --json` makes one"
        ) from error


def _clause(one: ClauseResult, held: int) -> ClauseEntry:
    return ClauseEntry(
        id=one.clause.id,
        level=one.clause.level.value,
        profile=one.clause.profile.value,
        status=one.status.value.replace(" ", "_"),
        held=held,
        checks=list(one.checks),
        reason=one.reason,
    )


def _deviation(entry: Deviation) -> JsonMap:
    return {
        "clause": entry.clause,
        "check": entry.check,
        **({"at": entry.at} if entry.variant is None else {"variant": entry.variant}),
        "after": entry.after,
        "reason": entry.reason,
        "reviewed": entry.reviewed,
    }


def _ledger(ledger: Ledger) -> list[LedgerEntry]:
    return [LedgerEntry(entry=entry, met=ledger.met.get(at, 0)) for at, entry in enumerate(ledger.entries)]


def fault_entry(fault: AdapterFault) -> FaultEntry:
    """Write a fault of the adapter."""
    wire_log = None if fault.wire_log is None else str(fault.wire_log)
    return FaultEntry(
        kind=fault.kind, message=fault.message, remedy=fault.remedy, wire_log=wire_log, promise=fault.promise
    )
