"""The ledger of known differences of one implementation: each is still run, and none is hidden.

An entry names the clause, the place, and a pattern for what is found there; nothing else is tolerated. `after` says
how a run goes on behind it: `accept` (the found value is taken for the expected one), `variant` (a switch that a
contract's model declares for the clause, after which the model follows the implementation) or `stop` (the example
ends there, counted).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

from dshconform.protocol.json_value import Json
from dshconform.trace.pattern import Difference, Matching, PatternError
from dshconform.yaml_text import YamlError, read_yaml

After: TypeAlias = Literal["accept", "variant", "stop"]


class LedgerError(ValueError):
    """A ledger that cannot be used, with the file and the remedy."""


class Deviation(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One known difference.

    Args:
        clause: The clause that the implementation does not follow.
        check: The smallest check that shows it: `scenario/cancel-while-streaming`.
        at: The place, as a difference spells it: `log turn/end.event.data.reason`.
        found: A pattern for the value there (`(nothing)` for a missing row or member).
        after: How a run goes on behind it.
        variant: With `after: variant`, the switch of the model.
        reason: Why the implementation differs, in a sentence.
        link: Where it is discussed.
        reviewed: The day on which somebody looked at it last, `YYYY-MM-DD`.
    """

    clause: str
    check: str
    at: str
    found: Json
    after: After
    reason: str
    reviewed: str
    variant: str | None = None
    link: str | None = None

    @property
    def title(self) -> str:
        """The entry as one line of a report."""
        return f"{self.clause} at {self.at}"


@dataclass(slots=True)
class Ledger:
    """The entries of one implementation, and how often each was met in this run."""

    entries: Sequence[Deviation] = ()
    met: dict[int, int] = field(default_factory=dict)

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
        """The entries whose check was among those that ran to their end and that were never met."""
        return [entry for index, entry in enumerate(self.entries) if index not in self.met and entry.check in checks]

    def _meet(self, difference: Difference, after: After) -> Deviation | None:
        for index, entry in enumerate(self.entries):
            if entry.after == after and _covers(entry, difference):
                self.met[index] = self.met.get(index, 0) + 1
                return entry
        return None


def _covers(entry: Deviation, difference: Difference) -> bool:
    return (
        entry.clause in difference.clauses
        and entry.at == difference.at
        and Matching().annotated(entry.found, difference.found, (), entry.at) is None
    )


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
        entries = msgspec.convert(read_yaml(path.read_text(encoding="utf-8"), path), list[Deviation])
    except OSError as error:
        raise LedgerError(f"{path}: cannot be read ({error.strerror})") from error
    except (msgspec.ValidationError, YamlError) as error:
        raise LedgerError(f"{path}: {error}") from error
    for number, entry in enumerate(entries, 1):
        _check_entry(f"{path}: entry {number}", entry, known_clauses, known_checks)
        if entry.variant is not None and known_variants.get(entry.variant) != entry.clause:
            known = ", ".join(f"{name} ({clause})" for name, clause in sorted(known_variants.items())) or "none"
            raise LedgerError(
                f"{path}: entry {number}: no model declares the variant {entry.variant!r} for {entry.clause}; "
                f"known: {known}"
            )
    return Ledger(entries)


def _check_entry(where: str, entry: Deviation, clauses: Mapping[str, object], checks: Sequence[str]) -> None:
    if entry.clause not in clauses:
        raise LedgerError(f"{where}: there is no clause {entry.clause!r}")
    if entry.check not in checks:
        raise LedgerError(f"{where}: there is no check {entry.check!r}; known: {', '.join(checks)}")
    if (entry.after == "variant") != (entry.variant is not None):
        raise LedgerError(f"{where}: `variant` belongs to `after: variant`, and only there")
    if not entry.reason.strip():
        raise LedgerError(f"{where}: a deviation needs a reason")
    try:
        Matching().annotated(entry.found, None, (), entry.at)
    except PatternError as error:
        raise LedgerError(f"{where}: `found` is no pattern: {error}") from error
