"""Draws diagrams on the documentation site: an MkDocs hook, named in mkdocs.yml.

A fenced block of the language `mermaid` becomes a drawing in the reader's browser. Mermaid comes from npm when the
site is built, and stands beside the pages: the theme would load it from another host. Only pages with a diagram load
it. The theme gives the drawing its colours, light and dark.
"""

from pathlib import Path
from typing import Final

from markdown import Markdown
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.plugins import get_plugin_logger
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from mkdocs.utils import get_relative_url
from pymdownx.superfences import fence_code_format  # type: ignore[import-untyped]  # it has no annotations

from dshconform.adapters.npm import NPM_FILES, Bundle, InstallError, provide, user_cache

MERMAID: Final = Bundle(
    name="docs-mermaid", title="Mermaid", folder=Path(__file__).parent / "mermaid", patterns=NPM_FILES
)
"""The part of Mermaid without mathematics and mind maps: one file that needs no other."""

PACKAGE: Final = "node_modules/@mermaid-js/tiny"
SCRIPT: Final = "assets/mermaid.js"
LICENSE: Final = "assets/mermaid.LICENSE.txt"
SETUP: Final = "assets/diagrams.js"
"""This one is in the sources of the documentation."""

_FILES: Final = {SCRIPT: "dist/mermaid.tiny.js", LICENSE: "LICENSE"}
"""Where a file stands on the site, and where in the package."""

_LOG: Final = get_plugin_logger("diagrams")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Let Markdown mark the sources of diagrams, which the theme looks for."""
    if config.extra.get("without_diagrams"):
        _LOG.info("diagrams are shown as their sources: DOCS_WITHOUT_DIAGRAMS is set")
        return config
    fences = config.mdx_configs.setdefault("pymdownx.superfences", {})
    fences["custom_fences"] = [{"name": "mermaid", "class": "mermaid", "format": _diagram}]
    return config


def _diagram(source: str, language: str, css_class: str, options: dict[str, str], md: Markdown, **more: object) -> str:
    """Mark a diagram, in a box that can be scrolled where the diagram is too wide."""
    marked = fence_code_format(source, language, css_class, options, md, **more)
    return f'<div class="diagram">{marked}</div>'


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Put Mermaid on the site.

    Raises:
        PluginError: It is not installed yet, and cannot be.
    """
    if config.extra.get("without_diagrams"):
        return files
    try:
        folder = provide(MERMAID, user_cache(), _LOG.info, lambda made: (made / PACKAGE).is_dir())
    except InstallError as error:
        raise PluginError(
            f"{error}\n  or: build the site with the sources of its diagrams instead, with DOCS_WITHOUT_DIAGRAMS=true"
        ) from error
    for address, source in _FILES.items():
        files.append(File.generated(config, address, abs_src_path=str(folder / PACKAGE / source)))
    return files


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """Load Mermaid where the page has a diagram, before the theme looks for it.

    Raises:
        PluginError: The theme's pages have no end to put it at.
    """
    if config.extra.get("without_diagrams") or '<pre class="mermaid">' not in output:
        return output
    before, end, after = output.rpartition("</body>")
    if not end:
        raise PluginError(f"{page.file.src_uri}: the page has no </body>, before which its script would stand")
    scripts = "".join(f'<script src="{get_relative_url(name, page.url)}"></script>' for name in (SCRIPT, SETUP))
    return f"{before}{scripts}{end}{after}"
