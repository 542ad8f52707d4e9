"""The exit statuses that say nothing about an implementation; a module that costs nothing to load."""

from collections.abc import Iterator
from typing import Final

from dshconform import __version__

FAULT_EXIT_STATUS: Final = 2
"""For wrong usage and for faults of the adapter or of the suite."""
INTERRUPTED_EXIT_STATUS: Final = 130
"""After control-C, as shells have it."""
CLOSED_PIPE_EXIT_STATUS: Final = 141
"""Where nobody reads the output any more, as shells have it: `dshconform run | head -1`."""


def suite_fault_lines(told: str, beside: str = "the seed") -> Iterator[str]:
    """A fault of the suite as a person reads it.

    Args:
        told: What is wrong.
        beside: What a maintainer needs beside the command line.
    """
    yield f"fault of the suite: {told}"
    yield f"  remedy: report it to the maintainers of dshconform ({__version__}), with {beside} and the command line"
