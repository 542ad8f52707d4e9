"""Hints for a name that nothing has."""

import difflib
from collections.abc import Iterable


def hint(name: str, known: Iterable[str]) -> str:
    """Answer the names that were perhaps meant, or else all that there are.

    Args:
        name: What nothing has.
        known: The names that exist.
    """
    names = sorted(set(known))
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.5) or [one for one in names if name in one]
    return f"did you mean {' or '.join(near)}?" if near else f"known: {', '.join(names)}"
