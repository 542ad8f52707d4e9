"""Shows the sources on the documentation site: an MkDocs hook, named in mkdocs.yml.

Every module of both packages gets a page with its text when the site is built: in neither the navigation nor the
search, and outside the theme, in which so many pages would take longer than all others. What a module defines has an
anchor there, private or not.

Documents link sources as they lie in the repository, and name a symbol, not a line, which would be out of date:
`../../reference/dshcore/agent_loop/driver.py#Driver._run_step`. On the site such a link leads to the page of the
module. One that does not arrive is a warning, which `mkdocs build --strict` turns into a failure. In the API catalog
the file of a module and all its definitions are linked without that.
"""

import ast
import re
import sys
from functools import cache
from html import escape
from itertools import groupby
from pathlib import Path
from posixpath import dirname, join, normpath, relpath
from string import Template
from typing import Final

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.plugins import get_plugin_logger
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from mkdocs.utils import get_relative_url
from pygments.lexers.python import PythonLexer  # type: ignore[import-untyped]  # it has no annotations
from pygments.token import Comment, Keyword, Name, Number, String, is_token_subtype  # type: ignore[import-untyped]

sys.path.append(str(Path(__file__).resolve().parent.parent))  # MkDocs loads a hook by its file

from evidencing.citations import spans_in

PACKAGES: Final = ("reference/dshcore", "conformance/dshconform")
SOURCE: Final = "source"
CATALOG: Final = "api"
STYLE: Final = "assets/source.css"
ICON: Final = "assets/images/favicon.png"
"""Where things stand: the packages in the repository; these pages, the catalog, the style and the icon on the site."""

_PAGE: Final = Template((Path(__file__).parent / "source_page.html").read_text(encoding="utf-8"))
_COLOURED: Final = {
    Comment: "comment",
    Keyword: "keyword",
    Name.Class: "name",
    Name.Decorator: "name",
    Name.Function: "name",
    Number: "number",
    String: "string",
}
_LOG: Final = get_plugin_logger("source_pages")
_PATH: Final = rf"(?:{'|'.join(PACKAGES)})/[\w/]+\.py"
_LINK: Final = re.compile(r"\]\((?P<path>(?:\.\./)+[\w/]+\.py)(?:#(?P<symbol>[\w.]+))?\)")
_NAMED: Final = re.compile(rf"^`({_PATH})`$", re.MULTILINE)
_FILE: Final = re.compile(rf'<p><a href="([^"]+)"><code>({_PATH})</code></a></p>')
_DEFINED: Final = re.compile(r'(<h\d class="api [^"]*" id="([^"]+)">.*?)(?=<a class="headerlink")')


@cache
def listing(source: str) -> str:
    """Write the text of a module in HTML.

    Args:
        source: The text.

    Returns:
        The same, with its kinds of words told apart, and an anchor where the lines of each definition begin.
    """
    words = groupby(PythonLexer(stripnl=False).get_tokens(source), lambda token: _colour(token[0]))
    coloured = "".join(_word(colour, "".join(text for _, text in tokens)) for colour, tokens in words)
    lines = coloured.split("\n")
    first_lines: dict[str, int] = {}
    for span in spans_in(ast.parse(source)):
        first_lines.setdefault(span.symbol, span.first)  # another of the same name, as a setter, stands close behind
    for symbol, line in first_lines.items():
        lines[line - 1] = f'<span id="{symbol}"></span>{lines[line - 1]}'
    return "\n".join(lines)


@cache
def _colour(kind: object) -> str | None:
    return next((colour for coloured, colour in _COLOURED.items() if is_token_subtype(kind, coloured)), None)


def _word(colour: str | None, text: str) -> str:
    return escape(text) if colour is None else f'<span class="{colour}">{escape(text)}</span>'


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Put the sources on the site."""
    root = Path(config.docs_dir).parent
    for file in (file for package in PACKAGES for file in sorted((root / package).rglob("*.py"))):
        path = file.relative_to(root).as_posix()
        address = _address(path)
        documented = files.get_file_from_path(re.sub(r"__init__\.md$", "index.md", _address(path, CATALOG, ".md")))
        page = _PAGE.substitute(
            path=path,
            style=get_relative_url(STYLE, address),
            icon=get_relative_url(ICON, address),
            home=get_relative_url("index.html", address),
            site=escape(config.site_name),
            documented=f' · <a href="{get_relative_url(documented.url, address)}">{CATALOG}</a>' if documented else "",
            listing=listing(file.read_text(encoding="utf-8")),
        )
        files.append(File.generated(config, address, content=page))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Lead links to their sources, and link the file that a page of the catalog is about."""
    own = page.file.src_uri
    docs = Path(config.docs_dir).name

    def lead(link: re.Match[str]) -> str:
        return f"]({_linked(own, normpath(join(docs, dirname(own), link['path'])), link['symbol'], files)})"

    led = _LINK.sub(lead, markdown)
    if not own.startswith(f"{CATALOG}/"):
        return led
    return _NAMED.sub(lambda name: f"[{name[0]}]({_linked(own, name[1], None, files)})", led)


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001 - the interface of MkDocs
    """Link every definition on a page of the catalog to its source."""
    own = page.file.src_uri
    file = _FILE.search(html) if own.startswith(f"{CATALOG}/") else None
    if file is None:
        return html

    def link(heading: re.Match[str]) -> str:
        target = _linked(own, file[2], heading[2], files)
        return f'{heading[1]}<a class="api-source" data-search-exclude href="{target}">source</a>'

    return _DEFINED.sub(link, html)


def _linked(own: str, path: str, symbol: str | None, files: Files) -> str:
    """The link from a page to a source, which is the same between their files as between their addresses."""
    anchor = f"#{symbol}" if symbol else ""
    file = files.get_file_from_path(_address(path))
    if file is None or (symbol and f'<span id="{symbol}">' not in file.content_string):
        _LOG.warning("%s links to %s%s, which is not there", own, path, anchor)
    return relpath(_address(path), dirname(own)) + anchor


def _address(path: str, place: str = SOURCE, kind: str = ".html") -> str:
    return f"{place}/{path.partition('/')[2].removesuffix('.py')}{kind}"
