"""Trace invariants: what holds of any trace, whatever led to it.

They are always on while scenarios and machines run. Each is a small fold over the rows of one world (`fold`); what
they are stands as data in the modules of their subjects.
"""

from collections.abc import Sequence
from typing import Final

from dshconform.protocol.json_value import Json
from dshconform.protocol.messages import Row
from dshconform.trace.agent_invariants import AGENT_INVARIANTS
from dshconform.trace.call_invariants import CALL_INVARIANTS
from dshconform.trace.fold import Fold, Invariant, SettlingFold
from dshconform.trace.inbox_invariants import INBOX_INVARIANTS
from dshconform.trace.log_invariants import LOG_INVARIANTS
from dshconform.trace.pattern import Difference, Matching
from dshconform.trace.rows import row_subject

INVARIANTS: Final[tuple[Invariant, ...]] = (*LOG_INVARIANTS, *CALL_INVARIANTS, *INBOX_INVARIANTS, *AGENT_INVARIANTS)
"""All of them."""

_BY_HAND: Final = frozenset({("return", "session.append"), ("return", "session.refuse")})
"""Commands after which a log is no evidence of its driver any more: it has, or lacks, what no driver would."""


class Watch:
    """Invariants over the rows of one world.

    Args:
        invariants: Which.
    """

    def __init__(self, invariants: Sequence[Invariant]) -> None:
        self._folds = [(invariant, invariant.begin()) for invariant in invariants]
        self._table: dict[tuple[Json, str | None], tuple[Fold, ...]] = {}
        self._settling = [fold for _, fold in self._folds if isinstance(fold, SettlingFold)]

    def see(self, rows: Sequence[Row], matching: Matching) -> Difference | None:
        """Take in the rows of one reply.

        Args:
            rows: All of them, in order.
            matching: This world's: counts what held, knows what is tolerated.

        Returns:
            The first violation; the rest of the reply is not looked at then.
        """
        keys = [(row["on"], row_subject(row)) for row in rows]
        if not _BY_HAND.isdisjoint(keys):
            self._folds = [(invariant, fold) for invariant, fold in self._folds if not invariant.driver]
            self._table, self._settling = {}, []
        for key, row in zip(keys, rows, strict=True):
            folds = self._table.get(key)
            if folds is None:
                folds = self._table[key] = self._looking_at(*key)
            for fold in folds:
                difference = fold(row, matching)
                if difference is not None:
                    return difference
        for settling in self._settling:
            difference = settling.settled(matching)
            if difference is not None:
                return difference
        return None

    def _looking_at(self, kind: Json, subject: str | None) -> tuple[Fold, ...]:
        named = {str(kind), f"{kind} {subject}"}
        return tuple(fold for invariant, fold in self._folds if not named.isdisjoint(invariant.kinds))
