"""The inbox contract: two lists, what changes them, and how turns and cancellations take from them.

One agent, one model whose stream waits for the suite at every item, and aborts that only mark it: so the window
between a cancel and the end of the turn stays open until a command ends the stream. The model is written from the
clauses alone. What a command does before it returns is in `inbox_calls`, what the driver does afterwards in
`inbox_agent`.
"""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from dshconform.contracts.inbox_agent import AbstractAgent
from dshconform.contracts.inbox_calls import GATE_ANSWERS, VARIANTS, Calls, inspected
from dshconform.contracts.inbox_choice import Standing, choose
from dshconform.contracts.inbox_commands import items_of, read_command, simpler, tidied
from dshconform.contracts.inbox_prologues import PROLOGUES
from dshconform.contracts.inbox_rows import AGENT, MODEL, ROUTE, return_row
from dshconform.contracts.source import Source
from dshconform.protocol.json_value import JsonMap
from dshconform.running.step import Expectation, Step
from dshconform.trace.rows import COMPARED, ExpectedRow


class InboxModel:
    """The abstract state of one agent's inbox, turn and latch.

    Args:
        switches: Variants in which the implementation is followed rather than the clause.
    """

    name: ClassVar[str] = "inbox"
    profile: ClassVar[str] = "core"
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

    def __init__(self, switches: frozenset[str] = frozenset()) -> None:
        self.departed: list[str] = []
        self._agent = AbstractAgent()
        self._calls = Calls(self._agent, switches)
        self._standing: Standing | None = None

    def opening(self) -> list[Step]:
        """A world with one agent and a model that waits for the suite at every item."""
        stream: JsonMap = {"$fn": MODEL, "do": "gate", "abort": "manual"}
        create: JsonMap = {"task": f"create-{AGENT}", "agent": AGENT, "options": ROUTE}
        return [
            Step("world.open", {}),
            Step("model.register", {"as": MODEL, "routes": [ROUTE["provider"]], "stream": stream}),
            Step("agent.create", create),
            self._probe(),
        ]

    def prologues(self) -> list[list[JsonMap]]:
        """Lists that together reach every clause of the model."""
        return [list(prologue) for prologue in PROLOGUES]

    def propose(self, source: Source) -> JsonMap:
        """Choose a legal command."""
        if self._standing is None:
            self._standing = Standing(source)
        agent = self._agent
        families = self._standing.families(streaming=agent.gate_open, idle=agent.phase == "idle")
        proposed = choose(source, families, agent.lists)
        return proposed if self.legal(proposed) else {"do": "inbox.clear", "args": {"agent": AGENT}}

    def legal(self, command: JsonMap) -> bool:
        """Whether the clauses say what a command does now.

        Raises:
            CommandError: It is no command of this contract.
        """
        return self._calls.legal(*read_command(command))

    def apply(self, command: JsonMap) -> list[Step]:
        """Advance by a legal command; the steps are the command and a look at the agent."""
        agent = self._agent
        op, args = read_command(command)
        agent.rows = []
        agent.left = False
        answer = self._calls.call(op, args)
        self.departed = [] if answer.departed is None else [answer.departed]
        if op not in GATE_ANSWERS:
            agent.rows.append(return_row(op, answer.limit))
        settled = agent.settle()
        only = COMPARED - {"closed"} if agent.left else COMPARED  # the stream may be closed before or after the commit
        if op == "burst" and any(item.get("op") in GATE_ANSWERS for item in items_of(args)):
            only = COMPARED - {"abort", "closed"}  # whether an ended call still has its signal is the adapter's affair
        waiting = ("model/stream",) if agent.gate_open else ()
        expect = Expectation(
            clauses=answer.by or settled,
            after=settled or answer.more,
            result=answer.result,
            error=answer.error,
            rows=tuple(agent.rows) if only is COMPARED else _of_kinds(agent.rows, only),
            only=only,
            open=None if answer.departed else waiting,
        )
        return [Step(op, args, expect), self._probe()]

    def simpler(self, command: JsonMap) -> list[JsonMap]:
        """Bursts of fewer commands, splices of fewer messages, plain arguments."""
        return simpler(command)

    def tidied(self, commands: Sequence[JsonMap]) -> list[JsonMap]:
        """The same commands, their messages named in order of appearance."""
        return tidied(commands)

    def _probe(self) -> Step:
        clauses = ("INBOX-LIST-01",)
        shown = (return_row("agent.inspect", clauses),)
        expect = Expectation(clauses=clauses, result=inspected(self._agent), rows=shown)
        return Step("agent.inspect", {"agent": AGENT}, expect)


def _of_kinds(rows: Sequence[ExpectedRow], only: frozenset[str]) -> tuple[ExpectedRow, ...]:
    return tuple(row for row in rows if row.pattern["on"] in only)
