"""Compares the must clauses with the lines of the reference that cite them.

A clause is implemented where `reference/dshcore` cites it: in the `Spec:` section of a docstring or in a comment at the
line that enforces it. What no line can cite (an absence, or what holds by construction) stands in
docs/data/uncited.yaml with the test that holds it and one sentence why; of a sheet that is complete, that is less than
one clause in twenty.

    scripts/check_citations.py            a line for each sheet of the specification
    scripts/check_citations.py --missing  and the clauses of the complete sheets that are neither cited nor listed
    scripts/check_citations.py --check    exit with 1 where something is missing, listed in vain or too often
"""

import argparse
import ast
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec
from evidencing.citations import cited_in

from dshconform.spec.clause import Clause, Level
from dshconform.spec.specification import load_specification
from dshconform.yaml_text import YamlError, read_text, read_yaml

ROOT: Final = Path(__file__).resolve().parent.parent
MOST_UNCITED: Final = 0.05


class Sheet(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A sheet that the reference implements.

    Attributes:
        page: Its file.
        later: Profiles of which the clauses are implemented later, if any.
    """

    page: str
    later: tuple[str, ...] = ()


class Uncited(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A clause that no line can cite.

    Attributes:
        clause: Its id.
        test: The test that holds it, as pytest names it from the root: `tests/…/test_x.py::test_name`.
        why: One sentence: why no line can.
    """

    clause: str
    test: str
    why: str


class Listed(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What docs/data/uncited.yaml says."""

    complete: list[Sheet]
    uncited: list[Uncited]


@dataclass(frozen=True, slots=True)
class Count:
    """The must clauses of one sheet, and what has become of them."""

    page: str
    must: int
    cited: int
    listed: int
    missing: Sequence[str]
    complete: bool


def counts(clauses: Sequence[Clause], cited: frozenset[str], listed: Listed) -> Iterator[Count]:
    """Count the clauses of every sheet.

    Args:
        clauses: All that there are.
        cited: The ids that the reference cites.
        listed: Which sheets are complete, and what need not be cited.
    """
    later = {sheet.page: frozenset(sheet.later) for sheet in listed.complete}
    without = {entry.clause for entry in listed.uncited}
    for page in dict.fromkeys(clause.page for clause in clauses):
        must = [
            clause.id
            for clause in clauses
            if clause.page == page and clause.level is Level.MUST and clause.profile.value not in later.get(page, ())
        ]
        missing = [name for name in must if name not in cited and name not in without]
        yield Count(page, len(must), len(cited & set(must)), len(without & set(must)), missing, page in later)


def problems(found: Sequence[Count], cited: frozenset[str], listed: Listed, known: Mapping[str, Clause]) -> list[str]:
    """Say what is wrong, each with its remedy."""
    told: list[str] = []
    for count in found:
        if not count.complete:
            continue
        told += [
            f"{name} of {count.page} is cited nowhere in reference/dshcore: cite it at the code that implements it, "
            "or list it in docs/data/uncited.yaml"
            for name in count.missing
        ]
        if count.listed >= MOST_UNCITED * count.must and count.listed > 0:
            told.append(f"{count.page}: {count.listed} of {count.must} clauses are listed as uncited; under 5 % may be")
    pages = {count.page for count in found}
    told += [f"{sheet.page} is no sheet of the specification" for sheet in listed.complete if sheet.page not in pages]
    order = [entry.clause for entry in listed.uncited]
    if order != sorted(set(order)):
        told.append("the entries of docs/data/uncited.yaml must be sorted by clause, each clause once")
    for entry in listed.uncited:
        if entry.clause not in known:
            told.append(f"{entry.clause} is listed as uncited, but there is no such clause")
        elif entry.clause in cited:
            told.append(f"{entry.clause} is listed as uncited, but the reference cites it: take the entry out")
        if not is_test(entry.test):
            told.append(f"{entry.clause}: there is no test {entry.test!r}")
    return told


def is_test(name: str) -> bool:
    """Whether a test of that name stands in its file."""
    file, _, function = name.partition("::")
    path = ROOT / file
    if not function or not path.is_file():
        return False
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found = [node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    return function.startswith("test_") and function in found


def cited_ids() -> frozenset[str]:
    """The ids that the reference cites."""
    return frozenset(cited_in(ROOT / "reference" / "dshcore"))


def read_listed(path: Path) -> Listed:
    """Read docs/data/uncited.yaml.

    Raises:
        OSError: It cannot be read.
        YamlError: It is no YAML.
        msgspec.ValidationError: It says something else; the message says where.
    """
    return msgspec.convert(read_yaml(read_text(path), path), Listed)


def main() -> int:
    """Print the counts; with --check say what is wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--missing", action="store_true", help="name the clauses that are neither cited nor listed")
    parser.add_argument("--check", action="store_true", help="print only what is wrong; exit with 1 if something is")
    options = parser.parse_args()
    clauses = load_specification().clauses
    cited = cited_ids()
    try:
        listed = read_listed(ROOT / "docs" / "data" / "uncited.yaml")
    except (OSError, YamlError, msgspec.ValidationError) as error:
        print(f"docs/data/uncited.yaml: {error}", file=sys.stderr)
        return 2
    found = list(counts(list(clauses.values()), cited, listed))
    if options.check:
        told = problems(found, cited, listed, clauses)
        print(*told, sep="\n", end="\n" if told else "", file=sys.stderr)
        return 1 if told else 0
    print(f"{'sheet':32} {'must':>5} {'cited':>6} {'listed':>7} {'missing':>8}")
    for count in found:
        print(
            f"{count.page:32} {count.must:5} {count.cited:6} {count.listed:7} {len(count.missing):8}"
            f"  {'complete' if count.complete else ''}".rstrip()
        )
        if options.missing and count.complete:
            print(*(f"    {name}" for name in count.missing), sep="\n", end="\n" if count.missing else "")
    return 0


if __name__ == "__main__":
    sys.exit(main())
