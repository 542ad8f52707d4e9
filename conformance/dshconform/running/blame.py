"""Whose fault a difference is, as far as a run can tell.

That the adapter kept its promises was looked at before the difference became a failure; that the suite did is what its
own tests are for. What is left is the implementation, or a clause that the sources leave open.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from dshconform.running.check import Failure
from dshconform.spec.clause import Clause

_PROPOSED: Final = "(proposed"


class Whose(StrEnum):
    """Whose fault a failure is."""

    IMPLEMENTATION = "implementation"
    SPECIFICATION_UNCLEAR = "specification unclear"
    OPEN = "open"


def whose(failure: Failure, clauses: Mapping[str, Clause]) -> tuple[Whose, str]:
    """Whose fault a failure is, and why that is said.

    Args:
        failure: The failure.
        clauses: The specification, by id.
    """
    if not failure.difference.clauses:
        return Whose.OPEN, "no clause says what should have happened"
    if failure.reproduced is None:
        return Whose.OPEN, "it was not tried again"
    if not failure.reproduced:
        return Whose.OPEN, "the same commands did not lead to it again, so the implementation or its adapter varies"
    clause = clauses.get(failure.difference.clauses[0])
    if clause is not None and _PROPOSED in clause.basis:
        return Whose.SPECIFICATION_UNCLEAR, f"{clause.id} rests on {' '.join(clause.basis.split())}"
    return Whose.IMPLEMENTATION, "the adapter kept its promises"
