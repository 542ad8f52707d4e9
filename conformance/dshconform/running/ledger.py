"""The ledger of known differences of one implementation: each is still run, and none is hidden.

`after` says how a run goes on behind an entry: `accept` (the found value is taken for the expected one) or `stop` (the
example ends there, counted) - both name the place and a pattern for what is found there, and tolerate nothing else - or
`variant`: a switch that a contract's model declares for the clause, with which the model follows the implementation.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Final, Literal, TypeAlias

import msgspec
from msgspec import UNSET, UnsetType

from dshconform.near_misses import hint
from dshconform.protocol.json_value import Json
from dshconform.trace.pattern import MISSING, Difference, Matching, PatternError, check_pattern, is_absent
from dshconform.yaml_text import YamlError, read_text, read_yaml

After: TypeAlias = Literal["accept", "variant", "stop"]
"""How an example goes on at a known difference: as if it were right, from what was observed, or not at all."""


TO_DO: Final = "TODO"
"""Stands for what a person has to write before a ledger can be used."""


class LedgerError(ValueError):
    """A ledger that cannot be used, with the file and the remedy."""


class Deviation(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One known difference.

    Args:
        clause: The clause that the implementation does not follow.
        check: The smallest check that shows it: `scenario/cancel-while-streaming`.
        after: How a run goes on behind it.
        reason: Why the implementation differs, in a sentence.
        reviewed: The day on which somebody looked at it last, `YYYY-MM-DD`.
        at: With `accept` and `stop`, the place, as a difference spells it: `log turn/end.event.data.reason`.
        found: With `accept` and `stop`, a pattern for the value there; `{$absent: true}` for a missing row or member.
        variant: With `after: variant`, the switch of the model.
        link: Where it is discussed.
    """

    clause: str
    check: str
    after: After
    reason: str
    reviewed: str
    at: str | None = None
    found: Json | UnsetType = UNSET
    variant: str | None = None
    link: str | None = None

    @property
    def title(self) -> str:
        """The entry as one line of a report."""
        return f"{self.clause} at {self.at}" if self.variant is None else f"{self.clause} as {self.variant}"

    def tells_of(self, difference: Difference) -> bool:
        """Whether it lists a difference: the clause, the place and what is found there."""
        if self.found is UNSET or self.clause not in difference.clauses or self.at != difference.at:
            return False
        if is_absent(self.found) or difference.found is MISSING:
            return is_absent(self.found) and difference.found is MISSING
        return Matching().annotated(self.found, difference.found, (), difference.at) is None


@dataclass(slots=True)
class Ledger:
    """The entries of one implementation, and how often each was met in this run."""

    entries: Sequence[Deviation] = ()
    """In the order of the file."""
    met: dict[int, int] = field(default_factory=dict)
    """By the place of an entry, how often it was met; without those that were not."""

    def accepts(self, difference: Difference) -> bool:
        """Whether an `accept` entry covers a difference; it is counted as met."""
        return self._meet(difference, "accept") is not None

    def stops(self, difference: Difference) -> Deviation | None:
        """The `stop` entry that covers a difference, if any; it is counted as met."""
        return self._meet(difference, "stop")

    def variants(self) -> Mapping[str, Deviation]:
        """The switches that the entries turn on, by name."""
        return {
            entry.variant: entry for entry in self.entries if entry.after == "variant" and entry.variant is not None
        }

    def meet(self, entry: Deviation) -> None:
        """Count an entry as met: a model took its switch and the implementation followed it."""
        index = self.entries.index(entry)
        self.met[index] = self.met.get(index, 0) + 1

    def deviating(self) -> dict[str, list[Deviation]]:
        """The entries that were met, by clause."""
        found: dict[str, list[Deviation]] = {}
        for index in sorted(self.met):
            entry = self.entries[index]
            found.setdefault(entry.clause, []).append(entry)
        return found

    def stale(self, checks: Sequence[str]) -> list[Deviation]:
        """The entries whose check was among those that ran to their end and that were never met.

        Args:
            checks: The names of those that ran to their end.
        """
        return [entry for index, entry in enumerate(self.entries) if index not in self.met and entry.check in checks]

    def _meet(self, difference: Difference, after: After) -> Deviation | None:
        for index, entry in enumerate(self.entries):
            if entry.after == after and entry.tells_of(difference):
                self.met[index] = self.met.get(index, 0) + 1
                return entry
        return None


def read_ledger(
    path: Path | None,
    known_clauses: Mapping[str, object],
    known_checks: Sequence[str],
    known_variants: Mapping[str, str],
) -> Ledger:
    """Read a `deviations.yaml`.

    Args:
        path: The file; none is an empty ledger.
        known_clauses: The clauses of the specification, by id.
        known_checks: The names of all checks.
        known_variants: The switches that the models declare, each with its clause.

    Raises:
        LedgerError: The file is no ledger, or an entry names an unknown clause, check or switch.
    """
    if path is None:
        return Ledger()
    try:
        document = read_yaml(read_text(path), path)
    except OSError as error:
        raise LedgerError(f"{path}: cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise LedgerError(f"{path}: is no text in UTF-8") from error
    except YamlError as error:
        raise LedgerError(str(error)) from error
    if not isinstance(document, list):
        raise LedgerError(f"{path}: a ledger is a list of deviations; one without any is `[]`")
    entries: list[Deviation] = []
    for number, written in enumerate(document, 1):
        where = f"{path}: entry {number}"
        try:
            entry = msgspec.convert(written, Deviation)
        except msgspec.ValidationError as error:
            raise LedgerError(f"{where}: {error}") from error
        _check_entry(where, entry, known_clauses, known_checks, known_variants)
        twin = next((at for at, other in enumerate(entries, 1) if _tell_alike(entry, other)), None)
        if twin is not None:
            raise LedgerError(f"{where}: entry {twin} says the same already")
        entries.append(entry)
    return Ledger(entries)


def _tell_alike(one: Deviation, other: Deviation) -> bool:
    return (one.clause, one.check, one.at, one.found, one.variant) == (
        other.clause,
        other.check,
        other.at,
        other.found,
        other.variant,
    )


def _check_entry(
    where: str,
    entry: Deviation,
    clauses: Mapping[str, object],
    checks: Sequence[str],
    variants: Mapping[str, str],
) -> None:
    for what, name, known in (("clause", entry.clause, clauses), ("check", entry.check, checks)):
        if name not in known:
            raise LedgerError(f"{where}: there is no {what} {name!r}; {hint(name, known)}")
    if entry.reason.strip() in {"", TO_DO}:
        raise LedgerError(f"{where}: a deviation needs a reason: say why {entry.clause} is not followed, or remove it")
    if not _is_day(entry.reviewed):
        raise LedgerError(f"{where}: `reviewed` is a day as YYYY-MM-DD, not {entry.reviewed!r}")
    if entry.after == "variant":
        if entry.variant is None or entry.at is not None or entry.found is not UNSET:
            raise LedgerError(f"{where}: `after: variant` goes with `variant`, not with `at` and `found`")
        if variants.get(entry.variant) != entry.clause:
            declared = ", ".join(f"{name} ({clause})" for name, clause in sorted(variants.items())) or "none"
            raise LedgerError(
                f"{where}: no model declares the variant {entry.variant!r} for {entry.clause}; known: {declared}"
            )
        return
    if entry.variant is not None or entry.at is None or entry.found is UNSET:
        raise LedgerError(f"{where}: `after: {entry.after}` goes with `at` and `found`, not with `variant`")
    try:
        check_pattern(entry.found, member=True)
    except PatternError as error:
        raise LedgerError(f"{where}: `found` is no pattern: {error}") from error


def _is_day(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False
