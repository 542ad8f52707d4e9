"""Ranks the kinds of pages in the search of the documentation site: an MkDocs hook, named in mkdocs.yml.

Whoever looks for a word looks for what it means before where it is programmed, and there are more pages of modules than
of all other kinds together.
"""

from collections.abc import Mapping
from typing import Final

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page

WEIGHTS: Final[Mapping[str, float]] = {
    "api/events.md": 8,
    "guide/events-in-a-trace.md": 8,
    "guide/glossary.md": 32,
    "guide/faq.md": 4,
    "spec/": 4,
    "api/dshcore/": 0.05,
    "api/dshconform/": 0.001,
}
"""What a match on a page, or on the pages of a folder, counts, where one elsewhere counts 1. A word in a title counts a
thousand words in a text: the glossary, one long text without titles, is given more for that, and the last is as much as
to say: after everything else.
"""


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001 - the interface of MkDocs
    """Tell the search what the page counts, where the page itself does not."""
    for place, weight in WEIGHTS.items():
        if page.file.src_uri.startswith(place):
            page.meta.setdefault("search", {"boost": weight})
    return markdown
