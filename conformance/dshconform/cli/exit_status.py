"""The exit statuses that say nothing about an implementation; a module that costs nothing to load."""

from typing import Final

FAULT_EXIT_STATUS: Final = 2
"""For wrong usage and for faults of the adapter or of the suite."""
INTERRUPTED_EXIT_STATUS: Final = 130
"""After control-C, as shells have it."""
