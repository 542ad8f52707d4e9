"""Writes docs/api from the docstrings of both packages; with --check only compares, and looks for what is missing.

Nothing is imported: the sources are read. The pages name every public module, class, function and constant, the
services by their keys, and the events with who dispatches them and who listens. `--check` fails where

- a page is not what the sources say;
- a public name has no docstring, or one that leaves out parameters, the answer, errors or, in a coroutine,
  cancellation;
- an event is dispatched in another mode than it declares, never, or by a key that cannot be seen;
- a docstring cites a clause that does not exist.

    scripts/gen_api_catalog.py
    scripts/gen_api_catalog.py --check
"""

import argparse
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from cataloguing.defects import defects_of_citations, defects_of_events, defects_of_names
from cataloguing.keys import event_keys, service_keys
from cataloguing.pages import FOLDER, Catalog, pages
from cataloguing.reading import Package, read_package
from cataloguing.sites import sites

from dshconform.spec.specification import load_specification

ROOT: Final = Path(__file__).resolve().parent.parent
PACKAGES: Final[Mapping[str, str]] = {"dshcore": "reference", "dshconform": "conformance"}
"""The packages, each with the folder that it stands in."""


def read_catalog(root: Path, packages: Mapping[str, str]) -> Catalog:
    """Read packages, and what they declare.

    Args:
        root: The root of the repository.
        packages: Their names, each with the folder that it stands in.

    Returns:
        Everything that the pages are made of; events and services are those of the first package.
    """
    read = [read_package(root / folder, name, root) for name, folder in packages.items()]
    core: Package = read[0]
    events = tuple(event_keys(core))
    found = tuple(sites(core, frozenset(key.path for key in events)))
    return Catalog(read, events, tuple(service_keys(core)), found)


def defects(catalog: Catalog, known: frozenset[str]) -> Iterator[str]:
    """Everything that is wrong with the sources.

    Args:
        catalog: What was read.
        known: The ids of all clauses and rulings.
    """
    for package in catalog.packages:
        yield from defects_of_names(package)
        yield from defects_of_citations(package, known)
    yield from defects_of_events(catalog.events, catalog.sites)


def stale(written: Mapping[str, str], folder: Path) -> Iterator[str]:
    """Pages that are not what the sources say.

    Args:
        written: What they should be, by their path in the folder.
        folder: Where they are.
    """
    there = {path.relative_to(folder).as_posix() for path in folder.rglob("*.md")}
    for path in sorted(there | written.keys()):
        if path not in written:
            yield f"{FOLDER}/{path} is about what is no more: run scripts/gen_api_catalog.py"
        elif path not in there or (folder / path).read_text("utf-8") != written[path]:
            yield f"{FOLDER}/{path} is not what the sources say: run scripts/gen_api_catalog.py"


def main() -> int:
    """Write the pages, or compare them; 1 where something is wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="change nothing; exit with 1 where something is wrong")
    arguments = parser.parse_args()
    catalog = read_catalog(ROOT, PACKAGES)
    written = pages(catalog)
    folder = ROOT / FOLDER
    if arguments.check:
        specification = load_specification()
        wrong = [
            *defects(catalog, frozenset({*specification.clauses, *specification.rulings})),
            *stale(written, folder),
        ]
        for line in wrong:
            print(line)
        return 1 if wrong else 0
    for page in folder.rglob("*.md"):
        if page.relative_to(folder).as_posix() not in written:
            page.unlink()
    for path, text in written.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
