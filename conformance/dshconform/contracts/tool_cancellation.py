"""The tool cancellation contract: a cancel along the calls of tools, of every cause, whatever is pending.

As the cancellation contract, with answers that call tools whose bodies wait for the suite: before a call is logged,
while policy is asked about it, while its body runs, and on its way to the log. What a command does before it returns is
in `tool_cancellation_calls`, what the agent does in `tool_cancellation_agent`.
"""

from collections.abc import Mapping
from typing import ClassVar, Final

from dshconform.contracts.agent_model import Alphabet
from dshconform.contracts.callback_model import CallbackContract, CallbackModel
from dshconform.contracts.inbox_commands import inspect
from dshconform.contracts.tool_cancellation_agent import ToolCancellationAgent
from dshconform.contracts.tool_cancellation_calls import ToolCancellationCalls
from dshconform.contracts.tool_cancellation_choice import standing
from dshconform.contracts.tool_cancellation_commands import LISTENERS, REGISTER, simpler
from dshconform.contracts.tool_cancellation_grid import CELLS, cell_of, tours
from dshconform.contracts.tool_cancellation_prologues import PROLOGUES
from dshconform.contracts.wake_calls import WAKE_VARIANTS
from dshconform.trace.rows import COMPARED

_ALPHABET: Final[Alphabet[ToolCancellationAgent]] = Alphabet(
    PROLOGUES,
    standing,
    inspect(),
    simpler,
    LISTENERS.tidied,
    compared=COMPARED - {"script", "next"},  # what scripts do is told by the returns of their commands
)


_CONTRACT: Final = CallbackContract(_ALPHABET, cell_of, tours, furnish=(REGISTER,))


class ToolCancellationModel(CallbackModel[ToolCancellationAgent]):
    """The abstract state of one agent's turn, its calls, its signal and what is pending.

    Args:
        switches: Variants in which the implementation is followed rather than the clause.
    """

    name: ClassVar[str] = "tool cancellation"
    profile: ClassVar[str] = "tools"
    variants: ClassVar[Mapping[str, str]] = WAKE_VARIANTS
    cells: ClassVar[tuple[str, ...]] = CELLS
    clauses: ClassVar[tuple[str, ...]] = (
        *("CANCEL-CAUSE-01", "CANCEL-CLEAR-01", "CANCEL-CLEAR-02", "CANCEL-COOP-01", "CANCEL-FIRST-01"),
        *("CANCEL-KEEP-01", "CANCEL-KEEP-02", "CANCEL-MSG-01", "CANCEL-PHASE-03", "CANCEL-REENTRY-01"),
        *("CANCEL-SIGNAL-01", "CANCEL-STATUS-01", "CANCEL-STREAM-01", "CANCEL-STREAM-02", "CANCEL-STREAM-03"),
        "CANCEL-SYNC-01",
        *("SCHED-ABORT-01", "SCHED-ABORT-02", "SCHED-ABORT-03", "SCHED-ABORT-04", "SCHED-ARGS-01"),
        *("SCHED-CALL-01", "SCHED-COMMIT-01", "SCHED-CTX-01", "SCHED-EXCL-01", "SCHED-PAR-02"),
        *("PIPE-BODY-01", "PIPE-CANCEL-01", "PIPE-CANCEL-02", "PIPE-CANCEL-03", "PIPE-CANCEL-05"),
        *("PIPE-CANCEL-06", "PIPE-CANCEL-07", "PIPE-CANCEL-08", "PIPE-CTX-01", "PIPE-CTX-02", "PIPE-CTX-03"),
        *("PIPE-ORDER-04", "PIPE-POST-05", "PIPE-PRE-01", "PIPE-PRE-05"),
        *("WAKE-CLEAR-01", "WAKE-DISP-01", "WAKE-LATCH-01", "WAKE-LATCH-02", "WAKE-LATCH-03"),
        *("IDLE-FAIL-01", "IDLE-FOLLOW-01", "IDLE-RES-01", "IDLE-RES-02"),
        *("AGENT-ID-01", "AGENT-SEND-01", "AGENT-SEND-02", "AGENT-SEND-04", "AGENT-SEND-05", "AGENT-SEND-07"),
        *("AGENT-STATUS-01", "AGENT-STATUS-03", "AGENT-STATUS-04"),
        *("INBOX-CLAIM-01", "INBOX-CLAIM-02", "INBOX-CLAIM-03", "INBOX-CLEAR-01", "INBOX-DUP-03"),
        *("INBOX-DUR-01", "INBOX-DUR-04", "INBOX-LIST-01", "INBOX-NOTE-01", "INBOX-REM-01", "INBOX-SHAPE-01"),
        *("INBOX-SHAPE-02", "INBOX-WAKE-01"),
        *("LOOP-CHUNK-01", "LOOP-MSG-01", "LOOP-NEXT-01", "LOOP-OPEN-01", "LOOP-OPEN-02", "LOOP-PRE-01"),
        *("LOOP-PRE-04", "LOOP-PRE-10", "LOOP-STEP-01"),
        *("REQ-CTX-01", "REQ-HEAD-01", "REQ-HEAD-02", "REQ-HEAD-03", "REQ-MSG-01"),
        *("LOG-EVT-02", "LOG-EVT-03", "LOG-EVT-06", "LOG-EVT-12", "LOG-EVT-13"),
        "INV-STEP-02",
        *("MSG-BLOCK-03", "MSG-SRC-03"),
        *("RESULT-LOCAL-01", "RESULT-SHAPE-01", "RESULT-TEXT-01"),
    )

    def __init__(self, switches: frozenset[str] = frozenset()) -> None:
        agent = ToolCancellationAgent()
        super().__init__(agent, ToolCancellationCalls(agent, switches), _CONTRACT)

    @property
    def looks(self) -> bool:
        """The agent is looked at where it rests, and behind a cancel."""
        return super().looks or self._agent.cause is not None
