"""Show under each clause what stands behind it: an MkDocs hook, named in mkdocs.yml behind the one for clauses.

That is the code which implements the clause, linked into the API catalog or, where it is private, to its source, and
the checks and faults that hold it. All of it is read from the sources while the site is built, so it cannot be out of
date.
"""

import re
import sys
from functools import cache
from pathlib import Path
from typing import Final

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page

from dshconform.spec.specification import load_specification

ROOT: Final = Path(__file__).resolve().parent.parent.parent
sys.path.append(str(ROOT / "scripts"))  # MkDocs loads a hook by its file; what it shares with scripts stands there

from evidencing.block import Evidence, Links, block  # noqa: E402 - see above
from evidencing.citations import Place  # noqa: E402
from evidencing.documented import documented, read_anchors, read_drawn  # noqa: E402
from evidencing.gathering import gather  # noqa: E402
from evidencing.holding import Held  # noqa: E402

SPEC: Final = "spec/"
CATALOG: Final = "api/dshcore"
SOURCE: Final = "source/dshcore"
SEQUENCES: Final = "guide/sequences.md"
"""The pages of the specification, those that document the reference, its sources, and the one that draws scenarios."""

_CLAUSE: Final = re.compile(
    r'<h3 class="clause" id="(?P<id>[^"]+)">(?:(?!<h3 ).)*?<div class="clause-parts">.*?</div>', re.DOTALL
)
"""A clause as the hook for clauses writes it, to its end."""


@cache
def _evidence() -> dict[str, Evidence]:
    """What is known: read once, also where the site is built again and again while somebody writes."""
    return dict(gather(ROOT, load_specification().clauses))


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Add its block to every clause of a page.

    Raises:
        PluginError: A clause of the page was not found again.
    """
    if not page.file.src_uri.startswith(SPEC):
        return html
    root = Path(config.docs_dir)
    anchors, drawn = read_anchors(root / CATALOG), read_drawn(root / SEQUENCES)

    def address(target: str, anchor: str) -> str | None:
        file = files.get_file_from_path(target)
        return None if file is None else file.url_relative_to(page.file) + (f"#{anchor}" if anchor else "")

    def code(place: Place) -> str | None:
        found = documented(place, anchors)
        if found is None:
            return address(f"{SOURCE}/{place.file.removesuffix('.py')}.html", place.symbol)
        return address(f"{CATALOG}/{found[0]}", found[1])

    def check(held: Held) -> str | None:
        return address(SEQUENCES, held.name.partition("/")[2]) if held.name in drawn else None

    links = Links(code, check)
    whole, number = _CLAUSE.subn(lambda clause: clause[0] + block(_evidence()[clause["id"]], links), html)
    if number != html.count('<h3 class="clause"'):
        raise PluginError(f"{page.file.src_uri}: some clauses are not rendered as scripts/docs_hooks/clauses.py does")
    return whole
