"""The sources on the documentation site: every definition has an anchor, and links to what is not there are refused."""

import re
import textwrap
from html import unescape
from pathlib import Path

import pytest
from tests.site.building import CHECKOUT, build

pytestmark = pytest.mark.docs

MODULE = textwrap.dedent('''\
    """Plays ``<pieces>``."""

    if True:
        LOUD = 3
    else:
        QUIET = 1


    class Player:
        @property
        def piece(self) -> str:
            return "a&b"

        @piece.setter
        def piece(self, piece: str) -> None: ...

        async def _play(self) -> None:
            def note() -> None: ...
''')
CATALOG = "# dshcore.play\n\n`reference/dshcore/play.py`\n\n## Player {: #Player .api .api--class }\n\nPlays.\n"


def lay_out(root: Path, *, guide: str = "# Guide\n", catalog: str = CATALOG) -> Path:
    """Write a small repository, configured like the project's."""
    pages = {
        "docs/index.md": "# Home\n",
        "docs/guide/play.md": guide,
        "docs/api/dshcore/play.md": catalog,
        "docs/assets/source.css": "",
        "reference/dshcore/play.py": MODULE,
        "mkdocs.yml": (
            f"INHERIT: {CHECKOUT / 'mkdocs.yml'}\n"
            f"docs_dir: {root / 'docs'}\n"
            f"hooks: [{CHECKOUT / 'scripts' / 'docs_hooks' / 'source_pages.py'}]\n"
            "extra_css: []\n"
            "nav: [index.md, guide/play.md, api/dshcore/play.md]\n"
        ),
    }
    for path, text in pages.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, "utf-8")
    return root / "mkdocs.yml"


def test_a_listing_is_the_source_with_an_anchor_for_each_definition() -> None:
    """Private ones too, at their decorators, the first of those that share a name; nothing else is added."""
    from docs_hooks.source_pages import listing

    written = listing(MODULE)
    assert unescape(re.sub(r"<[^>]*>", "", written)) == MODULE
    lines = MODULE.splitlines()
    anchors = {
        name: lines[number].strip()
        for number, line in enumerate(written.splitlines())
        for name in re.findall(r'<span id="([^"]+)">', line)
    }
    assert anchors == {
        "LOUD": "LOUD = 3",
        "QUIET": "QUIET = 1",
        "Player": "class Player:",
        "Player.piece": "@property",
        "Player._play": "async def _play(self) -> None:",
        "Player._play.note": "def note() -> None: ...",
    }
    assert '<span class="string">&quot;a&amp;b&quot;</span>' in written


def test_documents_and_the_catalog_lead_to_the_source(tmp_path: Path) -> None:
    """By path and symbol; the source leads back, and is in neither the navigation nor the search."""
    guide = "# Guide\n\n[it](../../reference/dshcore/play.py#Player._play), [all](../../reference/dshcore/play.py).\n"
    site = tmp_path / "site"
    result = build(lay_out(tmp_path, guide=guide), site)
    assert result.returncode == 0, result.stderr
    text = (site / "guide" / "play.html").read_text("utf-8")
    assert '<a href="../source/dshcore/play.html#Player._play">it</a>' in text
    assert '<a href="../source/dshcore/play.html">all</a>' in text
    catalog = (site / "api" / "dshcore" / "play.html").read_text("utf-8")
    assert '<a href="../../source/dshcore/play.html"><code>reference/dshcore/play.py</code></a>' in catalog
    assert 'href="../../source/dshcore/play.html#Player">source</a>' in catalog
    source = (site / "source" / "dshcore" / "play.html").read_text("utf-8")
    assert 'href="../../api/dshcore/play.html"' in source
    assert 'href="../../assets/source.css"' in source
    index = (site / "search" / "search_index.json").read_text("utf-8")
    assert "Plays." in index
    assert "a&b" not in index
    assert "source" not in index
    assert "source/" not in (site / "sitemap.xml").read_text("utf-8")
    assert "source/" not in (site / "index.html").read_text("utf-8").partition("<article")[0]


@pytest.mark.parametrize(
    ("guide", "catalog", "told"),
    [
        (
            "[it](../../reference/dshcore/play.py#Player._stop)\n",
            CATALOG,
            "guide/play.md links to reference/dshcore/play.py#Player._stop, which is not there",
        ),
        (
            "[it](../../reference/dshcore/stop.py)\n",
            CATALOG,
            "guide/play.md links to reference/dshcore/stop.py, which is not there",
        ),
        (
            "",
            CATALOG.replace("#Player ", "#Stopper "),
            "api/dshcore/play.md links to reference/dshcore/play.py#Stopper, which is not there",
        ),
    ],
    ids=["symbol", "file", "definition of the catalog"],
)
def test_a_link_to_what_is_not_there_fails_the_build(tmp_path: Path, guide: str, catalog: str, told: str) -> None:
    """The warning names the page, the file and the symbol."""
    result = build(lay_out(tmp_path, guide=f"# Guide\n\n{guide}", catalog=catalog), tmp_path / "site")
    assert result.returncode != 0
    assert told in result.stderr
