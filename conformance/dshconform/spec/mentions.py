"""Where a text speaks of clauses.

A clause is mentioned by its id. After an id, clauses of the same group are mentioned by their numbers alone, as in
`SEED-VAL-07, -08`, `FACT-CALL-01/02` and the range `SEED-MSG-01 to -04`.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

RULING_ID: Final = re.compile(r"(?<![\w-])R-\d{2}(?![\w-])")
"""The pattern of the id of a ruling in running text."""

_ID: Final = re.compile(r"(?<![\w-])(?P<group>[A-Z][A-Z0-9]*-[A-Z][A-Z0-9]*)-(?P<number>\d{2})(?![\w-])")
_SHORT: Final = re.compile(
    r"(?P<join>,?\s+and\s+|,\s+|\s+to\s+)-(?P<number>\d{2})(?![\w-])|/-?(?P<slashed>\d{2})(?![\w-])"
)
_TO: Final = re.compile(r"\s+to\s+")
_GROUP: Final = re.compile(r"(?<![\w-])(?P<area>[A-Z][A-Z0-9]*)-[A-Z][A-Z0-9]*(?![\w-])")


@dataclass(frozen=True, slots=True)
class Mention:
    """A place in a text that stands for a clause.

    Args:
        id: The full id of the clause.
        start: Index of the first character that stands for it.
        end: Index after the last one.
        after: The ids between the mention before and this one, where the two are the ends of a range.
    """

    id: str
    start: int
    end: int
    after: tuple[str, ...] = ()


def find_mentions(text: str) -> Iterator[Mention]:
    """Find the clauses that a text mentions, in order.

    Args:
        text: Any text; Markdown and source code do.

    Yields:
        One mention for each id and for each number that continues one.
    """
    group, number, end = "", 0, 0
    for match in _ID.finditer(text):
        start = match.start()
        is_range = match["group"] == group and _TO.fullmatch(text, end, start) is not None
        between = _between(group, number, int(match["number"])) if is_range else ()
        group, number, end = match["group"], int(match["number"]), match.end()
        yield Mention(match[0], start, end, between)
        while (short := _SHORT.match(text, end)) is not None:
            part = "slashed" if short["number"] is None else "number"
            upper = int(short[part])
            is_range = part == "number" and short["join"].strip() == "to"
            between = _between(group, number, upper) if is_range else ()
            number, end = upper, short.end()
            # The hyphen belongs to the mention, the words before it do not.
            start = short.start(part) - (1 if text[short.start(part) - 1] == "-" else 0)
            yield Mention(f"{group}-{number:02}", start, end, between)


def mentioned_ids(text: str) -> Iterator[str]:
    """Name the clauses that a text mentions, those inside a range included.

    Args:
        text: Any text.

    Yields:
        Their ids, in the order of the text.
    """
    for mention in find_mentions(text):
        yield from mention.after
        yield mention.id


def find_group_mentions(text: str) -> Iterator[tuple[str, str]]:
    """Find words of the form `AREA-TOPIC`, which may stand for a group of clauses.

    Args:
        text: Any text.

    Yields:
        The area and the whole word.
    """
    for match in _GROUP.finditer(text):
        yield match["area"], match[0]


def _between(group: str, lower: int, upper: int) -> tuple[str, ...]:
    return tuple(f"{group}-{number:02}" for number in range(lower + 1, upper))
