"""Named faults of the reference: they show that the checks can fail, and for the right reason."""

from typing import Final

from dshconform.faults.cancellation import CANCEL_FAULTS
from dshconform.faults.fault import Fault
from dshconform.faults.handle import HANDLE_FAULTS
from dshconform.faults.inbox import INBOX_FAULTS
from dshconform.faults.latch import LATCH_FAULTS
from dshconform.faults.listeners import LISTENER_FAULTS
from dshconform.faults.loop import LOOP_FAULTS
from dshconform.faults.pending import PENDING_FAULTS
from dshconform.faults.requests import REQUEST_FAULTS
from dshconform.faults.session_enforcement import SESSION_ENFORCEMENT_FAULTS
from dshconform.faults.session_log import SESSION_LOG_FAULTS
from dshconform.faults.session_seeds import SESSION_SEED_FAULTS
from dshconform.faults.session_store import SESSION_STORE_FAULTS
from dshconform.faults.session_surface import SESSION_SURFACE_FAULTS
from dshconform.faults.tool_calls import TOOL_CALL_FAULTS
from dshconform.faults.turn import TURN_FAULTS
from dshconform.faults.wakes import WAKE_FAULTS

FAULTS: Final[tuple[Fault, ...]] = (*INBOX_FAULTS, *LATCH_FAULTS)
"""Those that the inbox machine finds."""

SCENARIO_FAULTS: Final[tuple[Fault, ...]] = (
    *HANDLE_FAULTS,
    *PENDING_FAULTS,
    *CANCEL_FAULTS,
    *WAKE_FAULTS,
    *LOOP_FAULTS,
    *REQUEST_FAULTS,
    *LISTENER_FAULTS,
    *TOOL_CALL_FAULTS,
    *SESSION_LOG_FAULTS,
    *SESSION_SURFACE_FAULTS,
    *SESSION_STORE_FAULTS,
    *SESSION_SEED_FAULTS,
    *SESSION_ENFORCEMENT_FAULTS,
)
"""Those that a scenario, or a cell of a table, finds which cites the clause."""

__all__ = ["FAULTS", "SCENARIO_FAULTS", "TURN_FAULTS", "Fault"]
