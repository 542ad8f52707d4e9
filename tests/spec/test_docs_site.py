"""The documentation site, built and read as a browser reads it."""

import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pytest
from tests.site.building import CHECKOUT, build

from dshconform.spec import Clause, load_specification

pytestmark = pytest.mark.docs

PageWriter = Callable[..., Path]
GUIDE = """\
# Guide

## About INBOX-CLAIM-01

INBOX-CLAIM-01, -02 and *INBOX-POP-02* by R-01, but `INBOX-CLAIM-01`, [INBOX-CLAIM-02 here](index.md).

| clause | values |
|---|---|
| INBOX-CLAIM-02 | `'a'\\|'b'` |

```
INBOX-CLAIM-01
```
"""


def small_site(write_pages: PageWriter, root: Path, guide: str = GUIDE) -> Path:
    """Lay out a small documentation that is configured like the project's."""
    spec = write_pages(("[words]", "<!-- clauses by page and profile -->\n\n[words]"), page="index.md")
    (spec.parent / "guide.md").write_text(guide, encoding="utf-8")
    (spec.parent / "index.md").write_text("# Home\n", encoding="utf-8")
    (spec.parent / "assets").mkdir()
    (spec.parent / "assets" / "clauses.css").touch()
    config = root.parent / f"{root.name}.yml"
    config.write_text(
        f"INHERIT: {CHECKOUT / 'mkdocs.yml'}\n"
        f"docs_dir: {spec.parent}\n"
        f"hooks: [{CHECKOUT / 'scripts' / 'docs_hooks' / 'clauses.py'}]\n"
        "nav: [index.md, guide.md, spec/index.md, spec/00-conventions.md, spec/05-rulings.md, spec/10-inbox.md]\n",
        encoding="utf-8",
    )
    return config


@pytest.fixture
def site(write_pages: PageWriter, tmp_path: Path) -> Path:
    built = tmp_path.parent / f"{tmp_path.name}-site"
    result = build(small_site(write_pages, tmp_path), built)
    assert result.returncode == 0, result.stderr
    return built


def content(page: Path) -> str:
    """The part of a page that is not navigation, in one line."""
    html = page.read_text(encoding="utf-8")
    return re.sub(r"\s+", " ", html[html.index("<article") : html.index("</article>")])


def test_a_clause_has_its_bare_id_as_anchor_and_badges(site: Path) -> None:
    """A permalink outlives a change of level or profile."""
    html = content(site / "spec" / "10-inbox.html")
    assert (
        '<h3 class="clause" id="INBOX-CLAIM-02">INBOX-CLAIM-02 '
        '<span class="clause-badge clause-badge--should">should</span> <span class="clause-badge">reference</span>'
    ) in html


def test_the_three_parts_of_a_clause_are_a_list_with_labels(site: Path) -> None:
    """Each label has a class of its own, so that the style sheet can tell them apart."""
    html = content(site / "spec" / "10-inbox.html")
    first = html[html.index('id="INBOX-CLAIM-01"') : html.index('id="INBOX-CLAIM-02"')]
    assert re.findall(r'<dt class="clause-part clause-part--(\w+)">(\w+)</dt> <dd>([^<]*)</dd>', first) == [
        ("observe", "observe", "claim twice."),
        ("violation", "violation", "the last one is claimed first."),
        ("basis", "basis", "seed"),
    ]


def test_the_table_of_contents_names_a_clause_by_its_id_alone(site: Path) -> None:
    """Badges would be read as part of the name there."""
    html = (site / "spec" / "10-inbox.html").read_text(encoding="utf-8")
    label = re.search(r'<a href="#INBOX-CLAIM-02"[^>]*>(.*?)</a>', html, re.DOTALL)
    assert label is not None
    assert re.sub(r"<[^>]*>|\s", "", label[1]) == "INBOX-CLAIM-02"


def test_mentions_become_links(site: Path) -> None:
    """Ids, the numbers that continue them, retired ids and rulings lead to their anchors, in prose and tables."""
    html = content(site / "guide.html")
    assert re.findall(r'<a class="clause-link" href="([^"]*)" title="([^"]*)">([^<]*)</a>', html) == [
        ("spec/10-inbox.html#INBOX-CLAIM-01", "must · core", "INBOX-CLAIM-01"),
        ("spec/10-inbox.html#INBOX-CLAIM-02", "should · reference", "-02"),
        ("spec/10-inbox.html#INBOX-POP-02", "retired", "INBOX-POP-02"),
        ("spec/05-rulings.html#R-01", "Which end of the queue?", "R-01"),
        ("spec/10-inbox.html#INBOX-CLAIM-02", "should · reference", "INBOX-CLAIM-02"),
    ]
    assert "<code>INBOX-CLAIM-01</code>" in html
    assert '<a href="index.html">INBOX-CLAIM-02 here</a>' in html


def test_a_bar_in_the_code_of_a_table_is_shown_without_its_backslash(site: Path) -> None:
    """The backslash is there for other renderers."""
    assert "<td><code>'a'|'b'</code></td>" in content(site / "guide.html")
    assert "<td><code>'a'|'b'</code></td>" in content(site / "spec" / "00-conventions.html")


def test_a_mention_on_the_same_page_stays_on_it(site: Path) -> None:
    """The link is a mere fragment."""
    assert '<a class="clause-link" href="#INBOX-CLAIM-01"' in content(site / "spec" / "10-inbox.html")


@pytest.mark.parametrize(
    ("page", "anchor"),
    [("05-rulings.html", "R-01"), ("10-inbox.html", "INBOX-POP-01"), ("10-inbox.html", "INBOX-POP-03")],
)
def test_rulings_and_retired_numbers_have_anchors(site: Path, page: str, anchor: str) -> None:
    """An old link to a retired clause arrives at the row that says where the fact stands now."""
    assert f'<span id="{anchor}"></span>' in content(site / "spec" / page)


def test_the_index_counts_the_clauses(site: Path) -> None:
    """By page and by profile, each with its levels."""
    html = content(site / "spec" / "index.html")
    rows = [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in re.findall(r"<tr>(.*?)</tr>", html)]
    cells = [[re.sub(r"<[^>]*>", "", cell) for cell in row] for row in rows]
    assert ["10", "1", "1", "", "2"] in cells
    assert ["reference", "", "1", "", "1"] in cells
    assert cells.count(["all", "1", "1", "0", "2"]) == 2


def test_a_mention_of_an_unknown_clause_fails_the_build(write_pages: PageWriter, tmp_path: Path) -> None:
    """The page and the id are named."""
    config = small_site(write_pages, tmp_path, guide="# Guide\n\nSee INBOX-CLAIM-09.\n")
    result = build(config, tmp_path.parent / f"{tmp_path.name}-site")
    assert result.returncode != 0
    assert "guide.md mentions INBOX-CLAIM-09, which the specification does not have" in result.stderr


def test_a_malformed_specification_fails_the_build(write_pages: PageWriter, tmp_path: Path) -> None:
    """With the problem, not with a traceback."""
    config = small_site(write_pages, tmp_path)
    write_pages(("· must · core", "· must"))
    result = build(config, tmp_path.parent / f"{tmp_path.name}-site")
    assert result.returncode != 0
    assert "10-inbox.md:5: [heading]" in result.stderr
    assert "Traceback" not in result.stderr


class ClauseText(HTMLParser):
    """Collects what a reader sees of each clause."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: dict[str, str] = {}
        self.behind: dict[str, str] = {}
        """And of what stands behind it, in the closed block."""
        self._clause: str | None = None
        self._permalink = False
        self._block = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "h3" and given.get("class") == "clause":
            self._clause = given["id"]
        elif tag in {"h1", "h2", "h3", "footer"}:
            self._clause = None
        elif tag == "details":
            self._block = True
        self._permalink = given.get("class") == "headerlink"

    def handle_endtag(self, tag: str) -> None:
        self._permalink = False
        if tag == "details":
            self._block = False

    def handle_data(self, data: str) -> None:
        if self._clause is not None and not self._permalink:
            read = self.behind if self._block else self.seen
            read[self._clause] = read.get(self._clause, "") + data


def bare(text: str) -> str:
    """The text without what Markdown marks up and without space."""
    return re.sub(r"[\s`*]|\\(?=\|)", "", text)


@pytest.fixture(scope="module")
def clause_text(project_site: Path) -> ClauseText:
    reader = ClauseText()
    for page in sorted((project_site / "spec").glob("*.html")):
        reader.feed(page.read_text(encoding="utf-8"))
    return reader


def test_the_site_shows_every_word_of_every_clause(clause_text: ClauseText) -> None:
    """No brace, bracket or bar of a clause is taken for markup and swallowed."""

    def shown(clause: Clause) -> str:
        parts = (("observe", clause.observe), ("violation", clause.violation), ("basis", clause.basis))
        return "".join(
            [clause.id, clause.level, clause.profile, clause.text, *(f"{name}{text}" for name, text in parts)]
        )

    clauses = load_specification().clauses
    assert {name: bare(text) for name, text in clause_text.seen.items()} == {
        name: bare(shown(clause)) for name, clause in clauses.items()
    }


def test_every_clause_has_its_evidence_behind_it(clause_text: ClauseText) -> None:
    """A block for each, which says what there is of code, checks and faults."""
    assert clause_text.behind.keys() == load_specification().clauses.keys()
    assert all(text.startswith("evidence ") for text in clause_text.behind.values())
    claim = clause_text.behind["INBOX-CLAIM-01"]
    for named in (
        "agent/inbox.py Inbox.claim",
        "machine/inbox",
        "scenario/queue",
        "claim-takes-the-prompt-first",
        "reference holds",
    ):
        assert named in claim


def test_evidence_is_linked_to_what_there_is(project_site: Path) -> None:
    """Code to the catalog or to its source, scenarios to their drawings: every link leads to something."""
    targets = {
        (page, *target.split("#"))
        for page in (project_site / "spec").glob("*.html")
        for block in re.findall(r'<details class="clause-evidence".*?</details>', page.read_text("utf-8"), re.DOTALL)
        for target in re.findall(r'href="([^"]*)"', block)
    }
    assert {part for _, address, *_ in targets for part in address.split("/")[:2]} == {"..", "api", "guide", "source"}
    for page, address, *anchor in targets:
        text = (page.parent / address).read_text(encoding="utf-8")
        assert all(f'id="{name}"' in text for name in anchor), (page.name, address, anchor)


def test_the_phase_machine_is_drawn_on_its_sheet(project_site: Path) -> None:
    """Its diagram takes the place of the marker, and leads to the table that it is drawn from."""
    html = (project_site / "spec" / "70-agent-and-loop.html").read_text(encoding="utf-8")
    machine = html[html.index('id="phase-machine"') : html.index('id="AGENT-ID-01"')]
    assert "stateDiagram-v2" in machine
    assert 'href="../design/phase-machine.html"' in machine
    assert "<!--" not in machine


def test_the_site_loads_nothing_from_another_host(project_site: Path) -> None:
    """Scripts, styles, fonts and images lie beside the pages."""
    loading = re.compile(
        r'<(?:script|link|img|iframe|source)\b[^>]*?(?:src|href)="(?:https?:)?//[^"]*"|url\(["\']?(?:https?:)?//'
    )
    found = {
        page.name: loading.findall(page.read_text(encoding="utf-8"))
        for page in [*project_site.rglob("*.html"), *project_site.rglob("*.css")]
    }
    assert {name: hits for name, hits in found.items() if hits} == {}
