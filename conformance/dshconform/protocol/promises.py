"""What an adapter promises, whatever the implementation behind it does: the data of the protocol page.

A difference that comes of a broken promise says nothing about the implementation. So each promise is one that the
adapter keeps alone: how it answers, counts and names. What the implementation answers is the affair of clauses.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple


class Promise(NamedTuple):
    """A promise, and where it is looked at.

    Args:
        text: What is promised.
        looked_at: Where a run looks whether it is kept.
    """

    text: str
    looked_at: str


_WIRE: Final = "on the wire"
_REPLY: Final = "with every reply"
_DIFFERENCE: Final = "before a difference is reported"

PROMISES: Final[Mapping[str, Promise]] = {
    "line": Promise("Each command is answered by one line of JSON; nothing else stands on standard output.", _WIRE),
    "alive": Promise("The adapter answers in time, lives until its input ends, and then ends with status 0.", _WIRE),
    "form": Promise(
        "Replies and rows have the members of the schema, and errors their one form.",
        f"{_WIRE}; in process {_DIFFERENCE}",
    ),
    "executed": Promise("A command that the declaration covers is executed: no `fault`.", _REPLY),
    "settled": Promise(
        "A reply comes when nothing more can happen without a command: no `late` rows, no `unsettled`.", _REPLY
    ),
    "id": Promise("A reply has the `id` of the command that it answers.", _REPLY),
    "outcome": Promise("A reply has exactly one of `result`, `error` and `fault`.", _REPLY),
    "return": Promise("A command has one `return` row of its own, with the outcome of its reply.", _REPLY),
    "waiting": Promise("`open` lists the gates that wait, in order of opening; each has had its `gate` row.", _REPLY),
    "answered": Promise(
        "A gate waits until it is answered, or a `closed` row says why not; then it waits no more.", _REPLY
    ),
    "items": Promise(
        "The commands of a burst return once each, in their order; its result lists their outcomes.", _DIFFERENCE
    ),
    "gates": Promise(
        "A gate is named once in a world. Pulls, counted from 1, and one `closed` are of a gate that was opened.",
        _DIFFERENCE,
    ),
    "calls": Promise(
        "The calls of a function are counted from 1, each by a row; other rows are of calls that were counted.",
        _DIFFERENCE,
    ),
    "names": Promise("Rows are of functions that the suite has given, and of tasks that it has named.", _DIFFERENCE),
}
"""By id."""
