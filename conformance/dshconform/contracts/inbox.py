"""The inbox contract: two lists, what changes them, and how turns and cancellations take from them.

One agent, one model whose stream waits for the suite at every item, and aborts that only mark it: so the window
between a cancel and the end of the turn stays open until a command ends the stream. The model is written from the
clauses alone. What a command does before it returns is in `inbox_calls`, what the driver does afterwards in
`inbox_agent`.
"""

from collections.abc import Hashable, Mapping, Sequence
from functools import cache
from typing import ClassVar, Final

from dshconform.contracts.agent_model import AgentModel, Alphabet, toured
from dshconform.contracts.inbox_agent import AbstractAgent
from dshconform.contracts.inbox_calls import VARIANTS, Calls
from dshconform.contracts.inbox_choice import Standing
from dshconform.contracts.inbox_commands import (
    TARGETS,
    cancel,
    clear,
    end,
    followup,
    inject,
    insert,
    keep_inbox,
    kind_of,
    remove,
    replace,
    simpler,
    splice,
    steer,
    tidied,
)
from dshconform.contracts.inbox_grid import GRID
from dshconform.contracts.inbox_prologues import PROLOGUES
from dshconform.contracts.inbox_rows import AGENT, MODEL, ROUTE
from dshconform.protocol.json_value import JsonMap
from dshconform.running.step import Step

_ALPHABET: Final[Alphabet[AbstractAgent]] = Alphabet(PROLOGUES, Standing, clear(), simpler, tidied)

_SMALL: Final[tuple[JsonMap, ...]] = (
    followup("a"),
    steer("b"),
    inject("c"),
    insert("prepend", "next-turn", "b"),
    splice("next-step", 0, 1, "a"),
    replace("c", "a"),
    remove("b"),
    cancel(),
    keep_inbox(),
    end(),
)
"""Every way into a list and out of it, for three messages."""


class InboxModel(AgentModel[AbstractAgent]):
    """The abstract state of one agent's inbox, turn and latch.

    Args:
        switches: Variants in which the implementation is followed rather than the clause.
    """

    name: ClassVar[str] = "inbox"
    profile: ClassVar[str] = "core"
    """The profile that an implementation must declare."""
    variants: ClassVar[Mapping[str, str]] = VARIANTS
    clauses: ClassVar[tuple[str, ...]] = (
        *("AGENT-ID-01", "AGENT-STATUS-01", "AGENT-STATUS-03", "AGENT-STATUS-04"),
        *(f"AGENT-SEND-0{number}" for number in range(1, 8)),
        *("INBOX-LIST-01", "INBOX-DUR-01", "INBOX-SHAPE-01", "INBOX-SHAPE-02"),
        *("INBOX-NORM-01", "INBOX-NORM-02", "INBOX-NORM-03", "INBOX-NOOP-01", "INBOX-OPS-01"),
        *("INBOX-REPL-01", "INBOX-REPL-02", "INBOX-REM-01", "INBOX-CLEAR-01"),
        *("INBOX-DUP-01", "INBOX-DUP-02", "INBOX-DUP-03", "INBOX-NOTE-01"),
        *("INBOX-CLAIM-01", "INBOX-CLAIM-02", "INBOX-CLAIM-03", "INBOX-WAKE-01"),
        *("CANCEL-CAUSE-01", "CANCEL-FIRST-01", "CANCEL-SIGNAL-01", "CANCEL-CLEAR-01", "CANCEL-CLEAR-02"),
        *("CANCEL-KEEP-01", "CANCEL-KEEP-02", "CANCEL-KEEP-03", "CANCEL-IDLE-01", "CANCEL-IDLE-02"),
        *("CANCEL-STATUS-01", "CANCEL-SYNC-01", "CANCEL-COOP-01", "CANCEL-ERR-01", "CANCEL-PHASE-03"),
        *("CANCEL-STREAM-01", "CANCEL-STREAM-02", "CANCEL-STREAM-03", "CANCEL-STREAM-04", "CANCEL-STREAM-06"),
        *("WAKE-LATCH-01", "WAKE-LATCH-02", "WAKE-LATCH-03", "WAKE-CLEAR-01"),
        *("WAKE-EMPTY-01", "WAKE-EMPTY-02", "WAKE-DISP-01", "WAKE-FAIL-01"),
        *("LOOP-OPEN-01", "LOOP-OPEN-02", "LOOP-STEP-01", "LOOP-PRE-01", "LOOP-PRE-04", "LOOP-STEER-01"),
        *("LOOP-END-01", "LOOP-END-02", "LOOP-NEXT-01", "LOOP-NEXT-02"),
        *("LOOP-ERR-03", "LOOP-ERR-04", "LOOP-CHUNK-01", "LOOP-MSG-01"),
        *("LOG-EVT-02", "LOG-EVT-03", "LOG-EVT-04", "LOG-EVT-06", "INV-STEP-02"),
        *("REQ-HEAD-01", "REQ-HEAD-02", "REQ-CTX-01", "REQ-MSG-01", "STREAM-FAIL-02", "RERR-TERM-01"),
    )

    cells: ClassVar[tuple[str, ...]] = GRID.cells

    def __init__(self, switches: frozenset[str] = frozenset()) -> None:
        agent = AbstractAgent()
        super().__init__(agent, Calls(agent, switches), _ALPHABET, GRID)

    def prologues(self) -> list[list[JsonMap]]:
        """The lists that together reach every clause of the model and every cell of the grid."""
        return [*super().prologues(), *_tours(self._calls.switches)]

    def opening(self) -> list[Step]:
        """A world with one agent and a model that waits for the suite at every item."""
        stream: JsonMap = {"$fn": MODEL, "do": "gate", "abort": "manual"}
        create: JsonMap = {"task": f"create-{AGENT}", "agent": AGENT, "options": ROUTE}
        return [
            Step("world.open", {}),
            Step("model.register", {"as": MODEL, "routes": [ROUTE["provider"]], "stream": stream}),
            Step("agent.create", create),
            self.look(),
        ]

    def small_alphabet(self) -> Sequence[JsonMap]:
        """Every way into a list and out of it, for three messages."""
        return _SMALL

    def state(self) -> Hashable:
        """The lists, the turn, the signal and the latch; numbers, the past of ids and the conversation are left out."""
        agent = self._agent
        lists = tuple(tuple(str(message["id"]) for message in agent.lists[target]) for target in TARGETS)
        turn = agent.phase, agent.outcome, agent.finish, agent.text is not None
        return lists, turn, kind_of(agent.cause), agent.latch

    @property
    def looks(self) -> bool:
        """The agent is looked at behind every command."""
        return True


@cache
def _tours(switches: frozenset[str]) -> Sequence[list[JsonMap]]:
    return toured(lambda: InboxModel(switches), GRID)
