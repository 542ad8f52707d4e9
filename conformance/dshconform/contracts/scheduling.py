"""The scheduling contract: which calls of an answer run when, what becomes of each, and in which order that is logged.

One agent, one model, tools whose bodies wait for the suite, policy before the calls of one tool and behind those of
another; all with aborts that only mark them. So bodies end in any order, and any command can come between. An example
begins with its world, whose cap is part of it. The model is written from the clauses alone. What a command does before
it returns is in `scheduling_calls`, what the driver does afterwards in `scheduling_agent`.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import ClassVar, Final

from dshconform.contracts.agent_model import AgentModel, Alphabet, toured
from dshconform.contracts.inbox_calls import IDLE_CANCEL_KEEPS_INPUT, VARIANTS
from dshconform.contracts.inbox_commands import burst, inspect, items_of, read_command
from dshconform.contracts.inbox_rows import AGENT, MODEL, ROUTE
from dshconform.contracts.scheduling_agent import SchedulingAgent
from dshconform.contracts.scheduling_calls import SchedulingCalls
from dshconform.contracts.scheduling_choice import Standing
from dshconform.contracts.scheduling_commands import (
    BEFORE,
    BEHIND,
    GUARDED,
    OPENING_TOOLS,
    POLICY,
    REVIEW,
    REVIEWED,
    cap_of,
    register,
    simpler,
    tidied,
)
from dshconform.contracts.scheduling_grid import GRID
from dshconform.contracts.scheduling_prologues import PROLOGUES
from dshconform.protocol.json_value import Json, JsonMap
from dshconform.running.step import UNCHECKED, Expectation, Step
from dshconform.trace.rows import COMPARED

_ALPHABET: Final[Alphabet[SchedulingAgent]] = Alphabet(
    PROLOGUES,
    Standing,
    inspect(),
    simpler,
    tidied,
    compared=COMPARED - {"script"},  # how often a classifier is asked, and when a renderer, is not this contract's
)


class SchedulingModel(AgentModel[SchedulingAgent]):
    """The abstract state of one agent's tool calls.

    Args:
        switches: Variants in which the implementation is followed rather than the clause.
    """

    name: ClassVar[str] = "scheduling"
    profile: ClassVar[str] = "tools"
    """The profile that an implementation must declare."""
    variants: ClassVar[Mapping[str, str]] = {IDLE_CANCEL_KEEPS_INPUT: VARIANTS[IDLE_CANCEL_KEEPS_INPUT]}
    clauses: ClassVar[tuple[str, ...]] = (
        *("SCHED-ARGS-01", "SCHED-CALL-01", "SCHED-EXCL-01", "SCHED-PAR-01", "SCHED-PAR-02"),
        *("SCHED-COMMIT-01", "SCHED-CLASS-01", "SCHED-CAP-01", "SCHED-CTX-01", "SCHED-ABORT-01"),
        *("SCHED-ABORT-02", "SCHED-ABORT-03", "SCHED-ABORT-04"),
        *("LOOP-OPEN-01", "LOOP-OPEN-02", "LOOP-STEP-01", "LOOP-PRE-01", "LOOP-PRE-04"),
        *("LOOP-STEER-01", "LOOP-CONC-01", "LOOP-CONC-02", "LOOP-END-01", "LOOP-END-02"),
        *("LOOP-END-03", "LOOP-NEXT-01", "LOOP-NEXT-02", "LOOP-ERR-03", "LOOP-ERR-04"),
        *("LOOP-CHUNK-01", "LOOP-MSG-01", "LOOP-MSG-02"),
        *("PIPE-ORDER-01", "PIPE-ORDER-02", "PIPE-ORDER-04", "PIPE-PRE-01", "PIPE-PRE-05"),
        *("PIPE-BODY-01", "PIPE-BODY-04", "PIPE-CTX-01", "PIPE-CTX-02", "PIPE-CTX-03"),
        *("PIPE-CONCLUDE-01", "PIPE-POST-01", "PIPE-POST-04", "PIPE-POST-05", "PIPE-CANCEL-02"),
        *("PIPE-CANCEL-03", "PIPE-CANCEL-05", "PIPE-CANCEL-06", "PIPE-CANCEL-07"),
        *("TOOL-DEF-01", "TOOL-LIVE-01", "TOOL-LIVE-02", "TOOL-CHANGE-01"),
        "MODE-CLASS-01",
        *("UNKNOWN-TOOL-01", "UNKNOWN-TOOL-03"),
        *("RESULT-SHAPE-01", "RESULT-TEXT-01", "RESULT-LOCAL-01"),
        *("MSG-SRC-03", "MSG-BLOCK-03"),
        "STREAM-FAIL-02",
        *("LOG-EVT-02", "LOG-EVT-03", "LOG-EVT-04", "LOG-EVT-06", "LOG-EVT-12"),
        "LOG-EVT-13",
        "INV-STEP-02",
        *("AGENT-ID-01", "AGENT-STATUS-01", "AGENT-STATUS-03", "AGENT-STATUS-04", "AGENT-SEND-01"),
        *("AGENT-SEND-02", "AGENT-SEND-04", "AGENT-SEND-05", "AGENT-SEND-07"),
        *("INBOX-LIST-01", "INBOX-DUR-01", "INBOX-SHAPE-01", "INBOX-SHAPE-02", "INBOX-CLEAR-01"),
        *("INBOX-NOTE-01", "INBOX-CLAIM-01", "INBOX-CLAIM-02", "INBOX-CLAIM-03"),
        *("CANCEL-CAUSE-01", "CANCEL-FIRST-01", "CANCEL-SIGNAL-01", "CANCEL-CLEAR-01", "CANCEL-CLEAR-02"),
        *("CANCEL-KEEP-01", "CANCEL-KEEP-02", "CANCEL-IDLE-01", "CANCEL-IDLE-02", "CANCEL-STATUS-01"),
        *("CANCEL-SYNC-01", "CANCEL-COOP-01", "CANCEL-ERR-01", "CANCEL-STREAM-01", "CANCEL-STREAM-02"),
        *("CANCEL-STREAM-03", "CANCEL-STREAM-04", "CANCEL-STREAM-06"),
        *("WAKE-LATCH-01", "WAKE-LATCH-02", "WAKE-LATCH-03", "WAKE-CLEAR-01", "WAKE-DISP-01"),
        "WAKE-FAIL-01",
        *("REQ-HEAD-01", "REQ-HEAD-02", "REQ-CTX-01", "REQ-MSG-01"),
        "RERR-TERM-01",
    )

    cells: ClassVar[tuple[str, ...]] = GRID.cells

    def __init__(self, switches: frozenset[str] = frozenset()) -> None:
        agent = SchedulingAgent()
        super().__init__(agent, SchedulingCalls(agent, switches), _ALPHABET, GRID)

    def prologues(self) -> list[list[JsonMap]]:
        """The lists that together reach every clause of the model and every cell of the grid."""
        return [*super().prologues(), *_tours(self._calls.switches)]

    def opening(self) -> list[Step]:
        """Nothing: the first command of an example opens its world."""
        return []

    def apply(self, command: JsonMap) -> list[Step]:
        """Advance by a legal command; the first one makes the agent too, its model, its tools and their policy."""
        op, args = read_command(command)
        if op != "world.open":
            return super().apply(command)
        self.departed = []
        self._agent.open(cap_of(args))
        return [
            Step(op, args),
            _FURNISHED,
            Step("agent.create", {"task": f"create-{AGENT}", "agent": AGENT, "options": ROUTE}),
        ]


def _gate(function: str) -> JsonMap:
    return {"$fn": function, "do": "gate", "abort": "manual"}


def _listen(function: str, event: str, tool: str) -> JsonMap:
    """A listener that is asked about the calls of one tool."""
    return {"do": "listen", "args": {"as": function, "event": event, "fn": {**_gate(function), "when": {"name": tool}}}}


def _furnished() -> Step:
    """The model, the tools and their policy."""
    model: JsonMap = {"as": MODEL, "routes": [ROUTE["provider"]], "stream": _gate(MODEL)}
    whole = burst(
        *(register(name, classifier) for name, classifier in OPENING_TOOLS.items()),
        _listen(POLICY, BEFORE, GUARDED),
        _listen(REVIEW, BEHIND, REVIEWED),
        {"do": "model.register", "args": model},
    )
    op, args = read_command(whole)
    accepted: Json = [{"result": UNCHECKED} for _ in items_of(args)]
    return Step(op, args, Expectation(clauses=("TOOL-DEF-01",), result=accepted))


_FURNISHED: Final = _furnished()


@cache
def _tours(switches: frozenset[str]) -> Sequence[list[JsonMap]]:
    return toured(lambda: SchedulingModel(switches), GRID)
