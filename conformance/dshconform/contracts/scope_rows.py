"""Which rows of the scope contract have an order: listeners in one list, undos of one owner, who waits for them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from dshconform.contracts.inbox_rows import Clauses
from dshconform.contracts.scope_commands import EVENT
from dshconform.protocol.json_value import Json, JsonMap
from dshconform.trace.pattern import plain
from dshconform.trace.rows import ExpectedRow

COMPARED: Final = frozenset(
    {
        *(f"script {EVENT}", "script filter", "script default", "script undo", "gate undo", "gate body"),
        *("task", "return"),
    }
)
"""The kinds of rows that the contract speaks about."""

CALL: Final = "5 the call"
"""The strand of what happens before a command returns."""


@dataclass(frozen=True, slots=True)
class Strands:
    """Says of the rows of one command in which strands they stand.

    Each function that is called has a strand, so that one call too many, or too few, is told from a wrong order; the
    undos of an owner have one, and so have a composite with what it has adopted, and an owner with who waits for it.

    Args:
        owners: By undo, whose it is.
        composites: By undo, the composite in which it has a place, if it has one.
        behind: By task, the owners whose undos it comes after.
        first: By function or task, who says that it may not come now.
        later: Whether a dispatch may begin when its call has returned.
    """

    owners: Mapping[str, str] = field(default_factory=dict)
    composites: Mapping[str, str] = field(default_factory=dict)
    behind: Mapping[str, frozenset[str]] = field(default_factory=dict)
    first: Mapping[str, Clauses] = field(default_factory=dict)
    later: bool = False

    def surplus(self, row: JsonMap, _: Sequence[ExpectedRow]) -> Clauses:
        """Who says first that a row may not come now."""
        return self.first.get(_text(row.get("task" if row["on"] == "task" else "part")), ())

    def __call__(self, rows: Sequence[JsonMap]) -> Sequence[Sequence[str]]:
        """The strands of each row."""
        return [list(self._strands(row)) for row in rows]

    def _strands(self, row: JsonMap) -> Iterable[str]:
        part = _text(row.get("part"))
        if row["on"] == "task":
            task = _text(row["task"])
            return [f"4 {task}", *(f"6 {task} behind {owner}" for owner in sorted(self.behind.get(task, ())))]
        if row["on"] == "return":
            within = "part" in row or "at" in row
            return [f"7 {part}"] if part in self.owners else [CALL if within or not self.later else "8 return"]
        kind = _text(row.get("kind"))
        if kind == "undo":
            owner = self.owners.get(part, "")
            held = [f"3 {self.composites[part]}"] if part in self.composites else []
            waiting = sorted(task for task, owners in self.behind.items() if owner in owners)
            return [f"1 {part}", f"2 {owner}", *held, *(f"6 {task} behind {owner}" for task in waiting)]
        return [f"1 {part}", CALL] if kind == EVENT else [CALL] if kind != "body" else [f"1 {part}"]


def _text(value: Json) -> str:
    return str(plain(value))
