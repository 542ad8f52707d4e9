"""Adapters without an implementation, for the question what the suite would say of one.

They declare everything and keep every promise of the protocol, so nothing but the checks stands between them and a
verdict.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from dshconform.adapters.reference.adapter import HELLO, ReferenceAdapter
from dshconform.links.in_process import InProcessAdapter
from dshconform.links.promises import WITHOUT_RETURN
from dshconform.protocol.json_value import Json, JsonMap
from dshconform.protocol.messages import Command, Reply, Row
from dshconform.spec.clause import Profile

_HELLO: Final[JsonMap] = {
    **HELLO,
    "implementation": {"name": "nothing", "version": "0", "language": "none"},
    "profiles": [profile.value for profile in Profile],
}


class EmptyAdapter:
    """Answers every command alike, and does nothing.

    Args:
        outcome: What it answers: `{result: …}` or `{error: …}`.
    """

    def __init__(self, outcome: Callable[[Command], JsonMap]) -> None:
        self._outcome = outcome

    def handle(self, command: Command) -> Reply:
        """Answer a command."""
        if command.op == "hello":
            return Reply(id=command.id, result=_HELLO)
        outcome, told = self._answer(command)
        return Reply(id=command.id, observed=told, **outcome)  # type: ignore[arg-type]  # one of result and error

    def _answer(self, command: Command, at: str | None = None) -> tuple[JsonMap, list[Row]]:
        """What a command comes to, and its rows; a burst is what its commands come to."""
        outcome, told = self._outcome(command), list[Row]()
        items = command.args.get("do")
        if command.op == "burst" and "result" in outcome and isinstance(items, list | tuple):
            outcomes: list[Json] = []
            for place, item in enumerate(items):
                assert isinstance(item, Mapping)
                op, args = item.get("op"), item.get("args", {})
                assert isinstance(op, str)
                assert isinstance(args, Mapping)
                inner = f"{place}" if at is None else f"{at}.{place}"
                one, rows = self._answer(Command(id=command.id, op=op, args=args), inner)
                outcomes.append(one)
                told += rows
            outcome = {"result": outcomes}
        if command.op not in WITHOUT_RETURN:
            told.append({"on": "return", "op": command.op, **({} if at is None else {"at": at}), **outcome})
        return outcome, told

    def close(self) -> None:
        """Nothing is open."""


class SortingAdapter:
    """The reference, with the rows of every reply sorted by their text; those of one function stay in order.

    An adapter promises to count the calls of a function, and whoever breaks a promise is not judged.
    """

    def __init__(self) -> None:
        self._reference: Final = ReferenceAdapter()

    def handle(self, command: Command) -> Reply:
        """Let the reference answer, and sort what it tells.

        Args:
            command: Handed on as it is.

        Returns:
            Its reply, the rows and gates in another order.
        """
        reply = self._reference.handle(command)
        rows = sorted_rows(reply.observed)
        opened = [str(row["gate"]) for row in rows if row["on"] == "gate"]
        waiting = [gate for gate in reply.open if gate not in opened]
        return replace(reply, observed=rows, open=[*waiting, *(gate for gate in opened if gate in reply.open)])

    def close(self) -> None:
        """End the open world, if there is one."""
        self._reference.close()


def sorted_rows(rows: Sequence[Row]) -> list[Row]:
    """Rows by their text, those that name the same function in the order that they had.

    Args:
        rows: Of a reply.

    Returns:
        The same rows, in that order.
    """
    waiting: dict[Json, list[Row]] = {}
    for row in rows:
        waiting.setdefault(row.get("part"), []).append(row)
    return [row if row.get("part") is None else waiting[row["part"]].pop(0) for row in sorted(rows, key=text_of)]


def text_of(row: Row) -> str:
    """What rows are sorted by: their text.

    Args:
        row: Of a reply.
    """
    return json.dumps(row, sort_keys=True, default=dict)


VACUOUS: Final[Mapping[str, Callable[[], InProcessAdapter]]] = {
    "null": lambda: EmptyAdapter(lambda _: {"result": None}),
    "echo": lambda: EmptyAdapter(lambda command: {"result": command.args}),
    "always-refuse": lambda: EmptyAdapter(
        lambda _: {"error": {"type": "Error", "message": "refused", "code": None}},
    ),
    "always-accept": lambda: EmptyAdapter(lambda _: {"result": True}),
    "sort-the-records": SortingAdapter,
}
"""By name."""
