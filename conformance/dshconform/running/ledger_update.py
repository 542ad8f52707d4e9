"""Rewriting a ledger by what a run has met: entries that have gone are taken out, new differences are put in.

A new entry hides nothing: its reason is still to be written, and until it is, no run accepts the ledger.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from dshconform.protocol.json_value import Json, JsonMap
from dshconform.running.check import Failure, Outcome
from dshconform.running.ledger import TO_DO, Deviation, LedgerError
from dshconform.running.run import RunResult
from dshconform.running.verdict import decides
from dshconform.spec.clause import Clause
from dshconform.trace.fits import SPECIAL
from dshconform.trace.pattern import MISSING
from dshconform.yaml_text import YamlError, read_text, replace_items

_ABSENT: Final[JsonMap] = {"$absent": True}


@dataclass(frozen=True, slots=True)
class Update:
    """What became of a ledger.

    Args:
        removed: The entries that were taken out.
        added: The titles of those that were put in.
        left: Why a difference was not put in.
    """

    removed: tuple[Deviation, ...]
    added: tuple[str, ...]
    left: tuple[str, ...]


def update_ledger(path: Path, result: RunResult, clauses: Mapping[str, Clause]) -> Update:
    """Rewrite a ledger's file by a whole run; what a person wrote into it stays.

    Args:
        path: The file; it is made where there is none.
        result: The run.
        clauses: The specification, by id.

    Returns:
        What was removed and added, and what a person has to decide.

    Raises:
        LedgerError: The run does not tell of everything, or the file cannot be rewritten.
    """
    why = _partial(result)
    if why is not None:
        raise LedgerError(f"{path} is not changed: {why}; only a whole run tells which deviations have gone")
    stale = result.judgement.stale
    added: list[JsonMap] = []
    left: list[str] = []
    for outcome, failure in _failures(result.outcomes):
        entry = _entry(outcome, failure, clauses)
        if isinstance(entry, str):
            left.append(f"{outcome.check}: {failure.difference.sentence}: {entry}")
        elif all(_place(entry) != _place(other) for other in added):
            added.append(entry)
    gone = [at for at, entry in enumerate(result.ledger.entries) if entry in stale]
    try:
        text = read_text(path) if path.exists() else ""
        path.write_text(replace_items(text, path, remove=gone, add=added), encoding="utf-8")
    except (OSError, YamlError) as error:
        raise LedgerError(str(error)) from error
    return Update(tuple(stale), tuple(f"{entry['clause']} at {entry['at']}" for entry in added), tuple(left))


def _partial(result: RunResult) -> str | None:
    """Why a run does not tell of everything, if so."""
    if not result.shard.whole:
        return f"this is shard {result.shard}"
    if len(result.selected) < result.judgement.checks:
        return f"{len(result.selected)} of {result.judgement.checks} checks were selected"
    if result.behind_budget:
        return "the budget ended the run"
    return None if result.complete else "the run was cut short"


def _failures(outcomes: Sequence[Outcome]) -> Iterator[tuple[Outcome, Failure]]:
    for outcome in outcomes:
        for failure in outcome.failures:
            yield outcome, failure


def _entry(outcome: Outcome, failure: Failure, clauses: Mapping[str, Clause]) -> JsonMap | str:
    """The entry that lists a failure, or why it cannot be listed."""
    difference = failure.difference
    if not difference.clauses:
        return "no clause is blamed for it"
    if not decides(difference, clauses):
        return f"{difference.clauses[0]} is advice"
    if not failure.reproduced:
        return "it did not come again"
    found: Json = _ABSENT if difference.found is MISSING else difference.found
    if difference.found is not MISSING and _special(found):
        return "what was found would be read as a pattern: list it by hand"
    return {
        "clause": difference.clauses[0],
        "check": outcome.check,
        "at": difference.at,
        "found": found,
        "after": "stop",
        "reason": TO_DO,
        "reviewed": TO_DO,
    }


def _special(value: Json) -> bool:
    """Whether a value, written into a ledger, would stand for others as well."""
    if isinstance(value, Mapping):
        return not SPECIAL.isdisjoint(value) or any(map(_special, value.values()))
    return isinstance(value, list | tuple) and any(map(_special, value))


def _place(entry: JsonMap) -> tuple[Json, Json, Json]:
    return entry["clause"], entry["at"], entry["found"]
