"""Named faults of the reference: they show that the checks can fail, and for the right reason."""

from typing import Final

from dshconform.faults.fault import Fault
from dshconform.faults.inbox import INBOX_FAULTS
from dshconform.faults.latch import LATCH_FAULTS

FAULTS: Final[tuple[Fault, ...]] = (*INBOX_FAULTS, *LATCH_FAULTS)
"""All of them."""

__all__ = ["FAULTS", "Fault"]
