"""Where the pages of the specification are.

A wheel carries them inside the package. A checkout has them in `docs/spec`, and an editable install finds those: the
build hook of an editable install leaves a copy beside the package's metadata, which nothing here looks at, because it
grows stale with the first edit.
"""

from pathlib import Path
from typing import Final

_PACKAGED: Final = Path(__file__).parent / "pages"
_CHECKOUT: Final = Path(__file__).parents[3] / "docs" / "spec"
_CONVENTIONS: Final = "00-conventions.md"


class SpecificationMissing(FileNotFoundError):
    """The pages of the specification are in none of the places where they belong."""


def spec_root(packaged: Path = _PACKAGED, checkout: Path = _CHECKOUT) -> Path:
    """Find the directory that holds the pages of the specification.

    Args:
        packaged: Where a wheel puts them.
        checkout: Where a checkout has them.

    Returns:
        The first of the two that holds the page of conventions.

    Raises:
        SpecificationMissing: Neither does.
    """
    for root in (packaged, checkout):
        if (root / _CONVENTIONS).is_file():
            return root
    raise SpecificationMissing(
        f"the pages of the specification are neither in {packaged} nor in {checkout}; "
        "install the package from a wheel, or run it from a complete checkout"
    )


def page_paths(root: Path) -> list[Path]:
    """List the pages in reading order.

    Args:
        root: A directory as `spec_root` answers it.

    Returns:
        The Markdown files in it, by name.
    """
    return sorted(root.glob("*.md"))
