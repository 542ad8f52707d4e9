"""Read a page of the specification.

A clause is a heading of level three, its text, and three bullets in this order:

    ### INBOX-CLAIM-01 · must · core
    One to four normative sentences.
    - observe: how an outside observer can tell.
    - violation: a wrong implementation that it rules out.
    - basis: seed+rc.8

Besides clauses, a page may hold a table with the header `| retired | now |`, and the page of rulings one with the
header `| id | question | ruling | clauses touched |`. Whatever is not well-formed becomes a `Problem`; it is never
passed over in silence, and never guessed at.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from dshconform.spec.clause import Clause, Level, Problem, Profile, Retired, Ruling
from dshconform.spec.markdown import split_row
from dshconform.spec.mentions import mentioned_ids

_CLAUSE_HEADING: Final = re.compile(
    r"### (?P<id>[A-Z][A-Z0-9]*-[A-Z][A-Z0-9]*-\d{2}) · (?P<level>\S+) · (?P<profile>\S+)"
)
_RETIRED_HEADER: Final = ("retired", "now")
_RULINGS_HEADER: Final = ("id", "question", "ruling", "clauses touched")
_BULLETS: Final = ("observe", "violation", "basis")

_HEADING: Final = re.compile(r"(?P<marks>#{1,6})\s*(?P<title>.*?)\s*")
_MEANT_AS_CLAUSE: Final = re.compile(r"[A-Za-z][A-Za-z0-9]*-[A-Za-z][A-Za-z0-9]*-\d+\b|.*\s·\s*(?:must|should|may)\b")
_BULLET: Final = re.compile(r"- (?P<name>[a-z]+):(?:\s+(?P<text>.*))?")


@dataclass(frozen=True, kw_only=True, slots=True)
class Page:
    """What stands on one page.

    Args:
        name: Its file name.
        title: Its first heading of level one, or its file name where it has none.
        lines: Its text, line by line.
        prose: The lines outside fenced code blocks, each with its number from 1.
        clauses: The well-formed clauses, in order.
        declared: Id and line of every clause heading, also of a clause that is not well-formed.
        rulings: The rulings, on the page that holds them.
        retired: The numbers that this page retires.
        problems: What is not well-formed.
    """

    name: str
    title: str
    lines: tuple[str, ...]
    prose: tuple[tuple[int, str], ...]
    clauses: tuple[Clause, ...]
    declared: tuple[tuple[str, int], ...]
    rulings: tuple[Ruling, ...]
    retired: tuple[Retired, ...]
    problems: tuple[Problem, ...]


def parse_page(name: str, text: str) -> Page:
    """Read one page.

    Args:
        name: Its file name, as it is to appear in clauses and problems.
        text: Its Markdown.

    Returns:
        What stands on it, with a problem for everything that is not well-formed.
    """
    lines = tuple(text.split("\n"))
    problems: list[Problem] = []
    prose = tuple(_outside_fences(name, lines, problems))
    headings = [(number, heading) for number, line in prose if (heading := _HEADING.fullmatch(line)) is not None]
    titles = [heading["title"] for _, heading in headings if heading["marks"] == "#"]
    clauses: list[Clause] = []
    declared: list[tuple[str, int]] = []
    section = ""
    bounds = [number for number, _ in headings] + [len(lines) + 1]
    for (number, heading), end in zip(headings, bounds[1:], strict=True):
        if _MEANT_AS_CLAUSE.match(heading["title"]) is None:
            section = heading["title"]
            continue
        if (named := _CLAUSE_HEADING.match(lines[number - 1])) is not None:
            declared.append((named["id"], number))
        try:
            # All lines up to the next heading, so that a code block inside a clause is seen as foreign to it.
            clauses.append(_clause(name, section, number, lines[number - 1 : end - 1]))
        except _Malformed as malformed:
            problems.append(Problem(page=name, line=number, rule=malformed.rule, message=malformed.message))
    return Page(
        name=name,
        title=titles[0] if titles else name,
        lines=lines,
        prose=prose,
        clauses=tuple(clauses),
        declared=tuple(declared),
        rulings=tuple(_rulings(name, prose, problems)),
        retired=tuple(_retired(name, prose, problems)),
        problems=tuple(problems),
    )


class _Malformed(Exception):
    def __init__(self, rule: str, message: str) -> None:
        super().__init__(rule, message)
        self.rule: Final = rule
        self.message: Final = message


def _outside_fences(page: str, lines: Sequence[str], problems: list[Problem]) -> Iterator[tuple[int, str]]:
    opened: int | None = None
    for number, line in enumerate(lines, 1):
        if line.startswith("```"):
            opened = number if opened is None else None
        elif opened is None:
            yield number, line
    if opened is not None:
        problems.append(Problem(page=page, line=opened, rule="fence", message="this code block is never closed"))


def _clause(page: str, section: str, line: int, block: Sequence[str]) -> Clause:
    heading = _CLAUSE_HEADING.fullmatch(block[0])
    if heading is None:
        raise _Malformed("heading", f"{block[0]!r} is no clause heading; write `### AREA-TOPIC-NN · level · profile`")
    clause_id, level, profile = heading["id"], heading["level"], heading["profile"]
    if level not in set(Level):
        raise _Malformed("level", f"{clause_id} has level {level!r}; a clause has one of {', '.join(Level)}")
    if profile not in set(Profile):
        raise _Malformed("profile", f"{clause_id} has profile {profile!r}; a clause has one of {', '.join(Profile)}")
    text, bullets = _body(clause_id, block[1:])
    return Clause(
        id=clause_id,
        level=Level(level),
        profile=Profile(profile),
        text=text,
        observe=bullets["observe"],
        violation=bullets["violation"],
        basis=bullets["basis"],
        section=section,
        page=page,
        line=line,
    )


def _body(clause_id: str, body: Sequence[str]) -> tuple[str, dict[str, str]]:
    while body and not body[-1].strip():
        body = body[:-1]
    first_bullet = next((index for index, line in enumerate(body) if line.startswith("- ")), len(body))
    text = "\n".join(body[:first_bullet]).strip()
    if not text:
        raise _Malformed("text", f"{clause_id} states nothing; put its normative sentences before the bullets")
    bullets: list[tuple[str, str]] = []
    for line in body[first_bullet:]:
        if (bullet := _BULLET.fullmatch(line)) is not None:
            bullets.append((bullet["name"], (bullet["text"] or "").strip()))
        elif line.startswith("  ") and line.strip() and bullets:
            name, content = bullets.pop()
            bullets.append((name, f"{content} {line.strip()}"))
        else:
            raise _Malformed("bullets", f"{clause_id}: the line {line!r} belongs to none of its bullets")
    names = tuple(name for name, _ in bullets)
    if names != _BULLETS:
        wanted, found = ", ".join(_BULLETS), ", ".join(names) or "none"
        raise _Malformed("bullets", f"{clause_id} needs the bullets {wanted}, once each, in this order; found: {found}")
    for name, content in bullets:
        if not content:
            raise _Malformed("bullets", f"{clause_id}: its bullet `{name}` is empty")
    return text, dict(bullets)


def _rulings(page: str, prose: Sequence[tuple[int, str]], problems: list[Problem]) -> Iterator[Ruling]:
    for line, cells in _table(prose, _RULINGS_HEADER):
        if len(cells) != len(_RULINGS_HEADER) or re.fullmatch(r"R-\d{2}", cells[0]) is None:
            message = f"{' | '.join(cells)!r} is no ruling; write `| R-NN | question | ruling | clauses touched |`"
            problems.append(Problem(page=page, line=line, rule="ruling", message=message))
            continue
        yield Ruling(id=cells[0], question=cells[1], answer=cells[2], page=page, line=line)


def _retired(page: str, prose: Sequence[tuple[int, str]], problems: list[Problem]) -> Iterator[Retired]:
    for line, cells in _table(prose, _RETIRED_HEADER):
        ids = tuple(mentioned_ids(cells[0]))
        if len(cells) != len(_RETIRED_HEADER) or not ids or not cells[1]:
            message = f"{' | '.join(cells)!r} retires nothing; write `| AREA-TOPIC-NN | where the fact stands now |`"
            problems.append(Problem(page=page, line=line, rule="retired", message=message))
            continue
        for retired in ids:
            yield Retired(id=retired, now=cells[1], page=page, line=line)


def _table(prose: Sequence[tuple[int, str]], header: tuple[str, ...]) -> Iterator[tuple[int, tuple[str, ...]]]:
    inside = False
    for line, text in prose:
        if not text.startswith("|"):
            inside = False
            continue
        cells = split_row(text)
        if not inside:
            inside = cells == header
        elif set("".join(cells)) - set("-: "):  # not the line under the header
            yield line, cells
