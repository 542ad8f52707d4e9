"""Compare the rows that were observed with those that the clauses demand, and name the first difference."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from dshconform.protocol.json_value import Json, JsonMap
from dshconform.protocol.messages import Row
from dshconform.trace.fits import SPECIAL
from dshconform.trace.pattern import MISSING, Difference, Matching, plain
from dshconform.trace.rows import ExpectedRow, row_line, row_subject, row_title

Surplus: TypeAlias = Callable[[Row, Sequence[ExpectedRow]], tuple[str, ...]]
"""Says of a row that is not expected where it stands, and of what is expected from there on, who demands first that it
does not come now."""


def nobody(_: Row, __: Sequence[ExpectedRow]) -> tuple[str, ...]:
    """Who says first that a row may not come now, where that is said by what is expected."""
    return ()


def compare_rows(
    expected: Sequence[ExpectedRow],
    observed: Sequence[Row],
    matching: Matching,
    clauses: tuple[str, ...],
    surplus: Surplus = nobody,
) -> Difference | None:
    """Compare two lists of rows, both in order and both complete.

    A row that differs from what is expected is a different member when both tell of the same thing, else a row too
    many (the expected one comes later) or a missing one. A tolerated row too many is passed over, a tolerated missing
    one is done without.

    Args:
        expected: What must be observed.
        observed: What was, only the kinds that are compared.
        matching: Bound names, counts and tolerance of this world.
        clauses: Blamed for a row that comes after everything expected. One that comes too early or is missing is the
            affair of the clauses that demand the row in that place, and then of these.
        surplus: Who is asked before them about a row that comes where it is not expected.

    Returns:
        The first difference that is not tolerated, or nothing.
    """
    seen = 0
    for at, wanted in enumerate(expected):
        instead = observed[seen] if seen < len(observed) else None
        if instead is not None and matching.fits(wanted.pattern, instead, wanted.clauses):
            seen += 1
            continue
        while instead is not None and not _same_thing(wanted.pattern, instead):
            if not any(_same_thing(wanted.pattern, later) for later in observed[seen + 1 :]):
                break
            blamed = _together((*surplus(instead, expected[at:]), *wanted.clauses), clauses)
            difference = _unexpected(instead, blamed, f"{row_title(instead)} is not expected here")
            if not matching.tolerate(difference):
                return difference
            seen += 1
            instead = observed[seen]
        else:
            if instead is not None:
                found = matching.annotated(wanted.pattern, instead, wanted.clauses, wanted.title)
                if found is not None:
                    return found
                seen += 1
                continue
        difference = _missing(wanted, instead, _together(wanted.clauses, clauses))
        if not matching.tolerate(difference):
            return difference
    for row in observed[seen:]:
        blamed = _together(surplus(row, ()), clauses or (expected[-1].clauses if expected else ()))
        difference = _unexpected(row, blamed, f"{row_title(row)} comes after everything that was expected")
        if not matching.tolerate(difference):
            return difference
    return None


@dataclass(frozen=True, slots=True)
class Alignment:
    """Expected and observed rows beside each other, one line of text each, for people to read.

    Args:
        pairs: Expected and observed; `MISSING` where one side has no row. An observed row shows what the expectation
            names of it, and how what it tells of has ended.
        first: The place of the first pair that differs.
    """

    pairs: tuple[tuple[str, str], ...] = ()
    first: int | None = None


_CARRIERS: Final = frozenset({"event", "payload"})
_OUTCOME: Final = frozenset({"result", "value", "error"})
"""How something ended is shown whether the expectation names it or not."""

NO_ROWS: Final = Alignment()
"""Where rows were not compared."""


def align(
    expected: Sequence[ExpectedRow], observed: Sequence[Row], tolerate: Callable[[Difference], bool]
) -> Alignment:
    """Put rows beside each other as `compare_rows` matches them.

    Args:
        expected: The rows that are demanded, in order.
        observed: All rows that there are, in order.
        tolerate: Says of a difference whether a ledger accepts it.

    Returns:
        Pairs of lines, with the place of the first that differs.
    """
    pairs: list[tuple[str, str]] = []
    first: int | None = None
    matching = Matching(tolerate)
    for wanted, row in _paired(expected, observed):
        left = MISSING if wanted is None else _expected_line(wanted)
        shown = row if row is None or wanted is None else _projected(row, wanted.pattern, always=_OUTCOME)
        right = MISSING if shown is None else row_line(shown)
        alike = (
            wanted is not None
            and row is not None
            and matching.annotated(wanted.pattern, row, wanted.clauses, wanted.title) is None
        )
        if not alike and first is None:
            first = len(pairs)
        pairs.append((left, right))
    return Alignment(tuple(pairs), first)


def _paired(
    expected: Sequence[ExpectedRow], observed: Sequence[Row]
) -> Iterator[tuple[ExpectedRow | None, Row | None]]:
    seen = 0
    for wanted in expected:
        ahead = next((at for at in range(seen, len(observed)) if _same_thing(wanted.pattern, observed[at])), None)
        if ahead is None:
            yield wanted, None
            continue
        for row in observed[seen:ahead]:
            yield None, row
        yield wanted, observed[ahead]
        seen = ahead + 1
    for row in observed[seen:]:
        yield None, row


def _projected(value: JsonMap, pattern: Json, *, always: frozenset[str] = frozenset()) -> JsonMap:
    """An object, of which only the members that a pattern names are kept: all, where others would be a difference."""
    while isinstance(pattern, Mapping) and "$by" in pattern:
        pattern = pattern.get("is")
    if not isinstance(pattern, Mapping) or not SPECIAL.isdisjoint(pattern):
        return value
    kept: dict[str, Json] = {}
    for key, item in value.items():
        if key in pattern or key in always:
            deeper = isinstance(item, Mapping) and key in _CARRIERS
            kept[key] = _projected(item, pattern[key]) if deeper and isinstance(item, Mapping) else item
    return kept


def _expected_line(wanted: ExpectedRow) -> str:
    """Write an expected row as one line, without its annotations."""
    pattern = plain(wanted.pattern)
    assert isinstance(pattern, dict)
    return row_line(pattern)


def _same_thing(pattern: JsonMap, row: Row) -> bool:
    """Whether two rows tell of the same thing: then the difference is in a member, not in the order."""
    return pattern["on"] == row["on"] and row_subject(pattern) == row_subject(row)


def _together(first: tuple[str, ...], then: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*first, *then)))


def _missing(wanted: ExpectedRow, instead: Row | None, clauses: tuple[str, ...]) -> Difference:
    sentence = f"{wanted.title} is missing"
    if instead is not None:
        sentence += f": {row_title(instead)} stands in its place"
    observed = MISSING if instead is None else row_line(instead)
    return Difference(clauses, wanted.title, MISSING, (), _expected_line(wanted), observed, sentence)


def _unexpected(row: Row, clauses: tuple[str, ...], sentence: str) -> Difference:
    return Difference(clauses, row_title(row), row, (), MISSING, row_line(row), sentence)
