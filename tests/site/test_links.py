"""The links of the built documentation, those included that no source has: of hooks, templates and raw HTML."""

import re
from html import unescape
from pathlib import Path
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

import pytest

pytestmark = pytest.mark.docs

LINK = re.compile(r'\s(?:href|src)="([^"]*)"')
ANCHOR = re.compile(r'\s(?:id|name)="([^"]*)"')


def test_every_link_arrives(project_site: Path) -> None:
    """Pages, files and anchors that are linked to exist."""
    pages = {
        page.relative_to(project_site).as_posix(): page.read_text(encoding="utf-8")
        for page in project_site.rglob("*.html")
    }
    anchors = {path: {unescape(found) for found in ANCHOR.findall(text)} for path, text in pages.items()}
    missing: set[tuple[str, str]] = set()
    for path, text in pages.items():
        for link in {unescape(found) for found in LINK.findall(text)}:
            if urlsplit(link).scheme or link.startswith("//"):
                continue  # what other hosts have is not looked at
            address, anchor = urldefrag(urljoin(f"/{path}", link))
            target = unquote(address.partition("?")[0]).removeprefix("/")
            if target.endswith("/") or not target:
                target += "index.html"
            arrives = unquote(anchor) in anchors[target] if anchor and target in anchors else None
            if arrives is None:
                arrives = (project_site / target).is_file()
            if not arrives:
                missing.add((path, link))
    assert sorted(missing) == []
