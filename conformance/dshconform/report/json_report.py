"""The report as JSON: for programs, and for merging and comparing runs."""

import json
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from pathlib import Path

from dshconform import __version__
from dshconform.protocol.json_value import Json, JsonMap
from dshconform.protocol.messages import PROTOCOL_VERSION
from dshconform.running.check import Failure
from dshconform.running.ledger import Deviation
from dshconform.running.run import RunResult
from dshconform.running.verdict import ClauseResult
from dshconform.running.world import command_of
from dshconform.spec import SPECIFICATION_VERSION


def report(result: RunResult, *, replays: Mapping[str, Sequence[str]], seconds: float) -> JsonMap:
    """Write a run as JSON. The same run gives the same report, `footer.seconds` aside.

    Args:
        result: The run.
        replays: For a check that failed, the files with its smallest examples, one for each failure.
        seconds: How long the run took.
    """
    info = result.hello.implementation
    counts: JsonMap = dict(result.judgement.counts())
    return {
        "versions": {"suite": __version__, "specification": SPECIFICATION_VERSION, "protocol": PROTOCOL_VERSION},
        "implementation": {"name": info.name, "version": info.version, "language": info.language},
        "profiles": list(result.hello.profiles),
        "features": list(result.hello.features),
        "seed": result.seed,
        "examples": result.examples,
        "verdict": result.judgement.verdict.value,
        "counts": counts,
        "clauses": [_clause(one) for one in result.judgement.clauses],
        "checks": [
            {
                "name": outcome.check,
                "worlds": outcome.examples,
                "commands": outcome.commands,
                "stopped": outcome.stopped,
                "failed": bool(outcome.failures),
                **({"cut_short": True} if outcome.cut_short else {}),
                **({"cells": dict(outcome.cells)} if outcome.cells else {}),
                **({"grid": dict(outcome.grid)} if outcome.grid else {}),
            }
            for outcome in result.outcomes
        ],
        "failures": [
            _failure(outcome.check, failure, replay)
            for outcome in result.outcomes
            for failure, replay in zip_longest(outcome.failures, replays.get(outcome.check, ()))
        ],
        "deviations": [_deviation(entry) for entry in result.judgement.deviations],
        "stale_deviations": [_deviation(entry) for entry in result.judgement.stale],
        "footer": {
            "complete": result.complete,
            **({} if result.fault is None else {"fault": {"kind": result.fault.kind, "message": result.fault.message}}),
            **({"interrupted": True} if result.interrupted else {}),
            **({"suite_faults": list(result.suite_faults)} if result.suite_faults else {}),
            "checks": result.judgement.checks,
            "selected": len(result.selected),
            "ran": len(result.finished),
            "seconds": round(seconds, 1),
        },
    }


def write_report(path: Path, document: JsonMap) -> None:
    """Write the report to a file, indented; members keep their order."""
    text = json.dumps(document, indent=1, ensure_ascii=False) + "\n"
    path.write_text(text, encoding="utf-8", errors="backslashreplace")  # of a lone surrogate: JSON's own escape


def _clause(one: ClauseResult) -> JsonMap:
    entry: dict[str, Json] = {
        "id": one.clause.id,
        "level": one.clause.level.value,
        "profile": one.clause.profile.value,
        "status": one.status.value.replace(" ", "_"),
        "checks": list(one.checks),
    }
    if one.reason is not None:
        entry["reason"] = one.reason
    return entry


def _failure(check: str, failure: Failure, replay: str | None) -> JsonMap:
    difference = failure.difference
    commands: Sequence[Json] = [command_of(step) for step in failure.steps]
    entry: dict[str, Json] = {
        "check": check,
        "clauses": list(difference.clauses),
        "at": difference.at,
        "path": list(difference.path),
        "sentence": difference.sentence,
        "expected": difference.expected,
        "observed": difference.observed,
        "commands": commands,
        "reproduced": failure.reproduced,
    }
    if replay is not None:
        entry["replay"] = replay
    return entry


def _deviation(entry: Deviation) -> JsonMap:
    return {
        "clause": entry.clause,
        "check": entry.check,
        **({"at": entry.at} if entry.variant is None else {"variant": entry.variant}),
        "after": entry.after,
        "reason": entry.reason,
        "reviewed": entry.reviewed,
    }
