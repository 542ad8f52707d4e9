"""Writes docs/data/status.json and the page about it from the reports of runs.

An implementation that no report is about keeps what is published of it.

    scripts/conform --json reference.json
    scripts/publish reference.json              publishes the run
    scripts/publish --check reference.json      says where it differs from what is published
    scripts/publish --check                     says whether the files are whole, and the page follows from the data
"""

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec
from check_citations import Listed, read_listed
from evidencing.statuses import (
    EMPTY,
    NOT_BOUND,
    WORDS,
    Run,
    Standing,
    Statuses,
    UnfitReport,
    defects,
    differences,
    published,
    read_statuses,
    standings,
    statuses_text,
)

from dshconform.report.json_report import ReportError, read_report
from dshconform.spec.clause import Profile
from dshconform.spec.specification import Specification, load_specification
from dshconform.yaml_text import YamlError

DOCS: Final = Path(__file__).resolve().parent.parent / "docs"
DATA: Final = DOCS / "data" / "status.json"
PAGE: Final = DOCS / "design" / "status.md"
LISTED: Final = DOCS / "data" / "uncited.yaml"
"""What is published, the page about it, and which sheets are implemented."""

INTRODUCTION: Final = """\
# Published runs

<!-- Generated from docs/data/status.json: run scripts/publish, do not edit this page. -->

The last run of each implementation that was published. What it said of a clause stands behind the clause on its page;
all of it is [data/status.json](../data/status.json).
"""


def page(statuses: Statuses, specification: Specification, listed: Listed) -> str:
    """Writes the page.

    Args:
        statuses: What is published.
        specification: All clauses.
        listed: What is implemented of them.
    """
    parts = [INTRODUCTION, *_table(("run", "implementation", "suite", "specification", "seed", "examples", "verdict"))]
    parts += (_row([run.name, f"{run.implementation} {run.version}", *_settings(run)]) for run in statuses.runs)
    later = " and ".join(f"`{profile}`" for profile in unbuilt(specification, listed))
    if later:
        parts += ["", f"Clauses of {later} stand under *no check* because these parts are not built yet."]
        parts += ["Their checks come with them."]
    for run in statuses.runs:
        stand = {clause: _standing(statuses, run, clause) for clause in specification.clauses}
        parts += ["", f"## {run.name}", "", *_counts(stand, specification), ""]
        parts += (
            f"- {clause}, {one.word}: {' '.join(one.reason.split())}" for clause, one in stand.items() if one.reason
        )
    return "\n".join(parts).rstrip() + "\n"


def unbuilt(specification: Specification, listed: Listed) -> Sequence[Profile]:
    """The profiles of which most clauses are implemented later.

    Args:
        specification: All clauses.
        listed: Which sheets are implemented, and without which profiles.
    """
    later = {sheet.page: frozenset(sheet.later) for sheet in listed.complete}
    clauses = specification.clauses.values()
    every = Counter(clause.profile for clause in clauses)
    built = Counter(
        clause.profile for clause in clauses if clause.page in later and clause.profile.value not in later[clause.page]
    )
    return [profile for profile in Profile if built[profile] * 2 < every[profile]]


def _settings(run: Run) -> list[str]:
    return [run.suite, run.specification, str(run.seed), str(run.examples), run.verdict]


def _standing(statuses: Statuses, run: Run, clause: str) -> Standing:
    return next(one for one in standings(statuses, clause) if one.name == run.name)


def _counts(stand: Mapping[str, Standing], specification: Specification) -> Iterator[str]:
    """How many clauses of each profile have each status."""
    counts = Counter((specification.clauses[clause].profile, one.word) for clause, one in stand.items())
    shown = [word for word in (*WORDS.values(), NOT_BOUND) if any(counts[profile, word] for profile in Profile)]
    yield from _table(("profile", *shown), numbers=True)
    for profile in Profile:
        yield _row([profile, *(str(counts[profile, word] or "") for word in shown)])


def _table(head: Sequence[str], *, numbers: bool = False) -> list[str]:
    return [_row(head), _row(["---", *(["---:" if numbers else "---"] * (len(head) - 1))])]


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def main() -> int:
    """Writes the files, or says what is wrong with them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reports", nargs="*", type=Path, metavar="REPORT", help="what `dshconform run --json` wrote")
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if a file is stale")
    options = parser.parse_args()
    specification = load_specification()
    try:
        reports = [read_report(path) for path in options.reports]
        before = read_statuses(DATA) if DATA.exists() else EMPTY
        wanted = published(reports, before, specification.clauses)
        listed = read_listed(LISTED)
    except (OSError, ReportError, UnfitReport, YamlError, msgspec.DecodeError) as error:
        print(error, file=sys.stderr)
        return 2
    texts = {DATA: statuses_text(wanted), PAGE: page(wanted, specification, listed)}
    if options.check:
        told = [*defects(before, specification.clauses)] or [*differences(before, wanted)]
        stale = [path for path, text in texts.items() if not path.exists() or path.read_text("utf-8") != text]
        told += [f"{path.name} is stale" for path in stale if not told]
        for line in told:
            print(f"{line}: run scripts/publish with the reports of fresh runs", file=sys.stderr)
        return 1 if told else 0
    for path, text in texts.items():
        path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
