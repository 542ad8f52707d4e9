"""Which clauses are covered: a check that cites the clause was seen to find a violation of it.

The denominator is fixed: every `must` clause of a profile, whether or not there is a check or a fault for it. A clause
of which no violation can be seen over the wire is an exception, listed with its reason in `unfaulted.yaml`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Final

import msgspec

from dshconform.faults.fault import Fault
from dshconform.faults.killing import Trial
from dshconform.near_misses import hint
from dshconform.spec.clause import Clause, Level, Profile
from dshconform.yaml_text import read_yaml

_FILE: Final = "unfaulted.yaml"


class ExceptionsError(ValueError):
    """A list of exceptions that cannot be used, with the entry and the remedy."""


class Unfaulted(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A clause that no fault violates.

    Args:
        clause: The clause.
        reason: Why no violation of it can be seen over the wire.
    """

    clause: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """The `must` clauses of one profile, by what is known of them, each in the order of the specification.

    Args:
        must: All of them.
        covered: Those of which a violation was found.
        excepted: Those of the others that are listed as exceptions.
    """

    must: tuple[str, ...]
    covered: tuple[str, ...]
    excepted: tuple[str, ...]

    @property
    def missing(self) -> tuple[str, ...]:
        """Those that are neither covered nor excepted."""
        known = {*self.covered, *self.excepted}
        return tuple(clause for clause in self.must if clause not in known)


def measure(
    trials: Iterable[Trial], clauses: Iterable[Clause], exceptions: Iterable[Unfaulted]
) -> Mapping[Profile, Coverage]:
    """Count what the trials of faults showed.

    Args:
        trials: Those that were made.
        clauses: The specification.
        exceptions: The list of clauses that cannot be covered.

    Returns:
        The coverage of every profile, in the order of `Profile`.
    """
    killed = {trial.fault.clause for trial in trials if trial.killed_by is not None}
    listed = {entry.clause for entry in exceptions}
    musts: dict[Profile, list[str]] = {profile: [] for profile in Profile}
    for clause in clauses:
        if clause.level is Level.MUST:
            musts[clause.profile].append(clause.id)
    return {
        profile: Coverage(
            must=tuple(ids),
            covered=tuple(clause for clause in ids if clause in killed),
            excepted=tuple(clause for clause in ids if clause in listed - killed),
        )
        for profile, ids in musts.items()
    }


def load_exceptions(clauses: Mapping[str, Clause], faults: Sequence[Fault]) -> tuple[Unfaulted, ...]:
    """Read the suite's own list; see `read_exceptions`.

    Args:
        clauses: The specification's clauses, by id.
        faults: All faults, of which none may violate an excepted clause.

    Returns:
        The exceptions.

    Raises:
        YamlError: It is no YAML.
        ExceptionsError: It is no list of exceptions, or has one that should not be there.
    """
    text = (resources.files("dshconform.faults") / _FILE).read_text(encoding="utf-8")
    return read_exceptions(text, clauses, faults)


def read_exceptions(text: str, clauses: Mapping[str, Clause], faults: Sequence[Fault]) -> tuple[Unfaulted, ...]:
    """Read a list of exceptions.

    Args:
        text: The file's text.
        clauses: The specification, by id.
        faults: All faults.

    Raises:
        YamlError: It is no YAML.
        ExceptionsError: It is no list of exceptions, or an entry names a clause that does not exist, is no `must`,
            stands twice or has a fault.
    """
    try:
        entries = msgspec.convert(read_yaml(text, _FILE), tuple[Unfaulted, ...])
    except msgspec.ValidationError as error:
        raise ExceptionsError(f"{_FILE}: {error}") from error
    violated = {fault.clause: fault.id for fault in faults}
    seen: set[str] = set()
    for entry in entries:
        problem = _problem(entry, clauses, violated, seen)
        if problem is not None:
            raise ExceptionsError(f"{_FILE}: {problem}")
        seen.add(entry.clause)
    return entries


def _problem(
    entry: Unfaulted, clauses: Mapping[str, Clause], violated: Mapping[str, str], seen: set[str]
) -> str | None:
    clause = clauses.get(entry.clause)
    if clause is None:
        return f"there is no clause {entry.clause!r}; {hint(entry.clause, clauses)}"
    if clause.level is not Level.MUST:
        return f"{clause.id} is a `{clause.level}` clause, and only `must` clauses are counted: remove the entry"
    if clause.id in violated:
        return f"the fault {violated[clause.id]!r} violates {clause.id}: remove the entry"
    if clause.id in seen:
        return f"{clause.id} stands twice: remove an entry"
    if not entry.reason.strip():
        return f"{clause.id} has no reason: say why no violation can be seen over the wire"
    return None
