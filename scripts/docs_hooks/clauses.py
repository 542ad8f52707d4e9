"""Show the specification on the documentation site: an MkDocs hook, named in mkdocs.yml.

The pages are plain Markdown and stay readable without this. For the site it does three things:

- A clause gets its bare id as anchor, so that a permalink survives a change of level or profile, badges for level and
  profile, and its three bullets as a list of labelled parts.
- Wherever a page mentions a clause or a ruling, the mention becomes a link. A mention of something that does not exist
  is a warning, which `mkdocs build --strict` turns into a failure.
- The marker `<!-- clauses by page and profile -->` becomes a table of counts.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, TypeAlias, cast
from xml.etree.ElementTree import Element

from markdown import Markdown
from markdown.extensions import Extension
from markdown.treeprocessors import Treeprocessor
from markdown.util import AtomicString
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.plugins import get_plugin_logger
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page as SitePage
from mkdocs.utils import get_relative_url

from dshconform.spec.clause import Clause, Level, Profile
from dshconform.spec.markdown import CODE_SPAN
from dshconform.spec.mentions import RULING_ID, find_mentions
from dshconform.spec.parse import Page, parse_page
from dshconform.spec.specification import MalformedSpecification, Specification, read_specification

Target: TypeAlias = tuple[str, str]
"""The page of the specification that something stands on, and what a reader is told about it before going there."""

SPEC: Final = "spec"
"""The directory of the specification's pages, under `docs_dir`."""

COUNTS: Final = "<!-- clauses by page and profile -->"

_LOG: Final = get_plugin_logger("clauses")
_UNLINKED: Final = frozenset({"a", "code", "pre", "h1", "h2", "h3", "h4", "h5", "h6"})


def render_clause(clause: Clause) -> str:
    """Write one clause in the Markdown of the site.

    Args:
        clause: The clause.

    Returns:
        A heading with anchor and badges, the text, and a definition list of the three parts.
    """
    heading = (
        f'### {clause.id} <span class="clause-badge clause-badge--{clause.level}">{clause.level}</span> '
        f'<span class="clause-badge">{clause.profile}</span> '
        f'{{: #{clause.id} .clause data-toc-label="{clause.id}" }}'
    )
    parts = [("observe", clause.observe), ("violation", clause.violation), ("basis", clause.basis)]
    listed = [f"{label} {{: .clause-part .clause-part--{label} }}\n:   {content}\n" for label, content in parts]
    return "\n".join(
        [heading, "", clause.text, "", '<div class="clause-parts" markdown="1">', "", *listed, "</div>", ""]
    )


def render_page(page: Page) -> str:
    """Write one page in the Markdown of the site.

    Args:
        page: The page, of the specification or any other.

    Returns:
        Its text, with clauses rendered, anchors at rulings and retired numbers, and tables made fit.
    """
    clauses = {clause.line: clause for clause in page.clauses}
    anchors: dict[int, list[str]] = {}
    entries = [(ruling.line, ruling.id) for ruling in page.rulings]
    entries += [(retired.line, retired.id) for retired in page.retired]
    for row, name in entries:
        anchors.setdefault(row, []).append(name)
    prose = dict(page.prose)
    rendered: list[str] = []
    inside = False
    for number, line in enumerate(page.lines, 1):
        if number in prose and line.startswith("#"):
            inside = number in clauses
            rendered.append(render_clause(clauses[number]) if inside else line)
        elif number in anchors:
            spans = "".join(f'<span id="{name}"></span>' for name in anchors[number])
            rendered.append(_row(line).replace("| ", f"| {spans}", 1))
        elif not inside:
            rendered.append(_row(line) if number in prose and line.startswith("|") else line)
    return "\n".join(rendered)


def _row(line: str) -> str:
    """Take the backslash from a bar in a code span of a table row: other renderers need it, this one shows it."""
    return CODE_SPAN.sub(lambda span: span[0].replace(r"\|", "|"), line)


def render_counts(specification: Specification) -> str:
    """Count the clauses for the index.

    Args:
        specification: All clauses.

    Returns:
        A table of pages by levels, and one of profiles by levels.
    """
    clauses = specification.clauses.values()
    by_page = Counter((f"[{clause.page.partition('-')[0]}]({clause.page})", clause.level) for clause in clauses)
    by_profile = Counter((str(clause.profile), clause.level) for clause in clauses)
    pages = list(dict.fromkeys(row for row, _ in by_page))
    return "\n".join([*_count_table("page", pages, by_page), "", *_count_table("profile", tuple(Profile), by_profile)])


def _count_table(head: str, rows: Sequence[str], counts: Counter[tuple[str, Level]]) -> list[str]:
    def cells(row: str) -> list[int]:
        numbers = [counts[row, level] for level in Level]
        return [*numbers, sum(numbers)]

    lines = [f"| {head} | {' | '.join(Level)} | all |", f"|---|{'---:|' * (len(Level) + 1)}"]
    lines += [f"| {row} | {' | '.join(str(number or '') for number in cells(row))} |" for row in rows]
    totals = [sum(column) for column in zip(*(cells(row) for row in rows), strict=True)]
    return [*lines, f"| **all** | {' | '.join(f'**{total}**' for total in totals)} |"]


class ClauseMarkdown(Extension):
    """Python-Markdown with links where clauses, rulings and retired numbers are mentioned.

    Args:
        specification: What can be mentioned.
    """

    def __init__(self, specification: Specification) -> None:
        super().__init__()
        self.specification: Final = specification
        self.page = ""
        """The address of the source of the page being rendered, below `docs_dir`."""
        self.targets: Final[Mapping[str, Target]] = {
            **{
                clause.id: (clause.page, f"{clause.level} · {clause.profile}")
                for clause in specification.clauses.values()
            },
            **{ruling.id: (ruling.page, ruling.question) for ruling in specification.rulings.values()},
            **{retired.id: (retired.page, "retired") for retired in specification.retired.values()},
        }

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802 - the interface of Python-Markdown
        """Add the links when spans of code, links and emphasis are known, and before MkDocs resolves addresses."""
        md.treeprocessors.register(_MentionLinks(md, self.targets, self.page), "clause-mentions", 15)


class _MentionLinks(Treeprocessor):
    def __init__(self, md: Markdown, targets: Mapping[str, Target], page: str) -> None:
        super().__init__(md)
        self._targets: Final = targets
        self._page: Final = page

    def run(self, root: Element) -> None:
        if root.tag in _UNLINKED:
            return
        for child in list(root):
            self.run(child)
            before, links = self._linked(child.tail or "")
            if links:
                child.tail = before
                place = list(root).index(child) + 1
                root[place:place] = links
        before, links = self._linked(root.text or "")
        if links:
            root.text = before
            root[0:0] = links

    def _linked(self, text: str) -> tuple[str, list[Element]]:
        """Answer the text before the first link, and the links with the text behind each as its tail."""
        mentions = [(found.id, found.start, found.end) for found in find_mentions(text)]
        mentions += [(found[0], found.start(), found.end()) for found in RULING_ID.finditer(text)]
        known = sorted((mention for mention in mentions if self._is_known(mention[0])), key=lambda mention: mention[1])
        links: list[Element] = []
        for position, (name, start, end) in enumerate(known):
            page, says = self._targets[name]
            own = self._page == f"{SPEC}/{page}"
            address = "" if own else get_relative_url(f"{SPEC}/{page}", self._page)
            link = Element("a", {"href": f"{address}#{name}", "class": "clause-link", "title": says})
            link.text = AtomicString(text[start:end])
            after = known[position + 1][1] if position + 1 < len(known) else len(text)
            link.tail = text[end:after]
            links.append(link)
        return text[: known[0][1]] if known else text, links

    def _is_known(self, name: str) -> bool:
        if name in self._targets:
            return True
        _LOG.warning("%s mentions %s, which the specification does not have", self._page, name)
        return False


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Read the specification and prepare Python-Markdown for it.

    Raises:
        PluginError: The pages are not well-formed.
    """
    try:
        specification = read_specification(Path(config.docs_dir) / SPEC)
    except MalformedSpecification as malformed:
        raise PluginError(str(malformed)) from malformed
    # MkDocs hands this list to Python-Markdown, which takes instances besides names.
    cast("list[str | Extension]", config.markdown_extensions).append(ClauseMarkdown(specification))
    return config


def on_page_markdown(markdown: str, page: SitePage, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001 - the interface of MkDocs
    """Render the clauses of a page, before its Markdown is converted."""
    extensions = cast("list[str | Extension]", config.markdown_extensions)
    extension = next(entry for entry in extensions if isinstance(entry, ClauseMarkdown))
    extension.page = page.file.src_uri
    rendered = render_page(parse_page(page.file.src_uri.rpartition("/")[2], markdown))
    return rendered.replace(COUNTS, render_counts(extension.specification))
