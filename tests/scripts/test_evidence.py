"""What stands behind a clause: found in small sources, and shown in a block that swallows nothing."""

from pathlib import Path

import check_citations
import pytest
from evidencing.block import Evidence, Links, block
from evidencing.citations import Place, cited_in
from evidencing.documented import documented, read_anchors, read_drawn
from evidencing.gathering import gather
from evidencing.holding import Held, Shown
from evidencing.statuses import Standing

from dshconform.checks.catalog import checks_for
from dshconform.spec import load_specification
from dshconform.spec.mentions import mentioned_ids

SOURCE = '''\
"""A module (PLAY-MODULE-01, PLAY-METHOD-01)."""

LIMIT = 3  # PLAY-VALUE-01
OTHER = 4
"""What another is.

Spec:
    PLAY-VALUE-02, -03
"""


class Player:
    """Plays.

    Spec:
        PLAY-CLASS-01
    """

    volume: int = 1
    """PLAY-FIELD-01"""

    # PLAY-METHOD-01: before anything else
    # and PLAY-METHOD-02
    @staticmethod
    def play() -> None:
        """Play."""
        loud = 1
        "PLAY-METHOD-03 is told of a variable, which is no place"

        def inner() -> None:
            raise ValueError(f"PLAY-INNER-01: {loud}")

        inner()
        # PLAY-METHOD-04 at the end
'''


def here(symbol: str, file: str = "play/player.py") -> Place:
    return Place(file, symbol)


def written(folder: Path, source: str = SOURCE) -> Path:
    (folder / "play").mkdir()
    (folder / "play" / "player.py").write_text(source, encoding="utf-8")
    return folder


def test_a_citation_belongs_to_the_definition_around_it(tmp_path: Path) -> None:
    """Docstrings, comments beside and above, texts; of values, classes, methods and functions in functions."""
    assert cited_in(written(tmp_path)) == {
        "PLAY-MODULE-01": (here(""),),
        "PLAY-VALUE-01": (here("LIMIT"),),
        "PLAY-VALUE-02": (here("OTHER"),),
        "PLAY-VALUE-03": (here("OTHER"),),
        "PLAY-CLASS-01": (here("Player"),),
        "PLAY-FIELD-01": (here("Player.volume"),),
        "PLAY-METHOD-01": (here("Player.play"),),
        "PLAY-METHOD-02": (here("Player.play"),),
        "PLAY-METHOD-03": (here("Player.play"),),
        "PLAY-INNER-01": (here("Player.play.inner"),),
        "PLAY-METHOD-04": (here("Player.play"),),
    }


def test_several_files_cite_in_their_order(tmp_path: Path) -> None:
    """Each definition once, however often it does."""
    written(tmp_path, "# PLAY-A-01\nA = 1  # PLAY-A-01\nB = 2  # PLAY-A-01\n")
    (tmp_path / "all.py").write_text('"""PLAY-A-01, PLAY-B-01"""\n', encoding="utf-8")
    assert cited_in(tmp_path) == {
        "PLAY-A-01": (here("", "all.py"), here("A"), here("B")),
        "PLAY-B-01": (here("", "all.py"),),
    }


def test_every_clause_that_the_reference_cites_has_a_place() -> None:
    """Nothing that its text cites is lost on the way to a definition."""
    cited = cited_in(check_citations.ROOT / "reference" / "dshcore")
    texts = [file.read_text("utf-8") for file in (check_citations.ROOT / "reference" / "dshcore").rglob("*.py")]
    assert cited.keys() == {name for text in texts for name in mentioned_ids(text)}


def test_a_place_is_documented_by_its_innermost_public_name(tmp_path: Path) -> None:
    """By its own heading, by that of its class, by its module's page; what is private is shown by its source alone."""
    (tmp_path / "play").mkdir()
    (tmp_path / "play" / "player.md").write_text(
        "# play.player\n\n## Player {: #Player .api .api--class }\n\n### Player.play {: #Player.play .api .api--x }\n"
    )
    (tmp_path / "play" / "index.md").write_text("# play\n")
    anchors = read_anchors(tmp_path)
    assert documented(here("Player.play"), anchors) == ("play/player.md", "Player.play")
    assert documented(here(""), anchors) == ("play/player.md", "")
    assert documented(here("", "play/__init__.py"), anchors) == ("play/index.md", "")
    assert documented(here("Player.play.inner"), anchors) == ("play/player.md", "Player.play")
    assert documented(here("Player.speed"), anchors) == ("play/player.md", "Player")
    assert documented(here("Player._stop"), anchors) is None
    assert documented(here("_hidden"), anchors) is None
    assert documented(here("Player", "play/_private.py"), anchors) is None


LINKS = Links(
    code=lambda place: None if place.symbol == "hidden" else f"../api/{place.file}#{place.symbol}",
    check=lambda check: "../drawn.html#a" if check.name == "scenario/a" else None,
)


def test_a_scenario_is_drawn_where_it_has_a_heading(tmp_path: Path) -> None:
    """Found by the anchor of its title."""
    page = tmp_path / "sequences.md"
    page.write_text("# Sequences\n\n## One {: #first-one }\n\n## Two\n\n## Three {: #third }\n", encoding="utf-8")
    assert read_drawn(page) == {"scenario/first-one", "scenario/third"}


def test_a_block_shows_code_checks_and_faults() -> None:
    """Links to what has a page; machines and invariants in one line, scenarios with their titles; no markup is lost."""
    html = block(
        Evidence(
            code=[here("Player.play"), here("hidden")],
            checks=[Held("machine/play"), Held("invariant/order"), Held("scenario/a", "`<b>` & more")],
            faults=[Shown("plays-twice", "It plays `a<b` twice.", "scenario/a"), Shown("late", "Late.", None)],
        ),
        LINKS,
    )
    assert html.startswith(
        '<details class="clause-evidence" data-search-exclude><summary><b>evidence</b> '
        "2 places in the code · 3 checks · 2 faults</summary><dl><dt>code</dt>"
    )
    assert (
        '<a href="../api/play/player.py#Player.play"><code>play/player.py Player.play</code></a></li>'
        "<li><code>play/player.py hidden</code></li>"
    ) in html
    assert (
        "<li><code>machine/play</code>, <code>invariant/order</code></li>"
        '<li><a href="../drawn.html#a"><code>scenario/a</code></a> <code>&lt;b&gt;</code> &amp; more</li>'
    ) in html
    assert (
        "<li><code>plays-twice</code> It plays <code>a&lt;b</code> twice. "
        "<small>found by <code>scenario/a</code></small></li><li><code>late</code> Late.</li>"
    ) in html


def test_many_scenarios_share_a_line() -> None:
    """Their names say enough where there are more than a handful."""
    html = block(Evidence(checks=[Held(f"scenario/s{number}", "Title") for number in range(7)]), LINKS)
    assert html.count("<li>") == 1
    assert "<code>scenario/s5</code>, <code>scenario/s6</code>" in html


def test_what_is_missing_is_said() -> None:
    """With the reason where one is written down; own tests stand in where no check can be."""
    assert "no places in the code · no checks · no faults</summary><dl></dl>" in block(Evidence(), LINKS)
    html = block(
        Evidence(uncited="It is an absence.", tests=[here("test_absent", "test_play.py")], unfaulted="Nobody sees it."),
        LINKS,
    )
    assert "no places in the code · 1 own test · no faults" in html
    assert "<dt>code</dt><dd>None can cite it. It is an absence.</dd>" in html
    assert "<dt>own tests</dt><dd><ul><li><code>test_play.py::test_absent</code></li></ul></dd>" in html
    assert "<dt>faults</dt><dd>None. Nobody sees it.</dd>" in html


def test_a_block_says_how_the_clause_stands() -> None:
    """A badge for each implementation, seen while the block is closed, and inside why the clause did not hold."""
    html = block(
        Evidence(standings=[Standing("mine", "pass"), Standing("its", "not_run", "No `a<b`."), Standing("old", None)]),
        LINKS,
    )
    closed, _, inside = html.partition("</summary>")
    assert closed.endswith(
        ' <span class="clause-status clause-status--pass">mine holds</span>'
        ' <span class="clause-status clause-status--not-run">its not run</span>'
        ' <span class="clause-status clause-status--not-bound">old not bound</span>'
    )
    assert inside == "<dl><dt>its</dt><dd>No <code>a&lt;b</code>.</dd></dl></details>"


def test_the_evidence_of_the_project_is_that_of_its_parts() -> None:
    """All clauses; checks as `explain` names them; faults with what kills them; reasons of what cannot be."""
    clauses = load_specification().clauses
    evidence = gather(check_citations.ROOT, clauses)
    assert evidence.keys() == clauses.keys()
    claim = evidence["INBOX-CLAIM-01"]
    assert Place("agent/inbox.py", "Inbox.claim") in claim.code
    assert sorted(check.name for check in claim.checks) == sorted(checks_for("INBOX-CLAIM-01"))
    assert [fault.id for fault in claim.faults] == ["claim-takes-the-prompt-first"]
    assert claim.faults[0].killed_by is not None
    assert {one.name for one in claim.standings} == {"reference", "dsh-node"}
    assert evidence["LOG-EVT-05"].uncited is not None
    assert evidence["LOG-EVT-05"].unfaulted is not None
    assert all(place.symbol.startswith("test_") for one in evidence.values() for place in one.tests)


@pytest.mark.docs
def test_a_clause_that_is_not_rendered_as_expected_fails_the_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A clause without its evidence would go unnoticed; pages of no clauses are left as they are."""
    from docs_hooks import evidence
    from mkdocs.config import load_config
    from mkdocs.exceptions import PluginError
    from mkdocs.structure.files import File, Files
    from mkdocs.structure.pages import Page

    monkeypatch.setattr(evidence, "_evidence", lambda: {"INBOX-CLAIM-01": Evidence()})
    config = load_config(site_name="Play", docs_dir=str(check_citations.ROOT / "docs"), site_dir=str(tmp_path))

    def shown(name: str, html: str) -> str:
        page = Page(None, File(name, config.docs_dir, str(tmp_path), use_directory_urls=False), config)
        return evidence.on_page_content(html, page, config, Files([]))

    whole = '<h3 class="clause" id="INBOX-CLAIM-01">…</h3><div class="clause-parts"><dl></dl></div><p>Behind.</p>'
    assert shown("guide/play.md", whole) == whole
    assert '</dl></div><details class="clause-evidence"' in shown("spec/play.md", whole)
    with pytest.raises(PluginError, match=r"spec/play\.md: some clauses are not rendered"):
        shown("spec/play.md", '<h3 class="clause" id="INBOX-CLAIM-02">…</h3><p>No parts.</p>' + whole)
