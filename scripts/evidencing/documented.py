"""Where other pages show what stands behind a clause: the API catalog its code, the page of sequences its scenarios."""

import re
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Final

from evidencing.citations import Place

_DRAWN: Final = re.compile(r"^## .*\{: #(\S+) \}$", re.MULTILINE)
_ANCHOR: Final = re.compile(r"^#+ .*\{: #(\S+) \.api ", re.MULTILINE)


def read_anchors(catalog: Path) -> Mapping[str, frozenset[str]]:
    """Read which names the catalog has.

    Args:
        catalog: The folder of the pages of one package.

    Returns:
        The anchors of every page, by the page's path in the folder.
    """
    return {
        page.relative_to(catalog).as_posix(): frozenset(_ANCHOR.findall(page.read_text(encoding="utf-8")))
        for page in sorted(catalog.rglob("*.md"))
    }


def read_drawn(sequences: Path) -> frozenset[str]:
    """Read which scenarios are drawn.

    Args:
        sequences: The page of sequence diagrams.

    Returns:
        The names of their checks.
    """
    return frozenset(f"scenario/{name}" for name in _DRAWN.findall(sequences.read_text(encoding="utf-8")))


def documented(place: Place, anchors: Mapping[str, frozenset[str]]) -> tuple[str, str] | None:
    """Find where the catalog documents a place.

    Args:
        place: A definition of the package, its file from the package's folder.
        anchors: What the catalog has.

    Returns:
        The page, and the anchor of the definition or, for a part of one, of that around it; an empty one for a module.
        Nothing for what is private: only its source is shown.
    """
    module = PurePosixPath(place.file)
    page = (module.with_name("index.md") if module.name == "__init__.py" else module.with_suffix(".md")).as_posix()
    if page not in anchors:
        return None
    symbol = place.symbol
    while symbol and symbol not in anchors[page]:
        symbol, _, part = symbol.rpartition(".")
        if part.startswith("_"):
            return None
    return page, symbol
