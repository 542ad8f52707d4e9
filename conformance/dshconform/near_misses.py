"""Hints for a name that nothing has."""

import difflib
from collections.abc import Iterable
from typing import Final

_SHOWN: Final = 40
"""Names that are listed where none is like the one that nothing has, at most."""


def hint(name: str, known: Iterable[str]) -> str:
    """Answer the names that were perhaps meant, or else all that there are, unless those are too many to be read.

    Args:
        name: What nothing has.
        known: The names that exist.
    """
    names = sorted(set(known))
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.5) or [one for one in names if name in one]
    if near:
        return f"did you mean {' or '.join(near)}?"
    return f"known: {', '.join(names)}" if len(names) <= _SHOWN else f"none of the {len(names)} names is like it"
