"""Diagrams on the documentation site, with an npm that only writes files: no test here uses the network."""

import os
import sys
from pathlib import Path

import pytest
from tests.site.building import CHECKOUT, build

pytestmark = [
    pytest.mark.docs,
    pytest.mark.skipif(sys.platform == "win32", reason="the stand-in for npm is a POSIX script"),
]

BRINGS_MERMAID = f"""\
#!{sys.executable}
import pathlib
package = pathlib.Path("node_modules/@mermaid-js/tiny")
(package / "dist").mkdir(parents=True)
(package / "dist" / "mermaid.tiny.js").write_text("// draws")
(package / "LICENSE").write_text("MIT")
"""
DIAGRAM = "```mermaid\nstateDiagram-v2\n    [*] --> idle\n```\n"


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """A page with a diagram and one without, configured like the project's."""
    docs = tmp_path / "docs"
    (docs / "design").mkdir(parents=True)
    (docs / "index.md").write_text("# Home\n\n[Machine](design/machine.md)\n", encoding="utf-8")
    (docs / "design" / "machine.md").write_text(f"# Machine\n\n{DIAGRAM}", encoding="utf-8")
    config = tmp_path / "mkdocs.yml"
    config.write_text(
        f"INHERIT: {CHECKOUT / 'mkdocs.yml'}\n"
        f"docs_dir: {docs}\n"
        f"hooks: [{CHECKOUT / 'scripts' / 'docs_hooks' / 'diagrams.py'}]\n"
        "nav: [index.md, design/machine.md]\n",
        encoding="utf-8",
    )
    return config


@pytest.fixture
def machine(tmp_path: Path) -> dict[str, str]:
    """The environment of a machine without npm and with an empty cache."""
    (tmp_path / "bin").mkdir()
    return {"PATH": str(tmp_path / "bin"), "XDG_CACHE_HOME": str(tmp_path / "cache"), "HOME": str(tmp_path)}


def add_npm(machine: dict[str, str]) -> None:
    npm = Path(machine["PATH"]) / "npm"
    npm.write_text(BRINGS_MERMAID, encoding="utf-8")
    npm.chmod(0o755)


def test_mermaid_is_loaded_where_there_is_a_diagram(config: Path, machine: dict[str, str], tmp_path: Path) -> None:
    """It stands beside the pages, after the theme's script, and a page without a diagram does not name it."""
    add_npm(machine)
    site = tmp_path / "site"
    result = build(config, site, **machine)
    assert result.returncode == 0, result.stderr
    page = (site / "design" / "machine.html").read_text(encoding="utf-8")
    assert '<pre class="mermaid"><code>stateDiagram-v2' in page
    assert page.rstrip().endswith(
        '<script src="../assets/mermaid.js"></script><script src="../assets/diagrams.js"></script></body>\n</html>'
    )
    assert "mermaid" not in (site / "index.html").read_text(encoding="utf-8")
    assert (site / "assets" / "mermaid.js").read_text(encoding="utf-8") == "// draws"
    assert (site / "assets" / "mermaid.LICENSE.txt").read_text(encoding="utf-8") == "MIT"


def test_a_missing_npm_is_named_with_what_to_do(config: Path, machine: dict[str, str], tmp_path: Path) -> None:
    """And so is the way to do without."""
    result = build(config, tmp_path / "site", **machine)
    assert result.returncode != 0
    assert "npm is not on PATH; it is needed once, to install Mermaid" in result.stderr
    assert "remedy: install Node.js" in result.stderr
    assert "DOCS_WITHOUT_DIAGRAMS=true" in result.stderr
    assert "Traceback" not in result.stderr


def test_without_diagrams_their_sources_are_shown(config: Path, machine: dict[str, str], tmp_path: Path) -> None:
    """Nothing is installed, and nothing is left that makes the theme load Mermaid from another host."""
    site = tmp_path / "site"
    result = build(config, site, DOCS_WITHOUT_DIAGRAMS="true", **machine)
    assert result.returncode == 0, result.stderr
    page = (site / "design" / "machine.html").read_text(encoding="utf-8")
    assert "[*] --&gt; idle" in page
    assert 'class="mermaid' not in page
    assert "mermaid.js" not in page
    assert not os.path.lexists(tmp_path / "cache")
