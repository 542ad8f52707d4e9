"""Draws the phase machine where the specification speaks of it: an MkDocs hook, named in mkdocs.yml.

The marker `<!-- the phase machine as a diagram -->` becomes the diagram of the reference's table, with a word about
whose it is: the page's own tables are the ones that bind.
"""

import sys
from pathlib import Path
from typing import Final

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page

# MkDocs loads a hook by its file; what it shares with the scripts stands there.
sys.path.append(str(Path(__file__).resolve().parent.parent))

from gen_phase_diagram import diagram

MARKER: Final = "<!-- the phase machine as a diagram -->"
TABLE: Final = "design/phase-machine.md"

CAPTION: Final = """\
The changes of phase and signal, drawn from the [table of the reference]({table}) in its words for the inputs: a waking
send is `send-waking` and then `wake`, and a cancel that aborts is `abort`.
"""


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001 - the interface of MkDocs
    """Put the diagram at the marker."""
    if MARKER not in markdown:
        return markdown
    depth = page.file.src_uri.count("/")
    drawn = "\n".join(["```mermaid", *diagram(), "```"])
    return markdown.replace(MARKER, f"{CAPTION.format(table='../' * depth + TABLE)}\n{drawn}")
