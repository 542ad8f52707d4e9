"""The cancellation contract: at every gate of a turn, every cause, keeping the inbox or not, whatever is pending.

One agent, one model and one maintenance task as in the wake contract; but here the whole course of a turn is observed,
and there are listeners wherever something of it is logged, told or asked. So a cancel can land on each event and in
each hook, from inside, and wherever a turn waits, from outside; once, twice, or behind one another in one stretch. The
model is written from the clauses alone. What a command does before it returns is in `cancellation_calls`, what the
agent does in `cancellation_agent`.
"""

from collections.abc import Mapping
from typing import ClassVar, Final

from dshconform.contracts.agent_model import Alphabet
from dshconform.contracts.callback_model import CallbackContract, CallbackModel
from dshconform.contracts.cancellation_agent import CancellationAgent
from dshconform.contracts.cancellation_calls import CancellationCalls
from dshconform.contracts.cancellation_choice import standing
from dshconform.contracts.cancellation_commands import LISTENERS, simpler
from dshconform.contracts.cancellation_grid import CELLS, cell_of, tours
from dshconform.contracts.cancellation_prologues import PROLOGUES
from dshconform.contracts.inbox_commands import inspect
from dshconform.contracts.wake_calls import WAKE_VARIANTS
from dshconform.trace.rows import COMPARED

_ALPHABET: Final[Alphabet[CancellationAgent]] = Alphabet(
    PROLOGUES,
    standing,
    inspect(),
    simpler,
    LISTENERS.tidied,
    compared=COMPARED - {"script", "next"},  # what scripts do is told by the returns of their commands
)


_CONTRACT: Final = CallbackContract(_ALPHABET, cell_of, tours)


class CancellationModel(CallbackModel[CancellationAgent]):
    """The abstract state of one agent's turn, its signal and what is pending.

    Args:
        switches: Variants in which the implementation is followed rather than the clause.
    """

    name: ClassVar[str] = "cancellation"
    profile: ClassVar[str] = "core"
    variants: ClassVar[Mapping[str, str]] = WAKE_VARIANTS
    cells: ClassVar[tuple[str, ...]] = CELLS
    clauses: ClassVar[tuple[str, ...]] = (
        *("CANCEL-CAUSE-01", "CANCEL-CLEAR-01", "CANCEL-CLEAR-02", "CANCEL-COOP-01", "CANCEL-END-01"),
        *("CANCEL-ERR-01", "CANCEL-ERR-02", "CANCEL-FIRST-01", "CANCEL-IDLE-01", "CANCEL-IDLE-02"),
        *("CANCEL-KEEP-01", "CANCEL-KEEP-02", "CANCEL-KEEP-03", "CANCEL-PHASE-01", "CANCEL-PHASE-02"),
        *("CANCEL-PHASE-03", "CANCEL-PHASE-04", "CANCEL-PHASE-05", "CANCEL-PHASE-06", "CANCEL-REENTRY-01"),
        *("CANCEL-REENTRY-02", "CANCEL-REENTRY-03", "CANCEL-RERR-01", "CANCEL-SIGNAL-01", "CANCEL-STATUS-01"),
        *("CANCEL-STOP-01", "CANCEL-STREAM-01", "CANCEL-STREAM-02", "CANCEL-STREAM-03", "CANCEL-STREAM-04"),
        *("CANCEL-STREAM-05", "CANCEL-STREAM-06", "CANCEL-SYNC-01"),
        *("WAKE-CLEAR-01", "WAKE-DISP-01", "WAKE-EMPTY-01", "WAKE-EMPTY-02", "WAKE-FAIL-01", "WAKE-FAIL-02"),
        *("WAKE-LATCH-01", "WAKE-LATCH-02", "WAKE-LATCH-03", "WAKE-LATCH-04", "WAKE-RACE-01", "WAKE-RACE-02"),
        *("WAKE-RUN-01", "WAKE-STEAL-02"),
        *("MAINT-CANCEL-01", "MAINT-LATCH-01", "MAINT-LATCH-02", "MAINT-RES-01", "MAINT-START-01"),
        "MAINT-STATUS-01",
        *("IDLE-FAIL-01", "IDLE-FOLLOW-01", "IDLE-RES-01", "IDLE-RES-02"),
        *("AGENT-ID-01", "AGENT-SEND-01", "AGENT-SEND-02", "AGENT-SEND-04", "AGENT-SEND-05", "AGENT-SEND-07"),
        *("AGENT-STATUS-01", "AGENT-STATUS-03", "AGENT-STATUS-04"),
        *("INBOX-CLAIM-01", "INBOX-CLAIM-02", "INBOX-CLAIM-03", "INBOX-CLEAR-01", "INBOX-DUP-03"),
        *("INBOX-DUR-01", "INBOX-DUR-04", "INBOX-LIST-01", "INBOX-NOTE-01", "INBOX-REM-01", "INBOX-SHAPE-01"),
        *("INBOX-SHAPE-02", "INBOX-WAKE-01"),
        *("LOOP-CHUNK-01", "LOOP-ERR-03", "LOOP-ERR-04", "LOOP-MSG-01", "LOOP-NEXT-01", "LOOP-NEXT-02"),
        *("LOOP-OPEN-01", "LOOP-OPEN-02", "LOOP-PRE-01", "LOOP-PRE-04", "LOOP-STEER-01", "LOOP-STEP-01"),
        *("LOOP-STOP-01", "LOOP-STOP-02"),
        *("REQ-CTX-01", "REQ-HEAD-01", "REQ-HEAD-02", "REQ-HEAD-03", "REQ-MSG-01"),
        *("RERR-CANCEL-01", "RERR-POS-01", "RERR-TERM-01"),
        *("LOG-EVT-02", "LOG-EVT-03", "LOG-EVT-04", "LOG-EVT-06"),
        "INV-STEP-02",
        "STREAM-FAIL-02",
    )

    def __init__(self, switches: frozenset[str] = frozenset()) -> None:
        agent = CancellationAgent()
        super().__init__(agent, CancellationCalls(agent, switches), _CONTRACT)

    @property
    def looks(self) -> bool:
        """The agent is looked at where it rests, and behind a cancel."""
        return super().looks or self._agent.cause is not None
