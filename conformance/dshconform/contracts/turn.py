"""The turn contract: what hooks decide, how requests fail and are tried again, and how a turn ends.

One agent, one model, and a listener on each awaited hook of the driver; every one of them waits for the suite, with
aborts that only mark it. So every moment at which a turn can be disturbed stands still, and any command can come
there. The model is written from the clauses alone. What a command does before it returns is in `turn_calls`, what the
driver does afterwards in `turn_agent`.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import ClassVar, Final

from dshconform.contracts.agent_model import AgentModel, Alphabet, toured
from dshconform.contracts.inbox_calls import IDLE_CANCEL_KEEPS_INPUT, VARIANTS
from dshconform.contracts.inbox_commands import inspect, tidied
from dshconform.contracts.inbox_rows import AGENT, MODEL, ROUTE
from dshconform.contracts.turn_agent import TurnAgent
from dshconform.contracts.turn_calls import TurnCalls
from dshconform.contracts.turn_choice import Standing
from dshconform.contracts.turn_commands import HOOKS, PROLOGUES, simpler
from dshconform.contracts.turn_grid import GRID
from dshconform.protocol.json_value import JsonMap
from dshconform.running.step import Step

_ALPHABET: Final[Alphabet[TurnAgent]] = Alphabet(PROLOGUES, Standing, inspect(), simpler, tidied)


class TurnModel(AgentModel[TurnAgent]):
    """The abstract state of one agent's turn and its hooks.

    Args:
        switches: Variants in which the implementation is followed rather than the clause.
    """

    name: ClassVar[str] = "turn"
    profile: ClassVar[str] = "core"
    variants: ClassVar[Mapping[str, str]] = {IDLE_CANCEL_KEEPS_INPUT: VARIANTS[IDLE_CANCEL_KEEPS_INPUT]}
    clauses: ClassVar[tuple[str, ...]] = (
        *("AGENT-ID-01", "AGENT-STATUS-01", "AGENT-STATUS-03", "AGENT-STATUS-04"),
        *("AGENT-SEND-01", "AGENT-SEND-02", "AGENT-SEND-04", "AGENT-SEND-05", "AGENT-SEND-07"),
        *("INBOX-LIST-01", "INBOX-DUR-01", "INBOX-SHAPE-01", "INBOX-SHAPE-02", "INBOX-CLEAR-01", "INBOX-NOTE-01"),
        *("INBOX-CLAIM-01", "INBOX-CLAIM-02", "INBOX-CLAIM-03"),
        *("CANCEL-CAUSE-01", "CANCEL-FIRST-01", "CANCEL-SIGNAL-01", "CANCEL-CLEAR-01", "CANCEL-CLEAR-02"),
        *("CANCEL-KEEP-01", "CANCEL-KEEP-02", "CANCEL-KEEP-03", "CANCEL-IDLE-01", "CANCEL-IDLE-02"),
        *("CANCEL-STATUS-01", "CANCEL-SYNC-01", "CANCEL-COOP-01", "CANCEL-ERR-01"),
        *("CANCEL-PHASE-03", "CANCEL-PHASE-04", "CANCEL-PHASE-06", "CANCEL-RERR-01", "CANCEL-STOP-01"),
        *("CANCEL-STREAM-01", "CANCEL-STREAM-02", "CANCEL-STREAM-03", "CANCEL-STREAM-04", "CANCEL-STREAM-06"),
        *("WAKE-LATCH-01", "WAKE-LATCH-02", "WAKE-LATCH-03", "WAKE-CLEAR-01", "WAKE-DISP-01", "WAKE-FAIL-01"),
        *("LOOP-OPEN-01", "LOOP-OPEN-02", "LOOP-STEP-01"),
        *(f"LOOP-PRE-{number}" for number in ("01", "02", "03", "04", "05", "06", "07", "08", "09", "11")),
        *("LOOP-STEER-01", "LOOP-STOP-01", "LOOP-STOP-02", "LOOP-STOP-03", "LOOP-STOP-04"),
        *("LOOP-END-01", "LOOP-END-02", "LOOP-NEXT-01", "LOOP-NEXT-02"),
        *("LOOP-ERR-01", "LOOP-ERR-02", "LOOP-ERR-03", "LOOP-ERR-04", "LOOP-ERR-05"),
        *("LOOP-OBS-01", "LOOP-CHUNK-01", "LOOP-MSG-01", "EVENTS-EMIT-01"),
        *("LOG-EVT-02", "LOG-EVT-03", "LOG-EVT-04", "LOG-EVT-06", "INV-STEP-02"),
        *("REQ-SEED-01", "REQ-SEED-02", "REQ-ROUTE-01", "REQ-HEAD-01", "REQ-HEAD-02", "REQ-HEAD-03"),
        *("REQ-CTX-01", "REQ-MSG-01", "REQ-SHAPE-01"),
        *("RERR-WHEN-01", "RERR-POS-01", "RERR-RETRY-01", "RERR-RETRY-02", "RERR-RETRY-03"),
        *("RERR-TERM-01", "RERR-TERM-02", "RERR-CANCEL-01", "RERR-THROW-01", "STREAM-FAIL-02", "LERR-TURN-02"),
    )

    cells: ClassVar[tuple[str, ...]] = GRID.cells

    def __init__(self, switches: frozenset[str] = frozenset()) -> None:
        agent = TurnAgent()
        super().__init__(agent, TurnCalls(agent, switches), _ALPHABET, GRID)

    def prologues(self) -> list[list[JsonMap]]:
        """The lists that together reach every clause of the model and every cell of the grid."""
        return [*super().prologues(), *_tours(self._calls.switches)]

    def opening(self) -> list[Step]:
        """A world with one agent, of which the model and every hook wait for the suite."""
        stream: JsonMap = {"$fn": MODEL, "do": "gate", "abort": "manual"}
        create: JsonMap = {"task": f"create-{AGENT}", "agent": AGENT, "options": ROUTE}
        return [
            Step("world.open", {}),
            *(
                Step("listen", {"as": part, "event": event, "fn": {"$fn": part, "do": "gate", "abort": "manual"}})
                for part, event in HOOKS.values()
            ),
            Step("model.register", {"as": MODEL, "routes": [ROUTE["provider"]], "stream": stream}),
            Step("agent.create", create),
            self.look(),
        ]


@cache
def _tours(switches: frozenset[str]) -> Sequence[list[JsonMap]]:
    return toured(lambda: TurnModel(switches), GRID)
