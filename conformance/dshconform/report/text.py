"""Text for terminals of 80 columns."""

import textwrap
from typing import Final

WIDTH: Final = 80
"""The columns that a line may have."""


def wrapped(text: str, indent: str = "", hanging: str = "") -> list[str]:
    """Break a text into lines of at most 80 columns, at spaces only.

    Args:
        text: The text.
        indent: Before every line.
        hanging: Before every line but the first, besides.

    Returns:
        At least one line.
    """
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=indent,
        subsequent_indent=indent + hanging,
        break_long_words=False,
        break_on_hyphens=False,
    ) or [indent]
