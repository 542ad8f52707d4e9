"""The little that readers of the pages have to know of Markdown."""

import re
from typing import Final

CODE_SPAN: Final = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)", re.DOTALL)
"""A code span with its backticks."""

_CELL_BORDER: Final = re.compile(r"(?<!\\)\|")


def split_row(line: str) -> tuple[str, ...]:
    """Split a row of a table.

    Args:
        line: A line that begins and ends with a bar.

    Returns:
        Its cells, without the space around them; a bar behind a backslash is text.
    """
    return tuple(cell.strip() for cell in _CELL_BORDER.split(line.strip())[1:-1])
