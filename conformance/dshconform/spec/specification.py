"""The specification as one value: its clauses, their groups, its rulings and its retired numbers."""

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Final, Literal

from dshconform.spec.clause import Clause, Level, Problem, Profile, Retired, Ruling
from dshconform.spec.mentions import mentioned_ids
from dshconform.spec.pages import page_paths, spec_root
from dshconform.spec.parse import Page, parse_page

_SHOWN_NEAR_MISSES: Final = 5


class MalformedSpecification(ValueError):
    """A page is not well-formed, so that no complete set of clauses can be read.

    Args:
        problems: What is wrong, and where.
    """

    def __init__(self, problems: Sequence[Problem]) -> None:
        shown = "\n".join(f"  {problem}" for problem in problems)
        super().__init__(f"the specification is malformed; run `python -m dshconform.spec.lint`:\n{shown}")
        self.problems: Final = tuple(problems)


class UnknownClause(LookupError):
    """No clause, or no group of clauses, has the given name.

    Args:
        name: What was asked for.
        near: Names that were perhaps meant, best first.
        retired: The entry of the retired number, where the name is one.
        kind: What the name was taken for.
    """

    def __init__(
        self,
        name: str,
        near: Sequence[str],
        retired: Retired | None = None,
        kind: Literal["clause", "group"] = "clause",
    ) -> None:
        super().__init__(name, near, retired, kind)
        self.name: Final = name
        self.near: Final = tuple(near)
        self.retired: Final = retired
        self.kind: Final = kind

    def __str__(self) -> str:
        if self.retired is not None:
            return f"clause {self.name!r} is retired; the fact stands now in {self.retired.now}"
        if self.near:
            return f"no {self.kind} {self.name!r} in the specification; near misses: {', '.join(self.near)}"
        return f"no {self.kind} {self.name!r} in the specification; `dshconform list clauses` names all clauses"


@dataclass(frozen=True, slots=True)
class Specification:
    """All clauses of the specification, in the order of its pages.

    Args:
        clauses: Each clause under its id.
        rulings: Each ruling under its id.
        retired: Each retired number under its id.
    """

    clauses: Mapping[str, Clause]
    rulings: Mapping[str, Ruling]
    retired: Mapping[str, Retired]

    def clause(self, clause_id: str) -> Clause:
        """Look a clause up.

        Args:
            clause_id: Its id; capitals do not matter.

        Returns:
            The clause.

        Raises:
            UnknownClause: There is none; the error carries the near misses.
        """
        name = clause_id.upper()
        found = self.clauses.get(name)
        if found is None:
            raise UnknownClause(clause_id, self.near_misses(name), self.retired.get(name))
        return found

    @property
    def groups(self) -> tuple[str, ...]:
        """The groups, `AREA-TOPIC`, in the order of the pages."""
        return tuple(dict.fromkeys(clause.group for clause in self.clauses.values()))

    @property
    def areas(self) -> tuple[str, ...]:
        """The areas, in the order of the pages."""
        return tuple(dict.fromkeys(clause.area for clause in self.clauses.values()))

    def select(
        self, *, profiles: Iterable[Profile] = (), levels: Iterable[Level] = (), groups: Iterable[str] = ()
    ) -> tuple[Clause, ...]:
        """List the clauses that fit a choice of profiles, levels and groups.

        Args:
            profiles: The profiles wanted; none means all.
            levels: The levels wanted; none means all.
            groups: Names of groups (`AREA-TOPIC`) or whole areas (`AREA`); none means all, capitals do not matter.

        Returns:
            The clauses that fit all three.

        Raises:
            UnknownClause: One of the groups does not exist; the error carries the near misses.
        """
        wanted_profiles = set(profiles) or set(Profile)
        wanted_levels = set(levels) or set(Level)
        known = {*self.groups, *self.areas}
        wanted_groups = {name.upper(): name for name in groups}
        for wanted, name in wanted_groups.items():
            if wanted not in known:
                raise UnknownClause(name, _nearest(wanted, known), kind="group")
        return tuple(
            clause
            for clause in self.clauses.values()
            if clause.profile in wanted_profiles
            and clause.level in wanted_levels
            and (not wanted_groups or clause.group in wanted_groups or clause.area in wanted_groups)
        )

    def near_misses(self, name: str) -> list[str]:
        """Name the clauses that were perhaps meant.

        Args:
            name: An id that no clause has.

        Returns:
            For a group or an area, its clauses; otherwise the ids that look most like it.
        """
        wanted = name.upper()
        if wanted in self.retired:
            return list(mentioned_ids(self.retired[wanted].now))
        members = [clause.id for clause in self.clauses.values() if wanted in {clause.group, clause.area}]
        return members[:_SHOWN_NEAR_MISSES] or _nearest(wanted, self.clauses)


def read_pages(root: Path) -> list[Page]:
    """Read every page, whatever is wrong with it.

    Args:
        root: The directory that holds the pages.

    Returns:
        The pages in reading order; `Page.problems` says what is wrong.
    """
    return [parse_page(path.name, path.read_text(encoding="utf-8")) for path in page_paths(root)]


def duplicate_ids(pages: Sequence[Page]) -> list[Problem]:
    """Find ids that more than one clause, ruling or retired number has.

    Args:
        pages: All pages.

    Returns:
        A problem for each use of an id after its first.
    """
    problems: list[Problem] = []
    first: dict[str, str] = {}
    for page in pages:
        declared = [*page.declared]
        declared += [(ruling.id, ruling.line) for ruling in page.rulings]
        declared += [(retired.id, retired.line) for retired in page.retired]
        for name, line in sorted(declared, key=lambda entry: entry[1]):
            place = f"{page.name}:{line}"
            if name in first:
                message = f"{name} stands already at {first[name]}; an id is used once, and a retired one never again"
                problems.append(Problem(page=page.name, line=line, rule="duplicate", message=message))
            first.setdefault(name, place)
    return problems


def read_specification(root: Path) -> Specification:
    """Read the specification from a directory.

    Args:
        root: The directory that holds the pages.

    Returns:
        Its clauses, rulings and retired numbers.

    Raises:
        MalformedSpecification: A page is not well-formed.
    """
    pages = read_pages(root)
    problems = [problem for page in pages for problem in page.problems]
    problems += duplicate_ids(pages)
    if problems:
        raise MalformedSpecification(problems)
    return Specification(
        clauses=MappingProxyType({clause.id: clause for page in pages for clause in page.clauses}),
        rulings=MappingProxyType({ruling.id: ruling for page in pages for ruling in page.rulings}),
        retired=MappingProxyType({retired.id: retired for page in pages for retired in page.retired}),
    )


@cache
def load_specification() -> Specification:
    """Read the specification that belongs to this package, once.

    Returns:
        Its clauses, rulings and retired numbers.

    Raises:
        SpecificationMissing: The pages are not where they belong.
        MalformedSpecification: A page is not well-formed.
    """
    return read_specification(spec_root())


def _nearest(name: str, names: Iterable[str]) -> list[str]:
    candidates = difflib.get_close_matches(name, list(names), n=4 * _SHOWN_NEAR_MISSES, cutoff=0.6)

    def distance(candidate: str) -> tuple[float, str]:
        return -difflib.SequenceMatcher(None, candidate, name).ratio(), candidate

    return sorted(candidates, key=distance)[:_SHOWN_NEAR_MISSES]
