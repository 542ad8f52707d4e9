"""Steps: a command, and what the clauses demand of the reply to it.

Scenarios are lists of steps that a person wrote; the model of a contract machine makes them as it goes. Both are
judged by the same code.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from dshconform.protocol.json_value import Json, JsonMap
from dshconform.trace.compare import Surplus, nobody
from dshconform.trace.pattern import clauses_in
from dshconform.trace.rows import COMPARED, ExpectedRow

UNCHECKED: Final[JsonMap] = {"$any": True}
"""A pattern that any reply matches."""


Strands: TypeAlias = Callable[[Sequence[JsonMap]], Sequence[Sequence[str]]]
"""Takes rows apart: nothing is said of the order of two rows that share no strand.

Answers the names of the strands in which each of the rows stands; strands are judged in the order of their names.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """What the reply to one command must be.

    Args:
        clauses: Blamed for the result, the error and the open gates.
        after: Blamed for rows that come after everything expected; `clauses` when empty.
        result: What the operation must answer; unchecked when absent.
        error: How the operation must fail; absent, it must not fail.
        rows: All rows that must be observed, in order; unchecked when absent.
        otherwise: Lists that are as good as `rows`, where the clauses leave open which it is.
        only: The rows that `rows` speaks about; an entry is a kind, or narrower (`dshconform.trace.rows.is_compared`).
        apart: Rows that are compared by themselves, entries as in `only`: nothing says where they stand among the
            others.
        strands: Takes the rows apart further, where a clause orders only some of them; absent, they are one list.
        surplus: Says first of an observed row who demands that it does not come now; nothing where that is the affair
            of what is expected.
        open: The kinds of the gates that must be open afterwards, in order of opening; unchecked when absent.
    """

    clauses: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    result: Json = field(default_factory=lambda: UNCHECKED)
    error: JsonMap | None = None
    rows: tuple[ExpectedRow, ...] | None = None
    otherwise: tuple[tuple[ExpectedRow, ...], ...] = ()
    only: frozenset[str] = COMPARED
    apart: frozenset[str] = frozenset()
    strands: Strands | None = None
    surplus: Surplus = field(default=nobody, compare=False, repr=False)
    open: tuple[str, ...] | None = None

    def cited(self) -> list[str]:
        """Every clause that this expectation can hold.

        Those of the step only where it demands something: a command that merely must not be refused proves nothing.
        """
        demands = self.result is not UNCHECKED or self.error or self.rows is not None or self.open is not None
        found = [*((*self.clauses, *self.after) if demands else ()), *clauses_in(self.result), *clauses_in(self.error)]
        for row in (*(self.rows or ()), *(row for rows in self.otherwise for row in rows)):
            found += [*row.clauses, *clauses_in(row.pattern)]
        return found


@dataclass(frozen=True, slots=True)
class Step:
    """One command with its expectation.

    Args:
        op: The operation.
        args: Its arguments, gates named symbolically: `{"gate": {"kind", "agent"?, "call"?}}`.
        expect: What the reply must be.
        probe: Whether it only looks: what comes after it is the same without it.
    """

    op: str
    args: JsonMap
    expect: Expectation = field(default_factory=Expectation)
    probe: bool = False

    def kept(self) -> "Step":
        """The same without whom to ask about surplus rows: the state of a moment, which no other process has."""
        return replace(self, expect=replace(self.expect, surplus=nobody))
