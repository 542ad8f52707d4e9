"""One world: a fresh composition of the implementation, driven step by step and watched."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import TypeAlias

from msgspec import UNSET

from dshconform.links.link import Link
from dshconform.links.transcript import broken_in
from dshconform.protocol.json_value import Json, JsonMap
from dshconform.protocol.messages import Reply, Row
from dshconform.running.gates import GateNotFound, OpenGates
from dshconform.running.ledger import Ledger
from dshconform.running.step import UNCHECKED, Expectation, Step, Strands
from dshconform.trace.compare import NO_ROWS, Alignment, align, compare_rows
from dshconform.trace.invariants import INVARIANTS, Watch
from dshconform.trace.pattern import MISSING, Difference, Matching, plain
from dshconform.trace.rows import ExpectedRow, is_compared


@dataclass(slots=True)
class Exchange:
    """One step that was performed, with the arguments that were sent, and the reply to it."""

    step: Step
    """What was sent, and what was demanded."""
    args: JsonMap
    """The arguments as they were sent: gates by the adapter's names."""
    reply: Reply
    """What came back, its rows included."""


def _nothing(_: Exchange) -> None:
    pass


def _says_something(row: Row) -> bool:
    return row.get("on") != "return" or "error" in row or (row.get("op") != "burst" and row.get("result") is not None)


@dataclass(slots=True)
class World:
    """Performs steps over a link and compares; the first difference ends its use.

    Args:
        link: The implementation.
        matching: Shared by all comparisons of this world.
        watch: The invariants, which see every step.
        show: Is given every exchange, before it is judged.
        record: Every exchange, for a failure's report.
        gates: Those that are open.
        commands: How many were sent.
    """

    link: Link
    matching: Matching
    watch: Watch
    show: Callable[[Exchange], None] = _nothing
    record: list[Exchange] = field(default_factory=list)
    gates: OpenGates = field(default_factory=OpenGates)
    commands: int = 0

    def perform(self, step: Step) -> Difference | None:
        """Send a step's command and judge the reply.

        Returns:
            The first difference that is no listed deviation, or nothing.

        Raises:
            AdapterFault: The adapter broke the protocol; nothing is said about the implementation.
        """
        expect = step.expect
        try:
            args = self.gates.resolve(step.args)
        except GateNotFound as missing:
            return Difference(
                expect.clauses, step.op, MISSING, (), f"an open gate for {step.op}", str(missing), str(missing)
            )
        assert isinstance(args, dict)
        reply = self.link.call(step.op, args)
        self.commands += 1
        exchange = Exchange(step, args, reply)
        self.record.append(exchange)
        self.show(exchange)
        self.gates.update(reply)
        difference = self._judge(step.op, expect, reply)
        violated = self.watch.see(reply.observed, self.matching)
        difference = difference if difference is not None else violated
        if difference is not None:
            self.check_promises()
        return difference

    def perform_all(self, steps: Sequence[Step]) -> tuple[Difference | None, int]:
        """Perform steps, up to the first difference.

        Args:
            steps: The first of them opens the world.

        Returns:
            The difference if any, and the number of steps performed.

        Raises:
            AdapterFault: The adapter broke the protocol.
        """
        for done, step in enumerate(steps, 1):
            difference = self.perform(step)
            if difference is not None:
                return difference, done
        return None, len(steps)

    def check_promises(self) -> None:
        """Before the implementation is blamed: has the adapter kept its promises so far?

        Raises:
            AdapterFault: It has not; then what differs may be of its own making.
        """
        broken = broken_in((done.step.op, done.args, done.reply) for done in self.record)
        if broken is not None:
            raise self.link.accuse(broken)

    def has_shown_something(self) -> bool:
        """Whether anything of the implementation was seen: a row that says more than that a command returned null."""
        return any(_says_something(row) for done in self.record for row in done.reply.observed)

    def close(self) -> None:
        """End the world.

        Raises:
            AdapterFault: The adapter broke the protocol.
        """
        self.link.call("world.close")

    def last_rows(self) -> Alignment:
        """The rows of the last step beside those that were expected, for a failure's report."""
        if not self.record:
            return NO_ROWS
        last = self.record[-1]
        expect = last.step.expect
        if expect.rows is None:
            return NO_ROWS
        if expect.strands is not None:  # together: a row may stand in several
            observed = [row for row in last.reply.observed if is_compared(row, expect.only)]
            return align(expect.rows, observed, self.matching.tolerate)
        strands = _strands(expect.rows, expect, last.reply.observed)
        wanted = [row for expected, _ in strands for row in expected]
        return align(wanted, [row for _, observed in strands for row in observed], self.matching.tolerate)

    def _judge(self, op: str, expect: Expectation, reply: Reply) -> Difference | None:
        difference = _judge_outcome(op, expect, reply, self.matching)
        if difference is None and expect.rows is not None and not self._otherwise(expect, reply.observed):
            difference = _compare(expect.rows, expect, reply.observed, self.matching)
        if difference is None and expect.open is not None:
            kinds: Sequence[Json] = self.gates.kinds
            difference = self.matching.annotated(list(expect.open), kinds, expect.clauses, f"{op} open gates")
        return difference

    def _otherwise(self, expect: Expectation, observed: Sequence[Row]) -> bool:
        """Whether the rows are one of the lists that are as good; then they have been counted."""
        for rows in expect.otherwise:
            trial = self.matching.trial()
            if _compare(rows, expect, observed, trial) is None:
                self.matching.adopt(trial)
                return True
        return False


def new_world(link: Link, ledger: Ledger, *, show: Callable[[Exchange], None] = _nothing) -> World:
    """A world that is to be opened, watched by the invariants that bind the implementation.

    Args:
        link: The implementation.
        ledger: Its known differences; what an entry accepts is no difference.
        show: Is given every exchange, before it is judged.
    """
    binding = [invariant for invariant in INVARIANTS if invariant.profile in link.hello.profiles]
    return World(link, Matching(ledger.accepts), Watch(binding), show)


def compared(expect: Expectation, observed: Sequence[Row]) -> list[list[Row]]:
    """The observed rows that an expectation speaks about, apart where nothing is said of their order.

    Args:
        expect: The rows that a step demands, or how it restricts them.
        observed: All rows of the reply.
    """
    return [rows for _, rows in _strands((), expect, observed)]


def _compare(
    wanted: Sequence[ExpectedRow], expect: Expectation, observed: Sequence[Row], matching: Matching
) -> Difference | None:
    """Compare the rows of a step, strand by strand."""
    nothing_more = expect.after or expect.clauses
    for expected, seen in _strands(wanted, expect, observed):
        difference = compare_rows(expected, seen, matching, nothing_more, expect.surplus)
        if difference is not None:
            return difference
    matching.hold(nothing_more)
    return None


_Strand: TypeAlias = tuple[Sequence[ExpectedRow], list[Row]]
"""The expected and the observed rows of a strand."""


def _strands(wanted: Sequence[ExpectedRow], expect: Expectation, observed: Sequence[Row]) -> list[_Strand]:
    """The expected and the observed rows of a step, apart where nothing is said of their order."""
    seen = _aborts_in_order([row for row in observed if is_compared(row, expect.only)])
    if expect.strands is not None:
        return _untwined(wanted, seen, expect.strands)
    if not expect.apart:
        return [(wanted, seen)]
    return [
        (
            [row for row in wanted if is_compared(row.pattern, expect.apart) is apart],
            [row for row in seen if is_compared(row, expect.apart) is apart],
        )
        for apart in (False, True)
    ]


def _untwined(wanted: Sequence[ExpectedRow], seen: Sequence[Row], strands: Strands) -> list[_Strand]:
    """The rows of each strand."""
    found: dict[str, tuple[list[ExpectedRow], list[Row]]] = {}
    for row, names in zip(wanted, strands([row.pattern for row in wanted]), strict=True):
        for name in names:
            found.setdefault(name, ([], []))[0].append(row)
    for observed, names in zip(seen, strands(seen), strict=True):
        for name in names:
            found.setdefault(name, ([], []))[1].append(observed)
    return [found[name] for name in sorted(found)]


def _aborts_in_order(rows: list[Row]) -> list[Row]:
    """The rows, neighbouring `abort` rows by function and call: who of several is told first is not specified."""
    if sum(row["on"] == "abort" for row in rows) < 2:  # noqa: PLR2004 - one has no neighbour
        return rows
    ordered: list[Row] = []
    for kind, run in groupby(rows, key=lambda row: row["on"]):
        neighbours = list(run)
        if kind == "abort":
            neighbours.sort(key=lambda row: (str(row["part"]), row["n"]))
        ordered += neighbours
    return ordered


def _judge_outcome(op: str, expect: Expectation, reply: Reply, matching: Matching) -> Difference | None:
    refused = reply.error is not UNSET
    if expect.error is not None:
        if not refused:
            answer: Json = None if reply.result is UNSET else reply.result
            return _tolerable(
                Difference(
                    expect.clauses,
                    f"{op} error",
                    answer,
                    (),
                    plain(expect.error),
                    MISSING,
                    f"{op} should have been refused, but answered",
                ),
                matching,
            )
        return matching.annotated(expect.error, _json(reply.error), expect.clauses, f"{op} error")
    if refused:
        return _tolerable(
            Difference(
                expect.clauses,
                f"{op} error",
                _json(reply.error),
                (),
                MISSING,
                _json(reply.error),
                f"{op} should have answered, but was refused",
            ),
            matching,
        )
    if expect.result is UNCHECKED:
        return None
    if expect.result is None and reply.result is None:
        matching.hold(expect.clauses)
        return None
    return matching.annotated(expect.result, _json(reply.result), expect.clauses, f"{op} result")


def _tolerable(difference: Difference, matching: Matching) -> Difference | None:
    return None if matching.tolerate(difference) else difference


def _json(value: object) -> Json:
    """A member of a reply, absent as null."""
    return None if value is UNSET else value  # type: ignore[return-value]


def command_of(step: Step) -> JsonMap:
    """A step's command alone, as scenarios write it."""
    return {"do": step.op, **({"args": step.args} if step.args else {})}
