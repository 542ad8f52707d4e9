"""Check the pages of the specification, and whoever cites them.

    python -m dshconform.spec.lint             the pages
    python -m dshconform.spec.lint PATH …      also every clause that these files mention

The form of one clause is checked where it is read (`parse`). The rules here are about the pages as a whole. Each is a
function from all pages to problems, and stands in `RULES`.
"""

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, TypeAlias

import click

from dshconform.spec.clause import Problem, Profile
from dshconform.spec.markdown import CODE_SPAN
from dshconform.spec.mentions import RULING_ID, find_group_mentions, mentioned_ids
from dshconform.spec.pages import spec_root
from dshconform.spec.parse import Page
from dshconform.spec.specification import duplicate_ids, read_pages

Rule: TypeAlias = Callable[[Sequence[Page]], Iterable[Problem]]
"""Finds what is wrong with pages, all of which it gets at once."""

_INDEX: Final = "index.md"
_BASIS: Final = re.compile(r"(seed\+rc\.8|seed|rc\.8|ruling R-\d{2})(?=$|[;,]? )")
_RAW_HTML: Final = re.compile(r"</?[A-Za-z][^<>]*>")
_CITING_SUFFIXES: Final = frozenset({".py", ".md", ".yaml", ".yml", ".json", ".mjs", ".toml"})


def _form(pages: Sequence[Page]) -> Iterator[Problem]:
    """Every clause, ruling and retired number is well-formed: one level, one profile, a text, three bullets."""
    for page in pages:
        yield from page.problems


def _one_title(pages: Sequence[Page]) -> Iterator[Problem]:
    """Every page has exactly one heading of level one, and it comes first."""
    for page in pages:
        headings = [(line, text) for line, text in page.prose if re.match(r"#{1,6}\s", text)]
        titles = [line for line, text in headings if text.startswith("# ")]
        if len(titles) != 1 or titles[0] != headings[0][0]:
            message = f"{len(titles)} headings of level one; a page begins with one and has no other"
            yield Problem(page=page.name, line=titles[-1] if titles else 1, rule="title", message=message)


def _ascending_groups(pages: Sequence[Page]) -> Iterator[Problem]:
    """The clauses of a group stand on one page, their numbers ascending."""
    last: dict[str, tuple[str, str]] = {}
    for page in pages:
        for name, line in page.declared:
            group = name.rpartition("-")[0]
            home, before = last.get(group, (page.name, ""))
            last[group] = (home, name)
            if home != page.name:
                message = f"{name} stands apart from its group, which is on {home}"
                yield Problem(page=page.name, line=line, rule="group", message=message)
            elif before > name:
                message = f"{name} stands behind {before}; the numbers of a group ascend"
                yield Problem(page=page.name, line=line, rule="group", message=message)


def _known_references(pages: Sequence[Page]) -> Iterator[Problem]:
    """Every clause that is mentioned exists; a retired one is mentioned only where it is retired."""
    clauses = {name for page in pages for name, _ in page.declared}
    retired = {entry.id: entry for page in pages for entry in page.retired}
    for page in pages:
        retiring = {entry.line for entry in page.retired}
        for line, text in page.prose:
            for name in mentioned_ids(text):
                if name in clauses or (name in retired and line in retiring):
                    continue
                why = f"is retired; cite {retired[name].now}" if name in retired else "does not exist"
                yield Problem(page=page.name, line=line, rule="reference", message=f"clause {name} {why}")


def _known_groups(pages: Sequence[Page]) -> Iterator[Problem]:
    """A word `AREA-TOPIC` whose area exists names a group that exists."""
    groups = {name.rpartition("-")[0] for page in pages for name, _ in page.declared}
    groups |= {entry.id.rpartition("-")[0] for page in pages for entry in page.retired}
    areas = {group.partition("-")[0] for group in groups}
    for page in pages:
        for line, text in page.prose:
            for area, word in find_group_mentions(text):
                if area in areas and word not in groups:
                    yield Problem(page=page.name, line=line, rule="reference", message=f"group {word} does not exist")


def _basis_form(pages: Sequence[Page]) -> Iterator[Problem]:
    """A basis begins with `seed`, `rc.8`, `seed+rc.8` or `ruling R-NN`; a remark may follow."""
    for page in pages:
        for clause in page.clauses:
            if _BASIS.match(clause.basis) is None:
                message = f"{clause.id} has basis {clause.basis!r}; begin with seed, rc.8, seed+rc.8 or ruling R-NN"
                yield Problem(page=page.name, line=clause.line, rule="basis", message=message)


def _known_rulings(pages: Sequence[Page]) -> Iterator[Problem]:
    """Every ruling that is mentioned exists, and every ruling is the basis of a clause."""
    rulings = {ruling.id: ruling for page in pages for ruling in page.rulings}
    for page in pages:
        for line, text in page.prose:
            for name in RULING_ID.findall(text):
                if name not in rulings:
                    yield Problem(page=page.name, line=line, rule="ruling", message=f"ruling {name} does not exist")
    applied = {name for page in pages for clause in page.clauses for name in clause.rulings}
    for ruling in rulings.values():
        if ruling.id not in applied:
            message = f"ruling {ruling.id} decides no clause; a clause that it decides has `basis: ruling {ruling.id}`"
            yield Problem(page=ruling.page, line=ruling.line, rule="ruling", message=message)


def _reference_in_process(pages: Sequence[Page]) -> Iterator[Problem]:
    """A clause of profile `reference` is checked in process, and says so."""
    for page in pages:
        for clause in page.clauses:
            if (
                clause.profile is Profile.REFERENCE
                and re.search(r"\bin[- ]process\b", clause.observe, re.IGNORECASE) is None
            ):
                message = f"{clause.id} binds the reference alone; its `observe` begins with `in process`"
                yield Problem(page=page.name, line=clause.line, rule="in-process", message=message)


def _no_raw_html(pages: Sequence[Page]) -> Iterator[Problem]:
    """A placeholder in angle brackets stands in a code span, as Markdown would swallow it otherwise."""
    for page in pages:
        for line, text in page.prose:
            for tag in _RAW_HTML.findall(CODE_SPAN.sub("", text)):
                message = f"{tag} would not be shown; put it into a code span"
                yield Problem(page=page.name, line=line, rule="html", message=message)


def _index_complete(pages: Sequence[Page]) -> Iterator[Problem]:
    """The index links every page, and no page that does not exist."""
    index = next((page for page in pages if page.name == _INDEX), None)
    if index is None:
        yield Problem(
            page=_INDEX, line=1, rule="index", message="there is no index page; add one that links every page"
        )
        return
    linked = {name: line for line, text in index.prose for name in re.findall(r"\]\(([\w-]+\.md)(?:#[\w-]+)?\)", text)}
    names = {page.name for page in pages} - {_INDEX}
    for name in sorted(names - linked.keys()):
        yield Problem(page=_INDEX, line=1, rule="index", message=f"{name} is not linked from the index")
    for name in sorted(linked.keys() - names):
        yield Problem(page=_INDEX, line=linked[name], rule="index", message=f"{name} is linked but does not exist")


RULES: Final[tuple[Rule, ...]] = (
    _form,
    duplicate_ids,
    _one_title,
    _ascending_groups,
    _known_references,
    _known_groups,
    _basis_form,
    _known_rulings,
    _reference_in_process,
    _no_raw_html,
    _index_complete,
)
"""All rules about pages, in the order in which their problems are told."""


def lint_pages(pages: Sequence[Page]) -> list[Problem]:
    """Apply every rule.

    Args:
        pages: All pages.

    Returns:
        What is wrong, by page and line.
    """
    found = [problem for rule in RULES for problem in rule(pages)]
    return sorted(found, key=lambda problem: (problem.page, problem.line, problem.rule))


def lint_citations(pages: Sequence[Page], files: Iterable[Path]) -> list[Problem]:
    """Check the clauses that other files mention.

    Args:
        pages: All pages.
        files: Text files: source code, scenarios, documentation.

    Returns:
        A problem for every mention of a clause that does not exist or is retired.
    """
    clauses = {name for page in pages for name, _ in page.declared}
    retired = {entry.id: entry for page in pages for entry in page.retired}
    problems: list[Problem] = []
    for path in files:
        for line, text in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
            for name in mentioned_ids(text):
                if name in clauses:
                    continue
                why = f"is retired; cite {retired[name].now}" if name in retired else "does not exist"
                problems.append(Problem(page=str(path), line=line, rule="citation", message=f"clause {name} {why}"))
    return problems


def find_citing_files(paths: Iterable[Path], root: Path) -> Iterator[Path]:
    """Find the files that may cite clauses.

    Args:
        paths: Files, and directories to search; hidden ones in them and foreign packages are passed over.
        root: The directory of the pages, which are checked by the rules and are therefore left out.

    Yields:
        The files given, and the source code, Markdown, YAML, JSON and TOML in the directories.
    """
    for path in paths:
        if not path.is_dir():
            yield path
            continue
        for file in sorted(path.rglob("*")):
            inside = file.relative_to(path).parts
            hidden = any(part.startswith(".") or part == "node_modules" for part in inside)
            if file.suffix in _CITING_SUFFIXES and file.is_file() and not hidden and file.resolve().parent != root:
                yield file


@click.command(help="Check the specification's pages, and the clauses that the files at PATH cite.")
@click.argument("paths", nargs=-1, metavar="[PATH]...", type=click.Path(exists=True, path_type=Path))
@click.option(
    "--root", type=click.Path(exists=True, file_okay=False, path_type=Path), help="The directory of the pages."
)
def main(paths: Sequence[Path], root: Path | None) -> None:
    """Print every problem and end with status 1 if there is one.

    Args:
        paths: Files, or directories of them, whose citations are looked up.
        root: The pages, those that the package carries unless given.
    """
    home = (spec_root() if root is None else root).resolve()
    pages = read_pages(home)
    problems = lint_pages(pages) + lint_citations(pages, find_citing_files(paths, home))
    for problem in problems:
        click.echo(problem)
    count = sum(len(page.clauses) for page in pages)
    click.echo(f"{len(pages)} pages, {count} clauses, {len(problems)} problems")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
