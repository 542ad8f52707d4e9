"""The wake contract: phase, delivery and cancellation, from outside and from inside every callback.

One agent, one model and one maintenance task, which wait for the suite with aborts that only mark them; and listeners
that do something the first time they are called. So a wake, a cancel or a task can come at every moment that a call can
reach: while an activity goes on or converges, during an insertion, a clearing or a claim, while a status is told, and
inside the firing of a signal. The model is written from the clauses alone. What a command does before it returns is in
`wake_calls`, what the agent does in `wake_agent`, where callbacks are in `wake_scripts`.
"""

from collections.abc import Hashable, Mapping, Sequence
from typing import ClassVar, Final

from dshconform.contracts.agent_model import Alphabet
from dshconform.contracts.callback_model import CallbackContract, CallbackModel
from dshconform.contracts.inbox_commands import (
    CAUSES,
    cancel,
    end,
    followup,
    inject,
    inspect,
    keep_inbox,
    kind_of,
    remove,
    steer,
)
from dshconform.contracts.wake_agent import WakeAgent
from dshconform.contracts.wake_calls import WAKE_VARIANTS, WakeCalls
from dshconform.contracts.wake_choice import standing
from dshconform.contracts.wake_grid import CELLS, cell_of, tours
from dshconform.contracts.wake_prologues import PROLOGUES
from dshconform.contracts.wake_scripts import FINISH_JOB, maintain, simpler, tidied
from dshconform.protocol.json_value import JsonMap

_ALPHABET: Final[Alphabet[WakeAgent]] = Alphabet(
    PROLOGUES,
    standing,
    inspect(),
    simpler,
    tidied,
    compared=frozenset(
        {
            *(
                "log agent/inbox/*",
                "log turn/*",
                "log step/*",
                "live agent/status",
                "live agent/inbox/*",
                "live agent/error",
            ),
            *("abort", "gate maintenance", "return", "task"),
        }
    ),  # steps and requests are the affair of other contracts
)

_SMALL: Final[tuple[JsonMap, ...]] = (
    followup("a"),
    steer("b"),
    inject("c"),
    remove("b"),
    cancel(),
    keep_inbox(),
    keep_inbox(CAUSES[3]),
    end(),
    maintain(),
    FINISH_JOB,
)


_CONTRACT: Final = CallbackContract(_ALPHABET, cell_of, tours)


class WakeModel(CallbackModel[WakeAgent]):
    """The abstract state of one agent's phase, signal and latch.

    Args:
        switches: Variants in which the implementation is followed rather than the clause.
    """

    name: ClassVar[str] = "wake latch"
    profile: ClassVar[str] = "core"
    variants: ClassVar[Mapping[str, str]] = WAKE_VARIANTS
    cells: ClassVar[tuple[str, ...]] = CELLS
    clauses: ClassVar[tuple[str, ...]] = (
        *("WAKE-LATCH-01", "WAKE-LATCH-02", "WAKE-LATCH-03", "WAKE-LATCH-04", "WAKE-CLEAR-01"),
        *("WAKE-EMPTY-01", "WAKE-EMPTY-02", "WAKE-DISP-01", "WAKE-IDLE-01", "WAKE-RUN-01"),
        *("WAKE-RACE-01", "WAKE-RACE-02", "WAKE-RACE-03", "WAKE-FAIL-01", "WAKE-FAIL-02"),
        *("WAKE-STEAL-01", "WAKE-STEAL-02"),
        *("IDLE-RES-01", "IDLE-RES-02", "IDLE-FOLLOW-01", "IDLE-FAIL-01"),
        *("MAINT-START-01", "MAINT-EXCL-01", "MAINT-RES-01", "MAINT-STATUS-01", "MAINT-LATCH-01", "MAINT-LATCH-02"),
        *("MAINT-CANCEL-01", "MAINT-CANCEL-02", "MAINT-FAIL-01"),
        *("CANCEL-CAUSE-01", "CANCEL-FIRST-01", "CANCEL-CLEAR-01", "CANCEL-CLEAR-02"),
        *("CANCEL-KEEP-01", "CANCEL-KEEP-02", "CANCEL-KEEP-03", "CANCEL-IDLE-01", "CANCEL-IDLE-02"),
        *("CANCEL-STATUS-01", "CANCEL-SYNC-01", "CANCEL-COOP-01", "CANCEL-ERR-01", "CANCEL-ERR-02"),
        *("CANCEL-PHASE-01", "CANCEL-PHASE-02", "CANCEL-PHASE-03", "CANCEL-PHASE-04"),
        *("CANCEL-STOP-01", "CANCEL-END-01"),
        *("CANCEL-REENTRY-01", "CANCEL-REENTRY-02", "CANCEL-REENTRY-03"),
        *("AGENT-ID-01", "AGENT-STATUS-01", "AGENT-STATUS-03", "AGENT-STATUS-04"),
        *("AGENT-SEND-01", "AGENT-SEND-02", "AGENT-SEND-03", "AGENT-SEND-04", "AGENT-SEND-05", "AGENT-SEND-07"),
        *("INBOX-LIST-01", "INBOX-DUR-01", "INBOX-DUR-04", "INBOX-SHAPE-01", "INBOX-SHAPE-02"),
        *("INBOX-REM-01", "INBOX-CLEAR-01", "INBOX-DUP-01", "INBOX-DUP-03", "INBOX-NOTE-01"),
        *("INBOX-CLAIM-01", "INBOX-CLAIM-02", "INBOX-CLAIM-03", "INBOX-WAKE-01"),
        *("LOOP-OPEN-01", "LOOP-OPEN-02", "LOOP-STEP-01", "LOOP-PRE-01", "LOOP-PRE-08", "LOOP-STEER-01"),
        *("LOOP-STOP-02", "LOOP-NEXT-01", "LOOP-NEXT-02", "LOOP-ERR-03", "LOOP-ERR-04"),
        *("LOG-EVT-02", "LOG-EVT-03", "LOG-EVT-04", "INV-STEP-02", "RERR-TERM-01"),
    )

    def __init__(self, switches: frozenset[str] = frozenset()) -> None:
        agent = WakeAgent()
        super().__init__(agent, WakeCalls(agent, switches), _CONTRACT)

    @property
    def looks(self) -> bool:
        """The agent is looked at behind every command."""
        return True

    def small_alphabet(self) -> Sequence[JsonMap]:
        """The deliveries, a removal, the cancels, and both activities with their ends."""
        return _SMALL

    def state(self) -> Hashable:
        """The phase, the signal, the latch, what is pending, and the listeners that wait for their call."""
        agent = self._agent
        lists = tuple(tuple(str(message["id"]) for message in held) for held in agent.lists.values())
        armed = tuple((script.place, str(script.commands)) for script in agent.armed)
        outcome = None if agent.phase == "idle" else agent.outcome
        return agent.phase, kind_of(agent.cause), agent.latch, outcome, lists, armed, agent.waiter
